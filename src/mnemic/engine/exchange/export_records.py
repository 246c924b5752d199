"""Turns the records of an export back into nouns, and refuses what Mnemic itself would never have written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin

from mnemic.engine.exchange.export_documents import DocumentReader, WholeDocument
from mnemic.engine.inputs import (
    check_categories,
    check_foreign_id,
    check_fraction,
    check_id,
    check_line,
    check_metadata,
    check_text,
)
from mnemic.engine.memories.dependants import MAX_FLAGS
from mnemic.engine.memories.fields import from_json, held_key
from mnemic.engine.memories.profile import check_profile_fact, profile_partition
from mnemic.engine.parts import Parts
from mnemic.engine.secrets import fact_without_secrets, tell_redacted, without_secrets
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.model.clocktime import as_utc
from mnemic.model.columns import field_types
from mnemic.model.conversation import CURSORS
from mnemic.model.history import HistoryEntry
from mnemic.model.item import Flag, Memory, Message, Provenance, State
from mnemic.model.profile import ProfileEntry
from mnemic.model.scope import Level, Partition, Scope
from mnemic.model.unicode import check_unicode

Record = Mapping[str, Any]
Noun = ProfileEntry | Message | Memory | HistoryEntry
MAX_WHOLE = 2**31 - 1
_NOUNS: Mapping[str, type[Noun]] = {
    "profile": ProfileEntry,
    "message": Message,
    "memory": Memory,
    "history": HistoryEntry,
}


@dataclass(frozen=True, slots=True)
class Cursors:
    """How far a conversation was worked on: where each of its cursors stands, by name."""

    partition: Partition
    session: str
    positions: Mapping[str, int]


class RecordReader:
    """Reads records for one scope: whoever exported them, they become its user's, agent's and org's."""

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self._parts, self._scope = parts, scope

    def noun(self, record: Record) -> Noun:
        """The noun of a record. Raises `InvalidInputError`, saying why it is not usable."""
        kind = _NOUNS.get(record["type"])
        if kind is None:
            raise InvalidInputError(f"not usable: unknown type {record['type']!r:.40}")
        try:
            check_unicode(json.dumps(record, ensure_ascii=False), "it")
            known: Record = {"flags": [], **record}  # exports of before have none
            values = {
                name: _value(kind, name, known[name]) for name in kind.__dataclass_fields__ if name != "partition"
            }
            noun = kind(partition=self._partition(record, kind), **values)
            _check_types(noun)
            return self._checked(self._clean(noun))
        except KeyError as error:
            raise InvalidInputError(f"not usable: it has no {error.args[0]}") from error
        except (TypeError, ValueError, AttributeError, RecursionError, MnemicError) as error:
            raise InvalidInputError(f"not usable: {error}") from error

    def document(self, record: Record) -> WholeDocument:
        """The document of a record. Raises `InvalidInputError`, saying why it is not usable."""
        try:
            check_unicode(json.dumps(record, ensure_ascii=False), "it")
            return DocumentReader(self._parts, self._scope).read(record, self._partition(record, Memory))
        except KeyError as error:
            raise InvalidInputError(f"not usable: it has no {error.args[0]}") from error
        except (TypeError, ValueError, AttributeError, RecursionError, MnemicError) as error:
            raise InvalidInputError(f"not usable: {error}") from error

    def _clean(self, noun: Noun) -> Noun:
        """Without secrets: whoever wrote the export may have kept them."""
        if isinstance(noun, ProfileEntry):
            return fact_without_secrets(self._parts, noun)
        clean, kinds = without_secrets(self._parts, noun)
        tell_redacted(self._parts, kinds)
        return clean

    def cursors(self, record: Record) -> Cursors:
        """The cursors of a record of a conversation. Raises `InvalidInputError`, saying why it is not usable."""
        session, positions = record.get("session"), record.get("cursors")
        if not isinstance(session, str) or not isinstance(positions, Mapping):
            raise InvalidInputError("not usable: a conversation needs a session and cursors")
        known = {name: position for name, position in cast("Record", positions).items() if name in CURSORS}
        if not all(_fits(position, int) for position in known.values()):
            raise InvalidInputError(f"not usable: cursors cannot be {known!r:.60}")
        try:
            return Cursors(self._partition(record, Message), Scope(session=session).session or "", known)
        except (KeyError, TypeError, ValueError, MnemicError) as error:
            raise InvalidInputError(f"not usable: {error}") from error

    def _partition(self, record: Record, kind: type[Noun]) -> Partition:
        if kind is ProfileEntry:
            return profile_partition(self._scope)
        level = Level(record["level"])
        if kind is Message and level not in (Level.USER, Level.SESSION):
            raise InvalidInputError(f"a message cannot be of {level.value} level")
        session = record["session"] if kind is Message else record.get("level_session")
        scope = self._scope if level is not Level.SESSION else replace(self._scope, session=session)
        return scope.partition(level)

    def _checked(self, noun: Noun) -> Noun:
        if isinstance(noun, ProfileEntry):
            check_profile_fact(self._parts, noun.key, noun.value)
            check_line(noun.source, "source")
            return noun
        check_foreign_id(noun.id)
        if isinstance(noun, HistoryEntry):
            check_line(noun.actor, "actor")
            return noun
        check_text(noun.text, "text", self._parts.settings)
        if noun.state is State.ERASED:
            raise InvalidInputError("what was erased does not come back")
        noun = replace(noun, metadata=check_metadata(noun.metadata, self._parts.settings))
        return self._checked_message(noun) if isinstance(noun, Message) else self._checked_memory(noun)

    def _checked_message(self, message: Message) -> Message:
        Scope(org=self._scope.org, session=message.session)
        for name in ("turn_id", "name", "agent", "external_id"):
            check_line(getattr(message, name) or "", name)
        if message.position < 1 or message.turn < 1:
            raise InvalidInputError("position and turn count from 1")
        return message

    def _checked_memory(self, memory: Memory) -> Memory:
        for name in ("context", "snippet", "source"):
            check_line(getattr(memory, name), name, limit=self._parts.settings.max_text_chars)
        for name in ("agent", "other_id"):
            check_line(getattr(memory, name) or "", name)
        for entry in memory.provenance:
            check_fraction(entry.support, "support")
        _check_flags(memory)
        if memory.valid_from and memory.valid_to and memory.valid_to <= memory.valid_from:
            raise InvalidInputError("valid_to must be later than valid_from")
        if memory.private_agent is not None and self._scope.agent is None:
            raise InvalidInputError("it is private to an agent, and the scope names none")
        return replace(
            memory,
            importance=check_fraction(memory.importance, "importance"),
            confidence=check_fraction(memory.confidence, "confidence"),
            faded=None if memory.faded is None else check_fraction(memory.faded, "faded"),
            categories=check_categories(memory.categories),
            dedup_key=held_key(memory.text, memory.kind, memory.valid_from),
            private_agent=None if memory.private_agent is None else self._scope.agent,
        )


