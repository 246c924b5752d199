"""Measures how fast a durable store ingests and searches, by size, through the public verbs, on seeded random texts.
Also measures lower bounds that no design can beat: the embedder alone, and one scan of the vectors alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mnemic_minilm
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.errors import InvalidInputError, UnavailableError
from mnemic.evaluation.dataset import Progress, percentile, silent
from mnemic.evaluation.embedders import SYNTHETIC_DIMS, SyntheticEmbedder, TimedEmbedder
from mnemic.model.scope import Scope
from mnemic.ports.index import Index
from mnemic.ports.models import Embedder

SHORTEST_WORDS = 6  # of a memory: a short sentence
LONGEST_WORDS = 30  # of a memory: two or three sentences
QUESTION_WORDS = 7  # the usual length of people's questions
_UNCOMMON_RANK = 50  # questions use words above this rank, because people ask about something specific


class GeneratedTexts:
    """Distinct texts of 6 to 30 words and questions of 7, reproducible by seed. The words come from the default
    embedder's vocabulary, so each costs about one token. Their frequencies follow Zipf's law (1 / rank).
    """

    def __init__(self, seed: int = 1) -> None:
        pieces = mnemic_minilm.vocab_path().read_text(encoding="utf-8").splitlines()
        self._words = [piece for piece in pieces if len(piece) > 1 and piece.isascii() and piece.isalpha()]
        weights = 1.0 / np.arange(1, len(self._words) + 1)
        self._cumulative = np.cumsum(weights / weights.sum())
        self._random = np.random.default_rng(seed)
        self._given: set[str] = set()

    def texts(self, count: int) -> Iterator[str]:
        """Yields `count` texts that this object never returned before."""
        for _ in range(count):
            text = self._text(int(self._random.integers(SHORTEST_WORDS, LONGEST_WORDS + 1)), 0)
            while text in self._given:
                text = self._text(LONGEST_WORDS, 0)
            self._given.add(text)
            yield text

    def questions(self, count: int) -> list[str]:
        """`count` questions. Repeats are possible but unlikely."""
        return [self._text(QUESTION_WORDS, _UNCOMMON_RANK) + "?" for _ in range(count)]

    def _text(self, words: int, skipped: int) -> str:
        floor = float(self._cumulative[skipped - 1]) if skipped else 0.0
        draws = floor + self._random.random(words) * (1.0 - floor)
        places: NDArray[np.intp] = np.searchsorted(self._cumulative, draws)
        return " ".join(self._words[min(int(place), len(self._words) - 1)] for place in places)


SYNTHETIC = "synthetic"
DEFAULT_SIZES = (1_000, 10_000)  # memories; larger stores take minutes to fill
_USER = "speed"
_WARM_UP = 5  # questions not timed: they load the index and the model
_WINDOW_MESSAGES = 20  # fill the default window
_PROBE_HITS = 10  # as a recall of 10 hits would need


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedOptions:
    """`sizes`: memories of the one user, smallest first. `embedder`: as in `Config`, or "synthetic"."""

    sizes: tuple[int, ...] = DEFAULT_SIZES
    embedder: str = "minilm"
    batch: int = 256
    singles: int = 50
    recalls: int = 200
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.sizes or min(*self.sizes, self.batch, self.singles, self.recalls) < 1:
            raise InvalidInputError("sizes, batch, singles and recalls must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Percentiles of durations in milliseconds."""

    p50_ms: float
    p95_ms: float
    p99_ms: float

    @classmethod
    def of(cls, times_ms: Sequence[float]) -> Spread:
        """The spread of at least one duration."""
        return cls(**{f"p{q}_ms": round(percentile(times_ms, q) or 0.0, 4) for q in (50, 95, 99)})


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedResult:
    """The measurements at one size. Durations are in milliseconds.

    - `ingest_rows_per_s`: durable, in batches. `embedding_rows_per_s`: the embedder alone in the same time, so that
      `ingest_share`, their ratio, does not depend on other load.
    - `remember`: one durable memory. `index_build_s`: until every search structure is built from rows.
    - `window`: a session's last 20 messages. `context`: a whole prompt with profile, window and facts.
    - `recall`: from text to hits, for a new question. `search`: without embedding. `embedding`: the embedding alone.
    - `scan`: one product with all vectors and the best ten.
    - `cold_*`: a new process from its first line to the first answer. `rss_bytes`: its memory, None if unknown.
    """

    memories: int
    embedder: str
    ingest_rows_per_s: float
    embedding_rows_per_s: float
    ingest_share: float
    remember: Spread
    index_build_s: float
    window: Spread
    context: Spread
    recall: Spread
    search: Spread
    embedding: Spread
    scan: Spread
    cold_import_ms: float
    cold_open_ms: float
    cold_recall_ms: float
    rss_bytes: int | None
    disk_bytes: int


def run_speed(options: SpeedOptions | None = None, progress: Progress | None = None) -> Iterator[SpeedResult]:
    """One result per size, each in a fresh temporary store."""
    options = options or SpeedOptions()
    for size in sorted(options.sizes):
        with TemporaryDirectory(prefix="mnemic-speed-") as folder:
            yield _Run(options, size, Path(folder), progress or silent).result()


@dataclass(frozen=True, slots=True)
class Opened:
    """An open memory, its measured embedder, and its index."""

    mnemic: Mnemic
    embedder: TimedEmbedder
    index: Index


