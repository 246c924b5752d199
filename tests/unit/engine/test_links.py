"""The second hop: documents that the first passages found name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.model.recall import Hit
from mnemic.model.scope import Scope
from tests.unit.engine.document_kit import keep

ANNA = Scope(user="anna", agent="jarvis", session="s1")
BERT = Scope(user="bert", agent="jarvis", session="s1")
QUESTION = "Who invented the collectible demon game of dice?"
GAME = "A collectible game of dice with demons, which Lester Smith invented."
MAN = "American designer, born in Ohio, author of many books."


def shelf(parts: Engine, scope: Scope = ANNA, others: int = 12) -> None:
    """The game, and documents about something else."""
    keep(parts, scope, [GAME], title="Demon Dice", source="game.md")
    for n in range(others):
        keep(parts, scope, [f"Train {n} leaves platform {n} at noon."], title=f"Train {n}", source=f"{n}.md")


def hits(mnemic: Mnemic, scope: Scope = ANNA, **asked: Any) -> list[Hit]:
    asked.setdefault("limit", 40)
    return list(mnemic.recall(scope, QUESTION, **asked).hits)


def points(hit: Hit) -> float:
    return sum(part.points for part in hit.contributions if part.feature == "linked")


def test_a_document_that_the_first_hit_names_comes_next_and_never_before_it(mnemic: Mnemic, parts: Engine):
    shelf(parts)
    keep(parts, ANNA, [MAN], title="Lester Smith (designer)", source="man.md")
    first, second, *rest = hits(mnemic)
    assert (first.text, second.text) == (GAME, MAN)
    assert points(second) > 0
    assert points(first) == 0
    assert not any(points(hit) for hit in rest)
    for hit in (first, second, *rest):
        assert hit.score == pytest.approx(sum(part.points for part in hit.contributions), abs=1e-4)


def test_of_a_named_document_one_passage_is_linked_the_best(mnemic: Mnemic, parts: Engine):
    shelf(parts)
    keep(parts, ANNA, ["Born in Ohio.", "He likes the game of go."], title="Lester Smith", source="man.md")
    linked = [hit for hit in hits(mnemic) if points(hit)]
    assert [hit.text for hit in linked] == ["He likes the game of go."]


def test_without_the_coefficient_nothing_is_linked(mnemic: Mnemic, parts: Engine):
    shelf(parts)
    keep(parts, ANNA, [MAN], title="Lester Smith", source="man.md")
    weights = replace(parts.settings.weights, linked=0.0)
    plain = Mnemic(replace(parts, settings=replace(parts.settings, weights=weights)), actor="tester")
    assert not any(points(hit) for hit in hits(plain))
    assert any(points(hit) for hit in hits(mnemic))


def test_a_passage_that_shares_nothing_with_the_question_is_fetched(parts: Engine):
    shelf(parts, others=150)
    (man,) = keep(parts, ANNA, ["Zzyzx quux."], title="Lester Smith", source="man.md")
    narrow = Mnemic(replace(parts, settings=replace(parts.settings, dense_candidates=1)), actor="tester")
    found = hits(narrow, limit=5)
    assert man.id in {hit.id for hit in found}
    assert narrow.why_not(ANNA, man.id, QUESTION, limit=5).stage == "found"


def test_a_name_of_several_documents_or_of_a_common_word_links_none(mnemic: Mnemic, parts: Engine):
    shelf(parts)
    for n in range(4):
        keep(parts, ANNA, [f"Page {n}."], title="Lester Smith", source=f"smith {n}.md")
    assert not any(points(hit) for hit in hits(mnemic))
    keep(parts, BERT, [GAME.replace("Lester Smith", "our Company")], title="Dice", source="game.md")
    for n in range(12):
        keep(parts, BERT, [f"Rule {n} of the company."], title=f"Rule {n}", source=f"{n}.md")
    keep(parts, BERT, ["All about us."], title="Company", source="company.md")
    assert not any(points(hit) for hit in hits(mnemic, BERT))


def test_documents_of_others_and_those_a_filter_leaves_out_are_not_linked(mnemic: Mnemic, parts: Engine):
    shelf(parts)
    keep(parts, BERT, [MAN], title="Lester Smith", source="man.md")
    keep(parts, ANNA, [MAN], title="Lester Smith", source="secret.md", agent="friday")
    assert MAN not in {hit.text for hit in hits(mnemic)}
    keep(parts, ANNA, [MAN], title="Lester Smith", source="man.md")
    assert MAN in {hit.text for hit in hits(mnemic)}
    filtered = hits(mnemic, filter={"not": {"source": "man.md"}})
    assert GAME in {hit.text for hit in filtered}
    assert MAN not in {hit.text for hit in filtered}


def test_a_search_by_similarity_alone_follows_no_names(mnemic: Mnemic, parts: Engine):
    shelf(parts)
    keep(parts, ANNA, [MAN], title="Lester Smith", source="man.md")
    found = mnemic.recall(ANNA, QUESTION, limit=40, min_similarity=0.0).hits
    assert found
    assert not any(points(hit) for hit in found)
