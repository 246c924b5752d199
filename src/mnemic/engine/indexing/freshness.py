"""Brings the index up to date with the store before a search.

The passages of documents are kept apart: to the index they are a partition beside that of the messages and memories,
with statistics, and where it is large a graph, of its own. So a shelf of manuals changes nothing about what is found of
a conversation, or how quickly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from mnemic.engine.parts import Parts
from mnemic.errors import BackendError, UnavailableError
from mnemic.model.candidates import DOCUMENT, Candidates, IndexQuery
from mnemic.model.change import Change
from mnemic.model.scope import Partition
from mnemic.ports.copying import VERSIONS_OF_AN_AGE
from mnemic.ports.store import StaleTerms, UnitOfWork

INDEX_LEFT = (
    "the index in Qdrant could not be reached; this process removes what it holds of it when it answers again, and "
    "`mnemic doctor` does too"
)
_ATTEMPTS = 20
_SIDE = "\x1epassages"  # cannot be part of an id, so that no owner is called so


def search(parts: Parts, query: IndexQuery, *, passages: bool = False) -> Candidates:
    """Candidates that know everything committed before the call: messages and memories, or the passages of documents.

    The index may forget a partition between the catching up and the search (its memory is bounded); then both are
    repeated. Raises `UnavailableError` when that does not end, which only a budget far too small can cause.
    """
    for _ in range(_ATTEMPTS):
        wanted = catch_up(parts, query.partitions)
        if passages:
            wanted = {_side(p): version for p, version in wanted.items() if parts.passage_places.holds(p)}
        found = parts.index.search(replace(query, partitions=tuple(wanted)))
        if all(version >= least for least, version in zip(wanted.values(), found.versions, strict=True)):
            return found
    raise UnavailableError("the index cannot hold the partitions of this scope; raise its memory budget")


def catch_up(parts: Parts, partitions: Sequence[Partition]) -> dict[Partition, int]:
    """Apply to the index what changed in these partitions since it last looked; returns the store's versions."""
    with parts.store.read() as work:
        versions = work.partitions.versions(partitions)
        for partition, version in versions.items():
            # Whoever else forgot or fed the partition between the question and the answer would leave a hole in it.
            with parts.catching_up.of(partition):
                _bring_up(parts, work, partition, version)
    return versions


def forget(parts: Parts, partition: Partition) -> None:
    """Let the index go of a partition that is no more: both sides, and what it keeps of them on disk."""
    with parts.catching_up.of(partition):
        _forget(parts, partition)


def sides(partitions: Collection[Partition]) -> list[Partition]:
    """What an index calls these partitions: each, and the passages of each."""
    return [side for partition in partitions for side in (partition, _side(partition))]


def reached(parts: Parts, partitions: Collection[Partition]) -> tuple[str, ...]:
    """Told after the commit that something was deleted in these partitions: a service that holds the index lets go of
    it at once, not with the next search. What it may still hold, in words.
    """
    served = parts.served_index
    if served is None:
        return ()
    try:
        catch_up(parts, tuple(partitions))
        is_left = served.is_behind(sides(partitions))
    except BackendError:  # of the store: what was committed stays so, and the next search looks again
        is_left = True
    return (INDEX_LEFT,) if is_left else ()


def _forget(parts: Parts, partition: Partition) -> None:
    for side in sides([partition]):
        parts.index.drop(side)


def _bring_up(parts: Parts, work: UnitOfWork, partition: Partition, version: int) -> None:
    """Bring both sides of a partition to `version`. The rows are read once, unless one side alone was forgotten.

    The side of the passages is begun with the first passage, so that who has no documents pays nothing for them.
    """
    index, side, holds = parts.index, _side(partition), parts.passage_places.holds(partition)
    since = index.version(partition)
    if since > 0 and version == 0:  # erased by another process
        _forget(parts, partition)
        return
    beside = index.version(side) if holds or holds is None else since
    if _is_behind(work, partition, version, since, beside):
        _forget(parts, partition)
        since = beside = 0
    if since == beside:
        if since < version:
            passages, others = _sides(parts, work, partition, since)
            index.apply(partition, others, version)
            if parts.passage_places.note(partition, holds=any(not change.is_gone for change in passages)):
                index.apply(side, passages, version)
        elif holds is None:
            parts.passage_places.note(partition, holds=beside > 0)
        return
    if since < version:
        index.apply(partition, _sides(parts, work, partition, since)[1], version)
    if beside < version:
        passages, _ = _sides(parts, work, partition, beside)
        if parts.passage_places.note(partition, holds=any(not change.is_gone for change in passages)):
            index.apply(side, passages, version)


def _is_behind(work: UnitOfWork, partition: Partition, version: int, *held: int) -> bool:
    """True when changes do not tell of all that is gone since what is held: a backup was restored meanwhile, tombstones
    were removed, or the partition was erased and began anew.
    """
    oldest = min((each for each in held if 0 < each < version), default=version)
    if oldest == version:
        return False
    return oldest < version - version % VERSIONS_OF_AN_AGE or oldest < work.partitions.horizon(partition)


def _sides(parts: Parts, work: UnitOfWork, partition: Partition, since: int) -> tuple[list[Change], list[Change]]:
    """What changed of passages and what of all else; what is gone is told to both."""
    passages: list[Change] = []
    others: list[Change] = []
    for read in _changes(parts, work, partition, since):
        change = read if type(read) is Change else _fresh(parts, read)
        if change.is_gone:
            passages.append(change)
            others.append(change)
        else:
            (passages if change.role == DOCUMENT else others).append(change)
    return passages, others


def _side(partition: Partition) -> Partition:
    """What an index calls the passages of a partition."""
    return replace(partition, owner=f"{partition.owner}{_SIDE}")


def _changes(parts: Parts, work: UnitOfWork, partition: Partition, since: int) -> Iterator[Change | StaleTerms]:
    """What changed, with its vectors of every space; all readings of one unit of work tell the same rows in order."""
    main, *further = (work.partitions.changes(partition, since, reading) for reading in parts.readings)
    if not further:
        yield from main
        return
    for change, *others in zip(main, *further, strict=True):
        vectors = tuple(_change(other).vector for other in others)
        if isinstance(change, StaleTerms):
            yield replace(change, change=change.change._replace(further=vectors))
        else:
            yield change._replace(further=vectors)


def _change(read: Change | StaleTerms) -> Change:
    return read if isinstance(read, Change) else read.change


def _fresh(parts: Parts, change: Change | StaleTerms) -> Change:
    return change if isinstance(change, Change) else change.change._replace(terms=parts.terms(change.text).terms)
