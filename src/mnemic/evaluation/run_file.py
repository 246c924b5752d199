"""A run that can be broken off: what was ranked is kept beside the run file until that is complete.

Answers for the rankings that are done already, and for belonging: another test set, or other options, begin anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mnemic.errors import InvalidInputError
from mnemic.evaluation.dataset import Dataset
from mnemic.evaluation.metrics import Ranking
from mnemic.evaluation.retrieval import RetrievalOptions, write_run


def run_key(dataset: Dataset, options: RetrievalOptions) -> str:
    """Equal for the same rows and questions with the same options."""
    told = json.dumps([asdict(dataset), asdict(options)], sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()


class UnfinishedRun:
    """The rankings of a run that is to be written to `path`, line by line in `.NAME.unfinished` beside it.

    `known` holds those of a run that was broken off, when its `key` is the same. A line that was cut off is left out.
    Raises `InvalidInputError` when the file cannot be read or written.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key
        self._place = path.with_name(f".{path.name}.unfinished")
        self.known = self._read()

    def write(self, rankings: Iterable[Ranking]) -> list[Ranking]:
        """Keep each ranking as it comes, and write all of them when they have come; returns them, the known ones
        first.
        """
        every = list(self.known)
        begun = self._place.with_name(f"{self._place.name}.new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lines = [{"key": self._key}, *map(_row, every)]
            begun.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            begun.replace(self._place)  # without the line that was cut off
            with self._place.open("a", encoding="utf-8") as out:
                for ranking in rankings:
                    out.write(json.dumps(_row(ranking)) + "\n")
                    out.flush()
                    every.append(ranking)
                os.fsync(out.fileno())
        except OSError as error:
            raise InvalidInputError(f"{self._path} cannot be written: {error}") from error
        write_run(self._path, every)
        with suppress(OSError):  # a file too many beside a complete run
            self._place.unlink(missing_ok=True)
        return every

    def _read(self) -> list[Ranking]:
        try:
            lines = self._place.read_text(encoding="utf-8").split("\n")[:-1]
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(f"{self._place} cannot be read: {error}; remove it to begin anew") from error
        try:
            head, *rows = (json.loads(line) for line in lines)
            if head.get("key") != self._key:
                return []
            return [_ranking(row) for row in rows]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(f"{self._place} is no unfinished run; remove it to begin anew") from error


def _row(ranking: Ranking) -> dict[str, object]:
    return {"qid": ranking.qid, "ranked": list(ranking.ranked), "ms": ranking.ms}


def _ranking(row: dict[str, Any]) -> Ranking:
    return Ranking(str(row["qid"]), [str(i) for i in row["ranked"]], row["ms"])
