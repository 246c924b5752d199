"""Curates real logs and conversations once, with rules and with the small model, also if a curator is killed.

The logs are in MNEMIC_DATA/chat-exports, and the conversations are from its set halumem. All of them are imported with
a clock that shows the day after the last message, and then curated. A second night must change nothing: the exports
before and after it must be equal. Then, in each round, a curator starts on a new copy and is killed with SIGKILL after
a random part of the time that the whole run took. Another curator completes the work. At the end, every turn must have
been processed, and no gem may be stored twice. Each gem must have its eleven fields and name its messages. With rules,
the gems must be the same as in the undisturbed run.

    python drills/curate_real_logs.py [--long]

The model only reads the first lines of the long log, because it is slow on this machine. Texts are counted, but never
shown.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.outcome import Outcome, options
from mnemic.adapters.llms.registry import open_llm
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.engine.curate import CurateReport, Curating
from mnemic.engine.engine import Engine
from mnemic.errors import BadReplyError, InvalidInputError
from mnemic.model.item import CURATED, IMPORTANCE_WORDS, Kind, Memory, Message, State, Verdict, gem_of
from mnemic.model.scope import Level, Scope
from mnemic.text.gems import known_categories

FOLDER = "chat-exports"
TALKS = "halumem/corpus.jsonl.gz"
LONG_LOG = "pi-openclaw/before-compaction.jsonl"
NO_LOGS = {".md", ".mdx", ""}
SCOPE = Scope(user="anna")
HERS = SCOPE.partition(Level.USER)
MODEL = "llama-cpp"
CHILD = "--child"
HEAD = ["curated by", "days", "turns", "gems", "added", "merged", "quarantined", "refused", "let go", "s"]


@dataclass(slots=True)
class Calendar:
    """A clock that stands still."""

    at: datetime

    def now(self) -> datetime:
        """The time that it shows."""
        return self.at


def opened(path: Path, model: str, at: datetime) -> Mnemic:
    """A Mnemic on a file at a time, curating with a model or without."""
    parts = build(Config(store=str(path)))
    llm = None if model == "none" else open_llm(model)
    return Mnemic(replace(parts, clock=Calendar(at), llm=llm), actor="drill", has_worker=False)


def logs(data: Path, *, most: int | None) -> Iterator[str]:
    """The texts of the logs; with `most`, so many lines of the long one alone."""
    if most is not None:
        yield "".join((data / LONG_LOG).read_text("utf-8").splitlines(keepends=True)[:most])
        return
    for path in sorted((data).rglob("*")):
        if path.is_file() and path.suffix not in NO_LOGS and path.name != "META.json":
            yield path.read_text("utf-8")


def talks(data: Path) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The sessions of the talks, in order."""
    if not data.is_file():
        return
    with gzip.open(data, "rt", encoding="utf-8") as lines:
        for session, turns in groupby(map(json.loads, lines), key=lambda turn: turn["session"]):
            yield session, [{"role": t["role"], "content": t["text"], "observed_at": t["time"]} for t in turns]


def filled(
    path: Path, texts: Sequence[str], sessions: Sequence[tuple[str, list[dict[str, str]]]]
) -> tuple[int, datetime]:
    """A file with the logs and talks: how many messages, and a day after the last of them."""
    with opened(path, "none", datetime.now(UTC)) as mnemic:
        count = 0
        for text in texts:
            try:
                count += sum(mnemic.import_(SCOPE, text).added.values())
            except InvalidInputError:
                continue  # a sample of another kind
        for session, messages in sessions:
            pairs = [messages[place : place + 2] for place in range(0, len(messages), 2)]
            mnemic.capture_many(replace(SCOPE, session=session), pairs)
            count += len(messages)
        last = max((message.observed_at for message in said(mnemic)), default=datetime.now(UTC))
    return count, last + timedelta(days=2)


def parts_in(mnemic: Mnemic) -> Engine:
    """The parts of an open Mnemic: a drill looks at the rows themselves."""
    return mnemic._engine  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- rows have no door


def said(mnemic: Mnemic) -> list[Message]:
    """All messages of the file."""
    with parts_in(mnemic).store.read() as work:
        return work.messages.page(SCOPE.visibility, None, 1_000_000)


def gems(mnemic: Mnemic) -> list[Memory]:
    """All gems, whatever their state but merged ones."""
    found: list[Memory] = []
    after = None
    while True:
        page = mnemic.list(SCOPE, kinds=[Kind.GEM], states=[State.ACTIVE, State.QUARANTINED], limit=500, after=after)
        found += page.memories
        after = page.next
        if after is None:
            return found


def problems_of(mnemic: Mnemic, title: str) -> list[str]:
    """What is wrong with what a finished curator left."""
    kept, messages = gems(mnemic), {message.id: message for message in said(mnemic)}
    found = [f"{title}: a gem is there {count} times" for count in Counter(m.text for m in kept).values() if count > 1]
    for memory in kept:
        gem = gem_of(memory)
        named = [messages[entry.source_id] for entry in memory.provenance if entry.source_id in messages]
        whole = (
            len(asdict(gem)) == 11  # noqa: PLR2004 -- the fields of a gem
            and all(asdict(gem).values())
            and gem.importance in IMPORTANCE_WORDS
            and set(gem.categories) <= set(known_categories())
            and 0 <= gem.confidence <= 1
            and {message.turn for message in messages.values() if message.session == gem.conversation_id}.issuperset(
                gem.source_turns
            )
        )
        if not whole:
            found.append(f"{title}: the gem {memory.id} is not whole")
        if not named:
            found.append(f"{title}: the gem {memory.id} names no message")
    with parts_in(mnemic).store.read() as work:
        behind = work.upkeep.idle(CURATED, datetime.max.replace(tzinfo=UTC), 1000, HERS)
    return found + [f"{title}: {len(behind)} conversations were not read to their end"] * bool(behind)


