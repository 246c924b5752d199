"""What `Dependants` promises: what was made of what, within one org, and never by a mere likeness of ids."""

from __future__ import annotations

from dataclasses import replace

from mnemic.model.item import Cause, Flag, Memory, State
from mnemic.model.scope import Level, Partition, Visibility
from mnemic.ports.store import SourceText, Store
from mnemic.testing.samples import (
    ANNA,
    ANNA_ELSEWHERE,
    BERT,
    HERS,
    MINUTE,
    NOW,
    READING,
    a_document,
    a_memory,
    a_message,
    a_query,
    add_memories,
    add_messages,
    fill_document,
    terms,
)
from mnemic.testing.store_erasure import derived_from

HIS = BERT.partition(Level.USER)
AGENTS = ANNA.partition(Level.AGENT)
FAR = ANNA_ELSEWHERE.partition(Level.USER)
FLAG = Flag("m1", Cause.OUTDATED, NOW, "e1")


def dependants(store: Store, partition: Partition, *ids: str) -> set[tuple[Partition, str]]:
    """Where the memories lie that were made of these items, and their ids."""
    with store.read() as work:
        return {(memory.partition, memory.id) for memory in work.dependants.of(partition, ids)}


def replaced(store: Store, old: Memory, **changes: object) -> None:
    """Change a memory."""
    with store.write() as work:
        new = replace(old, **changes)
        assert work.memories.replace(new, terms(new.text), old.updated_at)


