"""Makes a value that a language model gave fit a property of a JSON schema, where its meaning is plain.

Answers for one value: "0.8" and "80%" as a number, "yes" as true, one text where a list of texts was asked for. What
could mean two things is `MISSING`: a guess would be stored as if it had been said.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, cast

from mnemic.text.late_pattern import late_pattern


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
