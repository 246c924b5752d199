"""`mnemic serve`: the doors over HTTP and the worker, in one process."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.options import command
from mnemic.cli.output import note
from mnemic.cli.scope_options import ConfigFile, Store
from mnemic.errors import ConfigError, UnavailableError
from mnemic.model.health import Condition, Finding

if TYPE_CHECKING:
    import uvicorn
    from prometheus_client import CollectorRegistry

    from mnemic.api import Mnemic
    from mnemic.engine.worker import Worker
    from mnemic.web.doors import Door, MakeDoor
    from mnemic.web.gate import Gate

ACTOR = "server"
HOST, PORT = "127.0.0.1", 7700
GRACE_S = 20
SWITCH_S = 0.0005
"""How long a thread computes while another waits to; with Python's 5 ms the door waits for each of them in turn."""
NEEDED = ("fastapi", "httptools", "prometheus_client", "python_multipart", "uvicorn")
INSTALL = "the server needs packages that are not here ({}): run `pip install 'mnemic[server]'`"

DOORS = ("mnemic.mcp.app", "mnemic.proxy.app", "mnemic.console.app", "mnemic.rest.app")
"""The modules whose `door` is called, in the order in which their routes are tried. REST answers what nobody else does,
so it is the last.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server listens."""

    host: Annotated[
        str, typer.Option(envvar="MNEMIC_HOST", help="The address to listen on; others than this machine need a key.")
    ] = HOST
    port: Annotated[int, typer.Option(envvar="MNEMIC_PORT", help="The port; 0 takes a free one.", min=0, max=65535)] = (
        PORT
    )
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "warning"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may be asked at a time."""

    rate: Annotated[float, typer.Option(help="Requests a second of one key; 0 is no limit.", min=0)] = 100.0
    threads: Annotated[
        int, typer.Option(help="Threads for what is quick; 0 suits the cores and the store.", min=0, max=256)
    ] = 0
    in_flight: Annotated[int, typer.Option(help="And with those that wait; more are answered 503.", min=1)] = 64
    body_mb: Annotated[int, typer.Option(help="Largest body, in MB; files may have 100 MB.", min=1)] = 8


def serve(
    place: Place,
    bounds: Bounds,
    store: Store = None,
    config: ConfigFile = None,
    works: Annotated[bool, typer.Option("--worker/--no-worker", help="Run jobs beside answering.")] = True,
) -> None:
    """Serve REST and the other doors over HTTP, and run the jobs of the store beside it, until a signal ends it.

    Listens to this machine alone unless told otherwise, which needs a key in the store (`mnemic keys create`). What is
    being answered is finished first.
    """
    missing = [name for name in NEEDED if not is_here(name)]
    if missing:
        raise ConfigError(INSTALL.format(", ".join(missing)))
    from mnemic.api import Mnemic
    from mnemic.config import load_config
    from mnemic.web.logs import log_to_stderr

    log_to_stderr(place.log_level)
    with ExitStack() as stack:
        listening = stack.enter_context(_listening(place))
        wanted = replace(load_config(store, file=config), observer="prometheus")
        mnemic = stack.enter_context(Mnemic.open(wanted, actor=ACTOR))
        is_near = is_loopback(place.host)
        if not is_near and not mnemic.admission.needs_key:
            raise ConfigError(
                f"{place.host} can be reached from other machines, and the store holds no key: run "
                "`mnemic keys create` first, or leave out --host"
            )
        worker = stack.enter_context(_working(mnemic)) if works else None
        _run(mnemic, worker, listening, bounds, is_near)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    examples = """
        mnemic serve
        mnemic serve --port 0 --store memory.db
        mnemic serve --host 0.0.0.0     # after `mnemic keys create`
    """
    command(app, "serve", examples=examples)(serve)


def is_here(name: str) -> bool:
    """True when a package can be imported."""
    try:
        return find_spec(name) is not None
    except ValueError:  # it stands in sys.modules without a spec
        return False


def is_loopback(host: str) -> bool:
    """True when only this machine can reach that address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _run(mnemic: Mnemic, worker: Worker | None, listening: socket.socket, bounds: Bounds, is_near: bool) -> None:
    import uvicorn

    from mnemic.web.connections import Connection
    from mnemic.web.doors import application
    from mnemic.web.gate import Gate
    from mnemic.web.health import Health
    from mnemic.web.limits import MEBIBYTE, Limits
    from mnemic.web.metrics import Metrics

    limits = Limits(
        rate_per_s=bounds.rate,
        burst=max(int(bounds.rate * 2), 1),
        threads=bounds.threads,
        in_flight=bounds.in_flight,
        body_bytes=bounds.body_mb * MEBIBYTE,
    )
    sys.setswitchinterval(SWITCH_S)
    gate = Gate(mnemic, limits=limits, always=not is_near)
    doors = made_doors(mnemic, gate)
    health = Health(mnemic, [lambda: _look(worker)])
    app = application(doors, gate, health, Metrics(_registry(mnemic)))
    settings = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    try:
        listening.listen(settings.backlog)  # who is told where it is may ask at once
        _tell(listening, doors)
        server = uvicorn.Server(settings)
        server.capture_signals = lambda: _ending(server)
        server.run(sockets=[listening])
    finally:
        gate.close()


@contextmanager
def _ending(server: uvicorn.Server) -> Generator[None]:
    """Signals end the server when what is being answered is finished; a second one at once. Unlike uvicorn's own way
    it does not raise the signal again afterwards: the worker and the store have yet to be closed.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, server.handle_exit) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def made_doors(mnemic: Mnemic, gate: Gate) -> list[Door]:
    """Every door of `DOORS`, made for this memory; one whose packages are not here is left out, and this is told."""
    doors: list[Door] = []
    for name in DOORS:
        try:
            make: MakeDoor = import_module(name).door
        except ImportError as error:
            extra = name.split(".")[1]
            note(f"no {extra}: {error}; `pip install 'mnemic[{extra}]'` brings it")
            continue
        doors.append(make(mnemic, gate))
    return doors


def _tell(listening: socket.socket, doors: Sequence[Door]) -> None:
    host, port = listening.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    note(f"Mnemic listens on {url}; Ctrl-C ends it")
    for name, path in (("docs", "/docs"), *(door.tells for door in doors), ("health", "/health/ready")):
        note(f"  {name:<8}{url}{path}")


@contextmanager
def _listening(place: Place) -> Generator[socket.socket]:
    """A socket on the address, so that the port is known, and taken, before anything else begins."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((place.host, place.port))
        except OSError as error:
            raise UnavailableError(
                f"{place.host}:{place.port} cannot be listened on ({error.strerror or error}); --port names another"
            ) from error
        yield listening


@contextmanager
def _working(mnemic: Mnemic) -> Generator[Worker]:
    """A worker that ends, after the job it does, when the server has ended."""
    worker = mnemic.worker()
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()
        worker.join()


def _registry(mnemic: Mnemic) -> CollectorRegistry | None:
    from mnemic.adapters.observers.prometheus import PrometheusObserver
    from mnemic.adapters.observers.several import observers_of

    observers = observers_of(mnemic.observer)
    return next((each.registry for each in observers if isinstance(each, PrometheusObserver)), None)


def _look(worker: Worker | None) -> list[Finding]:
    """How the worker does."""
    if worker is None or worker.failure is None:
        return []
    message = f"the last time it looked for work: {type(worker.failure).__name__}"
    return [Finding("worker", Condition.DEGRADED, message, "run `mnemic doctor`")]
