"""Every store leads to the same hits with the same scores: stores keep rows, the scores are our own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from mnemic import Mnemic, Scope
from mnemic.config import Config
from mnemic.errors import ConfigError
from mnemic.evaluation.speed import GeneratedTexts
from mnemic.model.item import Chunk
from mnemic.model.recall import Recall

TEXTS, QUESTIONS = 90, 25
START = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
ANNA, BERT = (Scope(user=user, agent="jarvis", session="s1") for user in ("anna", "bert"))


def fill(mnemic: Mnemic) -> None:
    """The same memories and messages every time, of two users, at all levels."""
    random, texts = Random(1), GeneratedTexts(seed=1)
    for number, text in enumerate(texts.texts(TEXTS)):
        mnemic.remember(
            random.choice((ANNA, BERT)),
            text,
            kind=random.choice(("fact", "goal", "event")),
            level=random.choice(("user", "user", "agent", "org")),
            importance=round(random.random(), 2),
            observed_at=START + timedelta(hours=number),
            metadata={"number": number, "topic": f"t{number % 3}"},
        )
    for number, text in enumerate(texts.texts(TEXTS // 3)):
        said = {"role": "user", "content": text, "observed_at": START + timedelta(minutes=number)}
        mnemic.capture(random.choice((ANNA, BERT)), messages=[said])
    for number in range(6):
        text = "\n\n".join(texts.texts(4))
        scope = random.choice((ANNA, BERT))
        mnemic.ingest(scope, text.encode(), name=f"{number}.txt", is_private=number == 5)


def answers(mnemic: Mnemic) -> Iterator[Recall]:
    for question in GeneratedTexts(seed=2).questions(QUESTIONS):
        for scope in (ANNA, BERT):
            yield mnemic.recall(scope, question, limit=10)
            yield mnemic.recall(scope, question, min_similarity=0.1)
            yield mnemic.recall(scope, question, filter={"metadata.topic": "t1", "metadata.number": {"lt": 60}})


@pytest.mark.requirement("R-40", "P-15")
def test_memory_sqlite_and_postgres_give_the_same_hits_with_the_same_scores(tmp_path: Path, database: str):
    with ExitStack() as stack:
        stores = ("memory://", str(tmp_path / "memory.db"), database)
        opened = [stack.enter_context(Mnemic.open(Config(store=store))) for store in stores]
        for mnemic in opened:
            fill(mnemic)
        hits = passages = 0
        for expected, *others in zip(*map(answers, opened), strict=True):
            for other in others:
                assert [hit.text for hit in other] == [hit.text for hit in expected]
                assert [hit.score for hit in other] == pytest.approx([hit.score for hit in expected], abs=1e-6)
                assert [hit.similarity for hit in other] == pytest.approx([h.similarity for h in expected], abs=1e-6)
                assert other.is_fallback == expected.is_fallback
            hits += len(expected)
            passages += sum(isinstance(hit.item, Chunk) for hit in expected)
        assert hits > 4 * QUESTIONS
        assert passages > QUESTIONS // 2


@pytest.mark.requirement("N-36")
def test_the_address_user_and_password_of_the_store_come_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MNEMIC_STORE", raising=False)
    monkeypatch.setenv("PGVECTOR_URL", "jdbc:postgresql://db.example:5433/notes?sslmode=require")
    assert Config().postgres_url == "postgresql://db.example:5433/notes?sslmode=require"
    monkeypatch.setenv("PGVECTOR_USER", "anna@work")
    monkeypatch.setenv("PGVECTOR_PASSWORD", "p/w")
    config = Config()
    assert config.postgres_url == "postgresql://anna%40work:p%2Fw@db.example:5433/notes?sslmode=require"
    assert "p%2Fw" not in repr(config)
    monkeypatch.setenv("PGVECTOR_URL", "postgresql://bert@db.example/notes")
    assert Config().postgres_url == "postgresql://bert@db.example/notes"
    monkeypatch.setenv("MNEMIC_STORE", "postgresql://other/notes")
    assert Config().postgres_url == "postgresql://other/notes"


@pytest.mark.requirement("N-36")
def test_a_store_named_in_the_environment_is_opened(monkeypatch: pytest.MonkeyPatch, database: str):
    monkeypatch.delenv("MNEMIC_STORE", raising=False)
    monkeypatch.setenv("PGVECTOR_URL", database)
    with Mnemic.open() as mnemic:
        mnemic.remember(ANNA, "Anna likes tea")
    monkeypatch.setenv("MNEMIC_STORE", database)
    with Mnemic.open() as mnemic:
        assert [memory.text for memory in mnemic.list(ANNA).memories] == ["Anna likes tea"]


def test_an_address_of_another_kind_is_refused_without_its_password():
    with pytest.raises(ConfigError, match="unknown store mysql://…") as raised:
        Mnemic.open("mysql://anna:s3cret@host/notes")
    assert "s3cret" not in str(raised.value)


def test_a_missing_driver_is_answered_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in sys.modules if name.startswith("mnemic.adapters.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r"pip install 'mnemic\[postgres\]'"):
        Mnemic.open("postgresql://localhost/notes")
