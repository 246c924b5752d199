"""What `EntityVectors` promises: vectors that go with what an entity says."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mnemic.errors import InvalidInputError, TimedOutError, UnsupportedError
from mnemic.model.graph import EntityType, entity_id
from mnemic.model.scope import Level, Partition, Scope
from mnemic.ports.store import Store
from mnemic.ports.tables import EntityVector
from mnemic.testing.samples import (
    ANNA,
    ANNA_ELSEWHERE,
    BERT,
    HERS,
    NOW,
    SPACE,
    a_memory,
    a_vector,
    add_memories,
    add_vectors,
    unit,
    version_of,
)
from mnemic.testing.store_graph import a_sheet, a_small_graph, named, put

THING = EntityType.THING
OTHER_AGENT = Scope(org="acme", user="anna", agent="other", session="s1")


def an_entity_vector(
    name: str, *components: float, said: str | None = None, agent: str | None = None, space: str = SPACE
) -> EntityVector:
    """The vector of a thing with this name, private to an agent or not; default: (1, 0, 0)."""
    own = entity_id(agent, name.lower(), THING)
    return EntityVector(own, space, name if said is None else said, unit(*(components or (1.0, 0.0, 0.0))))


def put_vectors(store: Store, *rows: EntityVector, partition: Partition = HERS) -> int:
    """Store vectors in one unit of work."""
    with store.write() as work:
        return work.entity_vectors.put(partition, rows)


def nearest(store: Store, *components: float, scope: Scope = ANNA, limit: int = 9) -> Sequence[tuple[str, float]]:
    """What a scope finds near a vector."""
    with store.read() as work:
        return work.entity_vectors.nearest(scope.visibility, SPACE, unit(*components), limit)


def missing(store: Store, space: str = SPACE, after: str = "", limit: int = 9) -> list[str]:
    """What the entities without a vector say."""
    with store.read() as work:
        return [said for _, said in work.entity_vectors.missing(HERS, space, after, limit)]


def named_by(store: Store, *names: str, partition: Partition = HERS, agent: str | None = None) -> str:
    """The id of a new memory that names these things."""
    memory = a_memory(" ".join(names), partition, private_agent=agent)
    add_memories(store, memory)
    put(store, a_sheet(memory.id, *(named(name) for name in names), private_agent=agent), partition=partition)
    return memory.id


class EntityVectorsContract:
    """Tests of `EntityVectors`; each takes an empty open store."""

    def test_entities_are_found_by_their_vectors_the_nearest_first(self, store: Store):
        named_by(store, "Tea", "Coffee", "Oslo")
        rows = [
            an_entity_vector("Tea"),
            an_entity_vector("Coffee", 1.0, 1.0, 0.0),
            an_entity_vector("Oslo", 0.0, 0.0, 1.0),
        ]
        assert put_vectors(store, *rows) == 3
        found = nearest(store, 1.0, 0.2, 0.0)
        assert [own for own, _ in found] == [row.entity_id for row in rows]
        assert found[0][1] == pytest.approx(float(unit(1.0, 0.0, 0.0) @ unit(1.0, 0.2, 0.0)), abs=1e-5)
        assert [own for own, _ in nearest(store, 0.0, 0.0, 1.0, limit=1)] == [rows[2].entity_id]
        assert nearest(store, 1.0, 0.0, 0.0, limit=0) == []

    def test_what_lacks_a_vector_in_a_space_is_told_page_by_page(self, store: Store):
        a_small_graph(store)
        both = ["Apollo", "Redis: a database"]
        assert sorted(missing(store)) == both
        with store.read() as work:
            (first, _), (second, _) = work.entity_vectors.missing(HERS, SPACE, "", 9)
            assert [own for own, _ in work.entity_vectors.missing(HERS, SPACE, first, 9)] == [second]
            assert work.entity_vectors.coverage(HERS, SPACE) == (2, 0)
        redis = EntityVector(entity_id(None, "redis", EntityType.TECHNOLOGY), SPACE, both[1], unit(1.0, 0.0, 0.0))
        assert put_vectors(store, redis) == 1
        assert missing(store) == ["Apollo"]
        assert sorted(missing(store, "another")) == both
        assert missing(store, limit=0) == []
        with store.read() as work:
            assert work.entity_vectors.coverage(HERS, SPACE) == (2, 1)
            assert work.entity_vectors.coverage(BERT.partition(HERS.level), SPACE) == (0, 0)

    def test_a_vector_of_what_is_gone_or_said_otherwise_is_left_out(self, store: Store):
        named_by(store, "Tea")
        assert put_vectors(store, an_entity_vector("Nobody"), an_entity_vector("Tea", said="Tea: a drink")) == 0
        assert missing(store) == ["Tea"]

    def test_a_later_vector_takes_the_place_of_the_one_before(self, store: Store):
        named_by(store, "Tea")
        put_vectors(store, an_entity_vector("Tea"))
        put_vectors(store, an_entity_vector("Tea", 0.0, 1.0, 0.0))
        ((_, cosine),) = nearest(store, 0.0, 1.0, 0.0)
        assert cosine == pytest.approx(1.0, abs=1e-5)

    def test_a_vector_goes_with_its_entity(self, store: Store):
        memory = named_by(store, "Tea", "Oslo")
        named_by(store, "Oslo")
        put_vectors(store, an_entity_vector("Tea"), an_entity_vector("Oslo"))
        with store.write() as work:
            work.memories.erase(HERS, [memory], NOW)
        assert [own for own, _ in nearest(store, 1.0, 0.0, 0.0)] == [an_entity_vector("Oslo").entity_id]
        with store.write() as work:
            counts = dict(work.erasure.count(HERS))
            assert counts["entity_vectors"] == 1
            assert dict(work.erasure.wipe(HERS)) == counts
        assert nearest(store, 1.0, 0.0, 0.0) == []

    def test_a_vector_goes_when_its_entity_says_something_else(self, store: Store):
        named_by(store, "Tea")
        put_vectors(store, an_entity_vector("Tea"))
        later = a_memory("later")
        add_memories(store, later)
        put(store, a_sheet(later.id, named("Tea", THING, "a drink")))
        assert (nearest(store, 1.0, 0.0, 0.0), missing(store)) == ([], ["Tea: a drink"])
        put_vectors(store, an_entity_vector("Tea", said="Tea: a drink"))
        with store.write() as work:
            work.memories.erase(HERS, [later.id], NOW)
        assert (nearest(store, 1.0, 0.0, 0.0), missing(store)) == ([], ["Tea"])

    def test_what_is_forgotten_takes_its_vectors_along(self, store: Store):
        named_by(store, "Tea")
        put_vectors(store, an_entity_vector("Tea"))
        with store.write() as work:
            work.graph.forget(HERS, None)
        assert nearest(store, 1.0, 0.0, 0.0) == []

    def test_the_vectors_of_a_space_are_removed_with_it(self, store: Store):
        memory = named_by(store, "Tea")
        add_vectors(store, a_vector(memory))
        put_vectors(store, an_entity_vector("Tea"), an_entity_vector("Tea", space="kept"))
        with store.write() as work:
            assert work.vectors.remove(HERS, SPACE) == 1
        assert (missing(store), missing(store, "kept")) == (["Tea"], [])
        put_vectors(store, an_entity_vector("Tea"))
        with store.write() as work:
            work.vectors.remove(None, SPACE)
            assert work.vectors.known() == {"kept"}
        assert missing(store) == ["Tea"]

    def test_only_what_is_visible_is_found(self, store: Store):
        named_by(store, "Tea")
        named_by(store, "Secret", agent="jarvis")
        named_by(store, "Tea", partition=BERT.partition(HERS.level))
        tea, secret = an_entity_vector("Tea"), an_entity_vector("Secret", agent="jarvis")
        assert put_vectors(store, tea, secret) == 2
        assert {own for own, _ in nearest(store, 1.0, 0.0, 0.0)} == {tea.entity_id, secret.entity_id}
        assert [own for own, _ in nearest(store, 1.0, 0.0, 0.0, scope=OTHER_AGENT)] == [tea.entity_id]
        assert nearest(store, 1.0, 0.0, 0.0, scope=BERT) == []
        assert nearest(store, 1.0, 0.0, 0.0, scope=ANNA_ELSEWHERE) == []
        put_vectors(store, an_entity_vector("Tea", 0.0, 1.0, 0.0), partition=BERT.partition(HERS.level))
        ((_, cosine),) = nearest(store, 1.0, 0.0, 0.0, scope=BERT)
        assert cosine == pytest.approx(0.0, abs=1e-5)

    def test_a_search_can_be_broken_off_and_the_next_one_is_whole(self, store: Store):
        named_by(store, "Tea")
        put_vectors(store, an_entity_vector("Tea"))

        def late() -> None:
            raise TimedOutError("late")

        with store.read() as work, pytest.raises(TimedOutError):
            work.entity_vectors.nearest(ANNA.visibility, SPACE, unit(1.0, 0.0, 0.0), 9, late)
        assert len(nearest(store, 1.0, 0.0, 0.0)) == 1

    def test_a_thing_of_several_partitions_is_found_once_by_its_nearest_vector(self, store: Store):
        shared = ANNA.partition(Level.ORG)
        named_by(store, "Tea")
        named_by(store, "Tea", partition=shared)
        put_vectors(store, an_entity_vector("Tea", 0.0, 1.0, 0.0))
        put_vectors(store, an_entity_vector("Tea"), partition=shared)
        ((own, cosine),) = nearest(store, 1.0, 0.0, 0.0)
        assert (own, cosine) == (an_entity_vector("Tea").entity_id, pytest.approx(1.0, abs=1e-5))

    def test_vectors_of_other_dims_than_the_space_are_refused(self, store: Store):
        named_by(store, "Tea")
        put_vectors(store, an_entity_vector("Tea"))
        with pytest.raises(InvalidInputError):
            put_vectors(store, an_entity_vector("Tea", 1.0, 0.0))
        assert len(nearest(store, 1.0, 0.0, 0.0)) == 1

    def test_they_move_no_version_and_a_reading_unit_of_work_does_not_write_them(self, store: Store):
        named_by(store, "Tea")
        before = version_of(store)
        put_vectors(store, an_entity_vector("Tea"))
        assert version_of(store) == before
        with store.read() as work, pytest.raises(UnsupportedError):
            work.entity_vectors.put(HERS, [an_entity_vector("Tea")])
