"""Validates callers' input before anything is written, and holds a question with its selection rules and deadline."""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from math import inf
from typing import Any, TypeVar, cast

from mnemic.errors import InvalidInputError, TimedOutError
from mnemic.model import item as nouns
from mnemic.model.bookkeeping import slot_in
from mnemic.model.candidates import DOCUMENT, MESSAGE
from mnemic.model.filter import EVERYTHING, Filter
from mnemic.model.graph import MAX_NAME_CHARS
from mnemic.model.recall import MemoryQuery
from mnemic.model.scope import Level, as_utc, check_unicode
from mnemic.model.settings import Settings
from mnemic.text.normalise import SameTexts

MAX_WHOLE = 2**31 - 1  # the largest 32-bit number, which both databases take
MAX_CATEGORIES = 32  # more are no categories; bounds a row
MAX_METADATA_DEPTH = 32  # levels; keeps every JSON parser within its recursion limit
_CLIENT_FIELDS = ("tool_calls", "tool_call_id", "refusal", "annotations", "audio", "function_call", "type")
"""Fields that clients add to a message. Only the calls of tools are text."""

_MESSAGE_FIELDS = ("role", "content", "text", "name", "observed_at", "external_id", "id", "trust", "metadata")
_CHOICES: Mapping[str, type[StrEnum]] = {"kind": nouns.Kind, "level": Level, "trust": nouns.Trust}
_LEADS_ELSEWHERE = re.compile(r"[/\\?#%]|^\.+$")
_Choice = TypeVar("_Choice", bound=StrEnum)


def check_text(value: object, name: str, settings: Settings) -> str:
    """A non-blank, valid Unicode text within the size limit, unchanged."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be text, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInputError(f"{name} must not be blank")
    if len(value) > settings.max_text_chars:
        raise InvalidInputError(
            f"{name} has {len(value):,} characters; at most {settings.max_text_chars:,} are allowed: "
            "split it, or ingest it as a document"
        )
    return check_unicode(value, name)


def check_choice(kind: type[_Choice], value: object, name: str) -> _Choice:
    """A member of an enumeration, given as itself or as its text."""
    try:
        return kind(value)
    except ValueError as error:
        choices = ", ".join(choice.value for choice in kind)
        raise InvalidInputError(f"{name}={value!r} is not one of {choices}") from error


def check_fraction(value: object, name: str) -> float:
    """A number within 0..1, or for importance one of low, medium and high."""
    if name == "importance" and isinstance(value, str) and value.lower() in nouns.IMPORTANCE_WORDS:
        return nouns.IMPORTANCE_WORDS[value.lower()]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        words = " or one of low, medium, high" if name == "importance" else ""
        raise InvalidInputError(f"{name} must be a number from 0 to 1{words}, not {value!r}")
    return float(value)


def check_metadata(value: object, settings: Settings) -> Mapping[str, object]:
    """A mapping of text keys to JSON values, within the size limit."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"metadata must be a mapping, not {type(value).__name__}")
    if not all(isinstance(key, str) for key in cast("Mapping[object, object]", value)):
        raise InvalidInputError("metadata keys must be text")
    try:
        encoded = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"metadata must be JSON (strings, finite numbers, lists, mappings): {error}") from error
    if _depth(cast("object", value)) > MAX_METADATA_DEPTH:
        raise InvalidInputError(f"metadata is nested more than {MAX_METADATA_DEPTH} levels deep")
    if "\\u0000" in encoded:
        raise InvalidInputError("metadata must not contain NUL characters: not every store can search for them")
    size = len(check_unicode(encoded, "metadata").encode())
    if size > settings.max_metadata_bytes:
        raise InvalidInputError(f"metadata has {size:,} bytes; at most {settings.max_metadata_bytes:,} are allowed")
    return json.loads(encoded)


def _depth(value: object) -> int:
    """Nesting depth of lists and mappings."""
    depth = 0
    level: list[object] = [value]
    while level:
        depth += 1
        inner: list[Iterable[object]] = [
            cast("Mapping[object, object]", each).values() for each in level if isinstance(each, Mapping)
        ]
        inner += [cast("Sequence[object]", each) for each in level if isinstance(each, list | tuple)]
        level = [each for part in inner for each in part]
    return depth - 1


def check_line(value: object, name: str, *, limit: int = MAX_NAME_CHARS) -> str:
    """A short text such as a name, a source or an external id; may be empty."""
    if not isinstance(value, str) or len(value) > limit:
        raise InvalidInputError(f"{name} must be text of at most {limit} characters")
    return check_unicode(value, name)


