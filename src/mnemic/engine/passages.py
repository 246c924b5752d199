"""Decides which passages a question admits, and joins neighbouring passages into excerpts."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from mnemic.engine.engine import PAGE_ROWS, Engine
from mnemic.engine.inputs import Question
from mnemic.model.candidates import IndexQuery
from mnemic.model.document import Document, DocumentQuery
from mnemic.model.filter import EVERYTHING, Filter, field_at, meets, names_only_metadata
from mnemic.model.item import Chunk, Kind, ResearchQuote, State, Trust
from mnemic.model.recall import Hit
from mnemic.model.scope import Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text import outline
from mnemic.text.sentences import sentences

_GAP = 8  # characters: successive chunks within this gap belong together, since it is white space
_PAST_CANDIDATES = 10
"""Factor on the nearest passages for questions about the past, since some will turn out to be newer."""


def passage_query(engine: Engine, visible: Visibility, question: Question, query: IndexQuery) -> IndexQuery | None:
    """The index query for passages; None if a search of all else has shown that there are none."""
    if question.asks_memory and not any(engine.passage_places.holds(partition) for partition in visible.partitions):
        return None
    allowed = None if question.filter == EVERYTHING else _admitted_passages(engine, visible, question.filter)
    limit = query.dense_limit * (_PAST_CANDIDATES if question.is_about_the_past else 1)
    return replace(query, allowed=allowed, dense_limit=limit)


def admits(engine: Engine, visible: Visibility, filter_: Filter, chunk: Chunk) -> bool:
    """True if a chunk's document matches a filter."""
    with engine.store.read() as work:
        found = work.documents.get(visible, [chunk.document_id])
    return any(meets(lambda path, d=document: _field(d, path), filter_) for document in found)


def _admitted_passages(engine: Engine, visible: Visibility, filter_: Filter) -> frozenset[str] | None:
    """The passages of documents that match a filter, None for all. Fields: kind ("document"), level, source, agent
    (owner), trust, state, created_at, updated_at, observed_at (last read) and metadata.
    """
    admitted: list[Document] = []
    known = 0
    with engine.store.read() as work:
        after: tuple[str, str] | None = None
        while page := work.documents.list(visible, DocumentQuery(limit=PAGE_ROWS, after=after)):
            known += len(page)
            admitted += [document for document in page if meets(lambda path, d=document: _field(d, path), filter_)]
            after = (page[-1].source, page[-1].id)
        if len(admitted) == known:
            return None
        return frozenset(
            chunk.id
            for document in admitted
            for chunk in work.documents.passages(visible, document.id, 0, document.chunks)
        )


def messages_that_meet(work: UnitOfWork, visible: Visibility, filter_: Filter) -> set[str]:
    """Ids of the messages whose metadata matches a filter. None match if it names any other field."""
    if filter_ == EVERYTHING or not names_only_metadata(filter_):
        return set()
    known = work.conversations.metadata(visible).items()
    return {each for each, metadata in known if meets(lambda path, m=metadata: field_at(m, path[1:]), filter_)}


def _field(document: Document, path: Sequence[str]) -> object:
    values: dict[str, object] = {
        "kind": Kind.DOCUMENT,
        "state": State.ACTIVE,
        "level": document.level,
        "source": document.source,
        "agent": document.private_agent,
        "trust": Trust.DOCUMENT,
        "observed_at": document.updated_at,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        "metadata": document.metadata,
    }
    return field_at(values.get(path[0]), path[1:])


