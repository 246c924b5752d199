"""What remembering promises."""

from __future__ import annotations

import pytest

from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.errors import InvalidInputError
from mnemic.model.item import Kind, Memory
from mnemic.model.records import Action, JobState
from mnemic.model.scope import Level, Scope
from tests.unit.engine.kit import ANNA, BERT, START, Clock, WordEmbedder


@pytest.mark.requirement("N-05", "N-17")
@pytest.mark.parametrize(
    "level, owner", [("session", "anna\x1fs1"), ("user", "anna"), ("agent", "jarvis"), ("org", "acme")]
)
def test_a_memory_belongs_to_the_owner_of_its_level(mnemic: Mnemic, level: str, owner: str):
    memory = mnemic.remember(ANNA, "Tea is served at four", level=level)
    assert (memory.level, memory.partition.owner) == (Level(level), owner)


@pytest.mark.requirement("N-05", "R-17")
@pytest.mark.parametrize(
    "scope, level", [(ANNA, "user"), (Scope(agent="a", session="s"), "agent"), (Scope(session="s"), "session")]
)
def test_the_level_is_user_else_agent_else_session_and_org_only_when_said(mnemic: Mnemic, scope: Scope, level: str):
    assert mnemic.remember(scope, "Tea is served at four").level == Level(level)
    with pytest.raises(InvalidInputError):
        mnemic.remember(Scope(), "Tea is served at four")
    assert mnemic.remember(Scope(), "Tea is served at four", level="org").level == Level.ORG


def test_a_level_that_the_scope_does_not_name_is_refused(mnemic: Mnemic):
    with pytest.raises(InvalidInputError):
        mnemic.remember(Scope(user="anna"), "x", level="agent")


@pytest.mark.requirement("R-17")
def test_org_memories_are_seen_by_every_agent_and_user_of_the_org_alone(mnemic: Mnemic):
    mnemic.remember(ANNA, "The office closes at six", level="org")
    for scope, seen in ((BERT, 1), (Scope(org="acme", agent="friday"), 1), (Scope(org="other", user="anna"), 0)):
        assert len(mnemic.recall(scope, "office closes")) == seen


@pytest.mark.requirement("R-14", "J-51")
def test_what_already_says_the_same_in_the_same_place_is_given_back(mnemic: Mnemic):
    first = mnemic.remember(ANNA, "Likes  green tea")
    assert mnemic.remember(ANNA, " likes GREEN tea ") == first
    assert mnemic.remember(BERT, "Likes green tea").id != first.id
    assert mnemic.remember(ANNA, "Likes green tea", is_private=True).id != first.id
    assert len(mnemic.list(ANNA).memories) == 2


def test_of_equal_texts_in_one_call_one_is_kept(mnemic: Mnemic):
    memories = mnemic.remember_many(ANNA, ["a cup of tea", "milk", "A cup of tea"])
    assert [memory.text for memory in memories] == ["a cup of tea", "milk", "a cup of tea"]
    assert memories[0] == memories[2]


def test_many_memories_are_all_kept_or_none(mnemic: Mnemic):
    with pytest.raises(InvalidInputError):
        mnemic.remember_many(ANNA, ["good", {"text": "bad", "importance": 2}])
    assert mnemic.list(ANNA).memories == ()
    assert mnemic.remember_many(ANNA, []) == []


@pytest.mark.requirement("N-06", "N-07", "R-02")
def test_session_memories_expire_after_an_hour(mnemic: Mnemic, clock: Clock):
    memory = mnemic.remember(ANNA, "Working on chapter two", level="session")
    assert memory.expires_at is not None
    assert (memory.expires_at - START).total_seconds() == 3600
    clock.turn(seconds=3599)
    assert [hit.id for hit in mnemic.recall(ANNA, "chapter")] == [memory.id]
    clock.turn(seconds=1)
    assert len(mnemic.recall(ANNA, "chapter")) == 0
    assert mnemic.list(ANNA).memories == ()


@pytest.mark.requirement("N-07")
def test_what_has_expired_can_be_remembered_again(mnemic: Mnemic, clock: Clock):
    first = mnemic.remember(ANNA, "Working on chapter two", level="session")
    clock.turn(hours=2)
    again = mnemic.remember(ANNA, "Working on chapter two", level="session")
    assert again.id != first.id
    assert [hit.id for hit in mnemic.recall(ANNA, "chapter")] == [again.id]


@pytest.mark.requirement("R-08")
@pytest.mark.parametrize(
    "given, stored",
    [({}, 0.8), ({"importance": "low"}, 0.3), ({"importance": "Medium"}, 0.6), ({"importance": 1}, 1.0)],
)
def test_importance_is_a_number_or_a_word_and_0_8_by_default(mnemic: Mnemic, given: dict[str, float], stored: float):
    assert mnemic.remember(ANNA, "x", **given).importance == stored  # pyright: ignore[reportArgumentType] -- as callers write it


@pytest.mark.requirement("R-09")
@pytest.mark.parametrize("kind", list(Kind))
def test_a_memory_has_one_of_the_kinds_and_tags_beside_it(mnemic: Mnemic, kind: Kind):
    memory = mnemic.remember(ANNA, f"a {kind}", kind=kind.value, categories=["work", "health", "work"])
    assert (memory.kind, memory.categories) == (kind, ("work", "health"))
    assert [hit.id for hit in mnemic.recall(ANNA, "a", kinds=[kind])] == [memory.id]


def test_a_private_memory_is_seen_by_its_agent_alone(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "Anna dislikes puns", is_private=True)
    other = Scope(org="acme", user="anna", agent="friday")
    assert [hit.id for hit in mnemic.recall(ANNA, "puns")] == [memory.id]
    for scope in (other, Scope(org="acme", user="anna")):
        assert len(mnemic.recall(scope, "puns")) == 0
    with pytest.raises(InvalidInputError):
        mnemic.remember(Scope(user="anna"), "x", is_private=True)


def test_its_making_is_in_its_history_with_the_actor_and_that_it_was_said_again(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "Likes tea")
    mnemic.remember(ANNA, "likes tea!")
    made, again = mnemic.history(ANNA, memory.id)
    assert [(e.action, e.actor, e.at) for e in (made, again)] == [
        (Action.CREATED, "tester", START),
        (Action.RESTATED, "tester", START),
    ]
    assert again.after == {"text": "likes tea!"}


def test_context_and_snippet_are_searched_too(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "Prefers mornings", context="planning the summit", snippet="I wake at five")
    for query in ("summit", "wake five"):
        assert [hit.id for hit in mnemic.recall(ANNA, query)] == [memory.id]


@pytest.mark.requirement("J-06", "J-08", "R-30")
@pytest.mark.parametrize("embedder", [WordEmbedder(is_broken=True), WordEmbedder(is_local=False)])
def test_without_vectors_at_once_a_memory_is_kept_and_a_job_is_left(
    mnemic: Mnemic, parts: Engine, embedder: WordEmbedder
):
    memory = mnemic.remember(ANNA, "Likes green tea")
    assert isinstance(mnemic.get(ANNA, memory.id), Memory)
    with parts.store.read() as work:
        jobs = work.jobs.list(None, [JobState.PENDING], 10)
        assert work.vectors.missing(memory.partition, embedder.space.id, 10) == [(memory.id, "Likes green tea")]
    assert [(job.kind, job.partition) for job in jobs] == [("embed", memory.partition)]
