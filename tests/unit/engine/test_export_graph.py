"""An export for the MCP memory server: what it names, what it leaves out, and that it can be imported again."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError
from mnemic.model.item import Kind
from mnemic.model.scope import Level
from tests.unit.engine.kit import ANNA, BERT, Clock

pytestmark = pytest.mark.requirement("P-60")


def exported(mnemic: Mnemic, **options: Any) -> tuple[dict[str, list[str]], list[tuple[str, str, str]]]:
    """The observations by entity, and the relations."""
    records = [json.loads(line) for line in mnemic.export(ANNA, format="mcp-memory", **options)]
    entities = {one["name"]: one["observations"] for one in records if one["type"] == "entity"}
    assert sum(one["type"] == "entity" for one in records) == len(entities)
    return entities, [(one["from"], one["relationType"], one["to"]) for one in records if one["type"] == "relation"]


def test_memories_are_observations_of_their_owner_and_the_graph_follows(mnemic: Mnemic, clock: Clock):
    mnemic.remember(ANNA, "Project X depends on the Billing Service.")
    clock.turn(seconds=1)
    mnemic.remember(ANNA, "In May", context="Lease")
    mnemic.remember(ANNA, "Answers briefly", kind=Kind.PERSONA, level=Level.AGENT)
    mnemic.graph.extract(ANNA)
    entities, relations = exported(mnemic)
    assert entities == {
        "anna": ["Project X depends on the Billing Service.", "Lease: In May"],
        "jarvis": ["Answers briefly"],
        "Project X": [],
        "Billing Service": [],
    }
    assert relations == [("Project X", "depends_on", "Billing Service")]
    assert [*exported(mnemic, levels=["agent"])[0]] == ["jarvis"]


def test_what_has_ended_or_waits_or_is_anothers_is_left_out(mnemic: Mnemic, clock: Clock):
    mnemic.remember(ANNA, "Rows on Sundays", valid_to=clock.now() + timedelta(days=1))
    mnemic.delete(ANNA, mnemic.remember(ANNA, "Keeps bees").id)
    mnemic.remember(BERT, "Plays chess")
    assert exported(mnemic)[0] == {"anna": ["Rows on Sundays"]}
    clock.turn(days=2)
    assert exported(mnemic) == ({}, [])


def test_the_export_can_be_imported_again(mnemic: Mnemic):
    mnemic.remember(ANNA, "Keeps bees")
    text = "\n".join(mnemic.export(ANNA, format="mcp-memory"))
    report = mnemic.import_(BERT, text)
    assert (report.format, report.added, report.problems) == ("mcp-memory", {"memory": 1}, [])
    assert [memory.text for memory in mnemic.list(BERT).memories] == ["Keeps bees"]


def test_another_format_is_refused_before_anything_is_read(mnemic: Mnemic):
    with pytest.raises(InvalidInputError, match="mnemic-export, mcp-memory"):
        mnemic.export(ANNA, format="mem0")
