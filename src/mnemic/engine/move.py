"""Moves one org to another store while it is in use.

Passes copy the rows, then later changes, until few are left. Then the org's writes are refused with a retryable error.
After a last pass, both stores are compared row by row, and the target takes over. If a move is killed, the same call
continues it: every pass makes the target's rows equal to the source's, whatever the target contains.
"""

import hashlib
import marshal
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from mnemic.engine.access import ClaimingCopyingStore
from mnemic.engine.engine import Engine, new_id
from mnemic.engine.erase import COPIES_LEFT, Plan, carried_out
from mnemic.engine.indexing import forget, reached
from mnemic.errors import ConflictError, DamagedError, InvalidInputError, NotFoundError, UnsupportedError
from mnemic.model.records import Placement, PlacementState, Receipt
from mnemic.model.scope import Level, Partition
from mnemic.ports.moving import MovingStore, Transfer
from mnemic.ports.store import AUDIT, KEYS, LOG_TABLES, RECEIPTS, Rows, Store

_ROWS_AT_ONCE = 500  # per transaction of the target, so that its other orgs wait for milliseconds
_FEW_ROWS = 200  # changes that a pass may leave for the write stop: a few milliseconds of work
_MOST_PASSES = 8  # before the write stop; the limit for an org that is written faster than it is copied
_MOST_COMPARISONS = 3  # each after a pass: rows that expire during a pass differ
_PARTITIONS, _REQUESTS, _TOKENS = "partitions", "requests", "oauth_tokens"
_NUMBERS = {"seq", "version", "horizon"}
"""Columns in which each store has its own numbers."""

_UNFINISHED = (PlacementState.LEAVING, PlacementState.STOPPED)

Told = Callable[[str, int, int], object]
"""Progress callback: `(step, rows done, rows in all)`."""


@dataclass(frozen=True, slots=True)
class MoveReport:
    """A completed move. `rows` and `digest` describe both stores, which were equal while writes were stopped. `digest`
    is SHA-256 in hex. `receipt`: the receipt of the erasure from the source, if any.
    """

    org: str
    source: str
    target: str
    rows: Mapping[str, int]
    digest: str
    passes: int
    stopped_s: float
    seconds: float
    receipt: Receipt | None = None


def moving(store: Store) -> MovingStore:
    """The store as a `MovingStore`. Raises `UnsupportedError` if orgs cannot leave or enter it."""
    plain = store.copying if isinstance(store, ClaimingCopyingStore) else store
    if not isinstance(plain, MovingStore):
        raise UnsupportedError("orgs move only between SQLite and PostgreSQL stores", capability="move")
    return plain


def move_org(engine: Engine, target: Store, org: str, *, is_erasing: bool = False, told: Told) -> MoveReport:
    """Move an org from the engine's store to `target`. Repeating a completed move only erases, if `is_erasing`. Raises
    `NotFoundError` for an unknown org, `ConflictError` if the target has an org of this name or another process moves
    it, and `DamagedError` if the stores differ at the end. The source then continues to serve the org.
    """
    engine.accesses.flush(engine.store)
    move = _Move(engine, moving(engine.store), moving(target), org, told)
    report = move.run()
    return replace(report, receipt=move.erase()) if is_erasing else report


def cancel_move(engine: Engine, target: Store | None, org: str) -> None:
    """Cancel a move that has not switched. The source serves the org, and its rows are removed from the target. If the
    target is lost (None), the source serves the org again with its own rows. Raises `ConflictError` if there is no move
    to cancel.
    """
    source = moving(engine.store)
    if target is not None:
        _Move(engine, source, moving(target), org, _ignore).cancel()
        return
    with source.transfer(org) as transfer:
        here = transfer.find()
        if here is None or here.state not in (*_UNFINISHED, PlacementState.MOVED):
            raise ConflictError(f"org {org} is not moving from {source.address}")
        transfer.put(None)


def describe_org(store: MovingStore, org: str) -> tuple[Mapping[str, int], str]:
    """An org's rows by table and their digest, as in a `MoveReport`."""
    with store.rows(is_whole=True) as rows:
        return _digest(_Side(rows, org))


def _ignore(_step: str, _done: int, _total: int) -> None:
    """A progress callback that does nothing."""


