"""The resident process: what a short command needs, imported and loaded, for the calls of one account.

It forks a child for each call, in advance if there is time. The child runs the command as if it were the caller's
process. The resident process itself runs no command, has one thread, and is not connected to a store while it forks. If
a child had to read rows, it reads them too, for the next child. It ends if it was idle for a while, if a file of the
package changed, or if its socket was removed. `cli/forward.py` starts it, and has the caller's side.
"""

from __future__ import annotations

import ctypes
import gc
import io
import json
import marshal
import os
import pickle
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from mnemic.adapters.stores.sqlite.store import rest_stores
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.cli import app, failures, forward, options
from mnemic.config import Config
from mnemic.engine.engine import Engine
from mnemic.engine.indexing import catch_up
from mnemic.errors import MnemicError
from mnemic.model.candidates import Change, IndexQuery
from mnemic.model.scope import Partition
from mnemic.ports.store import StaleTerms

WATCHED = 0xFCE  # inotify's bits for files that are written, renamed, created or deleted, and for changed attributes
LOOK_S = 5.0  # between two checks of the socket, the package and the stores while idle
REQUEST_S = 5.0  # for a caller to send its request
TEACH_S = 2.0  # for the resident process to read rows after a call
PAUSE_S = 0.05  # before the next child is forked, whose practice would slow down the call's end or one right after
COMPARED = 8  # ids of a partition's newest rows. Ids are unique, so a few identify a store; all took 15 ms a call
MOST_KEPT = 4  # stores with rows in memory
MOST_BYTES = 150_000_000  # of a store whose rows are kept, some 50,000 memories: other calls wait while they are read
FREE_FIELDS = (
    *("store", "user", "settings", "embedder_scales", "index_budget_bytes", "lock_wait_s"),
    *("observer", "processes", "injects_context", "backend", "resident_idle_s"),
)
"""What may be configured if rows are kept. Other models and services may depend on the caller's environment."""

CONFINED = ("Uid:", "Gid:", "Groups:", "CapEff:", "NoNewPrivs:", "Seccomp:")
"""What a process may do, in /proc/PID/status. A call from a sandbox must not run outside of it."""


class Kept(NamedTuple):
    """An engine with rows in memory, and what it depends on. `held`: the open file, whose number no other file gets.
    `newest`: the newest version of each partition in memory, and at most `COMPARED` ids of its rows.
    """

    config: Config
    depends: object
    engine: Engine
    held: int
    newest: dict[Partition, tuple[int, frozenset[str]]]


class Open(Mnemic):
    """A memory that stays open after its `with` block."""

    def __exit__(self, *_: object) -> None:
        """Leave it open."""


