"""Reads the zip archives that ChatGPT and Claude.ai send by email. Only the texts to import are unpacked, in memory,
with the limits of ingestion.
"""

import re
from pathlib import PurePosixPath

from mnemic.adapters.readers.archive import Archive
from mnemic.errors import InvalidInputError
from mnemic.model.document import ReadLimits

_PART = r"(?:conversations|memories|projects)"
_WANTED = re.compile(rf"(?:[^/]+/)*?(?:{_PART}(?:[-_]\d+)?|(?:memories|projects)/[^/]+)\.json", re.IGNORECASE)
_DOCUMENT_PARTS = frozenset({"[Content_Types].xml", "mimetype", "META-INF/container.xml"})
"""Parts that only office documents and e-books have."""


def archive_texts(content: bytes, name: str) -> dict[str, str]:
    """The texts of conversations, memories and projects, by name. Raises `InvalidInputError` for a document and for an
    unsafe or damaged archive.
    """
    archive = Archive(content, name, ReadLimits(), "a zip archive")
    if _DOCUMENT_PARTS & archive.names:
        raise InvalidInputError("this is a document, not a chat export; run `mnemic ingest` to read it")
    for each in archive.names:
        path = PurePosixPath(each.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise InvalidInputError(f"the archive contains the unsafe path {each[:80]!r}, so nothing was read")
    wanted = sorted(each for each in archive.names if _WANTED.fullmatch(each) and not each.startswith("__MACOSX/"))
    return {each: _decode(archive.read(each), each) for each in wanted}


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{name[:80]!r} in the archive is not UTF-8 text") from error
