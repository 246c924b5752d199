"""Clauses without a subject, as people type in a hurry: what they say of the user, and what only looks like it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mnemic.text.facts.find import Said, find_candidates

AT = datetime(2026, 5, 6, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text, told",
    [
        ("work at the harbour office in Genoa, night desk", "User works at the harbour office in Genoa, night desk"),
        ("living on a boat near Arnhem", "User is living on a boat near Arnhem"),
        ("teaching myself arabic, an hour every night", "User is teaching themselves arabic, an hour every night"),
        ("been on metformin for two years", "User has been on metformin for two years"),
        ("never been to Peru", "User has never been to Peru"),
        ("dont eat pork", "User does not eat pork"),
        ("can't have gluten, found out as a kid", "User cannot have gluten, found out as a kid"),
        ("getting my hip replaced in october", "User is getting their hip replaced in october (in 2026-10)"),
        ("using a cane since 2021", "User is using a cane since 2021"),
        ("Since I work nights, can you find me a late gym?", "User works nights"),
    ],
)
def test_what_is_typed_in_a_hurry_is_told_of_the_user(text: str, told: str):
    assert [fact.text for fact in find_candidates(Said("m1", text, AT))] == [told]


@pytest.mark.parametrize(
    "text",
    [
        "running the tests gave 3 errors",
        "building permit for a shed",
        "play that again",
        "don't add comments",
        "speak slowly please",
        "live music near the station",
        "own goal in the final",
        "sold out everywhere by noon",
        "never mind the margins",
        "has anybody moved house with cats",
    ],
)
def test_orders_and_things_are_no_acts_of_the_user(text: str):
    assert not [fact for fact in find_candidates(Said("m1", text, AT)) if fact.text.startswith("User ")]