def opened(store: str, embedder: str) -> Opened:
    """A memory with a measured embedder. Raises `InvalidInputError` for "none", which leaves nothing to compare."""
    parts = build(Config(store=store, embedder="none" if embedder == SYNTHETIC else embedder))
    inner: Embedder | None = SyntheticEmbedder() if embedder == SYNTHETIC else parts.embedder
    if inner is None:
        parts.store.close()
        raise InvalidInputError("measuring speed requires an embedder")
    timed = TimedEmbedder(inner)
    return Opened(Mnemic(replace(parts, embedder=timed), has_worker=False), timed, parts.index)


class _Run:
    """The measurements at one size, in order."""

    def __init__(self, options: SpeedOptions, size: int, folder: Path, progress: Progress) -> None:
        self._options, self._size, self._folder, self._progress = options, size, folder, progress
        self._texts = GeneratedTexts(options.seed)
        self._store = str(folder / "memory.db")
        self._scope = Scope(user=_USER)

    def result(self) -> SpeedResult:
        memory = opened(self._store, self._options.embedder)
        mnemic, embedder, index = memory.mnemic, memory.embedder, memory.index
        with mnemic:
            embedder.embed_documents(["warm"])
            rows_per_s, embedding_rows_per_s = self._ingest(mnemic, embedder)
            remember = self._remember(mnemic)
            index_build_s = self._time_index(mnemic, index)
            window, context = self._context(mnemic)
            recall, search, embedding = self._recall(mnemic, embedder)
        cold = self._cold()
        return SpeedResult(
            memories=self._size,
            embedder=self._options.embedder,
            ingest_rows_per_s=round(rows_per_s, 1),
            embedding_rows_per_s=round(embedding_rows_per_s, 1),
            ingest_share=round(rows_per_s / embedding_rows_per_s, 3),
            remember=remember,
            index_build_s=round(index_build_s, 3),
            window=window,
            context=context,
            recall=recall,
            search=search,
            embedding=embedding,
            scan=self._scan(),
            cold_import_ms=cold["import_ms"],
            cold_open_ms=cold["open_ms"],
            cold_recall_ms=cold["recall_ms"],
            rss_bytes=cold["rss_bytes"],
            disk_bytes=sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file()),
        )

    def _ingest(self, mnemic: Mnemic, embedder: TimedEmbedder) -> tuple[float, float]:
        """Rows per second, and the embedder's alone in the same time."""
        texts = list(self._texts.texts(self._size))
        before, start = embedder.document_s, time.perf_counter()
        for place in range(0, self._size, self._options.batch):
            mnemic.remember_many(self._scope, texts[place : place + self._options.batch])
            self._progress(f"ingest {self._size:,}", min(place + self._options.batch, self._size), self._size)
        took = time.perf_counter() - start
        return self._size / took, self._size / (embedder.document_s - before)

    def _remember(self, mnemic: Mnemic) -> Spread:
        """The durations of single memories. They are too few to affect later measurements."""
        return Spread.of(
            [timed_ms(lambda t=t: mnemic.remember(self._scope, t)) for t in self._texts.texts(self._options.singles)]
        )

    def _time_index(self, mnemic: Mnemic, index: Index) -> float:
        """Seconds from the first question to a settled index."""
        start = time.perf_counter()
        mnemic.recall(self._scope, self._texts.questions(1)[0])
        index.settle()
        return time.perf_counter() - start

    def _context(self, mnemic: Mnemic) -> tuple[Spread, Spread]:
        """The durations of a session's window, and of a whole context in it."""
        scope = replace(self._scope, session="speed")
        said = list(self._texts.texts(_WINDOW_MESSAGES))
        mnemic.capture_many(scope, [[{"role": "user", "content": text}] for text in said])
        mnemic.profile.set(scope, {"name": "Anna", "home": "Lisbon"})
        window = [timed_ms(lambda: mnemic.window(scope)) for _ in range(self._options.singles)]
        questions = self._texts.questions(self._options.singles)
        context = [timed_ms(lambda q=question: mnemic.context(scope, q)) for question in questions]
        return Spread.of(window), Spread.of(context)

    def _recall(self, mnemic: Mnemic, embedder: TimedEmbedder) -> tuple[Spread, Spread, Spread]:
        for question in self._texts.questions(_WARM_UP):
            mnemic.recall(self._scope, question)
        embedder.query_ms.clear()
        questions = list(dict.fromkeys(self._texts.questions(self._options.recalls)))
        times: list[float] = []
        for done, question in enumerate(questions, start=1):
            times.append(timed_ms(lambda q=question: mnemic.recall(self._scope, q)))
            self._progress(f"recall in {self._size:,}", done, len(questions))
        alone = list(embedder.query_ms)
        return (
            Spread.of(times),
            Spread.of([all_ - own for all_, own in zip(times, alone, strict=True)]),
            Spread.of(alone),
        )

    def _cold(self) -> dict[str, Any]:
        question = self._texts.questions(1)[0]
        command = [sys.executable, "-m", "mnemic.evaluation.cold", self._store, _USER, question, self._options.embedder]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- this very program
        if answer.returncode:
            raise UnavailableError(f"the process that reopens the store failed: {answer.stderr.strip()}")
        return json.loads(answer.stdout)

    def _scan(self) -> Spread:
        """The lower bound of an exact search, over as many random unit vectors of the default size."""
        random = np.random.default_rng(self._options.seed)
        vectors = random.standard_normal((self._size, SYNTHETIC_DIMS), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        hits = min(_PROBE_HITS, self._size - 1)
        return Spread.of(
            [timed_ms(lambda i=i: np.argpartition(-(vectors @ vectors[i % self._size]), hits)) for i in range(100)]
        )


def timed_ms(call: Callable[[], object]) -> float:
    """The duration of a call in milliseconds."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3