def check_id(value: object, name: str = "id") -> str:
    """An id to look up, whether it exists or not."""
    return check_line(value, name, limit=MAX_NAME_CHARS)


def check_foreign_id(value: object) -> str:
    """An external id to store. Path and URL syntax is refused: an item's address must not lead elsewhere."""
    checked = check_id(value)
    if not checked.strip():
        raise InvalidInputError("id must not be blank")
    if _LEADS_ELSEWHERE.search(checked):
        raise InvalidInputError("id must not look like a path or part of a URL")
    return checked


def message_drafts(messages: Iterable[object], settings: Settings) -> list[nouns.MessageDraft]:
    """Checked drafts of messages: `MessageDraft`, the chat format `{"role": …, "content": …}`, or the messages and
    responses of OpenAI's and Anthropic's clients as they are.
    """
    if isinstance(messages, str | bytes | Mapping):
        raise InvalidInputError("messages must be a list of messages")
    drafts = [_message_draft(message, settings) for message in messages]
    if not drafts:
        raise InvalidInputError("there are no messages to capture")
    return drafts


def _message_draft(message: object, settings: Settings) -> nouns.MessageDraft:
    if isinstance(message, nouns.MessageDraft):
        fields: Mapping[str, object] = {
            name: getattr(message, name) for name in nouns.MessageDraft.__dataclass_fields__ if name in _MESSAGE_FIELDS
        }
    else:
        fields = cast("Mapping[str, object]", message) if isinstance(message, Mapping) else _read_client(message)
    unknown = [key for key in fields if key not in _MESSAGE_FIELDS and key not in _CLIENT_FIELDS]
    if unknown:
        raise InvalidInputError(f"unknown message field {unknown[0]!r}; use one of {', '.join(_MESSAGE_FIELDS)}")
    name, external = fields.get("name"), fields.get("external_id", fields.get("id"))
    observed, trust = fields.get("observed_at"), fields.get("trust")
    text, is_result = _content(fields.get("text", fields.get("content")), fields.get("tool_calls"))
    draft = nouns.MessageDraft(
        role=nouns.Role.TOOL if is_result else check_choice(nouns.Role, fields.get("role", "user"), "role"),
        text=check_text(text, "text", settings),
        name=None if name is None else check_line(name, "name") or None,
        observed_at=None if observed is None else as_utc(cast("datetime | str", observed), "observed_at"),
        external_id=None if external is None else check_line(external, "external_id") or None,
        trust=None if trust is None else check_choice(nouns.Trust, trust, "trust"),
        metadata=check_metadata(fields.get("metadata") or {}, settings),
    )
    return nouns.noted(draft, message.bookkeeping) if isinstance(message, nouns.NotedDraft) else draft


def _read_client(message: object) -> Mapping[str, object]:
    """The fields of a client's message, or of the first message of its response."""
    choices = _field(message, "choices")
    held: object = choices[0].message if choices else message
    text = _field(held, "output_text")
    if text is None and not hasattr(held, "content"):
        example = '{"role": "user", "content": "…"}'
        raise InvalidInputError(f"a message must be a mapping such as {example}, not {type(message).__name__}")
    content = _field(held, "content") if text is None else text
    return {"role": _field(held, "role") or "assistant", "content": content, "tool_calls": _field(held, "tool_calls")}


def _content(value: object, calls: object) -> tuple[object, bool]:
    """The text of a content, and whether it is the result of a tool, which counts as no user's words. Texts of parts
    and calls of tools are joined by newlines and trimmed. A plain text is unchanged.
    """
    if not isinstance(value, list) and not calls:
        return value, False
    parts = cast("list[object]", value) if isinstance(value, list) else [value or ""]
    results = [part for part in parts if _field(part, "type") == "tool_result"]
    texts = [_part_text(part) for part in (*parts, *cast("Sequence[object]", calls or ()))]
    if any(texts) or not results:
        return "\n".join(filter(None, texts)).strip(), False
    return "\n".join(str(_content(_field(part, "content"), None)[0] or "") for part in results).strip(), True


def _part_text(part: object) -> str:
    called = _field(part, "function") or (part if _field(part, "type") == "tool_use" else None)
    if called is not None:
        given = _field(called, "arguments") or json.dumps(_field(called, "input"), ensure_ascii=False, default=str)
        return f"{_field(called, 'name')}({given})"
    text = part if isinstance(part, str) else _field(part, "text")
    return text if isinstance(text, str) else ""


def _field(holder: object, name: str) -> Any:
    return (
        cast("Mapping[str, object]", holder).get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
    )


