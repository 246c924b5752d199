"""Reads items into the graph, embeds entities, and joins entities into the nodes that a scope sees.

Entities are one node if they share key and type, if one is a mere `thing` and the key has one other type, if a relation
names an alias, or if a person merged them. The store merges nothing, so a scope that may not see one entity sees the
other alone. Corrections are kept by name in the history and applied here, so they outlive every reading. Rules read all
items; a model reads only memories, which say most in the fewest words. A page is one transaction. No reader
reads an item twice.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from mnemic.engine.engine import Engine
from mnemic.errors import BackendError, ConfigError, MnemicError
from mnemic.model import graph
from mnemic.model.records import HistoryEntry
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.ports.models import Embedder, LayeredEmbedder
from mnemic.ports.store import UnitOfWork
from mnemic.ports.tables import EntityVector
from mnemic.text.facts.worth import SHIPPED_MODEL
from mnemic.text.graph.find import EXTRACTOR, PROMPT_VERSION, Found, find, graph_prompt, read_graph
from mnemic.text.graph.names import name_key
from mnemic.text.wordings import edition

ALIAS_ROUNDS = 3  # steps along aliases of aliases
MOST_ALIASES = 20  # aliases followed per entity: bounds the walk


USUAL = 3  # a type told this many times as often as another of the same name is the right one of both


def read_corrections(work: UnitOfWork, visible: Visibility) -> list[graph.Correction]:
    """The visible corrections that were not undone, oldest first."""
    entries = work.history.of(visible, graph.GRAPH_ITEM)
    undone = {str(entry.after.get("undone")) for entry in entries}
    found = [_read_correction(entry) for entry in entries if entry.id not in undone]
    return [each for each in found if each.keys]


def _read_correction(entry: HistoryEntry) -> graph.Correction:
    """The correction of an entry, as far as it is usable, since it may be imported. Without keys if scrubbed."""
    known = {each.value: each for each in graph.EntityType}
    types, keys, target = (_texts(entry.after.get(name)) for name in ("types", "keys", "target"))
    name, type_, relation = (str(entry.after.get(name, "")) for name in ("name", "type", "relation"))
    return graph.Correction(
        id=entry.id,
        keys=keys,
        types=frozenset(known[each] for each in types if each in known),
        name=name[: graph.MAX_NAME_CHARS],
        type=known.get(type_),
        relation=relation,
        target=target,
        is_removed=entry.after.get("is_removed") is True,
    )


def _texts(value: object) -> frozenset[str]:
    return frozenset(map(str, cast("list[object]", value) if isinstance(value, list) else ()))


class Nodes:
    """The nodes loaded in one unit of work, corrected. Aliases must hold at `as_of`."""

    def __init__(self, work: UnitOfWork, visible: Visibility, as_of: datetime | None) -> None:
        self._work, self._visible, self._as_of = work, visible, as_of
        self._joined: dict[str, list[graph.Correction]] = {}
        self._removed: dict[str, list[graph.Correction]] = {}
        self._cut: dict[str, list[graph.Correction]] = {}
        self._age = dict[str, int]()
        for each in read_corrections(work, visible):
            self._age[each.id] = -len(self._age)
            group = self._cut if each.relation else self._removed if each.is_removed else self._joined
            for key in each.keys:
                group.setdefault(key, []).append(each)
        self._rows: dict[str, list[graph.Entity]] = {}
        self._roots: dict[str, str] = {}
        self._members: dict[str, list[str]] = {}
        self._by_key: dict[str, list[str]] = {}
        self._other_names: list[graph.Relation] = []

    def of_keys(self, keys: Collection[str]) -> list[str]:
        """Roots of the nodes with these keys, most mentioned first."""
        self._load(keys)
        found = dict.fromkeys(self._roots[each] for key in sorted(keys) for each in self._by_key.get(key, ()))
        return sorted(found, key=lambda root: -self.node(root).mentions)

    def known(self, keys: Collection[str]) -> set[str]:
        """The keys that name an entity."""
        self._load(keys)
        return {key for key in keys if self._by_key.get(key)}

    def of_ids(self, ids: Collection[str]) -> dict[str, str]:
        """The root of each visible entity's node."""
        missing = {*ids} - self._rows.keys()
        if missing:
            found = self._work.graph.entities(self._visible, graph.EntityQuery(ids=missing))
            self._load({each.key for each in found})
        return {each: self._roots[each] for each in ids if each in self._roots}

    def members(self, root: str) -> Sequence[str]:
        """Ids of a node's entities."""
        return self._members[self._roots[root]]

    def keys(self, root: str) -> set[str]:
        """The keys of a node's entities, and those that corrections give it."""
        rows = self._rows_of(root)
        return {row.key for row in rows}.union(*(each.keys for each in self._corrections(rows)))

    def first_key(self, root: str) -> str:
        """The key under which a node is listed: that of its name, or its first one if no item has that name."""
        keys, own = {row.key for row in self._rows_of(root)}, name_key(self.node(root).name)
        return own if own in keys else min(keys)

    def types(self, root: str) -> set[graph.EntityType]:
        """The types of a node's entities as stored."""
        return {row.type for row in self._rows_of(root)}

    def corrected_keys(self, part: str) -> list[str]:
        """Keys of corrected names that contain `part`."""
        return sorted(key for key in self._joined if part in key)

    def was_removed(self, key: str) -> bool:
        """True if a person removed the entities with this key."""
        return any(not each.types for each in self._removed.get(key, ()))

    def is_cut(self, source: str, target: str, type_: str) -> bool:
        """True if a person removed this relation between two nodes."""
        found = [each for key in self.keys(source) for each in self._cut.get(key, ())] if self._cut else []
        return any(each.relation == type_ and not each.target.isdisjoint(self.keys(target)) for each in found)

    @property
    def has_types(self) -> bool:
        """True if a correction changes a type, so that the store cannot select by type."""
        return any(each.type for found in self._joined.values() for each in found)

    def node(self, root: str) -> graph.Node:
        """A node from all its entities, with the most mentioned name, or as corrected."""
        rows = self._rows_of(root)
        corrections = self._corrections(rows)
        votes = Counter[graph.EntityType]()
        for row in rows:
            votes[row.type] += row.mentions
        rows.sort(
            key=lambda row: (row.type is graph.EntityType.THING, -votes[row.type], -row.mentions, row.key, row.id)
        )
        names = [each.name for each in corrections if each.name]
        names += [name for row in rows for name in (row.name, *row.other_names)]
        return graph.Node(
            id=root,
            name=names[0],
            type=next((each.type for each in corrections if each.type), rows[0].type),
            other_names=tuple(dict.fromkeys(name for name in names if name != names[0]))[: graph.MAX_OTHER_NAMES],
            description=next((row.description for row in rows if row.description), ""),
            mentions=sum(row.mentions for row in rows),
        )

    def _rows_of(self, root: str) -> list[graph.Entity]:
        return [row for each in self.members(root) for row in self._rows[each]]

    def _corrections(self, rows: Sequence[graph.Entity]) -> list[graph.Correction]:
        """The corrections of these entities, newest first."""
        found = {each.id: each for row in rows for each in self._joined.get(row.key, ()) if each.covers(row)}
        return [found[own] for own in sorted(found, key=self._age.__getitem__)]

    def _widen(self, keys: Collection[str]) -> set[str]:
        """These keys, and those that corrections join with them."""
        found, fresh = set[str](), {*keys}
        while fresh:
            found |= fresh
            fresh = {other for key in fresh for each in self._joined.get(key, ()) for other in each.keys} - found
        return found

    def _load(self, keys: Collection[str]) -> None:
        """Load the entities with these keys and their aliases."""
        loaded = set[str]()
        for _ in range(ALIAS_ROUNDS):
            fresh = self._widen(keys) - self._by_key.keys()
            if not fresh:
                break
            rows = self._work.graph.entities(self._visible, graph.EntityQuery(keys=fresh))
            rows = [row for row in rows if not any(each.covers(row) for each in self._removed.get(row.key, ()))]
            self._by_key |= {key: [] for key in fresh}
            loaded |= fresh
            for row in rows:
                self._add(row)
            for key in sorted(fresh):
                self._fold(key)
            keys = self._follow({row.id for row in rows})
        for each in self._other_names:
            if each.source_id in self._roots and each.target_id in self._roots:
                self._join(each.source_id, each.target_id)
        for each in {each.id: each for key in loaded for each in self._joined.get(key, ())}.values():
            self._unite(each)

    def _unite(self, correction: graph.Correction) -> None:
        """Join the entities of a correction, so that each of its keys finds them."""
        places = [self._by_key.get(key, []) for key in sorted(correction.keys)]
        ids = dict.fromkeys(each for place in places for each in place if correction.covers(self._rows[each][0]))
        for each in ids:
            self._join(next(iter(ids)), each)
        self._by_key |= {key: [*dict.fromkeys((*self._by_key.get(key, ()), *ids))] for key in correction.keys}

    def _add(self, row: graph.Entity) -> None:
        if row.id not in self._rows:
            self._roots[row.id], self._members[row.id] = row.id, [row.id]
            self._by_key[row.key].append(row.id)
        self._rows.setdefault(row.id, []).append(row)

    def _fold(self, key: str) -> None:
        """Join entities of one key and type, and rarely told types with the usual one. Mere things belong to the usual
        type, unless another is told nearly as often: then two things may share a name.
        """
        ids, votes = self._by_key[key], Counter[graph.EntityType]()
        types = {each: self._rows[each][0].type for each in ids}
        for each in ids:
            votes[types[each]] += sum(row.mentions for row in self._rows[each])
        things = votes.pop(graph.EntityType.THING, 0)
        usual = votes.most_common(1)[0][0] if votes else graph.EntityType.THING
        own = {
            each
            for each, count in votes.items()
            if each is not usual and count * USUAL > votes[usual] and (count > 1 or votes[usual] == 1)
        }
        own |= {graph.EntityType.THING} if things and own else set()
        groups: dict[graph.EntityType, str] = {}
        for each in ids:
            group = types[each] if types[each] in own else usual
            self._join(groups.setdefault(group, each), each)

    def _follow(self, ids: Collection[str]) -> set[str]:
        """Collect these entities' aliases. Returns the keys of aliases that are not loaded yet."""
        if not ids:
            return set()
        query = graph.RelationQuery(types=(graph.ALSO_KNOWN_AS,), as_of=self._as_of, limit=MOST_ALIASES)
        found = self._work.graph.relations(self._visible, ids, query)
        self._other_names += found
        ends = {end for each in found for end in (each.source_id, each.target_id)} - self._rows.keys()
        return (
            {row.key for row in self._work.graph.entities(self._visible, graph.EntityQuery(ids=ends))}
            if ends
            else set()
        )

    def _join(self, one: str, other: str) -> None:
        kept, gone = sorted((self._roots[one], self._roots[other]))
        if kept != gone:
            for each in self._members[gone]:
                self._roots[each] = kept
            self._members[kept] += self._members.pop(gone)


