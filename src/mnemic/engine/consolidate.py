"""Infers a general preference from choices repeated over a long time. The preference supersedes the single choices,
names them and lists them in its context, so that questions about them still find them. `undo` restores them for good. A
model only words the sentence.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

from mnemic.engine.assimilate import MIN_SUPPORT, carried
from mnemic.engine.digest import Derived, derived_memory
from mnemic.engine.edit import Editor, merged
from mnemic.engine.engine import Engine
from mnemic.engine.fields import held_key
from mnemic.engine.indexing import document_vectors, indexed_text, put_vectors
from mnemic.engine.secrets import gated
from mnemic.engine.sweep import Reach, sweep
from mnemic.engine.traits import Trait, add_trait, find_traits
from mnemic.errors import ConflictError, MnemicError, NotFoundError
from mnemic.model.bookkeeping import choice_in, chosen_in, note_choice
from mnemic.model.item import Kind, Memory, State
from mnemic.model.records import Action
from mnemic.model.scope import Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text import choices as wording
from mnemic.text.prompts import language_of

LEAST_CHOICES = 3  # on different days; two may be chance
LEAST_SPAN = timedelta(days=60)  # between the first and the last of these choices
OLD = timedelta(days=30)  # newer choices are still news and stay as they are
TOLD_CHOICES = 12  # the newest choices, listed in the context
GROUPS_AT_ONCE = 20  # preferences per job; the next job makes the rest
_KINDS = (Kind.GEM, Kind.FACT, Kind.EVENT, Kind.PREFERENCE, Kind.GOAL, Kind.CONTEXT)
_CONFIDENCE = 0.8  # inferred, so not certain
_log = logging.getLogger("mnemic.consolidate")


@dataclass(frozen=True, slots=True)
class Consolidated:
    """A general preference; `memory_id` once written. `merged`: its choices. `is_new`: not only enlarged. `fallback`:
    why rules worded it.
    """

    text: str
    merged: tuple[str, ...]
    is_new: bool
    memory_id: str | None = None
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class ConsolidateReport:
    """The preferences that were, or would be, made or enlarged. `left`: preferences for another run."""

    entries: tuple[Consolidated, ...]
    left: int
    is_dry_run: bool


def consolidate(engine: Engine, scope: Scope, *, actor: str, is_dry_run: bool = False) -> ConsolidateReport:
    """Infer general preferences from the choices of the scope's user (without a user: of its session). Idempotent. A
    dry run does not ask the model; its texts are those of the rules. Raises an unavailable model's errors, but keeps
    earlier preferences.
    """
    run = Consolidating(engine, scope.message_partition, actor, scope.visibility)
    groups = run.groups()
    if is_dry_run:
        told = [Consolidated(group.text(), group.ids, group.known is None) for group in groups]
        told += [Consolidated(trait.text, trait.ids, trait.known is None) for trait in run.traits(asks=False)]
        return ConsolidateReport(tuple(told), 0, is_dry_run=True)
    done = run.write(groups)
    return ConsolidateReport((*done, *run.write_traits()), 0, is_dry_run=False)


@dataclass(frozen=True, slots=True)
class Group:
    """New choices of one thing, oldest first. `known`: the preference that they enlarge."""

    choice: wording.Choice
    singles: tuple[Memory, ...]
    known: Memory | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the choices."""
        return tuple(memory.id for memory in self.singles)

    def text(self) -> str:
        """The preference's sentence by rules."""
        known_ids = chosen_ids(self.known)
        first = self.singles[0].observed_at if self.known is None else _start(self.known)
        last = max(memory.observed_at for memory in (*self.singles, *([self.known] if self.known else [])))
        first = min(first, self.singles[0].observed_at)
        return wording.general_preference(self.choice, len(known_ids) + len(self.singles), first.date(), last.date())

    def context(self) -> str:
        """One line per choice, oldest first."""
        lines = [] if self.known is None else self.known.context.splitlines()
        lines += [f"{day:%Y-%m-%d}: {text}" for day, text in told(self.singles)]
        return "\n".join(sorted(dict.fromkeys(lines))[-TOLD_CHOICES:])


def told(memories: Sequence[Memory]) -> list[tuple[date, str]]:
    """Date and text of each memory."""
    return [(memory.observed_at.date(), memory.text) for memory in memories]


