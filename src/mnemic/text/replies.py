"""From what a language model wrote to the items that were asked for, and what of it was refused, and why.

Answers for finding the items and for their shape, which a JSON schema of one item says; `lenient_json` reads, and
values are mended here to fit. What the items mean, and whether they are true, is the caller's affair. Nothing here
trusts the model: no text is evaluated, every text loses its control characters, and length and number have limits.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from mnemic.text.late_pattern import late_pattern
from mnemic.text.lenient_json import Broken, CutList, CutObject, json_values


class Absence(Enum):
    """The type of `MISSING`."""

    MISSING = "missing"


MISSING = Absence.MISSING
"""There is no value, or none that fits."""

_NUMBER = late_pattern(r"\s*([-+]?\d+(?:[.,]\d+)?)\s*(?:(%)|/\s*(\d+))?\s*")
_TRUE, _FALSE = frozenset({"true", "yes"}), frozenset({"false", "no"})
_WORDLESS = late_pattern(r"[\s_\-]+")


def fields_of(given: Mapping[str, object], schema: Mapping[str, object]) -> dict[str, object]:
    """The fields that are properties of the schema, by its names; "Observed At" is `observed_at`. Null is absent."""
    names = {_plain(name): name for name in cast("Mapping[str, object]", schema.get("properties") or {})}
    return {names[_plain(key)]: value for key, value in given.items() if value is not None and _plain(key) in names}


def mended(value: object, schema: Mapping[str, object]) -> object:
    """The value as the schema wants it, else `MISSING`.

    A text loses control characters and outer spaces, and is cut at `maxLength`; a list loses what does not fit and what
    is beyond `maxItems`; a number outside of its range does not fit. Without a type, or with one not known, the value
    is taken as it is.
    """
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in cast("list[object]", kind) if each != "null"), None)
    if kind is None and "enum" in schema:
        kind = "string"
    mend = _MENDERS.get(str(kind))
    return value if mend is None else mend(value, schema)


def clean_text(text: str) -> str:
    """Without control characters (but line feeds and tabs), without what is no character, without outer spaces."""
    kept = (c for c in text.replace("\r\n", "\n") if c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cs"})
    return "".join(kept).strip()


def _text(value: object, schema: Mapping[str, object]) -> object:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return MISSING
    text = clean_text(value if isinstance(value, str) else str(value))
    choices = schema.get("enum")
    if isinstance(choices, list | tuple):
        return _choice(text, cast("Sequence[object]", choices))
    longest = schema.get("maxLength")
    if isinstance(longest, int):
        text = text[:longest].rstrip()
    return text or MISSING


def _choice(text: str, choices: Sequence[object]) -> object:
    wanted = _plain(text)
    return next((choice for choice in choices if isinstance(choice, str) and _plain(choice) == wanted), MISSING)


def _number(value: object, schema: Mapping[str, object]) -> object:
    number = _parsed(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        return MISSING
    least, most = cast("float", schema.get("minimum", -math.inf)), cast("float", schema.get("maximum", math.inf))
    return number if math.isfinite(number) and least <= number <= most else MISSING


def _parsed(text: str) -> float | None:
    """The number that a text is: 0.8, 0,8, 80%, 8/10."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    number = float(found.group(1).replace(",", "."))
    if found.group(2):
        return number / 100
    if found.group(3):
        return number / int(found.group(3)) if int(found.group(3)) else None
    return number


def _whole(value: object, schema: Mapping[str, object]) -> object:
    number = _number(value, schema)
    return int(number) if isinstance(number, int | float) and float(number).is_integer() else MISSING


def _truth(value: object, _schema: Mapping[str, object]) -> object:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    return True if word in {*_TRUE, "1"} else False if word in {*_FALSE, "0"} else MISSING


def _list(value: object, schema: Mapping[str, object]) -> object:
    of_entry = cast("Mapping[str, object]", schema.get("items") or {})
    entries = cast("list[object]", value) if isinstance(value, list) else [value]
    if isinstance(value, str) and "enum" in of_entry:
        entries = [part for part in re.split(r"[,;|]", value) if part.strip()]
    fitting = [fit for entry in entries if entry is not None and (fit := mended(entry, of_entry)) is not MISSING]
    if not fitting and entries and entries != [""]:
        return MISSING
    most = schema.get("maxItems")
    return fitting[:most] if isinstance(most, int) else fitting


