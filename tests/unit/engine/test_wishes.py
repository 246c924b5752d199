"""Standing wishes to the assistant in free words: a line of every prompt, until a later wish changes them."""

from collections.abc import Iterator

import pytest

from mnemic import Mnemic, Scope
from mnemic.build import build
from mnemic.config import Config
from mnemic.model.item import State
from mnemic.text.blocks import profile_block
from mnemic.text.slots import is_for_any_prompt, profile_line, slot_of

ANNA = Scope(user="anna", session="work")
CODE = "when I ask for code just give the code, no explanation unless I ask why"
FORM = 'wants the assistant to remember: "{}"'


@pytest.fixture
def memory() -> Iterator[Mnemic]:
    with Mnemic.open("memory://", has_worker=False) as opened:
        yield opened


def say(memory: Mnemic, *texts: str) -> list[str]:
    """The wishes that are remembered after some messages."""
    for text in texts:
        memory.capture(ANNA, user=text, assistant="OK.")
        memory.work()
    return [each.text.partition(": ")[2].strip('"') for each in memory.list(ANNA) if "to remember: " in each.text]


def test_a_wish_is_a_line_of_every_prompt(memory: Mnemic) -> None:
    assert say(memory, f"Ok so staging is stg_<source>. {CODE}") == [CODE]
    assert memory.profile.get(ANNA) == {FORM.format(CODE): "always"}
    assert FORM.format(CODE) in memory.context(ANNA, "hi").text


@pytest.mark.parametrize(
    "text",
    [
        "Can you recommend some online courses on machine learning, specifically using Python?",
        "make it shorter and do not use emojis in this post",
        "My boss wants every email under 5 lines.",
        "should I always rinse rice before cooking?",
        "Write a sign for our gate: never leave it open when the goats are out.",
    ],
)
def test_what_only_looks_like_a_wish_is_none(memory: Mnemic, text: str) -> None:
    assert say(memory, text) == []


def test_a_later_wish_replaces_the_one_it_changes(memory: Mnemic) -> None:
    first = "By the way when I ask for a word, give me 5 options with a one line note each"
    later = "3 options is enough when I ask for a word, not five"
    assert say(memory, first, f"{later}. Keep the notes") == [later]
    old = memory.list(ANNA, states=[State.SUPERSEDED]).memories
    assert [first in each.text for each in old] == [True]
    assert [*memory.profile.get(ANNA)] == [FORM.format(later)]


def test_a_withdrawn_wish_is_over(memory: Mnemic) -> None:
    assert say(memory, "no emojis in replies to me pls") == ["no emojis in replies to me pls"]
    say(memory, "you can use emojis again")
    assert FORM.format("no emojis in replies to me pls") not in memory.profile.get(ANNA)


def test_wishes_beside_each_other_stay(memory: Mnemic) -> None:
    short = "please dont give me long answers, i read on my phone"
    assert {*say(memory, CODE, short)} == {CODE, short}


def test_a_wish_is_no_part_of_a_summary(memory: Mnemic) -> None:
    say(memory, CODE, "I moved to Leeds in May and work as a nurse.")
    assert memory.summarise(ANNA)
    assert not [each for each in memory.list(ANNA, kinds=["summary"]) if "no explanation" in each.text]


def test_without_the_shipped_embedder_only_rules_find_wishes() -> None:
    with Mnemic(build(Config(store="memory://", embedder="none")), has_worker=False) as memory:
        assert say(memory, CODE) == []


def test_an_order_is_a_sentence_in_the_profile() -> None:
    assert profile_line("wants the assistant to use emojis", "never") == "wants the assistant to never use emojis"
    assert profile_line("home", "Porto") == "home: Porto"
    assert profile_line("wants the assistant to answer in", "German") == "wants the assistant to answer in: German"


def test_a_prompt_with_wishes_is_told_from_the_users_words(memory: Mnemic) -> None:
    block = profile_block({FORM.format("no tables"): "always", "wants the assistant to use emojis": "never"})
    memory.capture(ANNA, user=f"{block}\n\nI live in Porto.", assistant="OK.")
    memory.work()
    assert memory.profile.get(ANNA) == {"home": "Porto"}


def test_the_slot_of_a_wish_is_its_words() -> None:
    filled = slot_of('User wants the assistant to remember: "no tables when I ask for plans"')
    assert filled is not None
    assert filled.slot == FORM.format("no tables when I ask for plans")
    assert is_for_any_prompt(filled.slot)


def test_a_wish_that_is_taken_back_is_over(memory: Mnemic) -> None:
    first = "dont compliment my writing when i paste stuff btw, just tell me whats wrong"
    assert say(memory, first) == [first]
    say(memory, "did 5 pages. also i take back the no compliments thing, you can say when something's decent")
    assert FORM.format(first) not in memory.profile.get(ANNA)


@pytest.mark.parametrize(
    "text", ["Ab jetzt bitte keine Emojis mehr", "Schreib mir bitte nie etwas um, zeig mir nur, wo es hakt"]
)
def test_german_wishes_with_a_lasting_word_are_found_by_rules(memory: Mnemic, text: str) -> None:
    memory.capture(ANNA, user=f"{text}. Ich wohne in Graz.", assistant="OK.")
    memory.work()
    assert memory.profile.get(ANNA) == {"home": "Graz", FORM.format(text): "always"}


@pytest.mark.parametrize(
    "text",
    [
        "Schreib mir einen Aushang fürs Stiegenhaus: Fahrräder bitte niemals vor den Kellerabteilen abstellen",
        "Unser Hausarzt redet immer Lateinisch und ich trau mich nicht nachzufragen.",
        "Ich habe gelesen, man soll dir immer Bitte und Danke sagen.",
    ],
)
def test_german_lookalikes_are_none(memory: Mnemic, text: str) -> None:
    memory.capture(ANNA, user=text, assistant="OK.")
    memory.work()
    assert not [key for key in memory.profile.get(ANNA) if "remember" in key]
