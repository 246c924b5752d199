"""What holds for every text: spans are exact, nothing is lost, no chunk exceeds its size, nothing raises."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.analyser import Analyser
from mnemic.text.chunking import ChunkConfig, Chunking, chunk_text, draft_chunks

ANALYSER = Analyser()
odd = st.text(st.characters(exclude_categories=()), max_size=8)
parts = st.sampled_from(
    [
        *(
            "one ",
            "Two. ",
            "three\n",
            "\n\n",
            "\r\n\r\n",
            "# Head\n",
            "== H ==\n",
            "Under\n---\n",
            "- item\n",
            "1. it\n",
        ),
        *(
            "| a | b |\n",
            "```\n",
            "~~~~\n",
            "    code\n",
            "def f():\n",
            "}\n",
            "---\n",
            "中文。",
            "天气abc。",
            "ก็ดี ",
            "「",
        ),
        *("x" * 90, " " * 90, "。。", "\u3000", "\u2028", "\x0c", "\x1c", "\ud800", "\u1039က", "\u0e33"),
    ]
)
documents = st.lists(parts | odd, max_size=30).map("".join)


@st.composite
def configs(draw: st.DrawFn) -> ChunkConfig:
    size = draw(st.integers(1, 12))
    return ChunkConfig(size, draw(st.integers(0, size - 1)), draw(st.integers(0, size)))


@pytest.mark.requirement("R-26")
@given(text=documents)
def test_token_spans_are_as_many_as_are_counted_and_hold_all_but_white_space(text: str):
    spans = ANALYSER.token_spans(text)
    assert len(spans) == ANALYSER.token_count(text)
    assert "".join(text[start:end] for start, end in spans) == "".join(text.split())


@pytest.mark.requirement("R-26")
@given(text=documents, cut=st.integers(0, 30))
def test_a_text_cut_where_a_token_begins_has_as_many_tokens_as_its_parts(text: str, cut: int):
    spans = ANALYSER.token_spans(text)
    place = spans[cut][0] if cut < len(spans) else len(text)
    assert ANALYSER.token_count(text[:place]) + ANALYSER.token_count(text[place:]) == len(spans)


@pytest.mark.requirement("O-29", "O-31", "O-32", "O-34")
@given(text=documents, config=configs())
def test_chunks_of_a_text_are_exact_within_their_sizes_in_order_and_overlap_no_more_than_asked(
    text: str, config: ChunkConfig
):
    chunks = chunk_text(text, config=config)
    for index, chunk in enumerate(chunks):
        count = ANALYSER.token_count(chunk.content)
        assert chunk.index == index
        assert chunk.content == text[chunk.start : chunk.end]
        assert config.min_chunk_size <= count <= config.chunk_size
        assert chunk.offset == ANALYSER.token_count(text[: chunk.start])
    for before, after in pairwise(chunks):
        assert before.start <= after.start
        assert before.end < after.end
        assert ANALYSER.token_count(before.content) + before.offset - after.offset <= config.chunk_overlap


@pytest.mark.requirement("O-34")
@given(text=documents, config=configs())
def test_without_a_minimum_every_token_is_in_a_chunk(text: str, config: ChunkConfig):
    whole = ChunkConfig(config.chunk_size, config.chunk_overlap, min_chunk_size=0)
    assert_nothing_is_lost(text, [(chunk.start, chunk.end) for chunk in chunk_text(text, config=whole)])


@given(
    text=documents,
    config=configs(),
    chunking=st.sampled_from([Chunking.SENTENCES, Chunking.STRUCTURE]),
    is_code=st.booleans(),
)
def test_drafts_are_exact_lose_nothing_and_never_exceed_their_size(
    *, text: str, config: ChunkConfig, chunking: Chunking, is_code: bool
):
    chunks = draft_chunks(text, config, chunking, is_code=is_code)
    for index, chunk in enumerate(chunks):
        assert chunk.index == index
        assert chunk.text == text[chunk.start : chunk.end] == chunk.text.strip()
        assert 0 < chunk.token_count == ANALYSER.token_count(chunk.text) <= config.chunk_size
    for before, after in pairwise(chunks):
        assert before.start < after.start
        assert before.end < after.end
        assert ANALYSER.token_count(text[after.start : before.end]) <= config.chunk_overlap
    assert_nothing_is_lost(text, [(chunk.start, chunk.end) for chunk in chunks])


def assert_nothing_is_lost(text: str, spans: list[tuple[int, int]]):
    edges = [(0, 0), *spans, (len(text), len(text))]
    assert not any(text[end:start].strip() for (_, end), (start, _) in pairwise(edges))
