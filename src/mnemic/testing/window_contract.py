"""What every window promises, as tests: subclass `WindowContract` and say in a fixture how yours is made.

    class TestMine(WindowContract):
        @pytest.fixture
        def make_window(self):
            return lambda store, ttl_s: MyWindow(store, ttl_s=ttl_s)

`make_window` gives a window over a store, which closes after the test. A window that copies is told of every message by
`push`, as the engine does after each commit, and must answer right where it was not: after a restart, say.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.model.item import CURATED, Message, Role
from mnemic.model.scope import Partition, Scope
from mnemic.ports.index import Window
from mnemic.ports.store import Store
from mnemic.testing.samples import ANNA, ANNA_ELSEWHERE, BERT, HERS, NOW, a_message, add_messages

TTL_S = 7200.0
MakeWindow = Callable[[Store, float], Window]


@dataclass(frozen=True)
class Talk:
    """A session whose messages are stored and then pushed, as the engine does."""

    store: Store
    window: Window

    def say(self, *messages: Message) -> None:
        """Commit messages of one session and tell the window."""
        add_messages(self.store, *messages)
        self.window.push(messages)

    def latest(
        self, limit: int = 20, *, at: datetime = NOW, partition: Partition = HERS, session: str = "s1"
    ) -> Sequence[Message]:
        """What the window shows."""
        return self.window.latest(partition, session, limit, at)


class WindowContract:
    """Every promise of the window port. A subclass gives the fixture `make_window`."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        """An empty open store."""
        store = MemoryStore()
        yield store
        store.close()

    @pytest.fixture
    def talk(self, store: Store, make_window: MakeWindow) -> Iterator[Talk]:
        """A window over the store."""
        window = make_window(store, TTL_S)
        yield Talk(store, window)
        window.close()

    def test_messages_come_back_whole_and_in_order(self, talk: Talk):
        said = [
            a_message(
                1,
                "你好\n🙂",
                name="Anna",
                metadata={"a": [1, None]},
                bookkeeping={"is_partial": True},
                external_id="m1",
            ),
            a_message(2, "Good morning", role=Role.ASSISTANT, agent="jarvis"),
            a_message(3, "42", role=Role.TOOL),
        ]
        talk.say(*said[:2])
        talk.say(said[2])
        assert talk.latest() == said

    def test_the_oldest_message_leaves_when_there_are_more_than_asked_for(self, talk: Talk):
        said = [a_message(position) for position in range(1, 26)]
        for message in said:
            talk.say(message)
        assert talk.latest(20) == said[5:]
        assert talk.latest(3) == said[22:]
        assert talk.latest(99) == said
        assert talk.latest(0) == []

    def test_an_unknown_session_is_empty(self, talk: Talk):
        talk.say(a_message(1))
        assert talk.latest(session="s2") == []

    def test_sessions_of_the_same_name_of_other_users_orgs_and_of_nobody_stand_apart(self, talk: Talk):
        scopes = (ANNA, BERT, ANNA_ELSEWHERE, Scope(org="acme", session="s1"))
        said = {scope: a_message(1, f"said by {scope}", scope=scope) for scope in scopes}
        for message in said.values():
            talk.say(message)
        for scope, message in said.items():
            assert talk.latest(partition=scope.message_partition) == [message]

    def test_it_lives_for_its_time_after_the_last_write_and_then_shows_nothing(self, talk: Talk):
        talk.say(a_message(1))
        talk.say(a_message(2, created_at=NOW + timedelta(seconds=TTL_S - 1)))
        end = NOW + timedelta(seconds=2 * TTL_S - 1)
        assert len(talk.latest(at=end)) == 2
        assert talk.latest(at=end + timedelta(seconds=1)) == []

    def test_a_write_after_its_end_shows_the_session_again(self, talk: Talk):
        talk.say(a_message(1))
        later = NOW + timedelta(seconds=3 * TTL_S)
        talk.say(a_message(2, created_at=later))
        assert [message.position for message in talk.latest(at=later)] == [1, 2]

    def test_a_window_that_was_never_told_reads_the_rows(self, store: Store, make_window: MakeWindow):
        said = [a_message(1), a_message(2)]
        add_messages(store, *said)
        window = make_window(store, TTL_S)
        assert window.latest(HERS, "s1", 20, NOW) == said
        window.push([third := a_message(3)])
        add_messages(store, third)
        assert window.latest(HERS, "s1", 20, NOW) == [*said, third]
        window.close()

    def test_clearing_loses_no_message_and_an_erased_one_is_gone(self, talk: Talk):
        said = [a_message(1), a_message(2)]
        talk.say(*said)
        with talk.store.write() as work:
            work.messages.erase(HERS, [said[0].id])
        talk.window.clear(HERS, "s1")
        assert talk.latest() == said[1:]
        talk.window.clear(HERS, "never-there")

    def test_a_user_whose_rows_are_gone_is_forgotten_in_every_session_and_nobody_else_is(self, talk: Talk):
        others = a_message(1, scope=BERT)
        talk.say(*(said := [a_message(1), a_message(2)]))
        talk.say(elsewhere := a_message(1, session="s2"))
        talk.say(others)
        with talk.store.write() as work:
            work.messages.erase(HERS, [message.id for message in (*said, elsewhere)])
        talk.window.forget([HERS])
        assert not talk.latest()
        assert not talk.latest(session="s2")
        assert talk.latest(partition=BERT.message_partition) == [others]
        assert talk.window.forget([])

    def test_what_was_summarised_or_curated_stays_in_the_window(self, talk: Talk):
        talk.say(*(said := [a_message(1), a_message(2)]))
        with talk.store.write() as work:
            assert work.conversations.move(HERS, "s1", CURATED, 0, 2)
        talk.window.moved(HERS, ["s1", "never-there"], NOW)
        talk.window.moved(HERS, [], NOW)
        assert talk.latest() == said

    def test_the_doctor_is_told_of_a_copy_in_one_finding_at_most(self, talk: Talk):
        assert [finding.part for finding in talk.window.diagnose()] in ([], ["window"])

    def test_nothing_pushed_is_nothing(self, talk: Talk):
        talk.window.push([])
        assert talk.latest() == []

    def test_several_threads_push_and_read_at_once(self, talk: Talk):
        ready = threading.Barrier(4)

        def chat(number: int) -> Sequence[Message]:
            session = f"s{number}"
            ready.wait()
            for position in range(1, 26):
                talk.say(a_message(position, f"{session} {position}", session=session))
            return talk.latest(session=session)

        with ThreadPoolExecutor(4) as pool:
            for number, shown in enumerate(pool.map(chat, range(4))):
                assert [message.text for message in shown] == [f"s{number} {position}" for position in range(6, 26)]

    def test_closing_twice_is_harmless(self, store: Store, make_window: MakeWindow):
        window = make_window(store, TTL_S)
        window.close()
        window.close()
