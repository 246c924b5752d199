"""`mnemic health`: how well what is remembered is, and what ends what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.life import DryRun, Levels
from mnemic.cli.options import command
from mnemic.cli.output import Row, moment, note, number_of, one_line, show_json, show_rows, write
from mnemic.cli.progress import progress_bars
from mnemic.cli.scope_options import ScopeOptions
from mnemic.model.health import Ailment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mnemic.engine.health import HealthReport

SCORES_SHOWN = 10
MOST_LISTED = 1000
Only = Annotated[
    list[Ailment] | None, typer.Option("--only", help="Look for this kind; may be repeated; every kind unless said.")
]
Fix = Annotated[
    list[Ailment] | None,
    typer.Option("--fix", help="End what is safe to end of this kind; may be repeated. `memory undo` takes it back."),
]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Most findings of a kind.", min=1, max=MOST_LISTED)]


def look(
    asking: ScopeOptions,
    only: Only = None,
    fix: Fix = None,
    levels: Levels = None,
    limit: Limit = 20,
    is_dry_run: DryRun = False,
) -> None:
    """Tell how well what is remembered is: a score from 0 to 100, and memories that contradict each other, say the
    same, are worth nothing, are old and unused, or lost what they were made of; each with what ends it. How well the
    installation is, `mnemic doctor` tells.
    """
    from mnemic.engine.export import OWN_LEVELS

    with asking.open() as mnemic, progress_bars() as tell:
        report = mnemic.health(
            asking.scope,
            only=only or (),
            fix=fix or (),
            levels=levels or OWN_LEVELS,
            limit=limit,
            is_dry_run=is_dry_run,
            progress=lambda done, total: tell("memories", done, total),
        )
    if asking.as_json:
        show_json(report)
        return
    _show(report)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    examples = """
        mnemic health --user ana
        mnemic health --user ana --fix junk --fix duplicate --dry-run
        mnemic health --user ana --fix junk --fix duplicate
    """
    command(app, "health", examples=examples)(look)


def _show(report: HealthReport) -> None:
    rows = [
        Row(
            (one.ailment.value,),
            one_line(f"{one.text}: {one.reason}" if one.text else one.reason),
            one.ids,
            f"to do: {one_line(one.remedy.command)}",
        )
        for one in report.findings
    ]
    if rows:
        show_rows(("finding",), rows)
    if report.fixed:
        would = "would be ended" if report.is_dry_run else "ended; `mnemic memory undo` takes it back"
        note(f"{number_of(len(report.fixed), 'findings')} {would}")
    for line in report.notes:
        note(line)
    score = report.score
    write(f"{score.score:g} of 100, of {number_of(score.memories, 'memories')}{_counted(score.counts)}")
    earlier = report.scores[-SCORES_SHOWN:]
    if earlier:
        note("before: " + ", ".join(f"{each.score:g} ({moment(each.at)})" for each in earlier))


def _counted(counts: Mapping[str, int]) -> str:
    told = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    return f": {told}" if told else ""
