"""The resident process: quick, invisible, never two, never left behind."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from socket import AF_UNIX
from socket import socket as unix_socket
from typing import Any, TypeVar

import pytest

from mnemic import Mnemic, Scope
from mnemic.cli import forward, main
from tests.doors.test_other_accounts import another_account

# A busy machine must not make the calls of these tests run by themselves.
PATIENT = "import sys; from mnemic.cli import forward, main; forward.WAIT_S = forward.BEGIN_S = 60.0; sys.exit(main())"
ASK = """import json
from mnemic.cli import forward
forward.WAIT_S = forward.BEGIN_S = 60.0
print(json.dumps(forward.describe_resident() or {}))
"""
PROGRAM = [sys.executable, "-P", "-c", PATIENT]
ANA = Scope(user="ana")
pytestmark = pytest.mark.timeout(400)  # each starts many processes, and tests run beside others
WAIT_S = 90.0
Found = TypeVar("Found")
_CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d[:.0-9]*Z?|\b[0-9a-f]{8}\b|_ms\": \{[^}]*\}"
)


class Desk:
    """Calls of the command line that may have a resident process, in a runtime folder of their own."""

    def __init__(self, folder: Path, store: Path) -> None:
        self.store = store
        self.environment = os.environ | {
            "XDG_RUNTIME_DIR": str(folder),
            "MNEMIC_STORE": str(store),
            "MNEMIC_USER": "ana",
        }
        self.environment[forward.VARIABLE] = "60"

    def start(self, arguments: Sequence[str], **changed: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        environment = self.environment | changed
        return subprocess.Popen(
            [*PROGRAM, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment
        )

    def run(self, arguments: Sequence[str], given: str = "", **changed: str) -> tuple[int, str, str]:
        process = self.start(arguments, **changed)
        out, err = process.communicate(given)
        return process.returncode, out, err

    def about(self) -> dict[str, Any]:
        """What the resident process says about itself, nothing if there is none."""
        command = [*PROGRAM[:-1], ASK]
        told = subprocess.run(command, env=self.environment, capture_output=True, stdin=subprocess.DEVNULL, check=True)
        return json.loads(told.stdout)

    def wait_for(self, look: Callable[[], Found]) -> Found:
        """What a look finds, as soon as it finds something."""
        end = time.monotonic() + WAIT_S
        while not (found := look()):
            assert time.monotonic() < end
            time.sleep(0.05)
        return found

    def warm(self) -> int:
        """The id of a resident process that has answered a call."""
        assert self.run(["recall", "tea"])[0] == 0
        self.wait_for(self.about)
        assert self.run(["recall", "tea"])[0] == 0
        return self.about()["pid"]

    def processes(self) -> list[int]:
        """The ids of resident processes of this desk, and of their children."""
        mark = f"XDG_RUNTIME_DIR={self.environment['XDG_RUNTIME_DIR']}".encode()
        found: list[int] = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                is_ours = b"forward.stay" in (place / "cmdline").read_bytes()
                if is_ours and mark in (place / "environ").read_bytes().split(b"\0"):
                    found.append(int(place.name))
        return found

    def busy(self) -> list[int]:
        """The ids of children that run a command: they are in its folder."""
        found: list[int] = []
        for pid in self.processes():
            with suppress(OSError):
                found += [pid] if Path(f"/proc/{pid}/cwd").readlink() != Path("/") else []
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk with one memory. Its processes end with the test."""
    (tmp_path / "run").mkdir(mode=0o700)
    with Mnemic.open(str(tmp_path / "memory.db"), has_worker=False) as mnemic:
        mnemic.remember(ANA, "Ana drinks smoked tea in the morning.")
    made = Desk(tmp_path / "run", tmp_path / "memory.db")
    yield made
    made.wait_for(lambda: not [os.kill(pid, signal.SIGKILL) for pid in made.processes()])


COMMANDS: Sequence[tuple[Sequence[str], str]] = (
    (["recall", "What does Ana drink?"], ""),
    (["recall", "--json", "What does Ana drink?"], ""),
    (["recall", "--explain", "--all", "tea"], ""),
    (["context", "What does Ana drink?"], ""),
    (["memory", "list"], ""),
    (["memory", "count"], ""),
    (["memory", "show", "nothing"], ""),
    (["memory", "show", "--json", "00000000-0000-7000-8000-000000000000"], ""),
    (["profile", "set", "city=Lisbon"], ""),
    (["profile", "show"], ""),
    (["remember", "-"], "Ana plays the cello, très fort 🎻.\n"),
    (["remember", "--kind", "nonsense", "x"], ""),
    (["users"], ""),
    (["agents"], ""),
    (["recall"], ""),
    (["hooks", "run", "claude-code"], "{broken"),
    (["hooks", "run", "claude-code"], '{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "tea?"}'),
    (["messages", "--session", "s"], ""),
)


