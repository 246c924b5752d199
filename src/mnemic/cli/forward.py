"""Hands a command over to the resident process (`cli/resident.py`), where there is one, and starts one where not.

Every call pays for the imports here, so they are few and small. The resident process forks a child that runs the
command with the standard streams, folder and environment of this process. Whatever fails before the child has begun,
the command runs here, as it would without a resident process.
"""
# ruff: noqa: PTH -- importing `pathlib` takes longer than the rest of the call

from __future__ import annotations

import _signal  # pyright: ignore[reportMissingImports] -- `signal` would take a fifth of the time of this process
import _socket
import marshal
import os
import sys
from binascii import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

IDLE_VARIABLE = "MNEMIC_RESIDENT_IDLE_S"
READY, REFUSED, BEGUN, PAGE, ENDED, INTERRUPT = b"r", b"n", b"b", b"p", b"x", b"i"
"""What the child tells: it listens, it will not run this, it has begun, a text for the pager, and the exit code. The
caller answers a page by `PAGE`, and passes Ctrl-C on.
"""

LENGTH_BYTES = 8  # of a 64-bit length before what is sent
WAIT_S = 0.25
"""A resident process that is busy for longer costs more time than it saves."""

MOST_FILES = 1 << 20  # of a process, by the usual limit
KILLED = 137  # 128 + SIGKILL (9), as shells report it
_COMMANDS = frozenset(("capture", "complete", "context", "hooks", "memory", "messages", "profile", "recall")).union(
    ("remember", "sessions", "show", "users", "window")
)
_NOT_FORWARDED = frozenset(("clear", "delete", "install", "uninstall", "-h", "--help"))
"""Second words of commands that ask questions, or that need no store."""

wanted_idle_s = 0.0
"""How long a resident process of the store that this process has opened would stay; 0: there shall be none."""


def is_forwarded(arguments: Sequence[str]) -> bool:
    """True for commands that a resident process runs: short ones that open a store, on systems that can do this."""
    is_able = sys.platform == "linux" and None not in (sys.stdin, sys.stdout, sys.stderr)
    if not is_able or os.environ.get(IDLE_VARIABLE) == "0" or len(arguments) < 1:
        return False
    return arguments[0] in _COMMANDS and _NOT_FORWARDED.isdisjoint(arguments[1:2])


def describe_installation() -> list[str]:
    """What makes two processes the same program: interpreter, package, and what Python reads from the environment."""
    variables = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("PYTHON"))
    return [sys.executable, sys.version, __file__, sys.getfilesystemencoding(), *variables]


def name_socket() -> str:
    """The name of this installation's socket. The child checks the whole installation."""
    return f"{crc32(marshal.dumps(describe_installation())):08x}"


def open_folder() -> int:
    """Open the private folder of sockets, created if missing. Raises `OSError`, also if others can write to it."""
    own = os.getuid()
    system = f"/run/user/{own}"
    shared = system if os.path.isdir(system) else "/tmp"  # noqa: S108 -- the folder's owner and rights are checked
    runtime = os.environ.get("XDG_RUNTIME_DIR", shared)
    path = os.path.join(runtime, f"mnemic-{own}")
    if not os.path.isdir(path):
        os.mkdir(path, 0o700)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    found = os.fstat(folder)
    if found.st_uid != own or found.st_mode & 0o077:
        os.close(folder)
        raise PermissionError(f"{path} is not private")
    return folder


def locate(folder: int, ending: str) -> str:
    """The path of a file in the folder, short enough for a socket however long the folder's own path is."""
    return f"/proc/self/fd/{folder}/{name_socket()}.{ending}"


def connect() -> _socket.socket | None:
    """A connection to the resident process, or None if there is none or it is busy."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(WAIT_S)
    try:
        folder = open_folder()
        try:
            connection.connect(locate(folder, "socket"))
        finally:
            os.close(folder)
        if connection.recv(1) == READY:
            return connection
    except OSError:
        pass
    connection.close()
    return None


def run_there(arguments: Sequence[str]) -> int | None:
    """Run a command in the resident process. Returns its exit code, or None if it must run here."""
    connection = connect()
    if connection is None:
        return None
    try:
        _send_request(connection, arguments)
        has_begun = connection.recv(1) == BEGUN
    except OSError:
        has_begun = False
    code = _follow(connection) if has_begun else None
    connection.close()
    return code and (0 if arguments[0] == "hooks" else code)  # a hook must never harm its caller's session


def describe_resident() -> dict[str, Any] | None:
    """What the resident process tells about itself, None if there is none."""
    connection = connect()
    if connection is None:
        return None
    try:
        _send_request(connection, ())
        told = receive(connection, 1 << 20)
    except OSError:
        told = b""
    connection.close()
    return marshal.loads(told) if told else None  # noqa: S302 -- from a process of this account


def _send_request(connection: _socket.socket, arguments: Sequence[str]) -> None:
    """Send a command with the standard streams, their encodings, the folder and the environment."""
    connection.settimeout(None)
    forms = [(stream.encoding, stream.errors) for stream in (sys.stdin, sys.stdout, sys.stderr)]
    content = marshal.dumps((describe_installation(), sys.argv[0], [*arguments], os.getcwd(), dict(os.environ), forms))
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
    connection.sendmsg([len(content).to_bytes(LENGTH_BYTES)], rights)
    connection.sendall(content)


def receive(connection: _socket.socket, length: int) -> bytes:
    """Receive so many bytes, fewer if the other side has gone."""
    content = b""
    while len(content) < length and (piece := connection.recv(min(length - len(content), 1 << 20))):
        content += piece
    return content


def _follow(connection: _socket.socket) -> int:
    """Follow the command to its end: pass Ctrl-C on to it, and show pages for it."""
    system: Any = _signal
    if system.getsignal(system.SIGINT) is system.default_int_handler:
        system.signal(system.SIGINT, lambda _number, _frame: connection.send(INTERRUPT))
    try:
        while (kind := connection.recv(1)) == PAGE:
            page(receive(connection, int.from_bytes(receive(connection, LENGTH_BYTES))).decode())
            connection.send(PAGE)
        return receive(connection, 1)[0] if kind == ENDED else KILLED
    except (OSError, IndexError):
        return KILLED


def _show_page(text: str) -> None:
    from pydoc import pager

    os.environ.setdefault("LESS", "-R")  # shows dim text instead of its escape sequences
    pager(text)


page = _show_page
"""Shows a text in the pager. It needs the terminal, which belongs to the process that the user has started."""


def start() -> None:
    """Start a resident process if this process has opened a store that can have one. Takes a millisecond."""
    if not wanted_idle_s:
        return
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    program = "import sys; from mnemic.cli import forward; forward.stay(float(sys.argv[1]))"
    command = [sys.executable, "-P", "-c", program, f"{wanted_idle_s}"]  # -P: imports nothing from the current folder
    try:
        os.posix_spawn(sys.executable, command, os.environ, file_actions=nothing, setsid=True)
    except OSError:  # every command works without it
        return


def stay(idle_s: float) -> None:
    """Be the resident process of this account and installation, unless there is one."""
    import fcntl

    os.closerange(3, MOST_FILES)  # whoever waits for the end of an inherited pipe shall not wait for this process
    os.chdir("/")
    os.umask(0o077)
    folder = open_folder()
    lock = os.open(locate(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    from mnemic.cli.resident import Resident

    Resident(folder, lock, idle_s).serve()
