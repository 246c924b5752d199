"""What people write first works, or the error names what to write: filters, verbs and arguments of other programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from mnemic import Config, Mnemic
from mnemic.api.views import ScopedMnemic
from mnemic.errors import InvalidInputError
from mnemic.remote import connect
from mnemic.verbs import ALIASES, BY_NAME, OTHER_NAMES


@pytest.fixture
def ana() -> Iterator[ScopedMnemic]:
    with Mnemic(Config(store="memory://", embedder="none")) as memory:
        ana = memory.for_user("ana", session="monday")
        ana.remember("Ana likes tea", categories=["work", "food"], metadata={"team": {"name": "core"}})
        ana.remember("Ana likes cake", categories=["food"])
        yield ana


@pytest.mark.parametrize(
    "condition, found",
    [
        ({"categories": "work"}, ["Ana likes tea"]),
        ({"categories": "wor"}, []),
        ({"categories": ["work", "play"]}, ["Ana likes tea"]),
        ({"categories": {"eq": "work"}}, ["Ana likes tea"]),
        ({"categories": {"in": ["work", "food"]}}, ["Ana likes cake", "Ana likes tea"]),
        ({"categories": []}, []),
        ({"not": {"categories": "work"}}, ["Ana likes cake"]),
        ({"metadata": {"team.name": "core"}}, ["Ana likes tea"]),
        ({"kind": ["fact", "goal"]}, ["Ana likes cake", "Ana likes tea"]),
    ],
)
def test_a_plain_filter_means_what_it_says(ana: ScopedMnemic, condition: Mapping[str, Any], found: list[str]):
    assert [each.text for each in ana.list(filter=condition)] == found
    assert sorted(hit.text for hit in ana.recall("Ana likes", filter=condition)) == found


def test_an_unknown_field_of_a_filter_is_refused_with_the_right_name(ana: ScopedMnemic):
    with pytest.raises(
        InvalidInputError, match=r"unknown filter field 'team'; use 'metadata.team' for your own metadata"
    ):
        ana.list(filter={"team": "core"})


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_a_verb_of_another_program_is_answered_with_ours(ana: ScopedMnemic, name: str):
    with connect("http://127.0.0.1:9") as remote:
        for memory in (ana, remote):
            with pytest.raises(AttributeError, match=f"has no attribute '{name}'; use {OTHER_NAMES[name]}"):
                getattr(memory, name)
    assert OTHER_NAMES[name].split(",", maxsplit=1)[0] in BY_NAME


@pytest.mark.parametrize("name", ["user_id", "agent_id", "session_id", "run_id"])
def test_an_owner_as_an_argument_is_answered_with_for_user(ana: ScopedMnemic, name: str):
    with pytest.raises(InvalidInputError, match=rf"does not accept '{name}'; use mnemic.for_user"):
        ana.recall("tea", **{name: "ana"})  # pyright: ignore[reportArgumentType]


def test_american_spellings_work(ana: ScopedMnemic):
    ana.capture(user="I like tea")
    assert [entry.last for entry in ana.summarize(is_flush=True).entries] == [1]
    assert not ana.summarise(is_flush=True).entries
    assert ana.graph.neighbors.__doc__ == ana.graph.neighbours.__doc__
    assert set(ALIASES) == {"summarize", "graph.neighbors"}
