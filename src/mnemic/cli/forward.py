"""Hands a command over to the resident process (`cli/resident.py`), or starts one.

Every call pays for the imports here, so they are few. The resident process forks a child that runs the command with the
streams, folder and environment of this process. If anything fails before the child begins, the command runs here.
"""

from __future__ import annotations

import _signal  # pyright: ignore[reportMissingImports] -- `signal` would import much more
import _socket
import marshal
import os
import sys
from binascii import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

Package = dict[str, tuple[int, int, int]]

VARIABLE = "MNEMIC_RESIDENT_IDLE_S"
READY, BEGUN, PAGE, ENDED, INTERRUPT = b"r", b"b", b"p", b"e", b"i"
"""From the child: it listens, it has begun, a text for the pager, the exit code. From here: page shown, Ctrl-C."""

LENGTH_BYTES = 8  # of a 64-bit length
WAIT_S = 0.25  # a resident process that is busy for longer costs more time than it saves
BEGIN_S = 5.0  # for the child to begin; one that is too late does not begin, because this side is gone
MOST_FILES = 1 << 20
KILLED = 137  # 128 + SIGKILL (9), as shells report it
_COMMANDS = "agents capture complete context hooks memory messages profile recall remember show users window"
_NOT_FORWARDED = "clear delete install uninstall --help -h"  # they ask questions, or need no store
_PROGRAM = "import sys; from mnemic.cli import forward; forward.stay(float(sys.argv[1]))"

COLLECTED_OBJECTS = 200_000
"""New objects after which a process that soon ends looks for cycles. With Python's default of 700, this takes a tenth
of the time of a quick command, and finds nothing.
"""

wanted_idle_s = 0.0
"""How long a resident process of the store that this process has opened would wait for calls; 0: there is none."""


def is_forwarded(arguments: Sequence[str]) -> bool:
    """True for short commands that open a store, where a resident process can run them."""
    is_able = sys.platform == "linux" and None not in (sys.stdin, sys.stdout, sys.stderr)
    first, second = (*arguments, "", "")[:2]
    is_short = first in _COMMANDS.split() and second not in _NOT_FORWARDED.split()
    has_own_file = any("/fd/" in each for each in arguments)  # such as /dev/fd/63, which only this process has open
    return is_able and is_short and not has_own_file and os.environ.get(VARIABLE) != "0"


def describe_installation() -> list[str]:
    """What makes two processes the same program: interpreter, package, and variables that only act at the start."""
    variables = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(("PYTHON", "LD_")))
    return [sys.executable, sys.version, __file__, sys.getfilesystemencoding(), *variables]


def open_folder() -> int:
    """Open the private folder of sockets, created if missing. Raises `OSError`, also if others have access to it."""
    own = os.getuid()
    shared = f"/run/user/{own}" if os.path.isdir(f"/run/user/{own}") else "/tmp"  # noqa: S108 -- rights are checked
    path = os.path.join(os.environ.get("XDG_RUNTIME_DIR", shared), f"mnemic-{own}")
    if not os.path.isdir(path):
        os.mkdir(path, 0o700)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    found = os.fstat(folder)
    if found.st_uid != own or found.st_mode & 0o077:
        os.close(folder)
        raise PermissionError(f"{path} is not private")
    return folder


def locate(folder: int, ending: str) -> str:
    """The path of this installation's file in the folder, short enough for a socket wherever the folder is."""
    return f"/proc/self/fd/{folder}/{crc32(marshal.dumps(describe_installation())):08x}.{ending}"


def run_there(arguments: Sequence[str]) -> int | None:
    """Run a command in the resident process. Returns its exit code, or None if it must run here."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        _ask(connection, arguments)
        code = _follow(connection) if connection.recv(1) == BEGUN else None
    except OSError:
        code = None
    connection.close()
    return code and (0 if arguments[0] == "hooks" else code)  # a hook must never harm its caller's session


def describe_resident() -> dict[str, Any] | None:
    """What the resident process says about itself, None if there is none."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        _ask(connection, ())
        told = receive(connection, MOST_FILES)
    except OSError:
        told = b""
    connection.close()
    return marshal.loads(told) if told else None  # noqa: S302 -- from this account


