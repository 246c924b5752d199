"""One side of an answer, messages and memories or passages, with scores; and a second hop over titles: a document whose
title a first hit names. "Who directed the film with …?" shares no word with the director's document, but the film's
passage names it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.engine import Parts
from mnemic.engine.graph_recall import Reach
from mnemic.engine.indexing import search
from mnemic.engine.score import Scored, with_feature
from mnemic.model.candidates import Candidates, IndexQuery, Surroundings
from mnemic.model.document import Document, DocumentQuery
from mnemic.model.scope import Visibility
from mnemic.text.titles import names_in, title_key

Score = Callable[[Candidates], Scored]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Every candidate in order, and what the graph reached; None where it was not asked, or for what `missing` says."""

    scored: Scored
    reached: Reach | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """What a query found, and its scores."""

    query: IndexQuery
    is_passages: bool
    found: Candidates
    score: Score
    scored: Scored

    @classmethod
    def searched(cls, parts: Parts, query: IndexQuery, score: Score, *, is_passages: bool = False) -> Side:
        """The answer of the index, scored."""
        found = search(parts, query, passages=is_passages)
        return cls(query, is_passages, found, score, score(found))

    def with_ids(self, parts: Parts, ids: Collection[str]) -> Side:
        """The same with these rows too, as far as they are of this side and the query admits them."""
        wanted = frozenset(ids) if self.query.allowed is None else self.query.allowed.intersection(ids)
        wanted -= frozenset(map(str, self.found.ids))
        if not wanted:
            return self
        asked = replace(self.query, allowed=wanted, messages_until=None, neighbours=0, dense_limit=len(wanted))
        beside = search(parts, asked, passages=self.is_passages)
        if not beside.ids.shape[0]:
            return self
        found = joined(self.found, beside)
        return replace(self, found=found, scored=self.score(found))


def joined(found: Candidates, beside: Candidates) -> Candidates:
    """The candidates with those of a search of the same rows for other ids, under the statistics of the first."""
    terms = found.counts.shape[1]
    none = Surroundings.nowhere(found.ids.shape[0])
    return replace(
        found,
        ids=np.concatenate([found.ids, beside.ids]),
        counts=np.concatenate([found.counts, beside.counts[:, :terms]]),
        lengths=np.concatenate([found.lengths, beside.lengths]),
        cosines=np.concatenate([found.cosines, beside.cosines]),
        importances=np.concatenate([found.importances, beside.importances]),
        observed=np.concatenate([found.observed, beside.observed]),
        surroundings=Surroundings.joined(
            [found.surroundings or none, beside.surroundings or Surroundings.nowhere(beside.ids.shape[0])]
        ),
        flagged=_join_flags(found, beside),
        further=tuple(
            replace(one, cosines=np.concatenate([one.cosines, other.cosines]))
            for one, other in zip(found.further, beside.further, strict=True)
        ),
    )


def _join_flags(found: Candidates, beside: Candidates) -> NDArray[np.bool_] | None:
    if found.flagged is None and beside.flagged is None:
        return None
    flags = [np.zeros(each.ids.shape, np.bool_) if each.flagged is None else each.flagged for each in (found, beside)]
    return np.concatenate(flags)


FEATURE = "linked"
FIRST_HITS = 2
MOST_LINKED = 8
MOST_PASSAGES = 32
"""Of a long document its first passages stand for it."""

SAME_TITLE = 3
"""A title that more documents have ("Introduction") tells none of them."""

COMMON_SHARE = 0.05
COMMON_ROWS = 3
"""A title whose rarest word stands in more passages than so many, and than such a share of all, is a common word."""

_MOST_FOUND = 100
_BELOW = 0.99
"""So much of the way up to the passage that names it: what is named never overtakes what names it."""


@dataclass(frozen=True, slots=True)
class _Link:
    """A document, the ids of its first passages, the best score of a passage that names it, and its title's terms."""

    document: Document
    passages: tuple[str, ...]
    room_up_to: float
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Beside:
    """What a search beside the first one found, and in how many passages each of its terms stands."""

    candidates: Candidates
    frequencies: Mapping[str, int]


