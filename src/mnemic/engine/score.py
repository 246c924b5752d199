"""The linear score: features of candidates, their weights, and each feature's contribution.

Features, each normalised over the rows that the question may see:
    keyword     BM25 in standard deviations above the mean, times the share of the question that a row covers: a rare
                word shared by chance stands out, but is a small part of a question of six words. Without the share if
                the terms are character pairs (Chinese and others), most of which no answer repeats
    dense       cosine to the question in standard deviations above the mean, the best over the embedding spaces; 0 for
                a row without a vector
    importance  as stored, around 0.5
    dated       how well the row's time fits the dates in the question, 0 to 1; only if it names some
    linked      of a passage: 1 if one of the first passages names its document (see `engine.links`)
    related     how firmly the graph links a row to the question (see `engine.links`); only if the graph was searched
    flagged     1 for a memory whose sources are no longer believed (see `engine.dependants`); only for questions about
                now
    elsewhere   if memory and documents are both searched: how much nearer the best of the other is to the question, as
                cosine below the best one, at most `FARTHEST_ELSEWHERE`; 0 for the nearer one
    rerank      of reranked rows: standard deviations above the reranker's lowest score
    beside_facts   1 for a message in a search that found facts too (see `TYPICAL_TERMS`)

Features of messages, since the meaning of a short one depends on its neighbours. Passages have them too, with their
neighbouring passages, and the document as the session:
    keyword_before, keyword_after, dense_after   those of the previous and the next message
    session_keyword, session_dense   the best of its session, in standard deviations above those of other sessions
    answer          keyword_before if the previous message asks a question
    brief           exp(-length / 12 terms): thanks, greetings and agreement are short and say nothing
    asks            the same for a question, which answers none; a long one tells something before it asks
    author_named    1 if the question names the author
    assistant       1 for a message of an assistant or a tool
    assistant_asked   the same, only if the question asks about the assistant's words

Those of the first line and `answer` are weighted by exp(-length / 80 terms): a long message needs no neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mnemic.model.candidates import Candidates, Floats
from mnemic.model.recall import Contribution
from mnemic.model.settings import Weights
from mnemic.ranking.bm25 import Bm25, CollectionStatistics
from mnemic.ranking.fusion import Population, fitting, linear, zscores
from mnemic.text.asking import Asking

NEUTRAL_IMPORTANCE = 0.5  # middle of 0 to 1: an unrated memory is neither raised nor lowered
SPEAKS_FOR_ITSELF_TERMS = 80.0  # a message of 80 terms takes 37 % (1/e) of its neighbours' weight, a short one all
SAYS_LITTLE_TERMS = 12.0  # "Thanks, that sounds great!" has five, a message that tells something twenty
FULL_SHARE = 3.0
"""A row with a third of the highest possible BM25 of the question's terms counts in full. One occurrence of every term
in a row of average length reaches 0.45.
"""

NOTHING_MORE = Asking()

ELSEWHERE = "elsewhere"
FARTHEST_ELSEWHERE = 0.25
"""A cosine difference that leaves no doubt which of two collections a question is about."""

FLAGGED_SIMILARITY = -0.1  # points of a flag if the cosine alone is the score
RERANK = "rerank"
BESIDE_FACTS = "beside_facts"
TYPICAL_TERMS = 20.0
"""Only messages are marked down for their length. Beside facts, all messages get back the points that one of this many
terms loses: else "I sold the boat" ranks behind a fact about bees. In 36 stores of LongMemEval's talks and their facts,
20 finds as much evidence in the first five as without (0.924, 0.917); 5 to 12 push facts behind messages.
"""

SAME_QUESTION = 0.85
"""Messages that ask something with at least this cosine similarity to the question ask it again. They are no evidence,
and others are not measured against them: after six times "Where do I live?", "User lives in Lisbon" is as relevant as
before, not half as much.
"""

NEIGHBOURS = 1  # messages before and after a candidate that its score needs
_Number = TypeVar("_Number", np.float32, np.int64)


@dataclass(frozen=True, slots=True)
class Backdrop:
    """The background of one search's candidates: `items` that the question may see, each candidate's `likeness (n,)` to
    it, and the `nearest` one's (NaN without candidates). Likeness is the cosine in the first space with vectors, whose
    number is `space`. Without one (None), it is the share of the question's terms, by their rarity. `start`: place of
    the first candidate.
    """

    start: int
    items: int
    likeness: Floats
    nearest: float
    space: int | None

    @classmethod
    def of(cls, candidates: Candidates, repeats: NDArray[np.bool_]) -> Backdrop:
        """The backdrop of all these candidates but the `repeats` of the question."""
        space = next((place for place, near in enumerate(candidates.nearness) if near.vectors), None)
        likeness = _shares(candidates) if space is None else candidates.similarities
        answers = likeness[~repeats]
        nearest = float(np.fmax.reduce(answers)) if answers.shape[0] else np.nan
        return cls(0, candidates.items, likeness, nearest, space)


@dataclass(frozen=True, slots=True)
class Scored:
    """Candidates with scores. `order` lists their places, best first; ties by importance, then newer, then stored
    earlier. `backdrops`: of each search, in order of places; empty if the cosine alone is the score.
    """

    candidates: Candidates
    scores: Floats
    order: NDArray[np.intp]
    features: dict[str, Floats]
    weights: dict[str, float]
    backdrops: tuple[Backdrop, ...] = ()

    def contributions(self, place: int) -> tuple[Contribution, ...]:
        """The non-zero contributions to the score at `place`, which is their sum."""
        values = ((name, values.item(place)) for name, values in self.features.items())
        return tuple(
            Contribution(name, value, self.weights[name], value * self.weights[name]) for name, value in values if value
        )

    def score(self, place: int) -> float:
        """The sum of the contributions."""
        return sum(contribution.points for contribution in self.contributions(place))


def by_relevance(candidates: Candidates, weights: Weights, asking: Asking = NOTHING_MORE) -> Scored:
    """Scores from all features. `asking`: signals of the question besides its words."""
    repeats = _repeats(candidates)
    candidates = _measured_without(candidates, repeats)
    keyword, dense = _keyword(candidates, asking, repeats), _dense(candidates)
    features = {
        "keyword": keyword,
        "dense": dense,
        "importance": candidates.importances - np.float32(NEUTRAL_IMPORTANCE),
        **_message_features(candidates, keyword, dense),
    }
    if asking.is_dated:
        features["dated"] = fitting(candidates.observed, asking.dates, asking.spans)
    if asking.is_of_assistant and "assistant" in features:
        features["assistant_asked"] = features["assistant"]
    used, where = {name: weights.of(name) for name in features}, candidates.surroundings
    if where is not None and "brief" in features and (where.sessions < 0).any():
        features[BESIDE_FACTS] = (where.sessions >= 0).astype(np.float32)
        used[BESIDE_FACTS] = -used["brief"] * exp(-TYPICAL_TERMS / SAYS_LITTLE_TERMS)
    return replace(_scored(candidates, features, used), backdrops=(Backdrop.of(candidates, repeats),))


def _measured_without(candidates: Candidates, again: NDArray[np.bool_]) -> Candidates:
    """The candidates, with statistics that leave out the messages that ask the question again. `keyword_sums` stay:
    they are of the shortlist of a large partition, in which a few messages change little.
    """
    count = int(again.sum())
    if not count or count >= min(candidates.items, candidates.vectors):
        return candidates
    cosines, vectors = candidates.cosines[again].astype(np.float64), candidates.vectors - count
    mean = (candidates.cosine_mean * candidates.vectors - cosines.sum()) / vectors
    squares = (candidates.cosine_deviation**2 + candidates.cosine_mean**2) * candidates.vectors - (cosines**2).sum()
    return replace(
        candidates,
        items=candidates.items - count,
        total_length=candidates.total_length - float(candidates.lengths[again].sum()),
        document_frequencies=candidates.document_frequencies - (candidates.counts[again] > 0).sum(axis=0),
        vectors=vectors,
        cosine_mean=float(mean),
        cosine_deviation=float(max(squares / vectors - mean * mean, 0.0) ** 0.5),
    )


def _repeats(candidates: Candidates) -> NDArray[np.bool_]:
    """Which messages ask the question again, `(n,)`, by the first embedding space."""
    where = candidates.surroundings
    if where is None:
        return np.zeros(candidates.cosines.shape, dtype=np.bool_)
    return where.is_question & (candidates.cosines >= SAME_QUESTION)


def side_by_side(first: Scored, second: Scored, weights: Weights) -> Scored:
    """Merge the candidates of two searches into one order. Each keeps the score within its own search. The search whose
    best candidate is farther from the question is lowered as a whole (`elsewhere`), so its order stays.
    """
    first, second = _lower_farther(first, second, weights), _lower_farther(second, first, weights)
    one, other = first.candidates, second.candidates
    rows = one.ids.shape[0]
    candidates = replace(
        one,
        ids=np.concatenate([one.ids, other.ids]),
        counts=np.concatenate([one.counts, other.counts]),
        lengths=np.concatenate([one.lengths, other.lengths]),
        cosines=np.concatenate([one.similarities, other.similarities]),
        importances=np.concatenate([one.importances, other.importances]),
        observed=np.concatenate([one.observed, other.observed]),
        vectors=one.vectors + other.vectors,
        versions=one.versions + other.versions,
        surroundings=None,
        further=(),
        flagged=None,
    )
    features = {
        name: np.concatenate([_feature(first, name), _feature(second, name)])
        for name in {**first.features, **second.features}
    }
    scores = np.concatenate([first.scores, second.scores])
    places = np.concatenate([first.order, second.order + rows])
    ranks = _rank(scores[places], candidates.importances[places], candidates.observed[places])
    behind = (*first.backdrops, *(replace(each, start=each.start + rows) for each in second.backdrops))
    return Scored(candidates, scores, places[ranks], features, {**first.weights, **second.weights}, behind)


def _lower_farther(scored: Scored, beside: Scored, weights: Weights) -> Scored:
    """Add the feature `elsewhere` if the other search has a nearer candidate. Results by similarity stay unchanged."""
    if "similarity" in scored.features or not beside.order.shape[0]:
        return scored
    nearest = zip(_nearest(scored.candidates), _nearest(beside.candidates), strict=False)
    gap = next((theirs - own for own, theirs in nearest if own is not None and theirs is not None), 0.0)
    if gap <= 0:
        return scored
    values = np.full(scored.scores.shape, -min(gap, FARTHEST_ELSEWHERE), dtype=np.float32)
    return with_feature(scored, ELSEWHERE, values, weights.of(ELSEWHERE))


def _nearest(candidates: Candidates) -> list[float | None]:
    """The best cosine per space, None without any. Messages that ask are skipped: they answer nothing."""
    asks = None if candidates.surroundings is None else candidates.surroundings.is_question
    found: list[float | None] = []
    for near in candidates.nearness:
        told = near.cosines if asks is None else np.where(asks, np.float32(np.nan), near.cosines)
        found.append(None if np.isnan(told).all() else float(np.nanmax(told)))
    return found


def _feature(scored: Scored, name: str) -> Floats:
    return scored.features.get(name, np.zeros(scored.scores.shape, dtype=np.float32))


def with_feature(scored: Scored, name: str, values: Floats, weight: float) -> Scored:
    """The candidates with one more feature, scored and sorted again."""
    features, weights = {**scored.features, name: values}, {**scored.weights, name: weight}
    return replace(_scored(scored.candidates, features, weights), backdrops=scored.backdrops)


def with_flags(scored: Scored, weights: Weights) -> Scored:
    """The candidates with flagged ones lowered; unchanged if none is flagged."""
    flagged = scored.candidates.flagged
    if flagged is None:
        return scored
    weight = FLAGGED_SIMILARITY if "similarity" in scored.features else weights.of("flagged")
    found = with_feature(scored, "flagged", flagged.astype(np.float32), weight)
    return replace(found, order=found.order[np.isin(found.order, scored.order)])


def _message_features(candidates: Candidates, keyword: Floats, dense: Floats) -> dict[str, Floats]:
    """Features of messages from their neighbours and sessions; empty without messages."""
    where = candidates.surroundings
    inside = np.zeros(0, dtype=np.intp) if where is None else np.flatnonzero(where.sessions >= 0)
    if where is None or not inside.shape[0]:
        return {}
    lengths, asks = candidates.lengths[inside], where.is_question.astype(np.float32)
    weight, brief = (np.exp(-lengths / np.float32(terms)) for terms in (SPEAKS_FOR_ITSELF_TERMS, SAYS_LITTLE_TERMS))
    before, after = where.before[inside], where.after[inside]
    keyword_before = _at(keyword, before) * weight
    found = {
        "keyword_before": keyword_before,
        "keyword_after": _at(keyword, after) * weight,
        "dense_after": _at(dense, after) * weight,
        "session_keyword": _best_of_session(keyword[inside], where.sessions[inside]),
        "session_dense": _best_of_session(dense[inside], where.sessions[inside]),
        "answer": np.maximum(keyword_before, 0) * _at(asks, before),
        "brief": brief,
        "asks": asks[inside] * brief,
        "author_named": where.is_named[inside].astype(np.float32),
        "assistant": where.is_assistant[inside].astype(np.float32),
    }
    return {name: _spread(values, inside, candidates.lengths.shape[0]) for name, values in found.items()}


def _spread(values: Floats, places: NDArray[np.intp], rows: int) -> Floats:
    """The values at their places among `rows`, 0 elsewhere."""
    if places.shape[0] == rows:
        return values
    spread = np.zeros(rows, dtype=np.float32)
    spread[places] = values
    return spread


def _at(values: NDArray[_Number], places: NDArray[np.int64]) -> NDArray[_Number]:
    """The value at each place; 0 (or -1 for places) if there is none."""
    missing = -1 if values.dtype == np.int64 else 0
    if values.size == 0:
        return values
    return np.where(places >= 0, values[np.maximum(places, 0)], missing).astype(values.dtype)


def _best_of_session(values: Floats, sessions: NDArray[np.int64]) -> Floats:
    """Each message's best value of its session, normalised over all messages."""
    best = np.full(int(sessions.max(initial=0)) + 1, -np.inf, dtype=np.float32)
    np.maximum.at(best, sessions, values)
    return zscores(best[sessions], Population.of(best[sessions]))


