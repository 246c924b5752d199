"""`mnemic erase`: everything of a session, a user, an agent or an org, for good."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mnemic.cli.failures import UNEXPECTED
from mnemic.cli.options import command
from mnemic.cli.output import note, number_of, one_line, show_json, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import InvalidInputError
from mnemic.model.records import Receipt
from mnemic.model.scope import Level, Scope

Whose = Annotated[
    Level | None, typer.Option("--level", help="What is erased: session, user, agent or org; the user unless said.")
]
IsSure = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be erased, and change nothing.")]


def wipe(asking: ScopeOptions, level: Whose = None, is_sure: IsSure = False, is_dry_run: DryRun = False) -> None:
    """Erase for good everything of a user (or session, agent, org): what was said, memories, documents, profile,
    history, jobs, indexes, and what was derived from it elsewhere. A receipt without names is kept. Whose it is must be
    said: a configured user is not meant.
    """
    if not is_sure and not is_dry_run and not sys.stdin.isatty():
        raise InvalidInputError("nobody can be asked here, and this erases for good; add --yes if it is meant")
    scope = asking.said
    with asking.open() as mnemic:
        if not is_sure and not is_dry_run:
            plan = mnemic.erase(scope, level=level, is_dry_run=True)
            if not typer.confirm(f"Erase {_told(plan)} of {_owner(scope, level)} for good?", err=True):
                note("nothing was erased")
                raise typer.Exit(UNEXPECTED)
        receipt = mnemic.erase(scope, level=level, is_dry_run=is_dry_run)
    if asking.as_json:
        show_json(receipt)
        return
    if receipt.is_plan:
        write(f"would erase {_told(receipt)} of {_owner(scope, level)}")
        return
    write(receipt.id)
    note(f"erased {_told(receipt)}")
    for each in receipt.notes:
        note(one_line(each))


def show_receipts(asking: ScopeOptions) -> None:
    """List what was erased in an org: when, and how many rows of which tables. Receipts hold no names."""
    with asking.open() as mnemic:
        found = mnemic.receipts(asking.scope)
    if asking.as_json:
        show_json(found)
        return
    for receipt in found:
        write(f"{receipt.id}  {receipt.at.isoformat()}  {_told(receipt)}")
    note(f"{number_of(len(found), 'erasures')}")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    examples = """
        mnemic erase --user ana --dry-run
        mnemic erase --user ana --session s1 --level session --yes
    """
    command(app, "erase", examples=examples)(wipe)
    command(app, "receipts", examples="mnemic receipts --json")(show_receipts)


def _told(receipt: Receipt) -> str:
    counts = sorted(receipt.counts.items())
    return ", ".join(f"{count:,} {table.replace('_', ' ')}" for table, count in counts) or "nothing"


def _owner(scope: Scope, level: Level | None) -> str:
    chosen = scope.default_level if level is None else level
    names = {Level.SESSION: scope.session, Level.USER: scope.user, Level.AGENT: scope.agent, Level.ORG: scope.org}
    return f"{chosen.value} {one_line(names[chosen] or '')}"
