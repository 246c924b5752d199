"""The readers' result types and shared helpers: texts of content parts, and times in any program's format."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from mnemic.model.graph import MAX_NAME_CHARS
from mnemic.model.item import MessageDraft, Role, Trust

_MILLISECONDS_FROM = 1e11  # a Unix time above this is in milliseconds: in seconds it would be after the year 5138
_ROLES = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "gpt": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "bot": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "gemini": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "toolresult": Role.TOOL,
    "function": Role.TOOL,
    "bashexecution": Role.TOOL,
    "custom": Role.TOOL,
    "hookmessage": Role.TOOL,
}

Json = Mapping[str, Any]


@dataclass(slots=True)
class LoggedConversation:
    """One conversation of a log, its messages in order. `session`: the log's own name for it."""

    session: str
    title: str = ""
    messages: list[MessageDraft] = field(default_factory=list[MessageDraft])

    def exchanges(self) -> list[list[MessageDraft]]:
        """The messages as turns: each starts with a user's message."""
        turns: list[list[MessageDraft]] = []
        for message in self.messages:
            follows = message.role is not Role.USER and bool(turns)
            if follows:
                turns[-1].append(message)
            else:
                turns.append([message])
        return turns


@dataclass(slots=True)
class LogReading:
    """Conversations; skipped parts counted by kind (results of tools too, unless `include_tools`); unreadable parts."""

    format: str
    conversations: list[LoggedConversation] = field(default_factory=list[LoggedConversation])
    skipped: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])
    include_tools: bool = False


def as_mapping(value: object) -> Json:
    """The value if it is a JSON object, else an empty one."""
    return cast("Json", value) if isinstance(value, Mapping) else {}


def as_list(value: object) -> Sequence[Any]:
    """The value if it is a JSON array, else an empty one."""
    return cast("Sequence[Any]", value) if isinstance(value, list) else []


def text_of(content: object) -> str:
    """The text parts of a content (a text, or a list of parts), joined by newlines and trimmed."""
    if isinstance(content, str):
        return content if content.strip() else ""
    texts: list[str] = []
    for part in as_list(content):
        text = part if isinstance(part, str) else as_mapping(part).get("text")
        is_text = isinstance(part, str) or as_mapping(part).get("type", "text") in ("text", "input_text", "output_text")
        if isinstance(text, str) and is_text:
            texts.append(text)
    return "\n".join(texts).strip()


def time_of(value: object) -> datetime | None:
    """A time given as ISO 8601, Unix seconds or Unix milliseconds; None for anything else."""
    try:
        if isinstance(value, str) and value.strip():
            moment = datetime.fromisoformat(value.strip())
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1e3 if value > _MILLISECONDS_FROM else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def role_of(value: object) -> Role | None:
    """The role of a program's word; None if unknown."""
    return _ROLES.get(str(value).lower()) if isinstance(value, str) else None


def draft_of(
    role: Role, text: str, *, when: object, external_id: object, place: int, name: str | None = None
) -> MessageDraft:
    """A draft of an imported message. A missing id is made from its place and text, for a second import."""
    # 64 bits distinguish the messages of one file
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    known = _name_of(external_id) or f"{place}:{digest}"
    return MessageDraft(
        role=role, text=text, name=_name_of(name), observed_at=time_of(when), external_id=known, trust=Trust.IMPORTED
    )


def _name_of(value: object) -> str | None:
    """A short name or id with lone surrogates replaced; None if there is none."""
    if not isinstance(value, str) or not value:
        return None
    return value.encode("utf-8", "replace").decode()[:MAX_NAME_CHARS]
