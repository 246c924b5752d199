"""What the small ports of one unit of work share: the tables, and the version each written partition is at."""

from __future__ import annotations

from mnemic.adapters.stores.memory.tables import Tables
from mnemic.errors import InvalidInputError, UnsupportedError
from mnemic.model.scope import Partition


class Transaction:
    """Tables to read, and, when it writes, to change."""

    def __init__(self, tables: Tables, *, is_writing: bool) -> None:
        self._tables = tables
        self._is_writing = is_writing
        self._advanced: set[Partition] = set()

    @property
    def is_writing(self) -> bool:
        """False when it only reads."""
        return self._is_writing

    @property
    def tables(self) -> Tables:
        """The tables, to read."""
        return self._tables

    @property
    def writable(self) -> Tables:
        """The tables, to change. Raises `UnsupportedError` in a transaction that only reads."""
        if not self._is_writing:
            raise UnsupportedError("this unit of work only reads; open one with write()", capability="write")
        return self._tables

    def check_dims(self, space: str, dims: int) -> None:
        """Note the dims of a new space. Raises `InvalidInputError` when they are not the space's."""
        known = self.writable.spaces.setdefault(space, dims)
        if known != dims:
            raise InvalidInputError(
                f"a vector of {dims} dimensions cannot be kept in space {space}, whose vectors have {known}"
            )

    def changed(self, partition: Partition) -> int:
        """The version to write rows of this partition with."""
        versions = self.writable.versions
        if partition not in self._advanced:
            self._advanced.add(partition)
            if not versions.get(partition):  # new, or begun without a row: nobody goes on from what it once was
                versions[partition] = self._tables.floor
                self.writable.horizons[partition] = self._tables.floor + 1
            versions[partition] += 1
        return versions[partition]

    def number(self) -> int:
        """The running number of a new row: order of writing."""
        self.writable.number += 1
        return self._tables.number

    def forget_vectors(self, partition: Partition, *item_ids: str) -> None:
        """Remove every vector of these items."""
        gone = {(partition, item_id) for item_id in item_ids}
        for key in [key for key in self._tables.vectors if key[:2] in gone]:
            del self.writable.vectors[key]