def mask(ended: tuple[int, str, str]) -> list[str]:
    """The exit code and the output of a command, without ids and times."""
    return [str(ended[0]), *(_CHANGING.sub("…", text) for text in ended[1:])]


@pytest.mark.requirement("P-54")
def test_commands_print_and_return_what_they_do_without_it(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    pid = desk.warm()
    with closing(sqlite3.connect(desk.store)) as store, closing(sqlite3.connect(tmp_path / "alone.db")) as copy:
        store.backup(copy)
    calls = desk.about()["calls"]
    monkeypatch.setenv("MNEMIC_USER", "ana")
    monkeypatch.setenv("MNEMIC_STORE", str(tmp_path / "alone.db"))
    for arguments, given in COMMANDS:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        code, (out, err) = main(arguments), capsys.readouterr()
        alone = (code, out, err)
        assert mask(desk.run(arguments, given)) == mask(alone), arguments
    about = desk.about()
    assert about["pid"] == pid
    assert about["calls"] >= calls + len(COMMANDS)
    assert about["stores"] == [str(desk.store)]


@pytest.mark.requirement("P-54")
def test_the_socket_is_private_and_doctor_shows_the_process(desk: Desk, tmp_path: Path):
    pid = desk.warm()
    folder = tmp_path / "run" / f"mnemic-{os.getuid()}"
    [socket] = folder.glob("*.socket")
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    if os.geteuid() == 0:  # a real second account, where the tests may take one
        with unix_socket(AF_UNIX) as caller, another_account(), pytest.raises(PermissionError):
            caller.connect(str(socket))
    code, out, _ = desk.run(["doctor", "--json"])
    [finding] = [each for each in json.loads(out)["findings"] if each["part"] == "resident"]
    assert code == 0
    assert f"process {pid} since" in finding["message"]
    assert f"`kill {pid}`" in finding["message"]


def test_a_call_uses_its_own_environment_and_folder(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    desk.warm()
    with Mnemic.open(str(tmp_path / "other.db"), has_worker=False) as mnemic:
        mnemic.remember(Scope(user="ben"), "Ben drinks coffee.")
    _, out, _ = desk.run(["memory", "list"], MNEMIC_STORE=str(tmp_path / "other.db"), MNEMIC_USER="ben")
    assert "coffee" in out
    monkeypatch.chdir(tmp_path)
    assert "coffee" in desk.run(["memory", "list", "--store", "other.db", "--user", "ben"])[1]
    assert "tea" in desk.run(["memory", "list"])[1]


def test_what_others_wrote_and_erased_is_seen_at_once(desk: Desk):
    desk.warm()
    with Mnemic.open(str(desk.store), has_worker=False) as mnemic:
        mnemic.remember(ANA, "Ana rides a red bicycle.")
        assert "bicycle" in desk.run(["recall", "bicycle"])[1]
        mnemic.erase(ANA)
    assert desk.run(["recall", "--all", "tea bicycle"])[1] == ""


@pytest.mark.requirement("P-54")
def test_a_backup_copied_into_the_stores_file_is_read_again(desk: Desk):
    desk.warm()
    before = desk.store.read_bytes()
    assert desk.run(["remember", "Ana sails."])[0] == 0
    assert "sails" in desk.run(["recall", "sails"])[1]
    desk.store.write_bytes(before)  # the same file, and soon the same version
    assert desk.run(["remember", "Ana rides a bicycle."])[0] == 0
    assert "bicycle" in desk.run(["recall", "bicycle"])[1]
    assert "sails" not in desk.run(["recall", "--all", "sails"])[1]


def test_a_replaced_store_is_opened_again(desk: Desk):
    desk.warm()
    for path in desk.store.parent.glob("memory.db*"):
        path.unlink()
    with Mnemic.open(str(desk.store), has_worker=False) as mnemic:
        mnemic.remember(ANA, "Ana moved to Porto.")
    code, out, err = desk.run(["recall", "Where did Ana move?"])
    assert (err, code) == ("", 0)
    assert "Porto" in out
    assert "tea" not in desk.run(["memory", "list"])[1]


def test_practice_leaves_the_project_of_its_callers_hook_alone(desk: Desk, tmp_path: Path):
    project = tmp_path / "project"
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    desk.environment |= {"CLAUDE_PROJECT_DIR": str(project), "XDG_DATA_HOME": str(tmp_path / "data")}
    before = sorted(project.rglob("*"))
    desk.warm()
    desk.wait_for(lambda: len(desk.processes()) == 2)  # the child of the next call practises too
    assert desk.run(["recall", "tea"])[0] == 0
    assert sorted(project.rglob("*")) == before
    assert not (tmp_path / "data").exists()


@pytest.mark.requirement("P-54")
def test_two_first_calls_start_one_process(desk: Desk):
    several = [desk.start(["recall", "tea"]) for _ in range(3)]
    assert [process.communicate()[0].count("smoked tea") for process in several] == [1, 1, 1]
    desk.wait_for(desk.about)
    assert desk.run(["recall", "tea"])[0] == 0
    # The second is the child of the next call; the last call's own child ends a moment after its answer.
    desk.wait_for(lambda: len(desk.processes()) == 2 and not desk.busy())


@pytest.mark.requirement("P-54")
def test_the_child_of_the_next_call_is_replaced_and_ends_with_its_parent(desk: Desk):
    pid = desk.warm()
    for victims in ("the child", "both"):
        spare = desk.wait_for(lambda: next((each for each in desk.processes() if each != pid), 0))
        os.kill(spare if victims == "the child" else pid, signal.SIGKILL)
        desk.wait_for(lambda gone=spare: gone not in desk.processes())
        assert "smoked tea" in desk.run(["recall", "tea"])[1]


@pytest.mark.requirement("P-54")
def test_a_killed_resident_process_is_replaced(desk: Desk):
    pid = desk.warm()
    os.kill(pid, signal.SIGKILL)
    assert "smoked tea" in desk.run(["recall", "tea"])[1]
    desk.wait_for(lambda: desk.about().get("pid", pid) != pid)


@pytest.mark.requirement("P-54")
def test_a_killed_caller_takes_its_command_along(desk: Desk):
    desk.warm()
    for number in (signal.SIGKILL, signal.SIGTERM):
        waiting = desk.start(["remember", "-"])
        desk.wait_for(lambda: len(desk.busy()) == 1)
        waiting.send_signal(number)
        waiting.communicate()
        assert waiting.returncode == -number
        desk.wait_for(lambda: not desk.busy())


def test_ctrl_c_stops_the_command(desk: Desk):
    desk.warm()
    waiting = desk.start(["remember", "-"])
    desk.wait_for(lambda: len(desk.busy()) == 1)
    time.sleep(2)  # until the command has begun
    waiting.send_signal(signal.SIGINT)
    waiting.wait(WAIT_S)  # its input is open until then: the end of the input would be another reason to stop
    out, err = waiting.communicate()
    assert (waiting.returncode, out, err) == (130, "", "")
    desk.wait_for(lambda: not desk.busy())


@pytest.mark.parametrize("arguments, code", [(["remember", "-"], 137), (["hooks", "run", "claude-code"], 0)])
def test_a_killed_command_is_reported_as_killed(desk: Desk, arguments: Sequence[str], code: int):
    desk.warm()
    waiting = desk.start(arguments)
    desk.wait_for(lambda: len(desk.busy()) == 1)
    time.sleep(2)
    os.kill(desk.busy()[0], signal.SIGKILL)
    waiting.communicate()
    assert waiting.returncode == code


@pytest.mark.requirement("P-54")
def test_it_ends_when_idle_or_when_the_configuration_says_so(desk: Desk, tmp_path: Path):
    desk.environment[forward.VARIABLE] = "1"
    assert desk.run(["recall", "tea"])[0] == 0
    desk.wait_for(desk.processes)
    desk.wait_for(lambda: not desk.processes())
    file = tmp_path / "config.toml"
    file.write_text("[resident]\nidle-s = 60\n", encoding="utf-8")
    del desk.environment[forward.VARIABLE]
    desk.environment["MNEMIC_CONFIG"] = str(file)
    desk.warm()
    off = tmp_path / "off.toml"
    off.write_text("[resident]\nidle-s = 0\n", encoding="utf-8")
    assert "smoked tea" in desk.run(["memory", "list"], MNEMIC_CONFIG=str(off))[1]
    desk.wait_for(lambda: not desk.processes())


@pytest.mark.requirement("P-54")
def test_a_process_that_may_be_in_a_sandbox_gets_no_answer(desk: Desk):
    desk.warm()
    calls = desk.about()["calls"]
    confined = "import ctypes; ctypes.CDLL(None).prctl(38, 1, 0, 0, 0); "  # PR_SET_NO_NEW_PRIVS
    command = [*PROGRAM[:-1], confined + PATIENT, "recall", "tea"]
    told = subprocess.run(command, env=desk.environment, capture_output=True, stdin=subprocess.DEVNULL, check=True)
    assert b"smoked tea" in told.stdout
    assert desk.about()["calls"] == calls + 1  # the question itself


def test_it_does_not_inherit_ignored_signals(desk: Desk):
    ignoring = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    command = [*PROGRAM[:-1], ignoring + PATIENT, "recall", "tea"]
    subprocess.run(command, env=desk.environment, capture_output=True, stdin=subprocess.DEVNULL, check=True)
    desk.wait_for(desk.about)
    os.kill(desk.about()["pid"], signal.SIGTERM)
    desk.wait_for(lambda: not desk.processes())


def test_only_commands_that_need_nothing_of_their_process_are_forwarded(monkeypatch: pytest.MonkeyPatch):
    assert not forward.is_forwarded(["recall", "tea"])  # no test uses a resident process unless it says so
    monkeypatch.delenv(forward.VARIABLE)
    assert forward.is_forwarded(["recall", "tea"])
    assert not forward.is_forwarded(["memory", "clear"])
    assert not forward.is_forwarded(["recall", "--config", "/dev/fd/63", "tea"])


@pytest.mark.requirement("P-54")
def test_a_changed_package_or_a_removed_socket_ends_it(desk: Desk, tmp_path: Path):
    source = Path(forward.__file__).parents[2]
    shutil.copytree(source / "mnemic", tmp_path / "src" / "mnemic", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "src" / "mnemic_minilm").symlink_to(source / "mnemic_minilm")
    desk.environment["PYTHONPATH"] = str(tmp_path / "src")
    first = desk.warm()
    file = tmp_path / "src" / "mnemic" / "errors.py"
    file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert "smoked tea" in desk.run(["recall", "tea"])[1]
    desk.wait_for(lambda: first not in desk.processes())
    second = desk.warm()
    for socket in (tmp_path / "run").glob("*/*.socket"):
        socket.unlink()
    desk.wait_for(lambda: second not in desk.processes())


def test_a_resident_process_that_does_not_begin_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / f"mnemic-{os.getuid()}").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(forward, "BEGIN_S", 0.5)
    streams = [(tmp_path / name).open("w+", encoding="utf-8") for name in ("stdin", "stdout", "stderr")]
    for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
        monkeypatch.setattr(sys, name, stream)
    with unix_socket(AF_UNIX) as listening:
        listening.bind(forward.locate(forward.open_folder(), "socket"))
        listening.listen()
        answers: list[int | None] = []
        calling = threading.Thread(target=lambda: answers.append(forward.run_there(["recall", "tea"])), daemon=True)
        calling.start()
        connection, _ = listening.accept()
        with connection:
            connection.sendall(forward.READY)
            calling.join(60)
            assert answers == [None]
            with pytest.raises(BrokenPipeError):
                connection.sendall(forward.BEGUN)
    for stream in streams:
        stream.close()


def test_the_rest_of_a_page_is_flushed_before_the_end_also_if_its_reader_has_gone():
    program = "from mnemic.cli import forward, main; forward.run_there = lambda _: print('a page', end='') or 3; main()"
    command = [*PROGRAM[:-1], program, "recall", "tea"]
    environment = {name: os.environ[name] for name in os.environ if name not in (forward.VARIABLE, "PYTHONUNBUFFERED")}
    ended = subprocess.run(command, check=False, capture_output=True, env=environment)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, b"a page", b"")
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(command, check=False, stdout=write, stderr=subprocess.PIPE, env=environment)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (3, b"")


def test_nothing_is_started_where_others_have_access_or_it_is_off(desk: Desk, tmp_path: Path):
    desk.environment[forward.VARIABLE] = "600"
    folder = tmp_path / "run" / f"mnemic-{os.getuid()}"
    folder.mkdir(mode=0o755)
    assert "smoked tea" in desk.run(["recall", "tea"])[1]
    desk.wait_for(lambda: not desk.processes())  # a slow one must not find the folder gone, and make a private one
    folder.rmdir()
    assert "smoked tea" in desk.run(["recall", "tea"], **{forward.VARIABLE: "0"})[1]
    assert desk.run(["recall", "tea"], MNEMIC_STORE="memory://")[0] == 0
    desk.wait_for(lambda: not desk.processes())  # one that may not stay needs a moment to end
