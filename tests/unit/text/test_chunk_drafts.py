"""Chunks of documents: whole sentences, sections, lists, tables, code, pages."""

from __future__ import annotations

from itertools import accumulate

import pytest

from mnemic.model.document import Heading
from mnemic.text.chunking import MOST_NESTED, ChunkConfig, ChunkDraft, Chunking, draft_chunks
from mnemic.text.outline import MAX_HEADING_CHARS

SENTENCES, STRUCTURE = Chunking.SENTENCES, Chunking.STRUCTURE
GUIDE = """Intro words stand here.

# Garden

Water it daily. Do not water it at noon.

## Tools

- a spade
- a rake
  with a long handle

| tool | price |
|---|---|
| spade | 12 |

Closing
=======

The end comes last.
"""


def texts(chunks: list[ChunkDraft]) -> list[str]:
    return [chunk.text for chunk in chunks]


def test_sentences_are_kept_whole_and_the_last_ones_are_repeated():
    text = "One two three. Four five six. Seven eight nine. Ten."
    chunks = draft_chunks(text, ChunkConfig(7, 3, 1), SENTENCES)
    assert texts(chunks) == ["One two three. Four five six.", "Four five six. Seven eight nine. Ten."]
    assert [chunk.token_count for chunk in chunks] == [6, 7]
    assert [chunk.index for chunk in chunks] == [0, 1]


def test_a_short_document_is_one_chunk_and_a_blank_one_none():
    for chunking in (SENTENCES, STRUCTURE):
        assert texts(draft_chunks(" Short note.\n", chunking=chunking)) == ["Short note."]
        assert draft_chunks(" \n\n\t", chunking=chunking) == []


def test_a_sentence_above_the_size_is_cut_between_words_with_overlap():
    text = " ".join(f"w{number}" for number in range(40))
    chunks = draft_chunks(text, ChunkConfig(16, 4, 1), SENTENCES)
    assert [(c.text.split()[0], c.token_count) for c in chunks] == [("w0", 16), ("w12", 16), ("w24", 16)]


def test_a_section_begins_a_chunk_and_chunks_know_their_headings():
    chunks = draft_chunks(GUIDE, ChunkConfig(40, 0, 4), STRUCTURE)
    assert [(chunk.headings, chunk.text.split("\n")[0]) for chunk in chunks] == [
        ((), "Intro words stand here."),
        (("Garden",), "# Garden"),
        (("Garden", "Tools"), "## Tools"),
        (("Closing",), "Closing"),
    ]


def test_the_headings_in_one_line_are_the_title_of_a_chunk():
    (chunk,) = draft_chunks("# Garden\n## Tools\n\nA spade.")
    assert chunk.title == "Garden > Tools"
    assert [chunk.title for chunk in draft_chunks("A spade.")] == [""]


def test_sections_under_the_minimum_stay_together_under_the_headings_they_share():
    chunks = draft_chunks("# A\n\n## B\n\nOne.\n\n## C\n\nTwo.\n", ChunkConfig(40, 0, 20), STRUCTURE)
    assert [(chunk.headings, chunk.text) for chunk in chunks] == [(("A",), "# A\n\n## B\n\nOne.\n\n## C\n\nTwo.")]


def test_nothing_is_repeated_across_a_heading():
    chunks = draft_chunks("# A\n\nOne two three.\n\n# B\n\nFour five six.", ChunkConfig(20, 10, 1), STRUCTURE)
    assert texts(chunks) == ["# A\n\nOne two three.", "# B\n\nFour five six."]


@pytest.mark.parametrize("heading", ["## Tools", "## Tools ##", "Tools\n---", "== Tools ==", " = = Tools = = "])
def test_headings_of_markdown_and_wikis_are_read(heading: str):
    (chunk,) = draft_chunks(f"{heading}\n\nA spade.", ChunkConfig(), STRUCTURE)
    assert chunk.headings == ("Tools",)


@pytest.mark.parametrize("line", ["#hashtag", "####### seven", "1 == 1", "=====", "- item", "# " + "long " * 50])
def test_what_only_looks_like_a_heading_is_none(line: str):
    assert {chunk.headings for chunk in draft_chunks(f"{line}\n\nA spade.", ChunkConfig(), STRUCTURE)} == {()}


def test_a_hash_inside_fenced_code_is_no_heading():
    (chunk,) = draft_chunks("```\n# comment\n\nx = 1\n```\n\nAfter.", ChunkConfig(), STRUCTURE)
    assert chunk.headings == ()


