"""Commands whose options are grouped in dataclasses, so that a group is declared once and read by its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints

import typer


def command(
    app: typer.Typer, name: str | None = None, *, examples: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Registers a function as a command of `app`. A parameter that is a dataclass stands for its fields, each an option
    declared by `Annotated`; `examples` are lines for the end of its help.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        app.command(name, epilog=f"\b\nExamples:\n{inspect.cleandoc(examples)}")(flattened(function))
        return function

    return register


def flattened(function: Callable[..., None]) -> Callable[..., None]:
    """The same function, taking the fields of its dataclass parameters one by one, by name."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    def run(**given: Any) -> None:
        built = {name: group(**{f.name: given.pop(f.name) for f in fields(group)}) for name, group in groups.items()}
        function(**given, **built)

    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            parameters += _options(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__signature__ = inspect.Signature(parameters)
    return run


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=_default(field), annotation=hints[field.name]
        )
        for field in fields(group)
    ]


def _default(field: Field[Any]) -> object:
    return inspect.Parameter.empty if field.default is MISSING else field.default
