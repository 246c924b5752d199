"""Readers of whole JSON documents (exports of ChatGPT and Claude.ai, ShareGPT, lists of messages) and of JSON lines."""

import hashlib
import json
import re
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


def read_chatgpt(conversations: list[Json], reading: LogReading) -> None:
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
            is_call = message.get("recipient") not in (None, "all")  # what the model sends to a tool
            entry = _Entry(
                role=Role.TOOL.value if is_call else as_mapping(message.get("author")).get("role"),
                text=text,
                when=message.get("create_time"),
                external_id=message.get("id") or node,
            )
            _add(conversation, reading, entry, place)
        reading.conversations.append(conversation)


def read_claude_ai(conversations: list[Json], reading: LogReading) -> None:
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
            _add(conversation, reading, entry, place)
        reading.conversations.append(conversation)


def read_sharegpt(conversations: list[Json], reading: LogReading) -> None:
    """ShareGPT: conversations of `{"from", "value"}`, without times."""
    for number, export in enumerate(conversations, start=1):
        conversation = LoggedConversation(str(export.get("id") or f"sharegpt-{number}"), str(export.get("title") or ""))
        turns = export.get("conversations", export.get("items"))
        for place, message in enumerate(map(as_mapping, as_list(turns)), start=1):
            entry = _Entry(message.get("from"), text_of(message.get("value")), message.get("timestamp"), None)
            _add(conversation, reading, entry, place)
        reading.conversations.append(conversation)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One message of an export. Only the text's type is checked."""

    role: object
    text: str
    when: object
    external_id: object
    name: str | None = None


def _add(conversation: LoggedConversation, reading: LogReading, entry: _Entry, place: int, *, where: str = "") -> None:
    """Append one message, or count the reason for skipping it."""
    role = role_of(entry.role)
    if role is None:
        where = where or f"{conversation.session}, message {place}"
        reading.problems.append(f"{where}: no role that is known: {str(entry.role)[:40]!r}")
    elif role is Role.TOOL and not reading.include_tools:
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


def read_pi(records: Numbered, reading: LogReading) -> None:
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
        _add_line(conversation, reading, number, record, as_mapping(record.get("message")))
    reading.conversations.append(conversation)


def read_claude_code(records: Numbered, reading: LogReading) -> None:
    """A Claude Code session: one record per message; a file may hold several sessions."""
    conversations: dict[str, LoggedConversation] = {}
    for number, record in records:
        if record.get("type") not in ("user", "assistant"):
            reading.skipped[str(record.get("type", "unknown"))] += 1
            continue
        name = str(record.get("sessionId") or "claude-code-session")
        conversation = conversations.setdefault(name, LoggedConversation(name))
        _add_line(conversation, reading, number, record, as_mapping(record.get("message")))
    reading.conversations.extend(conversations.values())


def read_generic(records: Numbered, reading: LogReading) -> None:
    """One message per line: role, content (or text), and optional name, id, time and session."""
    conversations: dict[str, LoggedConversation] = {}
    for number, record in records:
        name = next((str(record[key]) for key in _SESSION_KEYS if record.get(key)), "imported")
        conversation = conversations.setdefault(name, LoggedConversation(name))
        _add_line(conversation, reading, number, record, record)
    reading.conversations.extend(conversations.values())


_SESSION_KEYS = ("session", "session_id", "sessionId", "conversation_id", "conversation", "thread_id")
_TIME_KEYS = ("observed_at", "timestamp", "time", "created_at", "create_time", "date")
_ID_KEYS = ("external_id", "id", "uuid", "message_id")


def _add_line(conversation: LoggedConversation, reading: LogReading, number: int, record: Json, message: Json) -> None:
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
    _add(conversation, reading, entry, number, where=f"line {number}")


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


