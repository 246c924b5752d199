"""Derives profile entries from users' plain statements about themselves. Entries set by hand always stay. Only the
user's own messages count, and none if several people speak as the user. A model's proposal must occur there word for
word. In a full profile the oldest derived entry gives way; its source stays.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from mnemic.engine.dependants import Hand, is_believed
from mnemic.engine.engine import PAGE_ROWS, Engine, new_job
from mnemic.engine.fields import filled_of
from mnemic.engine.kinds import REMAKE
from mnemic.model.bookkeeping import fills_slot
from mnemic.model.item import DERIVED_SOURCES, EXTRACTION, Fact, Memory, Message, ProfileEntry, Role, State, Trust
from mnemic.model.listing import group_pairs
from mnemic.model.recall import MemoryQuery
from mnemic.model.records import Job
from mnemic.model.scope import Level, Partition, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.facts.find import Said, find_candidates, join_facts, read_attributes
from mnemic.text.facts.own_words import Scene
from mnemic.text.facts.statements import CHANGES, plain_statements
from mnemic.text.normalise import late_pattern
from mnemic.text.prompts import STABLE_KEYS
from mnemic.text.slots import (
    Filled,
    Relation,
    canonical,
    is_for_any_prompt,
    is_of_project,
    is_work_order,
    relation,
    slot_of,
)

_log = logging.getLogger("mnemic.profile")


def put_fitting(
    engine: Engine, work: UnitOfWork, partition: Partition, new: Sequence[ProfileEntry]
) -> Sequence[ProfileEntry]:
    """Write the entries that fit into a profile. Returns the others. Removes an expired profile first."""
    there = live_entries(engine, work, partition)
    if not there and (expired := [entry.key for entry in work.profiles.of(partition)]):
        work.profiles.remove(partition, expired)
    kept, gone = fitting(there, new, engine.settings.max_profile_facts)
    if gone:
        work.profiles.remove(partition, gone)
        _log.info("a profile is full: removing %d derived facts", len(gone))
        engine.observer.count("mnemic.profile.displaced", len(gone))
    work.profiles.put(kept)
    written = {entry.key for entry in kept}
    return [entry for entry in new if entry.key not in written]


def live_entries(engine: Engine, work: UnitOfWork, partition: Partition) -> list[ProfileEntry]:
    """A profile's entries. Empty after its lifetime (`profile_ttl_s`), which each write restarts."""
    entries, most, now = work.profiles.of(partition), engine.settings.profile_ttl_s, engine.clock.now()
    written = max((max(entry.created_at, entry.updated_at) for entry in entries), default=now)
    return [] if most is not None and (now - written).total_seconds() > most else entries


def fitting(
    there: Sequence[ProfileEntry], new: Sequence[ProfileEntry], limit: int
) -> tuple[list[ProfileEntry], list[str]]:
    """The entries to write, at most `limit` in all, and the keys that give way. Known keys need no room. Entries set by
    hand come first, then the newest derived ones, which replace only older derived ones.
    """
    known, coming = {entry.key for entry in there}, {entry.key for entry in new}
    kept = [entry for entry in new if entry.key in known]
    older = sorted((e for e in there if _is_derived(e) and e.key not in coming), key=lambda e: (e.updated_at, e.key))
    free, gone = limit - len(known), list[str]()
    newest_first = sorted(new, key=lambda entry: entry.updated_at, reverse=True)
    for entry in sorted(newest_first, key=_is_derived):
        if entry.key in known:
            continue
        if free > 0:
            free -= 1
        elif older and (not _is_derived(entry) or older[0].updated_at < entry.updated_at):
            gone.append(older.pop(0).key)
        else:
            continue
        kept.append(entry)
    return kept, gone


_OF_HEALTH = ("diet", "allergy to ")  # an answer about food must respect them even if nobody mentions them


_YES = "yes"  # the value of a key that ends with it: "allergy to nuts"


def _is_lasting(slot: str) -> bool:
    return slot in STABLE_KEYS or slot.startswith(_OF_HEALTH) or is_for_any_prompt(slot)


def _is_derived(entry: ProfileEntry) -> bool:
    return entry.source in DERIVED_SOURCES


Facts = Mapping[str, tuple[str, datetime]]
"""Values with the time of the statement, by key."""

_LEADING = late_pattern(r"^(?:in|at|near|bei)\s+", re.IGNORECASE)
MAX_RIVALS = 32  # memories that may fill one profile entry: bounds one read
_OWN_TRUST = (Trust.USER, Trust.IMPORTED)


