"""What the keyword index on disk promises beside the port: it is derived, shared, and never trusted blindly."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.indexes.fts5 import Fts5Index, occurrences, packed, token
from mnemic.errors import ConfigError, UnavailableError
from mnemic.testing.index_samples import HERS, HIS, a_change, a_query, gone, ids


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db.index" / "fts5.db"


@pytest.fixture
def index(path: Path) -> Generator[Fts5Index]:
    with closing(Fts5Index(path)) as opened:
        yield opened


def test_no_file_is_made_before_there_is_something_to_keep(index: Fts5Index, path: Path):
    assert index.version(HERS) == 0
    index.drop(HERS)
    index.close()
    assert not path.parent.exists()


def test_what_was_applied_survives_the_process(index: Fts5Index, path: Path):
    index.apply(HERS, [a_change("a", "tea")], 3)
    index.close()
    with closing(Fts5Index(path)) as again:
        assert again.version(HERS) == 3
        assert ids(again.search(a_query("tea"))) == ["a"]


def test_two_processes_that_bring_the_same_news_leave_it_once(index: Fts5Index, path: Path):
    with closing(Fts5Index(path)) as other:
        for one in (index, other):
            one.apply(HERS, [a_change("a", "tea")], 3)
        assert other.search(a_query("tea")).items == 1


def test_news_that_follow_a_version_the_file_has_lost_are_not_taken_in(index: Fts5Index, path: Path):
    index.apply(HERS, [a_change("a", "tea")], 3)
    with closing(Fts5Index(path)) as other:
        other.drop(HERS)
    index.apply(HERS, [a_change("b", "tea")], 4, since=3)
    assert index.version(HERS) == 0
    index.apply(HERS, [a_change("a", "tea"), a_change("b", "tea")], 4, since=0)
    assert ids(index.search(a_query("tea"))) == ["a", "b"]


def test_a_complete_set_forgets_everything_else_even_of_a_later_version(index: Fts5Index):
    index.apply(HERS, [a_change("from another past", "tea"), a_change("a", "tea")], 9)
    index.apply(HERS, [a_change("a", "tea")], 4, is_complete=True)
    found = index.search(a_query("tea"))
    assert (ids(found), found.items, found.versions) == (["a"], 1, (4,))


@pytest.mark.parametrize("damage", ["garbage", "cut", "overwritten"])
def test_a_damaged_file_is_made_anew(index: Fts5Index, path: Path, damage: str):
    index.apply(HERS, [a_change(str(n), f"tea number{n} " * 50) for n in range(200)], 3)
    index.close()
    content = path.read_bytes()
    page = 4096
    broken = {
        "garbage": b"no database at all" * 1000,
        "cut": content[: len(content) // 2],
        "overwritten": content[:page] + b"\xff" * (len(content) - page),
    }
    path.write_bytes(broken[damage])
    with closing(Fts5Index(path)) as again:
        assert ids(again.search(a_query("tea", "number7"))) == []
        assert again.version(HERS) == 0
        again.apply(HERS, [a_change("a", "tea")], 3)
        assert ids(again.search(a_query("tea"))) == ["a"]


def test_a_file_that_is_removed_while_open_is_made_anew(index: Fts5Index, path: Path):
    index.apply(HERS, [a_change("a", "tea")], 3)
    for file in path.parent.iterdir():
        file.unlink()
    assert index.version(HERS) == 0
    index.apply(HERS, [a_change("a", "tea")], 3)
    assert index.version(HERS) == 3
    assert path.exists()


def test_terms_of_another_analyser_are_not_believed(index: Fts5Index, path: Path):
    index.apply(HERS, [a_change("a", "tea")], 3)
    index.close()
    with closing(Fts5Index(path, analyser="v2")) as newer:
        assert newer.version(HERS) == 0


def test_another_programs_database_is_left_alone(path: Path):
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute("CREATE TABLE theirs (x)")
    with closing(Fts5Index(path)) as index, pytest.raises(ConfigError):
        index.version(HERS)
    assert path.exists()


def test_a_file_that_is_locked_for_too_long_is_unavailable(index: Fts5Index, path: Path):
    index.apply(HERS, [a_change("a", "tea")], 3)
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as other,
        closing(Fts5Index(path, lock_wait_s=0)) as hasty,
    ):
        assert hasty.version(HERS) == 3
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError):
            hasty.apply(HERS, [a_change("b", "tea")], 4)
    assert ids(index.search(a_query("tea"))) == ["a"]


def test_the_best_rows_by_keyword_come_in_up_to_the_limit(path: Path):
    with closing(Fts5Index(path, keyword_limit=2)) as index:
        index.apply(HERS, [a_change(f"{n}", "tea " + "word " * n) for n in range(9)], 1)
        found = index.search(a_query("tea"))
        assert ids(found) == ["0", "1"]
        assert (found.items, found.document_frequencies.tolist()) == (9, [9])


def test_nothing_of_a_dropped_partition_stays_in_the_tables(index: Fts5Index, path: Path):
    index.apply(HERS, [a_change("a", "green tea"), a_change("b", "tea", private_agent="jarvis")], 1)
    index.apply(HIS, [a_change("a", "tea")], 1)
    index.drop(HIS)
    index.apply(HERS, [gone("a"), gone("b")], 2)
    index.drop(HERS)
    index.close()
    with closing(sqlite3.connect(path)) as connection:
        for table in ("items", "frequencies", "groups", "partitions", "words"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)  # noqa: S608 -- fixed names


words = st.text(min_size=1, max_size=8).filter(lambda word: not any(character.isspace() for character in word))


@given(words, words)
def test_different_terms_have_different_tokens_of_letters_and_digits_only(one: str, other: str):
    assert (token(one) == token(other)) == (one == other)
    assert token(one).isascii()
    assert token(one).isalnum()
    assert token(one) == token(one).lower()


@given(st.lists(st.sampled_from(["a", "aa", "b", "a.b"])), st.sampled_from(["a", "aa", "b", "a.b", "."]))
def test_packed_terms_are_counted_exactly(terms: list[str], term: str):
    assert occurrences(packed(terms), term) == terms.count(term)
