"""The four levels of memory: what each keeps, who sees it, and when it ends."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mnemic.aio import AsyncMnemic
from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.model.item import Kind, Memory
from mnemic.model.scope import Level, Scope
from tests.unit.engine.kit import Clock, WordEmbedder

ANNA = Scope(org="acme", user="anna", agent="jarvis", session="s1")


def only(mnemic: Mnemic, scope: Scope, level: str) -> list[str]:
    return [memory.text for memory in mnemic.list(scope, levels=[level], order="oldest").memories]


@pytest.mark.requirement("N-06", "N-07", "N-22", "R-02")
def test_a_session_memory_has_an_hour_and_then_no_verb_shows_it(mnemic: Mnemic, clock: Clock):
    memory = mnemic.remember(ANNA, "wants the window seat", level="session", metadata={"topic": "travel", "turn": 3})
    assert memory.expires_at is not None
    assert (memory.expires_at - memory.created_at).total_seconds() == 3600
    clock.turn(seconds=3599)
    assert only(mnemic, ANNA, "session") == ["wants the window seat"]
    clock.turn(seconds=1)
    assert only(mnemic, ANNA, "session") == []
    assert mnemic.recall(ANNA, "window seat").hits == ()


@pytest.mark.requirement("N-08", "N-10", "N-14")
def test_a_user_memory_keeps_who_noted_it_its_use_and_its_metadata(mnemic: Mnemic, clock: Clock):
    told = {"confidence": 0.9, "source_conversation_id": "c-17"}
    memory = mnemic.remember(ANNA, "likes tea", kind="preference", metadata=told)
    kept = mnemic.list(ANNA, filter={"metadata.source_conversation_id": "c-17"}).memories[0]
    assert (kept.agent, kept.partition.owner, kept.kind, kept.access_count) == ("jarvis", "anna", Kind.PREFERENCE, 0)
    assert (kept.metadata, kept.last_accessed_at, kept.expires_at) == (told, None, None)
    clock.turn(days=1000)
    assert [hit.id for hit in mnemic.recall(ANNA, "tea")] == [memory.id]


@pytest.mark.requirement("N-09", "N-12", "R-09", "J-22")
def test_every_kind_of_every_origin_can_be_kept_and_asked_for(mnemic: Mnemic):
    for kind in Kind:
        mnemic.remember(ANNA, f"a {kind.value}", kind=kind)
    for kind in Kind:
        assert [memory.text for memory in mnemic.list(ANNA, kinds=[kind]).memories] == [f"a {kind.value}"]
    with pytest.raises(InvalidInputError, match="mood"):
        mnemic.remember(ANNA, "a mood", kind="mood")


@pytest.mark.requirement("N-11", "N-17")
def test_an_agent_memory_is_of_the_agent_across_its_users_and_of_no_other_agent(mnemic: Mnemic):
    mnemic.remember(ANNA, "answer in short sentences", kind="learning", level="agent")
    assert only(mnemic, Scope(org="acme", user="bert", agent="jarvis"), "agent") == ["answer in short sentences"]
    assert only(mnemic, Scope(org="acme", user="anna", agent="friday"), "agent") == []
    assert only(mnemic, Scope(org="other", user="anna", agent="jarvis"), "agent") == []


@pytest.mark.requirement("N-13", "R-17")
def test_org_knowledge_is_written_only_when_said_and_names_its_source(mnemic: Mnemic):
    rule = mnemic.remember(ANNA, "refunds take 14 days", level="org", source="handbook.pdf", metadata={"version": 2})
    mnemic.remember(ANNA, "for jarvis alone", level="org", is_private=True)
    assert (rule.source, rule.partition.level) == ("handbook.pdf", Level.ORG)
    assert only(mnemic, Scope(org="acme", user="carl", agent="friday"), "org") == ["refunds take 14 days"]
    for_jarvis = only(mnemic, Scope(org="acme", agent="jarvis"), "org")
    assert sorted(for_jarvis) == ["for jarvis alone", "refunds take 14 days"]
    with pytest.raises(InvalidInputError, match="no user, agent or session"):
        mnemic.remember(Scope(org="acme"), "whose is this?")


@pytest.mark.requirement("N-18", "R-33", "J-01")
def test_hits_of_all_levels_come_in_one_order_by_one_score(mnemic: Mnemic):
    for level in ("session", "user", "agent", "org"):
        mnemic.remember(ANNA, f"tea rule of the {level}", level=level)
    mnemic.remember(ANNA, "tea tea", level="org")
    hits = mnemic.recall(ANNA, "tea", limit=None).hits
    assert {hit.item.partition.level for hit in hits} == set(Level)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits[0].text == "tea tea"


@pytest.mark.requirement("N-42", "R-08")
def test_entered_and_inferred_memories_are_told_apart(mnemic: Mnemic):
    entered = mnemic.remember(ANNA, "likes tea", source="manual", importance="high")
    inferred = mnemic.remember(ANNA, "may like coffee", source="inferred", importance="low", confidence=0.4)
    assert [m.text for m in mnemic.list(ANNA, filter={"source": "inferred"}).memories] == ["may like coffee"]
    assert (entered.importance, inferred.importance, inferred.confidence) == (0.9, 0.3, 0.4)
    assert isinstance(mnemic.get(ANNA, entered.id), Memory)


@pytest.mark.requirement("J-05")
def test_nothing_that_can_block_runs_on_the_event_loop(mnemic: Mnemic, embedder: WordEmbedder):
    threads: set[int] = set()
    embed = embedder.embed_documents

    def watched(texts: list[str]) -> object:
        threads.add(threading.get_ident())
        return embed(texts)

    embedder.embed_documents = watched  # pyright: ignore[reportAttributeAccessIssue] -- watches the real one

    async def talk() -> int:
        memory = AsyncMnemic(mnemic)
        await memory.remember(ANNA, "likes tea")
        await memory.recall(ANNA, "tea")
        return threading.get_ident()

    assert asyncio.run(talk()) not in threads
    assert threads


@pytest.mark.requirement("D-04")
def test_a_summary_keeps_its_session_its_text_its_importance_and_its_time(mnemic: Mnemic, clock: Clock):
    summary = mnemic.remember(ANNA, "planned a trip to Lyon", kind="summary", level="session", importance=0.5)
    kept = mnemic.list(ANNA, kinds=["summary"]).memories[0]
    assert kept.partition == ANNA.partition(Level.SESSION)
    assert (kept.text, kept.importance, kept.created_at) == (summary.text, 0.5, clock.now())


@pytest.mark.requirement("N-40")
def test_meaning_and_structure_are_searched_apart_and_together(mnemic: Mnemic):
    tea = mnemic.remember(ANNA, "likes tea", kind="preference", metadata={"team": "core"})
    mnemic.remember(ANNA, "likes tea with milk", kind="fact", metadata={"team": "web"})
    by_structure = mnemic.list(ANNA, filter={"metadata.team": "core"}).memories
    by_meaning = mnemic.recall(ANNA, "tea").hits
    together = mnemic.recall(ANNA, "tea", filter={"metadata.team": "core"}).hits
    assert [memory.id for memory in by_structure] == [hit.id for hit in together] == [tea.id]
    assert len(by_meaning) == 2


@pytest.mark.requirement("R-03")
def test_a_session_keeps_a_hundred_memories_and_archives_the_least_important(mnemic: Mnemic):
    dear = mnemic.remember(ANNA, "wants a quiet room", level="session", importance=0.9)
    dull = mnemic.remember(ANNA, "said hm", level="session", importance=0.1)
    pinned = mnemic.remember(ANNA, "has a cold", level="session", importance=0.1, is_pinned=True)
    drafts = [{"text": f"note {n}", "level": "session", "importance": 0.5} for n in range(98)]
    mnemic.remember_many(ANNA, drafts)
    live = {memory.id for memory in mnemic.list(ANNA, levels=["session"], limit=1000).memories}
    assert len(live) == 100
    assert dull.id not in live
    assert {dear.id, pinned.id} <= live
    entry = mnemic.history(ANNA, dull.id)[-1]
    assert (entry.action.value, entry.actor, entry.reason) == ("archived", "tester", "the session's limit is 100")
    mnemic.remember_many(ANNA, [{"text": f"fact {n}"} for n in range(120)])
    assert len(mnemic.list(ANNA, levels=["user"], limit=1000).memories) == 120


def test_what_has_expired_is_not_found_by_any_verb_and_its_archiving_is_told(mnemic: Mnemic, clock: Clock):
    first = mnemic.remember(ANNA, "window seat", level="session")
    clock.turn(hours=2)
    with pytest.raises(NotFoundError):
        mnemic.get(ANNA, first.id)
    with pytest.raises(NotFoundError):
        mnemic.update(ANNA, first.id, text="aisle seat")
    again = mnemic.remember(ANNA, "window seat", level="session")
    assert again.id != first.id
    assert mnemic.history(ANNA, first.id)[-1].reason == "it had expired"
