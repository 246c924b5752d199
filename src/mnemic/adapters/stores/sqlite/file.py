"""The store's file on disk: whether its path still leads to the opened, complete file, and its permissions."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from errno import ENOTDIR
from pathlib import Path

from mnemic.errors import ConfigError, DamagedError
from mnemic.model.health import Condition, Finding

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700  # the owner alone: memories are personal
_BESIDE = ("-wal", "-shm")
"""SQLite's files beside a store in use. Another process would replace lost ones."""

_LOG_HEAD = struct.Struct(">I12x8s8x")
"""The header of a write-ahead log: a magic number and the salt, which changes each time the log restarts."""

_FRAME = struct.Struct(">4xI8s8x")
"""The header of a frame: the store's pages after it (0 unless it ends a commit), and the log's salt."""

_PAGE_SIZE_AT = 8  # in the header of the log
_CLAIM = struct.Struct("=8sI")
"""Stored beside the log without a flush: its salt and number of acknowledged frames."""

_RESERVE_BYTES = 32 << 20
"""Reserved at most, and no more than the store and its log take: an erasure writes about what it erases to the log, and
then the log's new pages to the store.
"""

_PLENTY_BYTES = 1 << 30  # with more free space a disk rarely fills up before the next write
_LEAST_FREE_BYTES = 1 << 18  # SQLite's files beside a store in use
_LOG_MAGICS = (0x377F0682, 0x377F0683)  # of SQLite's file format: checksums little- or big-endian
_STOP = "stop every process that uses it, then put the file back or restore a backup (`mnemic restore`)"
_opened: weakref.WeakSet[StoreFile] = weakref.WeakSet()
_opened_guard = threading.Lock()

Place = tuple[int, int]


