"""Statements that hold beside each other, told in two talks: how many of them retire the other."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mnemic.api import Mnemic
from mnemic.model.item import Kind
from mnemic.model.scope import Scope
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.store import Store
from tests.unit.engine.kit import START, Clock
from tests.unit.engine.life_kit import opened

BOTH_HOLD = (
    ("I work as a nurse.", "I'm a volunteer firefighter."),
    ("I live in Lisbon.", "I live in Portugal."),
    ("I live in Oslo with Kim.", "I grew up in Bergen."),
    ("I have a cat called Tom.", "I have a dog called Rex."),
    ("I like tea.", "I like coffee."),
    ("I prefer tea in the morning.", "I prefer coffee after lunch."),
    ("My brother lives in Oslo.", "I live in Lyon."),
    ("My sister works at Google.", "I work at Siemens."),
    ("I work at Siemens.", "I'm going to a conference at Bosch."),
    ("I speak French.", "I speak Welsh."),
    ("My birthday is on 3 May 1990.", "My son's birthday is on 4 June."),
    ("I'm allergic to nuts.", "I'm allergic to penicillin."),
    ("My dentist appointment is on Monday.", "My doctor's appointment is on Tuesday."),
    ("I drive a Volvo.", "My wife drives a Tesla."),
    ("My phone is a Pixel 8.", "My work phone is an iPhone 15."),
    ("I'm vegetarian.", "My husband is vegan."),
    ("I run on Mondays.", "I swim on Tuesdays."),
    ("I use Python for work.", "I use Rust at home."),
    ("My favourite colour is blue.", "My favourite food is pasta."),
    ("Ich wohne in Wien.", "Meine Schwester wohnt in Graz."),
    ("Ich wohne in Graz.", "Ich wohne in Österreich."),
    ("Ich arbeite als Lehrer.", "Ich bin ehrenamtlicher Sanitäter."),
    ("我住在上海。", "我妹妹住在北京。"),
)
KINDS = [kind for kind in Kind if kind not in (Kind.SUMMARY, Kind.REFLECTION)]


def retired(mnemic: Mnemic, clock: Clock, number: int) -> list[str]:
    """What a user says in two talks, 40 days apart, and is not active afterwards."""
    for place, text in enumerate(BOTH_HOLD[number]):
        clock.at = START + timedelta(days=40 * place)
        talk = Scope(user=f"user {number}", session=f"{place}")
        mnemic.capture(talk, user=text, assistant="Noted.")
        mnemic.extract(talk)
    scope = Scope(user=f"user {number}")
    assert mnemic.list(scope, kinds=KINDS).memories
    return [memory.text for memory in mnemic.list(scope, states=["superseded", "disputed"], kinds=KINDS).memories]


@pytest.mark.requirement("P-05")
def test_no_statement_retires_an_unrelated_one(store: Store, clock: Clock):
    mnemic, _ = opened(store, clock, settings=Settings(life=LifeSettings(extracts=True)))
    found = {pair: gone for number, pair in enumerate(BOTH_HOLD) if (gone := retired(mnemic, clock, number))}
    assert found == {}
