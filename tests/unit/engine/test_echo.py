"""The guard against feedback: what a context put into a prompt does not come back as memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mnemic.adapters.observers.counters import CounterObserver
from mnemic.api import Mnemic
from mnemic.errors import NotFoundError
from mnemic.model.item import Message, Role, Turn
from mnemic.ports.store import Store
from mnemic.text.blocks import FACTS_BEGIN, facts_block
from tests.unit.engine.kit import ANNA, Clock

FACT = "Anna drinks smoked tea from Lapsang"
ASKED = "Which smoked tea do I drink?"
MARKS = ("USER FACTS", "User profile", "Date:", "background")
BLOCK = facts_block([FACT])


def kept(store: Store) -> Sequence[Message]:
    """Every message that Anna may see."""
    with store.read() as work:
        return work.messages.page(ANNA.visibility, None, 1000)


def captured(mnemic: Mnemic, *messages: tuple[str, str]) -> Turn:
    return mnemic.capture(ANNA, [{"role": role, "content": text} for role, text in messages])


def texts(turn: Turn) -> list[str]:
    return [message.text for message in turn.messages]


def prompt(mnemic: Mnemic, question: str, **options: Any) -> list[tuple[str, str]]:
    return [(m.role.value, m.content) for m in mnemic.context(ANNA, question, **options).messages]


@pytest.mark.requirement("P-11")
@pytest.mark.parametrize("placement", ["leading", "before_last_user"])
@pytest.mark.parametrize("system", ["", "You are Quill."])
def test_ten_rounds_leave_no_copies(mnemic: Mnemic, store: Store, clock: Clock, placement: str, system: str):
    memory = mnemic.remember(ANNA, FACT)
    mnemic.profile.set(ANNA, {"name": "Anna", "town": "Oslo"})
    for number in range(10):
        clock.turn(minutes=1)
        asked = prompt(mnemic, f"{ASKED} ({number})", system=system, placement=placement, budget_tokens=5000)
        assert sum(FACT in text for role, text in asked if role == "system") == 1
        turn = captured(mnemic, *asked, ("assistant", FACT))
        assert texts(turn) == [*([system] if system and not number else []), f"{ASKED} ({number})", FACT]
        mnemic.work()
    assert [m.id for m in mnemic.list(ANNA, states=[]).memories] == [memory.id]
    everything = kept(store)
    assert len(everything) == 20 + bool(system)
    assert not any(mark in message.text for message in everything for mark in MARKS)
    told = [hit.id for hit in mnemic.recall(ANNA, FACT, limit=None) if FACT in hit.text]
    assert told == [memory.id]


@pytest.mark.requirement("P-11")
def test_a_message_is_kept_without_the_block_in_it_and_one_that_is_nothing_else_is_not(
    mnemic: Mnemic, observer: CounterObserver
):
    turn = captured(mnemic, ("system", BLOCK), ("user", f"See:\n{BLOCK}\nIs that so?"), ("assistant", "Yes."))
    assert texts(turn) == ["See:\n\nIs that so?", "Yes."]
    assert turn.left_out == 2
    assert observer.counts["mnemic.capture.own_blocks", ()] == 2


@pytest.mark.requirement("P-11")
def test_a_person_who_speaks_of_a_marker_is_kept_word_for_word(mnemic: Mnemic):
    question = f"My log says\n{FACTS_BEGIN}\nand nothing else. Why?"
    turn = captured(mnemic, ("user", question))
    assert (texts(turn), turn.left_out) == ([question], 0)


def test_nothing_but_blocks_makes_a_turn_without_messages_and_counts_none(mnemic: Mnemic):
    empty = captured(mnemic, ("system", BLOCK))
    assert (empty.messages, empty.left_out, empty.session) == ((), 1, "s1")
    assert captured(mnemic, ("user", "Hello")).number == 1
    with pytest.raises(NotFoundError):
        mnemic.complete(ANNA, empty.id, assistant="Hi")


@pytest.mark.requirement("P-11")
def test_the_answer_that_completes_a_turn_is_kept_without_blocks_too(mnemic: Mnemic):
    turn = mnemic.capture(ANNA, user=ASKED)
    nothing = mnemic.complete(ANNA, turn.id, assistant=BLOCK)
    assert (texts(nothing), nothing.left_out) == ([ASKED], 1)
    whole = mnemic.complete(ANNA, turn.id, assistant=f"{BLOCK}\n\nSmoked.")
    assert (texts(whole), whole.left_out) == ([ASKED, "Smoked."], 1)
    with pytest.raises(NotFoundError):
        mnemic.complete(ANNA, "nowhere", assistant=BLOCK)


class TestHistory:
    """The session history of a context is stored already."""

    def test_a_message_that_was_captured_before_its_context_was_built_is_not_kept_twice(self, mnemic: Mnemic):
        mnemic.remember(ANNA, FACT)
        captured(mnemic, ("user", "Hello"), ("assistant", "Hi"))
        captured(mnemic, ("user", ASKED))
        asked = prompt(mnemic, ASKED)
        assert [role for role, _ in asked] == ["system", "user", "assistant", "user"]
        turn = captured(mnemic, *asked, ("assistant", "Lapsang."))
        assert (texts(turn), turn.left_out) == (["Lapsang."], 4)

    def test_saying_the_same_again_is_kept_again(self, mnemic: Mnemic, store: Store):
        mnemic.remember(ANNA, FACT)
        for _ in range(3):
            turn = captured(mnemic, *prompt(mnemic, ASKED), ("assistant", "Lapsang."))
            assert texts(turn) == [ASKED, "Lapsang."]
        assert len(kept(store)) == 6

    def test_a_chat_without_a_context_of_ours_is_taken_as_it_is(self, mnemic: Mnemic):
        for _ in range(2):
            turn = captured(mnemic, ("user", "Hello"), ("assistant", "Hi"), ("user", "Hello"), ("assistant", "Hi"))
            assert (len(turn.messages), turn.left_out) == (4, 0)

    def test_a_history_that_is_not_that_of_the_session_is_kept(self, mnemic: Mnemic):
        captured(mnemic, ("user", "Hello"), ("assistant", "Hi"))
        turn = captured(
            mnemic, ("system", BLOCK), ("user", "Bonjour"), ("assistant", "Salut"), ("user", ASKED), ("assistant", "?")
        )
        assert texts(turn) == ["Bonjour", "Salut", ASKED, "?"]

    def test_exchanges_that_are_captured_together_know_of_each_other(self, mnemic: Mnemic):
        first = [("user", "Hello"), ("assistant", "Hi")]
        second = [("system", BLOCK), *first, ("user", ASKED), ("assistant", "Lapsang.")]
        exchanges = [[{"role": r, "content": t} for r, t in exchange] for exchange in (first, second)]
        turns = mnemic.capture_many(ANNA, exchanges)
        assert [texts(turn) for turn in turns] == [["Hello", "Hi"], [ASKED, "Lapsang."]]


@pytest.mark.requirement("P-11")
def test_a_chat_log_is_imported_without_blocks_and_says_so(mnemic: Mnemic, store: Store):
    log = "\n".join(
        f'{{"role": "{role}", "content": "{text}"}}'.replace("\n", "\\n")
        for role, text in (("system", BLOCK), ("user", f"{ASKED}\n\n{BLOCK}"), ("assistant", "Lapsang."))
    )
    for is_dry_run in (True, False):
        report = mnemic.import_(ANNA, log, is_dry_run=is_dry_run)
        assert report.added == {"message": 2}
        assert list(report.skipped.values()) == [2]
    assert mnemic.import_(ANNA, log).added == {}
    assert sorted(m.text for m in kept(store)) == sorted([ASKED, "Lapsang."])


def test_an_assistant_that_repeats_itself_or_a_memory_is_recalled_once_and_a_user_each_time(mnemic: Mnemic):
    for _ in range(3):
        captured(mnemic, ("user", FACT), ("assistant", f"So: {FACT}!"))
    hits = mnemic.recall(ANNA, FACT, limit=None).hits
    roles = [hit.item.role for hit in hits if isinstance(hit.item, Message)]
    assert sorted(roles) == [Role.ASSISTANT, Role.USER, Role.USER, Role.USER]