VECTOR_PAGE = 1024  # names embedded between two commits: bounds memory
A_JOB = 4096  # names embedded per job and space, well within its lease
_log = logging.getLogger("mnemic.graph")


def fill_entities(engine: Engine, partition: Partition, limit: int | None = None) -> int:
    """Embed up to `limit` entities per space. Returns the number of vectors stored. Pages are embedded outside
    transactions. Raises `BackendError` or `ConfigError`; earlier pages stay.
    """
    return sum(_fill(engine, embedder, partition, limit) for embedder in engine.embedders)


def try_to_fill(engine: Engine, partition: Partition, limit: int | None = None) -> None:
    """Like `fill_entities`. If an embedder fails, the next run adds the vectors."""
    try:
        fill_entities(engine, partition, limit)
    except (BackendError, ConfigError) as error:
        _log.error("failed to embed entities (%s); vectors will be added later", type(error).__name__)
        engine.observer.count("mnemic.embedding.failure", operation="graph")


def _fill(engine: Engine, embedder: Embedder, partition: Partition, limit: int | None) -> int:
    space, after, stored, asked = embedder.space.id, "", 0, 0
    while limit is None or asked < limit:
        size = VECTOR_PAGE if limit is None else min(VECTOR_PAGE, limit - asked)
        with engine.store.read() as work:
            page = work.entity_vectors.missing(partition, space, after, size)
        if not page:
            break
        after, asked = page[-1][0], asked + len(page)
        rows = _rows(embedder, [(own, said) for own, said in page if engine.reads(embedder, said)])
        if rows:
            with engine.store.write() as work:
                stored += work.entity_vectors.put(partition, rows)
    return stored


