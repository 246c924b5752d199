"""Decides whether anything is put before a prompt at all, and which hits are too weak for it.

A wrong memory in a prompt costs more than a missing one: a greeting, code or a calculation gets nothing. Words alone,
and embedding models without a judge of their own, are judged by the form of the prompt only.
"""

from collections.abc import Iterable, Sequence
from math import isnan, nan

from mnemic.engine.engine import Engine
from mnemic.engine.indexing import Asked
from mnemic.engine.recall import least_beside
from mnemic.model.item import Memory, Message
from mnemic.model.recall import Hit
from mnemic.model.scope import Level
from mnemic.ranking import silence

SURE = 0.9
"""A fact or a passage of this relevance answers by itself, whatever form the prompt has: a question to a manual reads
like one of general knowledge. Messages are too many and too much alike for that.
"""

FACT_GAP = 1.25
"""So far behind the best fact, in logits, another one is not needed: beside one of 0.9 it needs 0.72. Of 160 generated
facts and their direct questions 0.99 are shown, and of what is shown 0.87 is needed (0.77 with 2). The user's facts are
compared with each other, policies and what an agent learned with the best fact of anybody.
"""

LEAST_OF_SEVERAL = 0.35
"""A fact of this relevance stays where several are asked for: it is one of the user's languages, pets or allergies,
however much better the best one fits.
"""


def deserves_memory(engine: Engine, text: str, asked: Asked, hits: Sequence[Hit]) -> bool:
    """True when what was found for a prompt belongs before it."""
    found = [hit for hit in hits if not hit.is_fallback]
    if not found or silence.asks_nothing(text):
        return False
    strong = strong_enough(found, text)
    if all(isinstance(hit.item, Memory) for hit in strong) and silence.is_near_miss(text, sights(found)):
        return False
    if any(not isinstance(hit.item, Message) and (hit.relevance or 0.0) >= SURE for hit in found):
        return True
    judge = judge_of(engine)
    vector = asked.vectors[0] if asked.vectors else None
    if judge is None or vector is None or not vector.any():
        return True
    return silence.certainty(judge, silence.Prompt(text=text, vector=vector), sights(found)) >= judge.threshold


def strong_enough(hits: Sequence[Hit], text: str) -> tuple[Hit, ...]:
    """The hits that are not mere noise for a prompt; one whose relevance cannot be told stays."""
    memories = [hit for hit in hits if isinstance(hit.item, Memory)]
    least = least_beside(_best(hits))
    shared = max(least, least_beside(_best(memories), FACT_GAP))
    own = max(least, least_beside(_best(filter(_is_users_fact, memories)), FACT_GAP))
    if silence.asks_for_several(text):
        own = max(least, min(own, LEAST_OF_SEVERAL))
    floors = {hit.id: own if _is_users_fact(hit) else shared for hit in memories}
    return tuple(
        hit
        for hit in hits
        if isinstance(hit.item, Message) or hit.relevance is None or hit.relevance >= floors.get(hit.id, least)
    )


def _best(hits: Iterable[Hit]) -> float:
    return max((hit.relevance or 0.0 for hit in hits), default=0.0)


def _is_users_fact(hit: Hit) -> bool:
    return isinstance(hit.item, Memory) and hit.item.partition.level is Level.USER


def judge_of(engine: Engine) -> silence.Judge | None:
    """The judge for the main embedding model; None where there is none."""
    return None if engine.embedder is None else silence.judges().get(engine.embedder.space.model)


def sights(hits: Sequence[Hit]) -> list[silence.Sight]:
    """The hits as the judgement sees them."""
    return [
        silence.Sight(
            relevance=nan if hit.relevance is None else hit.relevance,
            cosine=nan if hit.similarity is None else hit.similarity,
            text=hit.text,
            author=(hit.item.name or "") if isinstance(hit.item, Message) else "",
            is_dated=isinstance(hit.item, Message),
        )
        for hit in hits
        if hit.relevance is None or not isnan(hit.relevance)
    ]
