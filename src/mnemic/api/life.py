"""The verbs of a memory's life: what upkeep does by itself, to be looked at first and done by hand."""

from __future__ import annotations

from collections.abc import Iterable

from mnemic.engine.decay import DecayReport, decay
from mnemic.engine.evict import EvictReport, evict
from mnemic.engine.export import OWN_LEVELS
from mnemic.engine.inputs import check_choice
from mnemic.engine.parts import Parts
from mnemic.model.scope import Level, Scope


class LifeVerbs:
    """What becomes of memories and conversations in time; a part of `Mnemic`."""

    _parts: Parts
    _actor: str

    def decay(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> DecayReport:
        """Note what the importance of memories has faded to since their last access; `importance` stays as stored.

        The worker does it every night. Of the levels that the scope names; of what the whole org shares only when
        "org" is among `levels`. A second run at the same moment changes nothing.
        """
        return decay(self._parts, scope, _checked(levels), is_dry_run=is_dry_run)

    def evict(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> EvictReport:
        """Archive what has faded and is old, or has expired; delete what has been archived for long.

        The worker does it every night; the levels are as in `decay`. Pinned memories and reflections stay. `undo`
        brings back what was archived.
        """
        return evict(self._parts, scope, _checked(levels), actor=self._actor, is_dry_run=is_dry_run)


def _checked(levels: Iterable[Level | str]) -> tuple[Level, ...]:
    return tuple(check_choice(Level, level, "levels") for level in levels)
