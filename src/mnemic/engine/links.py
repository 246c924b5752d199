"""Extends an answer along the graph and along titles.

A walk starts at entities that the question names, at similar ones by vector, and at those of the first hits. It scores
the items reached. A second hop adds documents whose title a first hit names. "Who directed the film with …?" shares no
word with the director's document, but the film's passage names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.engine import Engine
from mnemic.engine.graph import MOST_NODES, Side, Walk, Walking, cited, shortest
from mnemic.engine.indexing import ItemVectors, search
from mnemic.engine.score import ELSEWHERE, Scored, with_feature
from mnemic.model.candidates import Candidates, IndexQuery, Surroundings
from mnemic.model.document import Document, DocumentQuery
from mnemic.model.graph import Edge, GraphPath
from mnemic.model.scope import Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.graph.names import possible_names, told_names
from mnemic.text.outline import names_in, title_key

RELATED = "related"  # name of the score's feature
MOST_NEAR = 3  # similar entities: with more the walk strays from the question
LEAST_NEAR = 0.4  # minimum cosine of a name to the question

FIRST_HITS = 5  # hits whose entities start the walk; later hits answer the question less
FROM_HITS = 0.2
"""Strength of a start at the first hit; an entity named by the question has 1. Not above what the first relation from
the least similar name leaves, so paths begin at the question.
"""

FADING = 0.5  # factor on the strength per relation
MOST_BEGUN = 24  # entities where a walk starts: bounds its time
MOST_MEANT = 4  # entities that a question names: paths are searched between their pairs
MOST_PATHS = 5  # shown per question; the shortest say most
COMMON = 20  # items; below it even a small store has no common entities
COMMON_SHARE = 0.05
"""An entity named by more items than `COMMON`, and by more than this share of all, says little. No relation is followed
from it, but paths between two entities may pass through it.
"""

MOST_REACHED = 50  # items taken in, by strength
ITEMS = 3  # latest items counted per relation and per entity


_BELOW = 0.99  # share of the distance to the first hit: a reached item never overtakes it


@dataclass(frozen=True, slots=True)
class Reach:
    """`values`: strength of the reached items, 0..1. `ways` between the question's entities, shortest first, without
    citations; `on_ways`: items that state their steps. `steps`: paths to other items. `relations`: those of the edges.
    """

    values: Mapping[str, float] = field(default_factory=dict[str, float])
    on_ways: frozenset[str] = frozenset()
    ways: tuple[GraphPath, ...] = ()
    steps: Mapping[str, GraphPath] = field(default_factory=dict[str, GraphPath])
    relations: Mapping[tuple[str, str, str], Sequence[str]] = field(
        default_factory=dict[tuple[str, str, str], Sequence[str]]
    )


@dataclass(frozen=True, slots=True)
class GraphQuestion:
    """A question's text and vectors, the time of its relations, and the limits of hops and items."""

    text: str
    vectors: ItemVectors
    as_of: datetime
    hops: int
    items: int

    @property
    def common(self) -> float:
        """Mentions above which an entity is too common."""
        return max(COMMON, COMMON_SHARE * self.items)


def reach(
    engine: Engine,
    visible: Visibility,
    asking: GraphQuestion,
    first: Sequence[str],
    check: Callable[[], None] = lambda: None,
) -> Reach:
    """The items reached within `hops` relations. `first`: ids of the first hits, best first. `check` is called between
    the steps and raises `TimedOutError` if no time is left.
    """
    check()
    with engine.store.read() as work:
        around = Walking(work, visible, Walk(as_of=asking.as_of), check)
        meant = _find_entities(engine, work, around, visible, asking)
        starts = {**_walk_from_hits(work, around, visible, first), **meant}
        if not starts:
            return Reach()
        begun = sorted(starts, key=lambda root: (-starts[root], root))[:MOST_BEGUN]
        ways = _find_paths(around, [*meant][:MOST_MEANT], asking.hops)
        firmness, back = _walk_edges(around, {root: starts[root] for root in begun}, asking)
        said = around.said_by([step[1] for step in back.values() if step is not None], ITEMS)
        on_ways = around.said_by([edge for _, steps in ways for edge in steps], ITEMS)
        values = _values(around, firmness, back, said, asking.common)
        values |= dict.fromkeys(on_ways, 1.0)
        firmest = sorted(values, key=lambda item_id: (-values[item_id], item_id))[:MOST_REACHED]
        return Reach(
            {item_id: values[item_id] for item_id in firmest if values[item_id] > 0},
            frozenset(on_ways),
            tuple(around.way(*way) for way in ways),
            _steps(around, back, said),
            around.relations,
        )


