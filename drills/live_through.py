"""Imports a real session log and simulates most of a year, with a small model and without a model.

The worker runs at 03:30 of every simulated night. Summaries, reflections, fading, eviction and deletion must happen on
time. All messages that left the window are summarised immediately, and the others after half an hour without messages.
Every ten summaries produce a reflection. Importance halves in thirty days. Memories are archived after half a year and
deleted thirty days later, while reflections and messages are kept. At the end, all jobs run again, and nothing may
change. Extraction and curation are turned off, because they have their own drills. With a model, only the first quarter
of the log is used, and every three summaries produce a reflection, because a small model is slow.

    MNEMIC_DATA=path/to/data python drills/live_through.py [--model 0]
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.outcome import Outcome, options
from mnemic.adapters.llms.registry import open_llm
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.model.item import Kind, Memory, State
from mnemic.model.scope import Scope
from mnemic.model.settings import LifeSettings, Settings

LOG = "chat-exports/pi-openclaw/before-compaction.jsonl"
SCOPE = Scope(user="anna")
NIGHTS = (1, 2, 3, 7, 14, 30, 31, 60, 90, 120, 150, 179, 181, 182, 211, 212, 213, 240)
MODEL = "llama-cpp"
ARCHIVED_AFTER, DELETED_AFTER = 180, 211
"""Nights after the import, which is at noon."""


@dataclass(slots=True)
class Calendar:
    """A clock that is set by hand."""

    at: datetime

    def now(self) -> datetime:
        """The time that it shows."""
        return self.at


class Life:
    """One memory through its nights."""

    def __init__(self, folder: Path, text: str, model: str) -> None:
        self.problems: list[str] = []
        self.nights: list[list[str]] = []
        self.costs: Counter[str] = Counter()
        self._text = text
        episodes = 10 if model == "none" else 3
        life = LifeSettings(
            extracts=False, curates=False, reflection_threshold=episodes, reflection_episodes=episodes, llm_tries=2
        )
        settings = Settings(life=life)
        parts = build(Config(store=str(folder / "memory.db"), settings=settings))
        self._begin = datetime(2026, 5, 1, 12, tzinfo=UTC)
        self._clock = Calendar(self._begin)
        llm = None if model == "none" else open_llm(model)
        self._mnemic = Mnemic(replace(parts, clock=self._clock, llm=llm), actor="drill", has_worker=False)

    def run(self) -> None:
        """All nights, and the last one twice."""
        with self._mnemic as mnemic:
            messages = mnemic.import_(SCOPE, self._text).added["message"]
            self._work()
            self._look("the import", messages)
            self._clock.at += timedelta(minutes=31)
            self._work()
            self._look("half an hour later", messages)
            for night in NIGHTS:
                day = self._begin + timedelta(days=night)
                self._clock.at = day.replace(hour=3, minute=30)
                self._work()
                self._look(f"night {night}", messages)
            before = list(mnemic.export(SCOPE))
            again = self._work()
            for session in {str(json.loads(line).get("session")) for line in before if '"type":"message"' in line}:
                mnemic.summarise(replace(SCOPE, session=session), is_flush=True)
            mnemic.decay(SCOPE)
            mnemic.evict(SCOPE)
            if again or list(mnemic.export(SCOPE)) != before:
                self.problems.append(f"a second pass did {again} jobs or changed the export")

    def _work(self) -> int:
        """Until nothing is due; tries that wait for the model are waited for."""
        done = 0
        for _ in range(20):
            report = self._mnemic.work()
            done += report.done
            waiting = [job.run_at for job in self._mnemic.jobs.list(SCOPE, states=["pending"]) if job.error]
            if not waiting:
                break
            self._clock.at = max(self._clock.at, *waiting)
        for job in self._mnemic.jobs.list(SCOPE, states=["dead"]):
            self.problems.append(f"{job.kind} gave up: {job.error}")
        return done

    def _memories(self, state: State) -> Iterator[Memory]:
        after = None
        while True:
            page = self._mnemic.list(SCOPE, states=[state], limit=500, after=after)
            yield from page.memories
            after = page.next
            if after is None:
                return

    def _look(self, when: str, messages: int) -> None:
        active, archived = list(self._memories(State.ACTIVE)), list(self._memories(State.ARCHIVED))
        kinds = Counter(memory.kind for memory in active)
        fallen = sum(bool(memory.bookkeeping.get("fallback")) for memory in active)
        faded = [memory.present_importance for memory in active if memory.kind is Kind.SUMMARY]
        profile = self._mnemic.profile.get(SCOPE)
        said = sum('"type":"message"' in line for line in self._mnemic.export(SCOPE))
        shown = (kinds[Kind.SUMMARY], fallen, kinds[Kind.REFLECTION], len(profile), len(archived))
        lowest = f"{min(faded):.3f}" if faded else "–"
        self.nights.append([when, *(f"{number:,}" for number in shown), lowest])
        if said != messages:
            self.problems.append(f"{when}: {said} messages of {messages} are left")
        self._check(when, active, archived)

    def _check(self, when: str, active: list[Memory], archived: list[Memory]) -> None:
        night = int(when.removeprefix("night ")) if when.startswith("night ") else 0
        summaries = [memory for memory in active if memory.kind is Kind.SUMMARY]
        expected = {
            "there are summaries until they are half a year old": bool(summaries) == (night <= ARCHIVED_AFTER),
            "reflections stay": any(memory.kind is Kind.REFLECTION for memory in active),
            "nothing is in the archive before": bool(archived) == (ARCHIVED_AFTER < night <= DELETED_AFTER),
            "no reflection is archived": all(memory.kind is not Kind.REFLECTION for memory in archived),
            "importance fades": not night or all(_is_faded(memory, night) for memory in summaries),
        }
        self.problems += [f"{when}: not so: {name}" for name, holds in expected.items() if not holds]


def _is_faded(memory: Memory, night: int) -> bool:
    expected = max(memory.importance * 0.5 ** (night / 30), min(0.05, memory.importance))
    return abs(memory.present_importance - expected) < 0.02 * memory.importance


def _first_quarter(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(lines[: len(lines) // 4])


def main() -> int:
    """The command."""
    told = options(__doc__, model=1)
    data = Path(os.environ.get("MNEMIC_DATA", ""))
    if not (data / LOG).is_file():
        print(f"no {LOG} under MNEMIC_DATA: nothing to live through")
        return 0
    text = (data / LOG).read_text("utf-8")
    tables: list[tuple[list[str], list[list[str]]]] = []
    problems: list[str] = []
    for model in ("none", MODEL)[: 1 + bool(told.model)]:
        with TemporaryDirectory(prefix="mnemic-drill-") as folder:
            life = Life(Path(folder), text if model == "none" else _first_quarter(text), model)
            life.run()
        head = [
            f"model: {model}",
            "summaries",
            "made without the model",
            "reflections",
            "profile",
            "archived",
            "faded to",
        ]
        tables.append((head, life.nights))
        problems += [f"{model}: {problem}" for problem in life.problems]
    facts = {"lines of the log": text.count("\n"), "nights": len(NIGHTS)}
    return Outcome(name="live_through", about=__doc__ or "", facts=facts, problems=problems, tables=tables).told()


if __name__ == "__main__":
    sys.exit(main())
