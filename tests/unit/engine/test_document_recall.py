"""Passages of documents in the same recall as messages and memories."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from mnemic.adapters.indexes.hnsw import GraphKeeper
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.engine.indexing import fill_vectors, indexed_text
from mnemic.errors import NotFoundError
from mnemic.model.item import Chunk
from mnemic.model.scope import Level, Scope
from tests.unit.engine.document_kit import document_of, keep
from tests.unit.engine.kit import Clock, WordEmbedder

ANNA = Scope(user="anna", agent="jarvis", session="s1")
BERT = Scope(user="bert", agent="hal", session="s1")
RENT = "The rent of 900 euros is due on the third working day."
NOTICE = "Either side may give notice three months before the end of a quarter."
PETS = "Cats are allowed, parrots need the consent of the neighbours."


@pytest.fixture
def contract(parts: Engine) -> list[Chunk]:
    return keep(parts, ANNA, [RENT, NOTICE, PETS], pages=[1, 7, 9])


@pytest.mark.requirement("J-01", "J-44", "J-47")
def test_one_recall_finds_what_was_said_what_was_noted_and_what_was_read(mnemic: Mnemic, contract: list[Chunk]):
    mnemic.capture(ANNA, user="My parrots are loud")
    mnemic.remember(ANNA, "User owns two parrots")
    hits = mnemic.recall(ANNA, "parrots", limit=10).hits
    assert {hit.id for hit in hits} > {contract[2].id}
    assert {type(hit.item).__name__ for hit in hits} == {"Message", "Memory", "Chunk"}
    passage = next(hit for hit in hits if hit.id == contract[2].id)
    assert isinstance(passage.item, Chunk)
    assert (passage.item.page, passage.item.source, passage.item.title) == (9, "docs/contract.pdf", "Lease contract")
    assert passage.similarity is not None


@pytest.mark.requirement("J-44")
def test_the_contributions_of_every_hit_add_up_to_its_score(mnemic: Mnemic, contract: list[Chunk]):
    mnemic.capture(ANNA, user="When is the rent due?", assistant="On the third working day")
    mnemic.remember(ANNA, "The rent went up")
    hits = mnemic.recall(ANNA, "when is the rent due", limit=10).hits
    assert contract[0].id in {hit.id for hit in hits}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert hit.score == pytest.approx(sum(part.points for part in hit.contributions), abs=1e-4)


@pytest.mark.requirement("J-44")
def test_kinds_narrow_to_documents_or_leave_them_out(mnemic: Mnemic, contract: list[Chunk]):
    mnemic.capture(ANNA, user="The rent is due")
    mnemic.remember(ANNA, "The rent is too high", kind="fact")
    noted = mnemic.remember(ANNA, "The rent table of the city", kind="document")

    def found(*kinds: str) -> set[str]:
        return {hit.id for hit in mnemic.recall(ANNA, "rent", limit=None, kinds=kinds)}

    assert found("document") >= {contract[0].id, noted.id}
    assert all(isinstance(mnemic.get(ANNA, i), Chunk) or i == noted.id for i in found("document"))
    assert not found("message", "fact") & {chunk.id for chunk in contract}
    assert found() >= found("document")


def test_documents_beside_change_nothing_about_what_is_found_of_memories(mnemic: Mnemic, parts: Engine):
    mnemic.remember_many(ANNA, [f"Fact {n}: the boat {n} has {n} sails" for n in range(30)])
    mnemic.capture(ANNA, user="Which boat is the fastest?", assistant="The one with seven sails")

    def answers() -> list[tuple[str, float]]:
        hits = mnemic.recall(ANNA, "boat with seven sails", limit=20, kinds=("fact", "message"))
        return [(hit.id, hit.score) for hit in hits]

    before = answers()
    keep(parts, ANNA, [f"boat sails seven {n} and many other words" for n in range(200)])
    assert answers() == before


@pytest.mark.requirement("J-44")
def test_a_passage_is_found_by_the_title_of_its_document_and_by_its_headings(mnemic: Mnemic, parts: Engine):
    keep(parts, ANNA, ["It grows in shade."], title="Ferns of Norway", source="a.md")
    (chunk,) = keep(parts, ANNA, ["Water it daily."], title="b", source="b.md", headings=[("Orchids", "Care")])
    assert mnemic.recall(ANNA, "ferns norway", kinds=["document"]).hits[0].text == "It grows in shade."
    assert mnemic.recall(ANNA, "orchids care", kinds=["document"]).hits[0].text == "Water it daily."
    assert indexed_text(chunk) == "b\nOrchids > Care\nWater it daily."
    named = replace(chunk, title="orchids", headings=("Orchids",))
    assert indexed_text(named) == "Orchids\nWater it daily."


@pytest.mark.requirement("J-43", "J-44")
def test_a_document_belongs_to_its_level_and_its_private_agent(mnemic: Mnemic, parts: Engine):
    keep(parts, ANNA, ["the secret recipe of anna"], source="anna.md")
    keep(parts, BERT, ["the secret recipe of bert"], source="bert.md")
    keep(parts, ANNA, ["the secret recipe of the house"], source="org.md", level=Level.ORG)
    keep(parts, ANNA, ["the secret recipe of jarvis"], source="mine.md", agent="jarvis")

    def found(scope: Scope) -> set[str]:
        return {hit.text.removeprefix("the secret recipe of ") for hit in mnemic.recall(scope, "recipe", limit=None)}

    assert found(ANNA) == {"anna", "the house", "jarvis"}
    assert found(replace(ANNA, agent="other")) == {"anna", "the house"}
    assert found(BERT) == {"bert", "the house"}
    assert found(Scope()) == {"the house"}
    assert found(Scope(org="elsewhere", user="anna")) == set()


@pytest.mark.requirement("J-44")
def test_a_passage_can_be_looked_at_by_its_id_in_its_own_scope_only(mnemic: Mnemic, contract: list[Chunk]):
    assert mnemic.get(ANNA, contract[1].id) == contract[1]
    with pytest.raises(NotFoundError):
        mnemic.get(BERT, contract[1].id)
    with pytest.raises(NotFoundError):
        mnemic.why_not(BERT, contract[1].id, "notice")


def test_why_not_says_at_which_rank_a_passage_is_found(mnemic: Mnemic, contract: list[Chunk]):
    answer = mnemic.why_not(ANNA, contract[1].id, "how do I give notice")
    assert (answer.stage, answer.rank) == ("found", 1)
    assert mnemic.why_not(ANNA, contract[1].id, "notice", kinds=["fact"]).stage == "filter"


def test_what_is_read_anew_takes_the_place_of_what_was_read_before(
    mnemic: Mnemic, parts: Engine, contract: list[Chunk]
):
    assert mnemic.recall(ANNA, "rent", kinds=["document"]).hits[0].id == contract[0].id
    keep(parts, ANNA, ["The rent of 950 euros is due."], known=document_of(parts, ANNA, contract[0]))
    assert [hit.text for hit in mnemic.recall(ANNA, "rent", limit=None)] == ["The rent of 950 euros is due."]
    with parts.store.write() as work:
        work.documents.erase(ANNA.partition(Level.USER), [contract[0].document_id], parts.clock.now())
    assert mnemic.recall(ANNA, "rent").hits == ()


@pytest.mark.requirement("J-44")
def test_a_filter_admits_documents_by_the_fields_that_they_have(mnemic: Mnemic, parts: Engine):
    keep(parts, ANNA, ["tea in contract"], source="contract.pdf", metadata={"team": "core"})
    keep(parts, ANNA, ["tea in notes"], source="notes.md")
    mnemic.remember(ANNA, "tea in a memory", importance=0.9, source="chat")

    def found(filter_: dict[str, object]) -> set[str]:
        return {hit.text.removeprefix("tea in ") for hit in mnemic.recall(ANNA, "tea", limit=None, filter=filter_)}

    assert found({"source": "contract.pdf"}) == {"contract"}
    assert found({"metadata.team": "core"}) == {"contract"}
    assert found({"kind": "document"}) == {"contract", "notes"}
    assert found({"importance": {"gte": 0.5}}) == {"a memory"}
    assert found({"not": {"source": "notes.md"}}) == {"contract", "a memory"}
    assert found({"source": {"exists": True}}) == {"contract", "notes", "a memory"}


@pytest.mark.requirement("J-44")
def test_of_the_past_only_what_was_read_by_then_is_found(mnemic: Mnemic, parts: Engine, clock: Clock):
    keep(parts, ANNA, ["tea of old"], source="old.md")
    between = clock.now()
    clock.turn(days=10)
    keep(parts, ANNA, ["tea of new"], source="new.md")
    assert [hit.text for hit in mnemic.recall(ANNA, "tea", known_at=between)] == ["tea of old"]
    assert [hit.text for hit in mnemic.recall(ANNA, "tea", as_of=between)] == ["tea of old"]
    assert {hit.text for hit in mnemic.recall(ANNA, "tea")} == {"tea of old", "tea of new"}


def test_a_similarity_threshold_holds_for_passages_too(mnemic: Mnemic, contract: list[Chunk]):
    hits = mnemic.recall(ANNA, indexed_text(contract[0]), min_similarity=0.9).hits
    assert [hit.id for hit in hits] == [contract[0].id]
    assert hits[0].similarity == pytest.approx(1.0, abs=1e-5)


def test_without_an_embedder_passages_are_found_by_their_words(make_parts: Callable[..., Engine]):
    parts = make_parts(None)
    keep(parts, ANNA, [RENT, NOTICE])
    assert Mnemic(parts).recall(ANNA, "notice quarter").hits[0].text == NOTICE


def test_an_index_without_room_for_all_still_finds_passages(make_parts: Callable[..., Engine]):
    parts = make_parts(WordEmbedder(), budget_bytes=1)
    mnemic = Mnemic(parts)
    for user in ("anna", "bert", "carl"):
        keep(parts, Scope(user=user), [RENT, NOTICE], source=f"{user}.pdf")
        mnemic.remember(Scope(user=user), "The rent is high")
    for user in ("anna", "bert", "carl", "anna"):
        found = mnemic.recall(Scope(user=user), "rent").hits
        assert {hit.text for hit in found} >= {RENT, "The rent is high"}


def test_an_index_that_is_made_anew_knows_what_the_store_holds(parts: Engine, mnemic: Mnemic, contract: list[Chunk]):
    mnemic.remember(ANNA, "The rent is high")
    again = Mnemic(replace(parts, index=ScanIndex(), passage_places=type(parts.passage_places)()))
    assert {hit.text for hit in again.recall(ANNA, "rent")} == {hit.text for hit in mnemic.recall(ANNA, "rent")}
    forgetful = Mnemic(replace(parts, passage_places=type(parts.passage_places)()))
    assert contract[0].id in {hit.id for hit in forgetful.recall(ANNA, "rent")}


@pytest.mark.requirement("J-46")
def test_a_large_partition_of_passages_has_a_graph_of_its_own(parts: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "faiss", raising=False)  # loaded by tests of backends; no graph is made beside it
    keeper = GraphKeeper(None)
    index = ScanIndex(exact_rows=50, graphs=keeper)
    here = replace(parts, index=index)
    keep(here, ANNA, [f"passage {n} about subject {n % 7} and {n % 11}" for n in range(120)])
    mnemic = Mnemic(here)
    mnemic.remember(ANNA, "a memory about subject 3")
    mnemic.recall(ANNA, "subject 3")
    index.settle()
    place = ANNA.partition(Level.USER)
    side = replace(place, owner=f"{place.owner}\x1epassages")
    assert index.graph_rows(side) == 120
    assert index.graph_rows(place) == 0
    found = mnemic.recall(ANNA, "passage 10 about subject 3 and 10", kinds=["document"], limit=3).hits
    assert found[0].text == "passage 10 about subject 3 and 10"
    index.close()


def test_vectors_that_follow_are_of_the_whole_indexed_text_of_private_items_too(make_parts: Callable[..., Engine]):
    away = WordEmbedder(is_broken=True)
    parts = make_parts(away)
    mnemic = Mnemic(parts)
    mnemic.remember(ANNA, "likes tea", context="said at breakfast", is_private=True)
    keep(parts, ANNA, ["boil it long"], title="Tea for two", source="tea.md", agent="jarvis")
    keep(parts, ANNA, ["stir it well"], title="Coffee", source="coffee.md")
    away.is_broken = False
    away.calls.clear()
    fill_vectors(parts, ANNA.partition(Level.USER))
    assert sorted(away.calls) == sorted(
        ["likes tea said at breakfast", "Tea for two\nboil it long", "Coffee\nstir it well"]
    ) or {"Tea for two\nboil it long", "Coffee\nstir it well"} < set(away.calls)
    assert any("breakfast" in text and "likes tea" in text for text in away.calls)
    hits = mnemic.recall(ANNA, "tea for two", kinds=["document"]).hits
    assert hits[0].similarity is not None
