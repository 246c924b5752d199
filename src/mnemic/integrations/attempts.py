"""Attempts in a coding assistant's transcript: a command that failed, its error, and what was done until it passed.

An attempt is stored only if the same command failed and later passed in the same folder, with a change or another
command in between, and if its output names an error. So memory gets few of them, and each shows how to solve an error.
"""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, cast

from mnemic.text.failures import find_error

MAX_COMMAND_CHARS = 200  # a longer one is a script, which no one runs twice
MOST_CHANGES = 4  # the last ones before the command passed; earlier ones did not suffice
_LOOKING = frozenset(
    "ls cat head tail grep rg find wc pwd cd echo which stat file tree less awk sleep jq diff".split()  # noqa: SIM905
)
"""Commands that only look. Their failures are no attempts, and they change nothing."""

_LOOKING_GIT = frozenset({"status", "diff", "log", "show", "branch"})
_EDITS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_COMMAND = re.compile(
    rf"(?:cd (\S+) *(?:&&|;) *)?(.{{1,{MAX_COMMAND_CHARS}}}?)"
    r"(?: *2>(?:&1|/dev/null))?(?: *\| *(?:tail|head)(?: +-[n\d ]+)?)?"
)
"""A command without the folder that it changes to, and without the end that cuts its output."""


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call of the assistant: a command in a folder with its result, or the name of a changed file. `place`: its
    index. `has_failed`: None if the exit status is unknown, because of a pipe or because it runs in the background.
    """

    place: int
    command: str = ""
    folder: str = ""
    file: str = ""
    has_failed: bool | None = False
    output: str = ""


def find_attempts(entries: Sequence[Mapping[str, Any]], after: int) -> list[str]:
    """The attempts of a Claude Code transcript that passed behind the index `after`, as texts, each once."""
    failed: dict[tuple[str, str], tuple[int, str]] = {}
    steps = list(_read_steps(entries))
    found: list[str] = []
    for number, step in enumerate(steps):
        key = step.folder, step.command
        if not step.command or step.has_failed is None:
            continue
        if step.has_failed:
            if error := find_error(step.output):
                failed[key] = (number, error)
            continue
        first, error = failed.pop(key, (number, ""))
        changes = list(dict.fromkeys(_changes(steps[first + 1 : number], key)))[-MOST_CHANGES:]
        if error and changes and step.place > after:
            found.append(f"`{step.command}` failed: {error}. It passed after: {'; '.join(changes)}.")
    return list(dict.fromkeys(found))


def _read_steps(entries: Iterable[Mapping[str, Any]]) -> Iterator[Step]:
    """The commands and edits in order of their results, without those of sub-agents."""
    called: dict[str, tuple[Mapping[str, Any], str]] = {}
    for place, entry in enumerate(entries):
        for part in () if entry.get("isSidechain") else _parts(_mapping(entry.get("message")).get("content")):
            if part.get("type") == "tool_use":
                called[str(part.get("id"))] = part, str(entry.get("cwd") or "")
            elif part.get("type") == "tool_result" and (call := called.pop(str(part.get("tool_use_id")), None)):
                yield _step(place, *call, part)


def _step(place: int, call: Mapping[str, Any], folder: str, result: Mapping[str, Any]) -> Step:
    given, has_failed = _mapping(call.get("input")), result.get("is_error") is True
    if call.get("name") == "Bash":
        content = result.get("content")
        output = content if isinstance(content, str) else "\n".join(str(part.get("text")) for part in _parts(content))
        whole = str(given.get("command") or "").strip()
        match = _COMMAND.fullmatch(whole)
        inner, command = match.groups("") if match else ("", "")
        is_hidden = "|" in whole or whole.endswith("&") or given.get("run_in_background") is True
        outcome = None if is_hidden and not has_failed else has_failed
        command = "" if _only_looks(command) else command
        return Step(place, command, os.path.normpath(PurePath(folder) / inner), "", outcome, output)
    path = str(given.get("file_path") or given.get("notebook_path") or "")
    is_edit = call.get("name") in _EDITS and not has_failed
    return Step(place, file="/".join(PurePath(path).parts[-2:]) if is_edit else "")


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _parts(content: object) -> list[Mapping[str, Any]]:
    return [_mapping(part) for part in cast("list[object]", content)] if isinstance(content, list) else []


def _only_looks(command: str) -> bool:
    try:
        words = [word for word in shlex.split(command) if "=" not in word]
    except ValueError:
        return True
    is_git = words[:1] == ["git"] and words[1:2] and words[1] in _LOOKING_GIT
    return not words or bool(is_git) or PurePath(words[0]).name in _LOOKING


def _changes(steps: Iterable[Step], key: tuple[str, str]) -> Iterator[str]:
    for step in steps:
        if step.file:
            yield f"edit of {step.file}"
        elif step.command and not step.has_failed and (step.folder, step.command) != key:
            yield f"`{step.command}`"
