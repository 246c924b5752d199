"""Keeps a memory, once: what is already known in the same place is given back instead of stored again, and what it
plainly contradicts ends with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from mnemic.engine.indexing.embedding import document_vectors, put_vectors
from mnemic.engine.indexing.indexed import indexed_text
from mnemic.engine.memories.archive import EXPIRED, archive, is_lasting
from mnemic.engine.memories.edit import Editor
from mnemic.engine.memories.fields import held_key
from mnemic.engine.memories.gate import gated
from mnemic.engine.memories.restate import gives_way, restate
from mnemic.engine.memories.settle import Neighbours, Settler, slot_metadata
from mnemic.engine.parts import Parts, new_id
from mnemic.engine.secrets import Kinds, noted, tell_redacted, without_secrets
from mnemic.errors import InvalidInputError
from mnemic.model.draft import MemoryDraft
from mnemic.model.history import Action, HistoryEntry
from mnemic.model.item import Memory, State
from mnemic.model.query import MemoryQuery, Order
from mnemic.model.scope import Level, Scope, Visibility
from mnemic.model.verdict import Verdict
from mnemic.ports.store import UnitOfWork

_TICK = timedelta(microseconds=1)


def remember(
    parts: Parts, scope: Scope, drafts: Sequence[MemoryDraft], *, actor: str, ids: Sequence[str] = ()
) -> list[Memory]:
    """Store each draft in one durable transaction; the answer holds, in order, the new memory or the one that already
    says the same in the same place, which then notes that it was said again. A plain sentence about the user that
    contradicts a known one supersedes it. `actor` is written into the history. Each is created a microsecond after the
    one before, so that their order stays known. A session that then has more live memories than it may keep archives
    the least important of them, the new ones included. Secrets are redacted; the history names their kinds. What gives
    orders to the model, and the user did not say, is quarantined and contradicts nothing.

    `ids`: those of the new memories where they are not to be chance; raises `ConflictError` where one is taken.
    """
    with parts.observer.span("mnemic.remember", memories=len(drafts)):
        return _remembered(parts, scope, drafts, actor, ids)


def _remembered(
    parts: Parts, scope: Scope, drafts: Sequence[MemoryDraft], actor: str, ids: Sequence[str]
) -> list[Memory]:
    now = parts.clock.now()
    clean = [without_secrets(parts, draft) for draft in drafts]
    memories = [_memory(parts, scope, draft, now + place * _TICK) for place, (draft, _) in enumerate(clean)]
    memories = [replace(memory, id=id_) for memory, id_ in zip(memories, ids, strict=True)] if ids else memories
    judged = [gated(parts, memory) for memory in memories]
    memories = [memory for memory, _ in judged]
    redacted = {memory.id: kinds for memory, (_, kinds) in zip(memories, clean, strict=True)}
    vectors = document_vectors(parts, [indexed_text(memory) for memory in memories])
    with parts.store.write() as work:
        parts.accesses.drain(work)
        editor = Editor(parts, work, scope.visibility, actor)
        is_new = _add(parts, work, memories, editor, actor)
        added = [memory for memory, new in zip(memories, is_new, strict=True) if new]
        ready = [v for v, new in zip(vectors, is_new, strict=True) if new] if vectors else vectors
        put_vectors(parts, work, [(memory.partition, memory.id) for memory in added], ready, now)
        work.history.add([_entry(memory, actor, now, redacted[memory.id]) for memory in added])
        for memory, (_, reason), new in zip(memories, judged, is_new, strict=True):
            if reason and new:
                editor.quarantine(memory, reason)
        kept = [_settled(work, editor, m, is_new=new) for m, new in zip(memories, is_new, strict=True)]
        for partition in dict.fromkeys(m.partition for m in added if m.level is Level.SESSION):
            _keep_small(parts, work, Visibility((partition,), scope.agent), actor, now)
    parts.observer.count("mnemic.remember.added", len(added))
    parts.observer.count("mnemic.remember.duplicates", len(memories) - len(added))
    tell_redacted(parts, [kind for memory in added for kind in redacted[memory.id]])
    return kept


def _add(parts: Parts, work: UnitOfWork, memories: Sequence[Memory], editor: Editor, actor: str) -> list[bool]:
    """True where a memory is new. One that has expired or ended must not keep its like from being remembered: it is
    archived, or superseded.
    """
    rows = [(memory, parts.terms(indexed_text(memory))) for memory in memories]
    is_new = work.memories.add(rows)
    taken = [place for place, new in enumerate(is_new) if not new]
    freed = [place for place in taken if _is_freed(parts, work, memories[place], editor, actor)]
    if freed:
        for place, new in zip(freed, work.memories.add([rows[place] for place in freed]), strict=True):
            is_new[place] = new
    return is_new


def _is_freed(parts: Parts, work: UnitOfWork, memory: Memory, editor: Editor, actor: str) -> bool:
    """True when the dedup key of `memory` is free by now, because its holder has expired or ended."""
    holder = work.memories.holder(memory.partition, memory.private_agent, memory.dedup_key)
    if holder is None or holder.expires_at is None or holder.expires_at > editor.now:
        return holder is None or gives_way(work, editor, memory)
    return archive(parts, work, holder, actor=actor, reason=EXPIRED)


def _keep_small(parts: Parts, work: UnitOfWork, session: Visibility, actor: str, now: datetime) -> None:
    """Archive what a session holds beyond its most: the least important, then the oldest; never what is pinned, and no
    reflection.
    """
    most = parts.settings.max_session_memories
    if len(work.memories.ids(session, MemoryQuery(now=now))) <= most:
        return
    ranked = work.memories.list(session, MemoryQuery(now=now, order=Order.IMPORTANCE))
    for memory in sorted(ranked, key=lambda memory: not is_lasting(memory))[most:]:
        if not is_lasting(memory):
            archive(parts, work, memory, actor=actor, reason=f"the session keeps {most} at most")


def _memory(parts: Parts, scope: Scope, draft: MemoryDraft, now: datetime) -> Memory:
    level = draft.level or scope.default_level
    expires_at = draft.expires_at
    if expires_at is None and level is Level.SESSION:
        expires_at = now + timedelta(seconds=parts.settings.session_memory_ttl_s)
    if draft.is_private and scope.agent is None:
        raise InvalidInputError("is_private=True keeps a memory to its agent; this scope names none")
    slots = slot_metadata(draft.text) if level in (Level.USER, Level.SESSION) else {}
    return Memory(
        id=new_id(now),
        partition=scope.partition(level),
        text=draft.text,
        kind=draft.kind,
        dedup_key=held_key(draft.text, draft.kind, draft.valid_from),
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
        metadata={**slots, **draft.metadata},
    )


def _entry(memory: Memory, actor: str, now: datetime, redacted: Kinds) -> HistoryEntry:
    return HistoryEntry(
        id=new_id(now),
        partition=memory.partition,
        item_id=memory.id,
        action=Action.CREATED,
        actor=actor,
        reason=noted("", redacted),
        at=now,
    )


def _settled(work: UnitOfWork, editor: Editor, memory: Memory, *, is_new: bool) -> Memory:
    """The memory that says what `memory` says, after it was compared with what is known."""
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
