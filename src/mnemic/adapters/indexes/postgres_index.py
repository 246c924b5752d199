"""Searches in PostgreSQL: words with postings and exact statistics, vectors with comparison or HNSW. No partition is in
memory. The database proposes rows and returns exact numbers, from which the engine computes the scores.
"""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from mnemic.adapters.indexes.postgres_link import SQL, Graphs, Link, Run, Vector, graph_name
from mnemic.adapters.indexes.postgres_rows import ENTRY, RECORD, SAMPLE_SPAN, PartitionWriter, hash_text
from mnemic.adapters.indexes.views import Evidence, checked, joined, nothing
from mnemic.adapters.indexes.words import Counted
from mnemic.adapters.stores.postgres.connections import Target
from mnemic.adapters.stores.postgres.connections import query as trusted
from mnemic.errors import BackendError
from mnemic.model.candidates import DOCUMENT, MESSAGE, Candidates, Change, Floats, IndexQuery, Nearness, Surroundings
from mnemic.model.health import Condition, Finding
from mnemic.model.scope import Partition
from mnemic.ports.index import Index, IndexCapabilities, ServedIndex
from mnemic.ranking.bm25 import Bm25, CollectionStatistics, inner, products
from mnemic.text.analyser import Analyser

COMPARED_ROWS = 4_096
"""Up to this number of rows, all vectors are compared with the query."""
SAMPLE_ROWS = 2_048
"""The number of sampled vectors for the mean and deviation of the cosines in larger partitions."""
MOST_SAMPLES = 16
"""Samples kept in memory: 3 MB each with 384 dimensions."""
GRAPH_ROWS = 8_192
"""Partitions with more rows get an HNSW index."""
ANALYSED_ROWS = 1_000
"""After this many changes at once, the server's statistics are updated, because its query plans depend on them."""
_MOST_VERSIONS = 65_536  # partitions; limits the cache's memory; a full cache is emptied
_BM25 = Bm25()
_Slots = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Opened:
    """A partition at `version`, and the entries of the query's terms. `seen` and `wanted`: groups of visible rows, and
    of rows that may be found. `admitted`: the only slots that may be found; None: all.
    """

    key: dict[str, Any]
    version: int
    items: int
    total_length: float
    has_talk: bool
    seen: list[int]
    wanted: list[int]
    wanted_rows: int
    admitted: _Slots | None
    expired: list[int]
    entries: list[NDArray[Any]]
    counted: Counted


@dataclass(frozen=True, slots=True)
class _Near:
    slots: _Slots
    population: tuple[int, float, float]


