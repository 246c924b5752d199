"""The command line as a whole: its commands, and how every one of them ends."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from mnemic.cli import failures
from mnemic.cli.commands import add_commands
from mnemic.cli.menu import MODULES, NAMES, Menu
from mnemic.cli.output import write
from mnemic.errors import InvalidInputError, MnemicError

HELP = """Long-term memory for AI assistants: store what is said and find it again by meaning.

Choose whose memory to use with --user, MNEMIC_USER or `user` in the configuration. No other user's memory is read or
written. Every command except serve takes --json.
"""
EXAMPLES = """\b
Examples:
mnemic tour
mnemic remember --user ana "Ana is building a sailing simulator in Rust"
mnemic recall --user ana "how is my coding project?" --explain
mnemic context --user ana "how is my coding project?" --explain
mnemic memory list --user ana
mnemic import --user ana conversations.json --dry-run
mnemic ingest --user ana ~/papers
mnemic doctor
"""


_VERSION = "--version"


def application(asked: str | None = None) -> typer.Typer:
    """The Typer application. Without `asked`, it has every command in full. With the name of a command or group, it has
    that one alone. With anything else, such as `--help`, it has the names alone, because importing the other modules
    would take most of the time of a quick command.
    """
    app = typer.Typer(
        name="mnemic",
        cls=Menu,
        no_args_is_help=True,
        rich_markup_mode=None,  # plain help starts in half the time, and examples keep their lines
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=HELP, epilog=EXAMPLES)(_options)
    if asked == _VERSION:
        return app
    modules = {name: module for module, names in MODULES.items() for name in names}
    for name in [each for each in NAMES if asked in (None, each)]:
        import_module(f"mnemic.cli.{modules[name]}")
        add_commands(app, name)
    if asked is not None and asked not in NAMES:
        for name in NAMES:
            app.command(name)(_hold_place)
    return app


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code; failures are reported on the standard error."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        os.umask(0o077)  # stores, backups, sockets, logs and caches are for the user's own account
    if arguments is None and not failures.is_debugging():
        sys.excepthook = failures.last_resort
    if given[:1] != ["hooks"]:
        return _run_command(given)
    from mnemic.cli import hooks

    return hooks.harmless(lambda: _run_command(given)) if hooks.is_hook(given) else _run_command(given)


def _run_command(given: list[str]) -> int:
    try:
        app = application(given[0] if given else None)
        code = typer.main.get_command(app).main(args=given, prog_name="mnemic", standalone_mode=False)
    except MnemicError as error:
        return failures.report_error(error, is_json=failures.wants_json(given))
    except typer.TyperException as error:
        return _report_misuse(error, given)
    except typer.Abort:
        return failures.UNEXPECTED
    return code if isinstance(code, int) else 0


def _report_misuse(error: typer.TyperException, given: Sequence[str]) -> int:
    """Reports a command line that cannot be parsed as invalid input. A group without a command shows its help."""
    if "\n" in error.format_message():
        write(error.format_message())
        return failures.EXIT_CODES[InvalidInputError]
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    path = getattr(getattr(error, "ctx", None), "command_path", "mnemic")
    misuse = InvalidInputError(f"{message}; see {path} --help")
    return failures.report_error(misuse, is_json=failures.wants_json(given))


def _hold_place() -> None:
    """Stands for a command where only its name is needed."""


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from mnemic import __version__

        write(f"mnemic {__version__}")
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool, typer.Option(_VERSION, callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options before the command; each acts by its callback."""
