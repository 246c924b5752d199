"""Whose a namespace is: no label of a stranger reaches another's place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import Level, Scope
from mnemic.errors import InvalidInputError
from mnemic.integrations.memory import Layouts, parse_layouts

LABELS = st.sampled_from(["ana", "bob", "memories", "docs", "{user}", "*", "ANA", "ana "])


@pytest.mark.parametrize(
    "layouts, scope",
    [
        ((), Scope()),
        (("memories", "{usr}"), Scope()),
        (("{user}", "{user}"), Scope()),
        (("docs",), Scope()),
        (("memories", "{user}"), Scope(user="ana")),
        ([("{user}", "notes"), ("docs", "{user}")], Scope()),
        ([("{user}",), ("docs",)], Scope(agent="helper")),
    ],
)
def test_layouts_that_leave_open_whose_something_is_are_refused(layouts: tuple[str, ...], scope: Scope):
    with pytest.raises(InvalidInputError):
        parse_layouts(layouts, scope)


def test_a_label_in_braces_says_whose_a_namespace_is():
    layouts = parse_layouts(("memories", "{user}"), Scope(org="acme", agent="helper"))
    place = layouts.place(("memories", "ana", "work"))
    assert (place.scope, place.level) == (Scope(org="acme", agent="helper", user="ana"), Level.USER)


def test_without_one_it_is_the_scopes():
    assert parse_layouts(("docs",), Scope(agent="helper")).place(("docs",)).level is Level.AGENT
    assert parse_layouts(("docs",), Scope(user="ana")).place(("docs", "x")).scope == Scope(user="ana")


@pytest.mark.parametrize("prefix", [(), ("memories",), ("other",), ("memories ", "ana")])
def test_a_prefix_that_reaches_over_owners_or_into_nowhere_is_refused(prefix: tuple[str, ...]):
    with pytest.raises(InvalidInputError):
        parse_layouts(("memories", "{user}"), Scope()).place_below(prefix)


@pytest.mark.parametrize("label", ["", " ana", "ana\n", "a" * 256, "\ud800", "ana\x1fs1"])
def test_a_label_that_can_be_no_users_id_is_refused(label: str):
    with pytest.raises(InvalidInputError):
        parse_layouts(("memories", "{user}"), Scope()).place(("memories", label))


@given(one=st.lists(LABELS, min_size=1, max_size=4), other=st.lists(LABELS, min_size=1, max_size=4))
def test_two_namespaces_share_a_place_only_when_they_name_one_owner(one: list[str], other: list[str]):
    layouts = Layouts((("memories", "{user}"), ("docs", "{user}", "notes")), Scope())
    try:
        places = [layouts.place(tuple(labels)) for labels in (one, other)]
    except InvalidInputError:
        return
    assert (places[0] == places[1]) == (one[1] == other[1])
