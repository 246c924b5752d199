"""A run that can be broken off: what was ranked is kept beside the run file until that is complete.

Answers for the rankings that are done already, and for belonging: another test set, or other options, begin anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mnemic.evaluation.dataset import Dataset
from mnemic.evaluation.metrics import Ranking
from mnemic.evaluation.retrieval import RetrievalOptions, write_run
from mnemic.evaluation.unfinished import Unfinished


def run_key(dataset: Dataset, options: RetrievalOptions) -> str:
    """Equal for the same rows and questions with the same options."""
    told = json.dumps([asdict(dataset), asdict(options)], sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()


class UnfinishedRun:
    """The rankings of a run that is to be written to `path`; `known` holds those of one that was broken off, when its
    `key` is the same. Raises `InvalidInputError` as `Unfinished`.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path = path
        self._unfinished = Unfinished(path, key)
        try:
            self.known = [_ranking(row) for row in self._unfinished.known()]
        except (KeyError, TypeError) as error:
            raise self._unfinished.foreign() from error

    def write(self, rankings: Iterable[Ranking]) -> list[Ranking]:
        """Keep each ranking as it comes, and write all of them when they have come; returns them, the known ones
        first.
        """
        every = list(self.known)
        self._unfinished.begin(map(_row, every))
        self._unfinished.add(_row(ranking) for ranking in _noted(rankings, every))
        write_run(self._path, every)
        self._unfinished.end()
        return every


def _noted(rankings: Iterable[Ranking], every: list[Ranking]) -> Iterator[Ranking]:
    for ranking in rankings:
        yield ranking
        every.append(ranking)


def _row(ranking: Ranking) -> dict[str, object]:
    return {"qid": ranking.qid, "ranked": list(ranking.ranked), "ms": ranking.ms}


def _ranking(row: dict[str, Any]) -> Ranking:
    return Ranking(str(row["qid"]), [str(i) for i in row["ranked"]], row["ms"])