def chosen_ids(preference: Memory | None) -> tuple[str, ...]:
    """Ids of the memories behind a preference; empty for other memories."""
    return () if preference is None else chosen_in(preference.bookkeeping)


class Consolidating:
    """One run over one partition."""

    def __init__(self, engine: Engine, partition: Partition, actor: str, visible: Visibility | None = None) -> None:
        self._engine, self._partition, self._actor = engine, partition, actor
        self._visible = visible
        self._found = _Found()

    def groups(self) -> list[Group]:
        """The groups found now, ordered by first choice."""
        found = _Found()
        reach = Reach(self._partition, self._visible)
        now = self._engine.clock.now()
        for page in sweep(self._engine, reach, lambda _, memories: memories, None):
            found.look(page.found, now - OLD)
        self._found = found
        return found.groups()

    def traits(self, *, asks: bool = True) -> list[Trait]:
        """The preferences shared by choices of different things, from the last `groups`. `asks`: call the model."""
        known = [(key, memory) for (_, key), memory in self._found.known.items()]
        engine = self._engine if asks else replace(self._engine, llm=None)
        return find_traits(engine, self._found.singles, known)

    def write_traits(self) -> list[Consolidated]:
        """Write the preferences that choices of different things share. The choices stay active."""
        done: list[Consolidated] = []
        for trait in self.traits():
            memory = add_trait(self._engine, trait, actor=self._actor)
            if memory is not None:
                done.append(Consolidated(trait.text, trait.ids, trait.known is None, memory.id))
        return done

    def write(self, groups: Sequence[Group]) -> list[Consolidated]:
        """Write each preference in its own transaction. Skips groups whose memories changed meanwhile."""
        return [done for group in groups if (done := self._write(group)) is not None]

    def remade(self, group: Group) -> Memory:
        """The preference of a group now. Quarantined if its text would not pass the gate."""
        return self._memory(group, *self._word_preference(group, may_fall_back=True))

    def _write(self, group: Group) -> Consolidated | None:
        text, fallback = self._word_preference(group)
        new = self._memory(group, text, fallback)
        vectors = document_vectors(self._engine, [indexed_text(new)])
        visible = Visibility((self._partition,), group.singles[0].private_agent)
        if new.state is not State.ACTIVE:
            return None  # the gate holds the sentence back: the choices stay as they are
        try:
            with self._engine.store.write() as work:
                editor = Editor(self._engine, work, visible, self._actor)
                if not self._store_preference(work, editor, group, new):
                    return None
                old = editor.get(new.id if group.known is None else group.known.id)
                joined = replace(new, id=old.id, created_at=old.created_at)
                names = merged(old, group.singles).bookkeeping
                reason = f"{len(group.singles)} choices of one thing since {group.singles[0].observed_at:%Y-%m-%d}"
                joined = replace(joined, metadata=old.metadata, bookkeeping={**names, **new.bookkeeping})
                stored = editor.put(old, joined, Action.MERGED, reason)
                put_vectors(self._engine, work, [(stored.partition, stored.id)], vectors, stored.updated_at)
                for single in group.singles:
                    editor.supersede(single, old.id, Action.MERGED, f"part of the preference {old.id}")
        except (ConflictError, NotFoundError):
            _log.debug("a memory of user %s changed during consolidation", self._partition.owner)
            return None
        self._engine.observer.count("mnemic.consolidate.preferences")
        self._engine.observer.count("mnemic.consolidate.memories", len(group.singles))
        return Consolidated(new.text, group.ids, group.known is None, old.id, fallback)

    def _store_preference(self, work: UnitOfWork, editor: Editor, group: Group, new: Memory) -> bool:
        """Write a new preference. False if another memory says the same, or a choice changed."""
        for each in (*group.singles, *([group.known] if group.known else [])):
            now = editor.get(each.id)
            if (now.state, now.updated_at) != (each.state, each.updated_at):
                return False
        if group.known is None:
            if not work.memories.add([(new, self._engine.terms(indexed_text(new)))])[0]:
                return False
            editor.note(new, Action.CREATED, "a preference that several choices show", {}, {})
        return True

    def _word_preference(self, group: Group, *, may_fall_back: bool = False) -> tuple[str, str]:
        """The model's sentence if the choices support it, otherwise the rules' sentence, with the reason. Raises the
        errors of an unavailable model unless `may_fall_back`.
        """
        llm, by_rules = self._engine.llm, group.text()
        if llm is None:
            return by_rules, ""
        lines = told(group.singles)
        try:
            reply = wording.read_general(
                llm.complete(wording.general_prompt(lines, language_of([text for _, text in lines])))
            )
        except MnemicError as error:
            self._engine.observer.count("mnemic.consolidate.errors", kind=type(error).__name__)
            if error.is_retryable and not may_fall_back:
                raise
            return by_rules, type(error).__name__
        if not reply or carried(self._engine, reply, [text for _, text in lines]) < MIN_SUPPORT:
            return by_rules, "BadReplyError"
        return reply, ""

    def _memory(self, group: Group, text: str, fallback: str) -> Memory:
        known = group.known
        sources = (*([known] if known else []), *group.singles)
        ids = (*chosen_ids(known), *group.ids)
        made = Derived(
            text=text,
            kind=Kind.PREFERENCE,
            importance=max(source.importance for source in sources),
            provenance=tuple(dict.fromkeys(entry for source in sources for entry in source.provenance)),
            bookkeeping=note_choice(group.choice.key, ids, wording.GENERAL_VERSION, fallback),
        )
        first = min(_start(source) for source in sources)
        tags = ("preference", *(tag for source in sources for tag in source.categories))
        memory = replace(
            derived_memory(made, sources, self._engine.clock.now()),
            dedup_key=held_key(text, Kind.PREFERENCE, first),
            valid_from=first,
            confidence=_CONFIDENCE,
            categories=tuple(dict.fromkeys(tags)),
            context=group.context(),
        )
        return gated(self._engine, memory)[0]


