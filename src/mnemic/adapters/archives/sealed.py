"""Encrypts backups in chunks with AES-256-GCM (NIST SP 800-38D) as a STREAM (Hoang, Reyhanitabar, Rogaway and Vizár
2015): the nonce counts chunks and marks the last, so that cut, moved or foreign chunks fail. Every part has its own key
(HKDF, RFC 5869), so that no nonce repeats under a key. A part holds one org's rows as JSON lines: `{"table": …,
"columns": […]}`, then a list per row. The part without an org starts with the manifest, so that missing, foreign or
changed parts are detected.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast
from zipfile import ZipFile, ZipInfo

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from mnemic.adapters.archives import parts as manifests
from mnemic.adapters.archives.parts import check_part, member
from mnemic.adapters.stores.sqlite.copying import CopyFile, make_empty
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.backup import LostOrg, Manifest, SealedPart, Sealing
from mnemic.ports.files import DataKey, Keyring, Told
from mnemic.ports.store import SHARED_TABLES, Rows

KEY_BYTES = 32  # of AES-256
_CHUNK_BYTES = 1 << 20  # sealed at once: bounds memory; each chunk adds a tag of 16 bytes
_TAG_BYTES = 16  # GCM's full tag; shorter ones are easier to forge
_COMPRESSION_LEVEL = 1  # zlib's fastest: vectors hardly shrink at any level, texts do at each
_NAME = "mnemic sealed part, format 1"


class PartCipher:
    """Seals and opens one part of one backup. Every chunk is bound to both ids."""

    def __init__(self, secret: bytes, backup: str, part: str) -> None:
        self._bound = f"{_NAME}\x1f{backup}\x1f{part}".encode()
        self._part = part
        self._cipher = AESGCM(HKDF(SHA256(), KEY_BYTES, salt=None, info=self._bound).derive(secret))

    def sealed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The ciphertext of these bytes, in pieces."""
        held, number = bytearray(), 0
        for piece in _deflate(pieces):
            held += piece
            while len(held) > _CHUNK_BYTES:
                yield self._encrypt_chunk(number, bytes(held[:_CHUNK_BYTES]), is_last=False)
                del held[:_CHUNK_BYTES]
                number += 1
        yield self._encrypt_chunk(number, bytes(held), is_last=True)

    def opened(self, source: IO[bytes]) -> Iterator[bytes]:
        """Decrypt a file whose `read(n)` returns n bytes until its end. Each piece is authentic; only the end proves
        that none is missing. Raises `InvalidInputError`.
        """
        unpacker, number = zlib.decompressobj(), 0
        chunk = source.read(_CHUNK_BYTES + _TAG_BYTES)
        while chunk:
            following = source.read(_CHUNK_BYTES + _TAG_BYTES)
            yield from _inflate(unpacker, self._decrypt_chunk(number, chunk, is_last=not following))
            chunk, number = following, number + 1
        if not unpacker.eof:
            raise InvalidInputError(f"part {self._part} is incomplete")

    def _encrypt_chunk(self, number: int, chunk: bytes, *, is_last: bool) -> bytes:
        nonce = _nonce(number, is_last=is_last)
        return self._cipher.encrypt(nonce, chunk, self._bound + nonce)

    def _decrypt_chunk(self, number: int, chunk: bytes, *, is_last: bool) -> bytes:
        nonce = _nonce(number, is_last=is_last)
        try:
            return self._cipher.decrypt(nonce, chunk, self._bound + nonce)
        except InvalidTag as error:
            raise InvalidInputError(f"part {self._part} is damaged or belongs to another backup") from error


def _deflate(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(_COMPRESSION_LEVEL)
    yield from map(packer.compress, pieces)
    yield packer.flush()


def _inflate(
    unpacker: zlib._Decompress,  # pyright: ignore[reportPrivateUsage] -- it has no public name
    packed: bytes,
) -> Iterator[bytes]:
    """Decompress deflated bytes, at most a chunk at a time."""
    piece = unpacker.decompress(packed, _CHUNK_BYTES)
    while piece:
        yield piece
        piece = unpacker.decompress(unpacker.unconsumed_tail, _CHUNK_BYTES)


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11) + bytes([is_last])


_ROWS_AT_ONCE = 500  # bounds the memory of a block with long texts
Block = tuple[str, Sequence[str], Sequence[Sequence[object]]]
"""Rows of a table: (name, columns, rows)."""


def write_parts(
    packed: ZipFile, rows: Rows, keyring: str, keys: Mapping[str | None, DataKey], manifest: Manifest, told: Told
) -> Manifest:
    """Write each org's rows as a part, and last the rows without an org. Returns the manifest with checksums."""
    work = _Writing(packed, rows, secrets.token_hex(16), told, total=rows.count())
    common = [name for name in rows.tables if name in SHARED_TABLES]
    own = [name for name in rows.tables if name not in SHARED_TABLES]
    orgs = sorted((org for org in keys if org is not None), key=lambda org: keys[org].id)
    parts = tuple(work.part(keys[org], work.lines(own, org)) for org in orgs)
    shared = keys[None]
    sealed = replace(manifest, size=work.size, sealed=Sealing(work.backup, keyring, shared.id, parts))
    first = manifests.to_text(sealed).replace("\n", " ").encode() + b"\n"
    work.part(shared, chain([first], work.lines(common, None)))
    return sealed