def with_reached(scored: Scored, reached: Reach, weight: float) -> Scored:
    """Candidates with the feature `related`: each item's strength, above an average row. It offsets weak similarity and
    `elsewhere`, but never lifts above the first hit. Items on paths between the question's entities come right behind
    that hit.
    """
    if weight <= 0 or not reached.values or not scored.order.shape[0]:
        return scored
    best = float(scored.scores[scored.order[0]])
    values = np.zeros(scored.scores.shape, dtype=np.float32)
    elsewhere = scored.features.get(ELSEWHERE, values) * scored.weights.get(ELSEWHERE, 0.0)
    for place, item_id in enumerate(scored.candidates.ids.tolist()):
        if item_id in reached.values:
            score, put_back = scored.scores.item(place), elsewhere.item(place)
            room = max(best - score, 0.0) * _BELOW
            lift = reached.values[item_id] * weight - min(score - put_back, 0.0) - put_back
            values[place] = (room if item_id in reached.on_ways else min(lift, room)) / weight
    return with_feature(scored, RELATED, values, weight) if values.any() else scored


def _find_entities(
    engine: Engine, work: UnitOfWork, around: Walking, visible: Visibility, asking: GraphQuestion
) -> dict[str, float]:
    """Strength of the question's entities by name and by vector, strongest first."""
    possible = possible_names(asking.text)
    named = told_names(possible, around.nodes.known(possible))
    meant = {root: 1.0 for key in named for root in around.nodes.of_keys([key])}
    near: dict[str, float] = {}
    for embedder, vector in zip(engine.known_embedders, asking.vectors, strict=False):
        if vector is not None and vector.any():
            for own, cosine in _nearest(work, around, visible, embedder.space.id, vector):
                near[own] = max(near.get(own, 0.0), cosine)
    for own, root in around.nodes.of_ids(near).items():
        meant[root] = max(meant.get(root, 0.0), near[own])
    return dict(sorted(meant.items(), key=lambda found: -found[1]))


def _nearest(
    work: UnitOfWork, around: Walking, visible: Visibility, space: str, vector: NDArray[np.float32]
) -> list[tuple[str, float]]:
    """The entities most similar to the question, searched partition by partition: one may be large."""
    best: dict[str, float] = {}
    for partition in visible.partitions:
        alone = Visibility((partition,), visible.agent)
        for own, cosine in work.entity_vectors.nearest(alone, space, vector, MOST_NEAR, around.check):
            best[own] = max(best.get(own, cosine), cosine)
    nearest = sorted(best.items(), key=lambda found: (-found[1], found[0]))[:MOST_NEAR]
    return [(own, cosine) for own, cosine in nearest if cosine >= LEAST_NEAR]


def _walk_from_hits(work: UnitOfWork, around: Walking, visible: Visibility, first: Sequence[str]) -> dict[str, float]:
    """Entities that the first hits name, weaker with each rank."""
    firm = {item_id: FROM_HITS / (1 + place) for place, item_id in enumerate(first)}
    links = work.graph.named_in(visible, firm) if firm else []
    roots = around.nodes.of_ids({link.entity_id for link in links})
    found: dict[str, float] = {}
    for link in links:
        root = roots.get(link.entity_id)
        if root is not None:
            found[root] = max(found.get(root, 0.0), firm[link.item_id])
    return found


def _find_paths(around: Walking, meant: Sequence[str], hops: int) -> list[tuple[str, list[Edge]]]:
    """Shortest paths between the question's entities, shortest first."""
    found: list[tuple[str, list[Edge]]] = []
    for one, other in combinations(meant, 2):
        way = shortest(around, [one], [other], hops)
        if way is not None and way[1]:
            found.append(way)
    return sorted(found, key=lambda way: len(way[1]))[:MOST_PATHS]