@dataclass(slots=True)
class _Found:
    """Contents of a partition: choices by private agent and key, and earlier preferences."""

    choices: dict[tuple[str | None, str], list[tuple[wording.Choice, Memory]]] = field(
        default_factory=dict[tuple[str | None, str], list[tuple[wording.Choice, Memory]]]
    )
    known: dict[tuple[str | None, str], Memory] = field(default_factory=dict[tuple[str | None, str], Memory])
    taken: set[str] = field(default_factory=set[str])
    singles: list[Memory] = field(default_factory=list[Memory])

    def look(self, memories: Sequence[Memory], until: datetime) -> None:
        """Collect the choices of a page: active, lasting, not pinned, observed up to `until`."""
        for memory in memories:
            key = choice_in(memory.bookkeeping)
            if key is not None:
                self.known[memory.private_agent, key] = memory
                self.taken.update(chosen_ids(memory))
            elif not _is_single(memory):
                continue
            elif wording.is_choice(memory.text) or "decision" in memory.categories:
                self.singles.append(memory)
            if key is None and memory.observed_at <= until and (choice := wording.choice_of(memory.text)):
                self.choices.setdefault((memory.private_agent, choice.key), []).append((choice, memory))

    def groups(self) -> list[Group]:
        """The groups that are due. A retired or undone preference is not made again."""
        found: list[Group] = []
        for place, pairs in self.choices.items():
            left = sorted((p for p in pairs if p[1].id not in self.taken), key=lambda p: (p[1].observed_at, p[1].id))
            known = self.known.get(place)
            if not left or (known is not None and known.state is not State.ACTIVE):
                continue
            group = Group(left[-1][0], tuple(memory for _, memory in left), known)
            if known is not None or _is_preference(group.singles):
                found.append(group)
        return sorted(found, key=lambda group: (group.singles[0].observed_at, group.singles[0].id))


def _is_single(memory: Memory) -> bool:
    return (
        memory.state is State.ACTIVE
        and memory.kind in _KINDS
        and memory.expires_at is None
        and memory.valid_to is None
        and not memory.is_pinned
    )


def _is_preference(singles: Sequence[Memory]) -> bool:
    days = {memory.observed_at.date() for memory in singles}
    return len(days) >= LEAST_CHOICES and max(days) - min(days) >= LEAST_SPAN


def _start(memory: Memory) -> datetime:
    return memory.valid_from or memory.observed_at
