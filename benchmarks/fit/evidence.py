"""Collects the inputs of relevance for the first hits, for questions that a store can answer and for unrelated ones.

This module runs the engine and selects the questions; `relevance` fits and reports. In addition to each complete set,
there are small parts of it (a question with its evidence and a few more rows), because most stores start small.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from benchmarks.fit.features import opened
from benchmarks.fit.sets import BenchSet, load, part
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.engine.indexing import question_vectors
from mnemic.engine.inputs import Question, Watch
from mnemic.engine.recall import evidence_of, ranked
from mnemic.evaluation.dataset import CorpusRow, Dataset, LabelledQuestion
from mnemic.evaluation.retrieval import QuestionClock, Space, spaces_of, stored
from mnemic.model.scope import Scope

HITS = 10
SPACES = 12
QUESTIONS = 200
STRANGERS = 30
CUTS = 40
CUT_SIZES = (2, 3, 5, 8, 12, 20)
SMALL_TALK = Path(__file__).with_name("small_talk.txt")


class Belonging(StrEnum):
    """What a hit is: the evidence of its question; another row of a small cut; or found for a question of another set,
    or for small talk and tasks, which no memory answers.
    """

    GOLD = "gold"
    OTHER = "other"
    STRANGE = "strange"
    TALK = "talk"


@dataclass(frozen=True, slots=True)
class Shown:
    """The evidence of one hit; see `mnemic.ranking.relevance.Evidence`."""

    likeness: float
    score: float
    nearest: float
    items: int


@dataclass(frozen=True, slots=True)
class Found:
    """A hit, and what it is."""

    belonging: Belonging
    evidence: Shown


def small_talk() -> list[str]:
    """What people say to an assistant that no memory answers, a line each."""
    return [line for line in SMALL_TALK.read_text(encoding="utf-8").splitlines() if line.strip()]


def strangers(sets: Sequence[BenchSet], data: Path) -> dict[str, list[str]]:
    """Some questions of each set, by the family of the set."""
    dice, found = random.Random(5), dict[str, list[str]]()  # noqa: S311 - a sample, no secret
    for chosen in sets:
        texts = [question.text for question in part(load(chosen.dump, data), chosen).questions]
        found.setdefault(chosen.family, []).extend(dice.sample(texts, min(STRANGERS, len(texts))))
    return found


def evidence_of_set(
    chosen: BenchSet, data: Path, strange: Sequence[str], kept: Path | None, *, is_cut: bool
) -> list[Found]:
    """The first hits of the set's own questions, of `strange` ones and of small talk; of small cuts of it if `is_cut`.

    Vectors of texts are kept in the file `kept`; without one, questions are searched by words alone.
    """
    dataset = part(load(chosen.dump, data), chosen)
    dice = random.Random(1)  # noqa: S311 - a sample, no secret
    with opened(kept) as (mnemic, parts, clock):
        spaces = _cuts(dataset, dice) if is_cut else spaces_of(dataset)
        if not is_cut and len(spaces) > SPACES:
            spaces = dice.sample(spaces, SPACES)
        most = max(QUESTIONS // len(spaces), 1)
        asking = _Asking(parts, clock, is_cut)
        return [found for space in spaces for found in asking.of(mnemic, space, strange, most)]


def _cuts(dataset: Dataset, dice: random.Random) -> list[Space]:
    """Spaces of one question each: its evidence and a few other rows of its group."""
    by_id = {row.id: row for row in dataset.corpus}
    groups: dict[str, list[CorpusRow]] = {}
    for row in dataset.corpus:
        if row.text.strip():
            groups.setdefault(row.group, []).append(row)
    asked = [question for question in dataset.questions if _gold(question) & by_id.keys()]
    spaces: list[Space] = []
    for question in dice.sample(asked, min(CUTS, len(asked))):
        mine = [by_id[i] for i in sorted(_gold(question) & by_id.keys())[:3]]
        group = groups[mine[0].group]
        others = [row for row in dice.sample(group, min(dice.choice(CUT_SIZES), len(group))) if row not in mine]
        rows = [*mine, *(row for row in others if row.id not in _gold(question))]
        dice.shuffle(rows)
        spaces.append(Space(f"cut {question.id}", rows, [question]))
    return spaces


def _gold(question: LabelledQuestion) -> set[str]:
    return {row for row, grade in question.gold.items() if grade > 0} if not question.is_unanswerable else set()


class _Asking:
    """Asks a space its own questions and others."""

    def __init__(self, parts: Engine, clock: QuestionClock, is_cut: bool) -> None:  # noqa: FBT001 - private
        self._engine, self._clock, self._is_cut = parts, clock, is_cut

    def of(self, mnemic: Mnemic, space: Space, strange: Sequence[str], most: int) -> Iterator[Found]:
        """The first hits of all that is asked."""
        rows = {item: row for batch in stored(mnemic, space, 256) for item, row in batch}
        dice = random.Random(space.user)  # noqa: S311 - a sample, no secret
        own = [question for question in space.questions if _gold(question)]
        for question in dice.sample(own, min(most, len(own))):
            for row, evidence in self._first(space, question.text, question, rows):
                if row in _gold(question):
                    yield Found(Belonging.GOLD, evidence)
                elif self._is_cut:  # where rows are few, what is not labelled has nothing to do with it
                    yield Found(Belonging.OTHER, evidence)
        asked = space.questions[0]
        texts = dice.sample(list(strange), min(STRANGERS, len(strange)))
        for belonging, others in ((Belonging.STRANGE, texts), (Belonging.TALK, small_talk())):
            for text in others:
                for _, evidence in self._first(space, text, asked, rows):
                    yield Found(belonging, evidence)

    def _first(
        self, space: Space, text: str, asked: LabelledQuestion, rows: dict[str, str]
    ) -> Iterator[tuple[str, Shown]]:
        visible = Scope(user=space.user).visibility.at()
        question, watch = Question(text=text, limit=100), Watch(None)
        vectors, _ = question_vectors(self._engine, visible.partitions, question, watch)
        with self._clock.at(asked.time):
            scored = ranked(self._engine, visible, question, vectors, watch).scored
        for behind, end in zip(scored.backdrops, [*scored.backdrops[1:], None], strict=True):
            last = len(scored.scores) if end is None else end.start
            places = np.array([each for each in scored.order[:HITS] if behind.start <= each < last], dtype=np.intp)
            found = evidence_of(scored, behind, places)
            for place, cosine, score in zip(places, found.likeness, found.scores, strict=True):
                if not np.isnan(cosine):
                    row = rows[str(scored.candidates.ids[place])]
                    yield row, Shown(float(cosine), float(score), found.nearest, found.items)
