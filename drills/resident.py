"""Harms the resident process, its children, callers, files and stores, and looks whether a command suffers from it.

Each round starts several `mnemic remember` for two users at once, and does one of the harms of `HARMS`. After
that, every memory whose command ended with 0 must be there, a command that was left alone must have succeeded, the file
must be sound, no user may see another's texts, a list through the resident process must be the library's, its socket
must be private, and there may be one resident process at most, with one child at most, which waits for the next call.
Other accounts and sandboxed processes that reach the socket must not be served. `drills/resident_commands.py` compares
the output of commands.

    python drills/resident.py --rounds 200
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.disk_full import mounted
from drills.kit.commands import Caller
from drills.kit.memory import file_problems
from drills.kit.outcome import Outcome, options
from mnemic.api import Mnemic
from mnemic.cli import forward
from mnemic.model.scope import Scope

COMMANDS = 3
LONGEST_PAUSE_S = 0.6  # about what a command takes, so that every moment of it is hit
WAIT_S = 60.0
FIRST_S = 8.0  # for a resident process that was killed to be replaced
LEFT_BYTES = 24 << 10
ABOUT = (
    "import json; from mnemic.cli import forward as f; f.WAIT_S = 60.0; print(json.dumps(f.describe_resident() or {}))"
)
OTHER_ACCOUNT = 65_534
SIGNED = ("resident process", "child", "caller")
HARMS = (
    *SIGNED,
    "socket removed",
    "stale socket",
    "foreign file as socket",
    "lock removed",
    "stopped",
    "package changed",
    "idle-s = 0",
    "other configuration",
    "disk full",
    "backup copied over the store",
    "store replaced",
    "store deleted",
    "nothing",
)
EXCUSED = ("child", "caller", "disk full")  # their commands may fail


class Drill:
    """A store, a runtime folder, a configuration and a copy of the package of its own."""

    def __init__(self, folder: Path, disk: Path, seed: int) -> None:
        self.store, self.backup, self.disk = disk / "memory.db", folder / "backup.db", disk
        self.runtime, self.config, self.source = disk / "run", folder / "config.toml", folder / "src"
        self.runtime.mkdir(mode=0o700)
        package = Path(forward.__file__).parents[2]
        shutil.copytree(package / "mnemic", self.source / "mnemic")
        (self.source / "mnemic_minilm").symlink_to(package / "mnemic_minilm")
        self.environment = {name: text for name, text in os.environ.items() if not name.startswith("MNEMIC_")}
        self.environment |= {"XDG_RUNTIME_DIR": str(self.runtime), "PYTHONPATH": str(self.source)}
        self.environment |= {"MNEMIC_STORE": str(self.store), "MNEMIC_CONFIG": str(self.config), "HOME": str(folder)}
        self.environment |= {"TMPDIR": str(disk), "TERM": "xterm"}
        self.caller = Caller(self.environment)
        self.chance = random.Random(seed)  # noqa: S311 -- the same harms each time
        self.hits, self.failed = Counter[str](), 0
        self.done: set[str] = set()
        self.saved: set[str] = set()
        self.served = self.most = 0
        self.configure(30)

    def configure(self, idle_s: int, more: str = "") -> None:
        """Write the configuration file."""
        self.config.write_text(f"[resident]\nidle-s = {idle_s}\n{more}", encoding="utf-8")

    def round(self, number: int) -> list[str]:
        """What is wrong after commands during which one harm was done."""
        harm = self.chance.choice(HARMS)
        with ExitStack() as repair:
            prepared = self._prepare(harm, number, repair)
            texts = {f"note {number}x{place} of {user}": user for place, user in zip("012", "aba", strict=True)}
            callers = [self._start(["remember", "--user", user, text]) for text, user in texts.items()]
            time.sleep(self.chance.uniform(0, LONGEST_PAUSE_S))
            harm = harm if prepared else self._harm(harm, callers)
            codes = [caller.wait() for caller in callers]
        self.hits[harm] += 1
        self.done |= {text for text, code in zip(texts, codes, strict=True) if code == 0}
        self.failed += sum(code != 0 for code in codes)
        problems = [f"exit codes {codes}"] if any(codes) and harm not in EXCUSED else []
        problems += self._wait(self._is_quiet, "more than one process and the child of its next call stay")
        if harm == "idle-s = 0":
            problems += self._wait(lambda: not self.processes(), "a process stays after it was turned off")
        self.configure(30)
        problems += self._check_answers("ab"[number % 2]) + self._check_rights() + file_problems(self.store)
        return [f"round {number}, {harm}: {each}" for each in problems]

    def processes(self) -> dict[int, int]:
        """Resident processes of this drill and their children, with the parent of each."""
        mark, found = f"XDG_RUNTIME_DIR={self.runtime}".encode(), dict[int, int]()
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, IndexError):
                is_ours = b"forward.stay" in (place / "cmdline").read_bytes()
                if is_ours and mark in (place / "environ").read_bytes().split(b"\0"):
                    state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
                    if state != "Z":
                        found[int(place.name)] = int(parent)
        return found

    def _is_quiet(self) -> bool:
        """True if no child is in the folder of a call, and one process at most waits for calls, with one child."""
        found, folders = self.processes(), set[Path]()
        for pid in found:
            with suppress(OSError):
                folders.add(Path(f"/proc/{pid}/cwd").readlink())
        parents = [pid for pid, parent in found.items() if parent not in found]
        return len(parents) <= 1 and len(found) <= len(parents) + 1 and folders <= {Path("/")}

    def about(self) -> dict[str, Any]:
        """What the resident process says about itself."""
        asked = [sys.executable, "-P", "-c", ABOUT]
        return json.loads(subprocess.run(asked, env=self.environment, capture_output=True, check=True).stdout)

    def _start(self, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        umask = self.chance.choice((0, 0o022, 0o077))
        return self.caller.start(arguments, silent=True, umask=umask)

    def _prepare(self, harm: str, number: int, repair: ExitStack) -> bool:
        """Do a harm that is done between commands. False if it is another one."""
        if harm == "other configuration":
            self.configure(30, f"[memory]\n[limits]\nmax-text-chars = {10_000 + number}\n")
        elif harm == "idle-s = 0":
            self.configure(0)
        elif harm == "package changed":
            (self.source / "mnemic" / "errors.py").touch()
        elif harm == "stopped":
            for pid in self.processes():
                os.kill(pid, signal.SIGSTOP)
                repair.callback(_signal, pid, signal.SIGCONT)
        elif harm in ("stale socket", "foreign file as socket"):
            for pid in self.processes():
                os.kill(pid, signal.SIGKILL)
            for path in self.runtime.glob("*/*.socket") if harm[0] == "f" else ():
                path.unlink()
                path.write_text("not a socket", encoding="utf-8")
                path.chmod(0o600)
        elif harm == "disk full":
            filler, place = self.disk / "filler", os.statvfs(self.disk)
            filler.write_bytes(b"\1" * max(0, place.f_bavail * place.f_frsize - LEFT_BYTES))
            repair.callback(filler.unlink)
        else:
            return self._change_store(harm)
        return True

    def _change_store(self, harm: str) -> bool:
        """Copy, replace or delete the store's file, as a script does between commands."""
        if not harm.startswith(("backup", "store")):
            return False
        beside = [self.store.with_name(f"{self.store.name}{ending}") for ending in ("-wal", "-shm")]
        if harm == "store deleted":
            for path in (*beside, self.store):
                path.unlink(missing_ok=True)
            self.done = set()
        elif self.saved and self.backup.exists():
            for path in beside:
                path.unlink(missing_ok=True)
            if harm == "store replaced":
                self.store.unlink()
            self.store.write_bytes(self.backup.read_bytes())  # over the old content, in the same file if it is there
            self.store.chmod(0o600)
            self.done = set(self.saved)
        if self.store.exists() and self.chance.randrange(3) == 0:
            with closing(sqlite3.connect(self.store)) as store, closing(sqlite3.connect(self.backup)) as copy:
                store.backup(copy)
            self.saved = set(self.done)
        return True

    def _harm(self, harm: str, callers: Sequence[subprocess.Popen[bytes]]) -> str:
        """Do a harm while commands run. Returns its name, or "nothing" if there was nothing to harm."""
        found = self.processes()
        children = [pid for pid, parent in found.items() if parent in found]
        parents = [pid for pid in found if pid not in children]
        every = (parents, children, [each.pid for each in callers])
        targets = every[SIGNED.index(harm)] if harm in SIGNED else None
        if harm in ("socket removed", "lock removed"):
            for path in self.runtime.glob("*/*.socket" if harm[0] == "s" else "*/*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        elif targets:
            _signal(self.chance.choice(targets), signal.SIGKILL)
        elif targets is not None:
            return "nothing"
        return harm

    def _check_answers(self, user: str) -> list[str]:
        """Compare what a user is told with what the library lists, and this with what was acknowledged."""
        self._wait(lambda: bool(self.about()), "", FIRST_S)
        before = self.about().get("calls", 0)
        listed = self.caller.run(["memory", "list", "--json", "--user", user, "--limit", "1000"])
        found = self.caller.run(["recall", "--json", "--all", "--user", user, "note"])
        self.served += self.about().get("calls", 0) > before + 1  # each question is a call, too
        with Mnemic.open(str(self.store), has_worker=False) as mnemic:
            texts = {each: [memory.text for memory in mnemic.list(Scope(user=each), limit=1000)] for each in "ab"}
        told = [each["text"] for each in json.loads(listed[1] or b"{}").get("memories", ())]
        recalled = {each["item"]["text"] for each in json.loads(found[1] or b"{}").get("hits", ())}
        problems = [f"{user} is told {told}, not {texts[user]}: {listed[2]}"] if told != texts[user] else []
        problems += [f"{user} finds {recalled} of {texts[user]}: {found[2]}"] if recalled != {*texts[user]} else []
        problems += [f"{each} sees {text}" for each in "ab" for text in texts[each] if not text.endswith(f" of {each}")]
        lost = sorted(self.done - {*texts["a"], *texts["b"]})
        return problems + ([f"{len(lost)} lost, such as {lost[0]}"] if lost else [])

    def _check_rights(self) -> list[str]:
        paths = [(path, 0o600) for path in self.runtime.glob("*/*.socket")]
        paths += [(path, 0o600) for path in self.runtime.glob("*/*.lock")]
        paths += [(path, 0o700) for path in self.runtime.glob("*")]
        paths += [(path, 0o600) for path in self.disk.glob("memory.db*") if path.is_file()]
        return [f"{path.name} has {path.stat().st_mode:o}" for path, mode in paths if _mode(path) != mode]

    def _wait(self, is_so: Callable[[], bool], otherwise: str, limit_s: float = WAIT_S) -> list[str]:
        end = time.monotonic() + limit_s
        while not is_so():
            if time.monotonic() > end:
                return [f"{otherwise}: {self.processes()}"]
            time.sleep(0.02)
        return []

    def finish(self) -> list[str]:
        """Let it end by itself, and look for what it leaves."""
        self.configure(1)
        for _ in range(2):
            self.caller.run(["recall", "--user", "a", "note"])
        problems = self._wait(lambda: not self.processes(), "a process stays after its idle time")
        left = [path.name for path in self.runtime.rglob("*") if path.suffix not in ("", ".socket", ".lock")]
        return problems + [f"{name} is left" for name in left]

    def check_strangers(self) -> list[str]:
        """Connect as another account and as a sandboxed process, also if the rights of the files were opened."""
        if not self.warm():
            return ["no resident process came"]
        [path] = self.runtime.glob("*/*.socket")
        problems = [] if _knock(path, None) == b"r" else ["a caller with the same rights was refused"]
        problems += ["a sandboxed process is served"] if _knock(path, _confine) else []
        problems += ["another account is served"] if _knock(path, _drop_rights) else []
        around = (self.disk.parent, self.disk, self.runtime, path.parent, path)
        for each in around:
            each.chmod(0o777)
        problems += ["another account is served where files are open"] if _knock(path, _drop_rights) else []
        for each in around:
            each.chmod(0o600 if each == path else 0o700)
        return problems

    def warm(self) -> int:
        """The number of calls that the resident process has had. Starts one if there is none; 0 if that fails."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            if about := self.about():
                return about["calls"]
            self.caller.run(["memory", "count", "--user", "a"])
        return 0


def _mode(path: Path) -> int:
    with suppress(FileNotFoundError):
        return stat.S_IMODE(path.stat().st_mode)
    return 0


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _knock(path: Path, change: Callable[[], None] | None) -> bytes:
    """What the socket says first to a process that was changed: READY, or nothing."""
    told, telling = os.pipe()
    if os.fork() == 0:
        if change is not None:
            change()
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(WAIT_S)
            connection.connect(str(path))
            os.write(telling, connection.recv(1))
        os._exit(0)
    os.close(telling)
    try:
        return os.read(told, 1)
    finally:
        os.close(told)


def _drop_rights() -> None:
    os.setgid(OTHER_ACCOUNT)
    os.setuid(OTHER_ACCOUNT)


def _confine() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS, as every sandbox without privileges needs


def run_part(seed: int, rounds: int, end: float) -> tuple[Counter[str], list[str]]:
    """Run some of the rounds on a disk of their own. Returns what was counted, and the problems."""
    with TemporaryDirectory() as folder, ExitStack() as disks:
        disk = Path(folder) / "disk"
        disk.mkdir()
        disks.enter_context(mounted(disk))
        disk.chmod(0o700)
        drill = Drill(Path(folder), disk, seed)
        problems = drill.check_strangers()
        for number in range(rounds):
            if time.monotonic() < end:
                problems += drill.round(number)
                print(f"part {seed}, {number + 1} rounds: {problems}", file=sys.stderr, flush=True)
        problems += drill.finish()
    drill.hits["rounds with answers through it"] = drill.served
    drill.hits["commands that ended with an error"] = drill.failed
    return drill.hits, [f"part {seed}, {each}" for each in problems]


def main() -> int:
    """Exit code 1 if a memory, a right or a process is not as it must be."""
    chosen = options(__doc__, rounds=200, parts=1, minutes=1000)
    end = time.monotonic() + 60 * chosen.minutes
    shares = [chosen.rounds // chosen.parts] * chosen.parts
    with ProcessPoolExecutor(chosen.parts, initializer=os.setsid) as pool:
        parts = list(pool.map(run_part, range(chosen.parts), shares, [end] * chosen.parts))
    counts = sum((hits for hits, _ in parts), Counter[str]())
    facts = {"rounds": sum(counts[harm] for harm in HARMS), **{harm: counts[harm] for harm in HARMS}, **counts}
    problems = [each for _, found in parts for each in found]
    return Outcome(name="resident", about=__doc__ or "", facts=facts, problems=problems).told()


if __name__ == "__main__":
    sys.exit(main())