class Resident:
    """Waits for calls, and forks a child for each."""

    def __init__(self, folder: int, lock: int, idle_s: float, package: forward.Package) -> None:
        self._lock, self._idle_s, self._package, self._kept = lock, idle_s, package, list[Kept]()
        self._calls, self._since, self._last = 0, time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime()), time.monotonic()
        self._path, self._spare = forward.locate(folder, "socket"), list[socket.socket]()
        self._practice = Path(forward.locate(folder, "practice")).resolve()
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._lessons, self._teaching = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        if os.path.exists(self._path):
            os.unlink(self._path)
        self._listening.bind(self._path)
        os.chmod(self._path, 0o600)
        self._place = os.stat(self._path).st_ino
        self._changes = _watch({path if os.path.isdir(path) else os.path.dirname(path) for path in package})

    def serve(self) -> None:
        """Answer until idle for too long, or until this process is out of date."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets children that end
        gc.set_threshold(forward.COLLECTED_OBJECTS)
        _warm_up(self._practice)
        self._listening.listen(128)
        ready = list[socket.socket]()
        while (left := self._last + self._idle_s - time.monotonic()) > 0 and self._is_current(is_thorough=not ready):
            pause = min(left, LOOK_S if self._spare else PAUSE_S)
            ready, _, _ = select.select([self._listening, self._lessons], [], [], pause)
            if not ready:
                self._drop()
                self._fork_spare()
            if self._listening in ready:
                self._answer()
            if self._lessons in ready:
                lesson, (done,), _, _ = socket.recv_fds(self._lessons, 1 << 20, 1)
                with suppress(MnemicError, OSError):
                    self._learn(*pickle.loads(lesson))  # noqa: S301 -- from an own child
                os.close(done)
        shutil.rmtree(self._practice, ignore_errors=True)

    def _is_current(self, *, is_thorough: bool = False) -> bool:
        """True if the socket and the package are unchanged. Files on other machines change without a notice, so a
        `thorough` look does not rely on them.
        """
        try:
            if os.stat(self._path).st_ino != self._place:
                return False
            if not is_thorough and self._changes >= 0 and not select.select([self._changes], [], [], 0)[0]:
                return True
            with suppress(OSError):  # there are no notices
                os.read(self._changes, 1 << 20)
            return forward.sign(self._package) == self._package
        except OSError:
            return False

    def _answer(self) -> None:
        connection, _ = self._listening.accept()
        with connection, suppress(OSError):  # the caller runs its command if no process can be had
            if not _is_equal(connection) or not self._is_current():
                return
            self._last, self._calls = time.monotonic(), self._calls + 1
            about: dict[str, Any] = {"pid": os.getpid(), "since": self._since, "calls": self._calls}
            about |= {"idle_s": self._idle_s, "stores": [each.config.store for each in self._kept]}
            if not self._hand_over(connection, about):
                self._fork(lambda: self._run_child(connection, about))

    def _hand_over(self, connection: socket.socket, about: dict[str, Any]) -> bool:
        """Let the spare child answer, if it is ready."""
        with suppress(OSError):  # it was killed
            if select.select(self._spare, [], [], 0)[0]:
                with self._spare.pop() as spare:
                    is_alive = spare.recv(1) == forward.READY
                    return is_alive and socket.send_fds(spare, [pickle.dumps(about)], [connection.fileno()]) > 0
        return False

    def _fork_spare(self) -> None:
        """Fork the child of the next call in advance."""
        if not self._spare:
            ours, its = socket.socketpair()
            self._spare.append(ours)
            with its, suppress(OSError):
                self._fork(lambda: self._wait(its))

    def _wait(self, parent: socket.socket) -> None:
        """Practise, because the first change of each page copies it, and wait for a call or for the parent's end."""
        if self._kept:
            _practise(self._practice, self._kept[-1])
        parent.sendall(forward.READY)
        about, connections, _, _ = socket.recv_fds(parent, 1 << 20, 1)
        for each in connections:
            self._run_child(socket.socket(fileno=each), pickle.loads(about))  # noqa: S301 -- from the parent

    def _fork(self, run: Callable[[], None]) -> None:
        """Run something in a child."""
        if os.fork() == 0:
            try:
                for each in (self._listening, self._lessons, *self._spare):
                    each.close()
                os.close(self._lock)
                run()
            finally:
                os._exit(1)

    def _run_child(self, connection: socket.socket, about: dict[str, Any]) -> None:
        os._exit(Child(connection, self._teaching, self._kept).answer(about))

    def _learn(self, config: Config, partitions: tuple[Partition, ...]) -> None:
        """Read the rows that a child had to read, and wait for calls as long as its configuration says."""
        self._idle_s = config.resident_idle_s
        self._dismiss_spare()
        if not self._idle_s:
            return
        kept = _find_kept(self._kept, config)
        self._drop(None if kept else config)
        if kept is None and (depends := _find_dependencies(config)) is not None:
            held = os.open(str(config.sqlite_path), os.O_RDONLY | os.O_CLOEXEC)
            self._kept.append(kept := Kept(config, depends, build(config), held, {}))
            for embedder in kept.engine.embedders:
                embedder.embed_queries(["a text that makes it load"])
        if kept is not None:
            kept.newest.update(_list_newest(kept.engine, catch_up(kept.engine, partitions)))
            if threading.active_count() > 1:  # a graph is being built
                kept.engine.index.close()
        _settle()

    def _dismiss_spare(self) -> None:
        while self._spare:
            self._spare.pop().close()

    def _drop(self, config: Config | None = None) -> None:
        """Drop the rows of `config`, of deleted or replaced stores, and of the oldest if there are too many."""
        for place, each in enumerate(self._kept[::-1]):
            if place >= MOST_KEPT or each.config == config or each.depends != _find_dependencies(each.config):
                self._kept.remove(each)
                self._dismiss_spare()
                Mnemic(each.engine, has_worker=False).close()
                os.close(each.held)
                gc.unfreeze()  # so that the next collection finds its cycles


def _find_kept(kept: list[Kept], config: Config) -> Kept | None:
    depends = _find_dependencies(config)
    same = (each for each in kept if each.depends == depends and each.config == config and _has_same_rows(each))
    return next(same, None)


def _has_same_rows(kept: Kept) -> bool:
    """False if another store's content was copied into the file, such as a backup's: versions mean other rows there."""
    engine = kept.engine
    with suppress(MnemicError), engine.store.read() as work:
        for partition, (version, ids) in kept.newest.items():
            left = set(ids) if engine.index.version(partition) else set[str]()
            changes = iter(work.partitions.changes(partition, version - 1, engine.readings[0]))
            while left and (change := next(changes, None)):
                left.discard(_find_id(change))
            if left:
                return False
        return True
    return False


