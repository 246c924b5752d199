"""`mnemic mcp`: the memory as a server of the Model Context Protocol, and its place in the clients of this machine."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mnemic.cli.chat import own_name, working
from mnemic.cli.mcp_clients import CLIENTS, Client, Entry, Written, install, own_entry
from mnemic.cli.options import command, flattened
from mnemic.cli.output import note, show_json, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import ConfigError, InvalidInputError

INSTALL = "MCP needs a package that is not here ({}): run `pip install 'mnemic[mcp]'`"
Names = Annotated[
    list[str] | None,
    typer.Option("--client", help="Only this client; may be repeated. " + ", ".join(CLIENTS)),
]


def serve(
    ctx: typer.Context,
    asking: ScopeOptions,
    works: Annotated[
        bool, typer.Option("--worker/--no-worker", help="Extract facts and do other jobs meanwhile.")
    ] = True,
) -> None:
    """Serve this memory to an MCP client over the standard input and output. The scope is what the options and the
    environment say, for as long as it runs; a client cannot name another. Without --user you are who is
    configured, else who is logged in.
    """
    if ctx.invoked_subcommand is not None:
        return
    try:
        from mnemic.mcp.stdio import serve_stdio
    except ImportError as error:
        raise ConfigError(INSTALL.format(error)) from error
    scope = asking.scope
    if scope.user is None and scope.agent is None:
        scope = replace(scope, user=own_name())
    scope = replace(scope, session=scope.session or str(uuid.uuid4()))
    with asking.open() as mnemic, working(mnemic, is_on=works):
        serve_stdio(mnemic, scope)


def put(
    asking: ScopeOptions,
    names: Names = None,
    is_dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")
    ] = False,
) -> None:
    """Write this server into the configuration of the MCP clients on this machine: of those that are there, or of
    those that --client names. What is there is kept, and a copy of the file as it was is put beside it. The scope and
    the store of the options are written down.
    """
    unknown = [name for name in names or () if name not in CLIENTS]
    if unknown:
        raise InvalidInputError(f"there is no client {unknown[0]!r}; there are {', '.join(CLIENTS)}")
    entry = own_entry(_arguments(asking))
    chosen = [CLIENTS[name] for name in names] if names else [each for each in CLIENTS.values() if each.is_here]
    written = [install(client, entry, is_dry_run=is_dry_run) for client in chosen]
    if asking.as_json:
        show_json([_told(each, entry) for each in written])
        return
    for each in written:
        _tell(each, is_dry_run=is_dry_run)
    if not written:
        note("no MCP client was found here; --client names one, or add this to its configuration:")
        write(entry.as_json())


def register(app: typer.Typer) -> None:
    """Adds the group: alone it serves."""
    group = typer.Typer(
        help="Serve this memory to MCP clients; `install` writes it into their configuration.", rich_markup_mode=None
    )
    group.callback(invoke_without_command=True)(flattened(serve))
    examples = """
        mnemic mcp install --user ana
        mnemic mcp install --user ana --client cursor --dry-run
    """
    command(group, "install", examples=examples)(put)
    app.add_typer(group, name="mcp")


def _arguments(asking: ScopeOptions) -> list[str]:
    """The options that say the same scope and store again."""
    scope = asking.scope
    user = scope.user or (None if scope.agent else own_name())
    given = {"--user": user, "--agent": scope.agent, "--session": scope.session, "--store": place_of(asking.store)}
    if scope.org != "default":
        given["--org"] = scope.org
    if asking.config is not None:
        given["--config"] = str(asking.config.expanduser().resolve())
    return ["mcp", *(word for name, value in given.items() if value is not None for word in (name, value))]


def place_of(store: str | None) -> str | None:
    """The store as it is found from any folder. Raises `InvalidInputError` for one whose password would be written."""
    if store is None or "://" in store:
        if store is not None and "@" in store:
            raise InvalidInputError("--store would write a login into the clients' files; set MNEMIC_STORE or --config")
        return store
    return str(Path(store).expanduser().resolve())


def _told(written: Written, entry: Entry) -> dict[str, object]:
    backup = None if written.backup is None else str(written.backup)
    return {
        "client": written.client.name,
        "file": str(written.client.file),
        "is_changed": written.is_changed,
        "backup": backup,
        "entry": entry.of(written.client),
    }


def _tell(written: Written, *, is_dry_run: bool) -> None:
    client: Client = written.client
    if not written.is_changed:
        write(f"{client.name}: {client.file} has it already")
        return
    write(f"{client.name}: {'would write' if is_dry_run else 'wrote'} {client.file}")
    if written.backup is not None:
        note(f"  as it was: {written.backup}")
    if not is_dry_run:
        note(f"  restart {client.title} to use it")
