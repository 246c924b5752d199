"""Reads exports of other programs' memories: Claude.ai's `memories.json`, Letta's agent files, Zep and Graphiti,
LangMem's store items, and the graph of the MCP memory server.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from mnemic.errors import InvalidInputError
from mnemic.model.item import Kind, Role
from mnemic.model.scope import Level
from mnemic.text.chatlogs import LoggedConversation, numbered_records
from mnemic.text.chatlogs.conversation import Json, LogReading, as_list, as_mapping, draft_of, role_of, text_of, time_of
from mnemic.text.memoryfiles.entry import MAX_TAG_CHARS, Entry, MemoryReading, Owner
from mnemic.text.memoryfiles.markdown import read_markdown

_BOLD_LINE = re.compile(r"(?m)^\*\*([^*\n]{1,120})\*\*:?[ \t]*$")
_STORED_TEXTS = ("content", "text", "memory", "data")
_LINES_TRIED = 20  # show the format, though the first ones may be broken
_SHOWN = 5  # owners that an error lists


def export_format(text: str) -> str | None:
    """The format of a text, detected from its first records. None if it is unknown."""
    records = _records(text, LogReading(""))[:_LINES_TRIED]
    return next((found for _, record in records if (found := _format_of(record))), None)


def project_titles(text: str) -> dict[str, str]:
    """The names of Claude's projects by id, from a file that lists them."""
    projects = [record for _, record in _records(text, LogReading(""))]
    return {str(each["uuid"]): str(each["name"]) for each in projects if each.get("uuid") and each.get("name")}


def read_exported(
    text: str, format_: str, name: str, owner: Owner, titles: Mapping[str, str] | None = None
) -> MemoryReading:
    """The memories of a text. `titles`: names of Claude's projects by id. Raises `InvalidInputError` for a text without
    records, or with memories of several owners, none of them `owner`.
    """
    log = LogReading(format_)
    reading = MemoryReading(format_, name, problems=log.problems)
    found = [(place, record) for place, record in _records(text, log) if _format_of(record) == format_]
    if not found:
        broken = f" ({reading.problems[0]})" if reading.problems else ""
        raise InvalidInputError(f"the file contains no {format_} memories; is it complete?{broken}")
    _READERS[format_](_Found(reading, found, owner, titles or {}))
    return reading


@dataclass(frozen=True, slots=True)
class _Found:
    """The records of a file, each with its place, and the reading to fill."""

    reading: MemoryReading
    records: Sequence[tuple[str, Json]]
    owner: Owner
    titles: Mapping[str, str] = field(default_factory=dict[str, str])

    def of_owner(self, names_of: Callable[[Json], Sequence[str]]) -> Sequence[tuple[str, Json]]:
        """The owner's records, by the names of each record's owner. All records if they have the same owner."""
        held = {tuple(names_of(record)) for _, record in self.records}
        if len(held) <= 1:
            return self.records
        own = {self.owner.user, self.owner.agent} - {None}
        kept = [(place, record) for place, record in self.records if own.intersection(names_of(record))]
        if not kept:
            listed = ", ".join(sorted("/".join(names) or "no owner" for names in held)[:_SHOWN])
            raise InvalidInputError(
                f"the file contains memories of several owners ({listed}); import it once for each, with the "
                "owner as the user"
            )
        self.reading.skipped["other owners' memories"] += len(self.records) - len(kept)
        return kept

    def add_notes(self, text: object, place: str, **fields: Any) -> None:
        """Add a text in Markdown, an entry for each paragraph and list item. A bold line is a heading."""
        trail = fields.pop("trail", ())
        notes = read_markdown(_BOLD_LINE.sub(r"## \1", text)).entries if isinstance(text, str) else []
        self.reading.entries += [
            replace(entry, place=f"{place}, line {entry.line}", trail=(*trail, *entry.trail), **fields)
            for entry in notes
        ]

    def add(self, text: object, place: str, **fields: Any) -> None:
        """Add one memory, or report that it has no text."""
        if isinstance(text, str) and text.strip():
            self.reading.entries.append(Entry(text=text.strip(), place=place, **fields))
        else:
            self.reading.problems.append(f"{place}: no text")


