"""Summarises messages that left a session's window, and messages that remain after an erasure. A summary, its history,
the cursor and the request to consolidate are one transaction, by compare and set. Two workers make one summary, and a
crash changes nothing. The model is asked outside transactions.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mnemic.engine import digest
from mnemic.engine.edit import Editor
from mnemic.engine.engine import Engine, SessionRun
from mnemic.engine.events import publish
from mnemic.engine.indexing import document_vectors, indexed_text, put_vectors
from mnemic.engine.kinds import SUMMARISE
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.model import bookkeeping
from mnemic.model.filter import All
from mnemic.model.item import ENDED, SUMMARISED, Kind, Memory, Message, Provenance, Role, State
from mnemic.model.recall import MemoryQuery, Order
from mnemic.model.records import Action, ConsolidationRequest, SummarisationRequest
from mnemic.model.scope import Partition, Scope, Visibility
from mnemic.model.settings import LifeSettings
from mnemic.ports.store import UnitOfWork
from mnemic.text import prompts

EVERYTHING = sys.maxsize  # as a position: all messages


@dataclass(frozen=True, slots=True)
class Pending:
    """A conversation's messages after position `after`, up to and including `until`."""

    after: int
    until: int

    @property
    def count(self) -> int:
        """The number of positions, including those of erased messages."""
        return max(self.until - self.after, 0)


def pending(work: UnitOfWork, life: LifeSettings, partition: Partition, session: str, *, wanted: int = 0) -> Pending:
    """The messages to summarise: a batch out of the window, all until the session's end, and all up to `wanted`."""
    talk = work.conversations.get(partition, session)
    said = 0 if talk is None else talk.messages
    after = work.conversations.cursor(partition, session, SUMMARISED)
    ended = min(max(work.conversations.cursor(partition, session, ENDED), wanted), said)
    fallen = said - life.window_messages
    until = fallen if fallen - after >= life.summary_batch else after
    return Pending(after, max(until, ended, after))


def ask_if_pending(engine: Engine, work: UnitOfWork, partition: Partition, session: str, said: int) -> None:
    """Request a summary if a batch of the `said` messages is pending. A new conversation costs no read."""
    life = engine.settings.life
    if life.summarises and said >= life.window_messages + life.summary_batch:
        ask_for_summary(engine, work, partition, session)


def ask_for_summary(
    engine: Engine, work: UnitOfWork, partition: Partition, session: str, *, wanted: int = 0
) -> tuple[int, bool]:
    """Request a summary. Returns the number of pending messages, and whether the request is new. Messages of an
    ephemeral session are never summarised.
    """
    if partition.is_ephemeral:
        return 0, False
    waiting = pending(work, engine.settings.life, partition, session, wanted=wanted)
    if not waiting.count or not engine.settings.life.summarises:
        return waiting.count, False
    request = SummarisationRequest(partition=partition, session=session, first=waiting.after + 1, last=waiting.until)
    return waiting.count, publish(work, request, engine.clock.now())


SUMMARY_MESSAGES = 20
"""Messages per summary of a backlog, so that an import of 1,000 makes about fifty summaries."""

MOST_MESSAGES = 200
"""Limit on the messages that a summary claims to cover: an import may claim any."""

SUMMARY_CHARS = 8000
SUMMARIES_AT_ONCE = 5
"""Summaries per job, well within its lease with a slow model. The next job makes the rest."""

REASON_CHARS = 300

_summarise_log = logging.getLogger("mnemic.summarise")


@dataclass(frozen=True, slots=True)
class Summarised:
    """Messages `first` to `last` (inclusive), and their summary's id: None in a dry run, or if it would add nothing.
    `fallback`: the failure that made raw text the summary.
    """

    first: int
    last: int
    memory_id: str | None = None
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class SummariseReport:
    """The summaries made, or planned, of a session; `left` messages are still pending."""

    session: str
    entries: tuple[Summarised, ...]
    left: int
    is_dry_run: bool


