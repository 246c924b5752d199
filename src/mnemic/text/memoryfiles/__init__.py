"""Reads memories that other programs keep: files of notes in Markdown, and what mem0 exports; pure, from text to
entries.
"""

import json
from pathlib import PurePath

from mnemic.errors import InvalidInputError
from mnemic.text.memoryfiles.entry import Entry, MemoryReading, Owner
from mnemic.text.memoryfiles.markdown import read_markdown
from mnemic.text.memoryfiles.mem0 import is_mem0_record, read_mem0, records_of

DATABASE_MARK = b"SQLite format 3\x00"
"""How the database of mem0 begins, as every one of SQLite."""

MEMORY_FORMATS = ("mem0", "markdown")
"""The formats of memories; a format of conversations is `mnemic.text.chatlogs.FORMATS`."""

_SUFFIXES = (".md", ".markdown", ".mdown", ".mkd")
_LINES_TRIED = 20  # show the format, though the first ones may be broken
_KEYS = ('"memory"', '"data"', '"memory_id"', '"session_scope"')
"""What has none of these is not parsed to find out: an export of chats may be large."""


def memory_format(text: str, name: str = "") -> str | None:
    """The format of memories that a text is in; None for anything else. `name` is that of its file: what is called
    `.md` is Markdown, whatever it says.
    """
    if PurePath(name).suffix.lower() in _SUFFIXES:
        return "markdown"
    start = text.lstrip("\ufeff \t\r\n")
    if not start.startswith(("{", "[")) or not any(key in start for key in _KEYS):
        return None
    return "mem0" if _is_mem0(start) else None


def read_memories(
    text: str, format_: str | None = None, *, name: str = "", owner: Owner | None = None
) -> MemoryReading:
    """The memories of a text, in the format that is named, else the one that is found out. Broken
    parts are reported in the answer and do not stop the rest.

    Raises `InvalidInputError` when there is nothing in it, when it is not of the format at all, or when it holds
    memories of several users and none of them is the owner, or does not say whose they are and no format is named.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InvalidInputError("there is nothing to import: the input is empty")
    if (format_ or memory_format(text, name)) == "markdown":
        return read_markdown(text, name)
    return read_mem0(text, name, owner or Owner(), is_named=format_ is not None)


def _is_mem0(text: str) -> bool:
    """Looks at the first record; what is too long or too broken to be parsed whole is looked at from its beginning."""
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
