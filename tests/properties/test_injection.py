"""Whatever is found and said: context injection keeps to its budget and changes nothing that it was given."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.backends import ContextConfig, RetrievalResult, inject_context
from mnemic.text.analyser import Analyser
from mnemic.text.blocks import PREAMBLE, clean_passage, source_tag
from mnemic.text.sentences import CUT_MARK, cut_at_sentence, cut_at_word
from tests.unit.backends.listed_backend import Listed

WORDS = st.lists(st.sampled_from(["tea", "at", "five.", "Lisbon", "她在里斯本", "Why?\n\n"]), max_size=30).map(" ".join)
TEXTS = st.one_of(WORDS, st.text(max_size=200))
RESULTS = st.lists(
    st.builds(RetrievalResult, TEXTS, st.floats(-1, 2), st.one_of(st.text(max_size=20), st.just("a.md"))), max_size=8
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": st.text(max_size=20)}),
    max_size=4,
)
count = Analyser().token_count


@pytest.mark.requirement("O-46", "O-47", "R-27", "R-28")
@given(RESULTS, MESSAGES, st.integers(0, 40), st.integers(1, 9), st.sampled_from([None, -1.0, 0.1, 1.0]))
def test_the_input_stays_and_the_budget_holds(
    results: list[RetrievalResult], messages: list[dict[str, str]], budget: int, top_k: int, least: float | None
):
    score: dict[str, Any] = {} if least is None else {"min_score": least}
    config = ContextConfig(top_k=top_k, max_context_tokens=budget, **score)
    before = copy.deepcopy((results, messages))
    answer = inject_context("q", messages, Listed(*results), config=config)
    assert (results, messages) == before
    system = next((place for place, message in enumerate(messages) if message["role"] == "system"), None)
    if answer == messages:
        return
    added = answer[system or 0]["content"]
    if system is None:
        assert answer[1:] == messages
    else:
        assert [*answer[:system], *answer[system + 1 :]] == [*messages[:system], *messages[system + 1 :]]
        assert added.startswith(messages[system]["content"])
    _, _, block = added.rpartition(PREAMBLE + "\n\n")
    tags = [source_tag(each.source) for each in results[:top_k] if each.score >= (least or 0.0)]
    assert any(block.startswith(f"{tag} ") for tag in tags)
    assert count(block) <= budget + sum(map(count, tags))


@pytest.mark.requirement("R-28")
@given(st.lists(st.integers(1, 12), max_size=8), st.integers(0, 20))
def test_whole_passages_are_chosen_greedily_in_their_order(sizes: list[int], budget: int):
    sizes = [size for size in sizes if size <= budget]  # larger ones are cut, which is another sentence
    expected: list[int] = []
    left = budget
    for place, size in enumerate(sizes):
        if size <= left:
            expected.append(place)
            left -= size
    results = [RetrievalResult(" ".join(["tea"] * size), 1.0, str(place)) for place, size in enumerate(sizes)]
    config = ContextConfig(max_context_tokens=budget, top_k=len(sizes) or 1)
    answer: list[Any] = inject_context("q", [], Listed(*results), config=config)
    lines: list[str] = answer[0]["content"].split("\n\n")[1:] if answer else []
    assert lines == [f"[Source: {place}] {results[place].content}" for place in expected]


@given(TEXTS, st.integers(0, 30))
def test_a_shortened_text_is_a_marked_beginning_that_fits(text: str, budget: int):
    for cut in (cut_at_sentence, cut_at_word):
        short = cut(text, lambda each: count(each) <= budget)
        assert not short or (text.startswith(short.removesuffix(CUT_MARK)) and short.endswith(CUT_MARK))
        assert not short or count(short) <= budget


@given(st.one_of(TEXTS, st.text(alphabet="[]［］ soSOurceＳ: .\n\u200b", max_size=40)))
def test_a_clean_passage_stays_as_it_is_and_a_tag_is_one_line_with_one_end(text: str):
    clean = clean_passage(text)
    assert clean_passage(clean) == clean
    tag = source_tag(text)
    assert len(tag.splitlines()) == 1
    assert tag[1:-1].count("[") == tag[1:-1].count("]")
