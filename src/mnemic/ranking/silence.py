"""Whether a prompt asks for something that memory holds, or is better left alone: a probability.

Answers for what speaks for it and for the weights that come with the package (`silence.json`, which says how they were
made, by `benchmarks/fit/silence.py`). A prompt is judged by its own words, and by its vector if that is of the included
model (does it ask about somebody's life or work, or is it a greeting, code, a calculation?), and by what was found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.ranking.digest import stems
from mnemic.ranking.extract import is_small_talk
from mnemic.ranking.relevance import COSINE
from mnemic.text.languages import languages
from mnemic.text.normalise import stored_pattern

Doubles = NDArray[np.float64]

_FOUND = "relevance_1 relevance_2 relevance_5 cosine_1 cosine_gap names_author covered lacks_answer"
FEATURES = tuple(f"head asks_of_life {_FOUND} is_own is_task has_text to_assistant length crowd constant".split())
FIRST = 3  # best hits that are searched for names and answers
FIFTH = 5
NO_LOGIT = -6.0
LEAST_SHARE = 1e-4
ABOUT_SUBJECT = 0.5
"""A fact of this relevance is about what the prompt is about; one below may answer in other words."""

NEAR_BEST = 2.0
"""Logits: facts so near to the best one may hold the answer as well."""

LONGEST_TOKENS = 12.0  # a longer text to work on is no better a question

_pattern = partial(stored_pattern, __name__)
_OWN = _pattern("own")
_QUOTED = _pattern("quoted")
"""A text to work on: in quotation marks, or after a colon."""

_TASK = _pattern("task")
_YOU = _pattern("you")
_PIECE = re.compile(r"[\u3400-\u9fff]|[^\W_]+|[?!{}()=]")
FIRST_PIECES = 24  # a prompt shows what it wants in its first sentences
_CALCULATION = re.compile(r"(?=\D*\d)[\d\s.,+\-−*x×÷/^%()=?!<>√π:]*", re.IGNORECASE)
_SUM = _pattern("sum")
_CODE = _pattern("code")
_ABOUT_USER = _pattern("about_user")
_ONLY_ABOUT_USER = _pattern("only_about_user")
_SEVERAL = _pattern("several")
_DATE = _pattern("date")
_NUMBER = _pattern("number")
_NAME = re.compile(r"(?<![.!?…] )(?<!^)\b[A-ZÀ-Þ][\w'’-]+")
_WORD = re.compile(r"[\w'’-]+")
_TITLE = re.compile(r"Mr|Mrs|Ms|Mx|Dr|Prof|I", re.IGNORECASE)
_WHEN = _pattern("when")
_HOW_OLD = re.compile(r"\bhow old\b|[几多][岁大]", re.IGNORECASE)
_AGE = _pattern("age")
_HOW_MUCH = _pattern("how_much")
_WHO_WHERE = _pattern("who_where")
_ASKS = ((_HOW_OLD, _AGE), (_WHEN, _DATE), (_HOW_MUCH, _NUMBER), (_WHO_WHERE, _NAME))
"""What a question asks for, and what an answer to it holds."""


NAMING_WORDS = 6
"""A longer prompt may name somebody in passing."""


def names_asked(text: str) -> frozenset[str]:
    """The names in a short question that is neither a task nor about the assistant ("How is Fynn?"). Countries, months
    and titles are no names here.
    """
    if len(text.split()) > NAMING_WORDS or _TASK.search(text) or _YOU.search(text):
        return frozenset()
    names = words_of(" ".join(_NAME.findall(text)))
    return frozenset(name for name in names if not _is_common(name))


def _is_common(name: str) -> bool:
    is_title_or_date = _TITLE.fullmatch(name) is not None or _DATE.search(name) is not None
    return is_title_or_date or any(each.slots.regions.fullmatch(name) is not None for each in languages())


def words_of(text: str) -> frozenset[str]:
    """The words of a text as they are written, without "'s"."""
    return frozenset(re.sub(r"['’]s?$", "", word) for word in _WORD.findall(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt, the vector of its question `(dims,)`, L2-normalised, if it has one, and how many rows were searched."""

    text: str
    vector: NDArray[np.float32] | None
    searched: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One hit as the judgement sees it: `relevance` and `cosine` are NaN where they cannot be told. `is_dated`: its
    date is shown with it, as with messages.
    """

    relevance: float
    cosine: float
    text: str
    author: str = ""
    is_dated: bool = False


@dataclass(frozen=True, slots=True)
class Judge:
    """The weights of `FEATURES`, the least certainty at which something is shown, and the `head` `(dims,)` over the
    prompt's vector. Empty: this judge does not look at vectors.
    """

    weights: Doubles
    threshold: float
    head: Doubles
    head_constant: float


@cache
def _stored() -> Mapping[str, Any]:
    return json.loads(Path(__file__).with_name("silence.json").read_text(encoding="utf-8"))


@cache
def judge(name: str) -> Judge:
    """The judge for an embedding model, else for hits found by any other's `COSINE`, or by `WORDS` alone."""
    every: Mapping[str, Any] = _stored()["judges"]
    told = every.get(name) or every[COSINE]
    weights = np.array([told["weights"][each] for each in FEATURES])
    return Judge(weights, float(told["threshold"]), np.array(told["head"]), float(told["head_constant"]))


def asks_of_life(text: str) -> float:
    """How much a prompt reads like a question about somebody's life or work, as a logit; 0 for unknown words."""
    known: Mapping[str, float] = _stored()["pieces"]
    every = pieces(text)
    found = [known[piece] for piece in every if piece in known]
    return sum(found) / max(len(every), 1) ** 0.5 + float(_stored()["known_share"]) * len(found) / max(len(every), 1)


