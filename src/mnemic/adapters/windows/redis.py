"""The window with a copy in Redis that several processes share, so that a hit reads no row. The rows stay the only
truth. A copy is extended while it is known to be complete, and dropped when in doubt: a message is missing or erased,
or the server restarted. The connection has short timeouts and a circuit breaker that opens at the first failure. While
it is open no call waits; a thread tries Redis every `probe_s` seconds. Missed updates are noted, and repaired before
other calls.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote, unquote, urlsplit

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.retry import Retry

from mnemic.adapters.windows.store import LastResort
from mnemic.errors import BackendError, ConfigError
from mnemic.model.health import Condition, Finding
from mnemic.model.item import CURATED, SUMMARISED, Message, Role, Trust
from mnemic.model.scope import Level, Partition, Visibility, from_microseconds, to_microseconds
from mnemic.ports.index import Window, within_ttl
from mnemic.ports.observer import Observer
from mnemic.ports.store import Store, UnitOfWork

READ, WRITE = "read", "write"
MOST_MISSED = 10_000
"""With more missed sessions, nothing is noted individually: all copies are dropped when Redis is back."""

_FAILURES = (RedisError, OSError)
_log = logging.getLogger("mnemic.redis")
_Answer = TypeVar("_Answer")
_Missed = TypeVar("_Missed", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisOptions:
    """Timeouts in seconds: to connect, for one answer, and between probes. The copy of messages pending for the curator
    expires `staging_ttl_hours` after its last write.
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
    """A thread-safe Redis. After an outage, `repair` gets each missed update, and raises if Redis is down again."""

    def __init__(
        self,
        url: str,
        options: RedisOptions,
        observer: Observer,
        repair: Callable[[_Missed], object],
        everything: _Missed,
    ) -> None:
        """Opens no connection yet. Raises `ConfigError` for an invalid URL. `everything`: too many missed updates."""
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
        """The result of `call`. None during an outage; `missed` is repaired later. An urgent call is always tried."""
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
        """Stop probing and close the connections."""
        self._closing.set()
        prober = self._prober
        if prober is not None and prober is not threading.current_thread():
            prober.join()
        with suppress(*_FAILURES):
            self.client.close()

    def _count(self, operation: str) -> None:
        self._observer.count("agent.memory.redis.failure", operation=operation)

    def _misses(self, missed: _Missed | None) -> bool:
        """True during an outage; notes `missed` in the same step."""
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
            _log.warning("not using the copies in Redis at %s, because it is unavailable: %s", self.address, error)
            self._prober = threading.Thread(target=self._probe, name="mnemic-redis-probe", daemon=True)
            self._prober.start()

    def _probe(self) -> None:
        while not self._closing.wait(self._probe_s):
            try:
                self.client.ping()
                self._repair_all()
            except _FAILURES as error:
                _log.debug("Redis at %s is still unavailable: %s", self.address, error)
                continue
            _log.info("Redis at %s is available again", self.address)
            return

    def _repair_all(self) -> None:
        """Repair all missed updates, then let calls through, in one step with the last check."""
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
            # One immediate retry: a server or proxy may have closed an idle connection.
            retry=Retry(NoBackoff(), 1, (RedisConnectionError,)),
        )
    except (ValueError, TypeError) as error:
        raise ConfigError(
            "memory.window.url is not a valid Redis address; use redis://user:password@host:6379/0, rediss://… or "
            "unix:///path"
        ) from error


def _address(url: str) -> str:
    """The URL without login and options."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


SESSIONS = "ai:session:"
STAGING = "mem:"
PATTERNS = (f"{SESSIONS}*", f"{STAGING}*")
_PENDING, _STATE = ":pending", ":state"
_MANGLED = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""Exceptions from parsing a foreign or broken entry."""


@dataclass(frozen=True, slots=True)
class Place:
    """A session of a partition and the keys of its copies: `ai:session:<org/user/session>` and `mem:<org/user>`,
    percent-encoded, so that sessions of two users never share a key. Without a user that part is empty, and staging is
    the session's.
    """

    partition: Partition
    session: str

    @property
    def keys(self) -> tuple[str, str, str, str, str]:
        """The keys of window, pending, their state, staging, and its state."""
        owner = _owner(self.partition)
        window = (
            f"{SESSIONS}{owner}"
            if self.partition.level is Level.SESSION
            else f"{SESSIONS}{owner}/{_part(self.session)}"
        )
        staging = f"{STAGING}{owner}"
        return window, window + _PENDING, window + _STATE, staging, staging + _STATE


