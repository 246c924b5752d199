"""Selects a part of a test set that is quick to run: some questions, the rows that answer them, and other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from mnemic.evaluation.dataset import CorpusRow, Dataset, LabelledQuestion
from mnemic.evaluation.retrieval import spaces_of

_T = TypeVar("_T", CorpusRow, LabelledQuestion)


def part_of(dataset: Dataset, questions: int, rows: int) -> Dataset:
    """At most so many questions from all over the set, and at most so many rows beside those that answer them.

    The rows that answer are kept whatever their number. Haystacks stay whole: then it is so many questions as have no
    more rows together, but one at least.
    """
    asked = _spread(dataset.questions, questions)
    if dataset.haystacks is not None:
        return _within(dataset, asked, rows)
    gold = {i for question in asked for i in question.gold}
    sessions = {session for question in asked for session in question.gold_sessions}
    groups = {question.group for question in asked}
    needed = [row for row in dataset.corpus if row.group in groups]
    answers = {row.id for row in needed if row.id in gold or (row.session in sessions and not gold)}
    beside = {row.id for row in _spread([row for row in needed if row.id not in answers], rows)}
    return replace(dataset, corpus=tuple(row for row in needed if row.id in answers | beside), questions=tuple(asked))


def _within(dataset: Dataset, asked: Sequence[LabelledQuestion], rows: int) -> Dataset:
    """The first of these questions whose haystacks hold so many rows together."""
    chosen: list[LabelledQuestion] = []
    held = 0
    for space in spaces_of(replace(dataset, questions=tuple(asked))):
        held += len(space.rows)
        if chosen and held > rows:
            break
        chosen += space.questions
    return replace(dataset, questions=tuple(chosen))


def _spread(things: Sequence[_T], most: int) -> list[_T]:
    """At most so many of them, evenly from beginning to end."""
    return [things[place * len(things) // most] for place in range(most)] if len(things) > most else list(things)