@pytest.mark.parametrize(
    "block", ["- one two\n- three four\n\n- five six", "| a | b |\n|---|---|\n| c | d |", "```\na b c d\n\ne f g\n```"]
)
def test_lists_tables_and_code_that_fit_are_kept_together(block: str):
    chunks = draft_chunks(f"Before this comes text.\n\n{block}\n\nAnd more after it.", ChunkConfig(15, 0, 1), STRUCTURE)
    assert any(block in text for text in texts(chunks))


def test_a_list_above_the_size_is_cut_between_its_lines():
    items = [f"- item number {number}" for number in range(10)]
    chunks = draft_chunks("\n".join(items), ChunkConfig(12, 0, 1), STRUCTURE)
    assert [line for text in texts(chunks) for line in text.split("\n")] == items


def test_code_is_cut_between_definitions():
    one, two = "def one():\n    a = 1\n\n    return a", "def two():\n    return 2\n"
    chunks = draft_chunks(f"{one}\n\n\n{two}", ChunkConfig(8, 4, 4), STRUCTURE, is_code=True)
    assert texts(chunks) == [one, two.rstrip()]


def test_a_closing_brace_after_a_blank_line_stays_with_its_block():
    code = "int f() {\n  return 1;\n\n}\n\nint g() {\n}"
    chunks = draft_chunks(code, ChunkConfig(8, 0, 1), STRUCTURE, is_code=True)
    assert texts(chunks) == ["int f() {\n  return 1;\n\n}", "int g() {\n}"]


def test_a_chunk_knows_the_page_it_begins_on():
    pages = ["One two three.", "Four five six.", "Seven eight nine."]
    text, starts = "\n\n".join(pages), [0, 16, 32]
    chunks = draft_chunks(text, ChunkConfig(4, 0, 1), SENTENCES, page_starts=starts)
    assert [(chunk.text, chunk.page) for chunk in chunks] == list(zip(pages, [1, 2, 3], strict=True))
    assert {chunk.page for chunk in draft_chunks(text)} == {None}


def test_paragraph_chunking_is_chunk_text():
    text = "\n\n".join("word " * 100 for _ in range(12))
    chunks = draft_chunks(text, ChunkConfig(), Chunking.PARAGRAPHS)
    assert [chunk.token_count for chunk in chunks] == [500, 464, 364]


@pytest.mark.parametrize("chunking", [SENTENCES, STRUCTURE])
def test_a_megabyte_of_one_word_makes_no_endless_chunk_and_a_hundred_thousand_lines_are_cut(chunking: Chunking):
    chunks = draft_chunks("x" * 1_000_000, chunking=chunking)
    assert max(len(chunk.text) for chunk in chunks) <= 160 * 40
    lines = "\n".join("- ab cd" if number % 3 else "Ab cd. ef" for number in range(100_000))
    assert draft_chunks(lines, chunking=chunking)[-1].end == len(lines)


def test_headings_without_text_between_them_are_cut_like_text():
    chunks = draft_chunks("# Same\n" * 20_000)
    assert sum(chunk.text.count("# Same") for chunk in chunks) == 20_000
    assert max(chunk.token_count for chunk in chunks) == 160
    assert {chunk.headings for chunk in chunks} == {("Same",)}


def test_headings_that_the_format_tells_are_the_only_ones_and_part_sections():
    text = "Terms\n\nThe first rule.\n\n# no heading here\n\nCosts\n\nIt costs nothing.\n"
    headings = [Heading(0, 1, "Terms"), Heading(text.index("Costs"), 2, "Costs")]
    chunks = draft_chunks(text, ChunkConfig(20, 0, 1), headings=headings)
    assert [(chunk.headings, chunk.text) for chunk in chunks] == [
        (("Terms",), "Terms\n\nThe first rule.\n\n# no heading here"),
        (("Terms", "Costs"), "Costs\n\nIt costs nothing."),
    ]


def test_a_heading_whose_words_are_not_in_the_text_holds_from_its_place_on():
    text = "Some words before.\n\nA line that goes on\nover the border.\nAfter it.\n"
    headings = [Heading(text.index("over"), 1, "Chapter Two"), Heading(text.index("over"), 2, "Its Part")]
    chunks = draft_chunks(text, ChunkConfig(20, 0, 1), headings=headings)
    assert [(chunk.headings, chunk.text) for chunk in chunks] == [
        ((), "Some words before.\n\nA line that goes on"),
        (("Chapter Two", "Its Part"), "over the border.\nAfter it."),
    ]


def test_a_numbered_list_over_many_pages_is_cut_at_each_page():
    clauses = [f"{number}. Clause number {number} is short." for number in range(1, 2001)]
    starts = [0, *accumulate(len(clause) + 2 for clause in clauses[:-1])]
    drafts = draft_chunks("\n\n".join(clauses), page_starts=starts)
    assert [(draft.text, draft.page, draft.last_page) for draft in drafts] == [
        (clause, page, page) for page, clause in enumerate(clauses, 1)
    ]


