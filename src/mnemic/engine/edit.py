"""Changes memories: update, pin, merge, judge and undo. The history records every change, before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from mnemic.engine.dependants import MAX_FLAGS, Hand, follow, lost_flags
from mnemic.engine.engine import Engine, new_entry
from mnemic.engine.fields import differences, ended, with_due, with_fields, with_key, with_text
from mnemic.engine.importance import confirmed
from mnemic.engine.indexing import ItemVectors, document_vectors, indexed_text, put_vectors
from mnemic.engine.lasting_facts import profile_follows
from mnemic.engine.secrets import SUSPECT, clean_reason, fields_without_secrets, gated, noted, tell_redacted
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.model.bookkeeping import merged_in, note_merged
from mnemic.model.item import Kind, Memory, Provenance, State, Trust
from mnemic.model.records import Action, HistoryEntry
from mnemic.model.scope import MICROSECOND, Scope, Visibility
from mnemic.ports.store import UnitOfWork

UNDOABLE = (
    Action.UPDATED,
    Action.MERGED,
    Action.SUPERSEDED,
    Action.DISPUTED,
    Action.QUARANTINED,
    Action.TRUSTED,
    Action.REJECTED,
    Action.ARCHIVED,
    Action.FEEDBACK,
)


class Editor:
    """Changes memories within one unit of work on behalf of `actor`."""

    def __init__(self, engine: Engine, work: UnitOfWork, visible: Visibility, actor: str) -> None:
        self._engine, self._work, self._visible, self._actor = engine, work, visible, actor
        self.now = engine.clock.now()

    def get(self, memory_id: str) -> Memory:
        """The memory in any state but erased or expired. Raises `NotFoundError`."""
        known = self._work.memories.get(self._visible, [memory_id])
        found = [memory for memory in known if memory.expires_at is None or memory.expires_at > self.now]
        if not found:
            raise NotFoundError(f"there is no memory {memory_id!r} in this scope")
        return found[0]

    def put(self, old: Memory, new: Memory, action: Action, reason: str, **notes: object) -> Memory:
        """Replace `old` by `new` with a history entry and `notes` if anything changed. Updates dependants' flags.
        Raises `ConflictError` on a duplicate or a concurrent change.
        """
        before, after = differences(old, new)
        if not after and not notes:
            return old
        new = replace(new, updated_at=max(self.now, old.updated_at + MICROSECOND))
        if not self._work.memories.replace(new, self._engine.terms(indexed_text(new)), old.updated_at):
            raise ConflictError(f"memory {old.id} was changed by another writer; read it again")
        entry = self.note(new, action, reason, before, {**after, **notes})
        hand = Hand(self._engine, self._work, self._actor, self.now)
        follow(hand, old, new, entry)
        profile_follows(hand, old, new)
        return new

    def note(
        self, memory: Memory, action: Action, reason: str, before: Mapping[str, object], after: Mapping[str, object]
    ) -> HistoryEntry:
        """Add an entry to a memory's history."""
        place, reason = (memory.partition, memory.id), clean_reason(self._engine, reason)
        entry = new_entry(self.now, place, action, self._actor, reason, (before, after))
        self._work.history.add([entry])
        return entry

    def quarantine(self, memory: Memory, reason: str) -> None:
        """Record why a memory that is stored as quarantined is so."""
        states = ({"state": State.ACTIVE.value}, {"state": State.QUARANTINED.value})
        self.note(memory, Action.QUARANTINED, reason, *states)

    def supersede(self, old: Memory, by: str, action: Action, reason: str) -> Memory:
        """Retire a memory in favour of the one with the id `by`."""
        gone = replace(old, state=State.SUPERSEDED, other_id=by, retired_at=self.now)
        return self.put(old, gone, action, reason)

    def was_quarantined_for(self, memory: Memory, reason: str) -> bool:
        """True if the last reason for quarantining the memory starts with `reason`."""
        entries = self._work.history.of(self._visible, memory.id)
        quarantines = [entry.reason for entry in entries if entry.action is Action.QUARANTINED]
        return bool(quarantines) and quarantines[-1].startswith(reason)

    def refresh(self, memory: Memory) -> None:
        """Restart a memory's decay now. Counts as no access."""
        self._work.memories.touch(memory.partition, {memory.id: 0}, self.now)

    def last_change(self, memory: Memory) -> HistoryEntry:
        """The newest change that was not undone. Raises `ConflictError` if there is none."""
        undone: set[object] = set()
        for entry in reversed(self._work.history.of(self._visible, memory.id)):
            if entry.action is Action.RESTORED:
                undone.add(entry.after.get("undone"))
            elif entry.action in UNDOABLE and entry.id not in undone and not _is_empty(entry):
                return entry
        raise ConflictError(f"memory {memory.id} has no more changes to undo")


