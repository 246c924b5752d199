"""Random uses of an index: few ids, words and agents, so that they meet."""

from __future__ import annotations

from hypothesis import strategies as st

from mnemic.model.candidates import Change, IndexQuery
from mnemic.model.scope import Partition
from mnemic.testing.index_samples import EVERY_ROW, HERS, HIS, NOW, a_query
from mnemic.testing.samples import unit

Written = tuple[Partition, list[Change]]
Use = list[Written | IndexQuery]

_PARTITIONS = st.sampled_from([HERS, HIS])
_AGENTS = st.sampled_from([None, "jarvis", "friday"])
_KINDS = st.sampled_from(["fact", "goal", "message"])
_IDS = st.sampled_from("abcdefgh")
_WORDS = st.sampled_from(["tea", "milk", "c++", "茶", "x", "wx", "a_b"])
_VECTORS = st.sampled_from([None, unit(1.0, 0.0), unit(0.0, 1.0), unit(1.0, 1.0), unit(-1.0, 0.3)])


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """Any form of an item of a few; one in five is gone."""
    if draw(st.integers(0, 4)) == 0:
        return Change(item_id=draw(_IDS), is_gone=True)
    return Change(
        item_id=draw(_IDS),
        kind=draw(_KINDS),
        is_active=draw(st.integers(0, 3)) > 0,
        terms=" ".join(draw(st.lists(_WORDS, max_size=6))),
        vector=draw(_VECTORS),
        private_agent=draw(_AGENTS),
        importance=draw(st.sampled_from([0.0, 0.5, 0.7, 1.0])),
        observed_at=draw(st.integers(-5, 5)),
        expires_at=draw(st.sampled_from([None, None, NOW - 1, NOW, NOW + 1])),
        is_flagged=draw(st.sampled_from([False, False, True])),
    )


@st.composite
def queries(draw: st.DrawFn) -> IndexQuery:
    """Any question about the words and vectors of `changes`."""
    return a_query(
        *draw(st.lists(st.one_of(_WORDS, st.just("nowhere")), max_size=4, unique=True)),
        partitions=tuple(draw(st.lists(_PARTITIONS, max_size=2, unique=True))),
        agent=draw(_AGENTS),
        now=draw(st.sampled_from([NOW - 2, NOW, NOW + 2])),
        vector=draw(_VECTORS),
        dense_limit=EVERY_ROW,
        kinds=frozenset(draw(st.lists(_KINDS, max_size=2))),
        allowed=draw(st.one_of(st.none(), st.frozensets(_IDS, max_size=4))),
        messages_until=draw(st.one_of(st.none(), st.integers(-5, 5))),
        include_inactive=draw(st.booleans()),
    )


def uses() -> st.SearchStrategy[Use]:
    """Writes and questions in any order, ending with a question."""
    written = st.tuples(_PARTITIONS, st.lists(changes(), min_size=1, max_size=5))
    steps = st.lists(st.one_of(written, queries()), min_size=1, max_size=12)
    return st.tuples(steps, queries()).map(lambda both: [*both[0], both[1]])
