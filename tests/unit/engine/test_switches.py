"""The four ways to memories: jobs over the same turns, each with its switch, with one key for what is a duplicate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mnemic.api import Mnemic
from mnemic.config import Config, load_config
from mnemic.engine.kinds import CURATE, EXTRACT, REFLECT, SUMMARISE
from mnemic.model.item import Kind, Memory
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.store import Store
from tests.unit.engine.kit import ANNA, Clock
from tests.unit.engine.life_kit import jobs, opened

WAYS = {EXTRACT: "extracts", SUMMARISE: "summarises", REFLECT: "reflects", CURATE: "curates"}
SMALL = LifeSettings(window_messages=2, summary_batch=2, reflection_threshold=2, reflection_episodes=2)
TOLD = (
    "We decided to use PostgreSQL for the billing project because it has row locks.",
    "I usually run along the Tejo before breakfast.",
    "I moved to Lisbon last week with my two dogs.",
    "We chose Rust for the parser because memory was short.",
    "I am allergic to peanuts and so is my brother Karl.",
    "My sister Ada opened a bakery in Porto.",
    "I bought a blue sailing boat for 900 euros.",
    "We agreed to ship the new release on the first of June.",
    "I am a vegetarian.",
    "I prefer trains to planes.",
)


def live(mnemic: Mnemic, clock: Clock) -> None:
    """Talk, a worker beside it, into the morning after the next night."""
    mnemic.work()
    for text in TOLD:
        mnemic.capture(ANNA, user=text)
        mnemic.work()
        clock.turn(minutes=1)
    mnemic.end(ANNA)
    clock.turn(days=1)
    for _ in range(3):
        mnemic.work()


def kept(mnemic: Mnemic) -> list[Memory]:
    return list(mnemic.list(ANNA, limit=100).memories)


def ways(mnemic: Mnemic) -> set[str]:
    """Which ways left a memory: the extractors that provenance names."""
    return {entry.extractor for memory in kept(mnemic) for entry in memory.provenance}


@pytest.mark.requirement("R-10")
class TestSwitches:
    def test_with_all_of_them_on_all_four_make_memories_of_the_same_turns(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=Settings(life=SMALL))
        live(mnemic, clock)
        assert ways(mnemic) == set(WAYS)

    @pytest.mark.parametrize("way", WAYS)
    def test_each_can_be_switched_off_alone(self, store: Store, clock: Clock, way: str):
        life = replace(SMALL, **{WAYS[way]: False})
        mnemic, _ = opened(store, clock, settings=Settings(life=life))
        live(mnemic, clock)
        gone = {way, REFLECT} if way in (SUMMARISE, EXTRACT) else {way}  # a reflection joins facts, after summaries
        assert ways(mnemic) == set(WAYS) - gone
        assert jobs(mnemic, way) == []

    @pytest.mark.parametrize("way", WAYS)
    def test_what_was_said_meanwhile_is_taken_up_when_it_is_on_again(self, store: Store, clock: Clock, way: str):
        off = replace(SMALL, **{WAYS[way]: False})
        live(opened(store, clock, settings=Settings(life=off))[0], clock)
        on, _ = opened(store, clock, settings=Settings(life=SMALL))
        assert way not in ways(on)
        on.capture(ANNA, user="I sold the boat for 700 euros in Genoa.")
        live(on, clock)
        assert way in ways(on)

    @pytest.mark.parametrize("way", [EXTRACT, SUMMARISE])
    def test_a_job_that_waits_when_its_way_is_switched_off_does_nothing(self, store: Store, clock: Clock, way: str):
        on, _ = opened(store, clock, settings=Settings(life=SMALL))
        for text in TOLD:
            on.capture(ANNA, user=text)
        assert len(jobs(on, way)) == 1
        off, _ = opened(store, clock, settings=Settings(life=replace(SMALL, **{WAYS[way]: False})))
        off.work()
        assert way not in ways(off)
        assert kept(off)

    def test_asked_for_by_name_each_works_also_when_it_is_switched_off(self, store: Store, clock: Clock):
        off = replace(SMALL, **dict.fromkeys(WAYS.values(), False))
        mnemic, _ = opened(store, clock, settings=Settings(life=off))
        live(mnemic, clock)
        assert kept(mnemic) == []
        mnemic.extract(ANNA)
        mnemic.summarise(ANNA, is_flush=True)
        mnemic.reflect(ANNA)
        mnemic.curate(ANNA)
        assert ways(mnemic) == set(WAYS)

    def test_they_share_one_check_for_duplicates(self, store: Store, clock: Clock):
        """What somebody remembered, the talk said and the night curated in the same words is one memory."""
        mnemic, _ = opened(store, clock, settings=Settings(life=SMALL))
        known = mnemic.remember(ANNA, "user's sister ADA opened a bakery in Porto").id
        live(mnemic, clock)
        live(mnemic, clock)
        told = [each for each in kept(mnemic) if each.kind not in (Kind.SUMMARY, Kind.REFLECTION)]
        (memory,) = [each for each in told if "bakery" in each.text]
        assert memory.id == known
        assert EXTRACT in {entry.extractor for entry in memory.provenance}
        (choice,) = [each for each in told if "PostgreSQL" in each.text]
        assert {entry.extractor for entry in choice.provenance} == {EXTRACT, CURATE}
        texts = [(each.kind, each.text.casefold()) for each in kept(mnemic)]
        assert len(texts) == len(set(texts))

    def test_the_switches_are_settings(self):
        keys = {EXTRACT: "EXTRACTION", SUMMARISE: "SUMMARY", REFLECT: "REFLECTION", CURATE: "CURATION"}
        for way, field in WAYS.items():
            environment = {f"MNEMIC_MEMORY_{keys[way]}_ENABLED": "false"}
            assert getattr(load_config(environment=environment).settings.life, field) is False
            assert getattr(Config().settings.life, field) is True