def _object(value: object, schema: Mapping[str, object]) -> object:
    if not isinstance(value, dict):
        return MISSING
    properties = cast("Mapping[str, Mapping[str, object]]", schema.get("properties") or {})
    if not properties:
        return cast("object", value)
    given = fields_of(cast("Mapping[str, object]", value), schema)
    fitting = {name: mended(given[name], properties[name]) for name in given}
    required = cast("Sequence[str]", schema.get("required") or ())
    if any(fitting.get(name, MISSING) is MISSING for name in required):
        return MISSING
    return {name: fit for name, fit in fitting.items() if fit is not MISSING}


def _plain(name: str) -> str:
    return _WORDLESS.sub("", name).lower()


_MENDERS: dict[str, Callable[[Any, Mapping[str, object]], object]] = {
    "array": _list,
    "boolean": _truth,
    "integer": _whole,
    "number": _number,
    "object": _object,
    "string": _text,
}


MAX_REPLY_CHARS = 400_000
"""More of a reply is not read."""

MAX_ITEMS = 100
_EXCERPT_CHARS = 160
_NESTING = 3
"""Objects around the list that are looked into: {"result": {"facts": […]}}."""

Schema = Mapping[str, object]
Item = Mapping[str, object]

_THOUGHT = late_pattern(r"\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_START = late_pattern(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_THOUGHT_END = late_pattern(r"</(?:think|thinking|thought|reasoning)>[ \t]*(?:\n|\Z)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that is not among the items: the beginning of what was there, and the reason in words."""

    excerpt: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply holds. `is_answer` False: no item and no empty list either; the model failed, and asking again may
    help. `is_cut`: it ended before its end. `notes`: fields that were left out of items because they could not be
    mended.
    """

    items: tuple[Item, ...] = ()
    refused: tuple[Refused, ...] = ()
    notes: tuple[str, ...] = ()
    is_answer: bool = False
    is_cut: bool = False


def list_schema(item: Schema, key: str = "items", most: int = MAX_ITEMS) -> dict[str, object]:
    """The schema for a prompt that wants a list of items: an object around it, which all servers take."""
    entries = {"type": "array", "items": dict(item), "maxItems": most}
    return {"type": "object", "properties": {key: entries}, "required": [key], "additionalProperties": False}


def read_items(reply: str, schema: Schema, *, most: int = MAX_ITEMS) -> Reading:
    """The items of a reply, in order, each with the properties of `schema` that it has and no others.

    `schema` is that of one item: an object with `properties` and `required`; of the properties count type, enum,
    minimum, maximum, maxLength, items and maxItems. An item that lacks a required property, or has one that cannot be
    mended, is refused; an optional one is left out with a note. Never raises for what a model wrote.
    """
    text = without_thoughts(reply[:MAX_REPLY_CHARS])
    groups = list(_groups(_values(text), schema))
    if not groups:
        return Reading(is_cut=len(reply) > MAX_REPLY_CHARS)
    readings = [_read(group, schema, most) for group in groups]
    return max(enumerate(readings), key=lambda each: (len(each[1].items), each[1].is_answer, each[0]))[1]


def read_item(reply: str, schema: Schema) -> Reading:
    """As `read_items`, for a reply that should be one object: at most one item."""
    return read_items(reply, schema, most=1)


def without_thoughts(reply: str) -> str:
    """The reply without what a reasoning model thought aloud before it; all of it when it never stopped thinking."""
    text = reply
    while (thought := _THOUGHT.match(text)) is not None and thought.end() > 0:
        text = text[thought.end() :]
    if text is reply and (end := _THOUGHT_END.search(text)) and not _THOUGHT_START.search(text, 0, end.start()):
        text = text[end.end() :]  # the opening mark was part of the prompt
    return text


def _values(text: str) -> list[object]:
    """What stands in the text; a text that is one JSON string is opened first."""
    stripped = text.strip()
    if stripped.startswith('"'):
        try:
            inner = json.loads(stripped)
        except (ValueError, RecursionError):
            inner = None
        if isinstance(inner, str):
            stripped = inner
    return list(json_values(stripped))


def _groups(values: Sequence[object], schema: Schema) -> Iterator[list[object]]:
    """Lists of entries, each of which may be what was asked for: lists as such, and all single items together."""
    single: list[object] = []
    for value in values:
        if isinstance(value, list):
            yield cast("list[object]", value)
        elif isinstance(value, dict):
            fields = cast("dict[str, object]", value)
            inner = None if _is_whole_item(fields, schema) else _inside(fields, schema, _NESTING)
            if inner is None:
                single.append(fields)
            else:
                yield inner
    if single:
        yield single


def _is_whole_item(fields: Item, schema: Schema) -> bool:
    return set(_required(schema)) <= set(fields_of(fields, schema))


def _inside(fields: Item, schema: Schema, nesting: int) -> list[object] | None:
    """The list that an object is only the wrapping of: {"facts": […]}, {"1": {…}, "2": {…}}, {"fact": {…}}."""
    values = [value for key, value in fields.items() if not fields_of({key: value}, schema)]
    lists = [cast("list[object]", value) for value in values if isinstance(value, list)]
    if lists:
        return max(lists, key=lambda entries: sum(isinstance(entry, dict) for entry in entries))
    objects = [cast("dict[str, object]", value) for value in values if isinstance(value, dict)]
    items = [inner for inner in objects if fields_of(inner, schema)]
    if items:
        return CutList(items) if isinstance(fields, CutObject) else list[object](items)
    for inner in objects:
        if nesting > 0 and (found := _inside(inner, schema, nesting - 1)) is not None:
            return found
    return None


def _read(group: Sequence[object], schema: Schema, most: int) -> Reading:
    items: list[Item] = []
    refused: list[Refused] = []
    notes: list[str] = []
    for position, entry in enumerate(group, start=1):
        if len(items) >= most:
            refused.append(_refuse(entry, f"more than {most}"))
            continue
        item, reason = _item(entry, schema, f"item {position}", notes)
        if item is None:
            refused.append(_refuse(entry, reason))
        else:
            items.append(item)
    is_cut = isinstance(group, CutList) or any(isinstance(entry, CutObject) for entry in group)
    if isinstance(group, CutList) and not any(isinstance(entry, CutObject) for entry in group):
        refused.append(Refused("", "the list was cut"))
    is_answer = bool(items) or not (group or is_cut)
    return Reading(tuple(items), tuple(refused), tuple(notes), is_answer=is_answer, is_cut=is_cut)


def _item(entry: object, schema: Schema, title: str, notes: list[str]) -> tuple[Item | None, str]:
    """The item that an entry is, or None and the reason."""
    if isinstance(entry, CutObject):
        return None, "it was cut in the middle"
    if isinstance(entry, Broken):
        return None, "it cannot be read"
    if isinstance(entry, str):
        entry = _opened(entry, schema)
    if not isinstance(entry, dict):
        return None, "it is no object"
    given = fields_of(cast("Mapping[str, object]", entry), schema)
    required = _required(schema)
    item: dict[str, object] = {}
    for name, of_property in _properties(schema).items():
        if name not in given:
            if name in required:
                return None, f"{name} is missing"
            continue
        value = mended(given[name], of_property)
        if value is MISSING and name in required:
            return None, f"{name} cannot be {_shown(given[name])}"
        if value is MISSING:
            notes.append(f"{title}: {name} cannot be {_shown(given[name])}, left out")
        else:
            item[name] = value
    return (item, "") if item else (None, "it has none of the fields")


def _opened(entry: str, schema: Schema) -> object:
    """An entry that is a text: JSON within it, else the item whose one required property is a text."""
    inside = next(json_values(entry), None)
    if isinstance(inside, dict):
        return cast("object", inside)
    required = _required(schema)
    is_text = len(required) == 1 and _properties(schema).get(required[0], {}).get("type") == "string"
    return {required[0]: entry} if is_text else entry


def _properties(schema: Schema) -> Mapping[str, Mapping[str, object]]:
    return cast("Mapping[str, Mapping[str, object]]", schema.get("properties") or {})


def _required(schema: Schema) -> Sequence[str]:
    return cast("Sequence[str]", schema.get("required") or ())


def _refuse(entry: object, reason: str) -> Refused:
    return Refused("" if isinstance(entry, Broken) else _shown(entry), reason)


def _shown(value: Any) -> str:
    """The beginning of a value on one line."""
    return " ".join(str(value).split())[:_EXCERPT_CHARS]
