"""Reads mem0: results of `get_all` and `history`, exports of its platform, and lines of these. A record with `memory`
(or `text`, `content`, `data`) and an id is a current memory. A record with `event` is a change of one: the last one
holds the current text, and earlier ones go into its notes.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, time
from typing import Any

from mnemic.errors import InvalidInputError
from mnemic.model.item import MessageDraft
from mnemic.model.scope import Level
from mnemic.text.chatlogs import LoggedConversation
from mnemic.text.chatlogs.conversation import Json, as_list, as_mapping, draft_of, role_of, time_of
from mnemic.text.memoryfiles.entry import MAX_TAG_CHARS, Entry, MemoryReading, Owner

LISTS = ("results", "memories", "data", "items")  # keys under which a list of records may be
MAX_EARLIER = 10  # newest earlier texts of a memory that are kept
MAX_EARLIER_CHARS = 500  # of each earlier wording, kept in the metadata: bounds a row
MAX_BROKEN = 1000  # restarts after errors in a broken document before giving up
_TEXTS = ("memory", "new_memory", "text", "content", "data")
_IDS = ("memory_id", "id")
_KNOWN = (*_TEXTS, "id", "score", "metadata", "created_at", "updated_at", "categories", "expiration_date", "type")
_OF_PLATFORM = ("owner", "organization", "project", "structured_attributes")
_KEPT = ("hash", "user_id", "agent_id", "run_id", "app_id", "actor_id", "role", "attributed_to", "immutable")
_ENDINGS = ("DELETE", "DELETED")


def is_mem0_record(value: object) -> bool:
    """True for a memory of mem0, a change of one, or a stored message."""
    record = as_mapping(value)
    if "event" in record and "memory_id" in record:
        return True
    if "session_scope" in record and "content" in record:
        return True
    is_text = isinstance(record.get("memory"), str) or isinstance(record.get("data"), str)
    is_message = "role" in record and "content" in record
    return is_text and not is_message and ("id" in record or "hash" in record or "user_id" in record)


def records_of(document: object) -> Sequence[Any]:
    """The records of a document: the list itself, or the list inside it."""
    lists = [as_list(document), *(as_list(as_mapping(document).get(key)) for key in LISTS)]
    return max(lists, key=len)


def read_mem0(text: str, name: str, owner: Owner, *, is_named: bool) -> MemoryReading:
    """The memories of one user, agent or run. Raises `InvalidInputError` for several users, none of them the owner, and
    for a text without mem0 records. A history names no user and is refused unless the format `is_named`.
    """
    reading = MemoryReading("mem0", name)
    records = [(place, record) for place, record in _records(text, reading) if record]
    if not records:
        broken = f" ({reading.problems[0]})" if reading.problems else ""
        raise InvalidInputError(f"the file contains no mem0 memories; it must come from `get_all` or an export{broken}")
    memories: list[tuple[str, Json]] = []
    changes: dict[str, list[tuple[str, Json]]] = {}
    for place, record in records:
        if "session_scope" in record:
            _add_message(reading, place, record)
        elif "event" in record and record.get("memory_id"):
            changes.setdefault(str(record["memory_id"]), []).append((place, record))
        else:
            memories.append((place, record))
    for place, record in _select_owner(memories, reading, owner):
        _add(reading, place, record, ())
    known = {entry.origin for entry in reading.entries}
    if not is_named and not known.issuperset(changes):
        raise InvalidInputError(
            "this is a mem0 history, which does not show who owns the memories; "
            "set the format to mem0 if all of them belong to this scope"
        )
    for memory_id, entries in changes.items():
        _add_changed(reading, memory_id, entries, is_known=memory_id in known)
    return reading


def _records(text: str, reading: MemoryReading) -> Iterator[tuple[str, Json]]:
    """Each record with its place; broken ones are reported."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        yield from _salvaged(text, reading)
        return
    mapping = as_mapping(document)
    listed = [document] if is_mem0_record(document) else records_of(document)
    if relations := as_list(mapping.get("relations")):
        reading.skipped["relations of a graph"] += len(relations)
    for number, record in enumerate(listed, start=1):
        found = as_mapping(record)
        if found:
            yield f"record {number}", found
        else:
            reading.problems.append(f"record {number}: not a JSON object")


def _salvaged(text: str, reading: MemoryReading) -> Iterator[tuple[str, Json]]:
    """Whole records of JSON lines, or of a broken or truncated document."""
    decoder = json.JSONDecoder()
    breaks = [place for place, character in enumerate(text) if character == "\n"]
    at, tries, broken = 0, 0, -1
    while (at := text.find("{", at)) >= 0:
        line = bisect_right(breaks, at - 1) + 1
        try:
            record, after = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            tries += 1
            if broken < 0 and not _is_wrapper(text, at):
                broken = line
                told = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
                reading.problems.append(f"line {line}: not JSON: {told}")
            if tries > MAX_BROKEN:
                reading.problems.append(f"line {line}: too much of it is broken; the rest was not read")
                return
            at += 1
            continue
        found = as_mapping(record)
        is_line = at == 0 or text[at - 1] == "\n"
        if is_mem0_record(found) or (is_line and any(key in found for key in _TEXTS)):
            broken = -1
            yield f"line {line}", found
        at = after


def _is_wrapper(text: str, at: int) -> bool:
    """True for the object around a list of records, which is broken if one of them is."""
    head = text[at : at + 200].replace(" ", "").replace("\n", "")
    return any(f'"{key}":[' in head for key in LISTS) or '"results":' in head


