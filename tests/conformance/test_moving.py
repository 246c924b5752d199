"""An org moves between stores of any kind while it is in use: every row arrives once, and no other org notices."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.engine import move as move_module
from mnemic.engine.move import MoveReport, cancel_move
from mnemic.errors import ConflictError, InvalidInputError, MnemicError, NotFoundError, UnavailableError
from mnemic.model.candidates import Terms
from mnemic.model.item import State
from mnemic.model.records import PlacementState
from mnemic.model.scope import Visibility
from mnemic.ports.moving import MovingStore
from mnemic.ports.store import SHARED_TABLES, VERSIONS_OF_AN_AGE, Store
from mnemic.testing.random_use import RandomUse
from mnemic.testing.samples import NOW, a_memory, a_query, add_memories
from mnemic.testing.store_access import a_key, add_keys, notes_of
from mnemic.testing.store_copying import used
from tests.conformance.moving_kit import (
    HERS,
    ORG,
    OTHER,
    Opened,
    Stores,
    content,
    engine_of,
    memory,
    move,
    receipts_of,
    refuse_copying,
    state,
    texts_of,
)
from tests.conformance.test_copying import count_rows, write_a_row_where_there_is_none

MakePostgres = Callable[..., PostgresStore]


@pytest.mark.requirement("P-55")
def test_every_row_arrives_and_the_other_orgs_stay(stores: Stores):
    source, target = stores
    used(source)
    orgs = orgs_of(source)
    org = max(orgs, key=lambda each: sum(content(source, each)[0].values()))
    before, others = content(source, org), {each: content(source, each) for each in orgs if each != org}
    report = move(source, target, org)
    assert (dict(report.rows), report.digest) == before == content(target, org)
    assert {each: content(source, each) for each in others} == others
    assert (state(source, org), state(target, org)) == (PlacementState.MOVED, PlacementState.HERE)


def orgs_of(store: MovingStore) -> list[str]:
    with store.rows() as rows:
        return [*rows.orgs()]


@pytest.mark.requirement("P-55")
def test_every_table_arrives(tmp_path: Path, make_postgres: MakePostgres):
    source, server, last = SqliteStore(tmp_path / "1.db"), make_postgres(), SqliteStore(tmp_path / "3.db")
    used(source)
    source.close()
    write_a_row_where_there_is_none(source.path)
    with closing(sqlite3.connect(source.path)) as connection:
        connection.execute("DELETE FROM placements")
        connection.execute("UPDATE partitions SET org = 'acme', owner = org || '-' || owner")
        for table in ("api_keys", "audit", "receipts", "requests", "oauth_tokens"):
            connection.execute(f"UPDATE {table} SET org = 'acme'")  # noqa: S608 -- our own names
        connection.commit()
    source = SqliteStore(source.path)
    there = content(source, ORG)
    assert all(there[0].values())
    assert {*there[0]} | {"audit", "receipts"} == {*count_rows(source.path)} - {"placements", *SHARED_TABLES}
    move(source, server)
    move(server, last)
    assert content(last, ORG) == there
    assert [entry for _, entry in notes_of(last, ORG)] == [entry for _, entry in notes_of(source, ORG)]
    assert receipts_of(last) == receipts_of(source)
    for store in (source, server, last):
        store.close()


@pytest.mark.requirement("P-55")
def test_writes_during_the_move_arrive_once(stores: Stores):
    source, target = stores
    add_memories(source, *(memory(f"before {number}") for number in range(30)))
    written, refused = list[str](), list[str]()

    def write(step: str, _done: int, _total: int) -> None:
        text = f"at {step} {len(written) + len(refused)}"
        if step in ("copying", "catching up"):
            add_memories(source, memory(text))
            written.append(text)
        elif state(source) is PlacementState.STOPPED:
            with pytest.raises(UnavailableError, match="try again") as raised:
                add_memories(source, memory(text))
            assert raised.value.is_retryable
            assert texts_of(source)  # reads go on
            refused.append(text)

    report = move(source, target, told=write)
    assert written
    assert refused
    found = texts_of(target)
    assert found == sorted([*(f"before {number}" for number in range(30)), *written])
    assert report.rows["memories"] == len(found)
    assert add_memories(target, memory("afterwards")) == [True]


@pytest.mark.requirement("P-55")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_use_during_the_move_arrives(stores: Stores, seed: int):
    source, target = stores
    used(source, seed)
    use = RandomUse(Random(seed))
    counts = Counter[str]()

    def write(step: str, _done: int, _total: int) -> None:
        for _ in range(4):
            with suppress(MnemicError), source.write() as work:
                use.writing()(work)
                counts[step] += 1

    report = move(source, target, told=write)
    assert counts["copying"] > 50
    assert content(target, ORG) == content(source, ORG) == (dict(report.rows), report.digest)


@pytest.mark.requirement("P-55")
def test_a_unique_value_that_goes_to_another_row_during_the_move_arrives(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(move_module, "_ROWS_AT_ONCE", 2)
    source, target = stores
    first = replace(memory("tea"), state=State.ARCHIVED)
    between = [replace(memory(f"other {number}"), state=State.ARCHIVED) for number in range(4)]
    last = memory("tea")
    add_memories(source, first, *between, last)
    rows = [(last, State.ARCHIVED), *((each, State.ACTIVE) for each in (*between, first))]

    def swap(step: str, _done: int, _total: int) -> None:
        if step == "copying" and rows:
            with source.write() as work:
                while rows:
                    each, now = rows.pop(0)
                    assert work.memories.replace(replace(each, state=now), Terms("v1", "tea"), each.updated_at)

    move(source, target, told=swap)
    with target.read() as work:
        found = work.memories.list(Visibility((HERS,), None), a_query(limit=1000, states=()))
    assert {each.id for each in found if each.state is State.ACTIVE} == {first.id, *(each.id for each in between)}


def test_nobody_is_served_where_the_org_is_not(stores: Stores):
    source, target = stores
    add_memories(source, memory("tea"))
    add_keys(source, a_key())

    def look(step: str, _done: int, _total: int) -> None:
        if step != "switching":
            for use in (texts_of, keys_added):
                with pytest.raises(UnavailableError, match="try again"):
                    use(target)

    move(source, target, told=look)
    for use in (texts_of, keys_added, add_late):
        with pytest.raises(NotFoundError, match="has moved to another store"):
            use(source)
    with source.read() as work:
        assert work.partitions.all() == []
    with source.write() as work:
        assert work.jobs.claim(["embed"], "me", NOW, NOW) is None
    assert texts_of(target) == ["tea"]


def add_late(store: Store) -> None:
    add_memories(store, memory("late"))


def keys_added(store: Store) -> None:
    add_keys(store, a_key())


def test_only_the_moved_org_waits(stores: Stores):
    source, target = stores
    add_memories(source, memory("tea"))
    other = a_memory("coffee", partition=replace(HERS, org=OTHER))

    def write(step: str, done: int, _total: int) -> None:
        assert len(add_memories(source, replace(other, id=f"s{step}{done}"))) == 1
        assert len(add_memories(target, replace(other, id=f"t{step}{done}"))) == 1

    move(source, target, told=write)


def test_a_move_waits_for_writers_of_its_org_and_for_no_others(make_postgres: MakePostgres, tmp_path: Path):
    with closing(make_postgres(lock_wait_s=1)) as source, closing(SqliteStore(tmp_path / "target.db")) as target:
        add_memories(source, memory("tea"))
        with source.write() as work:
            assert work.memories.add([(memory("late"), Terms("v1", "late"))]) == [True]
            with pytest.raises(UnavailableError, match="locked"):
                move(source, target)
        with source.write() as work:
            other = a_memory("coffee", partition=replace(HERS, org=OTHER))
            assert work.memories.add([(other, Terms("v1", "coffee"))]) == [True]
            move(source, target)
        assert texts_of(target) == ["late", "tea"]


def test_an_org_is_erased_from_the_source_and_moves_back(stores: Stores):
    source, target = stores
    used(source)
    before = content(source, ORG)
    receipt = move(source, target, is_erasing=True).receipt
    assert receipt is not None
    assert receipt.counts["memories"] == before[0]["memories"]
    assert not any(content(source, ORG)[0].values())
    assert receipt.id in [each.id for each in receipts_of(source)]
    again = move(source, target, is_erasing=True)
    assert again.passes == 0
    assert content(target, ORG) == before
    add_memories(target, memory("written in the target"))
    back = move(target, source)
    assert (dict(back.rows), back.digest) == content(source, ORG)
    assert "written in the target" in texts_of(source)
    assert add_memories(source, memory("and home again")) == [True]


def test_a_reader_of_the_source_finds_nothing_old_after_the_way_back(stores: Stores):
    source, target = stores
    add_memories(source, memory("tea"))
    with source.read() as work:
        old = work.partitions.versions([HERS])[HERS]
    move(source, target)
    with target.write() as work:
        work.memories.erase(HERS, [each.id for each in work.memories.list(Visibility((HERS,), None), a_query())], NOW)
    move(target, source)
    with source.read() as work:
        assert work.partitions.versions([HERS])[HERS] // VERSIONS_OF_AN_AGE > old // VERSIONS_OF_AN_AGE
    assert texts_of(source) == []


@pytest.mark.parametrize("step", ["copying", "stopped", "comparing", "switching"])
def test_a_move_that_fails_leaves_the_org_in_use_and_is_repeated(stores: Stores, step: str):
    source, target = stores
    add_memories(source, *(memory(f"{number}") for number in range(9)))

    def fail(now: str, _done: int, _total: int) -> None:
        if now == step:
            raise InvalidInputError("stop")

    with pytest.raises(InvalidInputError, match="stop"):
        move(source, target, told=fail)
    if step != "switching":
        assert add_memories(source, memory("still here")) == [True]
    move(source, target)
    assert texts_of(target)[:9] == [f"{number}" for number in range(9)]
    assert ("still here" in texts_of(target)) == (step != "switching")


def test_of_two_movers_one_goes_on(stores: Stores):
    source, target = stores
    add_memories(source, memory("tea"))
    ended = list[MoveReport]()

    def overtake(step: str, done: int, _total: int) -> None:
        if step == "switching" and done == 0 and not ended:
            ended.append(move(source, target))

    with pytest.raises(ConflictError, match="another process"):
        move(source, target, told=overtake)
    assert texts_of(target) == ["tea"]
    assert state(source) is PlacementState.MOVED


def test_a_cancelled_move_leaves_nothing_in_the_target(stores: Stores):
    source, target = stores
    used(source)
    before = content(source, ORG)
    with pytest.raises(InvalidInputError):
        move(source, target, told=refuse_copying)
    cancel_move(engine_of(source), target, ORG)
    assert not any(content(target, ORG)[0].values())
    assert content(source, ORG) == before
    assert [*source.placements(), *target.placements()] == []
    with pytest.raises(ConflictError, match="is not moving to"):
        cancel_move(engine_of(source), target, ORG)


def test_an_org_of_the_same_name_in_the_target_is_left_alone(stores: Stores):
    source, target = stores
    add_memories(source, memory("tea"))
    add_memories(target, memory("coffee"))
    with pytest.raises(ConflictError, match="already has an org named acme"):
        move(source, target)
    assert texts_of(target) == ["coffee"]
    with pytest.raises(NotFoundError, match="nowhere"):
        move(source, target, "nowhere")
    with pytest.raises(InvalidInputError, match="choose another"):
        move(source, source)


KILLS = [
    ("copying", 0),
    ("copying", 1),
    ("stopped", 0),
    ("comparing", 0),
    ("switching", 0),
    ("switching", 1),
    ("erasing", 0),
]
"""A step, and how many of its reports the process survives."""


@pytest.mark.requirement("P-55")
@pytest.mark.parametrize("step, survived", KILLS)
def test_a_killed_move_is_repeated_and_nothing_is_lost_or_doubled(
    stores: Stores, step: str, survived: int, request: pytest.FixtureRequest
):
    source, target = stores
    opening = [reopening(store, request) for store in stores]
    used(source)
    before = content(source, ORG)
    add_memories(source, *(memory(f"{number}") for number in range(9)))
    pid = fork_killed_move(opening, step, survived)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    late = list[str]()
    with suppress(UnavailableError, NotFoundError):  # stopped, or moved
        add_memories(source, memory("late"))
        late.append("late")
    assert bool(late) == (step == "copying")
    report = move(source, target, is_erasing=True)
    assert report.receipt is not None
    assert [text for text in texts_of(target) if text in (*"012345678", "late")] == sorted([*"012345678", *late])
    expected = {**before[0], "memories": before[0]["memories"] + 9 + len(late)}
    assert {table: rows for table, rows in content(target, ORG)[0].items() if table != "partitions"} == {
        table: rows for table, rows in expected.items() if table != "partitions"
    }
    assert not any(content(source, ORG)[0].values())


def fork_killed_move(opening: Sequence[Callable[[], Opened]], step: str, survived: int) -> int:
    """A process that moves the org and is killed at a report of a step."""
    seen = Counter[str]()

    def kill(now: str, _done: int, _total: int) -> None:
        seen[now] += 1
        if now == step and seen[now] > survived:
            os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if not pid:
        try:
            source, target = (open_again() for open_again in opening)
            move(source, target, told=kill, is_erasing=True)
        finally:
            os._exit(1)
    return pid


def reopening(store: Opened, request: pytest.FixtureRequest) -> Callable[[], Opened]:
    """Opens the store in another process: connections do not survive a fork."""
    if isinstance(store, SqliteStore):
        return lambda: SqliteStore(store.path)
    url = request.getfixturevalue("ordinary_url")
    return lambda: PostgresStore(url, schema=store.schema)
