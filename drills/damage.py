"""Loses or damages a store's files, in use and at rest. No acknowledged write may be lost without being reported.

In use, the file, its folder or its log is deleted, renamed, replaced or truncated while the store is open. If a write
is acknowledged after that, a process that opens the file later must find it. At rest, single bytes are flipped. After
that, every verb must return a result or raise a typed error, `doctor` must report a write that fails, an export must
list what it lacks, and `rescue` must save a sound store. The drill also counts logs whose end was truncated or flipped
at rest: SQLite drops such an end without a trace.

    python drills/damage.py --flips 500 --seconds 240
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.memory import file_problems, opened
from drills.kit.outcome import Outcome, options
from mnemic.api import Mnemic
from mnemic.api.doors import rescue_store
from mnemic.errors import DamagedError, MnemicError
from mnemic.model.health import Condition
from mnemic.model.scope import Scope

ANNA = Scope(user="anna")
RAW = (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError, sqlite3.Error)
"""What a verb never ends in."""

ROWS, TRIES, TAILS = 60, 6, 12
SEED = 20


def main() -> int:
    """Exit code 1 when a write is lost without being told, or a verb ends in a raw error."""
    told = options(__doc__, flips=500, seconds=240)
    facts: Counter[str] = Counter()
    problems: list[str] = []
    with TemporaryDirectory() as folder:
        for name, lose in LOSSES.items():
            problems += lose_in_use(Path(folder) / name.replace(" ", "-"), name, lose, facts)
        problems += flip_at_rest(Path(folder) / "flips", told.flips, time.monotonic() + told.seconds, facts)
        count_tails(Path(folder) / "tails", facts)
    return Outcome(name="damage", about=__doc__ or "", facts=dict(facts), problems=problems).told()


def _log(path: Path) -> Path:
    return Path(f"{path}-wal")


def _replace(path: Path) -> None:
    copy = Path(f"{path}.copy")
    shutil.copy(path, copy)
    copy.replace(path)


LOSSES: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "renamed": lambda path: path.rename(f"{path}.old"),
    "replaced": _replace,
    "cut to nothing": lambda path: os.truncate(path, 0),
    "cut by half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "folder renamed": lambda path: path.parent.rename(f"{path.parent}-moved"),
    "log deleted": lambda path: _log(path).unlink(),
    "log replaced": lambda path: _replace(_log(path)),
    "log cut to nothing": lambda path: os.truncate(_log(path), 0),
    "log cut by half": lambda path: os.truncate(_log(path), _log(path).stat().st_size // 2),
}


def fill(path: Path) -> None:
    """Some memories with a log that is written into the file."""
    path.parent.mkdir(parents=True)
    with opened(path) as mnemic:
        for number in range(ROWS):
            mnemic.remember(ANNA, f"Memory {number} is kept")


def lose_in_use(folder: Path, name: str, lose: Callable[[Path], object], facts: Counter[str]) -> list[str]:
    """Take the file away from under an open store, write on, and look who was told what."""
    path, problems, kept = folder / "memory.db", list[str](), list[str]()
    fill(path)
    with opened(path) as mnemic:
        mnemic.remember(ANNA, "Before the loss")
        lose(path)
        for number in range(TRIES):
            try:
                kept.append(mnemic.remember(ANNA, f"After the loss {number}").text)
            except MnemicError as error:
                facts["writes refused after a loss"] += 1
                if not isinstance(error, DamagedError):
                    problems.append(f"{name}: refused as {type(error).__name__}: {error}")
        is_ready = mnemic.doctor(is_quick=True).condition is not Condition.BROKEN
        if is_ready and len(kept) < TRIES:
            problems.append(f"{name}: writes are refused, and readiness says nothing")
    if kept:
        with opened(path) as mnemic:
            there = {memory.text for memory in mnemic.list(ANNA, limit=1000).memories}
        problems += [f"{name}: {text!r} was acknowledged and is gone" for text in kept if text not in there]
    facts["ways to lose a file"] += 1
    return problems


def flip_at_rest(folder: Path, flips: int, end: float, facts: Counter[str]) -> list[str]:
    """Flip one byte at a time of a store at rest, in a copy, and use every verb that matters."""
    rng = random.Random(SEED)  # noqa: S311 -- the same flips in every run
    problems, sound = list[str](), folder / "sound.db"
    fill(sound)
    content = sound.read_bytes()
    for number in range(flips):
        if time.monotonic() > end:
            break
        place = rng.randrange(len(content))
        path = folder / f"{number}.db"
        path.write_bytes(content[:place] + bytes([content[place] ^ (1 << rng.randrange(8))]) + content[place + 1 :])
        problems += [f"byte {place}: {problem}" for problem in use(path, facts)]
        facts["flips"] += 1
        for each in folder.glob(f"{number}.*"):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    return problems


def use(path: Path, facts: Counter[str]) -> list[str]:
    """What is wrong with how a damaged store behaves."""
    problems: list[str] = []
    try:
        with opened(path) as mnemic:
            is_told = mnemic.doctor().condition is Condition.BROKEN
            facts["told by doctor"] += is_told
            outcomes = {name: _try(verb, problems, name) for name, verb in _verbs(mnemic).items()}
            if not outcomes["remember"] and not is_told:
                problems.append("a write fails, and doctor says that all is well")
            if not is_told and outcomes["export"] not in (None, ROWS + 1):
                problems.append(f"an export holds {outcomes['export']} of {ROWS + 1} memories, and nothing tells")
    except MnemicError:
        facts["refused at opening"] += 1
        is_told = True
    except RAW as error:
        return [f"opening: {type(error).__name__}: {error}"]
    if is_told:
        problems += save(path, facts)
    return problems


def _verbs(mnemic: Mnemic) -> dict[str, Callable[[], object]]:
    return {
        "list": lambda: mnemic.list(ANNA, limit=1000).memories,
        "recall": lambda: mnemic.recall(ANNA, "memory"),
        "remember": lambda: mnemic.remember(ANNA, "A further one"),
        "export": lambda: sum('"type":"memory"' in line.replace(" ", "") for line in mnemic.export(ANNA)),
    }


def _try(verb: Callable[[], object], problems: list[str], name: str) -> object:
    try:
        return verb()
    except MnemicError:
        return None
    except RAW as error:
        problems.append(f"{name}: {type(error).__name__}: {error}")
        return None


def save(path: Path, facts: Counter[str]) -> list[str]:
    """Rescue what is left; the new store must be sound."""
    new = path.with_suffix(".new.db")
    try:
        report = rescue_store(path, new)
    except MnemicError:
        facts["nothing to rescue"] += 1
        return []
    facts["rescued"] += 1
    facts["memories rescued"] += report.rows.get("memories", 0)
    facts["memories lost"] += max(ROWS - report.rows.get("memories", 0), 0)
    return [f"after a rescue: {problem}" for problem in file_problems(new)]


def count_tails(folder: Path, facts: Counter[str]) -> None:
    """Cut or flip the end of a log at rest, as a process that was killed leaves it."""
    rng = random.Random(SEED)  # noqa: S311 -- as above
    source = folder / "memory.db"
    fill(source)
    with opened(source) as mnemic:
        for number in range(TRIES):
            mnemic.remember(ANNA, f"In the log {number}")
        log, rows, claim = (Path(f"{source}{suffix}").read_bytes() for suffix in ("-wal", "", "-acks"))
    for number in range(TAILS):
        path = folder / f"{number}.db"
        path.write_bytes(rows)
        place = len(log) - rng.randrange(1, len(log) // 2)
        tail = b"" if number % 2 else bytes([log[place] ^ 255]) + log[place + 1 :]
        _log(path).write_bytes(log[:place] + tail)
        Path(f"{path}-acks").write_bytes(claim)
        with opened(path) as mnemic:
            there = len(mnemic.list(ANNA, limit=1000).memories)
            is_told = any(finding.part == "log" for finding in mnemic.doctor().findings)
        facts["tails of logs damaged at rest"] += 1
        facts["of these with rows lost"] += there < ROWS + TRIES
        facts["of these told"] += is_told and there < ROWS + TRIES


if __name__ == "__main__":
    sys.exit(main())
