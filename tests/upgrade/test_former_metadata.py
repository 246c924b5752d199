"""Bookkeeping that earlier versions kept in metadata: told from the caller's, in stores and in exports."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory, Mnemic, Scope
from mnemic.config import Config
from mnemic.text.former_metadata import FormerMemory, part_document, part_memory
from tests.unit.engine.kit import ANNA, BERT

SUMMARY = {"type": "summary", "session": "s1", "positions": [1, 5], "fallback": "away"}
REFLECTION = {"type": "reflection", "session": "s1", "newest_summary": "m1"}
CHOICE = {"chosen": "chooses: tea", "chosen_ids": ["m1"], "version": "general-1"}
GEM = {"type": "gem", "timestamp": "t", "date": "d", "conversation_id": "c", "turn_range": "1-2", "source_turns": [1]}
HOME = {"slot": "home", "value": "Porto"}
OWN: tuple[tuple[dict[str, Any], Mapping[str, object]], ...] = (
    ({"kind": "summary"}, SUMMARY),
    ({"kind": "reflection"}, REFLECTION),
    ({"kind": "preference"}, CHOICE),
    ({"kind": "gem"}, GEM),
    ({"was_merged": True}, {"merged_ids": ["m1"]}),
    ({"text": "User lives in Porto"}, HOME),
    ({"is_derived": True}, HOME),
    ({"trust": "imported"}, {"import": {"file": "notes.md", "line": 3}}),
)


def former(**fields: Any) -> FormerMemory:
    usual: dict[str, Any] = {"kind": "fact", "level": "user", "text": "It rained in Porto", "trust": "user"}
    usual |= {"is_derived": False, "was_merged": False, **fields}
    return FormerMemory(**usual)


@pytest.mark.parametrize("fields, own", OWN)
def test_what_mnemic_wrote_is_its_own_and_the_rest_stays_the_callers(fields: dict[str, Any], own: Mapping[str, object]):
    assert part_memory(former(**fields), {"team": "core", **own}) == ({"team": "core"}, own)


@pytest.mark.parametrize(
    "own",
    [
        *(mapping for _, mapping in OWN),
        {"slot": 7},
        {"slot": "home"},
        {"merged_ids": "x"},
        {"import": {"x": 1}},
        {"type": "fact", "fallback": "x"},
    ],
)
def test_the_same_on_a_memory_that_bears_it_not_out_is_the_callers(own: Mapping[str, object]):
    assert part_memory(former(), own) == (own, {})


def test_a_callers_slot_no_longer_hides_what_the_text_says():
    parted = part_memory(former(text="User lives in Porto"), {"slot": "A7"})
    assert parted == ({"slot": "A7"}, HOME)


def test_what_an_import_had_set_aside_is_the_callers_again():
    kept = {"import": {"id": "1", "metadata": {"slot": "home"}}, "mem0": {"hash": "x"}, "team": "core"}
    parted = part_memory(former(trust="imported"), kept)
    assert parted == ({"team": "core", "slot": "home"}, {"import": {"id": "1", "mem0": {"hash": "x"}}})


def test_a_document_says_how_it_was_cut_in_its_bookkeeping():
    assert part_document({"chunking": "c", "about": {"author": "A"}}) == ({"about": {"author": "A"}}, {"chunking": "c"})
    assert part_document({"chunking": 1}) == ({"chunking": 1}, {})


def as_before(path: Path) -> None:
    """Bring a file back to the version before: bookkeeping stands in the metadata, of memories and in their history."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT id, metadata, bookkeeping FROM memories").fetchall()
        for item_id, metadata, own in rows:
            whole = json.dumps({**json.loads(own), **json.loads(metadata)})
            connection.execute("UPDATE memories SET metadata = ? WHERE id = ?", (whole, item_id))
        for item_id, *sides in connection.execute("SELECT id, before, after FROM history").fetchall():
            former = [json.dumps(side_before(json.loads(side))) for side in sides]
            connection.execute("UPDATE history SET before = ?, after = ? WHERE id = ?", (*former, item_id))
        connection.execute("DROP TABLE placements")
        connection.execute("DROP TABLE context_records")
        connection.execute("DROP TABLE oauth_tokens")
        for index in ("memories_slot", "memories_due"):
            connection.execute(f"DROP INDEX {index}")
        for table in ("memories", "messages", "documents"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN bookkeeping")
        connection.execute("CREATE INDEX memories_slot ON memories (pid, json_extract(metadata, '$.slot'))")
        connection.execute("PRAGMA user_version = 15")
        connection.commit()


def side_before(side: dict[str, Any]) -> dict[str, Any]:
    own = side.pop("bookkeeping", None)
    return side if own is None else {**side, "metadata": {**side.get("metadata", {}), **own}}


def opened(path: Path) -> Mnemic:
    return Mnemic.open(Config(store=str(path), embedder="none"))


def got(mnemic: Mnemic, scope: Scope, memory_id: str) -> Memory:
    """A memory by its id."""
    memory = mnemic.get(scope, memory_id)
    assert isinstance(memory, Memory)
    return memory


def kept(path: Path) -> dict[str, str]:
    """A store with a slot, a merge and memories of a caller who used the same words; ids by name."""
    with opened(path) as mnemic:
        one, other = mnemic.remember(ANNA, "User drinks tea"), mnemic.remember(ANNA, "User drinks black tea")
        home = mnemic.remember(ANNA, "User lives in Berlin")
        mnemic.merge(ANNA, [one.id, other.id])
        claims = {"merged_ids": [home.id], "chosen_ids": [home.id], "slot": "home", "value": "lisbon"}
        soup = mnemic.remember(ANNA, "User likes soup", metadata=claims)
    return {"one": one.id, "other": other.id, "home": home.id, "soup": soup.id}


def assert_parted(mnemic: Mnemic, ids: Mapping[str, str], scope: Scope = ANNA) -> None:
    """What was Mnemic's works as it did; what the caller claimed does nothing."""
    claims = {"merged_ids": [ids["home"]], "chosen_ids": [ids["home"]], "slot": "home", "value": "lisbon"}
    assert got(mnemic, scope, ids["soup"]).metadata == claims
    assert mnemic.undo(scope, ids["one"]).bookkeeping.get("merged_ids") is None
    assert got(mnemic, scope, ids["other"]).state == "active"
    new = mnemic.remember(scope, "User lives in Porto")
    assert got(mnemic, scope, ids["home"]).other_id == new.id
    mnemic.delete(scope, ids["home"])
    assert got(mnemic, scope, ids["soup"]).state == "active"


def test_a_store_of_before_is_parted_as_it_is_opened(tmp_path: Path):
    path = tmp_path / "memory.db"
    ids = kept(path)
    with opened(path) as mnemic:
        before = [got(mnemic, ANNA, each) for each in ids.values()]
        history = [mnemic.history(ANNA, each) for each in ids.values()]
    as_before(path)
    with opened(path) as mnemic:
        told = {memory.id: (memory.metadata, dict(memory.bookkeeping)) for memory in before}
        slot = told[ids["soup"]][1]  # what the text says, which the caller's own slot had hidden
        assert slot == {"slot": "likes soup", "value": "like"}
        assert {
            each: (got(mnemic, ANNA, each).metadata, dict(got(mnemic, ANNA, each).bookkeeping)) for each in told
        } == told
        assert [mnemic.history(ANNA, each) for each in ids.values()] == history
        assert_parted(mnemic, ids)


def test_an_export_of_before_is_parted_as_it_is_imported(tmp_path: Path):
    path = tmp_path / "memory.db"
    ids = kept(path)
    with opened(path) as mnemic:
        records = [json.loads(line) for line in mnemic.export(ANNA)]
    for record in records:
        if record["type"] == "memory":
            record["metadata"] |= {k: v for k, v in record.pop("bookkeeping").items() if k not in record["metadata"]}
        if record["type"] == "history":
            record |= {side: side_before(record[side]) for side in ("before", "after")}
    with opened(tmp_path / "other.db") as mnemic:
        assert not mnemic.import_(BERT, "\n".join(map(json.dumps, records))).problems
        assert_parted(mnemic, ids, BERT)
