"""Reads other programs' memories from text: Markdown notes and mem0's exports. No I/O."""

import json
from pathlib import PurePath

from mnemic.errors import InvalidInputError
from mnemic.text.memoryfiles.entry import Entry, MemoryReading, Owner
from mnemic.text.memoryfiles.markdown import read_markdown
from mnemic.text.memoryfiles.mem0 import is_mem0_record, read_mem0, records_of

DATABASE_MARK = b"SQLite format 3\x00"  # start of mem0's database, as of every SQLite file
MEMORY_FORMATS = ("mem0", "markdown")  # formats of memories; for conversations see `mnemic.text.chatlogs.FORMATS`
_SUFFIXES = (".md", ".markdown", ".mdown", ".mkd")
_LINES_TRIED = 20  # show the format, though the first ones may be broken
_KEYS = ('"memory"', '"data"', '"memory_id"', '"session_scope"')
"""A text without any of these is not parsed for detection: a chat export may be large."""


def memory_format(text: str, name: str = "") -> str | None:
    """The memory format of a text, or None. `name` is the file's: `.md` is always Markdown."""
    if PurePath(name).suffix.lower() in _SUFFIXES:
        return "markdown"
    start = text.lstrip("\ufeff \t\r\n")
    if not start.startswith(("{", "[")) or not any(key in start for key in _KEYS):
        return None
    return "mem0" if _is_mem0(start) else None


def read_memories(
    text: str, format_: str | None = None, *, name: str = "", owner: Owner | None = None
) -> MemoryReading:
    """The memories of a text, in the named or detected format. Broken parts are reported; the others are read. Raises
    `InvalidInputError` for an empty text or another format. Also if it holds memories of several users and none is the
    owner's, or names no users and no format is given.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InvalidInputError("there is nothing to import: the input is empty")
    if (format_ or memory_format(text, name)) == "markdown":
        return read_markdown(text, name)
    return read_mem0(text, name, owner or Owner(), is_named=format_ is not None)


def _is_mem0(text: str) -> bool:
    """Looks at the first record, or at the start of a text that is too long or broken to be parsed whole."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return _is_mem0_begun(text)
    if is_mem0_record(document):
        return True
    return any(is_mem0_record(record) for record in records_of(document)[:_LINES_TRIED])


def _is_mem0_begun(text: str) -> bool:
    decoder = json.JSONDecoder()
    at = 0
    for _ in range(_LINES_TRIED):
        at = text.find("{", at)
        if at < 0:
            return False
        try:
            record, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if is_mem0_record(record):
            return True
    return False


__all__ = ["DATABASE_MARK", "MEMORY_FORMATS", "Entry", "MemoryReading", "Owner", "memory_format", "read_memories"]