def _value(kind: type[Noun], name: str, value: Any) -> Any:
    if get_origin(field_types(kind)[name]) is tuple:
        _check_list(name, value)
    found: object = from_json(kind, name, value)
    return as_utc(found, name) if isinstance(found, datetime) else found


def _check_list(name: str, value: object) -> None:
    if not isinstance(value, list):
        raise InvalidInputError(f"{name} must be a list")


def _check_flags(memory: Memory) -> None:
    if len(memory.flags) > MAX_FLAGS:
        raise InvalidInputError(f"a memory has at most {MAX_FLAGS} flags")
    for name in {name for flag in memory.flags for name in (flag.source_id, flag.entry_id)}:
        if "\0" in check_id(name):
            raise InvalidInputError(f"a flag cannot name {name!r:.40}")


def _check_types(noun: object) -> None:
    for name, hint in field_types(type(noun)).items():
        value = getattr(noun, name)
        if not _fits(value, hint):
            raise InvalidInputError(f"{name} cannot be {value!r:.60}")


def _fits(value: Any, hint: Any) -> bool:
    """True when a value is of the type that a field declares; whole numbers are from 0 to `MAX_WHOLE`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, choice) for choice in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(v, arguments[0]) for v in cast("tuple[object, ...]", value))
    if hint in (int, float):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and (hint is float or (isinstance(value, int) and 0 <= value <= MAX_WHOLE))
    if hint in (Provenance, Flag) and isinstance(value, Provenance | Flag):
        _check_types(value)
        return True
    return isinstance(value, origin or hint)
