"""What holds for passages of documents whose format tells headings and pages, whatever the text."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mnemic.model.document import Heading
from mnemic.text.analyser import Analyser
from mnemic.text.chunking import ChunkConfig, boilerplate, draft_chunks, trimmed

lines = st.sampled_from(["Head", "Page 1", "Page 2", "", "- item", "# mark", "---", "words and words. More!", "| a |"])
texts = st.lists(lines | st.text(max_size=12), max_size=40).map("\n".join)


@st.composite
def papers(draw: st.DrawFn) -> tuple[str, list[Heading], list[int]]:
    text = draw(texts)
    offsets = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    titles = st.sampled_from(["Head", "mark", "Other", ""])
    headings = [Heading(offset, draw(st.integers(1, 4)), draw(titles)) for offset in offsets]
    pages = sorted({0, *draw(st.lists(st.integers(0, len(text)), max_size=8))})
    return text, headings, pages


@given(paper=papers(), size=st.integers(1, 12))
def test_headings_from_outside_lose_no_text_and_keep_sizes(paper: tuple[str, list[Heading], list[int]], size: int):
    text, headings, pages = paper
    chunks = draft_chunks(text, ChunkConfig(size, 0, 0), page_starts=pages, headings=headings)
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert all(Analyser().token_count(chunk.text) <= size for chunk in chunks)
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())


@given(paper=papers(), ends=st.tuples(st.integers(0, 200), st.integers(0, 200)))
def test_trimming_gives_a_part_of_the_span_and_takes_no_other_words(
    paper: tuple[str, list[Heading], list[int]], ends: tuple[int, int]
):
    text, _, pages = paper
    repeated = boilerplate(text, pages)
    assert all(0 <= start < end <= len(text) for start, end in repeated)
    assert all(before[1] <= after[0] for before, after in pairwise(repeated))
    start, end = sorted(min(each, len(text)) for each in ends)
    span = trimmed(text, (start, end), repeated)
    kept = span or (end, end)
    assert start <= kept[0] <= kept[1] <= end
    gone = [n for n in (*range(start, kept[0]), *range(kept[1], end)) if not text[n].isspace()]
    assert all(any(first <= n < last for first, last in repeated) for n in gone)
