"""Measures what a context shows in addition to the facts that are needed.

    python benchmarks/precision.py

Five people share a store and talk about the same topics, and some facts were replaced. For each question, one fact must
be shown. Facts about others and replaced facts must not be shown. All other facts that are shown count as unneeded.
Prints shares over all questions.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from mnemic import Mnemic, Scope

TOPICS = {
    "home": "Where do I live?",
    "work": "What is my job?",
    "diet": "What should I not eat?",
    "pet": "What is my pet called?",
    "travel": "Where do I go on holiday?",
    "style": "How should you answer me?",
    "family": "Who is in my family?",
    "tools": "Which editor do I use?",
}
"""A question for each topic. A person's facts stand in this order."""

PEOPLE: Sequence[Sequence[str]] = (
    (
        "User lives in Ghent in a narrow brick house.",
        "User is a piano tuner.",
        "User is allergic to sesame.",
        "User's hamster is called Figaro.",
        "User goes on holiday to the Faroe Islands in July.",
        "User wants answers in one short paragraph.",
        "User is married to Lotte and has a son, Wout.",
        "User writes code in Kate.",
    ),
    (
        "User lives in Porto Alegre near the market.",
        "User works as a court interpreter.",
        "User does not eat pork.",
        "User's parrot is called Loro.",
        "User spends the holidays in Bahia every January.",
        "User wants answers with bullet points.",
        "User has two sisters, Rita and Bia.",
        "User uses the editor Helix.",
    ),
    (
        "User lives in Sapporo with a flatmate.",
        "User is a meteorologist.",
        "User cannot eat buckwheat.",
        "User's cat is called Mochi.",
        "User travels to Okinawa on holiday in spring.",
        "User wants answers with sources.",
        "User's parents run a small inn, and his brother is called Kenji.",
        "User edits everything in Emacs.",
    ),
    (
        "User lives in Cork above a pharmacy.",
        "User is a dental hygienist.",
        "User eats no dairy.",
        "User's dog is called Bosco.",
        "User has booked a holiday in Malta for September.",
        "User wants answers without jargon.",
        "User is a widow with a daughter, Aoife.",
        "User uses Sublime Text as editor.",
    ),
    (
        "User lives in Nairobi close to the arboretum.",
        "User is a structural engineer.",
        "User is a vegan.",
        "User's tortoise is called Kobe.",
        "User goes to Lamu for the holidays.",
        "User wants long answers with every step.",
        "User has twin boys and a wife called Achieng.",
        "User's editor is VS Code.",
    ),
)
REPLACED = {
    0: "User lives in Bruges by a canal.",
    1: "User works as a schoolteacher.",
    3: "User's dog is called Rollo.",
    4: "User goes on holiday to Crete.",
}
"""By topic: what the fact was before."""

POLICY = "Travel policy: economy class below six hours."
"""Of the organisation, and needed for none of the questions."""


@dataclass(slots=True)
class Tally:
    """What was shown over all questions."""

    questions: int = 0
    needed: int = 0
    forbidden: int = 0
    unneeded: int = 0


def main() -> int:
    """Store the people, ask, and print the shares."""
    with Mnemic.open("memory://", has_worker=False) as mnemic:
        for number, facts in enumerate(PEOPLE):
            store_person(mnemic, Scope(user=f"person {number}"), facts)
        mnemic.remember(Scope(user="person 0"), POLICY, level="org")
        tally = Tally()
        for number, facts in enumerate(PEOPLE):
            for place, question in enumerate(TOPICS.values()):
                count_shown(mnemic, tally, number, (question, facts[place]))
    shown = tally.needed + tally.forbidden + tally.unneeded
    print(f"questions {tally.questions}, shown {shown}, forbidden {tally.forbidden}")
    print(f"recall {tally.needed / tally.questions:.3f}")
    print(f"precision among needed and forbidden {tally.needed / max(tally.needed + tally.forbidden, 1):.3f}")
    print(f"precision among all that is shown {tally.needed / max(shown, 1):.3f}")
    return 0


def store_person(mnemic: Mnemic, scope: Scope, facts: Sequence[str]) -> None:
    """Store a person's facts, some of them in an earlier form first."""
    for place, fact in enumerate(facts):
        if place in REPLACED:
            before = mnemic.remember(scope, REPLACED[place])
            mnemic.update(scope, before.id, text=fact)
        else:
            mnemic.remember(scope, fact)


def count_shown(mnemic: Mnemic, tally: Tally, number: int, asked: tuple[str, str]) -> None:
    """Ask one question, and count what its context shows."""
    question, needed = asked
    own = PEOPLE[number]
    block = "\n".join(mnemic.context(Scope(user=f"person {number}"), question).blocks.values())
    others = {fact for person in PEOPLE if person is not own for fact in person}
    tally.questions += 1
    tally.needed += needed in block
    tally.forbidden += sum(fact in block for fact in (others | set(REPLACED.values())) - set(own))
    tally.unneeded += sum(fact in block for fact in (*own, POLICY) if fact != needed)


if __name__ == "__main__":
    raise SystemExit(main())
