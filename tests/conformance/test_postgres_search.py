"""What programs that talk to the database themselves find there: a search function, and indexes for each space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

import numpy as np
import psycopg
import pytest

from mnemic.adapters.embedders.minilm import MinilmEmbedder
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.model.item import Kind, State
from mnemic.model.scope import Level, Scope
from mnemic.testing.samples import (
    ANNA,
    NOW,
    SPACE,
    a_document,
    a_memory,
    a_vector,
    add_memories,
    add_vectors,
    fill_document,
    new_id,
    unit,
)

Row = tuple[object, ...]
NORTH, NEAR, HALFWAY, EAST = (1.0, 0.0, 0.0), (0.9, 0.1, 0.0), (0.5, 0.5, 2**-0.5), (0.0, 1.0, 0.0)


@pytest.fixture
def store(make_postgres: Callable[..., PostgresStore]) -> Iterator[PostgresStore]:
    store = make_postgres(f"search_{new_id()}")  # an index made here would be in the way elsewhere
    yield store
    store.close()


@pytest.fixture
def connection(store: PostgresStore, postgres_url: str) -> Iterator[psycopg.Connection]:
    """A connection that is not the store's; it finds the store's tables, and the type `vector`."""
    options = f"-c search_path={store.schema},public"
    with psycopg.connect(postgres_url, options=options, autocommit=True) as connection:
        yield connection


def search(connection: psycopg.Connection, *more: object, scope: Scope = ANNA, space: str = SPACE) -> list[Row]:
    """What the stored function answers to a query towards the north."""
    marks = "".join(", %s" for _ in more)
    sql = f"SELECT * FROM search_memories(%s, %s, %s, %s::vector{marks})"  # noqa: S608 -- only marks are put in
    return connection.execute(sql.encode(), [scope.org, scope.user, space, "[1,0,0]", *more]).fetchall()


def remember(store: PostgresStore, text: str, *components: float, **changes: object) -> str:
    memory = a_memory(text, **changes)  # pyright: ignore[reportArgumentType] -- the test names fields of a memory
    add_memories(store, memory)
    add_vectors(store, a_vector(memory.id, *components), partition=memory.partition)
    return memory.id


@pytest.mark.requirement("J-09", "J-10")
def test_the_search_is_a_stored_function_with_a_limit_of_5_and_a_minimum_of_a_half(
    store: PostgresStore, connection: psycopg.Connection
):
    arguments = connection.execute(
        "SELECT pg_get_function_arguments(oid), pg_get_function_result(oid) FROM pg_proc "
        "WHERE proname = 'search_memories' AND pronamespace = %s::regnamespace",
        [store.schema],
    ).fetchone()
    takes = "in_org text, in_user text, in_space text, query vector, "
    returns = "id text, type character varying, content text, importance numeric, access_count integer, "
    assert arguments == (
        f"{takes}max_results integer DEFAULT 5, min_similarity double precision DEFAULT 0.5",
        f"TABLE({returns}similarity double precision)",
    )
    for number in range(7):
        remember(store, f"fact {number}", *NORTH)
    assert len(search(connection)) == 5
    assert len(search(connection, 6)) == 6


@pytest.mark.requirement("J-10", "J-13")
def test_a_result_tells_id_type_content_importance_accesses_and_similarity(
    store: PostgresStore, connection: psycopg.Connection
):
    found = remember(store, "Anna builds a platform", *NORTH, kind=Kind.GOAL, importance=0.755, access_count=3)
    ((*row, similarity),) = search(connection)
    assert row == [found, "goal", "Anna builds a platform", Decimal("0.76"), 3]
    assert similarity == pytest.approx(1.0, abs=1e-7)


@pytest.mark.requirement("J-13", "J-14")
def test_the_nearest_comes_first_ties_by_importance_and_the_minimum_is_inclusive(
    store: PostgresStore, connection: psycopg.Connection
):
    remember(store, "unrelated", *EAST)
    remember(store, "halfway", *HALFWAY)
    remember(store, "near", *NEAR)
    remember(store, "same, minor", *NORTH, importance=0.2)
    remember(store, "same, major", *NORTH, importance=0.9)
    assert [row[2] for row in search(connection)] == ["same, major", "same, minor", "near", "halfway"]
    assert [row[2] for row in search(connection, 2)] == ["same, major", "same, minor"]
    assert len(search(connection, 9, 0.0)) == 5
    assert search(connection, 9, 0.0)[-1][-1] == 0.0


@pytest.mark.requirement("J-13", "J-02", "R-42")
def test_the_default_finds_a_related_memory_by_the_vectors_of_the_default_embedder(
    store: PostgresStore, connection: psycopg.Connection
):
    embedder = MinilmEmbedder()
    texts = ["User is building Jarvis AI Platform in Java", "User lives in Pune", "User likes green tea"]
    memories = [a_memory(text) for text in texts]
    add_memories(store, *memories)
    rows = zip(memories, embedder.embed_documents(texts), strict=True)
    add_vectors(store, *(a_vector(memory.id, *map(float, row), space=embedder.space.id) for memory, row in rows))
    question = str(embedder.embed_queries(["How is my coding project coming along?"])[0].tolist())
    asked = [ANNA.org, ANNA.user, embedder.space.id, question]
    found = connection.execute("SELECT content FROM search_memories(%s, %s, %s, %s::vector)", asked).fetchall()
    assert found == [(texts[0],)]


@pytest.mark.requirement("J-08", "J-11", "J-12", "N-30")
def test_only_rows_of_the_user_with_a_vector_of_the_space_are_searched(
    store: PostgresStore, connection: psycopg.Connection
):
    hers = remember(store, "hers", *NORTH)
    add_memories(store, a_memory("without a vector"))
    remember(store, "of the org", *NORTH, partition=ANNA.partition(Level.ORG))
    remember(store, "of bert", *NORTH, partition=Scope(org="acme", user="bert").partition(Level.USER))
    remember(store, "of another anna", *NORTH, partition=Scope(org="other", user="anna").partition(Level.USER))
    remember(store, "private", *NORTH, private_agent="jarvis")
    remember(store, "in quarantine", *NORTH, state=State.QUARANTINED)
    remember(store, "expired", *NORTH, expires_at=NOW.replace(year=2001))
    add_vectors(store, a_vector(hers, 1.0, 0.0, space="space-of-2"))
    assert [row[2] for row in search(connection, 99, -1.0)] == ["hers"]
    assert search(connection, 99, -1.0, space="unknown") == []


@pytest.mark.requirement("J-46")
def test_a_space_gets_an_hnsw_index_of_its_own_for_cosine_that_its_queries_use(
    store: PostgresStore, connection: psycopg.Connection
):
    memories = [a_memory(str(number)) for number in range(300)]
    add_memories(store, *memories)
    vectors = np.random.default_rng(3).standard_normal((300, 3)).astype(np.float32)
    add_vectors(store, *(a_vector(m.id, *map(float, vector)) for m, vector in zip(memories, vectors, strict=True)))
    add_vectors(store, a_vector(memories[0].id, 1.0, 0.0, space="space-of-2"))
    for _ in range(2):
        connection.execute("SELECT index_space(%s)", [SPACE])
    (definition,) = connection.execute(
        "SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'vectors_hnsw%'"
    ).fetchone() or ("",)
    for part in ("USING hnsw", "vector(3)", "vector_cosine_ops", "m='16'", "ef_construction='64'", f"'{SPACE}'"):
        assert part in definition
    connection.execute("SET enable_sort = off")  # which is cheaper for so few rows, once they are counted
    connection.execute("ANALYZE vectors")
    nearest = (
        "SELECT item_id FROM vectors WHERE space = 'space-of-3' "
        "ORDER BY vector::vector(3) <=> '[1,0,0]'::vector LIMIT 10"
    )
    plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {nearest}".encode()).fetchall())
    assert "Index Scan using vectors_hnsw" in plan
    exact: list[int] = np.argsort(-(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)) @ unit(*NORTH)).tolist()
    found = {row[0] for row in connection.execute(nearest.encode())}
    assert len(found & {memories[place].id for place in exact[:10]}) >= 9


@pytest.mark.requirement("N-15", "R-12")
def test_ivfflat_can_be_chosen_for_a_space_takes_the_place_of_hnsw_and_is_never_made_of_nothing(
    store: PostgresStore, connection: psycopg.Connection
):
    memories = [a_memory(str(number)) for number in range(200)]
    add_memories(store, *memories)
    add_vectors(store, a_vector(memories[0].id))
    with store.write() as work:
        work.memories.erase(memories[0].partition, [memories[0].id], NOW)
    with pytest.raises(psycopg.errors.RaiseException, match="has no vectors yet"):
        connection.execute("SELECT index_space(%s, 'ivfflat')", [SPACE])
    with pytest.raises(psycopg.errors.RaiseException, match="hnsw or ivfflat, not btree"):
        connection.execute("SELECT index_space(%s, 'btree')", [SPACE])
    vectors = np.random.default_rng(3).standard_normal((200, 3)).astype(np.float32)
    rows = zip(memories[1:], vectors[1:], strict=True)
    add_vectors(store, *(a_vector(memory.id, *map(float, vector)) for memory, vector in rows))
    connection.execute("SELECT index_space(%s)", [SPACE])
    connection.execute("SELECT index_space(%s, 'ivfflat')", [SPACE])
    definitions = connection.execute("SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%vector_cosine_ops%'")
    ((definition,),) = [row for row in definitions if store.schema in row[0]]
    for part in ("USING ivfflat", "vector(3)", "lists='100'", f"'{SPACE}'"):
        assert part in definition
    connection.execute("SET enable_sort = off")  # as above
    connection.execute("ANALYZE vectors")
    connection.execute("SET ivfflat.probes = 100")  # all lists, so that nothing is missed
    nearest = "SELECT item_id FROM vectors WHERE space = 'space-of-3' ORDER BY vector::vector(3) <=> '[1,0,0]' LIMIT 5"
    plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {nearest}".encode()).fetchall())
    assert "Index Scan using vectors_ivfflat" in plan
    cosines = (vectors[1:] / np.linalg.norm(vectors[1:], axis=1, keepdims=True)) @ unit(*NORTH)
    places: list[int] = np.argsort(-cosines)[:5].tolist()
    assert [row[0] for row in connection.execute(nearest.encode())] == [memories[1 + place].id for place in places]


@pytest.mark.requirement("J-44", "J-46")
def test_passages_of_documents_are_searched_and_indexed_as_memories_are(
    store: PostgresStore, connection: psycopg.Connection
):
    document, private = a_document("contract.pdf", title="Contract"), a_document("diary.md", private_agent="jarvis")
    first, near, bare = fill_document(store, document, "north", "near", "no vector", page=7)
    (secret,) = fill_document(store, private, "secret")
    (replaced,) = fill_document(store, a_document("old.md"), "old", state=State.ARCHIVED)
    (theirs,) = fill_document(store, a_document(partition=Scope(org="acme", user="bert").partition(Level.USER)), "x")
    add_vectors(store, a_vector(first.id, *NORTH), a_vector(near.id, *NEAR), a_vector(secret.id), a_vector(replaced.id))
    add_vectors(store, a_vector(theirs.id), partition=theirs.partition)
    asked = [ANNA.org, ANNA.user, SPACE]
    rows = connection.execute("SELECT * FROM search_chunks(%s, %s, %s, '[1,0,0]')", asked).fetchall()
    assert [row[:-1] for row in rows] == [
        (chunk.id, document.id, "contract.pdf", "Contract", chunk.index, 7, chunk.text) for chunk in (first, near)
    ]
    assert [row[-1] for row in rows] == pytest.approx([1.0, 0.9 / (0.82**0.5)], abs=1e-6)
    connection.execute("SELECT index_space(%s)", [SPACE])
    count = connection.execute("SELECT count(*) FROM vectors WHERE item_id = %s", [bare.id]).fetchone()
    assert count == (0,)


def test_a_space_that_is_unknown_gets_no_index(connection: psycopg.Connection):
    with pytest.raises(psycopg.errors.RaiseException, match="no space nowhere"):
        connection.execute("SELECT index_space('nowhere')")


@pytest.mark.requirement("N-14")
def test_metadata_is_jsonb_under_a_gin_index_that_an_equality_uses(
    store: PostgresStore, connection: psycopg.Connection
):
    add_memories(store, *(a_memory(str(n), metadata={"topic": f"t{n}", "turn": n}) for n in range(500)))
    connection.execute("ANALYZE memories")
    connection.execute("SET enable_seqscan = off")
    plan = connection.execute('EXPLAIN SELECT id FROM memories WHERE filterable @> \'{"topic": "t7"}\'').fetchall()
    assert any("memories_filterable" in row[0] for row in plan)
