"""Mnemic's own notes on a memory or document: a mapping of JSON values, separate from the metadata. Metadata
belongs to the caller. Mnemic stores and returns it and filters by it, but never interprets it. Bookkeeping belongs to
Mnemic. Callers can read but not set it, and only this module knows its keys.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import cast

from mnemic.errors import InvalidInputError
from mnemic.model.filter import All, Condition, Filter, Scalar

Bookkeeping = Mapping[str, object]

GEM_FIELDS = ("timestamp", "date", "conversation_id", "turn_range", "source_turns")
"""The fields of a gem that a memory has no field for."""

IMPORT_NOTES = ("line", "file", "id", "is_done", "mem0")
"""Keys of an import: the line, file or foreign id of a memory, whether its box was ticked, and mem0's own data."""

_TEXTS = (
    *(
        "slot",
        "value",
        "chosen",
        "version",
        "type",
        "session",
        "newest_summary",
        "fallback",
        "chunking",
        "key",
        "due",
        "due_until",
    ),
    *(name for name in GEM_FIELDS if name != "source_turns"),
)
_ID_LISTS = ("merged_ids", "chosen_ids")


def note_slot(slot: str, value: str) -> dict[str, object]:
    """Note the slot that a memory fills, and its value."""
    return {"slot": slot, "value": value}


def slot_in(notes: Bookkeeping) -> tuple[str, str] | None:
    """The slot that a memory fills and its value. None if it fills none."""
    slot, value = notes.get("slot"), notes.get("value")
    return (slot, value) if isinstance(slot, str) and isinstance(value, str) and slot and value else None


def without_slot(notes: Bookkeeping) -> dict[str, object]:
    """The notes without a slot and its value."""
    return {name: value for name, value in notes.items() if name not in {"slot", "value"}}


def note_due(first: date, last: date) -> dict[str, object]:
    """Note the days on which something is due, both inclusive."""
    return {"due": first.isoformat(), "due_until": last.isoformat()}


def due_in(notes: Bookkeeping) -> tuple[str, str] | None:
    """The first and last day on which something is due, as ISO dates. None if it is not due."""
    first, last = notes.get("due"), notes.get("due_until")
    return (first, last) if isinstance(first, str) and isinstance(last, str) else None


def without_due(notes: Bookkeeping) -> dict[str, object]:
    """The notes without the days on which something is due."""
    return {name: value for name, value in notes.items() if name not in {"due", "due_until"}}


def is_due(first: date, last: date) -> Filter:
    """Memories that are due on a day from `first` to `last`."""
    ends, starts = ("bookkeeping", "due_until"), ("bookkeeping", "due")
    return All((Condition(ends, "gte", first.isoformat()), Condition(starts, "lte", last.isoformat())))


def note_key(key: str) -> dict[str, object]:
    """Note the caller's own name for a memory."""
    return {"key": key}


def key_in(notes: Bookkeeping) -> str:
    """The caller's own name for a memory. "" if it has none."""
    return str(notes.get("key") or "")


def note_merged(ids: Sequence[str]) -> dict[str, object]:
    """Note the memories that were merged into one."""
    return {"merged_ids": [*ids]}


def merged_in(notes: Bookkeeping) -> tuple[str, ...]:
    """The ids of the memories that were merged into one."""
    return _texts_under(notes, "merged_ids")


def note_choice(key: str, ids: Sequence[str], version: str, fallback: str) -> dict[str, object]:
    """Note the choice that a general preference sums up, the memories that show it, and how its text was made."""
    return {"chosen": key, "chosen_ids": [*ids], "version": version, **note_fallback(fallback)}


def choice_in(notes: Bookkeeping) -> str | None:
    """The key of the choice that a general preference sums up, None for other memories."""
    key = notes.get("chosen")
    return key if isinstance(key, str) else None


def chosen_in(notes: Bookkeeping) -> tuple[str, ...]:
    """The ids of the memories that a general preference was derived from."""
    return _texts_under(notes, "chosen_ids")


def without_sources(notes: Bookkeeping, ids: Collection[str]) -> dict[str, object]:
    """The notes without these ids among merged and chosen memories."""
    kept = {name: [each for each in _texts_under(notes, name) if each not in ids] for name in _ID_LISTS}
    return {name: kept.get(name, value) for name, value in notes.items()}


def note_summary(session: str, positions: tuple[int, int]) -> dict[str, object]:
    """Note the session of a summary, and the positions of the first and last message that it covers."""
    return {"type": "summary", "session": session, **note_positions(positions)}


def note_positions(positions: tuple[int, int]) -> dict[str, object]:
    """Note the positions of the first and last message that a summary covers."""
    return {"positions": [*positions]}


def positions_in(notes: Bookkeeping) -> tuple[int, int]:
    """The positions of the first and last message that a summary covers, (1, 0) if unknown."""
    match notes.get("positions"):
        case [int(first), int(last)] if 0 < first <= last:
            return first, last
        case _:
            return 1, 0


def note_reflection(session: str, newest_summary: str) -> dict[str, object]:
    """Note the session of a reflection, and the id of the newest summary that it was derived from."""
    return {"type": "reflection", "session": session, "newest_summary": newest_summary}


def newest_summary_in(notes: Bookkeeping) -> str:
    """The id of the newest summary that a reflection was derived from, or ""."""
    return str(notes.get("newest_summary") or "")