def _rows(embedder: Embedder, texts: Sequence[tuple[str, str]]) -> list[EntityVector]:
    """Vectors of names, except those without content for the embedder."""
    rows: list[EntityVector] = []
    size = embedder.capabilities.batch_size
    for start in range(0, len(texts), size):
        batch = texts[start : start + size]
        vectors = embedder.embed_documents([said for _, said in batch])
        for (own, said), vector in zip(batch, vectors, strict=True):
            if vector.any():
                rows.append(EntityVector(own, embedder.space.id, said, vector))
    return rows


PAGE = 100  # items per transaction with rules
MODEL_PAGE = 5  # items per transaction with a model, which takes seconds for each
PAGES_A_JOB = 30  # 3,000 items with rules, 10 ms each with types by the embedder: well within a job's lease
PARSER_PAGES_A_JOB = 3  # 300 items with a parser, which takes about a tenth of a second for each
MODEL_PAGES_A_JOB = 4  # one job reads twenty memories with a model: well within its lease
SHOWN = 200  # items listed in the report, which counts all
TYPES = " types-2"  # ends the name of a reader whose names get types by the shipped embedder
_Read = tuple[graph.Unread, Found, str, str]  # an item, what it states, its reader, and why rules read it
SPEAKER = "User"  # the speaker's name if it is unknown


