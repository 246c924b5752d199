"""`mnemic mcp`: serve memory over the Model Context Protocol, and install it in this machine's MCP clients."""

import re
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote

import typer

from mnemic.cli.clients import CLIENTS, Changed, Client, Entry, build_own_entry, install_server
from mnemic.cli.commands import command
from mnemic.cli.failures import UNEXPECTED, report_error
from mnemic.cli.options import AsJson, IsDryRun, ScopeOptions, Works, run_worker
from mnemic.cli.output import note, show_json, write
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.verbs import DEFAULT_TOOLS

INSTALL = "MCP requires a missing package ({}); run `pip install 'mnemic[mcp]'`"

_PASSWORD = re.compile(r"(?i)://[^@]*:[^@]*@|[?&][^=&]*(?:pass(?!file)|pwd|secret|token|api.?key)[^=&]*=")

Names = Annotated[
    list[str] | None,
    typer.Option("--client", help="Only this client. Repeatable. Clients: " + ", ".join(CLIENTS) + "."),
]


@command("mcp")
def mcp(
    ctx: typer.Context,
    options: ScopeOptions,
    works: Works = True,
    tools: Annotated[str, typer.Option(help="Tools to offer: names separated by commas, or all.")] = DEFAULT_TOOLS,
) -> None:
    """Serve memory to one MCP client over standard input and output. The options and the environment set the scope, and
    the client cannot change it.
    """
    if ctx.invoked_subcommand is not None:
        return
    try:
        from mnemic.mcp.stdio import serve_stdio
    except ImportError as error:
        raise ConfigError(INSTALL.format(error)) from error
    scope = options.personal_scope
    scope = replace(scope, session=scope.session or str(uuid.uuid4()))
    with options.open() as mnemic, run_worker(mnemic, is_on=works):
        serve_stdio(mnemic, scope, tools)


@command("mcp install")
def install(options: ScopeOptions, names: Names = None, is_dry_run: IsDryRun = False) -> None:
    """Add Mnemic, with this scope and store, to the configuration of all MCP clients on this machine. Use --client to
    choose specific clients. The rest of each file stays unchanged, and the previous file is backed up.
    """
    entry = build_own_entry(["mcp", *list_options(options)])
    _change_clients(names, entry, is_dry_run=is_dry_run, as_json=options.as_json)


@command("mcp uninstall")
def uninstall(names: Names = None, is_dry_run: IsDryRun = False, as_json: AsJson = False) -> None:
    """Remove Mnemic's server from the configuration of all MCP clients on this machine, or of those chosen with
    --client. The previous file is backed up, and your memories are kept.
    """
    _change_clients(names, None, is_dry_run=is_dry_run, as_json=as_json)


def _change_clients(names: list[str] | None, entry: Entry | None, *, is_dry_run: bool, as_json: bool) -> None:
    """Install the entry in each client, or remove it if None. Continues after a failure."""
    done = ("would remove" if is_dry_run else "removed") + " it from"
    unchanged = "has none"
    if entry is not None:
        done, unchanged = "would write" if is_dry_run else "wrote", "has it already"
    clients, codes, rows = _choose_clients(names), list[int](), list[dict[str, object]]()
    for client in clients:
        entries = {} if entry is None else {"entry": entry.of(client)}
        try:
            changed = install_server(client, entry, is_dry_run=is_dry_run)
        except ConfigError as error:
            codes.append(report_error(error, is_json=as_json))
            rows.append({"client": client.name, "file": str(client.file), "error": str(error), **entries})
            if entry is not None and not as_json:
                note(f"{client.name}: merge this into {client.file}:")
                write(entry.write_for(client).rstrip())
            continue
        rows.append({"client": client.name, "file": str(client.file), **describe_change(changed), **entries})
        if not as_json:
            show_change(changed, unchanged, done, is_dry_run=is_dry_run)
            if entry is not None and changed.is_changed and not is_dry_run:
                note(f"  restart {client.title} to use it")
    if as_json:
        show_json(rows)
    elif not clients:
        note("no MCP client found; choose one with --client" + (", or add this entry by hand:" if entry else ""))
        write(entry.write_for(CLIENTS["cursor"]).rstrip()) if entry else None
    if codes:
        raise typer.Exit(codes[0] if len(clients) == 1 else UNEXPECTED)


def _choose_clients(names: list[str] | None) -> list[Client]:
    if unknown := [name for name in names or () if name not in CLIENTS]:
        raise InvalidInputError(f"unknown client {unknown[0]!r}; choose from {', '.join(CLIENTS)}")
    return [CLIENTS[name] for name in names] if names else [each for each in CLIENTS.values() if each.is_here]


def list_options(options: ScopeOptions, server: str | None = None) -> list[str]:
    """The options for the same scope and store or server, valid in any folder. Raises `InvalidInputError` if a password
    would be written.
    """
    if server is not None and re.search("[@?#]", server):
        raise InvalidInputError(
            "--server must have no password or query, which would be stored in other programs' files; pass only "
            "the server's address, and set its API key in the environment variable MNEMIC_KEY"
        )
    scope = options.personal_scope
    given = {
        "--user": scope.user,
        "--agent": scope.agent,
        "--session": scope.session,
        "--server": server,
        "--store": None if server else _resolve_store(options.store),
        "--org": None if scope.org == "default" else scope.org,
        "--config": None if options.config is None else options.config.expanduser().resolve().as_posix(),
    }
    return [word for name, value in given.items() if value is not None for word in (name, value)]


def _resolve_store(store: str | None) -> str | None:
    """The store as it is found from any folder. Raises `InvalidInputError` if a password would be written."""
    if store is None or "://" in store:
        if store is not None and _PASSWORD.search(unquote(store)):
            raise InvalidInputError(
                "--store contains a password, which would be stored in other programs' files; set the store in the "
                "environment variable MNEMIC_STORE, or name your configuration file with --config"
            )
        return store
    return Path(store).expanduser().resolve().as_posix()


def describe_change(changed: Changed) -> dict[str, object]:
    """The change of a file, in JSON."""
    backup = None if changed.backup is None else str(changed.backup)
    difference = {"difference": changed.difference} if changed.difference else {}
    return {"is_changed": changed.is_changed, "backup": backup, **difference}


def show_change(changed: Changed, unchanged: str, done: str, *, is_dry_run: bool) -> None:
    """Print a program's change as a line, with the difference in a dry run and the path of the backup."""
    write(
        f"{changed.program}: " + (f"{done} {changed.place}" if changed.is_changed else f"{changed.place} {unchanged}")
    )
    if is_dry_run and changed.difference:
        write(changed.difference)
    if changed.backup is not None:
        note(f"  old version: {changed.backup}")
