"""Makes what stores answer comparable, and takes down the whole state of a store through its ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from datetime import UTC, datetime
from typing import cast

import numpy as np

from mnemic.model.candidates import Change
from mnemic.model.document import DocumentQuery, DocumentStatus
from mnemic.model.graph import EntityQuery, RelationQuery
from mnemic.model.item import CURSORS, State
from mnemic.model.recall import MemoryQuery
from mnemic.model.records import JobState
from mnemic.model.scope import Visibility
from mnemic.ports.store import Reading, StaleTerms, Store, UnitOfWork
from mnemic.testing.samples import READING, SPACE

SCHEDULES = ("curate", "evict")
BEGINNING = datetime(1, 1, 1, tzinfo=UTC)  # nothing has expired yet


def plain(value: object) -> object:
    """The value with arrays, and the dataclasses around them, as tuples, so that `==` compares all of it."""
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    if isinstance(value, Change | StaleTerms):
        inside = value if isinstance(value, Change) else (value.change, value.text)
        return tuple(plain(inner) for inner in inside)
    if is_dataclass(value) or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in cast("Mapping[object, object]", value).items()}
    if isinstance(value, Sequence):
        return [plain(inner) for inner in cast("Sequence[object]", value)]
    return value


def state_of(store: Store) -> dict[str, object]:
    """Everything a store holds, by port; equal states compare equal whatever the store."""
    with store.read() as work:
        return {**_partitions(work), **_rows(work)}


def _partitions(work: UnitOfWork) -> dict[str, object]:
    partitions = work.partitions.all()
    return {
        "versions": work.partitions.versions(partitions),
        "count": work.partitions.count(partitions),
        "changes": {p: plain(list(work.partitions.changes(p, 0, READING))) for p in partitions},
        "texts": {p: plain(list(work.partitions.changes(p, 0, Reading(None, "another")))) for p in partitions},
        "missing": {p: work.vectors.missing(p, READING.space or "", 10_000) for p in partitions},
        "profiles": {p: work.profiles.of(p) for p in partitions},
        "spaces": work.vectors.spaces(),
        "jobs": work.jobs.list(None, tuple(JobState), 10_000),
        "runs": [work.upkeep.last_run(schedule) for schedule in SCHEDULES],
    }


def _rows(work: UnitOfWork) -> dict[str, object]:
    partitions = tuple(work.partitions.all())
    changes = [(p, change) for p in partitions for change in work.partitions.changes(p, 0, READING)]
    placed = [(p, change if isinstance(change, Change) else change.change) for p, change in changes]
    found = [change for _, change in placed]
    ids = [change.item_id for change in found]
    query = MemoryQuery(now=BEGINNING, states=tuple(State))
    sessions = {(p, change.session) for p, change in placed if change.session is not None}
    rows: dict[str, object] = {
        "conversations": {place: work.conversations.get(*place) for place in sessions},
        "cursors": {place: [work.conversations.cursor(*place, name) for name in CURSORS] for place in sessions},
    }
    for agent in {None, *(change.private_agent for change in found)}:
        everything = Visibility(partitions, agent)
        rows[f"memories seen by {agent}"] = work.memories.list(everything, query)
        rows[f"messages seen by {agent}"] = work.messages.get(everything, ids)
        rows[f"documents seen by {agent}"] = _documents(work, everything)
        rows[f"chunks seen by {agent}"] = work.documents.chunks(everything, ids)
        rows[f"graph seen by {agent}"] = _graph(work, everything, ids)
        rows[f"history seen by {agent}"] = [work.history.of(everything, item_id) for item_id in ids]
    return rows


def _graph(work: UnitOfWork, visible: Visibility, item_ids: Sequence[str]) -> list[object]:
    entities = work.graph.entities(visible, EntityQuery())
    relations = work.graph.relations(visible, {each.id for each in entities}, RelationQuery(limit=10_000))
    supports = work.graph.supports(visible, {each.id for each in relations}, 10_000)
    vectors = [(each, work.entity_vectors.coverage(each, SPACE)) for each in visible.partitions]
    return [entities, relations, supports, work.graph.named_in(visible, item_ids), vectors]


def _documents(work: UnitOfWork, visible: Visibility) -> list[object]:
    found = work.documents.list(visible, DocumentQuery(statuses=tuple(DocumentStatus)))
    return [(document, work.documents.text(visible, document.id)) for document in found]
