"""Writes facts: each is compared with its place, and added, merged, or set against what it contradicts, with the reason
in the history. Words, vectors and a model find similar memories without holding a lock; the writing transaction looks
again. A fact's support is the share of its words and numbers in the spans it names.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from mnemic.engine.edit import UNSUPPORTED, Editor, gives_way, restate
from mnemic.engine.engine import Engine, new_id
from mnemic.engine.fields import due_notes, filled_of, held_key, slot_notes
from mnemic.engine.importance import raise_importance
from mnemic.engine.indexing import ItemVectors, Layers, document_vectors, indexed_text, put_vectors, search
from mnemic.engine.remember import Neighbours, Settler, is_mergeable
from mnemic.engine.secrets import gated
from mnemic.errors import BackendError, ConfigError, InvalidInputError
from mnemic.model.candidates import Candidates, IndexQuery
from mnemic.model.filter import Condition
from mnemic.model.item import Decision, Fact, Judgement, Kind, Memory, Provenance, State, Verdict
from mnemic.model.recall import MemoryQuery
from mnemic.model.records import Action
from mnemic.model.scope import Partition, Visibility, to_microseconds
from mnemic.ports.store import MAIN_VIEW, UnitOfWork
from mnemic.ranking.bm25 import products
from mnemic.text.facts.find import VERSION
from mnemic.text.facts.when import cut_label
from mnemic.text.normalise import Writing, key_words, writing_of
from mnemic.text.sameness import MAX_PAIRS, covers_names, introduces, judge_prompt, read_judgements, same_statement
from mnemic.text.slots import ORDER, REMEMBER, Filled, words_of

NEAREST = 8
"""Memories that are looked at by vector, and as many by words."""

OPEN_COSINE = 0.75
"""Two statements less near than this are not the same and do not contradict each other."""

RESTATED_COSINE = 0.75
"""A statement this near to another adds nothing if the other contains all its words in the same order. For plans and
interests, only the order of names counts. `benchmarks/results/restated.md` shows how often statements merge.
"""

_WANTING = (
    "User plans thinks considers wants looks tries hopes likes loves interested excited getting going starting taking "
    "still also been idea planning thinking considering wanting looking trying hoping"
)
"""Words that a plan may be told with and without."""

_PASSING = frozenset((Kind.GOAL, Kind.CONTEXT, Kind.PREFERENCE))
_KINDS = frozenset(kind.value for kind in Kind)
_log = logging.getLogger("mnemic.assimilate")


@dataclass(frozen=True, slots=True)
class Near:
    """A memory near a fact; `cosine` None where one of the two has no vector."""

    memory: Memory
    cosine: float | None


def near(engine: Engine, visible: Visibility, fact: Fact, vectors: ItemVectors | None) -> list[Near]:
    """The nearest memories by vector and by words, in no order."""
    vector = vectors[0] if vectors else None
    query = IndexQuery(
        partitions=visible.partitions,
        agent=visible.agent,
        now=to_microseconds(engine.clock.now()),
        terms=tuple(engine.analyser.query_terms(fact.text)),
        vector=vector if vector is not None and vector.any() else None,
        further=tuple(vectors[1:]) if vectors else (),
        dense_limit=NEAREST,
        kinds=_KINDS,
    )
    found = search(engine, query)
    cosines = {str(found.ids[row]): float(found.cosines[row]) for row in _best(found)}
    with engine.store.read() as work:
        memories = work.memories.get(visible, list(cosines))
    return [Near(m, None if np.isnan(cosines[m.id]) else cosines[m.id]) for m in memories]


def near_text(engine: Engine, visible: Visibility, text: str, *, by_words: bool = False) -> list[Memory]:
    """The memories nearest to a text, in no order. `by_words`: those that share words with it, without a vector."""
    whole = Fact(text=text, kind=Kind.FACT, observed_at=engine.clock.now())
    vectors = None if by_words else fact_vectors(engine, [whole])[0]
    return [each.memory for each in near(engine, visible, whole, vectors)]


def judged(engine: Engine, facts: Sequence[Fact], nears: Sequence[Sequence[Near]]) -> list[Mapping[str, Judgement]]:
    """Judgements by the ids of near memories: of the wish that a fact changes, and the model's of near pairs of one
    kind that differ in words. A missing or failing model (logged and counted) judges none.
    """
    judgements = [_judge_wish(fact, found) for fact, found in zip(facts, nears, strict=True)]
    pairs = [
        (place, each)
        for place, (fact, found) in enumerate(zip(facts, nears, strict=True))
        for each in found
        if _is_open(fact, each)
    ]
    if engine.llm is None:
        return [*judgements]
    for start in range(0, len(pairs), MAX_PAIRS):
        asked = pairs[start : start + MAX_PAIRS]
        texts = [(each.memory.text, facts[place].text) for place, each in asked]
        try:
            answers = read_judgements(engine.llm.complete(judge_prompt(texts)), len(texts))
        except (BackendError, ConfigError, InvalidInputError) as error:
            _log.warning("the model call for %d pairs failed (%s); using rules", len(texts), type(error).__name__)
            engine.observer.count("mnemic.assimilate.failure", operation="judge")
            break
        for (place, each), answer in zip(asked, answers, strict=True):
            judgements[place][each.memory.id] = answer
    return [*judgements]


def _judge_wish(fact: Fact, found: Sequence[Near]) -> dict[str, Judgement]:
    """The older wish that a wish to the assistant changes, if any."""
    if not fact.slot.startswith(REMEMBER):
        return {}
    from mnemic.text.facts.corrections import revises

    slots = [(each.memory, filled_of(each.memory)) for each in found if each.memory.state is State.ACTIVE]
    old = [(words_of(filled), memory.id) for memory, filled in slots if filled and filled.slot.startswith(REMEMBER)]
    new = words_of(Filled(fact.slot, fact.value))
    shared, changed = max(((revises(new, words), memory_id) for words, memory_id in old), default=(0, ""))
    return {changed: Judgement.CHANGED} if shared else {}


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


MIN_SUPPORT = 0.5
"""A fact that its sources carry less is kept, but not recalled."""

_NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DIGITS: Mapping[str, str] = {word: str(number) for number, word in enumerate(_NUMBER_WORDS, start=2)}
_LABELS = (
    "name occupation job work works employer lives home relationship status birthday speaks language age years old "
    "heißt arbeitet wohnt lebt kommt spricht jahre alt"
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_USER = "user others themselves"


def sources_of(work: UnitOfWork, visible: Visibility, facts: Iterable[Fact]) -> dict[str, str]:
    """The stored texts of all sources of some facts, by id: messages and memories that are not erased."""
    ids = list(dict.fromkeys(entry.source_id for fact in facts for entry in fact.provenance))
    found = {message.id: message.text for message in work.messages.get(visible, ids)} if ids else {}
    others = [source_id for source_id in ids if source_id not in found]
    return found | ({memory.id: memory.text for memory in work.memories.get(visible, others)} if others else {})


def supported(engine: Engine, fact: Fact, sources: Mapping[str, str]) -> tuple[tuple[Provenance, ...], float]:
    """The provenance of a fact with the support of each span, and overall, both 0..1. Words are compared by stem, "two"
    is "2", and dates in the fact itself are not needed. Across writings the extractor's own number counts. A missing
    source supports nothing; a fact without sources has 1.
    """
    if not fact.provenance:
        return (), 1.0
    wanted = _wanted_terms(engine, fact)
    found: set[str] = set()
    entries: list[Provenance] = []
    own = 0.0
    for entry in fact.provenance:
        span = sources.get(entry.source_id, "")[entry.start : entry.end]
        if not span.strip():
            entries.append(replace(entry, support=0.0))
            continue
        if {writing_of(span), writing_of(fact.text)} == {Writing.LATIN, Writing.OTHER}:
            own = max(own, entry.support)
            entries.append(entry)
            continue
        here = wanted & _terms(engine, span)
        found |= here
        entries.append(replace(entry, support=_share(here, wanted)))
    return tuple(entries), max(own, _share(found, wanted))


def carried(engine: Engine, text: str, sources: Iterable[str]) -> float:
    """How much of a text some other texts carry, 0..1: the share of its words and numbers that stand in them."""
    wanted = {_DIGITS.get(word, word) for word in engine.analyser.query_terms(text)} - _terms(engine, _USER)
    return _share(wanted & {term for source in sources for term in _terms(engine, source)}, wanted)


def _share(found: set[str], wanted: set[str]) -> float:
    return round(len(found) / len(wanted), 2) if wanted else 1.0


def _wanted_terms(engine: Engine, fact: Fact) -> set[str]:
    """The words and numbers that somebody must have said: no function words, not the user, no name of the slot."""
    free = _terms(engine, _USER) | _terms(engine, " ".join(_dates(fact)))
    if fact.slot.startswith(ORDER):
        said = words_of(Filled(fact.slot, fact.value))  # the words around it are those of the fact's form
        return _terms(engine, said) - free
    is_by_rules = {entry.version for entry in fact.provenance} == {VERSION}
    if fact.slot or is_by_rules:  # merged facts have no slot, and the words of their forms stay
        free |= _terms(engine, f"{fact.slot} {_LABELS}".replace("_", " "))
    words = {_DIGITS.get(word, word) for word in engine.analyser.query_terms(cut_label(fact.text))}
    return words - free or words - _terms(engine, _USER)


def _terms(engine: Engine, text: str) -> set[str]:
    return {_DIGITS.get(term, term) for term in engine.analyser.terms(text)}


def _dates(fact: Fact) -> Sequence[str]:
    """What a fact may say of its own times without a source: "yesterday" has become a date."""
    times = [moment for moment in (fact.observed_at, fact.valid_from, fact.valid_to) if moment is not None]
    return [part for moment in times for part in _format_dates(moment, fact.text)]


def _format_dates(moment: datetime, text: str) -> list[str]:
    day, month, weekday = f"{moment:%Y-%m-%d}", _MONTHS[moment.month - 1], _DAYS[moment.weekday()]
    parts = [day, f"{moment:%Y-%m}", str(moment.year), month, weekday]
    is_dated = month in text or day in text
    return [*parts, str(moment.day), f"{moment.day:02}", f"{moment.month:02}"] if is_dated else parts


MAX_RECENT = 64
"""Memories written since a fact was prepared that are compared with it, the newest first."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where facts belong: the partition, the agent that notes them, and the one they are private to, if any. `heard`:
    the partition of their sources, where that is another one, as of what an agent learns from its users.
    """

    partition: Partition
    agent: str | None = None
    private_agent: str | None = None
    heard: Partition | None = None

    @property
    def visibility(self) -> Visibility:
        """What may be seen from here."""
        return Visibility((self.partition,), self.agent)

    @property
    def sources(self) -> Visibility:
        """Where the sources of the facts are looked for."""
        return Visibility((self.partition,) if self.heard is None else (self.heard, self.partition), self.agent)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A fact with what takes time: its vectors, None where they must follow by a job, the ids of the memories near it,
    and what a model said of them. `at`: when it was prepared.
    """

    fact: Fact
    at: datetime
    vectors: ItemVectors | None
    near: tuple[str, ...] = ()
    judgements: Mapping[str, Judgement] = field(default_factory=dict[str, Judgement])


