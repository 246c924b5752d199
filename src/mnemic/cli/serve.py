"""`mnemic serve`: the HTTP servers and the worker, in one process or several."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from errno import EADDRNOTAVAIL
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated
from webbrowser import open as open_page

import typer

from mnemic.cli.commands import command
from mnemic.cli.options import ConfigFile, Store
from mnemic.cli.output import note
from mnemic.errors import ConfigError, UnavailableError

if TYPE_CHECKING:
    from mnemic.api import Mnemic
    from mnemic.cli.answering import Plan, Tells

    Tell = Callable[[Tells], None]

HOST, PORT = "127.0.0.1", 7700  # this machine only: no other can connect
NEEDED = ("fastapi", "httptools", "prometheus_client", "python_multipart", "uvicorn")
INSTALL = "the server requires missing packages ({}); run `pip install 'mnemic[server]'`"
MOST_PROCESSES = 64  # more than the cores of most servers; each holds its own index
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
FIRST = "console"
"""The address that is printed first."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server listens."""

    host: Annotated[
        str,
        typer.Option(envvar="MNEMIC_HOST", help="Address to listen on. Any address but localhost requires an API key."),
    ] = HOST
    port: Annotated[
        int, typer.Option(envvar="MNEMIC_PORT", help="Port to listen on. Use 0 to pick a free port.", min=0, max=65535)
    ] = PORT
    log_level: Annotated[str, typer.Option(help="Log level: debug, info, warning or error.")] = "warning"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on simultaneous requests."""

    rate: Annotated[float, typer.Option(help="Maximum requests per second per key, or 0 for no limit.", min=0)] = 100.0
    threads: Annotated[
        int, typer.Option(help="Threads for quick requests, or 0 to choose by CPU cores and store.", min=0, max=256)
    ] = 0
    in_flight: Annotated[int, typer.Option(help="Maximum concurrent requests. Others get status 503.", min=1)] = 64
    body_mb: Annotated[int, typer.Option(help="Maximum request body in MB. The limit for files is 100 MB.", min=1)] = 8
    connections: Annotated[int, typer.Option(help="Maximum open connections. New ones replace idle ones.", min=1)] = (
        1000
    )
    address_connections: Annotated[
        int, typer.Option(help="Maximum open connections per remote address, or 0 for no limit.", min=0)
    ] = 200
    processes: Annotated[
        int | None,
        typer.Option(help="Number of processes. Default: server.processes, or 1 if unset.", min=1, max=MOST_PROCESSES),
    ] = None


@command("serve")
def serve(
    place: Place,
    bounds: Bounds,
    store: Store = None,
    config: ConfigFile = None,
    works: Annotated[bool, typer.Option("--worker/--no-worker", help="Also run background jobs.")] = True,
    is_opening: Annotated[bool, typer.Option("--open", help="Open the console in the browser.")] = False,
) -> None:
    """Serve REST, MCP, the proxy and the console over HTTP until stopped, and run background jobs.

    Listens on localhost by default. Other addresses require an API key (`mnemic keys create`). The server finishes
    running requests before it stops. On SIGHUP, a server with several processes restarts them one at a time with the
    new configuration. No requests are dropped.
    """
    missing = [name for name in NEEDED if not is_here(name)]
    if missing:
        raise ConfigError(INSTALL.format(", ".join(missing)))
    from mnemic.config import load_config

    _open_standard_files()
    wanted = load_config(store, file=config)
    with _count_together(bounds.processes or wanted.processes) as folder:
        from mnemic.cli.answering import Plan, answer, make_token, open_memory
        from mnemic.model.document import MEBIBYTE
        from mnemic.web.limits import Limits
        from mnemic.web.monitoring import log_to_stderr

        log_to_stderr(place.log_level)
        limits = Limits(
            rate_per_s=bounds.rate,
            burst=max(int(bounds.rate * 2), 1),
            threads=bounds.threads,
            in_flight=bounds.in_flight,
            body_bytes=bounds.body_mb * MEBIBYTE,
        )
        is_near = is_loopback(place.host)
        with _bind(place) as listening, make_token(listening.getsockname()[1], is_near=is_near) as token:
            tells = partial(tell, listening, is_opening=is_opening)
            plan = Plan(
                config=wanted,
                limits=limits,
                connections=bounds.connections,
                connections_of_address=bounds.address_connections,
                is_near=is_near,
                works=works,
                token=token,
                processes=bounds.processes or wanted.processes,
                log_level=place.log_level,
            )
            with open_memory(plan) as mnemic:
                _check_plan(mnemic, plan, place)
                if folder is None:
                    answer(mnemic, plan, listening, tells)
                    return
            from mnemic.cli.supervisor import Supervisor

            reread = partial(_reread_plan, plan, store, config, version("mnemic"))
            raise typer.Exit(Supervisor(plan, listening, folder, tells, reread).run())


def is_here(name: str) -> bool:
    """True if a package can be imported."""
    try:
        return find_spec(name) is not None
    except ValueError:  # it stands in sys.modules without a spec
        return False


def is_loopback(host: str) -> bool:
    """True if only this machine can reach that address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _open_standard_files() -> None:
    """Open closed standard files, so that no other file takes their numbers."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free


def _check_plan(mnemic: Mnemic, plan: Plan, place: Place) -> None:
    """Refuse a dangerous or impossible plan."""
    if not plan.is_near and not mnemic.admission.needs_key:
        raise ConfigError(
            f"{place.host} can be reached from other machines, but the store has no API key; run "
            "`mnemic keys create` first, or omit --host"
        )
    _check_index(plan)
    if plan.processes > 1 and not mnemic.admission.is_shared:
        raise ConfigError(
            f"{plan.processes} processes cannot share an in-memory store; choose a file or PostgreSQL with --store, "
            "or use --processes 1"
        )
    if plan.processes > 1 and os.name != "posix":
        raise ConfigError("sharing a port between processes requires Linux, macOS or another POSIX system")


def _check_index(plan: Plan) -> None:
    index = str(plan.config.qdrant_url) if plan.config.index == "qdrant" else ""
    if plan.processes > 1 and index and not index.startswith(("http://", "https://")):
        raise ConfigError(f"{plan.processes} processes require a Qdrant server; set memory.index.qdrant.url")


def _reread_plan(plan: Plan, store: str | None, file: Path | None, running: str) -> Plan:
    """The plan with the current configuration. Raises `ConfigError` if a full restart is needed: for another store,
    number of processes or version, which might change the store under the old processes.
    """
    from mnemic.config import load_config

    config = load_config(store, file=file)
    if (config.store, config.processes) != (plan.config.store, plan.config.processes):
        raise ConfigError("the store or the number of processes has changed; stop the server and start it again")
    if version("mnemic") != running:
        raise ConfigError(f"Mnemic {version('mnemic')} is installed, but {running} is running; restart the server")
    renewed = replace(plan, config=config)
    _check_index(renewed)
    return renewed


@contextmanager
def _count_together(processes: int) -> Generator[str | None]:
    """A folder for the metrics of several processes; None for a single one. The Prometheus client reads the variable
    when it is imported.
    """
    if processes == 1:
        yield None
        return
    with TemporaryDirectory(prefix="mnemic-serve-", ignore_cleanup_errors=True) as folder:
        os.environ[FOLDER_VARIABLE] = folder
        try:
            yield folder
        finally:
            del os.environ[FOLDER_VARIABLE]


def tell(listening: socket.socket, tells: Tells, *, is_opening: bool = False) -> None:
    """Print the addresses, open the console if asked, and notify a waiting service manager (systemd, `Type=notify`)."""
    host, port = listening.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    note(f"Mnemic is listening on {url}; press Ctrl-C to stop")
    for name, path in sorted(tells, key=lambda told: told[0] != FIRST):
        note(f"  {name:<8}{url}{path}")
    if is_opening and not open_page(url + dict(tells)[FIRST]):
        note("no browser found; open the console's address yourself")
    manager = os.environ.get("NOTIFY_SOCKET")
    if manager:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as telling:
                telling.sendto(b"READY=1", manager.replace("@", "\0", 1) if manager.startswith("@") else manager)
        except OSError as error:
            note(f"cannot notify the service manager at NOTIFY_SOCKET: {error}")


@contextmanager
def _bind(place: Place) -> Generator[socket.socket]:
    """Bind a socket first, so that the port is known and taken before anything else starts."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((place.host, place.port))
        except OSError as error:
            option = "--host" if isinstance(error, socket.gaierror) or error.errno == EADDRNOTAVAIL else "--port"
            what = f"cannot listen on {place.host}:{place.port} ({error.strerror or error})"
            raise UnavailableError(f"{what}; choose another with {option}") from error
        yield listening