class PostgresIndex:
    """The `Index` port over tables next to the store's, at the same `target`. `spaces`: the ids of the vector spaces,
    main space first; their vectors are the store's. `owner_of` returns an index partition's partition in the store.
    Above `keyword_rows` rows that share a term, the best so many are candidates, with exact sums over all.
    """

    capabilities = IndexCapabilities(has_vectors=True, is_exact=False, is_durable=True)

    def __init__(
        self,
        target: Target,
        *,
        spaces: Sequence[str],
        analyser: str,
        owner_of: Callable[[Partition], Partition],
        keyword_rows: int = 1_000,
    ) -> None:
        self._link = Link(target)
        self._graphs = Graphs(target, COMPARED_ROWS)
        self._spaces, self._analyser, self._owner_of = tuple(spaces), analyser, owner_of
        self._keyword_rows = keyword_rows
        self._told: dict[Partition, int] = {}
        self._samples: dict[tuple[object, ...], tuple[int, Floats]] = {}
        self._guard = threading.Lock()

    def version(self, partition: Partition) -> int:
        with self._link.transaction([partition.org]) as run:
            row = run(SQL["version"], self._key(partition)).fetchone()
        held = 0 if row is None else int(row[0])
        with self._guard:
            if len(self._told) >= _MOST_VERSIONS:
                self._told.clear()
            self._told[partition] = held
        return held

    def apply(self, partition: Partition, changes: Sequence[Change], version: int) -> None:
        """As in the port. The partition's row is the lock, so a second process with the same changes writes nothing."""
        with self._guard:
            since = self._told.pop(partition, None)
        key = self._key(partition)
        with self._link.transaction([partition.org], is_writing=True) as run:
            run(SQL["begin"], key)
            row = run(SQL["lock"], key).fetchone()
            if row is not None and row[3] != self._analyser:
                run(SQL["drop"], key)
                run(SQL["begin"], key)
                row = run(SQL["lock"], key).fetchone()
            if row is None:  # erased by another process
                return
            pid, held, next_slot, _ = row
            if version <= held or (since is not None and since > held):
                return
            place = {"pid": pid, "org": partition.org, "side": key["side"]}
            writer = PartitionWriter(run, place, next_slot)
            writer.write(changes)
            run(SQL["advance"], place | {"version": version, "next_slot": writer.next_slot})
            if len(changes) > ANALYSED_ROWS:
                run(SQL["analyse"])
        if any(change.is_gone for change in changes):
            self._sweep()

    def search(self, query: IndexQuery) -> Candidates:
        terms = len(query.terms)
        with self._link.transaction([partition.org for partition in query.partitions]) as run:
            opened = [self._open(run, partition, query) for partition in query.partitions]
            statistics = [each.counted.statistics for each in opened if each is not None]
            chosen = _choose_by_words(
                [each for each in opened if each], statistics, max(self._keyword_rows, query.dense_limit)
            )
            vectors = [*(query.vector, *query.further)[: len(self._spaces)]]
            vectors += [None] * (len(self._spaces) - len(vectors))
            found: list[list[Evidence]] = []
            for each in opened:
                if each is None:
                    found.append([nothing(terms)] * max(len(vectors), 1))
                else:
                    found.append(self._find(run, query, each, vectors, *next(chosen)))
        main, *further = ([parts[place] for parts in found] for place in range(max(len(vectors), 1)))
        beside = [joined(parts, terms) for parts in further]
        return replace(
            joined(main, terms),
            further=tuple(
                Nearness(cosines=b.cosines, vectors=b.vectors, mean=b.cosine_mean, deviation=b.cosine_deviation)
                for b in beside
            ),
        )

    def drop(self, partition: Partition) -> None:
        with self._guard:
            self._told.pop(partition, None)
        with self._link.transaction([partition.org], is_writing=True) as run:
            run(SQL["drop"], self._key(partition))
        self._sweep()

    def settle(self) -> None:
        self._graphs.wait()

    def close(self) -> None:
        self._graphs.close()
        self._link.close()

    def holds(self, partitions: Collection[Partition]) -> bool:
        return any(self.version(partition) for partition in partitions)

    def is_behind(self, partitions: Collection[Partition]) -> bool:
        """False: applied changes are committed, and failures are raised."""
        del partitions
        return False

    def diagnose(self, known: Collection[Partition]) -> list[Finding]:
        del known  # an erased owner's index is deleted with it
        try:
            with self._link.transaction(None) as run:
                partitions, rows, graphs = run(SQL["summary"]).fetchone() or (0, 0, 0)
                self._graphs.sweep(run)
        except BackendError as error:
            return [Finding("index", Condition.BROKEN, str(error), "start the server, or check its address")]
        told = f"{self._link.place} searches {partitions} partitions with {rows} rows, {graphs} of them with HNSW"
        return [Finding("index", Condition.OK, told)]

    def _sweep(self) -> None:
        """Drop the HNSW indexes that are no longer needed, for example after rows were removed."""
        with self._link.transaction(None) as run:
            self._graphs.sweep(run)

    def _key(self, partition: Partition) -> dict[str, object]:
        owner = self._owner_of(partition)
        return {
            "org": owner.org,
            "level": owner.level.value,
            "owner": owner.owner,
            "side": owner != partition,
            "analyser": self._analyser,
        }

    @staticmethod
    def _dims(run: Run, space: str) -> int:
        row = run(SQL["dims"], {"space": space}).fetchone()
        return 0 if row is None else int(row[0])

    def _open(self, run: Run, partition: Partition, query: IndexQuery) -> _Opened | None:
        """A partition's state with the words of a query. None if nothing was ever applied to it."""
        rows = run(SQL["opened"], self._key(partition)).fetchall()
        if not rows:
            return None
        pid, version = rows[0][:2]
        key: dict[str, Any] = {"pid": pid, "side": self._owner_of(partition) != partition, "now": query.now}
        seen = {
            number: (kind, items, length)
            for _, _, number, agent, is_active, kind, items, length in rows
            if number is not None and agent in ("", query.agent or "") and (is_active or query.include_inactive)
        }
        wanted = [number for number, (kind, *_) in seen.items() if not query.kinds or kind in query.kinds]
        expired = run(SQL["expired"], key).fetchall()
        gone = [np.frombuffer(record, dtype=RECORD)["length"][0] for _, group, record in expired if group in seen]
        hashes = [hash_text(term) for term in query.terms]
        held = dict(run(SQL["postings"], key | {"terms": hashes}).fetchall()) if hashes else {}
        entries = [_sort_entries(held.get(term, b"")) for term in hashes]
        dead = [slot for slot, *_ in expired]
        items = sum(items for _, items, _ in seen.values()) - len(gone)
        length = float(sum(length for *_, length in seen.values()) - sum(map(int, gone)))
        frequencies = [int(np.count_nonzero(_is_among(each, [*seen], dead))) for each in entries]
        return _Opened(
            key=key,
            version=version,
            items=items,
            total_length=length,
            has_talk=any(kind in (MESSAGE, DOCUMENT) for kind, *_ in seen.values()),
            seen=[*seen],
            wanted=wanted,
            wanted_rows=sum(seen[number][1] for number in wanted),
            admitted=_admitted(run, query, key, seen),
            expired=dead,
            entries=entries,
            counted=Counted(
                query.terms,
                [each["slot"] for each in entries],
                [each["count"].astype(np.int32) for each in entries],
                CollectionStatistics.of(items, length, frequencies),
            ),
        )

    def _find(
        self,
        run: Run,
        query: IndexQuery,
        opened: _Opened,
        vectors: Sequence[Floats | None],
        words: _Slots,
        sums: tuple[float, float] | None,
    ) -> list[Evidence]:
        """The evidence of a partition, once per space."""
        near = [self._nearest(run, query, opened, *each) for each in zip(self._spaces, vectors, strict=True)]
        slots = np.unique(np.concatenate([words, *(each.slots for each in near)]))
        first = next(zip(self._spaces, vectors, strict=True), ("", None))
        slots, records, ids, named, cosines = _read_rows(run, query, opened, slots, first)
        rest = list(zip(self._spaces, vectors, strict=True))[1:]
        beside = [self._cosines(run, opened, slots, *each) for each in rest]
        main = Evidence(
            ids=ids,
            counts=opened.counted.of(slots),
            lengths=records["length"].astype(np.float32),
            cosines=cosines,
            importances=records["importance"].copy(),
            observed=records["observed"].copy(),
            flagged=records["is_flagged"].copy(),
            items=opened.items,
            total_length=opened.total_length,
            document_frequencies=opened.counted.statistics.document_frequencies,
            population=near[0].population if near else (0, 0.0, 0.0),
            version=opened.version,
            surroundings=_surroundings(records, named),
            keyword_sums=sums,
        )
        further = zip(near[1:], beside, strict=True)
        return [main, *(replace(main, cosines=each, population=found.population) for found, each in further)]

    def _nearest(self, run: Run, query: IndexQuery, opened: _Opened, space: str, vector: Floats | None) -> _Near:
        """The rows nearest to a vector, and the statistics of the visible vectors, or of a sample if there are many."""
        dims = 0 if vector is None else self._dims(run, space)
        if vector is None or not dims or not opened.items:
            return _Near(np.zeros(0, dtype=np.int64), (0, 0.0, 0.0))
        asked = opened.key | {
            "space": space,
            "vector": Vector(checked(dims, vector)),
            "limit": max(query.dense_limit, 0),
            "seen": opened.seen,
            "wanted": opened.wanted,
            "admitted": None if opened.admitted is None else opened.admitted.tolist(),
        }
        wanted = opened.wanted_rows if opened.admitted is None else len(opened.admitted)
        name = graph_name(opened.key["pid"], space)
        is_large = opened.items > COMPARED_ROWS
        if not (is_large and run(SQL["graphs"], {"names": [name]}).fetchone()):
            if opened.items > GRAPH_ROWS:
                self._graphs.ask(opened.key["pid"], space, dims)
            count, total, squares, packed = run(SQL["compared"], asked).fetchone() or (0, 0.0, 0.0, None)
            return _Near(_unpack_slots(packed), (count, total, squares))
        if wanted <= GRAPH_ROWS:
            packed = _one(run(SQL["wanted_near"], asked))
        else:
            parts = {"pid": sql.Literal(asked["pid"]), "space": sql.Literal(space), "dims": sql.Literal(dims)}
            packed = _one(run(sql.SQL(trusted(SQL["near"])).format(**parts), asked))
        below = SAMPLE_SPAN * SAMPLE_ROWS // opened.items
        cosines = products(self._sample(run, opened, asked | {"below": below}), vector).astype(np.float64)
        scale = SAMPLE_SPAN / below
        total, squares = float(cosines.sum()), inner(cosines, cosines)
        return _Near(_unpack_slots(packed), (round(len(cosines) * scale), total * scale, squares * scale))

    def _sample(self, run: Run, opened: _Opened, asked: Mapping[str, Any]) -> Floats:
        """Vectors of the same visible rows for every search of a version, `(n, dims)`. The last few are kept."""
        key = (asked["pid"], asked["side"], asked["space"], tuple(opened.seen))
        with self._guard:
            version, sample = self._samples.pop(key, (0, None))
        if sample is None or version != opened.version:
            packed = _one(run(SQL["sample"], asked)) or b""
            width = asked["vector"].values.shape[0] + 1  # the first four bytes are the number of dimensions
            sample = np.frombuffer(packed, dtype=">f4").reshape(-1, width)[:, 1:].astype(np.float32)
        with self._guard:
            self._samples[key] = (opened.version, sample)
            if len(self._samples) > MOST_SAMPLES:
                del self._samples[next(iter(self._samples))]
        return sample

    def _cosines(self, run: Run, opened: _Opened, slots: _Slots, space: str, vector: Floats | None) -> Floats:
        if vector is None or not len(slots):
            return np.full(len(slots), np.nan, dtype=np.float32)
        asked = opened.key | {"space": space, "vector": Vector(vector), "slots": slots.tolist()}
        return np.frombuffer(_one(run(SQL["cosines"], asked)) or b"", dtype=">f4").astype(np.float32)


