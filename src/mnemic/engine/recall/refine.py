"""The second look at the best candidates: a reranker's judgement, and variety.

Both are asked for, both see only the first few, and both may be missing without harm: what was found stays found.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.indexing.indexed import indexed_text
from mnemic.engine.parts import Parts
from mnemic.engine.question import Question, Watch
from mnemic.engine.recall.score import RERANK, Scored, with_feature
from mnemic.errors import BackendError, ConfigError, UnsupportedError
from mnemic.model.item import Item
from mnemic.model.scope import Visibility
from mnemic.ports.reranker import Reranker, Scores
from mnemic.ports.store import MAIN_VIEW
from mnemic.ranking.mmr import mmr_order

READING_MS = 4.0
"""Kept of a deadline for ordering and reading the hits."""

_log = logging.getLogger("mnemic.recall")


def refined(
    parts: Parts, visible: Visibility, question: Question, scored: Scored, watch: Watch
) -> tuple[Scored, tuple[str, ...]]:
    """The candidates with the reranker's points, in the order to be shown, and what was missing and why.

    Raises `UnsupportedError` when a reranker is asked for and none is configured.
    """
    reranker, missing = chosen_reranker(parts, question), ()
    if reranker is not None:
        scored, missing = _reranked(_Look(parts, visible, question, scored, watch), reranker)
    if question.diversity:
        scored = _varied(_Look(parts, visible, question, scored, watch))
    return scored, missing


def chosen_reranker(parts: Parts, question: Question) -> Reranker | None:
    """The reranker that a question is to be answered with: the configured one unless it says no.

    A question by similarity alone has none. Raises `UnsupportedError` when one is asked for and none is configured.
    """
    if question.rerank and parts.reranker is None:
        raise UnsupportedError(
            "no reranker is configured; set reranker.name, for example to maxsim", capability="reranker"
        )
    return None if question.rerank is False or question.min_similarity is not None else parts.reranker


def rows_of(parts: Parts, visible: Visibility, ids: Sequence[str]) -> dict[str, Item]:
    """The memories, messages and passages of these ids that the store shows, by id."""
    found: dict[str, Item] = {}
    with parts.store.read() as work:
        for read in (work.memories.get, work.messages.get, work.documents.chunks):
            if wanted := [i for i in ids if i not in found]:
                found |= {item.id: item for item in read(visible, wanted)}
    return found


class _Look:
    """The best candidates of a question that the store still shows, best first: their places, and their items."""

    def __init__(self, parts: Parts, visible: Visibility, question: Question, scored: Scored, watch: Watch) -> None:
        self.parts, self.question, self.scored, self.watch = parts, question, scored, watch
        first = scored.order[: max(parts.settings.rerank_candidates, question.limit or 0)]
        ids = [str(i) for i in scored.candidates.ids[first]]
        found = rows_of(parts, visible, ids)
        pairs = zip(first, ids, strict=True)
        shown = [(int(place), found[i]) for place, i in pairs if i in found]
        self.places = [place for place, _ in shown]
        self.items = [item for _, item in shown]


def _reranked(look: _Look, reranker: Reranker) -> tuple[Scored, tuple[str, ...]]:
    count = min(look.parts.settings.rerank_candidates, reranker.capabilities.max_texts)
    places = look.places[:count]
    if not places:
        return look.scored, ()
    texts = [indexed_text(item) for item in look.items[:count]]  # what is judged is what is searched
    try:
        judged = _judged(look, reranker, texts)
    except (BackendError, ConfigError) as error:
        _log.error("reranking failed (%s); answering without it", type(error).__name__)
        look.parts.observer.count("mnemic.rerank.failure")
        return look.scored, (f"rerank: {reranker.name} failed ({type(error).__name__})",)
    except TimeoutError:
        look.parts.observer.count("mnemic.recall.late", source="rerank")
        return look.scored, (f"rerank: not within the deadline of {look.watch.deadline_ms:g} ms",)
    look.watch.lap("rerank")
    values = np.zeros(look.scored.scores.shape, dtype=np.float32)
    values[places] = _above_the_lowest(judged)
    return with_feature(look.scored, RERANK, values, reranker.capabilities.weight), ()


def _judged(look: _Look, reranker: Reranker, texts: Sequence[str]) -> Scores:
    left_s = look.watch.left_s(READING_MS)
    if left_s is None:
        return reranker.rerank(look.question.text, texts)
    if left_s <= 0:
        raise TimeoutError
    judging = look.parts.pool.submit(reranker.rerank, look.question.text, texts)
    try:
        return judging.result(left_s)
    except TimeoutError:
        judging.cancel()
        raise


def _above_the_lowest(judged: Scores) -> Scores:
    """Standard deviations above the lowest, so that nothing that was judged falls behind what was not."""
    deviation = float(judged.std())
    return (judged - judged.min()) / deviation if deviation > 0 else np.zeros_like(judged)


def _varied(look: _Look) -> Scored:
    """Maximal marginal relevance over the best, with their scores spread over 0..1; the others follow as they were.

    The scores stay what they are: only the order says what is too much like a better one.
    """
    if not look.places:
        return look.scored
    scores = look.scored.scores[look.places]
    span = float(scores.max() - scores.min())
    relevance = (scores - scores.min()) / span if span > 0 else np.ones_like(scores)
    order = mmr_order(relevance, _vectors(look), 1.0 - look.question.diversity, len(look.places))
    best = [look.places[place] for place in order]
    rest = [int(place) for place in look.scored.order if int(place) not in set(best)]
    return replace(look.scored, order=np.array([*best, *rest], dtype=np.intp))


def _vectors(look: _Look) -> NDArray[np.float32]:
    """The stored vectors of the best, those of several spaces side by side, `(n, dims of all)`.

    So each space is compared with itself alone; an item without vectors has a zero row, which is like nothing.
    """
    spaces = [np.zeros((len(look.items), 1), dtype=np.float32)]
    with look.parts.store.read() as work:
        for embedder in look.parts.known_embedders:
            rows = np.zeros((len(look.items), embedder.space.dims), dtype=np.float32)
            for partition in dict.fromkeys(item.partition for item in look.items):
                mine = {item.id: row for row, item in enumerate(look.items) if item.partition == partition}
                found = work.vectors.get(partition, list(mine), MAIN_VIEW, embedder.space.id)
                for item_id, vector in found.items():
                    rows[mine[item_id]] = vector
            spaces.append(rows)
    return np.concatenate(spaces, axis=1)
