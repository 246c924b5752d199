"""The command line as a whole: its commands, its help and its exit codes."""

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from mnemic.cli import failures
from mnemic.cli.menu import ALL, MODULES, NAMES, Menu
from mnemic.cli.output import write
from mnemic.errors import InvalidInputError, MnemicError

HELP = "Long-term memory for AI assistants: store conversations and find them again by meaning."
EPILOG = """\b
Choose whose memory to use with --user or MNEMIC_USER. Default: your own.
mnemic help COMMAND shows options and examples. mnemic help all lists all.
"""
_VERSION = "--version"


def application(asked: str | None = None) -> typer.Typer:
    """Build the Typer application. Without `asked`, it has every command. With the name of a command or group, it has
    only that one. With anything else, such as `--help`, it has only the names, because importing the other modules
    would take most of a quick command's time.
    """
    app = typer.Typer(
        name="mnemic",
        cls=Menu,
        no_args_is_help=True,
        rich_markup_mode=None,  # plain help starts in half the time, and examples keep their lines
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=HELP, epilog=EPILOG)(_options)
    if asked == _VERSION:
        return app
    modules = {name: module for module, names in MODULES.items() for name in names}
    for name in [each for each in NAMES if asked in (None, each)]:
        from mnemic.cli.commands import add_commands

        import_module(f"mnemic.cli.{modules[name]}")
        add_commands(app, name)
    if asked is not None and asked not in NAMES:
        for name in NAMES:
            app.command(name)(_hold_place)
    return app


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. Failures are reported on standard error."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        os.umask(0o077)  # stores, backups, sockets, logs and caches are for the user's own account
    if arguments is None and not failures.is_debugging():
        sys.excepthook = failures.last_resort
    if given[:1] != ["hooks"]:
        return run_command(given)
    from mnemic.cli import hooks

    return hooks.harmless(lambda: run_command(given)) if hooks.is_hook(given) else run_command(given)


@cache
def _build_command(asked: str | None) -> Callable[..., Any]:
    return typer.main.get_command(application(asked)).main


def run_command(given: list[str]) -> int:
    """Run a command line and return its exit code."""
    given, page = _expand_help(given)
    try:
        main = _build_command(given[0] if given else None)
        code = main(args=given, prog_name="mnemic", standalone_mode=False, obj=page)
    except MnemicError as error:
        return failures.report_error(error, is_json=failures.wants_json(given))
    except typer.TyperException as error:
        return _report_misuse(error, given)
    except typer.Abort:
        return failures.UNEXPECTED
    return code if isinstance(code, int) else 0


def _expand_help(given: list[str]) -> tuple[list[str], str | None]:
    """Translate `help COMMAND` to `COMMAND --help`, and `help all` to the full page."""
    if given[:1] != ["help"]:
        return given, None
    is_all = given[1:] == [ALL]
    return [*([] if is_all else given[1:]), "--help"], ALL if is_all else None


def _report_misuse(error: typer.TyperException, given: Sequence[str]) -> int:
    """Report an unparsable command line as invalid input. A group without a command shows its help."""
    if "\n" in error.format_message():
        write(error.format_message())
        return failures.EXIT_CODES[InvalidInputError]
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    path = getattr(getattr(error, "ctx", None), "command_path", "mnemic")
    misuse = InvalidInputError(f"{message}; see {path} --help")
    return failures.report_error(misuse, is_json=failures.wants_json(given))


def _hold_place() -> None:
    """Placeholder for a command where only its name is needed."""


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
    """Options before the command. Each acts in its callback."""