def open_postgres_index(
    url: str, spaces: Sequence[str], lock_wait_s: float, owner_of: Callable[[Partition], Partition]
) -> PostgresIndex:
    """Open an index for the store at `url`. The store must be open, because its migrations create the tables."""
    target = Target(
        url=url, schema="mnemic", pool_size=10, connect_timeout_s=10.0, lock_wait_s=lock_wait_s, statement_timeout_s=0.0
    )
    return PostgresIndex(target, spaces=spaces, analyser=Analyser().name, owner_of=owner_of)


_: type[Index] = PostgresIndex
_served: type[ServedIndex] = PostgresIndex


def _one(cursor: Any) -> Any:
    row = cursor.fetchone()
    return None if row is None else row[0]


def _unpack_slots(packed: bytes | None) -> _Slots:
    return np.frombuffer(packed or b"", dtype=">i4").astype(np.int64)


def _sort_entries(packed: bytes) -> NDArray[Any]:
    entries = np.frombuffer(packed, dtype=ENTRY)
    return entries[np.argsort(entries["slot"])]


def _is_among(entries: NDArray[Any], groups: Sequence[int], dead: Sequence[int]) -> NDArray[np.bool_]:
    """A mask of the entries that are live rows of these groups."""
    is_in = np.zeros(1 << 16, dtype=np.bool_)
    is_in[groups] = True
    found = is_in[entries["group"]]
    return found & ~np.isin(entries["slot"], dead) if dead else found