class _Move:
    def __init__(self, engine: Engine, source: MovingStore, target: MovingStore, org: str, told: Told) -> None:
        self._engine, self._source, self._target, self._org, self._told = engine, source, target, org, told
        self._token = new_id(engine.clock.now())
        if source.address == target.address:
            raise InvalidInputError("source and target are the same store; choose another target")

    def run(self) -> MoveReport:
        start = time.perf_counter()
        source, target = self._source.address, self._target.address
        if self._is_done():
            self._copy_audit()
            return MoveReport(self._org, source, target, {}, "", 0, 0.0, time.perf_counter() - start)
        self._begin()
        passes, changes = 0, _FEW_ROWS + 1
        while changes > _FEW_ROWS and passes < _MOST_PASSES:
            changes = self._pass("copying" if passes == 0 else "catching up")
            passes += 1
        stop = time.perf_counter()
        with ExitStack() as if_it_fails:
            self._note(self._source, PlacementState.STOPPED, target)
            if_it_fails.callback(self._note, self._source, PlacementState.LEAVING, target)
            counts, digest = self._make_equal()
            if_it_fails.pop_all()
        self._told("switching", 0, 1)
        self._note(self._target, PlacementState.HERE, source)
        self._told("switching", 1, 1)
        self._note(self._source, PlacementState.MOVED, target)
        self._copy_audit()
        end = time.perf_counter()
        return MoveReport(self._org, source, target, counts, digest, passes, end - stop, end - start)

    def erase(self) -> Receipt:
        """Erase the org's rows from the source, except audit log and receipts. Keys of sealed backups are kept, because
        the target may use the same keyring.
        """
        engine, now = self._engine, self._engine.clock.now()
        if not self._has_arrived():
            raise ConflictError(f"{self._target.address} does not have org {self._org}; nothing was erased")
        with self._source.rows(is_whole=True) as rows:
            side = _Side(rows, self._org)
            keys = {table: [*side.read(table)] for table in (KEYS, _REQUESTS, _TOKENS)}
            partitions = [*side.owners.values()]
        self._told("erasing", 0, len(partitions))
        with self._source.transfer(self._org) as transfer:
            placement = transfer.find()
            if placement is None or placement.state is not PlacementState.MOVED:
                raise ConflictError(f"org {self._org} has not moved from this store; nothing was erased")
            plan, key = Plan(partitions=partitions), transfer.work.erasure.key()
            hashes = tuple(sorted(plan.hashes(key)))
            counts = carried_out(transfer.work, plan, now)
            for table, found in keys.items():
                transfer.remove(table, side.keys[table], found)
                counts |= {table: len(found)} if found else {}
            receipt = Receipt(now, counts, id=new_id(now), org=self._org, hashes=hashes)
            if partitions:
                transfer.work.erasure.add(receipt)
        for partition in partitions:
            forget(engine, partition)
        is_gone = engine.window is None or not partitions or engine.window.forget(partitions)
        left = (*engine.store.scrub(), *reached(engine, partitions), *(() if is_gone else (COPIES_LEFT,)))
        return replace(receipt, notes=left)

    def cancel(self) -> None:
        """Release the source before clearing the target, so an interrupted call leaves only rows to remove."""
        (here, there), source, target = self._placements(), self._source.address, self._target.address
        is_leaving = here is not None and here.state in _UNFINISHED and here.place == target
        is_arriving = there is not None and there.state is PlacementState.ARRIVING
        has_left = there is not None if is_leaving else here is not None and here.state is PlacementState.MOVED
        if has_left and not is_arriving:
            raise ConflictError(f"org {self._org} has already left; move it back, or pass --lost if {target} is lost")
        if not (is_leaving or is_arriving) or (is_arriving and there and there.place != source):
            raise ConflictError(f"org {self._org} is not moving to {target}")
        if is_arriving:  # first, so that another process cannot switch
            self._take(self._target, PlacementState.ARRIVING, source, there)
        if is_leaving:
            self._put(self._source, None, here)
        if is_arriving:
            self._clear_target()

    def _clear_target(self) -> None:
        with self._target.rows(is_whole=True) as rows:
            side = _Side(rows, self._org)
            for table in [*side.keys][::-1]:
                if table not in LOG_TABLES:
                    self._apply(table, side, side.read(table), _remove)
        with self._target.transfer(self._org) as transfer:
            self._check_token(transfer)
            transfer.put(None)

    def _is_done(self) -> bool:
        """True if an earlier call switched. Records this in the source if that call was killed before it could."""
        here, there = self._placements()
        if here is None or here.state is PlacementState.HERE:
            return False
        if here.state is PlacementState.ARRIVING:
            raise ConflictError(f"org {self._org} is still arriving from {here.place}")
        if here.place != self._target.address:
            done = "has moved" if here.state is PlacementState.MOVED else "is already moving"
            raise ConflictError(f"org {self._org} {done} to {here.place}")
        if here.state is PlacementState.STOPPED and there is not None and there.state is not PlacementState.ARRIVING:
            self._take(self._source, PlacementState.MOVED, self._target.address, here)
            return True
        return here.state is PlacementState.MOVED

    def _begin(self) -> None:
        here, there = self._placements()
        if not self._has_rows(self._source):
            raise NotFoundError(f"org {self._org} has no rows in {self._source.address}")
        if there is not None and there.state is PlacementState.ARRIVING:
            if there.place != self._source.address:
                raise ConflictError(f"org {self._org} is already arriving from {there.place}")
        elif (there is None or there.state is not PlacementState.MOVED) and self._has_rows(self._target):
            raise ConflictError(f"{self._target.address} already has an org named {self._org}")
        self._take(self._target, PlacementState.ARRIVING, self._source.address, there)
        self._take(self._source, PlacementState.LEAVING, self._target.address, here)

    def _has_rows(self, store: MovingStore) -> bool:
        with store.rows(is_whole=True) as rows:
            return bool(_Side(rows, self._org).owners) or any(True for _ in rows.of(KEYS, self._org))

    def _has_arrived(self) -> bool:
        """True if the target has the org, or has moved it on."""
        there = self._placements()[1]
        return self._has_rows(self._target) if there is None else there.state is not PlacementState.ARRIVING

    def _placements(self) -> list[Placement | None]:
        stores = (self._source, self._target)
        return [next((each for each in store.placements() if each.org == self._org), None) for store in stores]

    def _take(self, store: MovingStore, state: PlacementState, place: str, seen: Placement | None) -> None:
        """Take over the move with this process's token, if the placement is unchanged since it was read."""
        self._put(store, self._placement(state, place), seen)

    def _put(self, store: MovingStore, placement: Placement | None, seen: Placement | None) -> None:
        with store.transfer(self._org) as transfer:
            if transfer.find() != seen:
                raise ConflictError(f"another process is moving org {self._org}; try again when it has finished")
            transfer.put(placement)

    def _note(self, store: MovingStore, state: PlacementState, place: str) -> None:
        with self._source.rows(is_whole=True) as rows, store.transfer(self._org) as transfer:
            self._check_token(transfer)
            if state is PlacementState.HERE:
                transfer.renew(_Side(rows, self._org).newest)
            transfer.put(self._placement(state, place))

    def _placement(self, state: PlacementState, place: str) -> Placement:
        return Placement(org=self._org, state=state, place=place, token=self._token, at=self._engine.clock.now())

    def _check_token(self, transfer: Transfer) -> None:
        placement = transfer.find()
        if placement is None or placement.token != self._token:
            raise ConflictError(f"another process has taken over the move of org {self._org}")

    def _pass(self, step: str) -> int:
        """Make the target's rows equal to a snapshot of the source. Returns the number of rows that differed."""
        with self._source.rows(is_whole=True) as ours, self._target.rows(is_whole=True) as theirs:
            here, there = _Side(ours, self._org), _Side(theirs, self._org)
            found = {table: _find_differences(here, there, table) for table in here.keys}
            total = done = sum(map(len, (each for difference in found.values() for each in difference)))
            for table in [*here.keys][::-1]:
                gone = found[table].gone
                self._apply(table, there, there.pick(table, gone), _remove)
            for table, (changed, fresh, _) in found.items():
                self._apply(table, here, here.pick(table, changed), _replace)
                self._apply(table, here, here.pick(table, fresh), _insert)
                done -= len(changed) + len(fresh)
                self._told(step, total - done, total)
        return total

    def _apply(self, table: str, side: "_Side", values: Iterator[Mapping[str, object]], act: "_Act") -> None:
        """Apply the rows. A unique value may have moved between two, so conflicting rows wait for the rest."""
        waiting: list[Mapping[str, object]] = []
        while some := [*islice(values, _ROWS_AT_ONCE)]:
            waiting += self._apply_some(table, side.keys[table], some, act)
        while waiting:
            left = self._apply_some(table, side.keys[table], waiting, act)
            if len(left) == len(waiting):
                raise ConflictError(f"rows of {table} have exchanged unique values; change one of them and try again")
            waiting = left

    def _apply_some(
        self, table: str, key: Sequence[str], values: Sequence[Mapping[str, object]], act: "_Act"
    ) -> list[Mapping[str, object]]:
        """Apply these rows. Returns those in conflict with others."""
        try:
            with self._target.transfer(self._org) as transfer:
                self._check_token(transfer)
                act(transfer, table, key, values)
        except ConflictError:
            with self._target.transfer(self._org) as transfer:
                self._check_token(transfer)  # raises if the token was the conflict
            half = len(values) // 2
            parts = (values[:half], values[half:]) if half else ()
            return [row for part in parts for row in self._apply_some(table, key, part, act)] if parts else [*values]
        return []

    def _copy_audit(self) -> None:
        """Copy audit log entries added after the last pass, unless the target has moved the org on. Writes to the audit
        log are never refused.
        """
        source, there = self._source.address, self._placements()[1]
        if there is None or there.state is not PlacementState.HERE or there.place != source:
            return
        self._take(self._target, PlacementState.HERE, source, there)
        with self._source.rows(is_whole=True) as ours, self._target.rows(is_whole=True) as theirs:
            here = _Side(ours, self._org)
            late = _find_differences(here, _Side(theirs, self._org), AUDIT).fresh
            self._apply(AUDIT, here, here.pick(AUDIT, late), _insert)

    def _make_equal(self) -> tuple[dict[str, int], str]:
        """Make the stores equal. Returns row counts by table, and the digest. Raises `DamagedError` if this fails."""
        differing = list[str]()
        for _ in range(_MOST_COMPARISONS):
            self._pass("stopped")
            counts, digest, differing = self._compare()
            if not differing:
                return counts, digest
        raise DamagedError(f"the stores differ in {', '.join(differing)}; org {self._org} was not moved")

    def _compare(self) -> tuple[dict[str, int], str, list[str]]:
        """Row counts by table, the digest, and the tables that differ."""
        self._told("comparing", 0, 1)
        with self._source.rows(is_whole=True) as ours, self._target.rows(is_whole=True) as theirs:
            here, there = _Side(ours, self._org), _Side(theirs, self._org)
            (counts, digest), (others, other) = _digest(here), _digest(there)
            lost = [RECEIPTS] if any(_find_differences(here, there, RECEIPTS)[:2]) else []
        differing = [*lost, *(table for table, rows in counts.items() if others[table] != rows)]
        return counts, digest, differing or ["rows"] * (digest != other)


