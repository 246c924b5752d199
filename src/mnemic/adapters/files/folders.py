"""Files of this machine: walks folders without following what leads out of them, and reads whole files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from mnemic.adapters.files import rules
from mnemic.adapters.files.naming import NO_LINKS, READ_FLAGS, clean, told
from mnemic.errors import InvalidInputError, UnavailableError
from mnemic.model.document_text import MEBIBYTE
from mnemic.ports.files import Files, FoundFile, LeftOut, Place

TRIES = 3


class LocalFiles:
    """The files that the user of this process may read."""

    def find(self, path: str) -> Place:
        if "\0" in path or not path or any("\ud800" <= c < "\udc80" or (c > "\udcff" and c <= "\udfff") for c in path):
            raise InvalidInputError("a path is not empty and holds neither NUL nor halves of characters")
        absolute = os.path.abspath(os.path.expanduser(path))
        try:
            real = os.path.realpath(absolute, strict=True)
            mode = os.stat(real).st_mode
        except OSError as error:
            raise InvalidInputError(f"{clean(path)} cannot be read: {told(error)}") from error
        if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            raise InvalidInputError(f"{clean(path)} is neither a file nor a folder")
        return Place(real, clean(absolute).replace(os.sep, "/"), stat.S_ISDIR(mode))

    def walk(self, place: Place, max_bytes: int) -> Iterator[FoundFile | LeftOut]:
        if place.is_folder:
            from mnemic.adapters.files.walking import Walk

            yield from Walk(place, max_bytes).entries()
            return
        name = place.source.rpartition("/")[2]
        if rules.holds_secrets(name) or rules.holds_secrets(os.path.basename(place.path)):
            yield LeftOut(place.source, "by its name it holds secrets")
            return
        yield FoundFile(place.path, place.source, name, _size(place.path))

    def read(self, file: FoundFile, max_bytes: int) -> bytes:
        try:
            for _ in range(TRIES):
                data = _whole(file, max_bytes)
                if data is not None:
                    return data
        except OSError as error:
            raise UnavailableError(f"{file.name} cannot be read: {told(error)}") from error
        raise UnavailableError(f"{file.name} is being written; ingest it again when it rests")


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0  # it is gone; reading it will say so


def _whole(file: FoundFile, max_bytes: int) -> bytes | None:
    """The content; None when it changed meanwhile. Opening a pipe does not wait, and a link is not followed."""
    descriptor = os.open(file.path, READ_FLAGS | NO_LINKS)
    with os.fdopen(descriptor, "rb") as opened:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise UnavailableError(f"{file.name} is no plain file any more")
        data = opened.read(max_bytes + 1)
        after = os.fstat(descriptor)
    if len(data) > max_bytes:
        raise UnavailableError(f"{file.name} is larger than the limit of {max_bytes / MEBIBYTE:g} MiB")
    is_same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return data if is_same and len(data) == after.st_size else None


_fits: type[Files] = LocalFiles
