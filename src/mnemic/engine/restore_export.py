"""Reads an export back: into an empty place without loss, into a used one without doubles."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.capture import indexed_text as message_text
from mnemic.engine.embedding import document_vectors, put_vectors
from mnemic.engine.export import FORMAT, VERSION
from mnemic.engine.fields import from_json
from mnemic.engine.import_logs import ImportReport, Progress
from mnemic.engine.inputs import check_fraction, check_line, check_metadata, check_text
from mnemic.engine.parts import Parts
from mnemic.engine.profile import check_profile_fact, get_profile, profile_partition
from mnemic.engine.remember import indexed_text as memory_text
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.model.history import Action, HistoryEntry
from mnemic.model.item import Item, Memory, Message, Role
from mnemic.model.profile import ProfileEntry
from mnemic.model.scope import Level, Partition, Scope
from mnemic.ports.store import UnitOfWork
from mnemic.text.normalise import dedup_key

BATCH = 200


def restore_export(
    parts: Parts, scope: Scope, lines: Iterable[str], *, is_dry_run: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Take in the records of an export, in batches of one transaction each; repeating it changes nothing.

    Rows go to the scope's own user, agent and org, whoever exported them. A line that cannot be read is reported with
    its number and does not stop the rest. Raises `InvalidInputError` when it is no export, or of a newer version.
    """
    records, report = _records(lines), ImportReport(FORMAT, is_dry_run=is_dry_run)
    batch: list[tuple[int, Mapping[str, Any]]] = []
    number = 0
    for number, record in records:
        if isinstance(record, str):
            report.problems.append(f"line {number}: {record}")
            continue
        batch.append((number, record))
        if len(batch) >= BATCH and record["type"] != "history":
            _Batch(parts, scope, report).take(batch[:-1])
            batch = batch[-1:]
            _tell(progress, number)
    _Batch(parts, scope, report).take(batch)
    _tell(progress, number)
    return report


def is_export(text: str) -> bool:
    """True when the text begins with the header of an export."""
    return f'"format":"{FORMAT}"' in text[:200].replace(" ", "")


def _tell(progress: Progress | None, done: int) -> None:
    if progress is not None:
        progress(done, None)


def _records(lines: Iterable[str]) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    """Numbered records, or what is wrong with the line."""
    is_first = True
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            record = f"no JSON: {error}"
        if is_first:
            _check_header(record)
            is_first = False
        elif isinstance(record, str) or not isinstance(record, dict):
            yield number, record if isinstance(record, str) else "no JSON object"
        else:
            mapping = cast("Mapping[str, Any]", record)
            yield number, mapping if isinstance(mapping.get("type"), str) else "it has no type"
    if is_first:
        raise InvalidInputError("there is nothing to import: the input is empty")


def _check_header(record: Any) -> None:
    header: Mapping[str, Any] = cast("Mapping[str, Any]", record) if isinstance(record, dict) else {}
    if header.get("format") != FORMAT:
        raise InvalidInputError("this is no Mnemic export: its first line must be the header that `export` writes")
    if header.get("version") != VERSION:
        raise InvalidInputError(f"export version {header.get('version')!r} is not known here; update Mnemic")


