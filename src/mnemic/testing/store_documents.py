"""What `Documents` promises of documents: rows, visibility, pages of a list, erasure. Chunks are in `store_chunks`."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from mnemic.errors import ConflictError, InvalidInputError, UnsupportedError
from mnemic.model.document import Document, DocumentQuery, DocumentStatus, Heading
from mnemic.model.scope import Level
from mnemic.ports.store import Store
from mnemic.testing.samples import (
    ANNA,
    BERT,
    HERS,
    MINUTE,
    NOW,
    a_document,
    an_entry,
    counted,
    fill_document,
    terms,
    version_of,
)

FRIDAY = replace(ANNA, agent="friday").visibility
THREADS = 8


def put(store: Store, *documents: Document) -> None:
    """Store documents in one unit of work."""
    with store.write() as work:
        work.documents.put(documents)


def sources(store: Store, **conditions: object) -> list[str]:
    """The sources of Anna's documents that meet the conditions, in the order of the list."""
    with store.read() as work:
        query = replace(DocumentQuery(), **conditions)
        return [document.source for document in work.documents.list(ANNA.visibility, query)]


class DocumentsContract:
    """Tests of `Documents`; each takes an empty open store."""

    def test_a_document_returns_as_it_was_stored(self, store: Store):
        document = a_document(
            "c:\\notes\\t'ea \"ü😀.md",
            title="nul \x00 nul",
            reason="page 3: it cannot be read\n",
            status=DocumentStatus.FAILED,
            updated_at=NOW + MINUTE,
            private_agent="jarvis",
            pages=(0, 10, 10),
            headings=(Heading(0, 1, "Tea"), Heading(4, 2, "nul \x00 'ü'")),
            metadata={"author": "Anna", "deep": {"list": [1, None, True, 2.5]}},
            bookkeeping={"chunking": "structure 512"},
        )
        put(store, document)
        with store.read() as work:
            assert work.documents.get(ANNA.visibility, [document.id]) == [document]
            assert work.documents.list(ANNA.visibility, DocumentQuery()) == [document]

    def test_a_document_does_not_change_with_the_callers_metadata(self, store: Store):
        metadata: dict[str, object] = {"tags": ["tea"]}
        document = a_document(metadata=metadata)
        put(store, document)
        metadata["tags"] = []
        with store.read() as work:
            assert work.documents.get(ANNA.visibility, [document.id])[0].metadata == {"tags": ["tea"]}

    def test_putting_again_replaces_the_row_and_never_its_text_and_chunks(self, store: Store):
        document = a_document()
        (chunk,) = fill_document(store, document, "Tea is hot.")
        failed = replace(document, status=DocumentStatus.FAILED, reason="it is gone", characters=7, chunks=7)
        put(store, failed)
        with store.read() as work:
            kept = replace(failed, characters=11, chunks=1)
            assert work.documents.get(ANNA.visibility, [document.id]) == [kept]
            assert work.documents.text(ANNA.visibility, document.id) == "Tea is hot."
            assert work.documents.chunks(ANNA.visibility, [chunk.id]) == [chunk]

    def test_putting_advances_no_version_and_filling_and_erasing_do(self, store: Store):
        document = a_document()
        put(store, document)
        put(store, replace(document, status=DocumentStatus.PROCESSING))
        assert version_of(store) == 0
        fill_document(store, document, "Tea")
        assert version_of(store) == 1
        with store.write() as work:
            assert work.documents.erase(HERS, ["missing"], NOW) == 0
        assert version_of(store) == 1
        with store.write() as work:
            work.documents.erase(HERS, [document.id], NOW)
        assert version_of(store) == 2

    def test_nothing_put_writes_nothing(self, store: Store):
        put(store)
        with store.read() as work:
            assert work.partitions.all() == []

    def test_a_source_is_taken_once_in_its_partition_and_private_agent(self, store: Store):
        first, second = a_document("tea.md"), a_document("coffee.md")
        put(store, first, second)
        for taken in (a_document("tea.md"), replace(second, source="tea.md")):
            with pytest.raises(ConflictError):
                put(store, taken)
            with pytest.raises(ConflictError):
                fill_document(store, taken, "Tea")
        put(store, a_document("tea.md", BERT.partition(Level.USER)), a_document("tea.md", private_agent="jarvis"))
        put(store, replace(second, source="milk.md"), replace(first, source="coffee.md"))
        with store.read() as work:
            listed = work.documents.list(FRIDAY, DocumentQuery())
        assert [document.source for document in listed] == ["coffee.md", "milk.md"]

    def test_threads_that_put_one_source_at_once_leave_one_document(self, store: Store):
        start = threading.Barrier(THREADS)

        def add(_: int) -> bool:
            document = a_document("tea.md")
            start.wait()
            try:
                put(store, document)
            except ConflictError:
                return False
            return True

        with ThreadPoolExecutor(THREADS) as pool:
            assert sum(pool.map(add, range(THREADS))) == 1
        assert sources(store) == ["tea.md"]

    def test_a_document_never_passes_to_another_agent(self, store: Store):
        private, shared = a_document("a.md", private_agent="jarvis"), a_document("b.md")
        put(store, private, shared)
        for other in (replace(private, private_agent=None), replace(shared, private_agent="friday")):
            with pytest.raises(ConflictError):
                put(store, other)
            with pytest.raises(ConflictError):
                fill_document(store, other, "Tea")
        assert sources(store) == ["a.md", "b.md"]

    def test_a_document_that_is_erased_or_whose_source_holds_nul_is_refused(self, store: Store):
        for document in (a_document(status=DocumentStatus.ERASED), a_document("a\x00.md")):
            with pytest.raises(InvalidInputError):
                put(store, document)
            with pytest.raises(InvalidInputError):
                fill_document(store, document, "Tea")
        with store.read() as work:
            assert work.partitions.count([HERS]) == counted()

    def test_documents_come_in_the_order_of_the_ids_asked_for(self, store: Store):
        first, second = a_document("a.md"), a_document("b.md")
        put(store, first, second)
        with store.read() as work:
            ids = [second.id, "unknown", first.id, second.id]
            assert work.documents.get(ANNA.visibility, ids) == [second, first, second]
            assert work.documents.get(ANNA.visibility, []) == []

    def test_documents_of_another_user_or_org_are_not_visible(self, store: Store):
        theirs = a_document(partition=BERT.partition(Level.USER))
        (chunk,) = fill_document(store, theirs, "Tea")
        with store.read() as work:
            assert work.documents.get(ANNA.visibility, [theirs.id]) == []
            assert work.documents.list(ANNA.visibility, DocumentQuery()) == []
            assert work.documents.text(ANNA.visibility, theirs.id) is None
            assert work.documents.chunks(ANNA.visibility, [chunk.id]) == []
            assert work.documents.passages(ANNA.visibility, theirs.id, 0, 9) == []
        with store.write() as work:
            assert work.documents.erase(HERS, [theirs.id], NOW) == 0
        with store.read() as work:
            assert work.documents.text(BERT.visibility, theirs.id) == "Tea"

    def test_a_private_document_is_seen_by_its_agent_only(self, store: Store):
        private = a_document(private_agent="jarvis")
        (chunk,) = fill_document(store, private, "Tea")
        with store.write() as work:
            work.history.add([an_entry(private.id)])
        seen = replace(private, characters=3, chunks=1)
        for visible, is_seen in ((ANNA.visibility, True), (FRIDAY, False), (replace(FRIDAY, agent=None), False)):
            with store.read() as work:
                assert work.documents.get(visible, [private.id]) == [seen] * is_seen
                assert work.documents.list(visible, DocumentQuery()) == [seen] * is_seen
                assert work.documents.text(visible, private.id) == ("Tea" if is_seen else None)
                assert work.documents.chunks(visible, [chunk.id]) == [chunk] * is_seen
                assert work.documents.passages(visible, private.id, 0, 9) == [chunk] * is_seen
                assert len(work.history.of(visible, private.id)) == is_seen

    def test_a_list_is_ordered_by_source_and_then_by_id(self, store: Store):
        names = ["b.md", "a.md", "B.md", "é.md", "a/b.md", "😀.md", "\uffee.md", "a b.md"]
        put(store, *(a_document(name) for name in names))
        ours = [a_document("a.md", ANNA.partition(Level.ORG)), a_document("a.md", ANNA.partition(Level.AGENT))]
        put(store, *ours)
        assert sources(store) == sorted([*names, "a.md", "a.md"])
        with store.read() as work:
            same = work.documents.list(ANNA.visibility, DocumentQuery(sources=("a.md",)))
        assert [document.id for document in same] == sorted(document.id for document in same)

    def test_a_list_meets_every_condition(self, store: Store):
        pending, failed = DocumentStatus.PENDING, DocumentStatus.FAILED
        put(store, a_document("a_1.md", status=pending), a_document("a%2.md", status=failed), a_document("ab.md"))
        gone = a_document("a_3.md")
        put(store, gone)
        with store.write() as work:
            work.documents.erase(HERS, [gone.id], NOW)
        assert sources(store) == ["a%2.md", "a_1.md", "ab.md"]
        assert sources(store, statuses=(pending, failed)) == ["a%2.md", "a_1.md"]
        assert sources(store, statuses=(DocumentStatus.ERASED,)) == [""]
        assert sources(store, sources=("ab.md", "a_1.md", "no.md")) == ["a_1.md", "ab.md"]
        assert sources(store, sources=()) == []
        assert sources(store, under="a_") == ["a_1.md"]
        assert sources(store, under="a%") == ["a%2.md"]
        assert sources(store, under="A") == []
        assert sources(store, titles=frozenset({"no such"})) == sources(store, titles=frozenset[str]()) == []
        assert sources(store, under="a", sources=("ab.md",), statuses=(DocumentStatus.READY,)) == ["ab.md"]

    def test_a_document_is_listed_by_the_form_in_which_its_title_is_named(self, store: Store):
        solaris = a_document("a.md", title="Solaris (film)")
        put(store, solaris, a_document("b.md", title="The  SEA,\tthe sea"), a_document("c.md", title="--"))
        assert sources(store, titles=frozenset({"solaris", "sea"})) == ["a.md"]
        assert sources(store, titles=frozenset({"the sea the sea", "solaris"}), under="b") == ["b.md"]
        assert sources(store, titles=frozenset({""})) == []
        put(store, replace(solaris, title="Stalker"))
        assert sources(store, titles=frozenset({"solaris"})) == []
        with store.write() as work:
            work.documents.erase(HERS, [solaris.id], NOW)
        assert sources(store, titles=frozenset({"stalker"})) == []

    def test_pages_of_a_list_join_without_gap_or_overlap(self, store: Store):
        names = ["a.md", "b.md", "c.md", "d.md", "e.md"]
        put(store, *(a_document(name) for name in names), a_document("c.md", ANNA.partition(Level.ORG)))
        found: list[Document] = []
        with store.read() as work:
            while page := work.documents.list(
                ANNA.visibility, DocumentQuery(limit=2, after=(found[-1].source, found[-1].id) if found else None)
            ):
                assert len(page) <= 2
                found += page
            assert work.documents.list(ANNA.visibility, DocumentQuery(limit=0)) == []
            assert work.documents.list(ANNA.visibility, DocumentQuery()) == found
        assert [document.source for document in found] == sorted([*names, "c.md"])

    def test_a_document_that_was_never_read_has_an_empty_text_and_an_unknown_one_none(self, store: Store):
        document = a_document(status=DocumentStatus.PENDING)
        put(store, document)
        with store.read() as work:
            assert work.documents.text(ANNA.visibility, document.id) == ""
            assert work.documents.text(ANNA.visibility, "unknown") is None

    def test_erasing_removes_all_that_a_document_says_and_leaves_a_tombstone(self, store: Store):
        document = a_document(
            reason="why",
            pages=(0,),
            headings=(Heading(0, 1, "Tea"),),
            metadata={"author": "Anna"},
            bookkeeping={"chunking": "x"},
            title="Secret",
        )
        (chunk,) = fill_document(store, document, "Tea")
        with store.write() as work:
            assert work.documents.erase(HERS, [document.id, document.id, "unknown"], NOW + MINUTE) == 1
        with store.read() as work:
            assert work.documents.get(ANNA.visibility, [document.id]) == []
            assert work.documents.text(ANNA.visibility, document.id) is None
            assert work.documents.chunks(ANNA.visibility, [chunk.id]) == []
            assert work.documents.passages(ANNA.visibility, document.id, 0, 9) == []
            assert work.partitions.count([HERS]) == counted()
            tombstones = work.documents.list(ANNA.visibility, DocumentQuery(statuses=(DocumentStatus.ERASED,)))
        assert tombstones == [
            Document(
                id=document.id,
                partition=HERS,
                source="",
                title="",
                media_type=document.media_type,
                status=DocumentStatus.ERASED,
                created_at=NOW,
                updated_at=NOW + MINUTE,
            )
        ]
        with store.write() as work:
            assert work.documents.erase(HERS, [document.id], NOW) == 0

    def test_what_was_erased_is_not_brought_back_and_its_source_is_free(self, store: Store):
        document = a_document("tea.md")
        fill_document(store, document, "Tea")
        with store.write() as work:
            work.documents.erase(HERS, [document.id], NOW)
        with pytest.raises(ConflictError):
            put(store, document)
        with pytest.raises(ConflictError):
            fill_document(store, document, "Tea")
        assert sources(store) == []
        put(store, a_document("tea.md"), a_document("coffee.md"))
        assert sources(store) == ["coffee.md", "tea.md"]

    def test_writing_documents_in_a_unit_of_work_that_reads_is_refused(self, store: Store):
        document = a_document()
        (chunk,) = fill_document(store, document, "Tea")
        with pytest.raises(UnsupportedError), store.read() as work:
            work.documents.put([document])
        with pytest.raises(UnsupportedError), store.read() as work:
            work.documents.fill(document, "", [])
        with pytest.raises(UnsupportedError), store.read() as work:
            work.documents.erase(HERS, [document.id], NOW)
        with pytest.raises(UnsupportedError), store.read() as work:
            work.documents.fill(a_document("new.md", BERT.partition(Level.USER)), "x", [(chunk, terms(""))][:0])
        with store.read() as work:
            assert work.documents.chunks(ANNA.visibility, [chunk.id]) == [chunk]
