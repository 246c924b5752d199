"""AsyncMnemic is Mnemic for asyncio: the same verbs, arguments and defaults."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic import AsyncMnemic, Config, Mnemic, Scope
from mnemic.api import ProfileVerbs, ToolVerbs
from mnemic.api.views import ProfileView, ToolView
from mnemic.config import MEMORY_URL
from mnemic.errors import ConfigError

ONLY_ASYNC = {"threads"}
PAIRS = [(Mnemic, AsyncMnemic), (ProfileVerbs, ProfileView), (ToolVerbs, ToolView)]


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


NOT_AWAITED = {"open", "for_user"}
"""They return an object whose verbs are awaited."""


@pytest.mark.parametrize("verb", sorted(verbs(AsyncMnemic).keys() - NOT_AWAITED))
def test_every_verb_for_asyncio_can_be_awaited(verb: str):
    assert inspect.iscoroutinefunction(getattr(AsyncMnemic, verb))


@pytest.mark.parametrize("verb", verbs(ProfileView))
def test_every_verb_of_a_group_can_be_awaited(verb: str):
    assert inspect.iscoroutinefunction(getattr(AsyncMnemic(MEMORY_URL).profile, verb))


def test_a_memory_opens_by_await_by_open_and_by_a_block(tmp_path: Path):
    async def use() -> None:
        config = Config(store=str(tmp_path / "memory.db"), embedder="none")
        async with AsyncMnemic(config) as memory:
            await memory.remember(Scope(user="ana"), "Ana likes tea")
        async with AsyncMnemic.open(config) as memory:
            assert [each.text for each in (await memory.list(Scope(user="ana"))).memories] == ["Ana likes tea"]
        memory = await AsyncMnemic.open(config)
        assert (await memory.count(Scope(user="ana"))).kinds == {"fact": 1}
        await memory.close()

    asyncio.run(use())


def test_a_memory_that_cannot_be_opened_says_so_when_it_is_entered(tmp_path: Path):
    async def use() -> None:
        with pytest.raises(ConfigError, match="embedder"):
            async with AsyncMnemic(Config(store=str(tmp_path / "memory.db"), embedder="nonsense")):
                raise AssertionError("it was opened")

    asyncio.run(use())