def with_quotes(engine: Engine, question: Question, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits with a quote for each passage."""
    asked = {term for text in {question.text, question.search_text} for term in engine.analyser.query_terms(text)}
    return tuple(
        replace(hit, quote=_quote(engine, asked, hit.item)) if isinstance(hit.item, Chunk) else hit for hit in hits
    )


def _quote(engine: Engine, asked: Collection[str], chunk: Chunk) -> ResearchQuote | None:
    """The sentence, or row of a table, with the most of the terms in question, which count more the fewer sentences of
    the passage have them; None if no sentence has any.
    """
    spans: list[tuple[int, int]] = []
    for block in outline.blocks(chunk.text):
        inner = chunk.text[block.start : block.end]
        is_table = block.kind is outline.BlockKind.TABLE
        found = outline.lines(inner, 0, len(inner)) if is_table else sentences(inner)
        spans += ((block.start + start, block.start + end) for start, end in found)
    shared = [{*engine.analyser.terms(chunk.text[start:end])}.intersection(asked) for start, end in spans]
    known = Counter(term for terms in shared for term in terms)
    if not known:
        return None
    best = max(range(len(spans)), key=lambda place: sum(1 / known[term] for term in shared[place]))
    start, text = chunk.start + spans[best][0], chunk.text[slice(*spans[best])].rstrip()
    return ResearchQuote(text, start, start + len(text), chunk.page, chunk.last_page)


@dataclass(frozen=True, slots=True)
class Passage:
    """Characters `start` (inclusive) to `end` (exclusive) of a document; `hit` is the best chunk. `text` repeats
    nothing if chunks overlap; white space between chunks is blank lines or a blank. Ends on `last_page`.
    """

    hit: Hit
    chunk: Chunk
    text: str
    start: int
    end: int
    ids: tuple[str, ...]
    indexes: tuple[int, int]
    last_page: int | None = None


def passages_of(hits: Sequence[Hit]) -> list[Passage]:
    """Group chunk hits into passages, best first. Overlapping or successive chunks of a page are joined."""
    found: list[Passage] = []
    for hit in hits:
        if isinstance(hit.item, Chunk):
            found = _add_passage(found, _passage(hit, hit.item))
    return found


def widened(engine: Engine, visible: Visibility, passage: Passage, others: Sequence[Passage]) -> Passage:
    """Extend a passage by the chunks around its best one, within the section and page, without overlap."""
    chunk = passage.chunk
    taken = {i for other in others for i in other.ids}
    with engine.store.read() as work:
        beside = work.documents.passages(visible, chunk.document_id, max(chunk.index - 1, 0), 3)
    for each in beside:
        is_free = each.partition == chunk.partition and each.headings == chunk.headings and each.id not in taken
        if is_free and each.id not in passage.ids and _touches(passage, _passage(passage.hit, each)):
            passage = _join_passages(passage, _passage(passage.hit, each))
    return passage


def _passage(hit: Hit, chunk: Chunk) -> Passage:
    return Passage(
        hit, chunk, chunk.text, chunk.start, chunk.end, (chunk.id,), (chunk.index, chunk.index), chunk.last_page
    )


def _add_passage(found: list[Passage], passage: Passage) -> list[Passage]:
    """The passages with one more, which may close the gap between two of them."""
    beside = [each for each in found if _touches(each, passage)]
    if not beside:
        return [*found, passage]
    joined = beside[0]
    for each in (*beside[1:], passage):
        joined = _join_passages(joined, each)
    return [joined if each is beside[0] else each for each in found if each is beside[0] or each not in beside]


def _touches(one: Passage, other: Passage) -> bool:
    a, b = one.chunk, other.chunk
    is_same = a.document_id == b.document_id and a.partition == b.partition and a.page == b.page
    is_beside = one.indexes[0] <= other.indexes[1] + 1 and other.indexes[0] <= one.indexes[1] + 1
    return is_same and is_beside and max(one.start, other.start) - min(one.end, other.end) <= _GAP


def _join_passages(best: Passage, other: Passage) -> Passage:
    """Both joined; keeps the hit of the better one."""
    first, last = (best, other) if best.start <= other.start else (other, best)
    gap = last.start - first.end
    between = "\n\n" if gap > 1 else " " * (gap == 1)
    text = first.text if last.end <= first.end else first.text[: last.start - first.start] + between + last.text
    return replace(
        best,
        text=text,
        start=first.start,
        end=max(first.end, last.end),
        ids=tuple(dict.fromkeys(best.ids + other.ids)),
        indexes=(min(first.indexes[0], last.indexes[0]), max(first.indexes[1], last.indexes[1])),
        last_page=max((best, other), key=lambda each: each.end).last_page,
    )
