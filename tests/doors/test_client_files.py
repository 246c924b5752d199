"""Other programs' files keep their bytes after `install` and `uninstall` of `mnemic mcp` and `mnemic hooks`."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.cli.clients import CLIENTS, build_own_entry, install_hooks
from mnemic.cli.config_text import edit_text, parse_text
from tests.doors.doors import run

TOML = {
    "alone": "",
    "one comment": "# Codex\n",
    "no newline at the end": '# Codex\nmodel = "gpt-5" # fast',
    "blank lines at the end": 'model = "gpt-5"\n\n\n',
    "profiles": (
        '#:schema https://example.com/schema.json\nmodel = "gpt-5"\napproval_policy = "on-request"\n\n'
        '[profiles.slow]\nmodel = "gpt-5-pro"  # thinks\n\n# Trusted folders\n[projects."/srv/my.app"]\n'
        'trust_level = "trusted"\n'
    ),
    "servers": (
        '[mcp_servers.docs]\ncommand = "npx"\nargs = [\n  "-y",  # no question\n  "docs-mcp",\n]\n\n'
        '  [mcp_servers.docs.env]\n  TOKEN = "x"\n# the end\n'
    ),
    "a header of all servers": "[mcp_servers]\n# none yet\n\n[tui]\nnotifications = true\n",
    "dotted keys": 'tui.theme = "dark"\nmcp_servers.docs.command = "npx"\nmcp_servers.docs.args = []\n',
    "inline tables": 'tui = { theme = "dark", notifications = ["a"] }\n[mcp_servers]\ndocs = { command = "npx" }\n',
    "arrays of tables": '[[hooks.Stop]]\ncommand = "beep"\n\n[[hooks.Stop]]\ncommand = "ring" # loud\n',
    "strings of many lines": (
        "developer_instructions = \"\"\"\n[mcp_servers.mnemic]\n# no comment\n\"\"\"\n\n[other]\nx = '''\n[y]'''\n"
    ),
    "☾": '# ☾\u2028 mine\ntheme = "☾"\n',
}
JSON = {
    "an empty object": "{}",
    "no servers": '{\n  "theme": "dark ☾"\n}\n',
    "an empty object of servers": '{\n  "mcpServers": {}\n}\n',
    "blank lines": '\n{\n\n  "mcpServers": {\n\n  }\n\n}\n\n',
    "one line": '{"mcpServers": {"other": {"command": "x"}}, "theme": "dark"}',
    "four spaces": '{\n    "mcpServers": {\n        "other": {\n            "command": "x"\n        }\n    }\n}\n',
    "tabs": '{\n\t"mcpServers": {\n\t\t"other": {"command": "x"}\n\t},\n\t"a": [1,2 ,3]\n}',
    "comments": (
        '// mine\n{\n  // Colours {"mcpServers": 1}\n  "theme": "dark", /* a */ "b": 1.50,\n'
        '  "mcpServers": { // servers\n'
        '    "other": {"url": "https://x//y"}, // keep\n'
        '    // "old": {"command": "x"},\n    /* "older": {}\n  */\n  },\n'
        "} // end\n"
    ),
    "only comments": '{\n  "mcpServers": {\n    // "old": {"command": "x"}\n  }\n}\n',
    "a trailing comma": '{"mcpServers": {"other": {},}, }\n',
}
FORMS: dict[str, Callable[[str], bytes]] = {
    "lf": lambda text: text.encode(),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "bom": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "mixed": lambda text: text.replace("\n", "\r\n", 1).encode(),
}


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for client in CLIENTS.values():
        monkeypatch.delenv(client.variable.partition("/")[0], raising=False)


def install(client: str, user: str = "ana") -> None:
    code, _, err = run(["--user", user, "--client", client], ["mcp", "install"])
    assert code == 0, err


def uninstall(client: str) -> None:
    code, _, err = run(["--client", client], ["mcp", "uninstall"])
    assert code == 0, err


def drop_backups(file: Path) -> None:
    for each in file.parent.glob("*.bak"):
        each.unlink()


@pytest.mark.parametrize("has_backup", ["with", ""])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TOML)
def test_a_toml_file_survives(home: Path, name: str, form: str, has_backup: str):
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    before = FORMS[form](TOML[name])
    file.write_bytes(before)
    install("codex")
    now = file.read_bytes()
    assert tomllib.loads(now.decode("utf-8-sig"))["mcp_servers"]["mnemic"]["args"] == ["mcp", "--user", "ana"]
    assert form != "crlf" or b"\n" not in before or now.count(b"\n") == now.count(b"\r\n")
    install("codex", "bob")
    if not has_backup:
        drop_backups(file)
    uninstall("codex")
    assert (file.read_bytes() if has_backup or file.exists() else b"") == before


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", JSON)
def test_a_json_file_survives(home: Path, name: str, form: str):
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    before = FORMS[form](JSON[name])
    file.write_bytes(before)
    install("cursor")
    now: Any = parse_text(file.read_bytes().decode(), ".json")
    assert now["mcpServers"]["mnemic"]["args"] == ["mcp", "--user", "ana"]
    install("cursor", "bob")
    uninstall("cursor")
    assert file.read_bytes() == before


@pytest.mark.parametrize("name", JSON)
def test_without_a_backup_a_json_file_keeps_its_comments_and_layout(home: Path, name: str):
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text(JSON[name], encoding="utf-8")
    install("cursor")
    drop_backups(file)
    uninstall("cursor")
    now = file.read_text(encoding="utf-8") if file.exists() else "{}"
    old, now = ("".join(text.split()).replace('"mcpServers":{}', "").replace(",}", "}") for text in (JSON[name], now))
    assert now == old


def test_what_is_written_beside_the_table_later_stays(home: Path):
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text('model = "x"\n', encoding="utf-8")
    install("codex")
    text = file.read_text(encoding="utf-8").replace("[mcp", "# Memory\n[mcp").replace("]\n", "]\n# inside\n", 1)
    text += '# after\n\n[mcp_servers.mnemic.env]\nMNEMIC_KEY = "k"\n# before other\n  [ other ] # o\nb = 2\n'
    file.write_text(text, encoding="utf-8")
    uninstall("codex")
    kept = 'model = "x"\n\n# Memory\n# inside\n# after\n# before other\n  [ other ] # o\nb = 2\n'
    assert file.read_text(encoding="utf-8") == kept


def test_installing_for_another_user_keeps_the_other_settings_of_the_entry(home: Path):
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    mine = (
        '[mcp_servers."mnemic"] # mine\nargs = ["mcp",\n] # old\nstartup_timeout_sec = 30 # slow\ncommand = "m"\n'
        '\n[mcp_servers.mnemic.env]\nA = "b"\n'
    )
    file.write_text(mine, encoding="utf-8")
    install("codex", "bob")
    now = file.read_text(encoding="utf-8").replace(build_own_entry(()).program, "m")
    assert now == mine.replace('["mcp",\n]', '["mcp", "--user", "bob"]')
    cursor = home / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    cursor.write_text('{"mcpServers": {"mnemic": {"command": "m", "env": {"A": "b"}, /* c */ "disabled": true}}}')
    install("cursor", "bob")
    assert "/* c */" in cursor.read_text(encoding="utf-8")
    whole: Any = parse_text(cursor.read_text(encoding="utf-8"), ".json")
    entry = whole["mcpServers"]["mnemic"]
    assert (entry["env"], entry["disabled"], entry["args"]) == ({"A": "b"}, True, ["mcp", "--user", "bob"])


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers]\nmnemic = { command = "m", args = [] } # mine\nother = { command = "o" }\n',
        'mcp_servers.mnemic.command = "m"\nmcp_servers.mnemic.args = []\nmcp_servers.other.command = "o"\n',
        '[mcp_servers.mnemic]\nurl = "http://localhost:7700/mcp"\n\n[mcp_servers.other]\ncommand = "o"\n',
    ],
)
def test_an_entry_in_another_form_is_replaced_and_removed(home: Path, text: str):
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    install("codex", "bob")
    servers = tomllib.loads(file.read_text(encoding="utf-8"))["mcp_servers"]
    assert servers.keys() == {"other", "mnemic"}
    assert servers["mnemic"].keys() == {"command", "args"}
    file.write_text(text, encoding="utf-8")
    uninstall("codex")
    assert tomllib.loads(file.read_text(encoding="utf-8")) == {"mcp_servers": {"other": {"command": "o"}}}


def test_comments_around_an_entry_stay_without_a_backup(home: Path):
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    entry = '"mnemic": {"command": "m"}'
    for text in (
        '{"mcpServers": { // a\n' + entry + ', "other": {} // b\n}}',
        '{"mcpServers": {"other": {}, // a\n' + entry + "}}",
        '{"mcpServers": {"other": {}, // a\n' + entry + " // b\n}}",
        '{"mcpServers": {/* a */ ' + entry + " /* b */ }}",
        '{"mcpServers": {"other": {}, ' + entry + " /* a */\n, /* b */ }}",
    ):
        file.write_text(text, encoding="utf-8")
        uninstall("cursor")
        now = file.read_text(encoding="utf-8")
        assert parse_text(now, ".json") in ({"mcpServers": {"other": {}}}, {"mcpServers": {}})
        assert [mark for mark in ("// a", "// b", "/* a */", "/* b */") if mark in text] == [
            mark for mark in ("// a", "// b", "/* a */", "/* b */") if mark in now
        ]


def test_each_client_is_handled_and_each_failure_told(home: Path):
    (home / ".codex").mkdir()
    (home / ".gemini").mkdir()
    broken = home / ".cursor" / "mcp.json"
    broken.parent.mkdir()
    broken.write_text("{", encoding="utf-8")
    inline = home / ".codex" / "config.toml"
    inline.write_text('mcp_servers = { other = { command = "y" } }\n', encoding="utf-8")
    code, out, err = run(["--user", "ana"], ["mcp", "install"])
    assert (code, "gemini-cli: wrote" in out, str(broken) in err, str(inline) in err) == (1, True, True, True)
    assert '"mcpServers": {' in out
    assert "[mcp_servers.mnemic]" in out
    code, out, err = run(["--json"], ["mcp", "uninstall"])
    told = {each["client"]: each for each in json.loads(out)}
    assert (code, told["gemini-cli"]["is_changed"], str(broken) in told["cursor"]["error"]) == (1, True, True)
    assert not told["codex"]["is_changed"]
    assert json.loads(err)["error"]["kind"] == "config"


SECRETS = {
    "claude-code": '{"mcpServers":{"a":{"command":"npx","env":{"GITHUB_TOKEN":"ghp_secret"},"n":"mcp"}}} // ghp_secret',
    "codex": '[mcp_servers.mnemic]\ncommand = \'x ghp_secret\'\nargs = ["""\nghp_secret"""] # ghp_secret\n',
    "cursor": '{"mcpServers": {"mnemic": {"url": "x", "headers": {"Authorization": "ghp_secret"}}}, "a": "ghp_secret"}',
}


@pytest.mark.parametrize("client", SECRETS)
@pytest.mark.parametrize("verb", ["install", "uninstall"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_values_of_others_are_not_printed(home: Path, client: str, verb: str, form: list[str]):
    file = CLIENTS[client].file
    file.parent.mkdir(exist_ok=True)
    file.write_text(SECRETS[client], encoding="utf-8")
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"hooks":{},"env":{"GITHUB_TOKEN":"ghp_secret"}}')
    user = ["--user", "ana"] if verb == "install" else []
    for more in (["--dry-run"], []):
        code, out, err = run([*user, "--client", client, *more, *form], ["mcp", verb])
        assert (code, "ghp_secret" in out + err) == (0, False), err
        assert not (form and "difference" in out and not more)
        assert verb == "uninstall" or not more or ("ana" in out and build_own_entry(()).program in out)
        code, out, err = run(["claude-code", "--user", "ana", *more, *form], ["hooks", verb])
        assert (code, "ghp_secret" in out + err) == (0, False), err


@pytest.mark.parametrize("name", ["mcp.json.1.bak", "mcp.json.20200101T000000.bak", "mcp.json.20200101T000000-1.bak"])
@pytest.mark.parametrize("content", [b"[]", b"\xff", b"{", b"[" * 100_000, None])
def test_a_backup_that_cannot_be_read_is_skipped(home: Path, name: str, content: bytes | None):
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    odd = file.with_name(name)
    odd.mkdir() if content is None else odd.write_bytes(content)
    before = b'{"theme": "dark"  }\n'
    file.write_bytes(before)
    install("cursor")
    uninstall("cursor")
    assert (file.read_bytes(), odd.is_dir() or odd.read_bytes() == content) == (before, True)


def test_a_file_of_a_stranger_is_no_backup(home: Path):
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.with_name("mcp.json.1.bak").write_text('{"mcpServers": {}}', encoding="utf-8")
    install("cursor")
    uninstall("cursor")
    assert not file.exists()


def save_while_it_is_changed(monkeypatch: pytest.MonkeyPatch, file: Path, saved: list[bytes]) -> None:
    """The program saves each text once, after Mnemic has read the file."""

    def edit(*asked: Any) -> str:
        if saved:
            file.write_bytes(saved.pop(0))
        return edit_text(*asked)

    monkeypatch.setattr("mnemic.cli.clients.edit_text", edit)


def test_what_a_program_saves_meanwhile_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch):
    file = home / ".claude.json"
    file.write_text('{"login": "old"}', encoding="utf-8")
    save_while_it_is_changed(monkeypatch, file, [b'{"login": "new"}'])
    install("claude-code")
    whole = json.loads(file.read_text(encoding="utf-8"))
    assert (whole["login"], whole["mcpServers"].keys()) == ("new", {"mnemic"})
    assert [each.read_bytes() for each in home.glob("*.bak")] == [b'{"login": "new"}']


def test_a_program_that_keeps_saving_is_to_be_closed(home: Path, monkeypatch: pytest.MonkeyPatch):
    file = home / ".claude.json"
    file.write_text("{}", encoding="utf-8")
    saved = [b'{"login": %d}' % number for number in range(9)]
    save_while_it_is_changed(monkeypatch, file, saved)
    code, _, err = run(["--user", "ana", "--client", "claude-code"], ["mcp", "install"])
    assert (code, "was changed by another program; close Claude Code and try again" in err) == (6, True)
    assert (file.read_bytes()[:10], [*home.glob("*.bak")]) == (b'{"login": ', [])


def test_a_client_that_cannot_be_checked_does_not_stop_the_others(home: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("Code/User", ".gemini", "goose/config.yaml"):
        (home / name).mkdir(parents=True)
    (home / ".codex").symlink_to(home / ".codex")
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").symlink_to("mcp.json")
    stat = Path.stat

    def refuse(path: Path, **options: Any) -> Any:
        if "Code" in path.parts:
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", refuse)
    read = Path.read_bytes

    def read_allowed(path: Path) -> bytes:
        refuse(path)
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_allowed)
    code, out, _ = run(["--user", "ana", "--json"], ["mcp", "install"])
    told = {each["client"]: each for each in json.loads(out)}
    failed = {"vscode", "cline", "codex", "cursor", "goose"}
    assert (code, {name for name in told if "error" in told[name]}) == (1, failed)
    assert (told.keys() - failed, told["gemini-cli"]["is_changed"]) == ({"gemini-cli"}, True)
    assert all(told[name]["file"] in told[name]["error"] for name in failed)


def test_codex_with_mnemic_alone_is_uninstalled(home: Path):
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text('model = "x"\n\n[mcp_servers.mnemic]\ncommand = "m"\nargs = []\n', encoding="utf-8")
    uninstall("codex")
    assert file.read_text(encoding="utf-8") == 'model = "x"\n'


@pytest.mark.usefixtures("home")
def test_a_file_made_for_mnemic_is_removed_again():
    for client in ("claude-code", "codex", "continue"):
        install(client)
        assert CLIENTS[client].file.exists()
        uninstall(client)
        assert not CLIENTS[client].file.exists()


@pytest.mark.parametrize(
    "client, variable, place",
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("gemini-cli", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("crush", "CRUSH_GLOBAL_CONFIG", "crush.json"),
        ("continue", "CONTINUE_GLOBAL_DIR", "mcpServers/mnemic.json"),
    ],
)
def test_a_client_with_a_folder_of_its_own_is_found_there(
    home: Path, monkeypatch: pytest.MonkeyPatch, client: str, variable: str, place: str
):
    monkeypatch.setenv(variable, str(home / "own"))
    (home / "own" / place).parent.mkdir(parents=True)
    code, out, err = run(["--user", "ana"], ["mcp", "install"])
    assert (code, out) == (0, f"{client}: wrote {home / 'own' / place}\n"), err


def test_goose_gets_lines_to_copy(home: Path):
    file = home / "goose" / "config.yaml"
    file.parent.mkdir()
    before = "extensions: # mine\n  developer: {enabled: true}\n"
    file.write_text(before, encoding="utf-8")
    code, out, err = run(["--user", "ana", "--client", "goose"], ["mcp", "install"])
    assert (code, str(file) in err, file.read_text(encoding="utf-8")) == (6, True, before)
    yaml = pytest.importorskip("yaml")
    entry = yaml.safe_load(out)["extensions"]["mnemic"]
    assert (entry["type"], entry["args"]) == ("stdio", ["mcp", "--user", "ana"])
    code, out, _ = run(["--client", "goose"], ["mcp", "uninstall"])
    assert (code, "has none" in out) == (0, True)
    file.write_text(before + "  mnemic: {enabled: true}\n", encoding="utf-8")
    assert run(["--client", "goose"], ["mcp", "uninstall"])[0] == 6
    assert run(["--user", "ana", "--client", "goose"], ["mcp", "install"])[0] == 0


@pytest.mark.parametrize(
    "store",
    [
        "postgresql://ana:hidden@host/db",
        "postgresql://ana:hidden/@host/db",
        "postgresql://host/db?user=ana&password=hidden",
        "postgresql://host/db?%70assword=hidden",
    ],
)
def test_a_password_in_the_store_is_neither_written_nor_printed(home: Path, store: str):
    code, out, err = run(["--user", "ana", "--store", store, "--client", "cursor"], ["mcp", "install"])
    assert (code, "hidden" in out + err, "MNEMIC_STORE" in err, list(home.iterdir())) == (2, False, True, [])
    assert run(["--store", "postgresql://ana@host/db?passfile=x", "--client", "cursor"], ["mcp", "install"])[0] == 0


HOOKS = {
    "no hooks": '{\n    "model": "opus"\n}\n',
    "hooks of others": (
        '{\n    "model": "opus", // fast\n    "hooks": {\n        "Stop": [ // mine\n'
        '            {"hooks": [{"type": "command", "command": "say done"}]}, /* a */\n        ],\n'
        '        "Setup": []\n    }\n}'
    ),
    "one line": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}]}]}, "env": {"A": "b"}}',
    "one event": (
        '{\n\t"hooks": {\n\t\t"UserPromptSubmit": [\n'
        '\t\t\t{ "hooks": [ {"type":"command", "command":"x"} ] }\n\t\t]\n\t}\n}\n'
    ),
}


@pytest.mark.parametrize("has_backup", ["with", ""])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", HOOKS)
def test_a_file_of_hooks_survives(home: Path, name: str, form: str, has_backup: str):
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    before = FORMS[form](HOOKS[name])
    file.write_bytes(before)
    for user in ("ana", "bob"):
        code, _, err = run(["claude-code", "--user", user], ["hooks", "install"])
        assert code == 0, err
    whole: Any = parse_text(file.read_bytes().decode(), ".json")
    assert whole["hooks"].keys() >= {"UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"}
    assert "--user bob" in whole["hooks"]["Stop"][-1]["hooks"][0]["command"]
    if not has_backup:
        drop_backups(file)
    assert run(["claude-code"], ["hooks", "uninstall"])[0] == 0
    assert file.read_bytes() == before


def test_a_file_with_servers_and_hooks_survives(home: Path):
    file = home / ".gemini" / "settings.json"
    file.parent.mkdir()
    before = b'{"theme": "GitHub"} // mine\n'
    file.write_bytes(before)
    install("gemini-cli")
    assert run(["gemini-cli", "--user", "ana"], ["hooks", "install"])[0] == 0
    uninstall("gemini-cli")
    assert run(["gemini-cli"], ["hooks", "uninstall"])[0] == 0
    assert file.read_bytes() == before


@pytest.mark.parametrize("server", ["https://ana:hidden@host", "https://host/?password=hidden", "ana:hidden@host"])
def test_a_password_for_a_server_is_neither_written_nor_printed(home: Path, server: str):
    for program in ("claude-code", "openclaw"):
        code, out, err = run([program, "--user", "ana", "--server", server], ["hooks", "install"])
        assert (code, "hidden" in out + err, "MNEMIC_KEY" in err, list(home.iterdir())) == (2, False, True, [])


def test_a_hook_on_windows_starts_in_bash_too(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.platform", "win32")
    program = r"C:\Users\Ana B\Scripts\mnemic.exe"
    install_hooks("claude-code", None, [program, "hooks", "run", "claude-code", "--user", "ana b"])
    file = home / ".claude" / "settings.json"
    line = json.loads(file.read_text(encoding="utf-8"))["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert line == '"C:/Users/Ana B/Scripts/mnemic.exe" hooks run claude-code --user "ana b"'
    assert shlex.split(line)[0] == program.replace("\\", "/")
    install_hooks("claude-code", None, ())
    assert not file.exists()


def test_hooks_are_written_to_the_folder_of_gemini(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GEMINI_CLI_HOME", str(home / "own"))
    code, out, _ = run(["gemini-cli", "--user", "ana"], ["hooks", "install"])
    assert (code, str(home / "own" / ".gemini" / "settings.json") in out) == (0, True)
