"""The fit of the linear score: it finds what generated data was made with, and its dialogues are what they say."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from benchmarks.fit.beliefs import BY_HAND, prior
from benchmarks.fit.dialogues import Cast, dialogues, topics
from benchmarks.fit.features import FEATURES
from benchmarks.fit.model import Judged, Prior, fit
from benchmarks.fit.sets import SETS
from mnemic.model.settings import Weights, coefficients

NAMES = ("keyword", "dense", "answer", "assistant")
FREE_LICENCES = {"generated here", "MIT", "CC BY-SA 4.0", "CC BY-SA 3.0"}


def generated(weights: list[float], temperature: float, questions: int = 200, seed: int = 1) -> list[Judged]:
    """Questions of 30 candidates, the gold of each drawn as the model of the fit says."""
    draw = np.random.default_rng(seed)
    found: list[Judged] = []
    for _ in range(questions):
        features = draw.normal(size=(30, len(weights)))
        scores = temperature * (features @ np.array(weights)) + draw.gumbel(size=30)
        found.append(Judged(features, np.arange(30) == int(np.argmax(scores))))
    return found


def weak(*, signs: dict[str, int] | None = None, strength: float = 1e-5) -> Prior:
    return Prior(
        means=dict.fromkeys(NAMES, 0.5) | {"dense": 1.0},
        widths=dict.fromkeys(NAMES, 1.0),
        signs=signs or {},
        strength=strength,
    )


def test_the_fit_recovers_the_weights_that_made_the_data_whatever_the_temperatures():
    true = [1.4, 1.0, 0.4, -1.5]
    found = fit([generated(true, 1.0), generated(true, 3.0, seed=2)], NAMES, weak())
    assert [found[name] for name in NAMES] == pytest.approx(true, abs=0.2)


def test_a_firm_prior_stays_where_it_is():
    found = fit([generated([1.4, 1.0, 0.4, -1.5], 2.0)], NAMES, weak(strength=1e4))
    assert [found[name] for name in NAMES] == pytest.approx([0.5, 1.0, 0.5, 0.5], abs=0.01)


def test_a_weight_on_the_wrong_side_of_its_sign_is_nothing_and_the_others_are_fitted_without_it():
    found = fit([generated([1.4, 1.0, 0.4, -1.5], 2.0)], NAMES, weak(signs={"assistant": 1}))
    assert found["assistant"] == 0.0
    assert found["keyword"] > 1.0


def test_every_feature_of_the_score_has_a_belief_or_is_set_by_hand():
    weights = {field.name for field in fields(Weights)}
    assert {*FEATURES, *BY_HAND} == weights
    assert set(prior(1.0).means) == set(FEATURES)


def test_the_data_file_names_how_it_was_made_and_only_sets_that_may_be_fitted_to():
    file = Path(__file__).resolve().parents[3] / "src" / "mnemic" / "model" / "weights.json"
    table = json.loads(file.read_text(encoding="utf-8"))
    assert table["coefficients"] == dict(coefficients())
    assert set(table["coefficients"]) == {field.name for field in fields(Weights)}
    assert (file.parents[3] / table["fitted_by"]).is_file()
    assert (file.parents[3] / table["report"]).is_file()
    assert {row["licence"] for row in table["fitted_to"]} <= FREE_LICENCES
    assert {row["set"] for row in table["fitted_to"]} == {each.name for each in SETS if each.is_fitted}


def test_weights_come_from_the_file_and_each_can_be_set_otherwise():
    assert Weights().dated == coefficients()["dated"]
    assert Weights(dated=7.0).dated == 7.0
    assert Weights(dated=7.0).keyword == coefficients()["keyword"]


@pytest.mark.parametrize("cast", list(Cast))
def test_dialogues_are_the_same_for_the_same_seed_and_others_for_another(cast: Cast):
    assert dialogues(cast) == dialogues(cast)
    assert dialogues(cast) != dialogues(cast, seed=2)


def test_a_question_about_a_named_person_is_answered_by_what_that_person_said():
    people = dialogues(Cast.PEOPLE)
    rows = {row.id: row for row in people.corpus}
    for question in people.questions:
        authors = {rows[i].speaker for i in question.gold}
        assert len(authors) == 1
        assert str(authors.pop()) in question.text
    by_group = {
        group: {row.speaker for row in people.corpus if row.group == group}
        for group in {row.group for row in people.corpus}
    }
    assert {len(speakers) for speakers in by_group.values()} >= {2, 3}


def test_an_assistant_is_asked_for_its_own_words_only_when_the_question_says_so():
    talk = dialogues(Cast.ASSISTANT)
    rows = {row.id: row for row in talk.corpus}
    for question in talk.questions:
        roles = {rows[i].role for i in question.gold}
        assert roles == ({"assistant"} if " you" in f" {question.text}" else {"user"})


def test_every_topic_has_all_kinds_of_sentences():
    for topic in topics():
        assert topic.open
        assert topic.when
        assert len(topic.tell) >= 3
        assert all(topic.again)
        assert len(topic.tips) >= 4
        assert topic.tasks
        assert all(topic.advice)
