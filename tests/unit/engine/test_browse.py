"""What looking by id and by condition promises."""

from __future__ import annotations

import pytest

from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError, NotFoundError
from tests.unit.engine.kit import ANNA, BERT, Clock


def test_get_gives_memories_and_messages_of_the_scope(mnemic: Mnemic):
    memory, message = mnemic.remember(ANNA, "Likes tea"), mnemic.capture(ANNA, user="hello").messages[0]
    assert mnemic.get(ANNA, memory.id) == memory
    assert mnemic.get(ANNA, message.id) == message


@pytest.mark.requirement("J-11")
def test_what_belongs_to_somebody_else_is_not_found(mnemic: Mnemic):
    memory, message = mnemic.remember(ANNA, "Likes tea"), mnemic.capture(ANNA, user="hello").messages[0]
    for item_id in (memory.id, message.id, "unknown", ""):
        with pytest.raises(NotFoundError):
            mnemic.get(BERT, item_id)
        with pytest.raises(NotFoundError):
            mnemic.history(BERT, item_id)


@pytest.mark.requirement("N-07")
def test_an_expired_memory_is_not_found(mnemic: Mnemic, clock: Clock):
    memory = mnemic.remember(ANNA, "For now", level="session")
    clock.turn(hours=1)
    with pytest.raises(NotFoundError):
        mnemic.get(ANNA, memory.id)


def test_pages_follow_each_other_without_overlap_or_gap(mnemic: Mnemic):
    made = [memory.id for memory in mnemic.remember_many(ANNA, [f"fact {n}" for n in range(7)])]
    seen: list[str] = []
    after: str | None = None
    for size in (3, 3, 1):
        page = mnemic.list(ANNA, order="oldest", limit=3, after=after)
        assert len(page.memories) == size
        seen += [memory.id for memory in page.memories]
        after = page.next
    assert (sorted(seen), after) == (sorted(made), None)


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_limit_out_of_range_is_refused(mnemic: Mnemic, limit: int):
    with pytest.raises(InvalidInputError):
        mnemic.list(ANNA, limit=limit)


def test_levels_kinds_and_filters_narrow_a_listing(mnemic: Mnemic):
    mnemic.remember(ANNA, "a", level="user", kind="goal", metadata={"team": "core"})
    mnemic.remember(ANNA, "b", level="agent")
    assert [m.text for m in mnemic.list(ANNA, levels=["agent"]).memories] == ["b"]
    assert [m.text for m in mnemic.list(ANNA, kinds=["goal"]).memories] == ["a"]
    assert [m.text for m in mnemic.list(ANNA, filter={"metadata.team": "core"}).memories] == ["a"]