def _walk_edges(
    around: Walking, starts: Mapping[str, float], asking: GraphQuestion
) -> tuple[dict[str, float], dict[str, tuple[str, Edge] | None]]:
    """Strength of each reached node, and the edge of its strongest path."""
    firmness, back = {**starts}, dict[str, tuple[str, Edge] | None](dict.fromkeys(starts))
    frontier: Sequence[str] = [*starts]
    for _ in range(asking.hops):
        reached: dict[str, None] = {}
        frontier = [root for root in frontier if around.nodes.node(root).mentions <= asking.common]
        known = {root: firmness[root] for root in frontier}
        for edge in around.edges(frontier) if frontier else ():
            for end, origin in ((edge.target_id, edge.source_id), (edge.source_id, edge.target_id)):
                firm = FADING * known.get(origin, 0.0)
                if firm > firmness.get(end, 0.0) and len(firmness) < MOST_NODES:
                    firmness[end], back[end], reached[end] = firm, (origin, edge), None
        frontier = [*reached]
    return firmness, back


def _values(
    around: Walking,
    firmness: Mapping[str, float],
    back: Mapping[str, tuple[str, Edge] | None],
    said: Mapping[str, Edge],
    common: float,
) -> dict[str, float]:
    """Strength of each reached item. A mention counts less for entities with many mentions."""
    values: dict[str, float] = {}
    for item_id, edge in said.items():
        values[item_id] = min(min(firmness[edge.source_id], firmness[edge.target_id]) / FADING, 1.0)
    counts = {root: around.nodes.node(root).mentions for root, step in back.items() if step is not None}
    for root, items in around.naming([root for root in counts if counts[root] <= common], ITEMS).items():
        telling = firmness[root] / (1.0 + math.log2(max(counts[root], 1)))
        for item_id in items:
            values[item_id] = max(values.get(item_id, 0.0), telling)
    return values


def _steps(
    around: Walking, back: Mapping[str, tuple[str, Edge] | None], said: Mapping[str, Edge]
) -> dict[str, GraphPath]:
    """The path from the start to each item that states a relation."""
    side, ends = Side({**back}), {step[1]: root for root, step in back.items() if step is not None}
    ways = {edge: around.way(side.origin(ends[edge]), [*reversed(side.steps(ends[edge]))]) for edge in {*said.values()}}
    return {item_id: ways[edge] for item_id, edge in said.items()}


def paths_of(engine: Engine, visible: Visibility, reached: Reach, shown: Collection[str]) -> tuple[GraphPath, ...]:
    """Paths to show with these hits, with evidence: between the question's entities, else to reached hits."""
    ways = reached.ways or tuple(dict.fromkeys(reached.steps[i] for i in shown if i in reached.steps))[:MOST_PATHS]
    if not ways:
        return ()
    with engine.store.read() as work:
        edges = [*dict.fromkeys(edge for way in ways for edge in way.edges)]
        told = dict(zip(edges, cited(work, visible, edges, reached.relations), strict=True))
    return tuple(replace(way, edges=tuple(told[edge] for edge in way.edges)) for way in ways)


Score = Callable[[Candidates], Scored]


@dataclass(frozen=True, slots=True)
class Ranked:
    """All candidates in order, and the graph's result; None if not searched, or for the reason in `missing`."""

    scored: Scored
    reached: Reach | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchSide:
    """A query's candidates and their scores: messages and memories, or passages."""

    query: IndexQuery
    is_passages: bool
    found: Candidates
    score: Score
    scored: Scored

    @classmethod
    def of(cls, query: IndexQuery, found: Candidates, score: Score, *, is_passages: bool = False) -> SearchSide:
        """Score the candidates of a query."""
        return cls(query, is_passages, found, score, score(found))

    def with_ids(self, engine: Engine, ids: Collection[str]) -> SearchSide:
        """The same with these rows added, if they belong to this side and the query admits them."""
        wanted = frozenset(ids) if self.query.allowed is None else self.query.allowed.intersection(ids)
        wanted -= frozenset(map(str, self.found.ids))
        if not wanted:
            return self
        asked = replace(self.query, allowed=wanted, messages_until=None, neighbours=0, dense_limit=len(wanted))
        beside = search(engine, asked, passages=self.is_passages)
        if not beside.ids.shape[0]:
            return self
        found = joined(self.found, beside)
        return replace(self, found=found, scored=self.score(found))


