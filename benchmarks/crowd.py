"""Measures recall if many users share a store, also while others read and write, through the public verbs."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError
from mnemic.evaluation.speed import SYNTHETIC, GeneratedTexts, Progress, Spread, opened, silent, timed_ms
from mnemic.model.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdOptions:
    """`users` with `memories` each, of whom `active` ask; `recalls` of each kind are measured; `readers` ask at the
    same time as one writer writes.
    """

    users: int = 1_000
    memories: int = 1_000
    active: int = 100
    recalls: int = 200
    readers: int = 2
    embedder: str = SYNTHETIC
    batch: int = 1_000
    seed: int = 1

    def __post_init__(self) -> None:
        if min(self.users, self.memories, self.active, self.recalls, self.readers, self.batch) < 1:
            raise InvalidInputError("users, memories, active, recalls, readers and batch must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdResult:
    """Durations of a recall, embedding included. `alone`: the store holds one such user; `among`: any of the active
    ones among all users, asked before; `first`: the first recall of a user in the process. `beside`: as `among`, by
    several threads while another writes for the same users; `written_per_s`: single durable memories meanwhile.
    """

    users: int
    memories: int
    alone: Spread
    among: Spread
    first: Spread
    beside: Spread
    written_per_s: float


def run_crowd(options: CrowdOptions | None = None, progress: Progress | None = None) -> CrowdResult:
    """Measure in temporary stores."""
    options = options or CrowdOptions()
    with TemporaryDirectory(prefix="mnemic-crowd-") as folder:
        return _Crowd(options, Path(folder), progress or silent).result()


class _Crowd:
    def __init__(self, options: CrowdOptions, folder: Path, progress: Progress) -> None:
        self._options, self._folder, self._progress = options, folder, progress
        self._texts = GeneratedTexts(options.seed)
        self._random = np.random.default_rng(options.seed)

    def result(self) -> CrowdResult:
        options = self._options
        with self._fill_store("one.db", 1) as mnemic:
            self._time_recalls(mnemic, [0])
            alone = Spread.of(self._time_recalls(mnemic, [0] * options.recalls))
        with self._fill_store("many.db", options.users) as mnemic:
            active = self._random.permutation(options.users)[: options.active].tolist()
            first = Spread.of(self._time_recalls(mnemic, active))
            among = Spread.of(self._time_recalls(mnemic, self._draw_users(active)))
            beside, written_per_s = self._beside_a_writer(mnemic, active)
        return CrowdResult(
            users=options.users,
            memories=options.memories,
            alone=alone,
            among=among,
            first=first,
            beside=Spread.of(beside),
            written_per_s=round(written_per_s, 1),
        )

    def _fill_store(self, name: str, users: int) -> Mnemic:
        mnemic = opened(str(self._folder / name), self._options.embedder).mnemic
        for user in range(users):
            texts = list(self._texts.texts(self._options.memories))
            for start in range(0, len(texts), self._options.batch):
                mnemic.remember_many(_scope(user), texts[start : start + self._options.batch])
            self._progress(f"ingest {users:,} users", user + 1, users)
        return mnemic

    def _draw_users(self, active: list[int]) -> list[int]:
        return self._random.choice(active, self._options.recalls).tolist()

    def _time_recalls(self, mnemic: Mnemic, users: list[int]) -> list[float]:
        questions = self._texts.questions(len(users))
        return [
            timed_ms(lambda u=user, q=question: mnemic.recall(_scope(u), q))
            for user, question in zip(users, questions, strict=True)
        ]

    def _beside_a_writer(self, mnemic: Mnemic, active: list[int]) -> tuple[list[float], float]:
        """The durations of the readers, and what the writer wrote in a second."""
        asked = [
            (self._draw_users(active), self._texts.questions(self._options.recalls))
            for _ in range(self._options.readers)
        ]
        texts = list(self._texts.texts(self._options.recalls * self._options.readers))
        times: list[float] = []
        stop = threading.Event()
        written = 0

        def read(users: list[int], questions: list[str]) -> None:
            for user, question in zip(users, questions, strict=True):
                times.append(timed_ms(lambda u=user, q=question: mnemic.recall(_scope(u), q)))

        def write() -> None:
            nonlocal written
            for place, text in enumerate(texts):
                if stop.is_set():
                    return
                mnemic.remember(_scope(active[place % len(active)]), text)
                written += 1

        readers = [threading.Thread(target=read, args=each) for each in asked]
        writer = threading.Thread(target=write)
        start = time.perf_counter()
        for thread in (writer, *readers):
            thread.start()
        for thread in readers:
            thread.join()
        stop.set()
        writer.join()
        return times, written / (time.perf_counter() - start)


def _scope(user: int) -> Scope:
    return Scope(user=f"user-{user}")
