"""Terms of texts and of questions, and token counts."""

from __future__ import annotations

import pytest

from mnemic.errors import InvalidInputError
from mnemic.text.analyser import TERM_CHARACTERS, Analyser

ANALYSER = Analyser()
MILLION = 1_000_000


def found(text: str, question: str) -> bool:
    return not set(ANALYSER.terms(text)).isdisjoint(ANALYSER.query_terms(question))


def test_there_is_one_set_of_rules_and_it_has_a_name():
    assert Analyser().name == "v1"
    with pytest.raises(InvalidInputError, match="v0"):
        Analyser("v0")


def test_terms_come_in_order_with_repetitions_and_stop_words():
    assert ANALYSER.terms("The cat saw the cats.") == ["the", "cat", "saw", "the", "cat"]


def test_question_terms_come_once_and_without_stop_words():
    assert ANALYSER.query_terms("What did the cat do to the other cats?") == ["cat"]


def test_a_question_of_stop_words_only_keeps_them():
    assert ANALYSER.query_terms("Who are you?") == ["who", "are", "you"]


@pytest.mark.parametrize(
    "text, question",
    [
        ("She was running home", "run"),
        ("several memories", "memory"),
        ("CAFÉ", "cafe"),
        ("Ｐｙｔｈｏｎ", "python"),
        ("Łódź", "lodz"),
        ("Ёлка", "елка"),
        ("Αθήνα", "αθηνα"),
        ("العَرَبِيَّة", "العربية"),
        ("٤٢", "42"),
        ("co\u00adoperate", "cooperate"),
        ("Acme™ tools", "acme"),
        ("John's", "john"),
        ("they can't", "can"),
        ("हिन्दी", "हिन्दी"),
    ],
)
def test_what_is_written_differently_is_found(text: str, question: str):
    assert found(text, question)


def test_marks_that_carry_meaning_are_kept():
    assert ANALYSER.terms("की") != ANALYSER.terms("के")
    assert ANALYSER.terms("ป้า") != ANALYSER.terms("ป่า")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("3.14", {"3.14"}),
        ("1,234.56", {"1234.56"}),
        ("2023-05-08", {"2023-05-08", "2023", "05", "08"}),
        ("at 10:30", {"10:30"}),
        ("snake_case", {"snake_case", "snake", "case"}),
        ("camelCase", {"camel", "case"}),
        ("HTTPServer", {"http", "server"}),
        ("URLs", {"url"}),
        ("foo.bar", {"foo.bar", "foo", "bar"}),
        ("C++ and C#", {"c++", "c#"}),
        ("me@example.org", {"me@example.org", "org"}),
        ("https://example.org/some/page?x=1", {"example.org", "page"}),
        ("the U.S. army", {"us", "armi"}),
        ("gpt-4", {"gpt-4", "gpt", "4"}),
    ],
)
def test_identifiers_numbers_and_addresses_are_terms_whole_and_in_parts(text: str, expected: set[str]):
    assert expected <= set(ANALYSER.terms(text))


def test_an_acronym_with_dots_is_never_a_stop_word():
    assert ANALYSER.query_terms("the U.S.") == ["us"]


def test_shorter_words_are_not_taken_apart_at_their_capitals():
    assert ANALYSER.terms("PhD") == ["phd"]


@pytest.mark.requirement("R-25")
@pytest.mark.parametrize(
    "text, question",
    [
        ("我的猫喜欢吃鱼", "喜欢"),
        ("我的猫喜欢吃鱼", "猫"),
        ("昨日は東京へ行きました", "東京"),
        ("新しいコーヒーを飲む", "コーヒー"),
        ("ｺｰﾋｰ", "コーヒー"),
        ("나는 책을 읽었다", "책"),
        ("한국어를 배운다", "한국어"),
        ("ฉันชอบกินปลา", "ปลา"),
        ("แมวอยู่ที่บ้าน", "แมว"),
        ("ຂ້ອຍມັກແມວ", "ແມວ"),
        ("ខ្ញុំចូលចិត្តឆ្មា", "ឆ្មា"),
        ("ကျွန်တော်ကြောင်ချစ်တယ်", "ကြောင်"),
        ("用Python写代码", "python"),
        ("用Python写代码", "代码"),
    ],
)
def test_words_of_scripts_without_blanks_are_found(text: str, question: str):
    assert found(text, question)


@pytest.mark.requirement("R-25")
@pytest.mark.parametrize(
    "piece", ["a", "中", "ก", "한", "é", ".", "a.", "9,", "'", "_", "\x00", "\ud800", "aB", '"', "م", "n't"]
)
def test_no_string_raises_however_long(piece: str):
    text = piece * (MILLION // len(piece))
    assert all(0 < len(term) <= TERM_CHARACTERS for term in ANALYSER.terms(text))
    assert set(ANALYSER.query_terms(text)) <= set(ANALYSER.terms(text))
    assert ANALYSER.token_count(text) >= 0


def test_bigrams_keep_marks_with_their_consonant():
    assert ANALYSER.query_terms("ที่บ้าน") == ["ที่บ้", "บ้า", "าน"]
    assert ANALYSER.query_terms("ខ្មែរ") == ["ខ្មែរ"]


def test_korean_gives_words_and_bigrams():
    assert ANALYSER.query_terms("한국어") == ["한국어", "한국", "국어"]


def test_a_chinese_question_searches_bigrams_only():
    assert ANALYSER.query_terms("喜欢吃") == ["喜欢", "欢吃"]


@pytest.mark.requirement("R-26")
@pytest.mark.parametrize(
    "text", ["one two  three\n", "it's 3.14 -- really?", "Привет, мир!", "나는 책을 읽었다", "हिन्दी में", ""]
)
def test_scripts_with_blanks_are_counted_by_white_space(text: str):
    assert ANALYSER.token_count(text) == len(text.split())


@pytest.mark.requirement("R-26")
@pytest.mark.parametrize(
    "text, count",
    [
        ("你好世界", 4),
        ("你好，世界。", 4),
        ("用Python写 the code", 5),
        ("ที่บ้าน", 4),
        ("ガス", 2),
        ("中" + "-" * MILLION, 1),
    ],
)
def test_scripts_without_blanks_are_counted_by_segment(text: str, count: int):
    assert ANALYSER.token_count(text) == count
