"""Calls ten thousand random verbs with random scopes on one file. None may show or change data outside its scope.

The oracle of the conformance kit (`mnemic.testing.isolation`), which follows the design and not the code, decides what
may be visible. Recall, list, export and context must show exactly what the oracle allows, or less. get, history,
update, pin, feedback, merge, why_not and delete must return "not found" for items that are not visible, and leave them
unchanged.

    python drills/isolation_verbs.py [--verbs 10000 | --long]
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.memory import file_problems, opened
from drills.kit.outcome import Outcome, options
from mnemic.api import Mnemic
from mnemic.build import SystemClock
from mnemic.errors import NotFoundError
from mnemic.model.scope import Level, Scope
from mnemic.testing.isolation import Row, replace_expiry

WORDS = ("tea", "milk", "river", "garden", "violin", "harbour")
PARTS = product(("acme", "other"), (None, "jarvis", "friday"), (None, "anna", "bert"), (None, "s1", "s2"))
SCOPES = [
    Scope(org=org, agent=agent, user=user, session=session)
    for org, agent, user, session in PARTS
    if agent or user or session
]
MOST_ROWS = 600
"""More are not kept: what a scope sees in vain is found among few rows too, and the verbs stay quick."""


@dataclass(slots=True)
class IsolationDrill:
    """Random verbs, the rows they wrote, and every violation."""

    mnemic: Mnemic
    random: random.Random
    rows: dict[str, Row] = field(default_factory=dict[str, Row])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    done: dict[str, int] = field(default_factory=dict[str, int])
    denied: int = 0
    problems: list[str] = field(default_factory=list[str])

    def run(self, verbs: int) -> None:
        """So many verbs."""
        reads = (self.recall, self.list_, self.export, self.context, self.by_id, self.by_id)
        for _ in range(verbs):
            scope = self.random.choice(SCOPES)
            verb = self.random.choice((self.remember, self.capture, *reads, self.clean))
            self.done[verb.__name__.strip("_")] = self.done.get(verb.__name__.strip("_"), 0) + 1
            verb(scope)
        for item_id, row in self.rows.items():
            if self.mnemic.get(row.said_by, item_id).text != self.texts[item_id]:
                self.problems.append(f"the text of {item_id} was changed by somebody else")

    def remember(self, scope: Scope) -> None:
        """At a level that the scope has."""
        parts = {Level.SESSION: scope.session, Level.USER: scope.user, Level.AGENT: scope.agent, Level.ORG: scope.org}
        level = self.random.choice([level for level, part in parts.items() if part is not None])
        is_private = scope.agent is not None and self.random.random() < 0.2  # noqa: PLR2004 -- one in five
        memory = self.mnemic.remember(scope, self._text(), level=level, is_private=is_private)
        self.rows[memory.id] = Row(scope, level, memory.private_agent, memory.expires_at)
        self.texts[memory.id] = memory.text

    def capture(self, scope: Scope) -> None:
        """Where there is somebody who speaks."""
        if scope.user or scope.session:
            turn = self.mnemic.capture(scope, user=self._text(), assistant=self._text())
            by = replace(scope, session=turn.session)
            for message in turn.messages:
                self.rows[message.id] = Row(by, None, None, None)
                self.texts[message.id] = message.text

    def recall(self, scope: Scope) -> None:
        """Every row has one of the words."""
        found = self.mnemic.recall(scope, " ".join(WORDS), limit=None)
        shown = set[str]() if found.is_fallback else {hit.id for hit in found}
        self._same("recall", scope, shown, self._visible(scope))
        self._within("recall of nothing", scope, {hit.id for hit in self.mnemic.recall(scope, "")})

    def list_(self, scope: Scope) -> None:
        """One page that holds all."""
        shown = {memory.id for memory in self.mnemic.list(scope, limit=1000).memories}
        self._same("list", scope, shown, {i for i in self._visible(scope) if self.rows[i].level is not None})

    def export(self, scope: Scope) -> None:
        """Everything written is visible."""
        records = [json.loads(line) for line in self.mnemic.export(scope, levels=tuple(Level))]
        self._within("export", scope, {r["id"] for r in records if r["type"] in {"message", "memory"}})
        self._within("export of history", scope, {r["item_id"] for r in records if r["type"] == "history"} - self._gone)

    def context(self, scope: Scope) -> None:
        """What is cited is visible, and no text of others is in the prompt."""
        context = self.mnemic.context(scope, self.random.choice(WORDS), limits=None, budget_tokens=20_000)
        prompt = json.dumps([str(message) for message in context.messages], ensure_ascii=False)
        visible = self._visible(scope)
        foreign = [i for i, text in self.texts.items() if i in self.rows and i not in visible and text in prompt]
        if foreign:
            self.problems.append(f"context of {scope} holds {self.rows[foreign[0]]}")

    def by_id(self, scope: Scope) -> None:
        """One row by its id, by every verb that takes one."""
        if not self.rows:
            return
        item_id = self.random.choice(list(self.rows))
        row = self.rows[item_id]
        if replace_expiry(row).is_visible(scope, SystemClock().now()):
            if self.mnemic.get(scope, item_id).text != self.texts[item_id]:
                self.problems.append(f"get of {item_id} gives another text")
            return
        others = [i for i, row in self.rows.items() if row.said_by == scope and row.level is not None]
        verbs: dict[str, Callable[[], object]] = {
            "get": lambda: self.mnemic.get(scope, item_id),
            "history": lambda: self.mnemic.history(scope, item_id),
            "update": lambda: self.mnemic.update(scope, item_id, text="taken over"),
            "pin": lambda: self.mnemic.pin(scope, item_id),
            "undo": lambda: self.mnemic.undo(scope, item_id),
            "feedback": lambda: self.mnemic.feedback(scope, item_id, "outdated"),
            "why_not": lambda: self.mnemic.why_not(scope, item_id, "tea"),
            "delete": lambda: self.mnemic.delete(scope, item_id),
            **({"merge": lambda: self.mnemic.merge(scope, [others[0], item_id], text="merged")} if others else {}),
        }
        for name, verb in verbs.items():
            try:
                verb()
                self.problems.append(f"{name} by {scope} did not refuse {row}")
            except NotFoundError:
                self.denied += 1

    def clean(self, scope: Scope) -> None:
        """Some of what the scope may see is deleted; more of it while there is much."""
        visible = sorted(self._visible(scope))
        for item_id in self.random.sample(visible, min(len(visible), 8 if len(self.rows) > MOST_ROWS else 1)):
            self.mnemic.delete(scope, item_id)
            del self.rows[item_id]

    @property
    def _gone(self) -> set[str]:
        return self.texts.keys() - self.rows.keys()

    def _visible(self, scope: Scope) -> set[str]:
        now = SystemClock().now()
        return {item_id for item_id, row in self.rows.items() if row.is_visible(scope, now)}

    def _same(self, verb: str, scope: Scope, shown: set[str], allowed: set[str]) -> None:
        if shown != allowed:
            self.problems.append(
                f"{verb} by {scope}: {len(shown - allowed)} too many, {len(allowed - shown)} are missing"
            )

    def _within(self, verb: str, scope: Scope, shown: set[str]) -> None:
        if foreign := shown - self._visible(scope):
            self.problems.append(f"{verb} by {scope} shows {len(foreign)} rows of others")

    def _text(self) -> str:
        return f"{self.random.choice(WORDS)} {self.random.choice(WORDS)} {self.random.random()}"


def drill(path: Path, verbs: int, seed: int) -> tuple[dict[str, object], list[str]]:
    """Counts and problems of so many verbs on a new file."""
    chance = random.Random(seed)  # noqa: S311 -- no secret hangs on it
    with opened(path) as mnemic:
        run = IsolationDrill(mnemic, chance)
        run.run(verbs)
    facts: dict[str, object] = {
        **dict(sorted(run.done.items())),
        "refused as not found": run.denied,
        "rows at the end": len(run.rows),
        "rows deleted": len(run.texts) - len(run.rows),
    }
    return facts, run.problems + file_problems(path)


def main() -> int:
    """Exit code 1 when a scope saw or changed what is not its own."""
    told = options(__doc__, long={"verbs": 50_000}, verbs=10_000, seed=1)
    with TemporaryDirectory() as folder:
        facts, problems = drill(Path(folder) / "memory.db", told.verbs, told.seed)
    return Outcome(name="isolation_verbs", about=__doc__ or "", facts=facts, problems=problems).told()


if __name__ == "__main__":
    sys.exit(main())