def test_every_passage_of_a_long_table_names_its_columns():
    rows = "\n".join(f"region {number} | {number * 10} | 2024" for number in range(120))
    drafts = draft_chunks(f"Prices of the year\n\nRegion | Amount | Year\n{rows}\n\nThe end of it.")
    assert len(drafts) > 3
    assert all(draft.headings == ("Region | Amount | Year",) for draft in drafts[1:-1])
    assert all(line.count("|") == 2 for draft in drafts[1:-1] for line in draft.text.split("\n"))
    markdown = draft_chunks("| Name | Size |\n|---|---|\n" + "\n".join(f"| n{row} | {row} |" for row in range(120)))
    assert [draft.headings for draft in markdown] == [("Name | Size",)] * len(markdown)
    numbers = draft_chunks("\n".join(f"{row} | {row}" for row in range(200)))
    assert {draft.headings for draft in numbers} == {()}


def test_a_bar_in_prose_makes_no_table():
    sentence = "Run ps aux | grep foo to list the processes that the service started. "
    prose = draft_chunks(sentence * 40)
    assert {draft.headings for draft in prose} == {()}
    assert {draft.text[-8:] for draft in prose} == {"started."}
    line = draft_chunks(f"The first line stands here.\n{sentence}\nThe last line stands here.")
    assert [draft.headings for draft in line] == [()]


def test_a_table_over_several_pages_names_its_columns_on_each():
    pages = ["Employee | Town | Boss\n", "Ana | Porto | Bo\n" * 60, "Cy | Rome | Di\n" * 60, "Ed | Bern | Flo\n"]
    starts = [0, len(pages[0] + pages[1]), len("".join(pages[:3]))]
    drafts = draft_chunks("".join(pages), page_starts=starts)
    assert {draft.page for draft in drafts} == {1, 2, 3}
    assert {draft.headings for draft in drafts} == {("Employee | Town | Boss",)}


def test_rows_may_lack_cells_at_their_end():
    rows = "\n".join(f"region {number} | {number * 10}" for number in range(120))
    drafts = draft_chunks(f"Region | Amount | Remark\n{rows}")
    assert {draft.headings for draft in drafts} == {("Region | Amount | Remark",)}


@pytest.mark.parametrize("header", ["Region | 第1季度", "Region | Этап 1", "Region | Q1"])
def test_a_number_in_a_name_of_a_column_keeps_the_header(header: str):
    rows = "\n".join(f"region {number} | {number * 10}" for number in range(120))
    assert {draft.headings for draft in draft_chunks(f"{header}\n{rows}")} == {(header,)}


@pytest.mark.parametrize(
    "code, names",
    [
        ("def load(path):\n{}\n\ndef save(path):\n{}\n", ["load", "save"]),
        ("export const load = (path) => {{\n{}\n}}\n\nfunction save(path) {{\n{}\n}}\n", ["load", "save"]),
        ("func (s *Server) Load() {{\n{}\n}}\n\nfunc save() {{\n{}\n}}\n", ["Load", "save"]),
        ("public static int load(int a) {{\n{}\n}}\n\nvoid save(char *b) {{\n{}\n}}\n", ["load", "save"]),
    ],
)
def test_code_is_cut_at_functions_and_each_passage_names_its_own(code: str, names: list[str]):
    body = "\n".join(f"    total = total + {number}" for number in range(12))
    drafts = draft_chunks(code.format(body, body), is_code=True)
    assert [draft.headings for draft in drafts] == [(name,) for name in names]


def test_methods_are_named_with_their_class_and_small_functions_together():
    body = "\n".join(f"        self.total += {number}" for number in range(30))
    drafts = draft_chunks(f"class Store:\n    def load(self):\n{body}\n\n    def save(self):\n{body}\n", is_code=True)
    assert [draft.headings for draft in drafts] == [("Store",), ("Store", "save")]
    small = draft_chunks("def one():\n    return 1\n\ndef two():\n    return 2\n", is_code=True)
    assert [draft.headings for draft in small] == [("one, two",)]


def test_headings_of_code_have_a_limit():
    body = "    total = total + 1\n" * 400
    (headings,) = {draft.headings for draft in draft_chunks(f"def {'a' * 9000}():\n{body}", is_code=True)}
    assert headings == ("a" * MAX_HEADING_CHARS,)
    nested = "".join(f"{' ' * depth}class Level{depth}:\n" for depth in range(60))
    deepest = draft_chunks(nested + f"{' ' * 60}total = 1\n" * 400, is_code=True)[-1]
    assert deepest.headings == tuple(f"Level{depth}" for depth in range(60 - MOST_NESTED, 60))
