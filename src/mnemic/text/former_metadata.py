"""Separates bookkeeping from the caller's metadata where earlier versions stored both together. Recognises only
combinations that Mnemic alone wrote: the kind and all keys of a derived memory, a slot that the text or a source
supports, ids beside a merge in the history. In doubt an entry stays the caller's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from mnemic.model.bookkeeping import GEM_FIELDS
from mnemic.model.item import Kind, Trust
from mnemic.model.scope import Level
from mnemic.text.slots import canonical, slot_of

KEYS = (
    *("slot", "value", "merged_ids", "chosen", "chosen_ids", "type", "session", "positions", "newest_summary"),
    *(*GEM_FIELDS, "import", "chunking"),
)  # metadata with none of these holds no bookkeeping

_DIGESTS: Mapping[str, tuple[str, ...]] = {
    Kind.SUMMARY: ("session", "positions"),
    Kind.REFLECTION: ("session", "newest_summary"),
    Kind.GEM: GEM_FIELDS,
}
_CHOICE = ("chosen", "chosen_ids", "version")
_PLACE = ("line", "file", "id")

Parted = tuple[dict[str, object], dict[str, object]]  # the caller's metadata, and the bookkeeping


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerMemory:
    """Evidence on the owner of a memory's metadata. `was_merged`: its history records a merge with ids."""

    kind: str
    level: str
    text: str
    trust: str
    is_derived: bool
    was_merged: bool


def part_memory(memory: FormerMemory, metadata: Mapping[str, object]) -> Parted:
    """Separate the metadata of a memory or of a history entry."""
    theirs, own = dict(metadata), dict[str, object]()
    _take(theirs, own, _digest_keys(memory, metadata))
    if memory.was_merged and isinstance(metadata.get("merged_ids"), list):
        _take(theirs, own, ("merged_ids",))
    _part_slot(memory, theirs, own)
    if memory.trust == Trust.IMPORTED:
        _part_import(theirs, own)
    return theirs, own


def part_entry(
    memory: FormerMemory, before: Mapping[str, object], after: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, object]] | None:
    """Both sides of a history entry separated; None if they hold no bookkeeping."""
    sides = (dict(before), dict(after))
    is_changed = False
    for side in sides:
        metadata = side.get("metadata")
        if isinstance(metadata, dict):
            said = replace(memory, text=str(side.get("text", memory.text)))
            side["metadata"], side["bookkeeping"] = part_memory(said, cast("dict[str, object]", metadata))
            is_changed = is_changed or bool(side["bookkeeping"])
    if is_changed and sides[0].get("metadata") == sides[1].get("metadata"):
        for side in sides:
            del side["metadata"]  # none of the caller's metadata changed
    return sides if is_changed else None


def part_document(metadata: Mapping[str, object]) -> Parted:
    """Separate the metadata of a document, which callers could not set."""
    theirs, own = dict(metadata), dict[str, object]()
    if isinstance(metadata.get("chunking"), str):
        _take(theirs, own, ("chunking",))
    return theirs, own


def _take(theirs: dict[str, object], own: dict[str, object], keys: Sequence[str]) -> None:
    own |= {key: theirs.pop(key) for key in keys if key in theirs}


def _digest_keys(memory: FormerMemory, metadata: Mapping[str, object]) -> Sequence[str]:
    """The keys of a summary, reflection, gem or general preference; empty if one is missing."""
    keys = _DIGESTS.get(memory.kind)
    if keys is not None and metadata.get("type") == memory.kind and all(key in metadata for key in keys):
        return ("type", *keys, "fallback")
    is_choice = isinstance(metadata.get("chosen"), str) and isinstance(metadata.get("chosen_ids"), list)
    is_ours = memory.kind == Kind.PREFERENCE and is_choice and str(metadata.get("version", "")).startswith("general-")
    return (*_CHOICE, "fallback") if is_ours else ()


def _part_slot(memory: FormerMemory, theirs: dict[str, object], own: dict[str, object]) -> None:
    slot, value = theirs.get("slot"), theirs.get("value")
    if slot is None:
        return
    said = slot_of(memory.text) if memory.level in (Level.USER, Level.SESSION) else None
    is_said = said is not None and (said.slot, said.value) == (slot, value)
    is_proposed = memory.is_derived and isinstance(slot, str) and isinstance(value, str) and canonical(slot) == slot
    if is_said or is_proposed:
        _take(theirs, own, ("slot", "value"))
    elif said is not None:  # the caller's own entry had hidden the text's slot
        own |= {"slot": said.slot, "value": said.value}


def _part_import(theirs: dict[str, object], own: dict[str, object]) -> None:
    """Separate the import's origin. Another program's notes under Mnemic's keys are the caller's again."""
    found: Any = theirs.get("import")
    notes = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    if not notes or not {*notes} <= {*_PLACE, "metadata"}:
        return
    del theirs["import"]
    placed: dict[str, object] = {key: notes[key] for key in _PLACE if key in notes}
    for key, kind in (("is_done", bool), ("mem0", dict)):
        if isinstance(theirs.get(key), kind):
            placed[key] = theirs.pop(key)
    own["import"] = placed
    reserved = notes.get("metadata")
    if isinstance(reserved, dict):
        theirs |= cast("dict[str, object]", reserved)
