"""Reads other programs' chat logs and exports into conversations of message drafts, without I/O."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from mnemic.errors import InvalidInputError
from mnemic.text.chatlogs.conversation import Json, LoggedConversation, LogReading, as_list, as_mapping
from mnemic.text.chatlogs.documents import (
    read_chatgpt,
    read_claude_ai,
    read_claude_code,
    read_codex,
    read_fine_tuning,
    read_gemini,
    read_generic,
    read_pi,
    read_sharegpt,
)

_LINES: dict[str, Callable[..., None]] = {
    "pi": read_pi,
    "claude-code": read_claude_code,
    "codex": read_codex,
    "gemini-cli": read_gemini,
    "fine-tuning": read_fine_tuning,
    "jsonl": read_generic,
}
_DOCUMENTS: dict[str, Callable[..., None]] = {
    "chatgpt": read_chatgpt,
    "claude-ai": read_claude_ai,
    "sharegpt": read_sharegpt,
}
FORMATS = (*_LINES, *_DOCUMENTS)  # format names; without one the format is detected


def read_log(text: str, format_: str | None = None, *, include_tools: bool = False) -> LogReading:
    """The conversations of a log. Tool results are skipped and counted unless `include_tools`. Raises
    `InvalidInputError` if the text has no known format, or not the named one. Broken lines are reported with their
    number; the others are read.
    """
    if format_ is not None and format_ not in FORMATS:
        raise InvalidInputError(f"unknown format {format_!r}; use one of {', '.join(FORMATS)}")
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InvalidInputError("there is nothing to import: the input is empty")
    document = _document(text)
    name = format_ or _format_of_document(document) or _format_of_lines(text)
    reading = LogReading(name, include_tools=include_tools)
    if name in _DOCUMENTS:
        _DOCUMENTS[name](_conversations(document, name), reading)
    else:
        records = _embedded_lines(document, name) or numbered_records(text, reading)
        _LINES[name](records, reading)
    reading.conversations = [c for c in reading.conversations if c.messages]
    return reading


def _document(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _conversations(document: Any, name: str) -> list[Json]:
    found = as_list(document) or as_list(as_mapping(document).get("items")) or ([document] if document else [])
    conversations = [as_mapping(entry) for entry in found]
    if not conversations:
        raise InvalidInputError(f"this is not a {name} export: it is not a single JSON document; is the file complete?")
    return conversations


def _format_of_document(document: Any) -> str | None:
    first = as_mapping(as_list(document)[0]) if as_list(document) else as_mapping(document)
    for name, key in (("chatgpt", "mapping"), ("claude-ai", "chat_messages"), ("sharegpt", "conversations")):
        if key in first:
            return name
    if "loglines" in first:
        return "claude-code"
    if "sessionId" in first and "projectHash" in first:
        return "gemini-cli"
    if as_list(document) and "messages" in first:
        return "fine-tuning"
    return "jsonl" if "messages" in first or (as_list(document) and "role" in first) else None


def _format_of_lines(text: str) -> str:
    for _, record in zip(range(20), (record for _, record in numbered_records(text, LogReading(""))), strict=False):
        if record.get("type") == "session":
            return "pi"
        if record.get("type") in ("user", "assistant") and "message" in record:
            return "claude-code"
        if as_mapping(record.get("payload")) or {"id", "timestamp", "instructions"} <= record.keys():
            return "codex"
        if "sessionId" in record and "projectHash" in record:
            return "gemini-cli"
        if as_list(record.get("messages")) or "preferred_output" in record:
            return "fine-tuning"
        if "role" in record and ("content" in record or "text" in record):
            return "jsonl"
    raise InvalidInputError(
        f"the format is unknown; choose one ({', '.join(FORMATS)}), or use one JSON object with "
        '"role" and "content" per line. A file whose name ends in .md is read as markdown'
    )


def _embedded_lines(document: Any, name: str) -> list[tuple[int, Json]]:
    """Records of formats that are usually lines but came as one document."""
    if document is None:
        return []
    mapping = as_mapping(document)
    if name in ("gemini-cli", "fine-tuning") and mapping:
        return [(1, mapping)]
    entries = as_list(document) or as_list(mapping.get("loglines")) or as_list(mapping.get("messages"))
    return [(number, as_mapping(entry)) for number, entry in enumerate(entries, start=1)]


def numbered_records(text: str, reading: LogReading) -> Iterator[tuple[int, Json]]:
    """The JSON objects in a text's lines, with line numbers. Other lines are reported."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            reading.problems.append(f"line {number}: not JSON: {error}")
            continue
        found = as_mapping(record)
        if found:
            yield number, found
        else:
            reading.problems.append(f"line {number}: not a JSON object")


__all__ = ["FORMATS", "LogReading", "LoggedConversation", "numbered_records", "read_log"]