def fact_vectors(engine: Engine, facts: Sequence[Fact], layers: Layers | None = None) -> Sequence[ItemVectors | None]:
    """The vectors of the memories that facts become; None for each where a job must make them."""
    made = document_vectors(engine, [indexed_text(fact) for fact in facts], layers)
    return [None] * len(facts) if made is None else made or [()] * len(facts)


def prepare(
    engine: Engine, place: Place, facts: Sequence[Fact], vectors: Sequence[ItemVectors | None] | None = None
) -> list[Prepared]:
    """What takes time, before the unit of work that writes the facts: call it without holding a lock. A model that
    fails leaves its pairs to the rules; a failing embedder leaves vectors to a job. `vectors`: the facts' vectors, if
    `fact_vectors` has made them.
    """
    at = engine.clock.now()
    vectors = fact_vectors(engine, facts) if vectors is None else vectors
    facts = raise_importance(engine, facts, vectors)
    nears = [near(engine, place.visibility, fact, vector) for fact, vector in zip(facts, vectors, strict=True)]
    judgements = judged(engine, facts, nears)
    return [
        Prepared(fact, at, vector, tuple(each.memory.id for each in found), judgement)
        for fact, vector, found, judgement in zip(facts, vectors, nears, judgements, strict=True)
    ]


