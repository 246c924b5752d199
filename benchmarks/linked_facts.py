"""Generates questions that combine two or three facts, from our own sentences and a seed, for `graph_recall.py`.

Each group contains chains of facts ("A … B", "B … C") and a statement about C that is not a relation. In half of the
cases, the last two parts are passages of a document. Other sentences share more words with the questions than these
facts do. The facts use phrases that the graph's rules recognise. The set therefore shows how much following relations
helps if they were extracted, not how many of them are extracted.
"""

from __future__ import annotations

import random

from mnemic.evaluation.dataset import CorpusRow, Dataset, LabelledQuestion

NAME = "generated-links"
_SEED = 20
_GROUPS, _CHAINS, _NOISE = 20, 8, 80
_SYLLABLES = ("ba", "ce", "do", "fi", "gu", "ka", "lo", "mi", "nu", "pe", "ra", "so", "ti", "vu", "zo", "xa")
_KINDS = ("Project", "Service", "Team", "Plan")
_FIRST = ("{a} depends on {b}.", "{a} is part of {b}.", "{a} uses {b}.", "{a} reports to {b}.")
_SECOND = ("{b} is governed by {c}.", "{b} is owned by {c}.", "{b} is located in {c}.", "{b} depends on {c}.")
_BOTH = ("How does {a} relate to {c}?", "What has {a} to do with {c}?", "Is there anything between {a} and {c}?")
_ONE = ("Which rule or owner stands behind what {a} rests on?", "What is behind the thing that {a} needs?")
_THIRD = ("{c} asks for two signatures.", "Every month {c} meets on a Monday.", "There is a waiting list for {c}.")
_DETAIL = ("What is known of whoever stands behind the thing that {a} rests on?",)
_OTHER = (
    "Which {x} rests on the rule is still open, since nobody asked how it relates to the {y}.",
    "The {x} needs what stands behind the {y}, and the owner has to do with neither.",
    "There is anything but agreement between the {x} and the {y} this week.",
)
_THINGS = ("budget", "roof", "garden", "lamp", "boat", "kitchen", "schedule", "poster", "menu", "fence")


def linked_facts() -> Dataset:
    """The set; the same at every call."""
    chance = random.Random(_SEED)  # noqa: S311 -- a test set
    rows: list[CorpusRow] = []
    questions: list[LabelledQuestion] = []
    for group in (f"group-{number}" for number in range(_GROUPS)):
        for number in range(_CHAINS):
            names = {key: _name(chance) for key in "abc"}
            texts = [chance.choice(forms).format(**names) for forms in (_FIRST, _SECOND, _THIRD)]
            ids = [f"{group}/{number}/{place}" for place in range(3)]
            title = f"notes {number}" if number % 2 else None
            rows += [_row(ids[0], group, texts[0])]
            rows += [_row(own, group, text, title) for own, text in zip(ids[1:], texts[1:], strict=True)]
            for category, forms, count in (("both named", _BOTH, 2), ("one named", _ONE, 2), ("detail", _DETAIL, 3)):
                side = f"{category}, {'a document' if title else 'memories'}"
                text = chance.choice(forms).format(**names)
                questions.append(_question(f"{ids[0]}/{category}", group, text, ids[:count], side))
        for number in range(_NOISE):
            x, y = chance.sample(_THINGS, 2)
            text = f"{chance.choice(_OTHER).format(x=x, y=y)} ({number})"
            rows.append(_row(f"{group}/noise/{number}", group, text))
    return Dataset(tuple(rows), tuple(questions))


def _name(chance: random.Random) -> str:
    word = "".join(chance.choice(_SYLLABLES) for _ in range(3)).capitalize()
    return f"{chance.choice(_KINDS)} {word}"


def _row(own: str, group: str, text: str, title: str | None = None) -> CorpusRow:
    return CorpusRow(id=own, group=group, text=text, title=title)


def _question(own: str, group: str, text: str, gold: list[str], category: str) -> LabelledQuestion:
    return LabelledQuestion(id=own, group=group, text=text, gold=dict.fromkeys(gold, 1.0), category=category)