def update(
    engine: Engine, scope: Scope, memory_id: str, changes: Mapping[str, Any], *, actor: str, reason: str = ""
) -> Memory:
    """Change checked fields of a memory. New text is embedded before the call returns, and secrets are redacted.
    `trust` is that of the editor: the memory keeps the lower of both.
    """
    changes, redacted = fields_without_secrets(engine, changes)
    tell_redacted(engine, redacted)
    ready = _Ready.of(engine, scope, memory_id, lambda _, memory: _changed(memory, changes))
    said_by = changes.get("trust", Trust.USER)
    with engine.store.write() as work:
        editor = Editor(engine, work, scope.visibility, actor)
        old = editor.get(memory_id)
        new = _changed(old, {**changes, "trust": Trust.lowest(old.trust, said_by)})
        if new.valid_from and new.valid_to and new.valid_to <= new.valid_from:
            raise InvalidInputError("valid_to must be later than valid_from")
        if new.text != old.text:
            new = replace(new, flags=())  # the editor of the text answers for it
        changed = editor.put(old, new, Action.UPDATED, noted(reason, redacted))
        changed = _pass_gate(engine, editor, old, changed)
        ready.put(engine, work, old, changed)
        if changed is not old:
            editor.refresh(changed)
        return editor.get(memory_id)


def merge(
    engine: Engine, scope: Scope, ids: Sequence[str], *, text: str | None, actor: str, reason: str = ""
) -> Memory:
    """Merge memories of one place into the first (with `text`, if given); it supersedes the others. Combines categories
    and sources, with the top importance. `undo` reverts it. Secrets are redacted, and the text passes the gate again.
    """
    wanted, visible = list(dict.fromkeys(ids)), scope.visibility
    clean, redacted = fields_without_secrets(engine, {} if text is None else {"text": text})
    text, reason = clean.get("text"), noted(reason, redacted)
    tell_redacted(engine, redacted)
    if len(wanted) < 2:  # noqa: PLR2004 -- a merge needs two
        raise InvalidInputError("a merge needs at least two different memories")
    ready = _Ready.of(engine, scope, wanted[0], lambda work, m: merged(m, work.memories.get(visible, wanted[1:]), text))
    with engine.store.write() as work:
        editor = Editor(engine, work, scope.visibility, actor)
        first, *others = [editor.get(memory_id) for memory_id in wanted]
        if any((o.partition, o.private_agent) != (first.partition, first.private_agent) for o in others):
            raise InvalidInputError("only memories with the same level and owner can be merged")
        if any(memory.state is not State.ACTIVE for memory in (first, *others)):
            raise ConflictError("only active memories can be merged")
        for other in others:
            editor.supersede(other, first.id, Action.MERGED, reason or f"merged into {first.id}")
        joined = editor.put(first, merged(first, others, text), Action.MERGED, reason)
        ready.put(engine, work, first, _pass_gate(engine, editor, first, joined))
        return editor.get(first.id)


def _changed(memory: Memory, changes: Mapping[str, Any]) -> Memory:
    new = with_text(replace(memory, **{**changes, "text": memory.text}), changes.get("text", memory.text))
    if not {"text", "kind", "valid_from"}.isdisjoint(changes):
        new = with_due(new)
    return new if (new.kind, new.valid_from) == (memory.kind, memory.valid_from) else with_key(new)