_Act = Callable[[Transfer, str, Sequence[str], Sequence[Mapping[str, object]]], None]


def _insert(transfer: Transfer, table: str, key: Sequence[str], values: Sequence[Mapping[str, object]]) -> None:
    transfer.write(table, key, values, is_new=True)


def _replace(transfer: Transfer, table: str, key: Sequence[str], values: Sequence[Mapping[str, object]]) -> None:
    transfer.write(table, key, values, is_new=False)


def _remove(transfer: Transfer, table: str, key: Sequence[str], values: Sequence[Mapping[str, object]]) -> None:
    transfer.remove(table, key, values)


class _Side:
    """An org's rows in one store, as mappings with partitions instead of numbers, which differ between stores."""

    def __init__(self, rows: Rows, org: str) -> None:
        self._rows, self._org, self.keys = rows, org, rows.keys
        columns = rows.tables[_PARTITIONS]
        found = [dict(zip(columns, row, strict=True)) for row in rows.of(_PARTITIONS, org)]
        self.owners = {row["pid"]: Partition(org, Level(str(row["level"])), str(row["owner"])) for row in found}
        self._tags = {pid: f"{each.level.value}\x1f{each.owner}" for pid, each in self.owners.items()}
        self._tagged = {self._tags[pid]: each for pid, each in self.owners.items()}
        self.newest = max((int(str(row["version"])) for row in found), default=0)

    def columns(self, table: str) -> list[str]:
        """The columns that both stores have in common, by name."""
        own = {"pid"} if table == _PARTITIONS else set[str]()
        return sorted(name for name in self._rows.tables[table] if name not in _NUMBERS | own)

    def plain(self, table: str) -> Iterator[list[Any]]:
        """The rows of a table with texts instead of partitions, in insertion order if the store keeps it."""
        columns = self.columns(table)
        places = {name: at for at, name in enumerate(self._rows.tables[table])}
        order = [places[name] for name in columns]
        pids = [at for at, name in enumerate(columns) if name.endswith("pid")]
        for row in self._rows.of(table, self._org):
            values = [row[at] for at in order]
            for at in pids:
                values[at] = self._tags[values[at]]
            yield values

    def read(self, table: str) -> Iterator[dict[str, object]]:
        """The rows of `plain` as mappings, with partitions."""
        return (self._to_mapping(table, row) for row in self.plain(table))

    def _to_mapping(self, table: str, row: Sequence[Any]) -> dict[str, object]:
        named = zip(self.columns(table), row, strict=True)
        return {name: self._tagged[value] if name.endswith("pid") else value for name, value in named}

    def identify(self, table: str) -> Iterator[tuple[bytes, bytes, list[Any]]]:
        """(key, digest, plain row) of each row. In a table without a key, equal rows are told apart by a number."""
        columns, seen = self.columns(table), Counter[bytes]()
        key = [columns.index(name) for name in self.keys[table]]
        for row in self.plain(table):
            digest = _hash(row)
            seen[digest] += not key
            yield _hash([row[at] for at in key] or [digest, seen[digest]]), digest, row

    def pick(self, table: str, keys: Collection[bytes]) -> Iterator[dict[str, object]]:
        """The rows with these keys."""
        found = (row for key, _, row in self.identify(table) if key in keys) if keys else ()
        return (self._to_mapping(table, row) for row in found)

    def is_ordered(self, table: str) -> bool:
        """True if the table keeps the rows' insertion order and readers can see it."""
        return "seq" in self._rows.tables[table] and "space" not in self._rows.tables[table]


