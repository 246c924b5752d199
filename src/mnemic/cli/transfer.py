"""`mnemic import` and `mnemic export`: conversations of other programs in, everything out, without loss."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.failures import INTERRUPTED
from mnemic.cli.input import STDIN, file_content
from mnemic.cli.options import command
from mnemic.cli.output import end_partly, note, number_of, one_line, show_json, write
from mnemic.cli.progress import Told, progress_bars
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import ConflictError, InvalidInputError, UnavailableError
from mnemic.model.scope import Level
from mnemic.text.chatlogs import FORMATS
from mnemic.text.memoryfiles import MEMORY_FORMATS
from mnemic.wire import to_wire

if TYPE_CHECKING:
    from mnemic.api import ImportFields
    from mnemic.engine.import_files import ImportReport

PROBLEMS_SHOWN = 20
PLURALS = {"memory": "memories", "history": "history entries", "profile": "profile facts"}
MAX_FILE_CHARS = 200
Files = Annotated[list[str], typer.Argument(help="The files to read; - is the standard input.", metavar="FILE...")]
_FORMATS = ("mnemic-export", *FORMATS, *MEMORY_FORMATS)
Format = Annotated[
    str | None, typer.Option(help=f"{', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}; found out unless said.")
]


def take_in(
    files: Files,
    asking: ScopeOptions,
    format: Format = None,
    name: Annotated[str, typer.Option(help="The file's name, for what comes by the standard input.")] = "",
    is_dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")] = False,
    include_tools: Annotated[bool, typer.Option("--include-tools", help="Keep the results of tool calls too.")] = False,
) -> None:
    """Take in exports of Mnemic, and chats and memories of other programs. Repeating it changes nothing, and goes on
    where an interrupted one stopped. What cannot be read is listed and does not stop the rest; the command then exits
    with 14. What is left out on purpose is no failure.
    """
    for file in files:
        if file != STDIN and not Path(file).is_file():
            raise InvalidInputError(f"there is no file {file}")
    scope, place = asking.scope, _Place()
    reports: list[tuple[str, ImportReport]] = []
    told: ImportFields = {
        "format": format,
        "is_dry_run": is_dry_run,
        "include_tools": include_tools,
        "progress": place.reached,
    }
    try:
        with asking.open() as mnemic, progress_bars() as tell:
            for file in files:
                content = file_content(file)
                place.begin(file, content.count("\n") + 1 if isinstance(content, str) else 1, tell)
                with _named(file):
                    fields: ImportFields = {**told, "name": name if file == STDIN else _file_name(file)}
                    reports.append((file, mnemic.import_(scope, content, **fields)))
    except KeyboardInterrupt as error:
        note(f"interrupted {place}; what was done stays: run the same command again, and it goes on from there")
        raise typer.Exit(INTERRUPTED) from error
    _show(reports, asking)


def give_out(
    asking: ScopeOptions,
    file: Annotated[str, typer.Argument(help="Where to write; - is the standard output.", metavar="[FILE]")] = STDIN,
    levels: Annotated[
        list[Level] | None,
        typer.Option("--level", "--levels", help="Only this level; may be repeated; all but org unless said."),
    ] = None,
    is_forced: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Write everything the scope owns as JSON lines; `mnemic import` reads them back without loss. A file is complete
    or not there at all.
    """
    wanted = tuple(levels) if levels else (Level.SESSION, Level.USER, Level.AGENT)
    path = None if file == STDIN else Path(file)
    if path is not None and path.exists() and not is_forced:
        raise ConflictError(f"{file} exists already; --force overwrites it")
    with asking.open() as mnemic:
        lines = mnemic.export(asking.scope, levels=wanted)
        if path is None:
            for line in lines:
                write(line)
            return
        counts = write_whole(path, lines, is_forced=is_forced)
    if asking.as_json:
        show_json({"file": file, "counts": counts})
        return
    note(f"wrote {_records(counts)} to {file}")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    examples = """
        mnemic import --user ana conversations.json --dry-run
        mnemic import --user ana ~/logs/*.jsonl --include-tools
        mnemic import --user ana MEMORY.md memory/*.md
        mnemic export --user ana | mnemic import --user ana --store other.db -
    """
    command(app, "import", examples=examples)(take_in)
    examples = """
        mnemic export --user ana ana.jsonl
        mnemic export --user ana --agent quill --level agent agent.jsonl --force
    """
    command(app, "export", examples=examples)(give_out)


