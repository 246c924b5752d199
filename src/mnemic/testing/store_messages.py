"""What `Messages` promises: verbatim, in order, immutable."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from mnemic.errors import ConflictError
from mnemic.model.item import Conversation, Message, Role, State, Trust
from mnemic.model.scope import Scope
from mnemic.ports.store import Store
from mnemic.testing.samples import (
    ANNA,
    ANNA_ELSEWHERE,
    BERT,
    HERS,
    MINUTE,
    NOW,
    a_message,
    a_vector,
    add_messages,
    add_vectors,
    counted,
    terms,
)


def said(store: Store, scope: Scope, *ids: str) -> list[Message]:
    """The messages that this scope may see among `ids`."""
    with store.read() as work:
        return work.messages.get(scope.visibility, ids)


class MessagesContract:
    """Tests of `Messages`; each takes an empty open store."""

    def test_a_message_returns_as_it_was_stored(self, store: Store):
        message = a_message(
            1,
            "Ω — \x00 \U0001f600 'quoted' \"twice\"\r\n\ttab  ",
            role=Role.TOOL,
            name="calculator",
            turn=7,
            observed_at=NOW - timedelta(microseconds=1),
            created_at=NOW + timedelta(days=365_000),
            agent="jarvis",
            external_id="x-1",
            trust=Trust.TOOL,
            metadata={"nested": {"list": [1, 2.5, True, None, "ü"]}},
            bookkeeping={"is_partial": True},
        )
        add_messages(store, message)
        assert said(store, ANNA, message.id) == [message]

    def test_what_is_stored_does_not_change_with_the_callers_metadata(self, store: Store):
        metadata: dict[str, object] = {"tags": ["a"]}
        message = a_message(1, metadata=metadata)
        add_messages(store, message)
        metadata["tags"] = "changed"
        assert said(store, ANNA, message.id)[0].metadata == {"tags": ["a"]}

    def test_the_metadata_of_visible_messages_is_found_without_erased_ones(self, store: Store):
        first, second = a_message(1, metadata={"topic": "tea", "n": [1]}), a_message(2)
        gone, foreign = a_message(3, metadata={"topic": "x"}), a_message(1, scope=BERT, metadata={"topic": "y"})
        add_messages(store, first, second, gone)
        add_messages(store, foreign)
        with store.write() as work:
            work.messages.erase(HERS, [gone.id])
        with store.read() as work:
            assert work.conversations.metadata(ANNA.visibility) == {first.id: {"topic": "tea", "n": [1]}}

    def test_a_new_conversation_begins_now_and_is_empty(self, store: Store):
        with store.write() as work:
            conversation = work.messages.conversation(HERS, "s1", NOW)
        assert conversation == Conversation(HERS, "s1", 0, 0, NOW, NOW)

    def test_a_conversation_is_begun_once(self, store: Store):
        with store.write() as work:
            work.messages.conversation(HERS, "s1", NOW)
        with store.write() as work:
            assert work.messages.conversation(HERS, "s1", NOW + MINUTE).started_at == NOW

    def test_adding_counts_messages_and_turns_in_their_conversation(self, store: Store):
        late = NOW + MINUTE
        add_messages(store, a_message(1, turn=1, observed_at=late), a_message(2, turn=1), a_message(3, turn=2))
        with store.write() as work:
            assert work.messages.conversation(HERS, "s1", NOW) == Conversation(HERS, "s1", 2, 3, NOW, late)

    def test_conversations_of_one_name_in_two_partitions_are_two(self, store: Store):
        add_messages(store, a_message(1))
        with store.write() as work:
            assert work.messages.conversation(BERT.message_partition, "s1", NOW).messages == 0

    def test_a_second_message_with_an_external_id_in_one_conversation_is_a_conflict(self, store: Store):
        add_messages(store, a_message(1, external_id="x"))
        with pytest.raises(ConflictError):
            add_messages(store, a_message(2, external_id="x"))

    def test_a_second_message_at_a_position_or_with_an_id_is_a_conflict(self, store: Store):
        message = a_message(1)
        add_messages(store, message)
        with pytest.raises(ConflictError):
            add_messages(store, a_message(1))
        with pytest.raises(ConflictError):
            add_messages(store, replace(message, position=2))

    def test_the_same_external_id_may_be_used_in_another_conversation(self, store: Store):
        first, second = a_message(1, external_id="x"), a_message(1, external_id="x", session="s2")
        add_messages(store, first)
        add_messages(store, second)
        assert said(store, ANNA, first.id, second.id) == [first, second]

    def test_get_answers_in_the_order_of_the_ids_and_leaves_out_unknown_ones(self, store: Store):
        first, second = a_message(1), a_message(2)
        add_messages(store, first, second)
        assert said(store, ANNA, second.id, "unknown", first.id) == [second, first]
        assert said(store, ANNA) == []

    @pytest.mark.requirement("J-11")
    def test_messages_of_another_user_or_org_are_not_visible(self, store: Store):
        message = a_message(1)
        add_messages(store, message)
        for stranger in (BERT, ANNA_ELSEWHERE, Scope(org="acme", agent="jarvis", session="s1")):
            assert said(store, stranger, message.id) == []

    def test_messages_of_a_user_are_visible_in_every_session_of_theirs(self, store: Store):
        message = a_message(1)
        add_messages(store, message)
        assert said(store, Scope(org="acme", user="anna", session="later"), message.id) == [message]

    @pytest.mark.requirement("R-16")
    def test_a_message_without_a_user_is_visible_in_its_own_session_only(self, store: Store):
        nobody = Scope(org="acme", session="s1")
        message = a_message(1, scope=nobody)
        add_messages(store, message)
        assert said(store, nobody, message.id) == [message]
        assert said(store, Scope(org="acme", session="s2"), message.id) == []

    def test_erased_messages_are_not_got(self, store: Store):
        message = a_message(1)
        add_messages(store, message)
        with store.write() as work:
            work.messages.erase(HERS, [message.id])
        assert said(store, ANNA, message.id) == []

    def test_the_messages_of_a_turn_come_in_order(self, store: Store):
        reply, question = a_message(2, turn_id="t"), a_message(1, turn_id="t")
        add_messages(store, reply, question, a_message(3))
        with store.read() as work:
            assert work.messages.of_turn(ANNA.visibility, "t") == [question, reply]

    def test_a_turn_that_is_unknown_or_not_visible_has_no_messages(self, store: Store):
        add_messages(store, a_message(1, turn_id="t"))
        with store.read() as work:
            assert work.messages.of_turn(BERT.visibility, "t") == []
            assert work.messages.of_turn(ANNA.visibility, "unknown") == []

    def test_by_external_id_finds_those_of_one_conversation(self, store: Store):
        message, other = a_message(1, external_id="x"), a_message(1, external_id="y", session="s2")
        add_messages(store, message, a_message(2))
        add_messages(store, other)
        with store.read() as work:
            assert work.messages.by_external_id(HERS, "s1", ["x", "y", "z"]) == {"x": message}
            assert work.messages.by_external_id(HERS, "s1", []) == {}
            assert work.messages.by_external_id(BERT.message_partition, "s1", ["x"]) == {}

    def test_by_external_id_finds_erased_messages_too(self, store: Store):
        message = a_message(1, external_id="x")
        add_messages(store, message)
        with store.write() as work:
            work.messages.erase(HERS, [message.id])
        with store.read() as work:
            assert work.messages.by_external_id(HERS, "s1", {"x"})["x"].state == State.ERASED

    def test_latest_answers_the_last_messages_of_a_session_oldest_first(self, store: Store):
        messages = [a_message(position) for position in (1, 2, 3, 4)]
        add_messages(store, *messages)
        add_messages(store, a_message(1, session="s2"))
        with store.read() as work:
            assert work.messages.latest(ANNA.visibility, "s1", 2) == messages[2:]
            assert work.messages.latest(ANNA.visibility, "s1", 9) == messages
            assert work.messages.latest(ANNA.visibility, "s1", 0) == []
            assert work.messages.latest(BERT.visibility, "s1", 9) == []

    def test_latest_leaves_out_erased_messages(self, store: Store):
        first, second = a_message(1), a_message(2)
        add_messages(store, first, second)
        with store.write() as work:
            work.messages.erase(HERS, [second.id])
        with store.read() as work:
            assert work.messages.latest(ANNA.visibility, "s1", 1) == [first]

    def test_messages_of_one_position_in_two_conversations_of_one_name_end_with_the_id(self, store: Store):
        nameless, hers = a_message(1, scope=Scope(org="acme", session="s1")), a_message(1)
        add_messages(store, hers)
        add_messages(store, nameless)
        with store.read() as work:
            assert work.messages.latest(ANNA.visibility, "s1", 2) == [nameless, hers]

    def test_erasing_removes_what_a_message_says_and_keeps_its_place_and_external_id(self, store: Store):
        message = a_message(1, name="Anna", external_id="x", metadata={"a": 1}, bookkeeping={"is_partial": True})
        add_messages(store, message)
        add_vectors(store, a_vector(message.id))
        with store.write() as work:
            assert work.messages.erase(HERS, [message.id, "unknown"]) == 1
            assert work.messages.erase(HERS, [message.id]) == 0
        tombstone = replace(message, text="", name=None, metadata={}, bookkeeping={}, state=State.ERASED)
        with store.read() as work:
            assert work.messages.by_external_id(HERS, "s1", ["x"]) == {"x": tombstone}
            assert work.partitions.count([HERS]) == counted()

    def test_erasing_in_another_partition_removes_nothing(self, store: Store):
        message = a_message(1)
        add_messages(store, message)
        with store.write() as work:
            assert work.messages.erase(BERT.message_partition, [message.id]) == 0
        assert said(store, ANNA, message.id) == [message]

    def test_messages_are_added_behind_a_conversations_end(self, store: Store):
        add_messages(store, a_message(1))
        with store.write() as work:
            place = work.messages.conversation(HERS, "s1", NOW).messages + 1
            work.messages.add([(a_message(place), terms("")), (a_message(place + 1), terms(""))])
            assert work.messages.conversation(HERS, "s1", NOW).messages == 3
