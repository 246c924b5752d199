"""Where coding assistants keep their hooks, and how Mnemic's are written there and taken away without harm to others'.

Answers for the settings of Claude Code, and for the folder of the OpenClaw plugin.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from mnemic.cli.client_files import backed_up, parsed, replace_file
from mnemic.errors import ConfigError

CLAUDE_CODE, OPENCLAW = "claude-code", "openclaw"
PROGRAMS = (CLAUDE_CODE, OPENCLAW)
EVENTS = {"UserPromptSubmit": 15, "Stop": 60, "PreCompact": 60, "SessionEnd": 60}
"""The events of Claude Code that are answered, and after how many seconds it may give up on each."""

_PLUGIN_FILES = ("package.json", "openclaw.plugin.json", "index.js")
_COMMAND_FILE = "mnemic.json"


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of a program's `place`, a file or a folder; `backup` is the copy of the file as it was."""

    program: str
    place: Path
    is_changed: bool
    backup: Path | None = None


def settings_file(folder: Path | None) -> Path:
    """The settings of Claude Code: the user's own, or those of a project that are not shared with others."""
    if folder is not None:
        return folder.expanduser().resolve() / ".claude" / "settings.local.json"
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(own) if own else Path.home() / ".claude") / "settings.json"


def plugin_folder() -> Path:
    """Where the files of the OpenClaw plugin are put: in the folder of OpenClaw's own extensions."""
    own = os.environ.get("OPENCLAW_STATE_DIR")
    return (Path(own) if own else Path.home() / ".openclaw") / "extensions" / "mnemic"


def put_claude_hooks(file: Path, command: Sequence[str], *, is_dry_run: bool = False) -> Changed:
    """Let Claude Code call `command` at its events. Hooks of others stay, older ones of Mnemic give way.

    Raises `ConfigError`, and changes nothing, for a file that is no JSON object or cannot be written.
    """
    line = subprocess.list2cmdline(command) if sys.platform == "win32" else shlex.join(command)
    wanted = {
        event: {"hooks": [{"type": "command", "command": line, "timeout": seconds}]}
        for event, seconds in EVENTS.items()
    }
    return _rewritten(file, wanted, is_dry_run=is_dry_run)


def take_claude_hooks(file: Path, *, is_dry_run: bool = False) -> Changed:
    """Take Mnemic's hooks out of the settings; all else stays. Raises as `put_claude_hooks`."""
    return _rewritten(file, {}, is_dry_run=is_dry_run)


def put_openclaw_plugin(folder: Path, command: Sequence[str], *, is_dry_run: bool = False) -> Changed:
    """Write the plugin's files, and the command that it calls. Raises `ConfigError` where that cannot be done."""
    source = files("mnemic.integrations") / "openclaw_plugin"
    wanted = {name: (source / name).read_text(encoding="utf-8") for name in _PLUGIN_FILES}
    wanted[_COMMAND_FILE] = json.dumps({"command": list(command)}, indent=2, ensure_ascii=False) + "\n"
    try:
        old = {name: _content(folder / name) for name in wanted}
        if old == wanted:
            return Changed(OPENCLAW, folder, is_changed=False)
        if not is_dry_run:
            for name, content in wanted.items():
                replace_file(folder / name, content)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written: {error}") from error
    return Changed(OPENCLAW, folder, is_changed=True)


def take_openclaw_plugin(folder: Path, *, is_dry_run: bool = False) -> Changed:
    """Remove the plugin's files, and its folder where nothing else is in it."""
    here = [folder / name for name in (*_PLUGIN_FILES, _COMMAND_FILE) if (folder / name).exists()]
    if here and not is_dry_run:
        try:
            for file in here:
                file.unlink()
            if not any(folder.iterdir()):
                folder.rmdir()
        except OSError as error:
            raise ConfigError(f"{folder} cannot be removed: {error}") from error
    return Changed(OPENCLAW, folder, is_changed=bool(here))


def _rewritten(file: Path, wanted: dict[str, Any], *, is_dry_run: bool) -> Changed:
    target = file.resolve()
    try:
        before = target.read_text(encoding="utf-8-sig") if target.exists() else None
        whole = parsed(before, target)
        hooks = _without_ours(whole.get("hooks", {}), target)
        for event, entry in wanted.items():
            hooks[event] = [*hooks.get(event, []), entry]
        after = {**whole, "hooks": hooks} if hooks else {key: each for key, each in whole.items() if key != "hooks"}
        if after == whole:
            return Changed(CLAUDE_CODE, file, is_changed=False)
        if is_dry_run:
            return Changed(CLAUDE_CODE, file, is_changed=True)
        backup = None if before is None else backed_up(target)
        replace_file(target, json.dumps(after, indent=2, ensure_ascii=False) + "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} of Claude Code cannot be changed: {error}") from error
    return Changed(CLAUDE_CODE, file, is_changed=True, backup=backup)


def _without_ours(found: object, file: Path) -> dict[str, list[Any]]:
    """The hooks of others, by event. Raises `ConfigError` for a form that Claude Code does not write."""
    hooks = cast("dict[str, object]", found) if isinstance(found, dict) else None
    if hooks is None or not all(isinstance(entries, list) for entries in hooks.values()):
        raise ConfigError(f"the hooks of {file} are no lists by event; it was left alone")
    kept: dict[str, list[Any]] = {}
    for event, entries in hooks.items():
        others = [left for entry in cast("list[object]", entries) if (left := _others(entry)) is not None]
        if others or not entries:
            kept[event] = others
    return kept


def _others(entry: object) -> object | None:
    """An entry without Mnemic's commands; None where it held nothing else."""
    if not isinstance(entry, dict):
        return entry
    held = cast("dict[str, object]", entry)
    inner = held.get("hooks")
    if not isinstance(inner, list):
        return held
    commands = cast("list[object]", inner)
    left = [each for each in commands if not _is_ours(each)]
    if len(left) == len(commands):
        return held
    return {**held, "hooks": left} if left else None


def _is_ours(hook: object) -> bool:
    command = cast("dict[str, object]", hook).get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and "mnemic" in command and f" hooks run {CLAUDE_CODE}" in command


def _content(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None
