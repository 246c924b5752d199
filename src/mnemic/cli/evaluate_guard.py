"""`mnemic eval guard`: what is caught of attacks on the model, and what harmless texts suffer, on your own data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.options import command
from mnemic.cli.output import note, one_line, show_json, write
from mnemic.cli.progress import progress_bars
from mnemic.model.item import Trust

if TYPE_CHECKING:
    from mnemic.evaluation.guard import Judged, Section, Tally

MISSES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class GuardFiles:
    """A test set, and where the run goes."""

    attacks: Annotated[Path, typer.Option(help="Hostile texts: JSON lines, may be packed (.gz).", metavar="FILE")]
    benign: Annotated[Path, typer.Option(help="Texts that must stay as they are.", metavar="FILE")]
    carriers: Annotated[Path | None, typer.Option(help="Harmless documents.", metavar="FILE")] = None
    run: Annotated[
        Path | None, typer.Option(help="Write what became of each text here (.gz packs).", metavar="FILE")
    ] = None


@dataclass(frozen=True, slots=True)
class GuardChoices:
    """How the test set is run."""

    trust: Annotated[Trust, typer.Option(help="Who is taken to have said the texts.")] = Trust.DOCUMENT
    are_misses_shown: Annotated[bool, typer.Option("--misses", help="Show texts that were judged wrongly.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")] = False


def guard(files: GuardFiles, choices: GuardChoices) -> None:
    """Remember hostile and harmless texts, and tell which are kept from recall, redacted, or shown as they are."""
    from mnemic.evaluation.guard import load_texts, run_guard, tally, write_run

    given = {"attacks": files.attacks, "benign": files.benign, "carriers": files.carriers}
    texts = {name: load_texts(path) for name, path in given.items() if path is not None}
    with progress_bars() as told:
        every = run_guard([text for part in texts.values() for text in part], choices.trust, told)
    if files.run is not None:
        write_run(files.run, every)
    parts = _parts(texts, every)
    sections = {name: tally(part) for name, part in parts.items() if part}
    if choices.as_json:
        show_json({name: _as_json(section) for name, section in sections.items()})
        return
    for name, section in sections.items():
        _show(name.replace("_", " "), section)
    if choices.are_misses_shown:
        _show_misses(parts)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(
        app,
        "guard",
        examples="""
        mnemic eval guard --attacks attacks.jsonl.gz --benign benign.jsonl.gz
        mnemic eval guard --attacks a.jsonl --benign b.jsonl --carriers c.jsonl --trust user --run run.jsonl --json
        """,
    )(guard)


def _parts(texts: dict[str, Any], every: Sequence[Judged]) -> dict[str, list[Judged]]:
    """What was judged by section: attacks that are hostile only inside a document have one of their own."""
    parts: dict[str, list[Judged]] = {}
    left = list(every)
    for name, part in texts.items():
        parts[name], left = left[: len(part)], left[len(part) :]
    attacks = parts.pop("attacks")
    plain = [each for each in attacks if not each.text.needs_context]
    return {"attacks": plain, "needs_context": [each for each in attacks if each.text.needs_context], **parts}


def _show(name: str, section: Section) -> None:
    lines = [(name, section.overall)]
    lines += [(f"  {field} {value}", each) for field, values in section.by.items() for value, each in values.items()]
    width = max(len(title) for title, _ in lines)
    for title, each in lines:
        counts = ", ".join(f"{outcome.value} {n}" for outcome, n in each.outcomes.items() if n)
        write(f"{title.ljust(width)}  {_rate(each.caught)} not as it was, {_rate(each.kept_out)} kept out  ({counts})")


def _show_misses(parts: dict[str, list[Judged]]) -> None:
    for name, judged in parts.items():
        is_attack = name in ("attacks", "needs_context")
        wrong = [each for each in judged if (each.outcome.value == "allowed") is is_attack]
        for each in wrong[:MISSES_SHOWN]:
            note(f"{name} {each.text.id} {', '.join(each.reasons)}: {one_line(each.text.text)[:120]}")
        if len(wrong) > MISSES_SHOWN:
            note(f"{name}: and {len(wrong) - MISSES_SHOWN} more")


def _as_json(section: Section) -> dict[str, Any]:
    by = {name: {value: _counts(each) for value, each in values.items()} for name, values in section.by.items()}
    return {"overall": _counts(section.overall), "by": by}


def _counts(each: Tally) -> dict[str, Any]:
    outcomes = {outcome.value: number for outcome, number in each.outcomes.items()}
    return {"n": each.number, **outcomes, "rate": each.caught, "kept_out_rate": each.kept_out}


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
