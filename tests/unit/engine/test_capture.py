"""What capturing promises."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.model.item import Role, Trust
from mnemic.model.records import JobState
from mnemic.model.scope import Level, Scope
from tests.unit.engine.kit import ANNA, BERT, START, Clock, WordEmbedder


def test_each_exchange_is_a_turn_with_messages_numbered_in_their_conversation(mnemic: Mnemic):
    first = mnemic.capture(ANNA, user="hello", assistant="good morning")
    second = mnemic.capture(ANNA, user="how are you?")
    assert (first.number, second.number) == (1, 2)
    assert [m.position for m in (*first.messages, *second.messages)] == [1, 2, 3]
    assert {m.turn_id for m in first.messages} == {first.id}


@pytest.mark.requirement("N-20")
def test_what_is_said_is_kept_verbatim_with_role_and_time(mnemic: Mnemic):
    text = "  two\n\nlines — ünïcode \t"
    at = "2026-04-01T10:00:00+02:00"
    turn = mnemic.capture(ANNA, [{"role": "assistant", "content": text, "name": "J"}], observed_at=at)
    message = turn.messages[0]
    assert (message.text, message.role, message.name) == (text, Role.ASSISTANT, "J")
    assert (message.observed_at, message.created_at) == (datetime(2026, 4, 1, 8, tzinfo=UTC), START)
    assert mnemic.get(ANNA, message.id) == message


def test_trust_follows_the_role_unless_said(mnemic: Mnemic):
    messages = [{"role": role, "content": role} for role in ("user", "assistant", "system", "tool")]
    turn = mnemic.capture(ANNA, [*messages, {"content": "x", "trust": "imported"}])
    expected = [Trust.USER, Trust.ASSISTANT, Trust.ASSISTANT, Trust.TOOL, Trust.IMPORTED]
    assert [m.trust for m in turn.messages] == expected


@pytest.mark.requirement("P-09")
@pytest.mark.parametrize("role, highest", [("assistant", "assistant"), ("system", "assistant"), ("tool", "tool")])
def test_a_caller_lowers_the_trust_of_a_role_and_never_raises_it(mnemic: Mnemic, role: str, highest: str):
    messages = [{"role": role, "content": f"{role} {trust}", "trust": trust} for trust in ("user", "imported")]
    turn = mnemic.capture(ANNA, messages)
    assert [m.trust for m in turn.messages] == [Trust(highest), Trust.IMPORTED]
    lines = [line.replace(f'"trust":"{highest}"', '"trust":"user"') for line in mnemic.export(ANNA)]
    with Mnemic.open("memory://") as other:
        other.import_(ANNA, "\n".join(lines))
        assert {m.trust for m in other.messages(ANNA)} == {Trust(highest), Trust.IMPORTED}


def test_a_scope_without_a_session_starts_a_new_one(mnemic: Mnemic):
    scope = Scope(user="anna")
    first, second = mnemic.capture(scope, user="one"), mnemic.capture(scope, user="two")
    assert first.session != second.session
    assert first.messages[0].session == first.session


@pytest.mark.requirement("R-15")
def test_messages_belong_to_the_user_where_one_is_known(mnemic: Mnemic):
    turn = mnemic.capture(ANNA, user="hello")
    assert (turn.messages[0].partition.level, turn.messages[0].partition.owner) == (Level.USER, "anna")


@pytest.mark.requirement("R-15", "R-16")
def test_messages_without_a_user_belong_to_their_session(mnemic: Mnemic):
    scope = Scope(session="s1")
    turn = mnemic.capture(scope, user="my secret plan")
    assert (turn.messages[0].partition.level, turn.messages[0].partition.owner) == (Level.SESSION, "s1")
    assert [hit.id for hit in mnemic.recall(scope, "secret plan")] == [turn.messages[0].id]
    assert len(mnemic.recall(Scope(session="s2"), "secret plan")) == 0


def test_repeating_external_ids_stores_nothing_again(mnemic: Mnemic):
    exchange = [{"content": "one", "external_id": "1"}, {"role": "assistant", "content": "two", "external_id": "2"}]
    first, second = mnemic.capture(ANNA, exchange), mnemic.capture(ANNA, exchange)
    assert first == second
    twice = mnemic.capture(ANNA, [{"content": "x", "external_id": "3"}, {"content": "x", "external_id": "3"}])
    assert len({message.id for message in twice.messages}) == 1


def test_an_exchange_known_in_part_is_completed_in_its_own_turn(mnemic: Mnemic):
    first = mnemic.capture(ANNA, [{"content": "one", "external_id": "1"}])
    mnemic.capture(ANNA, user="between")
    second = mnemic.capture(ANNA, [{"content": "one", "external_id": "1"}, {"content": "two", "external_id": "2"}])
    assert (second.id, second.number) == (first.id, first.number)
    assert [m.text for m in second.messages] == ["one", "two"]


def test_many_exchanges_are_all_kept_or_none(mnemic: Mnemic):
    with pytest.raises(InvalidInputError):
        mnemic.capture_many(ANNA, [[{"content": "kept?"}], [{"content": ""}]])
    turns = mnemic.capture_many(ANNA, [[{"content": "a"}], [{"content": "b"}]])
    assert [turn.number for turn in turns] == [1, 2]
    assert sorted(hit.text for hit in mnemic.recall(ANNA, "kept")) == ["a", "b"]


def test_completing_adds_the_answer_to_its_turn_once(mnemic: Mnemic):
    turn = mnemic.capture(ANNA, user="question")
    mnemic.capture(ANNA, user="another")
    completed = mnemic.complete(ANNA, turn.id, assistant=["first ", " part "])
    assert [m.text for m in completed.messages] == ["question", "first \n part"]
    assert (completed.messages[1].role, completed.messages[1].position) == (Role.ASSISTANT, 3)
    assert mnemic.complete(ANNA, turn.id, assistant=["first ", " part "]) == completed
    assert completed.messages[1].trust == Trust.ASSISTANT


def test_the_turn_of_somebody_else_is_not_found(mnemic: Mnemic):
    turn = mnemic.capture(ANNA, user="question")
    for scope, turn_id in ((BERT, turn.id), (ANNA, "unknown")):
        with pytest.raises(NotFoundError):
            mnemic.complete(scope, turn_id, assistant="answer")


@pytest.mark.requirement("J-06", "J-08")
def test_a_failing_embedder_keeps_the_messages_and_leaves_one_job(
    mnemic: Mnemic, parts: Engine, embedder: WordEmbedder, caplog: pytest.LogCaptureFixture
):
    embedder.is_broken = True
    for text in ("the cat sleeps", "the dog barks"):
        mnemic.capture(ANNA, user=text)
    assert {record.levelname for record in caplog.records} == {"ERROR"}
    assert "cat" not in caplog.text
    assert mnemic.recall(ANNA, "cat").hits[0].text == "the cat sleeps"
    with parts.store.read() as work:
        assert sum(job.kind == "embed" for job in work.jobs.list(None, [JobState.PENDING], 10)) == 1


def test_messages_and_arguments_cannot_both_be_given(mnemic: Mnemic):
    with pytest.raises(InvalidInputError):
        mnemic.capture(ANNA, [{"content": "x"}], user="y")
    with pytest.raises(InvalidInputError):
        mnemic.capture(ANNA)


def test_a_clock_that_goes_backwards_loses_nothing(mnemic: Mnemic, clock: Clock):
    mnemic.capture(ANNA, user="tea at noon")
    clock.turn(days=-400)
    second = mnemic.capture(ANNA, user="tea at dawn")
    assert (second.number, second.messages[0].position) == (2, 2)
    assert {hit.text for hit in mnemic.recall(ANNA, "tea")} == {"tea at noon", "tea at dawn"}