def merged(first: Memory, others: Sequence[Memory], text: str | None = None) -> Memory:
    """The first memory (with `text`, if given), extended by the others. Its bookkeeping names them for `undo`."""
    memories, first = (first, *others), first if text is None else with_text(first, text)
    return replace(
        first,
        importance=max(memory.importance for memory in memories),
        categories=tuple(dict.fromkeys(tag for memory in memories for tag in memory.categories)),
        provenance=tuple(dict.fromkeys(entry for memory in memories for entry in memory.provenance)),
        context="\n".join(dict.fromkeys(memory.context for memory in memories if memory.context)),
        bookkeeping={**first.bookkeeping, **note_merged([memory.id for memory in others])},
        trust=Trust.lowest(*(memory.trust for memory in memories)),
        flags=tuple(dict.fromkeys(flag for memory in memories for flag in memory.flags))[:MAX_FLAGS],
    )


def undo(engine: Engine, scope: Scope, memory_id: str, *, actor: str) -> Memory:
    """Undo a memory's last change or whole merge. Repeat for earlier ones. Raises `ConflictError` if none is left."""

    def restored(work: UnitOfWork, memory: Memory) -> Memory:
        return with_fields(memory, Editor(engine, work, scope.visibility, actor).last_change(memory).before)

    ready = _Ready.of(engine, scope, memory_id, restored)
    with engine.store.write() as work:
        editor = Editor(engine, work, scope.visibility, actor)
        old = editor.get(memory_id)
        entry = editor.last_change(old)
        ready.put(engine, work, old, _restore_fields(editor, old, entry))
        editor.refresh(old)
        if entry.action is Action.MERGED:
            for other_id in merged_in(cast("Mapping[str, object]", entry.after.get("bookkeeping") or {})):
                other = editor.get(other_id)
                if other.other_id == memory_id:
                    _restore_fields(editor, other, editor.last_change(other))
        return editor.get(memory_id)


def feedback(
    engine: Engine, scope: Scope, memory_id: str, *, is_relevant: bool, actor: str, reason: str = ""
) -> Memory:
    """Apply a user's verdict. "relevant" refreshes a memory like an access; "outdated" ends its validity now."""
    with engine.store.write() as work:
        editor = Editor(engine, work, scope.visibility, actor)
        old = editor.get(memory_id)
        if is_relevant:
            work.memories.touch(old.partition, {old.id: 1}, editor.now)
            editor.note(old, Action.FEEDBACK, reason or "relevant", {}, {})
            return editor.get(memory_id)
        return editor.put(old, ended(old, editor.now), Action.FEEDBACK, reason or "outdated")


def _pass_gate(engine: Engine, editor: Editor, old: Memory, new: Memory) -> Memory:
    """The stored memory, quarantined by a second change if its new text gives orders."""
    says_other = any(getattr(old, name) != getattr(new, name) for name in ("text", "context", "snippet"))
    quarantined, suspicion = gated(engine, new) if says_other else (new, "")
    return editor.put(new, quarantined, Action.QUARANTINED, suspicion) if suspicion else new


def _restore_fields(editor: Editor, old: Memory, entry: HistoryEntry) -> Memory:
    """Restore the fields of `entry.before` and record which entry was undone."""
    new = replace(with_fields(old, entry.before), updated_at=old.updated_at)
    return editor.put(old, new, Action.RESTORED, f"undo of {entry.action.value}", undone=entry.id)


@dataclass(frozen=True, slots=True)
class _Ready:
    """Vectors made before the transaction, so that no lock is held meanwhile, and their text."""

    text: str
    vectors: Sequence[ItemVectors] | None

    @classmethod
    def of(cls, engine: Engine, scope: Scope, memory_id: str, change: Callable[[UnitOfWork, Memory], Memory]) -> _Ready:
        """The vectors of the memory after `change`. None are made if its text stays the same."""
        with engine.store.read() as work:
            found = work.memories.get(scope.visibility, [memory_id])
            changed = [change(work, memory) for memory in found]
        texts = [indexed_text(new) for old, new in zip(found, changed, strict=True) if _says_other(old, new)]
        return cls(texts[0], document_vectors(engine, texts)) if texts else cls("", None)

    def put(self, engine: Engine, work: UnitOfWork, old: Memory, new: Memory) -> None:
        """Store the vectors of a changed text. If a concurrent edit won, queue an embed job instead."""
        if _says_other(old, new):
            vectors = self.vectors if self.text == indexed_text(new) else None
            put_vectors(engine, work, [(new.partition, new.id)], vectors, new.updated_at)