def partition_of_key(key: str) -> Partition | None:
    """The partition of a key's copy, None for a foreign key."""
    prefix = next((each for each in (SESSIONS, STAGING) if key.startswith(each)), None)
    if prefix is None:
        return None
    org, *rest = (unquote(part) for part in key.removeprefix(prefix).partition(":")[0].split("/"))
    match rest:
        case ["", session]:
            return Partition(org, Level.SESSION, session)
        case [user] | [user, _]:
            return Partition(org, Level.USER, user)
        case _:
            return None


def encoded(message: Message) -> str:
    """The entry of a message."""
    entry = {
        "role": message.role.value,
        "content": message.text,
        "id": message.id,
        "session": message.session,
        "turn_id": message.turn_id,
        "turn": message.turn,
        "position": message.position,
        "name": message.name,
        "observed_at": to_microseconds(message.observed_at),
        "created_at": to_microseconds(message.created_at),
        "agent": message.agent,
        "external_id": message.external_id,
        "trust": message.trust.value,
        "metadata": dict(message.metadata),
        "bookkeeping": dict(message.bookkeeping),
    }
    return json.dumps(entry, separators=(",", ":"))


def decoded(entries: Sequence[bytes], place: Place) -> list[Message]:
    """The messages of a session in entries, in order. Skips anything else."""
    read = (_message(entry, place) for entry in entries)
    return [message for message in read if message is not None]


def _message(entry: bytes, place: Place) -> Message | None:
    try:
        found = json.loads(entry)
        if not isinstance(found, dict):
            return None
        fields = cast("dict[str, Any]", found)
        message = Message(
            id=_text(fields["id"]),
            partition=place.partition,
            session=_text(fields["session"]),
            turn_id=_text(fields["turn_id"]),
            turn=_number(fields["turn"]),
            position=_number(fields["position"]),
            role=Role(fields["role"]),
            name=None if fields["name"] is None else _text(fields["name"]),
            text=_text(fields["content"]),
            observed_at=from_microseconds(_number(fields["observed_at"])),
            created_at=from_microseconds(_number(fields["created_at"])),
            agent=None if fields["agent"] is None else _text(fields["agent"]),
            external_id=None if fields["external_id"] is None else _text(fields["external_id"]),
            trust=Trust(fields["trust"]),
            metadata=cast("dict[str, object]", dict(fields["metadata"])),
            bookkeeping=cast("dict[str, object]", dict(fields.get("bookkeeping", {}))),
        )
    except _MANGLED:
        return None
    return message if message.session == place.session else None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(type(value).__name__)
    return value


def _owner(partition: Partition) -> str:
    """`org/user`, or `org//session` without a user."""
    empty = "/" if partition.level is Level.SESSION else ""
    return f"{_part(partition.org)}/{empty}{_part(partition.owner)}"


def _part(name: str) -> str:
    return quote(name, safe="@+")


MOST_ELSEWHERE = 1000
"""Maximum length of a pending or staging list. Rows are never cut."""

MOST_AT_ONCE = 200
"""With more new messages, the copy is loaded again from the store on the next read."""

_EVER = datetime.max.replace(tzinfo=UTC)
_EVERYTHING = "everything"
_MissedWindow = Place | Partition | str


@dataclass(frozen=True, slots=True)
class _State:
    """The state of a session in Redis: versions of the copies, and the window's messages unless stale."""

    window_version: bytes
    staging_version: bytes
    messages: list[Message] | None = None
    is_whole: bool = False

    def latest(self, limit: int) -> list[Message] | None:
        """The last `limit` messages, None if the copy lacks them."""
        if self.messages is None or (limit > len(self.messages) and not self.is_whole):
            return None
        return self.messages[-limit:]


