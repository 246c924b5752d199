"""Redis is killed, stopped, started anew and wrongly set up in the middle of conversations: no message is missing."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.observers.prometheus import PrometheusObserver
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.adapters.windows.redis import RedisOptions, RedisWindow
from mnemic.api import Mnemic
from mnemic.build import SystemClock, build
from mnemic.config import Config
from mnemic.engine.engine import Engine
from mnemic.errors import UnavailableError
from mnemic.model.health import Condition
from mnemic.model.scope import Scope
from mnemic.ports.observer import Observer
from mnemic.ports.store import Store
from tests.redis_servers import RedisServer, eventually

ANNA = Scope(org="acme", user="anna", session="s1")
QUICK = RedisOptions(probe_s=0.01, timeout_s=0.2)
CANARY = "canary-7Q2"
Open = Callable[..., Mnemic]

TALK = """
import sys
from mnemic import Mnemic, Scope
from mnemic.build import build
from mnemic.config import Config
store, url, texts = sys.argv[1], sys.argv[2], sys.argv[3:]
scope = Scope(org="acme", user="anna", session="s1")
config = Config(store=store, embedder="none", window="redis", window_url=url)
with Mnemic(build(config)) as mnemic:
    for text in texts:
        mnemic.capture(scope, user=text)
    print([message.text for message in mnemic.window(scope)])
