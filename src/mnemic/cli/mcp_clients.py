"""Where the well-known MCP clients keep their servers, and how one is written there without harm to the rest."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from mnemic.cli.client_files import backed_up, parsed, replace_file
from mnemic.errors import ConfigError

NAME = "mnemic"


@dataclass(frozen=True, slots=True)
class Client:
    """A client: its file, below the folder of its platform; the key that holds its servers; and whether an entry says
    that it is of the type stdio.
    """

    name: str
    title: str
    places: Mapping[str, str]
    key: str = "mcpServers"
    has_type: bool = False

    @property
    def file(self) -> Path:
        """Its configuration file, there or not."""
        place = self.places.get(sys.platform, self.places["linux"])
        base = {"~": Path.home(), "$CONFIG": _config_folder(), "$APPDATA": _app_data()}
        root, _, rest = place.partition("/")
        return base[root] / rest

    @property
    def is_here(self) -> bool:
        """True when the client seems to be installed: its file or its folder is there."""
        return self.file.exists() or (self.file.parent != Path.home() and self.file.parent.is_dir())


@dataclass(frozen=True, slots=True)
class Entry:
    """How a client starts this server."""

    program: str
    arguments: Sequence[str]

    def of(self, client: Client) -> dict[str, object]:
        """As the client writes it."""
        kind: dict[str, object] = {"type": "stdio"} if client.has_type else {}
        return {**kind, "command": self.program, "args": list(self.arguments)}

    def as_json(self) -> str:
        """As most clients write it, to be copied."""
        entry = {"command": self.program, "args": list(self.arguments)}
        return json.dumps({"mcpServers": {NAME: entry}}, indent=2, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one client's file; `backup` is the copy of the file as it was."""

    client: Client
    is_changed: bool
    backup: Path | None


CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client(
            "claude-desktop",
            "Claude Desktop",
            {
                "linux": "$CONFIG/Claude/claude_desktop_config.json",
                "darwin": "~/Library/Application Support/Claude/claude_desktop_config.json",
                "win32": "$APPDATA/Claude/claude_desktop_config.json",
            },
        ),
        Client("claude-code", "Claude Code", {"linux": "~/.claude.json"}, has_type=True),
        Client("cursor", "Cursor", {"linux": "~/.cursor/mcp.json"}),
        Client(
            "vscode",
            "Visual Studio Code",
            {
                "linux": "$CONFIG/Code/User/mcp.json",
                "darwin": "~/Library/Application Support/Code/User/mcp.json",
                "win32": "$APPDATA/Code/User/mcp.json",
            },
            key="servers",
            has_type=True,
        ),
        Client("windsurf", "Windsurf", {"linux": "~/.codeium/windsurf/mcp_config.json"}),
        Client("gemini-cli", "Gemini CLI", {"linux": "~/.gemini/settings.json"}),
    )
}


def own_entry(arguments: Sequence[str]) -> Entry:
    """This installation's program, by its full path: clients do not start in a shell."""
    beside = Path(sys.executable).with_name("mnemic.exe" if sys.platform == "win32" else "mnemic")
    program = str(beside) if beside.is_file() else shutil.which("mnemic")
    return Entry(program or "mnemic", arguments)


def install(client: Client, entry: Entry, *, is_dry_run: bool = False) -> Written:
    """Write the entry into the client's file; all else in it stays, and a copy of it is kept beside it.

    Raises `ConfigError`, and changes nothing, for a file that cannot be read as JSON or written.
    """
    file = client.file.resolve()
    try:
        before = file.read_text(encoding="utf-8-sig") if file.exists() else None
        whole = parsed(before, file)
        servers = _servers(whole, client, file)
        if servers.get(NAME) == entry.of(client):
            return Written(client, is_changed=False, backup=None)
        servers[NAME] = entry.of(client)
        whole[client.key] = servers
        if is_dry_run:
            return Written(client, is_changed=True, backup=None)
        backup = None if before is None else backed_up(file)
        replace_file(file, json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} of {client.title} cannot be changed: {error}") from error
    return Written(client, is_changed=True, backup=backup)


def _servers(whole: Mapping[str, object], client: Client, file: Path) -> dict[str, object]:
    servers = whole.get(client.key, {})
    if not isinstance(servers, dict):
        raise ConfigError(f"{client.key} of {file} is no JSON object; it was left alone")
    return dict(cast("dict[str, object]", servers))


def _config_folder() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _app_data() -> Path:
    return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
