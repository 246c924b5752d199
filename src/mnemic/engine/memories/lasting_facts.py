"""Carries what users plainly said of themselves into their profile; what somebody set there by hand always stays.

Only the user's own messages count, never what an assistant, a tool or a document says, and nothing where several people
speak as the user. What a model proposes must stand in such a statement word for word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from mnemic.engine.kinds import REMAKE
from mnemic.engine.memories.dependants import Hand, is_believed
from mnemic.engine.memories.fields import filled_of
from mnemic.engine.memories.profile_room import put_fitting
from mnemic.engine.parts import Parts, new_id
from mnemic.model.filter import Condition
from mnemic.model.item import Memory, Message, Role, State, Trust
from mnemic.model.job import Job
from mnemic.model.profile import DERIVED_SOURCES, EXTRACTION, ProfileEntry
from mnemic.model.query import MemoryQuery
from mnemic.model.scope import Level, Partition, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.attributes import attributes, plain_statements
from mnemic.text.prompts import STABLE_KEYS
from mnemic.text.slots import Filled, Relation, relation

Facts = Mapping[str, tuple[str, datetime]]
"""Values by key, and when they were said."""

MAX_RIVALS = 32
PAGE = 500
_OWN_TRUST = (Trust.USER, Trust.IMPORTED)


def lasting_facts(messages: Sequence[Message], proposed: Mapping[str, str]) -> Facts:
    """What the user's own messages, in order, say that lasts; for other keys what was `proposed` and is proved."""
    own = [m for m in messages if m.role is Role.USER and m.trust in _OWN_TRUST]
    if len({message.name for message in own if message.name}) > 1:
        return {}
    found: dict[str, tuple[str, datetime]] = {}
    for message in own:
        found |= {key: (value, message.observed_at) for key, value in attributes(message.text).items()}
    for key, value in proposed.items():
        said = _last_said(own, value)
        if key in STABLE_KEYS and key not in found and said is not None:
            found[key] = (" ".join(value.split()), said)
    return found


def put_derived(parts: Parts, work: UnitOfWork, partition: Partition, facts: Facts, *, source: str) -> dict[str, str]:
    """Write facts into a profile; `updated_at` is when they were said. Entries that were set by hand, or that were said
    later, stay, and what a memory said that is believed no more is not written, nor what finds no room (see
    `profile_room`). Returns what is new.
    """
    now = parts.clock.now()
    there = {entry.key: entry for entry in work.profiles.of(partition)}
    new: list[ProfileEntry] = []
    for key, (value, said_at) in facts.items():
        old = there.get(key)
        if old is None or (old.source in DERIVED_SOURCES and old.value != value and old.updated_at <= said_at):
            new.append(ProfileEntry(partition, key, value, source, now, min(said_at, now)))
    new = [entry for entry in new if not _is_refuted(work, entry, now)]
    left_out = put_fitting(parts, work, partition, new) if new else ()
    return {entry.key: entry.value for entry in new if entry not in left_out}


def profile_follows(hand: Hand, old: Memory, new: Memory) -> None:
    """What the change of a memory means for its user's profile: an entry that nobody set by hand goes when the memory
    that says the same is believed no more, and is looked for again when it is.
    """
    filled, was, is_ = filled_of(new), is_believed(old, hand.now), is_believed(new, hand.now)
    if filled is None or filled.slot not in STABLE_KEYS or was == is_ or new.level not in (Level.USER, Level.SESSION):
        return
    if is_:
        hand.work.jobs.add([profile_job(hand.now, new.partition, filled.slot)])
        return
    entries = [e for e in hand.work.profiles.of(new.partition) if e.key == filled.slot and e.source in DERIVED_SOURCES]
    if any(_is_same(entry, filled) and _is_refuted(hand.work, entry, hand.now) for entry in entries):
        hand.work.profiles.remove(new.partition, [filled.slot])


def take_back(hand: Hand, messages: Sequence[Message]) -> int:
    """Remove the profile entries that these messages of one partition, which are being erased, say; a job for each key
    looks whether the user said so elsewhere. How many there were.
    """
    partition, keys = messages[0].partition, told_in(hand.work, messages)
    hand.work.jobs.add([profile_job(hand.now, partition, key) for key in keys])
    return hand.work.profiles.remove(partition, keys) if keys else 0


def told_in(work: UnitOfWork, messages: Sequence[Message]) -> list[str]:
    """The keys of the profile entries that nobody set by hand and that these messages of one partition say."""
    if not messages:
        return []
    entries = [each for each in work.profiles.of(messages[0].partition) if each.source in DERIVED_SOURCES]
    said = lasting_facts(messages, {entry.key: entry.value for entry in entries})
    return [entry.key for entry in entries if entry.key in said and said[entry.key][0] == entry.value]


def find_again(parts: Parts, partition: Partition, key: str) -> None:
    """Fill one key of a profile, where it is empty, with what the user said of it last."""
    visible, after, found = Visibility((partition,), None), None, dict[str, tuple[str, datetime]]()
    while True:
        with parts.store.read() as work:
            page = work.messages.page(visible, after, PAGE)
        said = lasting_facts(page, {}).get(key)
        if said is not None and (key not in found or found[key][1] <= said[1]):
            found[key] = said
        if len(page) < PAGE:
            break
        after = page[-1].id
    if found:
        with parts.store.write() as work:
            if all(entry.key != key for entry in work.profiles.of(partition)):
                put_derived(parts, work, partition, found, source=EXTRACTION)


def _is_refuted(work: UnitOfWork, entry: ProfileEntry, now: datetime) -> bool:
    """True when memories say what an entry says, and none of them is believed."""
    query = MemoryQuery(
        now=now,
        states=(State.ACTIVE, State.SUPERSEDED),
        filter=Condition(("metadata", "slot"), "eq", entry.key),
        limit=MAX_RIVALS,
    )
    known = work.memories.list(Visibility((entry.partition,), None), query)
    same = [memory for memory in known if _is_same(entry, filled_of(memory))]
    return bool(same) and not any(is_believed(memory, now) for memory in same)


def _is_same(entry: ProfileEntry, filled: Filled | None) -> bool:
    return filled is not None and relation(filled.slot, entry.value, filled.value) is Relation.SAME


def profile_job(now: datetime, partition: Partition, key: str) -> Job:
    """The job that looks for one key of a profile in what the user said."""
    return Job(
        id=new_id(now),
        partition=partition,
        kind=REMAKE,
        key=f"profile {key}",
        created_at=now,
        run_at=now,
        payload={"profile": key},
    )


def _last_said(own: Sequence[Message], value: str) -> datetime | None:
    """When a value was last part of a plain statement of the user, word for word; None when it never was."""
    wanted = f" {_plain(value)} "
    times = [
        message.observed_at
        for message in own
        if wanted.strip() and any(_holds(statement, wanted) for statement in plain_statements(message.text))
    ]
    return times[-1] if times else None


def _holds(statement: str, wanted: str) -> bool:
    """Whole words where words have blanks around them."""
    return (wanted if wanted.isascii() else wanted.strip()) in f" {_plain(statement)} "


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