def _admitted(
    run: Run, query: IndexQuery, key: dict[str, Any], seen: Mapping[int, tuple[str, int, int]]
) -> _Slots | None:
    """The slots of the allowed items, and of messages up to a time. None: no restriction."""
    if query.allowed is None:
        return None
    until = query.messages_until
    messages = [] if until is None else [number for number, (kind, *_) in seen.items() if kind == MESSAGE]
    asked = key | {"allowed": [*query.allowed], "messages": messages, "messages_until": until or 0}
    return _unpack_slots(_one(run(SQL["admitted"], asked)))


def _choose_by_words(
    opened: Sequence[_Opened], statistics: Sequence[CollectionStatistics], limit: int
) -> Iterator[tuple[_Slots, tuple[float, float] | None]]:
    """For each partition, the wanted rows that share a term: all rows, or the best by BM25 with sums over all rows."""
    whole = CollectionStatistics.merged(statistics)
    scored = [_score(each, whole) for each in opened]
    if all(len(slots) <= limit for slots, _ in scored):
        yield from ((slots, None) for slots, _ in scored)
        return
    for slots, scores in scored:
        sums = float(scores.sum()), inner(scores, scores)
        best = np.argpartition(scores, len(slots) - limit)[-limit:] if len(slots) > limit else slice(None)
        yield slots[best], sums


