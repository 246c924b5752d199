"""Corrections of the graph: they outlive every reading, are undone, travel, and are erased with their owner."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mnemic.adapters.detectors.rules import RuleDetector
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.errors import ConflictError, NotFoundError
from mnemic.model.graph import EntityType, Node
from mnemic.model.scope import Level, Scope
from tests.unit.engine.kit import ANNA, BERT, Clock

OTHER_AGENT = Scope(org="acme", user="anna", agent="other", session="s1")
pytestmark = pytest.mark.requirement("P-62")


def told(mnemic: Mnemic, *texts: str, scope: Scope = ANNA, level: Level = Level.USER) -> None:
    """Remember texts and read them into the graph."""
    for text in texts:
        mnemic.remember(scope, text, level=level)
    mnemic.graph.extract(scope, levels=tuple(Level))


def names(mnemic: Mnemic, scope: Scope = ANNA, query: str = "") -> list[str]:
    return [node.name for node in mnemic.graph.entities(scope, query).nodes]


def stated(mnemic: Mnemic, name: str, scope: Scope = ANNA) -> list[str]:
    return sorted(edge.citations[0].text for edge in mnemic.graph.neighbours(scope, name).edges)


class TestMerging:
    def test_both_names_find_the_one_entity_and_all_that_is_said_of_it(self, mnemic: Mnemic):
        told(mnemic, "John works at Acme.", "John Smith lives in Paris.")
        mnemic.graph.correct(ANNA, "John", merge_into="John Smith")
        assert names(mnemic) == ["Acme", "John Smith", "Paris"]
        for name in ("John", "john smith"):
            assert stated(mnemic, name) == ["John Smith lives in Paris", "John works at Acme"]

    def test_what_is_read_later_and_again_goes_to_the_merged_entity(self, mnemic: Mnemic):
        told(mnemic, "John works at Acme.", "John Smith lives in Paris.")
        mnemic.graph.correct(ANNA, "John", merge_into="John Smith")
        for memory in mnemic.list(ANNA):
            mnemic.delete(ANNA, memory.id)
        assert names(mnemic) == []
        told(mnemic, "John uses Redis.")
        assert mnemic.graph.neighbours(ANNA, "John Smith").start.name == "John Smith"
        assert stated(mnemic, "John Smith") == ["John uses Redis"]

    def test_a_merge_of_merged_ones_is_undone_step_by_step(self, mnemic: Mnemic):
        told(mnemic, "John works at Acme.", "John Smith lives in Paris.", "Jon uses Redis.")
        mnemic.graph.correct(ANNA, "Jon", merge_into="John")
        mnemic.graph.correct(ANNA, "John", merge_into="John Smith")
        assert stated(mnemic, "Jon") == ["John Smith lives in Paris", "John works at Acme", "Jon uses Redis"]
        assert [node.name for node in mnemic.graph.undo(ANNA, "Jon")] == ["John", "John Smith"]
        assert stated(mnemic, "Jon") == ["John works at Acme", "Jon uses Redis"]
        mnemic.graph.undo(ANNA, "Jon")
        assert stated(mnemic, "Jon") == ["Jon uses Redis"]

    def test_an_entity_cannot_be_merged_with_itself_in_any_direction(self, mnemic: Mnemic):
        told(mnemic, "John works at Acme.", "John Smith lives in Paris.")
        mnemic.graph.correct(ANNA, "John", merge_into="John Smith")
        for one, other in (("John", "John Smith"), ("John Smith", "John"), ("John", "john")):
            with pytest.raises(ConflictError, match="already the same"):
                mnemic.graph.correct(ANNA, one, merge_into=other)

    def test_two_types_are_merged_only_with_the_type_of_both(self, mnemic: Mnemic):
        told(mnemic, "Anna lives in Paris.", "Dr. Paris works at Acme.")
        with pytest.raises(ConflictError, match="different types"):
            mnemic.graph.correct(ANNA, "Dr. Paris", merge_into="Paris")
        assert mnemic.graph.correct(ANNA, "Dr. Paris", merge_into="Paris", type="person").type is EntityType.PERSON

    def test_two_of_one_name_are_told_apart_by_id(self, mnemic: Mnemic):
        told(mnemic, "Anna lives in Georgia.", "Bo lives in Georgia.", "Cy lives in Georgia.")
        told(mnemic, *(f"{who} is married to Georgia." for who in ("Al", "Ben")))
        found = mnemic.graph.entities(ANNA, "georgia").nodes
        assert len(found) == 2
        with pytest.raises(ConflictError, match=found[0].id):
            mnemic.graph.correct(ANNA, "Georgia", rename="Sakartvelo")
        place = next(node for node in found if node.type is EntityType.PLACE)
        mnemic.graph.correct(ANNA, place.id, rename="Sakartvelo")
        assert [node.type.value for node in mnemic.graph.entities(ANNA, "georgia").nodes if node.name == "Georgia"] == [
            "person"
        ]
        mnemic.graph.correct(ANNA, "Sakartvelo", is_removed=True)
        assert names(mnemic, query="georgia") == ["Georgia"]


class TestRenaming:
    def test_the_new_name_is_shown_found_and_listed_and_the_old_one_finds_it(self, mnemic: Mnemic):
        told(mnemic, "Jon works at Acme.")
        mnemic.graph.correct(ANNA, "Jon", rename="Zoë Smyth")
        assert names(mnemic) == ["Acme", "Zoë Smyth"]
        assert names(mnemic, query="smyth") == names(mnemic, query="jon") == ["Zoë Smyth"]
        assert mnemic.graph.neighbours(ANNA, "zoë smyth").start.other_names == ("Jon",)

    def test_pages_keep_their_limit_and_hold_every_entity_once(self, mnemic: Mnemic):
        told(mnemic, "Jon works at Acme.", "Anna lives in Georgia.", "Bo is married to Georgia.", "Zed uses Redis.")
        for name in ("Anna", "Bo", "Zed"):
            mnemic.graph.correct(ANNA, name, rename=f"Georgian {name}")
        for query in ("", "georg"):
            whole = mnemic.graph.entities(ANNA, query, limit=50).nodes
            for limit in (1, 2, 3):
                pages, after = list[tuple[Node, ...]](), ""
                while after is not None and len(pages) < 50:
                    page = mnemic.graph.entities(ANNA, query, limit=limit, after=after)
                    pages, after = [*pages, page.nodes], page.next
                assert max(len(nodes) for nodes in pages) <= limit
                assert {node.id for nodes in pages for node in nodes} == {node.id for node in whole}
                assert query or sum(len(nodes) for nodes in pages) == len(whole)

    def test_a_renamed_entity_is_found_by_a_question_with_the_new_name(self, mnemic: Mnemic):
        told(mnemic, "Project X depends on the Billing Service.", "The Billing Service is governed by Policy Y.")
        mnemic.graph.correct(ANNA, "Project X", rename="Xylophone")
        found = mnemic.recall(ANNA, "How does Xylophone relate to Policy Y?", hops=2)
        assert [[node.name for node in way.nodes] for way in found.paths] == [
            ["Xylophone", "Billing Service", "Policy Y"]
        ]

    def test_a_name_that_is_in_use_or_was_removed_is_refused(self, mnemic: Mnemic):
        told(mnemic, "Jon works at Acme.")
        with pytest.raises(ConflictError, match="merge into it"):
            mnemic.graph.correct(ANNA, "Jon", rename="acme")
        mnemic.graph.correct(ANNA, "Acme", is_removed=True)
        with pytest.raises(ConflictError, match="was removed"):
            mnemic.graph.correct(ANNA, "Jon", rename="ACME")

    def test_a_correction_that_changes_nothing_is_not_written(self, mnemic: Mnemic):
        told(mnemic, "John works at Acme.")
        mnemic.graph.correct(ANNA, "john", rename="John", type="person")
        with pytest.raises(NotFoundError):
            mnemic.history(ANNA, "graph")
        mnemic.graph.correct(ANNA, "john", rename="JOHN")
        assert names(mnemic) == ["Acme", "JOHN"]

    @pytest.mark.parametrize(
        "name",
        ["Robert'); DROP TABLE entities;--", "<img src=x onerror=alert(1)>", "\u202eevil\u202c", "a\nb", "名" * 255],
    )
    def test_a_hostile_name_is_a_name(self, mnemic: Mnemic, name: str):
        told(mnemic, "Jon works at Acme.")
        node = mnemic.graph.correct(ANNA, "Jon", rename=name)
        assert node.name.isprintable()
        assert mnemic.graph.neighbours(ANNA, node.name).start.name == node.name

    def test_a_secret_is_not_kept_as_a_name(self, parts: Engine):
        mnemic = Mnemic(replace(parts, detector=RuleDetector()), actor="tester")
        told(mnemic, "Jon works at Acme.")
        mnemic.graph.correct(ANNA, "Jon", rename="Jon, pwd=Zorblax7!quu", reason="pwd=Zorblax7!quu")
        assert "zorblax" not in f"{names(mnemic)} {mnemic.history(ANNA, 'graph')}".lower()


class TestRemoving:
    def test_what_was_removed_does_not_come_back_until_it_is_restored(self, mnemic: Mnemic):
        told(mnemic, "Jon works at Acme.")
        mnemic.graph.correct(ANNA, "Acme", is_removed=True)
        told(mnemic, "Acme uses Redis.", "Jon owns Acme.")
        assert names(mnemic) == ["Jon", "Redis"]
        with pytest.raises(NotFoundError):
            mnemic.graph.neighbours(ANNA, "Acme")
        mnemic.graph.undo(ANNA, "Acme")
        assert stated(mnemic, "Acme")[0] == "Acme uses Redis"

    def test_a_relation_is_removed_for_the_entities_and_whoever_states_it(self, mnemic: Mnemic):
        told(mnemic, "Jon works at Acme.", "Jon Smith uses Redis.")
        mnemic.graph.correct(ANNA, "Jon", merge_into="Jon Smith")
        mnemic.graph.correct(ANNA, "Jon", relation="works_at", target="Acme", is_removed=True)
        told(mnemic, "Jon Smith works at Acme.")
        assert stated(mnemic, "Jon") == ["Jon Smith uses Redis"]
        assert mnemic.graph.path(ANNA, "Jon", "Acme").nodes == ()
        with pytest.raises(NotFoundError, match="WORKS_AT"):
            mnemic.graph.correct(ANNA, "Jon", relation="WORKS_AT", target="Acme", is_removed=True)
        mnemic.graph.undo(ANNA, "Acme")
        assert len(stated(mnemic, "Jon")) == 2

    def test_a_restored_entity_that_no_item_mentions_is_gone(self, mnemic: Mnemic):
        told(mnemic, "Jon works at Acme.")
        mnemic.graph.correct(ANNA, "Jon", is_removed=True)
        mnemic.delete(ANNA, mnemic.list(ANNA)[0].id)
        assert mnemic.graph.undo(ANNA, "Jon") == []


class TestOwners:
    def test_a_correction_of_what_all_share_is_the_users_own(self, mnemic: Mnemic):
        told(mnemic, "The Billing Service is governed by Policy Y.", level=Level.ORG)
        mnemic.graph.correct(ANNA, "Policy Y", rename="Gold Standard")
        assert names(mnemic) == ["Billing Service", "Gold Standard"]
        assert names(mnemic, BERT) == ["Billing Service", "Policy Y"]
        with pytest.raises(NotFoundError):
            mnemic.history(BERT, "graph")

    def test_a_name_that_only_an_agent_knows_is_not_shown_to_others_by_a_correction(self, mnemic: Mnemic):
        mnemic.remember(ANNA, "Quuxomatic depends on Redis.", is_private=True)
        told(mnemic, "Jon uses Redis.")
        assert "Quuxomatic" in names(mnemic)
        with pytest.raises(NotFoundError):
            mnemic.graph.correct(ANNA, "Quuxomatic", is_removed=True)
        mnemic.graph.correct(ANNA, "Redis", rename="Valkey")
        assert "quuxomatic" not in f"{mnemic.history(OTHER_AGENT, 'graph')}".lower()

    def test_corrections_travel_in_an_export_and_keep_their_order(self, mnemic: Mnemic):
        told(mnemic, "John works at Acme.", "John Smith lives in Paris.", "Wow Redis.")
        mnemic.graph.correct(ANNA, "John", merge_into="John Smith")
        mnemic.graph.correct(ANNA, "John Smith", rename="Johnny")
        mnemic.graph.correct(ANNA, "Redis", is_removed=True)
        lines = "\n".join(mnemic.export(ANNA))
        elsewhere = replace(BERT, session=ANNA.session)
        for _ in range(2):
            mnemic.import_(elsewhere, lines)
        mnemic.graph.extract(elsewhere)
        assert names(mnemic, elsewhere) == ["Acme", "Johnny", "Paris"]
        mnemic.graph.undo(elsewhere, "Johnny")
        assert names(mnemic, elsewhere) == ["Acme", "John Smith", "Paris"]
        assert names(mnemic) == ["Acme", "Johnny", "Paris"]

    @pytest.mark.parametrize(
        "after",
        [
            {"keys": 5, "types": {"a": 1}, "undone": [1], "type": ["x"], "name": {}},
            {"keys": ["acme"], "types": ["planet"], "type": "planet", "name": "x" * 9999},
            {"keys": [[1], None], "target": "acme", "is_removed": "yes"},
        ],
    )
    def test_an_import_that_nobody_checked_cannot_break_the_graph(self, mnemic: Mnemic, after: dict[str, object]):
        told(mnemic, "Jon works at Acme.")
        mnemic.graph.correct(ANNA, "Jon", rename="Jo")
        *rest, last = mnemic.export(ANNA)
        forged = json.dumps({**json.loads(last), "after": after})
        mnemic.import_(BERT, "\n".join((*rest, forged)))
        mnemic.graph.extract(BERT)
        assert "Jon" in names(mnemic, BERT)

    def test_all_corrections_are_deleted_at_once(self, mnemic: Mnemic):
        told(mnemic, "Jon works at Acme.")
        mnemic.graph.correct(ANNA, "Jon", rename="Zorblaxon")
        assert mnemic.delete(ANNA, "graph").counts["history"] == 1
        assert names(mnemic) == ["Acme", "Jon"]
        assert "Zorblaxon" not in f"{mnemic.history(ANNA, 'graph')}"
        with pytest.raises(NotFoundError):
            mnemic.delete(BERT, "graph")

    @pytest.mark.requirement("N-28")
    def test_the_receipt_of_a_session_says_that_corrections_keep_names(self, mnemic: Mnemic):
        mnemic.capture(ANNA, user="Ana Weber works at Siemens in Hamburg.")
        mnemic.graph.extract(ANNA, levels=tuple(Level))
        assert mnemic.erase(ANNA, level="session").notes == ()
        mnemic.capture(ANNA, user="Ana Weber works at Siemens in Hamburg.")
        mnemic.graph.extract(ANNA, levels=tuple(Level))
        mnemic.graph.correct(ANNA, "Ana Weber", rename="Ana Keller")
        (note,) = mnemic.erase(ANNA, level="session").notes
        assert "'graph'" in note

    def test_a_corrected_name_does_not_survive_the_erasure_of_the_user(self, tmp_path: Path, clock: Clock):
        parts = Engine(
            store=SqliteStore(tmp_path / "memory.db"),
            index=ScanIndex(budget_bytes=1 << 20),
            embedder=None,
            clock=clock,
            observer=CounterObserver(),
        )
        with Mnemic(parts, actor="tester") as mnemic:
            told(mnemic, "Jon works at Acme.")
            mnemic.graph.correct(ANNA, "Jon", rename="Zorblaxon")
            mnemic.graph.undo(ANNA, "Zorblaxon")
            mnemic.erase(ANNA, level="user")
        assert b"zorblaxon" not in b"".join(each.read_bytes() for each in tmp_path.iterdir()).lower()
