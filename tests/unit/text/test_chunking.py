"""Chunks by the plain rule: paragraphs, sizes, overlap, minimum."""

from __future__ import annotations

import pytest

from mnemic.errors import InvalidInputError
from mnemic.text.analyser import Analyser
from mnemic.text.chunking import Chunk, ChunkConfig, chunk_text


def words(first: int, last: int) -> str:
    """The words w<first> … w<last - 1>."""
    return " ".join(f"w{number}" for number in range(first, last))


def ranges(chunks: list[Chunk]) -> list[tuple[int, int]]:
    """Of each chunk the numbers of its first word and after its last, in a text of numbered words."""
    return [(int(c.content.split()[0][1:]), int(c.content.split()[-1][1:]) + 1) for c in chunks]


@pytest.mark.requirement("O-29", "R-01")
def test_the_sizes_are_512_with_64_shared_and_50_at_least():
    assert ChunkConfig() == ChunkConfig(chunk_size=512, chunk_overlap=64, min_chunk_size=50)
    assert ranges(chunk_text(words(0, 1000))) == [(0, 512), (448, 960), (896, 1000)]


@pytest.mark.requirement("R-01")
@pytest.mark.parametrize("overlap", [100, 101, -1])
def test_an_overlap_that_is_not_below_the_size_is_refused_and_the_refusal_names_both(overlap: int):
    with pytest.raises(InvalidInputError, match=f"chunk_overlap is {overlap}.*below chunk_size, 100"):
        ChunkConfig(chunk_size=100, chunk_overlap=overlap)


def test_sizes_that_no_chunk_can_have_are_refused():
    with pytest.raises(InvalidInputError, match="chunk_size is 0"):
        ChunkConfig(chunk_size=0)
    with pytest.raises(InvalidInputError, match=r"min_chunk_size is 50 .* at most chunk_size, 40"):
        ChunkConfig(chunk_size=40, chunk_overlap=8)


@pytest.mark.requirement("O-30")
def test_a_chunk_alone_has_no_source_offset_0_index_0_and_no_metadata():
    chunk = Chunk("said")
    assert (chunk.content, chunk.source, chunk.offset, chunk.index, chunk.metadata) == ("said", "", 0, 0, {})


@pytest.mark.requirement("O-30")
def test_chunks_carry_their_source_their_token_offset_and_their_place():
    chunks = chunk_text(words(0, 1000), source="notes.md")
    assert [(c.source, c.offset, c.index, c.metadata) for c in chunks] == [
        ("notes.md", 0, 0, {}),
        ("notes.md", 448, 1, {}),
        ("notes.md", 896, 2, {}),
    ]


@pytest.mark.requirement("O-31")
@pytest.mark.parametrize("blank_line", ["\n\n", "\r\n\r\n", "\n \t\n", "\n\n\n\n"])
def test_paragraphs_between_blank_lines_fill_a_chunk_until_the_size_would_be_exceeded(blank_line: str):
    text = blank_line.join([words(0, 40), words(40, 80), words(80, 100), words(100, 101)])
    assert ranges(chunk_text(text, config=ChunkConfig(100, 0, 1))) == [(0, 100), (100, 101)]


@pytest.mark.requirement("O-31")
def test_a_paragraph_that_fits_into_a_chunk_is_never_cut_even_by_single_line_breaks():
    text = words(0, 60) + "\n\n" + words(60, 100).replace(" ", "\n") + "\n\n" + words(100, 150)
    assert ranges(chunk_text(text, config=ChunkConfig(80, 0, 1))) == [(0, 60), (60, 100), (100, 150)]


@pytest.mark.requirement("O-32")
def test_a_flushed_chunk_leaves_its_last_overlap_tokens_for_the_next():
    text = "\n\n".join([words(0, 300), words(300, 500), words(500, 700), words(700, 760)])
    assert ranges(chunk_text(text)) == [(0, 500), (436, 760)]


