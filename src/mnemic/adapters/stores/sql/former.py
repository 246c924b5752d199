"""A migration step that splits bookkeeping from metadata, which earlier versions kept in one column.
`text.former_metadata` decides for each key.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from mnemic.model.bookkeeping import chosen_in, merged_in
from mnemic.model.columns import Row, dumps, loads
from mnemic.text.former_metadata import FormerMemory, part_document, part_entry, part_memory

PAGE = 500
"""Rows read at once, to bound memory in a large store."""

Run = Callable[[str, Mapping[str, object]], Iterable[Row]]
"""Runs a statement and returns its rows, if any."""

Mappings = tuple[Mapping[str, object], Mapping[str, object]]


def part_bookkeeping(run: Run, sql: Mapping[str, str], filterable: Callable[[Mappings], Mapping[str, object]]) -> None:
    """Split the bookkeeping of all rows. `filterable`: columns derived from metadata, if the store has any."""
    for row in _pages(run, sql["memories"]):
        pid, memory_id, provenance, metadata = row[7:]
        before: dict[str, object] = loads(metadata)
        parted = theirs, own = part_memory(_former(row), before)
        _unlink_claims(run, sql["unlink"], (pid, memory_id), theirs, _named_sources(provenance, own))
        if own:
            columns = {"metadata": dumps(theirs), "bookkeeping": dumps(own), **filterable(parted)}
            run(sql["write_memory"], {"key": row[0], **columns})
    for row in _pages(run, sql["history"]):
        entry = part_entry(_former(row), loads(row[7]), loads(row[8]))
        if entry is not None:
            run(sql["write_history"], {"key": row[0], "before": dumps(entry[0]), "after": dumps(entry[1])})
    for pid, document_id, metadata in [*run(sql["documents"], {})]:
        theirs, own = part_document(loads(metadata))
        place = {"pid": pid, "id": document_id}
        run(sql["write_document"], {**place, "metadata": dumps(theirs), "bookkeeping": dumps(own)})


def _pages(run: Run, statement: str) -> Iterator[Row]:
    after = 0
    while rows := [*run(statement, {"after": after, "limit": PAGE})]:
        yield from rows
        after = rows[-1][0]


def _former(row: Row) -> FormerMemory:
    level, kind, text, trust, is_derived, was_merged = row[1:7]
    return FormerMemory(
        kind=kind, level=level, text=text, trust=trust, is_derived=bool(is_derived), was_merged=bool(was_merged)
    )


def _named_sources(provenance: str, own: Mapping[str, object]) -> set[str]:
    entries = cast("list[dict[str, Any]]", loads(provenance))
    return {str(entry["source_id"]) for entry in entries} | {*merged_in(own), *chosen_in(own)}


def _unlink_claims(run: Run, statement: str, place: Row, theirs: Mapping[str, object], named: set[str]) -> None:
    """Unlink ids in a caller's metadata that had been taken for sources."""
    for source_id in {*merged_in(theirs), *chosen_in(theirs)} - named:
        run(statement, {"pid": place[0], "memory_id": place[1], "source_id": source_id})
