"""Bytes to ciphertext and back, in chunks: what is cut off, moved, or comes from elsewhere does not open.

AES-256-GCM (NIST SP 800-38D) over deflated bytes, as a STREAM (Hoang, Reyhanitabar, Rogaway and Vizár 2015): the nonce
counts the chunks and marks the last one. Every part of every backup has a key of its own (HKDF, RFC 5869), so that no
nonce ever comes twice under one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import IO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from mnemic.errors import InvalidInputError

KEY_BYTES = 32
_CHUNK_BYTES = 1 << 20
_TAG_BYTES = 16
_QUICK = 1
_NAME = "mnemic sealed part, format 1"


class PartCipher:
    """Seals and opens one part of one backup; both names are bound to every chunk."""

    def __init__(self, secret: bytes, backup: str, part: str) -> None:
        self._bound = f"{_NAME}\x1f{backup}\x1f{part}".encode()
        self._part = part
        self._cipher = AESGCM(HKDF(SHA256(), KEY_BYTES, salt=None, info=self._bound).derive(secret))

    def sealed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The ciphertext of these bytes, piece by piece."""
        held, number = bytearray(), 0
        for piece in _deflated(pieces):
            held += piece
            while len(held) > _CHUNK_BYTES:
                yield self._encrypted(number, bytes(held[:_CHUNK_BYTES]), is_last=False)
                del held[:_CHUNK_BYTES]
                number += 1
        yield self._encrypted(number, bytes(held), is_last=True)

    def opened(self, source: IO[bytes]) -> Iterator[bytes]:
        """The inverse, of a file that gives as many bytes as it is asked for. Each piece is authentic when it comes;
        that none is missing is known at the end. Raises `InvalidInputError`.
        """
        unpacker, number = zlib.decompressobj(), 0
        chunk = source.read(_CHUNK_BYTES + _TAG_BYTES)
        while chunk:
            following = source.read(_CHUNK_BYTES + _TAG_BYTES)
            yield from _inflated(unpacker, self._decrypted(number, chunk, is_last=not following))
            chunk, number = following, number + 1
        if not unpacker.eof:
            raise InvalidInputError(f"the part {self._part} ends too early")

    def _encrypted(self, number: int, chunk: bytes, *, is_last: bool) -> bytes:
        nonce = _nonce(number, is_last=is_last)
        return self._cipher.encrypt(nonce, chunk, self._bound + nonce)

    def _decrypted(self, number: int, chunk: bytes, *, is_last: bool) -> bytes:
        nonce = _nonce(number, is_last=is_last)
        try:
            return self._cipher.decrypt(nonce, chunk, self._bound + nonce)
        except InvalidTag as error:
            raise InvalidInputError(f"the part {self._part} is damaged, or of another backup") from error


def _deflated(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(_QUICK)
    yield from map(packer.compress, pieces)
    yield packer.flush()


def _inflated(
    unpacker: zlib._Decompress,  # pyright: ignore[reportPrivateUsage] -- it has no public name
    packed: bytes,
) -> Iterator[bytes]:
    """What deflated bytes hold, never more than a chunk at a time."""
    piece = unpacker.decompress(packed, _CHUNK_BYTES)
    while piece:
        yield piece
        piece = unpacker.decompress(unpacker.unconsumed_tail, _CHUNK_BYTES)


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11) + bytes([is_last])
