"""What becomes of memories and conversations in time, done by hand instead of by the worker."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemic.cli.options import command
from mnemic.cli.output import Row, note, one_line, show_json, show_rows
from mnemic.cli.scope_options import ScopeOptions
from mnemic.model.scope import Level

Levels = Annotated[
    list[Level] | None, typer.Option("--level", help="Only this level; may be repeated; all but org unless said.")
]
Day = Annotated[
    str | None, typer.Option("--day", help="The last day to read, such as 2026-05-01; yesterday unless said.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")]


def choose(asking: ScopeOptions, day: Day = None, is_dry_run: DryRun = False) -> None:
    """Read the days that were not read yet, and keep as gems what will be worth knowing in six months, as a worker does
    every night.
    """
    with asking.open() as mnemic:
        report = mnemic.curate(asking.scope, day=day, is_dry_run=is_dry_run)
    if asking.as_json:
        show_json(report)
        return
    for told in report.days:
        rows = [
            Row((told.day, each.verdict.value), each.gem.gem, (each.memory_id or "", *each.gem.categories))
            for each in told.gems
        ]
        rows += [Row((told.day, "refused"), each.excerpt, (one_line(each.reason),)) for each in told.refused]
        if rows:
            show_rows(("day", "done"), rows)
        if told.fallback:
            note(f"{told.day}: by rules, because the language model failed ({told.fallback})")
    turns, gems = sum(told.turns for told in report.days), sum(len(told.gems) for told in report.days)
    note(f"{turns} turns of {len(report.days)} days {_done(is_dry_run=report.is_dry_run)} read, {gems} gems found")
    if report.held:
        note(f"turns of {len(report.held)} conversations wait for the next run, because a gem was refused")


def sum_up(asking: ScopeOptions, is_dry_run: DryRun = False) -> None:
    """Make one general preference of each thing that was chosen again and again, as a worker does every week. The
    single memories are kept as superseded; `memory undo` of the preference brings them back.
    """
    with asking.open() as mnemic:
        report = mnemic.consolidate(asking.scope, is_dry_run=is_dry_run)
    if asking.as_json:
        show_json(report)
        return
    if report.entries:
        rows = [Row((str(len(each.merged)),), one_line(each.text), (each.memory_id or "",)) for each in report.entries]
        show_rows(("choices",), rows)
    count = sum(len(each.merged) for each in report.entries)
    note(f"{count} choices {_done(is_dry_run=report.is_dry_run)} summed up in {len(report.entries)} preferences")


def fade(asking: ScopeOptions, levels: Levels = None, is_dry_run: DryRun = False) -> None:
    """Let the importance of memories fade by the time since their last access, as a worker does every night. What was
    stored stays; an access, or calling it relevant, brings it back.
    """
    with asking.open() as mnemic:
        report = mnemic.decay(asking.scope, levels=_wanted(levels), is_dry_run=is_dry_run)
    if asking.as_json:
        show_json(report)
        return
    if report.entries:
        rows = [Row((f"{each.was:.2f}", f"{each.becomes:.2f}"), each.id, ()) for each in report.entries]
        show_rows(("was", "is"), rows)
    note(f"{len(report.entries)} of {report.examined} memories {_done(is_dry_run=report.is_dry_run)} faded anew")


def make_room(asking: ScopeOptions, levels: Levels = None, is_dry_run: DryRun = False) -> None:
    """Archive memories that have faded and are old, or have expired; delete those that were archived long ago. A worker
    does it every night. `memory undo` brings back what was archived.
    """
    with asking.open() as mnemic:
        report = mnemic.evict(asking.scope, levels=_wanted(levels), is_dry_run=is_dry_run)
    if asking.as_json:
        show_json(report)
        return
    gone = (*report.archived, *report.deleted)
    if gone:
        show_rows(("done",), [Row((each.action.value,), one_line(each.reason), (each.id,)) for each in gone])
    counts = f"{len(report.archived)} archived and {len(report.deleted)} deleted"
    note(f"of {report.examined} memories {_done(is_dry_run=report.is_dry_run)} {counts}")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    command(app, "curate", examples="mnemic curate --user ana --dry-run\nmnemic curate --user ana --day 2026-05-01")(
        choose
    )
    command(app, "consolidate", examples="mnemic consolidate --user ana --dry-run\nmnemic consolidate --user ana")(
        sum_up
    )
    command(app, "decay", examples="mnemic decay --user ana --dry-run\nmnemic decay --user ana")(fade)
    command(app, "evict", examples="mnemic evict --user ana --dry-run\nmnemic evict --user ana")(make_room)


def _wanted(levels: list[Level] | None) -> tuple[Level, ...]:
    return tuple(levels) if levels else (Level.SESSION, Level.USER, Level.AGENT)


def _done(*, is_dry_run: bool) -> str:
    return "would be" if is_dry_run else "were"
