"""What a user corrects or takes back changes the memories made of what they said before, and can be undone."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mnemic.api import Mnemic
from mnemic.model.item import Cause, Memory
from mnemic.model.records import Action
from mnemic.model.scope import Scope
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.store import Store
from tests.unit.engine.kit import ANNA, BERT, Clock
from tests.unit.engine.life_kit import opened

ON = Settings(life=LifeSettings(extracts=True))


@dataclass
class Talk:
    """A conversation, and what is kept of it."""

    memory: Mnemic
    clock: Clock

    def say(self, *messages: str, reply: str = "OK.", scope: Scope = ANNA) -> None:
        """Messages of a user, each answered and read a minute after the one before."""
        for text in messages:
            self.clock.turn(minutes=1)
            self.memory.capture(scope, user=text, assistant=reply)
            self.memory.work()

    def current(self) -> list[Memory]:
        """What holds now, by its words."""
        return sorted((each for each in self.memory.list(ANNA) if each.valid_to is None), key=lambda each: each.text)

    def texts(self) -> list[str]:
        return [each.text for each in self.current()]


@pytest.fixture
def talk(store: Store, clock: Clock) -> Talk:
    return Talk(opened(store, clock, settings=ON)[0], clock)


def test_a_corrected_day_changes_text_date_and_slot(talk: Talk):
    talk.say("My dentist appointment is on 12 May 2027.", "No, it's 14 May 2027")
    (fact,) = talk.current()
    assert fact.text == "User's dentist appointment is on 14 May 2027"
    assert fact.bookkeeping["value"] == "14 May 2027"
    talk.say("My dentist appointment was moved to 19 May 2027.")
    assert talk.texts() == ["User's dentist appointment was moved to 19 May 2027"]


def test_a_correction_is_in_the_history_and_can_be_undone(talk: Talk):
    talk.say("I live in Leeds.", "Not Leeds, Hull.")
    (fact,) = talk.current()
    entry = talk.memory.history(ANNA, fact.id)[-1]
    assert (fact.text, entry.action) == ("User lives in Hull", Action.UPDATED)
    assert entry.reason.startswith("corrected: message ")
    assert talk.memory.undo(ANNA, fact.id).text == "User lives in Leeds"


def test_the_profile_follows_a_correction(talk: Talk):
    talk.say("My name is Dona. I live in Lyon.", "its Dana not Dona")
    assert talk.memory.profile.get(ANNA) == {"name": "Dana", "home": "Lyon"}
    (home,) = (each for each in talk.current() if "Lyon" in each.text)
    talk.memory.update(ANNA, home.id, text="User lives in Lille")
    assert talk.memory.profile.get(ANNA) == {"name": "Dana", "home": "Lille"}


def test_what_an_erased_correction_left_waits_for_review(talk: Talk):
    talk.say("I live in Leeds.", "Not Leeds, Hull.")
    (message,) = (each for each in talk.memory.messages(ANNA) if "Hull" in each.text)
    talk.memory.delete(ANNA, message.id)
    talk.memory.work()
    (fact,) = talk.current()
    assert [flag.cause for flag in fact.flags] == [Cause.ERASED]


def test_messages_that_are_read_together_are_corrected_too(talk: Talk):
    for text in ("I live in Leeds.", "I like tea.", "oops, not Leeds, Hull", "I have a cat."):
        talk.memory.capture(ANNA, user=text, assistant="OK.")
    talk.memory.work()
    assert talk.texts() == ["User has a cat", "User likes tea", "User lives in Hull"]


def test_a_very_short_message_corrects(talk: Talk):
    talk.say("I live on the third floor.", "*fourth")
    assert talk.texts() == ["User lives on the fourth floor"]


def test_what_says_the_right_value_already_takes_the_wrong_one_in(talk: Talk):
    talk.say("I live in Hull.", scope=Scope(user="anna", session="other"))
    talk.say("I live in Leeds, I think.", "I live in Leeds.", "Not Leeds, Hull.")
    assert "User lives in Leeds" not in talk.texts()


def test_a_question_is_not_corrected_by_its_answer(talk: Talk):
    talk.say("I fly to Oslo on Monday.", reply="Shall I look for hotels from Monday?")
    before = talk.texts()
    talk.say("No, Tuesday")
    assert talk.texts() == before


def test_a_value_said_in_between_is_what_a_slip_corrects(talk: Talk):
    talk.say(
        "My shift starts at 9.", "homework: a train leaves at 3pm, when does it arrive", "oh wait it leaves at 4pm"
    )
    assert "User's shift starts at 9" in talk.texts()


def test_an_order_ends_and_leaves_the_profile(talk: Talk):
    talk.say("Never use emojis.")
    assert any("emojis" in key for key in talk.memory.profile.get(ANNA))
    talk.say("ok you can use emojis again")
    assert talk.texts() == []
    assert talk.memory.profile.get(ANNA) == {}
    talk.say("Never use emojis.")
    assert talk.texts() == ["User wants the assistant to never use emojis"]


@pytest.mark.parametrize(
    "first, second, slot, value",
    [
        ("Always answer in German.", "From now on answer in English.", "answer in", "English"),
        ("From now on call me Max.", "From now on call me Chief.", "call them", "Chief"),
        (
            "Keep your answers short from now on.",
            "From now on give long, detailed answers.",
            "keep its answers",
            "long, detailed",
        ),
        ("Always give prices in pounds.", "Always give prices in euros.", "give prices in", "euros"),
        ("Antworte mir immer auf Deutsch.", "Antworte ab jetzt immer auf Englisch.", "answer in", "Englisch"),
        ("以后用英文回答我。", "以后用中文回答我。", "answer in", "中文"),
    ],
)
def test_of_two_orders_that_exclude_each_other_the_later_holds(
    talk: Talk, first: str, second: str, slot: str, value: str
):
    talk.say(first, second)
    assert len(talk.texts()) == 1
    assert talk.memory.profile.get(ANNA) == {f"wants the assistant to {slot}": value}


@pytest.mark.parametrize(
    "first, second, kept",
    [
        ("Always answer in German.", "Never answer in German.", 1),
        ("Never answer in German.", "Always answer in German.", 1),
        ("Always answer in German.", "Never answer in French.", 2),
        ("Antworte immer kurz und auf Deutsch.", "Antworte ab jetzt immer auf Englisch.", 2),
        ("Write commit messages in English from now on.", "From now on answer in German.", 2),
    ],
)
def test_an_order_against_another_one_ends_it(talk: Talk, first: str, second: str, kept: int):
    talk.say(first, second)
    assert len(talk.texts()) == kept
    assert len(talk.memory.profile.get(ANNA)) == kept


def test_permission_for_the_alternative_ends_an_order(talk: Talk):
    talk.say("Always answer in German.", "Keep your answers short from now on.", "you can answer in english again")
    assert talk.texts() == ["User wants the assistant to always keep its answers short"]
    talk.say("you can write longer answers again")
    assert talk.texts() == []


def test_another_order_stays(talk: Talk):
    talk.say("Never use emojis.", "Always answer in German.", "Forget what I said about the emojis.")
    assert talk.texts() == ["User wants the assistant to always answer in German"]


@pytest.mark.parametrize(
    "told, message",
    [
        ("I'm going to move to Bristol in May.", "thanks, but we're not moving to Bristol after all"),
        ("I'm training for the Cardiff marathon.", "I gave up on the Cardiff marathon"),
        ("I sing in the Bach choir.", "I quit the Bach choir last week"),
        ("My boyfriend Callum is a chef.", "me and callum split up"),
        ("I work for Nike.", "I left Nike in May and freelance now."),
        ("i work at costco in the bakery", "so i quit costco"),
    ],
)
def test_a_plan_or_a_tie_ends(talk: Talk, told: str, message: str):
    talk.say(told)
    before = set(talk.texts())
    talk.say(message)
    assert before
    assert not before & set(talk.texts())


@pytest.mark.parametrize(
    "told, message, now",
    [
        (
            "My wife Helen and I have two daughters, Mia and Zoe.",
            "Helen and I got divorced last year.",
            "User and their ex-wife Helen have two daughters, Mia and Zoe",
        ),
        ("I live in Halifax with my husband Greg.", "greg and i split up", "User lives in Halifax"),
    ],
)
def test_a_separation_leaves_what_still_holds(talk: Talk, told: str, message: str, now: str):
    talk.say(told, message)
    assert now in talk.texts()
    assert not [text for text in talk.texts() if "their wife" in text or "husband" in text]


@pytest.mark.parametrize(
    "message", ["I left Nike.", "I resigned from Nike.", "I no longer work for Nike", "I got fired from Nike."]
)
def test_leaving_an_employer_ends_it(talk: Talk, message: str):
    talk.say("I work for Nike.")
    assert talk.texts() == ["User works for Nike"]
    talk.say(message)
    assert "User works for Nike" not in talk.texts()


@pytest.mark.parametrize(
    "told, message",
    [
        ("I'm flying to Spain in May.", "No, I love Italy."),
        ("I live in Leeds.", "Actually, London is nicer."),
        ("I work for Anna Freud Centre.", "I left Anna at home"),
    ],
)
def test_a_remark_about_another_name_corrects_nothing(talk: Talk, told: str, message: str):
    talk.say(told)
    (before,) = talk.texts()
    talk.say(message)
    assert before in talk.texts()


def test_leaving_an_employer_leaves_the_profile_too(talk: Talk):
    talk.say("I work at Costco.", "I left Leeds at noon.")
    assert talk.memory.profile.get(ANNA) == {"employer": "Costco"}
    talk.say("I resigned from Costco last week.")
    assert talk.memory.profile.get(ANNA) == {}


@pytest.mark.parametrize(
    "told, message",
    [
        ("I'm going to bake sugar cookies for Christmas.", "I gave up sugar"),
        ("Our wedding is in May.", "My sister cancelled her wedding"),
        ("I'm going to move to Bristol in May.", "the meeting today was cancelled so i have time"),
        ("I sing in the Bach choir.", "Should I quit the choir?"),
        ("I work at Tesco in Leeds.", "I left Leeds at noon"),
    ],
)
def test_something_else_that_is_over_ends_nothing(talk: Talk, told: str, message: str):
    talk.say(told)
    before = set(talk.texts())
    talk.say(message)
    assert before
    assert before <= set(talk.texts())


@pytest.mark.parametrize(
    "told, asked, reply, message",
    [
        ("my birthday is on march 3rd", "when was Darwin's birthday?", "February 12.", "no its march 15 isnt it"),
        ("my son Ib is 7", "how many moons does mars have", "It has 4.", "no, 2"),
        ("my dog is called Rex", "whats the dog of Garfield called", "Bello.", "no its Odie"),
        ("我的生日是5月3日。", "牛顿生日是哪天?", "2月15日。", "不对,是1月4日"),
    ],
)
def test_a_denial_of_what_the_assistant_said_of_something_else_corrects_nothing(
    talk: Talk, told: str, asked: str, reply: str, message: str
):
    talk.say(told)
    before = talk.texts()
    talk.say(asked, reply=reply)
    talk.say(message)
    assert set(before) <= set(talk.texts())


@pytest.mark.parametrize(
    "told, message",
    [
        ("I'm training for the Cardiff marathon.", "not training today, legs are dead"),
        ("im going to peru in april", "not going to the office today"),
        ("i work at Aldi", "i dont just work at aldi, i also drive a taxi"),
        ("i play guitar in a band", "what's that line, 'i don't play guitar anymore', who wrote that"),
        ("i work at Aldi", "my colleague says: 'i'm not working for aldi anymore, im done'"),
        ("i work at Aldi", "note to summarise: I stopped working at Aldi in March."),
        ("i have a cat called Miso", "my roommate: i no longer have a cat :("),
        ("i have a meeting with sarah on tuesday", "sarah cancelled her other meeting"),
        ("My wedding is in June.", "my cousins wedding is cancelled"),
        ("i work at Aldi", "i got laid off from my first job in 2009"),
        ("i work at Aldi", "i had a dream where i quit aldi"),
        ("My girlfriend is called Ana.", "ana and i broke up for a week in 2019 but thats old news"),
        ("I drink coffee every morning.", '"i quit coffee" is such a cliche title'),
    ],
)
def test_other_words_and_other_things_end_nothing(talk: Talk, told: str, message: str):
    talk.say(told)
    before = talk.texts()
    talk.say(message)
    assert before
    assert set(before) <= set(talk.texts())


@pytest.mark.parametrize(
    "told, message, left",
    [
        ("works at aldi and teaches yoga on weekends", "i quit my yoga job", "User works at aldi"),
        ("plays chess and tennis", "i dont play tennis anymore", "User plays chess"),
        ("has netflix and disney plus", "i cancelled netflix", "User has disney plus"),
    ],
)
def test_of_two_things_the_other_one_stays(talk: Talk, told: str, message: str, left: str):
    talk.memory.remember(ANNA, f"User {told}")
    talk.say(message)
    assert left in talk.texts()


@pytest.mark.parametrize(
    "told, message",
    [
        ("My girlfriend is called Lena.", "i broke up with lena yesterday"),
        ("I have a dog called Rex.", "rex died last night"),
        ("I take ibuprofen every morning.", "i stopped taking ibuprofen"),
        ("My rent is 1200.", "my rent is 1350 now"),
        ("Meine Frau heißt Sabine.", "Sabine und ich sind seit März geschieden."),
        ("我喜欢吃辣", "我现在不吃辣了,医生说不行"),
    ],
)
def test_what_daily_talk_ends_is_over(talk: Talk, told: str, message: str):
    talk.say(told)
    before = talk.texts()
    talk.say(message)
    assert before
    assert not set(before) & set(talk.texts())


def test_a_name_that_is_not_wanted_leaves_the_profile(talk: Talk):
    talk.say("Call me Captain.", "stop calling me captain its cringe")
    assert talk.texts() == ["User wants the assistant to never call them captain"]
    assert talk.memory.profile.get(ANNA) == {"wants the assistant to call them captain": "never"}


def test_nobody_corrects_what_another_said(talk: Talk):
    talk.say("I live in Leeds.")
    talk.say("Not Leeds, Hull.", "you can use emojis again", scope=BERT)
    assert talk.texts() == ["User lives in Leeds"]


def test_several_speakers_correct_nothing(talk: Talk):
    turn = [
        {"role": "user", "name": "Ana", "content": "I live in Leeds."},
        {"role": "user", "name": "Ben", "content": "Not Leeds, Hull."},
    ]
    talk.memory.capture(ANNA, turn)
    talk.memory.work()
    assert all("Hull" not in text or "Leeds" in text for text in talk.texts())