@pytest.mark.requirement("O-32")
def test_the_overlap_is_shorter_where_the_next_paragraph_needs_the_room():
    text = words(0, 90) + "\n\n" + words(90, 185) + "\n\n" + words(185, 285)
    assert ranges(chunk_text(text, config=ChunkConfig(100, 20, 1))) == [(0, 90), (85, 185), (185, 285)]


@pytest.mark.requirement("O-32")
def test_overlap_alone_is_no_chunk():
    assert ranges(chunk_text(words(0, 100) + "\n\n", config=ChunkConfig(100, 64, 1))) == [(0, 100)]


@pytest.mark.requirement("O-33")
def test_a_paragraph_above_the_size_is_cut_into_windows_with_overlap():
    assert ranges(chunk_text(words(0, 1408))) == [(0, 512), (448, 960), (896, 1408)]


@pytest.mark.requirement("O-33")
def test_the_windows_begin_with_the_overlap_and_their_rest_goes_on_being_filled():
    text = "\n\n".join([words(0, 60), words(60, 260), words(260, 280)])
    assert ranges(chunk_text(text, config=ChunkConfig(100, 20, 1))) == [(0, 60), (40, 140), (120, 220), (200, 280)]


@pytest.mark.requirement("O-34")
def test_chunks_under_the_minimum_are_discarded_and_the_others_numbered_without_gaps():
    assert chunk_text(words(0, 49)) == []
    assert ranges(chunk_text(words(0, 50))) == [(0, 50)]
    text = words(0, 20) + "\n\n" + words(20, 120) + "\n\n" + words(120, 200)
    chunks = chunk_text(text, config=ChunkConfig(100, 0, 50))
    assert ranges(chunks) == [(20, 120), (120, 200)]
    assert [chunk.index for chunk in chunks] == [0, 1]


@pytest.mark.requirement("O-35")
def test_a_text_is_chunked_with_smaller_sizes_on_request():
    chunks = chunk_text(words(0, 600), source="guide.txt", config=ChunkConfig(chunk_size=256, chunk_overlap=32))
    assert ranges(chunks) == [(0, 256), (224, 480), (448, 600)]
    assert {chunk.source for chunk in chunks} == {"guide.txt"}


def test_content_is_the_text_as_it_stands_there_blank_lines_included():
    text = "\n\n  one  two\n\n\nthree \tfour\n"
    (chunk,) = chunk_text(text, config=ChunkConfig(10, 0, 1))
    assert chunk.content == text[chunk.start : chunk.end] == "one  two\n\n\nthree \tfour"


@pytest.mark.requirement("O-29", "R-26")
def test_chinese_text_is_measured_by_its_characters_not_by_its_blanks():
    text = "今天天气很好，我们去公园。" * 100
    chunks = chunk_text(text)
    assert [Analyser().token_count(chunk.content) for chunk in chunks] == [512, 512, 204]
    assert all(chunk.content == text[chunk.start : chunk.end] for chunk in chunks)


@pytest.mark.requirement("R-26")
def test_a_tokenizer_of_another_model_may_count():
    def letters(text: str) -> list[tuple[int, int]]:
        return [(place, place + 1) for place, letter in enumerate(text) if not letter.isspace()]

    chunks = chunk_text("abcdefgh", config=ChunkConfig(4, 1, 1), tokens=letters)
    assert [chunk.content for chunk in chunks] == ["abcd", "defg", "gh"]


def test_a_megabyte_of_one_word_and_a_hundred_thousand_lines_are_chunked_whole():
    word = "x" * 1_000_000
    assert [c.content for c in chunk_text(word, config=ChunkConfig(10, 0, 1))] == [word]
    lines = "\n".join(f"w{number}" for number in range(100_000))
    assert ranges(chunk_text(lines, config=ChunkConfig(512, 0, 1)))[-1] == (99_840, 100_000)
