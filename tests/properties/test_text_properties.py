"""What holds for every string: the pure text layer never raises and keeps its promises."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.text.analyser import TERM_CHARACTERS, Analyser
from mnemic.text.normalise import KEY_CHARACTERS, dedup_key, normalise
from mnemic.text.sentences import sentences

ANALYSER = Analyser()
alphabet = st.one_of(
    st.characters(exclude_categories=()), st.sampled_from("aZ9.,'_-@ \n\t。？؟।`~中ก한é\u0301\u200b\ud800\x00")
)
anything = st.text(alphabet, max_size=60)
blanks = st.sampled_from([" ", "\t", "\n", "\u3000", "\u00a0", "  \r\n"])
words = st.text(st.characters(categories=["L", "M", "N", "P", "S"]), min_size=1, max_size=12)


@pytest.mark.requirement("R-25")
@given(text=anything)
def test_terms_never_raise_and_are_never_empty_or_endless(text: str):
    terms = ANALYSER.terms(text)
    assert terms == ANALYSER.terms(text)
    assert all(0 < len(term) <= TERM_CHARACTERS and not any(map(str.isspace, term)) for term in terms)
    assert "".join(terms).encode("utf-8") is not None


@pytest.mark.requirement("R-25")
@given(text=anything)
def test_question_terms_are_unique_terms_of_the_text_and_empty_only_with_it(text: str):
    terms, questioned = ANALYSER.terms(text), ANALYSER.query_terms(text)
    assert len(set(questioned)) == len(questioned)
    assert set(questioned) <= set(terms)
    assert bool(questioned) == bool(terms)


@given(text=anything)
def test_terms_do_not_depend_on_composition(text: str):
    assert ANALYSER.terms(unicodedata.normalize("NFC", text)) == ANALYSER.terms(unicodedata.normalize("NFD", text))


@pytest.mark.requirement("R-26")
@given(text=anything)
def test_token_counts_never_raise_and_never_fall_below_zero(text: str):
    assert ANALYSER.token_count(text) >= 0


@pytest.mark.requirement("R-26")
@given(text=st.text(st.characters(max_codepoint=0x05FF, exclude_categories=()), max_size=60))
def test_tokens_of_scripts_with_blanks_are_counted_by_white_space(text: str):
    assert ANALYSER.token_count(text) == len(text.split())


@given(text=anything)
@example("\u0345\u1fbc\u00a8")
def test_normalising_twice_changes_nothing(text: str):
    once = normalise(text)
    assert normalise(once) == once
    assert once == " ".join(once.split())
    assert once.encode("utf-8") is not None


@pytest.mark.requirement("R-14", "J-51")
@given(text=anything)
def test_a_key_is_short_storable_and_the_same_for_every_composition(text: str):
    key = dedup_key(text)
    assert len(key) <= KEY_CHARACTERS
    assert "\x00" not in key
    assert key.encode("utf-8") is not None
    assert key == dedup_key(unicodedata.normalize("NFC", text)) == dedup_key(unicodedata.normalize("NFD", text))


@pytest.mark.requirement("R-14", "J-51")
@given(parts=st.lists(words, max_size=6), gaps=st.lists(blanks, min_size=7, max_size=7))
def test_blanks_around_and_between_words_do_not_change_the_key(parts: list[str], gaps: list[str]):
    spaced = "".join(gap + word for gap, word in zip(gaps, parts, strict=False)) + gaps[-1]
    assert dedup_key(spaced) == dedup_key(" ".join(parts))


@pytest.mark.requirement("R-14", "J-51")
@given(text=anything)
def test_case_does_not_change_the_key(text: str):
    assert dedup_key(text.casefold()) == dedup_key(text)


@given(text=anything)
def test_sentences_are_in_order_apart_and_leave_out_only_white_space(text: str):
    end = 0
    for start, stop in sentences(text):
        assert text[end:start].strip() == ""
        assert start < stop
        assert text[start:stop] == text[start:stop].strip()
        end = stop
    assert text[end:].strip() == ""