def _is_empty(entry: HistoryEntry) -> bool:
    """True if the change can no longer be read, because it quoted something erased."""
    return entry.action is not Action.FEEDBACK and not entry.before and not entry.after


def _says_other(old: Memory, new: Memory) -> bool:
    return indexed_text(old) != indexed_text(new)


_BECOME_GEMS = (Kind.FACT, Kind.GOAL, Kind.PREFERENCE, Kind.CONTEXT, Kind.EVENT)
"""Kinds that become a gem if one has the same words."""

UNSUPPORTED = "its sources do not carry it"
"""Start of the reason for quarantining a fact that its sources do not support."""


def restate(editor: Editor, held: Memory, memory: Memory) -> str:
    """Merge a memory with the same words into `held`; returns the reason. Adds provenance, context and categories, and
    the higher importance and confidence. A fact becomes a gem of the same words. A quarantined memory becomes active if
    now supported, or if the user states its orders. Clears flags. `undo` reverts it.
    """
    gained = replace(
        held,
        provenance=_bound_sources(held, memory),
        categories=tuple(dict.fromkeys((*held.categories, *memory.categories))),
        context=_bound_context(held.context, memory.context),
        snippet=held.snippet or memory.snippet,
        importance=confirmed(held, memory),
        confidence=max(held.confidence, memory.confidence),
        flags=held.flags if memory.state is not State.ACTIVE else lost_flags(held),
    )
    if memory.kind is Kind.GEM and held.kind in _BECOME_GEMS:
        notes = {**held.bookkeeping, **memory.bookkeeping}
        gained = replace(gained, kind=Kind.GEM, snippet=memory.snippet, bookkeeping=notes)
    causes = (UNSUPPORTED, SUSPECT) if memory.trust is Trust.USER else (UNSUPPORTED,)
    is_waiting = held.state is State.QUARANTINED and memory.state is State.ACTIVE
    if is_waiting and any(editor.was_quarantined_for(held, cause) for cause in causes):
        gained = replace(gained, state=State.ACTIVE, trust=memory.trust)
    reason = "a memory with the same wording exists"
    if gained == held:
        notes: dict[str, object] = {"text": memory.text} if memory.text != held.text else {}
        if memory.provenance:
            notes["sources"] = [entry.source_id for entry in memory.provenance]
        editor.note(held, Action.RESTATED, reason, {}, notes)
    else:
        editor.put(held, gained, Action.MERGED, reason, restated=memory.text)
    return reason


MOST_SOURCES = 16
MOST_CONTEXT_LINES = 16
"""Maximum first sources and contexts of a repeated memory; its history names later sources. Each change is written into
the history whole, so unbounded lists would grow it quadratically.
"""


def _bound_sources(held: Memory, memory: Memory) -> tuple[Provenance, ...]:
    """The sources of both, or only those of `held` if it has enough."""
    known = {entry.source_id for entry in held.provenance}
    if len(known) >= MOST_SOURCES:
        return held.provenance
    return tuple(dict.fromkeys((*held.provenance, *memory.provenance)))


def _bound_context(held: str, added: str) -> str:
    if held.count("\n") + 1 >= MOST_CONTEXT_LINES or not added.strip() or added in held.split("\n"):
        return held or added
    return "\n".join(text for text in (held, added) if text)


def gives_way(work: UnitOfWork, editor: Editor, memory: Memory) -> bool:
    """Supersede a memory with the same words that ended before. This frees its dedup key. False if there is none."""
    held = work.memories.holder(memory.partition, memory.private_agent, memory.dedup_key)
    if held is None or held.valid_to is None or held.valid_to > memory.observed_at:
        return False
    gone = replace(held, state=State.SUPERSEDED, other_id=memory.id)
    editor.put(held, gone, Action.SUPERSEDED, f"no longer valid; {memory.id} states it again")
    return True
