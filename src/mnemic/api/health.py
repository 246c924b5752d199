"""The verb that looks after what is remembered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict, Unpack

from mnemic.api.acting import Acting
from mnemic.api.known import refuse_unknown
from mnemic.engine.engine import Parts
from mnemic.engine.export import OWN_LEVELS
from mnemic.engine.health import HealthReport, HealthRequest, Progress, health
from mnemic.engine.inputs import check_choice
from mnemic.errors import InvalidInputError
from mnemic.model.health import Ailment
from mnemic.model.scope import Level, Scope

LISTED = 100


class HealthFields(TypedDict, total=False):
    """What may be said of a look at what is remembered.

    `only`: the kinds of findings that are looked for ("contradictory", "unsupported", "orphaned", "duplicate", "junk",
    "stale"; all unless told). `fix`: of these kinds, end what is safe to end. `levels`: as in `decay`. `limit`: most
    findings listed of a kind (100). `progress` is called with how much is done and how much there is.
    """

    only: Iterable[Ailment | str]
    fix: Iterable[Ailment | str]
    levels: Iterable[Level | str]
    limit: int
    is_dry_run: bool
    progress: Progress | None


class HealthVerbs(Acting):
    """A part of `Mnemic`."""

    _parts: Parts

    def health(self, scope: Scope, **fields: Unpack[HealthFields]) -> HealthReport:
        """How well what the scope remembers is: a score from 0 to 100, what is wrong, why, and what ends it.

        Nothing is ever deleted by it: what `fix` ends, `undo` takes back. A score of everything is kept, to be seen in
        `scores` the next time; a dry run keeps nothing and changes nothing, and says what `fix` would end. How well the
        installation is, says `doctor`.
        """
        refuse_unknown("health", fields, HealthFields)
        limit = fields.get("limit", LISTED)
        if isinstance(limit, bool) or not isinstance(limit, int):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers need not be typed
            raise InvalidInputError(f"limit must be a whole number, not {limit!r}")
        request = HealthRequest(
            levels=tuple(check_choice(Level, level, "levels") for level in fields.get("levels", OWN_LEVELS)),
            ailments=_ailments(fields.get("only", ()), "only"),
            fix=_ailments(fields.get("fix", ()), "fix"),
            limit=limit,
            is_dry_run=fields.get("is_dry_run", False),
            progress=fields.get("progress"),
        )
        return health(self._parts, scope, request, actor=self._actor)


def _ailments(given: Iterable[Ailment | str], name: str) -> tuple[Ailment, ...]:
    return tuple(dict.fromkeys(check_choice(Ailment, each, name) for each in given))
