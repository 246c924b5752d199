"""Brings the index up to date with the store before a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mnemic.engine.parts import Parts
from mnemic.errors import UnavailableError
from mnemic.model.candidates import Candidates, IndexQuery
from mnemic.model.change import Change
from mnemic.model.scope import Partition
from mnemic.ports.store import StaleTerms, UnitOfWork

_ATTEMPTS = 5


def search(parts: Parts, query: IndexQuery) -> Candidates:
    """Candidates that know everything committed before the call.

    The index may forget a partition between the catching up and the search (its memory is bounded); then both are
    repeated. Raises `UnavailableError` when that does not end, which only a budget far too small can cause.
    """
    for _ in range(_ATTEMPTS):
        wanted = catch_up(parts, query.partitions)
        found = parts.index.search(query)
        if all(version >= wanted[p] for p, version in zip(query.partitions, found.versions, strict=True)):
            return found
    raise UnavailableError("the index cannot hold the partitions of this scope; raise its memory budget")


def catch_up(parts: Parts, partitions: Sequence[Partition]) -> dict[Partition, int]:
    """Apply to the index what changed in these partitions since it last looked; returns the store's versions."""
    with parts.store.read() as work:
        versions = work.partitions.versions(partitions)
        for partition, version in versions.items():
            # Whoever else forgot or fed the partition between the question and the answer would leave a hole in it.
            with parts.catching_up.of(partition):
                since = parts.index.version(partition)
                if since < version:
                    changes = [_fresh(parts, change) for change in _changes(parts, work, partition, since)]
                    parts.index.apply(partition, changes, version)
    return versions


def _changes(parts: Parts, work: UnitOfWork, partition: Partition, since: int) -> Iterator[Change | StaleTerms]:
    """What changed, with its vectors of every space; all readings of one unit of work tell the same rows in order."""
    main, *further = (work.partitions.changes(partition, since, reading) for reading in parts.readings)
    if not further:
        yield from main
        return
    for change, *others in zip(main, *further, strict=True):
        vectors = tuple(_change(other).vector for other in others)
        if isinstance(change, StaleTerms):
            yield replace(change, change=replace(change.change, further=vectors))
        else:
            yield replace(change, further=vectors)


def _change(read: Change | StaleTerms) -> Change:
    return read if isinstance(read, Change) else read.change


def _fresh(parts: Parts, change: Change | StaleTerms) -> Change:
    return change if isinstance(change, Change) else replace(change.change, terms=parts.terms(change.text).terms)