def joined(found: Candidates, beside: Candidates) -> Candidates:
    """Both searches' candidates of the same rows, with the statistics of the first."""
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
FIRST_PASSAGES = 2  # whose named titles are followed; lower ranks name unrelated documents
MOST_LINKED = 8  # documents added per question: bounds the time, and the share of the hits
MOST_PASSAGES = 32  # first passages that represent a long document
SAME_TITLE = 3  # documents that may share a title; a more common one ("Introduction") identifies none
COMMON_ROWS = 3
"""A title is common if its rarest word is in more passages than this and than `COMMON_SHARE` of all."""

_MOST_FOUND = 100  # documents with named titles that are read


@dataclass(frozen=True, slots=True)
class _Link:
    """A document, ids of its first passages, the best score of a passage that names it, and its title's terms."""

    document: Document
    passages: tuple[str, ...]
    room_up_to: float
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _TitleSearch:
    """A second search's candidates, and the document frequency of each term."""

    candidates: Candidates
    frequencies: Mapping[str, int]


def with_links(
    engine: Engine, visible: Visibility, query: IndexQuery, scored: Scored, score: Callable[[Candidates], Scored]
) -> Scored:
    """Passages with the feature `linked`: 1 for the best passage of each document whose title a first hit names, less
    if that would lift it above the hit. New passages may come in. `score` scores candidates as in `scored`.
    """
    weight = engine.settings.weights.of(FEATURE)
    links = _links(engine, visible, scored) if weight > 0 and scored.order.shape[0] else []
    if not links:
        return scored
    places = _places(scored, links)
    missing = {i for link in links if places.keys().isdisjoint(link.passages) for i in link.passages}
    missing = missing if query.allowed is None else missing & query.allowed
    beside = _find_linked(engine, query, links, frozenset(missing))
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


def _links(engine: Engine, visible: Visibility, scored: Scored) -> list[_Link]:
    """The documents named by the first hits, longer titles first. Ambiguous titles are skipped."""
    first = scored.order[:FIRST_PASSAGES]
    ids = [str(i) for i in scored.candidates.ids[first]]
    scores = dict(zip(ids, scored.scores[first].tolist(), strict=True))
    with engine.store.read() as work:
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
                    terms = tuple(dict.fromkeys(engine.analyser.query_terms(document.title)))
                    links.append(_Link(document, tuple(chunk.id for chunk in chunks), max(by), terms))
    return links


def _find_linked(engine: Engine, query: IndexQuery, links: Sequence[_Link], wanted: frozenset[str]) -> _TitleSearch:
    """The wanted passages as candidates, and the frequencies of the titles' words. The latter alone cost little."""
    own = query.terms if wanted else ()
    terms = tuple(dict.fromkeys((*own, *(term for link in links for term in link.terms))))
    asked = replace(query, terms=terms, allowed=wanted, neighbours=0)
    if not wanted:
        asked = replace(asked, vector=None, further=(), dense_limit=0)
    found = search(engine, asked, passages=True)
    return _TitleSearch(found, dict(zip(terms, found.document_frequencies.tolist(), strict=True)))


def _places(scored: Scored, links: Sequence[_Link]) -> dict[str, int]:
    """Positions of the links' passages among the candidates."""
    wanted = {i for link in links for i in link.passages}
    return {i: place for place, i in enumerate(scored.candidates.ids.tolist()) if i in wanted}


def _is_telling(link: _Link, beside: _TitleSearch) -> bool:
    """True if a word of the title is in few passages of other documents."""
    elsewhere = [beside.frequencies[term] - link.document.chunks for term in link.terms]
    return bool(elsewhere) and min(elsewhere) <= max(COMMON_ROWS, COMMON_SHARE * beside.candidates.items)
