"""Walks folders and reads files: follows no links out of a folder, obeys `.gitignore` like git, and skips names of
files without content or with secrets.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from mnemic.adapters.readers.registry import all_readers, joined
from mnemic.adapters.readers.text import is_binary
from mnemic.errors import InvalidInputError, UnavailableError
from mnemic.model.document import MEBIBYTE
from mnemic.ports.files import Files, FoundFile, LeftOut, Place
from mnemic.text.normalise import stored_texts

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NAME = ".gitignore"
MAX_BYTES = MEBIBYTE  # of a `.gitignore`: longer is not a list of patterns, and is skipped
MAX_STARS = 3
"""Stars in one pattern, and double stars. Matching time grows by a power with each star, so a stranger's folder could
block us: five take seconds for one name. Real patterns hardly have more than two.
"""

_log = logging.getLogger("mnemic.ingest")
_DOUBLE = re.compile(r"\*{2,}")


@dataclass(frozen=True, slots=True)
class Ignored:
    """The ignore rules of a folder: those of the folders above it, outermost first, each with its folder."""

    rules: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def within(self, folder: str, names: set[str]) -> Ignored:
        """The rules below a folder, including its own."""
        rules = read_rules(folder) if NAME in names else None
        return self if rules is None else Ignored((*self.rules, (folder, rules)))

    def holds(self, path: str, *, is_folder: bool) -> bool:
        """True if a path is ignored. The folders above it must have been checked before."""
        for folder, rules in reversed(self.rules):
            inner = path[len(folder) :].lstrip(os.sep).replace(os.sep, "/")
            verdict = rules.check_file(f"{inner}/" if is_folder else inner, separators=()).include
            if verdict is not None:
                return verdict
        return False


def rules_above(folder: str) -> Ignored:
    """Ignore rules of the folders above, up to the repository's. None outside one, or if they exclude the folder."""
    above: list[str] = []
    place = folder
    while not os.path.lexists(os.path.join(place, ".git")):
        parent = os.path.dirname(place)
        if parent == place:
            return Ignored()
        above.append(parent)
        place = parent
    found = ((each, read_rules(each)) for each in reversed(above))
    ignored = Ignored(tuple((each, rules) for each, rules in found if rules is not None))
    return Ignored() if ignored.holds(folder, is_folder=True) else ignored


def read_rules(folder: str) -> GitIgnoreSpec | None:
    """The rules of one folder, None if it has no readable ones."""
    path = Path(folder, NAME)
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    except OSError:
        return None
    lines = [line.removesuffix("\r").removeprefix("\ufeff") for line in lines]
    return _read_patterns([line for line in lines if _is_obeyed(line)])


