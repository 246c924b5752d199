"""Builds derived memories such as summaries and reflections, and their provenance. Stores them, but asks no model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from mnemic.engine.engine import Engine, new_entry, new_id
from mnemic.engine.fields import derived_key, filled_of
from mnemic.engine.importance import estimate_worth
from mnemic.engine.indexing import ItemVectors, document_vectors, indexed_text, put_vectors
from mnemic.model.item import Fact, Kind, Memory, Provenance, Remembered, Trust
from mnemic.model.records import Action
from mnemic.ports.models import Llm
from mnemic.ports.store import UnitOfWork
from mnemic.ranking.extract import Excerpt, Passage, extract
from mnemic.text.facts.worth import SHIPPED_MODEL
from mnemic.text.languages import detect
from mnemic.text.prompts import CUT_MARK, PROMPT_VERSION
from mnemic.text.slots import REMEMBER
from mnemic.text.wordings import edition


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """Content made from items of one partition, before it becomes a memory."""

    text: str
    kind: Kind
    importance: float
    provenance: tuple[Provenance, ...]
    bookkeeping: Mapping[str, object] = field(default_factory=dict[str, object])


def derived_memory(derived: Derived, sources: Sequence[Remembered], now: datetime) -> Memory:
    """A memory in its sources' partition with their lowest trust, common agent and latest time; private if one is.
    Never expires. Only its own kind can duplicate it: a reflection in a summary's words stays a reflection.
    """
    agents = {source.agent for source in sources}
    private = next((source.private_agent for source in sources if source.private_agent is not None), None)
    return Memory(
        id=new_id(now),
        partition=sources[0].partition,
        text=derived.text,
        kind=derived.kind,
        dedup_key=derived_key(derived.kind, derived.text),
        created_at=now,
        updated_at=now,
        last_accessed_at=now if derived.kind is Kind.SUMMARY else None,
        observed_at=max(source.observed_at for source in sources),
        importance=derived.importance,
        agent=agents.pop() if len(agents) == 1 else None,
        private_agent=private,
        trust=Trust.lowest(*(source.trust for source in sources)),
        provenance=derived.provenance,
        bookkeeping=derived.bookkeeping,
    )


def add_derived(
    engine: Engine, work: UnitOfWork, memory: Memory, vectors: Sequence[ItemVectors] | None, *, actor: str, reason: str
) -> bool:
    """Store a memory with its vectors and first history entry. False if one with the same words exists."""
    if not work.memories.add([(memory, engine.terms(indexed_text(memory)))])[0]:
        return False
    put_vectors(engine, work, [(memory.partition, memory.id)], vectors, memory.created_at)
    work.history.add([new_entry(memory.created_at, (memory.partition, memory.id), Action.CREATED, actor, reason)])
    return True


RULES = "extract-1"
RAW = "raw-1"
"""Extractor names in the provenance of texts made without a model: chosen sentences, and raw text."""


@dataclass(frozen=True, slots=True)
class Source:
    """Part of an item: its id, the text from character `start` on, the author, and whether that is the user."""

    item_id: str
    text: str
    author: str = ""
    is_own: bool = False
    start: int = 0


def by_model(engine: Engine, llm: Llm, extractor: str, text: str, sources: Sequence[Source]) -> tuple[Provenance, ...]:
    """A model's provenance: each source as a whole, supported by the share of the text's words in it."""
    words = set(engine.analyser.query_terms(text))
    version = f"{llm.name} {PROMPT_VERSION}{edition()}"

    def support(source: Source) -> float:
        return round(len(words.intersection(engine.analyser.terms(source.text))) / max(len(words), 1), 2)

    return tuple(Provenance(s.item_id, 0, len(s.text), extractor, version, support(s)) for s in sources)


def by_rules(
    engine: Engine, extractor: str, sources: Sequence[Source], limit: int
) -> tuple[str, tuple[Provenance, ...]]:
    """Sentences quoted from the sources with their author, and their provenance. "" if no sentence qualifies."""
    passages = [Passage(source.text, source.is_own) for source in sources]
    chosen = extract(passages, engine.analyser.query_terms, engine.analyser.token_count, limit)
    own = [each for each in chosen if _is_statement(engine, sources[each.place], each)]
    if not own or _best_worth(engine, [sources[each.place].text[each.start : each.end] for each in own]) < LEAST_WORTH:
        chosen = []  # questions, requests, small talk and reported speech hold no facts about the user
    lines: dict[int, list[str]] = {}
    spans: list[Provenance] = []
    for each in chosen:
        source = sources[each.place]
        said = lines.setdefault(each.place, [f"{source.author}:"] if source.author else [])
        said.append(source.text[each.start : each.end] + (CUT_MARK if each.is_cut else ""))
        start = source.start
        spans.append(Provenance(source.item_id, start + each.start, start + each.end, extractor, RULES, 1.0))
    return "\n".join(map(" ".join, lines.values())), tuple(spans)


TOLD_KINDS = (Kind.FACT, Kind.GOAL, Kind.PREFERENCE, Kind.CONTEXT, Kind.EVENT, Kind.GEM, Kind.STATE, Kind.PERSONA)
"""Kinds of memories that state something about the user in the third person."""

LEAST_WORTH = 0.2
"""Minimum probability, by the learned head, that the best statement is worth keeping. Below it no summary is made."""

_LEAST_TERMS = 2  # words with meaning that a statement needs
_SAID_ALREADY = 0.7
"""A fact with this share of its words among the chosen ones adds nothing new."""


def by_facts(engine: Engine, facts: Sequence[Memory], limit: int) -> tuple[str, tuple[Memory, ...]]:
    """The most important facts as sentences within `limit` tokens, in the given order; and the facts chosen. Wishes to
    the assistant say nothing of the user.
    """
    chosen, said, left = set[str](), set[str](), limit
    facts = [each for each in facts if (filled := filled_of(each)) is None or not filled.slot.startswith(REMEMBER)]
    for fact in sorted(facts, key=lambda each: -each.importance):
        terms, length = set(engine.analyser.query_terms(fact.text)), engine.analyser.token_count(fact.text)
        if terms and length <= left and len(said & terms) < _SAID_ALREADY * len(terms):
            chosen.add(fact.id)
            said |= terms
            left -= length
    taken = tuple(fact for fact in facts if fact.id in chosen)
    return " ".join(_as_sentence(fact.text) for fact in taken), taken


def _as_sentence(text: str) -> str:
    line = " ".join(text.split())
    return line if line.endswith((".", "!", "?", "\u2026", "\u3002")) else f"{line}."


def raw(extractor: str, sources: Sequence[Source]) -> tuple[Provenance, ...]:
    """Provenance of raw text."""
    return tuple(Provenance(s.item_id, 0, len(s.text), extractor, RAW, 1.0) for s in sources)


def _best_worth(engine: Engine, texts: Sequence[str]) -> float:
    """Probability that the best statement is worth keeping. 1 without the embedder that the head was trained for."""
    if all(embedder.space.model != SHIPPED_MODEL for embedder in engine.embedders):
        return 1.0
    now = engine.clock.now()
    facts = [Fact(text=detect(text).third_person(text), kind=Kind.FACT, observed_at=now) for text in texts]
    vectors = document_vectors(engine, [fact.text for fact in facts])
    return max(estimate_worth(engine, facts, vectors or [None] * len(facts)).tolist(), default=0.0)


def _is_statement(engine: Engine, source: Source, excerpt: Excerpt) -> bool:
    """True for a sentence in which the user states something."""
    text = source.text[excerpt.start : excerpt.end]
    is_asking = detect(text).gems.asking.search(text.strip()) is not None
    return source.is_own and not is_asking and len(engine.analyser.query_terms(text)) >= _LEAST_TERMS
