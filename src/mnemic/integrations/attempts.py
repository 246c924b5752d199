"""Attempts in a coding assistant's transcript: a command that failed, its error, and what was done until it passed.

An attempt is stored only if the same command failed and later passed, with a change or another command in between, and
if its output names an error. so memory gets few of them, and each shows how an error was solved.
"""

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
_PREFIX = re.compile(r"^cd \S+ *(?:&&|;) *")
_REDIRECT = re.compile(r" *(?:2>&1|2>/dev/null)? *(?:\| *(?:tail|head)(?: +-[n\d ]+)?)? *$")


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call of the assistant: a command with its result, or the name of a changed file. `place`: its index."""

    place: int
    command: str = ""
    file: str = ""
    has_failed: bool = False
    output: str = ""


def find_attempts(entries: Sequence[Mapping[str, Any]], after: int) -> list[str]:
    """The attempts of a Claude Code transcript that passed behind the index `after`, as texts, each once."""
    failed: dict[str, tuple[int, str]] = {}
    steps = list(_read_steps(entries))
    found: list[str] = []
    for number, step in enumerate(steps):
        key = _key(step.command)
        if not key:
            continue
        if step.has_failed:
            if error := find_error(step.output):
                failed[key] = (number, error)
            continue
        first, error = failed.pop(key, (number, ""))
        changes = list(dict.fromkeys(_changes(steps[first + 1 : number])))[-MOST_CHANGES:]
        if error and changes and step.place > after:
            found.append(f"`{key}` failed: {error}. It passed after: {'; '.join(changes)}.")
    return list(dict.fromkeys(found))


def _read_steps(entries: Iterable[Mapping[str, Any]]) -> Iterator[Step]:
    """The commands and edits in order of their results, without those of sub-agents."""
    called: dict[object, Mapping[str, Any]] = {}
    for place, entry in enumerate(entries):
        for part in () if entry.get("isSidechain") else _parts(_mapping(entry.get("message")).get("content")):
            if part.get("type") == "tool_use":
                called[part.get("id")] = part
            elif part.get("type") == "tool_result" and (call := called.pop(part.get("tool_use_id"), None)):
                yield _step(place, call, part)


def _step(place: int, call: Mapping[str, Any], result: Mapping[str, Any]) -> Step:
    given, has_failed = _mapping(call.get("input")), result.get("is_error") is True
    if call.get("name") == "Bash":
        content = result.get("content")
        output = content if isinstance(content, str) else "\n".join(str(part.get("text")) for part in _parts(content))
        return Step(place, str(given.get("command") or ""), "", has_failed, output)
    path = str(given.get("file_path") or given.get("notebook_path") or "")
    is_edit = call.get("name") in _EDITS and not has_failed
    return Step(place, file="/".join(PurePath(path).parts[-2:]) if is_edit else "")


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _parts(content: object) -> list[Mapping[str, Any]]:
    return [_mapping(part) for part in cast("list[object]", content)] if isinstance(content, list) else []


def _key(command: str) -> str:
    """A command in the form in which it is compared, "" if it only looks or is too long."""
    key = _REDIRECT.sub("", _PREFIX.sub("", " ".join(command.split(" ")).strip()))
    if not key or len(key) > MAX_COMMAND_CHARS or "\n" in key:
        return ""
    try:
        words = [word for word in shlex.split(key) if "=" not in word]
    except ValueError:
        return ""
    is_git = words[:1] == ["git"] and words[1:2] and words[1] in _LOOKING_GIT
    return "" if not words or is_git or PurePath(words[0]).name in _LOOKING else key


def _changes(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        if step.file:
            yield f"edit of {step.file}"
        elif not step.has_failed and (key := _key(step.command)):
            yield f"`{key}`"
