"""What fills a context: the budget decides, one fact has one place, and messages stand in their conversation."""

from __future__ import annotations

import pytest

from mnemic.api import Mnemic
from mnemic.model.scope import Scope
from mnemic.text.blocks import AGENT, CONVERSATION, FACTS_BEGIN, ORGANISATION, SESSION

ANNA = Scope(user="anna", agent="jarvis", session="now")


def talk(mnemic: Mnemic, session: str, *turns: tuple[str, str], day: int = 1) -> None:
    for said, answered in turns:
        at = f"2026-03-{day:02d}T10:00:00Z"
        messages = [{"role": "user", "content": said, "observed_at": at}]
        if answered:
            messages.append({"role": "assistant", "content": answered, "observed_at": at})
        mnemic.capture_many(Scope(user="anna", session=session), [messages])


def test_the_budget_decides_how_many_memories_are_shown(mnemic: Mnemic):
    mnemic.remember_many(ANNA, [f"tea number {n} comes from village {n}" for n in range(60)])
    few, many = (mnemic.context(ANNA, "tea village", budget_tokens=budget) for budget in (150, 1500))
    assert 5 < len(few.recall.hits) < len(many.recall.hits) == 60


def test_a_policy_of_the_organisation_is_shown_beside_many_like_messages(mnemic: Mnemic):
    mnemic.remember(ANNA, "Travel policy: trains before flights", level="org")
    talk(mnemic, "s1", *((f"my travel plan {n} has trains and flights", "") for n in range(80)))
    facts = mnemic.context(ANNA, "travel trains flights", budget_tokens=400).blocks["facts"]
    assert "Travel policy" in facts
    assert ORGANISATION.begin in facts


def test_a_question_asked_before_is_no_evidence_for_itself(mnemic: Mnemic):
    mnemic.remember(ANNA, "User lives in Lisbon")
    for n in range(6):
        talk(mnemic, f"s{n}", ("Where do I live?", ""))
    shown = mnemic.context(ANNA, "where do I live?").recall.hits
    assert [hit.text for hit in shown] == ["User lives in Lisbon"]


def test_equal_remarks_take_one_place(mnemic: Mnemic):
    for n in range(4):
        talk(mnemic, f"s{n}", ("The boat needs new sails.", ""))
    assert len(mnemic.context(ANNA, "boat sails").recall.hits) == 1


def test_blocks_are_labelled_by_what_they_are(mnemic: Mnemic):
    mnemic.remember(ANNA, "tea is served at five", level="org")
    mnemic.remember(ANNA, "answer about tea in short sentences", level="agent", kind="learning")
    mnemic.remember(ANNA, "this session is about tea", level="session")
    mnemic.remember(ANNA, "User likes green tea")
    talk(mnemic, "s1", ("my tea pot broke", "oh dear, the tea pot"))
    facts = mnemic.context(ANNA, "tea").blocks["facts"]
    places = [facts.index(mark) for mark in (AGENT.begin, ORGANISATION.begin, SESSION.begin, CONVERSATION.begin)]
    assert [*places, facts.index(FACTS_BEGIN)] == sorted([*places, facts.index(FACTS_BEGIN)])
    assert "oh dear" not in facts[facts.index(FACTS_BEGIN) :]


def test_messages_stand_by_conversation_in_order_of_time_with_date_and_speaker_once(mnemic: Mnemic):
    talk(mnemic, "later", ("the kayak got a green keel", ""), day=9)
    talk(mnemic, "early", ("I bought a kayak", ""), ("the kayak is four metres long", ""), day=2)
    lines = mnemic.context(ANNA, "kayak").blocks["facts"].splitlines()
    begin = lines.index(CONVERSATION.begin)
    assert lines[begin + 1 : begin + 8] == [
        "2026-03-02",
        "user:",
        "[1] I bought a kayak",
        "[2] the kayak is four metres long",
        "2026-03-09",
        "user:",
        "[3] the kayak got a green keel",
    ]


def test_a_short_answer_comes_with_the_question_before_it(mnemic: Mnemic):
    mnemic.capture_many(
        Scope(user="anna", session="s1"),
        [
            [{"role": "assistant", "content": "Which colour should the fence be painted?"}],
            [{"role": "user", "content": "Turquoise, like the shed."}],
        ],
    )
    facts = mnemic.context(ANNA, "turquoise shed").blocks["facts"]
    assert facts.index("Which colour should the fence") < facts.index("Turquoise, like the shed.")


@pytest.mark.parametrize("text", ["hi", "thanks a lot!", "2847 x 391", "👍", "12 * (3 + 4) ="])
def test_greetings_and_calculations_get_nothing(mnemic: Mnemic, text: str):
    mnemic.remember_many(ANNA, ["User said hi to 391 people", "User thanks everybody a lot"])
    assert "facts" not in mnemic.context(ANNA, text).blocks
    assert "facts" in mnemic.context(ANNA, "User hi people", min_relevance=0.0).blocks


def test_a_prompt_about_the_user_in_general_gets_labelled_background(mnemic: Mnemic):
    mnemic.remember(ANNA, "User sails on Sundays")
    assert "User sails" in mnemic.context(ANNA, "What do you know about me?").blocks["facts"]


def test_a_user_is_found_by_id_name_and_alias(mnemic: Mnemic):
    mnemic.remember_many(ANNA, ["User lives in Lisbon", "Ann likes green tea", "User's name is Annabel."])
    mnemic.profile.set(ANNA, {"nickname": "Nan"})
    for name in ("Anna", "Nan", "Annabel"):
        assert (
            mnemic.context(ANNA, f"Where does {name} live? I mean lives").recall.hits[0].text == "User lives in Lisbon"
        )


def test_praise_is_left_out_and_the_question_that_an_answer_belongs_to_stays(mnemic: Mnemic):
    talk(
        mnemic,
        "s1",
        ("I built a kayak in the garage.", "Wow! That's amazing!"),
        ("It took all winter.", "What was the hardest part?"),
        ("The keel of the kayak.", "Thanks for sharing, sounds great!"),
    )
    shown = mnemic.context(ANNA, "what was hard about building the kayak?").blocks["facts"]
    assert "The keel of the kayak." in shown
    assert "What was the hardest part?" in shown
    assert "amazing" not in shown
    assert "sounds great" not in shown


def test_a_memory_of_an_earlier_day_is_shown_with_the_day(mnemic: Mnemic):
    mnemic.remember(ANNA, "User is learning Korean", observed_at="2024-01-20T12:00Z")
    mnemic.remember(ANNA, "User is learning Welsh")
    mnemic.remember(ANNA, "Lessons are free", level="org", observed_at="2024-02-01T12:00Z")
    facts = mnemic.context(ANNA, "Which languages am I learning, and are lessons free?").blocks["facts"]
    assert "] (as of 2024-01-20) User is learning Korean" in facts
    assert "] User is learning Welsh" in facts
    assert "] (as of 2024-02-01) Lessons are free" in facts
    chinese = mnemic.context(ANNA, "我在学什么语言？User is learning", language="zh").blocks["facts"]
    assert "（截至2024-01-20）User is learning Korean" in chinese
