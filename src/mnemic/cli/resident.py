"""The resident process: everything that a short command needs, imported and loaded, for the calls of one account.

It forks a child for each call, which runs the command with the streams, folder and environment of the caller and then
ends. So a command can neither disturb another nor leave anything behind. The process itself runs no command, has one
thread, and has no connection to a store while it forks. It learns from each child what the next one could have had
already: the modules it imported, and the rows of an embedded store.

It ends when it was idle for a while, when a file of the package changed, when its socket was removed, and at SIGTERM.
Started by `cli/forward.py`, which has the caller's side.
"""
# ruff: noqa: PTH -- some calls are made for every command, and take half as long by `os`

from __future__ import annotations

import gc
import importlib
import io
import marshal
import os
import pickle
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType, TracebackType
from typing import Any

from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.cli import app, failures, forward, options
from mnemic.config import Config
from mnemic.engine.engine import Engine, PartitionLocks
from mnemic.engine.indexing import catch_up
from mnemic.errors import MnemicError
from mnemic.model.candidates import Scale
from mnemic.model.scope import Partition

LOOK_S = 5.0  # between two looks at the socket and the package's files while nobody calls
REQUEST_S = 5.0  # a caller that sends no request for so long is not one of ours
MOST_KEPT = 4  # stores whose rows are kept: bounds memory
WARM_UP = (
    ("remember", "Ana drinks tea, since 2024-05-01."),
    ("capture", "--session", "s", "--user-text", "I prefer tea.", "--assistant-text", "Noted."),
    ("recall", "What does Ana drink?"),
    ("context", "--session", "s", "What does Ana drink?"),
    ("memory", "list"),
    ("profile", "show"),
    ("hooks", "run", "claude-code"),
)
"""Commands that this process runs on an empty store in memory, so that its children find all they need loaded."""

WARM_EVENT = b'{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "What does Ana drink?"}'
LEARNED = ("mnemic.", "typer.", "pydantic", "rich.")
"""Beginnings of the names of modules that this process imports when a child had to."""

_CREDENTIALS = struct.Struct("3i")
"""Process, user and group of the other side, as SO_PEERCRED gives them."""

_CONFINED = ("Uid:", "Gid:", "Groups:", "CapEff:", "NoNewPrivs:", "Seccomp:")
"""Lines of /proc/PID/status: what a process may do. A call from a sandbox must not run outside of it."""

FREE_FIELDS = (
    *("store", "user", "settings", "embedder_scales", "index_budget_bytes", "lock_wait_s"),
    *("observer", "processes", "injects_context", "backend", "resident_idle_s"),
)
"""What may be configured in a store whose engine is kept. Models and services could depend on the environment."""

