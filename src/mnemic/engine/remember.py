"""Stores memories and settles each with known ones of its place: repetitions merge; contradictions supersede or both
are disputed. Unrelated memories are never touched. Whether a memory may be written is decided before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from mnemic.engine.dependants import lost_flags
from mnemic.engine.edit import Editor, gives_way, merged, restate
from mnemic.engine.engine import Engine, new_entry, new_id
from mnemic.engine.fields import EXPIRED, archive, due_notes, filled_of, held_key, is_lasting, slot_notes
from mnemic.engine.importance import confirmed
from mnemic.engine.indexing import document_vectors, indexed_text, put_vectors
from mnemic.engine.secrets import gated, noted, tell_redacted, without_secrets
from mnemic.errors import InvalidInputError
from mnemic.model.bookkeeping import fills_slot, key_in, note_key
from mnemic.model.item import TRUST_ORDER, Decision, Judgement, Kind, Memory, MemoryDraft, State, Verdict
from mnemic.model.recall import MemoryQuery, Order
from mnemic.model.records import Action
from mnemic.model.scope import MICROSECOND, Level, Scope, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.normalise import dedup_key
from mnemic.text.sameness import denials, may_be_same, same_statement
from mnemic.text.slots import Relation, is_single, relation, slot_of

MAX_RIVALS = 32  # memories with the same slot to compare, newest first
_LIVE = (State.ACTIVE, State.DISPUTED)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Memories that may say the same, and a model's judgements on some of them, by id. `is_told`: a program states the
    current value. Then a later statement wins however soon, and its wording is kept beside others that say the same.
    """

    near: Sequence[Memory] = ()
    judgements: Mapping[str, Judgement] = field(default_factory=dict[str, Judgement])
    is_told: bool = False