def _list_newest(engine: Engine, versions: Mapping[Partition, int]) -> dict[Partition, tuple[int, frozenset[str]]]:
    """The ids of some rows that were written in these versions of the partitions, or later."""
    with engine.store.read() as work:
        found = {p: work.partitions.changes(p, v - 1, engine.readings[0]) for p, v in versions.items() if v}
        return {p: (versions[p], frozenset(map(_find_id, islice(changes, COMPARED)))) for p, changes in found.items()}


def _find_id(change: Change | StaleTerms) -> str:
    return change.item_id if isinstance(change, Change) else change.change.item_id


def _find_dependencies(config: Config) -> object:
    """The scales and the file of a small embedded store without unusual parts. None for other stores."""
    path = config.sqlite_path
    if path is None or replace(Config(), **{name: getattr(config, name) for name in FREE_FIELDS}) != config:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return None if found.st_size > MOST_BYTES else (config.scales, found.st_dev, found.st_ino)


class Child:
    """The process of one call."""

    def __init__(self, connection: socket.socket, teaching: socket.socket, kept: list[Kept]) -> None:
        self._connection, self._teaching, self._kept = connection, teaching, kept
        self._opened: list[tuple[Config, Engine, dict[Partition, int]]] = []
        self._has_ended, self._paged = False, threading.Event()
        self._nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)

    def answer(self, about: dict[str, Any]) -> int:
        """Run the caller's command, and send its exit code. A hook's caller does not wait for the store to close."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            if not self._take_place(about):
                return 0
            threading.Thread(target=self._watch_caller, daemon=True).start()
            self._connection.sendall(forward.BEGUN)
            code = _run_command()
            lessons = [
                (config, engine.passage_places.known)
                for config, engine, before in self._opened
                if before != _list_versions(engine) or config.resident_idle_s != about["idle_s"]
            ]
            is_hook = sys.argv[1:2] == ["hooks"]
            if not is_hook:  # a store that is copied or replaced after a command must not be in use
                self._close()
            for number in range(3):  # its caller may wait for the end of its output
                os.dup2(self._nothing, number)
            for lesson in lessons:
                self._teach(lesson, 0 if is_hook else TEACH_S)
            self._has_ended = True
            self._connection.sendall(forward.ENDED + bytes([code & 0xFF]))
            self._connection.shutdown(socket.SHUT_WR)
        except OSError:  # the caller is gone
            return 1
        if is_hook:
            self._close()
        return 0

    def _teach(self, lesson: object, wait_s: float) -> None:
        """Let the resident process read what this one had to read, if it is still there."""
        done, held = os.pipe()
        with suppress(OSError):
            socket.send_fds(self._teaching, [pickle.dumps(lesson)], [held])
        os.close(held)
        select.select([done], [], [], wait_s)

    def _take_place(self, about: dict[str, Any]) -> bool:
        """Take the caller's streams, environment and folder. False if it only asks `about` the resident process, or is
        another program.
        """
        self._connection.settimeout(REQUEST_S)
        self._connection.sendall(forward.READY)
        head, streams, _, _ = socket.recv_fds(self._connection, forward.LENGTH_BYTES, 3)
        content = forward.receive(self._connection, int.from_bytes(head))
        self._connection.settimeout(None)
        request: Any = marshal.loads(content)  # noqa: S302 -- from this account
        installation, program, arguments, folder, environment, forms = request
        if not arguments:
            self._connection.sendall(marshal.dumps(about))
        if not arguments or installation != forward.describe_installation():
            return False
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        tempfile.tempdir = None  # depends on the environment
        sys.argv = [program, *arguments]
        for number, (name, (encoding, errors)) in enumerate(zip(("stdin", "stdout", "stderr"), forms, strict=True)):
            os.dup2(streams[number], number)
            os.close(streams[number])
            lines, mode = 1 if name == "stderr" or os.isatty(number) else -1, "w" if number else "r"
            stream = os.fdopen(number, mode, lines, encoding=encoding, errors=errors, newline="\n", closefd=False)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        options.open_memory, forward.page = self._open_memory, self._show_page
        gc.enable()
        return True

    def _open_memory(self, config: Config) -> Mnemic:
        kept = _find_kept(self._kept, config)
        for each in self._kept if kept is None else ():
            each.engine.store.close()  # its file may be another one now
        engine = build(config) if kept is None else kept.engine
        self._opened.append((config, engine, _list_versions(engine)))
        return Open(engine, actor=options.ACTOR, has_worker=False)

    def _close(self) -> None:
        for _, engine, _ in self._opened:
            Mnemic(replace(engine, embedder=None), has_worker=False).close()  # freeing the model takes 10 ms

    def _show_page(self, text: str) -> None:
        content = text.encode(errors="replace")
        self._connection.sendall(forward.PAGE + len(content).to_bytes(forward.LENGTH_BYTES) + content)
        self._paged.wait()

    def _watch_caller(self) -> None:
        """Interrupt the command at the caller's Ctrl-C, and end it with the caller."""
        with suppress(ConnectionResetError):  # the caller has left before it read an answer
            while told := self._connection.recv(1):
                if told == forward.PAGE:
                    self._paged.set()
                else:
                    os.kill(os.getpid(), signal.SIGINT)
        if not self._has_ended:
            os.kill(os.getpid(), signal.SIGTERM)


