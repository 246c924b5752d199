"""`mnemic mcp install`: into the files of clients, without harm to what is there."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.cli.clients import CLIENTS
from mnemic.cli.config_text import edit_text, parse_text
from tests.doors.doors import run

ANA = ["--user", "ana"]


def put(*words: str, as_json: bool = False) -> tuple[int, str, str]:
    return run([*ANA, *words, *(["--json"] if as_json else [])], ["mcp", "install"])


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for client in CLIENTS.values():
        monkeypatch.delenv(client.variable.partition("/")[0], raising=False)


def test_the_server_is_written_into_the_clients_that_are_there_and_the_rest_of_their_files_stays(home: Path):
    cursor = home / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    before = '{"mcpServers": {"other": {"command": "x"}}, "theme": "dark ☾"}'
    cursor.write_text(before, encoding="utf-8")
    cursor.chmod(0o600)
    (home / "Claude").mkdir()
    code, out, err = put("--store", "memory.db")
    assert code == 0, err
    assert "cursor: wrote" in out
    assert "claude-desktop: wrote" in out
    assert "vscode" not in out
    now = json.loads(cursor.read_text(encoding="utf-8"))
    assert (now["theme"], now["mcpServers"]["other"]) == ("dark ☾", {"command": "x"})
    entry = now["mcpServers"]["mnemic"]
    assert Path(entry["command"]).name == "mnemic"
    assert entry["args"] == ["mcp", "--user", "ana", "--store", str(Path.cwd() / "memory.db")]
    assert stat.S_IMODE(cursor.stat().st_mode) == 0o600
    backups = [path for path in cursor.parent.iterdir() if path.suffix == ".bak"]
    assert [path.read_text(encoding="utf-8") for path in backups] == [before]
    assert len(list(cursor.parent.iterdir())) == 2


def test_installing_again_changes_nothing_and_another_scope_replaces_the_entry(home: Path):
    assert put("--client", "vscode")[0] == 0
    file = home / "Code" / "User" / "mcp.json"
    once = file.read_text(encoding="utf-8")
    assert json.loads(once)["servers"]["mnemic"]["type"] == "stdio"
    code, out, _ = put("--client", "vscode")
    assert (code, "has it already" in out, file.read_text(encoding="utf-8")) == (0, True, once)
    run(["--user", "bob", "--client", "vscode"], ["mcp", "install"])
    assert "bob" in file.read_text(encoding="utf-8")


def test_a_dry_run_writes_nothing(home: Path):
    code, out, _ = put("--client", "cursor", "--dry-run", as_json=True)
    told = json.loads(out)
    assert code == 0
    assert [(each["client"], each["is_changed"], each["backup"]) for each in told] == [("cursor", True, None)]
    assert not (home / ".cursor").exists()


@pytest.mark.parametrize("content", ["{ // an open comment\n", "[]", '{"mcpServers": []}', "\udcff"])
def test_a_file_that_is_not_understood_is_left_alone(home: Path, content: str):
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_bytes(content.encode(errors="surrogateescape"))
    code, _, err = put("--client", "cursor")
    assert (code, "mcp.json" in err) == (6, True)
    assert file.read_bytes() == content.encode(errors="surrogateescape")
    assert list(file.parent.iterdir()) == [file]


def test_a_link_to_a_file_stays_a_link(home: Path):
    real = home / "dotfiles.json"
    real.write_text("{}")
    link = home / ".claude.json"
    link.symlink_to(real)
    assert put("--client", "claude-code")[0] == 0
    assert link.is_symlink()
    assert "mnemic" in json.loads(real.read_text())["mcpServers"]


def test_where_no_client_is_found_what_to_copy_is_printed(home: Path):
    code, out, err = put()
    assert code == 0
    assert json.loads(out)["mcpServers"]["mnemic"]["args"] == ["mcp", "--user", "ana"]
    assert "choose one with --client" in err
    assert list(home.iterdir()) == []


def test_what_cannot_be_installed_is_refused():
    assert put("--client", "notepad")[0] == 2
    code, _, err = put("--store", "postgresql://ana:secret@host/db")
    assert (code, "secret" in err) == (2, False)


@pytest.mark.parametrize("name", list(CLIENTS))
def test_every_client_has_a_file_on_every_platform(name: str, monkeypatch: pytest.MonkeyPatch):
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr("sys.platform", platform)
        assert CLIENTS[name].file.suffix == {"codex": ".toml", "goose": ".yaml"}.get(name, ".json")


JSONC = """{
  // Colours
  "theme": "dark", /* of the editor */
  "url": "https://example.com/a//b",
  "mcpServers": {
    // Servers of mine
    "other": {"command": "x", "args": ["a", "b",]}, // keep
  },
}
"""


@pytest.mark.parametrize(
    "client, place, key",
    [
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("opencode", "opencode/opencode.json", "mcp"),
        ("opencode", "opencode/opencode.jsonc", "mcp"),
        ("crush", "crush/crush.json", "mcp"),
        ("zed", "zed/settings.json", "context_servers"),
        ("vscode", "Code/User/mcp.json", "servers"),
        ("cline", "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", "mcpServers"),
    ],
)
def test_comments_order_and_other_servers_stay_in_the_file(home: Path, client: str, place: str, key: str):
    file = home / place
    file.parent.mkdir(parents=True)
    before = JSONC.replace("mcpServers", key)
    file.write_text(before, encoding="utf-8")
    code, shown, err = put("--client", client, "--dry-run")
    assert (code, file.read_text(encoding="utf-8")) == (0, before), err
    assert '+    "mnemic": {' in shown
    assert [line for line in shown.splitlines() if line.startswith("-")] == []
    assert put("--client", client)[0] == 0
    now = file.read_text(encoding="utf-8")
    for comment in ("// Colours", "/* of the editor */", "// Servers of mine", "// keep"):
        assert comment in now
    whole: Any = parse_text(now, ".json")
    entry = whole[key]["mnemic"]
    assert (entry["command"][1:] if client == "opencode" else entry["args"]) == ["mcp", "--user", "ana"]
    assert run(["--client", client], ["mcp", "uninstall"])[0] == 0
    assert file.read_text(encoding="utf-8") == before
    code, out, _ = run(["--client", client], ["mcp", "uninstall"])
    assert (code, "has none" in out) == (0, True)


def test_codex_gets_a_table_of_its_own_and_comments_stay(home: Path):
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    before = '# Mine\nmodel = "x"  # the newest\n\n[mcp_servers.other]\ncommand = "y"\n'
    file.write_text(before, encoding="utf-8")
    assert put("--client", "codex")[0] == 0
    assert file.read_text(encoding="utf-8").startswith(before)
    assert tomllib.loads(file.read_text(encoding="utf-8"))["mcp_servers"]["mnemic"]["args"] == ["mcp", "--user", "ana"]
    run(["--user", "bob", "--client", "codex"], ["mcp", "install"])
    now = tomllib.loads(file.read_text(encoding="utf-8"))
    assert (now["model"], now["mcp_servers"]["mnemic"]["args"]) == ("x", ["mcp", "--user", "bob"])
    assert run(["--client", "codex"], ["mcp", "uninstall"])[0] == 0
    assert file.read_text(encoding="utf-8") == before


@pytest.mark.parametrize("content", ['mcp_servers = { other = { command = "y" } }\n', "broken"])
def test_a_toml_file_of_another_form_is_left_alone(home: Path, content: str):
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(content, encoding="utf-8")
    code, _, err = put("--client", "codex")
    assert (code, "edit it yourself" in err, file.read_text(encoding="utf-8")) == (6, True, content)


KEYS = st.sampled_from(["a", "b", "//c", 'q"', "mcp", "é"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='/*", \\x{}[]', max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=3) | VALUES, max_size=4)


@given(before=OBJECTS, after=OBJECTS, indent=st.sampled_from([None, 2, 4]))
def test_an_edited_file_means_what_it_should(before: dict[str, Any], after: dict[str, Any], indent: int | None):
    text = "// first\n" + json.dumps(before, indent=indent) + " /* last */\n"
    edited = edit_text(text, ".json", before, after)
    assert parse_text(edited, ".json") == after
    assert (edited.startswith("// first\n"), edited.endswith(" /* last */\n")) == (True, True)
