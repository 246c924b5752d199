"""Stores that are broken on purpose, each in one way: the reference store with one spoilt port or unit of work."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.errors import ConflictError, MnemicError
from mnemic.model.candidates import Change
from mnemic.model.chat import Usage
from mnemic.model.document import Document, DocumentQuery, DocumentStatus
from mnemic.model.filter import EVERYTHING
from mnemic.model.item import Chunk, Conversation, Memory, Message
from mnemic.model.recall import MemoryQuery
from mnemic.model.records import Job, KeptRequest
from mnemic.model.scope import Level, Partition, Visibility
from mnemic.ports.store import (
    Conversations,
    Jobs,
    Memories,
    Messages,
    Partitions,
    Reading,
    StaleTerms,
    Terms,
    UnitOfWork,
    Upkeep,
    VectorRow,
    Vectors,
)
from mnemic.ports.tables import Documents, Requests
from mnemic.testing.store_units import Stopped

LONG_AGO = datetime.fromisoformat("0001-01-02T00:00:00+00:00")
FAR_AHEAD = datetime.fromisoformat("9999-12-30T00:00:00+00:00")


class Spoilt:
    """A port that answers as the one within, but for what a subclass spoils."""

    def __init__(self, port: Any, work: UnitOfWork) -> None:
        self.port = port
        self.work = work

    def __getattr__(self, name: str) -> Any:
        return getattr(self.port, name)


class SpoiltStore(MemoryStore):
    """The reference store with some of its ports replaced, by name."""

    def __init__(self, **spoilt: type[Spoilt]) -> None:
        super().__init__()
        self._spoilt = spoilt

    @contextmanager
    def read(self) -> Generator[UnitOfWork]:
        with super().read() as work:
            yield self._spoil(work)

    @contextmanager
    def write(self, *, is_erasing: bool = False) -> Generator[UnitOfWork]:
        with super().write(is_erasing=is_erasing) as work:
            yield self._spoil(work)

    def _spoil(self, work: UnitOfWork) -> UnitOfWork:
        for name, port in self._spoilt.items():
            setattr(work, name, port(getattr(work, name), work))
        return work


class IgnoresFilters(Spoilt):
    port: Memories

    def list(self, visible: Visibility, query: MemoryQuery) -> list[Memory]:
        return self.port.list(visible, replace(query, filter=EVERYTHING))


class LeaksAcrossUsers(Spoilt):
    port: Memories

    def list(self, visible: Visibility, query: MemoryQuery) -> list[Memory]:
        users = tuple(p for p in self.work.partitions.all() if p.level == Level.USER)
        return self.port.list(Visibility((*visible.partitions, *users), visible.agent), query)


class GetsForeignMessages(Spoilt):
    port: Messages

    def get(self, visible: Visibility, ids: Sequence[str]) -> list[Message]:
        return self.port.get(Visibility(tuple(self.work.partitions.all()), visible.agent), ids)


class ListsOneTooMany(Spoilt):
    port: Memories

    def list(self, visible: Visibility, query: MemoryQuery) -> list[Memory]:
        return self.port.list(visible, replace(query, limit=None if query.limit is None else query.limit + 1))


class RepeatsTheBookmark(Spoilt):
    port: Memories

    def list(self, visible: Visibility, query: MemoryQuery) -> list[Memory]:
        found = self.port.list(visible, query)
        return (self.port.get(visible, [query.after]) + found if query.after else found)[: query.limit]


class LosesMetadata(Spoilt):
    port: Memories

    def add(self, rows: Sequence[tuple[Memory, Terms]]) -> list[bool]:
        return self.port.add([(replace(memory, metadata={}), terms) for memory, terms in rows])


class MissesUpdates(Spoilt):
    port: Partitions

    def changes(self, partition: Partition, since: int, reading: Reading) -> Iterable[Change | StaleTerms]:
        return self.port.changes(partition, since + 1 if since else 0, reading)


class ForgetsErasures(Spoilt):
    port: Partitions

    def changes(self, partition: Partition, since: int, reading: Reading) -> Iterable[Change | StaleTerms]:
        rows = self.port.changes(partition, since, reading)
        return [row for row in rows if not (isinstance(row, Change) and row.is_gone)]


class KeepsItsVersion(Spoilt):
    port: Partitions

    def versions(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        return {partition: min(version, 1) for partition, version in self.port.versions(partitions).items()}


class IgnoresDedupKeys(Spoilt):
    port: Memories

    def add(self, rows: Sequence[tuple[Memory, Terms]]) -> list[bool]:
        return [self.port.add([(replace(memory, dedup_key=memory.id), terms)])[0] for memory, terms in rows]


class ShowsExpiredRows(Spoilt):
    port: Memories

    def list(self, visible: Visibility, query: MemoryQuery) -> list[Memory]:
        return self.port.list(visible, replace(query, now=LONG_AGO))


class ShowsPrivateRows(Spoilt):
    port: Memories

    def get(self, visible: Visibility, ids: Sequence[str]) -> list[Memory]:
        agents = (None, "jarvis", "friday")
        found = [self.port.get(Visibility(visible.partitions, agent), [i])[:1] for i in ids for agent in agents]
        return list({memory.id: memory for part in found for memory in part}.values())


class KeepsReplacedChunks(Spoilt):
    port: Documents

    def fill(self, document: Document, text: str, chunks: Sequence[tuple[Chunk, Terms]]) -> None:
        here = Visibility((document.partition,), document.private_agent)
        kept = self.port.passages(here, document.id, 0, 100)
        rows = [(replace(c, id=f"kept {c.id}", index=len(chunks) + n), Terms("", "")) for n, c in enumerate(kept)]
        self.port.fill(document, text, [*chunks, *rows])


class KeepsVectorsOfReplacedChunks(Spoilt):
    port: Documents

    def fill(self, document: Document, text: str, chunks: Sequence[tuple[Chunk, Terms]]) -> None:
        here = Visibility((document.partition,), document.private_agent)
        ids = [chunk.id for chunk in self.port.passages(here, document.id, 0, 100)]
        vectors: dict[Any, Any] = cast("Any", self.work.vectors)._transaction.tables.vectors  # noqa: SLF001 -- no port does such harm
        kept = {key: vector for key, vector in vectors.items() if key[1] in ids}
        self.port.fill(document, text, chunks)
        vectors.update(kept)


class ShowsPrivateDocuments(Spoilt):
    port: Documents

    def passages(self, visible: Visibility, document_id: str, first: int, count: int) -> list[Chunk]:
        agents = (visible.agent, "jarvis", "friday")
        found = [self.port.passages(replace(visible, agent=agent), document_id, first, count) for agent in agents]
        return max(found, key=len)


class GetsForeignChunks(Spoilt):
    port: Documents

    def chunks(self, visible: Visibility, ids: Sequence[str]) -> list[Chunk]:
        return self.port.chunks(replace(visible, partitions=tuple(self.work.partitions.all())), ids)


class TakesASourceTwice(Spoilt):
    port: Documents

    def put(self, documents: Sequence[Document]) -> None:
        for document in documents:
            try:
                self.port.put([document])
            except ConflictError:
                self.port.put([replace(document, source=f"{document.source} again")])


class BringsErasedDocumentsBack(Spoilt):
    port: Documents

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        found = self.port.get(Visibility((partition,), None), ids)
        for document in found:
            self.port.fill(document, "", [])
            self.port.put([replace(document, source=f"was {document.id}", status=DocumentStatus.FAILED, updated_at=at)])
        return len(found)


class MatchesUnderAnywhere(Spoilt):
    port: Documents

    def list(self, visible: Visibility, query: DocumentQuery) -> list[Document]:
        found = self.port.list(visible, replace(query, under="", limit=None))
        return [document for document in found if query.under.lower() in document.source.lower()][: query.limit]


class AnswersFromAnotherSpace(Spoilt):
    port: Vectors

    def get(self, partition: Partition, ids: Sequence[str], view: str, space: str) -> dict[str, NDArray[np.float32]]:
        found: dict[str, NDArray[np.float32]] = {}
        for known in (*self.port.spaces(), space):
            found |= self.port.get(partition, ids, view, known)
        return found


class TakesAnyDims(Spoilt):
    port: Vectors

    def put(self, partition: Partition, rows: Sequence[VectorRow], at: datetime) -> int:
        return self.port.put(partition, [replace(row, vector=np.resize(row.vector, 3)) for row in rows], at)


class ClaimsWithoutLease(Spoilt):
    port: Jobs

    def claim(self, kinds: Sequence[str], worker: str, now: datetime, leased_until: datetime) -> Job | None:
        return self.port.claim(kinds, worker, now, min(now, leased_until))


class ForgetsTouches(Spoilt):
    port: Memories

    def touch(self, partition: Partition, accesses: Mapping[str, int], at: datetime) -> None:
        """Writes nothing down."""


class KeepsFadingWhenTouched(Spoilt):
    port: Memories

    def touch(self, partition: Partition, accesses: Mapping[str, int], at: datetime) -> None:
        found = self.work.memories.get(Visibility((partition,), None), [*accesses])
        self.port.touch(partition, accesses, at)
        self.work.upkeep.fade(partition, {memory.id: memory.faded for memory in found})


class MovesFromAnywhere(Spoilt):
    port: Conversations

    def move(self, partition: Partition, session: str, name: str, was: int, to: int) -> bool:  # noqa: ARG002 -- it does not look where the cursor was
        return self.port.move(partition, session, name, self.port.cursor(partition, session, name), to)


class StartsEveryRun(Spoilt):
    port: Upkeep

    def start_run(self, schedule: str, was: datetime | None, at: datetime) -> bool:  # noqa: ARG002 -- it does not look when the last run was
        return self.port.start_run(schedule, self.port.last_run(schedule), at)


class IdlesAtOnce(Spoilt):
    port: Upkeep

    def idle(self, cursor: str, since: datetime, limit: int, within: Partition | None = None) -> list[Conversation]:
        return self.port.idle(cursor, max(since, FAR_AHEAD), limit, within)


class IdlesForEveryCursor(Spoilt):
    port: Upkeep

    def idle(self, cursor: str, since: datetime, limit: int, within: Partition | None = None) -> list[Conversation]:
        return self.port.idle(f"not {cursor}", since, limit, within)


class ForgetsAnyJob(Spoilt):
    port: Upkeep

    def forget_jobs(self, before: datetime) -> int:  # noqa: ARG002 -- it does not look how old they are
        return self.port.forget_jobs(FAR_AHEAD)


class ForgetsWhatJobsCost(Spoilt):
    port: Jobs

    def finish(self, job: Job) -> bool:
        return self.port.finish(replace(job, usage=Usage()))


class AnswersAnyOrg(Spoilt):
    port: Requests

    def get(self, org: str, caller: str, key: str) -> KeptRequest | None:
        found = (self.port.get(each, caller, key) for each in ("acme", org))
        return next(filter(None, found), None)


class BeginsTwice(Spoilt):
    port: Requests

    def add(self, request: KeptRequest, since: datetime) -> bool:  # noqa: ARG002 -- whatever is there already
        return self.port.add(request, FAR_AHEAD)


class KeepsAnswersOfTheForgotten(Spoilt):
    port: Requests

    def scrub(self, org: str, level: Level, owner: str, but: str) -> int:
        return 0 if level is Level.AGENT else self.port.scrub(org, level, owner, but)


class CommitsWhatRaised(MemoryStore):
    """Half a transaction: what was written before the error stays."""

    @contextmanager
    def write(self, *, is_erasing: bool = False) -> Generator[UnitOfWork]:
        raised: list[Exception] = []
        with super().write(is_erasing=is_erasing) as work:
            try:
                yield work
            except (MnemicError, Stopped) as error:
                raised.append(error)
        if raised:
            raise raised[0]
