"""Keeps one object per decision: wordings become one gem, which absorbs extracted facts with the same words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mnemic.engine.assimilate import Prepared, carried
from mnemic.engine.edit import Editor, merged
from mnemic.engine.engine import Engine
from mnemic.engine.fields import filled_of
from mnemic.engine.indexing import document_vectors
from mnemic.model.bookkeeping import choice_in
from mnemic.model.item import EXTRACTED, Decision, Judgement, Kind, Memory, Message, Role, State, Verdict
from mnemic.model.records import Action
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.gems import Found, join_gems
from mnemic.text.sameness import SAME_DECISION, names_same_things

_DECISIVE = frozenset(("decision", "plan", "project", "technical", "architecture", "workflow"))
"""Categories of facts found by rules that become gems."""

FACT_KINDS = (Kind.FACT, Kind.GOAL, Kind.PREFERENCE, Kind.CONTEXT, Kind.EVENT)

CARRIED = 0.8
"""Minimum share of a fact's words in a gem of the same messages for the gem to replace it."""

TOLD = 0.6
"""Minimum share of a fact's words in a sentence for it to be that sentence in the third person."""


def condense(engine: Engine, found: Sequence[Found]) -> list[Found]:
    """One gem per decision: later wordings join the first."""
    kept: list[Found] = []
    near = _cosines(engine, [each.gem.gem for each in found])
    places: list[int] = []
    for number, each in enumerate(found):
        same = next((k for k, place in enumerate(places) if _is_same(found[place], each, near[place][number])), None)
        if same is None:
            kept.append(each)
            places.append(number)
        else:
            kept[same] = join_gems(kept[same], each)
    return kept


def judge_gems(engine: Engine, work: UnitOfWork, partition: Partition, ready: Sequence[Prepared]) -> list[Prepared]:
    """The prepared gems, with repetitions of a decision of the same day judged as such."""
    judged: list[Prepared] = []
    for each in ready:
        known = work.memories.get(Visibility((partition,), None), each.near) if each.near else list[Memory]()
        day = each.fact.observed_at.date()
        gems = [m for m in known if m.kind is Kind.GEM and m.state is State.ACTIVE and m.observed_at.date() == day]
        near = _cosines(engine, [each.fact.text, *(gem.text for gem in gems)])[0][1:]
        same = {
            gem.id: Judgement.SAME
            for gem, cosine in zip(gems, near, strict=True)
            if cosine >= SAME_DECISION and names_same_things(gem.text, each.fact.text)
        }
        judged.append(replace(each, judgements={**each.judgements, **same}))
    return judged


def rest_on_facts(engine: Engine, work: UnitOfWork, partition: Partition, found: Sequence[Found]) -> list[Found]:
    """Gems found by rules, worded as the facts that were extracted from the same sentences. A sentence without a fact
    is no gem. Preferences and plain facts about the user stay unchanged.
    """
    kept: list[Found] = []
    for each in found:
        own = [message for turn in each.turns for message in turn.messages if message.role is Role.USER]
        facts = [m for m in _facts_of(work, partition, [m.id for m in own]) if m.private_agent is None]
        best = max(facts, key=lambda fact: carried(engine, fact.text, [each.gem.gem]), default=None)
        if best is not None and carried(engine, best.text, [each.gem.gem]) >= TOLD:
            if best.kind is not Kind.PREFERENCE and not _DECISIVE.isdisjoint(each.gem.categories):
                kept.append(replace(each, gem=replace(each.gem, gem=best.text)))
        elif not engine.settings.life.extracts or not _is_read(work, partition, own):
            kept.append(each)
    return kept


def take_in_facts(
    engine: Engine, work: UnitOfWork, editor: Editor, found: Sequence[Found], decisions: Sequence[Decision]
) -> None:
    """Merge facts that new gems cover into them. `undo` restores each."""
    for each, decision in zip(found, decisions, strict=True):
        if decision.memory_id is None or decision.action not in (Verdict.ADD, Verdict.MERGE, Verdict.SUPERSEDE):
            continue
        gem = editor.get(decision.memory_id)
        if gem.kind is not Kind.GEM or gem.state is not State.ACTIVE:
            continue
        ids = [message.id for turn in each.turns for message in turn.messages]
        facts = [m for m in _facts_of(work, gem.partition, ids) if m.id != gem.id and _is_covered(engine, m, gem)]
        slots = {filled.slot: m.bookkeeping for m in facts if (filled := filled_of(m)) is not None}
        if not facts or len(slots) > 1:
            continue
        notes = {**gem.bookkeeping, **_slot_notes(slots)}
        joined = merged(replace(gem, bookkeeping=notes), facts)
        editor.put(gem, joined, Action.MERGED, "it contains facts that were already extracted")
        for fact in facts:
            editor.supersede(fact, gem.id, Action.MERGED, f"part of the gem {gem.id}")


def _slot_notes(slots: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    return {name: notes[name] for notes in slots.values() for name in ("slot", "value") if name in notes}


def _is_covered(engine: Engine, fact: Memory, gem: Memory) -> bool:
    is_same_place = fact.private_agent == gem.private_agent and not fact.is_pinned
    is_whole = names_same_things(gem.text, fact.text) and fact.expires_at is None and fact.valid_to is None
    return is_same_place and is_whole and carried(engine, fact.text, [gem.text]) >= CARRIED


def _is_same(one: Found, other: Found, cosine: float) -> bool:
    is_of_one_talk = one.gem.date == other.gem.date
    return is_of_one_talk and cosine >= SAME_DECISION and names_same_things(one.gem.gem, other.gem.gem)


def _cosines(engine: Engine, texts: Sequence[str]) -> list[list[float]]:
    """Cosine of each pair of texts; 0 without an embedder."""
    vectors = document_vectors(engine, texts) if len(texts) > 1 else None
    if not vectors or any(not vector for vector in vectors):
        return [[0.0] * len(texts) for _ in texts]
    rows = np.array([vector[0] for vector in vectors], dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths == 0, 1.0, lengths)
    return (rows @ rows.T).tolist()


def _facts_of(work: UnitOfWork, partition: Partition, message_ids: Sequence[str]) -> list[Memory]:
    """The active facts extracted from some messages."""
    made = work.dependants.of(partition, message_ids) if message_ids else ()
    return [
        memory
        for memory in made
        if memory.partition == partition
        and memory.state is State.ACTIVE
        and memory.kind in FACT_KINDS
        and choice_in(memory.bookkeeping) is None
    ]


def _is_read(work: UnitOfWork, partition: Partition, messages: Sequence[Message]) -> bool:
    """True if extraction has read all of these messages."""
    ends: dict[str, int] = {}
    for message in messages:
        ends[message.session] = max(ends.get(message.session, 0), message.position)
    return all(work.conversations.cursor(partition, session, EXTRACTED) >= end for session, end in ends.items())
