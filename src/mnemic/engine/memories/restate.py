"""What happens to a known memory when the same is said again in the same words: it takes it in, or gives way."""

from __future__ import annotations

from dataclasses import replace

from mnemic.engine.memories.dependants import said_again
from mnemic.engine.memories.edit import Editor
from mnemic.engine.memories.gate import SUSPECT
from mnemic.model.history import Action
from mnemic.model.item import Memory, State, Trust
from mnemic.ports.store import UnitOfWork

UNSUPPORTED = "its sources do not carry it"
"""How the reason begins for which a fact is quarantined that nobody said."""


def restate(editor: Editor, held: Memory, memory: Memory) -> str:
    """Let a known memory take in one in the same words, which is not kept; the answer says what happened.

    It keeps its text, gains provenance, context and categories, and the higher importance and confidence. One that was
    quarantined because its sources did not carry it becomes active when the new one is carried, and one that gives
    orders to the model when the user says it. What is said again does not hang on what flagged it. `undo` takes that
    back.
    """
    gained = replace(
        held,
        provenance=tuple(dict.fromkeys((*held.provenance, *memory.provenance))),
        categories=tuple(dict.fromkeys((*held.categories, *memory.categories))),
        context="\n".join(dict.fromkeys(text for text in (held.context, memory.context) if text)),
        snippet=held.snippet or memory.snippet,
        importance=max(held.importance, memory.importance),
        confidence=max(held.confidence, memory.confidence),
        flags=held.flags if memory.state is not State.ACTIVE else said_again(held),
    )
    causes = (UNSUPPORTED, SUSPECT) if memory.trust is Trust.USER else (UNSUPPORTED,)
    is_waiting = held.state is State.QUARANTINED and memory.state is State.ACTIVE
    if is_waiting and any(editor.was_quarantined_for(held, cause) for cause in causes):
        gained = replace(gained, state=State.ACTIVE, trust=memory.trust)
    reason = "it is known in the same words"
    if gained == held:
        editor.note(held, Action.RESTATED, reason, {}, {"text": memory.text} if memory.text != held.text else {})
    else:
        editor.put(held, gained, Action.MERGED, reason, restated=memory.text)
    return reason


def gives_way(work: UnitOfWork, editor: Editor, memory: Memory) -> bool:
    """True when what is known in the same words as `memory` had ended before that was said; it is then superseded, and
    its dedup key is free.
    """
    held = work.memories.holder(memory.partition, memory.private_agent, memory.dedup_key)
    if held is None or held.valid_to is None or held.valid_to > memory.observed_at:
        return False
    gone = replace(held, state=State.SUPERSEDED, other_id=memory.id)
    editor.put(held, gone, Action.SUPERSEDED, f"it had ended; {memory.id} says it anew")
    return True