def _select_owner(memories: list[tuple[str, Json]], reading: MemoryReading, owner: Owner) -> Iterator[tuple[str, Json]]:
    """The records of one user, or without a user of one agent. Owners are never mixed."""
    for part, wanted in (("user", owner.user), ("agent", owner.agent)):
        own = [record for _, record in memories if part == "user" or not record.get("user_id")]
        held = {str(record[f"{part}_id"]) for record in own if record.get(f"{part}_id")}
        if len(held) > 1 and wanted not in held:
            raise InvalidInputError(
                f"the file contains memories of several {part}s ({', '.join(sorted(held)[:5])}); import it once "
                f"for each, with that {part} in the scope"
            )
        if len(held) > 1:
            others = {id(record) for record in own if str(record.get(f"{part}_id") or wanted) != wanted}
            reading.skipped[f"memories of other {part}s"] += len(others)
            memories = [(place, record) for place, record in memories if id(record) not in others]
    yield from memories


def _add(reading: MemoryReading, place: str, record: Json, earlier: tuple[Mapping[str, object], ...]) -> None:
    text = next((record[key] for key in _TEXTS if isinstance(record.get(key), str)), None)
    origin = next((str(record[key]) for key in _IDS if record.get(key)), "")
    place = f"{place}, memory {origin}" if origin else place
    if text is None or not text.strip():
        reading.problems.append(f"{place}: no text")
        return
    expires = _day_of(record.get("expiration_date"))
    is_agents = bool(record.get("agent_id")) and not record.get("user_id")
    tags = [
        tag
        for tag in as_list(record.get("categories"))
        if isinstance(tag, str) and 0 < len(tag.strip()) <= MAX_TAG_CHARS
    ]
    reading.entries.append(
        Entry(
            text=text,
            place=place,
            origin=origin,
            level=Level.AGENT if is_agents else None,
            observed_at=time_of(record.get("created_at")) or time_of(record.get("updated_at")),
            expires_at=expires,
            categories=tuple(dict.fromkeys(tags)),
            metadata=as_mapping(record.get("metadata")),
            notes={"mem0": _own_fields(record, earlier)},
        )
    )


def _own_fields(record: Json, earlier: tuple[Mapping[str, object], ...]) -> dict[str, object]:
    """mem0's own fields besides the text."""
    kept: dict[str, object] = {key: record[key] for key in _KEPT if record.get(key) not in (None, "")}
    for key in ("created_at", "updated_at"):
        if isinstance(record.get(key), str):
            kept[key] = record[key]
    further = {key: value for key, value in record.items() if key not in (*_KNOWN, *_OF_PLATFORM, *_KEPT) and value}
    own = {"id", "memory_id", "old_memory", "event", "is_deleted"}
    kept |= {key: value for key, value in further.items() if key not in own}
    if earlier:
        kept["earlier"] = list(earlier)
    return kept


def _add_changed(reading: MemoryReading, memory_id: str, changes: list[tuple[str, Json]], *, is_known: bool) -> None:
    """Add a memory from its history, unless the text also has its current form."""
    ordered = sorted(changes, key=lambda change: _moment(change[1]))
    place, last = ordered[-1]
    if is_known:
        reading.skipped["changes of memories that are there as they are now"] += len(changes)
        return
    if str(last.get("event", "")).upper() in _ENDINGS or last.get("is_deleted") in (1, True):
        reading.skipped["memories that were deleted in mem0"] += 1
        return
    texts = [(one.get("new_memory"), one.get("updated_at") or one.get("created_at")) for _, one in ordered]
    told = [text for text in texts if isinstance(text[0], str) and text[0].strip()]
    if not told:
        reading.problems.append(f"{place}, memory {memory_id}: no text")
        return
    earlier = tuple({"text": str(text)[:MAX_EARLIER_CHARS], "since": when} for text, when in told[:-1])
    if len(earlier) > MAX_EARLIER:
        reading.skipped["texts that memories had long before"] += len(earlier) - MAX_EARLIER
    first = next((one["created_at"] for _, one in ordered if one.get("created_at")), None)
    record = {**last, "id": memory_id, "memory_id": memory_id, "memory": told[-1][0], "created_at": first}
    _add(reading, place, record, earlier[-MAX_EARLIER:])


def _moment(change: Json) -> datetime:
    """A change's time. Changes without a time come first, in the given order."""
    return time_of(change.get("updated_at")) or time_of(change.get("created_at")) or datetime.min.replace(tzinfo=UTC)


def _add_message(reading: MemoryReading, place: str, record: Json) -> None:
    """Add a stored message to the conversation of its scope."""
    session, text, role = str(record.get("session_scope") or "mem0"), record.get("content"), role_of(record.get("role"))
    if role is None or not isinstance(text, str) or not text.strip():
        reading.problems.append(f"{place}: a message without a text, or without a role that is known")
        return
    conversation = next((each for each in reading.conversations if each.session == session), None)
    if conversation is None:
        conversation = LoggedConversation(session)
        reading.conversations.append(conversation)
    draft: MessageDraft = draft_of(
        role,
        text,
        when=record.get("created_at"),
        external_id=record.get("id"),
        place=len(conversation.messages) + 1,
        name=record.get("name"),
    )
    conversation.messages.append(draft)


def _day_of(value: Any) -> datetime | None:
    """The end of a day given as a date, or a moment."""
    found = time_of(value)
    is_date = isinstance(value, str) and len(value.strip()) == len("2026-01-02")
    return datetime.combine(found.date(), time.max, UTC) if found is not None and is_date else found
