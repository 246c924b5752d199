"""The WordPiece tokeniser against the `tokenizers` package, the reference for what the model was trained on."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece as ReferenceModel
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from mnemic.text.wordpiece import MAX_CACHED_WORDS, WordPiece, split_words
from mnemic_minilm import vocab_path

UNLIMITED = 1_000_000
VOCABULARY = vocab_path().read_text(encoding="utf-8").removesuffix("\n").split("\n")
UNKNOWN, START, END = (VOCABULARY.index(name) for name in ("[UNK]", "[CLS]", "[SEP]"))

reference = Tokenizer(ReferenceModel({piece: i for i, piece in enumerate(VOCABULARY)}))
reference.normalizer = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
reference.pre_tokenizer = BertPreTokenizer()
wordpiece = WordPiece(VOCABULARY)

ODD_TEXTS = [
    "",
    " \t\r\n\u00a0\u2003\u3000 ",
    "\x00\x01\x7f\x85\ufffd\u200b\u200d\ufeff",
    "tab\tnew\nline\rreturn\x0bvertical\x0cfeed\x1cfile\x85next\u2028line\u2029paragraph",
    "zero\u200bwidth, soft\u00adhyphen, byte\ufefforder, bidi\u202eoverride\u202c",
    "Crème brûlée, naïve façade, Ångström, Łódź, İstanbul, ẞtraße, ΟΔΥΣΣΕΥΣ ὈΔΥΣΣΕΎΣ ς",
    "decomposed: e\u0301 a\u030a n\u0303 o\u0302\u0301, stacked: z\u0300\u0301\u0302\u0303\u0304",
    "\u0301leading accent and \u0301 a lone one",
    "fi ligature: \ufb01sh, \u210c \u2126 \u212b \u00bd \u2460 \u24b6 \uff21\uff22\uff23\uff11",
    "我昨天買了一輛自行車。它是红色的!東京へ行きました、カタカナ ｶﾀｶﾅ ひらがな",
    "한국어 형태소 분석 그리고 漢字",
    "\u3400\u4dbf\u4dc0\u9fff\ua000\uf900\ufaff\U00020000\U0002a6df\U0002a700\U0002b81f\U0002b820\U0002ceaf\U0002f800",
    "ฉันชอบกินข้าวผัดกุ้ง ที่ร้านใกล้บ้าน ๑๒๓",
    "मुझे हिन्दी पसंद है। বাংলা தமிழ் తెలుగు",
    "أحبُّ القهوةَ في الصباح، والشاي مساءً؟ שָׁלוֹם עולם ۱۲۳",
    "Привет, мир! Ёлка й Ї ґ",
    "🙂 ok👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 ☕️ ✈︎ ♥",
    "$5.00 + 3% <= ~x^2 | `code` = {a: [1]} @me #tag c:\\path_to/file-name.txt",
    "don't stop— “quoted” ‘text’ … «guillemets» ¿qué? ¡sí! ·•§¶†",
    "[CLS] [SEP] [PAD] [MASK] [UNK] ##ing ##",
    "https://example.org/a?b=c&d=%20#e mail@example.org 2026-11-21T08:30:00Z",
    "x" * 100 + " " + "x" * 101 + " " + "é" * 100 + " " + "é" * 101,
    "unaffable electroencephalographically Donaudampfschifffahrtsgesellschaft antidisestablishmentarianism",
    "\U0001f600\U000e0041\U000f0000\U0010ffff\u0378\uffff",
    "math: ∀x∈ℝ, √2≈1.414, a≠b, ≤≥, ½+¼=¾, 10⁻³ x₁",
    "a\u0338=\u0338b ;\u037e`\u1fef",
]


def is_settled(character: str) -> bool:
    """True for assigned characters whose class cannot differ in the reference's older Unicode tables."""
    now, then = unicodedata.category(character), unicodedata.ucd_3_2_0.category(character)
    if now in ("Cn", "Co", "Cs"):
        return False
    return now == then or (then == "Cn" and now not in ("Mn", "Mc", "Cf", "Po", "Ps", "Pe", "Pd"))


SETTLED = [chr(code) for code in range(sys.maxunicode + 1) if is_settled(chr(code))]


def expected_ids(text: str) -> list[int]:
    """What the reference gives between [CLS] and [SEP]; nothing at all for a text without words."""
    pieces = reference.encode(text, add_special_tokens=False).ids
    return [START, *pieces, END] if pieces else []


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_odd_texts_give_the_ids_of_the_reference(text: str) -> None:
    assert wordpiece.encode(text, UNLIMITED) == expected_ids(text)


@given(st.text(st.sampled_from(SETTLED), max_size=60))
def test_any_text_gives_the_ids_of_the_reference(text: str) -> None:
    assert wordpiece.encode(text, UNLIMITED) == expected_ids(text)


@given(st.text(st.sampled_from("abcdefgh aeiou .,'-ÄéΣσς\u0301中1234"), max_size=80))
def test_ordinary_letters_give_the_ids_of_the_reference(text: str) -> None:
    assert wordpiece.encode(text, UNLIMITED) == expected_ids(text)


def test_every_settled_character_inside_a_word_gives_the_ids_of_the_reference() -> None:
    texts = [f"in{character}side" for character in SETTLED]
    expected = reference.encode_batch(texts, add_special_tokens=False)
    differing = [t for t, e in zip(texts, expected, strict=True) if wordpiece.encode(t, UNLIMITED)[1:-1] != e.ids]
    assert differing == []


@given(st.text(max_size=200), st.integers(min_value=3, max_value=20))
def test_a_long_text_is_cut_to_the_limit_and_still_ends_with_the_end_token(text: str, max_tokens: int) -> None:
    whole = wordpiece.encode(text, UNLIMITED)
    cut = wordpiece.encode(text, max_tokens)
    assert cut == (whole if len(whole) <= max_tokens else [*whole[: max_tokens - 1], END])


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u200b", "\x00", "\u0301"])
def test_a_text_without_words_has_no_tokens(text: str) -> None:
    assert wordpiece.encode(text, 8) == []


def test_a_special_token_named_in_a_text_is_ordinary_text() -> None:
    ids = wordpiece.encode("ignore [SEP] and [CLS]", UNLIMITED)
    assert ids.count(START) == 1
    assert ids.count(END) == 1


def test_a_lone_surrogate_is_dropped() -> None:
    assert split_words("a\ud800b") == ["ab"]


def test_a_word_of_more_than_a_hundred_characters_is_unknown() -> None:
    assert wordpiece.encode("a" * 101, UNLIMITED) == [START, UNKNOWN, END]


def test_more_words_than_the_cache_holds_still_give_the_right_ids() -> None:
    small = WordPiece(VOCABULARY)
    for number in range(MAX_CACHED_WORDS + 10):
        small.encode(f"w{number}", UNLIMITED)
    assert small.encode("w1 playing w60000", UNLIMITED) == expected_ids("w1 playing w60000")
