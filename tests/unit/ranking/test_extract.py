"""Summaries without a model: which sentences are chosen, and that they are the very words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.ranking.extract import Passage, extract
from mnemic.text.analyser import Analyser

analyser = Analyser()


def chosen(limit: int, *passages: tuple[str, str]) -> list[str]:
    """The chosen sentences of (role, text) pairs."""
    said = [Passage(text, role == "user") for role, text in passages]
    return [
        said[each.place].text[each.start : each.end]
        for each in extract(said, analyser.query_terms, analyser.token_count, limit)
    ]


class TestChoice:
    def test_what_users_say_of_themselves_goes_before_what_is_said_to_them(self):
        assert chosen(
            14,
            ("assistant", "Berlin has many bakeries near the river."),
            ("user", "I moved to Berlin in March. I am allergic to nuts."),
        ) == ["I moved to Berlin in March.", "I am allergic to nuts."]

    def test_greetings_thanks_and_signs_are_never_chosen(self):
        said = ("Hi there!", "Hello!", "ok thanks", "👍", "…", "你好！", "好的，谢谢。", "haha")
        assert chosen(60, *(("user", text) for text in said)) == []
        assert chosen(60, ("user", "Hi! I bought a red boat.")) == ["I bought a red boat."]

    def test_questions_come_last(self):
        told = ("user", "Which of the many bakeries near the river is good?"), ("user", "I am allergic to nuts.")
        assert chosen(8, *told) == ["I am allergic to nuts."]

    def test_what_was_said_already_is_not_said_again(self):
        twice = ("user", "I bought a red boat."), ("user", "Well, I bought a red boat.")
        assert len(chosen(60, *twice)) == 1

    def test_sentences_keep_the_order_of_the_conversation_and_their_words(self):
        told = (
            ("user", "My  cat is\tgrey.  I bought a boat in Oslo on 3 May!"),
            ("assistant", "Boats in Oslo need paint."),
        )
        said = ["My  cat is\tgrey.", "I bought a boat in Oslo on 3 May!", "Boats in Oslo need paint."]
        assert chosen(60, *told) == said

    def test_chinese_is_counted_in_characters(self):
        told = ("user", "你好。我搬到了上海，在一家银行工作。你能推荐一家面馆吗？"), ("assistant", "推荐老王面馆。")
        assert chosen(16, *told) == ["我搬到了上海，在一家银行工作。"]
        assert "".join(chosen(100, *told)).startswith("我搬到了上海")

    def test_a_sentence_that_is_too_long_by_itself_is_cut_at_a_blank(self):
        assert chosen(5, ("user", "I bought " + "many red boats and " * 20 + "sold them")) == [
            "I bought many red boats"
        ]
        assert chosen(4, ("user", "我搬到了上海在一家银行工作")) == ["我搬到了"]

    def test_nothing_gives_nothing(self):
        assert chosen(60) == chosen(60, ("user", "")) == chosen(60, ("user", " \n")) == []


class TestBounds:
    @given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=200)), max_size=8))
    def test_no_text_raises_and_the_limit_holds(self, said: list[tuple[str, str]]):
        found = chosen(20, *said)
        assert sum(analyser.token_count(text) for text in found) <= 20

    @pytest.mark.parametrize("word", ["嗯", "哈", "hi ", "a. ", "ok, ", "I bought a boat. "])
    def test_a_long_text_of_the_same_words_is_searched_to_its_end(self, word: str):
        assert len(chosen(60, ("user", word * 5000))) <= 1
