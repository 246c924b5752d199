"""How many facts a profile holds, and which give way when it is full.

What somebody set by hand never gives way. Of derived facts the one that was said longest ago does, and what it was
derived from stays.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mnemic.engine.parts import Parts
from mnemic.model.profile import DERIVED_SOURCES, ProfileEntry
from mnemic.model.scope import Partition
from mnemic.ports.store import UnitOfWork

_log = logging.getLogger("mnemic.profile")


def put_fitting(
    parts: Parts, work: UnitOfWork, partition: Partition, new: Sequence[ProfileEntry]
) -> Sequence[ProfileEntry]:
    """Write those of the new facts of a profile for which there is room, or is made; returns those that were not."""
    there = work.profiles.of(partition)
    kept, gone = fitting(there, new, parts.settings.max_profile_facts)
    if gone:
        work.profiles.remove(partition, gone)
        _log.info("the profile of %s is full: %d derived facts give way", partition.owner, len(gone))
        parts.observer.count("mnemic.profile.displaced", len(gone))
    work.profiles.put(kept)
    written = {entry.key for entry in kept}
    return [entry for entry in new if entry.key not in written]


def fitting(
    there: Sequence[ProfileEntry], new: Sequence[ProfileEntry], limit: int
) -> tuple[list[ProfileEntry], list[str]]:
    """Which of the new facts are to be written, so that there are at most `limit`, and the keys that give way.

    A key that is there already needs no room. Facts set by hand come first, then derived ones, those said last first;
    a derived fact makes only an older one give way.
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


def _is_derived(entry: ProfileEntry) -> bool:
    return entry.source in DERIVED_SOURCES
