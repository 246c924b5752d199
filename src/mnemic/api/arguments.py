"""The arguments of the verbs: defaults, checks and their checked forms."""

import difflib
import inspect
import math
import os
import re
from collections import abc
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache, wraps
from inspect import CO_VARARGS
from pathlib import Path, PurePath
from textwrap import indent
from types import FunctionType, NoneType, UnionType
from typing import Any, Final, Literal, Protocol, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from mnemic.engine.inputs import PAST_STATES, check_choice, check_id, memory_draft
from mnemic.errors import InvalidInputError
from mnemic.model.filter import All, Condition, Not, parse_filter
from mnemic.model.item import Kind, MessageDraft, State
from mnemic.model.recall import MemoryQuery, MessageQuery, Order
from mnemic.model.scope import MICROSECOND, Scope, as_utc, check_unicode
from mnemic.model.settings import Settings

MOST = 2**31
"""The largest count: every store can hold it, and no listing is longer."""

MOST_HOPS = 4
"""Within four relations nearly everything is connected to everything."""

LONGEST_MS = 86_400_000.0
"""One day. A longer time limit is a mistake in the unit."""

LONGEST_NAME = 255
"""Bytes that a name in a folder may have, on every file system that we know."""


class ClientMessage(Protocol):
    """A message of OpenAI's or Anthropic's client."""

    content: Any


class ClientResponse(Protocol):
    """A response of OpenAI's client."""

    choices: Any


MessageLike = MessageDraft | Mapping[str, object] | ClientMessage | ClientResponse
"""A message to capture: a draft, or a mapping with role and content."""

Fields = Mapping[str, Any]
"""Arguments by name, without those left at `CONFIGURED` or `UNCHANGED`."""


class Unsaid(Enum):
    """Defaults that stand for a value which the signature cannot name."""

    CONFIGURED = "the value of the configuration"
    UNCHANGED = "what the memory has now"

    def __repr__(self) -> str:
        return self.name


CONFIGURED: Final = Unsaid.CONFIGURED
UNCHANGED: Final = Unsaid.UNCHANGED
Configured = Literal[Unsaid.CONFIGURED]
Unchanged = Literal[Unsaid.UNCHANGED]

ELSEWHERE = {"top_k": "limit", "k": "limit", "n": "limit", "num_results": "limit", "token_budget": "budget_tokens"}
"""Argument names of other programs and ours."""

WORDS: Mapping[str, str] = {
    "remember": "unknown memory field {unknown!r}; use one of {names}",
    "update": "update cannot change {unknown!r}; it can change {names}",
}
"""Messages for an unknown argument that names a field."""

SCOPE_HELP = "    scope: The user, agent, session or org that owns the memory."
ERRORS: Mapping[str, str] = {
    "NotFoundError": "    NotFoundError: Nothing in the scope has this id.\n",
    "InvalidInputError": "    InvalidInputError: An argument is invalid. Nothing was done.\n",
    "BackendError": "    BackendError: The store or a model failed; see `mnemic.errors`.\n",
}
"""The errors of most verbs."""

KIN = re.compile(r"(?:those|arguments|the same) (?:of|as for) `(\w+)`")
"""Marks a docstring whose other arguments are explained by another verb."""

_SECTION = re.compile(r"^(Args|Raises):\n", re.MULTILINE)
_ENTRY = re.compile(r"^(    (\w+):.*(?:\n {5,}.*)*)", re.MULTILINE)
_ENTRIES: dict[str, dict[str, str]] = {}
_EXAMPLES = dict(
    block.split("\n", 1)
    for block in Path(__file__).with_name("examples.txt").read_text(encoding="utf-8").strip().split("\n\n")
)
"""The example of each verb, run by the tests."""

_Class = TypeVar("_Class", bound=type)


def check_arguments(group: str = "") -> Callable[[_Class], _Class]:
    """Make a class's public methods raise `InvalidInputError` for an unknown argument, or for one of the wrong type,
    before anything is done. Otherwise a mistyped condition would be ignored. `group` is a prefix for the names, such as
    "documents.".
    """

    def made(cls: _Class) -> _Class:
        for name, member in list(vars(cls).items()):
            if isinstance(member, FunctionType) and not name.startswith("_"):
                setattr(cls, name, _refusing(group + name, member))
        return cls

    return made


def _complete_docstring(verb: str, function: FunctionType, parameters: Sequence[str]) -> str:
    """The docstring with the scope, the arguments that another verb explains, the common errors and an example."""
    parts = _SECTION.split(inspect.cleandoc(function.__doc__ or ""))
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    own = {name: text for text, name in _ENTRY.findall(sections.get("Args", ""))}
    kin = (_ENTRIES[other] for other in KIN.findall(parts[0]) if other in _ENTRIES)
    known = {name: text for entries in kin for name, text in entries.items() if name in parameters}
    _ENTRIES[verb] = {"scope": SCOPE_HELP} | known | own
    arguments = [f"{_ENTRIES[verb][name]}\n" for name in parameters if name in _ENTRIES[verb]]
    raised = sections.get("Raises", "").rstrip() + "\n"
    refers = not {"id", "ids", "turn_id"}.isdisjoint(parameters)
    raised += "".join(
        text for name, text in ERRORS.items() if name not in raised and (refers or name != "NotFoundError")
    )
    example = _EXAMPLES.get(verb, "")
    opened = '    >>> ana = mnemic.for_user("ana")\n' if "ana." in example else ""
    text = parts[0].rstrip() + ("\n\nArgs:\n" + "".join(arguments) if arguments else "\n")
    return f"{text}\nRaises:\n{raised.lstrip(chr(10))}\nExample:\n{opened}{indent(example, '    ')}"


