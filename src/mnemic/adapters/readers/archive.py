"""Opens archives and XML of office files and e-books, with limits on unpacking and without entities."""

import io
import posixpath
import urllib.parse
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Iterator
from typing import NoReturn
from xml.parsers import expat

from mnemic.adapters.readers import refusals
from mnemic.model.document import MEBIBYTE, ReadLimits
from mnemic.ports.files import UnreadableError

RATIO_FLOOR_BYTES = 10 * MEBIBYTE
"""Smaller archives are not checked for their ratio: a blank sheet is a thousand equal rows."""

ENCRYPTED_FLAG = 0x1  # bit 0 of the zip format's general purpose flags
PIECE_BYTES = 1 << 16  # unpacked between two checks of the limit, so that a zip bomb exceeds it by at most this
OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The container of older office files. Modern ones use it when encrypted."""

ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
RELATIONSHIPS = "{http://schemas.openxmlformats.org/package/2006/relationships}"

_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError, KeyError)


class Archive:
    """A zip file in memory. Members are unpacked on request; their total counts against the limits."""

    def __init__(self, data: bytes, name: str, limits: ReadLimits, kind: str) -> None:
        """`kind`: the expected type, for messages. Raises `UnreadableError`."""
        self._name, self._limits, self._kind = name, limits, kind
        self._unpacked = 0
        if data.startswith(OLE_SIGNATURE) and ENCRYPTED_STREAM in data:
            raise refusals.encrypted(name)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            members = self._zip.infolist()
        except _ERRORS as error:
            raise refusals.broken(name, kind, error) from error
        if len(members) > limits.max_members:
            raise refusals.bomb(name, f"it contains {len(members):,} parts")
        if any(member.flag_bits & ENCRYPTED_FLAG for member in members):
            raise refusals.encrypted(name)
        self._count(sum(member.file_size for member in members), len(data))
        self._packed = len(data)
        self.names = frozenset(member.filename for member in members)

    def read(self, member: str) -> bytes:
        """The bytes of a member, unpacked in pieces because its declared size may be wrong."""
        if member not in self.names:
            raise refusals.broken(self._name, self._kind, f"its part {member!r} is missing")
        pieces: list[bytes] = []
        try:
            with self._zip.open(member) as stream:
                while piece := stream.read(PIECE_BYTES):
                    pieces.append(piece)
                    self._unpacked += len(piece)
                    self._count(self._unpacked, self._packed)
        except UnreadableError:
            raise
        except _ERRORS as error:
            raise refusals.broken(self._name, self._kind, error) from error
        return b"".join(pieces)

    def xml(self, member: str) -> ET.Element:
        return ET.fromstring(self.check(member))  # noqa: S314 - it is well-formed and defines no entities

    def check(self, member: str) -> bytes:
        """The bytes of a member, checked to be well-formed XML without its own entities."""
        data = self.read(member)
        try:
            _refuse_entities(data)
        except _EntityError as error:
            raise refusals.bomb(self._name, f"its part {member!r} defines entities") from error
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise refusals.broken(self._name, self._kind, f"its part {member!r}: {error}") from error
        return data

    def related(self, member: str) -> Iterator[tuple[str, str, str]]:
        """For each part that a member (or the archive: "") refers to: id, last word of its type, name."""
        folder, file = posixpath.split(member)
        listing = posixpath.join(folder, "_rels", f"{file}.rels")
        if listing not in self.names:
            return
        for relation in self.xml(listing).iter(f"{RELATIONSHIPS}Relationship"):
            if relation.get("TargetMode") != "External":
                target = urllib.parse.unquote(relation.get("Target", ""))
                place = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
                yield relation.get("Id", ""), relation.get("Type", "").rpartition("/")[2], place

    def part(self, kind: str, member: str = "") -> str | None:
        """The first existing part of a type that a member refers to, None without one."""
        return next((name for _, type_, name in self.related(member) if type_ == kind and name in self.names), None)

    def core_properties(self) -> dict[str, str]:
        """Title, creator and so on of an office file, if present."""
        place = self.part("core-properties")
        if place is None:
            return {}
        return {local(child.tag): (child.text or "").strip() for child in self.xml(place) if child.text}

    def _count(self, unpacked: int, packed: int) -> None:
        if unpacked > self._limits.max_unpacked_bytes:
            raise refusals.bomb(self._name, f"it unpacks to more than {self._limits.max_unpacked_bytes:,} bytes")
        if unpacked > RATIO_FLOOR_BYTES and unpacked > self._limits.max_ratio * packed:
            raise refusals.bomb(self._name, f"it unpacks to more than {self._limits.max_ratio} times its size")


def local(tag: str) -> str:
    """The name of an element without its namespace."""
    return tag.rpartition("}")[2]


class _EntityError(ValueError):
    """The XML defines an entity."""


def _refuse_entities(data: bytes) -> None:
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = _refuse
    parser.Parse(data, True)


def _refuse(*_: object) -> NoReturn:
    raise _EntityError