class Settler:
    """Settles memories within one unit of work, which locks every compared memory's partition."""

    def __init__(self, work: UnitOfWork, editor: Editor) -> None:
        self._work, self._editor = work, editor

    def settle(self, memory: Memory, neighbours: Neighbours) -> Decision:
        """Compare an active memory of this unit of work with known ones, and decide."""
        if not _is_live(memory, self._editor.now) or not (neighbours.near or may_settle(memory)):
            return Decision(Verdict.ADD, memory.id)
        memory = self._editor.get(memory.id)
        same, rivals = self._sort_known(memory, neighbours)
        if same is not None:
            return self.merge(same, memory)
        decision = Decision(Verdict.ADD, memory.id)
        for rival in rivals:
            decision = self._set_against(memory, rival, is_told=neighbours.is_told)
            if decision.action is not Verdict.SUPERSEDE or decision.memory_id != memory.id:
                break
        return decision

    def _sort_known(self, memory: Memory, neighbours: Neighbours) -> tuple[Memory | None, list[Memory]]:
        """The memory that `memory` repeats, and those that contradict it."""
        rivals: dict[str, Memory] = {}
        for known, how in self._find_same_slot(memory):
            if how is Relation.SAME and known.state is State.ACTIVE:
                if not neighbours.is_told and _is_repeated(known, memory):
                    return known, []
            elif how is Relation.OTHER or known.state is State.DISPUTED:
                rivals[known.id] = known
        rivals |= {known.id: known for known in self._find_denied(memory)}
        for known in neighbours.near:
            if known.id == memory.id or known.state is not State.ACTIVE or not is_mergeable(known, memory):
                continue
            judgement = neighbours.judgements.get(known.id)
            if _says_the_same(known, memory, judgement):
                return known, []
            if judgement is Judgement.CHANGED:
                rivals[known.id] = known
        return None, list(rivals.values())

    def _find_denied(self, memory: Memory) -> list[Memory]:
        """The live memories that say the opposite in the same words."""
        if not _is_about_one_user(memory):
            return []
        keys = [dedup_key(text) for text in denials(memory.text)]
        held = [self._work.memories.holder(memory.partition, memory.private_agent, key) for key in keys]
        return [m for m in held if m is not None and m.state is State.ACTIVE and _is_live(m, self._editor.now)]

    def _find_same_slot(self, memory: Memory) -> list[tuple[Memory, Relation]]:
        filled = filled_of(memory)
        if filled is None or not is_single(filled.slot) or not _is_about_one_user(memory):
            return []
        query = MemoryQuery(
            now=self._editor.now, states=_LIVE, filter=fills_slot(filled.slot), order=Order.NEWEST, limit=MAX_RIVALS
        )
        known = self._work.memories.list(Visibility((memory.partition,), memory.private_agent), query)
        others = [m for m in known if m.id != memory.id and m.private_agent == memory.private_agent]
        told = slot_of(memory.text)
        is_change = told is not None and told.is_change
        overlapping = [m for m in others if _overlap(m, memory)]
        return [(m, relation(filled.slot, _value(m), filled.value, is_change=is_change)) for m in overlapping]

    def merge(self, known: Memory, memory: Memory) -> Decision:
        """Merge into the known memory; `undo` restores the new one."""
        reason = "it says the same"
        self._editor.supersede(memory, known.id, Action.MERGED, f"merged into {known.id}: {reason}")
        joined = replace(merged(known, [memory]), flags=lost_flags(known), importance=confirmed(known, memory))
        self._editor.put(known, joined, Action.MERGED, f"{memory.id} was merged into it: {reason}")
        return Decision(Verdict.MERGE, known.id, memory.id, reason)

    def _set_against(self, memory: Memory, known: Memory, *, is_told: bool) -> Decision:
        if _rank(memory) < _rank(known):
            return self._challenge(memory, known)
        if memory.observed_at < known.observed_at:
            return self._supersede_new(memory, known)
        if is_told or _rank(memory) > _rank(known) or memory.observed_at > known.observed_at:
            return self._supersede(memory, known)
        return self._dispute(memory, known)

    def _supersede(self, memory: Memory, known: Memory) -> Decision:
        reason = "it is newer and contradicts the other memory"
        ended = _end_memory(known, memory, self._editor.now)
        self._editor.put(known, ended, Action.SUPERSEDED, f"{memory.id} is newer and contradicts it")
        return Decision(Verdict.SUPERSEDE, memory.id, known.id, reason)

    def _supersede_new(self, memory: Memory, known: Memory) -> Decision:
        reason = "a newer memory that contradicts it is already stored"
        ended = _end_memory(memory, known, self._editor.now)
        self._editor.put(memory, ended, Action.SUPERSEDED, f"{known.id} is newer and contradicts it")
        return Decision(Verdict.SUPERSEDE, known.id, memory.id, reason)

    def _dispute(self, memory: Memory, known: Memory) -> Decision:
        reason = "they contradict each other, and it is unclear which is newer"
        for one, other in ((known, memory), (memory, known)):
            disputed = replace(one, state=State.DISPUTED, other_id=other.id)
            self._editor.put(one, disputed, Action.DISPUTED, f"contradicts {other.id}; it is unclear which is newer")
        return Decision(Verdict.DISPUTE, memory.id, known.id, reason)

    def _challenge(self, memory: Memory, known: Memory) -> Decision:
        """Dispute only the new memory, whose source is less trusted. The known one stays active and links to it."""
        reason = "it contradicts a more trusted memory"
        disputed = replace(memory, state=State.DISPUTED, other_id=known.id)
        self._editor.put(
            memory, disputed, Action.DISPUTED, f"contradicts {known.id}, which has a source of higher trust"
        )
        marked = replace(known, other_id=memory.id)
        self._editor.put(known, marked, Action.DISPUTED, f"{memory.id}, from a source of lower trust, contradicts it")
        return Decision(Verdict.DISPUTE, memory.id, known.id, reason)


def may_settle(memory: Memory) -> bool:
    """True if a memory's words alone can contradict another."""
    is_compared = _is_about_one_user(memory) and not key_in(memory.bookkeeping)
    return is_compared and (filled_of(memory) is not None or bool(denials(memory.text)))


def _value(memory: Memory) -> str:
    filled = filled_of(memory)
    return "" if filled is None else filled.value


def _is_repeated(known: Memory, memory: Memory) -> bool:
    """True if both texts say how their one slot is filled, and nothing else."""
    said = (slot_of(known.text), slot_of(memory.text))
    return all(each is not None and not each.is_change for each in said) and is_mergeable(known, memory)


def _says_the_same(known: Memory, memory: Memory, judgement: Judgement | None) -> bool:
    is_judged_same = judgement is Judgement.SAME and may_be_same(known.text, memory.text)
    return is_judged_same or same_statement(known.text, memory.text)


