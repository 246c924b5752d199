"""A dry run says what the run then does, and changes nothing; that of an ingest is in test_ingest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from mnemic.api import Mnemic
from mnemic.engine.consolidate import ConsolidateReport
from mnemic.engine.curate import CurateReport
from mnemic.engine.import_files import ImportReport
from mnemic.engine.upkeep import DecayReport, EvictReport
from mnemic.model.records import Receipt
from mnemic.model.scope import Level
from mnemic.ports.store import Store
from mnemic.testing.observation import state_of
from tests.unit.engine.kit import ANNA, BERT, START, Clock
from tests.unit.engine.life_kit import opened

PLAN, DEED = True, False
LOG = '[{"role": "user", "content": "I moved to Lisbon."}, {"role": "assistant", "content": "Nice."}]'


def lived(mnemic: Mnemic, clock: Clock) -> None:
    """Some talk and some notes; then 400 days go by."""
    for week, place in ((0, "billing"), (6, "the shop"), (12, "the reports")):
        clock.at = START + timedelta(weeks=week)
        mnemic.capture(ANNA, user=f"We decided to use PostgreSQL for {place} because of row locks.", assistant="Good.")
        mnemic.remember(ANNA, f"User chose green tea for {place}", kind="gem")
    mnemic.remember(ANNA, "User once saw a heron", importance=0.3)
    mnemic.remember(BERT, "User once saw an owl", importance=0.3)
    clock.at = START + timedelta(days=400)


def told(report: object) -> object:
    """A report without what only a deed can know: new ids, and whether it was one."""
    match report:
        case CurateReport():
            gems = [[(each.gem, each.verdict) for each in day.gems] for day in report.days]
            return [(day.day, day.turns, kept, day.refused) for day, kept in zip(report.days, gems, strict=True)]
        case ConsolidateReport():
            return [replace(each, memory_id=None) for each in report.entries]
        case Receipt():
            return report.counts
        case ImportReport() | DecayReport() | EvictReport():
            return replace(report, is_dry_run=False)
        case _:
            raise AssertionError(report)


DEEDS: dict[str, Callable[[Mnemic, bool], object]] = {
    "curate": lambda mnemic, is_plan: mnemic.curate(ANNA, is_dry_run=is_plan),
    "consolidate": lambda mnemic, is_plan: mnemic.consolidate(ANNA, is_dry_run=is_plan),
    "decay": lambda mnemic, is_plan: mnemic.decay(ANNA, is_dry_run=is_plan),
    "evict": lambda mnemic, is_plan: mnemic.evict(ANNA, is_dry_run=is_plan),
    "erase": lambda mnemic, is_plan: mnemic.erase(ANNA, level=Level.USER, is_dry_run=is_plan),
    "import": lambda mnemic, is_plan: mnemic.import_(ANNA, LOG, is_dry_run=is_plan),
    "import of notes": lambda mnemic, is_plan: mnemic.import_(ANNA, "- tea\n- Oslo", name="a.md", is_dry_run=is_plan),
}


@pytest.mark.requirement("P-19")
@pytest.mark.parametrize("verb", DEEDS)
def test_the_plan_is_the_deed(store: Store, clock: Clock, verb: str):
    mnemic, _ = opened(store, clock)
    lived(mnemic, clock)
    before = state_of(store)
    plan = DEEDS[verb](mnemic, PLAN)
    assert state_of(store) == before
    deed = DEEDS[verb](mnemic, DEED)
    assert state_of(store) != before
    assert told(deed) == told(plan)
