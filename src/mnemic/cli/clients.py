"""Finds other programs' configuration files, and adds Mnemic to them without changing the rest.

Covers MCP clients, the hooks of coding assistants, and the folder of the OpenClaw plugin. A file is read as JSON or
TOML, backed up, and replaced completely or not at all.
"""

import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path, PureWindowsPath
from typing import Any, cast

from mnemic.cli.config_text import drop_empty, edit_text, mask_change, parse_text
from mnemic.cli.input import open_replacement
from mnemic.errors import ConfigError

NAME = "mnemic"


@dataclass(frozen=True, slots=True)
class Client:
    """A client: its file in the platform's folder, or in the folder that the environment variable `variable` names, and
    the key of its servers. An entry has `extra` members, and `program`: the program, or one list with its arguments.
    """

    name: str
    title: str
    places: Mapping[str, str]
    variable: str = ""
    key: str = "mcpServers"
    extra: Mapping[str, object] = field(default_factory=dict[str, object])
    program: str = "command"
    has_one_list: bool = False

    @property
    def file(self) -> Path:
        """Its configuration file, there or not."""
        place = self.places.get(sys.platform, self.places["linux"])
        if (own := _find_own_folder(self.variable)) is not None:
            return own / Path(place).name
        base = {
            "~": Path.home(),
            "$CONFIG": _find_own_folder("XDG_CONFIG_HOME") or Path.home() / ".config",
            "$APPDATA": _find_own_folder("APPDATA") or Path.home() / "AppData" / "Roaming",
        }
        root, _, rest = place.partition("/")
        file = base[root] / rest
        commented = file.with_suffix(".jsonc")
        return commented if _is_there(commented) and not _is_there(file) else file

    @property
    def is_here(self) -> bool:
        """True when the client seems to be installed: its file or its folder is there."""
        folder = self.file.parent.parent if self.file.stem == NAME else self.file.parent  # a file only for Mnemic
        return _is_there(self.file) or (folder != Path.home() and folder.is_dir())


@dataclass(frozen=True, slots=True)
class Entry:
    """How a client starts this server."""

    program: str
    arguments: Sequence[str]

    def of(self, client: Client) -> dict[str, object]:
        """As the client writes it."""
        if client.has_one_list:
            return {**client.extra, client.program: [self.program, *self.arguments]}
        return {**client.extra, client.program: self.program, "args": list(self.arguments)}

    def write_for(self, client: Client) -> str:
        """The lines to copy to the client's file."""
        entry = self.of(client)
        if client.file.suffix == ".yaml":
            return f"{client.key}:\n  {NAME}: {json.dumps(entry, ensure_ascii=False)}\n"
        return edit_text("", client.file.suffix, {}, {client.key: {NAME: entry}})


@dataclass(frozen=True, slots=True)
class HookFile:
    """A program's hook files: `file` in the user's home (or in the folder that `variable` names), `own_file` in a
    project. `events`: the handled events with the program's timeout for each, in seconds (Gemini CLI: milliseconds).
    `is_flat`: an entry is one command, not a list.
    """

    title: str
    file: str
    own_file: str
    events: Mapping[str, int]
    variable: str = ""
    is_flat: bool = False

    def find(self, project: Path | None) -> Path:
        """The user's file, or the project's if one is given."""
        if project is not None:
            return project.expanduser().resolve() / self.own_file
        own = _find_own_folder(self.variable)
        return Path.home() / self.file if own is None else own / Path(self.file).name