def is_mergeable(known: Memory, memory: Memory) -> bool:
    """True if merging loses nothing: same place, kind and dates, and the known one was still valid."""
    times = [(m.valid_from, m.valid_to, m.expires_at, m.is_pinned) for m in (known, memory)]
    is_event = Kind.EVENT in (known.kind, memory.kind)
    return (
        (known.partition, known.private_agent) == (memory.partition, memory.private_agent)
        and (times[0] == times[1] or times[1] == (None, None, None, False))
        and (known.valid_to is None or known.valid_to > memory.observed_at)
        and (not is_event or known.observed_at.date() == memory.observed_at.date())
        and known.kind is memory.kind
        and key_in(known.bookkeeping) == key_in(memory.bookkeeping)
    )


def _overlap(known: Memory, memory: Memory) -> bool:
    """True unless their known periods are disjoint."""
    pairs = ((known, memory), (memory, known))
    return not any(one.valid_to and other.valid_from and one.valid_to <= other.valid_from for one, other in pairs) and (
        memory.valid_to is None or memory.valid_to > memory.observed_at
    )


def _is_about_one_user(memory: Memory) -> bool:
    """True at user and session level. In a place that many users share, "User" is no one person."""
    return memory.level in (Level.USER, Level.SESSION)


def _is_live(memory: Memory, now: datetime) -> bool:
    return memory.expires_at is None or memory.expires_at > now


def _rank(memory: Memory) -> int:
    return TRUST_ORDER.index(memory.trust)


def _end_memory(old: Memory, by: Memory, now: datetime) -> Memory:
    """`old`, ending where `by` begins. It stays active if that is in the future."""
    start, end = old.valid_from or old.observed_at, by.valid_from or by.observed_at
    ends = max(end, start + MICROSECOND)
    ends = ends if old.valid_to is None else min(old.valid_to, ends)
    state = State.SUPERSEDED if ends <= max(now, by.observed_at, start + MICROSECOND) else old.state
    return replace(old, valid_to=ends, state=state, other_id=by.id)


def remember(
    engine: Engine,
    scope: Scope,
    drafts: Sequence[MemoryDraft],
    *,
    actor: str,
    ids: Sequence[str] = (),
    notes: Sequence[Mapping[str, object]] = (),
) -> list[Memory]:
    """Store drafts in one durable transaction. Returns in order the new memory or the known one in the same words,
    which notes the repetition. Plain sentences about the user supersede contradicted ones. `actor` goes into the
    history. Each is created a microsecond after the last, to keep order. Full sessions archive the least important.
    Secrets are redacted; orders to the model that the user did not say are quarantined. `ids`: fixed ids,
    `ConflictError` if taken. `notes`: per draft.
    """
    with engine.observer.span("mnemic.remember", memories=len(drafts)):
        return _remember_drafts(engine, scope, drafts, actor, ids, notes)


def _remember_drafts(
    engine: Engine,
    scope: Scope,
    drafts: Sequence[MemoryDraft],
    actor: str,
    ids: Sequence[str],
    notes: Sequence[Mapping[str, object]],
) -> list[Memory]:
    now = engine.clock.now()
    clean = [without_secrets(engine, draft) for draft in drafts]
    memories = [_memory(engine, scope, draft, now + place * MICROSECOND) for place, (draft, _) in enumerate(clean)]
    memories = [replace(memory, id=id_) for memory, id_ in zip(memories, ids, strict=True)] if ids else memories
    if notes:
        noted_on = zip(memories, notes, strict=True)
        memories = [replace(memory, bookkeeping={**memory.bookkeeping, **own}) for memory, own in noted_on]
    judged = [gated(engine, memory) for memory in memories]
    memories = [memory for memory, _ in judged]
    redacted = {memory.id: kinds for memory, (_, kinds) in zip(memories, clean, strict=True)}
    vectors = document_vectors(engine, [indexed_text(memory) for memory in memories])
    with engine.store.write() as work:
        engine.accesses.drain(work)
        editor = Editor(engine, work, scope.visibility, actor)
        is_new = _add(engine, work, memories, editor, actor)
        added = [memory for memory, new in zip(memories, is_new, strict=True) if new]
        ready = [v for v, new in zip(vectors, is_new, strict=True) if new] if vectors else vectors
        put_vectors(engine, work, [(memory.partition, memory.id) for memory in added], ready, now)
        entries = [((each.partition, each.id), noted("", redacted[each.id])) for each in added]
        work.history.add([new_entry(now, place, Action.CREATED, actor, reason) for place, reason in entries])
        for memory, (_, reason), new in zip(memories, judged, is_new, strict=True):
            if reason and new:
                editor.quarantine(memory, reason)
        kept = [_settle_memory(work, editor, m, is_new=new) for m, new in zip(memories, is_new, strict=True)]
        for partition in dict.fromkeys(m.partition for m in added if m.level is Level.SESSION):
            _keep_small(engine, work, Visibility((partition,), scope.agent), actor, now)
    engine.observer.count("mnemic.remember.added", len(added))
    engine.observer.count("mnemic.remember.duplicates", len(memories) - len(added))
    tell_redacted(engine, [kind for memory in added for kind in redacted[memory.id]])
    return kept


