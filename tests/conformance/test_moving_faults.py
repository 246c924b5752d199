"""Moves of orgs that fail, overlap or are cancelled, and other verbs during a move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from mnemic.adapters.archives.keyring import FileKeyring
from mnemic.adapters.archives.zipped import ZipArchive
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.sql.moving import SqlTransfer
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.engine.backup import Order, Wish, backup, restore
from mnemic.engine.erase import erase
from mnemic.engine.move import cancel_move
from mnemic.errors import ConflictError, InvalidInputError, MnemicError, NotFoundError, UnavailableError
from mnemic.model.recall import Hit
from mnemic.model.records import KeptRequest, Outcome, Placement, PlacementState
from mnemic.model.scope import Level, Partition, Visibility
from mnemic.ports.moving import MovingStore, Transfer
from mnemic.ports.store import PASSING_TABLES, Store, UnitOfWork
from mnemic.testing.samples import ANNA, MINUTE, NOW, a_memory, add_memories
from mnemic.testing.store_access import a_key, a_note, a_token, add_keys, notes_of
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
    quiet,
    receipts_of,
    refuse_copying,
    state,
    texts_of,
)

MakePostgres = Callable[..., PostgresStore]


def at_the_stop(source: MovingStore, do: Callable[[], object]) -> Callable[[str, int, int], None]:
    """A progress callback that acts once, while the org's writes are stopped."""
    done = list[bool]()

    def act(_step: str, _done: int, _total: int) -> None:
        if not done and state(source) is PlacementState.STOPPED:
            done.append(True)
            do()

    return act


@pytest.mark.parametrize("level", [Level.USER, Level.ORG])
def test_an_erasure_of_an_org_that_is_not_served_is_refused(stores: Stores, level: Level):
    source, target = stores
    add_memories(source, memory("tea"))
    refused = list[str]()

    def erase_it(store: Store, error: type[MnemicError], *, is_dry_run: bool = False) -> None:
        with pytest.raises(error) as raised:
            erase(engine_of(store), ANNA, level, is_dry_run=is_dry_run)
        refused.append(str(raised.value))

    def try_both() -> None:
        erase_it(source, UnavailableError)
        erase_it(source, UnavailableError, is_dry_run=True)

    move(source, target, told=at_the_stop(source, try_both))
    erase_it(source, NotFoundError)
    erase_it(source, NotFoundError, is_dry_run=True)
    assert ["try again" in each for each in refused] == [True, True, False, False]
    assert ["has moved" in each for each in refused] == [False, False, True, True]
    assert [*receipts_of(source), *receipts_of(target)] == []
    assert erase(engine_of(target), ANNA, level).counts["memories"] == 1


def test_tokens_and_requests_respect_the_write_stop(stores: Stores):
    source, target = stores
    add_memories(source, memory("tea"))
    request = KeptRequest(org=ORG, caller="me", key="1", at=NOW, fingerprint="f", token="t")
    with source.write() as work:
        work.tokens.add([a_token("01")])
        work.requests.add(request, NOW)
    writes: list[Callable[[UnitOfWork], object]] = [
        lambda work: work.tokens.add([a_token("02")]),
        lambda work: work.tokens.remove(ORG, "01"),
        lambda work: work.tokens.end("c1"),
        lambda work: work.requests.answer(request, Outcome.ANSWERED, b"yes"),
        lambda work: work.requests.remove(request),
        lambda work: work.requests.scrub(ORG, Level.ORG, "", ""),
    ]
    tried = list[object]()

    def write() -> None:
        for each in writes:
            with pytest.raises(UnavailableError, match="try again"), source.write() as work:
                each(work)
            tried.append(each)

    move(source, target, told=at_the_stop(source, write))
    assert tried == writes
    with target.write() as work:
        assert work.tokens.end("c1") == 1
        assert work.requests.answer(request, Outcome.ANSWERED, b"yes")


@pytest.mark.parametrize("step", ["stopped", "comparing", "switching"])
def test_late_entries_of_the_audit_log_arrive(stores: Stores, step: str):
    source, target = stores
    add_memories(source, memory("tea"))

    def note(now: str, done: int, _total: int) -> None:
        with source.write() as work:
            work.audit.add([a_note(f"{now} {done}")])
        if now == step:  # expired rows of every org may go at any time
            with source.write() as work:
                work.tokens.forget(NOW + MINUTE)

    with source.write() as work:
        work.tokens.add([a_token()])
    move(source, target, told=note)
    noted = [entry for _, entry in notes_of(source)]
    assert len(noted) > 5
    assert Counter(entry.verb for _, entry in notes_of(target)) == Counter(entry.verb for entry in noted)


