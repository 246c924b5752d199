"""Calls within limits: whatever a tool does, the chat goes on."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mnemic import Scope, tool
from mnemic.engine.tools.toolbox import MAX_STUCK, Toolbox, find_tools, read_arguments
from mnemic.errors import ConfigError, InvalidInputError, NotFoundError
from mnemic.model.chat import AssistantSettings, ToolCall, ToolContext

CONTEXT = ToolContext(Scope(user="anna"), datetime(2026, 5, 1, tzinfo=UTC), "test")


@tool
def echo(text: str) -> str:
    """Says it again.

    Args:
        text: What to say.
    """
    if text == "missing":
        raise NotFoundError("there is no such echo")
    if text == "broken":
        raise RuntimeError("a secret of the server")
    return text


def run(toolbox: Toolbox, name: str, arguments: str = "{}") -> tuple[str, bool]:
    outcome = toolbox.run(ToolCall("c1", name, arguments), CONTEXT)
    return outcome.text, outcome.is_error


@pytest.mark.requirement("P-24")
def test_a_call_gives_the_text_of_the_tool_or_what_went_wrong():
    toolbox = Toolbox([echo])
    assert run(toolbox, "echo", '{"text": "hello"}') == ("hello", False)
    assert run(toolbox, "echo", '{"text": "missing"}') == ("there is no such echo", True)
    assert run(toolbox, "echo", "{}") == ("'text' is missing (string: What to say.)", True)
    assert run(toolbox, "shout") == ("unknown tool 'shout'; use one of echo", True)


def test_a_tool_that_breaks_is_told_and_logged_without_what_it_gave_away(caplog: pytest.LogCaptureFixture):
    text, is_error = run(Toolbox([echo]), "echo", '{"text": "broken"}')
    assert is_error
    assert "RuntimeError" in text
    assert "secret" not in text
    (record,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert "test_toolbox.py" in record.__dict__["where"][-1]
    assert "secret" not in logging.Formatter().format(record)


@pytest.mark.requirement("P-24")
def test_a_tool_that_never_ends_holds_nobody_up_and_is_not_called_without_end():
    ended = threading.Event()

    @tool(timeout_s=0.01)
    def stuck() -> str:
        """Waits."""
        ended.wait()
        return "at last"

    toolbox = Toolbox([stuck])
    assert [run(toolbox, "stuck") for _ in range(MAX_STUCK)] == [("stuck did not respond within 0.01 s", True)] * 4
    assert run(toolbox, "stuck") == ("stuck is still busy with earlier calls; go on without it", True)
    ended.set()
    for thread in [each for each in threading.enumerate() if each.name == "mnemic-tool-stuck"]:
        thread.join()
    assert run(toolbox, "stuck") == ("at last", False)


def test_a_long_result_is_cut_and_says_so():
    toolbox = Toolbox([echo], AssistantSettings(max_tool_result_chars=10))
    assert run(toolbox, "echo", '{"text": "' + "a" * 30 + '"}')[0] == "a" * 10 + "\n[cut: the result had 30 characters]"


@pytest.mark.parametrize(
    "written, meant",
    [
        ("", {}),
        ("null", {}),
        ('{"text": "a"}', {"text": "a"}),
        ('```json\n{"text": "a"}\n```', {"text": "a"}),
        ("{'text': 'a',}", {"text": "a"}),
    ],
)
def test_arguments_are_read_as_models_write_them(written: str, meant: dict[str, object]):
    assert read_arguments(written) == meant


@pytest.mark.parametrize("written", ["[1]", "text", "7", '"a"', "[" * 10_000])
def test_arguments_that_are_no_object_are_refused(written: str):
    with pytest.raises(InvalidInputError, match="a JSON object such as"):
        read_arguments(written)


def test_two_tools_of_one_name_are_refused():
    @tool(name="echo")
    def other() -> str:
        """Another."""
        return ""

    with pytest.raises(ConfigError, match="two tools named echo"):
        Toolbox([echo, other])


def test_only_some_of_the_tools_can_be_taken():
    assert [each.name for each in Toolbox([echo]).only(["echo", "echo"]).specs] == ["echo"]
    with pytest.raises(InvalidInputError, match="unknown tool 'shout'; use one of echo"):
        Toolbox([echo]).only(["shout"])


MODULE = '''
"""Tools of somebody else."""

from mnemic import tool


@tool
def greet(name: str) -> str:
    """Greets.

    Args:
        name: Whom.
    """
    return f"Hello, {name}"
'''


@pytest.mark.requirement("J-56", "P-24")
def test_tools_of_a_module_or_file_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "their_tools.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()
    for name in ("their_tools", str(tmp_path / "their_tools.py")):
        toolbox = Toolbox(find_tools([name]))
        assert run(toolbox, "greet", '{"name": "Ana"}') == ("Hello, Ana", False)


@pytest.mark.requirement("J-56", "P-24")
def test_tools_of_installed_packages_are_found_without_being_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "their_package.py").write_text(MODULE)
    info = tmp_path / "their_package-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[mnemic.tools]\nall = their_package\none = their_package:greet\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()
    assert [each.spec.name for each in find_tools()] == ["greet"]


@pytest.mark.parametrize("name", ["no_such_module_here", "json", "/nowhere/tools.py"])
def test_a_module_without_tools_is_an_error_of_the_configuration(name: str):
    with pytest.raises(ConfigError):
        find_tools([name])


def test_a_file_that_is_no_python_is_an_error_of_the_configuration(tmp_path: Path):
    (tmp_path / "broken.py").write_text("def (")
    with pytest.raises(ConfigError, match="cannot load"):
        find_tools([str(tmp_path / "broken.py")])