STREAMS = ("stdin", "stdout", "stderr")
Signature = list[tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class Kept:
    """An engine with rows in memory, and what it depends on: configuration, scales, and the store's file."""

    config: Config
    scales: dict[str, Scale]
    place: tuple[int, int]
    engine: Engine = field(compare=False)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a child tells: the configuration of the store that it used, rows that it had to read, and its modules."""

    config: Config | None
    partitions: tuple[Partition, ...]
    modules: tuple[str, ...]


class Resident:
    """Waits for calls, forks a child for each, and learns from the children."""

    def __init__(self, folder: int, lock: int, idle_s: float) -> None:
        self._lock, self._idle_s = lock, idle_s
        self._path = forward.locate(folder, "socket")
        self._files = _list_files()
        self._signature = _sign(self._files)
        self._kept: list[Kept] = []
        self._calls, self._since, self._last = 0, time.time(), time.monotonic()
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._lessons, self.telling = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        if os.path.exists(self._path):
            os.unlink(self._path)
        self._listening.bind(self._path)
        os.chmod(self._path, 0o600)
        self._place = os.stat(self._path).st_ino

    def serve(self) -> None:
        """Answer until idle for too long, or until this process is out of date."""
        signal.signal(signal.SIGTERM, _stop)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)  # of SIGCHLD: so that ended children do not stay
        _warm_up()
        self._listening.listen(128)
        try:
            while (left := self._last + self._idle_s - time.monotonic()) > 0 and self._is_current():
                ready, _, _ = select.select([self._listening, self._lessons], [], [], min(left, LOOK_S))
                if self._listening in ready:
                    self._fork()
                elif self._lessons in ready:
                    self._learn(pickle.loads(self._lessons.recv(1 << 20)))  # noqa: S301 -- from an own child
        finally:
            with suppress(OSError):
                if os.stat(self._path).st_ino == self._place:
                    os.unlink(self._path)

    def _is_current(self) -> bool:
        try:
            return os.stat(self._path).st_ino == self._place and _sign(self._files) == self._signature
        except OSError:
            return False

    def _fork(self) -> None:
        connection, _ = self._listening.accept()
        with connection:
            self._last = time.monotonic()
            if not _is_own(connection) or not self._is_current():
                return
            self._calls += 1
            with suppress(OSError):  # no process to be had: the caller runs its command itself
                if os.fork() == 0:
                    self._listening.close()
                    os.close(self._lock)
                    os._exit(Child(connection, self.telling, self._kept, self._describe()).answer())

    def _describe(self) -> dict[str, object]:
        return {
            "pid": os.getpid(),
            "since": self._since,
            "idle_s": self._idle_s,
            "calls": self._calls,
            "stores": [each.config.store for each in self._kept],
        }

    def _learn(self, lesson: Lesson) -> None:
        """Import and read what a child had to; the next one finds it in memory."""
        for name in lesson.modules:
            with suppress(ImportError):
                importlib.import_module(name)
        if lesson.config is not None:
            self._idle_s = lesson.config.resident_idle_s
            with suppress(MnemicError, OSError):
                self._read(lesson.config, lesson.partitions)
        _settle_memory()

    def _read(self, config: Config, partitions: tuple[Partition, ...]) -> None:
        kept = find_kept(self._kept, config)
        if kept is None:
            if (place := _locate_store(config)) is None:
                return
            kept = Kept(config, config.scales, place, build(config))
            others = [each for each in self._kept if each.config.store != config.store]
            self._kept = [*others[1 - MOST_KEPT :], kept]
            if kept.engine.embedder is not None:
                kept.engine.embedder.embed_queries(["a text that makes it load"])
        catch_up(kept.engine, partitions)


def find_kept(kept: Sequence[Kept], config: Config) -> Kept | None:
    """The engine that a process of this configuration would open, None if there is none."""
    place = _locate_store(config)
    return next((k for k in kept if k.place == place and k.config == config and k.scales == config.scales), None)


def _locate_store(config: Config) -> tuple[int, int] | None:
    """The file of a store whose engine can be kept: embedded, and with parts that depend on nothing but `config`."""
    path = config.sqlite_path
    if path is None or replace(Config(), **{name: getattr(config, name) for name in FREE_FIELDS}) != config:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Recording(PartitionLocks):
    """The locks of partitions, which note what partitions were brought up to date, and from what version."""

    def __init__(self) -> None:
        super().__init__()
        self.engine: Engine | None = None
        self.before: dict[Partition, int] = {}

    def of(self, partition: Partition) -> threading.Lock:
        """The partition's lock."""
        if self.engine is not None:
            self.before.setdefault(partition, self.engine.index.version(partition))
        return super().of(partition)

    def list_changed(self) -> tuple[Partition, ...]:
        """The partitions that had changes to be read."""
        versions = {part: self.engine.index.version(part) for part in self.before} if self.engine is not None else {}
        return tuple(part for part, version in versions.items() if version != self.before[part])


class Open(Mnemic):
    """A memory that stays open until its caller has the answer: closing it may flush."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave it open."""


class Child:
    """The process of one call, in which nothing else happens."""

    def __init__(
        self, connection: socket.socket, telling: socket.socket, kept: Sequence[Kept], about: dict[str, object]
    ) -> None:
        self._connection, self._telling, self._kept, self._about = connection, telling, kept, about
        self._opened: list[tuple[Config, Open, Recording]] = []
        self._has_ended = False
        self._paged = threading.Event()

    def answer(self) -> int:
        """Run the caller's command. The caller gets its exit code; what it can do without is done afterwards."""
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        known = set(sys.modules)
        try:
            if not self._take_place():
                return 0
            threading.Thread(target=self._watch_caller, daemon=True).start()
            self._connection.sendall(forward.BEGUN)
            code = _run_command()
            self._has_ended = True
            self._connection.sendall(forward.ENDED + bytes([code & 0xFF]))
        except OSError:  # the caller is gone
            return 1
        self._connection.close()
        self._tell(known)
        for _, opened, _ in self._opened:
            opened.close()
        return 0

    def _take_place(self) -> bool:
        """Take the place of the caller: its streams, environment and folder. False if this is not the caller's
        program, or the caller wants to know about this process only.
        """
        self._connection.settimeout(REQUEST_S)
        self._connection.sendall(forward.READY)
        head, streams, _, _ = socket.recv_fds(self._connection, forward.LENGTH_BYTES, 3)
        request: Any = marshal.loads(forward.receive(self._connection, int.from_bytes(head)))  # noqa: S302 -- same account
        installation, program, arguments, folder, environment, forms = request
        if not arguments:
            self._connection.sendall(marshal.dumps(self._about))
            return False
        if installation != forward.describe_installation() or len(streams) != len(forms):
            self._connection.sendall(forward.REFUSED)
            return False
        self._connection.settimeout(None)
        os.chdir(folder)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        sys.argv = [program, *arguments]
        _open_streams(forms)
        options.open_memory = self._open_memory
        forward.page = self._page
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return True

    def _open_memory(self, config: Config) -> Mnemic:
        """Open a memory as the command line does, with the rows that this process has."""
        kept = find_kept(self._kept, config)
        recording = Recording()
        engine = replace(build(config) if kept is None else kept.engine, catching_up=recording)
        recording.engine = engine
        opened = Open(engine, actor=options.ACTOR, has_worker=False)
        self._opened.append((config, opened, recording))
        return opened

    def _page(self, text: str) -> None:
        """Let the caller show a page, since the terminal is its own."""
        content = text.encode(errors="replace")
        self._connection.sendall(forward.PAGE + len(content).to_bytes(forward.LENGTH_BYTES) + content)
        self._paged.wait()
        self._paged.clear()

    def _watch_caller(self) -> None:
        """Interrupt the command at Ctrl-C of the caller, and end it with the caller."""
        while told := self._connection.recv(1):
            if told == forward.PAGE:
                self._paged.set()
            else:
                os.kill(os.getpid(), signal.SIGINT)
        if not self._has_ended:
            os.kill(os.getpid(), signal.SIGTERM)

    def _tell(self, known: set[str]) -> None:
        """Tell the resident process what this call had to load."""
        modules = tuple(name for name in sys.modules if name not in known and name.startswith(LEARNED))
        lessons: list[Lesson] = []
        for config, _, recording in self._opened:
            lessons.append(Lesson(config, recording.list_changed(), modules))
        for lesson in lessons or [Lesson(None, (), modules)]:
            if lesson.partitions or lesson.modules:
                with suppress(OSError):
                    self._telling.send(pickle.dumps(lesson))


def _run_command() -> int:
    """Run the command of `sys.argv` to its end, as the interpreter would."""
    try:
        code = app.run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return failures.INTERRUPTED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:  # noqa: BLE001 -- the interpreter's own last resort
        sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType] -- there is an exception
        return failures.UNEXPECTED
    return code