def _records(text: str, log: LogReading) -> list[tuple[str, Json]]:
    """The objects of a document or of JSON lines, each with its place."""
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError):
        return [(f"line {number}", record) for number, record in numbered_records(text, log)]
    listed = as_list(document) or as_list(as_mapping(document).get("items")) or [document]
    return [(f"record {number}", as_mapping(record)) for number, record in enumerate(listed, start=1)]


def _format_of(record: Json) -> str | None:
    if "conversations_memory" in record or "project_memories" in record:
        return "claude-memories"
    if as_list(record.get("core_memory")) or ("blocks" in record and "agents" in record):
        return "letta"
    if "namespace" in record and "key" in record and "value" in record:
        return "langmem"
    if "observations" in record or "relationType" in record or ("entities" in record and "relations" in record):
        return "mcp-memory"
    is_zep = any(as_list(record.get(part)) for part in ("edges", "facts", "episodes"))
    return "zep" if is_zep or isinstance(record.get("fact"), str) else None


def _read_claude(found: _Found) -> None:
    for _, record in found.records:
        found.add_notes(record.get("conversations_memory"), "conversations")
        for project, text in as_mapping(record.get("project_memories")).items():
            title = found.titles.get(project, project)
            found.add_notes(text, f"project {title}"[:200], trail=(title,))
        found.reading.skipped["memory files"] += len(as_list(record.get("memory_files")))


def _read_letta(found: _Found) -> None:
    for _, record in found.records:
        agents = [*map(as_mapping, as_list(record.get("agents")))] or [record]
        for block in map(as_mapping, [*as_list(record.get("core_memory")), *as_list(record.get("blocks"))]):
            label = str(block.get("label") or "block")[:MAX_TAG_CHARS]
            is_persona = label == "persona"
            kind: dict[str, Any] = {"kind": Kind.PERSONA, "level": Level.AGENT} if is_persona else {}
            found.add_notes(block.get("value"), f"block {label}", trail=() if label == "human" else (label,), **kind)
        for agent in agents:
            conversation = LoggedConversation(f"letta-{agent.get('name') or 'agent'}")
            for place, message in enumerate(map(as_mapping, as_list(agent.get("messages"))), start=1):
                _add_letta_message(conversation, message, place, found.reading)
            found.reading.conversations += [conversation] if conversation.messages else []


def _add_letta_message(conversation: LoggedConversation, message: Json, place: int, reading: MemoryReading) -> None:
    """Append a user's or assistant's message. The user's text is JSON, and older agents answer with a tool."""
    role, text = role_of(message.get("role")), text_of(message.get("content")) or text_of(message.get("text"))
    calls = [as_mapping(as_mapping(call).get("function")) for call in as_list(message.get("tool_calls"))]
    if role is Role.USER and (packed := _parse(text)):
        text = text_of(packed.get("message")) if packed.get("type") == "user_message" else ""
    elif role is Role.ASSISTANT and calls:
        spoken = [_parse(call.get("arguments")) for call in calls if call.get("name") == "send_message"]
        text = "\n".join(text_of(each.get("message")) for each in spoken)
    if role is None or role in (Role.SYSTEM, Role.TOOL) or not text:
        reading.skipped["prompts, thoughts, tool results and events"] += 1
    else:
        when = message.get("created_at")
        conversation.messages.append(draft_of(role, text, when=when, external_id=None, place=place))


def _parse(text: object) -> Json:
    """The JSON object in a text, or an empty one."""
    try:
        return as_mapping(json.loads(text)) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}


