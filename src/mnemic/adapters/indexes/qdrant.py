"""Vectors in Qdrant and words in a local file: an index that holds no rows in memory and survives the process."""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from qdrant_client import QdrantClient

from mnemic.adapters.indexes.fts5 import Fts5Index
from mnemic.adapters.indexes.qdrant_points import DEFAULT_COLLECTION, QdrantLink, QdrantOptions, State, Wanted, prepare
from mnemic.adapters.indexes.qdrant_search import Looked, QdrantSearch, QdrantVectors, Sought, surroundings
from mnemic.adapters.indexes.views import Evidence, checked, joined
from mnemic.errors import BackendError, ConfigError
from mnemic.model.candidates import Candidates, Change, IndexQuery, Space
from mnemic.model.health import Condition, Finding
from mnemic.model.scope import Partition
from mnemic.ports.index import Index, IndexCapabilities, ServedIndex
from mnemic.ports.store import Store
from mnemic.text.analyser import Analyser

_MOST_VERSIONS = 65_536  # partitions; limits the cache's memory; a full cache is emptied
_log = logging.getLogger("mnemic.qdrant")


@dataclass(frozen=True, slots=True)
class Place:
    """The collection in a Qdrant (see `QdrantLink`) for vectors of `space` of the store with the id `store`. Several
    stores may share a collection without seeing each other.
    """

    url: str
    store: str
    space: Space
    collection: str = DEFAULT_COLLECTION
    api_key: str | None = field(default=None, repr=False)


class QdrantIndex:
    """The `Index` port over a Qdrant collection and `words`, whose file has the exact counts. A partition's version is
    the older of both. Words and Qdrant's graph propose rows; `words` decides which are returned, so that stale points
    are never candidates. Above `qdrant_search.SAMPLE_ROWS` rows, cosine statistics come from a sample.

    While Qdrant is down, only words find rows, and `Candidates.missing` reports it. Qdrant is updated afterwards.
    """

    capabilities = IndexCapabilities(has_vectors=True, is_exact=False, is_durable=True)

    def __init__(self, words: Fts5Index, place: Place, options: QdrantOptions | None = None) -> None:
        """Opens no connection yet; see `look`. Raises `ConfigError` for an invalid URL."""
        options = options or QdrantOptions()
        self._words, self._name = words, place.collection
        self._wanted = Wanted(place.collection, place.space.id, place.space.model, place.space.dims)
        self._options = options
        self._link = QdrantLink(
            place.url, options, api_key=place.api_key, prepare=self._prepare, catch_up=self._catch_up
        )
        self._vectors = QdrantVectors(self._link, self._name, store=place.store, dims=place.space.dims, options=options)
        self._search = QdrantSearch(self._link, self._name, self._vectors, options)
        self._told: dict[Partition, int] = {}
        self._guard = threading.Lock()

    def look(self) -> None:
        """Check the collection. Raises `ConfigError` if it is unusable. During an outage, retries in the background."""
        try:
            self._link.ask(lambda _: None)
        except BackendError as error:
            _log.info("starting without the Qdrant index: %s", error)

    def version(self, partition: Partition) -> int:
        held = self._words.version(partition)
        try:
            state = self._vectors.held(partition)
        except BackendError as error:
            _log.debug("cannot read a partition's version from Qdrant: %s", error)
        else:
            held = min(held, 0 if state is None else state.version)
        with self._guard:
            if len(self._told) >= _MOST_VERSIONS:
                self._told.clear()
            self._told[partition] = held
        return held

    def apply(self, partition: Partition, changes: Sequence[Change], version: int) -> None:
        with self._guard:
            since = self._told.pop(partition, None)
        self._words.apply(partition, changes, version, since=since)
        try:
            self._vectors.apply(partition, changes, version, since)
        except BackendError as error:
            _log.debug("cannot update the vectors of a partition: %s", error)

    def search(self, query: IndexQuery) -> Candidates:
        if query.vector is not None:
            checked(self._wanted.dims, query.vector)
        first = self._words.evidence(query)
        sought = [
            Sought(partition, [str(i) for i in each.ids], each.items)
            for partition, each in zip(query.partitions, first, strict=True)
        ]
        try:
            looked = self._search.look(query, sought)
        except BackendError as error:
            return replace(joined(first, len(query.terms)), missing=(f"vectors: {error}",))
        found = [self._evidence(query, each, there) for each, there in zip(sought, looked, strict=True)]
        return joined(found, len(query.terms))

    def drop(self, partition: Partition) -> None:
        with self._guard:
            self._told.pop(partition, None)
        self._words.drop(partition)
        try:
            self._vectors.drop(partition)
        except BackendError as error:
            _log.debug("a partition will be removed when Qdrant is available again: %s", error)

    def settle(self) -> None:
        """Nothing to do: Qdrant builds its graphs itself."""

    def close(self) -> None:
        self._link.close()
        self._words.close()

    def holds(self, partitions: Collection[Partition]) -> bool:
        del partitions
        return True

    def is_behind(self, partitions: Collection[Partition]) -> bool:
        owed = set(self._vectors.owed())
        try:
            for partition in partitions:
                state: State | None = self._vectors.fetched(partition)
                if partition in owed or self._words.version(partition) > (0 if state is None else state.version):
                    return True
        except BackendError as error:
            _log.debug("cannot compare a partition with Qdrant: %s", error)
            return True
        return False

    def diagnose(self, known: Collection[Partition]) -> list[Finding]:
        start = time.perf_counter()
        try:
            info = self._link.ask(lambda client: client.get_collection(self._name))
            ms = (time.perf_counter() - start) * 1e3
            removed = self._vectors.remove_strangers(known)
        except BackendError as error:
            remedy = "start Qdrant, correct memory.index.qdrant.url, or set memory.index.backend = local"
            return [Finding("index", Condition.DEGRADED, f"{error}; search uses keywords only", remedy)]
        told = f"Qdrant at {self._link.address} responded in {ms:.1f} ms: the collection {self._name!r} has "
        told += f"{info.points_count} points of {self._wanted.dims} dims"
        if removed:
            told += f"; {removed} partitions of owners that no longer exist were removed"
        return [Finding("index", Condition.OK, told)]

    def _evidence(self, query: IndexQuery, sought: Sought, looked: Looked) -> Evidence:
        """The rows of one partition: found by words, near the vector, or next to one of these."""
        alone = replace(query, partitions=(sought.partition,))
        held = {*sought.ids}
        (words,) = self._words.evidence(alone, also=[i for i in looked.spots if i not in held])
        ids = [str(i) for i in words.ids]
        return replace(
            words,
            cosines=np.array([looked.cosines.get(i, np.nan) for i in ids], dtype=np.float32),
            population=looked.population,
            version=min(words.version, looked.version),
            surroundings=surroundings(ids, looked.spots, query.words),
        )

    def _prepare(self, client: QdrantClient) -> None:
        prepare(client, self._wanted, self._options, is_local=self._link.is_local, address=self._link.address)

    def _catch_up(self) -> None:
        self._vectors.pay()


