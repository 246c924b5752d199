"""What deleting promises."""

from __future__ import annotations

import pytest

from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.errors import NotFoundError
from mnemic.model.records import Action
from tests.unit.engine.kit import ANNA, BERT


def test_a_deleted_memory_is_gone_from_every_reading_and_its_words_from_the_statistics(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "Likes green tea", snippet="I love sencha")
    assert len(mnemic.recall(ANNA, "sencha")) == 1
    receipt = mnemic.delete(ANNA, memory.id, reason="asked to")
    assert (receipt.counts["memories"], receipt.counts["messages"]) == (1, 0)
    assert len(mnemic.recall(ANNA, "sencha tea")) == 0
    assert mnemic.list(ANNA, states=["active", "archived", "superseded"]).memories == ()
    with pytest.raises(NotFoundError):
        mnemic.get(ANNA, memory.id)


def test_a_deleted_message_is_gone_and_its_neighbours_stay(mnemic: Mnemic):
    turn = mnemic.capture(ANNA, user="my card number", assistant="thank you for the card")
    mnemic.delete(ANNA, turn.messages[0].id)
    assert [hit.id for hit in mnemic.recall(ANNA, "card")] == [turn.messages[1].id]


def test_no_vector_and_no_recorded_text_stays(mnemic: Mnemic, parts: Engine):
    memory = mnemic.remember(ANNA, "Likes green tea")
    mnemic.delete(ANNA, memory.id)
    with parts.store.read() as work:
        assert work.partitions.count([memory.partition])["vectors"] == 0
    entries = mnemic.history(ANNA, memory.id)
    assert [entry.action for entry in entries] == [Action.CREATED, Action.DELETED]
    assert "tea" not in repr(entries)


def test_what_belongs_to_somebody_else_or_is_gone_is_not_found(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "Likes green tea")
    for scope, item_id in ((BERT, memory.id), (ANNA, "unknown")):
        with pytest.raises(NotFoundError):
            mnemic.delete(scope, item_id)
    mnemic.delete(ANNA, memory.id)
    with pytest.raises(NotFoundError):
        mnemic.delete(ANNA, memory.id)


def test_what_was_deleted_can_be_remembered_again(mnemic: Mnemic):
    first = mnemic.remember(ANNA, "Likes green tea")
    mnemic.delete(ANNA, first.id)
    again = mnemic.remember(ANNA, "Likes green tea")
    assert again.id != first.id
    assert [hit.id for hit in mnemic.recall(ANNA, "tea")] == [again.id]
