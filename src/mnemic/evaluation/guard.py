"""How well attacks are separated from harmless texts: what the gate keeps out, and what recall removes. Each text is
remembered alone in an in-memory store with a given trust, then recalled. Whether the rest of a redacted text is still
harmful is not judged here.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mnemic.api import Mnemic
from mnemic.config import Config
from mnemic.errors import InvalidInputError
from mnemic.evaluation.dataset import Progress, read_json_lines, silent, write_json_lines
from mnemic.model.item import State, Trust
from mnemic.model.listing import group_pairs
from mnemic.model.scope import Scope
from mnemic.model.settings import Settings
from mnemic.text.sanitise import findings, sanitise

FIELDS = ("kind", "source", "lang")


class Outcome(StrEnum):
    """The outcome for a text: recalled unchanged, recalled without passages, stored but never recalled, or rejected."""

    ALLOWED = "allowed"
    REDACTED = "redacted"
    QUARANTINED = "quarantined"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class GuardText:
    """A text with `labels` (kind, source, lang). `needs_context`: an attack that is harmful only inside a document or
    tool result. Here it is tested alone.
    """

    id: str
    text: str
    labels: Mapping[str, str]
    needs_context: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """A text, its outcome, the names of matching patterns, and the duration of gate and check."""

    text: GuardText
    outcome: Outcome
    reasons: tuple[str, ...]
    elapsed_ms: float


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of a group. `caught`: all but allowed ones; `kept_out`: never recalled."""

    number: int
    outcomes: Mapping[Outcome, int]

    @property
    def caught(self) -> float | None:
        """The share of redacted, quarantined or rejected texts, None without texts."""
        return (self.number - self.outcomes[Outcome.ALLOWED]) / self.number if self.number else None

    @property
    def kept_out(self) -> float | None:
        """The share of quarantined or rejected texts, None without texts."""
        out = self.outcomes[Outcome.QUARANTINED] + self.outcomes[Outcome.REJECTED]
        return out / self.number if self.number else None


@dataclass(frozen=True, slots=True)
class Section:
    """The tally of a file, in total and by label and value."""

    overall: Tally
    by: Mapping[str, Mapping[str, Tally]]


def load_texts(path: Path) -> list[GuardText]:
    """The texts of a JSON lines file. Raises `InvalidInputError`, naming file and line."""
    found: list[GuardText] = []
    for number, row in read_json_lines(path):
        if not all(isinstance(row.get(name), str) for name in ("id", "text")):
            raise InvalidInputError(f"{path}, line {number}: a row must have an id and text")
        labels = {name: str(row.get(name)) for name in FIELDS}
        found.append(GuardText(str(row["id"]), str(row["text"]), labels, bool(row.get("needs_context"))))
    return found


def run_guard(texts: Sequence[GuardText], trust: Trust, progress: Progress | None = None) -> list[Judged]:
    """The outcome of each text when remembered with this trust. Does not look for secrets."""
    config = Config(store="memory://", embedder="none", settings=Settings(redacts_secrets=False))
    judged: list[Judged] = []
    with Mnemic.open(config) as mnemic:
        for number, text in enumerate(texts):
            start = time.perf_counter()
            outcome = _outcome(mnemic, Scope(user=f"u{number}"), text.text, trust)
            elapsed_ms = (time.perf_counter() - start) * 1e3
            judged.append(Judged(text, outcome, _reasons(text.text, outcome), elapsed_ms))
            (progress or silent)("judging", number + 1, len(texts))
    return judged


def tally(judged: Iterable[Judged]) -> Section:
    """The counts of some texts."""
    every = list(judged)
    by: dict[str, dict[str, Tally]] = {}
    for name in FIELDS:
        parts = group_pairs((each.text.labels[name], each) for each in every)
        by[name] = {value: _tally(parts[value]) for value in sorted(parts)}
    return Section(_tally(every), by)


def write_run(path: Path, judged: Iterable[Judged]) -> None:
    """Write a JSON row per text: id, outcome, reasons, ms. The file appears when complete; `.gz` is compressed."""
    write_json_lines(path, map(_row, judged))


def _row(each: Judged) -> dict[str, object]:
    reasons, ms = list(each.reasons) or None, round(each.elapsed_ms, 4)
    return {"id": each.text.id, "outcome": each.outcome.value, "reasons": reasons, "ms": ms}


def _outcome(mnemic: Mnemic, scope: Scope, text: str, trust: Trust) -> Outcome:
    try:
        memory = mnemic.remember(scope, text, trust=trust.value)
    except InvalidInputError:
        return Outcome.REJECTED
    if memory.state is State.QUARANTINED:
        return Outcome.QUARANTINED
    return Outcome.ALLOWED if sanitise(memory.text) == memory.text.strip() else Outcome.REDACTED


def _reasons(text: str, outcome: Outcome) -> tuple[str, ...]:
    if outcome is Outcome.ALLOWED:
        return ()
    names = {finding.pattern for finding in findings(text)}
    return tuple(sorted(names)) or ("marker" if outcome is Outcome.REDACTED else "not a text to keep",)


def _tally(judged: Sequence[Judged]) -> Tally:
    outcomes = dict.fromkeys(Outcome, 0)
    for each in judged:
        outcomes[each.outcome] += 1
    return Tally(len(judged), outcomes)