_: type[Index] = QdrantIndex
_served: type[ServedIndex] = QdrantIndex


@dataclass(frozen=True, slots=True)
class QdrantCollection:
    """The configuration of the collection. `options` are the fields of `QdrantOptions`."""

    url: str
    name: str
    api_key: str | None = field(default=None, repr=False)
    options: Mapping[str, object] = field(default_factory=dict[str, object])


def open_qdrant(store: Store, space: Space, collection: QdrantCollection, folder: Path | None) -> QdrantIndex:
    """An index with vectors of `space` in the collection and words in `folder` (None: the user's cache folder). Raises
    `ConfigError` for unknown options, another program's collection, and a store that ends with the process. If Qdrant
    is down, it is retried in the background.
    """
    if not store.capabilities.is_durable:
        raise ConfigError("an in-memory store cannot use a Qdrant collection; choose a file or PostgreSQL")
    try:
        options = QdrantOptions(**cast("Mapping[str, Any]", collection.options))
    except TypeError as error:
        raise ConfigError(f"memory.index.qdrant.options: Qdrant does not accept these options: {error}") from error
    name = own_name(store)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mnemic"
    words = Fts5Index((folder or cache / f"index-{name}") / "fts5.db", analyser=f"{Analyser().name} of {name}")
    index = QdrantIndex(words, Place(collection.url, name, space, collection.name, collection.api_key), options)
    try:
        index.look()
    except ConfigError:
        index.close()
        raise
    return index


def own_name(store: Store) -> str:
    """A unique name for a store in a shared index, derived from its secret."""
    with store.read() as work:
        key = work.erasure.key()
    if not key:
        with store.write() as work:
            key = work.erasure.key()
    return hashlib.blake2b(key, digest_size=8, person=b"mnemic-index").hexdigest()
