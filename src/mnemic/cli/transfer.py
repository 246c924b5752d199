"""Everything of a user or a store: `mnemic import`, `export`, `backup`, `restore`, `erase` and `receipts`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli import output
from mnemic.cli.commands import Arguments, command, verb_command
from mnemic.cli.input import STDIN, open_replacement, read_file
from mnemic.cli.options import AsJson, IsSure, ScopeOptions
from mnemic.errors import ConflictError, InvalidInputError, UnavailableError
from mnemic.model.records import JobState
from mnemic.model.scope import Level, Scope
from mnemic.text.chatlogs import FORMATS
from mnemic.text.memoryfiles import MEMORY_FORMATS
from mnemic.wire import to_wire

if TYPE_CHECKING:
    from mnemic.engine.import_files import ImportReport
    from mnemic.model.backup import BackupReport, LostOrg, RescueReport, RestoreReport
    from mnemic.model.records import Receipt

LINES_SHOWN = 20
"""Problems and changes that a report lists of each file; `--json` has all."""

PLURALS = {"memory": "memories", "entity": "entities", "history": "history entries", "profile": "profile facts"}
MAX_FILE_CHARS = 200
"""How much of a file's path is kept as the place where memories came from: its end."""

_FORMATS = ("mnemic-export", *FORMATS, *MEMORY_FORMATS)


@command("import")
def import_(
    files: Annotated[list[str], typer.Argument(help="The files to read, or - for standard input.", metavar="FILE...")],
    options: ScopeOptions,
    arguments: Arguments,
    format: Annotated[
        str | None, typer.Option(help=f"The format: {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}. Default: detected.")
    ] = None,
) -> None:
    """Import Mnemic exports, or chats and memories from other programs. Importing the same file twice changes nothing.
    To resume after an interruption, run the import again. Records that cannot be read are listed and skipped, and the
    command exits with code 14. Intentionally skipped records do not count as failures.
    """
    for file in files:
        if file != STDIN and not Path(file).is_file():
            raise InvalidInputError(f"the file {file} does not exist")
    arguments["format"], name = format, arguments.pop("name", "")
    scope, reports = options.scope, list[tuple[str, "ImportReport"]]()
    position = output.Position("in {name}, {done} of {total} done")
    remark = "run the same command again to continue"
    with output.show_progress(lambda: f" {position}; {remark}") as tell, options.open() as mnemic:
        for file in files:
            content = read_file(file)
            position.begin(Path(file).name, tell, content.count("\n") + 1 if isinstance(content, str) else 1)
            with _name_file_in_errors(file):
                arguments["name"] = name if file == STDIN else _shorten_path(file)
                reports.append((file, mnemic.import_(scope, content, **arguments, progress=position.reach)))
        is_new = any(report.added and not report.is_dry_run for _, report in reports)
        is_waiting = is_new and bool(mnemic.jobs.list(scope, states=[JobState.PENDING], limit=1))
    _end_import(reports, options, is_waiting=is_waiting)


