"""`for_user` gives every verb without the scope argument: in the library, for asyncio and over HTTP."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from mnemic import AsyncMnemic, Config, Mnemic, Scope
from mnemic.api.arguments import SCOPE_HELP
from mnemic.api.views import ScopedMnemic
from mnemic.errors import InvalidInputError
from mnemic.remote import connect
from tests.doors.test_async import verbs

CONFIG = Config(store="memory://", embedder="none")


def test_a_user_sees_only_their_own_memories():
    with Mnemic(CONFIG) as memory:
        ana, ben = memory.for_user("ana"), memory.for_user("ben")
        ana.remember("Ana likes tea")
        assert [hit.text for hit in ana.recall("tea")] == ["Ana likes tea"]
        assert not ben.recall("tea")
        assert memory.list(Scope(user="ana")).memories == ana.list().memories


def test_an_agent_a_session_and_an_org_can_be_bound_too():
    with Mnemic(CONFIG) as memory:
        bound = memory.for_user("ana", agent="coder", session="monday", org="acme")
        assert bound.scope == Scope(user="ana", agent="coder", session="monday", org="acme")
        assert bound.capture(user="Good morning").session == "monday"
        assert [each.text for each in bound.window()] == ["Good morning"]
        assert memory.for_user(agent="coder").scope == Scope(agent="coder")


def test_groups_and_streams_are_bound_too():
    with Mnemic(CONFIG) as memory:
        ana = memory.for_user("ana")
        ana.profile.set({"city": "Lisbon"})
        assert memory.profile.get(Scope(user="ana")) == ana.profile.get() == {"city": "Lisbon"}
        assert [*ana.export()][1:] == [*memory.export(Scope(user="ana"))][1:]
        assert {tool.name for tool in ana.tools.list()} == {tool.name for tool in memory.tools.list()}


@pytest.mark.parametrize("verb", verbs(ScopedMnemic))
def test_help_shows_every_argument_but_the_scope(verb: str):
    with Mnemic(CONFIG) as memory:
        bound = getattr(memory.for_user("ana"), verb)
        plain = getattr(memory, verb)
    assert bound.__doc__ == plain.__doc__.replace(f"{SCOPE_HELP}\n", "")
    assert ["scope", *inspect.signature(bound).parameters] == [*inspect.signature(plain).parameters]


def test_a_wrong_argument_is_refused_by_name():
    with Mnemic(CONFIG) as memory, pytest.raises(InvalidInputError, match="did you mean 'limit'"):
        memory.for_user("ana").recall("tea", top_k=3)  # pyright: ignore[reportCallIssue]


def test_a_wrong_user_is_refused_at_once():
    with Mnemic(CONFIG) as memory, pytest.raises(InvalidInputError, match="user must be text, not int"):
        memory.for_user(7)  # pyright: ignore[reportArgumentType]


def test_verbs_of_a_user_are_awaited():
    async def use() -> None:
        async with AsyncMnemic(CONFIG) as memory:
            ana = memory.for_user("ana")
            await ana.remember("Ana likes tea")
            await ana.profile.set({"city": "Lisbon"})
            assert [hit.text for hit in await ana.recall("tea")] == ["Ana likes tea"]
            assert len(await ana.export()) == len(await memory.export(Scope(user="ana"))) == 4
            assert await ana.profile.get() == {"city": "Lisbon"}

    asyncio.run(use())


def test_the_remote_client_binds_a_scope():
    with connect("http://127.0.0.1:9") as remote:
        assert remote.for_user("ana").scope == Scope(user="ana")
        assert set(verbs(type(remote))) >= set(verbs(ScopedMnemic))