def _read_patterns(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


def _is_obeyed(pattern: str) -> bool:
    """True if a pattern is valid and fast. Git also skips invalid ones."""
    singles, doubles = _DOUBLE.sub("", pattern).count("*"), len(_DOUBLE.findall(pattern))
    if max(singles, doubles) > MAX_STARS:
        _log.warning("ignoring a .gitignore pattern with more than %d asterisks", MAX_STARS)
        return False
    try:
        _read_patterns([pattern])
    except (ValueError, re.error):
        return False
    return True


# no waiting for a pipe, no descriptor for child processes, no changed line ends
READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


def clean(path: str) -> str:
    """A path as storable text. Bytes that are not UTF-8, and control characters, become escapes."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c if c >= " " and c != "\x7f" else f"\\x{ord(c):02x}" for c in text)


def told(error: OSError) -> str:
    """The system's error message."""
    return error.strerror or type(error).__name__


HIDDEN = "it is hidden"
EMPTY = "it is empty"

_LISTS = stored_texts(__name__)
NO_CONTENT = frozenset({*_LISTS["folders"].split(), "$recycle.bin", "system volume information"})
"""Folders of programs, in lower case."""
BUILT = frozenset(_LISTS["built"].split())
"""Folders of built files and copied dependencies, in lower case. Some people keep documents under such a name."""

MARKERS = {"pyvenv.cfg": "it is a Python environment", "CACHEDIR.TAG": "it is marked as a cache (CACHEDIR.TAG)"}
"""Files that mark a folder without content of a person."""

_KINDS = (line.partition(": ") for line in _LISTS["kinds"].splitlines())
_BINARY = {f".{extension}": kind for kind, _, extensions in _KINDS for extension in extensions.split()}

_NOUNS = "secret secrets credential credentials password passwords"
_FORMS = ".json .yaml .yml .toml .ini .cfg .conf .properties .txt .csv .xlsx .xml"
_SECRET_NAMES = (
    *_LISTS["secrets"].split(),
    *_NOUNS.split(),
    *(f"{n}{form}" for n in _NOUNS.split() for form in _FORMS.split()),
)


def holds_secrets(name: str) -> bool:
    """True for names of key and password files. These are not read even if named directly."""
    lower = name.lower()
    return any(fnmatchcase(lower, pattern) for pattern in _SECRET_NAMES)


def is_hidden(name: str) -> bool:
    """True for a name that starts with a dot."""
    return name.startswith(".")


def folder_reason(name: str, include: Collection[str] = ()) -> str | None:
    """Why a folder with this name is skipped, None if it is not."""
    if name in include:
        return None
    if is_hidden(name):
        return HIDDEN
    lower = name.lower()
    if lower in BUILT:
        return f"folders with this name usually hold build results or dependencies; include {name!r} to read it"
    is_program = lower in NO_CONTENT or lower.endswith((".egg-info", ".dist-info"))
    return "it contains program files, not content" if is_program else None


def file_reason(name: str) -> str | None:
    """Why a file with this name is skipped, None if it is not."""
    if holds_secrets(name):
        return "its name suggests that it contains secrets"
    if is_hidden(name):
        return HIDDEN
    kind = _BINARY.get(PurePath(name).suffix.lower())
    return None if kind is None else f"its name suggests that it is {kind}"


TRIES = 3  # a file that changes during each of three reads is being written


class LocalFiles:
    """The `Files` port over files that this process may read."""

    def find(self, path: str) -> Place:
        if "\0" in path or not path or any("\ud800" <= c < "\udc80" or (c > "\udcff" and c <= "\udfff") for c in path):
            raise InvalidInputError("a path must not be empty or contain NUL or invalid Unicode")
        absolute = os.path.abspath(os.path.expanduser(path))
        try:
            real = os.path.realpath(absolute, strict=True)
            mode = os.stat(real).st_mode
        except OSError as error:
            raise InvalidInputError(f"{clean(path)} cannot be read: {told(error)}") from error
        if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            raise InvalidInputError(f"{clean(path)} is neither a file nor a folder")
        return Place(real, clean(absolute).replace(os.sep, "/"), stat.S_ISDIR(mode))

    def walk(self, place: Place, max_bytes: int, include: Collection[str] = ()) -> Iterator[FoundFile | LeftOut]:
        if place.is_folder:
            yield from Walk(place, max_bytes, include).entries()
            return
        name = place.source.rpartition("/")[2]
        if holds_secrets(name) or holds_secrets(os.path.basename(place.path)):
            yield LeftOut(place.source, "its name suggests that it contains secrets")
            return
        yield FoundFile(place.path, place.source, name, _size(place.path))

    def read(self, file: FoundFile, max_bytes: int) -> bytes:
        try:
            for _ in range(TRIES):
                data = _read_whole(file, max_bytes)
                if data is not None:
                    return data
        except OSError as error:
            raise UnavailableError(f"{file.name} cannot be read: {told(error)}") from error
        raise UnavailableError(f"{file.name} is still being written; ingest it again later")


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0  # it is gone; reading it will report that


def _read_whole(file: FoundFile, max_bytes: int) -> bytes | None:
    """The content, None if it changed meanwhile. Never waits for a pipe or follows a link."""
    descriptor = os.open(file.path, READ_FLAGS | NO_LINKS)
    with os.fdopen(descriptor, "rb") as opened:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise UnavailableError(f"{file.name} is no longer a regular file")
        data = opened.read(max_bytes + 1)
        after = os.fstat(descriptor)
    if len(data) > max_bytes:
        raise UnavailableError(f"{file.name} is larger than {max_bytes / MEBIBYTE:g} MiB; split it, or raise the limit")
    is_same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return data if is_same and len(data) == after.st_size else None


_fits: type[Files] = LocalFiles


HEAD_BYTES = 8192
"""Bytes of a file of unknown type that show whether it is text."""

Entry = FoundFile | LeftOut


class Walk:
    """A walk through a folder: its files by name, then its folders, links last."""

    def __init__(self, place: Place, max_bytes: int, include: Collection[str] = ()) -> None:
        self._root, self._source, self._max_bytes = place.path, place.source, max_bytes
        self._include = frozenset(include)
        self._links: list[tuple[str, str]] = []
        self._seen: set[tuple[int, int]] = set()
        self._extensions = frozenset(joined([reader.capabilities for reader in all_readers()]).extensions)

    def entries(self) -> Iterator[Entry]:
        """All entries, without repeats."""
        pending = [(self._root, self._source.rstrip("/"), rules_above(self._root))]
        while pending:
            folder, source, ignored = pending.pop()
            try:
                info = os.stat(folder, follow_symlinks=False)
                children = sorted(os.scandir(folder), key=lambda child: child.name)
            except OSError as error:
                yield LeftOut(source or "/", f"it cannot be read: {told(error)}", is_folder=True)
                continue
            if not self._is_new(info):
                yield LeftOut(source, "it was read under another name", is_folder=True)
                continue
            names = {child.name for child in children}
            mark = next((mark for mark in MARKERS if mark in names), None)
            if mark is not None and folder != self._root:
                yield LeftOut(source, MARKERS[mark], is_folder=True)
                continue
            inner = ignored.within(folder, names)
            folders: list[tuple[str, str, Ignored]] = []
            for child in children:
                below = f"{source}/{clean(child.name)}"
                if _is_folder(child):
                    reason = folder_reason(child.name, self._include) or _ignored(inner, child.path, is_folder=True)
                    if reason is None:
                        folders.append((child.path, below, inner))
                    else:
                        yield LeftOut(below, reason, is_folder=True)
                else:
                    yield from self._file(child, below, inner)
            pending += reversed(folders)
        for path, source in self._links:
            yield self._resolve_link(path, source)

    def _file(self, child: os.DirEntry[str], source: str, ignored: Ignored) -> Iterator[Entry]:
        reason = file_reason(child.name) or _ignored(ignored, child.path, is_folder=False)
        if reason is not None:
            yield LeftOut(source, reason)
        elif child.is_symlink():
            self._links.append((child.path, source))
        else:
            yield self._find_entry(child.path, source)

    def _resolve_link(self, path: str, source: str) -> Entry:
        """Resolve a link: a file of this folder not yet found, for example under a hidden name."""
        try:
            target = os.path.realpath(path, strict=True)
            is_folder = stat.S_ISDIR(os.stat(target).st_mode)
        except OSError as error:
            return LeftOut(source, f"it is a link whose target cannot be read: {told(error)}")
        if not f"{target}{os.sep}".startswith(self._root.rstrip(os.sep) + os.sep):
            return LeftOut(source, "it is a link to something outside the folder")
        if is_folder:
            return LeftOut(source, "it is a link to a folder", is_folder=True)
        if holds_secrets(os.path.basename(target)):
            return LeftOut(source, "it is a link to a file whose name suggests that it contains secrets")
        return self._find_entry(target, source)

    def _find_entry(self, path: str, source: str) -> Entry:
        name = source.rpartition("/")[2]
        try:
            info = os.stat(path, follow_symlinks=False)
            reason = self._find_reason(info)
            if reason is None and Path(name).suffix.lower() not in self._extensions and is_binary(_read_head(path)):
                reason = "it contains no text"
        except OSError as error:
            reason = f"it cannot be read: {told(error)}"
        else:
            if reason is None:
                return FoundFile(path, source, name, info.st_size)
        return LeftOut(source, reason)

    def _find_reason(self, info: os.stat_result) -> str | None:
        """Why a file is not read, decided before it is opened."""
        if not stat.S_ISREG(info.st_mode):
            return "it is not a regular file (but a pipe, socket or device)"
        if not info.st_size:
            return EMPTY
        if info.st_size > self._max_bytes:
            return f"it is larger than the limit of {self._max_bytes / MEBIBYTE:g} MiB"
        return None if self._is_new(info) else "it is already read under another name"

    def _is_new(self, info: os.stat_result) -> bool:
        """False for a file or folder already found under another name. True if the system has no file numbers."""
        key = info.st_dev, info.st_ino
        if not info.st_ino:
            return True
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new


def _is_folder(child: os.DirEntry[str]) -> bool:
    try:
        return child.is_dir(follow_symlinks=False)
    except OSError:
        return False  # reading it as a file will report why


def _ignored(ignored: Ignored, path: str, *, is_folder: bool) -> str | None:
    return "a .gitignore file excludes it" if ignored.holds(path, is_folder=is_folder) else None


def _read_head(path: str) -> bytes:
    descriptor = os.open(path, READ_FLAGS | NO_LINKS)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(HEAD_BYTES)