def with_links(
    parts: Parts, visible: Visibility, query: IndexQuery, scored: Scored, score: Callable[[Candidates], Scored]
) -> Scored:
    """Passages with the feature `linked`: 1 for the best passage of each document whose title a first hit names, less
    if lifted above that hit. New passages come in. `score` scores candidates as `scored` was.
    """
    weight = parts.settings.weights.of(FEATURE)
    links = _links(parts, visible, scored) if weight > 0 and scored.order.shape[0] else []
    if not links:
        return scored
    places = _places(scored, links)
    missing = {i for link in links if places.keys().isdisjoint(link.passages) for i in link.passages}
    missing = missing if query.allowed is None else missing & query.allowed
    beside = _find_linked(parts, query, links, frozenset(missing))
    links = [link for link in links if _is_telling(link, beside)]
    if beside.candidates.ids.shape[0]:
        scored = score(joined(scored.candidates, beside.candidates))
        places = _places(scored, links)
    values = np.zeros(scored.scores.shape, dtype=np.float32)
    for link in links:
        found = [places[i] for i in link.passages if i in places]
        if found:
            best = max(found, key=lambda place: scored.scores[place])
            room = (link.room_up_to - float(scored.scores[best])) * _BELOW / weight
            values[best] = max(values[best], min(max(room, 0.0), 1.0))
    return with_feature(scored, FEATURE, values, weight) if values.any() else scored


def _links(parts: Parts, visible: Visibility, scored: Scored) -> list[_Link]:
    """The documents that the first hits name, those of longer titles first; none of what several are called."""
    first = scored.order[:FIRST_HITS]
    ids = [str(i) for i in scored.candidates.ids[first]]
    scores = dict(zip(ids, scored.scores[first].tolist(), strict=True))
    with parts.store.read() as work:
        naming = {chunk.id: (chunk, names_in(chunk.text)) for chunk in work.documents.chunks(visible, ids)}
        names = frozenset[str]().union(*(found for _, found in naming.values()))
        if not names:
            return []
        named: dict[str, list[Document]] = {}
        for document in work.documents.list(visible, DocumentQuery(titles=names, limit=_MOST_FOUND)):
            named.setdefault(title_key(document.title), []).append(document)
        links: list[_Link] = []
        for key in sorted(named, key=lambda key: (-len(key), key)):
            for document in named[key] if len(named[key]) <= SAME_TITLE else ():
                by = [
                    scores[i]
                    for i, (chunk, found) in naming.items()
                    if key in found and chunk.document_id != document.id and title_key(chunk.title) != key
                ]
                if by and len(links) < MOST_LINKED:
                    chunks = work.documents.passages(visible, document.id, 0, MOST_PASSAGES)
                    terms = tuple(dict.fromkeys(parts.analyser.query_terms(document.title)))
                    links.append(_Link(document, tuple(chunk.id for chunk in chunks), max(by), terms))
    return links


def _find_linked(parts: Parts, query: IndexQuery, links: Sequence[_Link], wanted: frozenset[str]) -> _Beside:
    """The passages wanted as candidates, and how common the words of the titles are. The latter alone costs little."""
    own = query.terms if wanted else ()
    terms = tuple(dict.fromkeys((*own, *(term for link in links for term in link.terms))))
    asked = replace(query, terms=terms, allowed=wanted, neighbours=0)
    if not wanted:
        asked = replace(asked, vector=None, further=(), dense_limit=0)
    found = search(parts, asked, passages=True)
    return _Beside(found, dict(zip(terms, found.document_frequencies.tolist(), strict=True)))


def _places(scored: Scored, links: Sequence[_Link]) -> dict[str, int]:
    """Where the passages of the links stand among the candidates."""
    wanted = {i for link in links for i in link.passages}
    return {i: place for place, i in enumerate(scored.candidates.ids.tolist()) if i in wanted}


def _is_telling(link: _Link, beside: _Beside) -> bool:
    """True when a word of the title stands in few passages of other documents."""
    elsewhere = [beside.frequencies[term] - link.document.chunks for term in link.terms]
    return bool(elsewhere) and min(elsewhere) <= max(COMMON_ROWS, COMMON_SHARE * beside.candidates.items)
