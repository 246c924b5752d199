"""The memories that hold the items of a LangGraph store: found, written and deleted by the verbs of Mnemic alone, so
that a store is the same here and on a server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from mnemic.api import ListFields
from mnemic.errors import ConflictError, NotFoundError
from mnemic.integrations.holder import AnyMnemic
from mnemic.integrations.langgraph_items import KEY, Kept, Put, item_id, pushed_down
from mnemic.integrations.namespaces import Namespace, Place
from mnemic.model.item import Kind, Memory, State, Trust

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
        fields: ListFields = {
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
