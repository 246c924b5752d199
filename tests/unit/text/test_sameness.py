"""When two sentences say the same, and which would deny one."""

from __future__ import annotations

import pytest

from mnemic.text.sameness import covers_names, denials, may_be_same, same_statement


@pytest.mark.requirement("R-14")
@pytest.mark.parametrize(
    "one, other",
    [
        ("User owns a red bicycle", "The user owns the red bicycle."),
        ("User has two cats", "User has 2 cats"),
        ("User doesn't eat meat", "User does not eat meat"),
        ("User's dog is Rex", "Rex is User's dog"),
        ("User now works part-time", "User works part time"),
        ("User's favorite color is blue", "User's favourite colour is blue"),
        ("User pays 1,000 euros", "User pays 1000 euros"),
    ],
)
def test_articles_fillers_and_spelling_make_no_difference(one: str, other: str):
    assert same_statement(one, other)
    assert may_be_same(one, other)


@pytest.mark.requirement("R-14")
@pytest.mark.parametrize(
    "one, other",
    [
        ("User likes tea", "User likes Tia"),
        ("User has two cats", "User has 3 cats"),
        ("User eats meat", "User does not eat meat"),
        ("User visited the doctor on 3 May", "User visited the doctor on 10 May"),
        ("User flew from Rome to Oslo", "User flew to Rome from Oslo"),
        ("Anna visited Ben", "Ben visited Anna"),
        ("User is taller than Anna", "Anna is taller than User"),
        ("User likes tea", "User liked tea"),
        ("User needs a glass", "User needs glasses"),
        ("User studies at the university", "User studies the universe"),
        ("User's resume is old", "User's résumé is old"),
        ("Rex is not User's dog", "User's dog is not Rex"),
        ("the", "a"),
    ],
)
def test_names_numbers_dates_negations_order_and_tense_do(one: str, other: str):
    assert not same_statement(one, other)


@pytest.mark.requirement("P-05")
@pytest.mark.parametrize(
    "one, other",
    [
        ("User is not vegetarian.", "user is vegetarian"),
        ("User is vegetarian", "user is no longer vegetarian"),
        ("User no longer has a dog", "user has a dog"),
        ("User has a dog", "user does not have a dog"),
        ("User doesn't study law anymore", "user studies law"),
        ("User stopped running", "user runs"),
        ("User quit smoking", "user smokes"),
        ("Anna is tired", "anna is not tired"),
        ("The dog is not ill", "the dog is ill"),
        ("User can't swim", "user can swim"),
    ],
)
def test_a_sentence_denies_its_opposite(one: str, other: str):
    assert other in denials(one)


@pytest.mark.parametrize("text", ["User visited Rome", "user", "", "User did not go home"])
def test_a_past_event_and_what_is_no_sentence_about_the_user_deny_nothing(text: str):
    assert denials(text) == []


def test_no_judgement_makes_one_of_statements_with_other_numbers_or_negations():
    assert not may_be_same("User ran 5 km", "User ran 10 km")
    assert not may_be_same("User eats meat", "User never eats meat")
    assert may_be_same("User enjoys hiking", "User is fond of hiking")


@pytest.mark.parametrize(
    "known, text, is_covered",
    [
        ("User plans a week-long trip to Miami", "User plans a trip to Miami", True),
        ("User's sister plans a week-long trip to Miami", "User plans a trip to Miami", False),
        ("User plans to cycle from Oslo to Rome", "User plans to cycle from Rome to Oslo", False),
        ("用户打算元旦去成都旅行，坐高铁去", "用户打算元旦去成都旅行", True),
    ],
)
def test_a_sentence_covers_the_names_of_another_about_the_same_person(known: str, text: str, *, is_covered: bool):
    assert covers_names(known, text) is is_covered