CONTEXT = "instructions that the program added"
_TAG = re.compile(r"<([\w-]{1,40})[^<>]{0,200}>")
_CODEX_RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def read_codex(records: Numbered, reading: LogReading) -> None:
    """A Codex CLI session: a header, then items of the conversation, which older versions wrote without `payload`.
    Turns that the user rolled back are left out.
    """
    conversation, is_named = LoggedConversation("codex-session"), False
    for number, record in records:
        item = as_mapping(record.get("payload")) or record
        kind, role, text = item.get("type"), item.get("role"), text_of(item.get("content")).strip()
        if record.get("type") == "session_meta" or (kind is None and "instructions" in item):
            conversation.session = conversation.session if is_named else str(item.get("id") or "codex-session")
            is_named = True
        elif kind == "thread_rolled_back":
            reading.skipped["rolled back"] += _roll_back(conversation, item.get("num_turns"))
        elif kind == "message" and (role_of(role) is Role.SYSTEM or _is_context(role, text)):
            reading.skipped[CONTEXT] += 1
        elif kind == "message" or kind in _CODEX_RESULTS:
            if kind != "message":
                output = item.get("output")
                role, text = Role.TOOL.value, text_of(output) or text_of(as_mapping(output).get("content"))
            entry = _Entry(role, text, record.get("timestamp"), item.get("id"))
            _add(conversation, reading, entry, number, where=f"line {number}")
        else:
            reading.skipped[str(kind or record.get("type", "unknown"))[:40]] += 1
    reading.conversations.append(conversation)


def _is_context(role: object, text: str) -> bool:
    """True for a user message written by the program: wrapped in one tag, or with the project's AGENTS.md."""
    tag = _TAG.match(text)
    is_wrapped = tag is not None and text.endswith(f"</{tag[1]}>")
    return role_of(role) is Role.USER and (is_wrapped or text.startswith("# AGENTS.md instructions"))


def _roll_back(conversation: LoggedConversation, turns: object) -> int:
    """Remove the last turns. Returns the number of removed messages."""
    before, messages = len(conversation.messages), conversation.messages
    while messages and isinstance(turns, int) and turns > 0:
        turns -= messages.pop().role is Role.USER
    return before - len(messages)


def read_gemini(records: Numbered, reading: LogReading) -> None:
    """A Gemini CLI chat: one document, or a log of changes. A repeated message replaces its earlier version, and a
    rewind removes a message and all later ones.
    """
    session, said = "", dict[str, Json]()
    for number, record in records:
        changes = as_mapping(record.get("$set")) or record
        session = session or str(changes.get("sessionId") or "")
        if isinstance(back := record.get("$rewindTo"), str):
            before = len(said)
            while said and said.popitem()[0] != back:
                pass
            reading.skipped["rolled back"] += before - len(said)
        elif "messages" not in changes and "id" in record:
            said[str(record["id"])] = record
        for place, message in enumerate(map(as_mapping, as_list(changes.get("messages"))), start=1):
            said.setdefault(str(message.get("id") or f"{number}:{place}"), message)
    conversation = LoggedConversation(session or "gemini-session")
    for place, (key, message) in enumerate(said.items(), start=1):
        if role_of(message.get("type")) is None:
            reading.skipped[str(message.get("type", "unknown"))[:40]] += 1
            continue
        when, text = message.get("timestamp"), text_of(message.get("content"))
        if text or not message.get("toolCalls"):
            entry = _Entry(message.get("type"), text, when, key)
            _add(conversation, reading, entry, place)
        for call in map(as_mapping, as_list(message.get("toolCalls"))):
            entry = _Entry(Role.TOOL.value, text_of(call.get("resultDisplay")), when, call.get("id"))
            _add(conversation, reading, entry, place)
    reading.conversations.append(conversation)


def read_fine_tuning(records: Numbered, reading: LogReading) -> None:
    """Training data: one conversation per line, named by a hash of its messages. System prompts are left out."""
    for number, record in records:
        listed = [*as_list(record.get("messages")), *as_list(as_mapping(record.get("input")).get("messages"))]
        listed += as_list(record.get("preferred_output"))
        if not listed:
            reading.problems.append(f"line {number}: no messages")
        digest = hashlib.sha256(json.dumps(listed, sort_keys=True).encode()).hexdigest()[:16]
        conversation = LoggedConversation(f"example-{digest}")
        for place, message in enumerate(map(as_mapping, listed), start=1):
            if role_of(message.get("role")) is Role.SYSTEM:
                reading.skipped["system prompts"] += 1
                continue
            entry = _Entry(message.get("role"), text_of(message.get("content")), None, None)
            where = f"line {number}, message {place}"
            _add(conversation, reading, entry, place, where=where)
        reading.conversations.append(conversation)