def memory_draft(text: object, fields: Mapping[str, object], settings: Settings) -> nouns.MemoryDraft:
    """A checked draft of a memory from the keyword arguments of `remember`."""
    known = [name for name in nouns.MemoryDraft.__dataclass_fields__ if name != "text"]
    unknown = [name for name in fields if name not in known]
    if unknown:
        raise InvalidInputError(f"unknown memory field {unknown[0]!r}; use one of {', '.join(known)}")
    given = {name: value for name, value in fields.items() if value is not None}
    checked: dict[str, Any] = {name: _checked(name, value, settings) for name, value in given.items()}
    draft = nouns.MemoryDraft(text=check_text(text, "text", settings), **checked)
    if draft.valid_from and draft.valid_to and draft.valid_to <= draft.valid_from:
        raise InvalidInputError("valid_to must be later than valid_from")
    return draft


def _checked(name: str, value: object, settings: Settings) -> object:
    if name in _CHOICES:
        return check_choice(_CHOICES[name], value, name)
    if name in ("importance", "confidence"):
        return check_fraction(value, name)
    if name in ("observed_at", "valid_from", "valid_to", "expires_at"):
        return as_utc(cast("datetime | str", value), name)
    if name in ("context", "snippet", "source", "key"):
        return check_line(value, name, limit=MAX_NAME_CHARS if name == "key" else settings.max_text_chars)
    if name in ("is_private", "is_pinned") and not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be true or false, not {value!r}")
    if name == "metadata":
        return check_metadata(value, settings)
    check = {"categories": check_categories, "provenance": _check_provenance}.get(name)
    return value if check is None else check(value)


def _check_provenance(value: object) -> tuple[nouns.Provenance, ...]:
    """Checked spans of sources: ends in order, support from 0 to 1."""
    listed = cast("Sequence[object]", value) if isinstance(value, list | tuple) else None
    if listed is None or not all(isinstance(entry, nouns.Provenance) for entry in listed):
        raise InvalidInputError("provenance must be a list of Provenance objects")
    entries = cast("Sequence[nouns.Provenance]", listed)
    for entry in entries:
        for name in ("source_id", "extractor", "version"):
            check_line(getattr(entry, name), f"{name} of provenance")
        ends: tuple[object, object] = (entry.start, entry.end)
        if not all(type(end) is int for end in ends) or not 0 <= entry.start <= entry.end <= MAX_WHOLE:
            raise InvalidInputError("provenance must have a valid character range: 0 <= start <= end")
        check_fraction(entry.support, "support")
    return tuple(entries)


def check_categories(value: object) -> tuple[str, ...]:
    """Distinct short tags, in the order given."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidInputError("categories must be a list of strings")
    tags = tuple(dict.fromkeys(check_line(tag, "a category", limit=64) for tag in cast("Iterable[object]", value)))
    if len(tags) > MAX_CATEGORIES or not all(tag.strip() for tag in tags):
        raise InvalidInputError(f"at most {MAX_CATEGORIES} categories are allowed, and none may be blank")
    return tags


PAST_STATES = (nouns.State.ACTIVE, nouns.State.SUPERSEDED, nouns.State.ARCHIVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query of recall and its options. `kinds` may hold "message" beside memory kinds; empty means all. Passages
    belong to the kind "document", as do memories of that kind. `passages` False excludes them, True excludes all else.

    `min_similarity`: rank by cosine alone, at least this (inclusive). `min_relevance`: drop hits with a lower
    `Hit.relevance`. `limits` caps hits per level, `max_results` those of user and agent level together.
    `min_importance` applies to user-level memories. `excluded` ids are not shown. `as_of`: what was true then;
    `known_at`: what was known then. `deadline_ms` counts from the start of the call. `rerank` None: rerank if a
    reranker is configured. `diversity`: 0 (score alone) to 1 (dissimilarity alone). `hops`: graph relations to follow;
    0 skips the graph. `room`: stop when the hits fill this many tokens, with long messages shortened. `is_judged`: a
    context stays empty if the question needs no memory. `searched`: the text to search if it differs (see
    `engine.recall_naming`).
    """

    text: str
    limit: int | None = 5
    limits: Mapping[Level, int] = field(default_factory=dict[Level, int])
    max_results: int | None = None
    min_importance: float = 0.0
    levels: tuple[Level, ...] = ()
    kinds: frozenset[str] = frozenset()
    filter: Filter = EVERYTHING
    min_similarity: float | None = None
    min_relevance: float = 0.0
    excluded: frozenset[str] = frozenset()
    as_of: datetime | None = None
    known_at: datetime | None = None
    deadline_ms: float | None = None
    rerank: bool | None = None
    diversity: float = 0.0
    passages: bool | None = None
    hops: int = 0
    room: float = inf
    is_judged: bool = False
    searched: str = ""

    @property
    def search_text(self) -> str:
        """The text to search and embed."""
        return self.searched or self.text

    @property
    def asks_memory(self) -> bool:
        """True if messages or memories may be found."""
        return not self.passages

    @property
    def asks_documents(self) -> bool:
        """True if passages of documents may be found."""
        return self.passages is not False and (not self.kinds or DOCUMENT in self.kinds)

    @property
    def is_about_the_past(self) -> bool:
        """True if it asks about another time than now."""
        return self.as_of is not None or self.known_at is not None

    @property
    def is_conditional(self) -> bool:
        """True if the store must decide which memories may be shown."""
        return self.filter != EVERYTHING or self.is_about_the_past

    def memory_query(self, now: datetime) -> MemoryQuery:
        """The store's query for the admitted memories."""
        return MemoryQuery(
            now=now,
            states=PAST_STATES if self.is_about_the_past else (nouns.State.ACTIVE,),
            kinds=tuple(nouns.Kind(kind) for kind in sorted(self.kinds - {MESSAGE})),
            filter=self.filter,
            as_of=self.as_of,
            known_at=self.known_at,
        )


