"""Statements that have forgotten the condition that keeps them to their partition, and calls of every port to try."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import pytest

from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.postgres.connections import statements
from mnemic.model.candidates import Change
from mnemic.model.document import DocumentQuery
from mnemic.model.graph import EntityQuery, EntityType, RelationQuery, SourceKind, entity_id
from mnemic.model.recall import MemoryQuery, MessageQuery
from mnemic.model.records import JobState
from mnemic.model.scope import Level
from mnemic.ports.store import StaleTerms, UnitOfWork
from mnemic.testing.isolation import IsolationRun
from mnemic.testing.random_nouns import every_scope
from mnemic.testing.samples import ANNA_ELSEWHERE, MINUTE, NOW, READING, SPACE, a_query, a_vector

FORGOTTEN = re.compile(
    r"(\w+\.)?pid = (ANY\(%\(pids\)s(::bigint\[\])?\)|%\(pid\)s)|(\w+\.)?org = (%\(org\)s|asked\.org)", re.ASCII
)
READS = {"where_visible", "where_latest", "where_page", "where_ids", "where_turn"}
THEIRS = ANNA_ELSEWHERE.partition(Level.USER)


def forget(monkeypatch: pytest.MonkeyPatch, names: set[str] | None = None) -> int:
    """Take partition and org out of statements that ask for one, of all or of these; returns out of how many."""
    count = 0
    topics = ("access", "conversations", "documents", "erasure", "history", "jobs", "memories", "messages")
    topics += ("dependants", "graph", "entity_vectors", "partitions", "profiles", "requests", "upkeep", "vectors")
    for topic in topics:
        named = statements(topic)
        for name, sql in list(named.items()):
            changed = FORGOTTEN.sub("true", sql)
            if changed != sql and (names is None or name in names):
                count += 1
                monkeypatch.setitem(named, name, changed)
    return count


def reads(ids: dict[str, str]) -> dict[str, Callable[[UnitOfWork], object]]:
    """What the other org asks for, with ids of `acme`."""
    visible, memory, document = ANNA_ELSEWHERE.visibility, ids["memories"], ids["documents"]
    node = entity_id(None, "tea", EntityType.THING)
    return {
        "list": lambda work: work.memories.list(visible, a_query()),
        "ids": lambda work: work.memories.ids(visible, a_query()),
        "get": lambda work: work.memories.get(visible, [memory]),
        "holder": lambda work: work.memories.holder(THEIRS, None, "said in acme"),
        "turn": lambda work: work.messages.of_turn(visible, "turn-1"),
        "latest": lambda work: work.messages.latest(visible, "s1", 9),
        "page": lambda work: work.messages.page(visible, None, 9),
        "conversation": lambda work: work.conversations.messages(THEIRS, "s1", 0, 9),
        "said": lambda work: work.conversations.said(visible.at(Level.USER), MessageQuery()),
        "documents": lambda work: work.documents.list(visible, DocumentQuery()),
        "text": lambda work: work.documents.text(visible, document),
        "passages": lambda work: work.documents.passages(visible, document, 0, 9),
        "vectors": lambda work: sorted(work.vectors.get(THEIRS, [memory], "item", SPACE)),
        "missing": lambda work: work.vectors.missing(THEIRS, "no space", 9),
        "changes": lambda work: [change.item_id for change in changes(work)],
        "count": lambda work: work.partitions.count([THEIRS]),
        "jobs": lambda work: work.jobs.list([THEIRS], tuple(JobState), 9),
        "history": lambda work: work.history.of(visible, memory),
        "profile": lambda work: work.profiles.of(THEIRS),
        "idle": lambda work: work.upkeep.idle("read", NOW + MINUTE, 9, THEIRS),
        "upkeep": lambda work: work.upkeep.memories(THEIRS, "", 9),
        "keys": lambda work: work.keys.list("other"),
        "audit": lambda work: work.audit.list("other", None, 9),
        "receipts": lambda work: work.erasure.receipts("other"),
        "request": lambda work: work.requests.get("other", "key:1", ids["requests"]),
        "erasure": lambda work: work.erasure.count(THEIRS),
        "unread": lambda work: [each.text for each in work.graph.unread(THEIRS, {SourceKind.MEMORY: "other"}, "", 9)],
        "entities": lambda work: [each.name for each in work.graph.entities(visible, EntityQuery())],
        "relations": lambda work: [each.source_id for each in work.graph.relations(visible, [node], RelationQuery())],
        "mentions": lambda work: [each.item_id for each in work.graph.mentions(visible, [node], 9)],
        "named in": lambda work: [each.name for each in work.graph.named_in(visible, [memory])],
        "nearest": lambda work: work.entity_vectors.nearest(visible, SPACE, a_vector("").vector, 9),
        "unembedded": lambda work: work.entity_vectors.missing(THEIRS, "no space", "", 9),
        "embedded": lambda work: work.entity_vectors.coverage(THEIRS, SPACE),
        "made of": lambda work: [each.text for each in work.dependants.of(THEIRS, ["said in acme"])],
    }


def changes(work: UnitOfWork) -> Iterator[Change]:
    for change in work.partitions.changes(THEIRS, 0, READING):
        yield change.change if isinstance(change, StaleTerms) else change


def writes(ids: dict[str, str]) -> list[Callable[[UnitOfWork], object]]:
    """What the other org does, with ids of `acme`."""
    memory, later = ids["memories"], NOW + MINUTE
    return [
        lambda work: work.memories.touch(THEIRS, {memory: 1}, later),
        lambda work: work.upkeep.fade(THEIRS, {memory: 0.1}),
        lambda work: work.vectors.put(THEIRS, [a_vector(memory)], later),
        lambda work: work.history.scrub(THEIRS, [memory]),
        lambda work: work.profiles.remove(THEIRS, ["drink"]),
        lambda work: work.conversations.move(THEIRS, "s1", "summarised", 1, 2),
        lambda work: work.keys.end("other", ids["api_keys"], revoked_at=NOW),
        lambda work: work.requests.scrub("other", Level.USER, "acme", ""),
        lambda work: work.memories.erase(THEIRS, [memory], later),
        lambda work: work.messages.erase(THEIRS, [ids["messages"]]),
        lambda work: work.documents.erase(THEIRS, [ids["documents"]], later),
        lambda work: work.graph.forget(THEIRS, [memory]),
        lambda work: work.erasure.wipe(THEIRS),
    ]


def done(store: PostgresStore, calls: Iterable[Callable[[UnitOfWork], object]]) -> list[object]:
    """What each call answers, in a unit of work of its own."""
    answers: list[object] = []
    for call in calls:
        with store.write() as work:
            answers.append(call(work))
    return answers


class ForgetfulRun(IsolationRun):
    """The random run with one org in each unit of work, and an oracle that knows orgs alone."""

    seen_of_others = 0

    def unit(self) -> None:
        org = self.random.choice(("acme", "other"))
        self.use.scopes = [scope for scope in every_scope() if scope.org == org]
        super().unit()

    def ask(self, work: UnitOfWork) -> None:
        scope = self.use.scope()
        messages = work.messages.page(scope.visibility, None, 9999)
        memories = work.memories.list(scope.visibility, MemoryQuery(now=self.use.now, states=()))
        for item in (*messages, *memories, *work.documents.list(scope.visibility, DocumentQuery())):
            assert item.partition.org == scope.org
            self.seen_of_others += item.partition not in scope.visibility.partitions

    def ask_documents(self, work: UnitOfWork) -> None:
        self.ask(work)

    def erase(self, work: UnitOfWork) -> None:
        """Nothing: the contract's own names the org of any row, and a unit of work sees all that it names."""
