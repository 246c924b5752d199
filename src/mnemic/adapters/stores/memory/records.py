"""The reference store's partitions, vectors, jobs, history, profiles, upkeep, keys, audit log and requests."""

import builtins
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.memory.tables import Port, Row, remove_if
from mnemic.errors import ConflictError
from mnemic.model.candidates import DOCUMENT, MESSAGE, Change
from mnemic.model.document import Document, DocumentStatus
from mnemic.model.item import Chunk, Conversation, Item, Memory, Message, ProfileEntry, State
from mnemic.model.recall import ContextQuery, ContextRecord, Counts
from mnemic.model.records import (
    ERASED,
    ApiKey,
    AuditEntry,
    HistoryEntry,
    Job,
    JobState,
    KeptRequest,
    KeptToken,
    Outcome,
)
from mnemic.model.scope import Level, Partition, Visibility, to_microseconds
from mnemic.ports.store import MAIN_VIEW, Reading, StaleTerms, VectorRow

_ORDER: Mapping[type[Item], int] = {Message: 0, Memory: 1, Chunk: 2}


class MemoryPartitions(Port):
    """The `Partitions` port."""

    def versions(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        return {partition: self._transaction.tables.versions.get(partition, 0) for partition in partitions}

    def changes(self, partition: Partition, since: int, reading: Reading) -> Iterator[Change | StaleTerms]:
        tables = self._transaction.tables
        rows = [
            row
            for row in tables.items()
            if row.item.partition == partition and row.changed > since
            if reading.is_of_chunks in (None, isinstance(row.item, Chunk))
        ]
        for row in sorted(rows, key=lambda row: (row.changed, _ORDER[type(row.item)], row.number)):
            yield self._change(row, reading)

    def count(self, partitions: Sequence[Partition]) -> dict[str, int]:
        tables = self._transaction.tables
        return {
            "messages": sum(_lives(partitions, row.item) for row in tables.messages.values()),
            "memories": sum(_lives(partitions, row.item) for row in tables.memories.values()),
            "documents": sum(_lives(partitions, document) for document in tables.documents.values()),
            "chunks": sum(_lives(partitions, row.item) for row in tables.chunks.values()),
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
        change = self._change_of_chunk(item) if isinstance(item, Chunk) else self._change_of_item(item)
        key = (item.partition, item.id, MAIN_VIEW, reading.space or "")
        vector = self._transaction.tables.vectors.get(key)
        change = change._replace(terms=row.terms.terms, vector=vector)
        return change if row.terms.analyser == reading.analyser else StaleTerms(change, item.text)

    def _change_of_chunk(self, chunk: Chunk) -> Change:
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

    def _change_of_item(self, item: Message | Memory) -> Change:
        is_message = isinstance(item, Message)
        return Change(
            item_id=item.id,
            kind=MESSAGE if is_message else item.kind.value,
            is_active=item.state == State.ACTIVE,
            private_agent=item.private_agent,
            importance=0.5 if is_message else item.importance,  # messages have no importance of their own
            observed_at=to_microseconds(item.observed_at),
            expires_at=None if is_message or item.expires_at is None else to_microseconds(item.expires_at),
            session=item.session if is_message else None,
            position=item.position if is_message else 0,
            author=(item.name or "") if is_message else "",
            role=item.role.value if is_message else "",
            is_question=is_message and item.text.rstrip("\t\n\r ").endswith(("?", "？", "؟")),
            is_flagged=not is_message and bool(item.flags),
        )


class MemoryVectors(Port):
    """The `Vectors` port."""

    def put(self, partition: Partition, rows: Sequence[VectorRow], at: datetime) -> int:
        for row in rows:
            self._transaction.check_dims(row.space, row.vector.shape[0])
        return sum(self._put(partition, row, at) for row in rows)

    def get(self, partition: Partition, ids: Sequence[str], view: str, space: str) -> dict[str, NDArray[np.float32]]:
        vectors = self._transaction.tables.vectors
        return {i: vectors[partition, i, view, space] for i in ids if (partition, i, view, space) in vectors}

    def missing(self, partition: Partition, space: str, limit: int) -> list[tuple[str, str]]:
        tables = self._transaction.tables
        return [
            (item.id, item.text)
            for item in sorted((row.item for row in tables.items()), key=lambda item: item.id)
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
        mine = [row.item for row in tables.items() if _lives([partition], row.item)]
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


class MemoryJobs(Port):
    """The `Jobs` port."""

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
            raise ConflictError(f"job {job.id} cannot be stored: the id is already in use")
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


class MemoryHistory(Port):
    """The `History` port."""

    def add(self, entries: Sequence[HistoryEntry]) -> None:
        for entry in entries:
            tables = self._transaction.writable
            tables.versions.setdefault(entry.partition, 0)
            if (entry.partition, entry.id) in tables.history:
                raise ConflictError(f"history entry {entry.id} cannot be stored: the id is already in use")
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


class MemoryProfiles(Port):
    """The `Profiles` port."""

    def put(self, entries: Sequence[ProfileEntry]) -> None:
        tables = self._transaction.writable
        for entry in entries:
            tables.versions.setdefault(entry.partition, 0)
            old = tables.profiles.get((entry.partition, entry.key), entry)
            tables.profiles[entry.partition, entry.key] = replace(entry, created_at=old.created_at)

    def of(self, partition: Partition) -> list[ProfileEntry]:
        entries = self._transaction.tables.profiles.values()
        return sorted((e for e in entries if e.partition == partition), key=lambda entry: entry.key)

    def remove(self, partition: Partition, keys: Sequence[str]) -> int:
        profiles = self._transaction.writable.profiles
        return sum(profiles.pop((partition, key), None) is not None for key in keys)


class MemoryUpkeep(Port):
    """The `Upkeep` port."""

    def idle(self, cursor: str, since: datetime, limit: int, within: Partition | None = None) -> list[Conversation]:
        found = [
            talk
            for (partition, session), talk in self._transaction.tables.conversations.items()
            if within in (None, partition)
            and not partition.is_ephemeral
            and talk.last_at < since
            and self._transaction.tables.cursors.get((partition, session, cursor), 0) < talk.messages
        ]
        return sorted(found, key=lambda talk: (talk.last_at, talk.partition, talk.session))[:limit]

    def memories(self, partition: Partition, after: str, limit: int) -> list[Memory]:
        items = [row.item for (place, _), row in self._transaction.tables.memories.items() if place == partition]
        found = [memory for memory in items if memory.state != State.ERASED and memory.id > after]
        return sorted(found, key=lambda memory: memory.id)[:limit]

    def private_agents(self, partition: Partition) -> list[str]:
        tables = self._transaction.tables
        agents = {r.item.private_agent for r in tables.memories.values() if _lives([partition], r.item)}
        agents |= {d.private_agent for d in tables.documents.values() if _lives([partition], d)}
        return sorted(agent for agent in agents if agent is not None)

    def fade(self, partition: Partition, values: Mapping[str, float | None]) -> None:
        rows = self._transaction.writable.memories
        for item_id, faded in values.items():
            row = rows.get((partition, item_id))
            if row is not None and row.item.state != State.ERASED:
                rows[partition, item_id] = replace(row, item=replace(row.item, faded=faded))

    def last_run(self, schedule: str) -> datetime | None:
        return self._transaction.tables.schedules.get(schedule)

    def start_run(self, schedule: str, was: datetime | None, at: datetime) -> bool:
        schedules = self._transaction.writable.schedules
        if schedules.get(schedule) != was:
            return False
        schedules[schedule] = at
        return True

    def unserved(self, orgs: Collection[str]) -> dict[str, bool]:
        del orgs
        return {}

    def forget_jobs(self, before: datetime) -> int:
        jobs = self._transaction.writable.jobs
        return remove_if(jobs, lambda job: job.state == JobState.DONE and job.created_at < before)


def _lives(partitions: Sequence[Partition], row: Item | Document) -> bool:
    is_erased = row.status is DocumentStatus.ERASED if isinstance(row, Document) else row.state is State.ERASED
    return row.partition in partitions and not is_erased


class MemoryKeys(Port):
    """The `Keys` port."""

    def add(self, key: ApiKey) -> None:
        keys = self._transaction.writable.keys
        if key.id in keys:
            raise ConflictError(f"key {key.id} cannot be stored: the id is already in use")
        keys[key.id] = key

    def get(self, id: str) -> ApiKey | None:
        return self._transaction.tables.keys.get(id)

    def list(self, org: str) -> list[ApiKey]:
        return [key for key in self._transaction.tables.keys.values() if key.org == org]

    def end(self, org: str, id: str, *, expires_at: datetime | None = None, revoked_at: datetime | None = None) -> bool:
        keys = self._transaction.writable.keys
        key = keys.get(id)
        if key is None or key.org != org:
            return False
        keys[id] = replace(
            key,
            expires_at=min(filter(None, (key.expires_at, expires_at)), default=None),
            revoked_at=min(filter(None, (key.revoked_at, revoked_at)), default=None),
        )
        return True

    def blank(self, org: str, id: str, at: datetime) -> None:
        if self.end(org, id, revoked_at=at):
            key = self._transaction.tables.keys[id]
            user, agent = (None if name is None else ERASED for name in (key.user, key.agent))
            self._transaction.writable.keys[id] = replace(key, name="", user=user, agent=agent)
            remove_if(self._transaction.writable.tokens, lambda token: (token.org, token.key_id) == (org, id))

    def has_any(self) -> bool:
        return bool(self._transaction.tables.keys)


class MemoryTokens(Port):
    """The `Tokens` port."""

    def add(self, tokens: Sequence[KeptToken]) -> None:
        self._transaction.writable.tokens.update({token.hash: token for token in tokens})

    def get(self, hash: str) -> KeptToken | None:
        return self._transaction.tables.tokens.get(hash)

    def remove(self, org: str, hash: str) -> bool:
        return remove_if(self._transaction.writable.tokens, lambda each: (each.org, each.hash) == (org, hash)) == 1

    def has(self, connection: str) -> bool:
        return any(token.connection == connection for token in self._transaction.tables.tokens.values())

    def end(self, connection: str) -> int:
        return remove_if(self._transaction.writable.tokens, lambda token: token.connection == connection)

    def forget(self, before: datetime) -> int:
        return remove_if(self._transaction.writable.tokens, lambda token: token.expires_at < before)


class MemoryAudit(Port):
    """The `Audit` port."""

    def add(self, entries: Sequence[AuditEntry]) -> None:
        audit = self._transaction.writable.audit
        for entry in entries:
            audit[next(reversed(audit), 0) + 1] = entry

    def list(self, org: str, before: int | None, limit: int) -> list[tuple[int, AuditEntry]]:
        found = [(number, entry) for number, entry in self._transaction.tables.audit.items() if entry.org == org]
        return [pair for pair in reversed(found) if before is None or pair[0] < before][:limit]

    def forget(self, before: datetime) -> int:
        return remove_if(self._transaction.writable.audit, lambda entry: entry.at < before)


class MemoryRequests(Port):
    """The `Requests` port."""

    def add(self, request: KeptRequest, since: datetime) -> bool:
        requests = self._transaction.writable.requests
        known = requests.get(_place(request))
        if known is not None and known.at >= since:
            return False
        requests[_place(request)] = request
        return True

    def get(self, org: str, caller: str, key: str) -> KeptRequest | None:
        return self._transaction.tables.requests.get((org, caller, key))

    def answer(self, request: KeptRequest, outcome: Outcome, answer: bytes) -> bool:
        requests = self._transaction.writable.requests
        known = self._own(request)
        if known is None:
            return False
        if not known.fingerprint:
            outcome, answer = Outcome.FORGOTTEN if outcome is Outcome.ANSWERED else outcome, b""
        requests[_place(request)] = replace(known, outcome=outcome, answer=answer)
        return True

    def remove(self, request: KeptRequest) -> bool:
        requests = self._transaction.writable.requests
        return self._own(request) is not None and requests.pop(_place(request), None) is not None

    def scrub(self, org: str, level: Level, owner: str, but: str) -> int:
        requests = self._transaction.writable.requests
        found = [
            (place, each)
            for place, each in requests.items()
            if each.org == org and each.token != but and each.fingerprint and _names(each, level, owner)
        ]
        for place, each in found:
            outcome = Outcome.FORGOTTEN if each.outcome is Outcome.ANSWERED else each.outcome
            requests[place] = replace(
                each, outcome=outcome, answer=b"", fingerprint="", user=None, agent=None, session=None
            )
        return len(found)

    def forget(self, before: datetime) -> int:
        return remove_if(self._transaction.writable.requests, lambda request: request.at < before)

    def _own(self, request: KeptRequest) -> KeptRequest | None:
        known = self._transaction.tables.requests.get(_place(request))
        is_own = known is not None and known.token == request.token and known.outcome is Outcome.OPEN
        return known if is_own else None


class MemoryContexts(Port):
    """The `Contexts` port."""

    def add(self, records: Sequence[ContextRecord]) -> int:
        tables = self._transaction.writable
        known = [each for each in records if each.partition in tables.versions]
        tables.context_records.update({(each.partition, each.id): each for each in known})
        return len(known)

    def list(self, visible: Visibility, query: ContextQuery) -> builtins.list[ContextRecord]:
        wanted = [name for name in ("session", "agent", "message_id", "id") if getattr(query, name) is not None]
        found = [
            each
            for each in self._transaction.tables.context_records.values()
            if each.partition in visible.partitions
            and all(getattr(each, name) == getattr(query, name) for name in wanted)
            and (query.after is None or each.id < query.after)
        ]
        return sorted(found, key=lambda each: each.id, reverse=True)[: query.limit]

    def link(self, message: Message, query: str, within: timedelta) -> int:
        records = self._transaction.writable.context_records
        found = [
            place
            for place, each in records.items()
            if each.partition == message.partition
            and each.message_id is None
            and each.query == query
            and each.session in (None, message.session)
            and abs(each.at - message.created_at) <= within
        ]
        for place in found:
            records[place] = replace(records[place], message_id=message.id, query="")
        return len(found)

    def erase(self, partition: Partition, ids: Collection[str]) -> int:
        records = self._transaction.writable.context_records
        return sum(records.pop((partition, each), None) is not None for each in ids)

    def forget(self, before: datetime, most: int) -> int:
        records = self._transaction.writable.context_records
        kept = Counter[Partition]()
        gone: builtins.list[tuple[Partition, str]] = []
        for place, each in sorted(records.items(), key=lambda pair: pair[0][1], reverse=True):
            kept[each.partition] += 1
            if each.at < before or kept[each.partition] > most:
                gone.append(place)
        return sum(records.pop(place, None) is not None for place in gone)


def _place(request: KeptRequest) -> tuple[str, str, str]:
    return request.org, request.caller, request.key


def _names(request: KeptRequest, level: Level, owner: str) -> bool:
    named = {Level.USER: request.user, Level.AGENT: request.agent, Level.SESSION: request.session}
    return level is Level.ORG or named[level] == owner
