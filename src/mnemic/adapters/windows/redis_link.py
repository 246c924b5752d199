"""The connection to Redis: short time-outs, and a breaker that opens at an outage's first failure. While it is open no
call waits: a thread asks every `probe_s` seconds whether Redis is back. Missed updates are noted, and repaired before
other calls.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.retry import Retry

from mnemic.errors import ConfigError
from mnemic.ports.observer import Observer

READ, WRITE = "read", "write"
MOST_MISSED = 10_000
"""Of more sessions than this nothing is noted one by one: all copies are let go when Redis is back."""

_FAILURES = (RedisError, OSError)
_log = logging.getLogger("mnemic.redis")
_Answer = TypeVar("_Answer")
_Missed = TypeVar("_Missed", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisOptions:
    """How long to wait for Redis: to connect, for one answer, and between two looks whether it is back, in seconds. The
    copy of what waits for the curator lives `staging_ttl_hours` after its last write.
    """

    connect_timeout_s: float = 0.25
    timeout_s: float = 0.5
    probe_s: float = 1.0
    staging_ttl_hours: float = 48.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value: object = getattr(self, each.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise ConfigError(f"memory.window.options: {each.name} must be a number above 0, not {value!r}")


class RedisLink(Generic[_Missed]):
    """One Redis, used by many threads. `repair` is given each thing that was missed when Redis is back, and raises what
    the client raises when it is away again.
    """

    def __init__(
        self,
        url: str,
        options: RedisOptions,
        observer: Observer,
        repair: Callable[[_Missed], object],
        everything: _Missed,
    ) -> None:
        """Opens no connection yet. Raises `ConfigError` for a bad URL. `everything` stands for too much to note."""
        self.client: Any = _client(url, options)  # its methods are typed in part only
        self.address = _address(url)
        self._observer, self._repair, self._probe_s = observer, repair, options.probe_s
        self._everything = everything
        self._guard = threading.Lock()
        self._missed: dict[_Missed, None] = {}
        self._is_down = False
        self._closing = threading.Event()
        self._prober: threading.Thread | None = None

    def ask(
        self, operation: str, call: Callable[[], _Answer], missed: _Missed | None = None, *, is_urgent: bool = False
    ) -> _Answer | None:
        """What `call` answers, None when Redis is away; then `missed` is repaired later. An urgent call is tried even
        when Redis was away a moment ago.
        """
        if not is_urgent and self._misses(missed):
            self._count(operation)
            return None
        try:
            return call()
        except _FAILURES as error:
            self._fail(error, missed)
            self._count(operation)
            return None

    def close(self) -> None:
        """Stop probing and let go of the connections."""
        self._closing.set()
        prober = self._prober
        if prober is not None and prober is not threading.current_thread():
            prober.join()
        with suppress(*_FAILURES):
            self.client.close()

    def _count(self, operation: str) -> None:
        self._observer.count("agent.memory.redis.failure", operation=operation)

    def _misses(self, missed: _Missed | None) -> bool:
        """True while Redis is away; what is missed is then noted, in one step with looking."""
        with self._guard:
            if self._is_down:
                self._note(missed)
            return self._is_down

    def _note(self, missed: _Missed | None) -> None:
        if missed is None:
            return
        if len(self._missed) >= MOST_MISSED:
            self._missed.clear()
            missed = self._everything
        if self._everything not in self._missed:
            self._missed[missed] = None

    def _fail(self, error: Exception, missed: _Missed | None) -> None:
        with self._guard:
            self._note(missed)
            if self._is_down or self._closing.is_set():
                return
            self._is_down = True
            _log.warning("Redis at %s is away, its copies are not used: %s", self.address, error)
            self._prober = threading.Thread(target=self._probe, name="mnemic-redis-probe", daemon=True)
            self._prober.start()

    def _probe(self) -> None:
        while not self._closing.wait(self._probe_s):
            try:
                self.client.ping()
                self._repair_all()
            except _FAILURES as error:
                _log.debug("Redis at %s is still away: %s", self.address, error)
                continue
            _log.info("Redis at %s is back", self.address)
            return

    def _repair_all(self) -> None:
        """Repair all that was missed; with nothing left, and in one step with looking, calls go to Redis again."""
        while True:
            with self._guard:
                missed = next(iter(self._missed), None)
                if missed is None:
                    self._is_down = False
                    return
                del self._missed[missed]
            try:
                self._repair(missed)
            except _FAILURES:
                with self._guard:
                    self._note(missed)
                raise


def _client(url: str, options: RedisOptions) -> Redis:
    from_url: Callable[..., Redis] = Redis.from_url  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- untyped there
    try:
        return from_url(
            url,
            socket_connect_timeout=options.connect_timeout_s,
            socket_timeout=options.timeout_s,
            protocol=2,
            # Once more at once: a server, or what stands before it, may have closed a connection that nobody used.
            retry=Retry(NoBackoff(), 1, (RedisConnectionError,)),
        )
    except (ValueError, TypeError) as error:
        raise ConfigError(
            "memory.window.url is not the address of a Redis; say redis://user:password@host:6379/0, rediss://… or "
            "unix:///path"
        ) from error


def _address(url: str) -> str:
    """The address without login and options."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