def open_parts(packed: ZipFile, manifest: Manifest, keyring: Keyring, path: Path, told: Told) -> tuple[LostOrg, ...]:
    """Write all rows with available keys into a store at `path`. Returns the orgs without keys. Raises `ConfigError` if
    this keyring opens nothing, `InvalidInputError` if anything was changed.
    """
    reading = _Reading(packed, manifest, keyring, told)
    make_empty(path, manifest.schema)
    with closing(CopyFile(path)) as copy:
        copy.take(reading.blocks())
    return reading.lost


def check_parts(packed: ZipFile, manifest: Manifest, keyring: Keyring, told: Told) -> tuple[LostOrg, ...]:
    """Like `open_parts`, without writing."""
    reading = _Reading(packed, manifest, keyring, told)
    for _ in reading.blocks():
        pass
    return reading.lost


@dataclass(slots=True)
class _Writing:
    """Writes parts into a file."""

    packed: ZipFile
    rows: Rows
    backup: str
    told: Told
    total: int
    done: int = 0
    size: int = 0

    def part(self, key: DataKey, lines: Iterable[bytes]) -> SealedPart:
        digest, size = hashlib.sha256(), 0
        with self.packed.open(ZipInfo(member(key.id)), "w", force_zip64=True) as file:
            for chunk in PartCipher(key.secret, self.backup, key.id).sealed(lines):
                file.write(chunk)
                digest.update(chunk)
                size += len(chunk)
        return SealedPart(key.id, size, digest.hexdigest())

    def lines(self, tables: Iterable[str], org: str | None) -> Iterator[bytes]:
        """The rows of an org, or of none, as lines."""
        for table in tables:
            rows = self.rows.of(table, org)
            heading: list[object] = [{"table": table, "columns": [*self.rows.tables[table]]}]
            while some := [*islice(rows, _ROWS_AT_ONCE)]:
                lines = "".join(
                    json.dumps(each, ensure_ascii=False, separators=(",", ":"), default=_bytes) + "\n"
                    for each in chain(heading, some)
                ).encode()
                heading = []
                self.done += len(some)
                self.size += len(lines)
                self.told("sealing", self.done, self.total)
                yield lines


class _Reading:
    """Reads parts from a file."""

    def __init__(self, packed: ZipFile, manifest: Manifest, keyring: Keyring, told: Told) -> None:
        if manifest.sealed is None:
            raise InvalidInputError("the backup is not sealed")
        self._packed, self._manifest, self._sealed, self._told = packed, manifest, manifest.sealed, told
        self._keys = keyring.find([self._sealed.shared, *(part.key for part in self._sealed.parts)])
        shared = self._keys.get(self._sealed.shared)
        if shared is None:
            raise ConfigError(
                f"the backup was sealed with the keyring {self._sealed.keyring}, but backup.keyring is "
                f"{keyring.id or 'missing'}; use that keyring or a copy of it"
            )
        self._shared = shared
        self.lost = tuple(
            LostOrg(part.key, None if key is None else key.destroyed_at)
            for part in self._sealed.parts
            if (key := self._keys.get(part.key)) is None or not key.secret
        )

    def blocks(self) -> Iterator[Block]:
        """Blocks of rows, those without an org first."""
        lines = self._lines(self._shared)
        if manifests.from_json(next(lines, None), self._manifest.schema) != self._manifest:
            raise InvalidInputError("the manifest has been modified")
        yield from _blocks(lines)
        self._check_lost()
        for number, part in enumerate(self._sealed.parts):
            key = self._keys.get(part.key)
            if key is not None and key.secret:
                yield from _blocks(self._lines(key))
            self._told("opening", number + 1, len(self._sealed.parts))

    def _check_lost(self) -> None:
        """Unreadable parts must at least have the right checksums."""
        lost = {each.key for each in self.lost}
        for part in self._sealed.parts:
            if part.key in lost:
                check_part(self._packed, part)

    def _lines(self, key: DataKey) -> Iterator[object]:
        cipher = PartCipher(key.secret, self._sealed.id, key.id)
        rest = b""
        with self._packed.open(member(key.id)) as file:
            for piece in cipher.opened(cast("Any", file)):
                *whole, rest = (rest + piece).split(b"\n")
                for line in whole:
                    yield json.loads(line, object_hook=_to_bytes)
        if rest:
            raise InvalidInputError(f"part {key.id} ends in the middle of a row")


def _blocks(lines: Iterable[object]) -> Iterator[Block]:
    table, columns, rows = "", [""], list[Sequence[object]]()
    for line in lines:
        if isinstance(line, list):
            rows.append(cast("list[object]", line))
        elif rows:
            yield table, columns, rows
            rows = []
        if isinstance(line, dict):
            heading = cast("dict[str, Any]", line)
            table, columns = str(heading["table"]), [str(name) for name in heading["columns"]]
        elif len(rows) == _ROWS_AT_ONCE:
            yield table, columns, rows
            rows = []
    if rows:
        yield table, columns, rows


def _bytes(value: object) -> dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(type(value))
    return {"b": base64.b64encode(value).decode()}


def _to_bytes(told: dict[str, Any]) -> object:
    return base64.b64decode(told["b"]) if [*told] == ["b"] else told