class Selection:
    """Accepts found items one by one, best first, within the caps."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._room = dict(question.limits)
        self._long_term = question.max_results
        self._told = SameTexts()

    def takes(self, item: nouns.Item, now: datetime) -> bool:
        """True if the item may be shown at `now` and its caps have room. Counts it."""
        level = item.partition.level
        is_long_term = level in (Level.USER, Level.AGENT)
        if not self._admits(item, now) or self._room.get(level, 1) <= 0 or (is_long_term and self._long_term == 0):
            return False
        if self._is_echo(item):
            return False
        if level in self._room:
            self._room[level] -= 1
        if is_long_term and self._long_term is not None:
            self._long_term -= 1
        return True

    def _is_echo(self, item: nouns.Item) -> bool:
        """True for an assistant's message that only repeats an accepted fact."""
        if not isinstance(item, nouns.Message):
            self._told.add(item.text)
            return False
        if item.role is not nouns.Role.ASSISTANT:
            return False
        is_told = item.text in self._told
        self._told.add(item.text)
        return is_told

    def _admits(self, item: nouns.Item, now: datetime) -> bool:
        question = self._question
        if item.id in question.excluded:
            return False
        if not isinstance(item, nouns.Memory):
            return (question.as_of is None or item.observed_at <= question.as_of) and (
                question.known_at is None or item.created_at <= question.known_at
            )
        if item.expires_at is not None and item.expires_at <= now:
            return False
        if item.partition.level is Level.USER and item.importance < question.min_importance:
            return False
        at = question.as_of or now
        # A user's attribute that starts later, such as a home from next year on. Plans are shown.
        is_ahead = item.valid_from is not None and item.valid_from > at and slot_in(item.bookkeeping) is not None
        return question.known_at is not None or ((item.valid_to is None or item.valid_to > at) and not is_ahead)


class Watch:
    """Measures laps in milliseconds and the rest of the deadline, from `start` (a performance counter)."""

    def __init__(
        self, deadline_ms: float | None, start: float | None = None, *, now: Callable[[], float] = time.perf_counter
    ) -> None:
        self.deadline_ms = deadline_ms
        self.laps: dict[str, float] = {}
        self._now = now
        self.start = self._last = now() if start is None else start

    def lap(self, name: str) -> None:
        """Record the time since the last lap as `name`."""
        now = self._now()
        self.laps[name] = (now - self._last) * 1e3
        self._last = now

    def total(self) -> float:
        """Milliseconds since the start, also recorded as "total"."""
        self.laps["total"] = (self._now() - self.start) * 1e3
        return self.laps["total"]

    def left_s(self, reserve_ms: float) -> float | None:
        """Seconds that may be waited, keeping `reserve_ms` (at most a quarter of the deadline) for later steps. Never
        below 0. None without a deadline.
        """
        if self.deadline_ms is None:
            return None
        end_ms = self.deadline_ms - min(reserve_ms, self.deadline_ms / 4)
        return max(self.start + end_ms / 1e3 - self._now(), 0.0)

    def check(self, reserve_ms: float) -> None:
        """Raise `TimedOutError` if `left_s` is 0."""
        if self.left_s(reserve_ms) == 0:
            raise TimedOutError(f"exceeded the deadline of {self.deadline_ms:g} ms")
