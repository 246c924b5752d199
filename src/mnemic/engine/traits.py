"""Finds what different choices of a user share over months, such as "prefers self-hosted tools". A model reads the
choices together; without one they are grouped by the qualities that they name. The choices stay unchanged, and the
preference lists them in its context.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mnemic.engine.assimilate import carried
from mnemic.engine.digest import Derived, add_derived, derived_memory
from mnemic.engine.edit import Editor
from mnemic.engine.engine import Engine
from mnemic.engine.indexing import document_vectors, indexed_text, put_vectors
from mnemic.engine.secrets import gated
from mnemic.errors import MnemicError
from mnemic.model.bookkeeping import chosen_in, note_choice
from mnemic.model.item import Kind, Memory, State
from mnemic.model.records import Action
from mnemic.model.scope import Visibility
from mnemic.text import choices as wording
from mnemic.text.prompts import language_of

LEAST_SHARED = 3
LEAST_SPAN = timedelta(days=60)  # between the first and last choice of different things with a quality
TOLD = 12  # newest choices listed in the context
MIN_CARRIED = 0.4  # minimum share of a model's words that its choices must hold
_log = logging.getLogger("mnemic.consolidate")


@dataclass(frozen=True, slots=True)
class Trait:
    """A preference that several choices share, oldest first."""

    key: str
    text: str
    singles: tuple[Memory, ...]
    version: str = wording.GENERAL_VERSION
    known: Memory | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the choices."""
        return tuple(memory.id for memory in self.singles)


def find_traits(engine: Engine, choices: Sequence[Memory], known: Sequence[tuple[str, Memory]]) -> list[Trait]:
    """The preferences that these memories share: new ones, and active `known` ones (by key) with more choices.
    Raises the errors of an unavailable model.
    """
    choices = sorted(choices, key=lambda each: (each.observed_at, each.id))
    by_key = dict(known)
    if engine.llm is not None:
        try:
            return [due for trait in _ask_model(engine, choices) if (due := _due(trait, by_key.get(trait.key)))]
        except MnemicError as error:
            if error.is_retryable:
                raise
            _log.warning("the model could not compare choices (%s); comparing their words", type(error).__name__)
            engine.observer.count("mnemic.consolidate.errors", kind=type(error).__name__)
    return [due for trait in _by_quality(choices) if (due := _due(trait, by_key.get(trait.key)))]


def _due(trait: Trait, known: Memory | None) -> Trait | None:
    """The trait if it is new or larger than the known preference."""
    if known is None:
        return trait
    is_larger = not {each.id for each in trait.singles} <= set(chosen_in(known.bookkeeping))
    return replace(trait, known=known) if known.state is State.ACTIVE and is_larger else None


def trait_memory(engine: Engine, trait: Trait, now: datetime) -> Memory:
    """A trait's preference; quarantined if its words would not pass the gate."""
    singles = trait.singles
    made = Derived(
        text=trait.text,
        kind=Kind.PREFERENCE,
        importance=max(*(each.importance for each in singles), engine.settings.life.kept_importance),
        provenance=tuple(dict.fromkeys(entry for each in singles for entry in each.provenance)),
        bookkeeping=note_choice(trait.key, trait.ids, trait.version, ""),
    )
    told = "\n".join(f"{each.observed_at:%Y-%m-%d}: {each.text}" for each in singles[-TOLD:])
    memory = replace(derived_memory(made, singles, now), context=told, categories=("preference",))
    return gated(engine, memory)[0]


def add_trait(engine: Engine, trait: Trait, *, actor: str) -> Memory | None:
    """Store or enlarge a trait's preference; None if a choice changed meanwhile or another memory says it."""
    memory = trait_memory(engine, trait, engine.clock.now())
    if memory.state is not State.ACTIVE:
        return None
    vectors = document_vectors(engine, [indexed_text(memory)])
    with engine.store.write() as work:
        work.dependants.of(memory.partition, ())  # takes the lock, so that nothing is erased after the look
        visible = Visibility((memory.partition,), memory.private_agent)
        present = {each.id: each.updated_at for each in work.memories.get(visible, [m.id for m in trait.singles])}
        if any(present.get(each.id) != each.updated_at for each in trait.singles):
            return None
        reason = f"{len(trait.singles)} choices share it since {trait.singles[0].observed_at:%Y-%m-%d}"
        if trait.known is not None:
            editor = Editor(engine, work, visible, actor)
            old = editor.get(trait.known.id)
            joined = replace(memory, id=old.id, created_at=old.created_at, metadata=old.metadata)
            joined = replace(joined, last_accessed_at=old.last_accessed_at, access_count=old.access_count)
            stored = editor.put(old, joined, Action.MERGED, reason)
            put_vectors(engine, work, [(stored.partition, stored.id)], vectors, stored.updated_at)
            return stored
        is_new = add_derived(engine, work, memory, vectors, actor=actor, reason=reason)
    engine.observer.count("mnemic.consolidate.preferences", int(is_new))
    return memory if is_new else None


def _by_quality(choices: Sequence[Memory]) -> list[Trait]:
    groups: dict[tuple[str | None, str], list[tuple[wording.Quality, Memory]]] = {}
    for memory in choices:
        for quality in wording.qualities_of(memory.text):
            groups.setdefault((memory.private_agent, quality.key), []).append((quality, memory))
    return [
        Trait(pairs[0][0].key, _sentence(pairs), tuple(memory for _, memory in pairs))
        for pairs in groups.values()
        if _is_shared([memory for _, memory in pairs])
    ]


def _sentence(pairs: Sequence[tuple[wording.Quality, Memory]]) -> str:
    names = [quality.things for quality, _ in pairs]
    quality = replace(pairs[0][0], things=max(set(names), key=names.count))
    first, last = pairs[0][1].observed_at.date(), pairs[-1][1].observed_at.date()
    return wording.shared_preference(quality, len(pairs), first, last)


def _ask_model(engine: Engine, choices: Sequence[Memory]) -> list[Trait]:
    """Traits that a model finds in the newest choices, each checked against the lines that it names."""
    llm, read = engine.llm, [each for each in choices if each.private_agent is None][-wording.MOST_READ :]
    if llm is None or not _is_shared(read):
        return []
    lines = [(each.observed_at.date(), each.text) for each in read]
    language = language_of([text for _, text in lines])
    found: list[Trait] = []
    for text, places in wording.read_traits(llm.complete(wording.traits_prompt(lines, language)), len(lines)):
        singles = tuple(read[place] for place in places)
        if _is_shared(singles) and carried(engine, text, [each.text for each in singles]) >= MIN_CARRIED:
            words = " ".join(sorted(set(engine.analyser.query_terms(text))))
            found.append(Trait(f"{wording.QUALITY_KEY}{words}", text, singles, f"{llm.name} {wording.GENERAL_VERSION}"))
    return found


def _is_shared(singles: Sequence[Memory]) -> bool:
    """True for enough choices, on different days over a long time, that do not all name the same thing."""
    days = {memory.observed_at.date() for memory in singles}
    if len(days) < LEAST_SHARED or max(days) - min(days) < LEAST_SPAN:
        return False
    names = {name for memory in singles for name in wording.named_things(memory.text)}
    return len(names) >= LEAST_SHARED or not any(wording.named_things(memory.text) for memory in singles)
