"""The reference store: rows in this process. The shortest correct code, against which other stores are tested."""

from mnemic.adapters.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
