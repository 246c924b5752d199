"""Writes everything a scope owns as JSON lines, without loss; `import_` reads it back.

The first line is a header. Then, one record a line: the profile, messages in order of their ids, how far each of their
conversations was worked on (so that no summary is made twice), memories oldest first, and documents by source, with
text and passages; each memory and document is followed by its history.
Vectors are not written: they are made again from the text. Erased rows are not written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from mnemic.engine.exchange.export_documents import document_record, whole_documents
from mnemic.engine.memories.fields import to_json
from mnemic.engine.memories.profile import get_profile
from mnemic.engine.parts import Parts
from mnemic.model.conversation import CURSORS
from mnemic.model.history import HistoryEntry
from mnemic.model.item import Memory, Message
from mnemic.model.profile import ProfileEntry
from mnemic.model.query import MemoryQuery, Order
from mnemic.model.scope import Level, Partition, Scope, Visibility

FORMAT = "mnemic-export"
VERSION = 1
OWN_LEVELS = (Level.SESSION, Level.USER, Level.AGENT)
_PAGE = 500
_LONG_AGO = datetime.fromisoformat("0001-01-01T00:00:00+00:00")


def export(parts: Parts, scope: Scope, levels: tuple[Level, ...] = OWN_LEVELS) -> Iterator[str]:
    """The lines of an export, each without its line feed. Levels that the scope does not name are left out; what all
    of the org shares is only written when ORG is among `levels`.
    """
    visible = scope.visibility.at(*levels) if levels else scope.visibility
    header = {"format": FORMAT, "version": VERSION, "exported_at": to_json(parts.clock.now())}
    yield _line("header", header)
    for entry in get_profile(parts, scope):
        if levels and entry.partition.level not in levels:
            break
        yield _line("profile", {**_place(entry.partition), **_values(entry)})
    talks: dict[tuple[Partition, str], None] = {}
    for message in _messages(parts, visible):
        talks[message.partition, message.session] = None
        yield _line("message", {**_place(message.partition), **_values(message)})
    for (partition, session), cursors in _cursors(parts, talks):
        yield _line("conversation", {**_place(partition), "session": session, "cursors": cursors})
    for memory, history in _memories(parts, visible):
        yield _line("memory", {**_place(memory.partition), **_values(memory)})
        for entry in history:
            yield _line("history", {**_place(entry.partition), **_values(entry)})
    for whole, history in whole_documents(parts, visible):
        yield _line("document", {**_place(whole.document.partition), **document_record(whole)})
        for entry in history:
            yield _line("history", {**_place(entry.partition), **_values(entry)})


def _messages(parts: Parts, visible: Visibility) -> Iterator[Message]:
    after: str | None = None
    while True:
        with parts.store.read() as work:
            page = work.messages.page(visible, after, _PAGE)
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].id


def _cursors(
    parts: Parts, talks: Iterable[tuple[Partition, str]]
) -> Iterator[tuple[tuple[Partition, str], dict[str, int]]]:
    """The cursors of each conversation that were moved."""
    with parts.store.read() as work:
        found = [(talk, {name: work.conversations.cursor(*talk, name) for name in CURSORS}) for talk in talks]
    for talk, cursors in found:
        if any(cursors.values()):
            yield talk, cursors


def _memories(parts: Parts, visible: Visibility) -> Iterator[tuple[Memory, list[HistoryEntry]]]:
    after: str | None = None
    while True:
        query = MemoryQuery(now=_LONG_AGO, states=(), order=Order.OLDEST, limit=_PAGE, after=after)
        with parts.store.read() as work:
            page = [(m, work.history.of(visible, m.id)) for m in work.memories.list(visible, query)]
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1][0].id


def _place(partition: Partition) -> dict[str, object]:
    """The level; and the session of a session-level row, whose owner may name its user too."""
    session = partition.owner.split("\x1f")[-1] if partition.level is Level.SESSION else None
    return {"level": partition.level.value, "level_session": session}


def _values(noun: Message | Memory | HistoryEntry | ProfileEntry) -> dict[str, Any]:
    return {field.name: to_json(getattr(noun, field.name)) for field in fields(noun) if field.name != "partition"}


def _line(type_: str, record: Mapping[str, object]) -> str:
    return json.dumps({"type": type_, **record}, ensure_ascii=False, separators=(",", ":"))
