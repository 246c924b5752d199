"""What `Conversations` promises: how far a conversation was worked on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from mnemic.model.item import Conversation, Message
from mnemic.model.recall import MessageQuery
from mnemic.model.scope import Level, Scope
from mnemic.ports.store import Store, UnitOfWork
from mnemic.testing.samples import ANNA, BERT, HERS, MINUTE, NOW, a_message, add_messages, version_of

HIS = BERT.partition(Level.USER)
CURSOR = "summarised"
RACERS = 8


def move(store: Store, was: int, to: int, name: str = CURSOR) -> bool:
    """Move a cursor of Anna's session in one unit of work."""
    with store.write() as work:
        return work.conversations.move(HERS, "s1", name, was, to)


def cursor(store: Store, name: str = CURSOR) -> int:
    """Where a cursor of Anna's session stands."""
    with store.read() as work:
        return work.conversations.cursor(HERS, "s1", name)


def behind(store: Store, after: int, limit: int = 99) -> Sequence[Message]:
    """The messages of Anna's session behind a position."""
    with store.read() as work:
        return work.conversations.messages(HERS, "s1", after, limit)


def race(store: Store, attempt: Callable[[UnitOfWork, int], bool]) -> list[bool]:
    """The answers of threads that make their attempts, each with its number, in units of work begun at once."""
    start = threading.Barrier(RACERS)

    def run(number: int) -> bool:
        start.wait()
        with store.write() as work:
            return attempt(work, number)

    with ThreadPoolExecutor(RACERS) as pool:
        return list(pool.map(run, range(RACERS)))


class ConversationsContract:
    """Tests of `Conversations`; each takes an empty open store."""

    def test_a_conversation_tells_how_much_was_said_and_when(self, store: Store):
        add_messages(store, a_message(1), a_message(2, observed_at=NOW + MINUTE))
        add_messages(store, a_message(1, session="s2"))
        with store.read() as work:
            found = work.conversations.get(HERS, "s1")
        assert found == Conversation(HERS, "s1", 2, 2, NOW, NOW + MINUTE)

    def test_there_is_no_conversation_where_nothing_was_said(self, store: Store):
        add_messages(store, a_message(1))
        with store.read() as work:
            assert work.conversations.get(HERS, "s2") is None
            assert work.conversations.get(HIS, "s1") is None

    def test_messages_behind_a_position_come_in_order_the_first_of_them(self, store: Store):
        messages = [a_message(position) for position in (2, 1, 4, 3)]
        add_messages(store, *messages)
        ordered = sorted(messages, key=lambda message: message.position)
        assert behind(store, 0) == ordered
        assert behind(store, 1, limit=2) == ordered[1:3]
        assert behind(store, 4) == behind(store, 0, limit=0) == []

    def test_erased_messages_are_passed_over_and_do_not_count(self, store: Store):
        messages = [a_message(position) for position in range(1, 5)]
        add_messages(store, *messages)
        with store.write() as work:
            work.messages.erase(HERS, [messages[1].id])
        assert behind(store, 0, limit=3) == [messages[0], messages[2], messages[3]]

    def test_messages_of_another_session_or_user_are_not_among_them(self, store: Store):
        add_messages(store, a_message(1, session="s2"))
        add_messages(store, a_message(1, scope=BERT))
        assert behind(store, 0) == []

    def test_sessions_come_last_active_first_counted_without_erased_messages(self, store: Store):
        messages = [a_message(1), a_message(2, observed_at=NOW + MINUTE), a_message(3, observed_at=NOW + 2 * MINUTE)]
        add_messages(store, *messages)
        add_messages(store, a_message(1, session="s2", observed_at=NOW + 3 * MINUTE))
        add_messages(store, a_message(1, session="s3"))
        add_messages(store, a_message(1, scope=BERT))
        with store.write() as work:
            work.messages.erase(HERS, [messages[2].id])
        with store.read() as work:
            found = work.conversations.sessions(ANNA.visibility, 9)
            assert work.conversations.sessions(ANNA.visibility, 1) == found[:1]
        assert [(each.session, each.messages) for each in found] == [("s2", 1), ("s1", 2), ("s3", 1)]
        assert (found[1].partition, found[1].started_at, found[1].last_at) == (HERS, NOW, NOW + MINUTE)

    def test_a_cursor_stands_at_0_until_it_is_moved(self, store: Store):
        assert cursor(store) == 0
        assert move(store, 0, 5) is True
        assert cursor(store) == 5
        assert move(store, 5, 7) is True
        assert cursor(store) == 7

    def test_a_cursor_that_stands_elsewhere_is_not_moved(self, store: Store):
        assert move(store, 3, 5) is False
        assert cursor(store) == 0
        move(store, 0, 5)
        assert (move(store, 0, 9), move(store, 4, 9)) == (False, False)
        assert cursor(store) == 5

    def test_a_counter_may_go_back_to_0_and_be_moved_from_there(self, store: Store):
        assert [move(store, 0, 1), move(store, 1, 0), move(store, 0, 2)] == [True, True, True]
        assert cursor(store) == 2

    def test_cursors_of_other_names_sessions_and_partitions_stand_apart(self, store: Store):
        move(store, 0, 5)
        with store.write() as work:
            assert work.conversations.cursor(HERS, "s1", "unreflected") == 0
            assert work.conversations.cursor(HERS, "s2", CURSOR) == 0
            assert work.conversations.cursor(HIS, "s1", CURSOR) == 0
            assert work.conversations.move(HIS, "s1", CURSOR, 0, 9) is True
        assert cursor(store) == 5

    def test_a_cursor_moves_no_version_and_stays_when_messages_are_erased(self, store: Store):
        message = a_message(1)
        add_messages(store, message)
        move(store, 0, 1)
        assert version_of(store) == 1
        with store.write() as work:
            work.messages.erase(HERS, [message.id])
        assert cursor(store) == 1

    def test_a_cursor_is_moved_within_its_unit_of_work_at_once(self, store: Store):
        with store.write() as work:
            work.conversations.move(HERS, "s1", CURSOR, 0, 3)
            assert work.conversations.cursor(HERS, "s1", CURSOR) == 3
            assert work.conversations.move(HERS, "s1", CURSOR, 0, 4) is False

    def test_of_threads_that_move_one_cursor_from_one_place_exactly_one_does(self, store: Store):
        for was in (0, 1):
            moved = race(store, lambda work, _, was=was: work.conversations.move(HERS, "s1", CURSOR, was, was + 1))
            assert sum(moved) == 1
        assert cursor(store) == 2

    def test_threads_that_move_cursors_of_their_own_all_do(self, store: Store):
        assert all(race(store, lambda work, number: work.conversations.move(HERS, "s1", f"c{number}", 0, 1)))


