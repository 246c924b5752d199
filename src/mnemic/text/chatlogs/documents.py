"""Readers of whole JSON documents (exports of ChatGPT and Claude.ai, ShareGPT, lists of messages) and of JSON lines."""

from collections.abc import Iterable
from dataclasses import dataclass

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


def read_chatgpt(conversations: list[Json], reading: LogReading, *, include_tools: bool) -> None:
    """ChatGPT's `conversations.json`: each conversation is a tree of nodes. The path to `current_node` is read."""
    for number, export in enumerate(conversations, start=1):
        mapping = as_mapping(export.get("mapping"))
        name = str(export.get("id") or export.get("conversation_id") or f"chatgpt-{number}")
        conversation = LoggedConversation(name, str(export.get("title") or ""))
        path = _find_path(mapping, export.get("current_node"))
        reading.skipped["other branch"] += sum(1 for node in mapping if node not in path)
        for place, node in enumerate(path, start=1):
            message = as_mapping(as_mapping(mapping[node]).get("message"))
            if not message:
                continue
            content = as_mapping(message.get("content"))
            text = text_of(content.get("parts")) or text_of(content.get("text"))
            entry = _Entry(
                role=as_mapping(message.get("author")).get("role"),
                text=text,
                when=message.get("create_time"),
                external_id=message.get("id") or node,
            )
            _add(conversation, reading, entry, place, include_tools=include_tools)
        reading.conversations.append(conversation)


def read_claude_ai(conversations: list[Json], reading: LogReading, *, include_tools: bool) -> None:
    """Claude.ai's `conversations.json`: each conversation is a list of messages of a human and an assistant."""
    for number, export in enumerate(conversations, start=1):
        name = str(export.get("uuid") or f"claude-{number}")
        conversation = LoggedConversation(name, str(export.get("name") or ""))
        for place, message in enumerate(map(as_mapping, as_list(export.get("chat_messages"))), start=1):
            entry = _Entry(
                role=message.get("sender"),
                text=text_of(message.get("text")) or text_of(message.get("content")),
                when=message.get("created_at"),
                external_id=message.get("uuid"),
            )
            _add(conversation, reading, entry, place, include_tools=include_tools)
        reading.conversations.append(conversation)


def read_sharegpt(conversations: list[Json], reading: LogReading, *, include_tools: bool) -> None:
    """ShareGPT: conversations of `{"from", "value"}`, without times."""
    for number, export in enumerate(conversations, start=1):
        conversation = LoggedConversation(str(export.get("id") or f"sharegpt-{number}"), str(export.get("title") or ""))
        turns = export.get("conversations", export.get("items"))
        for place, message in enumerate(map(as_mapping, as_list(turns)), start=1):
            entry = _Entry(message.get("from"), text_of(message.get("value")), message.get("timestamp"), None)
            _add(conversation, reading, entry, place, include_tools=include_tools)
        reading.conversations.append(conversation)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One message of an export. Only the text's type is checked."""

    role: object
    text: str
    when: object
    external_id: object
    name: str | None = None


def _add(
    conversation: LoggedConversation,
    reading: LogReading,
    entry: _Entry,
    place: int,
    *,
    include_tools: bool,
    where: str = "",
) -> None:
    """Append one message, or count the reason for skipping it."""
    role = role_of(entry.role)
    if role is None:
        where = where or f"{conversation.session}, message {place}"
        reading.problems.append(f"{where}: no role that is known: {str(entry.role)[:40]!r}")
    elif role is Role.TOOL and not include_tools:
        reading.skipped["tool results"] += 1
    elif not entry.text:
        reading.skipped["messages without text"] += 1
    else:
        given = draft_of(role, entry.text, when=entry.when, external_id=entry.external_id, place=place, name=entry.name)
        conversation.messages.append(given)