class StoreFile:
    """The file at `path`, by device and inode. SQLite continues with a file that was unlinked, and mistakes one file's
    log for another's. It notices neither, and both lose writes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_read_only = False
        self._place: Place | None = None
        self._size = 0
        self._log: tuple[bytes, int] = (b"", 0)
        self._frames = 0
        self._claim = Path(f"{path}-acks")
        self._claim_file: int | None = None
        self._reserve = Path(f"{path}-reserve")

    def make(self) -> None:
        """Create the file and its folder if missing, for the user's own account only, whatever the umask."""
        try:
            make_folder(self.path.parent)
        except OSError as error:
            raise ConfigError(f"the folder for the store {self.path} cannot be created: {error}") from error
        self._refuse_second()
        try:
            make_private_file(self.path)
        except OSError:
            return  # SQLite reports the problem
        if self.path.is_file() and os.access(self.path, os.R_OK):
            self.is_read_only = not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK))
            self._identify()
            self.use_reserve(_LEAST_FREE_BYTES)

    def uri(self) -> str:
        """The URI for SQLite, which never recreates a lost file. A read-only disk gets no files beside the store."""
        if not self.is_read_only:
            return f"{self.path.absolute().as_uri()}?mode={'rw' if self._place else 'rwc'}"
        is_settled = self._read_log()[1] == 0
        is_fixed = is_settled and not os.access(self.path.parent, os.W_OK)
        return f"{self.path.absolute().as_uri()}?mode=ro{'&immutable=1' if is_fixed else ''}"

    def reserve(self) -> None:
        """Reserve space on a disk that may fill up, so that data can be erased even then."""
        with suppress(OSError, AttributeError):  # the disk is full, or the system has no such call
            free = shutil.disk_usage(self.path.parent).free
            if self.is_read_only or free > _PLENTY_BYTES:
                self._reserve.unlink(missing_ok=True)
                return
            file = os.open(self._reserve, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
            try:
                reserved = os.fstat(file).st_size
                size = self.path.stat().st_size + self._read_log()[1]
                wanted = min(size, _RESERVE_BYTES, reserved + free - _LEAST_FREE_BYTES)
                if wanted > reserved:
                    os.posix_fallocate(file, 0, wanted)
            finally:
                os.close(file)

    def use_reserve(self, needed: int = _RESERVE_BYTES) -> None:
        """Give up as much of the reserve as is `needed` and not free."""
        with suppress(OSError):  # nothing is reserved
            missing = needed - shutil.disk_usage(self.path.parent).free
            if missing > 0 and not self.is_read_only:
                os.truncate(self._reserve, max(self._reserve.stat().st_size - missing, 0))

    def _identify(self) -> None:
        """Remember the file at the path as the store."""
        found = self.path.stat()
        self._place, self._size = (found.st_dev, found.st_ino), found.st_size
        with _opened_guard:
            _opened.add(self)

    def release(self) -> None:
        """The store is closed. Another file may be opened at its path."""
        with _opened_guard:
            _opened.discard(self)

    def check(self) -> None:
        """Raise `DamagedError` unless the path leads to the opened file, which has not shrunk."""
        if self._place is None:
            return
        try:
            found = self.path.stat()
        except OSError as error:
            raise DamagedError(f"{self.path} was deleted or renamed while in use; {_STOP}") from error
        if (found.st_dev, found.st_ino) != self._place:
            raise DamagedError(f"{self.path} was replaced by another file while in use; {_STOP}")
        if found.st_size < self._size:
            raise DamagedError(
                f"{self.path} was truncated from {self._size} to {found.st_size} bytes while in use; {_STOP}, or save "
                "what is left with `mnemic rescue`"
            )
        self._size = found.st_size

    def look_beside(self) -> tuple[Place, ...]:
        """The identities of the log and its index, which exist during a transaction. Raises `DamagedError`."""
        return tuple(self._place_of(suffix) for suffix in _BESIDE)

    def check_beside(self, known: tuple[Place, ...]) -> None:
        """Raise `DamagedError` if other files replaced the `known` ones, or if the log lost its end."""
        for suffix, place in zip(_BESIDE, known, strict=False):
            if self._place_of(suffix) != place:
                raise DamagedError(f"{self.path}{suffix} was replaced by another file while in use; {_STOP}")
        salt, size = self._read_log()
        if (size and not salt) or (salt == self._log[0] and size < self._log[1]):
            raise self._cut()

    def note_commit(self) -> None:
        """Remember the log's length after a commit. Raises `DamagedError` if the log has no header."""
        salt, size = self._read_log()
        if size and not salt:
            raise self._cut()
        self._frames = self._count_frames(salt, self._frames if salt == self._log[0] else 0)
        self._log = salt, size
        with suppress(OSError):  # an older claim requires less, and the commit is done
            if self._claim_file is None:
                self._claim_file = os.open(self._claim, os.O_WRONLY | os.O_CREAT, PRIVATE_FILE)
            os.pwrite(self._claim_file, _CLAIM.pack(salt, self._frames), 0)

    def find_lost_tail(self, count_valid: Callable[[], int]) -> str:
        """What the log lost since the last acknowledged commit, "" for nothing. `count_valid` counts the frames that
        SQLite accepts, which end at the first damaged one. A log that restarted, or was moved into the store, lost
        nothing.
        """
        try:
            salt, frames = _CLAIM.unpack(self._claim.read_bytes())
            is_older = self.path.stat().st_mtime_ns < self._claim.stat().st_mtime_ns
        except (OSError, struct.error):
            return ""
        known = self._read_log()[0]
        left = count_valid() if known == salt else 0 if not known and is_older else frames
        if not 0 <= left < frames:
            return ""
        return f"the last {frames - left} of {frames} pages of acknowledged writes in {self.path.name}-wal are lost"

    def settle(self) -> None:
        """Note that all connections are closed: without a log nothing can be lost."""
        if self._claim_file is not None:
            os.close(self._claim_file)
            self._claim_file = None
        if not (self.is_read_only or Path(f"{self.path}-wal").exists()):
            self._claim.unlink(missing_ok=True)

    def _count_frames(self, salt: bytes, known: int) -> int:
        """Count the log's frames up to its last commit, starting from the known ones."""
        with suppress(OSError), Path(f"{self.path}-wal").open("rb", buffering=0) as log:
            page = int.from_bytes(os.pread(log.fileno(), 4, _PAGE_SIZE_AT))
            frame = known
            while head := os.pread(log.fileno(), _FRAME.size, _LOG_HEAD.size + frame * (_FRAME.size + page)):
                if len(head) < _FRAME.size or (found := _FRAME.unpack(head))[1] != salt:
                    break
                frame += 1
                known = frame if found[0] else known
        return known

    def mend_rights(self) -> list[Finding]:
        """Restrict files that earlier versions left readable to other accounts, and report it."""
        files = [Path(f"{self.path}{suffix}") for suffix in ("", *_BESIDE)]
        opened = [path for path in files if path.exists() and path.stat().st_mode & 0o077]
        if not opened:
            return []
        names = ", ".join(path.name for path in opened)
        try:
            for path in opened:
                path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)
        except OSError:
            message = f"other accounts on this machine can read {names}"
            return [Finding("rights", Condition.DEGRADED, message, f"as the owner, run `chmod 600 {self.path}*`")]
        message = f"other accounts on this machine could read {names}; doctor has restricted access (mode 600)"
        return [Finding("rights", Condition.OK, message)]

    def _refuse_second(self) -> None:
        """Refuse to open a second file while this process has another one from the same path."""
        with _opened_guard:
            for other in _opened:
                if other.path == self.path:
                    other.check()

    def _place_of(self, suffix: str) -> Place:
        try:
            found = Path(f"{self.path}{suffix}").stat()
        except OSError as error:
            raise DamagedError(f"{self.path}{suffix} was deleted or renamed while in use; {_STOP}") from error
        return found.st_dev, found.st_ino

    def _read_log(self) -> tuple[bytes, int]:
        """The log's salt (empty without a valid header) and size. SQLite holds no lock on it, so closing it is safe."""
        try:
            with Path(f"{self.path}-wal").open("rb", buffering=0) as log:
                head, size = log.read(_LOG_HEAD.size), os.fstat(log.fileno()).st_size
        except OSError:
            return b"", 0
        if len(head) < _LOG_HEAD.size:
            return b"", size
        magic, salt = _LOG_HEAD.unpack(head)
        return (salt if magic in _LOG_MAGICS else b""), size

    def _cut(self) -> DamagedError:
        return DamagedError(
            f"{self.path}-wal was truncated while in use, so the last writes are lost; stop every process that uses "
            "it, then open the store again. Writes since the last checkpoint may be missing"
        )


def make_private_file(path: Path) -> None:
    """Create a file for the user's own account if missing. An existing one is not opened: closing it would release the
    locks that SQLite holds on it in this process.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))


def make_folder(folder: Path) -> None:
    """Create a folder and those above it if missing, for the user's own account only."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(ENOTDIR, "a file is in its place", str(folder))
