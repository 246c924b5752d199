"""Decides whether anything is put before a prompt at all, and which hits are too weak for it.

A wrong memory in a prompt costs more than a missing one: a greeting, code or a calculation gets nothing. If relevance
is unknown, because the embedding model is not calibrated, only the form of the prompt counts.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from math import isnan, log, nan

from mnemic.engine.engine import Engine
from mnemic.engine.indexing import Asked
from mnemic.engine.recall import least_beside
from mnemic.model.bookkeeping import slot_in
from mnemic.model.candidates import Scale
from mnemic.model.item import Chunk, Memory, Message, Role
from mnemic.model.recall import SHOWN_RELEVANCE, Hit, Recall
from mnemic.model.scope import Level
from mnemic.ranking import silence
from mnemic.ranking.digest import FULL_CONTENT, LEAST_CHARS, LEAST_CONTENT, content, is_question
from mnemic.ranking.relevance import WORDS
from mnemic.text.analyser import Analyser
from mnemic.text.languages import detect

INCLUDED = Scale()  # that of the included embedding model
SURE = 0.9
"""A fact this relevant answers by itself, whatever form the prompt has. Messages are too many and too alike for it."""

SURE_NAMED = 0.4
"""The same for a hit with the name that a short question asks about ("Who is Okafor?"). In ten short talks, every such
question has a hit of at least 0.45, and no question about a well-known name has one. Relevance from words alone is too
uncertain for it.
"""

SURE_PASSAGE = 0.7
"""The same for a passage: a question to a manual reads like one of general knowledge ("Who services the boiler?"). Of
150 questions to two documents 0.91 have such a passage (0.83 one of 0.9), of 240 unrelated prompts 0.046 (0.021).
"""

CHANCE_ROWS, FEW_ROWS = 8, 1000
"""Among eight rows, chance alone gives no hit even odds of relevance. Among n times as many rows, it gives none n to 1.
In a small store, a hit above this is no coincidence, so the prompt's form counts less ("Who handles the migration?").
"""

UNUSUAL = 0.025
"""Minimum certainty for these hits: 1 of 2,400 unrelated prompts gets a context by this (stores of 6 to 10 facts)."""

_ANALYSER = Analyser()
LEAST_PASSAGE = SHOWN_RELEVANCE
CROSS_GAP = 2.0
"""So far behind the best fact or passage, in logits, a passage is not needed, nor a fact behind the best passage."""

LEAST_MESSAGE = 0.1
"""A message below it is noise if everything found fits into the budget, unless it is one of the `NEAREST`. One with few
words of content needs more.
Elsewhere messages stand by their rank: this floor would cost BEAM a tenth of its evidence.
"""

LATER_MESSAGE = 0.02
"""The same for the user's messages of a later day than the best hit: they may mention a change. With 0.03, contexts
have 52 instead of 56 of 68 held-out answers; this shows one more message for each question.
"""

NEAREST = 8
"""Number of the user's best messages that need only `NO_MESSAGE`, unless a hit answers. People seldom ask in the words
of an earlier conversation. More messages find more, but add noise (`benchmarks/results/needed.md`).
"""

LOOKUP_WORDS = 8  # a shorter question looks something up, so one hit about its subject is enough

NO_MESSAGE = 0.01
"""A message below this relevance is always noise. LoCoMo and BEAM lose no evidence; with 0.02, BEAM loses a point."""

FACT_GAP = 1.25
"""So far behind the best fact, in logits, another one is not needed: beside one of 0.9 it needs 0.72. Of 160 generated
facts and their direct questions 0.99 are shown, and of what is shown 0.87 is needed (0.77 with 2). The user's facts are
compared with each other, policies with the best fact of any level. Facts of the session or the agent are about the task
at hand, and only noise is left out of it.
"""

LEAST_BESIDE = 0.15
"""Least relevance of a further fact of the user: beside a best fact of 0.18, all others are within `FACT_GAP` of it."""

MESSAGE_GAP = 4.0
"""Farther behind the best message, in logits, a fact of the user is not needed: the message answers. In 44 stores of
LongMemEval's talks this left out 9 of 16 unneeded facts and none of 22 needed ones, the same with any gap of 2.5 to 5.
A fact with a slot stays, since the message may say what it replaced.
"""

LEAST_OF_SEVERAL = 0.35
"""A fact of this relevance stays where several are asked for: it is one of the user's languages, pets or allergies,
however much better the best one fits.
"""


def deserves_memory(engine: Engine, text: str, asked: Asked, recalls: Sequence[Recall]) -> bool:
    """True when what was found for a prompt belongs before it."""
    found = [hit for recall in recalls for hit in recall.hits if not hit.is_fallback]
    if not found or silence.asks_nothing(text):
        return False
    strong = strong_enough(found, text)
    if all(isinstance(hit.item, Memory) for hit in strong) and silence.is_near_miss(text, sights(found)):
        return False
    echoing = found if detect(text).code == "en" else _echoing(text, found)
    if _best(h for h in echoing if isinstance(h.item, Memory)) >= SURE or _best(_passages(echoing)) >= SURE_PASSAGE:
        return True
    names = silence.names_asked(text)
    named = [hit for hit in found if names and not names.isdisjoint(silence.words_of(hit.text))]
    if _best(named) >= SURE or _best(hit for hit in named if hit.similarity is not None) >= SURE_NAMED:
        return True
    if _joins(text, recalls) or all(hit.relevance is None for hit in found):
        return True
    asking = (pair for pair in zip(engine.known_embedders, asked.vectors, strict=False) if pair[1] is not None)
    embedder, vector = next(asking, (None, None))
    scale, name = INCLUDED, WORDS
    if embedder is not None and any(hit.similarity is not None for hit in found):
        scale, name = engine.scale_of(embedder) or scale, embedder.space.model
    prompt = silence.Prompt(text=text, vector=vector, searched=sum(recall.searched for recall in recalls))
    judge = silence.judge(name)
    certainty = silence.certainty(judge, prompt, sights(found, scale))
    return certainty >= (UNUSUAL if _stands_out(prompt, found) else judge.threshold)


def _joins(text: str, recalls: Sequence[Recall]) -> bool:
    """True if a path in the graph connects two entities that the prompt names."""
    asked = text.casefold()
    ends = [(path.nodes[0], path.nodes[-1]) for recall in recalls for path in recall.paths if path.edges]
    return any(all(node.name.casefold() in asked for node in pair) for pair in ends)


def _stands_out(prompt: silence.Prompt, found: Sequence[Hit]) -> bool:
    """True if a small store has a hit that shares a word with the prompt and is too close to it to be chance. For a
    task it may be: "Write a poem about coffee".
    """
    least = log(max(1.0, prompt.searched / CHANCE_ROWS))
    return (
        not silence.sets_task(prompt.text)
        and prompt.searched <= FEW_ROWS
        and silence.logit(_best(_echoing(prompt.text, found))) >= least
    )


def _echoing(text: str, hits: Iterable[Hit]) -> list[Hit]:
    """The hits that share a word with a prompt. Outside English, short words are ignored: they may be articles."""
    language = detect(text)
    words = set(_ANALYSER.query_terms(text)) - language.common
    if language.code != "en":
        words = {word for word in words if len(word) >= LEAST_CHARS or not word.isascii()}
    return [hit for hit in hits if not words.isdisjoint(_ANALYSER.terms(hit.text))]


def strong_enough(hits: Sequence[Hit], text: str, *, least_message: float = 0.0) -> tuple[Hit, ...]:
    """The hits that are not mere noise for a prompt; one whose relevance cannot be told stays."""
    memories = [hit for hit in hits if isinstance(hit.item, Memory)]
    best, best_passage = _best(memories), _best(_passages(hits))
    least = max(least_beside(best), least_beside(best_passage, CROSS_GAP))
    passage = max(LEAST_PASSAGE, least_beside(max(best, best_passage), CROSS_GAP))
    best_own = _best(filter(_is_users_fact, memories))
    own = max(least, least_beside(best_own, FACT_GAP), min(best_own, LEAST_BESIDE))
    if silence.asks_for_several(text):
        own = max(least, min(own, LEAST_OF_SEVERAL))
    beside_message = least_beside(_best(hit for hit in hits if isinstance(hit.item, Message)), MESSAGE_GAP)
    of_level = {Level.USER: own, Level.ORG: max(least, least_beside(best, FACT_GAP))}
    floors = {hit.id: of_level.get(hit.item.partition.level, least) for hit in memories}
    floors |= {hit.id: max(own, beside_message) for hit in memories if _is_users_fact(hit, may_fill_slot=False)}
    since = max((hit for hit in hits if not isinstance(hit.item, Chunk)), key=_relevance, default=None)
    for hit in hits:
        if isinstance(hit.item, Message):
            is_later = since is not None and hit.item.role is Role.USER and hit.at.date() > since.at.date()
            floors[hit.id] = _least_of_message(hit, min(least_message, LATER_MESSAGE) if is_later else least_message)
    is_lookup = is_question(text) and len(text.split()) <= LOOKUP_WORDS
    if least_message and _best(hits) < (silence.ABOUT_SUBJECT if is_lookup else SURE):
        for hit in islice(filter(_tells, hits), NEAREST):
            floors[hit.id] = min(floors[hit.id], _least_of_message(hit, NO_MESSAGE))
    return tuple(hit for hit in hits if hit.relevance is None or hit.relevance >= floors.get(hit.id, passage))


def _least_of_message(hit: Hit, least: float) -> float:
    """What a message needs: the more, the less it says, such as thanks. Of a few rows words alone tell nothing rare."""
    if hit.similarity is None:
        return 0.0
    return max(NO_MESSAGE, least * FULL_CONTENT / max(content(hit.text), 2 * LEAST_CONTENT))


def _tells(hit: Hit) -> bool:
    """True for a message of the user that is more than a general question or task."""
    if not isinstance(hit.item, Message) or hit.item.role is not Role.USER:
        return False
    is_own, *_ = silence.text_features(hit.text)
    return bool(is_own) or detect(hit.text).statements.refused.search(hit.text) is None


def _passages(hits: Iterable[Hit]) -> Iterable[Hit]:
    return (hit for hit in hits if isinstance(hit.item, Chunk))


def _best(hits: Iterable[Hit]) -> float:
    return max(map(_relevance, hits), default=0.0)


def _relevance(hit: Hit) -> float:
    return hit.relevance or 0.0


def _is_users_fact(hit: Hit, *, may_fill_slot: bool = True) -> bool:
    """A fact of the user; unless `may_fill_slot`, only one without a slot."""
    if not isinstance(hit.item, Memory) or hit.item.partition.level is not Level.USER:
        return False
    return may_fill_slot or slot_in(hit.item.bookkeeping) is None


def sights(hits: Sequence[Hit], scale: Scale = INCLUDED) -> list[silence.Sight]:
    """The hits as the judgement sees them; `scale`: of their cosines."""
    return [
        silence.Sight(
            relevance=nan if hit.relevance is None else hit.relevance,
            cosine=nan if hit.similarity is None else scale.slope * hit.similarity + scale.shift,
            text=hit.text,
            author=(hit.item.name or "") if isinstance(hit.item, Message) else "",
            is_dated=isinstance(hit.item, Message),
        )
        for hit in hits
        if hit.relevance is None or not isnan(hit.relevance)
    ]