class _Place:
    """How far an import has come."""

    def __init__(self) -> None:
        self._name, self._done, self._total = "", 0, 0
        self._tell: Told = lambda _what, _done, _total: None

    def begin(self, name: str, lines: int, tell: Told) -> None:
        """Another file, of so many lines."""
        self._name, self._done, self._total, self._tell = one_line(Path(name).name), 0, lines, tell

    def reached(self, done: int, total: int | None) -> None:
        """So many records are done."""
        self._done, self._total = done, total or self._total
        self._tell(self._name, done, self._total)

    def __str__(self) -> str:
        return f"in {self._name}, {self._done} of {self._total} done" if self._name else "before anything was read"


@contextmanager
def _named(name: str) -> Generator[None]:
    """Errors say which file they are about."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{name}: {error}") from error


def _file_name(name: str) -> str:
    """Where a file is, from the home folder where it is below it: one name from wherever it is imported."""
    path, home = Path(name).resolve(), Path.home().resolve()
    place = f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else path.as_posix()
    return place[-MAX_FILE_CHARS:]


def _show(reports: list[tuple[str, ImportReport]], asking: ScopeOptions) -> None:
    if asking.as_json:
        answers = [{"file": name, **to_wire(report)} for name, report in reports]
        show_json(answers[0] if len(answers) == 1 else answers)
    else:
        _show_reports(reports)
    problems = sum(len(report.problems) for _, report in reports)
    if problems:
        added = sum(report.added.total() for _, report in reports)
        known = sum(report.known.total() for _, report in reports)
        would = "would be " if any(report.is_dry_run for _, report in reports) else ""
        told = f"{number_of(problems, 'records')} could not be read; {added:,} {would}added, {known:,} known already"
        end_partly(told, as_json=asking.as_json)


def _show_reports(reports: list[tuple[str, ImportReport]]) -> None:
    for name, report in reports:
        would = "would be " if report.is_dry_run else ""
        write(
            f"{name} ({report.format}): {_records(report.added)} {would}added, {_records(report.known)} known already"
        )
        if any(report.skipped.values()):
            write(f"  left out: {_counted(report.skipped)}")
        if report.redacted:
            write(f"  secrets redacted: {_counted(report.redacted)}")
        if report.quarantined:
            write(f"  wait for a review, `mnemic memory review` lists them: {report.quarantined}")
        _show_lines(report.changed, "changes", write)
        _show_lines(report.problems, "problems", note)


def _show_lines(lines: Sequence[str], what: str, show: Callable[[str], object]) -> None:
    for line in lines[:PROBLEMS_SHOWN]:
        show(f"  {one_line(line)}")
    if len(lines) > PROBLEMS_SHOWN:
        show(f"  and {len(lines) - PROBLEMS_SHOWN} more {what}; --json lists all")


def _records(counts: Mapping[str, int]) -> str:
    """So many of each type of record; what an export calls one `memory` is many memories."""
    named = {kind: PLURALS.get(kind, f"{kind}s") for kind, count in counts.items() if count}
    return ", ".join(number_of(counts[kind], many) for kind, many in named.items()) or "nothing"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count) or "nothing"


def write_whole(path: Path, lines: Iterable[str], *, is_forced: bool) -> Counter[str]:
    """Write a file beside the place it goes to, then put it there; what fails or is interrupted leaves nothing.

    Only its owner may read it. Counts the records by type.
    """
    counts: Counter[str] = Counter()
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:50]}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                for line in lines:
                    file.write(line + "\n")
                    counts[str(json.loads(line)["type"])] += 1
                file.flush()
                os.fsync(file.fileno())
            if path.exists() and not is_forced:
                raise ConflictError(f"{path} exists already; --force overwrites it")
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise UnavailableError(f"{path} cannot be written: {error.strerror}") from error
    del counts["header"]
    return counts
