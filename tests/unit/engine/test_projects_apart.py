"""Projects stay separate, even if a session or a day mixes them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.model.chat import Prompt
from mnemic.model.item import Kind
from mnemic.model.scope import Scope
from mnemic.model.settings import Settings
from tests.unit.engine.curate_kit import decide, decisions, texts, turns_of
from tests.unit.engine.kit import Clock
from tests.unit.engine.life_kit import opened, small

APOLLO, BOATS = (Scope(user="ana", agent=f"project:{name}", session="s1") for name in ("apollo", "boats"))
PERSONAL = Scope(user="ana", session="s1")


@pytest.fixture
def mnemic(clock: Clock) -> Mnemic:
    return opened(MemoryStore(), clock, settings=Settings())[0]


@pytest.fixture
def clock() -> Clock:
    return Clock()


def say(mnemic: Mnemic, scope: Scope, *said: str) -> None:
    for text in said:
        mnemic.capture(scope, user=text, assistant="Noted.")


@pytest.mark.parametrize(
    "said, told",
    [
        ("I prefer tabs over spaces in this project.", "tabs"),
        ("In this repository I prefer tabs over spaces.", "tabs"),
        ("We prefer pytest over unittest here.", "pytest"),
        ("Our team likes small pull requests.", "pull requests"),
        ("Ich mag kurze Commits in diesem Projekt.", "Commits"),
        ("我喜欢在这个项目里用制表符。", "制表符"),
    ],
)
@pytest.mark.requirement("P-57")
def test_a_preference_for_this_project_stays_in_it(mnemic: Mnemic, said: str, told: str):
    say(mnemic, APOLLO, said, "I prefer dark mode over light mode.", "My name is Ana.")
    mnemic.work()
    elsewhere = [each.text for each in mnemic.list(BOATS, limit=100)]
    assert not [text for text in elsewhere if told in text]
    assert "User prefers dark mode over light mode" in elsewhere
    assert mnemic.profile.get(BOATS) == {"name": "Ana"}


def test_an_employer_in_a_project_is_not_in_the_profile_of_others(mnemic: Mnemic):
    say(mnemic, APOLLO, "I work at ACME in this project.", "I live in Graz.")
    mnemic.work()
    assert mnemic.profile.get(BOATS) == {"home": "Graz"}


def test_a_preference_for_a_project_does_not_end_the_personal_one(mnemic: Mnemic):
    say(mnemic, PERSONAL, "I prefer tabs over spaces.")
    say(mnemic, APOLLO, "I prefer spaces over tabs in this project.")
    mnemic.work()
    assert "User prefers tabs over spaces" in [each.text for each in mnemic.list(BOATS, limit=100)]
    assert "User prefers spaces over tabs in this project" in [each.text for each in mnemic.list(APOLLO, limit=100)]


@pytest.mark.requirement("P-57")
def test_a_session_shows_nothing_of_another_project(mnemic: Mnemic):
    say(mnemic, APOLLO, "The API listens on port 8080.")
    say(mnemic, replace(APOLLO, session="s2"), "The release is on Friday.")
    for scope in (BOATS, PERSONAL):
        assert mnemic.window(scope) == mnemic.window(scope, include_closed=True) == []
        assert "8080" not in str(mnemic.context(scope, "Which port does the API listen on?"))
    mnemic.context(APOLLO, "Which port does the API listen on?")
    assert {each.agent for each in mnemic.contexts(BOATS)} == {BOATS.agent, None}
    say(mnemic, BOATS, "The hull is blue.")
    assert [each.text for each in mnemic.window(BOATS)] == ["The hull is blue.", "Noted."]
    assert len(mnemic.window(APOLLO)) == 2
    (continued,) = mnemic.sessions(BOATS, limit=5)
    assert (continued.session, continued.text) == ("s1", "The hull is blue.")
    assert mnemic.sessions(replace(BOATS, agent="project:cars"), limit=5) == []
    assert [each.text for each in mnemic.messages(BOATS).messages] == ["Noted.", "The hull is blue."]
    assert len(mnemic.sessions(PERSONAL)) == 2


def test_a_day_of_several_projects_gives_gems_of_one_each(clock: Clock):
    mnemic, llm = opened(MemoryStore(), clock, one_gem_of_everything)
    decide(mnemic, "use Go", APOLLO)
    decide(mnemic, "paint the hull", BOATS)
    decide(mnemic, "learn to dance", PERSONAL)
    decide(mnemic, "use Rust", replace(APOLLO, session="s2"))
    clock.turn(days=1)
    mnemic.curate(PERSONAL)
    seen = {scope.agent: texts(mnemic, scope) for scope in (APOLLO, BOATS, PERSONAL)}
    dance = "User decided to learn to dance"
    assert seen[None] == [dance]
    assert seen[BOATS.agent] == [dance, "User decided to paint the hull"]
    assert seen[APOLLO.agent] == [dance, "User decided to use Go", "User decided to use Rust"]
    assert not [prompt for prompt in llm.prompts if "hull" in str(prompt) and "use Go" in str(prompt)]


def one_gem_of_everything(prompt: Prompt) -> str:
    """Acts like a model that mixes its inputs."""
    found = decisions(prompt)
    return json.dumps([{**each, "source_turns": [*turns_of(prompt)]} for each in found])


def test_a_session_of_two_projects_gives_a_summary_of_each(clock: Clock):
    mnemic, _ = opened(MemoryStore(), clock, settings=small(window_messages=2, summary_batch=8))
    say(mnemic, APOLLO, "The API listens on port 8080.", "We deploy on Fridays with a script.")
    say(mnemic, BOATS, "The hull is painted blue.", "The mast is made of spruce.")
    say(mnemic, PERSONAL, "I bought a ticket to Rome.", "I moved to Porto.")
    mnemic.summarise(PERSONAL)
    told = {scope.agent: str(mnemic.list(scope, kinds=[Kind.SUMMARY]).memories) for scope in (APOLLO, BOATS)}
    assert "8080" in told[APOLLO.agent]
    assert "hull" not in told[APOLLO.agent]
    assert "hull" in told[BOATS.agent]
    assert "8080" not in told[BOATS.agent]


def test_an_order_about_the_work_stays_in_its_project_and_one_about_the_talk_holds_everywhere(mnemic: Mnemic):
    say(mnemic, APOLLO, "Never push to main without a review.", "Please always answer in German.")
    mnemic.work()
    german = {"wants the assistant to answer in": "German"}
    assert mnemic.profile.get(BOATS) == german
    assert [each.text for each in mnemic.list(BOATS)] == ["User wants the assistant to always answer in German"]
    assert {each.text for each in mnemic.list(APOLLO)} == {
        "User wants the assistant to always answer in German",
        "User wants the assistant to never push to main without a review",
    }