def summarise(
    engine: Engine, scope: Scope, *, actor: str, is_flush: bool = False, is_dry_run: bool = False
) -> SummariseReport:
    """Summarise a session's pending messages; `is_flush`: all. Then replace its summaries that are raw text after a
    failure. Raises the model's errors and keeps earlier summaries.
    """
    if scope.session is None:
        raise InvalidInputError("only a session can be summarised; pass session=…")
    work = Summarising(engine, scope.message_partition, scope.session, actor)
    wanted = EVERYTHING if is_flush else 0
    due = work.due(wanted)
    if is_dry_run:
        entries = tuple(Summarised(place.after + 1, place.until) for place in work.plan(due))
    else:
        entries = tuple(work.run(due, most=None))
        if engine.llm is not None:
            entries = (*renew_summaries(engine, scope.message_partition, actor, scope.session), *entries)
    left = 0 if is_dry_run else work.due(wanted).count
    return SummariseReport(scope.session, entries, left, is_dry_run)


@dataclass(frozen=True, slots=True)
class _Batch:
    """The non-empty messages of one summary, and all positions that it covers."""

    messages: tuple[Message, ...]
    place: Pending


class Summarising(SessionRun):
    """One run over a conversation. `may_fall_back`: if the model fails, the raw text becomes the summary."""

    def due(self, wanted: int = 0) -> Pending:
        """The messages to summarise now, including all up to the position `wanted`."""
        with self._engine.store.read() as work:
            return pending(work, self._engine.settings.life, self._partition, self._session, wanted=wanted)

    def plan(self, due: Pending) -> list[Pending]:
        """The batches of `due`."""
        places: list[Pending] = []
        while due.count:
            places.append(self._next(due).place)
            due = Pending(places[-1].until, due.until)
        return places

    def run(self, due: Pending, most: int | None) -> list[Summarised]:
        """Summarise at most `most` batches of `due`. Stops if another run moved the cursor."""
        done: list[Summarised] = []
        while due.count and (most is None or len(done) < most):
            batch = self._next(due)
            entry = self._commit(batch, self.digest(batch.messages))
            if entry is None:
                due = Pending(self.due().after, due.until)
                continue
            done.append(entry)
            if entry.fallback:
                break
            due = Pending(batch.place.until, due.until)
        return done

    def _next(self, due: Pending) -> _Batch:
        """Select the next summary's messages, in equal shares. Positions of erased messages are included."""
        most = max(SUMMARY_MESSAGES, self._engine.settings.life.summary_batch)
        share = -(-due.count // -(-due.count // most))
        with self._engine.store.read() as work:
            found = work.conversations.messages(self._partition, self._session, due.after, share + 1)
        here = [message for message in found if message.position <= due.until]
        taken, chars = list[Message](), 0
        for message in here[:share]:
            chars += len(prompts.counted(message))
            is_elsewhere = message.private_agent != here[0].private_agent  # in another project
            if taken and (is_elsewhere or chars > self._room()):
                break
            taken.append(message)
        until = due.until if len(taken) == len(here) else taken[-1].position
        said = tuple(message for message in taken if prompts.counted(message).strip())
        return _Batch(said, Pending(due.after, until))

    def _room(self) -> int:
        """Characters of messages for one prompt: a token may be a single character."""
        llm = self._engine.llm
        return SUMMARY_CHARS if llm is None else max(500, min(SUMMARY_CHARS, llm.capabilities.context_tokens // 2))

    def messages(self, first: int, last: int) -> list[Message]:
        """The non-empty messages at these positions (inclusive), at most as many as one digest reads."""
        most = min(last - first + 1, MOST_MESSAGES)
        with self._engine.store.read() as work:
            found = work.conversations.messages(self._partition, self._session, first - 1, most)
        return [message for message in found if message.position <= last and prompts.counted(message).strip()]

    def digest(self, messages: Sequence[Message]) -> digest.Derived | None:
        """The summary of some messages; None if they hold nothing. Raises the model's errors."""
        if not messages:
            return None
        sources = [digest.Source(m.id, prompts.counted(m), prompts.speaker(m), m.role is Role.USER) for m in messages]
        language = prompts.language_of([source.text for source in sources])
        if self._engine.llm is None:
            text, provenance = self._tell_facts(messages, prompts.SUMMARY_LENGTH[language])
            if not text:
                text, provenance = digest.by_rules(self._engine, SUMMARISE, sources, prompts.SUMMARY_LENGTH[language])
            return self._derive(text, messages, provenance=provenance) if text else None
        try:
            text = prompts.read_summary(self._engine.llm.complete(prompts.summary_prompt(messages, language)))
        except MnemicError as error:
            if not self._may_fall_back:
                raise
            reason = f"{type(error).__name__}: {error}"[:REASON_CHARS]
            _summarise_log.warning("using the raw text as the summary (%s)", reason)
            self._engine.observer.count("mnemic.summarise.fallback")
            derived = self._derive(prompts.raw_lines(messages), messages, provenance=digest.raw(SUMMARISE, sources))
            importance = self._engine.settings.life.raw_importance
            return replace(
                derived, importance=importance, bookkeeping={**derived.bookkeeping, **bookkeeping.note_fallback(reason)}
            )
        return self._derive(
            text, messages, provenance=digest.by_model(self._engine, self._engine.llm, SUMMARISE, text, sources)
        )

    def _tell_facts(self, messages: Sequence[Message], limit: int) -> tuple[str, tuple[Provenance, ...]]:
        """Extracted facts of these messages as sentences in order, with their spans."""
        places = {message.id: message.position for message in messages}
        with self._engine.store.read() as work:
            made = work.dependants.of(self._partition, list(places))
        spans = {each.id: [entry for entry in each.provenance if entry.source_id in places] for each in made}
        told = [each for each in made if spans[each.id] and self._is_told(each, messages[0])]
        told.sort(key=lambda each: min((places[entry.source_id], entry.start) for entry in spans[each.id]))
        text, chosen = digest.by_facts(self._engine, told, limit)
        named = dict.fromkeys(entry for fact in chosen for entry in spans[fact.id])
        return text, tuple(replace(entry, extractor=SUMMARISE, version=digest.RULES) for entry in named)

    def _is_told(self, memory: Memory, source: Message) -> bool:
        is_own = memory.partition == self._partition and memory.private_agent in (None, source.private_agent)
        is_said = memory.state in (State.ACTIVE, State.SUPERSEDED) and memory.kind in digest.TOLD_KINDS
        return is_own and is_said and bookkeeping.choice_in(memory.bookkeeping) is None

    def _derive(self, text: str, messages: Sequence[Message], *, provenance: tuple[Provenance, ...]) -> digest.Derived:
        positions = (messages[0].position, messages[-1].position)
        return digest.Derived(
            text=text,
            kind=Kind.SUMMARY,
            importance=self._engine.settings.life.summary_importance,
            provenance=provenance,
            bookkeeping=bookkeeping.note_summary(self._session, positions),
        )

    def _commit(self, batch: _Batch, made: digest.Derived | None) -> Summarised | None:
        """Write the summary and move the cursor; None if the cursor moved or a message was erased meanwhile."""
        now = self._engine.clock.now()
        memory = None if made is None else digest.derived_memory(made, batch.messages, now)
        vectors = None if memory is None else document_vectors(self._engine, [indexed_text(memory)])
        with self._engine.store.write() as work:
            after, until = batch.place.after, batch.place.until
            if not _all_left(work, self._partition, batch.messages):
                return None
            if not work.conversations.move(self._partition, self._session, SUMMARISED, after, until):
                return None
            reason = f"summary of the messages {after + 1} to {until} of session {self._session}"
            is_new = memory is not None and digest.add_derived(
                self._engine, work, memory, vectors, actor=self._actor, reason=reason
            )
            if memory is not None and is_new:
                request = ConsolidationRequest(partition=self._partition, session=self._session, summary=memory.id)
                publish(work, request, now)
        if self._engine.window is not None:
            self._engine.window.moved(self._partition, [self._session], now)
        return self._report_summary(batch.place, memory if is_new else None)

    def _report_summary(self, place: Pending, memory: Memory | None) -> Summarised:
        first, last = place.after + 1, place.until
        _summarise_log.debug("session %s: summarised messages %d to %d", self._session, first, last)
        self._engine.observer.count("mnemic.summarise.messages", place.count)
        if memory is None:
            return Summarised(first, last)
        self._engine.observer.count("mnemic.summarise.summaries")
        return Summarised(first, last, memory.id, bookkeeping.fallback_in(memory.bookkeeping))


def _all_left(work: UnitOfWork, partition: Partition, messages: Sequence[Message]) -> bool:
    """True while none of the messages is erased. The lock keeps it so until the unit of work ends."""
    work.dependants.of(partition, ())  # takes the lock, so that nothing is erased after the look
    ids = [message.id for message in messages]
    return len(work.messages.get(Visibility((partition,), None), ids)) == len(ids)


RENEWED_AT_ONCE = 5  # summaries that one job remakes when the model is back


def renew_summaries(engine: Engine, partition: Partition, actor: str, session: str | None = None) -> list[Summarised]:
    """Replace some summaries (only of `session`, if given) that are raw text after a failure. Returns the new ones.
    Raises the model's errors.
    """
    conditions = [bookkeeping.is_fallback(), *([bookkeeping.is_of_session(session)] if session else [])]
    query = MemoryQuery(
        now=engine.clock.now(),
        kinds=(Kind.SUMMARY,),
        filter=All(tuple(conditions)),
        order=Order.OLDEST,
        limit=RENEWED_AT_ONCE,
    )
    visible = Visibility((partition,), None)
    with engine.store.read() as work:
        left = work.memories.list(visible, query)
    renewed = [summary for summary in left if _renew(engine, summary, actor)]
    return [Summarised(*bookkeeping.positions_in(each.bookkeeping), each.id) for each in renewed]


def _renew(engine: Engine, old: Memory, actor: str) -> bool:
    """Remake one summary from its messages; False if it or a message changed meanwhile."""
    session, (first, last) = bookkeeping.session_in(old.bookkeeping), bookkeeping.positions_in(old.bookkeeping)
    if session is None or first > last:
        return False
    run, visible = Summarising(engine, old.partition, session, actor), Visibility((old.partition,), None)
    messages = run.messages(first, last)
    made = run.digest(messages)
    if made is None:
        return False
    fresh = digest.derived_memory(made, messages, old.created_at)
    notes = bookkeeping.renewed(old.bookkeeping, fresh.bookkeeping)
    vectors = document_vectors(engine, [indexed_text(fresh)])
    with engine.store.write() as work:
        editor = Editor(engine, work, visible, actor)
        if not _all_left(work, old.partition, messages):
            return False
        known = work.memories.get(visible, [old.id])
        if not known or known[0].updated_at != old.updated_at:
            return False
        holder = work.memories.holder(old.partition, None, fresh.dedup_key)
        if holder is not None and holder.id != old.id:
            reason = f"merged into {holder.id}: the model found that they say the same"
            editor.supersede(old, holder.id, Action.MERGED, reason)
            return True
        names = ("text", "dedup_key", "importance", "provenance")
        new = replace(old, **{name: getattr(fresh, name) for name in names}, bookkeeping=notes)
        stored = editor.put(old, new, Action.UPDATED, "rewritten because the model is available again")
        put_vectors(engine, work, [(stored.partition, stored.id)], vectors, stored.updated_at)
    return True


@dataclass(frozen=True, slots=True)
class SummarisingAgain:
    """Remakes the summary of positions `first` to `last` of a session. Idempotent."""

    engine: Engine
    partition: Partition
    session: str
    first: int
    last: int
    actor: str
    may_fall_back: bool = False

    def run(self) -> bool:
        """Make the summary if any message is left. False if a message was erased meanwhile. Raises the model's errors
        unless it may fall back.
        """
        place = (self.engine, self.partition, self.session, self.actor)
        work = Summarising(*place, may_fall_back=self.may_fall_back)
        messages = work.messages(self.first, self.last)
        made = work.digest(messages)
        if made is None:
            return True
        memory = digest.derived_memory(made, messages, self.engine.clock.now())
        memory = replace(
            memory, bookkeeping={**memory.bookkeeping, **bookkeeping.note_positions((self.first, self.last))}
        )
        vectors = document_vectors(self.engine, [indexed_text(memory)])
        with self.engine.store.write() as unit:
            if not _all_left(unit, self.partition, messages):
                return False
            if not self._is_there(unit):
                reason = f"summary of the remaining messages {self.first} to {self.last} of {self.session}"
                digest.add_derived(self.engine, unit, memory, vectors, actor=self.actor, reason=reason)
        return True

    def _is_there(self, unit: UnitOfWork) -> bool:
        query = MemoryQuery(
            now=self.engine.clock.now(),
            states=(),
            kinds=(Kind.SUMMARY,),
            filter=bookkeeping.is_of_session(self.session),
        )
        known = unit.memories.list(Visibility((self.partition,), None), query)
        return any(bookkeeping.positions_in(each.bookkeeping) == (self.first, self.last) for each in known)