def extract_graph(
    engine: Engine, scope: Scope, levels: Sequence[Level], *, limit: int | None = None, is_dry_run: bool = False
) -> graph.GraphReport:
    """Read and embed up to `limit` unread items of the levels (empty: all of the scope). Other agents' private items
    are left to the worker. Raises the model's errors; earlier items stay.
    """
    report = _Report(is_dry_run=is_dry_run)
    for partition in scope.visibility.at(*levels).partitions:
        reading = _Reading(engine, partition, scope.visibility, is_dry_run=is_dry_run)
        while not reading.is_finished and (limit is None or report.items < limit):
            report.add(reading.page(None if limit is None else limit - report.items))
        if not is_dry_run:
            try_to_fill(engine, partition)
        report.is_finished = report.is_finished and reading.is_finished
    return report.told()


def graph_partition(engine: Engine, partition: Partition, after: str = "") -> str | None:
    """Read some pages of unread items after the id `after`: the work of one job. Rules stand in for a failing model
    until the next run. Returns the id to continue from, None at the end.
    """
    reading = _Reading(engine, partition, None, is_dry_run=False, may_fall_back=True, after=after)
    count = 0
    pages = PAGES_A_JOB if engine.parser is None else PARSER_PAGES_A_JOB
    for _ in range(pages if engine.llm is None else MODEL_PAGES_A_JOB):
        if reading.is_finished:
            break
        count += len(reading.page(None))
    if count:
        _log.info("%s: %d items read", partition.level.value, count)
    try_to_fill(engine, partition, A_JOB)
    return None if reading.is_finished else reading.after


@dataclass(slots=True)
class _Report:
    is_dry_run: bool
    items: int = 0
    mentions: int = 0
    relations: int = 0
    is_finished: bool = True
    entries: list[graph.GraphEntry] = field(default_factory=list[graph.GraphEntry])

    def add(self, entries: Sequence[graph.GraphEntry]) -> None:
        self.items += len(entries)
        self.mentions += sum(len(entry.names) for entry in entries)
        self.relations += sum(len(entry.relations) for entry in entries)
        self.entries += [entry for entry in entries if entry.names][: SHOWN - len(self.entries)]

    def told(self) -> graph.GraphReport:
        counts = (self.items, self.mentions, self.relations)
        return graph.GraphReport(*counts, tuple(self.entries), is_finished=self.is_finished, is_dry_run=self.is_dry_run)


