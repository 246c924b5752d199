"""Kills programs that use the library, and checks that all acknowledged work is stored completely.

Two processes share one file and one user. They capture, complete, remember (one and many), update, merge, undo, delete,
import and recall. Before each verb, a process logs what it is about to do, and afterwards the result. Both are killed
with SIGKILL after a random number of lines and a random pause. Then, in each round, every acknowledged effect must be
found, and the interrupted verb must have been done completely or not at all. The file must pass SQLite's
integrity_check. Immediately after opening, acknowledged texts must be found by keyword and by vector.

    python drills/kill_library.py [--rounds 200 | --long] --writers 2
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.memory import file_problems, is_found_by_vector, is_found_by_word, opened
from drills.kit.nursery import be_a_nursery, kill_round, nursery, say
from drills.kit.outcome import Outcome, options
from mnemic.api import Mnemic
from mnemic.model.health import Condition
from mnemic.model.scope import Scope

SCOPE = Scope(user="anna")
MOST_LINES = 60
ROUNDS_PER_FILE = 50
"""Then a new file: every round reads all of it."""
LOOKED_FOR = 4
GONE = "gone"
Row = tuple[str, str]
"""The state of a row and its text."""


@dataclass(slots=True)
class Writer:
    """Uses the verbs in random order on rows of its own, and tells before and after each what is so."""

    mnemic: Mnemic
    name: str
    random: random.Random
    active: dict[str, str] = field(default_factory=dict[str, str])
    open_turns: list[str] = field(default_factory=list[str])
    undoable: list[tuple[str, dict[str, str]]] = field(default_factory=list[tuple[str, dict[str, str]]])
    numbers: count[int] = field(default_factory=count)

    def run(self) -> None:
        """Until it is killed."""
        verbs: list[Callable[[], None]] = [
            *(self.capture, self.complete, self.remember, self.remember_many, self.update),
            *(self.merge, self.merge, self.undo, self.undo, self.delete, self.take_in, self.recall),
        ]
        while True:
            self.random.choice(verbs)()

    def capture(self) -> None:
        """An exchange of two messages."""
        asked, answered = self._text(), self._text()
        self._intend({}, [asked, answered])
        turn = self.mnemic.capture(Scope(user="anna", session=self.name), user=asked, assistant=answered)
        self.open_turns.append(turn.id)
        self._told({message.id: ("active", message.text) for message in turn.messages})

    def complete(self) -> None:
        """Another answer to a turn."""
        if self.open_turns:
            text = self._text()
            self._intend({}, [text])
            turn = self.mnemic.complete(SCOPE, self.random.choice(self.open_turns), assistant=text)
            self._told({message.id: ("active", message.text) for message in turn.messages if message.text == text})

    def remember(self) -> None:
        """One memory."""
        self._remember([self._text()])

    def remember_many(self) -> None:
        """Some memories at once."""
        self._remember([self._text() for _ in range(self.random.randint(2, 12))])

    def update(self) -> None:
        """Another text for a memory."""
        if self.active:
            memory_id, text = self._one(), self._text()
            self._intend({memory_id: ("active", text)}, [])
            self.mnemic.update(SCOPE, memory_id, text=text)
            self.undoable.append((memory_id, {memory_id: self.active[memory_id]}))
            self.active[memory_id] = text
            self._told({memory_id: ("active", text)})

    def merge(self) -> None:
        """One memory of three."""
        if len(self.active) >= 3:  # noqa: PLR2004 -- three become one
            first, *others = self.random.sample(sorted(self.active), 3)
            text = self._text()
            new = {first: ("active", text)} | {other: ("superseded", self.active[other]) for other in others}
            self._intend(new, [])
            self.mnemic.merge(SCOPE, [first, *others], text=text)
            self.undoable.append((first, {i: self.active[i] for i in (first, *others)}))
            self.active[first] = text
            for other in others:
                del self.active[other]
            self._told(new)

    def undo(self) -> None:
        """The last change that can still be taken back."""
        while self.undoable:
            memory_id, old = self.undoable.pop()
            if memory_id not in self.active:
                continue  # merged into another or deleted since
            new = {i: ("active", text) for i, text in old.items()}
            self._intend(new, [])
            self.mnemic.undo(SCOPE, memory_id)
            self.active |= old
            self._told(new)
            return

    def delete(self) -> None:
        """A memory that no undo needs."""
        free = sorted(self.active.keys() - {i for _, old in self.undoable for i in old})
        if free:
            memory_id = self.random.choice(free)
            self._intend({memory_id: (GONE, "")}, [])
            self.mnemic.delete(SCOPE, memory_id)
            del self.active[memory_id]
            self._told({memory_id: (GONE, "")})

    def take_in(self) -> None:
        """The export of another memory."""
        texts = [self._text() for _ in range(4)]
        with opened("memory://") as other:
            asked = other.capture(Scope(user="bert", session=self.name + "-in"), user=texts[0], assistant=texts[1])
            kept = other.remember_many(Scope(user="bert"), texts[2:])
            lines = "\n".join(other.export(Scope(user="bert")))
        self._intend({}, texts)
        report = self.mnemic.import_(SCOPE, lines)
        if report.problems or sum(report.added.values()) != len(texts):
            raise RuntimeError(f"the import took in {report}")
        self._told({item.id: ("active", item.text) for item in (*asked.messages, *kept)})

    def recall(self) -> None:
        """Brings the index up to date, which writes its file where the partition is large."""
        self.mnemic.recall(SCOPE, self._text())

    def _remember(self, texts: list[str]) -> None:
        self._intend({}, texts)
        kept = self.mnemic.remember_many(SCOPE, texts)
        self.active |= {memory.id: memory.text for memory in kept}
        self._told({memory.id: ("active", memory.text) for memory in kept})

    def _one(self) -> str:
        return self.random.choice(sorted(self.active))

    def _text(self) -> str:
        return f"{self.name} note {self.name}x{next(self.numbers)}"

    def _intend(self, rows: Mapping[str, Row], texts: list[str]) -> None:
        say(json.dumps({"by": self.name, "intent": rows, "texts": texts}))

    def _told(self, rows: Mapping[str, Row]) -> None:
        say(json.dumps({"by": self.name, "told": rows}))


@dataclass(slots=True)
class Judge:
    """Knows what was acknowledged, and compares."""

    path: Path
    random: random.Random
    known: dict[str, Row] = field(default_factory=dict[str, Row])
    acknowledged: int = 0
    cut_off_done: int = 0
    cut_off_undone: int = 0
    found: int = 0

    def problems(self, lines: list[str]) -> list[str]:
        """What is wrong after a round that said `lines`."""
        pending, fresh = self._read(lines)
        problems = file_problems(self.path)
        with opened(self.path) as mnemic:
            problems += self._unfound(mnemic, fresh)  # first of all: the index is as the kill left it
            records = [json.loads(line) for line in mnemic.export(SCOPE)]
            bad = [f for f in mnemic.doctor().findings if f.condition is not Condition.OK]
        problems += [f"doctor: {finding.part}: {finding.message}" for finding in bad if finding.part != "disk"]
        rows = {r["id"]: (r["state"], r["text"]) for r in records if r["type"] in {"message", "memory"}}
        texts = {text: item_id for item_id, (_, text) in rows.items()}
        for event in pending:
            problems += self._cut_off(event, rows, texts)
        wrong = [i for i, row in self.known.items() if rows.get(i, (GONE, "")) != row]
        problems += [f"{i} is {rows.get(i, GONE)} and not {self.known[i]}" for i in wrong]
        if extra := rows.keys() - self.known.keys():
            problems.append(f"{len(extra)} rows that nobody wrote, such as {rows[min(extra)]}")
        self.known = dict(rows) | {i: row for i, row in self.known.items() if row[0] == GONE}
        return problems

    def _read(self, lines: list[str]) -> tuple[list[dict[str, dict[str, Row]]], list[Row]]:
        """Takes in what was acknowledged; returns what was begun and not acknowledged, and what is new."""
        pending: dict[str, dict[str, dict[str, Row]]] = {}
        fresh: dict[str, Row] = {}
        for line in lines:
            event = json.loads(line)
            if "told" in event:
                del pending[event["by"]]
                fresh |= {i: (row[0], row[1]) for i, row in event["told"].items()}
                self.acknowledged += 1
            else:
                pending[event["by"]] = event
        self.known |= fresh
        touched = {i for event in pending.values() for i in event["intent"]}
        return list(pending.values()), [row for i, row in fresh.items() if i not in touched]

    def _cut_off(
        self, event: Mapping[str, Mapping[str, Row]], rows: Mapping[str, Row], texts: Mapping[str, str]
    ) -> list[str]:
        """A verb that was killed is done whole, and then known, or not at all."""
        intent = {i: (row[0], row[1]) for i, row in event["intent"].items()}
        done = [rows.get(i, (GONE, "")) == row for i, row in intent.items()]
        done += [text in texts for text in event["texts"]]
        if not any(done):
            self.cut_off_undone += 1
            return []
        self.cut_off_done += 1
        self.known |= intent | {texts[text]: rows[texts[text]] for text in event["texts"] if text in texts}
        return [] if all(done) else [f"half done: {event}"]

    def _unfound(self, mnemic: Mnemic, fresh: list[Row]) -> list[str]:
        """Which of some new texts a recall misses."""
        active = [text for state, text in fresh if state == "active"]
        problems: list[str] = []
        for text in self.random.sample(active, min(LOOKED_FOR, len(active))):
            if not is_found_by_word(mnemic, SCOPE, text):
                problems.append(f"not found by its word: {text}")
            if not is_found_by_vector(mnemic, SCOPE, text):
                problems.append(f"not found by its vector: {text}")
            self.found += 1
        return problems


def run_rounds(path: Path, *, rounds: int, writers: int, seed: int) -> tuple[Judge, list[str]]:
    """Runs the rounds on one file, which grows; returns the judge and all problems."""
    chance = random.Random(seed)  # noqa: S311 -- no secret hangs on it
    judge, problems = Judge(path, chance), list[str]()
    opened(path).close()
    with nursery([__file__, "--nursery", str(path), "--writers", str(writers)]) as here:
        for number in range(rounds):
            lines = kill_round(here, number, chance, MOST_LINES)
            problems += [f"round {number}: {problem}" for problem in judge.problems(lines)]
    return judge, problems


def main() -> int:
    """Exit code 1 when anything was lost or left half done."""
    words = {"nursery": "start writers on this file when told; used by the rounds"}
    told = options(__doc__, long={"rounds": 1000}, words=words, rounds=200, writers=2, seed=1)
    if told.nursery:
        be_a_nursery(told.writers, lambda name: Writer(opened(told.nursery), name, random.Random(name)).run())  # noqa: S311 -- no secret hangs on it
        return 0
    judges: list[Judge] = []
    problems: list[str] = []
    for begin in range(0, told.rounds, ROUNDS_PER_FILE):
        rounds = min(ROUNDS_PER_FILE, told.rounds - begin)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "memory.db"
            judge, found = run_rounds(path, rounds=rounds, writers=told.writers, seed=told.seed + begin)
        judges.append(judge)
        problems += [f"file {len(judges)}, {problem}" for problem in found]
    facts = {
        "rounds": told.rounds,
        "kills": told.rounds * told.writers,
        "acknowledged verbs that write": sum(judge.acknowledged for judge in judges),
        "verbs cut off and found done, whole": sum(judge.cut_off_done for judge in judges),
        "verbs cut off and found not done": sum(judge.cut_off_undone for judge in judges),
        "rows at the end": sum(len(judge.known) for judge in judges),
        "texts looked for by word and by vector": sum(judge.found for judge in judges),
    }
    return Outcome(name="kill_library", about=__doc__ or "", facts=facts, problems=problems).told()


if __name__ == "__main__":
    sys.exit(main())
