"""Runs a test set through the public verbs: every group (or haystack) is a user, each question a recall. Documents have
one passage per row. Rankings are kept beside the run file until it is complete. Another test set or other options start
again.
"""

import time
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import MEMORY_URL, Config
from mnemic.engine.engine import Engine, new_id
from mnemic.engine.indexing import document_vectors, indexed_text, passage_terms, put_vectors
from mnemic.errors import InvalidInputError
from mnemic.evaluation.dataset import (
    CorpusRow,
    Dataset,
    LabelledQuestion,
    Progress,
    Ranking,
    Unfinished,
    read_json_lines,
    silent,
    write_json_lines,
)
from mnemic.evaluation.embedders import CachingEmbedder, KeptVectors
from mnemic.model.document import Document, DocumentStatus
from mnemic.model.item import Chunk, Kind, Role
from mnemic.model.listing import batched, group_pairs
from mnemic.model.scope import Level, Scope, as_utc
from mnemic.ports.observer import Clock


def keep_passages(engine: Engine, scope: Scope, rows: Sequence[CorpusRow]) -> list[tuple[str, str]]:
    """Store each row as the user's document with a title and one passage. Returns (passage id, row id)."""
    now = engine.clock.now()
    documents = [_document_row(scope, row, now) for row in rows]
    chunks = [_chunk(document, row, now) for document, row in zip(documents, rows, strict=True)]
    texts = [indexed_text(chunk) for chunk in chunks]
    vectors = document_vectors(engine, texts)
    with engine.store.write() as work:
        for document, row, chunk in zip(documents, rows, chunks, strict=True):
            work.documents.fill(document, row.text, [(chunk, passage_terms(engine, chunk))])
        put_vectors(engine, work, [(chunk.partition, chunk.id) for chunk in chunks], vectors, now)
    return [(chunk.id, row.id) for chunk, row in zip(chunks, rows, strict=True)]


def _document_row(scope: Scope, row: CorpusRow, now: datetime) -> Document:
    return Document(
        id=new_id(now),
        partition=scope.partition(Level.USER),
        source=row.id,
        title=row.title or "",
        media_type="text/plain",
        status=DocumentStatus.READY,
        created_at=now,
        updated_at=now,
    )


def _chunk(document: Document, row: CorpusRow, now: datetime) -> Chunk:
    chunk = Chunk(
        id=new_id(now),
        partition=document.partition,
        document_id=document.id,
        index=0,
        start=0,
        end=len(row.text),
        text=row.text,
        token_count=len(row.text.split()),
        title=document.title,
        source=document.source,
        created_at=now,
        observed_at=now,
    )
    return chunk if row.time is None else replace(chunk, observed_at=as_utc(row.time, "time"))


STORES = ("sqlite", "memory")
ID_KEY = "corpus_id"
"""The metadata key with a document's row id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalOptions:
    """`store`: "sqlite" (a temporary file), "memory", or the URL of an empty store, which keeps what the run writes.
    `embedder`, `reranker`: as in `Config`. `limit`: hits per question.
    """

    store: str = "sqlite"
    embedder: str = "minilm"
    reranker: str = "none"
    limit: int = 100
    batch: int = 256

    def __post_init__(self) -> None:
        if self.store not in STORES and "://" not in self.store:
            raise InvalidInputError(f"store {self.store!r} is not one of {', '.join(STORES)} or a URL")
        if self.limit < 1 or self.batch < 1:
            raise InvalidInputError("limit and batch must be at least 1")


@dataclass(frozen=True, slots=True)
class Space:
    """One user: the rows in that user's memory, and the questions."""

    user: str
    rows: Sequence[CorpusRow]
    questions: Sequence[LabelledQuestion]


class QuestionClock:
    """A clock that within `at` shows a question's time, so that "yesterday" has its original meaning."""

    def __init__(self, inner: Clock) -> None:
        self._inner = inner
        self._asked: datetime | None = None

    def now(self) -> datetime:
        """The current time, or the question's."""
        return self._asked or self._inner.now()

    @contextmanager
    def at(self, time: datetime | None) -> Generator[None]:
        """Show this time. None: the current time."""
        self._asked = time
        try:
            yield
        finally:
            self._asked = None


