"""Reads JSON from language models' replies, and extracts the requested items.

Valid JSON objects and arrays are read by the standard. Also tolerated: prose around, trailing and missing commas, line
comments, other quotes, bare keys, line breaks inside texts, Python's literals, NaN (as null). Nothing is evaluated or
invented: an object that ends inside a value is a `CutObject`. A JSON schema defines an item; values are repaired to fit
it. Texts lose control characters, and length and number are limited.
"""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from mnemic.text.normalise import late_pattern

MAX_DEPTH = 40  # levels; bounds recursion if a model repeats brackets

_SPACE = re.compile(r"(?:\s++|//[^\n]*+)*+")
_JSON_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"-?[A-Za-z_][\w-]*")
_WORDS = {"true": True, "false": False, "null": None, "none": None, "nan": None, "infinity": None, "-infinity": None}
_QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "‘": "’"}
_STOPS = {closing: re.compile(f"[\\\\{closing}]") for closing in _QUOTES.values()}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_UNICODE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
_TEXT_ENDS = re.compile(
    r"\Z|[}\]]|//"
    r"|,\s*+(?:\Z|[\"'“„‘{\[}\]\d+\-]|(?i:true|false|null|none|nan|infinity)\b|[A-Za-z_]\w*+\s*+:|//)"
)
"""What follows a closing quote. Any other quote belongs to the text: models forget to escape them."""

_NEXT_FIELD = re.compile(r"[\"'][^\"'\n]{1,60}[\"']\s*+:")  # what follows on a new line if a comma is missing
_LONGEST_WHOLE = 18  # maximum digits of a number read as an integer


class CutObject(dict[str, object]):
    """An object in which the text ended, with its complete fields."""


class CutList(list[object]):
    """A list in which the text ended, with its complete entries; the last one may be cut itself."""


class Broken:
    """Placeholder for an unreadable entry of a list."""


