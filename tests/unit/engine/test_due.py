"""What is due comes up when it nears or when it is asked for, and ends by evidence or by a person."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError
from mnemic.model.item import Kind
from mnemic.model.scope import Scope
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.store import Store
from tests.unit.engine.kit import Clock
from tests.unit.engine.life_kit import opened

ON = Settings(life=LifeSettings(extracts=True))
ANNA, LATER, BERT = (Scope(user="anna", session="s1"), Scope(user="anna", session="s2"), Scope(user="bert"))
REPORT = "User needs to send the report by Friday (on 2026-05-08)"
DENTIST = "User has a dentist appointment on 20 May (on 2026-05-20)"


@pytest.fixture
def mnemic(store: Store, clock: Clock) -> Mnemic:
    """A memory of Sunday, 3 May 2026, in which Anna told of two things that are due."""
    clock.turn(days=2)
    mnemic, _ = opened(store, clock, settings=ON)
    for text in ("I need to send the report by Friday.", "I have a dentist appointment on 20 May."):
        mnemic.capture(ANNA, user=text)
    mnemic.remember(ANNA, "User's sister lives in Porto")
    mnemic.remember(BERT, "User has to call Ida by Friday")
    mnemic.work()
    clock.turn(hours=1)
    return mnemic


def due(mnemic: Mnemic, before: str = "2027-01-01") -> list[str]:
    return [memory.text for memory in mnemic.list(ANNA, due_before=before)]


def facts(mnemic: Mnemic, question: str) -> str:
    return mnemic.context(LATER, question).blocks.get("facts", "")


@pytest.mark.requirement("P-61")
def test_what_is_due_is_listed_by_day_until_it_is_past(mnemic: Mnemic, clock: Clock):
    assert due(mnemic) == [REPORT, DENTIST]
    assert due(mnemic, "2026-05-08") == []
    assert due(mnemic, "2026-05-08T09:00:00+00:00") == due(mnemic, "2026-05-09") == [REPORT]
    clock.turn(days=5)
    assert due(mnemic) == [REPORT, DENTIST]  # the last day
    clock.turn(days=1)
    assert due(mnemic) == [DENTIST]


@pytest.mark.requirement("P-61")
def test_a_question_for_it_finds_what_is_due_in_order(mnemic: Mnemic):
    assert [hit.text for hit in mnemic.recall(LATER, "what is open?", limit=2)] == [REPORT, DENTIST]
    assert mnemic.recall(LATER, "what is due this month?").hits[0].text == REPORT
    assert DENTIST not in [hit.text for hit in mnemic.recall(LATER, "what is due next week?")]
    shown = facts(mnemic, "what is open?")
    assert shown.index(f"(due 2026-05-08) {REPORT}") < shown.index(f"(due 2026-05-20) {DENTIST}")
    assert "Ida" not in shown


@pytest.mark.requirement("P-61")
def test_it_comes_up_beside_other_memory_two_days_before_and_never_alone(mnemic: Mnemic, clock: Clock):
    sister, quiet = "Where does my sister live?", "Write a haiku about rain"
    assert "Porto" in facts(mnemic, sister)
    assert "(due" not in facts(mnemic, sister)
    clock.turn(days=3)
    assert f"(due 2026-05-08) {REPORT}" in facts(mnemic, sister)
    assert facts(mnemic, quiet) == facts(mnemic, "hi") == ""
    beside = facts(mnemic, "")
    assert 0 < beside.index(f"(due 2026-05-08) {REPORT}") < beside.index("Porto")
    assert beside.count(REPORT) == 1
    clock.turn(days=3)
    assert "(due" not in facts(mnemic, sister)


@pytest.mark.requirement("P-61")
def test_evidence_ends_it_and_undo_opens_it_again(mnemic: Mnemic, clock: Clock):
    (report, _) = mnemic.list(ANNA, due_before="2027-01-01")
    said = mnemic.capture(LATER, user="Hello there. I sent the report this morning.")
    mnemic.work()
    assert due(mnemic) == [DENTIST]
    assert mnemic.history(ANNA, report.id)[-1].reason == (f"done: message {said.messages[0].id}")
    mnemic.undo(ANNA, report.id)
    assert due(mnemic) == [REPORT, DENTIST]
    clock.turn(hours=1)
    mnemic.feedback(ANNA, report.id, "outdated")
    assert due(mnemic) == [DENTIST]


def test_only_the_users_own_words_are_evidence(mnemic: Mnemic):
    mnemic.capture(LATER, assistant="I sent the report.")
    mnemic.capture(LATER, [{"role": "user", "content": "I sent the report.", "trust": "imported"}])
    mnemic.capture(BERT, user="I sent the report.")
    mnemic.work()
    assert due(mnemic) == [REPORT, DENTIST]


def test_a_stored_memory_is_due_by_its_words_or_its_validity(mnemic: Mnemic):
    kept = mnemic.remember(ANNA, "The office closes", valid_from="2026-06-01")
    mnemic.remember(ANNA, "User likes parties on 1 June", kind=Kind.PREFERENCE)
    assert due(mnemic)[2:] == ["The office closes"]
    mnemic.update(
        ANNA, mnemic.list(ANNA, due_before="2026-05-09")[0].id, text="User needs to send the report by 25 May"
    )
    assert due(mnemic) == [DENTIST, "User needs to send the report by 25 May", kept.text]


def test_a_context_of_documents_alone_gets_what_is_due_soon(tmp_path: Path):
    page = tmp_path / "pump.md"
    page.write_text("# Kestrel 400 pump\n\nThe pump needs 12 litres of coolant before the first start.\n", "utf-8")
    with Mnemic.open(tmp_path / "memory.db", has_worker=False) as mnemic:
        mnemic.remember(ANNA, "User has to call Ida", valid_from=datetime.now(UTC) + timedelta(days=1))
        mnemic.ingest(ANNA, page)
        shown = mnemic.context(LATER, "How many litres of coolant does the Kestrel 400 pump need?").text
    assert "12 litres" in shown
    assert "User has to call Ida" in shown


def test_what_was_said_as_evidence_is_nowhere_after_its_message_is_erased(mnemic: Mnemic):
    (report, _) = mnemic.list(ANNA, due_before="2027-01-01")
    said = mnemic.capture(LATER, user="I sent the report because my test came back positive.")
    mnemic.work()
    assert due(mnemic) == [DENTIST]
    mnemic.delete(LATER, said.messages[0].id)
    assert "positive" not in str(mnemic.history(ANNA, report.id))


def test_what_another_person_of_the_session_did_ends_nothing(mnemic: Mnemic):
    mnemic.capture(LATER, [{"role": "user", "name": "Anna", "content": "Let us talk about work."}])
    mnemic.capture(LATER, [{"role": "user", "name": "Tom", "content": "I sent the report."}])
    mnemic.work()
    assert due(mnemic) == [REPORT, DENTIST]


@pytest.mark.parametrize("trust", ["imported", "tool", "document"])
def test_a_text_of_others_plants_no_reminder(mnemic: Mnemic, clock: Clock, trust: str):
    mnemic.remember(ANNA, "User must transfer the fee by 7 May", trust=trust)
    clock.turn(days=3)
    assert "fee" not in facts(mnemic, "Where does my sister live?")
    assert "fee" in " ".join(due(mnemic))


def test_the_day_follows_the_validity_and_what_begins_later_can_be_ended(mnemic: Mnemic, clock: Clock):
    kept = mnemic.remember(ANNA, "The office closes", valid_from="2026-06-01")
    mnemic.update(ANNA, kept.id, valid_from="2026-06-10")
    assert [memory.bookkeeping["due"] for memory in mnemic.list(ANNA, due_before="2027-01-01")][2:] == ["2026-06-10"]
    clock.turn(hours=1)
    mnemic.feedback(ANNA, kept.id, "outdated")
    assert "The office closes" not in due(mnemic)


def test_a_question_keeps_its_own_best_hit_beside_what_is_due(mnemic: Mnemic):
    mnemic.remember(ANNA, "The report template is open to the whole team")
    hits = [hit.text for hit in mnemic.recall(LATER, "what is open?", limit=3)]
    assert hits[:2] == [REPORT, DENTIST]
    assert len(hits) == 3


def test_a_list_of_what_is_due_is_in_order_of_the_days_and_has_no_pages(mnemic: Mnemic):
    for day in (9, 7, 12, 6, 10):
        mnemic.remember(ANNA, f"User has to water plant {day}", valid_from=f"2026-05-{day:02}")
    page = mnemic.list(ANNA, due_before="2027-01-01", limit=3)
    assert [memory.text[-2:].strip() for memory in page] == ["6", "7", "8)"]
    assert page.next is None
    assert len(mnemic.list(ANNA, due_before="0001-01-01")) == 0
    with pytest.raises(InvalidInputError, match="higher limit"):
        mnemic.list(ANNA, due_before="2027-01-01", after=page[0].id)