class _Reading:
    """One run over one partition."""

    def __init__(
        self,
        engine: Engine,
        partition: Partition,
        visible: Visibility | None,
        *,
        is_dry_run: bool,
        may_fall_back: bool = False,
        after: str = "",
    ) -> None:
        self._engine, self._partition, self._visible = engine, partition, visible
        self._is_dry_run, self._may_fall_back = is_dry_run, may_fall_back
        self._readers = readers(engine)
        self.after = after
        self._speaker = SPEAKER if partition.level in (Level.USER, Level.SESSION) else ""
        self.is_finished = False

    def page(self, limit: int | None) -> list[graph.GraphEntry]:
        """Read the next items. If the model fails, the items read before are kept."""
        size = PAGE if self._engine.llm is None else MODEL_PAGE
        size = size if limit is None else min(size, limit)
        with self._engine.store.read() as work:
            items = work.graph.unread(self._partition, self._readers, self.after, size)
        self.is_finished = len(items) < size
        visible = self._visible
        mine = [each for each in items if visible is None or visible.admits(self._partition, each.private_agent)]
        done: list[_Read] = []
        try:
            for item in mine:
                found, reader, fallback = self._read(item)
                done.append((item, found, reader, fallback))
        finally:
            done = self._assign_types(done)
            self._keep(done, size)
        self.after = items[-1].id if items else self.after
        return [_entry(item, found, fallback) for item, found, _, fallback in done]

    def _assign_types(self, done: Sequence[_Read]) -> list[_Read]:
        """What was read, with types predicted by the shipped embedder if it is in use. If it fails, the items keep the
        types of the rules until they are read again.
        """
        embedder = typist(self._engine)
        if embedder is None or not done:
            return [*done]
        from mnemic.text.graph.types import assign_types  # loaded when the graph is built

        found, known = [each[1] for each in done], dict[str, Counter[graph.EntityType]]()
        keys = {named.key for each in found for named in each.names}
        with self._engine.store.read() as work:
            rows = work.graph.entities(Visibility((self._partition,), None), graph.EntityQuery(keys=keys))
        for row in rows:
            known.setdefault(row.key, Counter())[row.type] += row.mentions
        try:
            found = assign_types([item.text for item, *_ in done], found, embedder, known)
        except (BackendError, ConfigError) as error:
            _log.error("failed to embed names (%s); their types will be predicted later", type(error).__name__)
            self._engine.observer.count("mnemic.embedding.failure", operation="graph")
            return [(item, names, reader.removesuffix(TYPES), why) for item, names, reader, why in done]
        return [(item, typed, reader, why) for (item, _, reader, why), typed in zip(done, found, strict=True)]

    def _keep(self, done: Sequence[_Read], size: int) -> None:
        """Store what was read, except for items that changed meanwhile. These are read again."""
        if self._is_dry_run or not done:
            return
        now = self._engine.clock.now()
        with self._engine.store.write() as work:
            present = work.graph.unread(self._partition, self._readers, self.after, size)
            sheets = [sheet for sheet, item in _sheets(done, now) if item in present]
            work.graph.put(self._partition, sheets)
        self._engine.observer.count("mnemic.graph.items", len(sheets))

    def _read(self, item: graph.Unread) -> tuple[Found, str, str]:
        """What an item states, its reader, and the failure that made rules read it."""
        speaker = self._speaker if item.kind is graph.SourceKind.MEMORY else self._find_speaker(item)
        llm, fallback = self._engine.llm, ""
        if llm is not None and item.kind is graph.SourceKind.MEMORY:
            try:
                prompt = graph_prompt(item.text)
                return read_graph(llm.complete(prompt), item.text, speaker), self._readers[item.kind], ""
            except MnemicError as error:
                fallback = type(error).__name__
                self._engine.observer.count("mnemic.graph.errors", kind=fallback)
                if not self._may_fall_back:
                    raise
        return find(item.text, speaker, self._engine.parser), self._readers[graph.SourceKind.MESSAGE], fallback

    def _find_speaker(self, item: graph.Unread) -> str:
        """The person meant by "I": a user's message has one, an assistant's or a passage has none."""
        if item.kind is not graph.SourceKind.MESSAGE or item.role != "user":
            return ""
        return item.author or self._speaker


def typist(engine: Engine) -> LayeredEmbedder | None:
    """The shipped embedder if it is in use: it predicts the types of names."""
    shipped = (each for each in engine.embedders if each.space.model == SHIPPED_MODEL)
    return next((each for each in shipped if isinstance(each, LayeredEmbedder)), None)


def readers(engine: Engine) -> Mapping[graph.SourceKind, str]:
    """The reader of each kind of item."""
    rules = EXTRACTOR if engine.parser is None else f"{EXTRACTOR} {engine.parser.name}"
    rules += TYPES if typist(engine) is not None else ""
    model = rules if engine.llm is None else f"{engine.llm.name} {PROMPT_VERSION}{edition()}"
    return {graph.SourceKind.MEMORY: model, graph.SourceKind.MESSAGE: rules, graph.SourceKind.DOCUMENT: rules}


def _entry(item: graph.Unread, found: Found, fallback: str) -> graph.GraphEntry:
    names = tuple(named.name for named in found.names)
    relations = tuple((names[each.source], each.type, names[each.target]) for each in found.relations)
    return graph.GraphEntry(item.id, item.kind, names, relations, fallback)


def _sheets(done: Sequence[_Read], now: datetime) -> Iterator[tuple[graph.Sheet, graph.Unread]]:
    for item, found, reader, _ in done:
        yield (
            graph.Sheet(
                item_id=item.id,
                extractor=reader,
                at=now,
                names=found.names,
                relations=found.relations,
                private_agent=item.private_agent,
                valid_from=item.valid_from,
                valid_to=item.valid_to,
                is_dated=item.kind is graph.SourceKind.MEMORY,
            ),
            item,
        )