class _BrokenError(Exception):
    """Reading cannot continue from `place`."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


class _CutError(Exception):
    """The text ended inside a value without a complete part."""


def json_values(text: str) -> Iterator[object]:
    """The outermost objects and lists of a text, in order: dicts and lists, or `CutObject`, `CutList` and `Broken` if
    damaged. Time is linear in the length of the text.
    """
    reader = _Reader(text)
    place, patience = 0, 4 * len(text) + 1000
    while patience > 0 and (start := reader.next_start(place)) >= 0:
        try:
            value, place = reader.value(start, 0)
        except _BrokenError as error:
            patience -= error.place - start
            place = start + 1
        except _CutError:
            return
        else:
            yield value


class _Reader:
    """Reads values of one text. Each method takes a place and returns the value and the place after it."""

    _start = re.compile(r"[{\[]")
    _junk = re.compile(r"[^\[\]{}\"'“„‘,]+|[\[{]+")

    def __init__(self, text: str) -> None:
        self._text = text

    def next_start(self, place: int) -> int:
        found = self._start.search(self._text, place)
        return found.start() if found else -1

    def value(self, place: int, depth: int) -> tuple[object, int]:
        place = self._space(place)
        if place >= len(self._text):
            raise _CutError
        sign = self._text[place]
        if depth > MAX_DEPTH:
            raise _BrokenError(place)
        if sign == "{":
            return self._object(place + 1, depth)
        if sign == "[":
            return self._list(place + 1, depth)
        if sign in _QUOTES:
            return self._quoted(place, self._is_behind_text)
        return self._bare(place)

    def _object(self, place: int, depth: int) -> tuple[dict[str, object], int]:
        fields: dict[str, object] = {}
        while True:
            place, sign = self._next_sign(place)
            if sign == "}":
                return fields, place + 1
            if not sign:  # it ended between two fields: only the bracket is missing
                return fields or CutObject(), place
            try:
                key, place = self._key(place)
                value, place = self.value(place, depth + 1)
            except _CutError:
                return CutObject(fields), len(self._text)
            fields[key] = value
            if isinstance(value, CutObject | CutList):
                return CutObject(fields), place

    def _key(self, place: int) -> tuple[str, int]:
        if self._text[place] in _QUOTES:
            key, place = self._quoted(place, self._is_behind_key)
        else:
            word = _WORD.match(self._text, place)
            if word is None:
                raise _BrokenError(place)
            key, place = word.group(), word.end()
        place = self._space(place)
        if place >= len(self._text):
            raise _CutError
        if self._text[place] != ":":
            raise _BrokenError(place)
        return key, place + 1

    def _list(self, place: int, depth: int) -> tuple[list[object], int]:
        entries: list[object] = []
        has_words = False
        while True:
            place, sign = self._next_sign(place)
            if sign in {"]", ""} and has_words and not entries:
                raise _BrokenError(place)  # words in brackets, no list
            if sign == "]":
                return entries, place + 1
            if not sign:
                return CutList(entries), place
            try:
                entry, place = self.value(place, depth + 1)
            except _CutError:
                return CutList(entries), len(self._text)
            except _BrokenError as error:
                has_words = True
                place = self._behind_broken(error.place, sign, entries)
            else:
                entries.append(entry)

    def _behind_broken(self, place: int, sign: str, entries: list[object]) -> int:
        """The place to continue a list after an unreadable part. A broken object counts as an entry, words do not."""
        if sign != "{":
            junk = self._junk.match(self._text, place)
            return junk.end() if junk else place + 1
        entries.append(Broken())
        end = self._text.find("}", place)
        return len(self._text) if end < 0 else end + 1

    def _next_sign(self, place: int) -> tuple[int, str]:
        """The next character except spaces and commas; empty at the end."""
        place = self._space(place)
        while self._text.startswith(",", place):
            place = self._space(place + 1)
        return place, self._text[place : place + 1]

    def _quoted(self, place: int, is_end: Callable[[int], bool]) -> tuple[str, int]:
        closing = _QUOTES[self._text[place]]
        stop = _STOPS[closing]
        parts: list[str] = []
        place += 1
        while (found := stop.search(self._text, place)) is not None:
            parts.append(self._text[place : found.start()])
            place = found.end()
            if found.group() != closing:
                part, place = self._escape(found.start())
                parts.append(part)
            elif is_end(place):
                return "".join(parts), place
            else:
                parts.append(closing)
        raise _CutError

    def _is_behind_key(self, place: int) -> bool:
        after = self._space(place)
        if after < len(self._text) and self._text[after] != ":":
            raise _BrokenError(place)
        return True

    def _is_behind_text(self, place: int) -> bool:
        after = self._space(place)
        if _TEXT_ENDS.match(self._text, after):
            return True
        return "\n" in self._text[place:after] and _NEXT_FIELD.match(self._text, after) is not None

    def _escape(self, place: int) -> tuple[str, int]:
        """The characters of an escape; an unknown escape is kept."""
        units = _UNICODE.match(self._text, place)
        if units is not None:
            return bytes.fromhex(units.group().replace("\\u", "")).decode("utf-16-be", "replace"), units.end()
        sign = self._text[place + 1 : place + 2]
        return (_ESCAPES[sign], place + 2) if sign in _ESCAPES else ("\\", place + 1)

    def _bare(self, place: int) -> tuple[object, int]:
        number = _JSON_NUMBER.match(self._text, place)
        if number is not None:
            if number.end() >= len(self._text):
                raise _CutError  # the next digit may be missing
            return _read_number(number.group()), number.end()
        word = _WORD.match(self._text, place)
        if word is None or word.group().lower() not in _WORDS:
            if word is not None and word.end() >= len(self._text):
                raise _CutError
            raise _BrokenError(place)
        return _WORDS[word.group().lower()], word.end()

    def _space(self, place: int) -> int:
        found = _SPACE.match(self._text, place)
        return found.end() if found else place  # it always matches, even the empty string


def _read_number(written: str) -> object:
    if written.lstrip("+-").isdigit() and len(written) <= _LONGEST_WHOLE:
        return int(written)
    value = float(written)
    return value if abs(value) != float("inf") else None


class Absence(Enum):
    """The type of `MISSING`."""

    MISSING = "missing"


MISSING = Absence.MISSING  # no value, or none that fits
_NUMBER = late_pattern(r"\s*([-+]?\d+(?:[.,]\d+)?)\s*(?:(%)|/\s*(\d+))?\s*")
_TRUE, _FALSE = frozenset({"true", "yes"}), frozenset({"false", "no"})
_WORDLESS = late_pattern(r"[\s_\-]+")


def fields_of(given: Mapping[str, object], schema: Mapping[str, object]) -> dict[str, object]:
    """The fields that the schema names; "Observed At" is `observed_at`. Null is absent."""
    names = {_plain(name): name for name in cast("Mapping[str, object]", schema.get("properties") or {})}
    return {names[_plain(key)]: value for key, value in given.items() if value is not None and _plain(key) in names}


def mended(value: object, schema: Mapping[str, object]) -> object:
    """The value repaired to fit the schema, else `MISSING`. A text loses control characters and outer spaces, and is
    cut at `maxLength`. A list loses entries that do not fit or exceed `maxItems`. A number out of range does not fit.
    Without a known type the value is unchanged.
    """
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in cast("list[object]", kind) if each != "null"), None)
    if kind is None and "enum" in schema:
        kind = "string"
    mend = _MENDERS.get(str(kind))
    return value if mend is None else mend(value, schema)


def clean_text(text: str) -> str:
    """A text without control characters (except line feeds and tabs), invalid characters and outer spaces."""
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
    """The number in a text: 0.8, 0,8, 80%, 8/10."""
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


MAX_REPLY_CHARS = 400_000  # more of a reply is not read
MAX_ITEMS = 100  # of one list: a model that repeats itself ends there
_EXCERPT_CHARS = 160  # of a refused item, for a line of the log
_NESTING = 3  # levels of objects around the list to look into: {"result": {"facts": […]}}
Schema = Mapping[str, object]
Item = Mapping[str, object]

_THOUGHT = late_pattern(r"\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_START = late_pattern(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_THOUGHT_END = late_pattern(r"</(?:think|thinking|thought|reasoning)>[ \t]*(?:\n|\Z)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused part of a reply: its start, and the reason in words."""

    excerpt: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A reply's items. `is_answer` False: neither an item nor an empty list; the model failed, and asking again may
    help. `is_cut`: the reply was truncated. `notes`: fields dropped because they could not be repaired.
    """

    items: tuple[Item, ...] = ()
    refused: tuple[Refused, ...] = ()
    notes: tuple[str, ...] = ()
    is_answer: bool = False
    is_cut: bool = False


def object_schema(**properties: Mapping[str, object]) -> dict[str, object]:
    """The schema of an object with each of these properties."""
    return {"type": "object", "properties": properties, "required": [*properties]}


def list_schema(item: Schema, key: str = "items", most: int = MAX_ITEMS) -> dict[str, object]:
    """The prompt schema for a list of items: an object around it, which all servers accept."""
    entries = {"type": "array", "items": dict(item), "maxItems": most}
    return {"type": "object", "properties": {key: entries}, "required": [key], "additionalProperties": False}


def read_items(reply: str, schema: Schema, *, most: int = MAX_ITEMS) -> Reading:
    """The items of a reply, in order, with only the properties of `schema`. `schema` describes one item: an object with
    `properties` and `required`. Of properties type, enum, minimum, maximum, maxLength, items and maxItems are used. An
    item whose required property is missing or beyond repair is refused; an optional one is dropped with a note. Never
    raises for a model's text.
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
    """The reply without a reasoning model's thoughts before it; all of it if the thoughts never end."""
    text = reply
    while (thought := _THOUGHT.match(text)) is not None and thought.end() > 0:
        text = text[thought.end() :]
    if text is reply and (end := _THOUGHT_END.search(text)) and not _THOUGHT_START.search(text, 0, end.start()):
        text = text[end.end() :]  # the opening mark was part of the prompt
    return text


def _values(text: str) -> list[object]:
    """The values in the text. A text that is one JSON string is decoded first."""
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
    """Candidate lists: each list, and all single items together."""
    single: list[object] = []
    for value in values:
        if isinstance(value, list):
            yield cast("list[object]", value)
        elif isinstance(value, dict):
            fields = cast("dict[str, object]", value)
            is_whole = set(_required(schema)) <= set(fields_of(fields, schema))
            inner = None if is_whole else _inside(fields, schema, _NESTING)
            if inner is None:
                single.append(fields)
            else:
                yield inner
    if single:
        yield single


def _inside(fields: Item, schema: Schema, nesting: int) -> list[object] | None:
    """The list inside a wrapping object: {"facts": […]}, {"1": {…}, "2": {…}}, {"fact": {…}}."""
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
    """The item of an entry, or None and the reason."""
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
    """The value of a text entry: JSON within it, else the item whose one required property is a text."""
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
    """The start of a value on one line."""
    return " ".join(str(value).split())[:_EXCERPT_CHARS]