def _refusing(verb: str, function: FunctionType) -> Callable[..., Any]:
    code = function.__code__
    known = frozenset(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])
    options = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    names = code.co_varnames[: code.co_argcount]
    documented = ".".join((*verb.split(".")[:-1], function.__name__))
    every = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & CO_VARARGS)]

    @wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        if not named.keys() <= known:
            refuse_unknown(verb, next(name for name in named if name not in known), options)
        hints = _hints_of(function)
        for name, value in (*zip(names[1:], arguments[1:], strict=False), *named.items()):
            check_value(value, name, hints[name])
        return function(*arguments, **named)

    checked.__doc__ = _complete_docstring(documented, function, every)
    return checked


_hints_of = cache(get_type_hints)
_FUNCTION: Any = vars(abc)["Callable"]


def check_value(value: object, name: str, hint: Any) -> None:
    """Check a value against an annotation, not what is inside it. Raises `InvalidInputError`."""
    if name == "scope":
        check_scope(value)
    elif isinstance(value, str) and name not in ("query", "text"):  # checked where it is kept
        check_unicode(value, name)
    if name == "path" and isinstance(value, str | PurePath):
        parts = PurePath(value).parts
        if not parts or any("\0" in part or len(os.fsencode(part)) > LONGEST_NAME for part in parts):
            raise InvalidInputError(f"path must be a valid file path, not {show_value(str(value))}")
    if not isinstance(value, Unsaid) and not _fits(value, hint):
        raise InvalidInputError(f"{name} must be {describe_hint(hint)}, not {show_value(value)}")


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, choice) for choice in inner)
    if origin is Literal:
        return any(isinstance(value, type(choice)) for choice in inner)
    kind: Any = origin or hint
    if kind in _CHECKS:
        return _CHECKS[kind](value)
    if not isinstance(kind, type) or kind is object or getattr(kind, "_is_protocol", False):
        return True
    has_members = bool(inner) and issubclass(kind, abc.Iterable)
    return _fits_members(value, cast("type", kind), inner[0]) if has_members else isinstance(value, kind)


def _fits_members(value: Any, kind: type, member: Any) -> bool:
    """A text is no list of texts, whatever Python makes of its letters. What is used up by a look is not looked at."""
    if not issubclass(kind, abc.Mapping) and isinstance(value, str | bytes | abc.Mapping):
        return False
    is_kept = isinstance(value, abc.Sequence | abc.Set | abc.Mapping)
    is_kind = isinstance(value, abc.Mapping if issubclass(kind, abc.Mapping) else abc.Iterable)
    return is_kind and (not is_kept or all(_fits(each, member) for each in cast("abc.Iterable[Any]", value)))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_CHECKS: Mapping[object, Callable[[Any], bool]] = {
    int: lambda value: isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST,
    float: _is_number,
    _FUNCTION: callable,
}


def describe_hint(hint: Any) -> str:
    """An annotation in words, such as "a text or None"."""
    origin, inner = get_origin(hint), get_args(hint)
    kind: Any = origin or hint
    if origin in (Union, UnionType):
        words = " or ".join(dict.fromkeys(describe_hint(choice) for choice in inner if choice is not Configured))
    elif origin is Literal:
        words = " or ".join(repr(choice) for choice in inner)
    elif inner and _is_list(kind):
        words = f"a list of {describe_hint(inner[0]).removeprefix('a ')}"
    else:
        words = _WORDS.get(kind) or f"a {getattr(kind, '__name__', str(kind))}"
    return words


def _is_list(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, abc.Iterable) and not issubclass(kind, abc.Mapping)


_WORDS: Mapping[object, str] = {
    NoneType: "None",
    ClientMessage: "a client's message",
    ClientResponse: "its response",
    _FUNCTION: "a function",
    abc.Mapping: "a mapping",
    str: "a text",
    bool: "True or False",
    int: f"a whole number of at most {MOST:,}",
    float: "a finite number",
    datetime: "a time",
}


