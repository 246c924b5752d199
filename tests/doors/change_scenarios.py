"""Stories of people whose lives change: what they said last is told, and what was true before is found as of then."""

from __future__ import annotations

from mnemic.model.scope import Scope
from tests.doors.scenarios import ANA, Scenario, Step

MARCH, APRIL = "2026-03-02T09:00:00Z", "2026-04-06T09:00:00Z"
TO_THE_DENTIST = "User's dentist appointment is on 14 May (on 2026-05-14)"
THEN, NOW = "2026-03-20T00:00:00Z", "2026-05-01T00:00:00Z"


def tell(text: str, at: str) -> tuple[Step, ...]:
    """Somebody says something in a talk of its own, and it is read."""
    talk = Scope(user=ANA.user, agent=ANA.agent, session=at[:10])
    return (Step("capture", {"user": text, "observed_at": at}, scope=talk), Step("extract", scope=talk))


def change(name: str, before: tuple[str, str], after: tuple[str, str], question: str) -> Scenario:
    """What is said in March and how it is told, what is said in April and how that is, and what is asked."""
    return Scenario(
        name,
        (
            *tell(before[0], MARCH),
            Step("list", expect={"memories.#": 1, "memories.0.text": before[1], "memories.0.state": "active"}),
            *tell(after[0], APRIL),
            Step("list", expect={"memories.#": 1, "memories.0.text": after[1]}),
            Step("list", {"states": ["superseded"]}, expect={"memories.#": 1, "memories.0.text": before[1]}),
            Step(
                "recall",
                {"query": question, "kinds": ["fact", "preference", "event", "context"]},
                expect={"hits.#": 1, "hits.0.item.text": after[1]},
            ),
            Step(
                "recall",
                {"query": question, "as_of": THEN, "kinds": ["fact", "preference", "event", "context"]},
                expect={"hits.#": 1, "hits.0.item.text": before[1]},
            ),
        ),
    )


def keep_both(name: str, first: str, second: str) -> Scenario:
    """Two statements that hold beside each other."""
    return Scenario(
        name,
        (
            *tell(first, MARCH),
            *tell(second, APRIL),
            Step("list", {"states": ["superseded", "disputed"]}, expect={"memories.#": 0}),
            Step("list", expect={"memories.#": 2}),
        ),
    )


CHANGES = (
    change(
        "who moves from Lyon to Lille lives in Lille",
        ("I live in Lyon.", "User lives in Lyon"),
        ("We moved to Lille.", "User moved to Lille"),
        "Where does the user live?",
    ),
    change(
        "a promotion changes the job",
        ("I work as a buyer.", "User works as a buyer"),
        ("I was promoted to head of purchasing.", "User was promoted to head of purchasing"),
        "What is the user's job?",
    ),
    change(
        "a divorce ends a marriage",
        ("I'm married to Jonas.", "User is married to Jonas"),
        ("We got divorced.", "User got divorced"),
        "Is the user married or divorced?",
    ),
    change(
        "a new manager takes the place of the old one",
        ("My manager is Farida.", "User's manager is Farida"),
        ("My new boss is Mr Brandt.", "User's new boss is Mr Brandt"),
        "Who is the user's boss or manager?",
    ),
    change(
        "an appointment is moved",
        ("My dentist appointment is on 12 May.", "User's dentist appointment is on 12 May (on 2026-05-12)"),
        (
            "My dentist appointment was moved to 19 May.",
            "User's dentist appointment was moved to 19 May (on 2026-05-19)",
        ),
        "When is the dentist appointment?",
    ),
    change(
        "an appointment moves by itself",
        ("My dentist appointment is on 12 May.", "User's dentist appointment is on 12 May (on 2026-05-12)"),
        ("My dentist appointment moved to 19 May.", "User's dentist appointment moved to 19 May (on 2026-05-19)"),
        "When is the dentist appointment?",
    ),
    change(
        "who moves abroad no longer lives in the town",
        ("I live in Lyon.", "User lives in Lyon"),
        ("We moved to Portugal.", "User moved to Portugal"),
        "Where does the user live?",
    ),
    change(
        "a phone number is replaced",
        ("My phone number is 0151 555 23 11.", "User's phone number is 0151 555 23 11"),
        ("My new phone number is 0170 444 12 90.", "User's new phone number is 0170 444 12 90"),
        "What is the user's phone number?",
    ),
    change(
        "in German, too, who moves lives elsewhere",
        ("Ich wohne in Wien.", "User wohnt in Wien"),
        ("Wir sind nach Leipzig gezogen.", "User ist nach Leipzig gezogen"),
        "Wohin ist User gezogen, Wien oder Leipzig?",
    ),
    keep_both(
        "a nurse may be a volunteer firefighter",
        "I'm a nurse at Northgate hospital.",
        "I'm a volunteer firefighter at Northgate station.",
    ),
    keep_both("a country may hold the town", "I live in Lisbon.", "I live in Portugal."),
    keep_both("Lisbon is in Portugal", "I live in Lisbon.", "I live in Lisbon, Portugal, near the river Tejo."),
    *(
        Scenario(
            f"dark mode and Windows 11 are a preference and a context: {said}",
            (
                *tell(said, MARCH),
                Step("list", expect={"memories.#": 2}),
                Step(
                    "list", {"kinds": ["preference"]}, expect={"memories.#": 1, "memories.0.text": f"User {preference}"}
                ),
                Step("list", {"kinds": ["context"]}, expect={"memories.#": 1, "memories.0.text": f"User {context}"}),
            ),
        )
        for said, preference, context in (
            ("I prefer dark mode and I use Windows 11.", "prefers dark mode", "uses Windows 11"),
            ("I'm on Windows 11. I like dark mode.", "likes dark mode", "is on Windows 11"),
        )
    ),
    Scenario(
        "a correction changes what was said before, and the profile",
        (
            *tell("My name is Dona. My dentist appointment is on 12 May.", MARCH),
            *tell("its Dana not Dona", "2026-03-02T09:01:00Z"),
            *tell("Sorry, I meant 14 May.", "2026-03-02T09:02:00Z"),
            Step("list", expect={"memories.#": 2, "memories.0.text": TO_THE_DENTIST}),
            Step("list", expect={"memories.1.text": "User's name is Dana"}),
            Step("profile.all", expect={"static.#": 1, "static.0.value": "Dana"}),
        ),
    ),
    Scenario(
        "a name is kept however short the message",
        (*tell("I'm Ana", MARCH), Step("list", expect={"memories.#": 1, "memories.0.text": "User is Ana"})),
    ),
)
