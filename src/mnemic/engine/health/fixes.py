"""Ends findings in ways that can be taken back: each in a unit of work of its own, and looked at again there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mnemic.engine.health.findings import is_live
from mnemic.engine.jobs.jobs import retry_jobs
from mnemic.engine.memories.archive import archive
from mnemic.engine.memories.edit import Editor, merge
from mnemic.engine.memories.settle import Neighbours, Settler
from mnemic.engine.parts import Parts
from mnemic.errors import ConflictError, NotFoundError
from mnemic.model.history import Action
from mnemic.model.item import Memory, State
from mnemic.model.memory_health import Ailment, HealthFinding
from mnemic.model.scope import Scope
from mnemic.model.verdict import Verdict
from mnemic.ports.store import UnitOfWork


@dataclass(slots=True)
class Fixed:
    """What was ended, and notes on what could not be."""

    findings: list[HealthFinding] = field(default_factory=list[HealthFinding])
    changed: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """In words."""
        if not self.changed:
            return ()
        return (f"{self.changed:,} findings were left: they could not be ended, or are no longer as they were found",)


def fixed(parts: Parts, scope: Scope, findings: Sequence[HealthFinding], *, actor: str, is_dry_run: bool) -> Fixed:
    """End each of the findings, all of which are safe to end; what is no longer as it was found is left and counted.

    A memory is changed for one finding only; others about it are found again the next time.
    """
    done, touched = Fixed(), set[str]()
    for one in findings:
        if not touched.isdisjoint(one.ids):
            continue
        touched |= set(one.ids)
        try:
            is_ended = is_dry_run or _end(parts, scope, one, actor)
        except (ConflictError, NotFoundError):
            is_ended = False
        if is_ended:
            done.findings.append(one)
        else:
            done.changed += 1
    return done


def _end(parts: Parts, scope: Scope, one: HealthFinding, actor: str) -> bool:
    if one.remedy.verb == "jobs.retry":
        return retry_jobs(parts, scope, one.ids) > 0
    if one.ailment is Ailment.DUPLICATE:
        merge(parts, scope, one.ids, text=None, actor=actor, reason=f"health: {one.reason}")
        return True
    with parts.store.write() as work:
        found = work.memories.get(scope.visibility, [one.ids[-1]])
        return bool(found) and _end_one(parts, work, Editor(parts, work, scope.visibility, actor), found[0], one, actor)


def _end_one(parts: Parts, work: UnitOfWork, editor: Editor, memory: Memory, one: HealthFinding, actor: str) -> bool:
    if memory.state not in (State.ACTIVE, State.DISPUTED):
        return False
    reason = f"health: {one.reason}"
    if one.ailment in (Ailment.JUNK, Ailment.STALE):
        return archive(parts, work, memory, actor=actor, reason=reason)
    if one.ailment is Ailment.UNSUPPORTED:
        editor.put(memory, replace(memory, state=State.QUARANTINED), Action.QUARANTINED, reason)
        return True
    if one.ailment is Ailment.CONTRADICTORY and is_live(memory, editor.now):
        return Settler(work, editor).settle(memory, Neighbours()).action is not Verdict.ADD
    return False