def curated(mnemic: Mnemic) -> tuple[list[CurateReport], float]:
    """Nights until nothing waits, at most five, and how long they took."""
    begin, reports = time.perf_counter(), list[CurateReport]()
    for _ in range(5):
        run = Curating(parts_in(mnemic), HERS, "drill")
        try:
            days = tuple(run.run(None))
        except BadReplyError:  # what the model could not read waits for the next night
            continue
        reports.append(CurateReport(days, tuple(sorted(run.held)), is_dry_run=False))
        if not run.held:
            break
    return reports, time.perf_counter() - begin


def row(model: str, reports: Sequence[CurateReport], seconds: float) -> list[str]:
    """The numbers of one run."""
    days = [day for report in reports for day in report.days]
    verdicts = Counter(gem.verdict for day in days for gem in day.gems)
    refused = [each for day in days for each in day.refused]
    numbers = (
        len({day.day for day in days}),
        sum(day.turns for day in days),
        sum(verdicts.values()),
        verdicts[Verdict.ADD],
        verdicts[Verdict.MERGE] + verdicts[Verdict.DROP],
        verdicts[Verdict.QUARANTINE],
        len(refused),
        sum(each.is_let_go for each in refused),
    )
    return [model, *(f"{number:,}" for number in numbers), f"{seconds:.0f}"]


def drilled(folder: Path, model: str, data: Path, most: int | None, rounds: int) -> tuple[list[str], list[str], int]:
    """One curator: the numbers of its undisturbed run, what went wrong, and how many messages there were."""
    template = folder / "template.db"
    sessions = [] if most is not None else list(talks(data / TALKS))
    count, at = filled(template, list(logs(data / FOLDER, most=most)), sessions)
    path = _copy(template, folder / "whole.db")
    with opened(path, model, at) as mnemic:
        reports, seconds = curated(mnemic)
        problems = problems_of(mnemic, model)
        expected, before = Counter(memory.text for memory in gems(mnemic)), list(mnemic.export(SCOPE))
        again, _ = curated(mnemic)
        if any(report.days for report in again) or list(mnemic.export(SCOPE)) != before:
            problems.append(f"{model}: a second night changed something")
    chance = random.Random(1)  # noqa: S311 -- no secret hangs on it
    for number in range(rounds):
        path = _copy(template, folder / f"round{number}.db")
        _kill(path, model, at, chance.uniform(0.1, 0.9) * seconds)
        with opened(path, model, at) as mnemic:
            curated(mnemic)
            problems += problems_of(mnemic, f"{model}, round {number}")
            if model == "none" and Counter(memory.text for memory in gems(mnemic)) != expected:
                problems.append(f"{model}, round {number}: other gems than undisturbed")
    return row("rules" if model == "none" else model, reports, seconds), problems, count


def _copy(template: Path, path: Path) -> Path:
    shutil.copyfile(template, path)
    return path


def _kill(path: Path, model: str, at: datetime, after_s: float) -> None:
    """Begin to curate in another process, and kill it after a while."""
    command = [sys.executable, __file__, CHILD, str(path), model, at.isoformat()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None  # noqa: S101 -- it is a pipe; this tells the type checker
        child.stdout.readline()
        time.sleep(after_s)  # the moment of the kill is what this varies
        os.kill(child.pid, signal.SIGKILL)


def be_killed(path: str, model: str, at: str) -> None:
    """Curate until somebody kills this process."""
    with opened(Path(path), model, datetime.fromisoformat(at)) as mnemic:
        print("ready", flush=True)
        curated(mnemic)
        time.sleep(3600)


def main() -> int:
    """The command."""
    told = options(__doc__, long={"rounds": 20, "lines": 40}, rounds=5, lines=8, model=1)
    data = Path(os.environ.get("MNEMIC_DATA", ""))
    if not (data / FOLDER / LONG_LOG).is_file():
        print(f"no {LONG_LOG} under MNEMIC_DATA: nothing to curate")
        return 0
    rows: list[list[str]] = []
    problems: list[str] = []
    facts: dict[str, object] = {}
    for model, most, rounds in (("none", None, told.rounds), (MODEL, told.lines, 1))[: 1 + bool(told.model)]:
        with TemporaryDirectory(prefix="mnemic-drill-") as folder:
            numbers, wrong, count = drilled(Path(folder), model, data, most, rounds)
        rows.append(numbers)
        problems += wrong
        name = "rules" if model == "none" else model
        facts |= {f"messages for {name}": count, f"kills of {name}": rounds}
    return Outcome(
        name="curate_real_logs", about=__doc__ or "", facts=facts, problems=problems, tables=[(HEAD, rows)]
    ).told()


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        be_killed(*sys.argv[2:5])
    else:
        sys.exit(main())