def refuse_unknown(verb: str, unknown: str, names: tuple[str, ...]) -> None:
    """Raise `InvalidInputError` for an argument that is not in `names`, suggesting the nearest one."""
    if verb in WORDS:
        told = ", ".join(name for name in names if name != "reason")
        raise InvalidInputError(WORDS[verb].format(unknown=unknown, names=told))
    if unknown in ("user_id", "agent_id", "session_id", "run_id"):
        raise InvalidInputError(
            f"{verb} does not accept {unknown!r}; use mnemic.for_user('ana'), or pass Scope(user='ana') first"
        )
    near = [ELSEWHERE.get(unknown, ""), *difflib.get_close_matches(unknown, names, n=1)]
    hints = [f"did you mean {name!r}?" for name in near if name in names] or [f"use {', '.join(names) or 'none'}"]
    raise InvalidInputError(f"{verb} does not accept {unknown!r}; {hints[0]}")


def check_scope(scope: object) -> None:
    """Raise `InvalidInputError` if this is not a scope. In other programs a user's name goes here."""
    if not isinstance(scope, Scope):
        told = f"Scope(user={scope!r})" if isinstance(scope, str) else "Scope(user='ana')"
        raise InvalidInputError(f"the first argument must be a Scope, such as {told}, not {type(scope).__name__}")


def given_arguments(arguments: dict[str, Any], *apart: str) -> dict[str, Any]:
    """Select the arguments to use from a verb's `locals()`: without self, the scope, those in `apart`, and those
    left at `CONFIGURED` or `UNCHANGED`.
    """
    return {
        name: value
        for name, value in arguments.items()
        if name not in ("self", "scope", *apart) and not isinstance(value, Unsaid)
    }


def changes_of(fields: Fields, settings: Settings) -> dict[str, Any]:
    """Check the changes passed to `update`."""
    if not fields:
        raise InvalidInputError("nothing to change; pass at least one field to update")
    given = {name: value for name, value in fields.items() if name != "text" and value is not None}
    draft = memory_draft(fields.get("text", "unchanged"), given, settings)
    ended = {name: None for name, value in fields.items() if value is None and name in _ENDABLE}
    return {name: getattr(draft, name) for name in fields if fields.get(name) is not None} | ended


_ENDABLE = ("valid_from", "valid_to", "expires_at")


_MERGED = All((Condition(("state",), "eq", State.SUPERSEDED.value), Condition(("valid_to",), "exists", value=False)))
"""What was merged into another memory, which says it."""


def memory_query_of(fields: Fields, now: datetime) -> MemoryQuery:
    """Check the conditions passed to `list`."""
    is_past = fields.get("as_of") is not None or fields.get("known_at") is not None
    states = fields.get("states")
    if states is None:
        states = (*PAST_STATES, State.DISPUTED) if is_past else (State.ACTIVE,)
    condition = parse_filter(fields.get("filter"))
    if fields.get("as_of") is not None:
        condition = All((condition, Not(_MERGED)))
    if (before := read_time(fields.get("due_before"), "due_before")) is not None:
        from mnemic.engine.due import open_until

        condition = All((condition, open_until(now, (max(before, now) - MICROSECOND).date())))
    return MemoryQuery(
        now=now,
        states=tuple(check_choice(State, state, "states") for state in states),
        kinds=tuple(check_choice(Kind, kind, "kinds") for kind in fields.get("kinds", ())),
        filter=condition,
        as_of=read_time(fields.get("as_of"), "as_of"),
        known_at=read_time(fields.get("known_at"), "known_at"),
        order=check_choice(Order, fields.get("order", Order.NEWEST), "order"),
        limit=fields.get("limit", 50),
        after=None if fields.get("after") is None else check_id(fields.get("after"), "after"),
    )


def message_query_of(scope: Scope, fields: Fields) -> MessageQuery:
    """Check the conditions passed to `messages`."""
    in_session = check_flag(fields.get("in_session", False), "in_session")
    if in_session and scope.session is None:
        raise InvalidInputError("in_session requires a scope with session=…")
    return MessageQuery(
        since=read_time(fields.get("since"), "since"),
        until=read_time(fields.get("before"), "before"),
        session=scope.session if in_session else None,
        limit=check_whole(fields.get("limit", 50), "limit"),
        after=None if fields.get("after") is None else check_id(fields.get("after"), "after"),
    )


def read_time(value: datetime | str | None, name: str) -> datetime | None:
    """Read a time as UTC, or None."""
    return None if value is None else as_utc(value, name)


def check_flag(value: object, name: str) -> bool | None:
    """Check a truth value, or None."""
    if value is not None and not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be True, False or None, not {value!r}")
    return value


def check_whole(value: object, name: str) -> int:
    """Check a count: a whole number from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise InvalidInputError(f"{name} must be a whole number from 0 to {MOST:,}, not {show_value(value)}")
    return value


def check_number(value: object, name: str, most: int | None = None, *, least: int = 1) -> int:
    """Check a whole number between `least` and `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        told = f"from {least}" if most is None else f"from {least} to {most}"
        raise InvalidInputError(f"{name} must be a whole number {told}, not {value!r}")
    return value


def show_value(value: object) -> str:
    """Shorten a value for an error message. An integer can have any length."""
    return "such a large one" if isinstance(value, int) and abs(value) > MOST else repr(value)[:80]
