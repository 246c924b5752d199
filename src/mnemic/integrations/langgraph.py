"""A long-term store for LangGraph: items by namespace and key with semantic search, kept as memories. The value is in
the memory's metadata and is returned unchanged. The memory's text holds the searchable texts, and its key a digest of
namespace and key, so that equal items stay separate. It uses only Mnemic's verbs, so it works the same here and on a
server.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import operator
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any, Literal, cast

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.integrations.memory import (
    MAX_QUERY_CHARS,
    AnyMnemic,
    Namespace,
    Place,
    explain_absence,
    parse_layouts,
    require_session,
)
from mnemic.model.filter import Scalar
from mnemic.model.item import Kind, Memory, State, Trust
from mnemic.model.records import Receipt
from mnemic.model.scope import Level, Scope, as_utc

KEY = "langgraph"
UNSEARCHED = "an item of LangGraph"
"""The text of an item without searchable texts."""

MAX_SEARCHED_CHARS = 20_000  # about 5,000 tokens: most embedders read less
_PUSHED = {"$eq": "eq", "$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}
_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_UNSAFE = frozenset("\"'\\.")


@dataclass(frozen=True, slots=True)
class Put:
    """An item to store. `texts`: its searchable texts, None for none; `ttl`: minutes."""

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    texts: Sequence[str] | None
    ttl: float | None

    @property
    def id(self) -> str:
        """The digest of namespace and key."""
        return item_id(self.namespace, self.key)

    @property
    def text(self) -> str:
        """The text of its memory."""
        said = "\n".join(self.texts or ())[:MAX_SEARCHED_CHARS].replace("\0", " ")
        return said.encode(errors="replace").decode().strip() or UNSEARCHED

    def metadata(self, now: datetime) -> dict[str, object]:
        """The metadata of its memory. Raises `InvalidInputError` for a value that is not JSON."""
        try:
            value: object = json.loads(json.dumps(self.value, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError(f"the value of {self.key!r} must be JSON: {error}") from error
        item = {
            "id": self.id,
            "namespace": list(self.namespace),
            "key": self.key,
            "value": value,
            "under": [item_id(self.namespace[:length]) for length in range(len(self.namespace) + 1)],
            "is_searched": self.texts is not None,
            "ttl": self.ttl,
            "put_at": now.isoformat(),
        }
        return {KEY: item}


@dataclass(frozen=True, slots=True)
class Kept:
    """An item in its memory."""

    memory: Memory
    namespace: Namespace
    key: str
    value: dict[str, Any]
    ttl: float | None
    put_at: datetime

    @property
    def id(self) -> str:
        """The digest of namespace and key."""
        return item_id(self.namespace, self.key)

    @classmethod
    def of(cls, memory: Memory) -> Kept | None:
        """The item in a memory. None if it has none in this module's format."""
        found = memory.metadata.get(KEY)
        if not isinstance(found, dict):
            return None
        item = cast("dict[str, Any]", found)
        namespace, key, value, ttl = (item.get(name) for name in ("namespace", "key", "value", "ttl"))
        if not isinstance(namespace, list) or not isinstance(key, str) or not isinstance(value, dict):
            return None
        labels = tuple(str(label) for label in cast("list[object]", namespace))
        if item.get("id") != item_id(labels, key):
            return None
        try:
            put_at = as_utc(str(item.get("put_at")), "put_at")
        except InvalidInputError:
            return None
        minutes = ttl if isinstance(ttl, int | float) and ttl > 0 else None
        return cls(memory, labels, key, cast("dict[str, Any]", value), minutes, max(put_at, memory.created_at))


def item_id(namespace: Namespace, key: str | None = None) -> str:
    """A unique digest of a namespace, or of a key in it."""
    told = json.dumps([list(namespace), key])
    return hashlib.sha256(told.encode()).hexdigest()[:32]  # 128 bits: no two keys share an id


