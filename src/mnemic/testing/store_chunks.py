"""What `Documents`, `Partitions` and `Vectors` promise of chunks: filled whole, replaced whole, indexed like items."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from mnemic.errors import ConflictError, InvalidInputError
from mnemic.model.candidates import DOCUMENT, Change
from mnemic.model.document import Document
from mnemic.model.item import Chunk, State, Trust
from mnemic.model.scope import Level, to_microseconds
from mnemic.ports.store import MAIN_VIEW, Reading, StaleTerms, Store
from mnemic.testing.samples import (
    ANNA,
    BERT,
    HERS,
    MINUTE,
    NOW,
    READING,
    SPACE,
    a_document,
    a_memory,
    a_message,
    a_vector,
    add_memories,
    add_vectors,
    counted,
    fill_document,
    passages,
    terms,
)
from mnemic.testing.store_units import stop_after

MANY = 5_000
THREADS = 4


def changes_since(store: Store, since: int, reading: Reading = READING) -> list[Change | StaleTerms]:
    """The changes of Anna's partition."""
    with store.read() as work:
        return list(work.partitions.changes(HERS, since, reading))


def held(store: Store, document: Document) -> list[str]:
    """The texts of a document's passages, after its text."""
    with store.read() as work:
        chunks = work.documents.passages(ANNA.visibility, document.id, 0, 2 * MANY)
        return [work.documents.text(ANNA.visibility, document.id) or "", *(chunk.text for chunk in chunks)]