def said(store: Store, scope: Scope = ANNA, **query: Any) -> list[str]:
    """The texts of the messages of a query, as they are ordered."""
    with store.read() as work:
        return [message.text for message in work.conversations.said(scope.visibility, MessageQuery(**query))]


class SaidContract:
    """Tests of `Conversations.said`; each takes an empty open store."""

    def test_an_ending_finds_the_messages_whose_id_ends_like_this(self, store: Store):
        messages = [a_message(1, "one"), a_message(2, "two")]
        add_messages(store, *messages)
        assert said(store, ending=messages[0].id[-12:]) == ["one"]
        assert said(store, BERT, ending=messages[0].id[-12:]) == said(store, ending="%") == []

    def test_messages_come_by_when_they_were_said_whatever_came_in_first(self, store: Store):
        add_messages(
            store, a_message(1, "new", observed_at=NOW + MINUTE), a_message(2, "old", observed_at=NOW - MINUTE)
        )
        add_messages(store, a_message(3, "first"), a_message(4, "second"))
        assert said(store) == ["new", "second", "first", "old"]
        assert said(store, limit=2) == ["new", "second"]

    def test_pages_join_without_a_gap_also_behind_one_that_was_erased_meanwhile(self, store: Store):
        messages = [a_message(n, str(n), observed_at=NOW + n // 2 * MINUTE) for n in range(1, 6)]
        add_messages(store, *messages)
        assert said(store, after=messages[3].id) == ["3", "2", "1"]
        with store.write() as work:
            work.messages.erase(HERS, [messages[3].id])
        assert said(store) == ["5", "3", "2", "1"]
        assert said(store, after=messages[3].id, limit=2) == ["3", "2"]
        assert said(store, after="unknown") == []

    def test_a_time_is_half_open_and_a_session_is_one_of_its_name(self, store: Store):
        other = replace(ANNA, session="s2")
        add_messages(store, a_message(1, "one"), a_message(2, "two", observed_at=NOW + MINUTE))
        add_messages(store, a_message(1, "elsewhere", scope=other, observed_at=NOW + 2 * MINUTE))
        assert said(store, since=NOW, until=NOW + MINUTE) == ["one"]
        assert said(store, since=NOW + MINUTE) == ["elsewhere", "two"]
        assert said(store, session="s1") == ["two", "one"]
        assert said(store, session="s3") == []

    def test_all_that_a_scope_sees_is_in_one_order_and_nothing_of_others(self, store: Store):
        nameless = Scope(org=ANNA.org, agent=ANNA.agent, session=ANNA.session)
        add_messages(store, a_message(1, "hers"))
        add_messages(store, a_message(1, "his", scope=BERT))
        add_messages(store, a_message(1, "of nobody", scope=nameless, observed_at=NOW + MINUTE))
        assert said(store) == ["of nobody", "hers"]
        assert said(store, BERT) == (["of nobody", "his"] if BERT.session == ANNA.session else ["his"])
        assert said(store, Scope(org="other", user=ANNA.user)) == []