def lasting_facts(messages: Sequence[Message], proposed: Mapping[str, str]) -> Facts:
    """Lasting facts in the user's own messages (in order), and `proposed` values for other keys if proved. What is said
    about a project stays in it.
    """
    own = [m for m in messages if m.role is Role.USER and m.trust in _OWN_TRUST]
    own = [m for m in own if m.private_agent is None or not is_of_project(m.text)]
    if len({message.name for message in own if message.name}) > 1:
        return {}
    scenes: dict[str, Scene] = defaultdict(Scene)
    own = [replace(message, text=scenes[message.session].follow(message.text)) for message in own]
    found: dict[str, tuple[str, datetime]] = {}
    for message in own:
        attributes = read_attributes(message.text)
        own_here = [key for key in attributes if not (message.private_agent and is_work_order(key))]
        found |= {key: (attributes[key], message.observed_at) for key in own_here}
    for key, value in proposed.items():
        said = _find_last_statement(own, value)
        if key in STABLE_KEYS and key not in found and said is not None:
            found[key] = (" ".join(value.split()), said)
    return found


def within_limit(facts: Sequence[Fact], limit: int) -> tuple[list[Fact], list[Fact]]:
    """Split a message's facts into those to store and those over the limit. Those of the profile are left out first."""
    joined = join_facts(facts, limit, lambda slot: slot in CHANGES or _is_lasting(slot))
    by_need = sorted(range(len(joined)), key=lambda place: _is_lasting(joined[place].slot))
    return [joined[place] for place in sorted(by_need[:limit])], [joined[place] for place in by_need[limit:]]


def attributes_of(facts: Sequence[Fact]) -> dict[str, tuple[str, datetime]]:
    """User attributes in these facts, by key. The newest counts; untrusted sources do not."""
    found: dict[str, tuple[str, datetime]] = {}
    for fact in sorted(facts, key=lambda each: each.observed_at):
        filled = Filled(canonical(fact.slot), fact.value) if fact.slot else slot_of(fact.text)
        holds = fact.valid_to is None and (fact.valid_from is None or fact.valid_from <= fact.observed_at)
        if filled is None or not _is_lasting(filled.slot) or fact.trust not in _OWN_TRUST or not holds:
            continue
        if value := _value_of(filled):
            found[filled.slot] = (value, fact.observed_at)
    return found


def put_derived(engine: Engine, work: UnitOfWork, partition: Partition, facts: Facts, *, source: str) -> dict[str, str]:
    """Write facts into a profile, dated by their statement. Returns the new ones. Skips keys with entries set by hand
    or later, disbelieved facts, and facts without room (see `fitting`).
    """
    now = engine.clock.now()
    there = {entry.key: entry for entry in live_entries(engine, work, partition)}
    new: list[ProfileEntry] = []
    for key, (value, said_at) in facts.items():
        old = there.get(key)
        if old is None or (old.source in DERIVED_SOURCES and old.value != value and old.updated_at <= said_at):
            new.append(ProfileEntry(partition, key, value, source, now, min(said_at, now)))
    new = [entry for entry in new if not _is_refuted(work, entry, now)]
    left_out = put_fitting(engine, work, partition, new) if new else ()
    return {entry.key: entry.value for entry in new if entry not in left_out}


def profile_follows(hand: Hand, old: Memory, new: Memory) -> None:
    """Update the user's profile after a memory's change. Entries set by hand stay."""
    was, is_ = _lasting_slot(old, hand.now), _lasting_slot(new, hand.now)
    if was == is_:
        return
    entries = [] if was is None else [e for e in hand.work.profiles.of(new.partition) if e.key == was.slot]
    for entry in entries:
        supporters = _supporters(hand.work, entry, hand.now)
        is_carried = any(is_believed(memory, hand.now) for memory in supporters)
        if entry.source in DERIVED_SOURCES and _is_same(entry, was) and not is_carried:
            hand.work.profiles.remove(new.partition, [entry.key])
    if is_ and was and new.trust in _OWN_TRUST and not new.private_agent:  # its text was corrected
        corrected = {is_.slot: (_value_of(is_), hand.now)}
        put_derived(hand.engine, hand.work, new.partition, corrected, source=EXTRACTION)
    elif is_ is not None:
        hand.work.jobs.add([profile_job(hand.now, new.partition, is_.slot)])


def _lasting_slot(memory: Memory, now: datetime) -> Filled | None:
    """What a believed memory of a user says for the profile, if anything."""
    filled = filled_of(memory)
    is_there = memory.level in (Level.USER, Level.SESSION) and is_believed(memory, now)
    return filled if filled is not None and is_there and _is_lasting(filled.slot) else None


def _value_of(filled: Filled) -> str:
    return _YES if _says_value(filled) else _LEADING.sub("", filled.value).strip()


def remove_derived(work: UnitOfWork, partition: Partition, key: str, value: str) -> None:
    """Remove a profile entry with this value, unless it was set by hand."""
    for entry in work.profiles.of(partition):
        if entry.key == key and entry.source in DERIVED_SOURCES and entry.value.casefold() == value.casefold():
            work.profiles.remove(partition, [key])


def forget_deleted(hand: Hand, memories: Sequence[Memory]) -> int:
    """Remove derived profile entries with values of deleted memories that no other supports. Returns their number."""
    removed = 0
    for partition, gone in group_pairs((memory.partition, memory) for memory in memories).items():
        there = {entry.key: entry for entry in hand.work.profiles.of(partition)}
        keys = [key for key in told_in(hand.work, (), gone) if not _supporters(hand.work, there[key], hand.now)]
        removed += hand.work.profiles.remove(partition, keys) if keys else 0
    return removed