def _list_versions(engine: Engine) -> dict[Partition, int]:
    return {partition: engine.index.version(partition) for partition in engine.passage_places.known}


def _run_command() -> int:
    """Run the command of `sys.argv` to its end, as the interpreter would. Ctrl-C only interrupts the command itself."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = app.run()
    except KeyboardInterrupt:
        code = failures.INTERRUPTED
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception as error:  # noqa: BLE001 -- as the interpreter does
        sys.excepthook(type(error), error, error.__traceback__)
        code = failures.UNEXPECTED
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        sys.stdout.flush()
    return code


def _watch(folders: Iterable[str]) -> int:
    """A descriptor that can be read once files in these folders have changed (inotify), -1 if that is impossible."""
    system = ctypes.CDLL(None)
    changes = system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    watches = [system.inotify_add_watch(changes, os.fsencode(folder), WATCHED) for folder in folders]
    return changes if min(watches) >= 0 else -1


def _is_equal(connection: socket.socket) -> bool:
    """True if the other side has the account, rights, files and network of this process, as far as that can be seen."""
    caller = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    limits: list[list[str]] = []
    for pid in (caller, os.getpid()):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
        places = [os.readlink(f"/proc/{pid}/{name}") for name in ("root", "ns/mnt", "ns/net", "ns/user")]
        with suppress(OSError):  # AppArmor's or SELinux's label
            places.append(Path(f"/proc/{pid}/attr/current").read_text(encoding="utf-8"))
        limits.append([*places, *(line for line in status if line.startswith(CONFINED))])
    return limits[0] == limits[1] and forward.may_share("\n".join(limits[0]))


def _warm_up(folder: Path) -> None:
    """Run commands that load what later ones need, on a store made for them. Standard output leads nowhere."""
    for name in [name for name in os.environ if name.startswith(("MNEMIC_", "PGVECTOR_"))]:
        del os.environ[name]
    os.environ["XDG_CONFIG_HOME"] = os.devnull
    shutil.rmtree(folder, ignore_errors=True)  # a killed process leaves it
    _practise(folder, None)
    for thread in set(threading.enumerate()) - {threading.main_thread()}:
        thread.join()  # a process with one thread can be forked safely
    _settle()


def _practise(folder: Path, kept: Kept | None) -> None:
    """Run commands on the store in this folder: all of them, or the later ones with the model and rows of `kept`.
    These write to that store too, because a hook records its context and counts accesses.
    """
    first, later, event = json.loads(Path(__file__).with_name("warm_up.json").read_bytes())
    with suppress(MnemicError, OSError):
        engine = own = build(Config(store=str(folder / "memory.db")))
        if kept is not None and (embedder := kept.engine.embedder) is not None:
            engine = replace(own, embedder=embedder)
            vector = embedder.embed_queries(["tea"])[0]
            of_all = IndexQuery(
                partitions=tuple(kept.newest), agent=None, now=0, terms=("tea",), vector=vector, dense_limit=1
            )
            kept.engine.index.search(of_all)
        opened = Open(engine, has_worker=False)
        usual = options.open_memory
        options.open_memory = lambda _: opened
        for given in [*first, *later] if kept is None else later:
            sys.stdin = io.TextIOWrapper(io.BytesIO(json.dumps(event).encode()))
            app.run_command([*given, "--user", "ana"])
        options.open_memory = usual
        Mnemic(own, has_worker=False).close()


def _settle() -> None:
    """Get ready to fork. In a child, a garbage collection would copy the pages of everything loaded, unless frozen."""
    rest_stores()
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc
        trim(0)
    gc.freeze()
    gc.disable()
