"""What is particular to the backend `bm25`: the scores of rank_bm25, the collection as it is now, shared words."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rank_bm25 import BM25Okapi

from mnemic.backends.bm25 import Bm25Backend
from mnemic.errors import ConfigError

WORDS = ["tea", "coffee", "milk", "sugar", "honey", "lemon", "ginger", "mint", "rose", "salt"]


def expected(kept: dict[str, str], query: str) -> tuple[dict[str, float], bool]:
    """The documents that share a word with the query, scored by rank_bm25 on an index built from nothing; and whether
    words weigh 0 or more on average, so that it gives none of them a negative weight.
    """
    tokens = query.lower().split()
    okapi: Any = BM25Okapi([text.lower().split() for text in kept.values()])
    scores: list[float] = okapi.get_scores(tokens).tolist()
    pairs = zip(kept.items(), scores, strict=True)
    shared = {number: score for (number, text), score in pairs if set(tokens) & set(text.lower().split())}
    return shared, bool(okapi.average_idf >= 0)


@pytest.mark.requirement("O-20", "O-21")
@pytest.mark.parametrize("seed", range(20))
def test_after_every_store_and_delete_scores_are_those_of_a_new_index_of_rank_bm25(seed: int):
    chance = random.Random(seed)
    backend, kept, ids, compared = Bm25Backend(), dict[str, str](), dict[str, str](), 0
    for step in range(40):
        if kept and chance.random() < 0.3:
            number = chance.choice(list(kept))
            del kept[number]
            assert backend.delete(ids.pop(number)) is True
        else:
            text = " ".join(chance.choices([*WORDS, "Tea", "tea,"], k=chance.randint(1, 9)))
            kept[str(step)] = text
            ids[str(step)] = backend.store(text, source=str(step))
        if not kept:
            continue
        query = " ".join(chance.choices(WORDS, k=chance.randint(1, 4)))
        wanted, is_positive = expected(kept, query)
        found = {result.source: result.score for result in backend.retrieve(query, top_k=100)}
        assert set(found) == set(wanted)
        # Where theirs would be negative ours is 0: a default minimum must not drop every hit of a small store.
        if is_positive:
            compared += 1
            assert found == pytest.approx(wanted, rel=1e-4, abs=1e-5)
        assert all(score >= 0 for score in found.values())
    assert compared > 10


@pytest.mark.requirement("O-20")
def test_words_are_lower_cased_runs_between_blanks():
    backend = Bm25Backend()
    backend.store("Tea, please")
    backend.store("tea please")
    assert [result.content for result in backend.retrieve("TEA")] == ["tea please"]
    assert [result.content for result in backend.retrieve("tea,")] == ["Tea, please"]
    assert backend.retrieve("te") == []


@pytest.mark.requirement("O-22")
def test_a_document_that_shares_a_word_of_no_weight_is_found_and_no_other():
    backend = Bm25Backend()
    for text in ("green tea", "black coffee"):
        backend.store(text)
    (found,) = backend.retrieve("tea")
    assert (found.content, found.score) == ("green tea", 0.0)


@pytest.mark.requirement("O-22", "R-06")
def test_of_documents_of_equal_score_the_one_with_more_shared_words_comes_first():
    backend = Bm25Backend()
    for text in ("green", "tea green"):
        backend.store(text)
    assert [result.content for result in backend.retrieve("green tea")] == ["tea green", "green"]


@pytest.mark.requirement("O-23")
def test_nothing_is_left_after_the_process(tmp_path: Path):
    program = "from mnemic.backends.bm25 import Bm25Backend as B; b = B(); b.store('tea'); print(len(b))"
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert run.stdout.strip() == "1"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("R-13")
def test_what_another_backend_saved_is_refused(tmp_path: Path):
    from mnemic.backends.colbert import ColbertBackend

    other = ColbertBackend("minilm")
    other.store("tea")
    other.save(tmp_path / "saved")
    with pytest.raises(ConfigError, match="saved by backend 'colbert'"):
        Bm25Backend().load(tmp_path / "saved")