def by_similarity(candidates: Candidates, min_similarity: float) -> Scored:
    """Scores from the cosine alone, in the first space with vectors. Rows without a vector there, or below the
    (inclusive) threshold, are left out.
    """
    similarities = candidates.similarities
    scored = _scored(candidates, {"similarity": np.nan_to_num(similarities, nan=-np.inf)}, {"similarity": 1.0})
    threshold = np.float32(min_similarity) - np.float32(1e-6)  # float32 rounding must not push an exact match below
    return replace(scored, order=scored.order[similarities[scored.order] >= threshold])


def _scored(candidates: Candidates, features: dict[str, Floats], weights: dict[str, float]) -> Scored:
    scores, _ = linear(features, weights)
    order = _rank(scores, candidates.importances, candidates.observed)
    return Scored(candidates, scores, order, features, weights)


def _rank(scores: Floats, importances: Floats, observed: NDArray[np.int64]) -> NDArray[np.intp]:
    """Places, best first; ties by importance, then newer, then earlier place."""
    order = np.argsort(-scores, kind="stable")
    if (scores[order[1:]] == scores[order[:-1]]).any():  # rare, and three times the work
        order = np.lexsort((-observed, -importances, -scores))
    return order


def _keyword(candidates: Candidates, asking: Asking, repeats: NDArray[np.bool_]) -> Floats:
    statistics = CollectionStatistics.of(candidates.items, candidates.total_length, candidates.document_frequencies)
    bm25 = Bm25()
    scores = bm25.scores(candidates.counts, candidates.lengths, statistics)
    if candidates.items == 0:
        return scores
    answers = scores[~repeats]
    sums = candidates.keyword_sums or (
        float(answers.sum(dtype=np.float64)),
        float(np.square(answers, dtype=np.float64).sum()),
    )
    mean, square = (each / candidates.items for each in sums)
    standard = zscores(scores, Population(candidates.items, mean, max(square - mean * mean, 0.0) ** 0.5))
    if asking.is_unspaced:
        return standard
    most = max(float(bm25.idf(statistics).sum()) * (bm25.k1 + 1.0), 1e-9)
    return standard * np.minimum(scores / np.float32(most) * np.float32(FULL_SHARE), np.float32(1.0))


def _shares(candidates: Candidates) -> Floats:
    """The share of the question's terms that each candidate has, `(n,)`, 0 to 1. A rare term counts more."""
    statistics = CollectionStatistics.of(candidates.items, candidates.total_length, candidates.document_frequencies)
    rarity = Bm25().idf(statistics)
    return ((candidates.counts > 0) @ rarity / max(float(rarity.sum()), 1e-9)).astype(np.float32)


def _dense(candidates: Candidates) -> Floats:
    """The best standard score over the spaces in which a row has a vector; 0 without any."""
    best = np.full(candidates.ids.shape, -np.inf, dtype=np.float32)
    for near in candidates.nearness:
        standard = zscores(near.cosines, Population(near.vectors, near.mean, near.deviation))
        best = np.fmax(best, np.where(np.isnan(near.cosines), -np.inf, standard))
    return np.where(np.isneginf(best), np.float32(0), best).astype(np.float32)