def _ask(connection: _socket.socket, arguments: Sequence[str]) -> None:
    """Send a command with the standard streams, their encodings, the folder and the environment."""
    forms = [(stream.encoding, stream.errors) for stream in (sys.stdin, sys.stdout, sys.stderr)]
    request = describe_installation(), sys.argv[0], [*arguments], os.getcwd(), dict(os.environ), forms
    folder = open_folder()
    connection.settimeout(WAIT_S)
    try:
        connection.connect(locate(folder, "socket"))
    finally:
        os.close(folder)
    if connection.recv(1) != READY:
        raise ConnectionError("the resident process is not responding")
    connection.settimeout(BEGIN_S)
    content, streams = marshal.dumps(request), b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
    connection.sendmsg([len(content).to_bytes(LENGTH_BYTES)], rights)
    connection.sendall(content)


def receive(connection: _socket.socket, length: int) -> bytes:
    """Receive this number of bytes, fewer if the other side has gone."""
    content = b""
    while len(content) < length and (piece := connection.recv(length - len(content))):
        content += piece
    return content


def _follow(connection: _socket.socket) -> int:
    """Follow the command to its end: pass Ctrl-C on to it, and show pages for it."""
    connection.settimeout(None)
    system: Any = _signal
    if system.getsignal(system.SIGINT) is system.default_int_handler:
        system.signal(system.SIGINT, lambda *_: connection.send(INTERRUPT))  # pyright: ignore[reportUnknownLambdaType]
    try:
        while (kind := connection.recv(1)) == PAGE:
            page(receive(connection, int.from_bytes(receive(connection, LENGTH_BYTES))).decode())
            connection.send(PAGE)
        return connection.recv(1)[0] if kind == ENDED else KILLED
    except (OSError, IndexError):
        return KILLED


def page(text: str) -> None:
    """Show a text in the pager. It needs the terminal, so the resident process's child lets the caller do it."""
    from pydoc import pager

    os.environ.setdefault("LESS", "-R")  # shows dim text instead of its escape sequences
    pager(text)


def may_share(status: str) -> bool:
    """True unless a process with this /proc/PID/status may be in a sandbox that cannot be compared with others, such as
    Landlock's rules for files. These need `NoNewPrivs`.
    """
    return "NoNewPrivs:\t0" in status


def _read_status() -> str:
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        return file.read()


def start() -> None:
    """Start a resident process if this process has opened a store that can have one. Takes a millisecond."""
    system: Any = _signal
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    command = [sys.executable, "-P", "-c", _PROGRAM, f"{wanted_idle_s}"]  # -P: no imports from the current folder
    try:
        if wanted_idle_s and may_share(_read_status()):
            # Usual signals, because this process may ignore or block some.
            settings: Any = {"setsid": True, "setsigmask": (), "setsigdef": system.valid_signals()}
            os.posix_spawn(sys.executable, command, os.environ, file_actions=nothing, **settings)
    except OSError:  # every command works without it
        return


def stay(idle_s: float) -> None:
    """Be the resident process of this account and installation, unless there is one."""
    import fcntl
    from importlib import import_module

    os.closerange(3, MOST_FILES)  # the caller's callers may wait for the end of a pipe
    os.chdir("/")
    os.umask(0o077)
    folder = open_folder()
    lock = os.open(locate(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    package = sign(_list_files())  # before the imports, so that no change in between is missed
    import_module("mnemic.cli.resident").Resident(folder, lock, idle_s, package).serve()


def sign(files: Iterable[str]) -> Package:
    """What changes with the files' content."""
    return {path: (found.st_mtime_ns, found.st_size, found.st_ino) for path in files for found in [os.stat(path)]}


def _list_files() -> list[str]:
    """The package's files, and the folders in which other packages are installed."""
    folders = os.walk(os.path.dirname(os.path.dirname(__file__)))
    files = [os.path.join(path, name) for path, _, names in folders if path[-11:] != "__pycache__" for name in names]
    return [*files, *filter(os.path.isdir, sys.path)]
