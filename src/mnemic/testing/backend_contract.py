"""What every `MemoryBackend` promises, one test per sentence of its docstrings.

    class TestMyBackend(BackendContract):
        @pytest.fixture
        def make_backend(self):
            return MyBackend

`make_backend` returns a function that makes a new empty backend at every call. A backend that can `save` and `load`
subclasses `SavingBackendContract`; one that keeps its data by itself subclasses `DurableBackendContract`, and gives a
fixture `reopen` too: a function that opens the place of a backend once more.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mnemic.backends.primitive import TOP_K, MemoryBackend, RetrievalResult
from mnemic.errors import BackendError, InvalidInputError, MnemicError, NotFoundError

MakeBackend = Callable[[], MemoryBackend]
Reopen = Callable[[MemoryBackend], MemoryBackend]

TOPICS = (
    "Anna moved to Lisbon in March and rents a flat near the river",
    "The linker cannot find the maths library since the compiler was updated",
    "Our budget for the spring conference is four thousand euros",
    "Grandmother bakes a plum cake with cinnamon every September",
    "The telescope needs a new mirror before the comet arrives",
    "Swimming lessons start on Tuesday at seven",
    "His violin teacher lives above the bakery",
)
ODD_TEXTS = (
    *('"', "'", "*", "-", "^", ":", "(", ")", '"unclosed', "a AND", "OR", "NOT", "NEAR(a b, 3)", "col: x", "a*", "-a"),
    *("'; DROP TABLE documents; --", "%", "_", "\\", "\0", "a\0b", "{}", "null", "[Source: x] y", "+", "a+b", "..."),
    *(
        "明天下午三点开会",
        "日本語のテキスト",
        "한국어 문장입니다",
        "ภาษาไทยไม่มีช่องว่าง",
        "Мой кот",
        "عربى",
        "e\u0301",
        "\u200b",
        "🙂👩‍👩‍👧",
        "\ufeff",
    ),
    *("a\tb\r\nc", "x" * 5000, "word " * 2000, " ".join(f"w{number}" for number in range(600)), "\u202eabc", "ı İ ß ŉ"),
)
HALF_A_CHARACTER = "a \ud800 b"
NOT_FOUND = "0" * 32
REJECTIONS = (AssertionError, MnemicError, LookupError, TypeError, ValueError, pytest.fail.Exception)
RANDOM_STEPS = 2500


class BackendContract:
    """Every promise of a backend. A subclass gives the fixture `make_backend`."""

    @pytest.fixture
    def backend(self, make_backend: MakeBackend) -> Iterator[MemoryBackend]:
        """An empty backend, closed after the test."""
        backend = make_backend()
        yield backend
        backend.close()

    def test_it_is_a_backend_with_an_id(self, backend: MemoryBackend):
        assert isinstance(backend, MemoryBackend)
        assert backend.backend_id.strip()

    def test_every_stored_text_has_an_id_of_its_own(self, backend: MemoryBackend):
        ids = [backend.store(text) for text in (*TOPICS, *TOPICS)]
        assert all(isinstance(doc_id, str) and doc_id for doc_id in ids)
        assert len(set(ids)) == len(ids)

    def test_the_id_of_a_deleted_text_is_not_given_again(self, backend: MemoryBackend):
        first = backend.store(TOPICS[0])
        backend.delete(first)
        backend.clear()
        assert backend.store(TOPICS[0]) != first

    def test_a_text_is_found_with_its_source_and_metadata(self, backend: MemoryBackend):
        given = {"page": 3, "tags": ["a", "b"], "nested": {"x": None, "y": 1.5, "ü": True}}
        backend.store(TOPICS[0], source="notes/anna.md", metadata=given)
        (found,) = backend.retrieve(TOPICS[0])
        assert isinstance(found, RetrievalResult)
        assert (found.content, found.source, found.metadata) == (TOPICS[0], "notes/anna.md", given)

    def test_source_and_metadata_are_empty_unless_said(self, backend: MemoryBackend):
        backend.store(TOPICS[0])
        (found,) = backend.retrieve(TOPICS[0])
        assert (found.source, found.metadata) == ("", {})

    def test_the_best_result_comes_first(self, backend: MemoryBackend):
        fill(backend)
        for topic in TOPICS:
            results = backend.retrieve(topic, top_k=len(TOPICS))
            assert results[0].content == topic
            scores = [result.score for result in results]
            assert all(math.isfinite(score) for score in scores)
            assert scores == sorted(scores, reverse=True)

    def test_there_are_at_most_top_k_results(self, backend: MemoryBackend):
        for number in range(TOP_K + 3):
            backend.store(f"{TOPICS[0]}, she said {number}")
        assert len(backend.retrieve(TOPICS[0])) == TOP_K
        for limit in (1, 3, TOP_K + 3, 10_000):
            assert len(backend.retrieve(TOPICS[0], top_k=limit)) == min(limit, TOP_K + 3)

    def test_results_below_the_minimum_score_are_left_out(self, backend: MemoryBackend):
        fill(backend)
        query = f"{TOPICS[0]} {TOPICS[1]}"
        scores = [result.score for result in backend.retrieve(query, top_k=len(TOPICS))]
        assert len(scores) > 1
        kept = backend.retrieve(query, top_k=len(TOPICS), min_score=scores[0])
        assert [result.score for result in kept] == [score for score in scores if score >= scores[0]]
        assert backend.retrieve(query, min_score=scores[0] + 1.0) == []

    def test_the_only_text_is_found_without_a_minimum_score(self, backend: MemoryBackend):
        backend.store(TOPICS[0])
        assert len(backend.retrieve("Lisbon flat")) == 1

    def test_nothing_is_found_where_there_is_nothing(self, backend: MemoryBackend):
        assert backend.retrieve(TOPICS[0]) == []

    def test_a_blank_query_finds_nothing(self, backend: MemoryBackend):
        fill(backend)
        for blank in ("", " ", "\n\t ", "\u3000"):
            assert backend.retrieve(blank) == []

    def test_a_deleted_text_is_gone(self, backend: MemoryBackend):
        ids = fill(backend)
        assert backend.delete(ids[2]) is True
        assert TOPICS[2] not in texts(backend, TOPICS[2])
        assert all(topic in texts(backend, topic) for topic in TOPICS if topic != TOPICS[2])

    def test_of_equal_texts_only_the_named_one_is_deleted(self, backend: MemoryBackend):
        first, second = (backend.store(TOPICS[0], source=source) for source in ("first", "second"))
        assert backend.delete(first) is True
        assert [result.source for result in backend.retrieve(TOPICS[0])] == ["second"]
        assert backend.delete(second) is True

    def test_delete_answers_false_for_what_is_not_there(self, backend: MemoryBackend):
        (first, *_) = fill(backend)
        assert backend.delete(first) is True
        assert backend.delete(first) is False
        for unknown in (NOT_FOUND, "", "'", "1", HALF_A_CHARACTER):
            assert backend.delete(unknown) is False

    def test_clear_removes_everything(self, backend: MemoryBackend):
        ids = fill(backend)
        backend.clear()
        assert all(texts(backend, topic) == [] for topic in TOPICS)
        assert backend.delete(ids[0]) is False
        backend.clear()
        backend.store(TOPICS[1])
        assert texts(backend, TOPICS[1]) == [TOPICS[1]]

    def test_another_backend_is_another_namespace(self, backend: MemoryBackend, make_backend: MakeBackend):
        other = make_backend()
        doc_id = backend.store(TOPICS[0])
        assert texts(other, TOPICS[0]) == []
        assert other.delete(doc_id) is False
        other.clear()
        other.close()
        assert texts(backend, TOPICS[0]) == [TOPICS[0]]

    def test_no_query_raises(self, backend: MemoryBackend):
        fill(backend)
        for query in (*ODD_TEXTS, HALF_A_CHARACTER):
            assert len(backend.retrieve(query, top_k=2)) <= 2

    def test_odd_texts_come_back_exactly_as_they_were(self, backend: MemoryBackend):
        kept = {str(number): text for number, text in enumerate(ODD_TEXTS)}
        for number, text in kept.items():
            doc_id = backend.store(f"{TOPICS[0]} {text}", source=number, metadata={"text": text.replace("\0", "")})
            (found,) = backend.retrieve(TOPICS[0])
            assert (found.content, found.source) == (f"{TOPICS[0]} {text}", number)
            assert found.metadata == {"text": text.replace("\0", "")}
            assert backend.delete(doc_id) is True

    def test_what_cannot_be_kept_is_refused_and_changes_nothing(self, backend: MemoryBackend):
        texts_refused: list[Any] = ["", " \n", HALF_A_CHARACTER, None, 7, b"bytes"]
        for refused in texts_refused:
            with pytest.raises(InvalidInputError):
                backend.store(refused)
        metadata_refused: list[Any] = [{"x": object()}, {"x": float("nan")}, {1: "x"}, ["x"], "x"]
        for refused in metadata_refused:
            with pytest.raises(InvalidInputError):
                backend.store(TOPICS[0], metadata=refused)
        assert backend.retrieve(TOPICS[0]) == []

    def test_impossible_requests_are_refused(self, backend: MemoryBackend):
        requests: list[dict[str, Any]] = [
            *({"top_k": top_k} for top_k in (0, -1, 2.5, "5", True)),
            *({"min_score": score} for score in ("high", float("nan"), True)),
            {"no_such_option": 1},
        ]
        for request in requests:
            with pytest.raises(InvalidInputError):
                backend.retrieve(TOPICS[0], **request)

    def test_changing_metadata_outside_changes_nothing_inside(self, backend: MemoryBackend):
        given: dict[str, Any] = {"tags": ["a"]}
        backend.store(TOPICS[0], metadata=given)
        given["tags"].append("b")
        (found,) = backend.retrieve(TOPICS[0])
        found.metadata["tags"].append("c")
        found.metadata["more"] = 1
        assert [result.metadata for result in backend.retrieve(TOPICS[0])] == [{"tags": ["a"]}]

    def test_it_may_be_used_from_several_threads(self, backend: MemoryBackend):
        def use(thread: int) -> list[str]:
            ids = [backend.store(f"thread {thread} keeps {topic}") for topic in TOPICS]
            assert all(backend.retrieve(f"thread {thread} {topic}") for topic in TOPICS)
            assert backend.delete(ids.pop()) is True
            return ids

        with ThreadPoolExecutor(4) as pool:
            ids = [doc_id for kept in pool.map(use, range(4)) for doc_id in kept]
        assert len(set(ids)) == 4 * (len(TOPICS) - 1)
        assert all(backend.delete(doc_id) for doc_id in ids)

    def test_closing_twice_is_harmless(self, make_backend: MakeBackend):
        backend = make_backend()
        backend.store(TOPICS[0])
        backend.close()
        backend.close()

    @pytest.mark.parametrize("seed", range(4))
    def test_random_use_agrees_with_a_dictionary(self, backend: MemoryBackend, seed: int):
        use_at_random(backend, seed, RANDOM_STEPS)


class SavingBackendContract(BackendContract):
    """The same for a backend that can be saved and loaded. A new one loads what another has saved."""

    def test_a_saved_memory_is_loaded_as_it_was(
        self, backend: MemoryBackend, make_backend: MakeBackend, tmp_path: Path
    ):
        ids = fill(backend)
        backend.delete(ids[3])
        backend.save(tmp_path / "saved")
        other = make_backend()
        other.store("something that the load replaces")
        other.load(tmp_path / "saved")
        for topic in (*TOPICS, "something that the load replaces"):
            assert snapshot(other, topic) == snapshot(backend, topic)
        assert other.delete(ids[3]) is False
        assert other.delete(ids[4]) is True
        other.store(TOPICS[4], source="again")
        assert other.retrieve(TOPICS[4])[0].source == "again"
        other.close()

    def test_saving_replaces_what_was_saved(self, backend: MemoryBackend, make_backend: MakeBackend, tmp_path: Path):
        other = make_backend()
        for count in (3, 0, 1):
            backend.clear()
            for topic in TOPICS[:count]:
                backend.store(topic)
            backend.save(tmp_path / "saved")
            other.load(tmp_path / "saved")
            assert sum(topic in texts(other, topic) for topic in TOPICS) == count
        other.close()

    def test_what_is_missing_or_damaged_is_not_loaded(self, backend: MemoryBackend, tmp_path: Path):
        fill(backend)
        backend.save(tmp_path / "saved")
        with pytest.raises(NotFoundError):
            backend.load(tmp_path / "nowhere")
        files = [path for path in (tmp_path / "saved", *tmp_path.glob("saved/*")) if path.is_file()]
        for path in files:
            path.write_bytes(path.read_bytes()[:200])
        with pytest.raises(BackendError):
            backend.load(tmp_path / "saved")
        assert texts(backend, TOPICS[0])[0] == TOPICS[0]


class DurableBackendContract(BackendContract):
    """The same for a backend that keeps its data by itself. A subclass gives the fixture `reopen` too."""

    def test_everything_is_there_after_a_restart(self, backend: MemoryBackend, reopen: Reopen):
        ids = fill(backend)
        backend.delete(ids[0])
        before = [snapshot(backend, topic) for topic in TOPICS]
        backend.close()
        again = reopen(backend)
        assert [snapshot(again, topic) for topic in TOPICS] == before
        assert again.delete(ids[0]) is False
        assert again.delete(ids[1]) is True
        again.close()

    def test_two_that_are_open_see_each_others_writes(self, backend: MemoryBackend, reopen: Reopen):
        other = reopen(backend)
        doc_id = backend.store(TOPICS[0])
        assert texts(other, TOPICS[0]) == [TOPICS[0]]
        assert other.delete(doc_id) is True
        assert texts(backend, TOPICS[0]) == []
        other.close()


def fill(backend: MemoryBackend) -> list[str]:
    """Store every topic; returns the ids."""
    return [backend.store(topic, source=f"{number}.md", metadata={"n": number}) for number, topic in enumerate(TOPICS)]


def texts(backend: MemoryBackend, query: str) -> list[str]:
    """What a query finds, best first."""
    return [result.content for result in backend.retrieve(query, top_k=len(TOPICS))]


def snapshot(backend: MemoryBackend, query: str) -> list[tuple[str, float, str, str]]:
    """What a query finds, in a form that can be compared."""
    results = backend.retrieve(query, top_k=len(TOPICS))
    return [(each.content, round(each.score, 4), each.source, repr(each.metadata)) for each in results]


def use_at_random(backend: MemoryBackend, seed: int, steps: int) -> None:
    """Store, delete, clear and retrieve in random order, and compare each answer with a dictionary."""
    chance = random.Random(seed)  # noqa: S311 -- the same choices for the same seed
    kept: dict[str, tuple[str, int]] = {}
    gone: list[str] = []
    for step in range(steps):
        verb = chance.choices(("store", "delete", "delete again", "retrieve", "clear"), (40, 34, 5, 20, 0.2))[0]
        if verb == "store" and len(kept) < 40:
            text = f"{chance.choice(TOPICS)} note {chance.randrange(20)}"
            doc_id = backend.store(text, source=str(step), metadata={"step": step})
            assert doc_id not in kept
            kept[doc_id] = (text, step)
        elif verb == "delete" and kept:
            doc_id = chance.choice(list(kept))
            assert backend.delete(doc_id) is True
            del kept[doc_id]
            gone.append(doc_id)
        elif verb == "delete again" and gone:
            assert backend.delete(chance.choice(gone)) is False
        elif verb == "retrieve":
            _compare(backend, chance, kept)
        elif verb == "clear":
            backend.clear()
            gone += kept
            kept.clear()


def _compare(backend: MemoryBackend, chance: random.Random, kept: dict[str, tuple[str, int]]) -> None:
    asked = chance.choice(list(kept.values()))[0] if kept else TOPICS[0]
    results = backend.retrieve(asked, top_k=len(kept) + 1)
    found = [(result.content, result.metadata["step"]) for result in results]
    assert [result.source for result in results] == [str(step) for _, step in found]
    assert len(set(found)) == len(found)
    assert set(found) <= set(kept.values())
    assert {each for each in kept.values() if each[0] == asked} <= set(found)


def rejections(contract: type[BackendContract], make_backend: MakeBackend) -> dict[str, BaseException]:
    """Runs every test of a contract class that takes only a `backend`, each on a new one: what failed, by its name."""
    failed: dict[str, BaseException] = {}
    for name in dir(contract):
        test = getattr(contract(), name)
        if name.startswith("test_") and list(test.__annotations__) == ["backend"]:
            backend = make_backend()
            try:
                test(backend=backend)
            except REJECTIONS as error:
                failed[name] = error
            finally:
                backend.close()
    return failed
