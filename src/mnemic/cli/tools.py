"""`mnemic tools …`: the tools that a model may call, and a call of one by hand."""

from __future__ import annotations

import json
from typing import Annotated, cast

import typer

from mnemic.cli.failures import UNEXPECTED
from mnemic.cli.options import command
from mnemic.cli.output import Row, note, one_line, printable, show_json, show_rows, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import InvalidInputError
from mnemic.model.values import check_unicode

Name = Annotated[str, typer.Argument(help="The tool.")]
Arguments = Annotated[str, typer.Option("--arguments", help="Its arguments, as a JSON object.", metavar="JSON")]


def enumerate_tools(asking: ScopeOptions) -> None:
    """List the tools that a model may call: Mnemic's own, and those of packages and modules that are configured."""
    with asking.open() as mnemic:
        specs = mnemic.tools.list()
    if asking.as_json:
        show_json(specs)
        return
    show_rows(("tool",), [Row((spec.name,), one_line(spec.description), ()) for spec in specs])


def call(name: Name, asking: ScopeOptions, arguments: Arguments = "{}") -> None:
    """Call a tool as a model would. What goes wrong with it is told in its answer; the command then exits with 1."""
    given, name = _object(arguments), check_unicode(name, "name")
    with asking.open() as mnemic:
        outcome = mnemic.tools.call(asking.scope, name, given)
    if asking.as_json:
        show_json(outcome)
        return
    if outcome.is_error:
        note(printable(outcome.text))
        raise typer.Exit(UNEXPECTED)
    write(printable(outcome.text))


def register(tools: typer.Typer) -> None:
    """Adds the commands of the group."""
    command(tools, "list", examples="mnemic tools list")(enumerate_tools)
    examples = """mnemic tools call calculator --arguments '{"expression": "17 * 23"}'"""
    command(tools, "call", examples=examples)(call)


def _object(text: str) -> dict[str, object]:
    try:
        given: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"--arguments is not JSON: {error}") from error
    if not isinstance(given, dict):
        raise InvalidInputError('--arguments is a JSON object, such as {"name": "value"}')
    return cast("dict[str, object]", given)
