"""Validates a curator's records as gems: repaired if the turns show the right value, else refused with a reason. All
eleven fields are checked for any curator: a model is not trusted. No value is rescaled and no category invented. A
snippet is always found in the turns.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from typing import cast

from mnemic.model.item import IMPORTANCE_WORDS, Gem, Message, Role, turn_range
from mnemic.text.analyser import Analyser
from mnemic.text.narrative import ToldTurn
from mnemic.text.normalise import dedup_key, late_pattern
from mnemic.text.prompts import counted
from mnemic.text.replies import Reading, clean_text, list_schema, object_schema, read_items
from mnemic.text.sentences import sentences
from mnemic.text.wordings import every_wording

MAX_SNIPPET_CHARS = 800  # about 200 tokens: a snippet is a quote, not the conversation
MAX_LINE_CHARS = 300  # two or three sentences
MAX_LINES = 6  # three exchanges
_MARK = "\u2026"
_GAP = late_pattern(r"(?:(?<!\s)\s++)?(?:\[?(?:\u2026|\.\.\.)\]?)\s*")
_QUOTES = "\"'\u201c\u201d\u2018\u2019\u00ab\u00bb"
_EDGE = _QUOTES + ".,;:!?\u3002\uff0c\uff01\uff1f -\u2013\u2014*_"
_TURN_MARK = late_pattern(r"^\s*(?:[-*>]\s+)?(?:\[[^\]\n]{1,40}\]\s*)?")
_LABEL = late_pattern(r"\**([^\s:\uff1a*][^:\uff1a\n*]{0,40}?)\**\s*[:\uff1a]\**\s*")
_ROLES = frozenset({"user", "assistant", "tool", "human", "ai", "bot", "me", "you", "\u7528\u6237", "\u52a9\u624b"})

_analyser = Analyser()


def snippet_of(given: str, about: str, turns: Sequence[ToldTurn]) -> str:
    """A quotation from `turns`, a line "name: words" per message: the given text if it is there. White space and case
    may differ; the result has the stored words. Otherwise the sentences of the turns that share most with `about`, or
    "" if none does.
    """
    messages = [message for turn in turns for message in turn.messages if counted(message).strip()]
    return _find_lines(given[:MAX_SNIPPET_CHARS], messages) or _choose_sentences(about, messages)


def _find_lines(given: str, messages: Sequence[Message]) -> str:
    """The lines of the given text as stored, or "" if one is missing."""
    lines: list[str] = []
    for line in given.splitlines():
        pieces = [piece for piece in _GAP.split(_strip_label(line, messages)) if _bare(piece)]
        if not pieces:
            continue
        quoted = _quoted(pieces, messages)
        if not quoted:
            return ""
        lines.append(quoted)
    return "\n".join(dict.fromkeys(lines))


def _quoted(pieces: Sequence[str], messages: Sequence[Message]) -> str:
    """All pieces of one line, in the words of the one message that holds them."""
    for message in messages:
        spans = [_span(piece, message.text) for piece in pieces]
        if all(spans):
            return f"{message.author}: {f' {_MARK} '.join(spans)}"
    return ""


def _span(piece: str, text: str) -> str:
    """A piece in the words of a text, or ""."""
    for words in (piece.strip().strip(_QUOTES).split(), _bare(piece).split()):
        match = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE)
        if words and match is not None:
            return " ".join(match.group().split())
    return ""


def _bare(piece: str) -> str:
    return piece.strip().strip(_EDGE)


def _strip_label(line: str, messages: Sequence[Message]) -> str:
    """A line without its turn number and without the name before its words."""
    line = line[_TURN_MARK.match(line).end() :]  # pyright: ignore[reportOptionalMemberAccess] -- it matches nothing, too
    label = _LABEL.match(line)
    names = {name.casefold() for message in messages for name in (message.author, message.role.value)}
    if label is not None and label.group(1).strip().casefold() in names | _ROLES:
        return line[label.end() :]
    return line


def _choose_sentences(about: str, messages: Sequence[Message]) -> str:
    """The best sentence of each related message; the user's first if there are too many."""
    wanted = frozenset(_analyser.query_terms(about))
    best = [(_best(wanted, message), place, message) for place, message in enumerate(messages)]
    ranked = sorted(best, key=lambda each: (-(each[0][0] > 0), each[2].role is not Role.USER, -each[0][0], each[1]))
    taken = sorted((each for each in ranked[:MAX_LINES] if each[0][0] > 0), key=lambda each: each[1])
    return "\n".join(f"{message.author}: {line}" for (_, line), _, message in taken)


