"""The verbs of a memory's life: what upkeep does by itself, to be looked at first and done by hand."""

from __future__ import annotations

from mnemic.engine.parts import Parts


class LifeVerbs:
    """What becomes of memories and conversations in time; a part of `Mnemic`."""

    _parts: Parts
    _actor: str
