"""Gems are found by what they mean, with the offline model, and come with what a reader needs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.api import Mnemic
from mnemic.cli.app import run
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


@pytest.fixture(scope="module")
def curated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose gems were found in talks of three months, by rules."""
    path = tmp_path_factory.mktemp("gems") / "memory.db"
    said = {
        "2026-03-10": "We decided on one module per service because teams deploy alone.",
        "2026-04-02": "We decided to split the schema by tenant since archives grow.",
        "2026-04-20": "I prefer green tea over coffee with Maria.",
        "2026-04-29": "I plan to talk about the architecture with Maria.",
        "2026-05-03": "We decided to drop the event bus because nobody reads the architecture.",
    }
    with Mnemic.open(Config(store=str(path), embedder="none")) as mnemic:
        for day, text in said.items():
            mnemic.capture(ANNA, user=text, assistant="I see.", observed_at=f"{day}T10:00:00Z")
        assert len(mnemic.curate(ANNA).days) == 5
    return path


IN_APRIL = {"categories": {"contains": "architecture"}, "observed_at": {"gte": "2026-04-01", "lt": "2026-05-01"}}


@pytest.mark.requirement("T-26", "T-25")
def test_architecture_decisions_of_last_month_are_listed_and_recalled(curated: Path):
    decisions = {**IN_APRIL, "importance": {"gte": 0.6}, "and": [{"categories": {"contains": "decision"}}]}
    with Mnemic.open(Config(store=str(curated), embedder="none")) as mnemic:
        assert len(mnemic.list(ANNA, kinds=["gem"]).memories) == 5
        assert len(mnemic.list(ANNA, kinds=["gem"], filter=IN_APRIL).memories) == 2
        (listed,) = mnemic.list(ANNA, kinds=["gem"], filter=decisions).memories
        (hit,) = mnemic.recall(ANNA, "architecture decisions", kinds=["gem"], filter=decisions)
        assert listed.text == hit.text == "User decided to split the schema by tenant since archives grow."


@pytest.mark.requirement("T-26")
def test_the_command_line_narrows_gems_by_category_importance_and_date(
    curated: Path, capsys: pytest.CaptureFixture[str]
):
    def listed(*options: str) -> list[str]:
        given = ["memory", "list", "--user", "anna", "--store", str(curated), "--kind", "gem", "--json", *options]
        assert run(given) == 0
        return [memory["text"].split()[-1] for memory in json.loads(capsys.readouterr().out)["memories"]]

    april = ("--since", "2026-04-01", "--before", "2026-05-01")
    assert listed(*april) == ["Maria.", "Maria.", "grow."]
    assert listed(*april, "--category", "architecture") == ["Maria.", "grow."]
    assert listed(*april, "--category", "architecture", "--category", "decision") == ["grow."]
    assert listed("--min-importance", "high", "--before", "2026-05-01") == ["grow.", "alone."]
    assert listed("--min-importance", "0.95") == []
    assert listed("--category", "architecture", "--filter", '{"text": {"contains": "bus"}}') == ["architecture."]
    assert run(["memory", "list", "--user", "anna", "--store", str(curated), "--min-importance", "huge"]) == 2
