"""What `Memories.list` and `.ids` promise: conditions, order, pages, and the meaning of every filter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mnemic.model.filter import Condition, parse_filter
from mnemic.model.item import Kind, Memory, State, Trust
from mnemic.model.recall import Order
from mnemic.model.scope import Level, Scope
from mnemic.ports.store import Store
from mnemic.testing.samples import ANNA, ANNA_ELSEWHERE, BERT, HERS, MINUTE, NOW, a_memory, a_query, add_memories

LATER = (NOW + MINUTE).isoformat()
PLAIN = a_memory("plain")
RICH = a_memory(
    "Rich text",
    kind=Kind.GOAL,
    state=State.ARCHIVED,
    source="chat",
    agent="jarvis",
    trust=Trust.TOOL,
    importance=0.75,
    confidence=0.25,
    access_count=3,
    is_pinned=True,
    categories=("plan", "ü"),
    observed_at=NOW + MINUTE,
    created_at=NOW + MINUTE,
    updated_at=NOW + MINUTE,
    valid_from=NOW + MINUTE,
    valid_to=NOW + 2 * MINUTE,
    metadata={"n": 1, "f": 1.5, "s": "1", "yes": True, "none": None, "list": ["a", 1, False], "in": {"ner": "x"}}
    | {"slot": "home"},
)

ONLY_RICH: tuple[Mapping[str, object], ...] = (
    {"kind": "goal"},
    {"kind": {"in": ["goal", "event"]}},
    {"kind": ["goal", "event"]},
    {"state": {"ne": "active"}},
    {"source": {"contains": "ha"}},
    {"agent": {"exists": True}},
    {"trust": {"eq": "tool"}},
    {"text": {"contains": "text"}},
    {"text": {"lt": "a"}},
    {"importance": {"gt": 0.5}},
    {"importance": {"gte": 0.75, "lte": 0.75}},
    {"confidence": {"lt": 1}},
    {"access_count": 3.0},
    {"is_pinned": True},
    {"categories": {"contains": "ü"}},
    {"categories": {"exists": True}},
    {"observed_at": {"gt": NOW.isoformat()}},
    {"created_at": {"gte": LATER}},
    {"updated_at": LATER},
    {"valid_from": {"lte": LATER}},
    {"valid_to": {"exists": True}},
    {"metadata.n": 1},
    {"metadata.n": {"gte": 0.5, "lt": 1.5}},
    {"metadata.f": {"in": [1.5, "x"]}},
    {"metadata.s": "1"},
    {"metadata.slot": "home"},
    {"metadata.s": {"contains": "1"}},
    {"metadata.yes": True},
    {"metadata.list": {"contains": "a"}},
    {"metadata.list": {"contains": 1}},
    {"metadata.list": {"contains": False}},
    {"metadata.in": {"exists": True}},
    {"metadata.in.ner": {"gte": "x"}},
    {"not": {"kind": "fact"}},
    {"or": [{"kind": "goal"}, {"kind": "event"}]},
    {"and": [{"kind": "goal"}, {"is_pinned": True}]},
    {"kind": "goal", "is_pinned": True},
)
BOTH: tuple[Mapping[str, object], ...] = (
    {},
    {"and": []},
    {"level": "user"},
    {"metadata.n": {"ne": 2}},
    {"metadata.none": {"exists": False}},
    {"not": {"metadata.unknown": "x"}},
    {"not": {"metadata.slot": "away"}},
    {"metadata.s": {"ne": 1}},
)
NEITHER: tuple[Mapping[str, object], ...] = (
    {"or": []},
    {"kind": {"in": []}},
    {"kind": "goal", "is_pinned": False},
    {"agent": {"gt": "z"}},
    {"metadata.n": "1"},
    {"metadata.slot": "away"},
    {"metadata.slot": 1},
    {"metadata.n": True},
    {"metadata.s": 1},
    {"metadata.s": {"gt": 0}},
    {"metadata.yes": 1},
    {"metadata.list": {"contains": True}},
    {"metadata.list": "a"},
    {"metadata.in": {"contains": "ner"}},
    {"metadata.none": {"lt": 1}},
    {"metadata.list.0": {"exists": True}},
    {"categories": {"contains": "pla"}},
    {"importance": {"gt": 0.75}},
)


def listed(store: Store, scope: Scope = ANNA, **conditions: Any) -> list[Memory]:
    """What the scope sees listed under these conditions; checks that `ids` says the same."""
    query = a_query(**conditions)
    with store.read() as work:
        found = work.memories.list(scope.visibility, query)
        whole = work.memories.list(scope.visibility, replace(query, limit=None, after=None))
        assert work.memories.ids(scope.visibility, query) == {memory.id for memory in whole}
    return found


class ListingContract:
    """Tests of `Memories.list` and `.ids`; each takes an empty open store."""

    def test_an_ending_finds_the_memories_whose_id_ends_like_this(self, store: Store):
        one, other = a_memory("tea"), a_memory("coffee")
        add_memories(
            store, one, other, a_memory("milk", BERT.partition(Level.USER), id=f"{other.id[:-12]}{one.id[-12:]}")
        )
        assert listed(store, ending=one.id[-12:]) == [one]
        assert listed(store, ending=f"f{one.id}") == listed(store, ending="%") == []

    def test_active_memories_are_listed_newest_first_and_ties_end_with_the_id(self, store: Store):
        old = a_memory("old", created_at=NOW - MINUTE)
        twins = [a_memory("one"), a_memory("two")]
        add_memories(store, twins[1], old, twins[0])
        assert listed(store) == [twins[1], twins[0], old]

    def test_a_condition_on_bookkeeping_looks_at_no_metadata_and_the_other_way_round(self, store: Store):
        noted = a_memory("noted", bookkeeping={"slot": "home", "import": {"id": "1"}})
        said = a_memory("said", metadata={"slot": "home", "import": {"id": "1"}})
        add_memories(store, noted, said)
        for keys in (("slot",), ("import", "id")):
            wanted = "home" if keys == ("slot",) else "1"
            for field, found in (("bookkeeping", noted), ("metadata", said)):
                for condition in (Condition((field, *keys), "eq", wanted), Condition((field, *keys), "in", (wanted,))):
                    assert listed(store, filter=condition) == [found]
                assert listed(store, filter=Condition((field, *keys), "exists", value=True)) == [found]
                assert listed(store, filter=Condition((field, *keys), "contains", wanted)) == [found]

    def test_oldest_is_newest_reversed(self, store: Store):
        memories = [a_memory("old", created_at=NOW - MINUTE), a_memory("one"), a_memory("two")]
        add_memories(store, *memories[::-1])
        assert listed(store, order=Order.OLDEST) == memories

    def test_importance_orders_by_importance_then_access_count_then_newest(self, store: Store):
        memories = [
            a_memory("important", importance=0.9, created_at=NOW - 2 * MINUTE),
            a_memory("accessed", access_count=9, created_at=NOW - 2 * MINUTE),
            a_memory("new"),
            a_memory("old", created_at=NOW - MINUTE),
        ]
        add_memories(store, *memories[::-1])
        assert listed(store, order=Order.IMPORTANCE) == memories

    def test_limit_bounds_how_many_are_listed(self, store: Store):
        memories = [a_memory(str(number)) for number in range(3)]
        add_memories(store, *memories)
        sizes = {limit: len(listed(store, limit=limit)) for limit in (0, 1, 2, 3, 4, None)}
        assert sizes == {0: 0, 1: 1, 2: 2, 3: 3, 4: 3, None: 3}

    def test_pages_join_without_gap_or_overlap_in_every_order(self, store: Store):
        memories = [a_memory(str(n), importance=(n % 2) / 2, created_at=NOW - (n % 3) * MINUTE) for n in range(7)]
        add_memories(store, *memories)
        for order in Order:
            whole = listed(store, order=order)
            first = listed(store, order=order, limit=3)
            second = listed(store, order=order, limit=3, after=first[-1].id)
            rest = listed(store, order=order, limit=3, after=second[-1].id)
            assert [*first, *second, *rest] == whole
            assert listed(store, order=order, limit=3, after=rest[-1].id) == []

    def test_a_page_after_a_memory_that_is_not_visible_is_empty(self, store: Store):
        private, other = a_memory("private", private_agent="friday"), a_memory("b", BERT.partition(Level.USER))
        add_memories(store, a_memory("hers", created_at=NOW - MINUTE), private, other)
        assert [listed(store, after=i) for i in (private.id, other.id, "unknown")] == [[], [], []]

    @pytest.mark.requirement("N-07")
    def test_what_has_expired_is_never_shown(self, store: Store):
        session = ANNA.partition(Level.SESSION)
        lasting, expiring = a_memory("a", session, expires_at=NOW + MINUTE), a_memory("b", session, expires_at=NOW)
        add_memories(store, lasting, expiring)
        assert listed(store) == [lasting]
        assert listed(store, now=NOW + MINUTE) == []
        assert listed(store, now=NOW - timedelta(microseconds=1)) == [expiring, lasting]

    def test_states_are_any_of_those_named(self, store: Store):
        active, archived, disputed = (
            a_memory(s.value, state=s) for s in (State.ACTIVE, State.ARCHIVED, State.DISPUTED)
        )
        add_memories(store, active, archived, disputed)
        assert listed(store, states=(State.ARCHIVED, State.DISPUTED)) == [disputed, archived]

    def test_no_states_mean_every_one_but_erased_which_must_be_named(self, store: Store):
        kept, gone = a_memory("kept", state=State.SUPERSEDED), a_memory("gone")
        add_memories(store, kept, gone)
        with store.write() as work:
            work.memories.erase(HERS, [gone.id], NOW)
        assert listed(store, states=()) == [kept]
        assert [memory.id for memory in listed(store, states=(State.ERASED,))] == [gone.id]

    def test_kinds_are_any_of_those_named(self, store: Store):
        memories = [a_memory(kind.value, kind=kind) for kind in (Kind.FACT, Kind.GOAL, Kind.EVENT)]
        add_memories(store, *memories)
        assert listed(store, kinds=(Kind.FACT, Kind.EVENT)) == [memories[2], memories[0]]

    def test_as_of_asks_what_was_true_in_the_world_half_open(self, store: Store):
        memory = a_memory(valid_from=NOW, valid_to=NOW + 2 * MINUTE)
        add_memories(store, memory)
        shown = [bool(listed(store, as_of=NOW + minutes * MINUTE)) for minutes in (-1, 0, 1, 2)]
        assert shown == [False, True, True, False]

    def test_a_memory_without_valid_from_is_true_since_it_was_observed(self, store: Store):
        add_memories(store, a_memory(observed_at=NOW - MINUTE))
        assert [bool(listed(store, as_of=NOW + minutes * MINUTE)) for minutes in (-2, -1, 9)] == [False, True, True]

    def test_known_at_asks_what_was_known_to_us_half_open(self, store: Store):
        add_memories(store, a_memory(retired_at=NOW + MINUTE))
        shown = [bool(listed(store, known_at=NOW + minutes * MINUTE)) for minutes in (-1, 0, 1)]
        assert shown == [False, True, False]

    @pytest.mark.requirement("J-11", "N-05", "N-17")
    def test_only_the_visible_partitions_are_listed(self, store: Store):
        hers = [a_memory(level.value, ANNA.partition(level)) for level in Level]
        theirs = [
            a_memory(level.value, scope.partition(level))
            for scope in (replace(BERT, session="s2", agent="friday"), ANNA_ELSEWHERE)
            for level in Level
            if scope.partition(level) != ANNA.partition(level)
        ]
        add_memories(store, *hers, *theirs)
        assert listed(store) == hers[::-1]

    def test_a_missing_part_makes_its_level_invisible(self, store: Store):
        add_memories(store, *(a_memory(level.value, ANNA.partition(level)) for level in Level))
        seen = {
            part: {memory.level for memory in listed(store, replace(ANNA, **{part: None}))}
            for part in ("session", "user", "agent")
        }
        assert seen == {
            "session": {Level.USER, Level.AGENT, Level.ORG},
            "user": {Level.AGENT, Level.ORG},  # a session belongs to its user
            "agent": {Level.SESSION, Level.USER, Level.ORG},
        }

    @pytest.mark.requirement("R-16")
    def test_a_session_memory_of_nobody_is_seen_in_that_session(self, store: Store):
        nobody = Scope(org="acme", session="s1")
        memory = a_memory("for the session", nobody.partition(Level.SESSION))
        add_memories(store, memory)
        assert [listed(store, scope) for scope in (nobody, ANNA, replace(nobody, session="s2"))] == [
            [memory],
            [memory],
            [],
        ]

    def test_private_memories_of_another_agent_are_not_listed(self, store: Store):
        shared, private = a_memory("shared"), a_memory("private", private_agent="jarvis")
        add_memories(store, shared, private)
        assert listed(store) == [private, shared]
        assert listed(store, replace(ANNA, agent="friday")) == [shared]
        assert listed(store, replace(ANNA, agent=None)) == [shared]

    def test_a_visibility_narrowed_to_levels_lists_those_levels(self, store: Store):
        add_memories(store, *(a_memory(level.value, ANNA.partition(level)) for level in Level))
        with store.read() as work:
            found = work.memories.list(ANNA.visibility.at(Level.AGENT, Level.ORG), a_query())
        assert {memory.level for memory in found} == {Level.AGENT, Level.ORG}

    def test_every_filter_means_what_the_filter_language_says(self, store: Store):
        add_memories(store, PLAIN, RICH)
        for expected, filters in (({RICH.id}, ONLY_RICH), ({PLAIN.id, RICH.id}, BOTH), (set[str](), NEITHER)):
            for filter_ in filters:
                found = listed(store, states=(), filter=parse_filter(filter_))
                assert {memory.id for memory in found} == expected, filter_

    def test_a_filter_and_the_other_conditions_must_all_hold(self, store: Store):
        add_memories(store, PLAIN, RICH)
        assert listed(store, filter=parse_filter({"kind": "goal"})) == []

    def test_a_filter_value_is_never_part_of_the_question(self, store: Store):
        text = "x' OR '1'='1\"; --%_\\"
        odd, plain = a_memory(text, metadata={"kéy ;--": text}), a_memory("plain")
        add_memories(store, odd, plain)
        for filter_ in ({"text": text}, {"metadata.kéy ;--": text}, {"metadata.kéy ;--": {"contains": "%_\\"}}):
            assert listed(store, filter=parse_filter(filter_)) == [odd]