def _add(engine: Engine, work: UnitOfWork, memories: Sequence[Memory], editor: Editor, actor: str) -> list[bool]:
    """Add memories; True for each new one. Expired or ended holders of its words are archived or superseded first."""
    rows = [(memory, engine.terms(indexed_text(memory))) for memory in memories]
    is_new = work.memories.add(rows)
    taken = [place for place, new in enumerate(is_new) if not new]
    freed = [place for place in taken if _is_freed(engine, work, memories[place], editor, actor)]
    if freed:
        for place, new in zip(freed, work.memories.add([rows[place] for place in freed]), strict=True):
            is_new[place] = new
    return is_new


def _is_freed(engine: Engine, work: UnitOfWork, memory: Memory, editor: Editor, actor: str) -> bool:
    """Free the dedup key of `memory` if its holder expired or ended. True if freed."""
    holder = work.memories.holder(memory.partition, memory.private_agent, memory.dedup_key)
    if holder is None or holder.expires_at is None or holder.expires_at > editor.now:
        return holder is None or gives_way(work, editor, memory)
    return archive(engine, work, holder, actor=actor, reason=EXPIRED)


def _keep_small(engine: Engine, work: UnitOfWork, session: Visibility, actor: str, now: datetime) -> None:
    """Archive a session's surplus: the least important, then the oldest; never pinned memories or reflections."""
    most = engine.settings.max_session_memories
    if len(work.memories.ids(session, MemoryQuery(now=now))) <= most:
        return
    ranked = work.memories.list(session, MemoryQuery(now=now, order=Order.IMPORTANCE))
    for memory in sorted(ranked, key=lambda memory: not is_lasting(memory))[most:]:
        if not is_lasting(memory):
            archive(engine, work, memory, actor=actor, reason=f"the session's limit is {most}")


def _memory(engine: Engine, scope: Scope, draft: MemoryDraft, now: datetime) -> Memory:
    level = draft.level or scope.default_level
    expires_at = draft.expires_at
    if expires_at is None and level is Level.SESSION:
        expires_at = now + timedelta(seconds=engine.settings.session_memory_ttl_s)
    if draft.is_private and scope.agent is None:
        raise InvalidInputError("is_private=True requires an agent in the scope")
    slots = slot_notes(draft.text) if level in (Level.USER, Level.SESSION) else {}
    due = due_notes(draft.text, draft.kind, draft.observed_at or now, draft.valid_from)
    notes = note_key(draft.key) if draft.key else {**slots, **due}
    return Memory(
        id=new_id(now),
        partition=scope.partition(level),
        text=draft.text,
        kind=draft.kind,
        dedup_key=held_key(draft.text, draft.kind, draft.valid_from, draft.key),
        created_at=now,
        updated_at=now,
        observed_at=draft.observed_at or now,
        importance=draft.importance,
        confidence=draft.confidence,
        categories=draft.categories,
        context=draft.context,
        snippet=draft.snippet,
        source=draft.source,
        agent=scope.agent,
        private_agent=scope.agent if draft.is_private else None,
        valid_from=draft.valid_from,
        valid_to=draft.valid_to,
        expires_at=expires_at,
        is_pinned=draft.is_pinned,
        trust=draft.trust,
        provenance=draft.provenance,
        metadata=draft.metadata,
        bookkeeping=notes,
    )


def _settle_memory(work: UnitOfWork, editor: Editor, memory: Memory, *, is_new: bool) -> Memory:
    """Settle a stored memory. Returns the one that now says it."""
    if not is_new:
        held = work.memories.holder(memory.partition, memory.private_agent, memory.dedup_key)
        if held is not None and memory.state is State.ACTIVE:
            restate(editor, held, memory)
        return editor.get(held.id) if held is not None else memory
    if memory.state is State.QUARANTINED:
        return memory
    decision = Settler(work, editor).settle(memory, Neighbours(is_told=True))
    if decision.action is Verdict.ADD:
        return memory
    return editor.get(decision.memory_id or memory.id) if decision.action is Verdict.MERGE else editor.get(memory.id)
