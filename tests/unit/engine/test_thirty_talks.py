"""Thirty short talks of one user over ten months, without a model: what a person reads at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import MEMORY_URL, Config
from mnemic.model.item import Kind, Memory
from mnemic.model.scope import Scope
from mnemic.text.prose import is_machine_line
from tests.unit.engine.kit import Clock

STORY = Path(__file__).parent / "stories" / "thirty_talks.txt"
MARA = Scope(user="mara")


def talks() -> Iterator[tuple[datetime, str, list[tuple[str, str]]]]:
    """When each talk began, its session, and its messages by role."""
    for block in STORY.read_text(encoding="utf-8").split("# ")[1:]:
        head, *lines = block.strip().splitlines()
        day, hour, session = head.split()
        said = [("user" if line[0] == "U" else "assistant", line[3:].replace("\\n", "\n")) for line in lines]
        yield datetime.fromisoformat(f"{day}T{hour}").replace(tzinfo=UTC), session, said


def live(mnemic: Mnemic, clock: Clock) -> None:
    """Every talk at its time, and a worker every day."""
    clock.at = datetime(2025, 1, 7, tzinfo=UTC)
    for begun, session, said in talks():
        while clock.at.date() < begun.date():
            clock.at = min(clock.at + timedelta(days=1), begun)
            mnemic.work()
        scope = replace(MARA, session=session)
        for role, text in said:
            mnemic.capture(scope, [{"role": role, "content": text}])
            clock.turn(seconds=40)
        for _ in range(2):
            mnemic.work()
            clock.turn(hours=1)
    for _ in range(40):
        clock.turn(days=1)
        mnemic.work()


@pytest.fixture(scope="module")
def lived() -> Iterator[tuple[Mnemic, Clock]]:
    clock = Clock()
    parts = replace(build(Config(store=MEMORY_URL)), clock=clock)
    with Mnemic(parts, actor="tester") as mnemic:
        live(mnemic, clock)
        yield mnemic, clock


def of_kind(mnemic: Mnemic, kind: Kind) -> list[Memory]:
    return list(mnemic.list(MARA, kinds=[kind], limit=200, order="oldest").memories)


@pytest.mark.requirement("D-01", "T-02")
def test_summaries_tell_of_the_user_and_hold_nothing_of_a_machine(lived: tuple[Mnemic, Clock]):
    found = of_kind(lived[0], Kind.SUMMARY)
    assert 20 <= len(found) <= 30
    lines = [line for memory in found for line in memory.text.splitlines()]
    assert [line for line in lines if is_machine_line(line) or "[image" in line] == []
    told = [memory for memory in found if not re.match(r"(?:user|assistant): ", memory.text)]
    assert len(told) >= 0.8 * len(found)
    assert not any("joke" in memory.text or "translate" in memory.text for memory in found)


@pytest.mark.requirement("D-29", "D-45")
def test_a_reflection_joins_what_lasts(lived: tuple[Mnemic, Clock]):
    (reflection,) = of_kind(lived[0], Kind.REFLECTION)
    for words in ("self-hosted", "vegetarian", "penicillin", "runs in the morning"):
        assert words in reflection.text
    assert "user:" not in reflection.text


@pytest.mark.requirement("T-13", "T-14")
def test_gems_are_decisions_with_their_reason_or_none(lived: tuple[Mnemic, Clock]):
    gems = of_kind(lived[0], Kind.GEM)
    named = ("stations", "Forgejo", "Vaultwarden", "PostgreSQL", "Immich", "Prefect", "Radicale")
    assert [name for name in named if not any(name in gem.text for gem in gems)] == []
    assert len(gems) <= 10
    assert all(gem.context == "" or gem.context not in gem.text for gem in gems)


@pytest.mark.requirement("T-33")
def test_a_year_of_self_hosted_choices_becomes_a_preference(lived: tuple[Mnemic, Clock]):
    (general,) = (m for m in of_kind(lived[0], Kind.PREFERENCE) if "self-hosted tools" in m.text)
    assert len(general.context.splitlines()) >= 6


@pytest.mark.requirement("R-35")
def test_the_profile_holds_plain_attributes(lived: tuple[Mnemic, Clock]):
    assert {"name", "home"} <= set(lived[0].profile.get(MARA))


@pytest.mark.requirement("R-20", "D-38")
def test_after_more_than_a_year_summaries_gems_and_what_is_personal_are_left(lived: tuple[Mnemic, Clock]):
    mnemic, clock = lived
    before = {memory.id: memory for memory in mnemic.list(MARA, limit=500).memories}
    for _ in range(40):
        clock.turn(days=10)
        mnemic.work()
    left = {memory.id for memory in mnemic.list(MARA, limit=500).memories}
    gone = [memory for memory in before.values() if memory.id not in left]
    assert gone
    assert all(memory.importance < 0.6 and memory.kind is not Kind.SUMMARY for memory in gone)
    assert {m.id for m in before.values() if m.kind in (Kind.SUMMARY, Kind.GEM, Kind.REFLECTION)} <= left
