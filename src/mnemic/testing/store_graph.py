"""What `Graph` promises: entities and relations that follow the items which say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from mnemic.errors import InvalidInputError, UnsupportedError
from mnemic.model.graph import (
    Entity,
    EntityQuery,
    EntityType,
    Named,
    Related,
    Relation,
    RelationQuery,
    Sheet,
    SourceKind,
    entity_id,
)
from mnemic.model.item import Memory, Role, State
from mnemic.model.scope import Level, Partition, Scope
from mnemic.ports.store import Store
from mnemic.testing.samples import (
    ANNA,
    BERT,
    HERS,
    MINUTE,
    NOW,
    a_document,
    a_memory,
    a_message,
    add_memories,
    add_messages,
    fill_document,
    terms,
    version_of,
)

DAY = timedelta(days=1)
READERS: Mapping[SourceKind, str] = dict.fromkeys(SourceKind, "rules 1")
EVERYTHING = EntityQuery()
PROJECT, TECHNOLOGY, PERSON = EntityType.PROJECT, EntityType.TECHNOLOGY, EntityType.PERSON


def named(name: str, type_: EntityType = EntityType.THING, description: str = "") -> Named:
    """An entity at the beginning of a text."""
    return Named(name, name.lower(), type_, 0, len(name), description)


def a_sheet(item_id: str, *names: Named, **changes: Any) -> Sheet:
    """What an item says: that the first of these depends on each of the others."""
    relations = tuple(Related(0, place, "DEPENDS_ON", 0, 5) for place in range(1, len(names)))
    sheet = Sheet(item_id=item_id, extractor="rules 1", at=NOW, names=names, relations=relations, is_dated=True)
    return replace(sheet, **changes)


def put(store: Store, *sheets: Sheet, partition: Partition = HERS) -> int:
    """Take in sheets in one unit of work."""
    with store.write() as work:
        return work.graph.put(partition, sheets)


def entities(store: Store, scope: Scope = ANNA, query: EntityQuery = EVERYTHING) -> list[Entity]:
    """What a scope sees."""
    with store.read() as work:
        return work.graph.entities(scope.visibility, query)


def relations(store: Store, scope: Scope = ANNA, **query: Any) -> list[Relation]:
    """Every relation that a scope sees."""
    with store.read() as work:
        ids = [each.id for each in work.graph.entities(scope.visibility, EVERYTHING)]
        return work.graph.relations(scope.visibility, ids, RelationQuery(**query))


def unread(store: Store, partition: Partition = HERS) -> list[str]:
    """Ids of what the extractor has not read."""
    with store.read() as work:
        return [each.id for each in work.graph.unread(partition, READERS, "", 100)]


def change(store: Store, memory: Memory, **changes: Any) -> Memory:
    """Replace a memory."""
    changed = replace(memory, updated_at=memory.updated_at + MINUTE, **changes)
    with store.write() as work:
        assert work.memories.replace(changed, terms(changed.text), memory.updated_at)
    return changed


def names(found: Sequence[Entity]) -> list[str]:
    """The names of entities."""
    return [each.name for each in found]


def a_small_graph(store: Store) -> Memory:
    """A memory that says that Apollo depends on Redis."""
    memory = a_memory("Apollo depends on Redis")
    add_memories(store, memory)
    put(store, a_sheet(memory.id, named("Apollo", PROJECT), named("Redis", TECHNOLOGY, "a database")))
    return memory


class GraphContract:
    """Tests of `Graph`; each takes an empty open store."""

    def test_what_an_item_says_is_found_with_its_place(self, store: Store):
        memory = a_small_graph(store)
        apollo, redis = entities(store)
        assert (apollo.name, apollo.key, apollo.type, apollo.mentions) == ("Apollo", "apollo", PROJECT, 1)
        assert (redis.description, redis.partition, redis.created_at) == ("a database", HERS, NOW)
        assert redis.id == entity_id(None, "redis", TECHNOLOGY)
        (edge,) = relations(store)
        assert (edge.source_id, edge.target_id, edge.type) == (apollo.id, redis.id, "DEPENDS_ON")
        assert (edge.weight, edge.valid_from, edge.valid_to) == (1.0, None, None)
        with store.read() as work:
            (support,) = work.graph.supports(ANNA.visibility, [edge.id], 5)
            mentions = work.graph.mentions(ANNA.visibility, [redis.id], 5)
            in_item = work.graph.named_in(ANNA.visibility, [memory.id])
        assert (support.item_id, support.start, support.end, support.extractor) == (memory.id, 0, 5, "rules 1")
        assert [(each.item_id, each.entity_id, each.name) for each in mentions] == [(memory.id, redis.id, "Redis")]
        assert {each.entity_id for each in in_item} == {apollo.id, redis.id}

    def test_the_same_name_and_type_is_one_entity_with_all_its_spellings(self, store: Store):
        memories = [a_memory(f"note {number}") for number in range(3)]
        add_memories(store, *memories)
        spellings = ["Project X", "PROJECT X", "project X"]
        sheets = [a_sheet(m.id, named(name, PROJECT)) for m, name in zip(memories, spellings, strict=True)]
        put(store, *sheets)
        put(store, a_sheet(memories[2].id, named("project X", PROJECT), named("project x", PERSON)))
        found = {each.type: each for each in entities(store)}
        assert (found[PROJECT].name, found[PROJECT].other_names) == ("Project X", ("PROJECT X", "project X"))
        assert (found[PROJECT].mentions, found[PERSON].mentions) == (3, 1)

    def test_the_weight_of_a_relation_is_how_many_different_statements_support_it(self, store: Store):
        memories = [a_memory(f"{number} notes") for number in range(3)]
        message, again = a_message(1, "1 notes again"), a_message(2, "notes")
        add_memories(store, *memories)
        add_messages(store, message, again)
        put(store, *(a_sheet(each.id, named("Apollo"), named("Redis")) for each in (*memories, message)))
        assert [each.weight for each in relations(store)] == [3.0]
        put(store, a_sheet(again.id, named("Apollo"), named("Redis")))
        assert [each.weight for each in relations(store)] == [4.0]
        with store.write() as work:
            work.memories.erase(HERS, [memories[0].id, memories[1].id], NOW)
        assert [each.weight for each in relations(store)] == [3.0]

    def test_a_sheet_takes_the_place_of_the_one_before(self, store: Store):
        memory = a_small_graph(store)
        before = (entities(store), relations(store))
        put(store, a_sheet(memory.id, named("Apollo", PROJECT), named("Redis", TECHNOLOGY, "a database")))
        assert (entities(store), relations(store)) == before
        assert put(store, a_sheet(memory.id, named("Apollo", PROJECT), named("Kafka", TECHNOLOGY))) == 1
        assert names(entities(store)) == ["Apollo", "Kafka"]
        assert len(relations(store)) == 1
        assert put(store, a_sheet(memory.id)) == 1
        assert entities(store) == []
        assert relations(store) == []

    def test_what_was_read_is_not_unread_until_its_text_changes(self, store: Store):
        memory = a_memory("Nothing to see")
        add_memories(store, memory)
        assert unread(store) == [memory.id]
        put(store, a_sheet(memory.id))
        assert unread(store) == []
        change(store, memory, text="Apollo depends on Redis")
        assert unread(store) == [memory.id]

    def test_another_extractor_has_read_nothing(self, store: Store):
        memory = a_small_graph(store)
        with store.read() as work:
            again = work.graph.unread(HERS, {SourceKind.MEMORY: "rules 2"}, "", 5)
            of_messages = work.graph.unread(HERS, {SourceKind.MESSAGE: "rules 2"}, "", 5)
        assert [(each.id, each.kind, each.text) for each in again] == [(memory.id, SourceKind.MEMORY, memory.text)]
        assert of_messages == []

    def test_unread_gives_pages_of_every_kind_by_id(self, store: Store):
        memory = a_memory("a memory", private_agent="jarvis", valid_from=NOW, valid_to=NOW + DAY)
        said = [a_message(1, name="Anna"), a_message(2, role=Role.TOOL), a_message(3, role=Role.ASSISTANT)]
        add_memories(store, memory)
        add_messages(store, *said)
        (chunk,) = fill_document(store, a_document(private_agent="jarvis"), "a passage")
        with store.read() as work:
            first = work.graph.unread(HERS, READERS, "", 2)
            second = work.graph.unread(HERS, READERS, first[-1].id, 5)
        assert [each.id for each in (*first, *second)] == [memory.id, said[0].id, said[2].id, chunk.id]
        assert (first[0].private_agent, first[0].valid_from, first[0].valid_to) == ("jarvis", NOW, NOW + DAY)
        assert (first[1].author, first[1].role, second[0].role) == ("Anna", "user", "assistant")
        assert (second[1].kind, second[1].private_agent) == (SourceKind.DOCUMENT, "jarvis")

    @pytest.mark.parametrize("state", [State.QUARANTINED, State.ARCHIVED, State.DISPUTED, State.SUPERSEDED])
    def test_a_memory_that_does_not_count_is_neither_read_nor_kept(self, store: Store, state: State):
        memory = a_small_graph(store)
        change(store, memory, state=state)
        assert (entities(store), relations(store), unread(store)) == ([], [], [])
        assert put(store, a_sheet(memory.id, named("Apollo"))) == 0
        assert entities(store) == []

    def test_a_memory_that_expires_leaves_no_lasting_trace(self, store: Store):
        memory = a_small_graph(store)
        change(store, memory, expires_at=NOW + DAY)
        assert (entities(store), relations(store), unread(store)) == ([], [], [])

    def test_an_edge_ends_when_the_fact_does(self, store: Store):
        memory = a_small_graph(store)
        later = change(store, memory, state=State.SUPERSEDED, valid_to=NOW)
        assert [each.valid_to for each in relations(store)] == [NOW]
        assert [len(relations(store, as_of=at)) for at in (NOW, NOW - MINUTE)] == [0, 1]
        change(store, later, state=State.ACTIVE, valid_from=NOW - DAY, valid_to=None)
        assert [(each.valid_from, each.valid_to) for each in relations(store, as_of=NOW)] == [(NOW - DAY, None)]
        assert relations(store, as_of=NOW - DAY - MINUTE) == []

    def test_a_relation_holds_as_long_as_any_memory_that_says_so(self, store: Store):
        ranges: list[tuple[datetime | None, datetime | None]] = [(NOW, NOW + DAY), (NOW - DAY, NOW)]
        memories = [a_memory(f"{number}") for number in range(2)]
        add_memories(store, *memories)
        pair = (named("Apollo"), named("Redis"))
        for memory, (start, end) in zip(memories, ranges, strict=True):
            put(store, a_sheet(memory.id, *pair, valid_from=start, valid_to=end))
        assert [(each.valid_from, each.valid_to) for each in relations(store)] == [(NOW - DAY, NOW + DAY)]
        put(store, a_sheet(memories[1].id, *pair, valid_from=NOW - DAY))
        assert [(each.valid_from, each.valid_to) for each in relations(store)] == [(NOW - DAY, None)]

    def test_a_message_keeps_no_relation_open_that_a_memory_ends(self, store: Store):
        memory, message = a_memory("Anna works at Acme", valid_to=NOW), a_message(1, "I work at Acme")
        add_memories(store, memory)
        add_messages(store, message)
        pair = (named("Anna"), named("Acme"))
        put(store, a_sheet(memory.id, *pair, valid_to=NOW), a_sheet(message.id, *pair, is_dated=False))
        assert [(each.weight, each.valid_to) for each in relations(store)] == [(2.0, NOW)]
        with store.write() as work:
            work.memories.erase(HERS, [memory.id], NOW)
        assert [(each.weight, each.valid_to) for each in relations(store)] == [(1.0, None)]

    def test_what_is_erased_takes_with_it_what_nothing_else_says(self, store: Store):
        memory, message = a_memory("m"), a_message(1)
        document = a_document()
        add_memories(store, memory)
        add_messages(store, message)
        (chunk,) = fill_document(store, document, "a passage")
        put(store, a_sheet(memory.id, named("Anna"), named("Acme")), a_sheet(message.id, named("Anna"), named("Oslo")))
        put(store, a_sheet(chunk.id, named("Acme"), named("Oslo")))
        with store.write() as work:
            work.memories.erase(HERS, [memory.id], NOW)
        assert (names(entities(store)), len(relations(store))) == (["Acme", "Anna", "Oslo"], 2)
        with store.write() as work:
            work.messages.erase(HERS, [message.id])
        assert (names(entities(store)), len(relations(store))) == (["Acme", "Oslo"], 1)
        with store.write() as work:
            work.documents.erase(HERS, [document.id], NOW)
        assert (entities(store), relations(store)) == ([], [])

    def test_a_name_goes_with_the_item_that_spelled_it_so(self, store: Store):
        first, second = a_memory("first"), a_memory("second")
        add_memories(store, first, second)
        told = (named("ACME", description="a secret customer"), named("Acme"))
        put(store, *(a_sheet(m.id, name) for m, name in zip((first, second), told, strict=True)))
        assert [(e.name, e.other_names, e.description) for e in entities(store)] == [
            ("ACME", ("Acme",), "a secret customer")
        ]
        with store.write() as work:
            work.memories.erase(HERS, [first.id], NOW)
        assert [(e.name, e.other_names, e.description) for e in entities(store)] == [("Acme", (), "")]

    def test_passages_of_a_document_that_is_read_anew_take_their_links_along(self, store: Store):
        document = a_document()
        (chunk,) = fill_document(store, document, "old passage")
        put(store, a_sheet(chunk.id, named("Acme")))
        (new,) = fill_document(store, document, "new passage")
        assert entities(store) == []
        assert unread(store) == [new.id]

    def test_what_was_erased_is_not_taken_in(self, store: Store):
        memory = a_memory("m")
        add_memories(store, memory)
        with store.write() as work:
            work.memories.erase(HERS, [memory.id], NOW)
        assert put(store, a_sheet(memory.id, named("Acme")), a_sheet("unknown", named("Acme"))) == 0
        assert entities(store) == []

    def test_nothing_is_seen_of_another_partition_or_another_agent(self, store: Store):
        hers, private = a_memory("hers"), a_memory("private", private_agent="jarvis")
        add_memories(store, hers, private)
        put(store, a_sheet(hers.id, named("Acme"), named("Oslo")))
        put(store, a_sheet(private.id, named("Acme"), named("Secret"), private_agent="jarvis"))
        other_agent = Scope(org="acme", user="anna", agent="other", session="s1")
        assert names(entities(store)) == ["Acme", "Acme", "Oslo", "Secret"]
        assert names(entities(store, other_agent)) == ["Acme", "Oslo"]
        assert len(relations(store, other_agent)) == 1
        assert entities(store, BERT) == []
        with store.read() as work:
            ids = [each.id for each in work.graph.entities(ANNA.visibility, EVERYTHING)]
            edges = [each.id for each in work.graph.relations(ANNA.visibility, ids, RelationQuery())]
            for stranger in (BERT, Scope(org="other", user="anna", agent="jarvis", session="s1")):
                assert work.graph.relations(stranger.visibility, ids, RelationQuery()) == []
                assert work.graph.mentions(stranger.visibility, ids, 5) == []
                assert work.graph.supports(stranger.visibility, edges, 5) == []
                assert work.graph.named_in(stranger.visibility, [hers.id]) == []
            assert len(work.graph.supports(other_agent.visibility, edges, 5)) == 1
            assert {each.item_id for each in work.graph.mentions(other_agent.visibility, ids, 5)} == {hers.id}
            assert work.graph.named_in(other_agent.visibility, [private.id]) == []

    def test_a_memory_that_becomes_private_is_read_anew(self, store: Store):
        memory = a_small_graph(store)
        change(store, memory, private_agent="jarvis")
        assert entities(store) == []
        assert unread(store) == [memory.id]

    def test_entities_are_found_by_id_key_prefix_part_and_type_page_by_page(self, store: Store):
        memory = a_memory("m")
        add_memories(store, memory)
        found = [named("Apollo", PROJECT), named("Apollo", PERSON), named("Oslo"), named("Zürich"), named("a_b%")]
        put(store, a_sheet(memory.id, *found))
        assert names(entities(store, query=EntityQuery(prefix="ap"))) == ["Apollo", "Apollo"]
        assert names(entities(store, query=EntityQuery(part="lo", types=(PERSON, EntityType.THING)))) == [
            "Apollo",
            "Oslo",
        ]
        assert names(entities(store, query=EntityQuery(part="_b%"))) == ["a_b%"]
        assert names(entities(store, query=EntityQuery(keys=["zürich", "oslo", "nobody"]))) == ["Oslo", "Zürich"]
        assert names(entities(store, query=EntityQuery(ids=[entity_id(None, "apollo", PERSON)]))) == ["Apollo"]
        assert names(entities(store, query=EntityQuery(limit=2))) == ["a_b%", "Apollo", "Apollo"]
        assert names(entities(store, query=EntityQuery(limit=2, after="apollo"))) == ["Oslo", "Zürich"]
        assert entities(store, query=EntityQuery(limit=0)) == entities(store, query=EntityQuery(ids=[])) == []

    def test_of_a_hub_the_heaviest_relations_come_first_and_no_more_than_asked_for(self, store: Store):
        memories = [a_memory(f"{number} notes") for number in range(4)]
        add_memories(store, *memories)
        for place, memory in enumerate(memories):
            put(store, a_sheet(memory.id, named("Hub"), *(named(f"n{n}") for n in range(place, 4))))
        of_hub = [entity_id(None, "hub", EntityType.THING)]
        with store.read() as work:
            some = work.graph.relations(ANNA.visibility, of_hub, RelationQuery(limit=2))
            none = work.graph.relations(ANNA.visibility, of_hub, RelationQuery(types=("USES",)))
            edge = some[0].id
            last = work.graph.supports(ANNA.visibility, [edge], 2)
        assert [each.weight for each in some] == [4.0, 3.0]
        assert none == []
        assert [each.item_id for each in last] == [memories[3].id, memories[2].id]

    def test_relations_are_found_from_both_ends_and_each_once(self, store: Store):
        a_small_graph(store)
        apollo, redis = entities(store)
        with store.read() as work:
            for ids in ([apollo.id], [redis.id], [apollo.id, redis.id]):
                assert len(work.graph.relations(ANNA.visibility, ids, RelationQuery())) == 1

    def test_what_is_forgotten_is_unread_again(self, store: Store):
        memory, other = a_small_graph(store), a_memory("another")
        add_memories(store, other)
        put(store, a_sheet(other.id, named("Oslo")))
        with store.write() as work:
            assert work.graph.forget(HERS, [memory.id, "unknown"]) == 1
        assert names(entities(store)) == ["Oslo"]
        with store.write() as work:
            assert work.graph.forget(HERS, None) == 1
            assert work.graph.forget(BERT.partition(Level.USER), None) == 0
        assert (entities(store), unread(store)) == ([], [memory.id, other.id])

    def test_a_wiped_partition_has_no_graph(self, store: Store):
        a_small_graph(store)
        with store.write() as work:
            counts = dict(work.erasure.count(HERS))
            assert dict(work.erasure.wipe(HERS)) == counts
        assert (counts["entities"], counts["relations"], counts["mentions"], counts["supports"]) == (2, 1, 2, 1)
        assert (entities(store), relations(store)) == ([], [])

    def test_a_sheet_that_says_something_twice_is_refused(self, store: Store):
        memory = a_memory("m")
        add_memories(store, memory)
        twice, once = named("Acme"), a_sheet(memory.id, named("Acme"), named("Oslo"))
        for wrong in (
            [a_sheet(memory.id, twice, twice)],
            [once, once],
            [replace(once, relations=once.relations * 2)],
            [replace(once, relations=(Related(0, 2, "USES", 0, 1),))],
        ):
            with pytest.raises(InvalidInputError):
                put(store, *wrong)
        assert entities(store) == []

    def test_names_of_strangers_are_kept_as_they_are(self, store: Store):
        memory = a_memory("m")
        add_memories(store, memory)
        strange = ["'; DROP TABLE entities; --", "<script>alert(1)</script>", '{"a": [1]}', "\u202eevil", "💥" * 60]
        put(store, a_sheet(memory.id, *(named(name) for name in strange)))
        assert sorted(names(entities(store))) == sorted(strange)

    def test_the_graph_moves_no_version_and_a_reading_unit_of_work_does_not_write_it(self, store: Store):
        memory = a_memory("m")
        add_memories(store, memory)
        before = version_of(store)
        put(store, a_sheet(memory.id, named("Acme")))
        assert version_of(store) == before
        with store.read() as work:
            with pytest.raises(UnsupportedError):
                work.graph.put(HERS, [a_sheet(memory.id)])
            with pytest.raises(UnsupportedError):
                work.graph.forget(HERS, None)
