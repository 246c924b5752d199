"""A second hop from the first passages found: a document whose title one of them names is nearer to the answer.

Where a question describes one thing and asks about another ("Who directed the film with …?"), what it asks about shares
hardly a word with it, but the passage about the first thing names the second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mnemic.engine.indexing.freshness import search
from mnemic.engine.parts import Parts
from mnemic.engine.recall.score import Scored, with_feature
from mnemic.engine.recall.sides import joined
from mnemic.model.candidates import Candidates, IndexQuery
from mnemic.model.document import Document, DocumentQuery
from mnemic.model.scope import Visibility
from mnemic.text.titles import names_in, title_key

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
    parts: Parts,
    visible: Visibility,
    query: IndexQuery,
    scored: Scored,
    score: Callable[[Candidates], Scored],
) -> Scored:
    """The passages with the feature `linked`: 1 for the best passage of each document whose title stands in one of the
    first hits, less where 1 would lift it above the hit that names it, 0 for all others. Passages that did not come in
    by themselves do now. `score` scores candidates as `scored` was; without such a title nothing is changed.
    """
    weight = parts.settings.weights.of(FEATURE)
    links = _links(parts, visible, scored) if weight > 0 and scored.order.shape[0] else []
    if not links:
        return scored
    places = _places(scored, links)
    missing = {i for link in links if places.keys().isdisjoint(link.passages) for i in link.passages}
    missing = missing if query.allowed is None else missing & query.allowed
    beside = _beside(parts, query, links, frozenset(missing))
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


def _beside(parts: Parts, query: IndexQuery, links: Sequence[_Link], wanted: frozenset[str]) -> _Beside:
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
