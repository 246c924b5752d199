"""What `Profiles` promises: hard facts by key."""

from __future__ import annotations

from dataclasses import replace

from mnemic.model.item import ProfileEntry
from mnemic.model.scope import Level
from mnemic.ports.store import Store
from mnemic.testing.samples import BERT, HERS, MINUTE, NOW, a_profile_entry, version_of


def put(store: Store, *entries: ProfileEntry) -> None:
    """Write entries in one unit of work."""
    with store.write() as work:
        work.profiles.put(entries)


def profile(store: Store) -> list[ProfileEntry]:
    """Anna's profile."""
    with store.read() as work:
        return work.profiles.of(HERS)


class ProfilesContract:
    """Tests of `Profiles`; each takes an empty open store."""

    def test_entries_return_as_they_were_put_ordered_by_key(self, store: Store):
        entries = [a_profile_entry(key, value="Ω 'x'\r\n ") for key in ("Zoo", "age", "ümlaut")]
        put(store, *entries[::-1])
        assert profile(store) == entries

    def test_an_entry_that_is_there_keeps_when_it_was_created_and_takes_the_rest(self, store: Store):
        old = a_profile_entry("age", value="41")
        put(store, old)
        new = replace(old, value="42", source="cli", created_at=NOW + MINUTE, updated_at=NOW + MINUTE)
        put(store, new)
        assert profile(store) == [replace(new, created_at=NOW)]

    def test_a_profile_holds_nothing_of_another_partition(self, store: Store):
        put(store, a_profile_entry("age", BERT.partition(Level.USER)))
        assert profile(store) == []

    def test_removing_tells_how_many_there_were(self, store: Store):
        age, name = a_profile_entry("age"), a_profile_entry("name")
        put(store, age, name)
        with store.write() as work:
            assert work.profiles.remove(BERT.partition(Level.USER), ["age"]) == 0
            assert work.profiles.remove(HERS, ["age", "unknown", "age"]) == 1
        assert profile(store) == [name]

    def test_a_profile_moves_no_version(self, store: Store):
        put(store, a_profile_entry("age"))
        assert version_of(store) == 0
