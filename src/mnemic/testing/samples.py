"""Small valid nouns for tests: each is complete, and a test says only what matters to it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate, count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.model.candidates import Terms
from mnemic.model.document import Document, DocumentStatus
from mnemic.model.item import Chunk, Kind, Memory, Message, ProfileEntry, Role
from mnemic.model.recall import MemoryQuery
from mnemic.model.records import Action, HistoryEntry, Job
from mnemic.model.scope import Level, Partition, Scope
from mnemic.ports.store import MAIN_VIEW, Reading, Store, VectorRow

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ANALYSER = "sample-1"
SPACE = "space-of-3"
READING = Reading(SPACE, ANALYSER)

ANNA = Scope(org="acme", user="anna", agent="jarvis", session="s1")
BERT = Scope(org="acme", user="bert", agent="jarvis", session="s1")
ANNA_ELSEWHERE = Scope(org="other", user="anna", agent="jarvis", session="s1")
HERS = ANNA.partition(Level.USER)

_numbers = count(1)


def new_id() -> str:
    """An id that no other call returns; later ones sort after earlier ones."""
    return f"{next(_numbers):032d}"


def terms(text: str) -> Terms:
    """The analysed form of a text by the analyser of `READING`."""
    return Terms(ANALYSER, text.lower())


def a_memory(text: str = "Anna likes tea", partition: Partition = HERS, **changes: Any) -> Memory:
    """A memory noted at `NOW`; its dedup key is its text by default."""
    memory = Memory(
        id=new_id(),
        partition=partition,
        text=text,
        kind=Kind.FACT,
        dedup_key=text,
        created_at=NOW,
        updated_at=NOW,
        observed_at=NOW,
    )
    return replace(memory, **changes)


def a_message(position: int, text: str = "Good morning", scope: Scope = ANNA, **changes: Any) -> Message:
    """A message said at `NOW` in the session of `scope`, each in its own turn by default."""
    message = Message(
        id=new_id(),
        partition=scope.message_partition,
        session=scope.session or "s1",
        turn_id=f"turn-{position}",
        turn=position,
        position=position,
        role=Role.USER,
        name=None,
        text=text,
        observed_at=NOW,
        created_at=NOW,
    )
    return replace(message, **changes)


def a_document(source: str = "notes/tea.md", partition: Partition = HERS, **changes: Any) -> Document:
    """A document that was ready at `NOW`."""
    document = Document(
        id=new_id(),
        partition=partition,
        source=source,
        title="All about tea",
        media_type="text/markdown",
        status=DocumentStatus.READY,
        created_at=NOW,
        updated_at=NOW,
        sha256="5eed",
    )
    return replace(document, **changes)


def passages(document: Document, *texts: str, **changes: Any) -> list[Chunk]:
    """The chunks of a document whose text is these texts, one behind the other."""
    ends = [*accumulate(map(len, texts), initial=0)]
    chunks = [
        Chunk(
            id=new_id(),
            partition=document.partition,
            document_id=document.id,
            index=index,
            start=ends[index],
            end=ends[index + 1],
            text=text,
            token_count=len(text.split()),
            title=document.title,
            source=document.source,
            created_at=NOW,
            observed_at=NOW,
            private_agent=document.private_agent,
            metadata=document.metadata,
        )
        for index, text in enumerate(texts)
    ]
    return [replace(chunk, **changes) for chunk in chunks]


def a_vector(item_id: str, *components: float, view: str = MAIN_VIEW, space: str = SPACE) -> VectorRow:
    """A vector row of the components (1, 0, 0 if none are given), brought to length 1."""
    return VectorRow(item_id, view, space, unit(*(components or (1.0, 0.0, 0.0))))


def unit(*components: float) -> NDArray[np.float32]:
    """The components, as float32, brought to length 1."""
    vector = np.array(components, dtype=np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def a_job(key: str = "day-1", partition: Partition = HERS, **changes: Any) -> Job:
    """A pending job of kind "curate", due at `NOW`."""
    job = Job(id=new_id(), partition=partition, kind="curate", key=key, created_at=NOW, run_at=NOW)
    return replace(job, **changes)


def an_entry(item_id: str, partition: Partition = HERS, **changes: Any) -> HistoryEntry:
    """An entry that tells of an update."""
    entry = HistoryEntry(
        id=new_id(),
        partition=partition,
        item_id=item_id,
        action=Action.UPDATED,
        actor="anna",
        reason="she said so",
        at=NOW,
        before={"text": "Anna likes coffee"},
        after={"text": "Anna likes tea"},
    )
    return replace(entry, **changes)


def a_profile_entry(key: str, partition: Partition = HERS, value: str = "tea") -> ProfileEntry:
    """An entry put by the library at `NOW`."""
    return ProfileEntry(partition, key, value, "library", NOW, NOW)


def a_query(**changes: Any) -> MemoryQuery:
    """Active memories at `NOW`, newest first."""
    return replace(MemoryQuery(now=NOW), **changes)


def add_memories(store: Store, *memories: Memory) -> list[bool]:
    """Store memories in one unit of work."""
    with store.write() as work:
        return work.memories.add([(memory, terms(memory.text)) for memory in memories])


def add_messages(store: Store, *messages: Message) -> None:
    """Store messages of one conversation in one unit of work."""
    with store.write() as work:
        work.messages.conversation(messages[0].partition, messages[0].session, NOW)
        work.messages.add([(message, terms(message.text)) for message in messages])


def add_vectors(store: Store, *rows: VectorRow, partition: Partition = HERS) -> int:
    """Store vectors at `NOW` in one unit of work."""
    with store.write() as work:
        return work.vectors.put(partition, rows, NOW)


def fill_document(store: Store, document: Document, *texts: str, **changes: Any) -> list[Chunk]:
    """Store a document with these passages in one unit of work."""
    chunks = passages(document, *texts, **changes)
    with store.write() as work:
        work.documents.fill(document, "".join(texts), [(chunk, terms(chunk.text)) for chunk in chunks])
    return chunks


def counted(**rows: int) -> dict[str, int]:
    """What `count` answers: these rows, and none of the others."""
    return {"messages": 0, "memories": 0, "documents": 0, "chunks": 0, "vectors": 0, **rows}


def version_of(store: Store, partition: Partition = HERS) -> int:
    """The version of one partition."""
    with store.read() as work:
        return work.partitions.versions([partition])[partition]
