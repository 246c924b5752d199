"""Finds the memories that may say the same as a fact, by words and by vector, and asks a model about the open ones.

Everything here takes time and holds no lock; what is found is looked at again in the transaction that writes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mnemic.engine.indexing.embedding import ItemVectors
from mnemic.engine.indexing.freshness import search
from mnemic.engine.parts import Parts
from mnemic.errors import BackendError, ConfigError, InvalidInputError
from mnemic.model.candidates import Candidates, IndexQuery
from mnemic.model.clocktime import to_microseconds
from mnemic.model.fact import Fact
from mnemic.model.item import Kind, Memory
from mnemic.model.scope import Visibility
from mnemic.model.verdict import Judgement
from mnemic.ranking.products import products
from mnemic.text.judging import MAX_PAIRS, judge_prompt, read_judgements
from mnemic.text.sameness import same_statement

NEAREST = 8
"""Memories that are looked at by vector, and as many by words."""

OPEN_COSINE = 0.75
"""Two statements less near than this are not the same and do not contradict each other."""

_KINDS = frozenset(kind.value for kind in Kind)
_log = logging.getLogger("mnemic.assimilate")


@dataclass(frozen=True, slots=True)
class Near:
    """A memory near a fact; `cosine` None where one of the two has no vector."""

    memory: Memory
    cosine: float | None


def near(parts: Parts, visible: Visibility, fact: Fact, vectors: ItemVectors | None) -> list[Near]:
    """The nearest memories by vector and by words, in no order."""
    vector = vectors[0] if vectors else None
    query = IndexQuery(
        partitions=visible.partitions,
        agent=visible.agent,
        now=to_microseconds(parts.clock.now()),
        terms=tuple(parts.analyser.query_terms(fact.text)),
        vector=vector if vector is not None and vector.any() else None,
        further=tuple(vectors[1:]) if vectors else (),
        dense_limit=NEAREST,
        kinds=_KINDS,
    )
    found = search(parts, query)
    cosines = {str(found.ids[row]): float(found.cosines[row]) for row in _best(found)}
    with parts.store.read() as work:
        memories = work.memories.get(visible, list(cosines))
    return [Near(m, None if np.isnan(cosines[m.id]) else cosines[m.id]) for m in memories]


def judged(parts: Parts, facts: Sequence[Fact], nears: Sequence[Sequence[Near]]) -> list[Mapping[str, Judgement]]:
    """What the model says of the pairs that rules leave open: of one kind, near each other, and not the same in words.
    Without a model, or where it fails (logged and counted), nothing is said of them.
    """
    judgements: list[dict[str, Judgement]] = [{} for _ in facts]
    pairs = [
        (place, each)
        for place, (fact, found) in enumerate(zip(facts, nears, strict=True))
        for each in found
        if _is_open(fact, each)
    ]
    if parts.llm is None:
        return [*judgements]
    for start in range(0, len(pairs), MAX_PAIRS):
        asked = pairs[start : start + MAX_PAIRS]
        texts = [(each.memory.text, facts[place].text) for place, each in asked]
        try:
            answers = read_judgements(parts.llm.complete(judge_prompt(texts)), len(texts))
        except (BackendError, ConfigError, InvalidInputError) as error:
            _log.warning("asking the model about %d pairs failed (%s); rules decide", len(texts), type(error).__name__)
            parts.observer.count("mnemic.assimilate.failure", operation="judge")
            break
        for (place, each), answer in zip(asked, answers, strict=True):
            judgements[place][each.memory.id] = answer
    return [*judgements]


def _is_open(fact: Fact, found: Near) -> bool:
    is_near = found.cosine is not None and found.cosine >= OPEN_COSINE
    return is_near and found.memory.kind is fact.kind and not same_statement(found.memory.text, fact.text)


def _best(found: Candidates) -> list[int]:
    """The rows nearest by vector, and those that share most of the rarer words."""
    rows = len(found.ids)
    if rows <= NEAREST:
        return list(range(rows))
    weights = 1.0 / (1.0 + found.document_frequencies.astype(np.float32))
    shared = products((found.counts > 0).astype(np.float32), weights)
    by_vector = np.argsort(np.nan_to_num(-found.cosines, nan=2.0), kind="stable")[:NEAREST]
    by_words = np.argsort(-shared, kind="stable")[:NEAREST]
    return list(dict.fromkeys([*by_vector.tolist(), *by_words.tolist()]))
