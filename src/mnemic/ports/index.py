"""The port of the search index: derived from the store's rows, disposable at any time.

The port of the session window: the last messages of a conversation, close at hand.
"""

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
    """`has_vectors`: it finds by vector. `is_exact`: every row that shares a term is a candidate, and the nearest
    vectors are truly the nearest. `is_durable`: its base survives the process. `budget_bytes`: the memory that it may
    hold, None where it takes none worth counting.
    """

    has_vectors: bool
    is_exact: bool
    is_durable: bool
    budget_bytes: int | None = None


class Index(Protocol):
    """Finds candidates inside the partitions of a query, and nowhere else.

    The caller brings each partition up to date before it searches: it reads `version`, applies what the store says has
    changed since, and only then asks. A partition that was never applied is empty. Safe to use from several threads.
    """

    @property
    def capabilities(self) -> IndexCapabilities:
        """Declared facts, constant for the life of the object."""
        ...

    def version(self, partition: Partition) -> int:
        """The partition version this index has caught up with; 0 when it knows nothing of the partition."""
        ...

    def apply(self, partition: Partition, changes: Sequence[Change], version: int) -> None:
        """Take in `changes` and be at `version`. Repeating or reordering calls is harmless: a call whose version is not
        beyond the index's own changes nothing. A changed item replaces its older form. An index may forget a partition
        at any time (its version is then 0, and `Candidates.versions` tells), so a search that needs it starts over.
        """
        ...

    def search(self, query: IndexQuery) -> Candidates:
        """Candidates for `query`. Only active rows (unless `include_inactive`) that have not expired at `query.now` and
        are not private, or private to `query.agent`, are seen, also by the statistics. `kinds` and `allowed` narrow the
        candidates, not the statistics.
        """
        ...

    def drop(self, partition: Partition) -> None:
        """Forget the partition; its version is 0 again."""
        ...

    def settle(self) -> None:
        """Wait until everything that is made in the background is in use; for measurements and tests."""
        ...

    def close(self) -> None:
        """Let go of memory and files; closing twice is harmless."""
        ...


class ServedIndex(Protocol):
    """An `Index` whose rows lie with a service outside this process, which may be away. Its `search` and `apply` do not
    fail then: it answers by what it has here and says so in `Candidates.missing`, and it is brought up to date later.
    """

    def is_behind(self, partitions: Collection[Partition]) -> bool:
        """True when the service may still hold something of these partitions that was dropped or deleted."""
        ...

    def diagnose(self, known: Collection[Partition]) -> list[Finding]:
        """What the doctor should say. Partitions of this store that are not `known` (to the index: passages have some
        of their own) are removed: they are of owners that were erased while the service was away.
        """
        ...


class Window(Protocol):
    """Gives the last messages of a session. The rows of the store stay the truth; an adapter may keep a copy of them,
    which it rebuilds when it is lost, so no call of this port loses a message, and none raises because a copy is away.
    """

    def push(self, messages: Sequence[Message]) -> None:
        """Told after the commit that these messages, of one session and in order, were added to it."""
        ...

    def latest(self, partition: Partition, session: str, limit: int, now: datetime) -> list[Message]:
        """The last `limit` messages of a session that are not erased, oldest first; none when the last of them was
        written longer ago than the window's time to live, when the session is unknown, or `limit` is 0. Raises
        `BackendError` when neither copy nor store answers.
        """
        ...

    def moved(self, partition: Partition, sessions: Sequence[str], now: datetime) -> None:
        """Told after the commit that more of these sessions was summarised or curated, so that less of it waits."""
        ...

    def clear(self, partition: Partition, session: str) -> bool:
        """Let go of a copy of the session, as after a message of it was erased; the rows stay as they are. False when
        it is not certain that the copy is gone: then it is let go as soon as that can be done, and ends by itself.
        """
        ...

    def forget(self, partitions: Collection[Partition]) -> bool:
        """The same for all sessions of partitions, under every name."""
        ...

    def diagnose(self) -> list[Finding]:
        """What the doctor should say; nothing where there is no copy."""
        ...

    def close(self) -> None:
        """Let go of connections; closing twice is harmless."""
        ...


def within_ttl(messages: Sequence[Message], now: datetime, ttl_s: float) -> list[Message]:
    """The messages, or none when the last of them was written more than `ttl_s` seconds before `now`."""
    is_open = bool(messages) and messages[-1].created_at >= now - timedelta(seconds=ttl_s)
    return list(messages) if is_open else []
