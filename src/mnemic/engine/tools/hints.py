"""Turns type hints into JSON schemas and a model's arguments into values. Models write numbers as texts and texts as
numbers. Clear values are converted; unclear ones are refused with a message that lets the model correct itself.
"""

import collections.abc
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, date, datetime
from enum import Enum
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from mnemic.errors import InvalidInputError

Read = Callable[[object, str], object]
"""Converts an argument; the second parameter is its name, for messages. Raises `InvalidInputError`."""


@dataclass(frozen=True, slots=True)
class Form:
    """One type: the JSON schema of its values, and their reader."""

    schema: Mapping[str, object]
    read: Read


def form_of(hint: object, place: str, within: tuple[object, ...] = ()) -> Form:
    """The form of a type hint. Raises `InvalidInputError`, naming `place`, for a hint without a schema. Supports str,
    int, float, bool, None, datetime, date, Literal, enumerations, dataclasses, lists, other sequences and sets, dicts
    with text keys, Optional and other unions, and `Annotated[…, "description"]`.
    """
    form = _PLAIN.get(hint) or _made_of(hint, place, within) or _of_class(hint, place, within)
    if form is None:
        raise InvalidInputError(
            f"{place}: the type {getattr(hint, '__name__', hint)} has no JSON schema; use str, int, float, bool, "
            "datetime, Literal, an enum, a non-recursive dataclass, list[T] or dict[str, T]"
        )
    return form


def _made_of(hint: object, place: str, within: tuple[object, ...]) -> Form | None:
    """The form of a composed hint, such as `list[int]`."""
    origin: Any = get_origin(hint)
    inner = cast("tuple[object, ...]", get_args(hint))
    form = None
    if origin is Annotated:
        form = form_of(inner[0], place, within)
        told = described(hint)
        form = Form({**form.schema, "description": told}, form.read) if told else form
    elif origin is Literal:
        form = _choice(inner, inner)
    elif origin in (Union, types.UnionType):
        form = _union([form_of(each, place, within) for each in inner])
    elif origin in _LISTS:
        if origin is not tuple or inner[1:] == (...,):
            form = _list(form_of(inner[0], place, within), _LISTS[origin])
    elif origin in (dict, collections.abc.Mapping) and inner[0] is str:
        form = _mapping(form_of(inner[1], place, within))
    return form


def _of_class(hint: object, place: str, within: tuple[object, ...]) -> Form | None:
    if not isinstance(hint, type):
        return None
    kind = cast("type[object]", hint)
    if issubclass(kind, Enum):
        return _choice([member.value for member in kind], list(kind))
    return _record(kind, place, (*within, kind)) if is_dataclass(kind) and kind not in within else None


def described(hint: object) -> str:
    """The text of an `Annotated[…, "text"]`, or ""."""
    notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((note for note in notes if isinstance(note, str)), "")


def read_fields(forms: Mapping[str, Form], required: Iterable[str], given: object, place: str) -> dict[str, object]:
    """The values of the given arguments. Raises `InvalidInputError` with all problems at once."""
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"{place} must be an object with {_names(forms)}, not {_shown(given)}")
    table = cast("Mapping[str, object]", given)
    wrong = [f"unknown argument {name!r}; use {_names(forms)}" for name in table if name not in forms]
    wrong += [f"{name!r} is missing ({_what(forms[name].schema)})" for name in required if name not in table]
    values: dict[str, object] = {}
    for name, value in table.items():
        if name in forms:
            try:
                values[name] = forms[name].read(value, name)
            except InvalidInputError as error:
                wrong.append(str(error))
    if wrong:
        raise InvalidInputError("; ".join(wrong))
    return values


def _text(value: object, place: str) -> object:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise InvalidInputError(f"{place!r} must be a string, not {_shown(value)}")


def _whole(value: object, place: str) -> object:
    number = _as_number(value)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if not isinstance(number, int):
        raise InvalidInputError(f"{place!r} must be a whole number, not {_shown(value)}")
    return number


def _real(value: object, place: str) -> object:
    number = _as_number(value)
    if number is None:
        raise InvalidInputError(f"{place!r} must be a number, not {_shown(value)}")
    try:
        return float(number)
    except OverflowError as error:
        raise InvalidInputError(f"{place!r} is too large") from error


def _as_number(value: object) -> int | float | None:
    """The finite number that a value holds, or None."""
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            try:
                value = float(value)
            except ValueError:
                return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def _truth(value: object, place: str) -> object:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise InvalidInputError(f"{place!r} must be true or false, not {_shown(value)}")
    return value


def _nothing(value: object, place: str) -> object:
    if value is not None:
        raise InvalidInputError(f"{place!r} must be null, not {_shown(value)}")
    return None


