"""What a process that answers over HTTP does, be it the only one of `mnemic serve` or one of several."""

import ctypes
import logging
import os
import platform
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path

import uvicorn
from prometheus_client import CollectorRegistry

from mnemic.adapters.observers.counters import observers_of
from mnemic.adapters.observers.prometheus import PrometheusObserver
from mnemic.api import Mnemic
from mnemic.cli.options import run_worker
from mnemic.cli.output import note
from mnemic.cli.signals import ENDING, handle_signals
from mnemic.config import Config
from mnemic.config.values import token_file
from mnemic.engine.jobs import POLL_S, Worker
from mnemic.errors import MnemicError
from mnemic.model.health import Condition, Finding
from mnemic.web.connections import KEEP_ALIVE_S, Connection, Places, SharingServer, tells_accounts
from mnemic.web.doors import Door, MakeDoor, application
from mnemic.web.gate import Gate
from mnemic.web.limits import Board, Limits
from mnemic.web.monitoring import Health, Look, Metrics, Shared, processes

MOST_HEAPS = 4  # more let threads wait less for each other, and keep more memory
_ARENA_MAX = -8
"""`M_ARENA_MAX` of glibc's <malloc.h>."""


def share_heaps() -> None:
    """Let all threads of this process share `MOST_HEAPS` heaps, where the C library is glibc, which else makes eight
    for each core. Each keeps what it once needed, so that a server grows with its threads. An operator who has set
    MALLOC_ARENA_MAX is obeyed instead.
    """
    if platform.libc_ver()[0] == "glibc" and "MALLOC_ARENA_MAX" not in os.environ:
        ctypes.CDLL(None).mallopt(_ARENA_MAX, MOST_HEAPS)


ACTOR = "server"
GRACE_S = 20  # seconds that running requests get to finish when the server ends
SWITCH_S = 0.0005
"""How long a thread computes while another waits to; with Python's 5 ms the door waits for each of them in turn."""

DOORS = ("mnemic.mcp.app", "mnemic.proxy.app", "mnemic.console.app", "mnemic.rest.app")
"""The modules whose `door` is called, in the order of their routes. REST, which answers the rest, is the last."""

LEAST_THREADS = 2  # so that one slow read does not hold up every other
FILES_OF_A_CONNECTION, SPARE_FILES = 2, 256
"""Open files: a chat through the proxy has a connection on both sides; the store and its readers need some too."""

UNSHOWN_ACCOUNTS = (
    "this system does not show which account opens a connection: Mnemic's own clients send the token in {}, others "
    "send it as the API key"
)
Tells = Sequence[tuple[str, str]]
"""Names and paths to print when the server starts."""

_log = logging.getLogger("mnemic.web")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to answer; the same for every process of a server. `limits` and `connections` are those of each process,
    rates those of all together. `is_near`: only this machine can reach the server. `token`: the file of its token.
    """

    config: Config
    limits: Limits
    connections: int
    connections_of_address: int
    is_near: bool
    works: bool = True
    processes: int = 1
    log_level: str = "warning"
    token: Path | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Which of several processes this is; the first, 0, runs the jobs."""

    number: int
    board: Board
    folder: str


def open_memory(plan: Plan) -> Mnemic:
    """The memory as a process of this plan opens it. What indexes may take is divided among the processes."""
    share_heaps()
    budget = plan.config.index_budget_bytes // plan.processes
    return Mnemic.open(
        replace(plan.config, observer="prometheus", index_budget_bytes=budget), actor=ACTOR, has_worker=False
    )


def load_shared(config: Config) -> Sequence[object]:
    """Load what forked processes share: the modules of the doors, and the model. Models stay loaded while the result is
    held.
    """
    for name in DOORS:
        with suppress(ImportError):  # each process reports it
            import_module(name)
    models: list[object] = []
    if "minilm" in config.embedders:
        from mnemic.adapters.embedders.minilm import MinilmEmbedder

        with suppress(MnemicError):  # likewise
            models.append(embedder := MinilmEmbedder())
            embedder.embed_queries(["a text that makes it load"])
    return models


