"""The tour shows what it says, and fails when it cannot."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mnemic import Mnemic, Scope
from mnemic.cli import tour
from tests.doors.doors import run


@pytest.mark.requirement("J-02")
def test_a_memory_is_found_by_meaning_though_no_word_is_shared_and_the_session_was_about_the_weather():
    code, out, err = run(["tour", "--json"], [])
    assert code == 0, err
    told = json.loads(out)
    assert told["question"] == "How is my coding project coming along?"
    assert (told["shared_words"], told["failures"]) == ([], [])
    first = next(hit for hit in told["recall"]["hits"] if hit["item"]["kind"] != "message")
    assert first["item"]["text"] == "User is building Jarvis AI Platform in Java"
    points = {part["feature"]: part["points"] for part in first["contributions"]}
    assert points["dense"] == max(points.values())
    assert not any("Jarvis" in text or "Java" in text for pair in tour.CURRENT_SESSION for text in pair)


def test_a_person_is_told_the_score_the_reason_and_what_to_try_next():
    code, out, _ = run(["tour"], [])
    assert code == 0
    assert "Words it shares with the question: none" in out
    assert "dense" in out
    assert "Found: nothing." in out
    assert "mnemic remember --user you" in out


def test_the_tour_fails_when_another_memory_is_found_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tour, "QUESTION", "Which nuts is sam allergic to?")
    code, _, err = run(["tour"], [])
    assert code == 1
    assert "is not the first memory found" in err


def test_the_tour_fails_when_another_user_sees_anything_or_a_source_is_missing():
    with Mnemic.open("memory://") as mnemic:
        mnemic.remember(Scope(user="sam"), tour.EXPECTED)
        found = mnemic.recall(Scope(user="sam"), tour.QUESTION)
    assert tour.list_failures(found, 0) == []
    assert tour.list_failures(found, 1) == ["another user saw 1 of these memories"]
    assert len(tour.list_failures(replace(found, degraded=("dense: gone",)), 0)) == 1
    assert len(tour.list_failures(replace(found, hits=()), 0)) == 1
