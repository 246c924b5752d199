"""Lets the clock of the machine jump while the library is in use: by hours in both directions, to 1970 and to 2100.

No verb may fail, no data may be lost, and ids must be unique. `list` must return all items that have not expired
according to the current clock, in order, and its pages must not overlap. The messages of a conversation must stay in
the order in which they were captured.

    python drills/clock_jumps.py [--verbs 5000 | --long]
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.memory import file_problems, opened
from drills.kit.outcome import Outcome, options
from mnemic.api import Mnemic
from mnemic.errors import NotFoundError
from mnemic.model.item import Memory
from mnemic.model.scope import Scope

SCOPE = Scope(user="anna", session="s1")
TODAY = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
YEARS = (datetime(1970, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
TTL = timedelta(hours=2)
LOOK_EVERY = 50
PAGE = 40


class JumpingClock:
    """Goes on by seconds, and now and then jumps."""

    def __init__(self, chance: random.Random) -> None:
        self.at = TODAY
        self.jumps = 0
        self._random = chance

    def now(self) -> datetime:
        """The time that it shows."""
        return self.at

    def move(self) -> None:
        """A little on, mostly; else somewhere else."""
        draw = self._random.random()
        self.jumps += draw >= 0.7  # noqa: PLR2004 -- three of ten moves are jumps
        if draw < 0.7:  # noqa: PLR2004 -- as above
            self.at += timedelta(microseconds=self._random.choice((0, 1, 1_000, 5_000_000)))
        elif draw < 0.9:  # noqa: PLR2004 -- two of ten moves are of hours
            self.at += timedelta(hours=self._random.choice((-25, -3, -1, 1, 3, 25)))
        else:
            self.at = self._random.choice((*YEARS, TODAY, TODAY))


@dataclass(slots=True)
class ClockDrill:
    """Random verbs, and what must be there after each."""

    mnemic: Mnemic
    clock: JumpingClock
    random: random.Random
    memories: dict[str, tuple[str, datetime | None]] = field(default_factory=dict[str, tuple[str, datetime | None]])
    said: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    ids: set[str] = field(default_factory=set[str])
    problems: list[str] = field(default_factory=list[str])
    number: int = 0

    def run(self, verbs: int) -> None:
        """So many verbs, with a look at everything every now and then."""
        mine: tuple[Callable[[], None], ...] = (
            *(self.remember, self.remember, self.expire, self.capture, self.update, self.merge_and_undo),
            *(self.delete, self.recall, self.context, self.feedback),
        )
        for number in range(verbs):
            self.clock.move()
            self.random.choice(mine)()
            if number % LOOK_EVERY == 0:
                self.check_list()
        self.check_all()

    def remember(self) -> None:
        """A memory for ever, or several."""
        texts = [self._text() for _ in range(self.random.randint(1, 3))]
        for memory in self.mnemic.remember_many(SCOPE, texts):
            self._new(memory)

    def expire(self) -> None:
        """A memory with a time to live, counted from what the clock shows."""
        self._new(self.mnemic.remember(SCOPE, self._text(), expires_at=self.clock.now() + TTL))

    def capture(self) -> None:
        """An exchange of two messages."""
        turn = self.mnemic.capture(SCOPE, user=self._text(), assistant=self._text())
        for message in turn.messages:
            self._unique(message.id)
            self.said.append((message.id, message.text))

    def update(self) -> None:
        """Another text."""
        text = self._text()
        memory_id = self._edited(lambda memory_id: self.mnemic.update(SCOPE, memory_id, text=text))
        if memory_id:
            self.memories[memory_id] = (text, self.memories[memory_id][1])

    def merge_and_undo(self) -> None:
        """Two become one, and two again."""
        lasting = sorted(i for i, (_, expires_at) in self.memories.items() if expires_at is None)
        if len(lasting) > 2:  # noqa: PLR2004 -- two are merged
            first, second = self.random.sample(lasting, 2)
            self.mnemic.merge(SCOPE, [first, second], text=self._text())
            self.clock.move()
            self.mnemic.undo(SCOPE, first)

    def delete(self) -> None:
        """A memory less."""
        if self.random.random() < 0.5 and (memory_id := self._one()):  # noqa: PLR2004 -- so that more stay
            self.mnemic.delete(SCOPE, memory_id)
            del self.memories[memory_id]

    def recall(self) -> None:
        """By a word that only one text has."""
        if memory_id := self._one():
            text, expires_at = self.memories[memory_id]
            found = self.mnemic.recall(SCOPE, text.rsplit(maxsplit=1)[-1])
            is_there = memory_id in {hit.id for hit in found if not hit.is_fallback}
            if is_there != self._is_alive(expires_at):
                self.problems.append(f"at {self.clock.at}: recall {'shows' if is_there else 'misses'} {text!r}")

    def context(self) -> None:
        """The whole prompt."""
        self.mnemic.context(SCOPE, "what did we note?")

    def feedback(self) -> None:
        """A use that counts."""
        self._edited(lambda memory_id: self.mnemic.feedback(SCOPE, memory_id, "relevant"))

    def check_list(self) -> None:
        """Pages of a listing in each order."""
        for order, key in (("newest", _newest), ("oldest", _oldest)):
            listed: list[Memory] = []
            after: str | None = None
            while True:
                page = self.mnemic.list(SCOPE, order=order, limit=PAGE, after=after)
                listed += page.memories
                after = page.next
                if after is None:
                    break
            alive = {i for i, (_, expires_at) in self.memories.items() if self._is_alive(expires_at)}
            if sorted(memory.id for memory in listed) != sorted(alive):
                self.problems.append(f"at {self.clock.at}: {len(listed)} listed, {len(alive)} alive")
            if [key(memory) for memory in listed] != sorted(key(memory) for memory in listed):
                self.problems.append(f"at {self.clock.at}: the order of {order} is wrong")

    def check_all(self) -> None:
        """Everything by id, back in the days when nothing had expired, and the conversation in its order."""
        self.clock.at = datetime(1900, 1, 1, tzinfo=UTC)
        for memory_id, (text, _) in self.memories.items():
            if self.mnemic.get(SCOPE, memory_id).text != text:
                self.problems.append(f"{text!r} is not what {memory_id} says")
        records = [json.loads(line) for line in self.mnemic.export(SCOPE)]
        messages = sorted((r["position"], r["id"], r["text"]) for r in records if r["type"] == "message")
        if [tuple(message[1:]) for message in messages] != self.said:
            self.problems.append("the conversation lost its order, or messages")

    def _edited(self, edit: Callable[[str], object]) -> str | None:
        """Edit one of the memories, and name it; one that has expired by the clock must refuse and stay as it is."""
        memory_id = self._one()
        if memory_id is None:
            return None
        try:
            edit(memory_id)
        except NotFoundError:
            if self._is_alive(self.memories[memory_id][1]):
                raise
            return None
        if not self._is_alive(self.memories[memory_id][1]):
            self.problems.append(f"at {self.clock.at}: {memory_id} has expired, and was edited")
        return memory_id

    def _new(self, memory: Memory) -> None:
        self._unique(memory.id)
        self.memories[memory.id] = (memory.text, memory.expires_at)

    def _unique(self, item_id: str) -> None:
        if item_id in self.ids:
            self.problems.append(f"the id {item_id} was given twice")
        self.ids.add(item_id)

    def _is_alive(self, expires_at: datetime | None) -> bool:
        return expires_at is None or expires_at > self.clock.now()

    def _one(self) -> str | None:
        return self.random.choice(sorted(self.memories)) if self.memories else None

    def _text(self) -> str:
        self.number += 1
        return f"note about n{self.number}n"


def _newest(memory: Memory) -> tuple[float, ...]:
    return (-memory.created_at.timestamp(),)


def _oldest(memory: Memory) -> tuple[float, ...]:
    return (memory.created_at.timestamp(),)


def drill(path: Path, verbs: int, seed: int) -> tuple[dict[str, object], list[str]]:
    """Counts and problems of so many verbs on a new file."""
    chance = random.Random(seed)  # noqa: S311 -- no secret hangs on it
    clock = JumpingClock(chance)
    with opened(path, clock=clock) as mnemic:
        run = ClockDrill(mnemic, clock, chance)
        run.run(verbs)
    facts: dict[str, object] = {
        "verbs": verbs,
        "jumps": clock.jumps,
        "ids given": len(run.ids),
        "memories at the end": len(run.memories),
        "messages in their order": len(run.said),
    }
    return facts, run.problems + file_problems(path)


def main() -> int:
    """Exit code 1 when something is lost, double or out of order."""
    told = options(__doc__, long={"verbs": 50_000}, verbs=5_000, seed=1)
    with TemporaryDirectory() as folder:
        facts, problems = drill(Path(folder) / "memory.db", told.verbs, told.seed)
    return Outcome(name="clock_jumps", about=__doc__ or "", facts=facts, problems=problems).told()


if __name__ == "__main__":
    sys.exit(main())