def pieces(text: str) -> frozenset[str]:
    """The first words of a text with its marks of code and questions, and the pairs of them; "^" is the beginning."""
    words = [word.lower() for word in _PIECE.findall(text)[:FIRST_PIECES]]
    return frozenset((*words, *map(" ".join, pairwise(("^", *words)))))


def asks_nothing(text: str) -> bool:
    """True for what is by its form no question to a memory: greetings, thanks, signs, a calculation, or code alone."""
    return (
        is_small_talk(text)
        or _CALCULATION.fullmatch(text) is not None
        or _SUM.fullmatch(text) is not None
        or _CODE.search(text) is not None
        or not any(map(str.isalpha, text))
    )


def is_about_user(text: str, best: float) -> bool:
    """True if a prompt asks for general knowledge of the user, so that background answers it. `best`: the relevance of
    the best hit. A high one shows the subject of a prompt such as "What do you know about me and dogs?".
    """
    is_about = _ABOUT_USER.search(text) is not None
    return (is_about and best < ABOUT_SUBJECT) or _ONLY_ABOUT_USER.search(text) is not None


def asks_for_several(text: str) -> bool:
    """True for a question that more than one fact may answer, such as one for pets, a family, or what to avoid."""
    return _SEVERAL.search(text) is not None


def features(text: str, head: float, hits: Sequence[Sight], searched: int) -> Doubles:
    """The numbers `(len(FEATURES),)` by which a prompt is judged; `head` is the score of its vector.

    The best of 50,000 chance likenesses is nearer than the best of 500, so the number of rows `searched` counts.
    """
    ranked = sorted(hits, key=lambda hit: -hit.relevance)
    best = ranked[:FIRST]
    cosines = sorted((hit.cosine for hit in hits if not np.isnan(hit.cosine)), reverse=True)
    first = cosines[0] if cosines else 0.0
    fifth = cosines[FIFTH - 1] if len(cosines) >= FIFTH else 0.0
    asked = stems(text)
    found = frozenset[str]().union(*(stems(hit.text) for hit in best))
    return np.array(
        [
            head,
            asks_of_life(text),
            *(_logit(ranked, place) for place in (1, 2, FIFTH)),
            first,
            first - fifth,
            float(any(hit.author and hit.author.lower() in text.lower() for hit in ranked[:10])),
            len(asked & found) / len(asked) if asked else 0.0,
            float(_lacks_answer(text, best)),
            *text_features(text),
            log(1.0 + searched),
            1.0,
        ]
    )


def sets_task(text: str) -> bool:
    """True for a prompt that sets a task, outside of what it quotes."""
    return _TASK.search(_QUOTED.sub(" ", text)) is not None


def text_features(text: str) -> tuple[float, float, float, float, float]:
    """Of a prompt, outside of what it quotes: whether it speaks of the user, whether it sets a task, whether it quotes
    a text to work on, whether it asks the assistant about itself and not about the user, and its length.
    """
    bare = _QUOTED.sub(" ", text)
    is_own, is_task, has_text = _OWN.search(bare) is not None, _TASK.search(bare) is not None, bare != text
    is_to_assistant = not is_own and _YOU.search(bare) is not None
    length = log(1.0 + min(len(text.split()), LONGEST_TOKENS))
    return float(is_own), float(is_task), float(has_text), float(is_to_assistant), length


def certainty(judge: Judge, prompt: Prompt, hits: Sequence[Sight]) -> float:
    """The probability, 0 to 1, that what was found belongs before this prompt."""
    head = judge.head_constant
    if judge.head.shape[0] and prompt.vector is not None:
        head += float(judge.head @ prompt.vector.astype(np.float64))
    return share_of(float(features(prompt.text, head, hits, prompt.searched) @ judge.weights))


def is_near_miss(text: str, facts: Sequence[Sight]) -> bool:
    """True where facts are about the very subject of a prompt and do not hold what it asks for.

    "How old is Gustav?" finds "User has a tortoise named Gustav." with certainty, and that is no answer. Only dates,
    numbers and names are looked for, in the facts that fit nearly as well as the best one.
    """
    known = [fact for fact in facts if not np.isnan(fact.relevance)]
    best = max((fact.relevance for fact in known), default=0.0)
    if best < ABOUT_SUBJECT:
        return False
    near = [fact for fact in known if logit(fact.relevance) >= logit(best) - NEAR_BEST]
    return _lacks_answer(text, near)


def logit(share: float) -> float:
    """The logit of a probability, which is kept away from 0 and 1."""
    share = min(max(share, LEAST_SHARE), 1.0 - LEAST_SHARE)
    return log(share / (1.0 - share))


def share_of(logit: float) -> float:
    """The probability of a logit."""
    return 1.0 / (1.0 + exp(-min(max(logit, -60.0), 60.0)))


def _logit(ranked: Sequence[Sight], place: int) -> float:
    if len(ranked) < place or np.isnan(ranked[place - 1].relevance):
        return NO_LOGIT
    return logit(ranked[place - 1].relevance)


def _lacks_answer(text: str, best: Sequence[Sight]) -> bool:
    """True where the prompt asks for a date, a number or a name, and no best hit holds a new one."""
    for question, answer in _ASKS:
        if question.search(text):
            asked = {word.lower() for word in re.findall(r"\w+", text)} | {"user", "user's"}
            return not any(hit.is_dated or _holds_new(answer, hit.text, asked) for hit in best)
    return False


def _holds_new(answer: re.Pattern[str], text: str, asked: set[str]) -> bool:
    """True where a text holds an answer of this form that the question does not name. A month is no name."""
    found = (word for word in answer.findall(text) if answer is not _NAME or not _DATE.search(word))
    return any(word.lower().removesuffix("'s") not in asked for word in found)