def _moment(value: object, place: str) -> object:
    try:
        moment = datetime.fromisoformat(cast("str", value))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{place!r} must be a time such as 2026-05-01T12:00:00Z, not {_shown(value)}"
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _day(value: object, place: str) -> object:
    try:
        return date.fromisoformat(cast("str", value))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{place!r} must be a date such as 2026-05-01, not {_shown(value)}") from error


_PLAIN: dict[object, Form] = {
    str: Form({"type": "string"}, _text),
    int: Form({"type": "integer"}, _whole),
    float: Form({"type": "number"}, _real),
    bool: Form({"type": "boolean"}, _truth),
    type(None): Form({"type": "null"}, _nothing),
    None: Form({"type": "null"}, _nothing),
    datetime: Form({"type": "string", "format": "date-time"}, _moment),
    date: Form({"type": "string", "format": "date"}, _day),
}
_LISTS: dict[object, Callable[[list[object]], object]] = {
    list: list,
    Sequence: list,
    Iterable: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
}
_TYPES: Mapping[object, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}


def _choice(values: Sequence[object], meant: Sequence[object]) -> Form:
    """One of some values. Case is ignored if they differ without it."""
    exact = dict(zip(values, meant, strict=True))
    loose = {str(value).casefold(): one for value, one in exact.items()}
    schema: dict[str, object] = {"enum": list(values)}
    kinds = {_TYPES.get(type(value)) for value in values}
    if len(kinds) == 1 and None not in kinds:
        schema["type"] = kinds.pop()

    def read(value: object, place: str) -> object:
        if not isinstance(value, Mapping | list):
            if value in exact:
                return exact[value]
            if len(loose) == len(exact) and str(value).strip().casefold() in loose:
                return loose[str(value).strip().casefold()]
        choices = ", ".join(repr(each) for each in values)
        raise InvalidInputError(f"{place!r} must be one of {choices}, not {_shown(value)}")

    return Form(schema, read)


def _union(forms: Sequence[Form]) -> Form:
    """Any of several types. A form of exactly the value's type reads it first, else the first that accepts it."""
    some = [form for form in forms if form.schema != {"type": "null"}]

    def read(value: object, place: str) -> object:
        if value is None and len(some) < len(forms):
            return None
        refused: list[str] = []
        name = _TYPES.get(type(value))
        for form in sorted(some, key=lambda form: form.schema.get("type") != name):
            try:
                return form.read(value, place)
            except InvalidInputError as error:
                refused.append(str(error))
        raise InvalidInputError(", or ".join(refused))

    return Form({"anyOf": [form.schema for form in forms]}, read)


def _list(entry: Form, build: Callable[[list[object]], object]) -> Form:
    def read(value: object, place: str) -> object:
        if not isinstance(value, list):
            raise InvalidInputError(f"{place!r} must be a list, not {_shown(value)}")
        entries = cast("list[object]", value)
        try:
            return build([entry.read(each, f"{place}[{number}]") for number, each in enumerate(entries)])
        except TypeError as error:  # a set of unhashable values
            raise InvalidInputError(f"{place!r} cannot contain {_shown(value)}") from error

    return Form({"type": "array", "items": entry.schema}, read)


def _mapping(entry: Form) -> Form:
    def read(value: object, place: str) -> object:
        if not isinstance(value, dict):
            raise InvalidInputError(f"{place!r} must be an object, not {_shown(value)}")
        table = cast("dict[str, object]", value)
        return {name: entry.read(each, f"{place}.{name}") for name, each in table.items()}

    return Form({"type": "object", "additionalProperties": entry.schema}, read)


def _record(kind: type, place: str, within: tuple[object, ...]) -> Form:
    hints = get_type_hints(kind, include_extras=True)
    own = [field for field in fields(cast("Any", kind)) if field.init]
    forms = {field.name: form_of(hints[field.name], f"{place}.{field.name}", within) for field in own}
    required = [field.name for field in own if field.default is MISSING and field.default_factory is MISSING]

    def read(value: object, place: str) -> object:
        try:
            return kind(**read_fields(forms, required, value, place))
        except (InvalidInputError, ValueError, TypeError) as error:
            raise InvalidInputError(f"in {place!r}: {error}") from error

    return Form(object_schema({name: form.schema for name, form in forms.items()}, required), read)


def object_schema(properties: Mapping[str, object], required: Sequence[str]) -> dict[str, object]:
    """The schema of an object with exactly these properties."""
    return {"type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": False}


def _what(schema: Mapping[str, object]) -> str:
    kind = schema.get("type") or "value"
    told = schema.get("description")
    return f"{kind}: {told}" if told else str(kind)


def _names(forms: Mapping[str, Form]) -> str:
    return ", ".join(forms) or "no arguments"


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN_CHARS else f"{shown[:_SHOWN_CHARS]}…"


_SHOWN_CHARS = 60  # of a wrong argument, for a one-line error