def _best(wanted: frozenset[str], message: Message) -> tuple[int, str]:
    """The best sentence, and how many of the words it has."""
    text = counted(message)
    found = [(len(wanted.intersection(_analyser.terms(text[a:b]))), text[a:b]) for a, b in sentences(text)]
    shared, line = max(found, key=lambda each: each[0], default=(0, ""))
    line = " ".join(line.split())
    return shared, line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 1].rstrip() + _MARK


MAX_GEMS = 30  # more gems in one reply are refused: a curator who keeps everything selects nothing
MAX_GEM_CHARS = 500  # a few sentences: more is a summary
MAX_CONTEXT_CHARS = 1000  # a paragraph: the context needed to understand the gem
MAX_CATEGORIES = 4  # more say nothing
_SHOWN_CHARS = 60  # of a refused gem, for a line of the log

FIELDS = tuple(field.name for field in fields(Gem))


def known_categories() -> tuple[str, ...]:
    """The categories of gems in every language's prompt."""
    listed = ",".join(every_wording("curator.categories")).split(",")
    return tuple(dict.fromkeys(word.strip().lower() for word in listed if word.strip()))


def reply_schema() -> Mapping[str, object]:
    """The schema for models that support one. The other four fields follow from the turns."""
    item = object_schema(
        gem={"type": "string", "maxLength": MAX_GEM_CHARS},
        context={"type": "string", "maxLength": MAX_CONTEXT_CHARS},
        snippet={"type": "string", "maxLength": 600},
        categories={
            "type": "array",
            "items": {"type": "string", "enum": list(known_categories())},
            "minItems": 1,
            "maxItems": MAX_CATEGORIES,
        },
        importance={"type": "string", "enum": list(IMPORTANCE_WORDS)},
        confidence={"type": "number", "minimum": 0, "maximum": 1},
        source_turns={"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 20},
    )
    return list_schema(item, "gems", MAX_GEMS)


_READ: Mapping[str, object] = {
    "type": "object",
    "properties": {name: dict[str, object]() for name in FIELDS},
    "required": ["gem"],
}
_RANGE = late_pattern(r"\s*(\d{1,9})\s*(?:[-\u2010-\u2015~]\s*(\d{1,9})\s*)?")
_DATE = late_pattern(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Found:
    """A valid gem, and the turns that it was made of."""

    gem: Gem
    turns: tuple[ToldTurn, ...]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A refused gem: its start, the reason, and its turns, if they exist."""

    excerpt: str
    reason: str
    turns: tuple[ToldTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class Gems:
    """A curator's gems. `is_answer` False: asking again may help. `is_cut`: the reply ended too early."""

    found: tuple[Found, ...]
    rejected: tuple[Rejected, ...]
    is_answer: bool
    is_cut: bool = False


class _RefusalError(Exception):
    """Holds the reason for refusing a gem."""


def read_gems(reply: str, turns: Sequence[ToldTurn]) -> Gems:
    """The gems in a reply about the numbered `turns`: JSON, in a fence or not. Never raises."""
    reading: Reading = read_items(reply, _READ, most=MAX_GEMS)
    gems = checked_gems(reading.items, turns)
    refused = () if reading.is_cut else reading.refused
    unread = tuple(Rejected(each.excerpt[:_SHOWN_CHARS], each.reason) for each in refused)
    return replace(gems, rejected=(*gems.rejected, *unread), is_answer=reading.is_answer, is_cut=reading.is_cut)


def checked_gems(
    items: Sequence[Mapping[str, object]], turns: Sequence[ToldTurn], *, needs_reason: bool = True
) -> Gems:
    """The valid gems among some records, with duplicates joined, and the refused ones. `needs_reason` False: the
    context may be empty, since rules cannot invent a reason.
    """
    found: dict[str, Found] = {}
    rejected: list[Rejected] = []
    by_number = {turn.number: turn for turn in turns}
    for item in items:
        try:
            each = _checked(item, by_number, needs_reason=needs_reason)
        except _RefusalError as refusal:
            rejected.append(Rejected(_excerpt(item.get("gem")), str(refusal), _find_turns(item, by_number)))
            continue
        key = dedup_key(each.gem.gem)
        found[key] = join_gems(found[key], each) if key in found else each
    return Gems(tuple(found.values()), tuple(rejected), is_answer=True)


def _checked(item: Mapping[str, object], by_number: Mapping[int, ToldTurn], *, needs_reason: bool) -> Found:
    gem = _sentence(item.get("gem"), "gem", MAX_GEM_CHARS)
    has_context = needs_reason or bool(item.get("context"))
    context = _sentence(item.get("context"), "context", MAX_CONTEXT_CHARS) if has_context else ""
    categories = _categories(item.get("categories"))
    importance = _importance(item.get("importance"))
    confidence = _confidence(item.get("confidence"))
    turns = _turns(item, by_number)
    conversation = _conversation(item.get("conversation_id"), turns)
    own = sorted({turn.turn for turn in turns if turn.conversation_id == conversation})
    moment = _moment(item.get("timestamp"), turns)
    _check_date(item.get("date"))
    snippet = snippet_of(_text(item.get("snippet"), "snippet"), f"{gem} {context}", turns)
    if not snippet:
        raise _RefusalError("the cited turns do not mention the gem")
    return Found(
        Gem(
            gem=gem,
            context=context,
            snippet=snippet,
            categories=categories,
            importance=importance,
            confidence=confidence,
            timestamp=moment.isoformat(timespec="seconds"),
            date=moment.date().isoformat(),
            conversation_id=conversation,
            turn_range=turn_range(own),
            source_turns=tuple(own),
        ),
        turns,
    )


def _text(value: object, name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _RefusalError(f"{name} must be text, not {_excerpt(value)}")
    return clean_text(value)


def _sentence(value: object, name: str, most: int) -> str:
    """A text on one line; a longer one ends with its last whole sentence that fits."""
    text = " ".join(_text(value, name).split())
    if not any(character.isalnum() for character in text):
        raise _RefusalError(f"{name} is missing")
    if len(text) <= most:
        return text
    ends = [end for _, end in sentences(text) if end <= most]
    return text[: ends[-1]] if ends else text[: most - 1].rstrip() + "\u2026"


def _categories(value: object) -> tuple[str, ...]:
    given = value.split(",") if isinstance(value, str) else value
    if given is None or given == []:
        raise _RefusalError("categories are missing")
    if not isinstance(given, list):
        raise _RefusalError(f"categories must be a list, not {_excerpt(cast('object', value))}")
    words = [each.strip().lower() for each in cast("list[object]", given) if isinstance(each, str)]
    known = tuple(dict.fromkeys(word for word in words if word in known_categories()))
    if not known:
        raise _RefusalError(f"none of the categories {_excerpt(value)} is one of {', '.join(known_categories())}")
    return known


def _importance(value: object) -> str:
    if value is None:
        raise _RefusalError("importance is missing")
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in IMPORTANCE_WORDS:
        raise _RefusalError(f"importance must be one of {', '.join(IMPORTANCE_WORDS)}, not {_excerpt(value)}")
    return word


def _confidence(value: object) -> float:
    if value is None:
        raise _RefusalError("confidence is missing")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _RefusalError(f"confidence must be a number, not {_excerpt(value)}")
    if not math.isfinite(value) or not 0 <= value <= 1:
        raise _RefusalError(f"confidence must be from 0 to 1, not {_excerpt(value)}")
    return float(value)


def _turns(item: Mapping[str, object], by_number: Mapping[int, ToldTurn]) -> tuple[ToldTurn, ...]:
    """The turns that it names, by their numbers in the story, in order."""
    listed, ranged = _listed(item.get("source_turns")), _ranged(item.get("turn_range"), max(by_number, default=0))
    if listed is None and ranged is None:
        raise _RefusalError("the gem cites no turns: source_turns and turn_range are missing")
    if listed is not None and ranged is not None and not _agree(listed, ranged):
        raise _RefusalError("turn_range and source_turns refer to different turns")
    numbers = sorted(set(listed if listed is not None else ranged or ()))
    strange = [number for number in numbers if number not in by_number]
    if strange:
        raise _RefusalError(f"turn {strange[0]} does not exist; the turns are 1 to {max(by_number, default=0)}")
    return tuple(by_number[number] for number in numbers)


def _listed(value: object) -> list[int] | None:
    if value is None or value == []:
        return None
    entries = cast("list[object]", value) if isinstance(value, list) else [value]
    if not all(isinstance(entry, int) and not isinstance(entry, bool) for entry in entries):
        raise _RefusalError(f"source_turns must be a list of whole numbers, not {_excerpt(entries)}")
    return cast("list[int]", entries)


def _ranged(value: object, last: int) -> list[int] | None:
    """The turns of "15-16", "15-16,18" or "15", both ends included."""
    if value is None or value == "":
        return None
    numbers: list[int] = []
    for part in str(value).split(","):
        match = None if isinstance(value, bool) else _RANGE.fullmatch(part)
        if match is None:
            raise _RefusalError(f'turn_range must be a range such as "15-16", not {_excerpt(value)}')
        first, end = int(match.group(1)), int(match.group(2) or match.group(1))
        if end < first:
            raise _RefusalError(f"turn_range {_excerpt(value)} ends before it begins")
        if end > last:
            raise _RefusalError(f"turn {end} does not exist; the turns are 1 to {last}")
        numbers += range(first, end + 1)
    return numbers


def _agree(listed: Sequence[int], ranged: Sequence[int]) -> bool:
    """True if a list fits a range, as 15, 16 and 18 fit "15-18": the range gives the first and last turn."""
    return (min(listed), max(listed)) == (min(ranged), max(ranged)) and set(listed) <= set(ranged)


def _conversation(value: object, turns: Sequence[ToldTurn]) -> str:
    """The gem's conversation: that of most of its turns, in a tie the later one."""
    counts: dict[str, int] = {}
    for turn in reversed(turns):
        counts[turn.conversation_id] = counts.get(turn.conversation_id, 0) + 1
    given = _text(value, "conversation_id")
    if given and given not in counts:
        raise _RefusalError(f"conversation_id {_excerpt(given)} is not the conversation of the cited turns")
    return given or max(counts, key=lambda each: counts[each])


def _moment(value: object, turns: Sequence[ToldTurn]) -> datetime:
    """The gem's time: the given one if its turns were then, else that of the last turn."""
    given = _text(value, "timestamp")
    last = turns[-1].said_at
    if not given:
        return last
    try:
        moment = datetime.fromisoformat(given)
        moment = moment.replace(tzinfo=last.tzinfo) if moment.tzinfo is None else moment.astimezone(last.tzinfo)
    except (ValueError, OverflowError) as error:
        raise _RefusalError(f"timestamp must be an ISO 8601 time, not {_excerpt(given)}") from error
    return moment if turns[0].said_at <= moment <= last else last


def _check_date(value: object) -> None:
    """Check that a date is valid. Its value follows from the time."""
    given = _text(value, "date")
    if not given:
        return
    try:
        date.fromisoformat(given if _DATE.fullmatch(given) else "")
    except ValueError as error:
        raise _RefusalError(f"date must look like 2026-05-01, not {_excerpt(given)}") from error


def join_gems(first: Found, second: Found) -> Found:
    """One gem from two that say the same: reasons, categories and turns of both."""
    one, two = first.gem, second.gem
    turns = tuple({turn.number: turn for turn in (*first.turns, *second.turns)}.values())
    of_both = one.conversation_id == two.conversation_id
    own = tuple(sorted({*one.source_turns, *(two.source_turns if of_both else ())}))
    contexts = [one.context] if two.context in one.context else [text for text in (one.context, two.context) if text]
    snippets = [one.snippet] if two.snippet in one.snippet else [one.snippet, two.snippet]
    gem = replace(
        one,
        context=" ".join(contexts),
        snippet="\n".join(snippets),
        categories=tuple(dict.fromkeys((*one.categories, *two.categories))),
        importance=max(one.importance, two.importance, key=lambda word: IMPORTANCE_WORDS[word]),
        confidence=max(one.confidence, two.confidence),
        source_turns=own,
        turn_range=turn_range(own),
    )
    return Found(gem, turns)


def _find_turns(item: Mapping[str, object], by_number: Mapping[int, ToldTurn]) -> tuple[ToldTurn, ...]:
    """The turns of a refused gem, as far as known."""
    try:
        return _turns(item, by_number)
    except _RefusalError:
        return ()


def _excerpt(value: object) -> str:
    """The start of a value on one line."""
    text = value if isinstance(value, str) else str(value)
    line = " ".join(clean_text(text).split())
    return line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + "\u2026"
