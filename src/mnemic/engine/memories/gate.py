"""The gate before memories: what gives orders to the model, and was not said by the user, is kept but not recalled.

Only what counts alone stops a memory (findings of high severity); what was measured: docs/decisions/0017-write-gate.md.
Messages and passages of documents pass: they are what was said and written, and recall takes the orders out of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mnemic.engine.parts import Parts
from mnemic.model.item import Memory, State, Trust
from mnemic.model.settings import Quarantine
from mnemic.text.sanitise import findings

SUSPECT = "it gives orders to the model"
"""How the reason begins for which a memory is quarantined by the gate."""

HIGH = "high"


def suspicion(parts: Parts, memory: Memory) -> str:
    """Why a memory must not be recalled before somebody trusts it; "" where nothing is against it."""
    return suspicion_of(parts, memory.trust, (memory.text, memory.context, memory.snippet))


def suspicion_of(parts: Parts, trust: Trust, texts: Sequence[str]) -> str:
    """The same of texts that are no memory yet."""
    return orders(parts.settings.quarantine, trust, texts)


def orders(wanted: Quarantine, trust: Trust, texts: Sequence[str]) -> str:
    """The same where only the setting is known."""
    if wanted is Quarantine.OFF or (wanted is Quarantine.UNTRUSTED and trust is Trust.USER):
        return ""
    found = {one.pattern for text in texts if text for one in findings(text) if one.severity == HIGH}
    return f"{SUSPECT}: {', '.join(sorted(found))}" if found else ""


def gated(parts: Parts, memory: Memory) -> tuple[Memory, str]:
    """The memory, quarantined where there is a suspicion, and that; an active one only."""
    reason = suspicion(parts, memory) if memory.state is State.ACTIVE else ""
    if not reason:
        return memory, ""
    parts.observer.count("mnemic.guard.quarantined", trust=memory.trust.value)
    return replace(memory, state=State.QUARANTINED), reason