def session_in(notes: Bookkeeping) -> str | None:
    """The session of a summary or reflection."""
    session = notes.get("session")
    return session if isinstance(session, str) else None


def note_gem(fields: Mapping[str, object], fallback: str) -> dict[str, object]:
    """Note the fields of a gem that a memory has no field for, and why rules replaced the model."""
    told = {name: fields[name] for name in GEM_FIELDS}
    turns = cast("Sequence[int]", told["source_turns"])
    return {"type": "gem", **told, "source_turns": [*turns], **note_fallback(fallback)}


def gem_fields_in(notes: Bookkeeping) -> dict[str, object]:
    """The fields of a gem that a memory has no field for, "" if missing."""
    return {name: notes.get(name, "") for name in GEM_FIELDS}


def note_fallback(reason: str) -> dict[str, object]:
    """Note why rules replaced the model. Empty if they did not."""
    return {"fallback": reason} if reason else {}


def fallback_in(notes: Bookkeeping) -> str:
    """Why rules replaced the model, or "" if they did not."""
    return str(notes.get("fallback", ""))


def renewed(old: Bookkeeping, fresh: Bookkeeping) -> dict[str, object]:
    """The notes of a regenerated digest. It still covers the same messages, even if none of them is left."""
    kept = {name: value for name, value in old.items() if name != "fallback"}
    return {**kept, **fresh, **({"positions": old["positions"]} if "positions" in old else {})}


def note_import(notes: Mapping[str, object], *, line: int, file: str, origin: str) -> dict[str, object]:
    """Note the origin of an imported memory, and its reader's other notes."""
    place = {name: value for name, value in (("line", line), ("file", file), ("id", origin)) if value}
    return {"import": {**notes, **place}}


def file_in(notes: Bookkeeping) -> str | None:
    """The name of the file that a memory was imported from."""
    return _import_note(notes, "file")


def origin_in(notes: Bookkeeping) -> str | None:
    """The id of an imported memory in the program that it came from."""
    return _import_note(notes, "id")


def note_chunking(recipe: str) -> dict[str, object]:
    """Note how a document was split into chunks."""
    return {"chunking": recipe}


def chunking_in(notes: Bookkeeping) -> str:
    """How a document was split into chunks, "" if unknown."""
    return str(notes.get("chunking", ""))


def note_answer(*, is_whole: bool, tools: Sequence[str] = ()) -> dict[str, object]:
    """Note whether an assistant's answer is complete, and the tools that it used."""
    return {**({} if is_whole else {"is_partial": True}), **({"tools": [*tools]} if tools else {})}


def fills_slot(slot: str) -> Condition:
    """Memories that fill this slot."""
    return _condition("slot", value=slot)


def is_of_session(session: str) -> Condition:
    """Summaries and reflections of this session."""
    return _condition("session", value=session)


def is_made_up_to(summary_id: str) -> Condition:
    """Reflections whose newest summary is this one."""
    return _condition("newest_summary", value=summary_id)


def is_fallback() -> Condition:
    """Memories made by rules or from raw text because a model failed."""
    return Condition(("bookkeeping", "fallback"), "exists", value=True)


def is_from_file(file: str) -> Condition:
    """Memories that were imported from a file of this name."""
    return _condition("import", "file", value=file)


def has_origin(origins: Sequence[str]) -> Condition:
    """Memories that were imported under one of these foreign ids."""
    return _condition("import", "id", value=tuple(origins))


def check_bookkeeping(value: Mapping[str, object]) -> Bookkeeping:
    """Check bookkeeping from a file. Raises `InvalidInputError` for anything that Mnemic never writes."""
    for name, noted in value.items():
        if name not in _SHAPES or not _SHAPES[name](noted):
            raise InvalidInputError(f"bookkeeping cannot store {name[:60]!r} in this form")
    return value


def _condition(*keys: str, value: Scalar | tuple[Scalar, ...]) -> Condition:
    return Condition(("bookkeeping", *keys), "in" if isinstance(value, tuple) else "eq", value)


def _import_note(notes: Bookkeeping, name: str) -> str | None:
    found = notes.get("import")
    value = cast("Mapping[str, object]", found).get(name) if isinstance(found, Mapping) else None
    return value if isinstance(value, str) and value else None


def _texts_under(notes: Bookkeeping, name: str) -> tuple[str, ...]:
    found = notes.get(name)
    listed = cast("list[object]", found) if isinstance(found, list) else []
    return tuple(each for each in listed if isinstance(each, str))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in cast("list[object]", value))


def _are_numbers(value: object) -> bool:
    return isinstance(value, list) and all(type(each) is int for each in cast("list[object]", value))


def _are_import_notes(value: object) -> bool:
    return isinstance(value, dict) and all(name in IMPORT_NOTES for name in cast("dict[object, object]", value))


_SHAPES: Mapping[str, Callable[[object], bool]] = {
    **dict.fromkeys(_TEXTS, _is_text),
    **dict.fromkeys((*_ID_LISTS, "tools"), _are_texts),
    **dict.fromkeys(("positions", "source_turns"), _are_numbers),
    "import": _are_import_notes,
    "is_partial": lambda value: isinstance(value, bool),
}
"""Validators for the values, by key."""
