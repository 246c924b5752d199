"""The arguments of the verbs: what their defaults mean, what is refused, and their checked forms."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from functools import wraps
from types import FunctionType
from typing import Any, Final, Literal, TypeVar

from mnemic.engine.inputs import PAST_STATES, check_choice, check_id, memory_draft
from mnemic.errors import InvalidInputError
from mnemic.model.filter import All, Condition, Not, parse_filter
from mnemic.model.item import Kind, MessageDraft, State
from mnemic.model.recall import MemoryQuery, MessageQuery, Order
from mnemic.model.scope import Scope, as_utc
from mnemic.model.settings import Settings

MOST = 2**31
"""The largest of the numbers that count something: what every store can hold, and far more than anybody lists."""

MOST_HOPS = 4
"""Four relations away nearly everything is related to everything."""

LONGEST_MS = 86_400_000.0
"""A day: what is longer is a mistake in the unit."""

MessageLike = MessageDraft | Mapping[str, object]
"""A message to capture: a draft, or a mapping with role and content."""

Fields = Mapping[str, Any]
"""Arguments by name, without those that were left at `CONFIGURED` or `UNCHANGED`."""


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
"""What other programs call some arguments."""

WORDS: Mapping[str, str] = {
    "remember": "a memory has no field {unknown!r}; there are {names}",
    "update": "update cannot change {unknown!r}; it can change {names}",
}
"""What is told of an unknown argument where it names a field."""

_Class = TypeVar("_Class", bound=type)


def check_arguments(group: str = "") -> Callable[[_Class], _Class]:
    """Makes the public methods of a class refuse what they do not take by an `InvalidInputError`: an argument that is
    ignored is a condition that does not hold, and one of another program's names is a mistake that can be told. `group`
    goes before the names, such as "documents.".
    """

    def made(cls: _Class) -> _Class:
        for name, member in list(vars(cls).items()):
            if isinstance(member, FunctionType) and not name.startswith("_"):
                setattr(cls, name, _refusing(group + name, member))
        return cls

    return made


def _refusing(verb: str, function: FunctionType) -> Callable[..., Any]:
    code = function.__code__
    known = frozenset(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])
    options = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    takes_scope = code.co_varnames[1:2] == ("scope",)

    @wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        if not named.keys() <= known:
            refuse_unknown(verb, next(name for name in named if name not in known), options)
        if takes_scope and len(arguments) > 1:
            check_scope(arguments[1])
        return function(*arguments, **named)

    return checked


def refuse_unknown(verb: str, unknown: str, names: tuple[str, ...]) -> None:
    """Raises `InvalidInputError` for an argument that `names` does not hold; with the nearest one."""
    if verb in WORDS:
        told = ", ".join(name for name in names if name != "reason")
        raise InvalidInputError(WORDS[verb].format(unknown=unknown, names=told))
    near = [ELSEWHERE.get(unknown, ""), *difflib.get_close_matches(unknown, names, n=1)]
    hints = [f"did you mean {name!r}?" for name in near if name in names] or [f"it takes {', '.join(names) or 'none'}"]
    raise InvalidInputError(f"{verb} takes no {unknown!r}; {hints[0]}")


def check_scope(scope: object) -> None:
    """Raises `InvalidInputError` for what is no scope: other programs take the name of a user in its place."""
    if not isinstance(scope, Scope):
        told = f"Scope(user={scope!r})" if isinstance(scope, str) else "Scope(user='ana')"
        raise InvalidInputError(f"the first argument of a verb is a Scope, such as {told}, not {type(scope).__name__}")


def given_arguments(arguments: dict[str, Any], *apart: str) -> dict[str, Any]:
    """The arguments of a verb, given as its `locals()`, that were not left at `CONFIGURED` or `UNCHANGED`; without the
    object, the scope, and those named in `apart`.
    """
    return {
        name: value
        for name, value in arguments.items()
        if name not in ("self", "scope", *apart) and not isinstance(value, Unsaid)
    }


def changes_of(fields: Fields, settings: Settings) -> dict[str, Any]:
    """The checked changes of `update`."""
    if not fields:
        raise InvalidInputError("there is nothing to change; name at least one field")
    given = {name: value for name, value in fields.items() if name != "text" and value is not None}
    draft = memory_draft(fields.get("text", "unchanged"), given, settings)
    ended = {name: None for name, value in fields.items() if value is None and name in _ENDABLE}
    return {name: getattr(draft, name) for name in fields if fields.get(name) is not None} | ended


_ENDABLE = ("valid_from", "valid_to", "expires_at")


_MERGED = All((Condition(("state",), "eq", State.SUPERSEDED.value), Condition(("valid_to",), "exists", value=False)))
"""What was merged into another memory, which says it."""


def memory_query_of(fields: Fields, now: datetime) -> MemoryQuery:
    """The checked form of the conditions of `list`."""
    is_past = fields.get("as_of") is not None or fields.get("known_at") is not None
    states = fields.get("states")
    if states is None:
        states = (*PAST_STATES, State.DISPUTED) if is_past else (State.ACTIVE,)
    condition = parse_filter(fields.get("filter"))
    if fields.get("as_of") is not None:
        condition = All((condition, Not(_MERGED)))
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
    """The checked form of the conditions of `messages`."""
    in_session = check_flag(fields.get("in_session", False), "in_session")
    if in_session and scope.session is None:
        raise InvalidInputError("in_session needs a scope with session=…; this one has none")
    return MessageQuery(
        since=read_time(fields.get("since"), "since"),
        until=read_time(fields.get("before"), "before"),
        session=scope.session if in_session else None,
        limit=check_whole(fields.get("limit", 50), "limit"),
        after=None if fields.get("after") is None else check_id(fields.get("after"), "after"),
    )


def read_time(value: datetime | str | None, name: str) -> datetime | None:
    """A time in UTC, or None."""
    return None if value is None else as_utc(value, name)


def check_flag(value: object, name: str) -> bool | None:
    """A truth value, or None."""
    if value is not None and not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be True, False or None, not {value!r}")
    return value


def check_whole(value: object, name: str) -> int:
    """A number that counts something."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise InvalidInputError(f"{name} must be a whole number from 0 to {MOST:,}, not {show_value(value)}")
    return value


def check_number(value: object, name: str, most: int | None = None, *, least: int = 1) -> int:
    """A number from `least`, to `most` where that is said."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        told = f"from {least}" if most is None else f"from {least} to {most}"
        raise InvalidInputError(f"{name} must be a whole number {told}, not {value!r}")
    return value


def show_value(value: object) -> str:
    """A value in an error, where it may be a number of any length."""
    return "one so large" if isinstance(value, int) and abs(value) > MOST else repr(value)[:80]