def _score(opened: _Opened, whole: CollectionStatistics) -> tuple[_Slots, NDArray[np.float64]]:
    """The wanted rows that share a term, and their BM25."""
    idf, slots, weights = _BM25.idf(whole), [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.float32)]
    for entries, weight in zip(opened.entries, idf, strict=True):
        is_wanted = _is_among(entries, opened.wanted, opened.expired)
        if opened.admitted is not None:
            is_wanted &= np.isin(entries["slot"], opened.admitted)
        mine = entries[is_wanted]
        slots.append(mine["slot"])
        weights.append(_BM25.saturated(mine["count"], mine["length"], whole.average_length) * weight)
    found, places = np.unique(np.concatenate(slots), return_inverse=True)
    return found.astype(np.int64), np.bincount(places, np.concatenate(weights), len(found)).astype(np.float64)


def _read_rows(
    run: Run, query: IndexQuery, opened: _Opened, slots: _Slots, first: tuple[str, Floats | None]
) -> tuple[_Slots, NDArray[Any], NDArray[np.object_], NDArray[np.bool_], Floats]:
    """(slots, records, ids, whether the query names the author, cosines in the `first` space) of rows and of the
    messages around them.
    """
    admitted = None if opened.admitted is None else opened.admitted.tolist()
    asked = opened.key | {"words": sorted(query.words), "wanted": opened.wanted, "admitted": admitted}
    asked |= {"space": first[0], "vector": None if first[1] is None else Vector(first[1])}
    everything = slots
    if query.neighbours and opened.has_talk and len(slots):
        beside = asked | {"slots": slots.tolist(), "steps": query.neighbours}
        everything = np.union1d(slots, _unpack_slots(_one(run(SQL["beside"], beside))))
    packed, ids, named, cosines = run(SQL["rows"], asked | {"slots": everything.tolist()}).fetchone() or (None,) * 4
    records = np.frombuffer(packed or b"", dtype=RECORD)
    is_kept = np.isin(records["slot"], slots)
    before, after = _find_adjacent(records)
    for _ in range(query.neighbours):
        reached = is_kept.copy()
        for places in (before, after):
            reached[places[is_kept & (places >= 0)]] = True
        is_kept = reached
    return (
        records["slot"][is_kept].astype(np.int64),
        records[is_kept],
        np.array(ids or [], dtype=np.object_)[is_kept],
        np.frombuffer(named or b"", dtype=np.bool_)[is_kept],
        np.frombuffer(cosines or b"", dtype=">f4").astype(np.float32)[is_kept],
    )


def _find_adjacent(records: NDArray[Any]) -> tuple[_Slots, _Slots]:
    """For each row, the positions of the messages just before and after it, or -1 if they are not among these rows."""
    before, after = np.full((2, len(records)), -1, dtype=np.int64)
    order = np.lexsort((records["position"], records["session"]))
    session, position = records["session"][order], records["position"][order]
    follows = (session[1:] == session[:-1]) & (session[1:] != 0) & (position[1:] == position[:-1] + 1)
    before[order[1:][follows]], after[order[:-1][follows]] = order[:-1][follows], order[1:][follows]
    return before, after


def _surroundings(records: NDArray[Any], is_named: NDArray[np.bool_]) -> Surroundings:
    before, after = _find_adjacent(records)
    numbers = np.unique(records["session"], return_inverse=True)[1].astype(np.int64)
    return Surroundings(
        before=before,
        after=after,
        sessions=np.where(records["session"] == 0, -1, numbers),
        is_named=is_named,
        is_assistant=records["is_assistant"].copy(),
        is_question=records["is_question"].copy(),
    )