def _read_table(name: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


CLIENTS: Mapping[str, Client] = {name: Client(name, **row) for name, row in _read_table("clients.toml").items()}
HOOK_FILES: Mapping[str, HookFile] = {name: HookFile(**row) for name, row in _read_table("hook_files.toml").items()}
OPENCLAW = "openclaw"
PROGRAMS = (*HOOK_FILES, OPENCLAW)

_PLUGIN_FILES = ("package.json", "openclaw.plugin.json", "index.js")
_COMMAND_FILE = "mnemic.json"
_Change = Callable[[dict[str, object]], dict[str, object]]


@dataclass(frozen=True, slots=True)
class Changed:
    """The change to a program's `place`, a file or folder. `backup`: the copy of the original file. `difference`: the
    changed lines, in a dry run, without the values of others.
    """

    program: str
    place: Path
    is_changed: bool
    backup: Path | None = None
    difference: str = ""


def build_own_entry(arguments: Sequence[str]) -> Entry:
    """This installation's program, by its full path: clients do not start in a shell."""
    beside = Path(sys.executable).with_name("mnemic.exe" if sys.platform == "win32" else "mnemic")
    program = str(beside) if beside.is_file() else shutil.which("mnemic")
    return Entry(program or "mnemic", arguments)


def install_server(client: Client, entry: Entry | None, *, is_dry_run: bool = False) -> Changed:
    """Write the entry to the client's file, or remove it if None. Other members of an old entry are kept. Raises
    `ConfigError` like `_change_file`, and for YAML files, which are not edited.
    """
    if client.file.suffix == ".yaml":
        try:
            has_it = NAME in (_read_text(client.file) or "")
        except (OSError, ValueError) as error:
            raise ConfigError(f"{client.title}'s file {client.file} cannot be read: {error}") from error
        if has_it is (entry is not None):
            return Changed(client.name, client.file, is_changed=False)
        raise ConfigError(f"{client.title}'s file {client.file} is YAML, which Mnemic does not edit; edit it by hand")

    def put(whole: dict[str, object]) -> dict[str, object]:
        servers = _read_servers(whole, client)
        if entry is None and NAME not in servers:
            return whole
        old = servers.pop(NAME, None) if entry is None else servers.get(NAME)
        if entry is not None:
            kept = cast("dict[str, object]", old) if isinstance(old, dict) else {}
            servers[NAME] = {**(kept if client.program in kept else {}), **entry.of(client)}
        return {**whole, client.key: servers}

    return _change_file(client.name, client.title, client.file, put, is_dry_run=is_dry_run)


def _read_servers(whole: Mapping[str, object], client: Client) -> dict[str, object]:
    servers = whole.get(client.key, {})
    if not isinstance(servers, dict):
        raise ConfigError(f"{client.key} in {client.file} is not a JSON object; the file was not changed")
    return dict(cast("dict[str, object]", servers))


def _is_there(file: Path) -> bool:
    """True for a file, also for one that cannot be checked: reading it fails with the reason."""
    try:
        file.lstat()
    except OSError as error:
        return not isinstance(error, FileNotFoundError | NotADirectoryError)
    return True


def _find_own_folder(variable: str) -> Path | None:
    """The folder named by an environment variable, or a folder in it (`NAME/.gemini`). None if it is not set."""
    name, _, rest = variable.partition("/")
    return Path(own).expanduser() / rest if (own := os.environ.get(name)) else None


def find_plugin_folder() -> Path:
    """Where the files of the OpenClaw plugin are put: in the folder of OpenClaw's own extensions."""
    return (_find_own_folder("OPENCLAW_STATE_DIR") or Path.home() / ".openclaw") / "extensions" / "mnemic"


def install_hooks(name: str, project: Path | None, command: Sequence[str], *, is_dry_run: bool = False) -> Changed:
    """Make a program call `command` at its events. An empty `command` removes Mnemic's hooks. Other hooks are kept.
    Raises `ConfigError` and changes nothing if the file is not a JSON object or cannot be written.
    """
    kind = HOOK_FILES[name]
    file = kind.find(project)
    line = shlex.join(command)
    if command and sys.platform == "win32":  # Claude Code may run hooks in bash, which drops backslashes
        program = PureWindowsPath(command[0]).as_posix() if name == "claude-code" else command[0]
        line = subprocess.list2cmdline([program, *command[1:]])  # PowerShell takes a program in quotes for a text
    typed = {} if kind.is_flat else {"type": "command"}

    def rewrite(whole: dict[str, object]) -> dict[str, object]:
        hooks = _remove_own_hooks(whole.get("hooks", {}), name, file.resolve())
        for event, timeout in kind.events.items() if command else ():
            entry = {**typed, "command": line, "timeout": timeout}
            hooks[event] = [*hooks.get(event, []), entry if kind.is_flat else {"hooks": [entry]}]
        rest = {key: each for key, each in whole.items() if key != "hooks"}
        return {**({"version": 1} if kind.is_flat else {}), **whole, "hooks": hooks} if hooks else rest

    return _change_file(name, kind.title, file, rewrite, is_dry_run=is_dry_run)


def install_openclaw_plugin(folder: Path, command: Sequence[str], *, is_dry_run: bool = False) -> Changed:
    """Write the plugin's files and the command that it calls. An empty `command` removes them, and the folder if
    nothing else is in it. Raises `ConfigError` if this fails.
    """
    source = files("mnemic.integrations") / "openclaw_plugin"
    wanted: dict[str, str | None] = dict.fromkeys((*_PLUGIN_FILES, _COMMAND_FILE))
    if command:
        wanted = {name: (source / name).read_text(encoding="utf-8") for name in _PLUGIN_FILES}
        wanted[_COMMAND_FILE] = json.dumps({"command": list(command)}, indent=2, ensure_ascii=False) + "\n"
    try:
        changed = {name: text for name, text in wanted.items() if _read_text(folder / name) != text}
        for name, text in () if is_dry_run else changed.items():
            if text is None:
                (folder / name).unlink()
            else:
                replace_file(folder / name, text)
        if changed and not command and not is_dry_run and not any(folder.iterdir()):
            folder.rmdir()
    except OSError as error:
        raise ConfigError(f"{folder} cannot be changed: {error}") from error
    return Changed(OPENCLAW, folder, is_changed=bool(changed))


def _change_file(
    program: str, title: str, file: Path, change: _Change, *, is_dry_run: bool, is_again: bool = False
) -> Changed:
    """Changes the JSON object in a file and keeps a backup next to it. Starts over once (then `is_again`) if another
    program changes the file. Raises `ConfigError`, and changes nothing, if the file changes again, is not JSON or
    cannot be written.
    """
    try:
        target = file.resolve()
        before = _read_text(target)
        whole = _parse_object(before, target)
        after = change(whole)
        if after == whole:
            return Changed(program, file, is_changed=False)
        backup_name = re.compile(re.escape(target.name) + r"\.\d{8}T\d{6}(-\d+)?\.bak")
        backups = sorted(each for each in target.parent.glob("*.bak") if backup_name.fullmatch(each.name))
        if (content := _find_original(target, backups, whole, after)) is None:
            content = edit_text(before or "", target.suffix, whole, after)
        changed = Changed(program, file, is_changed=True)
        if is_dry_run:
            old, new = (text.splitlines() for text in mask_change(before or "", content))
            return replace(changed, difference="\n".join([*difflib.unified_diff(old, new, lineterm="", n=0)][2:]))
        is_own = bool(before) and not content and not backups  # it was created for Mnemic
        if _read_text(target) != before:
            if is_again:
                raise ConfigError(f"{file} was changed by another program; close {title} and try again")
            return _change_file(program, title, file, change, is_dry_run=is_dry_run, is_again=True)
        backup = None if before is None or is_own else _back_up(target)
        target.unlink() if is_own else replace_file(target, content)
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(f"{title}'s file {file} cannot be changed: {error}; edit it yourself") from error
    return replace(changed, backup=backup)


def _find_original(
    file: Path, backups: Sequence[Path], whole: Mapping[str, object], after: Mapping[str, object]
) -> str | None:
    """The text before Mnemic was added (from a backup, or empty), if nothing else has changed since. It may contain
    an empty object that `after` lacks. Backups that cannot be read or edited are skipped.
    """
    now = _read_text(file) or ""
    for backup in backups or [None]:
        try:
            text = "" if backup is None else backup.read_bytes().decode()
            old = _parse_object(text, file)
            if drop_empty(old) == drop_empty(after) and edit_text(text, file.suffix, old, whole) == now:
                return text
        except (OSError, ValueError, ConfigError):
            continue
    return None


def _remove_own_hooks(found: object, name: str, file: Path) -> dict[str, Any]:
    """The hooks that are not Mnemic's, by event. Raises `ConfigError` for an unknown layout."""
    hooks = cast("dict[str, Any]", found) if isinstance(found, dict) else None
    events = HOOK_FILES[name].events
    if hooks is None or not all(isinstance(hooks.get(event, []), list) for event in events):
        raise ConfigError(f"the hooks in {file} are not lists grouped by event; the file was not changed")
    kept = dict(hooks)
    for event, entries in hooks.items():
        if isinstance(entries, list) and entries:
            left = [_remove_own_commands(entry, name) for entry in cast("list[object]", entries)]
            kept[event] = [each for each in left if each is not None]
            if not kept[event]:
                del kept[event]
    return kept


def _remove_own_commands(entry: object, name: str) -> object | None:
    """An entry without Mnemic's commands; None where it held nothing else."""
    if not isinstance(entry, dict):
        return entry
    held = cast("dict[str, object]", entry)
    inner = held.get("hooks")
    if not isinstance(inner, list):
        return None if _is_own_command(held, name) else held
    commands = cast("list[object]", inner)
    left = [each for each in commands if not _is_own_command(each, name)]
    if len(left) == len(commands):
        return held
    return {**held, "hooks": left} if left else None


def _is_own_command(hook: object, name: str) -> bool:
    command = cast("dict[str, object]", hook).get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and "mnemic" in command and f" hooks run {name}" in command


def _read_text(file: Path) -> str | None:
    """The text with its line endings. None if there is no file. Raises `OSError` or `ValueError`."""
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return None


def _parse_object(content: str | None, file: Path) -> dict[str, object]:
    """The JSON object in a file. Empty if there is no file. Raises `ConfigError` for anything else."""
    if content is None or not content.strip():
        return {}
    try:
        whole = parse_text(content, file.suffix)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} cannot be read ({error}) and was not changed; edit it yourself") from error
    if not isinstance(whole, dict):
        raise ConfigError(f"{file} is not a JSON object and was not changed")
    return cast("dict[str, object]", whole)


def _back_up(file: Path) -> Path:
    """Copies the file to a free name beside it."""
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
    names = (file.with_name(f"{file.name}.{stamp}{suffix}.bak") for suffix in ("", *(f"-{n}" for n in range(1, 100))))
    backup = next(name for name in names if not name.exists())
    shutil.copy2(file, backup)
    return backup


def replace_file(file: Path, content: str) -> None:
    """Writes the file completely or not at all, with the permissions it had."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with open_replacement(file, keeps_mode=True) as part:
        part.write(content)
