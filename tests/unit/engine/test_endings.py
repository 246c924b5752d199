"""A fact that a later message tells to be over, directly or in passing, no longer counts; one that only shares words
with the message does. With the included embedder, over two conversations.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemic.api import Mnemic
from mnemic.config import MEMORY_URL, Config
from mnemic.model.records import Action
from mnemic.model.scope import Scope

pytestmark = pytest.mark.requirement("T-18", "T-23")
ANA = Scope(user="ana")

OVER = (
    ("I drive a Skoda Octavia", "Sold the Octavia last week. What do I do with the tyres?"),
    ("We're getting married on 14 September", "We called the wedding off. How do I word a message to the guests?"),
    ("I'm 14 weeks pregnant, due 1 May", "Little Saoirse was born last week. Is sneezing normal?"),
    ("I use neovim for everything", "I switched from neovim to Helix. How do I bind space-w?"),
    ("My girlfriend Marit turns 30 in May", "Marit left me on Saturday. What do I cook for one?"),
    ("I owe 18,400 on the car loan", "The car loan is paid off as of this morning. Where should the money go?"),
    ("I take metformin twice a day", "I'm off metformin now, the doctor put me on Ozempic"),
    ("I'm training for the Berlin marathon", "My knee is wrecked, so the Berlin marathon is cancelled. What now?"),
    ("I go bouldering three evenings a week", "I stopped bouldering, my fingers hurt. Is swimming good?"),
    ("I'm a member of the allotment committee", "I left the allotment committee. How do I say thanks to them?"),
    ("I do everything in Excel", "I moved away from Excel, Lexoffice does my invoices now"),
    ("I commute by bike", "Swapped my bike for the tram. Is a yearly ticket worth it?"),
    ("My boss is called Karin", "Karin retired, so Ben's my boss now. What do I get him?"),
    ("My manager Anjali wants the status as a table", "I've been reporting to Halima since August. Any tips?"),
    ("I work at Siemens in Erlangen", "my badge at Bosch looks like a hostage video"),
    ("I've been vegetarian for about six years", "I started on fish and chicken again. Is mackerel healthy?"),
    ("Always answer in bullet points, I skim.", "No more lists for me, thanks. And: why does my sourdough go flat?"),
    ("I have a golden retriever called Max.", "We had to put Max to sleep on Thursday. How do I tell a child?"),
    ("I use Evernote for everything.", "I've switched from Evernote to Obsidian, how do I import the tags?"),
    ("I'm pregnant with our first, 14 weeks.", "Baby was born in May and she never sleeps. Is white noise safe?"),
    ("Always give me bullet points.", "Whole sentences from here on, please. What is a GmbH?"),
)
STILL_TRUE = (
    ("I have two dogs, Rex and Bella", "Rex ate my slippers. I'm done with his nonsense! How do I train him?"),
    ("I take the train to work every day", "The train is cancelled again. How do I get to the office?"),
    ("I use Slack at work", "Slack is over capacity today, any status page?"),
    ("My daughter is pregnant, due in May", "My friend's baby arrived last week. What do I give her?"),
    ("We have a garden in Truro", "I deleted my photos of the garden by accident. Can I restore them?"),
    ("I work at the town library", "I got rid of the books from the library sale. Where can I donate more?"),
    ("I use a MacBook Pro", "I replaced the MacBook's battery myself. Is the warranty gone?"),
    ("I volunteer at the shelter", "I'm finished with my shift at the shelter. What should I eat?"),
    ("I like trains", "I'm off to Rome by train tomorrow"),
    ("I ride a bike", "I came off the bike yesterday and hurt my knee"),
    ("I play the violin", "My daughter gave up the violin. How do I cheer her up?"),
    ("I smoke", "My dad quit smoking. How do I congratulate him?"),
    ("I'm a member of the choir", "I left the choir folder on the train. Whom do I call?"),
    ("I live in a flat in Leeds and the damp annoys me", "The boiler in the Leeds flat died last night. Who pays?"),
    ("I subscribe to Netflix", "Netflix cancelled my favourite show again!! Any similar ones?"),
    ("I'm pregnant, due in May", "My sister gave birth yesterday, what do I bring?"),
    ("I live with my boyfriend Tom", "Tom and I are over the moon about the flat! How do I decorate it?"),
    ("I like coffee", "My brother has switched from coffee to tea, what do I get him?"),
    ("I deploy on Fridays at six", "So Friday evening out, Sunday noon on the grill."),
)


@pytest.fixture
def memory() -> Iterator[Mnemic]:
    with Mnemic.open("memory://", has_worker=False) as opened:
        yield opened


def tell(memory: Mnemic, *texts: str) -> None:
    for place, text in enumerate(texts):
        there, at = Scope(user="ana", session=f"{place}"), f"202{4 + place}-05-03T12:00Z"
        memory.capture(there, user=text, assistant="OK.", observed_at=at)
        memory.work()


def current(memory: Mnemic) -> dict[str, str]:
    """What counts as true now: texts by id."""
    return {each.id: each.text for each in memory.list(ANA) if each.valid_to is None}


@pytest.mark.parametrize("told, later", OVER)
def test_what_is_over_counts_no_longer(memory: Mnemic, told: str, later: str):
    tell(memory, told)
    (fact, *_) = memory.list(ANA)
    tell(memory, told, later)
    assert fact.id not in current(memory)


@pytest.mark.parametrize("told, later", STILL_TRUE)
def test_what_only_shares_words_with_an_ending_still_counts(memory: Mnemic, told: str, later: str):
    tell(memory, told)
    facts = {each.id for each in memory.list(ANA)}
    tell(memory, told, later)
    assert facts <= current(memory).keys()


@pytest.mark.parametrize(
    "told, later, left",
    [
        ("I'm a vegetarian and need quick dinners.", "I'm not vegetarian any more, so what now?", "User needs quick"),
        ("I have a dog and a cat", "My dog died last week, how do I tell the kids?", "User has a cat"),
    ],
)
def test_of_two_things_the_other_is_left_as_a_sentence(memory: Mnemic, told: str, later: str, left: str):
    tell(memory, told, later)
    texts = current(memory).values()
    assert any(left in text for text in texts)
    assert not any(" a a " in text or " a needs" in text for text in texts)


TOLD = (
    "I volunteer at the food bank on Kestrel Street",
    "I've stepped down from the food bank, my Saturdays are mine again.",
)


def test_an_ending_in_words_that_no_rule_has_is_found_and_can_be_undone(memory: Mnemic):
    tell(memory, TOLD[0])
    (fact,) = memory.list(ANA)
    tell(memory, *TOLD)
    assert fact.id not in current(memory)
    entry = memory.history(ANA, fact.id)[-1]
    assert entry.action is Action.FEEDBACK
    assert entry.reason.startswith("taken back: message ")
    memory.undo(ANA, fact.id)
    assert fact.id in current(memory)


def test_memories_in_other_languages_stay_beside_an_ending(memory: Mnemic):
    told = ("Ich bin Lehrer in Wien.", "我养了一只猫。")
    tell(memory, *told)
    facts = current(memory).keys()
    assert len(facts) >= len(told)
    tell(memory, *told, "Our baby arrived on Monday! Is sneezing normal?")
    assert facts <= current(memory).keys()


def test_without_an_embedder_only_the_rules_end_a_fact():
    with Mnemic.open(Config(store=MEMORY_URL, embedder="none"), has_worker=False) as memory:
        tell(memory, *TOLD)
        assert TOLD[0].replace("I volunteer", "User volunteers") in current(memory).values()
        tell(memory, "I use neovim for everything", "I switched from neovim to Helix.")
        assert "User uses neovim for everything" not in current(memory).values()
