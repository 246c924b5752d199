"""Reads other programs' memories from text: Markdown notes, mem0's exports, and those of `exports`. No I/O."""

import json
from collections.abc import Mapping
from pathlib import PurePath

from mnemic.errors import InvalidInputError
from mnemic.text.memoryfiles.entry import Entry, MemoryReading, Owner
from mnemic.text.memoryfiles.markdown import read_markdown
from mnemic.text.memoryfiles.mem0 import is_mem0_record, read_mem0, records_of

DATABASE_MARK = b"SQLite format 3\x00"  # start of mem0's database, as of every SQLite file
ARCHIVE_MARK = b"PK\x03\x04"  # start of a zip file
_EXPORTS = ("claude-memories", "letta", "zep", "langmem", "mcp-memory")
MEMORY_FORMATS = ("mem0", *_EXPORTS, "markdown")  # for conversations see `mnemic.text.chatlogs.FORMATS`
_SUFFIXES = (".md", ".markdown", ".mdown", ".mkd")
_PROJECT_PAGES = ("readme", "changelog", "contributing", "license", "security", "code_of_conduct")
"""Names of Markdown files that describe a project. Their lines would become false memories of the user."""

_LINES_TRIED = 20  # show the format, though the first ones may be broken
_EXPORT_KEYS = (
    *('"conversations_memory"', '"project_memories"', '"core_memory"', '"blocks"', '"namespace"', '"observations"'),
    *('"relationType"', '"entities"', '"fact"', '"facts"', '"edges"', '"episodes"'),
)
_KEYS = ('"memory"', '"data"', '"memory_id"', '"session_scope"')
"""A text without any of these is not parsed for detection: a chat export may be large."""


def memory_format(text: str, name: str = "") -> str | None:
    """The memory format of a text, or None. `name` is the file's: `.md` is always Markdown."""
    if PurePath(name).suffix.lower() in _SUFFIXES:
        return "markdown"
    start = _unwrap(text.lstrip("\ufeff \t\r\n"))
    if not start.startswith(("{", "[")):
        return None
    if any(key in start for key in _EXPORT_KEYS):
        from mnemic.text.memoryfiles.exports import export_format

        if found := export_format(start):
            return found
    return "mem0" if any(key in start for key in _KEYS) and _is_mem0(start) else None


def read_memories(
    text: str,
    format_: str | None = None,
    *,
    name: str = "",
    owner: Owner | None = None,
    titles: Mapping[str, str] | None = None,
) -> MemoryReading:
    """The memories of a text, in the named or detected format. Broken parts are reported; the others are read. Raises
    `InvalidInputError` for an empty text or another format. Also if it holds memories of several users and none is the
    owner's, or names no users and no format is given. `titles`: names of Claude's projects by id.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InvalidInputError("there is nothing to import: the input is empty")
    found = format_ or memory_format(text, name)
    if format_ is None and PurePath(name).stem.lower() in _PROJECT_PAGES:
        raise InvalidInputError(
            "this file describes a project, not the user; run `mnemic ingest` to search it as a document, or set the "
            "format to markdown to remember each line"
        )
    if found == "markdown":
        return read_markdown(text, name)
    if found in _EXPORTS:
        from mnemic.text.memoryfiles.exports import read_exported

        return read_exported(_unwrap(text), found, name, owner or Owner(), titles)
    return read_mem0(text, name, owner or Owner(), is_named=format_ is not None)


def _unwrap(text: str) -> str:
    """A document that is wrapped in a JSON string, as some versions of Letta do, or the text itself."""
    try:
        inner = json.loads(text) if text.startswith('"{') else text
    except ValueError:
        return text
    return inner if isinstance(inner, str) else text


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


__all__ = [
    "ARCHIVE_MARK",
    "DATABASE_MARK",
    "MEMORY_FORMATS",
    "Entry",
    "MemoryReading",
    "Owner",
    "memory_format",
    "read_memories",
]
