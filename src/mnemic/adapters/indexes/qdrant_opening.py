"""Opens the index in Qdrant of a store: which file its words lie in, and what the store is called there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from mnemic.adapters.indexes.fts5 import Fts5Index
from mnemic.adapters.indexes.qdrant import Place, QdrantIndex
from mnemic.adapters.indexes.qdrant_link import QdrantOptions
from mnemic.errors import ConfigError
from mnemic.model.space import Space
from mnemic.ports.store import Store
from mnemic.text.analyser import Analyser


@dataclass(frozen=True, slots=True)
class Collection:
    """Where the vectors are to lie, as the configuration says it; `options` are the fields of `QdrantOptions`."""

    url: str
    name: str
    api_key: str | None = field(default=None, repr=False)
    options: Mapping[str, object] = field(default_factory=dict[str, object])


def open_qdrant(store: Store, space: Space, collection: Collection, folder: Path | None) -> QdrantIndex:
    """The vectors of `space` in the collection, the words in `folder` (None: the user's cache folder). Raises
    `ConfigError` for options nobody knows, a collection of something else, and a store that ends with the process; a
    Qdrant that is away is waited for in the background.
    """
    if not store.capabilities.is_durable:
        raise ConfigError("a store in memory ends with this process and a collection does not: say a store in a file")
    try:
        options = QdrantOptions(**cast("Mapping[str, Any]", collection.options))
    except TypeError as error:
        raise ConfigError(f"memory.index.qdrant.options: Qdrant does not take these options: {error}") from error
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
    """What a store is called where several share an index: made of its own secret, so that no two are called alike."""
    with store.read() as work:
        key = work.erasure.key()
    if not key:
        with store.write() as work:
            key = work.erasure.key()
    return hashlib.blake2b(key, digest_size=8, person=b"mnemic-index").hexdigest()