def _read_zep(found: _Found) -> None:
    for place, record in found.of_owner(_zep_owner):
        facts = [record] if "fact" in record else [*as_list(record.get("edges")), *as_list(record.get("facts"))]
        for fact in facts:
            edge = as_mapping(fact) or {"fact": fact}
            origin = str(edge.get("uuid") or "")
            times = {"observed_at": time_of(edge.get("created_at")), "valid_from": time_of(edge.get("valid_at"))}
            ends = time_of(edge.get("invalid_at")) or time_of(edge.get("expired_at"))
            starts = times["valid_from"] or times["observed_at"] or datetime.min.replace(tzinfo=UTC)
            ends = None if ends is not None and ends <= starts else ends
            where = f"{place}, fact {origin}" if origin else place
            found.add(edge.get("fact"), where, origin=origin, valid_to=ends, **times)
        for node in map(as_mapping, as_list(record.get("nodes"))):
            if isinstance(node.get("summary"), str) and node["summary"].strip():
                when, trail = time_of(node.get("created_at")), (str(node.get("name") or "entity"),)
                origin = str(node.get("uuid") or "")
                found.add(node["summary"], f"{place}, entity {origin}", origin=origin, observed_at=when, trail=trail)
        episodes = [*as_list(record.get("episodes")), *as_list(record.get("messages"))]
        _add_episodes(found.reading, map(as_mapping, episodes))


def _zep_owner(record: Json) -> Sequence[str]:
    return [str(record[key]) for key in ("user_id", "group_id") if record.get(key)][:1]


def _add_episodes(reading: MemoryReading, episodes: Any) -> None:
    """Add messages to the conversations of their threads."""
    conversations = dict[str, LoggedConversation]()
    for place, episode in enumerate(episodes, start=1):
        role = role_of(episode.get("role_type")) or role_of(episode.get("role"))
        text = text_of(episode.get("content"))
        if role is None or not text:
            reading.skipped["episodes that are not messages"] += 1
            continue
        name = str(episode.get("thread_id") or episode.get("session_id") or "zep")
        draft = draft_of(role, text, when=episode.get("created_at"), external_id=episode.get("uuid"), place=place)
        conversations.setdefault(name, LoggedConversation(name)).messages.append(draft)
    reading.conversations += conversations.values()


def _read_langmem(found: _Found) -> None:
    for place, record in found.of_owner(lambda record: [str(part) for part in as_list(record.get("namespace"))]):
        when = time_of(record.get("created_at")) or time_of(record.get("updated_at"))
        key = str(record.get("key") or "")
        found.add(_stored_text(as_mapping(record.get("value"))), f"{place}, item {key}", origin=key, observed_at=when)


def _stored_text(value: Json) -> str:
    """The text of a store item: its content, a triple as a sentence, or its fields, one per line."""
    for key in _STORED_TEXTS:
        content = value.get(key)
        if isinstance(content, str):
            return content
        if as_mapping(content):
            return _stored_text(as_mapping(content))
    if {"subject", "predicate", "object"} <= value.keys():
        return " ".join(str(value[part]) for part in ("subject", "predicate", "object"))
    plain = {key: text for key, text in value.items() if isinstance(text, str | int | float) and text != ""}
    return "\n".join(f"{key}: {text}" for key, text in plain.items())


def _read_mcp(found: _Found) -> None:
    for place, record in found.records:
        for entity in [*as_list(record.get("entities")), *([record] if "observations" in record else [])]:
            name, type_ = str(as_mapping(entity).get("name") or ""), as_mapping(entity).get("entityType")
            tags = (type_,) if isinstance(type_, str) and 0 < len(type_.strip()) <= MAX_TAG_CHARS else ()
            observations = as_list(as_mapping(entity).get("observations"))
            found.reading.skipped["empty entities"] += not observations
            for observation in observations:
                found.add(observation, f"{place}, {name[:MAX_TAG_CHARS]}", trail=(name,), categories=tags)
        for relation in [*as_list(record.get("relations")), *([record] if "relationType" in record else [])]:
            parts = [as_mapping(relation).get(part) for part in ("from", "relationType", "to")]
            told = " ".join(str(part).replace("_", " ") for part in parts if part)
            found.add(told if all(parts) else None, place, categories=("relation",))


_READERS: Mapping[str, Callable[[_Found], None]] = {
    "claude-memories": _read_claude,
    "letta": _read_letta,
    "zep": _read_zep,
    "langmem": _read_langmem,
    "mcp-memory": _read_mcp,
}
