"""Orgs and their stores: `mnemic org list`, `move` and `cancel`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli import output
from mnemic.cli.commands import command
from mnemic.cli.options import IsSure, StoreOptions
from mnemic.errors import InvalidInputError

if TYPE_CHECKING:
    from mnemic.engine.engine import Engine
    from mnemic.engine.move import MoveReport
    from mnemic.ports.store import Store as OpenStore

OrgName = Annotated[str, typer.Argument(help="The org.", metavar="ORG")]
Target = Annotated[str, typer.Option("--to", help="The target store: a path or postgresql://…", metavar="STORE")]


@command("org list")
def list_orgs(options: StoreOptions) -> None:
    """List the store's orgs. For each org that is moving or has moved, show the other store."""
    from mnemic.engine.move import moving

    with _open(options) as engine, moving(engine.store).rows() as rows:
        placements = {each.org: each for each in moving(engine.store).placements()}
        orgs = {org: placements.get(org) for org in sorted({*rows.orgs(), *placements})}
    if options.as_json:
        output.show_json(orgs)
        return
    at = {org: ("here", "") if each is None else (each.state.value, each.place) for org, each in orgs.items()}
    output.show_rows(("org", "state"), [output.Row((org, state), place, ()) for org, (state, place) in at.items()])


@command("org move")
def move(
    org: OrgName,
    to: Target,
    options: StoreOptions,
    is_erasing: Annotated[
        bool, typer.Option("--erase", help="After the move, erase the org's rows from this store and print a receipt.")
    ] = False,
    is_sure: IsSure = False,
) -> None:
    """Move an org with all its rows and keys to another store while it is in use. Writes to the org are refused during
    the last step, and clients can retry them. Both stores are compared row by row before the switch. To resume after
    an interruption, run the command again.
    """
    from mnemic.engine.move import move_org

    if is_erasing:
        output.require_answer("erase", is_sure=is_sure)
    with _open(options) as engine, _open_target(to) as target:
        if is_erasing:
            output.confirm(lambda: f"Move {org} and erase it from this store?", verb="erase", is_sure=is_sure)
        remark = "; run the same command again to continue"
        with output.show_progress(lambda: remark) as tell:
            report = move_org(engine, target, org, is_erasing=is_erasing, told=tell)
    output.show_answer(report, _show_move, as_json=options.as_json)


@command("org cancel")
def cancel(
    org: OrgName,
    options: StoreOptions,
    to: Annotated[str | None, typer.Option("--to", help="The target store.", metavar="STORE")] = None,
    is_lost: Annotated[bool, typer.Option("--lost", help="Cancel without the target, which no longer exists.")] = False,
) -> None:
    """Cancel an interrupted move. The org stays in this store, and its rows are removed from the target. With --lost,
    this store serves the org again with its own rows, even if the org has already moved to the lost store.
    """
    from mnemic.engine.move import cancel_move

    if (to is None) is not is_lost:
        raise InvalidInputError("name the target with --to, or pass --lost if it no longer exists")
    with _open(options) as engine, nullcontext() if to is None else _open_target(to) as target:
        cancel_move(engine, target, org)
    if options.as_json:
        output.show_json({"org": org, "state": "here"})
    else:
        output.note(f"{output.one_line(org)} stays in this store")


def _show_move(report: MoveReport) -> None:
    org, target = output.one_line(report.org), output.one_line(report.target)
    if report.digest:
        output.write(f"{org} moved to {target}: {sum(report.rows.values()):,} rows, equal in both stores")
        output.write(f"  SHA-256 {report.digest}")
        output.write(f"  {output.list_counts({name: rows for name, rows in sorted(report.rows.items()) if rows})}")
        output.note(f"writes were stopped for {report.stopped_s:.2f} s of {report.seconds:.2f} s")
    else:
        output.write(f"{org} had already moved to {target}")
    if report.receipt is not None:
        output.write(f"  erased from {output.one_line(report.source)}, receipt {report.receipt.id}")
        output.note_all(report.receipt.notes)


@contextmanager
def _open(options: StoreOptions) -> Generator[Engine]:
    from mnemic.build import build
    from mnemic.config import load_config

    engine = build(load_config(options.store, file=options.config))
    try:
        yield engine
    finally:
        engine.readers.close()
        engine.index.close()
        engine.store.close()


@contextmanager
def _open_target(to: str) -> Generator[OpenStore]:
    from mnemic.build import open_store
    from mnemic.config import load_config

    target = open_store(load_config(to))
    try:
        yield target
    finally:
        target.close()
