"""Reads memories that other programs keep: files of notes in Markdown, and what mem0 exports; pure, from text to
entries.
"""

from mnemic.text.memoryfiles.detect import DATABASE_MARK, MEMORY_FORMATS, memory_format, read_memories
from mnemic.text.memoryfiles.entry import Entry, MemoryReading, Owner

__all__ = ["DATABASE_MARK", "MEMORY_FORMATS", "Entry", "MemoryReading", "Owner", "memory_format", "read_memories"]
