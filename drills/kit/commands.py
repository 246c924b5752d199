"""Runs `mnemic` as a process of its own, and compares commands with the resident process and without it."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mnemic.api import Mnemic
from mnemic.model.scope import Scope

Ended = tuple[int, bytes, bytes]
"""The exit code, standard output and standard error of a command. A terminal shows both as output."""

PROGRAM = "import sys; from mnemic.cli import forward, main; forward.WAIT_S = {}; sys.exit(main())"
WAIT_S, PATIENT_S = 0.25, 60.0
BEFORE_SIGNAL_S = 1.5  # a signal before the command begins has the same effect
MOST_UNSERVED = 3  # one has a file of its own, and an installation beside the drill ends the resident process
PLACES = ("with", "sole")
_CHANGING = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d[:.0-9]*Z?|(?<![0-9a-f])[0-9a-f]{8}(?![0-9a-f])"
    rb"|_ms\": ?\{[^}]*\}|just now"
    rb"|\d+ (second|minute)s?|\d+\.\d ms"
)


class Caller:
    """Starts commands with an environment of their own."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)

    def start(self, arguments: Sequence[str], *, silent: bool, umask: int = -1) -> subprocess.Popen[bytes]:
        """Start a command as a shell would."""
        stream = subprocess.DEVNULL if silent else subprocess.PIPE
        command = [sys.executable, "-P", "-c", PROGRAM.format(WAIT_S), *arguments]
        return subprocess.Popen(command, stdin=stream, stdout=stream, stderr=stream, env=self.environment, umask=umask)

    def run(self, arguments: Sequence[str], given: bytes = b"", **variables: str) -> Ended:
        """Run a command that waits long for a busy resident process."""
        command = [sys.executable, "-P", "-c", PROGRAM.format(PATIENT_S), *arguments]
        ended = subprocess.run(command, input=given, capture_output=True, env=self.environment | variables, check=False)
        return ended.returncode, ended.stdout, ended.stderr


@dataclass(frozen=True)
class Form:
    """A command, and how it is run. `output`: pipe, terminal, full (a device without room) or gone (a closed pipe)."""

    arguments: Sequence[str | bytes]
    given: bytes = b""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    output: str = "pipe"
    signal: int = 0
    umask: int = -1


RECALL = ("recall", "What does Ana drink?")
LIST = ("memory", "list")
EVENT = b'{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "What does Ana drink?"}'
FORMS: Sequence[Form] = (
    Form(RECALL),
    Form((*RECALL, "--json")),
    Form((*RECALL, "--explain", "--all")),
    Form(("context", "What does Ana drink?")),
    Form(("context", "--json", "What does Ana drink?")),
    Form(LIST),
    Form((*LIST, "--json", "--limit", "2")),
    Form(("memory", "count", "--json")),
    Form(("memory", "show", "nothing")),
    Form(("memory", "show", "--json", "00000000-0000-7000-8000-000000000000")),
    Form(("memory",)),
    Form(("memory", "nonsense")),
    Form(("memory", "list", "--nonsense")),
    Form(("memory", "list", "--help")),
    Form(("recall", "--limit", "many", "tea")),
    Form(("recall",)),
    Form(("recall", b"not \xff UTF-8")),
    Form(("remember", "Ana plays the cello."), umask=0),
    Form(("remember", "--json", "Ana owns a boat."), umask=0o077),
    Form(("remember", "-"), "Ana plays très fort 🎻.\r\nAnd often.\r\n".encode()),
    Form(("remember", "-"), b"\xff\xfe"),
    Form(("remember", "-"), b"a long text " * 200_000),
    Form(("remember", "--kind", "nonsense", "x")),
    Form(("remember", "The key is AKIAIOSFODNN7EXAMPLE.")),
    Form(("capture", "--session", "s", "--user-text", "I prefer tea.", "--assistant-text", "Noted.")),
    Form(("capture", "--session", "s", "-"), b'[{"role": "user", "content": "Tea, please."}]'),
    Form(("capture", "--session", "s", "-"), b"{broken"),
    Form(("messages", "--session", "s")),
    Form(("window", "--session", "s")),
    Form(("profile", "set", "city=Lisbon")),
    Form(("profile", "show", "--json")),
    Form(("users",)),
    Form(("show", "nothing")),
    Form(("hooks", "run", "claude-code"), EVENT),
    Form(("hooks", "run", "claude-code"), b"{broken"),
    Form(("hooks", "run", "nonsense"), EVENT),
    Form(RECALL, output="terminal"),
    Form((*RECALL, "--json"), output="terminal"),
    Form(LIST, output="terminal"),
    Form(LIST, variables={"NO_COLOR": "1"}, output="terminal"),
    Form(LIST, variables={"TERM": "dumb"}, output="terminal"),
    Form(LIST, variables={"COLUMNS": "44", "LINES": "5", "PAGER": "cat"}, output="terminal"),
    Form(("memory", "show", "nothing"), output="terminal"),
    Form(LIST, output="full"),
    Form(LIST, output="gone"),
    Form((*RECALL, "--json"), output="gone"),
    Form(LIST, variables={"MNEMIC_USER": "ben"}),
    Form(LIST, variables={"MNEMIC_STORE": "near.db"}),
    Form(LIST, variables={"MNEMIC_STORE": "memory://"}),
    Form((*LIST, "--store", "missing.db")),
    Form(LIST, variables={"MNEMIC_CONFIG": "broken.toml"}),
    Form((*LIST, "--config", "ben.toml"), variables={"MNEMIC_USER": ""}),
    Form(("memory", "show", "nothing"), variables={"MNEMIC_DEBUG": "1"}),
    Form(LIST, variables={"TZ": "Asia/Tokyo", "LC_ALL": "C", "LANG": "de_DE.UTF-8"}),
    Form(LIST, variables={"HOME": "/nonexistent", "TMPDIR": "/nonexistent"}),
    Form((*LIST, "--config", "/dev/fd/0"), b'[memory]\nuser = "ben"\n', variables={"MNEMIC_USER": ""}),
    Form(("remember", "-"), signal=signal.SIGINT),
    Form(("remember", "-"), signal=signal.SIGTERM),
    Form(("remember", "-"), signal=signal.SIGHUP),
    Form(("remember", "--store", "made.db", "Ana has a new store."), umask=0),
)