def _find_path(mapping: Json, current: object) -> list[str]:
    """Node ids from the root to `current`. All in order if the export has no parents or no current node."""
    parents = {node: as_mapping(entry).get("parent") for node, entry in mapping.items()}
    if not any(parents.values()):
        return list(mapping)
    leaf = current if isinstance(current, str) and current in parents else list(mapping)[-1]
    return _climb(leaf, parents)[0][::-1]


def _climb(leaf: object, parents: Json) -> tuple[list[str], object]:
    """The ids from a leaf up to the root, and the parent of the last of them (None for a root)."""
    path: list[str] = []
    node = leaf
    while isinstance(node, str) and node in parents and node not in path:
        path.append(node)
        node = parents[node]
    return path, node


Numbered = Iterable[tuple[int, Json]]


def read_pi(records: Numbered, reading: LogReading, *, include_tools: bool) -> None:
    """A pi or OpenClaw session: a header, then messages, or a tree whose path to the last leaf is read."""
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
        _add_line(conversation, reading, number, record, as_mapping(record.get("message")), include_tools=include_tools)
    reading.conversations.append(conversation)


def read_claude_code(records: Numbered, reading: LogReading, *, include_tools: bool) -> None:
    """A Claude Code session: one record per message; a file may hold several sessions."""
    conversations: dict[str, LoggedConversation] = {}
    for number, record in records:
        if record.get("type") not in ("user", "assistant"):
            reading.skipped[str(record.get("type", "unknown"))] += 1
            continue
        name = str(record.get("sessionId") or "claude-code-session")
        conversation = conversations.setdefault(name, LoggedConversation(name))
        _add_line(conversation, reading, number, record, as_mapping(record.get("message")), include_tools=include_tools)
    reading.conversations.extend(conversations.values())


def read_generic(records: Numbered, reading: LogReading, *, include_tools: bool) -> None:
    """One message per line: role, content (or text), and optional name, id, time and session."""
    conversations: dict[str, LoggedConversation] = {}
    for number, record in records:
        name = next((str(record[key]) for key in _SESSION_KEYS if record.get(key)), "imported")
        conversation = conversations.setdefault(name, LoggedConversation(name))
        _add_line(conversation, reading, number, record, record, include_tools=include_tools)
    reading.conversations.extend(conversations.values())


_SESSION_KEYS = ("session", "session_id", "sessionId", "conversation_id", "conversation", "thread_id")
_TIME_KEYS = ("observed_at", "timestamp", "time", "created_at", "create_time", "date")
_ID_KEYS = ("external_id", "id", "uuid", "message_id")


def _add_line(
    conversation: LoggedConversation,
    reading: LogReading,
    number: int,
    record: Json,
    message: Json,
    *,
    include_tools: bool,
) -> None:
    """Append one message, or count the reason for skipping it."""
    role = message.get("role", record.get("type"))
    content = message.get("content", message.get("text"))
    results = [as_mapping(part) for part in as_list(content) if as_mapping(part).get("type") == "tool_result"]
    text = text_of(content)  # a result is no text part, so this is the user's own text beside it
    if role_of(role) is Role.USER and results and not text:
        role, text = Role.TOOL.value, "\n".join(filter(None, (text_of(result.get("content")) for result in results)))
    if role_of(role) is None:
        role = message.get("role")  # as the log has it, for the problem
    when = next((record[key] for key in _TIME_KEYS if record.get(key)), message.get("timestamp"))
    external = next((record[key] for key in _ID_KEYS if record.get(key)), None)
    name = message.get("name")
    entry = _Entry(role, text, when, external, name if isinstance(name, str) else None)
    _add(conversation, reading, entry, number, include_tools=include_tools, where=f"line {number}")


def _path_to_last_leaf(records: list[Json]) -> set[str] | None:
    """The ids from the last record up to the root, over records of every type. None if they form no tree (older
    versions, or a broken link on the way).
    """
    ids = [record.get("id") for record in records]
    if not all(isinstance(node, str) for node in ids):
        return None
    parents = {str(node): record.get("parentId") for node, record in zip(ids, records, strict=True)}
    path, above = _climb(ids[-1] if ids else None, parents)
    return set(path) if above is None else None
