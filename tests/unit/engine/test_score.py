"""The linear score: features, order, and what each added."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from mnemic.engine.score import Scored, by_relevance, by_similarity, side_by_side, with_flags
from mnemic.model.candidates import Candidates, Surroundings
from mnemic.model.settings import Weights
from mnemic.text.asking import Asking


def candidates(
    *cosines: float, counts: list[float] | None = None, importances: list[float] | None = None
) -> Candidates:
    """Rows a, b, c… of ten terms each with these cosines, one query term."""
    n = len(cosines)
    seen = [c for c in cosines if not np.isnan(c)]
    return Candidates(
        ids=np.array([chr(ord("a") + i) for i in range(n)], dtype=np.object_),
        counts=np.array(counts or [0.0] * n, dtype=np.float32).reshape(n, 1),
        lengths=np.full(n, 10, dtype=np.float32),
        cosines=np.array(cosines, dtype=np.float32),
        importances=np.array(importances or [0.5] * n, dtype=np.float32),
        observed=np.arange(n, dtype=np.int64),
        items=n,
        total_length=10.0 * n,
        document_frequencies=np.array([sum(c > 0 for c in counts or [])], dtype=np.int64),
        vectors=len(seen),
        cosine_mean=float(np.mean(seen)) if seen else 0.0,
        cosine_deviation=float(np.std(seen)) if seen else 0.0,
        versions=(1,),
    )


def order(found: Candidates, weights: Weights | None = None) -> str:
    scored = by_relevance(found, weights or Weights())
    return "".join(found.ids[scored.order])


def test_the_nearer_and_the_better_matching_come_first():
    assert order(candidates(0.1, 0.9, 0.5)) == "bca"
    assert order(candidates(np.nan, np.nan, np.nan, counts=[1, 3, 0])) == "bac"


def test_a_row_without_a_vector_stands_at_the_mean_of_the_others():
    scored = by_relevance(candidates(0.2, np.nan, 0.8), Weights())
    assert scored.features["dense"].tolist() == [-1.0, 0.0, 1.0]


def test_ties_go_to_the_more_important_then_the_newer_then_the_first():
    assert order(candidates(0.5, 0.5, 0.5, importances=[0.1, 0.9, 0.5]), Weights(importance=0.0)) == "bca"
    assert order(candidates(0.5, 0.5, 0.5)) == "cba"
    together = replace(candidates(0.5, 0.5, 0.5), observed=np.zeros(3, dtype=np.int64))
    assert order(together) == "abc"


def test_a_weight_of_nothing_silences_a_feature():
    assert order(candidates(0.1, 0.9, counts=[5, 0]), Weights(keyword=1.0, dense=0.0)) == "ab"
    assert order(candidates(0.1, 0.9, counts=[5, 0]), Weights(keyword=0.0, dense=1.0)) == "ba"


@pytest.mark.requirement("P-13")
def test_the_contributions_add_up_to_the_score():
    scored = by_relevance(candidates(0.1, 0.9, np.nan, counts=[1, 0, 4], importances=[0.1, 0.2, 1.0]), Weights())
    for place in range(3):
        assert sum(c.points for c in scored.contributions(place)) == pytest.approx(
            float(scored.scores[place]), abs=1e-5
        )
        assert scored.score(place) == pytest.approx(float(scored.scores[place]), abs=1e-5)


@pytest.mark.requirement("J-12", "J-13")
def test_by_similarity_leaves_out_rows_without_a_vector_or_below_the_inclusive_threshold():
    found = candidates(0.5, 0.49, np.nan, 0.9)
    assert "".join(found.ids[by_similarity(found, 0.5).order]) == "da"


@pytest.mark.requirement("J-14")
def test_by_similarity_puts_the_nearest_first_and_ties_by_importance():
    found = candidates(0.5, 0.7, 0.7, 0.7, importances=[1.0, 0.2, 0.9, 0.5])
    assert "".join(found.ids[by_similarity(found, 0.0).order]) == "cdba"


def test_no_candidates_give_no_order():
    assert order(candidates()) == ""
    assert by_similarity(candidates(), 0.5).order.size == 0


def talk(**changes: object) -> Surroundings:
    """Four messages of one session in order."""
    places: dict[str, Any] = {"before": [-1, 0, 1, 2], "after": [1, 2, 3, -1], "sessions": [0, 0, 0, 0]}
    facts: dict[str, Any] = {name: [0, 0, 0, 0] for name in ("is_named", "is_assistant", "is_question")} | changes
    arrays: dict[str, Any] = {name: np.array(value, dtype=np.int64) for name, value in places.items()}
    arrays |= {name: np.array(value, dtype=np.bool_) for name, value in facts.items()}
    return Surroundings(**arrays)


def features(surroundings: Surroundings, asking: str = "", **changes: object) -> dict[str, list[float]]:
    """The features of four candidates of which the second holds the only query term."""
    scored = scored_talk(surroundings, asking, **changes)
    return {name: column.tolist() for name, column in scored.features.items()}


def ranking(surroundings: Surroundings, **changes: object) -> list[int]:
    """The places of the four candidates, best first."""
    return scored_talk(surroundings, "", **changes).order.tolist()


def scored_talk(surroundings: Surroundings, asking: str = "", **changes: object) -> Scored:
    values: dict[str, Any] = {
        "ids": np.array(list("abcd"), dtype=np.object_),
        "counts": np.array([[0], [1], [0], [0]], dtype=np.float32),
        "lengths": np.full(4, 8, dtype=np.float32),
        "cosines": np.array([0.1, 0.9, 0.2, 0.3], dtype=np.float32),
        "importances": np.full(4, 0.5, dtype=np.float32),
        "observed": np.zeros(4, dtype=np.int64),
        "items": 4,
        "total_length": 32.0,
        "document_frequencies": np.array([1]),
        "vectors": 4,
        "cosine_mean": 0.375,
        "cosine_deviation": 0.31,
        "versions": (1,),
        "surroundings": surroundings,
        **changes,
    }
    return by_relevance(Candidates(**values), Weights(), Asking.of(asking, date(2026, 11, 22)))


def test_a_message_has_the_evidence_of_the_messages_around_it():
    found = features(talk())
    weight = np.exp(-8 / 80)
    keyword, dense = found["keyword"], found["dense"]
    assert found["keyword_before"] == pytest.approx([0, *(weight * value for value in keyword[:3])])
    assert found["dense_after"] == pytest.approx([*(weight * value for value in dense[1:]), 0])
    assert found["keyword_after"] == pytest.approx([*(weight * value for value in keyword[1:]), 0])


def test_a_long_message_speaks_for_itself():
    long = features(talk(), lengths=np.full(4, 800, dtype=np.float32), total_length=3200.0)
    assert max(map(abs, long["keyword_before"])) < 0.001


def test_an_answer_has_the_evidence_of_the_question_before_it():
    found = features(talk(is_question=[0, 1, 0, 0]))
    assert found["answer"] == pytest.approx([0, 0, found["keyword_before"][2], 0])


def test_thanks_and_short_questions_are_told_from_messages_that_say_something():
    lengths = np.array([3, 30, 3, 30], dtype=np.float32)
    found = features(talk(is_question=[0, 0, 1, 1]), lengths=lengths, total_length=66.0)
    assert found["brief"] == pytest.approx(np.exp(-lengths / 12))
    assert found["asks"] == pytest.approx([0, 0, found["brief"][2], found["brief"][3]])
    assert found["asks"][2] > 9 * found["asks"][3]


def test_of_messages_equally_near_the_one_that_tells_something_comes_first_and_the_question_last():
    alike = {"counts": np.zeros((4, 1), dtype=np.float32), "cosines": np.full(4, 0.5, dtype=np.float32)}
    lengths = np.array([4, 8, 8, 24], dtype=np.float32)
    assert ranking(talk(is_question=[1, 1, 0, 0]), **alike, lengths=lengths, total_length=44.0) == [3, 2, 1, 0]


def test_named_authors_and_assistants_are_told_apart():
    found = features(talk(is_named=[1, 0, 1, 0], is_assistant=[0, 1, 0, 1]))
    assert found["author_named"] == [1, 0, 1, 0]
    assert found["assistant"] == [0, 1, 0, 1]


def test_the_best_of_a_session_counts_for_all_of_it_and_for_no_other():
    two = replace(
        talk(), sessions=np.array([0, 0, 1, 1]), before=np.array([-1, 0, -1, 2]), after=np.array([1, -1, 3, -1])
    )
    found = features(two)
    assert found["session_keyword"] == pytest.approx([1, 1, -1, -1])
    assert found["session_dense"][0] == found["session_dense"][1] > found["session_dense"][2]


def test_a_session_counts_by_its_own_best_cosine_not_by_its_words_or_its_mean():
    two = replace(
        talk(), sessions=np.array([0, 0, 1, 1]), before=np.array([-1, 0, -1, 2]), after=np.array([1, -1, 3, -1])
    )
    found = features(two, cosines=np.array([0.5, 0.5, 0.0, 0.8], dtype=np.float32))
    assert found["session_dense"] == pytest.approx([-1, -1, 1, 1])  # the words are in the other session
    assert found["session_keyword"] == pytest.approx([1, 1, -1, -1])


def test_what_is_no_message_has_nothing_from_its_surroundings():
    assert set(features(Surroundings.nowhere(4))) == {"keyword", "dense", "importance"}
    mixed = replace(
        talk(), sessions=np.array([0, 0, -1, -1]), before=np.array([-1, 0, -1, -1]), after=np.array([1, -1, -1, -1])
    )
    found = features(mixed)
    assert all(
        found[name][2] == found[name][3] == 0 for name in found if name not in ("keyword", "dense", "importance")
    )


def test_what_was_said_when_the_question_says_has_the_evidence_of_the_date():
    observed = np.array(["2023-05-08", "2023-05-30", "2023-06-01", "2022-05-08"], dtype="datetime64[us]")
    dated = features(talk(), "What did she say on 7 May 2023?", observed=observed.astype(np.int64))
    assert dated["dated"] == [1.0, 0.5, 0.0, 0.0]
    assert "dated" not in features(talk(), "What did she say?", observed=observed.astype(np.int64))


def test_who_asks_for_the_reply_of_the_assistant_gets_it_and_others_do_not():
    where = talk(is_assistant=[0, 1, 0, 1])
    asked = features(where, "What did you recommend?")
    assert asked["assistant_asked"] == asked["assistant"] == [0, 1, 0, 1]
    assert "assistant_asked" not in features(where, "What did I buy?")


def test_every_feature_has_a_weight_and_every_weight_a_feature():
    found = features(talk(is_assistant=[0, 1, 0, 1]), "What did you say in May?")
    beside = {"linked", "elsewhere", "flagged", "related"}  # of passages named by others, of two searches, of memories
    # in doubt, of what the graph reaches
    assert set(found) | beside == {field.name for field in fields(Weights)}


def test_the_search_with_nothing_as_near_is_put_back_as_a_whole_and_keeps_its_order():
    near, far = candidates(0.9, 0.2, 0.1), candidates(0.3, 0.25, 0.1, np.nan)
    one, other = by_relevance(near, Weights()), by_relevance(far, Weights())
    both = side_by_side(one, other, Weights(elsewhere=10.0))
    assert both.features["elsewhere"].tolist() == pytest.approx([0, 0, 0] + [-0.25] * 4)
    assert both.scores.tolist() == pytest.approx([*one.scores, *(other.scores - 2.5)])
    assert [place - 3 for place in both.order if place >= 3] == other.order.tolist()
    for place in range(7):
        assert both.score(place) == pytest.approx(float(both.scores[place]), abs=1e-5)
    swapped = side_by_side(other, one, Weights(elsewhere=10.0))
    assert swapped.features["elsewhere"].tolist() == pytest.approx([-0.25] * 4 + [0, 0, 0])


def test_without_vectors_on_both_sides_neither_is_put_back():
    none, some = (by_relevance(candidates(*cosines), Weights()) for cosines in ((np.nan, np.nan), (0.9, 0.1)))
    empty = by_relevance(candidates(), Weights())
    assert "elsewhere" not in side_by_side(none, some, Weights()).features
    assert "elsewhere" not in side_by_side(some, empty, Weights()).features
    assert "elsewhere" not in side_by_side(empty, some, Weights()).features


def test_an_earlier_message_that_asks_the_same_does_not_put_documents_back():
    asked = replace(candidates(0.99, 0.2, 0.2, 0.2), surroundings=talk(is_question=[1, 0, 0, 0]))
    told = by_relevance(candidates(0.5, 0.1), Weights())
    both = side_by_side(by_relevance(asked, Weights()), told, Weights())
    assert both.features["elsewhere"].tolist() == pytest.approx([-0.25] * 4 + [0, 0])


def test_of_a_question_in_pairs_of_characters_a_row_counts_in_full_though_it_holds_few_of_them():
    counts = np.zeros((4, 6), dtype=np.float32)
    counts[0, 0] = 1
    six: dict[str, object] = {"counts": counts, "document_frequencies": np.ones(6, dtype=np.int64)}
    spaced, unspaced = (features(talk(), asking, **six)["keyword"] for asking in ("Where is it?", "她在哪里"))
    assert 0 < spaced[0] < unspaced[0]


def test_what_has_flags_is_put_back_and_says_so():
    plain = candidates(0.9, 0.8, 0.1)
    flagged = replace(plain, flagged=np.array([True, False, False]))
    before, after = (with_flags(by_relevance(each, Weights()), Weights()) for each in (plain, flagged))
    assert "".join(plain.ids[before.order]) == "abc"
    assert "".join(plain.ids[after.order]) == "bac"
    (told,) = [each for each in after.contributions(0) if each.feature == "flagged"]
    assert (told.value, told.weight, told.points) == (1.0, Weights().flagged, Weights().flagged)
    assert after.score(0) == pytest.approx(sum(each.points for each in after.contributions(0)))
    assert after.score(0) == pytest.approx(before.score(0) + Weights().flagged)
    assert not any(each.feature == "flagged" for each in after.contributions(1))


def test_without_flags_nothing_is_changed_not_even_by_a_bit():
    found = by_relevance(candidates(0.9, 0.8, 0.1), Weights())
    assert with_flags(found, Weights()) is found


def test_by_similarity_alone_a_flag_costs_some_of_the_cosine_and_lets_nothing_in():
    flagged = replace(candidates(0.9, 0.85, 0.4, np.nan), flagged=np.array([True, False, False, True]))
    scored = with_flags(by_similarity(flagged, 0.5), Weights())
    assert "".join(flagged.ids[scored.order]) == "ba"
    assert scored.score(0) == pytest.approx(0.8)