def assimilate(
    engine: Engine, work: UnitOfWork, place: Place, facts: Sequence[Prepared], *, actor: str
) -> list[Decision]:
    """Write facts within the caller's unit of work; one decision each, in order. An unsupported fact is quarantined,
    one without remaining sources dropped. Raises `ConflictError` on a concurrent change; redo the whole unit then.
    """
    writer = _Writer(engine, work, place, Editor(engine, work, place.visibility, actor))
    sources = sources_of(work, place.sources, [each.fact for each in facts])
    decisions = [writer.write(each, sources) for each in facts]
    for verdict in Verdict:
        number = sum(decision.action is verdict for decision in decisions)
        if number:
            engine.observer.count(f"mnemic.assimilate.{verdict.value}", number)
    return decisions


class _Writer:
    """Writes facts one after the other; each is compared with the ones before too."""

    def __init__(self, engine: Engine, work: UnitOfWork, place: Place, editor: Editor) -> None:
        self._engine, self._work, self._place, self._editor = engine, work, place, editor
        self._settler = Settler(work, editor)

    def write(self, prepared: Prepared, sources: Mapping[str, str]) -> Decision:
        fact = prepared.fact
        if fact.provenance and not any(entry.source_id in sources for entry in fact.provenance):
            return Decision(Verdict.DROP, None, None, "its sources are gone")
        provenance, support = supported(self._engine, fact, sources)
        memory = memory_of(self._place, replace(fact, provenance=provenance), self._editor.now)
        memory, suspicion = gated(self._engine, memory)
        reason = suspicion
        if support < MIN_SUPPORT:
            reason = f"{UNSUPPORTED}: {support:.2f} of its words are in the passages it names"
            memory = replace(memory, state=State.QUARANTINED)
        row = (memory, self._engine.terms(indexed_text(memory)))
        near_ones = [] if reason else self._list_near(prepared, memory)
        alike = self._find_alike(prepared, memory, near_ones)
        if (held := next((m for m in alike if self._adds_nothing(memory, m)), None)) is not None:
            return Decision(Verdict.MERGE, held.id, None, restate(self._editor, held, memory))
        if not self._work.memories.add([row])[0]:
            if suspicion:
                return Decision(Verdict.DROP, None, None, suspicion)
            if not gives_way(self._work, self._editor, memory):
                return self._repeat(memory)
            self._work.memories.add([row])
        vectors = None if prepared.vectors is None else [prepared.vectors]
        put_vectors(self._engine, self._work, [(memory.partition, memory.id)], vectors, memory.updated_at)
        self._editor.note(memory, Action.CREATED, "", {}, {})
        if not reason:
            decision = self._settler.settle(memory, Neighbours(near_ones, prepared.judgements))
            for known in alike if decision.action is Verdict.ADD else ():
                if self._adds_nothing(known, memory):
                    self._settler.merge(self._editor.get(memory.id), known)
            return decision
        self._editor.quarantine(memory, reason)
        return Decision(Verdict.QUARANTINE, memory.id, None, reason)

    def _list_near(self, prepared: Prepared, memory: Memory) -> list[Memory]:
        """What was near when the fact was prepared, as it is now, and what was written since, which no index shows."""
        since = Condition(("created_at",), "gte", to_microseconds(prepared.at))
        query = MemoryQuery(now=self._editor.now, filter=since, limit=MAX_RECENT)
        known = self._work.memories.get(self._place.visibility, prepared.near) if prepared.near else []
        recent = self._work.memories.list(self._place.visibility, query)
        return [m for m in {m.id: m for m in (*known, *recent)}.values() if m.id != memory.id]

    def _find_alike(self, prepared: Prepared, memory: Memory, known: Sequence[Memory]) -> list[Memory]:
        """What is near by its vector and may say the same. What fills a slot is settled by its value."""
        own = prepared.vectors[0] if prepared.vectors else None
        active = [m for m in known if m.state is State.ACTIVE]
        named = [m for m in active if introduces(memory.text, m.text) or introduces(m.text, memory.text)]
        named = [m for m in named if is_mergeable(m, replace(memory, kind=m.kind))]
        alike = [m for m in active if _may_restate(m, memory)]
        if own is None or filled_of(memory) is not None or not alike:
            return named
        space = self._engine.embedders[0].space.id
        found = self._work.vectors.get(memory.partition, [m.id for m in alike], MAIN_VIEW, space)
        near = (m for m in alike if m.id in found and float(np.dot(found[m.id], own)) >= RESTATED_COSINE)
        return list({m.id: m for m in (*named, *near)}.values())

    def _adds_nothing(self, memory: Memory, known: Memory) -> bool:
        said, heard = cut_label(memory.text), cut_label(known.text)
        rest = iter(key_words(heard))
        is_covered = all(word in rest for word in key_words(said)) or (
            memory.kind in _PASSING and _terms(self._engine, said) <= _terms(self._engine, f"{heard} {_WANTING}")
        )
        return (is_covered and covers_names(heard, said)) or introduces(said, heard)

    def _repeat(self, memory: Memory) -> Decision:
        """The known one in the same words takes in where else it was said."""
        held = self._work.memories.holder(memory.partition, memory.private_agent, memory.dedup_key)
        if held is None:
            return Decision(Verdict.DROP, None, None, "another memory holds its key")
        reason = restate(self._editor, held, memory)
        return Decision(Verdict.MERGE, held.id, None, reason)


def _may_restate(known: Memory, memory: Memory) -> bool:
    """True for two plans or interests, and for what else is of one kind and said on the same day."""
    if {known.kind, memory.kind} <= _PASSING:
        return is_mergeable(known, replace(memory, kind=known.kind))
    return known.observed_at.date() == memory.observed_at.date() and is_mergeable(known, memory)


def memory_of(place: Place, fact: Fact, now: datetime) -> Memory:
    """The memory that a fact becomes when it is added."""
    return Memory(
        id=new_id(now),
        partition=place.partition,
        text=fact.text,
        kind=fact.kind,
        dedup_key=held_key(fact.text, fact.kind, fact.valid_from),
        created_at=now,
        updated_at=now,
        observed_at=fact.observed_at,
        importance=fact.importance,
        confidence=fact.confidence,
        categories=fact.categories,
        context=fact.context,
        snippet=fact.snippet,
        agent=place.agent,
        private_agent=place.private_agent,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        trust=fact.trust,
        provenance=fact.provenance,
        bookkeeping={
            **fact.bookkeeping,
            **slot_notes(fact.text, fact.slot, fact.value),
            **due_notes(fact.text, fact.kind, fact.observed_at, fact.valid_from),
        },
    )
