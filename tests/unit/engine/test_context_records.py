"""What is recorded of contexts: what a model was shown, for which message, for how long, and for whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mnemic.adapters.detectors.rules import RuleDetector
from mnemic.api import Mnemic
from mnemic.api.doors import acting_as
from mnemic.engine.engine import Engine
from mnemic.model.recall import ContextQuery, ContextRecord
from mnemic.model.scope import Level, Scope
from mnemic.model.settings import LifeSettings, Settings
from tests.unit.engine.kit import Clock

ANNA = Scope(user="anna", agent="jarvis", session="s1")
ASKED = "Which milk does Anna like?"
MAX_RECORDS = 100


@pytest.fixture
def memory(mnemic: Mnemic) -> Mnemic:
    mnemic.remember(ANNA, "Anna likes oat milk")
    return mnemic


def recorded(mnemic: Mnemic, scope: Scope = ANNA, **query: Any) -> list[ContextRecord]:
    return [*mnemic.contexts(scope, **query).contexts]


@pytest.mark.requirement("P-63")
def test_a_context_is_recorded_with_its_items_their_blocks_and_its_settings(memory: Mnemic):
    shown = memory.context(ANNA, ASKED, budget_tokens=500, min_relevance=0.1)
    (record,) = recorded(memory)
    assert [(each.id, each.block) for each in record.items] == [(hit.id, "facts") for hit in shown.recall.hits]
    assert record.items[0].relevance == pytest.approx(shown.recall.hits[0].relevance, abs=1e-4)
    assert record.settings == {"budget_tokens": 500, "documents": 5, "min_relevance": 0.1}
    assert set(record.blocks) == {name for name in shown.blocks if name != "system"}
    assert (record.tokens, record.door, record.session, record.agent) == (shown.token_count, "library", "s1", "jarvis")
    assert record.took_ms > 0


def test_the_copy_of_the_question_goes_when_the_memory_holds_the_message(memory: Mnemic, parts: Engine):
    memory.context(ANNA, f"  {ASKED} ")
    (before,) = recorded(memory)
    assert (before.query, before.message_id) == (ASKED, None)
    turn = memory.capture(ANNA, user=ASKED, assistant="Oat milk.")
    (after,) = recorded(memory)
    assert (after.query, after.message_id) == (ASKED, turn.messages[0].id)
    with parts.store.read() as work:
        (stored,) = work.contexts.list(ANNA.visibility, ContextQuery())
    assert stored == replace(after, query="")
    assert recorded(memory, message=turn.messages[0].id) == [after]
    assert recorded(memory, message=turn.messages[1].id) == []


def test_a_record_goes_with_its_message_also_if_the_message_came_first(memory: Mnemic):
    turn = memory.capture(ANNA, user=ASKED, assistant="Oat milk.")
    memory.context(ANNA, ASKED)
    memory.delete(ANNA, turn.messages[0].id)
    assert recorded(memory) == []


def test_a_message_of_another_session_is_not_taken_for_the_question(memory: Mnemic):
    memory.context(ANNA, ASKED)
    memory.capture(replace(ANNA, session="s2"), user=ASKED)
    assert recorded(memory)[0].message_id is None


def test_a_secret_in_a_question_is_not_kept(parts: Engine):
    memory = Mnemic(replace(parts, detector=RuleDetector()), has_worker=False)
    memory.remember(ANNA, "Anna likes oat milk")
    memory.context(ANNA, f"My key is {'AKIA' + 'QX7ZLM3WD5RT2YHB'}, which milk do I like?")
    (record,) = recorded(memory)
    assert "AKIA" not in record.query
    assert "REDACTED" in record.query


def test_a_question_that_no_store_could_hold_stops_no_capture(memory: Mnemic):
    memory.context(ANNA, "milk \ud800\x00?")
    memory.capture(ANNA, user="Good morning", observed_at="0001-01-01T00:00Z")
    assert [each.query for each in recorded(memory)] == ["milk ?\x00?"]


def test_a_record_is_written_with_the_next_write_and_not_while_a_chat_waits(
    memory: Mnemic, parts: Engine, monkeypatch: pytest.MonkeyPatch
):
    writes: list[str] = []
    write = parts.store.write

    def counted(**given: Any) -> Any:
        writes.append("write")
        return write(**given)

    monkeypatch.setattr(parts.store, "write", counted)
    memory.context(ANNA, ASKED)
    assert writes == []
    memory.capture(ANNA, user=ASKED)
    assert writes == ["write"]
    assert len(recorded(memory)) == 1


def test_nothing_is_recorded_of_a_dry_run_or_for_a_user_without_memory(memory: Mnemic):
    memory.context(ANNA, ASKED, is_dry_run=True)
    assert memory.list(ANNA).memories[0].access_count == 0
    memory.context(Scope(user="ghost"), ASKED)
    memory.context(Scope(agent="jarvis"), ASKED)
    assert recorded(memory) == []
    assert recorded(memory, Scope(user="ghost")) == []
    assert [each.user for each in memory.users()] == ["anna"]


def test_a_setting_of_zero_days_switches_it_off(parts: Engine):
    off = Mnemic(replace(parts, settings=Settings(life=LifeSettings(context_days=0))), has_worker=False)
    off.remember(ANNA, "Anna likes oat milk")
    off.context(ANNA, ASKED)
    assert recorded(off) == []


def test_recall_is_recorded_only_where_a_model_reads_it(memory: Mnemic):
    memory.recall(ANNA, ASKED)
    assert recorded(memory) == []
    with acting_as("mcp", "mcp"):
        found = memory.recall(ANNA, ASKED)
    (record,) = recorded(memory)
    assert [(each.id, each.block) for each in record.items] == [(hit.id, "recall") for hit in found.hits]
    assert (record.door, record.query) == ("mcp", ASKED)


def test_pages_continue_and_a_session_can_be_chosen(memory: Mnemic, clock: Clock):
    for place in range(3):
        clock.turn(minutes=1)
        memory.context(replace(ANNA, session=f"s{place % 2}"), f"{ASKED} {place}")
    page = memory.contexts(ANNA, limit=2)
    assert [each.query[-1] for each in page.contexts] == ["2", "1"]
    (last,) = memory.contexts(ANNA, after=page.next).contexts
    assert last.query[-1] == "0"
    assert [each.query[-1] for each in recorded(memory, in_session=True)] == ["1"]
    assert recorded(memory, id=last.id) == [last]


@pytest.mark.requirement("P-63")
def test_a_user_sees_their_own_records_alone(memory: Mnemic):
    bert = Scope(user="bert", session="s1")
    memory.remember(bert, "Bert likes rain")
    memory.context(ANNA, ASKED)
    memory.context(bert, "What does Bert like?")
    assert [each.query for each in recorded(memory)] == [ASKED]
    assert [each.query for each in recorded(memory, bert)] == ["What does Bert like?"]
    assert recorded(memory, Scope(org="other", user="anna")) == []


@pytest.mark.requirement("P-63")
@pytest.mark.parametrize(
    "level, left",
    [
        (Level.SESSION, {"anna s2 alfred", "bert s1 jarvis"}),
        (Level.USER, {"bert s1 jarvis"}),
        (Level.AGENT, {"anna s2 alfred"}),
        (Level.ORG, set[str]()),
    ],
)
def test_records_go_with_an_erasure(memory: Mnemic, level: Level, left: set[str]):
    bert = Scope(user="bert", agent="jarvis", session="s1")
    memory.remember(bert, "Bert likes oat milk")
    scopes = (ANNA, replace(ANNA, agent="alfred", session="s2"), bert)
    for scope in scopes:
        memory.context(scope, f"{scope.user} {scope.session} {scope.agent}")  # the last ones wait to be written
    planned = memory.erase(ANNA, level=level, is_dry_run=True)
    receipt = memory.erase(ANNA, level=level)
    assert {each.query for scope in (ANNA, bert) for each in recorded(memory, scope)} == left
    assert receipt.counts["context_records"] == planned.counts["context_records"] == len(scopes) - len(left)


def test_the_record_of_a_deleted_message_goes_with_it(memory: Mnemic):
    memory.context(ANNA, ASKED)
    turn = memory.capture(ANNA, user=ASKED)
    memory.context(ANNA, "another")
    memory.delete(ANNA, turn.messages[0].id)
    assert [each.query for each in recorded(memory)] == ["another"]


def test_old_records_are_forgotten_by_the_schedules(memory: Mnemic, clock: Clock):
    memory.context(ANNA, ASKED)
    clock.turn(days=2)
    memory.work()
    memory.context(ANNA, "newer")
    assert len(recorded(memory)) == 2
    clock.turn(days=29)
    memory.work()
    assert [each.query for each in recorded(memory)] == ["newer"]


def test_many_records_do_not_wait_for_a_write(memory: Mnemic, parts: Engine):
    for place in range(MAX_RECORDS):
        memory.context(ANNA, f"What is {place} and {place}?")
    with parts.store.read() as work:
        assert work.erasure.count(ANNA.partition(Level.USER))["context_records"] == MAX_RECORDS