def answer(
    mnemic: Mnemic, plan: Plan, listening: socket.socket, tell: Callable[[Tells], None], part: Part | None = None
) -> None:
    """Answer, and run jobs, until a signal comes; returns when all that was being answered is finished. `tell` is
    called once, when the server is ready.
    """
    sys.setswitchinterval(SWITCH_S)
    is_first = part is None or part.number == 0
    with ExitStack() as stack:
        worker = stack.enter_context(run_worker(mnemic, is_on=plan.works and is_first, poll_s=POLL_S))
        limits = _divide_threads(plan, mnemic)
        gate = Gate(mnemic, limits=limits, always=not plan.is_near, board=part and part.board, token=plan.token)
        stack.callback(gate.close)
        doors = make_doors(mnemic, gate, is_telling=is_first)
        looks: list[Look] = [partial(_check_worker, worker)]
        if part is not None:
            looks.append(partial(processes, part.board))
        shared = None if part is None else Shared(part.folder, part.board)
        app = application(doors, gate, Health(mnemic, looks), Metrics(_registry(mnemic), shared))
        places = Places(_raise_file_limit(plan.connections), plan.connections_of_address)
        settings = uvicorn.Config(
            app,
            http=partial(Connection, places=places),  # pyright: ignore[reportArgumentType] -- it is called, no more
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=GRACE_S,
        )
        tells = [("docs", "/docs"), *(door.tells for door in doors), ("health", "/health/ready")]
        if plan.token and not mnemic.admission.needs_key:
            if is_first:
                note(UNSHOWN_ACCOUNTS.format(plan.token))
            with suppress(FileNotFoundError):  # used before this process was started again
                link = plan.token.with_suffix(".link").read_text(encoding="ascii")
                tells = [(name, f"{path}/#enter={link}" if name == "console" else path) for name, path in tells]
        if part is None:
            server = uvicorn.Server(settings)
            listening.listen(settings.backlog)  # who is told where it is may ask at once
            tell(tells)
        else:
            fails = partial(_has_failed, worker)
            server = SharingServer(settings, part.board, part.number, ready=lambda: tell(tells), worker_fails=fails)
            stack.enter_context(_handle_hang_up(server, worker))
        server.capture_signals = lambda: _handle_signals(server, worker)
        server.run(sockets=[listening])


@contextmanager
def make_token(port: int, *, is_near: bool) -> Generator[Path | None]:
    """The file of a new token, and beside it the code of a link, for a server whose system does not show accounts."""
    if not is_near or tells_accounts():
        yield None
        return
    path = token_file(port)
    files = {
        path: f"mn_{secrets.token_hex(8)}_{secrets.token_hex(32)}",
        path.with_suffix(".link"): secrets.token_hex(32),
    }
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each, text in files.items():
        each.unlink(missing_ok=True)  # of a killed server
        file = os.open(each, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(file, text.encode())
        os.close(file)
    try:
        yield path
    finally:
        for each in files:
            each.unlink(missing_ok=True)


@contextmanager
def _handle_signals(server: uvicorn.Server, worker: Worker | None) -> Generator[None]:
    """Signals end the server when what is being answered is finished; a second one at once. Unlike uvicorn's own way
    it does not raise the signal again afterwards: the worker and the store have yet to be closed.
    """

    def end(number: int, _frame: object) -> None:
        server.handle_exit(number, None)
        if worker is not None:
            worker.stop()

    with handle_signals(ENDING, end):
        yield


def _handle_hang_up(server: SharingServer, worker: Worker | None) -> AbstractContextManager[object]:
    """On SIGHUP, close connections first, then end; the supervisor restarts the process."""

    def retire(_number: int, _frame: object) -> None:
        server.retire()
        if worker is not None:
            worker.stop()

    return handle_signals([signal.SIGHUP], retire)


def make_doors(mnemic: Mnemic, gate: Gate, *, is_telling: bool = True) -> list[Door]:
    """Every door of `DOORS`, made for this memory; one whose packages are not here is left out, and this is told."""
    doors: list[Door] = []
    for name in DOORS:
        try:
            make: MakeDoor = import_module(name).door
        except ImportError as error:
            extra = name.split(".")[1]
            if is_telling:
                note(f"{extra} is not available: {error}; run `pip install 'mnemic[{extra}]'`")
            continue
        doors.append(make(mnemic, gate))
    return doors


def _divide_threads(plan: Plan, mnemic: Mnemic) -> Limits:
    """Threads that only compute are as many as the machine has cores, in all processes together."""
    if plan.limits.threads or plan.processes == 1 or mnemic.admission.is_waiting:
        return plan.limits
    return replace(plan.limits, threads=max(LEAST_THREADS, (os.cpu_count() or 1) // plan.processes))


def _raise_file_limit(connections: int) -> int:
    """So many connections, or as many as the system lets this process have files for; its own limit is raised."""
    try:
        import resource
    except ImportError:  # Windows bounds no files
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections * FILES_OF_A_CONNECTION + SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    room = max((most - SPARE_FILES) // FILES_OF_A_CONNECTION, 1)
    if room < connections:
        _log.warning("the open-file limit allows only %d connections, not %d", room, connections)
    return min(connections, room)


def _registry(mnemic: Mnemic) -> CollectorRegistry | None:
    observers = observers_of(mnemic.observer)
    return next((each.registry for each in observers if isinstance(each, PrometheusObserver)), None)


def _has_failed(worker: Worker | None) -> bool:
    return worker is not None and worker.failure is not None


def _check_worker(worker: Worker | None) -> list[Finding]:
    if worker is None or worker.failure is None:
        return []
    message = f"failed to look for jobs: {type(worker.failure).__name__}"
    return [Finding("worker", Condition.DEGRADED, message, "run `mnemic doctor`")]