def compare_commands(caller: Caller, folder: Path, warm: Callable[[], int]) -> list[str]:
    """Run every form twice. Returns what differs. `warm` returns the number of calls answered so far."""
    for place in PLACES:
        (folder / place).mkdir()
        _fill(folder / place)
    run = {place: _Place(caller, folder / place) for place in PLACES}
    for _ in range(2):  # the first starts the resident process if there is none, the second lets it read rows
        run["with"].run(Form(("memory", "count")))
        warm()
    problems, unserved = list[str](), list[Form]()
    for form in FORMS:
        alone, before = run["sole"].run(form, MNEMIC_RESIDENT_IDLE_S="0"), warm()
        shared = run["with"].run(form)
        problems += [f"{form} differs: {shared} instead of {alone}"] if shared != alone else []
        if warm() != before + 2:  # the question itself is a call, too
            unserved.append(form)
    problems += [f"were not served: {unserved}"] if len(unserved) > MOST_UNSERVED else []
    trees = [_list_rights(folder / place) for place in PLACES]
    problems += [f"files differ: {trees}"] if trees[0] != trees[1] else []
    for place in PLACES:
        shutil.rmtree(folder / place)
    return problems


def _fill(folder: Path) -> None:
    """Two stores with old memories, and configuration files."""
    for name, user in (("memory.db", "ana"), ("near.db", "ana")):
        with Mnemic.open(str(folder / name), has_worker=False) as mnemic:
            for number, text in enumerate(
                ("Ana drinks smoked tea in the morning.", f"Ana lives by {name}.", "日本のお茶")
            ):
                mnemic.remember(Scope(user=user), text, observed_at=f"2024-05-0{number + 1}")
            mnemic.remember(Scope(user="ben"), "Ben drinks coffee.", observed_at="2024-05-04")
    (folder / "broken.toml").write_text("[memory\n", encoding="utf-8")
    (folder / "ben.toml").write_text('[memory]\nuser = "ben"\n', encoding="utf-8")


def _list_rights(folder: Path) -> list[tuple[str, str]]:
    return sorted(
        {(re.sub(r"[0-9a-f]{16,}", "…", path.name), f"{path.stat().st_mode:o}") for path in folder.rglob("*")}
    )


class _Place:
    """Runs forms in a folder."""

    def __init__(self, caller: Caller, folder: Path) -> None:
        self._caller, self._folder = caller, folder

    def run(self, form: Form, **more: str) -> Ended:
        """The end of a form, without ids, times and the folder's name."""
        environment = self._caller.environment | {"MNEMIC_STORE": str(self._folder / "memory.db"), "MNEMIC_USER": "ana"}
        environment |= {**form.variables, **more}
        command = [sys.executable, "-P", "-c", PROGRAM.format(PATIENT_S), *form.arguments]
        given: Any = {"env": environment, "cwd": self._folder, "umask": form.umask}
        is_shown = form.output == "terminal"
        code, *streams = _run_in_terminal(command, given) if is_shown else _run_in_pipes(command, form, given)
        name = f"/{self._folder.name}".encode()
        out, err = (_CHANGING.sub(b"*", stream.replace(name, b"/place")) for stream in streams)
        return code, out, err


def _run_in_pipes(command: list[str | bytes], form: Form, given: Any) -> Ended:
    pipe, output = subprocess.PIPE, subprocess.PIPE
    if form.output == "full":
        output = os.open("/dev/full", os.O_WRONLY)
    elif form.output == "gone":
        reader, output = os.pipe()
        os.close(reader)
    process: Any = subprocess.Popen(command, stdin=pipe, stdout=output, stderr=pipe, **given)
    if output != pipe:
        os.close(output)
    if form.signal:
        time.sleep(BEFORE_SIGNAL_S)
        process.send_signal(form.signal)
        process.wait()  # its input stays open until then
    with suppress(BrokenPipeError):
        out, err = process.communicate(form.given or None)
        return process.returncode, out or b"", err
    return process.wait(), b"", b"it did not read its input"


def _run_in_terminal(command: list[str | bytes], given: Any) -> Ended:
    own, other = pty.openpty()
    process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, **given)
    os.close(other)
    shown = b""
    with suppress(OSError):  # the end of a terminal
        while piece := os.read(own, 1 << 16):
            shown += piece
    os.close(own)
    return process.wait(), shown, b""
