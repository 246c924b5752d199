"""`mnemic keys …`: keys for the doors over HTTP, and what was done with them."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemic.cli.options import command
from mnemic.cli.output import Row, moment, note, one_line, show_json, show_rows, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.model.records import ApiKey, IssuedKey, Right

Id = Annotated[str, typer.Argument(help="The id of a key, as `mnemic keys list` shows it.")]
Rights = Annotated[
    list[Right] | None, typer.Option("--right", help="What it may do; may be repeated; read and write unless said.")
]
OVERLAP_S = 3600.0


def create(
    asking: ScopeOptions,
    name: Annotated[str, typer.Option(help="For people: what it is for.")] = "",
    rights: Rights = None,
    expires_at: Annotated[str | None, typer.Option(help="When it ends, ISO 8601; never unless said.")] = None,
) -> None:
    """Make a key of the org, for one user or agent alone where --user or --agent is said. It is shown this once.

    From then on every request to `mnemic serve` must show a key.
    """
    wanted = rights or (Right.READ, Right.WRITE)
    with asking.open() as mnemic:
        issued = mnemic.keys.create(asking.said, name=name, rights=wanted, expires_at=expires_at)
    _show_issued(issued, asking)


def enumerate_keys(asking: ScopeOptions) -> None:
    """List the keys of the org, those that ended too; no secrets."""
    with asking.open() as mnemic:
        keys = mnemic.keys.list(asking.said)
    if asking.as_json:
        show_json(keys)
        return
    if not keys:
        note("no key in this org")
        return
    show_rows(("id", "rights"), [_row(key) for key in keys])


def revoke(id: Id, asking: ScopeOptions) -> None:
    """End a key at once, also for servers that run."""
    with asking.open() as mnemic:
        key = mnemic.keys.revoke(asking.said, id)
    if asking.as_json:
        show_json(key)
        return
    note(f"key {one_line(key.id)} is not accepted any more")


def rotate(
    id: Id,
    asking: ScopeOptions,
    overlap_s: Annotated[float, typer.Option("--overlap", help="Seconds until the old one ends.", min=0)] = OVERLAP_S,
) -> None:
    """Make a key like this one, and let this one end after a while. The new one is shown this once."""
    with asking.open() as mnemic:
        issued = mnemic.keys.rotate(asking.said, id, overlap_s=overlap_s)
    _show_issued(issued, asking)


def audit(
    asking: ScopeOptions, limit: Annotated[int, typer.Option("--limit", "-n", help="Most entries.", min=1)] = 100
) -> None:
    """Show what was done in the org through the doors over HTTP and with keys, newest first."""
    with asking.open() as mnemic:
        page = mnemic.keys.audit(asking.said, limit=limit)
    if asking.as_json:
        show_json(page)
        return
    rows = [
        Row((moment(entry.at), one_line(entry.actor)), one_line(entry.verb), (one_line(entry.target), entry.outcome))
        for entry in page.entries
    ]
    if rows:
        show_rows(("at", "who"), rows)
    else:
        note("nothing in the audit log of this org")


def register(group: typer.Typer) -> None:
    """Adds the commands to the group."""
    examples = """
        mnemic keys create --name laptop
        mnemic keys create --user ana --right read --expires-at 2027-01-01
        mnemic keys create --right admin --name operator
    """
    command(group, "create", examples=examples)(create)
    command(group, "list", examples="mnemic keys list --json")(enumerate_keys)
    command(group, "revoke", examples="mnemic keys revoke 3f9c0a4b7d21e6f580")(revoke)
    command(group, "rotate", examples="mnemic keys rotate 3f9c0a4b7d21e6f580 --overlap 600")(rotate)
    command(group, "audit", examples="mnemic keys audit --limit 20")(audit)


def _show_issued(issued: IssuedKey, asking: ScopeOptions) -> None:
    if asking.as_json:
        show_json(issued)
        return
    note(f"key {issued.key.id}; keep it now, it is not shown again:")
    write(issued.token)


def _row(key: ApiKey) -> Row:
    ends = [f"{word} {moment(at)}" for word, at in (("expires", key.expires_at), ("revoked", key.revoked_at)) if at]
    bounds = [f"{part} {one_line(value)}" for part, value in (("user", key.user), ("agent", key.agent)) if value]
    return Row(
        (key.id, " ".join(sorted(key.rights))), one_line(key.name), (*bounds, f"made {moment(key.created_at)}", *ends)
    )
