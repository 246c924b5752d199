"""What lies in Redis: keys, entries and times to live; junk that others put there; and nothing of what was erased."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.windows.redis import Place, RedisOptions, RedisWindow, partition_of_key
from mnemic.adapters.windows.store import StoreWindow
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config, load_config
from mnemic.engine.engine import Engine
from mnemic.errors import ConfigError
from mnemic.model.item import Message
from mnemic.model.scope import Level, Partition, Scope
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.store import Store
from tests.redis_servers import RedisServer
from tests.unit.engine.kit import ANNA, BERT, Clock

HOUR_MS = 3_600_000
CANARY = "canary-7Q2"
SESSION = "ai:session:acme/anna/s1"
NOBODY = Scope(org="acme", session="s1")
LIFE = Settings(life=LifeSettings(window_messages=4, summary_batch=2, extracts=False))
Open = Callable[..., Mnemic]


@pytest.fixture(scope="module")
def shared() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.close()


@pytest.fixture
def server(shared: RedisServer) -> RedisServer:
    shared.client.flushall()
    return shared


@pytest.fixture
def store() -> Iterator[Store]:
    store = MemoryStore()
    yield store
    store.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_one(server: RedisServer, store: Store, clock: Clock) -> Iterator[Open]:
    """Opens a Mnemic with windows of four messages that have a copy in Redis."""
    windows: list[RedisWindow] = []

    def opened(observer: CounterObserver | None = None, options: RedisOptions | None = None) -> Mnemic:
        told = observer or CounterObserver()
        window = RedisWindow(store, server.url, observer=told, ttl_s=7200.0, most=4, options=options)
        windows.append(window)
        return Mnemic(Engine(store, ScanIndex(), None, clock, told, window=window, settings=LIFE), actor="tester")

    yield opened
    for window in windows:
        window.close()


def say(mnemic: Mnemic, *texts: str, scope: Scope = ANNA) -> None:
    for text in texts:
        mnemic.capture(scope, user=text)


def entries(server: RedisServer, key: str) -> list[str]:
    return [json.loads(entry)["content"] for entry in server.client.lrange(key, 0, -1)]


def rows(store: Store, clock: Clock, scope: Scope = ANNA, limit: int = 4) -> list[Message]:
    return StoreWindow(store, ttl_s=7200.0).latest(scope.message_partition, scope.session or "", limit, clock.now())


class TestWhatLiesThere:
    @pytest.mark.requirement("D-06", "D-07")
    def test_a_session_is_a_list_of_maps_with_role_and_content_under_its_key(self, server: RedisServer, open_one: Open):
        say(open_one(), "Good morning")
        entry = json.loads(server.client.lrange(SESSION, 0, -1)[0])
        assert (entry["role"], entry["content"]) == ("user", "Good morning")

    @pytest.mark.requirement("D-06")
    def test_sessions_of_one_name_have_keys_of_their_own_whatever_is_in_the_names(
        self, server: RedisServer, open_one: Open
    ):
        scopes = [ANNA, BERT, NOBODY, Scope(user="a/b", session="c"), Scope(user="a", session="b/c")]
        scopes += [
            Scope(user="a:pending", session="*"),
            Scope(user="a", session="c:pending"),
            Scope(user="é", session="s"),
        ]
        mnemic = open_one()
        for scope in scopes:
            say(mnemic, str(scope), scope=scope)
        for scope in scopes:
            place = Place(scope.message_partition, scope.session or "")
            assert entries(server, place.keys[0]) == [str(scope)]
            assert {partition_of_key(key) for key in place.keys} == {scope.message_partition}
        assert (
            server.client.exists("ai:session:acme//s1", "ai:session:default/a%2Fb/c", "ai:session:default/a/b%2Fc") == 3
        )

    @pytest.mark.requirement("D-09", "D-10", "R-02")
    def test_popped_messages_wait_in_a_pending_list_and_every_write_refreshes_two_hours(
        self, server: RedisServer, open_one: Open
    ):
        mnemic = open_one()
        say(mnemic, *"abcdef")
        assert entries(server, SESSION) == list("cdef")
        assert entries(server, f"{SESSION}:pending") == list("ab")
        for key in (SESSION, f"{SESSION}:pending"):
            assert 1.9 * HOUR_MS < server.client.pttl(key) <= 2 * HOUR_MS
            server.client.pexpire(key, HOUR_MS)
        say(mnemic, "g")
        for key in (SESSION, f"{SESSION}:pending"):
            assert server.client.pttl(key) > 1.9 * HOUR_MS

    @pytest.mark.requirement("D-10", "D-11")
    def test_what_was_summarised_leaves_the_pending_list(self, server: RedisServer, open_one: Open):
        mnemic = open_one()
        say(mnemic, *"abcdef")
        mnemic.work()
        assert entries(server, f"{SESSION}:pending") == []
        assert [message.text for message in mnemic.window(ANNA)] == list("cdef")
        say(mnemic, "g")
        assert entries(server, f"{SESSION}:pending") == ["c"]

    @pytest.mark.requirement("T-05", "T-06")
    def test_what_waits_for_the_curator_is_one_list_for_each_user_in_the_order_it_was_said(
        self, server: RedisServer, open_one: Open, clock: Clock
    ):
        mnemic, other = open_one(), replace(ANNA, session="s2")
        for scope, text in [(ANNA, "a"), (other, "b"), (BERT, "x"), (ANNA, "c"), (other, "d")]:
            clock.turn(seconds=1)
            say(mnemic, text, scope=scope)
        assert entries(server, "mem:acme/anna") == list("abcd")
        assert entries(server, "mem:acme/bert") == ["x"]
        assert 47.9 * HOUR_MS < server.client.pttl("mem:acme/anna") <= 48 * HOUR_MS
        clock.turn(days=1)
        say(mnemic, "e")
        assert entries(server, "mem:acme/anna") == list("abcde")
        mnemic.curate(ANNA)
        assert entries(server, "mem:acme/anna") == ["e"], "what was curated is gone, today waits"

    @pytest.mark.requirement("T-06", "R-02")
    def test_how_long_it_waits_there_can_be_set_to_a_day_and_the_rows_wait_on(
        self, server: RedisServer, open_one: Open
    ):
        mnemic = open_one(options=RedisOptions(staging_ttl_hours=24))
        say(mnemic, "a")
        assert 23.9 * HOUR_MS < server.client.pttl("mem:acme/anna") <= 24 * HOUR_MS
        server.client.delete("mem:acme/anna", "mem:acme/anna:state")
        say(mnemic, "b")
        assert entries(server, "mem:acme/anna") == ["a", "b"]

    def test_a_large_import_of_turns_is_copied_when_somebody_reads(self, server: RedisServer, open_one: Open):
        mnemic = open_one()
        mnemic.capture_many(ANNA, [[{"role": "user", "text": str(number)}] for number in range(300)])
        assert [message.text for message in mnemic.window(ANNA)] == ["296", "297", "298", "299"]
        assert entries(server, SESSION) == ["296", "297", "298", "299"]
        assert len(entries(server, f"{SESSION}:pending")) == 296


class TestJunk:
    @pytest.mark.requirement("D-17")
    @pytest.mark.parametrize(
        "junk",
        [
            b"",
            b"text",
            b"7",
            b"null",
            b"[1]",
            b"{}",
            b"\xff\xfe",
            b"[" * 100_000,
            b'{"role":"user","content":"forged"}',
        ],
    )
    def test_entries_that_are_no_message_are_ignored(self, server: RedisServer, open_one: Open, junk: bytes):
        observer = CounterObserver()
        mnemic = open_one(observer)
        say(mnemic, "a", "b")
        server.client.lpush(SESSION, junk)
        server.client.rpush(SESSION, junk)
        assert [message.text for message in mnemic.window(ANNA)] == ["a", "b"]
        assert observer.counts["mnemic.window.hit", ()] == 1
        say(mnemic, "c", "d", "e", "f")
        assert [message.text for message in mnemic.window(ANNA)] == ["c", "d", "e", "f"]

    @pytest.mark.parametrize("change", ["text", "position", "session", "missing", "twice"])
    def test_a_list_that_was_tampered_with_is_made_anew_from_the_rows(
        self, server: RedisServer, open_one: Open, change: str
    ):
        mnemic = open_one()
        say(mnemic, "a", "b", "c")
        first = server.client.lindex(SESSION, 0)
        if change == "missing":
            server.client.lpop(SESSION)
        elif change == "twice":
            server.client.rpush(SESSION, first)
        else:
            value: object = {"text": None, "position": "1", "session": "s2"}[change]
            name = "content" if change == "text" else change
            server.client.lset(SESSION, 0, json.dumps({**json.loads(first), name: value}))
        assert [message.text for message in mnemic.window(ANNA)] == ["a", "b", "c"]
        assert entries(server, SESSION) == ["a", "b", "c"]

    def test_keys_of_other_types_are_replaced(self, server: RedisServer, open_one: Open):
        mnemic = open_one()
        for key in Place(ANNA.message_partition, "s1").keys:
            server.client.set(key, "somebody else's")
        say(mnemic, "a")
        for key in Place(ANNA.message_partition, "s1").keys:
            server.client.delete(key)
            server.client.sadd(key, "somebody else's")
        assert [message.text for message in mnemic.window(ANNA)] == ["a"]
        say(mnemic, "b")
        assert entries(server, SESSION) == ["a", "b"]
        assert entries(server, "mem:acme/anna") == ["a", "b"]

    def test_keys_of_others_in_the_same_redis_stay(self, server: RedisServer, open_one: Open):
        mnemic = open_one()
        server.client.set("ai:session:", "x")
        server.client.set("ai:session:unknown", "x")
        server.client.set("ai:session:acme/ann", "x")
        server.client.set("memory", "x")
        say(mnemic, "a")
        mnemic.erase(ANNA, level="user")
        assert sorted(server.client.keys("*")) == [
            b"ai:session:",
            b"ai:session:acme/ann",
            b"ai:session:unknown",
            b"memory",
        ]


@pytest.mark.requirement("D-18", "D-22", "R-22")
class TestErased:
    """A canary is said; whatever takes it out of the rows takes it out of Redis."""

    @pytest.fixture
    def mnemic(self, server: RedisServer, open_one: Open) -> Mnemic:
        mnemic = open_one()
        say(mnemic, CANARY, *"abcde", CANARY)
        say(mnemic, "hers", scope=BERT)
        mnemic.window(ANNA)
        assert server.dump().count(CANARY.encode()) == 4, "pending, window, and twice staged"
        return mnemic

    def test_by_deleting_each_message(self, server: RedisServer, mnemic: Mnemic):
        for message in mnemic.window(ANNA, limit=9):
            if message.text == CANARY:
                mnemic.delete(ANNA, message.id)
        say(mnemic, "f")
        assert [message.text for message in mnemic.window(ANNA)] == ["c", "d", "e", "f"]
        assert entries(server, "mem:acme/anna") == list("abcdef")
        assert CANARY.encode() not in server.dump()

    @pytest.mark.parametrize("level", [Level.SESSION, Level.USER, Level.ORG])
    def test_by_erasing(self, server: RedisServer, mnemic: Mnemic, level: Level):
        mnemic.erase(ANNA, level=level)
        assert CANARY.encode() not in server.dump()
        assert mnemic.window(ANNA) == []
        assert CANARY.encode() not in server.dump()
        assert [message.text for message in mnemic.window(BERT)] == ([] if level is Level.ORG else ["hers"])
        assert not [
            key for key in server.client.keys("*") if b"anna/s1" in key and level is Level.USER and b":state" not in key
        ]

    def test_by_erasing_the_session_of_nobody(self, server: RedisServer, mnemic: Mnemic):
        say(mnemic, CANARY, scope=NOBODY)
        mnemic.erase(ANNA, level="user")
        assert CANARY.encode() in server.dump()
        mnemic.erase(NOBODY, level="session")
        assert CANARY.encode() not in server.dump()

    def test_and_a_session_that_an_export_is_put_into_is_made_anew(self, mnemic: Mnemic):
        said = [message.text for message in mnemic.window(ANNA)]
        export = "\n".join(mnemic.export(ANNA))
        mnemic.erase(ANNA, level="user")
        say(mnemic, "new")
        assert mnemic.import_(ANNA, export).problems == []
        assert set(said) - {"c"} <= {message.text for message in mnemic.window(ANNA, limit=9)}
        assert [message.id for message in mnemic.window(ANNA)] == [m.id for m in mnemic.window(ANNA, limit=9)[-4:]]


@pytest.mark.requirement("J-55")
class TestHitAndCold:
    @pytest.mark.parametrize("seed", range(8))
    def test_a_hit_shows_what_the_rows_show_after_any_history(
        self, server: RedisServer, open_one: Open, store: Store, clock: Clock, seed: int
    ):
        chance, observer = random.Random(seed), CounterObserver()
        doors, scopes = [open_one(observer), open_one(observer)], [ANNA, BERT, NOBODY, replace(ANNA, session="s2")]
        for step in range(120):
            mnemic, scope = chance.choice(doors), chance.choice(scopes)
            match chance.randrange(12):
                case 0:
                    server.client.flushall()
                case 1:
                    clock.turn(minutes=chance.choice([1, 90, 121]))
                case 2:
                    mnemic.work()
                case 3 if shown := mnemic.window(scope):
                    mnemic.delete(scope, chance.choice(shown).id)
                case 4 if chance.random() < 0.3:
                    mnemic.erase(scope, level=chance.choice(["session", scope.default_level]))
                case 5:
                    server.client.delete(chance.choice(server.client.keys("*") or [b"none"]))
                case _:
                    said = [
                        {"role": "user", "text": f"{step}-{number}"} for number in range(chance.choice([1, 1, 2, 7]))
                    ]
                    mnemic.capture(scope, said)
            for each in scopes:
                limit = chance.choice([1, 4, 4, 9])
                assert chance.choice(doors).window(each, limit=limit) == rows(store, clock, each, limit)
        assert observer.counts["mnemic.window.hit", ()] > 50
        assert observer.counts["mnemic.window.cold", ()] > 50

    def test_many_threads_in_one_session_leave_the_copy_as_the_rows_are(
        self, server: RedisServer, open_one: Open, store: Store, clock: Clock
    ):
        doors, ready = [open_one(), open_one()], threading.Barrier(6)

        def talk(number: int) -> None:
            ready.wait()
            for step in range(25):
                say(doors[number % 2], f"{number}-{step}")
                doors[(number + step) % 2].window(ANNA)

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(talk, range(6)))
        for mnemic in doors:
            assert mnemic.window(ANNA) == rows(store, clock)
        say(doors[0], "last")
        assert doors[1].window(ANNA) == rows(store, clock)
        staged = [json.loads(entry)["position"] for entry in server.client.lrange("mem:acme/anna", 0, -1)]
        assert sorted(staged) == list(range(1, 152))


class TestConfiguration:
    def test_it_is_opened_by_a_file_or_the_environment(self, server: RedisServer):
        told = {"MNEMIC_STORE": "memory://", "MNEMIC_EMBEDDER": "none", "MNEMIC_MEMORY_WINDOW_BACKEND": "redis"}
        config = load_config(environment={**told, "REDIS_URL": server.url, "MNEMIC_CONFIG": ""})
        with Mnemic(build(config), actor="tester") as mnemic:
            say(mnemic, "a")
            assert entries(server, SESSION) == ["a"]
            assert any(finding.part == "window" for finding in mnemic.doctor().findings)

    @pytest.mark.parametrize(
        "url, options, message",
        [
            (None, {}, "REDIS_URL"),
            ("localhost:6379", {}, "redis://"),
            ("http://:secret@localhost", {}, "redis://"),
            ("redis://localhost:no/0", {}, "redis://"),
            ("redis://localhost", {"timeout_s": 0}, "timeout_s must be a number above 0"),
            ("redis://localhost", {"probe_s": "1"}, "probe_s must be a number above 0"),
            ("redis://localhost", {"colour": "red"}, "colour"),
        ],
    )
    def test_a_set_up_that_cannot_be_is_refused_with_what_to_say(
        self, url: str | None, options: dict[str, object], message: str
    ):
        config = Config(store="memory://", embedder="none", window="redis", window_url=url, window_options=options)
        with pytest.raises(ConfigError, match=message) as refused:
            build(config)
        assert "secret" not in str(refused.value)

    def test_a_partition_is_read_back_from_its_keys_and_from_no_others(self):
        for partition in (Partition("acme", Level.USER, "a:b/c"), Partition("ö", Level.SESSION, "s/1")):
            assert {partition_of_key(key) for key in Place(partition, partition.owner).keys} == {partition}
        for key in ("", "ai:session:", "mem:", "mem:a", "ai:session:a/b/c/d", "other:acme/anna"):
            assert partition_of_key(key) is None
