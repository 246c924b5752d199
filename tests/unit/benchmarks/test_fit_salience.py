"""The weights of what is worth keeping: the file is what the fit would write, and the fit finds what made the data."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from benchmarks.fit import salience as fit
from mnemic.evaluation.dataset import CorpusRow, Dataset, LabelledQuestion
from mnemic.text.facts import when as salience
from mnemic.text.facts.find import Said, find_candidates

FILE = json.loads(Path(salience.__file__).with_name("salience.json").read_text(encoding="utf-8"))
AT = datetime(2026, 5, 6, tzinfo=UTC)


def generated(weights: dict[str, float], number: int = 2000) -> fit.Labelled:
    """Statements with features drawn at random, of which the upper tenth by these weights is right."""
    draw = np.random.default_rng(7)
    features = draw.random((number, len(fit.START)))
    scores = features @ np.array([weights[name] for name in fit.START])
    return fit.Labelled(features, scores > np.quantile(scores, 0.9), np.arange(number) % fit.FOLDS)


def test_the_file_names_every_feature_its_sets_and_their_licences():
    (candidate, *_) = find_candidates(Said("m1", "I moved to Rome yesterday.", AT))
    assert set(FILE["weights"]) == set(candidate.features) == set(fit.START)
    assert FILE["weights"] == dict(salience.load_weights())
    assert {each["licence"] for each in FILE["fitted_to"]} == {"MIT"}
    assert {name: FILE["weights"][name] for name in FILE["by_hand"]} == dict(fit.BY_HAND)


def test_a_weight_that_is_fitted_is_a_round_factor_of_where_it_began():
    for name, value in FILE["weights"].items():
        if name not in fit.BY_HAND:
            assert value in [round(fit.START[name] * factor, 1) for factor in fit.FACTORS]


def test_the_fit_moves_a_weight_towards_what_made_the_data_and_leaves_what_is_set_by_hand():
    made = {**fit.START, "number": 1.0, "hanging": -1.4, "life": 3.0}
    data = generated(made)
    found = fit.fitted(data)
    assert (found["number"], found["hanging"], found["life"]) == (1.0, -1.4, fit.START["life"])
    assert fit.auc(data, found) > fit.auc(data, fit.START)
    assert fit.auc(data, made) == 1.0


def test_equal_scores_are_half_right():
    data = fit.Labelled(np.zeros((4, len(fit.START))), np.array([True, False, False, True]), np.zeros(4, int))
    assert fit.auc(data, fit.START) == pytest.approx(0.5)


def test_what_a_question_asks_for_is_right_and_the_rest_of_its_message_is_left_out():
    rows = (
        CorpusRow(id="a", group="g", text="I bought a red kayak. My aunt lives in Ulm.", session="s", role="user"),
        CorpusRow(id="b", group="g", text="Nice kayak!", session="s", role="assistant"),
        CorpusRow(id="c", group="g", text="My dog is four years old.", session="s", role="user"),
        CorpusRow(id="d", group="g", text="My cat is five years old.", session="other", role="user"),
    )
    question = LabelledQuestion(
        id="q",
        group="g",
        text="Which kayak did I buy?",
        gold={"a": 1.0},
        gold_sessions=("s",),
        answers=("a red kayak",),
    )
    data = fit.labelled(Dataset(rows, (question,)))
    assert data.is_right.tolist() == [True, False]
