"""Files of real formats through the process that reads them: pages, headings, running heads, and what they say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mnemic.adapters.files import LocalFiles
from mnemic.adapters.readers.sandbox import SandboxReader
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine, ReaderPool
from mnemic.model.item import Chunk
from tests.conformance.document_files import docx, paragraph, pdf, pptx
from tests.unit.engine.ingest_kit import chunks, documents, outcomes, put
from tests.unit.engine.kit import ANNA

TREES = ("oak", "elm", "ash", "fir", "yew")


@pytest.fixture(scope="module")
def reader() -> Iterator[SandboxReader]:
    """One process for all tests; what they close is started again."""
    opened = SandboxReader()
    yield opened
    opened.close()


@pytest.fixture
def mnemic(parts: Engine, reader: SandboxReader) -> Mnemic:
    return Mnemic(replace(parts, files=LocalFiles(), readers=ReaderPool(lambda: reader, number=1)))


@pytest.mark.requirement("J-59", "J-45")
def test_a_question_about_a_pdf_is_answered_with_the_page(mnemic: Mnemic, tmp_path: Path):
    put(tmp_path, {"trees.pdf": pdf([f"The {tree} grows slowly here." for tree in TREES], title="Trees")})
    assert outcomes(mnemic.ingest(ANNA, tmp_path / "trees.pdf", chunking="structure")) == {"trees.pdf": "added"}
    document, text = documents(mnemic)["trees.pdf"], mnemic.documents.text(ANNA, str(tmp_path / "trees.pdf"))
    assert (document.title, len(document.pages), document.media_type) == ("Trees", 5, "application/pdf")
    assert [text[page:].split()[1] for page in document.pages] == list(TREES)
    hit = mnemic.recall(ANNA, "how does the ash grow?").hits[0].item
    assert isinstance(hit, Chunk)
    assert text[hit.start : hit.end] == hit.text


@pytest.mark.requirement("J-47", "P-12")
def test_short_pages_are_passages_of_their_own_and_cited_by_their_page(mnemic: Mnemic, tmp_path: Path):
    put(tmp_path, {"trees.pdf": pdf([f"The {tree} grows slowly here." for tree in TREES], title="Trees")})
    mnemic.ingest(ANNA, tmp_path / "trees.pdf")
    assert [(chunk.page, chunk.last_page) for chunk in chunks(mnemic, "trees.pdf")] == [(n, n) for n in range(1, 6)]
    (citation, *_) = mnemic.context(ANNA, "how does the ash grow?").citations
    assert (citation.page, citation.last_page) == (3, 3)
    assert f"Source: trees.pdf, page 3 [{citation.number}]" in mnemic.context(ANNA, "ash").blocks["documents"]


@pytest.mark.requirement("J-47", "P-12", "R-49")
def test_forty_decks_and_papers_are_cited_by_the_page_of_the_answer(mnemic: Mnemic, tmp_path: Path):
    subjects = ("rent", "deposit", "heating", "garden", "parking", "keys")
    answers: dict[str, tuple[str, int]] = {}
    for number in range(20):
        lines = [f"The {subject} of house{number} is code{number}x{page}." for page, subject in enumerate(subjects, 1)]
        papers, slides = (
            pdf([f"{clause}. {line.replace('house', 'flat')}" for clause, line in enumerate(lines, 1)]),
            pptx([("Plan", line, "") for line in lines]),
        )
        put(tmp_path, {f"paper{number}.pdf": papers, f"deck{number}.pptx": slides})
        page = number % len(subjects) + 1
        for name, home in ((f"paper{number}.pdf", "flat"), (f"deck{number}.pptx", "house")):
            answers[f"What is the {subjects[page - 1]} of {home}{number}?"] = (name, page)
    mnemic.ingest(ANNA, tmp_path)
    cited = {question: mnemic.context(ANNA, question).citations[0] for question in answers}
    found = {question: (Path(each.source).name, each.page) for question, each in cited.items()}
    assert found == answers
    assert all(each.last_page == each.page for each in cited.values())


@pytest.mark.requirement("J-47", "P-12")
def test_a_hit_quotes_the_sentence_of_the_passage_with_its_page_and_place(mnemic: Mnemic, tmp_path: Path):
    pages = [
        "The tenant pays monthly. The deposit is held by a bank. Late payment costs interest.",
        "Cats are allowed.",
    ]
    put(tmp_path, {"lease.pdf": pdf(pages, title="Lease")})
    mnemic.ingest(ANNA, tmp_path / "lease.pdf")
    quote = mnemic.recall(ANNA, "who holds the deposit?", kinds=["document"]).hits[0].quote
    assert quote is not None
    assert (quote.text, quote.page, quote.last_page) == ("The deposit is held by a bank.", 1, 1)
    text = mnemic.documents.text(ANNA, str(tmp_path / "lease.pdf"))
    assert text[quote.start : quote.end] == quote.text
    mnemic.remember(ANNA, "Ana owns a cat")
    assert all(hit.quote is None for hit in mnemic.recall(ANNA, "cat", kinds=["fact"]).hits)
    assert {hit.quote for hit in mnemic.context(ANNA, "who holds the deposit?").recall.hits} == {None}


def test_a_bar_in_a_passage_leaves_its_sentences_whole(mnemic: Mnemic, tmp_path: Path):
    prose = "List them with ps aux | grep tea. The kettle stands in the cellar. It is cleaned on Fridays."
    put(tmp_path, {"tea.md": f"{prose}\n\n| Tea | Price |\n|---|---|\n| Assam. First flush. | 12 |\n".encode()})
    mnemic.ingest(ANNA, tmp_path / "tea.md")
    for question, sentence in (
        ("Where is the kettle?", "The kettle stands in the cellar."),
        ("What does Assam cost?", "| Assam. First flush. | 12 |"),
    ):
        quote = mnemic.recall(ANNA, question, kinds=["document"]).hits[0].quote
        assert quote is not None
        assert quote.text == sentence


def test_no_passage_begins_or_ends_with_what_every_page_repeats(mnemic: Mnemic, tmp_path: Path):
    slides = [("Yearly report of Acme", f"The {tree} grows slowly here.", "Notes of the speaker") for tree in TREES]
    put(tmp_path, {"report.pptx": pptx(slides)})
    mnemic.ingest(ANNA, tmp_path / "report.pptx")
    text, found = mnemic.documents.text(ANNA, str(tmp_path / "report.pptx")), chunks(mnemic, "report.pptx")
    assert text.startswith("Yearly report of Acme")
    assert found[0].text.startswith("The oak grows")
    assert found[-1].text.endswith("The yew grows slowly here.")
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in found)
    assert found[0].page == 1


def test_headings_of_office_files_stand_above_their_passages(mnemic: Mnemic, tmp_path: Path):
    body = "".join(
        [
            paragraph("Terms", "Top"),
            paragraph("The first rule is short. " * 20),
            paragraph("Costs", "Sub"),
            paragraph("It costs nothing at all. " * 20),
        ]
    )
    put(tmp_path, {"rules.docx": docx(body)})
    mnemic.ingest(ANNA, tmp_path / "rules.docx")
    assert [chunk.headings for chunk in chunks(mnemic, "rules.docx")] == [("Terms",), ("Terms", "Costs")]


def test_encrypted_and_scanned_files_fail_with_what_would_help(mnemic: Mnemic, tmp_path: Path):
    put(tmp_path, {"locked.pdf": pdf(["words"], encrypted=True), "scan.pdf": pdf([""]), "good.txt": "Good words."})
    report = mnemic.ingest(ANNA, tmp_path, source="f")
    reasons = {file.source: file.reason for file in report.files if file.outcome.value == "failed"}
    assert reasons["f/locked.pdf"] == "'locked.pdf' is encrypted: save it without a password and try again"
    assert "text recognition (OCR)" in reasons["f/scan.pdf"]
    assert mnemic.documents.get(ANNA, "f/good.txt").chunks == 1