def test_a_cancel_that_fails_at_any_transaction_is_repeated(stores: Stores, monkeypatch: pytest.MonkeyPatch):
    source, target = stores
    add_memories(source, memory("tea"))
    failed = 0
    for last in count(1):
        with pytest.raises(InvalidInputError):
            move(source, target, told=refuse_copying)
        with source.transfer(ORG) as transfer:  # as if the move was killed after it stopped the org
            placement = transfer.find()
            assert placement is not None
            transfer.put(replace(placement, state=PlacementState.STOPPED))
        with monkeypatch.context() as patched:
            begun = count(1)
            for store in stores:
                patched.setattr(store, "transfer", fail_after(store, last, begun))
            with suppress(UnavailableError):
                cancel_move(engine_of(source), target, ORG)
        is_left = bool(source.placements() or target.placements())
        failed += is_left
        if is_left:
            cancel_move(engine_of(source), target, ORG)
        assert [*source.placements(), *target.placements()] == []
        assert not any(content(target, ORG)[0].values())
        assert add_memories(source, memory(f"again {last}")) == [True]
        if next(begun) <= last:
            break
    assert failed > 2


def fail_after(store: Opened, last: int, begun: Iterator[int]) -> Callable[[str], AbstractContextManager[Transfer]]:
    """The store's `transfer`, which fails after the commit of the transaction with this number."""
    transfer = store.transfer

    @contextmanager
    def limited(org: str) -> Generator[Transfer]:
        number = next(begun)
        with transfer(org) as one:
            yield one
        if number == last:
            raise UnavailableError("the process dies here")

    return limited


def test_a_move_to_a_lost_store_is_cancelled(stores: Stores):
    source, target = stores
    add_memories(source, memory("tea"))
    assert fail_between_commits(source, target) is PlacementState.STOPPED
    with target.transfer(ORG) as transfer:  # an empty store took the target's place
        transfer.put(None)
    cancel_move(engine_of(source), target, ORG)
    assert add_memories(source, memory("still here")) == [True]


