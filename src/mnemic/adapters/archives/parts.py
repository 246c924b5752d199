"""What can be told of the parts of a sealed backup without any key."""

from __future__ import annotations

import hashlib
from zipfile import ZipFile

from mnemic.errors import InvalidInputError
from mnemic.model.backup import SealedPart, Sealing
from mnemic.ports.archive import Told

_PIECE_BYTES = 1 << 20


def member(key: str) -> str:
    """The name in the file of the part that a key opens."""
    return f"parts/{key}.sealed"


def check_sums(packed: ZipFile, sealed: Sealing, told: Told) -> None:
    """Every part is what was written, as far as checksums tell. Raises `InvalidInputError`."""
    for number, part in enumerate(sealed.parts):
        check_part(packed, part)
        told("checking", number + 1, len(sealed.parts))
    _sum(packed, sealed.shared)  # whose checksum is that of the zip file alone


def check_part(packed: ZipFile, part: SealedPart) -> None:
    """The same of one part."""
    if _sum(packed, part.key) != (part.sha256, part.size):
        raise InvalidInputError(f"the part {part.key} is not what was written")


def _sum(packed: ZipFile, key: str) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    with packed.open(member(key)) as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
            size += len(piece)
    return digest.hexdigest(), size
