"""The command line as a whole: its commands, and how every one of them ends."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated

import typer

from mnemic.cli.failures import (
    EXIT_CODES,
    UNEXPECTED,
    debugged,
    error_kind,
    exit_code,
    last_resort,
    report,
    show_traceback,
    wants_json,
)
from mnemic.cli.menu import Menu
from mnemic.cli.output import write
from mnemic.cli.wording import in_options
from mnemic.errors import InvalidInputError, MnemicError

HELP = """The memory of an AI assistant: keep what is said, find it again by meaning.

Say whose memory it is with --user (or MNEMIC_USER, or `user` in the configuration); nobody else's can be read or
written. Every command but serve takes --json.
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


PARTS: Mapping[str, tuple[str, ...]] = {
    "remember": ("remember",),
    "recall": ("recall",),
    "context": ("context",),
    "capture": ("capture", "complete"),
    "transfer": ("import", "export"),
    "ingest": ("ingest",),
    "session": ("window", "messages", "summarise", "extract", "reflect", "end"),
    "life": ("curate", "consolidate", "decay", "evict"),
    "erase": ("erase", "receipts"),
    "upkeep": ("doctor", "work"),
    "health": ("health",),
    "reembed": ("reembed",),
    "backup": ("backup", "restore"),
    "worker": ("worker",),
    "serve": ("serve",),
    "configure": ("init",),
    "tour": ("tour",),
    "chat": ("chat",),
    "ask": ("ask",),
    "research": ("research",),
    "mcp": ("mcp",),
    "hooks": ("hooks",),
}
"""The modules of this package in the order in which they are listed, and the commands that each registers."""

GROUPS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "memory": (
        "List, add, show, change, judge and delete memories.",
        {"memory": "register", "edit": "register", "review": "register"},
    ),
    "documents": ("What was taken in of files: list, show, delete.", {"documents": "register"}),
    "graph": ("What is named, and how it is related: list, walk, draw, read.", {"graph": "register"}),
    "profile": ("Hard facts of a user, by key; always in the prompt.", {"profile": "register"}),
    "jobs": ("Work that must still be done, and work that gave up.", {"upkeep": "register_jobs"}),
    "tools": ("The tools that a model may call.", {"tools": "register"}),
    "keys": ("Keys for the doors over HTTP, and what was done with them.", {"keys": "register"}),
    "config": ("What is configured, and where.", {"configure": "register_config"}),
    "eval": (
        "Measure how good and how fast Mnemic is.",
        {
            "evaluate": "register",
            "evaluate_extraction": "register",
            "evaluate_guard": "register",
            "evaluate_answers": "register",
        },
    ),
}
"""Groups of commands: what is said of each, and by which function of which module its commands are registered."""

_VERSION = "--version"


def application(asked: str | None = None) -> typer.Typer:
    """The Typer application with all its commands; with that alone which is `asked` for, when it is one of them: the
    other modules would be a good part of the time that a quick command takes.
    """
    app = typer.Typer(
        name="mnemic",
        cls=Menu,
        no_args_is_help=True,
        rich_markup_mode=None,  # plain help starts in half the time, and examples keep their lines
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=HELP, epilog=EXAMPLES)(_options)
    if asked not in {_VERSION, *GROUPS, *(name for names in PARTS.values() for name in names)}:
        asked = None
    for module, names in PARTS.items():
        if asked is None or asked in names:
            import_module(f"mnemic.cli.{module}").register(app)
    for name, (told, registers) in GROUPS.items():
        if asked in (None, name):
            group = typer.Typer(cls=Menu, help=told, no_args_is_help=True, rich_markup_mode=None)
            for module, register in registers.items():
                getattr(import_module(f"mnemic.cli.{module}"), register)(group)
            app.add_typer(group, name=name)
    return app


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code; failures are reported on the standard error."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None and not debugged():
        sys.excepthook = last_resort
    if given[:1] != ["hooks"]:
        return _ran(given)
    from mnemic.cli import hooks

    return hooks.harmless(lambda: _ran(given)) if hooks.is_hook(given) else _ran(given)


def _ran(given: list[str]) -> int:
    try:
        app = application(given[0] if given else None)
        code = typer.main.get_command(app).main(args=given, prog_name="mnemic", standalone_mode=False)
    except MnemicError as error:
        show_traceback()
        report(error_kind(type(error)), in_options(str(error)), is_json=wants_json(given))
        return exit_code(error)
    except typer.TyperException as error:
        return _misused(error, given)
    except typer.Abort:
        return UNEXPECTED
    return code if isinstance(code, int) else 0


def _misused(error: typer.TyperException, given: Sequence[str]) -> int:
    """A command line that cannot be understood is invalid input; a group without a command shows its help."""
    if "\n" in error.format_message():
        write(error.format_message())
        return EXIT_CODES[InvalidInputError]
    told = error.format_message().replace("Value error, ", "").rstrip(".")
    path = getattr(getattr(error, "ctx", None), "command_path", "mnemic")
    report(error_kind(InvalidInputError), f"{told}; see {path} --help", is_json=wants_json(given))
    return EXIT_CODES[InvalidInputError]


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