def run_retrieval(
    dataset: Dataset,
    options: RetrievalOptions | None = None,
    progress: Progress | None = None,
    answered: Collection[str] = (),
    vectors: KeptVectors | None = None,
    together: int = 1,
) -> Iterator[Ranking]:
    """The rankings of all questions except the `answered` ones, space by space, from a temporary store or an empty one
    by URL. Raises `InvalidInputError` if the store holds anything.

    `vectors` are used and extended: runs that share them embed each text once. `together`: concurrent questions, for a
    remote store. A question with a time is asked at that time. `Ranking.ms` is the recall call alone, including the
    question's embedding. Fallback hits count as not found. Rows with blank text are never stored.
    """
    options, told = options or RetrievalOptions(), progress or silent
    left = [replace(s, questions=[q for q in s.questions if q.id not in answered]) for s in spaces_of(dataset)]
    spaces = [space for space in left if space.questions]
    rows, questions = sum(len(s.rows) for s in spaces), sum(len(s.questions) for s in spaces)
    kept = asked = 0
    with (
        opened(options, vectors) as (mnemic, clock, parts),
        ThreadPoolExecutor(together, thread_name_prefix="mnemic-eval") as pool,
    ):
        for space in spaces:
            ids: dict[str, list[str]] = {}
            for batch in stored(mnemic, space, options.batch, parts):
                for item_id, corpus_id in batch:
                    ids.setdefault(item_id, []).append(corpus_id)
                kept += len(batch)
                told("store", kept, rows)
            ask = partial(_ask_question, mnemic, space, ids, options.limit)
            for some in _group_by_time(space.questions, together):
                with clock.at(some[0].time):
                    yield from pool.map(ask, some) if len(some) > 1 else map(ask, some)
                asked += len(some)
                told("ask", asked, questions)


def write_run(path: Path, rankings: Iterable[Ranking]) -> list[Ranking]:
    """Write one JSON row per ranking, compressed if the name ends in `.gz`. The file appears when complete."""
    written = list(rankings)
    write_json_lines(path, map(_row, written))
    return written


def read_run(path: Path) -> list[Ranking]:
    """The rankings of a run file. Raises `InvalidInputError`, naming file and line."""
    rankings: list[Ranking] = []
    for number, row in read_json_lines(path):
        qid, ranked, ms = row.get("qid"), row.get("ranked"), row.get("ms")
        if not isinstance(qid, str) or not isinstance(ranked, list):
            raise InvalidInputError(f"{path}, line {number}: a row must have a qid and a list of ranked ids")
        ids = [str(i) for i in cast("list[object]", ranked)]
        rankings.append(Ranking(qid, ids, float(ms) if isinstance(ms, int | float) else None))
    return rankings


@contextmanager
def opened(
    options: RetrievalOptions, vectors: KeptVectors | None = None
) -> Generator[tuple[Mnemic, QuestionClock, Engine]]:
    """An empty memory and its clock, in a temporary store or an empty one. `vectors` as in `run_retrieval`."""
    with TemporaryDirectory(prefix="mnemic-eval-") as folder:
        stores = {"memory": MEMORY_URL, "sqlite": str(Path(folder) / "memory.db")}
        store = stores.get(options.store, options.store)
        parts = build(Config(store=store, embedder=options.embedder, reranker=options.reranker))
        if parts.embedder is not None:
            main, *further = (CachingEmbedder(embedder, vectors) for embedder in parts.embedders)
            parts = replace(parts, embedder=main, further_embedders=tuple(further))
        clock = QuestionClock(parts.clock)
        with Mnemic(replace(parts, clock=clock), has_worker=False) as mnemic:
            if mnemic.partitions:
                raise InvalidInputError("the store for an evaluation must be empty; choose another store")
            yield mnemic, clock, parts


def spaces_of(dataset: Dataset) -> list[Space]:
    """A space per group with questions, or per question if each has its haystack."""
    rows = [row for row in dataset.corpus if row.text.strip()]
    by_group = group_pairs((row.group, row) for row in rows)
    if dataset.haystacks is not None:
        by_session = group_pairs((row.session or "", row) for row in rows)
        return [
            Space(q.id, [row for s in dataset.haystacks[q.id] for row in by_session.get(s, ())], [q])
            for q in dataset.questions
        ]
    asked = group_pairs((question.group, question) for question in dataset.questions)
    return [Space(group, by_group.get(group, ()), questions) for group, questions in asked.items()]


