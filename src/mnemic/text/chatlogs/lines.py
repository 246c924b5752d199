"""JSON lines: pi and OpenClaw sessions, Claude Code sessions, and any `{"role", "content"}` per line."""

from __future__ import annotations

from collections.abc import Iterable

from mnemic.model.item import Role
from mnemic.text.chatlogs.conversation import (
    Json,
    LoggedConversation,
    LogReading,
    as_list,
    as_mapping,
    draft_of,
    role_of,
    text_of,
)

Numbered = Iterable[tuple[int, Json]]


def read_pi(records: Numbered, reading: LogReading, *, include_tools: bool) -> None:
    """A pi or OpenClaw session: a header, then messages; in newer versions a tree of which the last leaf's path
    counts.
    """
    header: Json = {}
    entries: list[tuple[int, Json]] = []
    tree: list[Json] = []
    for number, record in records:
        if record.get("type") == "session":
            header = record
            continue
        tree.append(record)
        if record.get("type") == "message":
            entries.append((number, record))
        else:
            reading.skipped[str(record.get("type", "unknown"))] += 1
    conversation = LoggedConversation(str(header.get("id") or "pi-session"))
    path = _path_to_last_leaf(tree)
    for number, record in entries:
        if path is not None and record.get("id") not in path:
            reading.skipped["other branch"] += 1
            continue
        _add(conversation, reading, number, record, as_mapping(record.get("message")), include_tools=include_tools)
    reading.conversations.append(conversation)


def read_claude_code(records: Numbered, reading: LogReading, *, include_tools: bool) -> None:
    """A Claude Code session: one record per message, several sessions in one file possible."""
    conversations: dict[str, LoggedConversation] = {}
    for number, record in records:
        if record.get("type") not in ("user", "assistant"):
            reading.skipped[str(record.get("type", "unknown"))] += 1
            continue
        name = str(record.get("sessionId") or "claude-code-session")
        conversation = conversations.setdefault(name, LoggedConversation(name))
        _add(conversation, reading, number, record, as_mapping(record.get("message")), include_tools=include_tools)
    reading.conversations.extend(conversations.values())


def read_generic(records: Numbered, reading: LogReading, *, include_tools: bool) -> None:
    """One message per line: role, content (or text), and optionally name, id, time and session under their usual
    names.
    """
    conversations: dict[str, LoggedConversation] = {}
    for number, record in records:
        name = next((str(record[key]) for key in _SESSION_KEYS if record.get(key)), "imported")
        conversation = conversations.setdefault(name, LoggedConversation(name))
        _add(conversation, reading, number, record, record, include_tools=include_tools)
    reading.conversations.extend(conversations.values())


_SESSION_KEYS = ("session", "session_id", "sessionId", "conversation_id", "conversation", "thread_id")
_TIME_KEYS = ("observed_at", "timestamp", "time", "created_at", "create_time", "date")
_ID_KEYS = ("external_id", "id", "uuid", "message_id")


def _add(
    conversation: LoggedConversation,
    reading: LogReading,
    number: int,
    record: Json,
    message: Json,
    *,
    include_tools: bool,
) -> None:
    """Append one message, or count why not."""
    role = role_of(message.get("role", record.get("type")))
    content = message.get("content", message.get("text"))
    results = [as_mapping(part) for part in as_list(content) if as_mapping(part).get("type") == "tool_result"]
    text = text_of(content)  # a result is no text part, so that this is what the user says beside it
    if role is Role.USER and results and not text:
        role, text = Role.TOOL, "\n".join(filter(None, (text_of(result.get("content")) for result in results)))
    if role is None:
        reading.problems.append(f"line {number}: no role that is known: {str(message.get('role'))[:40]!r}")
    elif role is Role.TOOL and not include_tools:
        reading.skipped["tool results"] += 1
    elif not text:
        reading.skipped["messages without text"] += 1
    else:
        when = next((record[key] for key in _TIME_KEYS if record.get(key)), message.get("timestamp"))
        external = next((record[key] for key in _ID_KEYS if record.get(key)), None)
        name = message.get("name") if isinstance(message.get("name"), str) else None
        draft = draft_of(role, text, when=when, external_id=external, place=number, name=name)
        conversation.messages.append(draft)


def _path_to_last_leaf(records: list[Json]) -> set[object] | None:
    """The ids from the last record up to the root, records of every type being nodes; None when they form no tree
    (older versions, or a broken link on the way).
    """
    ids = [record.get("id") for record in records]
    if not all(isinstance(node, str) for node in ids):
        return None
    parents = {str(node): record.get("parentId") for node, record in zip(ids, records, strict=True)}
    path: set[object] = set()
    node: object = ids[-1] if ids else None
    while isinstance(node, str) and node in parents and node not in path:
        path.add(node)
        node = parents[node]
    return path if node is None else None
