"""An evaluation of extraction that can be broken off: what a group produced is kept beside the file until it is whole.

Answers for the groups that are done already, and for belonging: another corpus, or other options, begin anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mnemic.evaluation.dataset import CorpusRow
from mnemic.evaluation.extraction import ExtractionOptions, Produced, run_extraction, write_produced
from mnemic.evaluation.retrieval import Progress
from mnemic.evaluation.unfinished import Unfinished


def extract_by_group(
    corpus: Sequence[CorpusRow], options: ExtractionOptions, path: Path, progress: Progress | None = None
) -> list[Produced]:
    """As `run_extraction`, group by group, each in a memory of its own; written to `path` when all are done.

    A call that was broken off goes on behind the last whole group: they stand in `.NAME.unfinished` beside `path`.
    Raises `InvalidInputError` when a file cannot be read or written.
    """
    unfinished = Unfinished(path, _key(corpus, options))
    groups: dict[str, list[CorpusRow]] = {}
    for row in corpus:
        groups.setdefault(row.group, []).append(row)
    try:
        done = {str(row["group"]): [_produced(each) for each in row["produced"]] for row in unfinished.known()}
    except (KeyError, TypeError) as error:
        raise unfinished.foreign() from error
    unfinished.begin(_line(group, produced) for group, produced in done.items())
    for group, rows in groups.items():
        if group not in done:
            done[group] = run_extraction(rows, options, progress)
            unfinished.add([_line(group, done[group])])
    produced = [each for group in groups for each in done[group]]
    write_produced(path, produced)
    unfinished.end()
    return produced


def _key(corpus: Sequence[CorpusRow], options: ExtractionOptions) -> str:
    told = json.dumps([[asdict(row) for row in corpus], asdict(options)], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()


def _line(group: str, produced: Sequence[Produced]) -> dict[str, object]:
    return {"group": group, "produced": [asdict(each) for each in produced]}


def _produced(row: dict[str, Any]) -> Produced:
    lists: dict[str, Any] = {name: tuple(row[name]) for name in ("supersedes", "source_ids")}
    return Produced(**(row | lists))
