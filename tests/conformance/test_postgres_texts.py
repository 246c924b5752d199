"""PostgreSQL keeps every text unchanged, NUL too, and its conditions mean what the reference store's mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings

from mnemic.adapters.stores.memory.items import matches
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.postgres.connections import decode_text, encode_text
from mnemic.model.filter import Condition, Not, Scalar
from mnemic.model.item import Provenance
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.testing.samples import (
    ANNA,
    HERS,
    NOW,
    READING,
    a_job,
    a_memory,
    a_message,
    a_query,
    a_vector,
    add_memories,
    add_messages,
    add_vectors,
    an_entry,
    new_id,
    terms,
)

NAUGHTY = (
    "\x00",
    "\x01\x02\x03",
    "a\x00b\x01",
    "\x01\x02\x02",
    "\\u0000",
    "'; --",
    "%s %(pid)s {}",
    "\ufeff\uffff\U0010ffff",
    "ﷺ𝒳",
)
TEXTS = st.text(st.sampled_from("\x00\x01\x02\x03\x04aZ\uffff𝒳"), max_size=6) | st.sampled_from(NAUGHTY)
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from(
        [0.0, 0.1, 1.0, 1.5, -2.5, 1e-300, 2**53, 2.0**53, 2**53 + 1, 2.0**60, 2**60, 1e15, 1e16, -(2**62)]
    ),
)
SCALARS: st.SearchStrategy[Scalar] = st.one_of(TEXTS, NUMBERS, st.booleans())
VALUES = st.recursive(
    st.one_of(st.none(), SCALARS, st.just(1e300)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=4,
)
METADATA = st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2)
PATHS = st.lists(st.sampled_from(["a", "b", "0"]), min_size=1, max_size=2).map(lambda keys: ("metadata", *keys))
CONDITIONS = st.one_of(
    st.builds(Condition, PATHS, st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte", "contains"]), SCALARS),
    st.builds(Condition, PATHS, st.just("in"), st.lists(SCALARS, max_size=3).map(tuple)),
    st.builds(Condition, PATHS, st.just("exists"), st.booleans()),
)
ONE_STORE = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture
def store(make_postgres: Callable[..., PostgresStore]) -> Iterator[PostgresStore]:
    store = make_postgres()
    yield store
    store.close()


@given(TEXTS, TEXTS)
def test_the_code_of_texts_keeps_equality_order_and_parts_and_has_no_nul(one: str, two: str):
    assert decode_text(encode_text(one)) == one
    assert "\x00" not in encode_text(one)
    assert (encode_text(one) < encode_text(two)) == (one < two)
    assert (encode_text(one) in encode_text(two)) == (one in two)


@pytest.mark.parametrize("text", NAUGHTY)
def test_every_text_field_returns_unchanged(store: PostgresStore, text: str):
    partition = Partition(f"o{text}", Level.USER, f"u{text}")
    visible = Visibility((partition,), f"a{text}")
    memory = a_memory(
        text,
        partition,
        id=f"m{text}",
        categories=(text,),
        context=text,
        snippet=text,
        source=text,
        agent=text,
        private_agent=f"a{text}",
        other_id=text,
        provenance=(Provenance(text, 0, 1, text, text, 0.5),),
        metadata={text: [text, {text: text}]},
    )
    message = a_message(
        1, text, partition=partition, session=text, turn_id=text, name=text, external_id=text, metadata={text: text}
    )
    job = a_job(text, partition, payload={text: text})
    entry = an_entry(memory.id, partition, reason=text, actor=text, before={text: text})
    add_memories(store, memory)
    add_messages(store, message)
    with store.write() as work:
        work.jobs.add([job])
        work.history.add([entry])
    with store.read() as work:
        assert work.memories.get(visible, [memory.id]) == [memory]
        assert work.memories.holder(partition, memory.private_agent, text) == memory
        assert work.messages.by_external_id(partition, text, [text]) == {text: message}
        assert work.jobs.list([partition], [job.state], 9) == [job]
        assert work.history.of(visible, memory.id) == [entry]
        assert work.partitions.all() == [partition]
        for path in (("text",), ("metadata", text)):
            condition = Condition(path, "contains", text)
            assert work.memories.ids(visible, a_query(filter=condition)) == {memory.id}


@pytest.mark.requirement("N-14")
@ONE_STORE
@given(st.lists(METADATA, max_size=8), st.lists(CONDITIONS, max_size=12))
@example([{"a": 2**53 + 1}, {"a": 2.0**53}], [Condition(("metadata", "a"), "eq", 2.0**53)])
@example([{"a": ["b"]}, {"a": [["b"]]}], [Condition(("metadata", "a", "0"), "exists", value=True)])
def test_a_condition_on_metadata_means_what_it_means_in_the_reference_store(
    store: PostgresStore, metadata: list[dict[str, object]], conditions: list[Condition]
):
    scope = Scope(user=new_id())
    partition = scope.partition(Level.USER)
    memories = [a_memory(str(n), partition, metadata=values) for n, values in enumerate(metadata)]
    add_memories(store, *memories)
    with store.read() as work:
        for condition in (*conditions, *map(Not, conditions)):
            found = work.memories.ids(scope.visibility, a_query(filter=condition))
            assert found == {memory.id for memory in memories if matches(memory, condition)}, condition


def test_texts_and_names_as_long_as_are_allowed_are_kept_and_unique(store: PostgresStore):
    long, name = "".join(chr(0x10000 + n) for n in range(200_000)), "".join(chr(0x1F000 + n) for n in range(255))
    scope = Scope(org=name, user=name, agent=name, session=name)
    for level in Level:
        memory = a_memory(long, scope.partition(level), private_agent=name)
        assert add_memories(store, memory, replace(memory, id="again")) == [True, False]
    add_messages(store, a_message(1, long, scope, external_id=name))
    with store.read() as work:
        assert len(work.memories.list(scope.visibility, a_query())) == len(Level)
        assert len(work.messages.latest(scope.visibility, name, 9)) == 1


@pytest.mark.requirement("J-15")
def test_vectors_are_text_literals_cast_to_vector_and_keep_every_bit(store: PostgresStore, postgres_url: str):
    bits = np.random.default_rng(7).integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    floats = bits[np.isfinite(bits)][:15_000]
    memories = [a_memory(str(n)) for n in range(15)]
    add_memories(store, *memories)
    rows = [replace(a_vector(m.id), vector=part) for m, part in zip(memories, np.split(floats, 15), strict=True)]
    assert add_vectors(store, *rows) == 15
    with store.read() as work:
        found = work.vectors.get(HERS, [m.id for m in memories], "item", rows[0].space)
    assert all(found[row.item_id].tobytes() == row.vector.tobytes() for row in rows)
    with psycopg.connect(postgres_url, options=f"-c search_path={store.schema},public") as connection:
        row = connection.execute("SELECT pg_typeof(vector)::text, left(vector::text, 1) FROM vectors").fetchone()
        assert row == ("vector", "[")


def test_a_row_cannot_carry_the_org_of_another_partition(store: PostgresStore, postgres_url: str):
    add_memories(store, a_memory("tea"))
    with psycopg.connect(postgres_url, options=f"-c search_path={store.schema}") as connection:
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            connection.execute("UPDATE memories SET org = 'other'")
        connection.rollback()


def test_text_order_is_by_code_point(store: PostgresStore):
    texts = ["Z", "a", "é", "𝒳", "￿", "\x00", "\x04"]
    memories = [a_memory(text) for text in texts]
    add_memories(store, *memories)
    with store.read() as work:
        for pivot in texts:
            found = work.memories.list(ANNA.visibility, a_query(filter=Condition(("text",), "lt", pivot)))
            assert {memory.text for memory in found} == {text for text in texts if text < pivot}


def test_changes_can_be_read_side_by_side_and_left_halfway(store: PostgresStore):
    add_memories(store, *(a_memory(str(n)) for n in range(5)))
    with store.read() as work:
        one, two = (iter(work.partitions.changes(HERS, 0, READING)) for _ in range(2))
        assert next(iter(one)) == next(iter(two))
    with store.write() as work:
        work.memories.add([(a_memory("later", created_at=NOW), terms("later"))])
