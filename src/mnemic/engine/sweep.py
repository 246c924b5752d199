"""Walks over every memory of a partition for upkeep, page by page, in bounded memory and short transactions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from mnemic.engine.engine import Engine
from mnemic.model.item import Memory
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.store import UnitOfWork

PAGE = 200  # memories per transaction: writers wait only a moment
PAGES_A_JOB = 250  # pages per job (50,000 memories); the next job continues there
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Reach:
    """The memories of a partition to walk over: those that `visible` admits, or without it all (upkeep)."""

    partition: Partition
    visible: Visibility | None = None
    after: str = ""

    def page(self, work: UnitOfWork, after: str) -> tuple[Sequence[Memory], str | None]:
        """The memories of one page, and the id to continue after; None at the end."""
        page = work.upkeep.memories(self.partition, after, PAGE)
        seen = self.visible
        own = [m for m in page if seen is None or seen.admits(m.partition, m.private_agent)]
        return own, page[-1].id if len(page) == PAGE else None


@dataclass(frozen=True, slots=True)
class Swept(Generic[_Found]):
    """The result of one page: memories examined, results, and the id to continue after (None: done)."""

    examined: int
    found: Sequence[_Found]
    after: str | None


def sweep(
    engine: Engine,
    reach: Reach,
    plan: Callable[[UnitOfWork, Sequence[Memory]], Sequence[_Found]],
    deed: Callable[[UnitOfWork, Partition, Sequence[_Found]], Sequence[_Found]] | None,
) -> Iterator[Swept[_Found]]:
    """Plan each page and apply the plan with `deed`, which returns its result; without a `deed` only plan. A page is
    planned in a read, and again in a write if there is anything to do. So a page changes wholly on current data, or not
    at all.
    """
    after: str | None = reach.after
    while after is not None:
        with engine.store.read() as work:
            page, following = reach.page(work, after)
            found = plan(work, page)
        if found and deed is not None:
            with engine.store.write() as work:
                page, following = reach.page(work, after)
                found = plan(work, page)
                found = deed(work, reach.partition, found)
        yield Swept(len(page), found, following)
        after = following