"""


@pytest.fixture
def server() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = SqliteStore(tmp_path / "memory.db")
    yield store
    store.close()


@pytest.fixture
def counter() -> CounterObserver:
    return CounterObserver()


@pytest.fixture
def open_with(server: RedisServer, store: Store, counter: CounterObserver) -> Iterator[Open]:
    """Opens a Mnemic whose windows have a copy in Redis."""
    windows: list[RedisWindow] = []

    def opened(*, over: Store | None = None, observer: Observer = counter, url: str | None = None) -> Mnemic:
        rows = over or store
        window = RedisWindow(rows, url or server.url, observer=observer, ttl_s=7200.0, options=QUICK)
        windows.append(window)
        return Mnemic(Engine(rows, ScanIndex(), None, SystemClock(), observer, window=window), actor="tester")

    yield opened
    for window in windows:
        window.close()


def say(mnemic: Mnemic, *texts: str, scope: Scope = ANNA) -> None:
    for text in texts:
        mnemic.capture(scope, user=text)


def shown(mnemic: Mnemic, scope: Scope = ANNA) -> list[str]:
    return [message.text for message in mnemic.window(scope)]


def failures(counter: CounterObserver, operation: str) -> int:
    return counter.counts["agent.memory.redis.failure", (("operation", operation),)]


def hits(counter: CounterObserver) -> int:
    return counter.counts["mnemic.window.hit", ()]


def is_hit(mnemic: Mnemic, counter: CounterObserver) -> bool:
    before = hits(counter)
    mnemic.window(ANNA)
    return hits(counter) > before


@pytest.mark.requirement("D-13", "D-14", "D-19", "R-22")
def test_a_redis_that_is_killed_costs_no_message_and_no_order_and_is_filled_again_when_it_is_back(
    server: RedisServer, open_with: Open, counter: CounterObserver, caplog: pytest.LogCaptureFixture
):
    mnemic = open_with()
    say(mnemic, "one", "two")
    assert shown(mnemic) == ["one", "two"]
    assert not failures(counter, "read")
    server.kill()
    caplog.set_level(logging.WARNING, "mnemic.redis")
    say(mnemic, "three", "four")
    assert shown(mnemic) == ["one", "two", "three", "four"]
    say(mnemic, "five")
    assert shown(mnemic) == ["one", "two", "three", "four", "five"]
    assert (failures(counter, "write"), failures(counter, "read")) == (3, 2)
    assert len(caplog.records) == 1, "one warning for one outage"
    assert mnemic.doctor().condition is Condition.DEGRADED
    server.start()
    eventually(lambda: is_hit(mnemic, counter))
    say(mnemic, "six")
    assert shown(mnemic) == ["one", "two", "three", "four", "five", "six"]
    kept = server.client.lrange("ai:session:acme/anna/s1", 0, -1)
    assert [json.loads(entry)["content"] for entry in kept] == shown(mnemic)
    server.kill()
    say(mnemic, "seven")
    assert len(caplog.records) == 2, "and one for the next"


def test_both_failures_are_shown_to_prometheus(server: RedisServer, open_with: Open):
    observer = PrometheusObserver()
    mnemic = open_with(observer=observer)
    server.kill()
    say(mnemic, "one")
    assert shown(mnemic) == ["one"]
    told = generate_latest(observer.registry).decode()
    assert 'agent_memory_redis_failure_total{operation="write"} 1.0' in told
    assert 'agent_memory_redis_failure_total{operation="read"} 1.0' in told


@pytest.mark.requirement("J-55", "R-22")
def test_a_copy_from_before_a_restart_is_not_believed(server: RedisServer, open_with: Open, counter: CounterObserver):
    mnemic = open_with()
    say(mnemic, "one", CANARY)
    server.client.save()
    say(mnemic, "three")
    server.kill()
    mnemic.delete(ANNA, mnemic.window(ANNA)[1].id)
    server.start()
    assert server.client.llen("ai:session:acme/anna/s1") in (0, 2), "the file brought the older list back"
    other = open_with()
    assert shown(other) == ["one", "three"]
    eventually(lambda: is_hit(mnemic, counter))
    assert shown(mnemic) == ["one", "three"]
    assert CANARY.encode() not in server.dump()


@pytest.mark.requirement("D-18", "D-22", "R-22")
def test_a_session_that_is_erased_while_redis_is_away_is_empty_and_its_copy_goes_when_it_is_back(
    server: RedisServer, open_with: Open, counter: CounterObserver
):
    mnemic = open_with()
    say(mnemic, CANARY)
    say(mnemic, "Bert's", scope=replace(ANNA, user="bert"))
    server.signal(signal.SIGSTOP)
    receipt = mnemic.erase(ANNA, level="session")
    assert any("Redis" in note for note in receipt.notes)
    assert shown(mnemic) == []
    server.signal(signal.SIGCONT)
    eventually(lambda: CANARY.encode() not in server.dump())
    assert shown(mnemic) == []
    eventually(lambda: is_hit_of(mnemic, counter, replace(ANNA, user="bert")))


def is_hit_of(mnemic: Mnemic, counter: CounterObserver, scope: Scope) -> bool:
    before = hits(counter)
    assert shown(mnemic, scope) == ["Bert's"]
    return hits(counter) > before


def test_a_redis_that_hangs_is_waited_for_once(server: RedisServer, open_with: Open, counter: CounterObserver):
    mnemic = open_with()
    say(mnemic, "one")
    server.signal(signal.SIGSTOP)
    say(mnemic, *(texts := [str(number) for number in range(40)]))
    assert shown(mnemic) == texts[-20:]
    assert failures(counter, "write") == 40
    server.signal(signal.SIGCONT)
    eventually(lambda: is_hit(mnemic, counter))
    assert shown(mnemic) == texts[-20:]


def test_a_redis_that_is_full_is_as_good_as_away_until_it_has_room(
    server: RedisServer, open_with: Open, counter: CounterObserver
):
    mnemic = open_with()
    say(mnemic, "one")
    server.client.config_set("maxmemory", "1")
    say(mnemic, "two")
    assert shown(mnemic) == ["one", "two"]
    assert failures(counter, "write") == 1
    server.client.config_set("maxmemory", "0")
    eventually(lambda: is_hit(mnemic, counter))
    assert shown(mnemic) == ["one", "two"]


class AwayStore(MemoryStore):
    """A store that can be away."""

    is_away = False

    def read(self):
        self._look()
        return super().read()

    def write(self, *, is_erasing: bool = False):
        self._look()
        return super().write(is_erasing=is_erasing)

    def _look(self) -> None:
        if self.is_away:
            raise UnavailableError("the store is away")


@pytest.mark.requirement("D-14", "D-15", "R-22")
def test_with_the_store_away_too_this_process_tells_what_it_heard_last_and_takes_nothing_more(
    server: RedisServer, open_with: Open
):
    store = AwayStore()
    mnemic = open_with(over=store)
    say(mnemic, *(texts := [str(number) for number in range(25)]))
    store.is_away = True
    assert shown(mnemic) == texts[-20:], "Redis alone"
    server.kill()
    assert shown(mnemic) == texts[-20:], "neither"
    with pytest.raises(UnavailableError, match="away"):
        say(mnemic, "26")
    with pytest.raises(UnavailableError, match="away"):
        mnemic.window(replace(ANNA, session="another"))
    with pytest.raises(UnavailableError, match="away"):
        mnemic.window(replace(ANNA, user="bert"))
    store.is_away = False
    say(mnemic, "26")
    assert shown(mnemic) == [*texts[-19:], "26"]


def test_what_was_erased_is_not_told_by_the_list_of_last_resort(server: RedisServer, open_with: Open):
    store = AwayStore()
    mnemic = open_with(over=store)
    say(mnemic, CANARY)
    server.kill()
    mnemic.erase(ANNA, level="user")
    store.is_away = True
    with pytest.raises(UnavailableError, match="away"):
        mnemic.window(ANNA)


def test_a_wrong_password_is_an_outage_that_the_doctor_explains_without_telling_it(
    open_with: Open, caplog: pytest.LogCaptureFixture
):
    guarded = RedisServer(password="right-secret")
    try:
        for url in (f"{guarded.url}?password=wrong-secret", guarded.url):
            mnemic = open_with(url=url)
            say(mnemic, "one")
            assert shown(mnemic)[-1] == "one"
            finding = next(each for each in mnemic.doctor().findings if each.part == "window")
            assert finding.condition is Condition.DEGRADED
            assert "password" in finding.message.lower() or "authentication" in finding.message.lower()
            assert "wrong-secret" not in str(finding) + caplog.text
        right = open_with(url=f"{guarded.url}?password=right-secret")
        finding = next(each for each in right.doctor().findings if each.part == "window")
        assert finding.condition is Condition.OK
        assert "right-secret" not in finding.message
    finally:
        guarded.close()


@pytest.mark.requirement("J-55")
def test_two_processes_share_one_copy(server: RedisServer, tmp_path: Path):
    path = tmp_path / "shared.db"

    def talk(*texts: str) -> str:
        command = [sys.executable, "-c", TALK, path, server.url, *texts]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    parts = build(Config(store=str(path), embedder="none", window="redis", window_url=server.url))
    observer = parts.observer
    assert isinstance(observer, CounterObserver)
    with Mnemic(parts, actor="tester") as mnemic:
        say(mnemic, "one")
        assert talk("two", "three") == "['one', 'two', 'three']"
        assert shown(mnemic) == ["one", "two", "three"]
        assert hits(observer) == 1
        mnemic.delete(ANNA, mnemic.window(ANNA)[0].id)
        assert talk() == "['two', 'three']"
