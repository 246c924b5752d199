"""Lets a known memory take in what was said again in the same words."""

from __future__ import annotations

from dataclasses import replace

from mnemic.engine.edit import Editor
from mnemic.model.history import Action
from mnemic.model.item import Memory, State

UNSUPPORTED = "its sources do not carry it"
"""How the reason begins for which a fact is quarantined that nobody said."""


def restate(editor: Editor, held: Memory, memory: Memory) -> str:
    """Let a known memory take in one in the same words, which is not kept; the answer says what happened.

    It keeps its text, gains provenance and categories, and the higher importance and confidence. One that was
    quarantined because its sources did not carry it becomes active when the new one is carried. `undo` takes that back.
    """
    gained = replace(
        held,
        provenance=tuple(dict.fromkeys((*held.provenance, *memory.provenance))),
        categories=tuple(dict.fromkeys((*held.categories, *memory.categories))),
        importance=max(held.importance, memory.importance),
        confidence=max(held.confidence, memory.confidence),
    )
    if held.state is State.QUARANTINED and memory.state is State.ACTIVE and editor.was_unsupported(held, UNSUPPORTED):
        gained = replace(gained, state=State.ACTIVE, trust=memory.trust)
    reason = "it is known in the same words"
    if gained == held:
        editor.note(held, Action.RESTATED, reason, {}, {"text": memory.text} if memory.text != held.text else {})
    else:
        editor.put(held, gained, Action.MERGED, reason, restated=memory.text)
    return reason
