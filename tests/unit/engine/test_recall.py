"""What recall promises: the right rows, in the right order, and an answer when a part is missing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import cast

import numpy as np
import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.errors import InvalidInputError
from mnemic.model.recall import Recall
from mnemic.model.scope import Level, Scope
from tests.unit.engine.ingest_kit import reading
from tests.unit.engine.kit import ANNA, BERT, Clock, WordEmbedder

PartsOf = Callable[..., Engine]


def texts(found: Recall) -> list[str]:
    return [hit.text for hit in found]


@pytest.mark.requirement("J-09", "R-07", "J-31")
def test_five_hits_unless_told(mnemic: Mnemic):
    mnemic.remember_many(ANNA, [f"tea number {n}" for n in range(8)])
    assert len(mnemic.recall(ANNA, "tea")) == 5
    assert len(mnemic.recall(ANNA, "tea", limit=2)) == 2
    assert len(mnemic.recall(ANNA, "tea", limit=None)) == 8


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "5"])
def test_a_limit_that_is_no_number_from_1_is_refused(mnemic: Mnemic, limit: int):
    with pytest.raises(InvalidInputError):
        mnemic.recall(ANNA, "tea", limit=limit)


@pytest.mark.requirement("J-11", "N-17")
def test_only_rows_of_the_asking_user_are_found(mnemic: Mnemic):
    mnemic.remember(ANNA, "Anna likes tea")
    mnemic.capture(BERT, user="Bert likes tea")
    assert texts(mnemic.recall(ANNA, "likes tea")) == ["Anna likes tea"]
    assert texts(mnemic.recall(BERT, "likes tea")) == ["Bert likes tea"]
    assert texts(mnemic.recall(Scope(org="other", user="anna"), "likes tea")) == []


@pytest.mark.requirement("J-12")
def test_rows_without_a_vector_are_skipped_by_similarity_and_found_by_keyword(mnemic: Mnemic, embedder: WordEmbedder):
    embedder.is_broken = True
    mnemic.remember(ANNA, "green tea")
    embedder.is_broken = False
    mnemic.remember(ANNA, "green tea leaves")
    assert texts(mnemic.recall(ANNA, "green tea", min_similarity=0.1)) == ["green tea leaves"]
    assert set(texts(mnemic.recall(ANNA, "green tea"))) == {"green tea", "green tea leaves"}


@pytest.mark.requirement("J-13", "R-06")
def test_the_similarity_threshold_is_inclusive(mnemic: Mnemic, parts: Engine, embedder: WordEmbedder):
    texts_of = ["alpha", "alpha beta gamma delta", "epsilon"]
    mnemic.remember_many(ANNA, texts_of)
    query, documents = embedder.embed_queries(["alpha"])[0], embedder.embed_documents(texts_of)
    exact = float(documents[1] @ query)
    assert exact == pytest.approx(0.5)
    assert texts(mnemic.recall(ANNA, "alpha", min_similarity=exact)) == texts_of[:2]
    assert texts(mnemic.recall(ANNA, "alpha", min_similarity=exact + 0.01)) == texts_of[:1]
    assert texts(mnemic.recall(ANNA, "alpha", min_similarity=1)) == texts_of[:1]
    assert parts.settings.min_similarity == 0.5


@pytest.mark.requirement("J-10", "J-13", "N-19")
def test_similarity_is_the_cosine_and_the_score_of_a_search_by_similarity(mnemic: Mnemic, embedder: WordEmbedder):
    mnemic.remember(ANNA, "green tea cup")
    (hit,) = mnemic.recall(ANNA, "green cup", min_similarity=0)
    expected = float(embedder.embed_documents(["green tea cup"])[0] @ embedder.embed_queries(["green cup"])[0])
    assert hit.similarity == pytest.approx(expected, abs=1e-6)
    assert hit.score == pytest.approx(expected, abs=1e-6)


@pytest.mark.requirement("J-14", "N-19")
def test_nearest_first_ties_by_importance_and_then_cut(mnemic: Mnemic):
    for text, importance in (("tea cup", 0.2), ("cup tea", 0.9), ("tea cup tea cup", 0.5), ("tea", 1.0)):
        mnemic.remember(ANNA, text, importance=importance, source=text)
    found = texts(mnemic.recall(ANNA, "tea cup", min_similarity=0.5, limit=3))
    assert found == ["cup tea", "tea cup tea cup", "tea cup"]


@pytest.mark.requirement("J-04")
@pytest.mark.parametrize("query", ["", "   ", "\n\t", cast("str", None)])
def test_a_blank_query_makes_no_model_call_and_gives_background(mnemic: Mnemic, embedder: WordEmbedder, query: str):
    mnemic.remember(ANNA, "Likes tea")
    embedder.calls.clear()
    found = mnemic.recall(ANNA, query)
    assert embedder.calls == []
    assert found.is_fallback


def test_a_query_that_is_no_text_is_refused(mnemic: Mnemic):
    with pytest.raises(InvalidInputError, match="query must be a text or None, not 7"):
        mnemic.recall(ANNA, cast("str", 7))


def test_a_question_is_embedded_once_however_often_it_is_asked(mnemic: Mnemic, embedder: WordEmbedder):
    embedder.calls.clear()
    for _ in range(3):
        mnemic.recall(ANNA, "where is the tea?")
    assert embedder.calls == ["where is the tea?"]


@pytest.mark.requirement("J-06", "J-19", "R-30")
def test_when_the_embedder_fails_recall_goes_on_by_keyword_and_says_so(
    mnemic: Mnemic, embedder: WordEmbedder, caplog: pytest.LogCaptureFixture
):
    mnemic.remember_many(ANNA, ["green tea", "black coffee"])
    embedder.is_broken = True
    found = mnemic.recall(ANNA, "tea please")
    assert texts(found) == ["green tea"]
    assert not found.is_fallback
    assert len(found.degraded) == 1
    assert found.degraded[0].startswith("dense")
    assert [(r.name, r.levelno) for r in caplog.records] == [("mnemic.recall", logging.ERROR)]
    assert "please" not in caplog.text


@pytest.mark.requirement("J-32", "J-33", "R-36")
def test_when_nothing_matches_the_most_important_memories_are_background(mnemic: Mnemic, embedder: WordEmbedder):
    embedder.is_broken = True
    for n in range(7):
        mnemic.remember(ANNA, f"fact {n}", importance=n / 10)
    found = mnemic.recall(ANNA, "unrelated", limit=20)
    assert texts(found) == ["fact 6", "fact 5", "fact 4", "fact 3", "fact 2"]
    assert found.is_fallback
    assert all(hit.is_fallback and hit.similarity is None for hit in found)
    assert [hit.score for hit in found] == [hit.contributions[0].points for hit in found]
    assert len(mnemic.recall(ANNA, "unrelated", limit=2)) == 2


@pytest.mark.requirement("J-32")
def test_background_obeys_the_scope_and_the_conditions(mnemic: Mnemic):
    mnemic.remember(ANNA, "Anna's goal", kind="goal", importance=0.1)
    mnemic.remember(ANNA, "Anna's fact", importance=1)
    mnemic.remember(BERT, "Bert's goal", kind="goal", importance=1)
    assert texts(mnemic.recall(ANNA, "", kinds=["goal"])) == ["Anna's goal"]
    assert texts(mnemic.recall(ANNA, "", filter={"importance": {"lt": 0.5}})) == ["Anna's goal"]
    assert texts(mnemic.recall(ANNA, "", kinds=["message"])) == []


@pytest.mark.requirement("J-32", "J-13")
def test_nothing_above_the_threshold_gives_background(mnemic: Mnemic):
    mnemic.remember(ANNA, "green tea")
    found = mnemic.recall(ANNA, "submarine", min_similarity=0.9)
    assert (texts(found), found.is_fallback) == (["green tea"], True)


@pytest.mark.requirement("P-13")
def test_the_contributions_of_a_hit_add_up_to_its_score(mnemic: Mnemic):
    mnemic.remember_many(ANNA, ["green tea", "black tea", "coffee with milk", "a cup of tea and a cup of milk"])
    mnemic.capture(ANNA, user="is there tea?", assistant="there is milk")
    found = mnemic.recall(ANNA, "cup of tea", limit=None)
    assert len(found) == 6
    for hit in found:
        assert sum(c.points for c in hit.contributions) == pytest.approx(hit.score)
        assert all(c.points == pytest.approx(c.value * c.weight) for c in hit.contributions)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_limits_cap_the_hits_of_a_level_and_levels_narrow(mnemic: Mnemic):
    for level in ("session", "user", "agent", "org"):
        mnemic.remember_many(ANNA, [{"text": f"{level} tea {n}", "level": level} for n in range(4)])
    found = mnemic.recall(ANNA, "tea", limit=None, limits={"session": 2, "user": 1, "org": 0})
    assert sorted(hit.text.split()[0] for hit in found) == ["agent"] * 4 + ["session"] * 2 + ["user"]
    assert {text.split()[0] for text in texts(mnemic.recall(ANNA, "tea", limit=None, levels=["org"]))} == {"org"}


@pytest.mark.requirement("N-14")
def test_a_filter_narrows_what_is_found(mnemic: Mnemic):
    mnemic.remember(ANNA, "tea for the team", metadata={"team": "core"})
    mnemic.remember(ANNA, "tea for me")
    assert texts(mnemic.recall(ANNA, "tea", filter={"metadata.team": "core"})) == ["tea for the team"]


@pytest.mark.requirement("N-14", "N-13")
def test_metadata_of_every_level_of_messages_and_of_documents_is_filtered_and_returned(parts: Engine):
    mnemic = Mnemic(reading(parts))
    scope = Scope(user="anna", agent="helper", session="s1")
    for turn, level in enumerate(Level, start=1):
        mnemic.remember(scope, f"tea of the {level}", level=level, metadata={"topic": level.value, "turn": turn})
    mnemic.capture(scope, [{"role": "user", "content": "tea is said", "metadata": {"topic": "said", "turn": 5}}])
    mnemic.capture(scope, user="tea without metadata")
    mnemic.ingest(scope, b"tea in a file", name="tea.txt", metadata={"topic": "file", "turn": 6})
    for topic in (*(level.value for level in Level), "said", "file"):
        (hit,) = mnemic.recall(scope, "tea", filter={"metadata.topic": topic}, limit=None).hits
        assert hit.item.metadata["topic"] == topic
    late = mnemic.recall(scope, "tea", filter={"metadata.turn": {"gte": 5}}, limit=None)
    assert {*texts(late)} == {"tea is said", "tea in a file"}
    assert texts(mnemic.recall(scope, "tea", filter={"metadata.topic": "said", "kind": {"ne": "goal"}})) == []
    assert texts(mnemic.recall(scope, "tea", filter={"metadata.topic": "said"}, as_of="2020-01-01")) == []
    assert texts(mnemic.recall(BERT, "tea", filter={"metadata.turn": {"gte": 5}})) == []


@pytest.mark.requirement("R-25")
@pytest.mark.parametrize(
    "text, query",
    [
        ("我喜欢喝绿茶", "绿茶"),
        ("東京タワーに行きました", "タワー"),
        ("저는 서울에서 커피를 마셨어요", "커피"),
        ("ฉันชอบดื่มกาแฟเย็น", "กาแฟ"),
        ("我在上海工作", "海"),
    ],
)
def test_words_of_scripts_without_blanks_are_found(make_parts: PartsOf, text: str, query: str):
    mnemic = Mnemic(make_parts(None))
    mnemic.capture(ANNA, user=text, assistant="something else entirely 別")
    assert texts(mnemic.recall(ANNA, query))[0] == text  # what was said next to it may follow


@pytest.mark.requirement("R-25")
@pytest.mark.parametrize(
    "query",
    ['"', "tea AND", "NEAR(", "* OR *", "tea'; DROP TABLE memories;--", "a:b", "^", "\x00", "\ud800", "🫖", "("],
)
def test_no_query_string_raises(mnemic: Mnemic, query: str):
    mnemic.remember(ANNA, "green tea")
    mnemic.recall(ANNA, query)
    assert texts(mnemic.recall(ANNA, f"tea {query}")) == ["green tea"]


def test_a_query_that_is_too_long_is_refused(mnemic: Mnemic):
    with pytest.raises(InvalidInputError):
        mnemic.recall(ANNA, "x" * 20_001)


@pytest.mark.requirement("R-40")
def test_scores_are_the_same_on_every_store(tmp_path_factory: pytest.TempPathFactory, parts: Engine, clock: Clock):
    answers: list[list[tuple[str, float]]] = []
    for store in (MemoryStore(), SqliteStore(tmp_path_factory.mktemp("other") / "m.db")):
        embedder = WordEmbedder()
        here = Engine(store=store, index=ScanIndex(), embedder=embedder, clock=clock, observer=parts.observer)
        with Mnemic(here) as mnemic:
            mnemic.capture_many(ANNA, [[{"content": f"tea {n} with milk {n % 3}"}] for n in range(20)])
            mnemic.remember_many(ANNA, [{"text": f"cup {n} of tea", "importance": n / 9} for n in range(9)])
            mnemic.capture(BERT, user="tea " * 50)
            found = mnemic.recall(ANNA, "a cup of tea with milk", limit=None)
            answers.append([(hit.text, hit.score) for hit in found])
    assert answers[0] == answers[1]
    assert len(answers[0]) == 29


@pytest.mark.requirement("R-04", "N-30")
def test_another_embedding_model_never_meets_the_vectors_of_the_first(make_parts: PartsOf):
    first, second = WordEmbedder(), WordEmbedder(revision="2")
    memory = Mnemic(make_parts(first)).remember(ANNA, "green tea")
    for other in (second, WordEmbedder(dims=32)):
        parts = make_parts(other)
        mnemic = Mnemic(parts)
        (hit,) = mnemic.recall(ANNA, "green tea")
        assert (hit.id, hit.similarity, hit.is_fallback) == (memory.id, None, False)
        with parts.store.read() as work:
            assert work.vectors.missing(memory.partition, other.space.id, 10) == [(memory.id, "green tea")]
    newer = Mnemic(make_parts(second))
    newer.remember(ANNA, "black tea")
    similarities = {hit.text: hit.similarity for hit in newer.recall(ANNA, "black tea")}
    assert similarities == {"black tea": pytest.approx(1.0), "green tea": None}


def test_the_session_ends_and_its_messages_stay_with_their_user(mnemic: Mnemic, clock: Clock):
    mnemic.capture(ANNA, user="my bicycle is blue")
    clock.turn(days=400)
    later = Scope(org="acme", user="anna", session="s9")
    assert texts(mnemic.recall(later, "which colour has my bicycle?")) == ["my bicycle is blue"]


def test_scores_do_not_depend_on_other_peoples_words(mnemic: Mnemic):
    mnemic.remember_many(ANNA, ["green tea", "black coffee"])
    before = [(hit.text, hit.score) for hit in mnemic.recall(ANNA, "tea coffee")]
    mnemic.remember_many(BERT, [f"tea {n}" for n in range(30)])
    mnemic.recall(BERT, "tea")
    assert [(hit.text, hit.score) for hit in mnemic.recall(ANNA, "tea coffee")] == before


def test_timings_are_named_and_finite(mnemic: Mnemic):
    mnemic.remember(ANNA, "green tea")
    timings = mnemic.recall(ANNA, "tea").timings_ms
    assert {"embed", "search", "read", "total"} <= set(timings)
    assert all(np.isfinite(ms) and ms >= 0 for ms in timings.values())
