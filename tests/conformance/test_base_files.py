"""Answers from base files are those from rows, and nothing that was erased stays in a file."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mnemic.adapters.indexes import base_files
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.evaluation.embedders import SyntheticEmbedder
from mnemic.model.scope import Scope
from mnemic.model.settings import Settings

ANNA = Scope(user="anna", session="s1")
NOUNS = ["tea", "boat", "kite", "lamp", "fern", "drum", "coin", "sail", "moss", "bell", "crow", "reed"]
QUESTIONS = ("the red tea boat", "Where is the drum of Carl?", "kite fern moss lamp", "coin 17", "who told of the crow")
NOW = datetime(2026, 5, 1, tzinfo=UTC)


class StandingClock:
    def now(self) -> datetime:
        return NOW


@pytest.fixture(autouse=True)
def read_files(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Partitions count as large soon. Returns the files that were used from then on."""
    used, read = list[Path](), base_files.read

    def noting(path: Path, stamp: str, token: int) -> base_files.Base | None:
        found = read(path, stamp, token)
        used.extend([] if found is None else [path])
        return found

    monkeypatch.setattr(base_files, "read", noting)
    monkeypatch.setattr(base_files, "LEAST_ROWS", 20)
    monkeypatch.setattr(base_files, "STALE_ROWS", 3)
    return used


def opened(path: Path, *, base_files: bool = True, settings: Settings | None = None) -> Mnemic:
    config = Config(store=str(path), embedder="none", base_files=base_files, settings=settings or Settings())
    parts = build(config)
    return Mnemic(replace(parts, embedder=SyntheticEmbedder(), clock=StandingClock()), has_worker=False)


def files(path: Path) -> list[Path]:
    return sorted(path.with_name(f"{path.name}.index").rglob("*.base"))


def answers(mnemic: Mnemic) -> list[object]:
    return [
        [(hit.id, hit.score, hit.similarity, hit.relevance, hit.contributions) for hit in mnemic.recall(ANNA, question)]
        for question in QUESTIONS
    ]


def text(rng: random.Random) -> str:
    return " ".join(["The", *rng.choices(NOUNS, k=6), str(rng.randrange(40)), rng.choice(["of Carl", "is red", "?"])])


def write_much(mnemic: Mnemic, rng: random.Random, *, may_erase: bool) -> None:
    for _ in range(25):
        known = [memory.id for memory in mnemic.list(ANNA, limit=1000).memories]
        said = [message.id for message in mnemic.messages(ANNA, limit=1000).messages]
        doing = rng.randrange(0 if may_erase else 2, 9)
        if doing == 0 and known:
            mnemic.delete(ANNA, rng.choice(known))
        elif doing == 1 and said:
            mnemic.delete(ANNA, rng.choice(said))
        elif doing == 2 and known:
            mnemic.update(ANNA, rng.choice(known), text=text(rng))
        elif doing in (3, 4):
            mnemic.capture(ANNA, user=text(rng), assistant=text(rng))
        elif doing == 5:
            mnemic.ingest(ANNA, text(rng).encode(), source=f"note {rng.randrange(5 if may_erase else 10**6)}")
        else:
            mnemic.remember(ANNA, text(rng), importance=rng.random())


@pytest.mark.requirement("P-53")
@pytest.mark.parametrize("seed", range(2))
def test_answers_from_a_file_and_what_changed_since_are_those_from_rows(
    tmp_path: Path, seed: int, read_files: list[Path]
):
    path, rng = tmp_path / "memory.db", random.Random(seed)
    for turn in range(6):
        is_kept = turn % 2 == 1  # the file stays as it is
        with opened(path, base_files=not is_kept) as mnemic:
            write_much(mnemic, rng, may_erase=not is_kept)
            answers(mnemic)
        with opened(path) as mnemic:
            from_file = answers(mnemic)
        with opened(path, base_files=False) as mnemic:
            assert from_file == answers(mnemic)
    assert len(read_files) >= 3


def filled(path: Path) -> list[object]:
    with opened(path) as mnemic:
        mnemic.remember_many(ANNA, [f"The {noun} of number {number}" for number in range(9) for noun in NOUNS])
        mnemic.remember(ANNA, "Wilhelmina plays the quokkaphone")
        told = answers(mnemic)
    assert len(files(path)) == 1
    return told


DAMAGE: dict[str, Callable[[Path], object]] = {
    "lost": lambda file: file.unlink(),
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "without its end": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "of zeros": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "of another format": lambda file: file.write_bytes(b"MNEMBAS0" + file.read_bytes()[8:]),
}


@pytest.mark.requirement("P-53")
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_that_is_damaged_costs_no_answer_and_is_written_again(
    tmp_path: Path, damage: str, read_files: list[Path]
):
    told = filled(tmp_path / "memory.db")
    (file,) = files(tmp_path / "memory.db")
    DAMAGE[damage](file)
    with opened(tmp_path / "memory.db") as mnemic:
        assert answers(mnemic) == told
    assert read_files == []
    with opened(tmp_path / "memory.db") as mnemic:
        assert answers(mnemic) == told
    assert read_files == [file]


