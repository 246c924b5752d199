"""`mnemic reembed`: vectors of another embedder for everything that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.failures import INTERRUPTED
from mnemic.cli.options import command
from mnemic.cli.output import end_partly, note, number_of, show_json, write
from mnemic.cli.progress import Told, progress_bars
from mnemic.cli.scope_options import ScopeOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mnemic.engine.reembed import Estimate, ReembedReport

SECONDS_OF_AN_HOUR = 3600
SECONDS_OF_A_MINUTE = 60


def embed_anew(
    asking: ScopeOptions,
    is_dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how much there is to do and about how long it takes.")
    ] = False,
    is_pruning: Annotated[
        bool, typer.Option("--prune", help="Remove the vectors of all other embedders when everything is filled.")
    ] = False,
) -> None:
    """Give everything in the whole store its vectors of the configured embedder, after that was changed. The store may
    be used meanwhile; repeating it goes on where an interrupted one stopped. The vectors of before stay, to go back to.
    Exits with 14 where the embedder refused texts.
    """
    place = _Place()
    try:
        with asking.open() as mnemic, progress_bars() as tell:
            place.tell = tell
            report = mnemic.reembed(is_dry_run=is_dry_run, is_pruning=is_pruning, progress=place.reached)
    except KeyboardInterrupt as error:
        note(f"interrupted {place}; what was done stays: run the same command again, and it goes on from there")
        raise typer.Exit(INTERRUPTED) from error
    if asking.as_json:
        show_json(report)
    else:
        _show(report)
    if report.refused:
        refused = number_of(len(report.refused), "texts")
        end_partly(f"{refused} refused, found by keyword alone; --json lists the ids", as_json=asking.as_json)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, "reembed", examples="mnemic reembed --dry-run\nmnemic reembed\nmnemic reembed --prune")(embed_anew)


class _Place:
    """How far it has come."""

    def __init__(self) -> None:
        self.tell: Told = lambda _what, _done, _total: None
        self._done, self._total = 0, 0

    def reached(self, done: int, total: int) -> None:
        """There are so many vectors."""
        self._done, self._total = done, total
        self.tell("vectors", done, total)

    def __str__(self) -> str:
        return f"at {self._done} of {self._total} vectors" if self._total else "before anything was embedded"


def _show(report: ReembedReport) -> None:
    for space in report.spaces:
        write(f"{space.model}: {space.vectors:,} of {space.items:,} items have their vector ({space.share:.0%})")
    if report.estimate is not None:
        write(_told(report.estimate))
    else:
        write(f"{report.filled:,} vectors made in {report.seconds:.1f} s")
    if report.removed:
        would = "would be removed" if report.is_dry_run else "removed"
        write(f"{_counted(report.removed)} of other embedders {would}")
    elif any(report.kept.values()):
        note(f"{_counted(report.kept)} of other embedders are kept, to go back to; --prune removes them")


def _told(estimate: Estimate) -> str:
    if not estimate.texts:
        return "nothing to do"
    return f"{estimate.texts:,} texts to embed, about {estimate.characters:,} characters and {_time(estimate.seconds)}"


def _time(seconds: float) -> str:
    if seconds >= SECONDS_OF_AN_HOUR:
        return f"{seconds / SECONDS_OF_AN_HOUR:.1f} hours"
    return (
        f"{seconds / SECONDS_OF_A_MINUTE:.1f} minutes" if seconds >= SECONDS_OF_A_MINUTE else f"{seconds:.1f} seconds"
    )


def _counted(counts: Mapping[str, int]) -> str:
    return f"{sum(counts.values()):,} vectors"
