"""Gems are found by what they mean, with the offline model, and come with what a reader needs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemic.api import Mnemic
from mnemic.config import Config
from mnemic.model.item import Kind, Memory
from mnemic.model.scope import Scope
from mnemic.text.analyser import Analyser

ANNA = Scope(user="anna")
QUESTION = "What database decisions have I made?"
DECISIONS = {
    "Chose pgvector over Qdrant": ("One PostgreSQL server is enough, no second system to back up.", "2026-02-03"),
    "Settled on SQLite with WAL for the local store": ("It needs no server.", "2026-03-10"),
}
OTHERS = [
    "Walks the dog along the canal before breakfast",
    "Prefers window seats on long train rides",
    "Learned to bake rye bread from her grandmother",
    "Her sister moves to Lyon in the summer",
    "Plays the cello in an amateur orchestra",
    "Is allergic to hazelnuts",
    "Runs ten kilometres every Sunday",
    "Wants to read more Portuguese novels",
]


@pytest.fixture(scope="module")
def mnemic() -> Iterator[Mnemic]:
    with Mnemic.open(Config(store="memory://")) as opened:
        gems = [
            {"text": text, "kind": "gem", "context": why, "observed_at": day, "importance": 0.8}
            for text, (why, day) in DECISIONS.items()
        ]
        opened.remember_many(ANNA, [*gems, *({"text": text, "kind": "gem"} for text in OTHERS)])
        yield opened


@pytest.mark.requirement("T-30", "J-02")
def test_decisions_about_databases_are_found_though_they_share_no_word_with_the_question(mnemic: Mnemic):
    analyser = Analyser()
    asked = set(analyser.terms(QUESTION))
    found = mnemic.recall(ANNA, QUESTION, limit=2)
    assert {hit.text for hit in found} == set(DECISIONS)
    for hit in found:
        assert isinstance(hit.item, Memory)
        assert "database" not in f"{hit.text} {hit.item.context}".casefold()
        assert not asked & set(analyser.terms(f"{hit.text} {hit.item.context}"))
        assert not hit.is_fallback


@pytest.mark.requirement("T-29")
def test_a_found_gem_has_its_text_its_context_its_relevance_and_its_date(mnemic: Mnemic):
    found = mnemic.recall(ANNA, QUESTION, kinds=["gem"])
    assert len(found) == 5
    (hit,) = [hit for hit in found if hit.text == "Chose pgvector over Qdrant"]
    assert isinstance(hit.item, Memory)
    assert hit.item.kind is Kind.GEM
    assert hit.item.context == "One PostgreSQL server is enough, no second system to back up."
    assert hit.item.observed_at.date().isoformat() == "2026-02-03"
    assert hit.score == pytest.approx(sum(part.points for part in hit.contributions))
    assert hit.similarity is not None
    assert 0 < hit.similarity < 1
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
