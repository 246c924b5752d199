"""`mnemic backup` and `mnemic restore`: the whole store into one file, and back."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.failures import INTERRUPTED
from mnemic.cli.options import command
from mnemic.cli.output import moment, note, number_of, one_line, show_json, write
from mnemic.cli.progress import Told, progress_bars
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import InvalidInputError

if TYPE_CHECKING:
    from mnemic.model.backup import BackupReport, LostOrg, RestoreReport

File = Annotated[str, typer.Argument(help="The backup.", metavar="FILE")]


def save(
    asking: ScopeOptions,
    path: File,
    is_forced: Annotated[bool, typer.Option("--force", help="Replace a backup that is there.")] = False,
    has_receipts_alone: Annotated[
        bool, typer.Option("--receipts-only", help="Only the receipts of erasures: small, to keep elsewhere.")
    ] = False,
    is_checking: Annotated[
        bool, typer.Option("--verify", help="Write nothing: read a backup from end to end, and count its rows.")
    ] = False,
    is_sealed: Annotated[
        bool | None,
        typer.Option(
            "--sealed/--plain",
            help="Encrypt the rows of each org with a key of its own, which erasing the org destroys; "
            "else where backup.keyring is set.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the whole store, of all orgs, to one checked file that only you can read, while the store is used. It
    restores into SQLite and PostgreSQL alike.
    """
    if is_checking and (is_forced or has_receipts_alone or is_sealed is not None):
        raise InvalidInputError(
            "--verify writes nothing, so it goes with none of --force, --receipts-only, --sealed and --plain"
        )
    with _interruptible("checking", "the file is whole, or not there") as tell:
        if is_checking:
            from mnemic.api.backup import check_backup
            from mnemic.config import load_config

            report = check_backup(path, progress=tell, config=load_config(asking.store, file=asking.config))
        else:
            contents = "receipts" if has_receipts_alone else "whole"
            with asking.open() as mnemic:
                report = mnemic.backup(
                    path, contents=contents, is_replacing=is_forced, is_sealed=is_sealed, progress=tell
                )
    if asking.as_json:
        show_json(report)
        return
    _show_backup(report, is_checking=is_checking)


def bring_back(
    asking: ScopeOptions,
    path: File,
    receipts: Annotated[
        str | None,
        typer.Option(help="A further backup, or one of receipts alone: what it knows as erased is erased again."),
    ] = None,
    is_replacing: Annotated[bool, typer.Option("--replace", help="Replace all that the store holds.")] = False,
    is_dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the backup, say what would happen, and change nothing.")
    ] = False,
) -> None:
    """Put a backup in the place of all that the store holds, in one step: old or new, never a mix. What was erased
    since is erased again; keys and the audit log stay where there are any. Others may have the store open meanwhile.
    """
    with (
        _interruptible("restoring", "the store holds all that it held, or all of the backup") as tell,
        asking.open() as mnemic,
    ):
        report = mnemic.restore(
            path, receipts=receipts, is_replacing=is_replacing, is_dry_run=is_dry_run, progress=tell
        )
    if asking.as_json:
        show_json(report)
        return
    _show_restore(report)


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    examples = """
        mnemic backup monday.zip
        mnemic backup --sealed monday.zip
        mnemic backup --receipts-only receipts.zip --force
        mnemic backup --verify monday.zip
    """
    command(app, "backup", examples=examples)(save)
    examples = """
        mnemic restore monday.zip --dry-run
        mnemic restore monday.zip --receipts receipts.zip --replace
        mnemic restore monday.zip --store postgresql://user@db.example/mnemic
    """
    command(app, "restore", examples=examples)(bring_back)


@contextmanager
def _interruptible(last_step: str, whole: str) -> Generator[Told]:
    """Bars, and what Ctrl-C left: before the last step all is as it was, in it that or the whole outcome."""
    is_late = False
    try:
        with progress_bars() as tell:

            def told(what: str, done: int, total: int) -> None:
                nonlocal is_late
                is_late = is_late or what == last_step
                tell(what, done, total)

            yield told
    except KeyboardInterrupt as error:
        note(f"interrupted; {whole}" if is_late else "interrupted; nothing was changed")
        raise typer.Exit(INTERRUPTED) from error


def _show_backup(report: BackupReport, *, is_checking: bool) -> None:
    manifest = report.manifest
    done = "is whole" if report.notes else "is whole and readable" if is_checking else "written and read again"
    write(f"{one_line(report.path)}: {done}, {report.size:,} bytes")
    write(f"  made {moment(manifest.made_at)} by Mnemic {one_line(manifest.made_by)} of {one_line(manifest.store)}")
    write(f"  {manifest.contents.value}: {_counted(manifest.counts)}; {number_of(manifest.receipts, 'receipts')}")
    if manifest.sealed is not None:
        write(f"  sealed: {number_of(len(manifest.sealed.parts), 'orgs')}, each under a key of its own")
    _show_lost(report.lost)
    for each in report.notes:
        note(one_line(each))


def _show_restore(report: RestoreReport) -> None:
    would = "would hold" if report.is_dry_run else "holds"
    write(f"the store {would} {_counted(report.counts)}, as of {moment(report.manifest.made_at)}")
    if any(report.replaced.values()):
        write(f"  in place of {_counted(report.replaced)}")
    if report.replayed:
        write(f"  {number_of(report.replayed, 'erasures')} made since, and made again: {_counted(report.erased)}")
    if report.kept:
        write(f"  kept as they are: {', '.join(name.replace('_', ' ') for name in report.kept)}")
    _show_lost(report.lost)
    for each in report.notes:
        note(one_line(each))


def _show_lost(lost: Sequence[LostOrg]) -> None:
    for each in lost:
        name = f"key {one_line(each.key)}" if each.org is None else f"{one_line(each.org)}, key {one_line(each.key)}"
        why = "never in this keyring" if each.destroyed_at is None else f"destroyed {moment(each.destroyed_at)}"
        note(f"an org cannot be opened: {name}, {why}")


def _counted(counts: Mapping[str, int]) -> str:
    told = [f"{count:,} {table.replace('_', ' ')}" for table, count in sorted(counts.items()) if count]
    return ", ".join(told) or "nothing"
