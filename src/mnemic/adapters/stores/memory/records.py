"""Partitions, vectors, jobs and history of the reference store."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.memory.tables import Row
from mnemic.adapters.stores.memory.transaction import Transaction
from mnemic.errors import ConflictError
from mnemic.model.candidates import DOCUMENT, MESSAGE
from mnemic.model.document import DocumentStatus
from mnemic.model.item import Change, Chunk, Item, Memory, Message, State
from mnemic.model.recall import Counts
from mnemic.model.records import HistoryEntry, Job, JobState
from mnemic.model.scope import Partition, Visibility
from mnemic.model.values import to_microseconds
from mnemic.ports.store import MAIN_VIEW, Reading, StaleTerms, VectorRow

_ORDER: Mapping[type[Item], int] = {Message: 0, Memory: 1, Chunk: 2}


class MemoryPartitions:
    """The `Partitions` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def versions(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        return {partition: self._transaction.tables.versions.get(partition, 0) for partition in partitions}

    def changes(self, partition: Partition, since: int, reading: Reading) -> Iterator[Change | StaleTerms]:
        tables = self._transaction.tables
        rows: list[Row[Item]] = [*tables.messages.values(), *tables.memories.values(), *tables.chunks.values()]  # pyright: ignore[reportAssignmentType] -- a row is read-only, hence covariant
        rows = [row for row in rows if row.item.partition == partition and row.changed > since]
        for row in sorted(rows, key=lambda row: (row.changed, _ORDER[type(row.item)], row.number)):
            yield self._change(row, reading)

    def count(self, partitions: Sequence[Partition]) -> dict[str, int]:
        tables = self._transaction.tables
        return {
            "messages": sum(p in partitions and r.item.state != State.ERASED for (p, _), r in tables.messages.items()),
            "memories": sum(p in partitions and r.item.state != State.ERASED for (p, _), r in tables.memories.items()),
            "documents": sum(
                p in partitions and d.status != DocumentStatus.ERASED for (p, _), d in tables.documents.items()
            ),
            "chunks": sum(p in partitions and r.item.state != State.ERASED for (p, _), r in tables.chunks.items()),
            "vectors": sum(key[0] in partitions for key in tables.vectors),
        }

    def tally(self, visible: Visibility, now: datetime) -> Counts:
        tables = self._transaction.tables
        memories = [
            (memory.state.value, memory.kind.value, 1)
            for memory in (row.item for row in tables.memories.values())
            if visible.admits(memory.partition, memory.private_agent)
            and memory.state != State.ERASED
            and (memory.expires_at is None or memory.expires_at > now)
        ]
        documents = Counter(
            document.status.value
            for document in tables.documents.values()
            if visible.admits(document.partition, document.private_agent) and document.status != DocumentStatus.ERASED
        )
        return Counts.of(memories, documents.items())

    def horizon(self, partition: Partition) -> int:
        return self._transaction.tables.horizons.get(partition, 0)

    def tombstones(self, partition: Partition) -> int:
        return len(self._removable(partition))

    def compact(self, partition: Partition, limit: int) -> int:
        tables, gone = self._transaction.writable, self._removable(partition)[:limit]
        for row in gone:
            del tables.chunks[partition, row.item.id]
        if gone:
            tables.horizons[partition] = max(tables.horizons.get(partition, 0), gone[-1].changed)
        return len(gone)

    def _removable(self, partition: Partition) -> list[Row[Chunk]]:
        tables = self._transaction.tables
        named = {
            source
            for row in tables.memories.values()
            if row.item.state != State.ERASED
            for source in row.item.source_ids
        }
        gone = [
            row
            for (place, item_id), row in tables.chunks.items()
            if place == partition and row.item.state == State.ERASED and item_id not in named
        ]
        return sorted(gone, key=lambda row: (row.changed, row.number))

    def all(self) -> list[Partition]:
        return sorted(self._transaction.tables.versions)

    def _change(self, row: Row[Item], reading: Reading) -> Change | StaleTerms:
        item = row.item
        if item.state == State.ERASED:
            return Change(item_id=item.id, is_gone=True)
        change = self._of_chunk(item) if isinstance(item, Chunk) else self._of(item)
        key = (item.partition, item.id, MAIN_VIEW, reading.space or "")
        vector = self._transaction.tables.vectors.get(key)
        change = change._replace(terms=row.terms.terms, vector=vector)
        return change if row.terms.analyser == reading.analyser else StaleTerms(change, item.text)

    def _of_chunk(self, chunk: Chunk) -> Change:
        return Change(
            item_id=chunk.id,
            kind=DOCUMENT,
            is_active=chunk.state == State.ACTIVE,
            private_agent=chunk.private_agent,
            observed_at=to_microseconds(chunk.observed_at),
            session=chunk.document_id,
            position=chunk.index + 1,
            role=DOCUMENT,
        )

    def _of(self, item: Message | Memory) -> Change:
        is_message = isinstance(item, Message)
        return Change(
            item_id=item.id,
            kind=MESSAGE if is_message else item.kind.value,
            is_active=item.state == State.ACTIVE,
            private_agent=item.private_agent,
            importance=0.5 if is_message else item.importance,
            observed_at=to_microseconds(item.observed_at),
            expires_at=None if is_message or item.expires_at is None else to_microseconds(item.expires_at),
            session=item.session if is_message else None,
            position=item.position if is_message else 0,
            author=(item.name or "") if is_message else "",
            role=item.role.value if is_message else "",
            is_question=is_message and item.text.rstrip("\t\n\r ").endswith(("?", "？", "؟")),
            is_flagged=not is_message and bool(item.flags),
        )


class MemoryVectors:
    """The `Vectors` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def put(self, partition: Partition, rows: Sequence[VectorRow], at: datetime) -> int:
        for row in rows:
            self._transaction.check_dims(row.space, row.vector.shape[0])
        return sum(self._put(partition, row, at) for row in rows)

    def get(self, partition: Partition, ids: Sequence[str], view: str, space: str) -> dict[str, NDArray[np.float32]]:
        vectors = self._transaction.tables.vectors
        return {i: vectors[partition, i, view, space] for i in ids if (partition, i, view, space) in vectors}

    def missing(self, partition: Partition, space: str, limit: int) -> list[tuple[str, str]]:
        tables = self._transaction.tables
        items: list[Item] = [row.item for row in tables.memories.values()]
        items += [row.item for row in tables.messages.values()]
        items += [row.item for row in tables.chunks.values()]
        return [
            (item.id, item.text)
            for item in sorted(items, key=lambda item: item.id)
            if item.partition == partition
            and item.state != State.ERASED
            and item.text.strip("\t\n\v\f\r ")
            and (partition, item.id, MAIN_VIEW, space) not in tables.vectors
        ][:limit]

    def spaces(self) -> dict[str, int]:
        keys = sorted(key[3] for key in self._transaction.tables.vectors)
        return {space: keys.count(space) for space in dict.fromkeys(keys)}

    def known(self) -> set[str]:
        return set(self._transaction.tables.spaces)

    def coverage(self, partition: Partition, space: str) -> tuple[int, int]:
        tables = self._transaction.tables
        rows: list[Row[Item]] = [*tables.messages.values(), *tables.memories.values(), *tables.chunks.values()]  # pyright: ignore[reportAssignmentType] -- a row is read-only, hence covariant
        mine = [row.item for row in rows if row.item.partition == partition and row.item.state != State.ERASED]
        ids = [item.id for item in mine if item.text.strip("\t\n\v\f\r ")]
        return len(ids), sum((partition, i, MAIN_VIEW, space) in tables.vectors for i in ids)

    def alone(self, partition: Partition, space: str, others: Collection[str]) -> str | None:
        vectors = self._transaction.tables.vectors
        held = [key[1] for key in vectors if (key[0], key[2], key[3]) == (partition, MAIN_VIEW, space)]
        bare = [i for i in held if not any((partition, i, MAIN_VIEW, other) in vectors for other in others)]
        return max(bare, default=None)

    def remove(self, partition: Partition | None, space: str) -> int:
        tables = self._transaction.writable
        gone = [key for key in tables.vectors if key[3] == space and partition in (None, key[0])]
        for key in gone:
            del tables.vectors[key]
        for key in [key for key in tables.entity_vectors if key[2] == space and partition in (None, key[0])]:
            del tables.entity_vectors[key]
        if partition is None:
            tables.spaces.pop(space, None)
        return len(gone)

    def _put(self, partition: Partition, row: VectorRow, at: datetime) -> int:
        tables, key = self._transaction.writable, (partition, row.item_id)
        memory, message, chunk = tables.memories.get(key), tables.messages.get(key), tables.chunks.get(key)
        if memory is not None and memory.item.state != State.ERASED:
            changed = self._transaction.changed(partition)
            tables.memories[key] = replace(memory, item=replace(memory.item, updated_at=at), changed=changed)
        elif message is not None and message.item.state != State.ERASED:
            tables.messages[key] = replace(message, changed=self._transaction.changed(partition))
        elif chunk is not None and chunk.item.state != State.ERASED:
            tables.chunks[key] = replace(chunk, changed=self._transaction.changed(partition))
        else:
            return 0
        vector = row.vector.astype(np.float32)
        vector.flags.writeable = False
        tables.vectors[partition, row.item_id, row.view, row.space] = vector
        return 1


class MemoryJobs:
    """The `Jobs` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def add(self, jobs: Sequence[Job]) -> list[bool]:
        return [self._add(job) for job in jobs]

    def claim(self, kinds: Sequence[str], worker: str, now: datetime, leased_until: datetime) -> Job | None:
        due = [job for job in self._transaction.writable.jobs.values() if job.kind in kinds and _is_runnable(job, now)]
        if not due:
            return None
        job = min(due, key=lambda job: job.run_at)
        leased = replace(
            job, state=JobState.RUNNING, worker=worker, leased_until=leased_until, attempts=job.attempts + 1
        )
        return self._store(leased)

    def finish(self, job: Job) -> bool:
        return self._release(job, JobState.DONE, "", None)

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        state = JobState.DEAD if retry_at is None else JobState.PENDING
        return self._release(job, state, error, retry_at)

    def list(
        self, partitions: Sequence[Partition] | None, states: Sequence[JobState], limit: int
    ) -> builtins.list[Job]:
        jobs = self._transaction.tables.jobs.values()
        return [j for j in jobs if j.state in states and (partitions is None or j.partition in partitions)][:limit]

    def retry(self, partitions: Sequence[Partition] | None, ids: Sequence[str], now: datetime) -> int:
        count = 0
        for job in self.list(partitions, [JobState.DEAD], len(self._transaction.writable.jobs)):
            if job.id in ids and not self._is_open(job):
                self._store(replace(job, state=JobState.PENDING, attempts=0, run_at=now, worker=None))
                count += 1
        return count

    def _add(self, job: Job) -> bool:
        self._transaction.writable.versions.setdefault(job.partition, 0)
        if self._is_open(job):
            return False
        if (job.partition, job.id) in self._transaction.tables.jobs:
            raise ConflictError(f"job {job.id} cannot be stored: the id is taken")
        self._store(job)
        return True

    def _store(self, job: Job) -> Job:
        self._transaction.writable.jobs[job.partition, job.id] = job
        return job

    def _is_open(self, job: Job) -> bool:
        key = (job.partition, job.kind, job.key)
        jobs = self._transaction.tables.jobs.values()
        return any(
            (j.partition, j.kind, j.key) == key and j.state in (JobState.PENDING, JobState.RUNNING) for j in jobs
        )

    def _release(self, job: Job, state: JobState, error: str, retry_at: datetime | None) -> bool:
        held = self._transaction.writable.jobs.get((job.partition, job.id))
        if held is None or (held.state, held.worker, held.attempts) != (JobState.RUNNING, job.worker, job.attempts):
            return False
        released = replace(held, state=state, leased_until=None, error=error, usage=job.usage)
        self._store(replace(released, run_at=retry_at or held.run_at))
        return True


class MemoryHistory:
    """The `History` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def add(self, entries: Sequence[HistoryEntry]) -> None:
        for entry in entries:
            tables = self._transaction.writable
            tables.versions.setdefault(entry.partition, 0)
            if (entry.partition, entry.id) in tables.history:
                raise ConflictError(f"history entry {entry.id} cannot be stored: the id is taken")
            tables.history[entry.partition, entry.id] = entry

    def of(self, visible: Visibility, item_id: str) -> list[HistoryEntry]:
        entries = [e for e in self._transaction.tables.history.values() if e.item_id == item_id]
        return [e for e in entries if visible.admits(e.partition, self._private_agent(e))]

    def scrub(self, partition: Partition, item_ids: Sequence[str]) -> int:
        history = self._transaction.writable.history
        count = 0
        for key, entry in history.items():
            if entry.partition == partition and entry.item_id in item_ids:
                history[key] = replace(entry, before={}, after={}, reason="")
                count += 1
        return count

    def _private_agent(self, entry: HistoryEntry) -> str | None:
        tables, key = self._transaction.tables, (entry.partition, entry.item_id)
        document = tables.documents.get(key)
        item = tables.memories[key].item if key in tables.memories else document
        return None if item is None else item.private_agent


def _is_runnable(job: Job, now: datetime) -> bool:
    if job.state == JobState.PENDING:
        return job.run_at <= now
    return job.state == JobState.RUNNING and job.leased_until is not None and job.leased_until <= now
