"""A noun comes back from its row as it was, whatever its fields are."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

import pytest

from mnemic.adapters.stores.sql.dialect import NOUNS
from mnemic.errors import DamagedError
from mnemic.model.columns import Columns, field_types, plain_reader, to_plain
from mnemic.model.document import Document, DocumentStatus, Heading
from mnemic.model.item import Cause, Flag, Kind, Memory, Provenance, State
from mnemic.model.scope import Level, Partition

HERS = Partition("acme", Level.USER, "anna")
NOON = datetime(2026, 5, 1, 12, 0, 0, 7, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A noun with a field of each sort that has a default."""

    id: str
    partition: Partition
    at: datetime
    until: datetime | None = None
    kind: Kind = Kind.FACT
    private_agent: str | None = None
    is_read: bool = False
    flags: tuple[Flag, ...] = ()
    headings: tuple[Heading, ...] = ()
    tags: frozenset[str] = frozenset()
    counts: dict[str, int] = field(default_factory=dict[str, int])


NOTES = Columns(Note, renamed={"at": "noted_at"})
FULL = Note(
    id="n1",
    partition=HERS,
    at=NOON,
    until=NOON,
    kind=Kind.GOAL,
    private_agent="jarvis",
    is_read=True,
    flags=(Flag("m1", Cause.ERASED, NOON, "h1"),),
    headings=(Heading(0, 1, "Tea"),),
    tags=frozenset({"tea"}),
    counts={"tea": 2},
)


def selected(columns: Columns[Any], noun: Any) -> tuple[object, ...]:
    """The row as a statement selects it."""
    row = columns.row(noun)
    place = (noun.partition.org, noun.partition.level.value, noun.partition.owner)
    return (*place, *(row[name] for name in columns.names))


@pytest.mark.parametrize("note", [FULL, Note(id="n2", partition=HERS, at=NOON)])
def test_a_noun_comes_back_as_it_was(note: Note):
    row = selected(NOTES, note)
    assert {type(value) for value in row} <= {str, int, bool, type(None)}
    assert NOTES.noun(row) == note


def test_columns_are_named_after_fields_but_for_those_that_are_renamed():
    assert NOTES.names[:2] == ("id", "noted_at")
    assert "partition" not in NOTES.names
    assert NOTES.row(FULL)["org"] == "acme"


def test_an_agent_that_is_none_is_kept_as_no_text():
    assert NOTES.row(Note(id="n1", partition=HERS, at=NOON))["private_agent"] == ""


def test_a_list_of_texts_is_read_from_json_and_from_a_list():
    memories = NOUNS["memory"]
    memory = Memory(
        id="m1",
        partition=HERS,
        text="tea",
        kind=Kind.FACT,
        dedup_key="tea",
        created_at=NOON,
        updated_at=NOON,
        observed_at=NOON,
        categories=("drinks", "green"),
        state=State.DISPUTED,
        provenance=(Provenance("s1", 0, 3, "rules", "1", 0.5),),
    )
    row = selected(memories, memory)
    assert memories.noun(row) == memory
    place = 3 + memories.names.index("categories")
    assert memories.noun((*row[:place], ["drinks", "green"], *row[place + 1 :])) == memory


def test_fields_that_no_column_holds_are_given_beside_the_row():
    documents = NOUNS["document"]
    document = Document(
        id="d1",
        partition=HERS,
        source="tea.md",
        title="Tea",
        media_type="text/markdown",
        status=DocumentStatus.READY,
        created_at=NOON,
        updated_at=NOON,
        sha256="0",
        headings=(Heading(0, 1, "Tea"),),
        characters=9,
        chunks=2,
    )
    assert documents.noun(selected(documents, document), characters=9, chunks=2) == document


@pytest.mark.parametrize("columns", NOUNS.values(), ids=NOUNS)
def test_every_field_of_a_stored_noun_has_a_column_or_a_default(columns: Columns[Any]):
    kind: Any = columns.kind
    needed = {each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING}
    beside = {"partition", "title", "source"}  # a chunk has those of its document
    assert needed - beside <= {*columns.of_field}


def test_json_of_an_export_is_read_by_the_annotation_of_its_field():
    hint = field_types(Note)["flags"]
    written = to_plain(FULL.flags, datetime.isoformat)
    assert written == [{"source_id": "m1", "cause": "erased", "at": NOON.isoformat(), "entry_id": "h1"}]
    read = plain_reader(hint, datetime.fromisoformat)
    assert read is not None
    assert read(written) == FULL.flags
    with pytest.raises(TypeError):
        read([{"source_id": "m1"}])


def test_a_row_with_values_that_were_never_written_is_damage():
    row = ("acme", "no level", "anna", *NOTES.row(FULL).values())
    with pytest.raises(DamagedError, match=r"\(Note\)"):
        NOTES.noun(row)
