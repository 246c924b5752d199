"""What the `Embedder` port promises, one test per sentence of its docstring.

    class TestMyEmbedder(EmbedderContract):
        @pytest.fixture(scope="class")
        @classmethod
        def embedder(cls):
            embedder = MyEmbedder()
            yield embedder
            embedder.close()

        @pytest.fixture
        def another(self):
            return MyEmbedder

`another` returns a function that makes a further embedder of the same space, which the suite may close.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mnemic.ports.models import Embedder, Vectors

TEXTS = (
    "Anna moved to Lisbon in March and rents a flat near the river.",
    "ok",
    "The linker cannot find the maths library since the compiler was updated.",
    "明天下午三点开会",
    "Мой кот боится грозы 🙂",
    "a\tb\nc",
)
BLANK = ("", " ", "\n\t ", "\u3000")
ROUNDING = 1e-2
"""The most that a row may move (Euclidean length) when other texts share its call."""

Make = Callable[[], Embedder]
Call = Callable[[list[str]], Vectors]


class EmbedderContract:
    """Every promise of the embedder port. A subclass gives the fixtures `embedder` and `another`."""

    @pytest.fixture(params=["documents", "queries"])
    def call(self, request: pytest.FixtureRequest, embedder: Embedder) -> Call:
        """Each of the two calls in turn."""
        return embedder.embed_documents if request.param == "documents" else embedder.embed_queries

    def test_there_is_one_row_of_float32_per_text(self, embedder: Embedder, call: Call):
        rows = call(list(TEXTS))
        assert rows.shape == (len(TEXTS), embedder.space.dims)
        assert rows.dtype == np.float32

    def test_rows_are_in_the_order_of_the_texts(self, call: Call):
        forwards, backwards = call(list(TEXTS)), call(list(reversed(TEXTS)))
        assert np.linalg.norm(forwards - backwards[::-1], axis=1).max() < ROUNDING

    def test_rows_have_length_1(self, call: Call):
        np.testing.assert_allclose(np.linalg.norm(call(list(TEXTS)), axis=1), 1.0, atol=1e-5)

    def test_no_texts_give_no_rows(self, embedder: Embedder, call: Call):
        rows = call([])
        assert (rows.shape, rows.dtype) == ((0, embedder.space.dims), np.float32)

    def test_the_row_of_a_text_does_not_depend_on_the_other_texts(self, embedder: Embedder, call: Call):
        crowd = [f"{text} {number}" for number in range(embedder.capabilities.batch_size) for text in TEXTS[:2]]
        alone, among = call([TEXTS[0]])[0], call([*crowd, TEXTS[0], *crowd[:3]])[len(crowd)]
        assert np.linalg.norm(alone - among) < ROUNDING

    def test_the_same_text_has_the_same_row_again(self, call: Call):
        np.testing.assert_allclose(call([TEXTS[0]]), call([TEXTS[0]]), atol=1e-5)

    def test_other_texts_have_other_rows(self, call: Call):
        rows = call(list(TEXTS[:3]))
        assert (rows @ rows.T)[np.triu_indices(3, 1)].max() < 0.9999

    def test_what_is_beyond_the_most_tokens_is_cut(self, embedder: Embedder, call: Call):
        long = "one two three four five six seven eight nine ten " * (embedder.space.max_tokens // 2)
        cut, further = call([long + "apples"])[0], call([long + "oranges"])[0]
        np.testing.assert_allclose(np.linalg.norm([cut, further], axis=1), 1.0, atol=1e-5)
        assert np.linalg.norm(cut - further) < ROUNDING

    def test_several_threads_at_once_get_the_rows_of_their_own_texts(self, call: Call):
        expected = call(list(TEXTS))
        ready = threading.Barrier(4)

        def row(place: int) -> Vectors:
            ready.wait()
            return np.concatenate([call([TEXTS[place]]) for _ in range(3)])

        with ThreadPoolExecutor(4) as pool:
            for place, rows in enumerate(pool.map(row, range(4))):
                assert np.linalg.norm(rows - expected[place], axis=1).max() < ROUNDING

    def test_a_blank_text_has_the_zero_row(self, call: Call):
        assert not call(list(BLANK)).any()

    def test_blank_texts_among_others_leave_the_others_their_rows(self, call: Call):
        rows = call([BLANK[0], TEXTS[0], BLANK[1], TEXTS[1]])
        assert not rows[[0, 2]].any()
        assert np.linalg.norm(rows[[1, 3]] - call(list(TEXTS[:2])), axis=1).max() < ROUNDING

    def test_a_nul_in_a_text_does_not_end_it(self, embedder: Embedder):
        head, whole = embedder.embed_documents(["tea", "tea\0 with the mayor of Lisbon"])
        assert np.linalg.norm(head - whole) > ROUNDING

    def test_queries_and_documents_differ_exactly_when_their_prefixes_do(self, embedder: Embedder):
        query, document = embedder.embed_queries([TEXTS[0]])[0], embedder.embed_documents([TEXTS[0]])[0]
        is_same = bool(np.linalg.norm(query - document) < 1e-4)
        assert is_same == (embedder.space.query_prefix == embedder.space.document_prefix)

    def test_the_space_and_the_capabilities_stay_what_they_are(self, embedder: Embedder, another: Make):
        space, capabilities = embedder.space, embedder.capabilities
        embedder.embed_documents([TEXTS[0]])
        assert (embedder.space, embedder.capabilities) == (space, capabilities)
        assert capabilities.batch_size >= 1
        other = another()
        assert other.space.id == space.id
        other.close()

    def test_closing_twice_is_harmless(self, another: Make):
        embedder = another()
        embedder.embed_documents([TEXTS[0]])
        embedder.close()
        embedder.close()


def closing(embedder: Embedder) -> Iterator[Embedder]:
    """The body of a fixture: the embedder, closed at the end."""
    yield embedder
    embedder.close()