class RedisWindow:
    """The `Window` port over Redis (5 or newer, or compatible) and the rows of `store`: `most` messages per session,
    for `ttl_s` seconds after the last. Without Redis the rows answer; if the store is down too, this process's last
    messages.
    """

    def __init__(
        self,
        store: Store,
        url: str,
        *,
        observer: Observer,
        ttl_s: float,
        most: int = 20,
        options: RedisOptions | None = None,
    ) -> None:
        """Opens no connection yet. Raises `ConfigError` for an invalid URL."""
        options = options or RedisOptions()
        self._store, self._observer, self._ttl_s, self._most = store, observer, ttl_s, most
        self._ttl_ms = max(int(ttl_s * 1e3), 1)
        self._staging_ttl_ms = max(int(options.staging_ttl_hours * 3_600_000), 1)
        self._is_store_away = False
        self._heard: LastResort[Place] = LastResort(most)
        self._link: RedisLink[_MissedWindow] = RedisLink(url, options, observer, self._repair, _EVERYTHING)
        self._script = self._link.client.register_script(
            files("mnemic.adapters.windows").joinpath("redis.lua").read_text("utf-8")
        )

    def push(self, messages: Sequence[Message]) -> None:
        if not messages:
            return
        place = Place(messages[0].partition, messages[0].session)
        self._heard.add(place, messages)
        if len(messages) > MOST_AT_ONCE:
            self._drop(place)
            return
        first, last = messages[0].position, messages[-1].position
        told = (self._ttl_ms, self._staging_ttl_ms, self._most, MOST_ELSEWHERE, place.session, first, last)
        call = self._call(place, "push", *told, *map(encoded, messages))
        done = self._link.ask(WRITE, call, place)
        if done is not None and 0 in done:
            self._restore_copies(place, messages[-1].created_at, is_window=not done[0], is_staging=not done[1])

    def latest(self, partition: Partition, session: str, limit: int, now: datetime) -> list[Message]:
        if limit <= 0:
            return []
        place = Place(partition, session)
        look = self._look(place)
        shown = None if look is None else look.latest(limit)
        if look is not None and look.messages is not None and shown is not None:
            self._observer.count("mnemic.window.hit")
            self._heard.put(place, look.messages)
            return within_ttl(shown, now, self._ttl_s)
        self._observer.count("mnemic.window.cold")
        try:
            return self._read_rows(place, limit, now, look)
        except BackendError as error:
            heard = self._heard.get(place)
            if heard is None:
                raise
            if not self._is_store_away:
                _log.warning("neither Redis nor the store is available (%s); using recent messages in memory", error)
            self._is_store_away = True
            return within_ttl(heard[-limit:], now, self._ttl_s)

    def moved(self, partition: Partition, sessions: Sequence[str], now: datetime) -> None:
        for session in sessions:
            self._drop(Place(partition, session))
        if sessions:
            self._restore_copies(Place(partition, sessions[0]), now, is_window=False)

    def clear(self, partition: Partition, session: str) -> bool:
        place = Place(partition, session)
        self._heard.forget(place)
        return self._drop(place, is_urgent=True)

    def forget(self, partitions: Collection[Partition]) -> bool:
        wanted = set(partitions)
        for place in self._heard.places():
            if place.partition in wanted:
                self._heard.forget(place)
        is_done = True
        for missed in wanted:  # noted one by one for when Redis is back; sent together
            is_done = is_done and self._link.ask(WRITE, self._link.client.ping, missed, is_urgent=True) is not None
        if is_done and wanted:
            is_done = self._link.ask(WRITE, lambda: self._delete(wanted), _EVERYTHING, is_urgent=True) is not None
        return is_done

    def diagnose(self) -> list[Finding]:
        started = time.perf_counter()
        try:
            server: dict[str, Any] = self._link.client.info("server")
        except (RedisError, OSError) as error:
            message = f"Redis at {self._link.address} cannot be used ({error}); windows are read from the store"
            remedy = "start Redis, correct memory.window.url, or set memory.window.backend = store"
            return [Finding("window", Condition.DEGRADED, message, remedy)]
        ms = (time.perf_counter() - started) * 1e3
        version = server.get("redis_version", "of unknown version")
        return [Finding("window", Condition.OK, f"Redis {version} at {self._link.address} responded in {ms:.1f} ms")]

    def close(self) -> None:
        self._link.close()

    def _call(self, place: Place, name: str, *arguments: object) -> Callable[[], list[Any]]:
        return lambda: cast("list[Any]", self._script(keys=place.keys, args=[name, *cast("list[Any]", arguments)]))

    def _look(self, place: Place) -> _State | None:
        """The state in Redis, None during an outage."""
        found = self._link.ask(READ, self._call(place, "look", self._ttl_ms, self._staging_ttl_ms))
        if found is None:
            return None
        versions: tuple[bytes, bytes] = (found[0], found[1])
        if len(found) == len(versions):
            return _State(*versions)
        last, count, whole, entries = found[2:]
        messages = decoded(entries, place)
        positions = [message.position for message in messages]
        is_sound = len(messages) == count and positions == sorted(set(positions)) and max(positions, default=0) <= last
        return _State(*versions, messages if is_sound else None, is_whole=bool(whole))

    def _read_rows(self, place: Place, limit: int, now: datetime, look: _State | None) -> list[Message]:
        """The window from the rows. Leaves a copy in Redis."""
        with self._store.read() as work:
            rows = work.messages.latest(Visibility((place.partition,), None), place.session, max(limit, self._most))
            fill = None if look is None else self._window_fill(work, place, now, look)
        if fill is not None:
            self._link.ask(WRITE, fill)
        self._is_store_away = False
        self._heard.put(place, rows)
        return within_ttl(rows, now, self._ttl_s)[-limit:]

    def _restore_copies(self, place: Place, now: datetime, *, is_window: bool = True, is_staging: bool = True) -> None:
        """Copy rows to Redis where copies are missing. Without them only time is lost."""
        look = self._look(place)
        if look is None:
            return
        try:
            with self._store.read() as work:
                fills = [self._window_fill(work, place, now, look)] if is_window else []
                fills += [self._staging_fill(work, place, look)] if is_staging else []
        except BackendError as error:
            _log.warning("cannot copy a session to Redis: %s", error)
            return
        for fill in fills:
            if fill is not None:
                self._link.ask(WRITE, fill)

    def _window_fill(
        self, work: UnitOfWork, place: Place, now: datetime, look: _State
    ) -> Callable[[], list[Any]] | None:
        """The call that copies a session's rows, None without an open one. The conversation is read first: a message
        added later is not counted, and is pushed later.
        """
        talk = work.conversations.get(place.partition, place.session)
        if talk is None:
            return None
        rows = work.messages.latest(Visibility((place.partition,), None), place.session, self._most + 1)
        rows = [message for message in rows if message.position <= talk.messages]
        window = rows[-self._most :]
        if not within_ttl(window, now, self._ttl_s):
            return None
        before = window[0].position
        cursor = work.conversations.cursor(place.partition, place.session, SUMMARISED)
        after = max(cursor, before - 1 - MOST_ELSEWHERE)
        pending = work.conversations.messages(place.partition, place.session, after, max(before - 1 - after, 0))
        pending = [message for message in pending if message.position < before]
        left = window[-1].created_at + timedelta(seconds=self._ttl_s) - now
        ttl_ms = min(max(int(left.total_seconds() * 1e3), 1), self._ttl_ms)
        told = (ttl_ms, look.window_version, talk.messages, len(window), int(len(rows) <= self._most), len(pending))
        return self._call(place, "fill_window", *told, *map(encoded, [*pending, *window]))

    def _staging_fill(self, work: UnitOfWork, place: Place, look: _State) -> Callable[[], list[Any]] | None:
        """The call that copies the partition's newest staged messages. None if they are in too many sessions."""
        talks = work.upkeep.idle(CURATED, _EVER, MOST_ELSEWHERE + 1, place.partition)
        if len(talks) > MOST_ELSEWHERE:
            return None
        staged: list[Message] = []
        for talk in reversed(talks):
            if len(staged) >= MOST_ELSEWHERE:
                break
            cursor = work.conversations.cursor(place.partition, talk.session, CURATED)
            after = max(cursor, talk.messages - MOST_ELSEWHERE)
            said = work.conversations.messages(place.partition, talk.session, after, MOST_ELSEWHERE)
            staged += [message for message in said if message.position <= talk.messages]
        staged.sort(key=lambda message: (message.created_at, message.session, message.position))
        heads = [each for talk in talks for each in (talk.session, talk.messages)]
        told = (self._staging_ttl_ms, look.staging_version, len(talks), *heads)
        return self._call(place, "fill_staging", *told, *map(encoded, staged[-MOST_ELSEWHERE:]))

    def _drop(self, place: Place, *, is_urgent: bool = False) -> bool:
        call = self._call(place, "drop", self._ttl_ms, self._staging_ttl_ms)
        return self._link.ask(WRITE, call, place, is_urgent=is_urgent) is not None

    def _repair(self, missed: _MissedWindow) -> None:
        """Drop copies that missed an update."""
        if isinstance(missed, Place):
            self._call(missed, "drop", self._ttl_ms, self._staging_ttl_ms)()
        else:
            self._delete({missed} if isinstance(missed, Partition) else None)

    def _delete(self, partitions: Collection[Partition] | None) -> int:
        """Remove every key of some partitions. None: of all."""
        client, deleted = self._link.client, 0
        for pattern in PATTERNS:
            for found in client.scan_iter(match=pattern, count=MOST_ELSEWHERE):
                owner = partition_of_key(bytes(found).decode("utf-8", "replace"))
                if owner is not None and (partitions is None or owner in partitions):
                    deleted += client.delete(found)
        return deleted


_: type[Window] = RedisWindow
