"""How an item of a LangGraph store is kept as a memory, which items a filter takes, and how they are found and written.

The value lies in the memory's metadata and comes back as it was given; the memory's text is what is searched: the texts
within the value, and a short mark of namespace and key, so that two items that say the same stay two. Items are read
and written by the verbs of Mnemic alone, so that a store is the same here and on a server.
"""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, cast

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.integrations.memory import AnyMnemic
from mnemic.integrations.namespaces import Namespace, Place
from mnemic.model.filter import Scalar
from mnemic.model.item import Kind, Memory, State, Trust
from mnemic.model.values import as_utc

KEY = "langgraph"
MAX_SEARCHED_CHARS = 20_000
_MARK = 12
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
    """An item as it was put: `texts` are what is searched of it, None for nothing; `ttl` is in minutes."""

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
        """What the memory says."""
        said = "an item of LangGraph" if self.texts is None else "\n".join(self.texts)[:MAX_SEARCHED_CHARS].strip()
        clean = said.replace("\0", " ").encode(errors="replace").decode()
        return f"{clean}\n#{self.id[:_MARK]}".strip()

    def metadata(self, now: datetime) -> dict[str, object]:
        """What the memory keeps beside its text. Raises `InvalidInputError` for a value that is no JSON.

        The empty slot says that the text is not to be set against what else is known of the user: an item is changed by
        its key alone.
        """
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
        return {"slot": "", KEY: item}


@dataclass(frozen=True, slots=True)
class Kept:
    """An item as its memory holds it."""

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
        """The item of a memory; None where it holds none, or not in the form that this module writes."""
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
    """A digest of a namespace, and of a key in it; no two of them share one."""
    told = json.dumps([list(namespace), key])
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def searched_texts(
    value: Mapping[str, Any], index: Literal[False] | Iterable[Sequence[str]] | None
) -> list[str] | None:
    """What of a value is searched: all its texts (None), those given, or nothing (False)."""
    if index is False:
        return None
    texts = _leaves(value) if index is None else [text for found in index for text in found]
    return [text for text in texts if text.strip()]


def pushed_down(conditions: Mapping[str, Any] | None) -> dict[str, object]:
    """What of a filter the memory can check itself, in its own form; `matches` has the last word."""
    pushed: dict[str, object] = {}
    for name, wanted in (conditions or {}).items():
        if not name or not name.isprintable() or not _UNSAFE.isdisjoint(name):
            continue
        tests = _tests(wanted)
        if tests:
            pushed[f"metadata.{KEY}.value.{name}"] = tests
    return pushed


def matches(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    """True when every condition holds. Raises `InvalidInputError` for an operator that is none of LangGraph's.

    Numbers are ordered among numbers and texts among texts; what cannot be ordered is not found.
    """
    return all(_holds(value.get(name), wanted) for name, wanted in (conditions or {}).items())


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
        raise InvalidInputError(f"{name!r} is no operator of a filter; there are $eq, $ne, {', '.join(_ORDERS)}")
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


PAGE = 500
MOST_IDS = 100
MAX_QUERY_CHARS = 20_000
_KEPT = tuple(state for state in State if state is not State.ERASED)
_CHANGEABLE = (State.ACTIVE, State.QUARANTINED)


@dataclass(frozen=True, slots=True)
class Rows:
    """The items in a memory. `trust` is that of what is put."""

    mnemic: AnyMnemic
    trust: Trust

    def found(self, place: Place, ids: Sequence[str]) -> dict[str, list[Kept]]:
        """The items of these digests, the newest first: there are several where two processes put one at once.

        Whatever state their memories are in: what upkeep or a reviewer thinks of a text does not change a value.
        """
        found: dict[str, list[Kept]] = {}
        for start in range(0, len(ids), MOST_IDS):
            some = list(ids[start : start + MOST_IDS])
            for kept in self._listed(place, {f"metadata.{KEY}.id": {"in": some}}, _KEPT):
                found.setdefault(kept.id, []).append(kept)
        return found

    def listed(self, place: Place, prefix: Namespace, conditions: Mapping[str, Any] | None) -> Iterator[Kept]:
        """The items below a prefix, the newest first; they may be more than the conditions take."""
        return self._listed(place, {**_below(prefix), **pushed_down(conditions)}, _KEPT)

    def recalled(
        self, place: Place, prefix: Namespace, query: str, conditions: Mapping[str, Any] | None, limit: int | None
    ) -> Iterator[tuple[Kept, float]]:
        """The items below a prefix that answer a question, best first, with their scores; none where nothing does."""
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
                yield kept, hit.score

    def put(self, place: Place, puts: Sequence[Put], now: datetime) -> None:
        """Write items: those that are new in one transaction, a known one in its own memory."""
        found = self.found(place, [each.id for each in puts])
        drafts: list[dict[str, object]] = []
        for each in puts:
            held, *others = found.get(each.id) or [None]
            fields = self._fields(each, now)
            if held is None or held.memory.state not in _CHANGEABLE or not self._is_updated(place, held, fields):
                drafts.append({**fields, "level": place.level, "kind": Kind.FACT, "is_pinned": True})
                others = [held, *others]
            self.delete(place, [kept for kept in others if kept is not None])
        if drafts:
            self.mnemic.remember_many(place.scope, drafts)

    def delete(self, place: Place, items: Iterable[Kept]) -> None:
        """Delete the memories of items; one that is gone already is none."""
        for kept in items:
            try:
                self.mnemic.delete(place.scope, kept.memory.id, reason="deleted from a LangGraph store")
            except NotFoundError:
                continue

    def keep_until(self, place: Place, kept: Kept, until: datetime) -> None:
        """Start the time to live of an item anew; of one that was changed or deleted meanwhile it is not ours."""
        try:
            self.mnemic.update(place.scope, kept.memory.id, expires_at=until, reason="read from a LangGraph store")
        except (ConflictError, NotFoundError):
            return

    def _listed(self, place: Place, conditions: Mapping[str, object], states: Sequence[State]) -> Iterator[Kept]:
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
        """False where the memory was deleted, or has expired, meanwhile."""
        changes = {name: value for name, value in fields.items() if getattr(held.memory, name) != value}
        try:
            self.mnemic.update(place.scope, held.memory.id, reason="put into a LangGraph store", **changes)
        except NotFoundError:
            return False
        return True


def _below(prefix: Namespace) -> dict[str, object]:
    return {f"metadata.{KEY}.under": {"contains": item_id(prefix)}}
