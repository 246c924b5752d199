"""Ten thousand random operations: no scope ever sees a row that is not its own.

What may be seen is decided here a second time, from the paragraph "Levels" of the design and not from the code that
makes partitions and visibilities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random

import pytest

from mnemic.model.document import DocumentQuery
from mnemic.model.item import Memory, Message, State
from mnemic.model.recall import MemoryQuery
from mnemic.model.scope import Level, Scope
from mnemic.ports.store import Store, UnitOfWork
from mnemic.testing.random_use import RandomUse
from mnemic.testing.samples import MINUTE, a_document, a_message, passages, terms

OPERATIONS = 10_000
OPERATIONS_PER_UNIT = 20
SEED = 20_260_501


@dataclass(slots=True)
class Row:
    """One row, and who noted it: `said_by` is the scope of its writer, `level` None for a message."""

    said_by: Scope
    level: Level | None
    private_agent: str | None
    expires_at: datetime | None
    is_erased: bool = False

    def is_visible(self, to: Scope, now: datetime) -> bool:
        """The paragraph "Levels", sentence by sentence."""
        is_private = self.private_agent is not None and self.private_agent != to.agent
        has_expired = self.expires_at is not None and self.expires_at <= now
        if self.is_erased or self.said_by.org != to.org or is_private or has_expired:
            return False
        by = self.said_by
        match self.level:
            case None:  # a message: its user's, in every session; without a user its session's
                return (to.user == by.user) if by.user is not None else (to.session == by.session)
            case Level.SESSION:  # a session belongs to its user; one of nobody is open to whoever is in it
                return to.session == by.session and by.user in (None, to.user)
            case Level.USER:
                return to.user == by.user
            case Level.AGENT:
                return to.agent == by.agent
            case Level.ORG:
                return True


@dataclass(slots=True)
class IsolationRun:
    """Writes and reads by one seeded random source, with the rows that must be there."""

    store: Store
    random: Random
    rows: dict[str, Row] = field(default_factory=dict[str, Row])
    documents: dict[str, Row] = field(default_factory=dict[str, Row])
    use: RandomUse = field(init=False)

    def __post_init__(self) -> None:
        self.use = RandomUse(self.random)

    def unit(self) -> None:
        """One unit of work of writes and reads."""
        with self.store.write() as work:
            for _ in range(OPERATIONS_PER_UNIT):
                writes = (self.remember, self.remember, self.say, self.erase, self.ingest)
                self.random.choice((*writes, *(self.ask,) * 4, self.ask_documents))(work)
        self.use.now += MINUTE * self.random.randint(0, 1)

    def remember(self, work: UnitOfWork) -> None:
        """Some scope notes something at a level it has."""
        scope = self.use.scope()
        parts = {Level.SESSION: scope.session, Level.USER: scope.user, Level.AGENT: scope.agent, Level.ORG: scope.org}
        level = self.random.choice([level for level, part in parts.items() if part is not None])
        memory = self.use.memory(scope.partition(level))
        state = memory.state if self.random.randint(0, 2) == 0 else State.ACTIVE
        memory = replace(memory, state=state, dedup_key=f"key {self.random.randint(0, 2)}")  # few keys: few rows, quick
        if work.memories.add([(memory, terms(memory.text))]) == [True]:
            self.rows[memory.id] = Row(scope, level, memory.private_agent, memory.expires_at)

    def say(self, work: UnitOfWork) -> None:
        """Something is said in some session."""
        scope = self.random.choice([scope for scope in self.use.scopes if scope.session is not None])
        message = a_message(1, "hello", scope)
        place = work.messages.conversation(message.partition, message.session, self.use.now)
        work.messages.add([(replace(message, position=place.messages + 1), terms("hello"))])
        self.rows[message.id] = Row(scope, None, None, None)

    def erase(self, work: UnitOfWork) -> None:
        """A row is erased, from its own partition or, in vain, from another."""
        if not self.rows:
            return
        item_id, partition = self.random.choice(list(self.rows)), self.use.partition()
        row = self.rows[item_id]
        if self.random.randint(0, 1):
            partition = row.said_by.message_partition if row.level is None else row.said_by.partition(row.level)
        if row.level is None:
            count = work.messages.erase(partition, [item_id])
        else:
            count = work.memories.erase(partition, [item_id], self.use.now)
        row.is_erased = row.is_erased or count == 1

    def ingest(self, work: UnitOfWork) -> None:
        """Some scope stores a document of one chunk at a level it has, or one of the documents is erased."""
        if self.random.randint(0, 4):
            return  # few documents: every one is looked at in every list
        if self.documents and self.random.randint(0, 2) == 0:
            document_id = self.random.choice(list(self.documents))
            row, partition = self.documents[document_id], self.use.partition()
            count = work.documents.erase(partition, [document_id], self.use.now)
            is_theirs = row.level is not None and partition == row.said_by.partition(row.level)
            assert count == int(is_theirs and not row.is_erased)
            row.is_erased = row.is_erased or count == 1
            return
        scope = self.use.scope()
        parts = {Level.SESSION: scope.session, Level.USER: scope.user, Level.AGENT: scope.agent, Level.ORG: scope.org}
        level = self.random.choice([level for level, part in parts.items() if part is not None])
        agent = self.random.choice((None, None, "jarvis", "friday"))
        document = a_document(f"{len(self.documents)}.md", scope.partition(level), private_agent=agent)
        (chunk,) = passages(document, "tea", id=f"chunk of {document.id}")
        work.documents.fill(document, "tea", [(chunk, terms("tea"))])
        self.documents[document.id] = Row(scope, level, agent, None)

    def ask_documents(self, work: UnitOfWork) -> None:
        """Some scope reads documents in every way there is; what it sees is exactly what the oracle says."""
        scope = self.use.scope()
        visible, rows = scope.visibility, self.documents
        expected = {i for i, row in rows.items() if row.is_visible(scope, self.use.now)}
        ids = self.random.sample(list(rows), min(len(rows), 20))
        assert {document.id for document in work.documents.list(visible, DocumentQuery())} == expected
        assert {document.id for document in work.documents.get(visible, ids)} == expected.intersection(ids)
        chunks = work.documents.chunks(visible, [f"chunk of {i}" for i in ids])
        assert {chunk.document_id for chunk in chunks} == expected.intersection(ids)
        for document_id in ids[:5]:
            is_visible = document_id in expected
            assert work.documents.text(visible, document_id) == ("tea" if is_visible else None)
            assert len(work.documents.passages(visible, document_id, 0, 9)) == int(is_visible)

    def ask(self, work: UnitOfWork) -> None:
        """Some scope reads in every way there is; what it sees is exactly what the oracle says."""
        scope, now = self.use.scope(), self.use.now
        visible = scope.visibility
        ids = self.random.sample(list(self.rows), min(len(self.rows), 50))
        rows = [(item_id, self.rows[item_id]) for item_id in ids]
        lasting = {i for i, row in rows if replace_expiry(row).is_visible(scope, now)}
        messages = work.messages.get(visible, ids)
        memories = work.memories.get(visible, ids)
        assert {item.id for item in (*messages, *memories)} == lasting
        query = replace(self.use.query(), now=now)
        everything = MemoryQuery(now=now, states=())
        match self.random.randint(0, 2):
            case 0:
                self.check(scope, *work.messages.latest(visible, scope.session or "s1", 9))
            case 1:
                listed = work.memories.list(visible, query)
                self.check(scope, *(memory for memory in listed if memory.state != State.ERASED))
            case _:
                found = work.memories.ids(visible, everything)
                assert found == {i for i, r in self.rows.items() if r.level is not None and r.is_visible(scope, now)}

    def check(self, scope: Scope, *items: Message | Memory) -> None:
        """Every item is visible to the scope."""
        for item in items:
            assert self.rows[item.id].is_visible(scope, self.use.now), (scope, item)


def replace_expiry(row: Row) -> Row:
    """The row as reading by id sees it: whatever has expired is still there for who knows its id."""
    return replace(row, expires_at=None)


class IsolationContract:
    """The run as a test. A store that is slow by nature may do with fewer `random_operations`."""

    random_operations = OPERATIONS

    @pytest.mark.requirement("J-11", "N-05", "N-07", "N-17", "R-16", "R-17")
    def test_ten_thousand_random_operations_over_random_scopes_never_show_a_row_outside(
        self, make_store: Callable[[], Store]
    ):
        store = make_store()
        run = IsolationRun(store, Random(SEED))  # noqa: S311 -- seeded randomness is what a test wants
        for _ in range(self.random_operations // OPERATIONS_PER_UNIT):
            run.unit()
        assert len(run.rows) > self.random_operations // 20
        assert len(run.documents) > self.random_operations // 150
        store.close()