class ChunksContract:
    """Tests of `Documents.fill` and of chunks elsewhere; each takes an empty open store."""

    @pytest.mark.requirement("J-44", "J-45", "N-13")
    def test_a_chunk_returns_as_it_was_stored(self, store: Store):
        document = a_document()
        first, second = fill_document(
            store,
            document,
            "Tea is hot. ",
            "nul \x00 'nul' ü😀\n",
            page=3,
            last_page=5,
            headings=("All about tea", 'nul \x00 "ü"'),
            state=State.QUARANTINED,
            trust=Trust.IMPORTED,
            token_count=7,
            created_at=NOW + MINUTE,
            observed_at=NOW + 2 * MINUTE,
        )
        with store.read() as work:
            ids = [second.id, "unknown", first.id]
            assert work.documents.chunks(ANNA.visibility, ids) == [second, first]
            assert work.documents.get(ANNA.visibility, [document.id]) == [replace(document, characters=27, chunks=2)]
            text = work.documents.text(ANNA.visibility, document.id)
        assert text is not None
        assert [text[chunk.start : chunk.end] for chunk in (first, second)] == [first.text, second.text]

    def test_what_a_chunk_says_of_its_document_follows_the_document(self, store: Store):
        document = a_document("old.md")
        (chunk,) = fill_document(store, document, "Tea")
        with store.write() as work:
            work.documents.put([replace(document, source="new.md", title="New")])
        with store.read() as work:
            assert work.documents.chunks(ANNA.visibility, [chunk.id]) == [replace(chunk, source="new.md", title="New")]

    def test_passages_are_those_from_an_index_on_in_order(self, store: Store):
        document, other = a_document("a.md"), a_document("b.md")
        chunks = passages(document, *"abcde")
        fill_document(store, other, "x")
        with store.write() as work:
            work.documents.fill(document, "abcde", [(chunk, terms("")) for chunk in reversed(chunks)])
        with store.read() as work:
            found = work.documents.passages
            assert found(ANNA.visibility, document.id, 0, 9) == chunks
            assert found(ANNA.visibility, document.id, 2, 2) == chunks[2:4]
            assert found(ANNA.visibility, document.id, -1, 1) == chunks[:1]
            assert found(ANNA.visibility, document.id, 5, 1) == []
            assert found(ANNA.visibility, document.id, 0, 0) == []
            assert found(ANNA.visibility, document.id, 0, -1) == []
            assert found(ANNA.visibility, "unknown", 0, 9) == []

    def test_filling_again_replaces_text_and_chunks_with_their_vectors(self, store: Store):
        document = a_document()
        before = fill_document(store, document, "Tea. ", "Hot.")
        add_vectors(store, *(a_vector(chunk.id) for chunk in before))
        (after,) = fill_document(store, replace(document, title="New"), "Coffee")
        assert held(store, document) == ["Coffee", "Coffee"]
        with store.read() as work:
            assert work.documents.chunks(ANNA.visibility, [chunk.id for chunk in before]) == []
            assert work.vectors.get(HERS, [chunk.id for chunk in before], MAIN_VIEW, SPACE) == {}
            assert work.vectors.missing(HERS, SPACE, 9) == [(after.id, "Coffee")]
            assert work.partitions.count([HERS]) == counted(documents=1, chunks=1)
            assert work.documents.get(ANNA.visibility, [document.id]) == [
                replace(document, title="New", characters=6, chunks=1)
            ]
        gone = [Change(item_id=chunk.id, is_gone=True) for chunk in before]
        assert [change for change in changes_since(store, 2) if change in gone] == gone

    def test_filling_with_nothing_leaves_a_document_without_chunks(self, store: Store):
        document = a_document()
        fill_document(store, document, "Tea")
        fill_document(store, document)
        assert held(store, document) == [""]
        with store.read() as work:
            assert work.partitions.count([HERS]) == counted(documents=1)

    def test_a_fill_that_is_interrupted_leaves_the_former_version_whole(self, store: Store):
        document = a_document()
        (chunk,) = fill_document(store, document, "Tea")
        add_vectors(store, a_vector(chunk.id))
        new = passages(document, "Coffee")
        rows = [(new[0], terms("coffee"))]
        stop_after(store, lambda work: work.documents.fill(replace(document, title="New"), "Coffee", rows))
        assert held(store, document) == ["Tea", "Tea"]
        with store.read() as work:
            assert [*work.vectors.get(HERS, [chunk.id], MAIN_VIEW, SPACE)] == [chunk.id]
            assert work.documents.get(ANNA.visibility, [document.id])[0].title == document.title

    def test_a_fill_that_is_refused_changes_nothing_even_when_the_unit_of_work_goes_on(self, store: Store):
        document, other = a_document("a.md"), a_document("b.md")
        (chunk,) = fill_document(store, document, "Tea")
        (taken,) = fill_document(store, other, "Milk")
        mine, stray = passages(document, "Coffee", "Cocoa"), passages(a_document("c.md"), "Rum")
        refused: list[tuple[type[Exception], Document, list[Chunk]]] = [
            (ConflictError, document, [mine[0], replace(mine[1], id=taken.id)]),
            (ConflictError, document, [replace(mine[0], id=chunk.id)]),
            (ConflictError, document, [mine[0], replace(mine[1], id=mine[0].id)]),
            (ConflictError, replace(document, source="b.md"), mine),
            (InvalidInputError, document, stray),
            (InvalidInputError, document, [mine[0], replace(mine[1], index=0)]),
            (InvalidInputError, document, [replace(mine[0], private_agent="jarvis")]),
            (InvalidInputError, document, [replace(mine[0], partition=BERT.partition(Level.USER))]),
        ]
        for error, changed, chunks in refused:
            with store.write() as work, pytest.raises(error):
                work.documents.fill(replace(changed, title="New"), "Coffee", [(c, terms("")) for c in chunks])
            assert held(store, document) == ["Tea", "Tea"]
        with store.read() as work:
            assert work.documents.get(ANNA.visibility, [document.id])[0].title == document.title
            assert work.partitions.versions([HERS]) == {HERS: 2}

    def test_the_id_of_an_erased_chunk_stays_taken(self, store: Store):
        document = a_document()
        (chunk,) = fill_document(store, document, "Tea")
        fill_document(store, document)
        with pytest.raises(ConflictError), store.write() as work:
            work.documents.fill(document, "Tea", [(chunk, terms("tea"))])

    def test_of_two_fills_at_once_one_is_there_whole(self, store: Store):
        document = a_document()
        start = threading.Barrier(THREADS)

        def fill(number: int) -> None:
            words = [f"{number}-{part} " for part in range(20)]
            start.wait()
            fill_document(store, document, *words)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(fill, range(THREADS)))
        text, *chunks = held(store, document)
        assert len(chunks) == 20
        assert "".join(chunks) == text
        with store.read() as work:
            assert work.partitions.count([HERS]) == counted(documents=1, chunks=20)
            assert work.partitions.versions([HERS]) == {HERS: THREADS}

    def test_a_document_of_thousands_of_chunks_is_stored_replaced_and_erased(self, store: Store):
        document = a_document()
        for word in ("tea", "milk"):
            chunks = fill_document(store, document, *(f"{word} {number}. " for number in range(MANY)))
        assert add_vectors(store, *(a_vector(chunk.id) for chunk in chunks)) == MANY
        with store.read() as work:
            assert work.partitions.count([HERS]) == counted(documents=1, chunks=MANY, vectors=MANY)
            assert work.documents.passages(ANNA.visibility, document.id, MANY - 1, 9) == chunks[-1:]
            found = [row for row in work.partitions.changes(HERS, 0, READING) if isinstance(row, Change)]
        assert sum(change.is_gone for change in found) == MANY
        assert [change.item_id for change in found if not change.is_gone] == [chunk.id for chunk in chunks]
        with store.write() as work:
            work.documents.erase(HERS, [document.id], NOW)
            assert work.partitions.count([HERS]) == counted()

    def test_a_change_of_a_chunk_holds_its_place_in_its_document(self, store: Store):
        document = a_document(private_agent="jarvis")
        first, second = fill_document(store, document, "Tea?", "Hot", observed_at=NOW + MINUTE)
        expected = Change(
            item_id=first.id,
            kind=DOCUMENT,
            terms="tea?",
            private_agent="jarvis",
            importance=0.5,
            observed_at=to_microseconds(NOW + MINUTE),
            session=document.id,
            position=1,
            role="document",
        )
        assert changes_since(store, 0) == [expected, expected._replace(item_id=second.id, terms="hot", position=2)]

    def test_a_chunk_that_is_not_active_comes_as_inactive(self, store: Store):
        fill_document(store, a_document(), "Tea", state=State.QUARANTINED)
        assert [c.is_active for c in changes_since(store, 0) if isinstance(c, Change)] == [False]

    def test_within_one_version_chunks_come_last_in_the_order_they_were_added(self, store: Store):
        document, memory, message = a_document(), a_memory(), a_message(1)
        chunks = passages(document, "a", "b", "c")
        with store.write() as work:
            work.documents.fill(document, "abc", [(chunk, terms("")) for chunk in chunks])
            work.memories.add([(memory, terms(""))])
            work.messages.conversation(HERS, "s1", NOW)
            work.messages.add([(message, terms(""))])
        ids = [change.item_id for change in changes_since(store, 0) if isinstance(change, Change)]
        assert ids == [message.id, memory.id, *(chunk.id for chunk in chunks)]

    def test_erased_chunks_come_as_gone(self, store: Store):
        document = a_document()
        chunks = fill_document(store, document, "a", "b")
        add_memories(store, a_memory())
        with store.write() as work:
            work.documents.erase(HERS, [document.id], NOW)
        assert changes_since(store, 2) == [Change(item_id=chunk.id, is_gone=True) for chunk in chunks]

    def test_terms_of_chunks_by_another_analyser_come_as_stale_with_the_text(self, store: Store):
        (chunk,) = fill_document(store, a_document(), "Tea", headings=("Drinks",))
        (stale,) = changes_since(store, 0, Reading(SPACE, "another"))
        assert isinstance(stale, StaleTerms)
        assert (stale.change.item_id, stale.text) == (chunk.id, "Tea")

    def test_a_chunk_has_vectors_like_every_item_and_they_count_as_its_writes(self, store: Store):
        document = a_document()
        chunk, bare, blank = fill_document(store, document, "Tea", "Hot", " \n")
        assert add_vectors(store, a_vector(chunk.id, 1, 2, 3), a_vector(blank.id, view="window")) == 2
        found = {c.item_id: c.vector for c in changes_since(store, 1) if isinstance(c, Change)}
        assert {i: vector is not None for i, vector in found.items()} == {chunk.id: True, blank.id: False}
        with store.read() as work:
            assert work.vectors.missing(HERS, SPACE, 9) == [(bare.id, "Hot")]
            assert work.documents.chunks(ANNA.visibility, [chunk.id]) == [chunk]

    def test_a_vector_of_a_missing_or_erased_chunk_is_left_out(self, store: Store):
        document = a_document()
        (gone,) = fill_document(store, document, "Tea")
        (kept,) = fill_document(store, document, "Milk")
        rows = [a_vector(gone.id), a_vector(kept.id), a_vector("unknown")]
        assert add_vectors(store, *rows) == 1
        with store.write() as work:
            work.documents.erase(HERS, [document.id], NOW)
        assert add_vectors(store, a_vector(kept.id)) == 0
        with store.read() as work:
            assert work.partitions.count([HERS]) == counted()
            assert work.vectors.missing(HERS, SPACE, 9) == []
