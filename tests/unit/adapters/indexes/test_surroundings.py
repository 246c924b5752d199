"""Where candidates stand in their talk, from the index in memory and from the divided one."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

from mnemic.adapters.indexes.fts5 import Fts5Index
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.indexes.tiered import TieredIndex
from mnemic.model.candidates import Candidates, Change, IndexQuery
from mnemic.model.scope import Level, Partition
from mnemic.ports.index import Index

ANNA = Partition("acme", Level.USER, "anna")


@pytest.fixture(params=["scan", "divided"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Index]:
    scan = ScanIndex()
    opened: Index = scan
    if request.param == "divided":
        opened = TieredIndex(scan, Fts5Index(tmp_path / "words.db"), threshold_rows=0)
    yield opened
    opened.close()


def said(position: int, terms: str, session: str = "s1", **more: object) -> Change:
    vector = np.eye(16, dtype=np.float32)[position]
    known = {"kind": "message", "role": "user", "vector": vector, **more}
    return Change(item_id=f"{session}-{position}", terms=terms, session=session, position=position, **known)  # pyright: ignore[reportArgumentType] -- fields by name


TALK = [
    said(1, "good morning", author="Anna Lee"),
    said(2, "where is the boat", author="Bert", is_question=True),
    said(3, "in the harbour", author="Anna Lee", role="assistant"),
    said(4, "thanks"),
    said(1, "boat sold", session="s2"),
    Change(item_id="fact", kind="fact", terms="boat is green"),
]


def ask(index: Index, neighbours: int, **more: object) -> Candidates:
    index.apply(ANNA, TALK, 1)
    fields = {"terms": ("boat",), "vector": None, "dense_limit": 0, "neighbours": neighbours, **more}
    return index.search(IndexQuery(partitions=(ANNA,), agent=None, now=0, **fields))  # pyright: ignore[reportArgumentType] -- fields by name


def neighbours_of(found: Candidates) -> dict[str, tuple[str | None, str | None]]:
    where = found.surroundings
    assert where is not None
    name = [str(i) for i in found.ids] + [None]
    return {str(i): (name[b], name[a]) for i, b, a in zip(found.ids, where.before, where.after, strict=True)}


def test_without_neighbours_only_rows_with_evidence_come_in(index: Index):
    assert set(ask(index, 0).ids) == {"s1-2", "s2-1", "fact"}


def test_messages_beside_a_candidate_come_in_as_many_steps_as_asked_for(index: Index):
    assert set(ask(index, 1).ids) == {"s1-1", "s1-2", "s1-3", "s2-1", "fact"}
    assert set(ask(index, 2).ids) == {"s1-1", "s1-2", "s1-3", "s1-4", "s2-1", "fact"}


def test_each_message_names_the_ones_beside_it_and_no_other_session(index: Index):
    assert neighbours_of(ask(index, 1)) == {
        "s1-1": (None, "s1-2"),
        "s1-2": ("s1-1", "s1-3"),
        "s1-3": ("s1-2", None),
        "s2-1": (None, None),
        "fact": (None, None),
    }


def test_sessions_authors_roles_and_questions_are_told(index: Index):
    found = ask(index, 1, words=frozenset({"what", "did", "lee", "say"}))
    where = found.surroundings
    assert where is not None
    told = {
        str(i): (bool(named), bool(assistant), bool(question))
        for i, named, assistant, question in zip(
            found.ids, where.is_named, where.is_assistant, where.is_question, strict=True
        )
    }
    assert told["s1-1"] == (True, False, False)
    assert told["s1-2"] == (False, False, True)
    assert told["s1-3"] == (True, True, False)
    assert told["fact"] == told["s2-1"] == (False, False, False)
    session = dict(zip((str(i) for i in found.ids), where.sessions.tolist(), strict=True))
    assert session["s1-1"] == session["s1-2"] == session["s1-3"] != session["s2-1"]
    assert session["fact"] == -1


def test_a_message_that_came_late_or_changed_is_put_in_its_place(index: Index):
    index.apply(ANNA, [TALK[2], TALK[0]], 1)
    index.apply(ANNA, [TALK[1]], 2)
    index.apply(ANNA, [TALK[0]._replace(terms="good evening")], 3)
    query = IndexQuery(partitions=(ANNA,), agent=None, now=0, terms=("boat",), vector=None, dense_limit=0, neighbours=1)
    found = neighbours_of(index.search(query))
    assert found["s1-2"] == ("s1-1", "s1-3")
    assert found["s1-1"] == (None, "s1-2")


def test_what_is_erased_is_nobodys_neighbour(index: Index):
    index.apply(ANNA, TALK, 1)
    index.apply(ANNA, [Change(item_id="s1-1", is_gone=True)], 2)
    query = IndexQuery(partitions=(ANNA,), agent=None, now=0, terms=("boat",), vector=None, dense_limit=0, neighbours=2)
    found = neighbours_of(index.search(query))
    assert "s1-1" not in found
    assert found["s1-2"] == (None, "s1-3")


def test_partitions_are_joined_without_mixing_their_talk(index: Index):
    bert = Partition("acme", Level.USER, "bert")
    index.apply(ANNA, TALK, 1)
    index.apply(bert, [said(1, "boat", session="s9"), said(2, "yes", session="s9")], 1)
    query = IndexQuery(
        partitions=(ANNA, bert), agent=None, now=0, terms=("boat",), vector=None, dense_limit=0, neighbours=1
    )
    found = index.search(query)
    assert neighbours_of(found)["s9-2"] == ("s9-1", None)
    where = found.surroundings
    assert where is not None
    by_id = dict(zip((str(i) for i in found.ids), where.sessions.tolist(), strict=True))
    assert len({by_id["s1-2"], by_id["s2-1"], by_id["s9-1"]}) == 3
