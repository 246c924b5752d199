"""Creates a store of one user with much data and many users with little, in which each text shows its owner.

Each user has a mark, which every memory, message and passage of that user contains. An answer therefore shows whose
data it contains: it must contain the mark of the user who asked, and no other mark.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from drills.kit.open_loop import Request, posted
from mnemic.api import Mnemic
from mnemic.evaluation.speed import GeneratedTexts
from mnemic.model.scope import Scope

ORGS = ("default", "other")
FEW, TURNS, SECTIONS = 60, 15, 100
KEYS_OF_LARGE = 10
"""So many that a door's limit of one key is not what ends the load."""

_MARK = re.compile(rb"qz\d\dxk")
MIX = {"recall": 5, "context": 3, "remember": 2}
"""How often each verb is asked for, in ten requests."""


@dataclass(frozen=True, slots=True)
class Person:
    """A user of an org, with the tokens that the doors ask for."""

    scope: Scope
    mark: str
    tokens: tuple[str, ...]

    def verify(self, body: bytes) -> str:
        """What is wrong with an answer that must hold this user's texts and nobody else's."""
        found = set(_MARK.findall(body))
        if others := found - {self.mark.encode()}:
            return f"{self.scope.user} was told of {sorted(others)}"
        return "" if found else f"{self.scope.user} was told nothing: {body[:200]!r}"


def filled(path: Path, memories: int, chunks: int, people: int) -> tuple[list[Person], int]:
    """Fill a store; returns the people, the one with much first, and how many passages that one has."""
    texts, crowd, large = GeneratedTexts(17), list[Person](), 0
    with Mnemic.open(str(path), has_worker=False) as mnemic:
        for number in range(people):
            scope = Scope(org=ORGS[number % 2], user=f"user{number:02d}", session=f"session{number:02d}")
            keys = [mnemic.keys.create(scope) for _ in range(1 if number else KEYS_OF_LARGE)]
            person = Person(scope, f"qz{number:02d}xk", tuple(key.token for key in keys))
            crowd.append(person)
            marked = [f"{person.mark} {text}" for text in texts.texts(FEW if number else memories)]
            for start in range(0, len(marked), 1000):
                mnemic.remember_many(scope, list(marked[start : start + 1000]))
            said = list(texts.texts(2 * TURNS))
            for user, assistant in zip(said[::2], said[1::2], strict=True):
                mnemic.capture(scope, user=f"{person.mark} {user}", assistant=f"{person.mark} {assistant}")
            passages = _shelf(mnemic, person, texts, FEW if number else chunks)
            large = passages if not number else large
        return crowd, large


def requests(crowd: Sequence[Person], seed: int, only: str = "") -> Iterator[Request]:
    """Requests without end, all different: every second one is of the first of the crowd. `only`: of that kind."""
    chance, texts = Random(seed), GeneratedTexts(seed)  # noqa: S311 -- no secret hangs on it
    kinds = [only] if only else [kind for kind, times in MIX.items() for _ in range(times)]
    while True:
        for question in texts.questions(100):
            kind = chance.choice(kinds)
            person = crowd[0] if chance.random() < 1 / 2 else chance.choice(crowd[1:] or crowd)
            yield _made(kind, person, question, chance.choice(person.tokens))


def _made(kind: str, person: Person, question: str, token: str) -> Request:
    path = {"recall": "/v1/recall", "context": "/v1/context", "remember": "/v1/memories"}[kind]
    query = f"{path}?user={person.scope.user}&session={person.scope.session}"
    kept = {"text": f"{person.mark} {question} {uuid.uuid4().hex[:8]}"}
    body = kept if kind == "remember" else {"query": question}
    return Request(kind, posted(query, token, body), person.verify)


def _shelf(mnemic: Mnemic, person: Person, texts: GeneratedTexts, chunks: int) -> int:
    """Documents of so many sections, each of which becomes a passage; how many passages were stored."""
    stored = 0
    for first in range(0, chunks, SECTIONS):
        sections = list(texts.texts(4 * min(SECTIONS, chunks - first)))
        parts = [
            f"## Section {first + place // 4}\n\n{person.mark} {' '.join(sections[place : place + 4])}"
            for place in range(0, len(sections), 4)
        ]
        content = f"# Manual {first}\n\n" + "\n\n".join(parts) + "\n"
        stored += mnemic.ingest(person.scope, content.encode(), name=f"manual-{first}.md").chunks
    return stored