def test_a_cancel_during_the_switch_waits_for_it(
    make_postgres: MakePostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    renew, cancelled = SqlTransfer.renew, list[str]()

    def cancel_first(transfer: SqlTransfer, version: int) -> None:
        """Cancel after the check of the token, and before the target is marked as serving."""
        with pytest.raises(UnavailableError, match="locked"):
            cancel_move(engine_of(source), target, ORG)
        with target.transfer(OTHER) as other:
            cancelled.append(f"{other.find()}")
        renew(transfer, version)

    with closing(SqliteStore(tmp_path / "source.db")) as source, closing(make_postgres(lock_wait_s=1)) as target:
        add_memories(source, memory("tea"))
        monkeypatch.setattr(SqlTransfer, "renew", cancel_first)
        move(source, target)
        assert cancelled == ["None"]
        assert [state(source), state(target)] == [PlacementState.MOVED, PlacementState.HERE]
        assert texts_of(target) == ["tea"]


def test_a_cancel_leaves_other_moves_alone(stores: Stores, tmp_path: Path):
    source, target = stores
    add_memories(source, memory("tea"))
    with closing(SqliteStore(tmp_path / "third.db")) as third:
        add_memories(third, memory("of another org with this name"))
        with pytest.raises(InvalidInputError):
            move(source, target, told=refuse_copying)
        with pytest.raises(ConflictError, match="is not moving to"):
            cancel_move(engine_of(third), target, ORG)
        with pytest.raises(ConflictError, match="already arriving from"):
            move(third, target)
        with pytest.raises(ConflictError, match="is not moving to"):
            cancel_move(engine_of(source), third, ORG)
    move(source, target)
    assert texts_of(target) == ["tea"]
    with pytest.raises(ConflictError, match="already left"):
        cancel_move(engine_of(source), target, ORG)
    with pytest.raises(ConflictError, match="is not moving"):
        cancel_move(engine_of(target), None, ORG)
    cancel_move(engine_of(source), None, ORG)
    assert texts_of(source) == ["tea"]


def fail_between_commits(source: Opened, target: Opened, org: str = ORG) -> PlacementState | None:
    """A move that fails between its two last commits. Returns the source's state."""

    def fail(step: str, done: int, _total: int) -> None:
        if (step, done) == ("switching", 1):
            raise InvalidInputError("enough")

    with pytest.raises(InvalidInputError):
        move(source, target, org, told=fail)
    return state(source, org)


def test_an_org_that_has_moved_on_is_not_copied_again(stores: Stores, tmp_path: Path):
    source, target = stores
    add_memories(source, memory("tea"))
    assert fail_between_commits(source, target) is PlacementState.STOPPED
    with closing(SqliteStore(tmp_path / "third.db")) as third:
        move(target, third)
        add_memories(third, memory("later"))
        assert move(source, target).passes == 0
        assert [state(each) for each in (source, target, third)] == [
            PlacementState.MOVED,
            PlacementState.MOVED,
            PlacementState.HERE,
        ]
        assert texts_of(third) == ["later", "tea"]


def test_an_erasure_leaves_no_token(stores: Stores):
    source, target = stores
    key = a_key()
    add_keys(source, key)
    add_memories(source, memory("tea"))
    with source.write() as work:
        work.tokens.add([a_token("01", key_id=key.id)])
    move(source, target, is_erasing=True)
    erase(engine_of(target), ANNA, Level.ORG)
    for store in stores:
        with store.read() as work:
            assert work.tokens.get("01") is None


def test_access_counts_of_a_stopped_org_wait_and_hold_up_no_other(stores: Stores):
    source, target = stores
    tea, other = memory("tea"), a_memory("coffee", partition=replace(HERS, org=OTHER))
    add_memories(source, tea, other)
    engine = engine_of(source)
    hits = [Hit(each, 1.0, None, ()) for each in (tea, other)]

    def drain() -> None:
        engine.accesses.note(source, hits, NOW)
        with source.write() as work:
            engine.accesses.drain(work)
        with source.read() as work:
            assert work.memories.get(Visibility((other.partition,), None), [other.id])[0].access_count == 1
        raise InvalidInputError("enough")

    with pytest.raises(InvalidInputError):
        move(source, target, told=at_the_stop(source, drain))
    engine.accesses.flush(source)
    with source.read() as work:
        assert work.memories.get(Visibility((HERS,), None), [tea.id])[0].access_count == 1
    engine.accesses.note(source, hits, NOW)
    move(source, target)
    engine.accesses.flush(source)  # the moved org's counts are dropped


def test_a_move_waits_for_a_writer_who_asked_whether_the_org_is_served(make_postgres: MakePostgres):
    tea = memory("tea")
    with closing(make_postgres(lock_wait_s=1)) as store:
        add_memories(store, tea)
        stop = Placement(org=ORG, state=PlacementState.STOPPED, place="elsewhere", token="1", at=NOW)
        with store.write() as work:
            assert work.upkeep.unserved([ORG, OTHER]) == {}
            with pytest.raises(UnavailableError, match="locked"), store.transfer(ORG) as transfer:
                transfer.put(stop)
            work.memories.touch(HERS, {tea.id: 1}, NOW)
        with store.transfer(ORG) as transfer:
            transfer.put(stop)
        with store.write() as work:
            assert work.upkeep.unserved([ORG, OTHER]) == {ORG: True}


@pytest.mark.parametrize("is_sealed", [True, False])
def test_a_backup_leaves_out_orgs_that_are_elsewhere(stores: Stores, tmp_path: Path, *, is_sealed: bool):
    source, target = stores
    used(source)
    add_memories(source, memory("tea"))
    for org in ("stopped", "coming"):
        add_memories(source, a_memory(org, partition=Partition(org, Level.ORG, "")))
    move(source, target)
    fail_between_commits(source, target, "stopped")
    with pytest.raises(InvalidInputError):
        move(source, target, "coming", told=refuse_copying)
    ring = FileKeyring(tmp_path / "keyring.json")
    for number, (store, served, absent) in enumerate(
        ((source, {"other", "stopped", "coming"}, ORG), (target, {ORG, "stopped"}, "coming"))
    ):
        path, engine = tmp_path / f"{number}.zip", replace(engine_of(store), keyring=ring)
        made = backup(engine, ZipArchive(ring), path, Order(is_sealed=is_sealed), quiet)
        with closing(SqliteStore(tmp_path / f"{number}.restored")) as restored:
            told = restore(replace(engine_of(restored), keyring=ring), ZipArchive(ring), path, Wish(), quiet)
            assert told.counts == made.manifest.counts
            for org in served:
                rows, found = content(store, org)[0], content(restored, org)[0]
                assert found == {**rows, **dict.fromkeys(PASSING_TABLES[:-1], 0)}
                assert any(found.values())
            assert not any(content(restored, absent)[0].values())
            assert notes_of(restored, ORG) == notes_of(store, ORG) != []
            assert receipts_of(restored) == receipts_of(store) != []
