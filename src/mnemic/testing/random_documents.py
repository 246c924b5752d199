"""Random operations on documents and their chunks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mnemic.errors import ConflictError, InvalidInputError
from mnemic.model.document import Document, DocumentQuery, DocumentStatus, Heading
from mnemic.model.item import State
from mnemic.ports.store import UnitOfWork
from mnemic.testing.random_nouns import TEXTS, RandomNouns
from mnemic.testing.samples import a_document, passages, terms
from mnemic.text.outline import title_key

Operation = Callable[[UnitOfWork], object]
SOURCES = ("a.md", "a/b.md", "a%_.md", "ü😀.md", "")
UNDER = ("", "a", "a/", "a%", "ü", "A")


@dataclass(slots=True)
class RandomDocuments(RandomNouns):
    """Decides operations on documents. What is refused answers with the name of its error, and its unit of work goes
    on: a refusal must leave nothing behind.
    """

    def document(self) -> Document:
        """A new document, or one with a known id in its own partition: ids are not made twice."""
        pick = self.random.choice
        is_known = bool(self.document_ids) and self.random.randint(0, 1) == 0
        document = a_document(
            pick(SOURCES),
            self.partition(),
            status=pick(tuple(DocumentStatus)),
            title=pick(TEXTS),
            reason=pick(("", "it cannot be read")),
            private_agent=pick((None, None, None, "jarvis", "friday")),
            headings=pick(((), (Heading(0, 1, "ü"), Heading(3, 2, "nul \x00")))),
            pages=pick(((), (0, 7))),
            metadata=self.metadata(),
            bookkeeping=self.metadata(),
            created_at=self.moment(),
            updated_at=self.now,
        )
        if is_known:
            document = replace(document, id=self.random.choice(self.document_ids[-30:]))
            return replace(document, partition=self.places[document.id])
        self.document_ids.append(document.id)
        self.places[document.id] = document.partition
        return document

    def put_document(self) -> Operation:
        """A document is put, perhaps in the place of another."""
        document = self.document()
        return lambda work: _refusal(lambda: work.documents.put([document]))

    def fill_document(self) -> Operation:
        """A document is filled, now and then with the id of another chunk."""
        document = self.document()
        if document.status == DocumentStatus.ERASED:
            document = replace(document, status=DocumentStatus.READY)
        words = [self.random.choice(TEXTS) for _ in range(self.random.randint(0, 3))]
        state = self.random.choice((State.ACTIVE, State.ACTIVE, State.QUARANTINED))
        chunks = passages(document, *words, state=state, observed_at=self.moment(), headings=("ü", "b"))
        self.chunk_ids += [chunk.id for chunk in chunks]
        if chunks and self.random.randint(0, 5) == 0:
            chunks[-1] = replace(chunks[-1], id=self.known(self.chunk_ids))
        rows = [(chunk, terms(chunk.text)) for chunk in chunks]
        return lambda work: _refusal(lambda: work.documents.fill(document, "".join(words), rows))

    def erase_document(self) -> Operation:
        """Two documents are erased, where they are or in vain elsewhere."""
        partition, ids = self.partition(), [self.known(self.document_ids) for _ in range(2)]
        return lambda work: work.documents.erase(partition, ids, self.now)

    def read_documents(self) -> Operation:
        """Every question about documents that there is."""
        visible, ids = self.scope().visibility, [self.known(self.document_ids) for _ in range(3)]
        chunk_ids, first = [self.known(self.chunk_ids) for _ in range(3)], self.random.randint(-1, 2)
        pick = self.random.choice
        query = DocumentQuery(
            statuses=pick(((), (), tuple(self.random.sample(tuple(DocumentStatus), 2)))),
            sources=pick((None, None, SOURCES[:2], ())),
            under=pick(("", *UNDER)),
            titles=pick((None, None, None, frozenset({title_key(pick(TEXTS))}))),
            limit=pick((None, 0, 1, 3)),
            after=pick((None, None, (pick(SOURCES), self.known(self.document_ids)))),
        )
        return lambda work: (
            work.documents.get(visible, ids),
            work.documents.list(visible, query),
            [work.documents.text(visible, i) for i in ids],
            work.documents.chunks(visible, chunk_ids),
            work.documents.passages(visible, ids[0], first, 2),
        )


def _refusal(write: Callable[[], None]) -> str:
    try:
        write()
    except (ConflictError, InvalidInputError) as error:
        return type(error).__name__
    return ""