def test_a_flipped_bit_anywhere_costs_no_answer(tmp_path: Path, read_files: list[Path]):
    told = filled(tmp_path / "memory.db")
    (file,) = files(tmp_path / "memory.db")
    whole, rng = file.read_bytes(), random.Random(1)
    used = [place for place in range(0, len(whole), 64) if any(whole[place : place + 64])]
    for _ in range(12):
        place = rng.choice(used) + rng.randrange(64)
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :])
        with opened(tmp_path / "memory.db") as mnemic:
            assert answers(mnemic) == told
    assert read_files == []


def test_the_file_of_another_store_is_not_used(tmp_path: Path, read_files: list[Path]):
    told = filled(tmp_path / "memory.db")
    filled(tmp_path / "other.db")
    (file,), (foreign,) = files(tmp_path / "memory.db"), files(tmp_path / "other.db")
    assert file.name == foreign.name
    file.write_bytes(foreign.read_bytes())
    with opened(tmp_path / "memory.db") as mnemic:
        assert answers(mnemic) == told
    assert read_files == []


def test_a_file_from_after_the_copy_of_a_store_is_not_used_when_the_copy_is_put_back(tmp_path: Path):
    path = tmp_path / "memory.db"
    filled(path)
    copy = path.read_bytes()
    with opened(path) as mnemic:
        mnemic.remember_many(ANNA, [f"The {noun} is gold {number}" for number in range(9) for noun in NOUNS])
        answers(mnemic)
    path.write_bytes(copy)
    with opened(path, base_files=False) as mnemic:
        mnemic.remember_many(ANNA, [f"A {noun} is silver {number}" for number in range(20) for noun in NOUNS])
        told = answers(mnemic)
    with opened(path) as mnemic:
        assert answers(mnemic) == told


def test_a_partition_that_outgrows_memory_is_answered_from_its_words_on_disk(tmp_path: Path):
    path, settings = tmp_path / "memory.db", Settings(large_partition_rows=120)
    for first in (0, 9):
        with opened(path, settings=settings) as mnemic:
            mnemic.remember_many(ANNA, [f"The {noun} of {n}" for n in range(first, first + 9) for noun in NOUNS])
            answers(mnemic)
        assert len(files(path)) == (1 if first == 0 else 0)
        found: list[object] = []
        for has_files in (True, False):
            with opened(path, base_files=has_files, settings=settings) as mnemic:
                found.append(answers(mnemic))
        assert found[0] == found[1]


def held(path: Path, word: bytes) -> list[str]:
    return [each.name for each in path.parent.rglob("*") if each.is_file() and word in each.read_bytes().lower()]


@pytest.mark.requirement("P-07", "P-53")
@pytest.mark.parametrize("way", ["delete", "erase", "clear"])
def test_nothing_erased_is_in_any_file_when_the_verb_answers(tmp_path: Path, way: str):
    path = tmp_path / "memory.db"
    filled(path)
    assert files(path)[0].name in held(path, b"quokkaphon")
    with opened(path) as mnemic:
        (memory,) = [each for each in mnemic.list(ANNA, limit=1000).memories if "Wilhelmina" in each.text]
        mnemic.recall(ANNA, "quokkaphone")
        if way == "delete":
            mnemic.delete(ANNA, memory.id)
        elif way == "clear":
            mnemic.clear(ANNA)
        else:
            mnemic.erase(ANNA, level="user")
        assert held(path, b"quokkaphon") == []
    assert held(path, b"quokkaphon") == []
    with opened(path) as mnemic:
        assert all("Wilhelmina" not in hit.text for hit in mnemic.recall(ANNA, "quokkaphone"))


@pytest.mark.requirement("P-53")
def test_a_file_being_written_while_its_rows_are_erased_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, write = tmp_path / "memory.db", base_files.write

    def write_slowly(*arguments: object) -> None:
        write(*arguments)  # pyright: ignore[reportArgumentType]
        with opened(path, base_files=False) as other:
            (memory,) = [each for each in other.list(ANNA, limit=1000).memories if "Wilhelmina" in each.text]
            other.delete(ANNA, memory.id)
        assert held(path, b"quokkaphon") == []

    monkeypatch.setattr(base_files, "write", write_slowly)
    with opened(path) as mnemic:
        mnemic.remember_many(ANNA, [f"The {noun} of number {number}" for number in range(9) for noun in NOUNS])
        mnemic.remember(ANNA, "Wilhelmina plays the quokkaphone")
        answers(mnemic)
    assert files(path) == []
    assert held(path, b"quokkaphon") == []


def test_files_are_private_and_the_setting_keeps_them_away(tmp_path: Path):
    filled(tmp_path / "memory.db")
    (file,) = files(tmp_path / "memory.db")
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with opened(tmp_path / "without.db", base_files=False) as mnemic:
        mnemic.remember_many(ANNA, [f"The {noun} of number {number}" for number in range(9) for noun in NOUNS])
        answers(mnemic)
    assert files(tmp_path / "without.db") == []
