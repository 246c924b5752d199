"""A command line imports the modules of the command that it names, and no others."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from mnemic.cli.app import application
from mnemic.cli.commands import COMMANDS, build_option
from mnemic.cli.menu import GROUPS, MODULES, NAMES

OTHER_NAMES = {"memory add"}
"""Commands that are another name of one that is named after its function."""


def commands(asked: str | None) -> dict[str, object]:
    """The commands of the program when that is asked for, by name."""
    return getattr(typer.main.get_command(application(asked)), "commands", {})


def shape(command: object) -> tuple[object, ...]:
    """What a command takes, and the commands of a group."""
    return [each.opts for each in getattr(command, "params", [])], list(getattr(command, "commands", {}))


def test_every_command_is_told_of_the_module_that_has_it():
    whole = commands(None)
    assert sorted(whole) == sorted(NAMES) == sorted(name for names in MODULES.values() for name in names)
    assert set(GROUPS) <= set(NAMES)
    for name in NAMES:
        found = commands(name)
        assert shape(found[name]) == shape(whole[name])
        assert set(found) == {name}


def test_the_function_of_a_command_bears_its_name():
    commands(None)
    words = {name: name.split()[-1].replace("-", "_") for name in COMMANDS if name not in OTHER_NAMES}
    functions = {name: f"{COMMANDS[name].function.__name__}_" for name in words}
    assert [name for name, word in words.items() if not functions[name].startswith(f"{word}_")] == []


@pytest.mark.parametrize("asked", ["--help", "-h", "recal", "search", ""])
def test_what_names_no_command_is_answered_with_all_of_them_in_view(asked: str):
    assert sorted(commands(asked)) == sorted(NAMES)


def test_a_recall_does_not_import_what_serves_chats_or_measures():
    program = "import sys; from mnemic.cli import main; main(['recall', '--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "mnemic.cli.recall" in loaded
    assert not loaded & {
        f"mnemic.cli.{name}" for name in ("serve", "chat", "mcp", "evaluate", "hooks", "documents", "upkeep")
    }


def test_a_new_argument_of_a_verb_is_an_option_without_a_row_of_its_own():
    argument = {"name": "min_words", "type": "int", "default": 3, "about": "Drop shorter texts."}
    option = build_option("recall", argument)
    assert option is not None
    (info,) = option.parameter.annotation.__metadata__
    assert (info.default, info.help) == ("--min-words", "Drop shorter texts. Default: 3.")
