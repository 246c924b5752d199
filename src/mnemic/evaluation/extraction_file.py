"""An evaluation of extraction that can be broken off: what a group produced is kept beside the file until it is whole.

Answers for the groups that are done already, and for belonging: another corpus, or other options, begin anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from mnemic.errors import InvalidInputError
from mnemic.evaluation.dataset import CorpusRow
from mnemic.evaluation.extraction import ExtractionOptions, Produced, run_extraction, write_produced
from mnemic.evaluation.retrieval import Progress


def extract_by_group(
    corpus: Sequence[CorpusRow], options: ExtractionOptions, path: Path, progress: Progress | None = None
) -> list[Produced]:
    """As `run_extraction`, group by group, each in a memory of its own; written to `path` when all are done.

    A call that was broken off goes on behind the last whole group: they stand in `.NAME.unfinished` beside `path`.
    Raises `InvalidInputError` when a file cannot be read or written.
    """
    unfinished = path.with_name(f".{path.name}.unfinished")
    key = _key(corpus, options)
    groups: dict[str, list[CorpusRow]] = {}
    for row in corpus:
        groups.setdefault(row.group, []).append(row)
    done = _read(unfinished, key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        head = [json.dumps({"key": key}), *(_line(group, rows) for group, rows in done.items())]
        unfinished.write_text("".join(f"{line}\n" for line in head), encoding="utf-8")
        for group, rows in groups.items():
            if group not in done:
                done[group] = run_extraction(rows, options, progress)
                with unfinished.open("a", encoding="utf-8") as out:
                    out.write(_line(group, done[group]) + "\n")
    except OSError as error:
        raise InvalidInputError(f"{unfinished} cannot be written: {error}") from error
    produced = [each for group in groups for each in done[group]]
    write_produced(path, produced)
    with suppress(OSError):  # a file too many beside a complete one
        unfinished.unlink(missing_ok=True)
    return produced


def _key(corpus: Sequence[CorpusRow], options: ExtractionOptions) -> str:
    told = json.dumps([[asdict(row) for row in corpus], asdict(options)], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()


def _line(group: str, produced: Sequence[Produced]) -> str:
    return json.dumps({"group": group, "produced": [asdict(each) for each in produced]})


def _read(path: Path, key: str) -> dict[str, list[Produced]]:
    """What each group produced; of another key nothing, and a line that was cut off is left out."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}; remove it to begin anew") from error
    try:
        head, *rows = (json.loads(line) for line in lines)
        if head.get("key") != key:
            return {}
        return {str(row["group"]): [_produced(each) for each in row["produced"]] for row in rows}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(f"{path} is no unfinished evaluation; remove it to begin anew") from error


def _produced(row: Mapping[str, object]) -> Produced:
    lists = {name: tuple(row[name]) for name in ("supersedes", "source_ids")}  # type: ignore[arg-type]
    return Produced(**{**row, **lists})  # type: ignore[arg-type]
