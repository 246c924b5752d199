"""AsyncMnemic is Mnemic for asyncio: the same verbs, arguments and defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from mnemic import AsyncMnemic, Mnemic
from mnemic.aio import AsyncProfileVerbs, AsyncToolVerbs
from mnemic.api import ProfileVerbs, ToolVerbs

ONLY_ASYNC = {"threads"}
PAIRS = [(Mnemic, AsyncMnemic), (ProfileVerbs, AsyncProfileVerbs), (ToolVerbs, AsyncToolVerbs)]


def verbs(cls: type[object]) -> dict[str, Callable[..., object]]:
    """The public methods of a class, those of its own and of the parts of Mnemic that it is made of."""
    return {
        name: getattr(cls, name)
        for base in reversed(cls.__mro__)
        if base.__module__.startswith("mnemic.")
        for name, member in vars(base).items()
        if not name.startswith("_") and (inspect.isroutine(member) or isinstance(member, classmethod))
    }


def arguments(verb: Callable[..., object]) -> list[tuple[str, object, object, object]]:
    """Name, kind, default and annotation of each argument, in order."""
    found = inspect.signature(verb).parameters.values()
    return [(p.name, p.kind, p.default, p.annotation) for p in found if p.name not in ONLY_ASYNC]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
def test_both_have_the_same_verbs(pair: tuple[type[object], type[object]]):
    plain, asynchronous = pair
    assert set(verbs(asynchronous)) == set(verbs(plain))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
def test_a_verb_takes_the_same_arguments_with_the_same_defaults(pair: tuple[type[object], type[object]]):
    plain, asynchronous = map(verbs, pair)
    assert {name: arguments(verb) for name, verb in asynchronous.items()} == {
        name: arguments(verb) for name, verb in plain.items()
    }


@pytest.mark.parametrize("verb", [*verbs(AsyncMnemic), *verbs(AsyncProfileVerbs)])
def test_every_verb_for_asyncio_can_be_awaited(verb: str):
    owner = AsyncMnemic if verb in verbs(AsyncMnemic) else AsyncProfileVerbs
    assert inspect.iscoroutinefunction(getattr(owner, verb))
