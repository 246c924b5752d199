"""Hard facts of a user."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import MEMORY_URL, Config
from mnemic.engine.engine import Engine
from mnemic.engine.lasting_facts import fitting
from mnemic.errors import InvalidInputError, UnavailableError
from mnemic.model.item import ProfileEntry
from mnemic.model.scope import Level, Scope
from mnemic.model.settings import Settings
from mnemic.ports.store import Store
from tests.unit.engine.kit import START, Clock

ANNA = Scope(user="anna", session="s1")


@pytest.fixture
def brief(store: Store, clock: Clock) -> Mnemic:
    """A memory whose profiles expire after 30 days."""
    settings = Settings(profile_ttl_s=30 * 86_400.0)
    return Mnemic(Engine(store, ScanIndex(), None, clock, CounterObserver(), settings=settings))


@pytest.mark.requirement("D-30")
def test_facts_are_kept_per_user_as_text_and_read_back_by_key(mnemic: Mnemic):
    mnemic.profile.set(ANNA, {"name": "Anna", "city": "上海 🌆"})
    assert mnemic.profile.get(Scope(user="anna", session="other")) == {"city": "上海 🌆", "name": "Anna"}
    assert mnemic.profile.get(Scope(user="bert")) == {}
    assert mnemic.profile.get(Scope(org="other", user="anna")) == {}


@pytest.mark.requirement("D-30")
def test_a_profile_with_a_lifetime_is_empty_after_it_and_each_write_renews_all_of_it(brief: Mnemic, clock: Clock):
    mnemic = brief
    mnemic.profile.set(ANNA, {"name": "Anna"})
    clock.turn(days=20)
    mnemic.profile.set(ANNA, {"city": "Lyon"})
    clock.turn(days=30)
    assert mnemic.profile.get(ANNA) == {"city": "Lyon", "name": "Anna"}
    clock.turn(days=1)
    assert mnemic.profile.get(ANNA) == {}
    assert mnemic.profile.all(ANNA).static == ()
    assert "Lyon" not in str(mnemic.context(ANNA, "Where do I live?").messages)
    assert mnemic.profile.set(ANNA, {"unknown": None}) == []
    mnemic.profile.set(ANNA, {"name": "Anna"})
    assert mnemic.profile.get(ANNA) == {"name": "Anna"}


@pytest.mark.requirement("D-30")
def test_a_fact_from_an_old_statement_lives_from_its_writing_and_an_expired_one_set_by_hand_is_no_obstacle(
    brief: Mnemic, clock: Clock
):
    brief.profile.set(ANNA, {"home": "Paris", "tea": "green"})
    clock.turn(days=31)
    brief.capture(ANNA, user="I live in Lyon.", observed_at=clock.now() - timedelta(days=300))
    brief.work()
    assert brief.profile.get(ANNA) == {"home": "Lyon"}
    clock.turn(days=31)
    assert brief.profile.get(ANNA) == {}


def test_a_fact_is_changed_kept_or_removed_by_its_key(mnemic: Mnemic, clock: Clock):
    (first,) = mnemic.profile.set(ANNA, {"city": "Paris"})
    clock.turn(days=1)
    (second,) = mnemic.profile.set(ANNA, {"city": "Lyon"})
    assert (second.value, second.created_at, second.updated_at) == ("Lyon", first.created_at, clock.now())
    assert mnemic.profile.set(ANNA, {"city": None, "unknown": None}) == []


@pytest.mark.requirement("R-15")
def test_without_a_user_the_profile_belongs_to_the_session(mnemic: Mnemic):
    mnemic.profile.set(Scope(session="s9"), {"name": "somebody"})
    assert mnemic.profile.get(Scope(session="s9")) == {"name": "somebody"}
    assert mnemic.profile.get(Scope(user="anna", session="s9")) == {}
    assert mnemic.profile.get(Scope()) == {}


@pytest.mark.requirement("D-32")
def test_the_block_is_empty_or_a_heading_and_one_line_for_each_fact(mnemic: Mnemic):
    assert mnemic.profile.format(ANNA) == ""
    mnemic.profile.set(ANNA, {"name": "Anna", "home": "Lyon"})
    assert mnemic.profile.format(ANNA, language="zh") == "\n\n【用户画像】\nhome: Lyon\nname: Anna"


@pytest.mark.requirement("P-32")
def test_static_and_dynamic_side_come_in_one_call(mnemic: Mnemic, clock: Clock):
    mnemic.profile.set(ANNA, {"name": "Anna"})
    mnemic.remember(ANNA, "old but dear", importance=1.0)
    mnemic.remember(ANNA, "was true once", importance=1.0, valid_from="2020-01-01", valid_to="2021-01-01")
    mnemic.remember_many(ANNA, [{"text": f"note {n}", "importance": 0.1} for n in range(20)])
    clock.turn(hours=1)
    mnemic.remember(ANNA, "quite new", importance=0.1)
    profile = mnemic.profile.all(ANNA)
    texts = [memory.text for memory in profile.dynamic]
    assert [(entry.key, entry.value, entry.source) for entry in profile.static] == [("name", "Anna", "tester")]
    assert "old but dear" in texts
    assert "quite new" in texts
    assert "was true once" not in texts
    assert len(texts) == len(set(texts)) == 10


@pytest.mark.parametrize("facts", [{"": "x"}, {"a\nb": "x"}, {"k" * 101: "x"}, {"k": " "}, {"k": "x" * 2001}, {"k": 7}])
def test_what_is_no_fact_is_refused_and_nothing_is_kept(mnemic: Mnemic, facts: dict[str, str]):
    with pytest.raises(InvalidInputError):
        mnemic.profile.set(ANNA, {"good": "one"} | facts)
    assert mnemic.profile.get(ANNA) == {}


class TestRoom:
    """With room for three facts."""

    @pytest.fixture
    def small(self, parts: Engine) -> Mnemic:
        settings = replace(parts.settings, max_profile_facts=3)
        return Mnemic(replace(parts, settings=settings), actor="tester")

    def test_more_facts_set_by_hand_are_refused_and_nothing_of_the_call_is_written(self, small: Mnemic):
        small.profile.set(ANNA, {"a": "1", "b": "2"})
        with pytest.raises(InvalidInputError, match=r"at most 3 facts .memory\.profile\.max-facts"):
            small.profile.set(ANNA, {"a": "9", "c": "3", "d": "4"})
        assert small.profile.get(ANNA) == {"a": "1", "b": "2"}
        small.profile.set(ANNA, {"a": None, "c": "3", "d": "4", "b": "5"})
        assert small.profile.get(ANNA) == {"b": "5", "c": "3", "d": "4"}

    def test_derived_facts_give_way_to_those_set_by_hand_and_the_one_said_longest_ago_first(
        self, small: Mnemic, clock: Clock
    ):
        for said in ("My name is Anna.", "I live in Lyon.", "I work as a nurse."):
            small.capture(ANNA, user=said)
            small.work()
            clock.turn(hours=1)
        derived = small.profile.get(ANNA)
        assert len(derived) == 3
        assert derived["name"] == "Anna"
        small.profile.set(ANNA, {"tea": "green"})
        assert small.profile.get(ANNA) == {key: value for key, value in derived.items() if key != "name"} | {
            "tea": "green"
        }

    def test_a_derived_fact_makes_no_fact_set_by_hand_give_way(self, small: Mnemic):
        small.profile.set(ANNA, {"a": "1", "b": "2", "c": "3"})
        small.capture(ANNA, user="My name is Anna.")
        small.work()
        assert small.profile.get(ANNA) == {"a": "1", "b": "2", "c": "3"}

    def test_an_import_says_which_facts_found_no_room(self, small: Mnemic, mnemic: Mnemic):
        mnemic.profile.set(Scope(user="bert"), {f"key {n}": "x" for n in range(5)})
        lines = list(mnemic.export(Scope(user="bert")))
        report = small.import_(Scope(user="carl"), "\n".join(lines))
        assert len(small.profile.get(Scope(user="carl"))) == report.added["profile"] == 3
        assert len(report.problems) == 2
        assert "3 of 3 facts" in report.problems[0]


def fact(key: str, source: str, day: int) -> ProfileEntry:
    at = START + timedelta(days=day)
    return ProfileEntry(ANNA.partition(Level.USER), key, "x", source, at, at)


def test_an_older_derived_fact_finds_no_room_where_newer_ones_are_and_a_known_key_needs_none():
    there = [fact("home", "extraction", 3), fact("name", "cli", 0)]
    kept, gone = fitting(there, [fact("job", "extraction", 2), fact("name", "cli", 4)], 2)
    assert ([entry.key for entry in kept], gone) == (["name"], [])
    kept, gone = fitting(there, [fact("job", "reflection", 5)], 2)
    assert ([entry.key for entry in kept], gone) == (["job"], ["home"])
    kept, gone = fitting(there, [fact(key, "cli", day) for day, key in enumerate("abc")], 3)
    assert (sorted(entry.key for entry in kept), gone) == (["b", "c"], ["home"])


@pytest.mark.requirement("D-31")
def test_while_the_store_is_away_reading_is_empty_and_a_write_is_lost_with_a_warning(
    mnemic: Mnemic, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def away(*, is_erasing: bool = False) -> None:  # noqa: ARG001 -- as a store is asked
        raise UnavailableError("the database is away")

    mnemic.profile.set(ANNA, {"name": "Anna"})
    with monkeypatch.context() as patch:
        patch.setattr(store, "read", away)
        patch.setattr(store, "write", away)
        assert mnemic.profile.set(ANNA, {"home": "Oslo"}) == []
        assert mnemic.profile.get(ANNA) == {}
        assert mnemic.profile.all(ANNA).static == ()
    assert [record.levelname for record in caplog.records if record.name == "mnemic.profile"] == ["WARNING"] * 3
    assert mnemic.profile.get(ANNA) == {"name": "Anna"}


@pytest.mark.requirement("R-35", "D-01")
@pytest.mark.parametrize(
    "said, key, value",
    [
        ("We live in Oslo now.", "home", "Oslo"),
        ("I moved to Lille last week.", "home", "Lille"),
        ("My home is in Bergen.", "home", "Bergen"),
        ("I was promoted to team lead.", "job", "team lead"),
        ("My birthday is on 3 May 1990.", "birthday", "3 May 1990"),
        ("Ich wohne in Wien.", "home", "Wien"),
        ("I'm Marta Kowalska!", "name", "Marta Kowalska"),
        ("I'm a paediatric nurse in Leeds.", "job", "paediatric nurse"),
        ("I work remotely for a company called Lattice Labs.", "employer", "Lattice Labs"),
        ("Please always answer in short lists.", "wants the assistant to answer in short lists", "always"),
    ],
)
def test_plain_statements_fill_it_once_their_facts_are_found(said: str, key: str, value: str):
    with Mnemic(build(Config(store=MEMORY_URL))) as mnemic:
        mnemic.capture(ANNA, user=said)
        mnemic.work()
        assert mnemic.profile.get(ANNA) == {key: value}


def test_a_standing_order_is_in_every_prompt_until_its_memory_goes():
    with Mnemic(build(Config(store=MEMORY_URL))) as mnemic:
        mnemic.capture(ANNA, user="From now on, write code comments in English.")
        mnemic.work()
        assert mnemic.profile.get(ANNA) == {"wants the assistant to write code comments in": "English"}
        assert "write code comments in: English" in mnemic.context(ANNA, "Sort this list in Python").text
        mnemic.capture(ANNA, user="From now on, don't write code comments in English.")
        mnemic.work()
        assert mnemic.profile.get(ANNA) == {"wants the assistant to write code comments in english": "never"}
        assert mnemic.delete(ANNA, mnemic.list(ANNA).memories[0].id).counts["profiles"] == 1
        mnemic.work()
        assert mnemic.profile.get(ANNA) == {}


def test_a_deleted_fact_leaves_the_profile_unless_another_one_or_a_person_states_it():
    with Mnemic(build(Config(store=MEMORY_URL))) as mnemic:
        mnemic.capture(ANNA, user="I live in Oslo.")
        mnemic.work()
        again = mnemic.remember(ANNA, "User resides in Oslo")
        first = next(memory for memory in mnemic.list(ANNA) if memory.id != again.id)
        mnemic.delete(ANNA, first.id)
        assert mnemic.profile.get(ANNA) == {"home": "Oslo"}
        mnemic.delete(ANNA, again.id)
        assert mnemic.profile.get(ANNA) == {}
        mnemic.profile.set(ANNA, {"home": "Oslo"})
        mnemic.delete(ANNA, mnemic.remember(ANNA, "User lives in Oslo").id)
        assert mnemic.profile.get(ANNA) == {"home": "Oslo"}


@pytest.mark.requirement("D-30")
def test_a_diet_and_allergies_stand_in_the_profile_until_their_memory_is_deleted(mnemic: Mnemic):
    for text in ("I have a severe milk allergy, by the way.", "I'm allergic to eggs.", "I'm vegan now."):
        mnemic.capture(ANNA, user=text, assistant="Noted.")
        mnemic.work()
    assert mnemic.profile.get(ANNA) == {"allergy to eggs": "yes", "allergy to milk": "yes", "diet": "vegan"}
    assert "allergy to milk: yes" in mnemic.context(ANNA, "Suggest a dinner, please").text
    (milk,) = [memory for memory in mnemic.list(ANNA) if "milk" in memory.text]
    mnemic.delete(ANNA, milk.id)
    assert mnemic.profile.get(ANNA) == {"allergy to eggs": "yes", "diet": "vegan"}
