"""A long-term store for LangGraph: items by namespace and key, and search by meaning, kept as memories of their owners.

Answers for the interface of `BaseStore`. Whose a namespace is, is told by the layouts of `namespaces`; how an item lies
in a memory, and how these are found and written, by `langgraph_items`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from mnemic.errors import InvalidInputError
from mnemic.integrations.langgraph_items import Kept, Put, Rows, item_id, matches, searched_texts
from mnemic.integrations.memory import AnyMnemic, explain_absence
from mnemic.integrations.namespaces import Namespace, Place, parse_layouts
from mnemic.model.item import Trust
from mnemic.model.scope import Scope

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        validate_op_namespace,
    )
except ModuleNotFoundError as error:
    raise explain_absence(error, "langgraph", "langgraph", "langchain_core") from error

REFRESHED_AFTER = 0.05
"""The share of its time to live after which reading an item starts that time anew: not every read is a write."""


def _now() -> datetime:
    return datetime.now(UTC)


class MnemicStore(BaseStore):
    """A `BaseStore` whose items are memories of Mnemic, for one graph or many; safe to use from several threads.

    `layouts` say whose a namespace is, such as `("memories", "{user}")`, or several of them: see
    `mnemic.integrations.namespaces`. An operation that would reach over more than one owner raises `InvalidInputError`,
    as does a namespace that fits no layout. `scope` gives the org, and the agent that notes. `fields` are the paths of
    a value that are searched, all its texts unless told; `index=` of `put` overrides them. `trust` is that of what is
    put, "assistant" unless told, because a model may have worded it: what reads like an order is kept and found by its
    key, and left out of searches by meaning until a person trusts it. Secrets in a value are redacted, as anywhere.
    `ttl` is LangGraph's own configuration of times to live; they are counted by `clock`, which may be set.
    """

    supports_ttl = True
    __slots__ = ("_fields", "_layouts", "_lock", "_rows", "clock", "ttl_config")

    def __init__(
        self,
        mnemic: AnyMnemic,
        layouts: Sequence[str] | Sequence[Sequence[str]],
        *,
        scope: Scope | None = None,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        trust: Trust | str = Trust.ASSISTANT,
    ) -> None:
        self._rows = Rows(mnemic, Trust(trust))
        self._layouts = parse_layouts(layouts, scope or Scope())
        self._fields, self.ttl_config = fields, ttl
        self.clock: Callable[[], datetime] = _now
        self._lock = threading.RLock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer the operations, in their order: what they read is as it was before any of them wrote; of several that
        write one key the last counts.
        """
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
        with self._lock:
            results = [self._read(op) for op in asked]
            self._write([op for op in asked if isinstance(op, PutOp)])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, on another thread than the event loop's."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        return self._namespaces(op) if isinstance(op, ListNamespacesOp) else None

    def _get(self, op: GetOp) -> Item | None:
        place = self._layouts.place(op.namespace)
        wanted = item_id(op.namespace, op.key)
        found = self._rows.found(place, [wanted]).get(wanted)
        if not found:
            return None
        kept = found[0]
        if op.refresh_ttl:
            self._refresh(place, kept)
        return Item(
            value=kept.value,
            key=kept.key,
            namespace=kept.namespace,
            created_at=kept.memory.created_at,
            updated_at=kept.put_at,
        )

    def _search(self, op: SearchOp) -> list[SearchItem]:
        if op.limit < 0 or op.offset < 0:
            raise InvalidInputError("limit and offset are whole numbers from 0")
        place, most = self._layouts.place_below(op.namespace_prefix), op.offset + op.limit
        found: list[SearchItem] = []
        for kept, score in self._matching(place, op) if most else ():
            item = SearchItem(kept.namespace, kept.key, kept.value, kept.memory.created_at, kept.put_at, score)
            found.append(item)
            if op.refresh_ttl and len(found) > op.offset:
                self._refresh(place, kept)
            if len(found) == most:
                break
        return found[op.offset :]

    def _matching(self, place: Place, op: SearchOp) -> Iterator[tuple[Kept, float | None]]:
        """The items below the prefix that the filter takes, each once: best first, or newest where nothing is asked."""
        prefix, seen = op.namespace_prefix, set[str]()
        if op.query and op.query.strip():
            most = None if op.filter else op.offset + op.limit
            ranked: Iterable[tuple[Kept, float | None]] = self._rows.recalled(place, prefix, op.query, op.filter, most)
        else:
            ranked = ((kept, None) for kept in self._rows.listed(place, prefix, op.filter))
        for kept, score in ranked:
            if kept.id not in seen and self._is_at(place, kept, prefix) and matches(kept.value, op.filter):
                seen.add(kept.id)
                yield kept, score

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        prefix = max((_fixed(each.path) for each in conditions if each.match_type == "prefix"), key=len, default=())
        place = self._layouts.place_below(prefix)
        known = {kept.namespace for kept in self._rows.listed(place, prefix, None) if self._is_at(place, kept, prefix)}
        found = {each[: op.max_depth] for each in known if all(_fits(condition, each) for condition in conditions)}
        return sorted(found)[op.offset : op.offset + op.limit]

    def _is_at(self, place: Place, kept: Kept, prefix: Namespace) -> bool:
        """True when an item is where its namespace belongs: a memory's metadata may be anybody's words."""
        if kept.namespace[: len(prefix)] != prefix:
            return False
        try:
            return self._layouts.place(kept.namespace) == place
        except InvalidInputError:  # of a layout that the store no longer has
            return False

    def _refresh(self, place: Place, kept: Kept) -> None:
        until = kept.memory.expires_at
        if kept.ttl is None or until is None:
            return
        life, now = timedelta(minutes=kept.ttl), self.clock()
        if now + life - until > life * REFRESHED_AFTER:
            self._rows.keep_until(place, kept, now + life)

    def _write(self, ops: Sequence[PutOp]) -> None:
        now = self.clock()
        puts: dict[Place, list[Put]] = {}
        gone: dict[Place, list[str]] = {}
        for (namespace, key), op in {(op.namespace, op.key): op for op in ops}.items():
            place = self._layouts.place(namespace)
            if op.value is None:
                gone.setdefault(place, []).append(item_id(namespace, key))
            else:
                put = Put(namespace, key, op.value, self._texts(op), op.ttl)
                put.metadata(now)  # every value is looked at before any is written
                puts.setdefault(place, []).append(put)
        for place, items in puts.items():
            self._rows.put(place, items, now)
        for place, ids in gone.items():
            self._rows.delete(place, [kept for items in self._rows.found(place, ids).values() for kept in items])

    def _texts(self, op: PutOp) -> list[str] | None:
        paths = self._fields if op.index is None else op.index
        if paths is None or paths is False:
            return searched_texts(op.value or {}, paths)
        return searched_texts(op.value or {}, [get_text_at_path(op.value, path) for path in paths])


def _fixed(path: Sequence[str]) -> Namespace:
    """The labels of a path up to its first wildcard."""
    return tuple(path[: path.index("*")]) if "*" in path else tuple(path)


def _fits(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