def _open_streams(forms: Sequence[tuple[str, str]]) -> None:
    """Open the standard streams with the caller's encodings, as the interpreter does."""
    for number, (name, (encoding, errors)) in enumerate(zip(STREAMS, forms, strict=True)):
        lines = 1 if name == "stderr" or os.isatty(number) else -1
        stream = os.fdopen(number, "w" if number else "r", lines, encoding=encoding, errors=errors, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _is_own(connection: socket.socket) -> bool:
    """True if the other side belongs to this account and is confined as this process is."""
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, _ = _CREDENTIALS.unpack(told)
    try:
        return user == os.getuid() and _describe_limits(pid) == _describe_limits(os.getpid())
    except OSError:
        return False


def _describe_limits(pid: int) -> list[str]:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    spaces = [os.readlink(f"/proc/{pid}/ns/{name}") for name in ("mnt", "net", "user")]
    return [os.readlink(f"/proc/{pid}/root"), *spaces, *(line for line in status if line.startswith(_CONFINED))]


def _list_files() -> list[str]:
    """The package's files, and the first file of every other package that is loaded."""
    own = Path(__file__).parent.parent
    files = [os.path.join(folder, name) for folder, _, names in os.walk(own) for name in names if name[-4:] != ".pyc"]
    loaded = [(name, getattr(module, "__file__", None)) for name, module in sys.modules.items()]
    return files + [file for name, file in loaded if file and "." not in name and os.path.isfile(file)]


def _sign(files: Sequence[str]) -> Signature:
    return [(found.st_mtime_ns, found.st_size, found.st_ino) for found in map(os.stat, files)]


def _warm_up() -> None:
    """Run some commands on a temporary store, by the default configuration. Standard output leads nowhere."""
    for name in [name for name in os.environ if name.startswith(("MNEMIC_", "PGVECTOR_"))]:
        del os.environ[name]
    os.environ["XDG_CONFIG_HOME"] = os.devnull
    with suppress(MnemicError, OSError), TemporaryDirectory(prefix="mnemic-") as folder:
        engine = build(Config(store=f"{folder}/memory.db"))
        with Mnemic(engine, has_worker=False):
            options.open_memory = lambda _: Open(engine, has_worker=False)
            for given in WARM_UP:
                sys.stdin = io.TextIOWrapper(io.BytesIO(WARM_EVENT))
                app.run_command([*given, "--user", "ana"])
    for thread in set(threading.enumerate()) - {threading.main_thread()}:
        thread.join()  # a process with one thread can be forked safely


def _settle_memory() -> None:
    """Collect garbage now only: in a child, a collection would copy the pages of all that is loaded."""
    gc.collect()
    gc.freeze()
    gc.disable()