@command("export")
def export(
    options: ScopeOptions,
    arguments: Arguments,
    file: Annotated[str, typer.Argument(help="The file to write, or - for standard output.", metavar="[FILE]")] = STDIN,
    is_forced: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Export everything the scope owns as JSON Lines, which `mnemic import` can read back without loss. A file is
    written completely or not at all. With `--format mcp-memory`, other programs can read it.
    """
    path = None if file == STDIN else Path(file)
    if path is not None and path.exists() and not is_forced:
        raise ConflictError(f"{file} already exists; use --force to overwrite it")
    with options.open() as mnemic:
        lines = mnemic.export(options.scope, **arguments)
        if path is None:
            for line in lines:
                output.write(line)
            return
        counts = write_whole(path, lines, is_forced=is_forced)
    if options.as_json:
        output.show_json({"file": file, "counts": counts})
        return
    output.note(f"wrote {_count_records(counts)} to {file}")


@command("backup")
def backup(
    options: ScopeOptions,
    arguments: Arguments,
    is_checking: Annotated[
        bool, typer.Option("--verify", help="Write nothing. Instead, read an existing backup and count its rows.")
    ] = False,
) -> None:
    """Write the whole store, including all orgs, to one verified file that only you can read. The store stays
    available. SQLite and PostgreSQL can both restore the file.
    """
    if is_checking and set(arguments) != {"path"}:
        raise InvalidInputError("--verify writes nothing; omit --force, --receipts-only, --sealed and --plain")
    with _track_steps("checking", "the file is either complete or missing") as tell:
        if is_checking:
            from mnemic.api.doors import check_backup
            from mnemic.config import load_config

            config = load_config(options.store, file=options.config)
            report = check_backup(arguments["path"], progress=tell, config=config)
        else:
            with options.open() as mnemic:
                report = mnemic.backup(**arguments, progress=tell)
    output.show_answer(report, partial(_show_backup, is_checking=is_checking), as_json=options.as_json)


@command("restore")
def restore(options: ScopeOptions, arguments: Arguments) -> None:
    """Replace everything in the store with a backup, in one step. Erasures made since the backup are applied again.
    Existing keys and the audit log are kept. Other processes can keep the store open.
    """
    if not Path(arguments["path"]).is_file():  # before a store is made for it
        raise InvalidInputError(f"the file {arguments['path']} does not exist")
    whole = "the store has either all its old rows or all rows from the backup"
    with _track_steps("restoring", whole) as tell, options.open() as mnemic:
        report = mnemic.restore(**arguments, progress=tell)
    output.show_answer(report, _show_restore, as_json=options.as_json)


@command("rescue")
def rescue(
    store: Annotated[str, typer.Argument(help="The damaged store, which is never changed.", metavar="STORE")],
    new: Annotated[str, typer.Argument(help="The path of the new store, which must not exist yet.", metavar="NEW")],
    as_json: AsJson = False,
) -> None:
    """Copy every readable row of a damaged store to a new store, and list any losses. First, stop all processes that
    use the damaged store.
    """
    from mnemic.api.doors import rescue_store

    output.show_answer(rescue_store(store, new), _show_rescue, as_json=as_json)


@command("erase", is_stated=True)
def erase(options: ScopeOptions, arguments: Arguments, is_sure: IsSure = False) -> None:
    """Permanently erase all data of a user (or session, agent or org): messages, memories, documents, profile, history,
    jobs, indexes and all derived data. A receipt without names is kept. Choose the user with --user or MNEMIC_USER.
    """
    is_sure = is_sure or "is_dry_run" in arguments
    output.require_answer("erase", is_sure=is_sure)
    scope = options.stated_scope
    owner = _describe_owner(scope, arguments.get("level"))
    with options.open() as mnemic:

        def ask() -> str:
            plan = mnemic.erase(scope, level=arguments.get("level"), is_dry_run=True)
            return f"Permanently erase {_list_sorted(plan.counts)} of {owner}?"

        output.confirm(ask, verb="erase", is_sure=is_sure)
        receipt = mnemic.erase(scope, **arguments)
    if options.as_json:
        output.show_json(receipt)
    elif receipt.is_plan:
        output.write(f"would erase {_list_sorted(receipt.counts)} of {owner}")
    else:
        output.write(receipt.id)
        output.note(f"erased {_list_sorted(receipt.counts)}")
        output.note_all(receipt.notes)


@verb_command("receipts")
def receipts(found: Sequence[Receipt]) -> None:
    """List an org's erasures with their times and the number of rows erased per table. Receipts contain no names."""
    for receipt in found:
        output.write(f"{receipt.id}  {receipt.at.isoformat()}  {_list_sorted(receipt.counts)}")
    output.note(output.format_count(len(found), "erasures"))


@contextmanager
def _track_steps(last_step: str, whole: str) -> Generator[output.Told]:
    """Progress bars, and a remark on what Ctrl-C left: before the last step nothing has changed."""
    is_late = False
    with output.show_progress(lambda: f"; {whole}" if is_late else "; nothing was changed") as tell:

        def tell_step(step: str, done: int, total: int) -> None:
            nonlocal is_late
            is_late = is_late or step == last_step
            tell(step, done, total)

        yield tell_step


@contextmanager
def _name_file_in_errors(file: str) -> Generator[None]:
    """Errors name the file that they are about."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{file}: {error}") from error


def _shorten_path(name: str) -> str:
    """The path of a file, from the home folder if it is below it: the same name from wherever it is imported."""
    path, home = Path(name).resolve(), Path.home().resolve()
    place = f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else path.as_posix()
    return place[-MAX_FILE_CHARS:]


def _end_import(reports: list[tuple[str, ImportReport]], options: ScopeOptions, *, is_waiting: bool) -> None:
    if options.as_json:
        answers = [{"file": name, **to_wire(report)} for name, report in reports]
        output.show_json(answers[0] if len(answers) == 1 else answers)
    else:
        _show_reports(reports)
        if is_waiting:
            output.note("Next, run `mnemic work` to extract facts. A running `mnemic serve` does this automatically.")
    problems = sum(len(report.problems) for _, report in reports)
    if problems:
        added = sum(report.added.total() for _, report in reports)
        known = sum(report.known.total() for _, report in reports)
        would = "would be " if any(report.is_dry_run for _, report in reports) else ""
        unread = output.format_count(problems, "records")
        failed = f"{unread} could not be read; {added:,} {would}added, {known:,} already known"
        output.end_partly(failed, as_json=options.as_json)


def _show_reports(reports: list[tuple[str, ImportReport]]) -> None:
    for name, report in reports:
        would = "would be " if report.is_dry_run else ""
        added, known = _count_records(report.added), _count_records(report.known)
        output.write(f"{name} ({report.format}): {added} {would}added, {known} already known")
        if any(report.skipped.values()):
            output.write(f"  skipped: {output.list_counts(report.skipped)}")
        if report.redacted:
            output.write(f"  secrets redacted: {output.list_counts(report.redacted)}")
        if report.quarantined:
            output.write(f"  need review: {report.quarantined}; `mnemic memory review` lists them")
        _show_lines(report.changed, "changes", output.write)
        _show_lines(report.problems, "problems", output.note)


def _show_lines(lines: Sequence[str], what: str, show: Callable[[str], object]) -> None:
    for line in lines[:LINES_SHOWN]:
        show(f"  {output.one_line(line)}")
    if len(lines) > LINES_SHOWN:
        show(f"  and {len(lines) - LINES_SHOWN} more {what}; --json lists all")


def _count_records(counts: Mapping[str, int]) -> str:
    """The number of records by type, such as `2 memories`."""
    named = {kind: PLURALS.get(kind, f"{kind}s") for kind, count in counts.items() if count}
    return ", ".join(output.format_count(counts[kind], many) for kind, many in named.items()) or "nothing"


def write_whole(path: Path, lines: Iterable[str], *, is_forced: bool) -> Counter[str]:
    """Write an export completely or not at all. Returns the number of records by type."""
    counts: Counter[str] = Counter()
    try:
        with open_replacement(path) as file:
            for line in lines:
                file.write(line + "\n")
                counts[str(json.loads(line)["type"])] += 1
            if path.exists() and not is_forced:
                raise ConflictError(f"{path} already exists; use --force to overwrite it")
    except OSError as error:
        raise UnavailableError(f"{path} cannot be written: {error.strerror}") from error
    del counts["header"]
    return counts


def _show_backup(report: BackupReport, *, is_checking: bool) -> None:
    manifest = report.manifest
    done = "complete" if report.notes else "complete and readable" if is_checking else "written and verified"
    output.write(f"{output.one_line(report.path)}: {done}, {report.size:,} bytes")
    made_by, store = output.one_line(manifest.made_by), output.one_line(manifest.store)
    output.write(f"  made {output.format_time(manifest.made_at)} by Mnemic {made_by} from {store}")
    receipts = output.format_count(manifest.receipts, "receipts")
    output.write(f"  {manifest.contents.value}: {_list_sorted(manifest.counts)}; {receipts}")
    if manifest.sealed is not None:
        output.write(f"  sealed: {output.format_count(len(manifest.sealed.parts), 'orgs')}, each with its own key")
    _show_lost(report.lost)
    output.note_all(report.notes)


def _show_rescue(report: RescueReport) -> None:
    filled = {name: count for name, count in report.rows.items() if count}
    output.write(f"{output.one_line(report.path)}: saved {_list_sorted(filled)}")
    _show_lines(report.lost, "losses", output.note)
    output.write("nothing was lost" if not report.lost else f"{len(report.lost)} losses")


def _show_restore(report: RestoreReport) -> None:
    would = "would have" if report.is_dry_run else "has"
    output.write(
        f"the store {would} {_list_sorted(report.counts)}, as of {output.format_time(report.manifest.made_at)}"
    )
    if any(report.replaced.values()):
        output.write(f"  instead of {_list_sorted(report.replaced)}")
    if report.replayed:
        erasures = output.format_count(report.replayed, "erasures")
        output.write(f"  repeated {erasures} made since then: {_list_sorted(report.erased)}")
    if report.kept:
        output.write(f"  unchanged: {', '.join(name.replace('_', ' ') for name in report.kept)}")
    _show_lost(report.lost)
    output.note_all(report.notes)


def _show_lost(lost: Sequence[LostOrg]) -> None:
    for each in lost:
        key = f"key {output.one_line(each.key)}"
        name = key if each.org is None else f"{output.one_line(each.org)}, {key}"
        ended = each.destroyed_at
        why = "is not in this keyring" if ended is None else f"was destroyed {output.format_time(ended)}"
        output.note(f"could not open the data of an org ({name}): its key {why}")


def _list_sorted(counts: Mapping[str, int]) -> str:
    return output.list_counts(dict(sorted(counts.items())))


def _describe_owner(scope: Scope, level: Level | None) -> str:
    chosen = scope.default_level if level is None else level
    names = {Level.SESSION: scope.session, Level.USER: scope.user, Level.AGENT: scope.agent, Level.ORG: scope.org}
    return f"{chosen.value} {output.one_line(names[chosen] or '')}"
