"""Hard facts of a user."""

from __future__ import annotations

import pytest

from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError
from mnemic.model.scope import Scope
from tests.unit.engine.kit import Clock

ANNA = Scope(user="anna", session="s1")


@pytest.mark.requirement("D-30")
def test_facts_are_kept_per_user_as_text_and_read_back_by_key(mnemic: Mnemic):
    mnemic.profile.set(ANNA, {"name": "Anna", "city": "上海 🌆"})
    assert mnemic.profile.get(Scope(user="anna", session="other")) == {"city": "上海 🌆", "name": "Anna"}
    assert mnemic.profile.get(Scope(user="bert")) == {}
    assert mnemic.profile.get(Scope(org="other", user="anna")) == {}


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
