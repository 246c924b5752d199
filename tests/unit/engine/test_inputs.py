"""What is refused before anything is written, and what is completed."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest

from mnemic.engine import inputs
from mnemic.errors import InvalidInputError
from mnemic.model import filter as filters
from mnemic.model.item import Kind, MessageDraft, Role, Trust
from mnemic.model.scope import Scope
from mnemic.model.settings import Settings

SETTINGS = Settings(max_text_chars=10, max_metadata_bytes=20)
ROOMY = Settings()


@pytest.mark.parametrize("value", [None, 5, b"x", "", "  \n", "x" * 11, "a\ud800"])
def test_a_text_is_refused_that_is_none_blank_too_long_or_broken(value: object):
    with pytest.raises(InvalidInputError):
        inputs.check_text(value, "text", SETTINGS)


def test_a_text_returns_unchanged_up_to_the_limit():
    assert inputs.check_text(" padded  x", "text", SETTINGS) == " padded  x"


def test_a_choice_may_be_given_as_itself_or_as_its_text_and_others_are_named():
    assert inputs.check_choice(Kind, "goal", "kind") is inputs.check_choice(Kind, Kind.GOAL, "kind")
    with pytest.raises(InvalidInputError, match=r"kind='Goal' is not one of fact, goal"):
        inputs.check_choice(Kind, "Goal", "kind")


@pytest.mark.requirement("R-08")
@pytest.mark.parametrize(
    "value, number", [("low", 0.3), ("MEDIUM", 0.6), ("high", 0.9), (0, 0.0), (1, 1.0), (0.5, 0.5)]
)
def test_importance_is_a_number_or_one_of_three_words(value: object, number: float):
    assert inputs.check_fraction(value, "importance") == number


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf"), True, "0.5", None, "enormous"])
def test_other_fractions_are_refused(value: object):
    with pytest.raises(InvalidInputError):
        inputs.check_fraction(value, "importance")


def test_the_words_are_for_importance_alone():
    with pytest.raises(InvalidInputError):
        inputs.check_fraction("high", "confidence")


@pytest.mark.parametrize(
    "value", [[], "x", {1: "x"}, {"x": float("nan")}, {"x": object()}, {"x": {1, 2}}, {"x": "y" * 20}, {"x": "\udc00"}]
)
def test_metadata_is_a_json_object_within_the_size_limit(value: object):
    with pytest.raises(InvalidInputError):
        inputs.check_metadata(value, SETTINGS)


def test_metadata_that_contains_itself_is_refused():
    value: dict[str, object] = {}
    value["self"] = value
    with pytest.raises(InvalidInputError):
        inputs.check_metadata(value, ROOMY)


def test_metadata_is_copied():
    value: dict[str, object] = {"tags": ["a"]}
    checked = inputs.check_metadata(value, ROOMY)
    value["tags"] = "changed"
    assert checked == {"tags": ["a"]}


def test_a_message_in_the_chat_format_becomes_a_draft_with_what_was_left_out():
    (draft,) = inputs.message_drafts([{"content": "hello"}], ROOMY)
    assert draft == MessageDraft(role=Role.USER, text="hello")


def test_every_field_of_a_message_is_taken():
    message = {
        "role": "tool",
        "content": "4",
        "name": "calc",
        "observed_at": "2026-05-01",
        "id": "m1",
        "trust": "imported",
        "metadata": {"a": 1},
    }
    (draft,) = inputs.message_drafts([message], ROOMY)
    at = datetime(2026, 5, 1, tzinfo=UTC)
    expected = MessageDraft(
        role=Role.TOOL, text="4", name="calc", observed_at=at, external_id="m1", trust=Trust.IMPORTED, metadata={"a": 1}
    )
    assert draft == expected
    assert inputs.message_drafts([draft], ROOMY) == [expected]


def test_text_parts_of_one_message_are_joined_and_other_parts_left_out():
    parts: list[object] = [{"type": "text", "text": " one"}, {"type": "image_url", "image_url": {"url": "x"}}, "two "]
    (draft,) = inputs.message_drafts([{"content": parts}], ROOMY)
    assert draft.text == "one\ntwo"


@pytest.mark.parametrize(
    "messages", [[], "hello", {"content": "x"}, ["hello"], [{"content": "x", "rolle": "user"}], [{"role": "user"}],
                 [{"content": "x", "role": "king"}], [{"content": "x", "name": 5}], [{"content": [{"image": 1}]}],
                 [{"content": "x", "observed_at": "yesterday"}], [{"content": "x", "external_id": "x" * 256}]]
)  # fmt: skip
def test_what_is_no_message_is_refused(messages: list[object]):
    with pytest.raises(InvalidInputError):
        inputs.message_drafts(messages, ROOMY)


@pytest.mark.parametrize(
    "fields",
    [
        {"colour": "blue"},
        {"kind": "rumour"},
        {"level": "world"},
        {"confidence": 2},
        {"categories": "work"},
        {"categories": [""]},
        {"categories": [str(n) for n in range(33)]},
        {"is_private": 1},
        {"valid_from": "2026-05-02", "valid_to": "2026-05-02"},
        {"expires_at": 5},
        {"source": 5},
        {"metadata": []},
    ],
)
def test_a_memory_with_a_wrong_field_is_refused(fields: dict[str, object]):
    with pytest.raises(InvalidInputError):
        inputs.memory_draft("text", fields, ROOMY)


def test_a_field_that_is_none_takes_its_default():
    draft = inputs.memory_draft("text", {"kind": None, "importance": None, "valid_to": None}, ROOMY)
    assert (draft.kind, draft.importance, draft.valid_to) == (Kind.FACT, 0.8, None)


def test_categories_are_distinct_in_the_order_given():
    assert inputs.check_categories(iter(["b", "a", "b"])) == ("b", "a")


def endless() -> dict[str, object]:
    filter_: dict[str, object] = {}
    filter_["not"] = filter_
    return filter_


@pytest.mark.parametrize(
    "value",
    [
        {"or": [{"kind": "fact"} for _ in range(160_000)]},
        {"metadata.a": {"in": [*range(160_000)]}},
        {f"metadata.k{number}": 1 for number in range(160_000)},
        {"or": [{"or": [{"kind": "fact"}] * 400} for _ in range(400)]},
        endless(),
    ],
)
def test_a_huge_filter_is_refused_before_its_parts_are_checked(
    value: dict[str, object], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(filters, "_parse", None)
    with pytest.raises(InvalidInputError, match="at most 100 conditions"):
        filters.parse_filter(value)


def test_the_largest_filter_that_is_allowed_is_not_taken_for_a_huge_one():
    deepest: dict[str, object] = {"metadata.a": {"in": [1]}}
    for _ in range(filters.MAX_DEPTH):
        deepest = {"not": deepest}
    values = {"metadata.b": {"in": [*range(filters.MAX_VALUES - filters.MAX_CONDITIONS)]}}
    assert filters.parse_filter({"or": [*[deepest["not"]] * (filters.MAX_CONDITIONS - 1), values]})


def test_two_forms_of_a_name_are_two_users():
    """As docs/how-to/run-a-server.md says; merging them could show one account the memories of another."""
    composed, decomposed = (unicodedata.normalize(form, "José") for form in ("NFC", "NFD"))
    assert Scope(user=composed) != Scope(user=decomposed)
    assert Scope(user=decomposed).user == decomposed
