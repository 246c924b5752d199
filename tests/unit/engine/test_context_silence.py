"""Whether a prompt gets memory in a store of one short talk, with the included embedder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemic.api import Mnemic
from mnemic.model.scope import Scope

pytestmark = pytest.mark.requirement("P-40")
TOLD, ASKING = Scope(user="mara", session="told"), Scope(user="mara", session="asking")


@pytest.fixture
def mnemic() -> Iterator[Mnemic]:
    with Mnemic.open("memory://", has_worker=False) as opened:
        yield opened


def block(mnemic: Mnemic, prompt: str) -> str:
    blocks = mnemic.context(ASKING, prompt).blocks
    return "\n".join(text for name, text in blocks.items() if name != "working")


def tell(mnemic: Mnemic, *texts: str) -> None:
    for text in texts:
        mnemic.capture(TOLD, [{"role": "user", "content": text}])


WORK = (
    "We signed with Bluefin Logistics, their contact is Marta Silva",
    "In the Kestrel repo we squash merge, and every PR needs a changelog entry",
    "Our cat Miso is on a kidney diet now, the vet said no dry food",
    "CI fails on arm64 since the update, Dmitri is looking at it",
    "my landlord Mr Okafor says the boiler gets replaced on Thursday morning",
)


@pytest.mark.parametrize(
    "prompt, answer",
    [
        ("who is Marta?", "Marta"),
        ("what is Dmitri doing?", "Dmitri"),
        ("who is Okafor?", "landlord"),
        ("how do we merge pull requests?", "squash"),
        ("what did the vet say?", "kidney"),
    ],
)
def test_a_question_that_does_not_speak_of_the_user_finds_what_was_said(mnemic: Mnemic, prompt: str, answer: str):
    tell(mnemic, *WORK)
    assert answer in block(mnemic, prompt)


LIFE = (
    "I've joined the ukulele group, we meet on Monday mornings",
    "my sister Jean is coming from Llandudno for a week",
    "I gave the car to Ellie in the autumn, I don't drive any longer",
    "Susan won't have sprouts but I love them",
    "what temperature is a slow oven?",
)


def test_a_task_gets_what_matters_for_it_in_other_words(mnemic: Mnemic):
    tell(mnemic, *LIFE)
    shown = block(mnemic, "I'd like to visit Jean in return. How could I get there?")
    assert "Llandudno" in shown
    assert "don't drive" in shown
    assert "slow oven" not in shown


def test_a_short_question_with_a_sure_hit_gets_that_alone(mnemic: Mnemic):
    tell(mnemic, *LIFE)
    shown = block(mnemic, "where did my car go?")
    assert "Ellie" in shown
    assert "ukulele" not in shown


@pytest.mark.parametrize(
    "prompt",
    ["Guten Abend, danke für Ihre Hilfe", "was ist 17.5 prozent von 2340", "What is 12 x 18500?", "18% tip on 64.20"],
)
def test_greetings_and_sums_get_nothing_in_german_and_in_words(mnemic: Mnemic, prompt: str):
    tell(mnemic, "Ich verdiene 2340 Euro im Monat, und abends helfe ich meiner Mutter", "My tip jar holds 64.20")
    assert block(mnemic, prompt) == ""


@pytest.mark.parametrize("prompt", ["who is Ada Lovelace?", "how do I merge two lists?", "what did Plato say?"])
def test_a_general_question_of_the_same_form_gets_nothing(mnemic: Mnemic, prompt: str):
    tell(mnemic, *WORK)
    assert block(mnemic, prompt) == ""


@pytest.mark.parametrize("prompt", ["怎么煮鸡蛋？", "写一首关于秋天的诗", "法国的人口是多少？"])
def test_general_questions_in_chinese_get_nothing(mnemic: Mnemic, prompt: str):
    tell(mnemic, "我在学钢琴，每周五晚上上课", "我女儿对花生过敏")
    assert block(mnemic, prompt) == ""
    mnemic.work()
    assert block(mnemic, prompt) == ""


def test_a_question_in_chinese_finds_the_fact(mnemic: Mnemic):
    tell(mnemic, "我在学钢琴，每周五晚上上课", "我女儿对花生过敏")
    assert "钢琴" in block(mnemic, "我哪天有钢琴课？")


@pytest.mark.requirement("P-40")
def test_what_the_user_says_next_comes_with_the_best_message(mnemic: Mnemic):
    tell(
        mnemic,
        "I'm thinking about replacing our till system, the fees of Square are too high",
        "ok decided, SumUp from 1 April",
        "can you name the rivers of Mongolia",
        "we open at seven on Saturdays",
        "please translate that into Polish",
    )
    shown = block(mnemic, "which till system do we use?")
    assert "ok decided, SumUp from 1 April" in shown
    assert "Mongolia" not in shown
    assert "Polish" not in block(mnemic, "when do we open on Saturdays?")


def test_what_the_user_said_on_a_later_day_is_shown_beside_a_fact_that_it_may_replace(mnemic: Mnemic):
    role = "What is my role in the allotment association?"
    passing = "They voted me chair last night and the cash box goes to poor Winston."
    told = ("I am treasurer of our allotment association", passing)
    for user, days in (("later", ("2024-01-05", "2025-03-16")), ("same", ("2025-03-16", "2025-03-16"))):
        for number, (text, day) in enumerate(zip(told, days, strict=True)):
            mnemic.capture(Scope(user=user, session=f"{number}"), user=text, observed_at=f"{day}T12:00Z")
        mnemic.work()
    assert "voted me chair" in mnemic.context(Scope(user="later"), role).text
    assert "voted me chair" not in mnemic.context(Scope(user="same"), role).text