class _Differences(NamedTuple):
    """Keys of the rows to replace, to insert and to remove."""

    changed: set[bytes]
    fresh: set[bytes]
    gone: set[bytes]


def _find_differences(here: _Side, there: _Side, table: str) -> _Differences:
    known = {key: digest for key, digest, _ in there.identify(table)}
    changed, fresh = set[bytes](), set[bytes]()
    for key, digest, _ in here.identify(table):
        held = known.pop(key, None)
        if held is None:
            fresh.add(key)
        elif held != digest:
            changed.add(key)
    return _Differences(changed, fresh, set() if table in LOG_TABLES else {*known})


def _digest(side: _Side) -> tuple[dict[str, int], str]:
    """Row counts by table, and a digest of all rows. It includes the rows' order within a partition if it is kept, but
    not the tables in `LOG_TABLES`, in which the target may have more rows.
    """
    counts, whole = dict[str, int](), hashlib.sha256()
    for table in sorted(side.keys.keys() - {*LOG_TABLES}):
        counts[table], total, places = 0, 0, Counter[object]()
        pid = side.columns(table).index("pid") if side.is_ordered(table) else None
        for row in side.plain(table):
            counts[table] += 1
            if pid is not None:
                places[row[pid]] += 1
                row.append(places[row[pid]])
            total += int.from_bytes(_hash(row), "big")
        whole.update(marshal.dumps((table, counts[table], total % (1 << 256)), 0))
    return counts, whole.hexdigest()


def _hash(row: list[Any]) -> bytes:
    """SHA-256 of some values. Version 0 of marshal gives equal values equal bytes."""
    return hashlib.sha256(marshal.dumps(row, 0)).digest()