def take_back(hand: Hand, messages: Sequence[Message]) -> int:
    """Remove profile entries that these messages supported, and look for other sources. Returns their number."""
    partition, keys = messages[0].partition, told_in(hand.work, messages)
    hand.work.jobs.add([profile_job(hand.now, partition, key) for key in keys])
    return hand.work.profiles.remove(partition, keys) if keys else 0


def told_in(work: UnitOfWork, messages: Sequence[Message], memories: Sequence[Memory] = ()) -> list[str]:
    """Keys of the derived profile entries that these items of one partition support."""
    if not (messages or memories):
        return []
    entries = [e for e in work.profiles.of([*messages, *memories][0].partition) if e.source in DERIVED_SOURCES]
    said = lasting_facts(messages, {entry.key: entry.value for entry in entries})
    filled = [each for memory in memories if (each := filled_of(memory)) is not None]
    keys = [e.key for e in entries if any(e.key == each.slot and _is_same(e, each) for each in filled)]
    keys += [e.key for e in entries if e.key not in keys and e.key in said and said[e.key][0] == e.value]
    left = [entry for entry in entries if entry.key not in keys]
    # Reading all statements of a message takes milliseconds, and a session may have thousands.
    words = {(each.key if each.value == _YES else each.value).split()[-1].casefold() for each in left if each.value}
    near = [message for message in messages if any(word in message.text.casefold() for word in words)]
    plain = [fact for m in near for fact in find_candidates(Said(m.id, m.text, m.observed_at, m.trust))]
    told = attributes_of(plain)
    return keys + [entry.key for entry in left if entry.key in told and told[entry.key][0] == entry.value]


def find_again(engine: Engine, partition: Partition, key: str) -> None:
    """Fill an empty profile key with the user's latest statement about it."""
    visible, after, found = Visibility((partition,), None), None, dict[str, tuple[str, datetime]]()
    now = engine.clock.now()
    with engine.store.read() as work:
        query = MemoryQuery(now=now, filter=fills_slot(key), limit=MAX_RIVALS)
        for memory in work.memories.list(visible, query):
            filled = _lasting_slot(memory, now) if memory.provenance and memory.trust in _OWN_TRUST else None
            if filled is not None and (key not in found or found[key][1] <= memory.observed_at):
                found[key] = (_value_of(filled), memory.observed_at)
    while True:
        with engine.store.read() as work:
            page = work.messages.page(visible, after, PAGE_ROWS)
        said = lasting_facts(page, {}).get(key)
        if said is not None and (key not in found or found[key][1] <= said[1]):
            found[key] = said
        if len(page) < PAGE_ROWS:
            break
        after = page[-1].id
    if found:
        with engine.store.write() as work:
            if all(entry.key != key for entry in live_entries(engine, work, partition)):
                put_derived(engine, work, partition, found, source=EXTRACTION)


def _is_refuted(work: UnitOfWork, entry: ProfileEntry, now: datetime) -> bool:
    """True if memories support the entry, but none of them is believed."""
    same = _supporters(work, entry, now)
    return bool(same) and not any(is_believed(memory, now) for memory in same)


def _supporters(work: UnitOfWork, entry: ProfileEntry, now: datetime) -> list[Memory]:
    """The active and superseded memories that state the entry."""
    query = MemoryQuery(
        now=now, states=(State.ACTIVE, State.SUPERSEDED), filter=fills_slot(entry.key), limit=MAX_RIVALS
    )
    known = work.memories.list(Visibility((entry.partition,), None), query)
    return [memory for memory in known if _is_same(entry, filled_of(memory))]


def _is_same(entry: ProfileEntry, filled: Filled | None) -> bool:
    if filled is None or _says_value(filled):
        return filled is not None
    return relation(filled.slot, entry.value, filled.value) is Relation.SAME


def _says_value(filled: Filled) -> bool:
    """True for a slot whose name ends with its value, such as "allergy to nuts"."""
    return filled.slot.endswith(f" {filled.value.casefold()}")


def profile_job(now: datetime, partition: Partition, key: str) -> Job:
    """The job that looks for a profile key in the user's messages."""
    return new_job(now, partition, REMAKE, f"profile {key}", {"profile": key})


def _find_last_statement(own: Sequence[Message], value: str) -> datetime | None:
    """The last time that a plain statement of the user held the value word for word, or None."""
    wanted = f" {_plain(value)} "
    times = [
        message.observed_at
        for message in own
        if wanted.strip() and any(_holds(statement, wanted) for statement in plain_statements(message.text))
    ]
    return times[-1] if times else None


def _holds(statement: str, wanted: str) -> bool:
    """True if the statement contains the words; whole words in scripts with spaces."""
    return (wanted if wanted.isascii() else wanted.strip()) in f" {_plain(statement)} "


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
