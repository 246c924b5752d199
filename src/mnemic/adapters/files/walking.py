"""One walk through a folder, which imports what it takes to know what can be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from mnemic.adapters.files import rules
from mnemic.adapters.files.ignoring import Ignored, rules_above
from mnemic.adapters.files.naming import NO_LINKS, READ_FLAGS, clean, told
from mnemic.adapters.readers.encoding import is_binary
from mnemic.adapters.readers.registry import all_readers, joined
from mnemic.model.document_text import MEBIBYTE
from mnemic.ports.files import FoundFile, LeftOut, Place

HEAD_BYTES = 8192
"""Of a file of unknown type, to see whether it is a text at all."""

Entry = FoundFile | LeftOut


class Walk:
    """One walk through a folder: its files first, by name, then the folders in it; links at the end."""

    def __init__(self, place: Place, max_bytes: int) -> None:
        self._root, self._source, self._max_bytes = place.path, place.source, max_bytes
        self._links: list[tuple[str, str]] = []
        self._seen: set[tuple[int, int]] = set()
        self._extensions = frozenset(joined([reader.capabilities for reader in all_readers()]).extensions)

    def entries(self) -> Iterator[Entry]:
        """Everything, each once."""
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
            mark = next((mark for mark in rules.MARKERS if mark in names), None)
            if mark is not None and folder != self._root:
                yield LeftOut(source, rules.MARKERS[mark], is_folder=True)
                continue
            inner = ignored.within(folder, names)
            folders: list[tuple[str, str, Ignored]] = []
            for child in children:
                below = f"{source}/{clean(child.name)}"
                if _is_folder(child):
                    reason = rules.folder_reason(child.name) or _ignored(inner, child.path, is_folder=True)
                    if reason is None:
                        folders.append((child.path, below, inner))
                    else:
                        yield LeftOut(below, reason, is_folder=True)
                else:
                    yield from self._file(child, below, inner)
            pending += reversed(folders)
        for path, source in self._links:
            yield self._link(path, source)

    def _file(self, child: os.DirEntry[str], source: str, ignored: Ignored) -> Iterator[Entry]:
        reason = rules.file_reason(child.name) or _ignored(ignored, child.path, is_folder=False)
        if reason is not None:
            yield LeftOut(source, reason)
        elif child.is_symlink():
            self._links.append((child.path, source))
        else:
            yield self._found(child.path, source)

    def _link(self, path: str, source: str) -> Entry:
        """What a link stands for: a file of this folder that was not met itself, as under a hidden name."""
        try:
            target = os.path.realpath(path, strict=True)
            is_folder = stat.S_ISDIR(os.stat(target).st_mode)
        except OSError as error:
            return LeftOut(source, f"it is a link to nothing that can be read: {told(error)}")
        if not f"{target}{os.sep}".startswith(self._root.rstrip(os.sep) + os.sep):
            return LeftOut(source, "it is a link to something outside of the folder")
        if is_folder:
            return LeftOut(source, "it is a link to a folder", is_folder=True)
        if rules.holds_secrets(os.path.basename(target)):
            return LeftOut(source, "it is a link to a file that by its name holds secrets")
        return self._found(target, source)

    def _found(self, path: str, source: str) -> Entry:
        name = source.rpartition("/")[2]
        try:
            info = os.stat(path, follow_symlinks=False)
            reason = self._against(info)
            if reason is None and Path(name).suffix.lower() not in self._extensions and is_binary(_head(path)):
                reason = "it holds no text"
        except OSError as error:
            reason = f"it cannot be read: {told(error)}"
        else:
            if reason is None:
                return FoundFile(path, source, name, info.st_size)
        return LeftOut(source, reason)

    def _against(self, info: os.stat_result) -> str | None:
        """What speaks against reading a file, before it is opened."""
        if not stat.S_ISREG(info.st_mode):
            return "it is no plain file (a pipe, a socket or a device)"
        if not info.st_size:
            return rules.EMPTY
        if info.st_size > self._max_bytes:
            return f"it is larger than the limit of {self._max_bytes / MEBIBYTE:g} MiB"
        return None if self._is_new(info) else "it is read under another name"

    def _is_new(self, info: os.stat_result) -> bool:
        """False for a file or folder that was met before under another name; where the system numbers none, True."""
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
        return False  # looking at it as a file will say why


def _ignored(ignored: Ignored, path: str, *, is_folder: bool) -> str | None:
    return "a .gitignore leaves it out" if ignored.holds(path, is_folder=is_folder) else None


def _head(path: str) -> bytes:
    descriptor = os.open(path, READ_FLAGS | NO_LINKS)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(HEAD_BYTES)
