"""`mnemic ingest`: files and folders in, each cut into passages that are found beside what was said."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.failures import INTERRUPTED
from mnemic.cli.input import STDIN
from mnemic.cli.options import command
from mnemic.cli.output import end_partly, note, number_of, one_line, show_json, write
from mnemic.cli.progress import Told, progress_bars
from mnemic.cli.scope_options import ScopeOptions
from mnemic.cli.wording import in_options
from mnemic.errors import InvalidInputError
from mnemic.model.document import Chunking, Outcome, Secrets
from mnemic.model.scope import Level

if TYPE_CHECKING:
    from mnemic.api import IngestFields
    from mnemic.model.document import FileReport, IngestReport

SHOWN = 20
Paths = Annotated[
    list[str],
    typer.Argument(
        help="The paths of files and folders; - is a file's bytes on the standard input.", metavar="PATH..."
    ),
]


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """The arguments of `Mnemic.ingest`, as options."""

    level: Annotated[
        Level | None, typer.Option(help="Whose the documents are; the user's, else the agent's, unless said.")
    ] = None
    source: Annotated[str | None, typer.Option(help="What the path is called in the store; else its whole path.")] = (
        None
    )
    name: Annotated[str | None, typer.Option(help="The name of the file on the standard input, as report.pdf.")] = None
    is_private: Annotated[bool, typer.Option("--private", help="For the agent of the scope alone.")] = False
    is_dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be read, and change nothing.")] = False
    is_pruning: Annotated[
        bool, typer.Option("--prune", help="Remove the documents of files that are gone from the folder.")
    ] = False
    is_again: Annotated[bool, typer.Option("--again", help="Read unchanged files too.")] = False
    chunking: Annotated[Chunking, typer.Option(help="How passages are cut.")] = Chunking.STRUCTURE
    chunk_size: Annotated[int | None, typer.Option(help="Tokens of a passage; else as configured.", min=1)] = None
    overlap: Annotated[int | None, typer.Option(help="Tokens that two passages share; with --chunk-size.", min=0)] = (
        None
    )
    secrets: Annotated[Secrets, typer.Option(help="A file that holds a secret fails, or is kept without it.")] = (
        Secrets.REFUSE
    )

    def arguments(self) -> IngestFields:
        """The arguments of `Mnemic.ingest`. Raises `InvalidInputError` for sizes that do not fit each other."""
        from mnemic.engine.ingest_plan import chunk_config
        from mnemic.model.settings import Settings

        if self.overlap is not None and self.chunk_size is None:
            raise InvalidInputError("--overlap goes with --chunk-size")
        sized = Settings(chunk_size=self.chunk_size, chunk_overlap=self.overlap)
        return {
            "level": self.level,
            "source": self.source,
            "name": self.name,
            "is_private": self.is_private,
            "is_dry_run": self.is_dry_run,
            "is_pruning": self.is_pruning,
            "is_again": self.is_again,
            "chunking": self.chunking,
            "config": None if self.chunk_size is None else chunk_config(sized),
            "secrets": self.secrets,
        }


def take_in(paths: Paths, asking: ScopeOptions, given: IngestOptions) -> None:
    """Take in files and folders: read, cut into passages, stored to be found. Unchanged files are left alone, changed
    ones replaced; repeating it goes on where an interrupted one stopped. What cannot be read is listed, with why, and
    the command then exits with 14; what is skipped on purpose is no failure.
    """
    if len(paths) > 1 and given.source is not None:
        raise InvalidInputError("--source names one path; ingest the others one by one")
    scope, fields = asking.scope, given.arguments()
    reports: list[tuple[str, IngestReport]] = []
    place = _Place()
    fields["progress"] = place.reached
    try:
        with asking.open() as mnemic, progress_bars() as tell:
            for path in paths:
                place.begin(path, tell)
                content = sys.stdin.buffer.read() if path == STDIN else path
                reports.append((path, mnemic.ingest(scope, content, **fields)))
    except KeyboardInterrupt as error:
        note(f"interrupted {place}; what was stored stays: run the same command again, and it goes on from there")
        raise typer.Exit(INTERRUPTED) from error
    if asking.as_json:
        show_json(reports[0][1] if len(reports) == 1 else [report for _, report in reports])
    else:
        for path, report in reports:
            _show(path, report)
    _end([report for _, report in reports], asking)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    examples = """
        mnemic ingest --user ana ~/papers --dry-run
        mnemic ingest --user ana ~/papers report.pdf
        mnemic ingest --org acme --level org handbook --source handbook --prune
        mnemic ingest --user ana - --name notes.md < notes.md
    """
    command(app, "ingest", examples=examples)(take_in)


class _Place:
    """How far an ingest has come."""

    def __init__(self) -> None:
        self._path, self._done, self._total, self._file = "", 0, 0, ""
        self._tell: Told = lambda _what, _done, _total: None

    def begin(self, path: str, tell: Told) -> None:
        """Another file or folder."""
        self._path, self._done, self._total, self._file, self._tell = one_line(path), 0, 0, "", tell

    def reached(self, done: int, total: int, source: str) -> None:
        """So many files are done, and this one is at hand."""
        self._done, self._total, self._file = done, total, one_line(source)
        self._tell(self._path, done, total)

    def __str__(self) -> str:
        if not self._total:
            return "before anything was read"
        return f"in {self._path}, {self._done} of {self._total} files done" + (
            f", at {self._file}" if self._file else ""
        )


def _end(reports: Sequence[IngestReport], asking: ScopeOptions) -> None:
    """Of all that was named: how many files failed, and how many are in the store, as they are or as they were."""
    counts = Counter[str]()
    for report in reports:
        counts.update(report.counts)
    failed = counts[Outcome.FAILED]
    stored = sum(counts[outcome] for outcome in (Outcome.ADDED, Outcome.REPLACED, Outcome.UNCHANGED))
    skipped = f", {counts[Outcome.SKIPPED]:,} skipped" if counts[Outcome.SKIPPED] else ""
    if failed:
        end_partly(f"{number_of(failed, 'files')} failed; {stored:,} stored{skipped}", as_json=asking.as_json)
    if len(reports) > 1 and not asking.as_json:
        would = "would be " if reports[0].is_dry_run else ""
        note(f"in all: {number_of(stored, 'files')} {would}stored{skipped}")


def _show(path: str, report: IngestReport) -> None:
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in report.counts.items()) or "nothing"
    would = "would be: " if report.is_dry_run else ""
    passages = "" if report.is_dry_run else f"; {number_of(report.chunks, 'passages')} in {report.seconds:.1f} s"
    write(f"{one_line(path)}: {would}{counts}{passages}")
    by_outcome = {outcome: [file for file in report.files if file.outcome is outcome] for outcome in Outcome}
    if report.is_dry_run:
        _listed([*by_outcome[Outcome.ADDED], *by_outcome[Outcome.REPLACED]])
    _listed(
        [file for file in (*by_outcome[Outcome.ADDED], *by_outcome[Outcome.REPLACED]) if file.reason or file.same_as]
    )
    _listed([*by_outcome[Outcome.FAILED], *by_outcome[Outcome.VANISHED], *by_outcome[Outcome.REMOVED]])
    reasons = Counter(file.reason for file in by_outcome[Outcome.SKIPPED])
    for reason, count in reasons.most_common(SHOWN):
        note(f"  {count:,} skipped: {one_line(reason)}")
    if report.needs_vectors:
        note("  found by words now; `mnemic worker` makes the vectors that find them by meaning")
    if report.why_nothing:
        note(f"  {in_options(report.why_nothing)}")


def _listed(files: Sequence[FileReport]) -> None:
    for file in files[:SHOWN]:
        same = f"the same as {file.same_as}" if file.same_as else ""
        why = "; ".join(part for part in (in_options(file.reason), same) if part)
        write(f"  {file.outcome.value}: {one_line(file.source)}" + (f" ({one_line(why)})" if why else ""))
    if len(files) > SHOWN:
        write(f"  and {len(files) - SHOWN} more; --json lists all")
