"""Takes in whatever another program, or Mnemic itself, has written: finds out what it is, and hands it on."""

from __future__ import annotations

from dataclasses import dataclass

from mnemic.engine.exchange.export import FORMAT as EXPORT_FORMAT
from mnemic.engine.exchange.import_logs import ImportReport, Progress, import_logs
from mnemic.engine.exchange.import_memories import import_memories
from mnemic.engine.exchange.restore_export import is_export, restore_export
from mnemic.engine.inputs import check_line
from mnemic.engine.parts import Parts
from mnemic.errors import InvalidInputError
from mnemic.model.scope import Scope
from mnemic.text.chatlogs import FORMATS, read_log
from mnemic.text.memoryfiles import DATABASE_MARK, MEMORY_FORMATS, Owner, memory_format, read_memories

ALL_FORMATS = (EXPORT_FORMAT, *FORMATS, *MEMORY_FORMATS)
"""Every format that can be named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """How a content is taken in: `format` None finds it out, `name` is that of its file."""

    format: str | None = None
    name: str = ""
    is_dry_run: bool = False
    include_tools: bool = False
    progress: Progress | None = None


def import_content(
    parts: Parts, scope: Scope, content: str | bytes, request: ImportRequest, *, actor: str
) -> ImportReport:
    """Take in a text, or bytes: UTF-8, or the history database of mem0. Broken parts are reported, not raised.

    Raises `InvalidInputError` for a format that is not known, bytes that are neither, or a name that cannot be one.
    """
    format_, name = request.format, check_line(request.name, "name")
    if format_ is not None and format_ not in ALL_FORMATS:
        raise InvalidInputError(f"format {format_!r} is not known; there are {', '.join(ALL_FORMATS)}")
    is_dry_run, progress = request.is_dry_run, request.progress
    text = content if isinstance(content, str) else _text(parts, content)
    if format_ == EXPORT_FORMAT or (format_ is None and is_export(text)):
        return restore_export(parts, scope, text.split("\n"), is_dry_run=is_dry_run, progress=progress)
    if format_ in MEMORY_FORMATS or (format_ is None and memory_format(text, name)):
        reading = read_memories(text, format_, name=name, owner=Owner(scope.user, scope.agent))
        return import_memories(parts, scope, reading, actor=actor, is_dry_run=is_dry_run, progress=progress)
    logged = read_log(text, format_, include_tools=request.include_tools)
    return import_logs(parts, scope, logged, is_dry_run=is_dry_run, progress=progress)


def _text(parts: Parts, content: bytes) -> str:
    if content.startswith(DATABASE_MARK) and parts.database_lines is not None:
        return parts.database_lines(content)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInputError(f"the content is not UTF-8 text (line {line}); save it as UTF-8") from error
