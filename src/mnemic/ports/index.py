"""The ports of the search index and of the session window. Both hold copies of rows and can be dropped at any time."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from mnemic.model.candidates import Candidates, Change, IndexQuery
from mnemic.model.health import Finding
from mnemic.model.item import Message
from mnemic.model.scope import Partition


@dataclass(frozen=True, slots=True)
class IndexCapabilities:
    """`has_vectors`: it searches by vector. `is_exact`: every row that shares a term is a candidate, and vector search
    is exact. `is_durable`: its base survives the process. `budget_bytes`: its memory limit, None if its use is
    negligible.
    """

    has_vectors: bool
    is_exact: bool
    is_durable: bool
    budget_bytes: int | None = None


class Index(Protocol):
    """Finds candidates inside the partitions of a query, and nowhere else. Thread-safe. Callers update each partition
    before they search: read `version`, apply the store's changes since, then search. A partition that was never applied
    is empty.
    """

    @property
    def capabilities(self) -> IndexCapabilities:
        """Declared facts. They never change."""
        ...

    def version(self, partition: Partition) -> int:
        """The partition's version in this index, 0 if it does not know the partition."""
        ...

    def apply(self, partition: Partition, changes: Sequence[Change], version: int) -> None:
        """Apply `changes` and move to `version`. Repeated or reordered calls are harmless: a version that is not newer
        changes nothing. A changed item replaces its older form. An index may forget a partition at any time. Its
        version is then 0, which `Candidates.versions` shows, and the search starts over.
        """
        ...

    def search(self, query: IndexQuery) -> Candidates:
        """Candidates for `query`, and statistics over the rows it may see: active (unless `include_inactive`), not
        expired at `query.now`, and not private to another agent. `kinds` and `allowed` narrow the candidates, not the
        statistics.
        """
        ...

    def drop(self, partition: Partition) -> None:
        """Forget the partition. Its version is 0 again."""
        ...

    def settle(self) -> None:
        """Wait until all background work is in use. For measurements and tests."""
        ...

    def close(self) -> None:
        """Release memory and files. Idempotent."""
        ...


class ServedIndex(Protocol):
    """An `Index` whose rows are in a service outside this process. If the service is down, `search` and `apply` do not
    fail: `search` uses local data and reports that in `Candidates.missing`, and the service is updated later.
    """

    def holds(self, partitions: Collection[Partition]) -> bool:
        """True if the service may have rows of these partitions, so deletions must reach it."""
        ...

    def is_behind(self, partitions: Collection[Partition]) -> bool:
        """True if the service may still hold dropped or deleted rows of these partitions."""
        ...

    def diagnose(self, known: Collection[Partition]) -> list[Finding]:
        """Findings for the doctor. Removes this store's partitions that are not in `known`: their owners were erased
        while the service was down. Passages have index partitions of their own.
        """
        ...


class Window(Protocol):
    """Returns the last messages of a session. The rows are the truth. An adapter may keep a copy, which it rebuilds if
    lost, so a missing copy loses no message and raises nothing.
    """

    def push(self, messages: Sequence[Message]) -> None:
        """Called after the commit that added these messages. They belong to one session and are in order."""
        ...

    def latest(self, partition: Partition, session: str, limit: int, now: datetime) -> list[Message]:
        """The last `limit` messages of a session, oldest first, without erased ones. Empty if the session is unknown,
        or its last message is older than the window's time to live. Raises `BackendError` if neither copy nor store is
        available.
        """
        ...

    def moved(self, partition: Partition, sessions: Sequence[str], now: datetime) -> None:
        """Called after the commit that summarised or curated more of these sessions, so fewer messages are pending."""
        ...

    def clear(self, partition: Partition, session: str) -> bool:
        """Drop the copy of a session, for example after erasing one of its messages. Rows are unchanged. False if the
        copy may still exist; it is then dropped as soon as possible, and expires by itself.
        """
        ...

    def forget(self, partitions: Collection[Partition]) -> bool:
        """Drop the copies of all sessions of these partitions, under every name."""
        ...

    def diagnose(self) -> list[Finding]:
        """Findings for the doctor. Empty without a copy."""
        ...

    def close(self) -> None:
        """Close the connections. Idempotent."""
        ...


def within_ttl(messages: Sequence[Message], now: datetime, ttl_s: float) -> list[Message]:
    """The messages, or none if the last one was written more than `ttl_s` seconds before `now`."""
    is_open = bool(messages) and messages[-1].created_at >= now - timedelta(seconds=ttl_s)
    return list(messages) if is_open else []