class _Batch:
    """Takes some records in within one transaction."""

    def __init__(self, parts: Parts, scope: Scope, report: ImportReport) -> None:
        self._parts, self._scope, self._report = parts, scope, report

    def take(self, numbered: list[tuple[int, Mapping[str, Any]]]) -> None:
        items: list[Item] = []
        history: dict[str, list[HistoryEntry]] = {}
        facts: list[ProfileEntry] = []
        for number, record in numbered:
            try:
                self._sort(record, items, history, facts)
            except (KeyError, TypeError, ValueError, MnemicError) as error:
                self._report.problems.append(f"line {number}: not usable ({type(error).__name__}: {error})")
        self._write_profile(facts)
        self._write(items, history)

    def _write_profile(self, facts: list[ProfileEntry]) -> None:
        there = {entry.key: entry.value for entry in get_profile(self._parts, self._scope)} if facts else {}
        new = [entry for entry in facts if there.get(entry.key) != entry.value]
        if new and not self._report.is_dry_run:
            with self._parts.store.write() as work:
                work.profiles.put(new)
        self._report.known["profile"] += len(facts) - len(new)
        self._report.added["profile"] += len(new)

    def _sort(
        self,
        record: Mapping[str, Any],
        items: list[Item],
        history: dict[str, list[HistoryEntry]],
        facts: list[ProfileEntry],
    ) -> None:
        match record["type"]:
            case "profile":
                values = _values(ProfileEntry, record)
                check_profile_fact(self._parts, values["key"], values["value"])
                facts.append(ProfileEntry(partition=profile_partition(self._scope), **values))
            case "message":
                message = Message(partition=self._partition(record), **_values(Message, record))
                items.append(self._checked_message(message))
            case "memory":
                memory = Memory(partition=self._partition(record), **_values(Memory, record))
                items.append(self._checked_memory(memory))
            case "history":
                entry = HistoryEntry(partition=self._partition(record), **_values(HistoryEntry, record))
                history.setdefault(entry.item_id, []).append(entry)
            case other:
                raise InvalidInputError(f"unknown type {other!r}")

    def _checked_message(self, message: Message) -> Message:
        check_text(message.text, "text", self._parts.settings)
        for name in ("id", "session", "turn_id"):
            check_line(getattr(message, name), name)
        if not isinstance(message.position, int) or not isinstance(message.turn, int):  # pyright: ignore[reportUnnecessaryIsInstance] -- read from a file
            raise InvalidInputError("position and turn must be whole numbers")
        return replace(message, metadata=check_metadata(message.metadata, self._parts.settings))

    def _checked_memory(self, memory: Memory) -> Memory:
        """The memory, with everything checked that the engine itself would never have written."""
        check_text(memory.text, "text", self._parts.settings)
        check_line(memory.id, "id")
        for name in ("context", "snippet", "source"):
            check_line(getattr(memory, name), name, limit=self._parts.settings.max_text_chars)
        for name in ("importance", "confidence"):
            check_fraction(getattr(memory, name), name)
        metadata = check_metadata(memory.metadata, self._parts.settings)
        private = self._scope.agent if memory.private_agent is not None else None
        if memory.private_agent is not None and private is None:
            raise InvalidInputError("it is private to an agent, and the scope names none")
        return replace(memory, metadata=metadata, dedup_key=dedup_key(memory.text), private_agent=private)

    def _partition(self, record: Mapping[str, Any]) -> Partition:
        level = Level(record["level"])
        session = record.get("level_session") if level is Level.SESSION else None
        return replace(self._scope, session=session or self._scope.session).partition(level)

    def _write(self, items: list[Item], history: Mapping[str, list[HistoryEntry]]) -> None:
        if not items:
            return
        texts = [message_text(i.name, i.text) if isinstance(i, Message) else memory_text(i) for i in items]
        vectors = None if self._report.is_dry_run else document_vectors(self._parts, texts)
        if self._report.is_dry_run:
            with self._parts.store.read() as work:
                new = self._unknown(work, items)
        else:
            with self._parts.store.write() as work:
                new = self._insert(work, self._unknown(work, items), texts, items)
                work.history.add([entry for item in new for entry in history.get(item.id, [])])
                self._put_vectors(work, new, dict(zip((i.id for i in items), vectors, strict=False)) if vectors else {})
        for item in items:
            counter = self._report.added if any(item is one for one in new) else self._report.known
            counter["message" if isinstance(item, Message) else "memory"] += 1

    def _put_vectors(self, work: UnitOfWork, new: list[Item], vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Vectors of new rows, which keep the time of their last change; by a job where there are none."""
        for item in new:
            at = item.updated_at if isinstance(item, Memory) else item.created_at
            ready = [vectors[item.id]] if item.id in vectors else None
            put_vectors(self._parts, work, [(item.partition, item.id)], ready, at)

    def _unknown(self, work: UnitOfWork, items: list[Item]) -> list[Item]:
        new: list[Item] = []
        for item in items:
            visible = replace(self._scope.visibility, partitions=(item.partition,))
            if isinstance(item, Message):
                external = [item.external_id] if item.external_id else []
                is_known = bool(work.messages.get(visible, [item.id])) or bool(
                    work.messages.by_external_id(item.partition, item.session, external)
                )
            else:
                is_known = bool(work.memories.get(visible, [item.id])) or (
                    work.memories.holder(item.partition, item.private_agent, item.dedup_key) is not None
                )
            if not is_known:
                new.append(item)
        return new

    def _insert(self, work: UnitOfWork, new: list[Item], texts: list[str], items: list[Item]) -> list[Item]:
        text_of = {id(item): text for item, text in zip(items, texts, strict=True)}
        added: list[Item] = []
        for item in new:
            terms = self._parts.terms(text_of[id(item)])
            if isinstance(item, Message):
                conversation = work.messages.conversation(item.partition, item.session, item.observed_at)
                place = max(item.position, conversation.messages + 1)
                work.messages.add([(replace(item, position=place), self._parts.terms(item.name, item.text))])
                added.append(item)
            elif work.memories.add([(item, terms)])[0]:
                added.append(item)
        return added


def _values(noun: type[Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a noun from a record. Raises KeyError, TypeError or ValueError for what is missing or wrong."""
    names = [name for name in noun.__dataclass_fields__ if name != "partition"]
    values = {name: from_json(name, record[name]) for name in names}
    if noun is Message:
        values["role"] = Role(values["role"])
    if noun is HistoryEntry:
        values["action"] = Action(values["action"])
        values["at"] = from_json("created_at", record["at"])
    return values