def stored(mnemic: Mnemic, space: Space, batch: int, parts: Engine | None = None) -> Iterator[list[tuple[str, str]]]:
    """Store the rows of a space. Yields (item id, corpus row id) once they are durable. A row of a session is a
    message, one with a title a passage of a document (a memory without `parts`), any other a memory.
    """
    user = Scope(user=space.user)
    sessions = group_pairs((row.session, row) for row in space.rows)
    others = sessions.pop(None, [])
    for session, rows in sessions.items():
        for part in batched(rows, batch):
            turns = mnemic.capture_many(replace(user, session=session), _exchanges(part))
            messages = [message for turn in turns for message in turn.messages]
            yield [(message.id, row.id) for message, row in zip(messages, part, strict=True)]
    if parts is not None:
        for part in batched([row for row in others if row.title], batch):
            yield keep_passages(parts, user, part)
    for part in batched([row for row in others if not row.title or parts is None], batch):
        memories = mnemic.remember_many(user, [_document(row) for row in part])
        yield [(memory.id, row.id) for memory, row in zip(memories, part, strict=True)]


def _exchanges(rows: Sequence[CorpusRow]) -> list[list[Mapping[str, object]]]:
    """The messages of a session, split before each that neither assistant nor tool wrote."""
    exchanges: list[list[Mapping[str, object]]] = []
    for row in rows:
        role = row.role or Role.USER.value
        if not exchanges or role == Role.USER.value:
            exchanges.append([])
        exchanges[-1].append(row.message())
    return exchanges


def _document(row: CorpusRow) -> Mapping[str, object]:
    text = "\n".join(part for part in (row.title, row.text) if part)
    return {"text": text, "kind": Kind.DOCUMENT, "observed_at": row.time, "metadata": {ID_KEY: row.id}}


def _group_by_time(questions: Sequence[LabelledQuestion], most: int) -> Iterator[list[LabelledQuestion]]:
    """The questions in order, in groups of up to `most` with the same time."""
    for _, same in groupby(questions, key=lambda question: question.time):
        while some := list(islice(same, most)):
            yield some


def _ask_question(
    mnemic: Mnemic, space: Space, ids: Mapping[str, Sequence[str]], limit: int, question: LabelledQuestion
) -> Ranking:
    scope = Scope(user=space.user)
    start = time.perf_counter()
    recall = mnemic.recall(scope, question.text, limit=limit)
    ms = (time.perf_counter() - start) * 1e3
    found = () if recall.is_fallback else recall.hits
    return Ranking(question.id, [corpus_id for hit in found for corpus_id in ids[hit.id]], round(ms, 3))


class UnfinishedRun:
    """The rankings of a run for `path`. `known`: those of an interrupted run with the same `key`. Raises
    `InvalidInputError` like `Unfinished`.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path = path
        self._unfinished = Unfinished(path, key)
        try:
            self.known = [_ranking(row) for row in self._unfinished.known()]
        except (KeyError, TypeError) as error:
            raise self._unfinished.foreign() from error

    def write(self, rankings: Iterable[Ranking]) -> list[Ranking]:
        """Keep each ranking at once, and write all at the end. Returns them, the known ones first."""
        every = list(self.known)
        self._unfinished.begin(map(_row, every))
        self._unfinished.add(_row(ranking) for ranking in _note_rankings(rankings, every))
        write_run(self._path, every)
        self._unfinished.end()
        return every


def _note_rankings(rankings: Iterable[Ranking], every: list[Ranking]) -> Iterator[Ranking]:
    for ranking in rankings:
        yield ranking
        every.append(ranking)


def _row(ranking: Ranking) -> dict[str, object]:
    return {"qid": ranking.qid, "ranked": list(ranking.ranked), "ms": ranking.ms}


def _ranking(row: dict[str, Any]) -> Ranking:
    return Ranking(str(row["qid"]), [str(i) for i in row["ranked"]], row["ms"])