class DependantsContract:
    """Tests of `Dependants` and of flags; each takes an empty open store."""

    def test_what_was_made_of_an_item_is_found_by_provenance_and_by_what_it_took_in(self, store: Store):
        made = a_memory("made", provenance=derived_from("x", "y"))
        merged = a_memory("merged", bookkeeping={"merged_ids": ["x"]})
        general = a_memory("general", bookkeeping={"chosen_ids": ["x", "z"]}, private_agent="friday")
        add_memories(store, made, merged, general, a_memory("other", provenance=derived_from("z")))
        assert dependants(store, HERS, "x") == {(HERS, made.id), (HERS, merged.id), (HERS, general.id)}
        assert dependants(store, HERS, "y", "nothing") == {(HERS, made.id)}
        assert dependants(store, HERS, "nothing") == dependants(store, HERS) == set()

    def test_what_only_looks_like_links_is_none(self, store: Store):
        odd = ({"merged_ids": "x"}, {"merged_ids": {"x": "x"}}, {"chosen_ids": [1, None, ["x"], "x" * 5000]})
        add_memories(store, *(a_memory(f"odd {n}", bookkeeping=each) for n, each in enumerate(odd)))
        add_memories(store, a_memory("hers", metadata={"merged_ids": ["x"], "chosen_ids": ["x"]}))
        assert dependants(store, HERS, "x", "x" * 5000, "1") == set()

    def test_what_an_agent_learnt_from_a_user_is_found_and_nothing_of_another_org(self, store: Store):
        message = a_message(1)
        learnt = a_memory("learnt", AGENTS, provenance=derived_from(message.id))
        far = a_memory("far", FAR, provenance=derived_from(message.id))
        add_messages(store, message)
        add_memories(store, learnt, far)
        assert dependants(store, HERS, message.id) == {(AGENTS, learnt.id)}
        assert dependants(store, FAR, message.id) == {(FAR, far.id)}

    def test_an_id_means_the_item_of_ones_own_partition_also_when_that_is_erased(self, store: Store):
        message = a_message(1)
        own = replace(message, partition=HIS)
        memory = a_memory("his own copy", HIS, provenance=derived_from(message.id))
        add_messages(store, message)
        add_messages(store, own)
        add_memories(store, memory)
        assert dependants(store, HERS, message.id) == set()
        assert dependants(store, HIS, message.id) == {(HIS, memory.id)}
        with store.write() as work:
            work.messages.erase(HIS, [message.id])
        assert dependants(store, HERS, message.id) == set()

    def test_what_a_memory_was_made_of_changes_with_it(self, store: Store):
        memory = a_memory("made", provenance=derived_from("x"))
        add_memories(store, memory)
        replaced(store, memory, provenance=derived_from("y"), updated_at=NOW + MINUTE)
        assert dependants(store, HERS, "x") == set()
        assert dependants(store, HERS, "y") == {(HERS, memory.id)}
        with store.write() as work:
            work.memories.erase(HERS, [memory.id], NOW)
        assert dependants(store, HERS, "y") == set()

    def test_a_partition_that_was_wiped_was_made_of_nothing(self, store: Store):
        memory = a_memory("made", provenance=derived_from("x"))
        add_memories(store, memory)
        with store.write() as work:
            work.erasure.wipe(HERS)
        add_memories(store, replace(memory, provenance=()))
        assert dependants(store, HERS, "x") == set()

    def test_the_sources_of_a_memory_are_told_with_their_texts_as_they_are_now(self, store: Store):
        message, gone, known = a_message(1, "tea"), a_message(2, "milk"), a_memory("coffee")
        paper = a_document(partition=AGENTS)
        (chunk,) = fill_document(store, paper, "water")
        add_messages(store, message, gone)
        add_memories(store, known)
        sources = (message.id, gone.id, known.id, chunk.id, paper.id, "unknown")
        memory = a_memory("made", AGENTS, provenance=derived_from(*sources))
        add_memories(store, memory)
        with store.write() as work:
            work.messages.erase(HERS, [gone.id])
        with store.read() as work:
            found = [*work.dependants.sources(memory)]
            assert work.dependants.sources(a_memory("made of nothing")) == []
        assert {*found} == {
            SourceText(HERS, message.id, "tea"),
            SourceText(HERS, known.id, "coffee"),
            SourceText(AGENTS, chunk.id, "water"),
            SourceText(AGENTS, paper.id, "water"),
        }
        assert [source.id for source in found] == sorted(source.id for source in found)

    def test_a_source_of_ones_own_partition_hides_another_of_the_same_id(self, store: Store):
        add_memories(store, a_memory("hers", id="same"), a_memory("another", id="there"))
        add_memories(store, a_memory("his", HIS, id="same"))
        memory = a_memory("made", HIS, provenance=derived_from("same", "there"))
        add_memories(store, memory)
        with store.read() as work:
            assert {source.text for source in work.dependants.sources(memory)} == {"his", "another"}
        with store.write() as work:
            work.memories.erase(HIS, ["same"], NOW)
        with store.read() as work:
            assert {source.text for source in work.dependants.sources(memory)} == {"another"}

    def test_flags_come_back_as_they_were_kept_and_are_found_by_what_they_name(self, store: Store):
        other = Flag("m2", Cause.ERASED, NOW + MINUTE, "e2")
        one, two = a_memory("one", flags=(FLAG, other)), a_memory("two", AGENTS, flags=(other,), private_agent="friday")
        add_memories(store, one)
        add_memories(store, two)
        add_memories(store, a_memory("far", FAR, flags=(FLAG, other)), a_memory("free", FAR))
        with store.read() as work:
            assert [m.flags for m in work.memories.get(ANNA.visibility, [one.id])] == [(FLAG, other)]
            assert {m.id for m in work.dependants.flagged("acme", "m1")} == {one.id}
            assert {m.id for m in work.dependants.flagged("acme", "m2")} == {one.id, two.id}
            assert work.dependants.flagged("acme", "e1") == []
        with store.write() as work:
            work.memories.erase(AGENTS, [two.id], NOW)
        replaced(store, one, flags=())
        with store.read() as work:
            assert work.dependants.flagged("acme", "m2") == []

    def test_an_index_is_told_of_flags(self, store: Store):
        memory = a_memory(flags=(FLAG,))
        add_memories(store, memory, a_memory("free"))
        with store.read() as work:
            changes = [*work.partitions.changes(HERS, 0, READING)]
        assert [getattr(change, "is_flagged", None) for change in changes] == [True, False]

    def test_flagged_memories_are_listed_among_others_on_demand(self, store: Store):
        flagged, waiting = a_memory("flagged", flags=(FLAG,)), a_memory("waiting", state=State.QUARANTINED)
        over = a_memory("over", flags=(FLAG,), state=State.SUPERSEDED)
        add_memories(store, flagged, waiting, over, a_memory("plain"))
        query = a_query(states=(State.QUARANTINED,), or_flagged=True)
        visible = Visibility((HERS,), None)
        with store.read() as work:
            assert work.memories.ids(visible, query) == {flagged.id, waiting.id}
            assert [m.id for m in work.memories.list(visible, query)] == [waiting.id, flagged.id]
            assert work.memories.ids(visible, replace(query, or_flagged=False)) == {waiting.id}
