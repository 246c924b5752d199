"""Documents in an export: they come back with text, passages, history and vectors, and nothing bad comes with them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mnemic.adapters.detectors.rules import RuleDetector
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.model.document import Document, DocumentQuery, DocumentStatus, Heading
from mnemic.model.item import Chunk, State
from mnemic.model.scope import Level
from mnemic.ports.store import Store
from mnemic.testing.samples import NOW, a_document, an_entry, passages, terms
from tests.unit.engine.kit import ANNA, Clock, WordEmbedder
from tests.unit.engine.transfer_kit import DORA, lines_of, opened, restored

HERS = ANNA.partition(Level.USER)
Visible = ANNA.visibility


def keep(store: Store, document: Document, *texts: str, **changes: Any) -> list[Chunk]:
    """A document of these passages, with an entry of history."""
    chunks = passages(document, *texts, **changes)
    with store.write() as work:
        work.documents.fill(document, "".join(texts), [(chunk, terms(chunk.text)) for chunk in chunks])
        work.history.add([an_entry(document.id, document.partition)])
    return chunks


@pytest.fixture
def lines(mnemic: Mnemic, store: Store) -> list[str]:
    """An export of documents of every sort."""
    mnemic.remember(ANNA, "Anna likes tea")
    contract = a_document(
        "contract.pdf",
        HERS,
        title="Contract",
        pages=(0, 13),
        headings=(Heading(0, 1, "Rent"), Heading(13, 2, "Notice ü😀")),
        metadata={"about": {"author": "Dora"}},
        bookkeeping={"chunking": "structure 512"},
    )
    keep(
        store,
        contract,
        "Rent is due.\n",
        "Notice is three months.",
        page=2,
        last_page=3,
        headings=("Rent", "Notice ü😀"),
    )
    keep(store, a_document("diary.md", HERS, private_agent="jarvis"), "A secret wish.", state=State.QUARANTINED)
    keep(store, a_document("house rules.md", ANNA.partition(Level.AGENT)), "Be polite.")
    keep(store, a_document("session.txt", ANNA.partition(Level.SESSION)), "For now only.")
    with store.write() as work:
        work.documents.put([a_document("waiting.pdf", HERS, status=DocumentStatus.PENDING, sha256="")])
        work.documents.put([a_document("broken.pdf", HERS, status=DocumentStatus.FAILED, reason="no PDF")])
    gone = a_document("gone.md", HERS)
    keep(store, gone, "gone for good")
    with store.write() as work:
        work.documents.erase(HERS, [gone.id], NOW)
    return list(mnemic.export(ANNA))


def parts_of(store: Store, **more: Any) -> Engine:
    """What a Mnemic over the store is made of."""
    return Engine(
        store=store, index=ScanIndex(), embedder=WordEmbedder(), clock=Clock(), observer=CounterObserver(), **more
    )


def record(lines: list[str], source: str) -> dict[str, Any]:
    (found,) = [each for each in map(json.loads, lines) if each.get("source") == source and each["type"] == "document"]
    return found


def everything(store: Store) -> list[object]:
    """The documents, texts, passages and history that Anna sees."""
    with store.read() as work:
        found = work.documents.list(Visible, DocumentQuery())
        return [
            (
                replace(document),
                work.documents.text(Visible, document.id),
                work.documents.passages(Visible, document.id, 0, 99),
                work.history.of(Visible, document.id),
            )
            for document in found
        ]


@pytest.mark.requirement("P-08")
def test_documents_come_back_with_text_passages_and_history(lines: list[str], store: Store):
    there = MemoryStore()
    with opened(there) as other:
        report = restored(other, lines)
        assert lines_of(other) == lines[1:]
        assert everything(there) == everything(store)
    assert report.problems == []
    assert report.added["document"] == 6
    assert "gone for good" not in "\n".join(lines)


def test_where_passages_end_follows_from_the_document_in_exports_of_before(lines: list[str]):
    old = record(lines, "contract.pdf")
    for span, page in zip(old["chunks"], (1, 2), strict=True):
        del span["last_page"]
        span["page"] = page
    old["pages"] = [0, 13, 20]
    there = MemoryStore()
    with opened(there) as other:
        assert restored(other, [json.dumps(old) if '"contract.pdf"' in line else line for line in lines]).problems == []
        with there.read() as work:
            (document,) = work.documents.list(Visible, DocumentQuery(sources=("contract.pdf",)))
            passages = work.documents.passages(Visible, document.id, 0, 9)
    assert [(chunk.page, chunk.last_page) for chunk in passages] == [(1, 1), (2, 3)]


def test_passages_that_came_back_have_their_vectors(lines: list[str]):
    there = MemoryStore()
    with opened(there) as other:
        restored(other, lines)
        with there.read() as work:
            (space,) = work.vectors.spaces()
            places = work.partitions.all()
            assert work.partitions.count(places)["chunks"] == 5
            assert [place for place in places if work.vectors.missing(place, space, 9)] == []


def test_reading_an_export_twice_changes_nothing(lines: list[str]):
    with opened() as other:
        restored(other, lines)
        before = lines_of(other)
        report = restored(other, lines)
        assert lines_of(other) == before
    assert (report.added, report.known["document"], report.problems) == ({}, 6, [])


def test_a_dry_run_counts_documents_and_writes_none(lines: list[str]):
    there = MemoryStore()
    with opened(there) as other:
        assert restored(other, lines, is_dry_run=True).added["document"] == 6
        assert everything(there) == []


def test_documents_become_those_of_whoever_reads_them_and_private_ones_need_an_agent(lines: list[str]):
    there = MemoryStore()
    with opened(there) as other:
        report = restored(other, lines, replace(DORA, agent=None))
        assert [problem.split(": ", 1)[1] for problem in report.problems if "private" in problem] == [
            "invalid record: the item is private to an agent, but the scope has no agent"
        ]
        with there.read() as work:
            assert work.documents.list(Visible, DocumentQuery()) == []
            theirs = work.documents.list(DORA.visibility, DocumentQuery(under="contract"))
    assert [document.partition for document in theirs] == [DORA.partition(Level.USER)]


def test_what_was_deleted_here_does_not_come_back(lines: list[str], mnemic: Mnemic, store: Store):
    document_id = record(lines, "contract.pdf")["id"]
    with store.write() as work:
        work.documents.erase(HERS, [document_id], NOW)
    report = restored(mnemic, lines)
    assert (report.added, report.known["document"]) == ({}, 6)
    with store.read() as work:
        assert work.documents.get(Visible, [document_id]) == []


def test_a_source_that_was_read_here_from_the_same_bytes_is_known_and_from_others_a_problem(lines: list[str]):
    there = MemoryStore()
    with opened(there) as other:
        keep(there, a_document("contract.pdf", HERS, sha256="other"), "Rent is free.")
        keep(there, a_document("broken.pdf", HERS), "It can be read.")
        report = restored(other, lines)
        assert (report.added["document"], report.known["document"]) == (4, 1)
        assert ["contract.pdf" in problem for problem in report.problems] == [True]
        with there.read() as work:
            (kept,) = work.documents.list(Visible, DocumentQuery(sources=("contract.pdf",)))
            assert work.documents.text(Visible, kept.id) == "Rent is free."


@pytest.mark.parametrize(
    "changes, why",
    [
        ({"status": "erased"}, "erased data cannot be imported"),
        ({"status": "lost"}, "lost"),
        ({"text": None}, "text must be text"),
        ({"id": " "}, "id must not be blank"),
        ({"source": 7}, "source must be text"),
        ({"source": "a\x00b"}, "U\\+0000"),
        ({"pages": [0, 99]}, "within the text"),
        ({"pages": [0, -1]}, "pages cannot be -1"),
        ({"headings": [[0, 1]]}, "invalid record"),
        ({"headings": [[0, 1, None]]}, "headings must be text"),
        ({"metadata": 7}, "metadata"),
        ({"created_at": "yesterday"}, "invalid record"),
        ({"created_at": None}, "must be a time"),
        ({"chunks": "all"}, "chunks must be a list"),
        ({"chunks": [1]}, "each chunk must be a mapping"),
        ({"chunks": [{"id": "1"}]}, "is missing"),
        ({"level": "planet"}, "planet"),
    ],
)
def test_a_record_that_mnemic_would_not_have_written_is_a_problem_and_the_rest_comes_in(
    lines: list[str], changes: dict[str, object], why: str
):
    wrong = json.dumps({**record(lines, "contract.pdf"), **changes})
    there = MemoryStore()
    with opened(there) as other:
        report = restored(other, [wrong if '"contract.pdf"' in line else line for line in lines])
        assert report.added["document"] == 5
        assert len(report.problems) == 1
        with pytest.raises(AssertionError, match=why):
            raise AssertionError(report.problems[0])


@pytest.mark.parametrize(
    "changes",
    [
        {"end": 99},
        {"start": 20},
        {"start": -1},
        {"index": 1},
        {"index": True},
        {"page": 0},
        {"last_page": 1},
        {"last_page": "2"},
        {"page": None},
        {"state": "erased"},
        {"trust": "me"},
        {"id": ""},
        {"token_count": None},
        {"headings": "Rent"},
        {"observed_at": 7},
    ],
)
def test_a_passage_that_cannot_be_one_is_a_problem_of_its_whole_document(lines: list[str], changes: dict[str, object]):
    wrong = record(lines, "contract.pdf")
    wrong["chunks"][0] |= changes
    there = MemoryStore()
    with opened(there) as other:
        report = restored(other, [json.dumps(wrong) if '"contract.pdf"' in line else line for line in lines])
        assert (report.added["document"], len(report.problems)) == (5, 1)
        with there.read() as work:
            assert work.documents.list(Visible, DocumentQuery(sources=("contract.pdf",))) == []


def test_a_secret_in_the_document_of_an_export_is_replaced_and_the_passages_move_with_it(
    lines: list[str], store: Store
):
    key = "AKIA" + "QX7ZLM3WD5RT2YHB"
    leaky = a_document("leak.md", HERS, title=f"With {key}", pages=(0, 38), headings=(Heading(38, 1, "After"),))
    keep(store, leaky, "Our key for the store: ", key + ".", " After it.", headings=("After",))
    exported = list(Mnemic(parts_of(store), actor="tester").export(ANNA))
    assert len(exported) > len(lines)
    there = MemoryStore()
    other = Mnemic(parts_of(there, detector=RuleDetector()), actor="tester")
    assert restored(other, exported).problems == []
    with there.read() as work:
        (kept,) = work.documents.list(Visible, DocumentQuery(sources=("leak.md",)))
        text = work.documents.text(Visible, kept.id) or ""
        chunks = work.documents.passages(Visible, kept.id, 0, 9)
    assert key not in text + kept.title + "".join(chunk.text for chunk in chunks)
    assert "[REDACTED: " in text
    assert [text[chunk.start : chunk.end] for chunk in chunks] == [chunk.text for chunk in chunks]
    assert (chunks[-1].text, text[kept.headings[0].offset :]) == (" After it.", text[kept.pages[1] :])
