"""Reads the verbs' signatures and docstrings once. REST, the remote client and the commands are derived from them."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, get_type_hints

from mnemic.api.arguments import check_scope, given_arguments, refuse_unknown
from mnemic.api.memory import Mnemic


@cache
def function_of(verb: str) -> Callable[..., Any]:
    """The method of a verb."""
    *group, name = verb.split(".")
    owner: Any = Mnemic
    for part in group:
        owner = get_type_hints(getattr(owner, part).fget)["return"]
    return getattr(owner, name)


@cache
def parameters_of(verb: str) -> Mapping[str, inspect.Parameter]:
    """The parameters of a verb, without self."""
    found = inspect.signature(function_of(verb)).parameters
    return {name: parameter for name, parameter in found.items() if name != "self"}


@cache
def hints_of(verb: str) -> Mapping[str, Any]:
    """The types of the parameters, and of the result under "return"."""
    return get_type_hints(function_of(verb))


@cache
def documentation_of(verb: str) -> tuple[str, Mapping[str, str]]:
    """The description of a verb and of each argument, including arguments explained by another verb."""
    from mnemic.engine.tools.function import read_docstring  # with the tools of a model, which a client needs not

    return read_docstring(function_of(verb).__doc__)


def bind(verb: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Bind a call's arguments to their names. Raises the same errors as the library's verb: `InvalidInputError` for
    an unknown argument or a wrong scope, `TypeError` for a missing argument.
    """
    known = parameters_of(verb)
    unknown = next((name for name in named if name not in known), None)
    if unknown is not None:
        refuse_unknown(verb, unknown, tuple(n for n, each in known.items() if each.kind is each.KEYWORD_ONLY))
    bound = _signature(verb).bind(*arguments, **named).arguments
    if "scope" in bound:
        check_scope(bound["scope"])
    return {**given_arguments(bound), **({"scope": bound["scope"]} if "scope" in bound else {})}


@cache
def _signature(verb: str) -> inspect.Signature:
    return inspect.Signature(list(parameters_of(verb).values()))
