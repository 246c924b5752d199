"""What an index of several spaces promises: each vector is compared in its own space, and one answer comes of all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.indexes.tiered import SpacesIndex
from mnemic.errors import InvalidInputError
from mnemic.model.candidates import Candidates, Change, Floats
from mnemic.model.scope import Level, Partition
from mnemic.testing.index_samples import ELSEWHERE, HERS, a_change, a_query
from mnemic.testing.samples import unit

EAST, NORTH = unit(1.0, 0.0), unit(0.0, 1.0)
DEEP, HIGH = unit(1.0, 0.0, 0.0), unit(0.0, 0.0, 1.0)


@pytest.fixture
def index() -> SpacesIndex:
    return SpacesIndex(ScanIndex(), [ScanIndex()])


def row(name: str, terms: str, first: Floats | None, second: Floats | None, **fields: object) -> Change:
    return a_change(name, terms)._replace(vector=first, further=(second,), **fields)


def cosines(found: Candidates) -> dict[str, tuple[float, float]]:
    return {
        str(i): (float(one), float(two))
        for i, one, two in zip(found.ids, found.cosines, found.further[0].cosines, strict=True)
    }


@pytest.mark.requirement("N-30", "N-31")
def test_vectors_of_other_dims_lie_side_by_side_and_are_compared_in_their_own_space(index: SpacesIndex):
    index.apply(HERS, [row("a", "tea", EAST, HIGH), row("b", "tea", NORTH, DEEP)], 1)
    found = index.search(replace(a_query("tea", vector=EAST), further=(HIGH,)))
    assert cosines(found) == {"a": (1.0, 1.0), "b": (0.0, 0.0)}
    with pytest.raises(InvalidInputError, match="cannot be compared"):
        index.search(replace(a_query("tea", vector=EAST), further=(EAST,)))


@pytest.mark.requirement("N-31")
def test_a_row_that_only_a_further_vector_finds_comes_in_with_everything_that_is_known_of_it(index: SpacesIndex):
    rows = [row("a", "tea", EAST, None), row("b", "green milk milk", None, HIGH, importance=0.9, observed_at=7)]
    index.apply(HERS, [*rows, row("c", "far", None, None)], 1)
    found = index.search(replace(a_query("tea", vector=EAST), further=(HIGH,)))
    assert set(found.ids) == {"a", "b"}
    place = list(found.ids).index("b")
    assert np.isnan(found.cosines[place])
    assert found.further[0].cosines[place] == 1.0
    assert (found.lengths[place], found.importances[place], found.observed[place]) == (3, np.float32(0.9), 7)
    assert found.counts[place].tolist() == [0]
    assert (found.items, found.vectors, found.further[0].vectors) == (3, 1, 1)


def test_a_row_beyond_the_nearest_of_the_first_space_brings_its_cosine_there(index: SpacesIndex):
    rows = [row("a", "one", EAST, DEEP), row("b", "two", NORTH, HIGH)]
    index.apply(HERS, rows, 1)
    found = index.search(replace(a_query("tea", vector=EAST), further=(HIGH,), dense_limit=1))
    assert cosines(found) == {"a": (1.0, 0.0), "b": (0.0, 1.0)}


def test_messages_keep_their_neighbours_and_sessions_over_spaces_and_partitions(index: SpacesIndex):
    said = {"kind": "message", "role": "user"}
    talk = [row(f"m{n}", "word", None, HIGH if n == 1 else None, session="s", position=n, **said) for n in range(3)]
    index.apply(HERS, talk, 1)
    other = Partition(HERS.org, Level.SESSION, "s9")
    index.apply(other, [row("x", "tea", None, None, session="s9", position=1, **said)], 1)
    query = replace(a_query("tea"), partitions=(HERS, other), neighbours=1, further=(HIGH,))
    found = index.search(query)
    where = found.surroundings
    assert where is not None
    place = {str(i): n for n, i in enumerate(found.ids)}
    assert set(place) == {"m0", "m1", "m2", "x"}
    assert (where.before[place["m1"]], where.after[place["m1"]]) == (place["m0"], place["m2"])
    assert where.before[place["x"]] == -1
    assert where.sessions[place["m0"]] == where.sessions[place["m2"]] != where.sessions[place["x"]]


def test_kinds_privacy_and_named_ids_narrow_what_further_vectors_find(index: SpacesIndex):
    rows = [row("a", "x", None, HIGH, kind="fact"), row("b", "x", None, HIGH, private_agent="other")]
    index.apply(HERS, [*rows, row("c", "x", None, HIGH, kind="goal")], 1)
    index.apply(ELSEWHERE, [row("d", "x", None, HIGH)], 1)
    query = replace(a_query("tea"), further=(HIGH,))
    assert set(index.search(query).ids) == {"a", "c"}
    assert set(index.search(replace(query, kinds=frozenset({"fact"}))).ids) == {"a"}
    assert set(index.search(replace(query, allowed=frozenset({"c", "b"}))).ids) == {"c"}


def test_without_a_further_vector_the_answer_is_that_of_the_first_index(index: SpacesIndex):
    index.apply(HERS, [row("a", "tea", EAST, HIGH), row("b", "milk", NORTH, DEEP)], 1)
    alone = ScanIndex()
    alone.apply(HERS, [a_change("a", "tea"), a_change("b", "milk")], 1)
    found, expected = index.search(a_query("tea")), alone.search(a_query("tea"))
    assert found.ids.tolist() == expected.ids.tolist()
    assert np.isnan(found.further[0].cosines).all()


def test_parts_that_are_not_in_step_are_read_anew():
    main, further = ScanIndex(), ScanIndex()
    index = SpacesIndex(main, [further])
    index.apply(HERS, [row("a", "tea", EAST, HIGH)], 3)
    assert index.version(HERS) == 3
    further.drop(HERS)
    assert (index.version(HERS), main.version(HERS)) == (0, 3)
    index.apply(HERS, [row("a", "tea", EAST, HIGH)], 3)
    assert cosines(index.search(replace(a_query("tea", vector=EAST), further=(HIGH,)))) == {"a": (1.0, 1.0)}
