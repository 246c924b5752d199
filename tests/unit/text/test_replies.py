"""What language models write instead of what was asked: every case of the corpus, and any text at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.replies import (
    MAX_REPLY_CHARS,
    MISSING,
    json_values,
    list_schema,
    mended,
    read_item,
    read_items,
    without_thoughts,
)
from tests.broken_replies.corpus import MOST, SCHEMA, Case, cases

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
MENDED: list[tuple[object, dict[str, Any], object]] = [
    ("0,8", {"type": "number"}, 0.8),
    ("8/10", {"type": "number"}, 0.8),
    ("8/0", {"type": "number"}, MISSING),
    ("high", {"type": "number"}, MISSING),
    (True, {"type": "number"}, MISSING),
    (3.0, {"type": "integer"}, 3),
    (3.5, {"type": "integer"}, MISSING),
    ("no", {"type": "boolean"}, False),
    (1, {"type": "boolean"}, True),
    ("maybe", {"type": "boolean"}, MISSING),
    (True, {"type": "string"}, MISSING),
    (["a"], {"type": "string"}, MISSING),
    ("x", {"type": ["null", "string"]}, "x"),
    ("Two Words", {"enum": ["two_words"]}, "two_words"),
    ("a, b", {"type": "array", "items": {"enum": ["a", "b", "c"]}}, ["a", "b"]),
    (["a", 7, None, True], {"type": "array", "items": {"type": "string"}}, ["a", "7"]),
    ([], {"type": "array"}, []),
    ("", {"type": "array", "items": {"type": "string"}}, []),
    ([[]], {"type": "array", "items": {"type": "string"}}, MISSING),
    ({"a": "1", "z": 2}, {"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 1}),
    ({"z": 2}, {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, MISSING),
    ({"z": 2}, {"type": "object"}, {"z": 2}),
    ("x", {"type": "object"}, MISSING),
    ("x", {}, "x"),
]
NEARLY_JSON = st.text(alphabet="{}[]\",:\\'ab1 \n“”/-.tu0<>", max_size=80)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_of_a_broken_reply_what_is_plain_is_read_and_the_rest_is_refused_with_a_reason(case: Case):
    reading = read_items(case.reply, SCHEMA, most=MOST)
    assert [item["text"] for item in reading.items] == case.texts
    assert len(reading.refused) == len(case.refused), reading.refused
    for refused, words in zip(reading.refused, case.refused, strict=True):
        assert words in refused.reason
    assert (reading.is_answer, reading.is_cut, len(reading.notes)) == (case.is_answer, case.is_cut, case.notes)
    if case.first:
        assert dict(reading.items[0]) == case.first


def test_the_corpus_is_large_and_varied():
    assert len(cases()) >= 40
    assert sum(not case.is_answer for case in cases()) >= 10


@given(st.lists(VALUES, max_size=4) | st.dictionaries(st.text(), VALUES, max_size=4))
def test_every_valid_json_is_read_as_the_standard_says(value: Any):
    for indent in (None, 2):
        for is_ascii in (True, False):
            (read,) = json_values(json.dumps(value, indent=indent, ensure_ascii=is_ascii))
            assert read == json.loads(json.dumps(value))


@given(NEARLY_JSON)
def test_no_text_raises_or_yields_what_the_schema_does_not_allow(text: str):
    reading = read_items(text, {"properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["a"]})
    for item in reading.items:
        assert isinstance(item["a"], str)
        assert isinstance(item.get("b", 0), int | float)


@given(st.lists(st.text(min_size=1, alphabet="abc “”\"'\n\\é"), min_size=1, max_size=4), st.data())
def test_a_cut_reply_gives_the_items_before_the_cut_unchanged(texts: list[str], data: st.DataObject):
    items = [{"text": f"x{text}x", "kind": "fact"} for text in texts]
    whole = json.dumps(items, ensure_ascii=False)
    end = data.draw(st.integers(0, len(whole)))
    found = [dict(item) for item in read_items(whole[:end], SCHEMA).items]
    assert found == items[: len(found)]
    complete = sum(
        json.dumps(items[: count + 1], ensure_ascii=False)[:-1] in whole[:end] for count in range(len(items))
    )
    assert len(found) >= complete


def test_a_reply_is_read_up_to_its_limit():
    item = '{"text": "tea", "kind": "fact"}'
    reading = read_items("[" + " " * MAX_REPLY_CHARS + item + "]", SCHEMA)
    assert (reading.items, reading.is_answer) == ((), False)


def test_one_item_is_the_first_of_several():
    reading = read_item('[{"text": "tea", "kind": "fact"}, {"text": "milk", "kind": "fact"}]', SCHEMA)
    assert [item["text"] for item in reading.items] == ["tea"]
    assert [refused.reason for refused in reading.refused] == ["more than 1"]


def test_texts_are_items_when_one_text_is_all_that_is_needed():
    schema = {"properties": {"text": {"type": "string"}, "kind": {"type": "string"}}, "required": ["text"]}
    reading = read_items('{"facts": ["Anna sails", "Anna cooks"]}', schema)
    assert [dict(item) for item in reading.items] == [{"text": "Anna sails"}, {"text": "Anna cooks"}]


def test_a_refusal_shows_the_beginning_of_what_was_refused_on_one_line():
    (refused,) = read_items(json.dumps([{"text": "tea\n" * 500}]), SCHEMA).refused
    assert refused.excerpt.startswith("{'text': 'tea")
    assert (len(refused.excerpt) <= 160, "\n" in refused.excerpt) == (True, False)


@pytest.mark.parametrize(
    "reply, left",
    [
        ("<think>a</think>b", "b"),
        ("<think>a</think>\n<thinking>b</thinking> c", " c"),
        ("<THINK>a", ""),
        ("a\n</think>\nb", "b"),
        ("a </think> b", "a </think> b"),
        ("a <think>b</think>", "a <think>b</think>"),
        ("", ""),
    ],
)
def test_thoughts_go_and_what_only_speaks_of_them_stays(reply: str, left: str):
    assert without_thoughts(reply) == left


@pytest.mark.parametrize("value, schema, fit", MENDED)
def test_a_value_is_mended_where_its_meaning_is_plain(value: object, schema: dict[str, object], fit: object):
    assert mended(value, schema) == fit


def test_the_schema_of_a_list_asks_for_an_object_around_it():
    schema = list_schema(SCHEMA, "facts", 3)
    assert schema["required"] == ["facts"]
    assert read_items('{"facts": [{"text": "tea", "kind": "fact"}]}', SCHEMA).items