def searched_texts(
    value: Mapping[str, Any], index: Literal[False] | Iterable[Sequence[str]] | None
) -> list[str] | None:
    """The searchable texts of a value: all (None), those at the given paths, or none (False)."""
    if index is False:
        return None
    texts = _leaves(value) if index is None else [text for found in index for text in found]
    return [text for text in texts if text.strip()]


def pushed_down(conditions: Mapping[str, Any] | None) -> dict[str, object]:
    """The part of a filter that the memory can check itself, in its own format. `matches` decides."""
    pushed: dict[str, object] = {}
    for name, wanted in (conditions or {}).items():
        if not name or not name.isprintable() or not _UNSAFE.isdisjoint(name):
            continue
        tests = _tests(wanted)
        if tests:
            pushed[f"metadata.{KEY}.value.{name}"] = tests
    return pushed


def matches(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    """True if every condition holds. Raises `InvalidInputError` for an operator that LangGraph does not have. Numbers
    compare with numbers, texts with texts. Values that cannot be compared do not match. A name with dots that the value
    does not have is a path into it.
    """
    return all(_holds(_at(value, name), wanted) for name, wanted in (conditions or {}).items())


def _at(value: Mapping[str, Any], name: str) -> object:
    first, dot, rest = name.partition(".")
    if name in value or not dot:
        return value.get(name)
    inner = value.get(first)
    return _at(cast("Mapping[str, Any]", inner), rest) if isinstance(inner, Mapping) else None


def _leaves(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for inner in cast("Mapping[str, object]", value).values() for text in _leaves(inner)]
    if isinstance(value, list | tuple):
        return [text for inner in cast("Sequence[object]", value) for text in _leaves(inner)]
    return []


def _tests(wanted: object) -> dict[str, Scalar]:
    tests = cast("dict[str, object]", wanted) if isinstance(wanted, dict) else {"$eq": wanted}
    pushed: dict[str, Scalar] = {}
    for name, operand in tests.items():
        is_plain = isinstance(operand, str) and operand.isprintable()
        is_number = isinstance(operand, int | float) and not isinstance(operand, bool) and abs(operand) < 2**53
        if name in _PUSHED and (is_plain or is_number):
            pushed[_PUSHED[name]] = cast("Scalar", operand)
    return pushed


def _holds(held: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        tests = cast("Mapping[str, object]", wanted)
        if any(name.startswith("$") for name in tests):
            return all(_compares(held, name, operand) for name, operand in tests.items())
        return isinstance(held, dict) and matches(cast("dict[str, Any]", held), tests)
    if isinstance(wanted, list | tuple):
        values = cast("Sequence[object]", wanted)
        items = cast("list[object]", held) if isinstance(held, list) else None
        return items is not None and len(items) == len(values) and all(map(_holds, items, values))
    return isinstance(held, bool) == isinstance(wanted, bool) and held == wanted


def _compares(held: object, name: str, operand: object) -> bool:
    if name == "$eq":
        return _holds(held, operand)
    if name == "$ne":
        return not _holds(held, operand)
    if name not in _ORDERS:
        raise InvalidInputError(f"{name!r} is not a filter operator; use $eq, $ne, {', '.join(_ORDERS)}")
    one, other = _comparable(held), _comparable(operand)
    if isinstance(one, str) and isinstance(other, str):
        return _ORDERS[name](one, other)
    if isinstance(one, float) and isinstance(other, float):
        return _ORDERS[name](one, other)
    return False


def _comparable(value: object) -> float | str | None:
    if isinstance(value, str):
        return value
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


PAGE = 500  # memories per request: bounds the size of one answer
MOST_IDS = 100  # per filter: well below its limit of 500 values
_KEPT = tuple(state for state in State if state is not State.ERASED)
_CHANGEABLE = (State.ACTIVE, State.QUARANTINED)


@dataclass(frozen=True, slots=True)
class Rows:
    """The items in a memory. `trust` applies to new items."""

    mnemic: AnyMnemic
    trust: Trust

    def found(self, place: Place, ids: Sequence[str]) -> dict[str, list[Kept]]:
        """The items with these digests, newest first; several if two processes stored one at once. In any state,
        because neither upkeep nor a reviewer's opinion of a text changes a value.
        """
        found: dict[str, list[Kept]] = {}
        for start in range(0, len(ids), MOST_IDS):
            some = list(ids[start : start + MOST_IDS])
            for kept in self._list_items(place, {f"metadata.{KEY}.id": {"in": some}}, _KEPT):
                found.setdefault(kept.id, []).append(kept)
        return found

    def listed(self, place: Place, prefix: Namespace, conditions: Mapping[str, Any] | None) -> Iterator[Kept]:
        """The items below a prefix, newest first. May include some that the conditions reject."""
        return self._list_items(place, {**_below(prefix), **pushed_down(conditions)}, _KEPT)

    def recalled(
        self, place: Place, prefix: Namespace, query: str, conditions: Mapping[str, Any] | None, limit: int | None
    ) -> Iterator[tuple[Kept, float | None]]:
        """The items below a prefix that answer a query, best first, with their relevance, 0 to 1, if it is known."""
        recall = self.mnemic.recall(
            place.scope,
            query[:MAX_QUERY_CHARS],
            limit=limit,
            levels=[place.level],
            kinds=[Kind.FACT],
            filter={**_below(prefix), f"metadata.{KEY}.is_searched": True, **pushed_down(conditions)},
        )
        for hit in recall:
            kept = Kept.of(hit.item) if isinstance(hit.item, Memory) else None
            if kept is not None and not hit.is_fallback:
                yield kept, hit.relevance

    def put(self, place: Place, puts: Sequence[Put], now: datetime) -> None:
        """Store items: new ones in one transaction, an existing one in its own memory."""
        found = self.found(place, [each.id for each in puts])
        drafts: list[dict[str, object]] = []
        for each in puts:
            held, *others = found.get(each.id) or [None]
            fields = self._fields(each, now)
            if held is None or held.memory.state not in _CHANGEABLE or not self._is_updated(place, held, fields):
                drafts.append({**fields, "level": place.level, "kind": Kind.FACT, "is_pinned": True, "key": each.id})
                others = [held, *others]
            self.delete(place, [kept for kept in others if kept is not None])
        if drafts:
            self.mnemic.remember_many(place.scope, drafts)

    def delete(self, place: Place, items: Iterable[Kept]) -> None:
        """Delete the memories of items. Ignores missing ones."""
        for kept in items:
            try:
                self.mnemic.delete(place.scope, kept.memory.id, reason="deleted from a LangGraph store")
            except NotFoundError:
                continue

    def keep_until(self, place: Place, kept: Kept, until: datetime) -> None:
        """Restart an item's time to live, unless the item was changed or deleted in the meantime."""
        try:
            self.mnemic.update(place.scope, kept.memory.id, expires_at=until, reason="read from a LangGraph store")
        except (ConflictError, NotFoundError):
            return

    def _list_items(self, place: Place, conditions: Mapping[str, object], states: Sequence[State]) -> Iterator[Kept]:
        fields: dict[str, Any] = {
            "levels": [place.level],
            "kinds": [Kind.FACT],
            "states": states,
            "filter": conditions,
            "limit": PAGE,
        }
        while True:
            page = self.mnemic.list(place.scope, **fields)
            yield from (kept for kept in map(Kept.of, page.memories) if kept is not None)
            if page.next is None:
                return
            fields["after"] = page.next

    def _fields(self, put: Put, now: datetime) -> dict[str, Any]:
        until = None if put.ttl is None else now + timedelta(minutes=put.ttl)
        return {"text": put.text, "metadata": put.metadata(now), "trust": self.trust.value, "expires_at": until}

    def _is_updated(self, place: Place, held: Kept, fields: dict[str, Any]) -> bool:
        """False if the memory was deleted or has expired in the meantime."""
        changes = {name: value for name, value in fields.items() if getattr(held.memory, name) != value}
        try:
            self.mnemic.update(place.scope, held.memory.id, reason="put into a LangGraph store", **changes)
        except NotFoundError:
            return False
        return True


def _below(prefix: Namespace) -> dict[str, object]:
    return {f"metadata.{KEY}.under": {"contains": item_id(prefix)}}


try:
    from langgraph.checkpoint.base import BaseCheckpointSaver
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
"""The share of the time to live after which a read restarts it, so that not every read writes."""


class MnemicStore(BaseStore):
    """A thread-safe `BaseStore` whose items are memories of Mnemic, for one graph or many.

    - `layouts`: decide the owner of a namespace, such as `("memories", "{user}")`, or several of them; see
      `mnemic.integrations.memory`. An operation across several owners, or a namespace that fits no layout, raises
      `InvalidInputError`. Default: any namespace is the scope's.
    - `scope`: the org, and the agent that stores. Without layouts also the user.
    - `fields`: the paths of searchable texts in a value. Default: all texts. `index=` of `put` overrides them.
    - `trust`: of new items. Default: "assistant", because a model may have worded them. A text that looks like an
      instruction is stored and found by its key, but not by semantic search until a person trusts it. Secrets in a
      value are redacted, as everywhere.
    - `ttl`: LangGraph's configuration of times to live, measured by `clock`.
    """

    supports_ttl = True
    __slots__ = ("_fields", "_layouts", "_lock", "_rows", "clock", "ttl_config")

    def __init__(
        self,
        mnemic: AnyMnemic,
        layouts: Sequence[str] | Sequence[Sequence[str]] = (),
        *,
        scope: Scope | None = None,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        trust: Trust | str = Trust.ASSISTANT,
    ) -> None:
        self._rows = Rows(mnemic, Trust(trust))
        self._layouts = parse_layouts(layouts, scope or Scope())
        self._fields, self.ttl_config = fields, ttl
        self.clock: Callable[[], datetime] = lambda: datetime.now(UTC)
        self._lock = threading.RLock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Results of the operations, in order. Reads see the state before any write. The last write to a key wins."""
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
        with self._lock:
            results = [self._read(op) for op in asked]
            self._write([op for op in asked if isinstance(op, PutOp)])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like `batch`, on a thread outside the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op._replace(namespace_prefix=tuple(op.namespace_prefix)))  # a list is taken too
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
            raise InvalidInputError("limit and offset must be whole numbers of at least 0")
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
        """The distinct items below the prefix that match the filter: best first, or newest first without a query."""
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
        prefixes = (tuple(takewhile("*".__ne__, each.path)) for each in conditions if each.match_type == "prefix")
        prefix = max(prefixes, key=len, default=())
        place = self._layouts.place_below(prefix)
        known = {kept.namespace for kept in self._rows.listed(place, prefix, None) if self._is_at(place, kept, prefix)}
        found = {each[: op.max_depth] for each in known if all(_fits(condition, each) for condition in conditions)}
        return sorted(found)[op.offset : op.offset + op.limit]

    def _is_at(self, place: Place, kept: Kept, prefix: Namespace) -> bool:
        """True if the item is where its namespace belongs, because anyone can write a memory's metadata."""
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
                put.metadata(now)  # every value is checked before any is written
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


def erase_thread(mnemic: AnyMnemic, scope: Scope, checkpointer: BaseCheckpointSaver[Any]) -> Receipt:
    """Erase the scope's session, after the checkpoints of the thread with its id. A thread whose session has no message
    of this user stays, because thread ids do not show the owner. If the deletion fails, repeat the call. Raises
    `InvalidInputError` for a scope without a session.
    """
    if mnemic.window(require_session(scope), limit=1, include_closed=True):
        checkpointer.delete_thread(str(scope.session))
    return mnemic.erase(scope, level=Level.SESSION)


def _fits(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
