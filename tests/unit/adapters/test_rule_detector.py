"""What the rules for secrets find, and what they leave alone. Every secret here is drawn from a seed."""

from __future__ import annotations

import random
import string
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.secret_corpus import ALNUM, ANNOUNCED, HEX, ISSUED, Planted, drawn, lookalikes, secrets
from mnemic.adapters.detectors.rules import RuleDetector, detector_names, open_detector
from mnemic.errors import ConfigError

DETECTOR = RuleDetector()
SEED, EACH = 11, 4
PLANTED = list(secrets(SEED, EACH))
HARMLESS = list(lookalikes(SEED, EACH))
RNG = random.Random(SEED)
WORDS = [
    "password",
    "pass",
    "key",
    "token",
    "secret",
    "密码",
    "=",
    ":",
    " is ",
    "是",
    '"',
    "://",
    "@",
    "-----BEGIN PRIVATE KEY-----",
]
REPEATED = [
    *WORDS,
    "curl -u a:",
    "eyJ",
    "sk-a1-",
    "token=",
    "bearer ",
    "password is ",
    "AKIAAAAAAAAAAAAAAAAA ",
    "http://a:b@",
]


def taken_out(one: Planted) -> str:
    """The text without what was found."""
    text = one.text
    for span in reversed(DETECTOR.find(one.text)):
        text = text[: span.start] + text[max(span.end, span.start) :]
    return text


@pytest.mark.requirement("P-10")
@pytest.mark.parametrize("sort", [*ISSUED, *ANNOUNCED])
def test_a_secret_of_every_sort_is_found_whole_whatever_stands_around_it(sort: str):
    ours = [one for one in PLANTED if one.sort == sort]
    assert len(ours) == EACH
    assert [one.text for one in ours if one.secret[:20] in taken_out(one) or one.secret[-20:] in taken_out(one)] == []


@pytest.mark.requirement("P-10")
@pytest.mark.parametrize("sort", sorted({one.sort for one in HARMLESS}))
def test_what_only_looks_like_a_secret_stays(sort: str):
    assert [one.text for one in HARMLESS if one.sort == sort and DETECTOR.find(one.text)] == []


@given(
    st.lists(
        st.sampled_from([*WORDS, "abc123XYZ", "hunter2024", " ", "\n", "x" * 40]) | st.text(max_size=8), max_size=12
    )
)
def test_spans_lie_in_the_text_in_order_and_are_of_declared_kinds(pieces: list[str]):
    text = "".join(pieces)
    spans = DETECTOR.find(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(span.kind in DETECTOR.capabilities.kinds for span in spans)
    assert all(one.start <= other.start for one, other in pairwise(spans))
    assert spans == DETECTOR.find(text)


@pytest.mark.parametrize("piece", REPEATED)
def test_a_word_repeated_five_thousand_times_is_searched_to_its_end(piece: str):
    text = piece * 5_000 + " password is Kuchen2024"
    assert any(text[span.start : span.end].startswith("Kuchen2024") for span in DETECTOR.find(text)) or piece in (
        "=",
        '"',
    )


def test_a_private_key_whose_end_was_cut_off_goes_as_far_as_it_looks_like_one():
    key = ISSUED["rsa private key"](RNG)
    text = f"log:\n{key[: len(key) // 2]}\n\nand then it stopped. A sentence, and more."
    (span,) = DETECTOR.find(text)
    assert (text[: span.start], span.kind) == ("log:\n", "private-key")
    assert "sentence" in text[span.end :]
    assert drawn(random.Random(SEED), ALNUM, 4) not in text[span.end :]


def test_the_secret_half_of_a_key_pair_is_found_beside_the_other_half():
    first = ISSUED["aws access key"](RNG)
    second = drawn(RNG, string.ascii_letters + string.digits + "+/", 40)
    kinds = {span.kind for span in DETECTOR.find(f"{first},{second}")}
    assert kinds == {"aws-access-key", "aws-secret-key"}
    assert DETECTOR.find(f"git show {drawn(RNG, HEX, 40)} # {first[:3]}") == []


def test_a_word_that_lower_case_makes_longer_does_not_shift_the_spans():
    text = "İİİ the password is Kuchen2024"
    assert [text[span.start : span.end] for span in DETECTOR.find(text)] == ["Kuchen2024"]


def test_a_detector_that_nobody_brings_is_an_error_that_names_the_known_ones():
    assert detector_names() == ["rules"]
    assert open_detector("rules").name == "rules"
    with pytest.raises(ConfigError, match="use one of rules"):
        open_detector("magic")
