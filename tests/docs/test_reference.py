"""What is documented is stable, so everything is documented: commands, options, exit codes and errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from mnemic import errors
from mnemic.cli.app import application
from mnemic.cli.failures import EXIT_CODES
from mnemic.errors import error_kind
from scripts import cli_reference, command_options, verbs_reference

ROW = re.compile(r"^\| `(\w+Error)` \|.*\| (\d+) \| `(\w+)` \|$", re.MULTILINE)


def test_the_reference_of_the_command_line_is_up_to_date():
    kept = cli_reference.KEPT.read_text(encoding="utf-8")
    assert kept == cli_reference.reference(), "run: python scripts/cli_reference.py --write"


def test_the_options_of_commands_are_those_of_the_signatures():
    kept = command_options.KEPT.read_text(encoding="utf-8")
    assert kept == command_options.signatures(), "run: python scripts/command_options.py --write"


@pytest.mark.requirement("P-01")
def test_the_reference_of_verbs_and_doors_is_up_to_date():
    kept = verbs_reference.KEPT.read_text(encoding="utf-8")
    assert kept == verbs_reference.reference(), "run: python scripts/verbs_reference.py --write"


def test_every_command_and_option_has_help():
    app = typer.main.get_command(application())
    documented = cli_reference.KEPT.read_text(encoding="utf-8")
    pending = [("mnemic", app)]
    while pending:
        path, command = pending.pop()
        assert command.help, path
        assert f"## {path}\n" in documented
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{path} {parameter.name}"
            names = parameter.opts if parameter.param_type_name == "option" else [parameter.metavar or parameter.name]
            assert all(name in documented for name in names), f"{path} {names}"
        pending += [(f"{path} {name}", below) for name, below in getattr(command, "commands", {}).items()]


def test_every_error_is_documented_with_its_code_and_kind(repository: Path):
    text = (repository / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    documented = {name: (int(code), kind) for name, code, kind in ROW.findall(text)}
    declared = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.MnemicError)]
    assert documented == {error.__name__: (EXIT_CODES[error], error_kind(error)) for error in declared}
