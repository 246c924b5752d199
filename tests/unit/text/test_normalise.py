"""The two derived forms of a text."""

from __future__ import annotations

import pytest

from mnemic.text.normalise import KEY_CHARACTERS, SameTexts, dedup_key, normalise


@pytest.mark.parametrize(
    "text, expected",
    [
        ("  Hello \t WORLD\n", "hello world"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("ﾊﾝｶｸ", "ハンカク"),
        ("ﬁne", "fine"),
        ("Straße", "strasse"),
        ("a\x00b\x07c", "a b c"),
        ("ig\u200bno\u00adre", "ignore"),
        ("a\ud800b", "a b"),
        ("cafe\u0301", "caf\u00e9"),
        ("", ""),
        (" \u3000 ", ""),
    ],
)
def test_normalising_folds_what_looks_or_reads_the_same(text: str, expected: str):
    assert normalise(text) == expected


@pytest.mark.requirement("R-14", "J-51")
@pytest.mark.parametrize(
    "one, other",
    [
        ("Likes Tea", "likes tea"),
        ("likes tea", "  likes \n tea  "),
        ("ＡＢＣ　１２", "abc 12"),
        ("ｶﾞｽ", "ガス"),
        ("caf\u00e9", "cafe\u0301"),
        ("STRASSE", "straße"),
        ("\u1e9b\u0323", "\u017f\u0323\u0307"),
        ("User likes tea", "User likes tea."),
        ("User likes tea", "\u201cuser likes tea\u2026\u201d"),
        ("User likes tea, and milk!", "User likes tea (and milk)"),
        ("User's tea \u2014 green", "User\u2019s tea: green"),
        ("我喜欢茶", "我喜欢茶。"),
        ("tea !", "tea"),
    ],
)
def test_texts_that_differ_in_case_width_composition_blanks_or_punctuation_around_words_have_one_key(
    one: str, other: str
):
    assert dedup_key(one) == dedup_key(other)


@pytest.mark.requirement("R-14", "J-51")
@pytest.mark.parametrize(
    "one, other",
    [
        ("likes tea.", "likes tea?"),
        ("knows C", "knows C++"),
        ("knows C#.", "knows C++."),
        ("pays 1.5", "pays 15"),
        ("is -5", "is 5"),
        ("edits .env", "edits env"),
        ("f(x)", "fx"),
        ("we're", "were"),
        ("smiles :)", "smiles :("),
        ("re-sign", "resign"),
        ("!", "?"),
        ("cafe", "café"),
        ("x2", "x²"),
        ("fine", "ﬁne \u200b"),
        ("a b", "ab"),
        ("", "."),
        ("①", "1"),
        ("a\x00b", "a b"),
    ],
)
def test_texts_that_differ_in_anything_else_have_two_keys(one: str, other: str):
    assert dedup_key(one) != dedup_key(other)


def test_a_key_of_two_hundred_characters_is_text_and_a_longer_one_a_digest():
    assert dedup_key("A" * KEY_CHARACTERS) == "a" * KEY_CHARACTERS
    key = dedup_key("A" * (KEY_CHARACTERS + 1))
    assert key.startswith("sha256:")
    assert len(key) == len("sha256:") + 64


def test_long_texts_share_a_key_under_the_same_rule_as_short_ones():
    assert dedup_key("Likes  Tea " * 50) == dedup_key("likes tea " * 50 + "!")
    assert dedup_key("likes tea " * 50) != dedup_key("likes tea " * 50 + "?")


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "\udfff"])
def test_a_key_can_always_be_stored(text: str):
    key = dedup_key(text)
    assert key.encode("utf-8")
    assert "\x00" not in key


def test_a_text_cannot_pretend_to_be_the_digest_of_another():
    digest = dedup_key("A" * 300)
    assert dedup_key(digest) != digest


def test_texts_are_the_same_by_their_keys_whatever_marks_they_begin_with():
    known = SameTexts()
    known.add("User lives in Lisbon, near the river.")
    for same in (
        "user lives in lisbon near the river",
        '  "User LIVES in Lisbon, near the river!"',
        "Ｕser lives in Lisbon near the river",
    ):
        assert same in known
    for other in ("User lives in Lisbon", "User lives in Lisbon, near the park.", "", "near the river"):
        assert other not in known
