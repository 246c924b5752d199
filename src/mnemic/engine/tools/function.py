"""Turns a typed function into a tool. The model's description comes from its signature and docstring."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any, Generic, ParamSpec, TypeVar, cast, get_type_hints, overload

from mnemic.engine.tools.hints import Form, described, form_of, object_schema, read_fields
from mnemic.errors import InvalidInputError
from mnemic.model.chat import ToolContext, ToolSpec
from mnemic.ports.models import Tool

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SECTION = re.compile(r"(?:Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?|Warnings?):\s*")
_ARGS = re.compile(r"(?:Args|Arguments|Parameters):\s*")
_ENTRY = re.compile(r"\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)")
_REFUSED_KINDS = {
    inspect.Parameter.VAR_POSITIONAL: "*args",
    inspect.Parameter.VAR_KEYWORD: "**kwargs",
    inspect.Parameter.POSITIONAL_ONLY: "a parameter without a name",
}
_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class _Parameters:
    """The parameters that the model fills, the required ones, and the one that takes the context."""

    forms: Mapping[str, Form]
    required: tuple[str, ...]
    context: str | None


class FunctionTool(Generic[_P, _R]):
    """A function as a tool. It can still be called as the plain function."""

    def __init__(
        self,
        function: Callable[_P, _R],
        *,
        name: str | None = None,
        timeout_s: float | None = None,
        is_read_only: bool = False,
    ) -> None:
        """Raises `InvalidInputError` for a function that cannot be described: without a docstring, or with a parameter
        that lacks a type, a description or a JSON schema.
        """
        self._function = function
        self.timeout_s, self.is_read_only = timeout_s, is_read_only
        called = name or getattr(function, "__name__", "")
        if not _NAME.fullmatch(called):
            raise InvalidInputError(f"{called!r} is not a valid tool name; use at most 64 letters, digits, _ and -")
        about, told = read_docstring(function.__doc__)
        if not about:
            raise InvalidInputError(
                f"the tool {called} needs a docstring that describes what it does and when to call it"
            )
        self._parameters = _parameters(called, function, told)
        properties = {name: form.schema for name, form in self._parameters.forms.items()}
        self.spec = ToolSpec(called, about, object_schema(properties, self._parameters.required))
        self.__name__, self.__doc__ = called, function.__doc__

    def __call__(self, *arguments: _P.args, **named: _P.kwargs) -> _R:
        """Call the plain function."""
        return self._function(*arguments, **named)

    def call(self, context: ToolContext, arguments: Mapping[str, object]) -> str:
        """Check the arguments, call the function, and return its result: text unchanged, else JSON."""
        known = self._parameters
        values = read_fields(known.forms, known.required, arguments, "the arguments")
        if known.context is not None:
            values[known.context] = context
        answer: object = cast("Callable[..., object]", self._function)(**values)
        if inspect.iscoroutine(answer):
            answer = asyncio.run(cast("Any", answer))
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=_make_plain)


@overload
def tool(function: Callable[_P, _R], /) -> FunctionTool[_P, _R]: ...


@overload
def tool(
    *, name: str | None = None, timeout_s: float | None = None, is_read_only: bool = False
) -> Callable[[Callable[_P, _R]], FunctionTool[_P, _R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    timeout_s: float | None = None,
    is_read_only: bool = False,
) -> Any:
    """Turn a function into a tool, as `@tool` or `@tool(timeout_s=5)`. Its docstring describes what it does and when to
    call it, and its `Args:` section each parameter; type hints give the types. Mnemic fills a parameter of type
    `ToolContext`. `is_read_only`: it changes nothing. Raises `InvalidInputError` at once if the function cannot be
    described to a model.
    """

    def make(function: Callable[..., Any]) -> FunctionTool[..., Any]:
        return FunctionTool(function, name=name, timeout_s=timeout_s, is_read_only=is_read_only)

    return make if function is None else make(function)


def _parameters(called: str, function: Callable[..., Any], told: Mapping[str, str]) -> _Parameters:
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise InvalidInputError(f"the type hints of the tool {called} cannot be read: {error}") from error
    forms: dict[str, Form] = {}
    required: list[str] = []
    context = None
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in _REFUSED_KINDS:
            raise InvalidInputError(
                f"the tool {called} takes {_REFUSED_KINDS[parameter.kind]}, but models pass arguments by name"
            )
        if name not in hints:
            raise InvalidInputError(f"the parameter {name} of the tool {called} has no type hint; add one")
        if hints[name] is ToolContext:
            context = name
            continue
        about = told.get(name) or described(hints[name])
        if not about:
            raise InvalidInputError(
                f"the parameter {name} of the tool {called} has no description; add it under Args: in the docstring"
            )
        has_default = parameter.default is not inspect.Parameter.empty
        forms[name] = _add_description(form_of(hints[name], f"{called}.{name}"), about, parameter.default)
        if not has_default:
            required.append(name)
    unknown = [name for name in told if name not in forms and name != context]
    if unknown:
        raise InvalidInputError(f"the docstring of {called} describes {unknown[0]!r}, which is not a parameter")
    return _Parameters(forms, tuple(required), context)


def _add_description(form: Form, about: str, default: object) -> Form:
    """The form with its description, and the default if JSON can hold it. An optional one needs no null."""
    schema = dict(form.schema)
    choices = cast("list[Mapping[str, object]]", schema.get("anyOf", []))
    some = [each for each in choices if each != {"type": "null"}]
    if default is None and len(some) == 1:
        schema = dict(some[0])
    schema["description"] = about
    if isinstance(default, Enum):
        default = default.value
    if isinstance(default, str | int | float):
        schema["default"] = default
    return Form(schema, form.read)


def read_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The text before the first section, and the `Args:` entries by parameter, each as one line."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    first = next((place for place, line in enumerate(lines) if _SECTION.fullmatch(line)), len(lines))
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines[:first]).strip())
    about = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    return about, _read_entries(lines[first:])


def _read_entries(lines: list[str]) -> dict[str, str]:
    entries: dict[str, str] = {}
    inside, name, margin = False, "", 0
    for line in lines:
        if line and not line[0].isspace():
            inside = _ARGS.fullmatch(line) is not None
            name, margin = "", 0
        elif inside and line.strip():
            depth = len(line) - len(line.lstrip())
            margin = margin or depth
            found = _ENTRY.fullmatch(line.strip()) if depth <= margin else None
            if found:
                name = found[1]
                entries[name] = found[2]
            elif name:
                entries[name] = f"{entries[name]} {line.strip()}"
    return {name: text.strip() for name, text in entries.items()}


def _make_plain(value: object) -> object:
    """A JSON form of a value that has none."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    if isinstance(value, tuple | set | frozenset):
        return list(cast("tuple[object, ...]", value))
    return str(value)


_: type[Tool] = FunctionTool
