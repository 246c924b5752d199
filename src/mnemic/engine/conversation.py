"""Captures conversations: stores messages and their jobs in one transaction, and ends sessions. A context that a client
sends back is not captured: neither Mnemic's blocks nor the session history around them. A chat without blocks is stored
unchanged.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mnemic.engine.context_records import link_messages
from mnemic.engine.engine import Engine, new_id, new_job
from mnemic.engine.erase import erase
from mnemic.engine.extract import add_if_said
from mnemic.engine.fields import archive, is_lasting
from mnemic.engine.indexing import ItemVectors, document_vectors, message_text, put_vectors
from mnemic.engine.kinds import EXPIRE
from mnemic.engine.secrets import Kinds, tell_redacted, without_secrets
from mnemic.engine.summaries import ask_for_summary, ask_if_pending
from mnemic.engine.window import talk_partition
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.model.candidates import Terms
from mnemic.model.item import ENDED, Message, MessageDraft, Role, Trust, Turn, notes_on
from mnemic.model.recall import MemoryQuery
from mnemic.model.records import Job
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.blocks import without_own_blocks
from mnemic.text.sanitise import neutralise_markers

_SPOKEN = (Role.USER, Role.ASSISTANT)
_SPARE = 20
"""Margin for tool and system messages among a session's history."""


@dataclass(frozen=True, slots=True)
class Heard:
    """An exchange without Mnemic's blocks. `cut` counts the messages that lost one."""

    drafts: Sequence[MessageDraft]
    cut: int

    @classmethod
    def of(cls, exchange: Sequence[MessageDraft]) -> Heard:
        """Cut the blocks out of an exchange, and drop messages that held nothing else."""
        texts = [without_own_blocks(draft.text, is_system=draft.role is Role.SYSTEM) for draft in exchange]
        pairs = list(zip(exchange, texts, strict=True))
        kept = [draft if text == draft.text else replace(draft, text=text) for draft, text in pairs if text]
        return cls(kept, sum(text != draft.text for draft, text in pairs))

    @property
    def reach(self) -> int:
        """Number of the session's latest messages that `find_new` needs."""
        return 2 * len(self.drafts) + _SPARE

    def find_new(self, latest: Sequence[Message]) -> Sequence[int]:
        """Positions of the drafts that do not repeat the session. `latest` holds its last messages, oldest first.
        Drafts are left out only if a block shows that the exchange was built from a context. Its history is everything
        before the user's last message. It is left out if the session ends with it. It is also left out, with that
        message, if the session ends with both. A system prompt is left out if it is among `latest`.
        """
        spoken = [place for place, draft in enumerate(self.drafts) if draft.role in _SPOKEN]
        users = [n for n, place in enumerate(spoken) if self.drafts[place].role is Role.USER]
        if not self.cut or not users:
            return range(len(self.drafts))
        said = [_role_and_text(message) for message in latest if message.role in _SPOKEN]
        asked = [_role_and_text(self.drafts[place]) for place in spoken]
        known = next((n for n in (users[-1] + 1, users[-1]) if n and said[-n:] == asked[:n]), 0)
        prompts = {message.text for message in latest if message.role is Role.SYSTEM}
        repeated = set(spoken[:known])
        return [
            place
            for place, draft in enumerate(self.drafts)
            if place not in repeated and not (draft.role is Role.SYSTEM and draft.text in prompts)
        ]


@dataclass(slots=True)
class _Line:
    """A redacted draft, the kinds of secrets that it held, and its vectors."""

    draft: MessageDraft
    redacted: Kinds
    vectors: ItemVectors = ()


def _role_and_text(item: Message | MessageDraft) -> tuple[Role, str]:
    return item.role, neutralise_markers(item.text)


def capture(
    engine: Engine, scope: Scope, exchanges: Sequence[Sequence[MessageDraft]], *, is_ephemeral: bool = False
) -> list[Turn]:
    """Store each exchange as a turn of the scope's conversation, all in one durable transaction. A scope without a
    session starts one with a random id. A message with a known external id is not stored again, so a repeated call
    changes nothing. Mnemic's own blocks are left out, and secrets are redacted before storing. An ephemeral session
    remains ephemeral: no other session sees its messages, nothing is derived from them, and a job erases them. Raises
    `InvalidInputError` if it has no user or has lasting messages.
    """
    with engine.observer.span("mnemic.capture", exchanges=len(exchanges)) as span:
        turns = _store_exchanges(engine, scope, exchanges, is_ephemeral=is_ephemeral)
        span.note(
            messages=sum(len(turn.messages) for turn in turns), redacted=sum(len(turn.redacted) for turn in turns)
        )
        return turns


def _store_exchanges(
    engine: Engine, scope: Scope, exchanges: Sequence[Sequence[MessageDraft]], *, is_ephemeral: bool
) -> list[Turn]:
    scope = scope if scope.session is not None else replace(scope, session=str(uuid.uuid4()))
    now = engine.clock.now()
    heard = [Heard.of(exchange) for exchange in exchanges]
    lines = [[_Line(*without_secrets(engine, draft)) for draft in exchange.drafts] for exchange in heard]
    flat = [line for exchange in lines for line in exchange]
    vectors = document_vectors(engine, [message_text(line.draft.name, line.draft.text) for line in flat])
    for line, made in zip(flat, vectors or (), strict=bool(vectors)):
        line.vectors = made
    with engine.store.write() as work:
        engine.accesses.drain(work)
        writer = _Writer(engine, work, scope, now, is_ephemeral=is_ephemeral)
        turns = [
            writer.add_exchange(replace(exchange, drafts=[line.draft for line in its]), its)
            for exchange, its in zip(heard, lines, strict=True)
        ]
        written = [message for _, message, _ in writer.rows]
        work.messages.add([(message, terms) for _, message, terms in writer.rows])
        link_messages(work, written)
        items = [(message.partition, message.id) for message in written]
        put_vectors(engine, work, items, [line.vectors for line, _, _ in writer.rows] if vectors else None, now)
        if written:
            ask_if_pending(engine, work, writer.partition, scope.session or "", writer.said)
            add_if_said(engine, work, writer.partition, scope.session or "", written)
            if writer.partition.is_ephemeral:
                work.jobs.add([_expiry(scope, now, now + timedelta(seconds=engine.settings.session_memory_ttl_s))])
    _push(engine, written)
    engine.observer.count("mnemic.capture.messages", len(written))
    engine.observer.count("mnemic.capture.own_blocks", sum(turn.left_out for turn in turns))
    tell_redacted(engine, [kind for turn in turns for kind in turn.redacted])
    return turns


def complete(engine: Engine, scope: Scope, turn_id: str, draft: MessageDraft) -> Turn:
    """Add the other side of an exchange to a captured turn. Raises `NotFoundError` for an unknown turn. Idempotent for
    the same author and text. Mnemic's own blocks are left out.
    """
    now, heard = engine.clock.now(), Heard.of([draft])
    if not heard.drafts:
        with engine.store.read() as work:
            return replace(_turn(turn_id, work.messages.of_turn(scope.visibility, turn_id)), left_out=1)
    draft, kinds = without_secrets(engine, heard.drafts[0])
    vectors = document_vectors(engine, [message_text(draft.name, draft.text)])
    with engine.store.write() as work:
        known = work.messages.of_turn(scope.visibility, turn_id)
        turn = replace(_turn(turn_id, known), left_out=heard.cut, redacted=kinds)
        if any((m.role, m.name, m.text) == (draft.role, draft.name, draft.text) for m in known):
            return turn
        conversation = work.messages.conversation(known[0].partition, known[0].session, now)
        first = known[0]
        place = _Place(
            first.partition, first.session, first.agent, first.turn_id, first.turn, conversation.messages + 1
        )
        message = _message(place, draft, now)
        work.messages.add([(message, engine.terms(message.name, message.text))])
        put_vectors(engine, work, [(message.partition, message.id)], vectors, now)
        ask_if_pending(engine, work, message.partition, message.session, message.position)
        add_if_said(engine, work, message.partition, message.session, [message])
    _push(engine, [message])
    tell_redacted(engine, kinds)
    return replace(turn, messages=(*known, message))


def _push(engine: Engine, messages: Sequence[Message]) -> None:
    if engine.window is not None and messages:
        engine.window.push(messages)


def _turn(turn_id: str, messages: Sequence[Message]) -> Turn:
    if not messages:
        raise NotFoundError(f"there is no turn {turn_id!r} in this scope")
    return Turn(turn_id, messages[0].session, messages[0].turn, tuple(messages))


@dataclass(frozen=True, slots=True)
class _Place:
    """A message's position in its conversation."""

    partition: Partition
    session: str
    agent: str | None
    turn_id: str
    turn: int
    position: int


def _message(place: _Place, draft: MessageDraft, now: datetime) -> Message:
    return Message(
        id=new_id(now),
        partition=place.partition,
        session=place.session,
        turn_id=place.turn_id,
        turn=place.turn,
        position=place.position,
        role=draft.role,
        name=draft.name,
        text=draft.text,
        observed_at=draft.observed_at or now,
        created_at=now,
        agent=place.agent,
        external_id=draft.external_id,
        trust=Trust.lowest(draft.trust or draft.role.trust, draft.role.trust),
        metadata=draft.metadata,
        bookkeeping=notes_on(draft),
    )


class _Writer:
    """Numbers the turns and messages of one conversation within one unit of work."""

    def __init__(
        self, engine: Engine, work: UnitOfWork, scope: Scope, now: datetime, *, is_ephemeral: bool = False
    ) -> None:
        self.rows: list[tuple[_Line, Message, Terms]] = []
        self._engine, self._work, self._now = engine, work, now
        self.partition = _partition_of(work, scope) if is_ephemeral else talk_partition(work, scope)
        self._session = scope.session or ""
        self._agent = scope.agent
        conversation = work.messages.conversation(self.partition, self._session, now)
        self._turns, self._messages = conversation.turns, conversation.messages
        self._known: dict[str, Message] = {}

    @property
    def said(self) -> int:
        """Number of messages in the conversation by now."""
        return self._messages

    def add_exchange(self, exchange: Heard, lines: Sequence[_Line]) -> Turn:
        new = exchange.find_new(self._latest(exchange.reach)) if exchange.cut else range(len(lines))
        stored = len(self.rows)
        turn = self._add_turn([lines[place] for place in new])
        kinds = [kind for line, _, _ in self.rows[stored:] for kind in line.redacted]
        left_out = exchange.cut + len(lines) - len(new)
        return replace(turn, left_out=left_out, redacted=tuple(dict.fromkeys(kinds)))

    def _latest(self, limit: int) -> list[Message]:
        """The last messages of the session, including those of this unit of work."""
        own = Visibility((self.partition,), self._agent)
        stored = self._work.messages.latest(own, self._session, limit)
        return [*stored, *(message for _, message, _ in self.rows)][-limit:]

    def _add_turn(self, lines: Sequence[_Line]) -> Turn:
        """The turn of these lines. A message that is already stored keeps its place."""
        ids = [line.draft.external_id for line in lines if line.draft.external_id is not None]
        known = self._work.messages.by_external_id(self.partition, self._session, ids) | {
            i: self._known[i] for i in ids if i in self._known
        }
        first = next(iter(known.values()), None)
        if len(known) < len(lines) and first is None:
            self._turns += 1
        turn_id, number = (first.turn_id, first.turn) if first else (new_id(self._now), self._turns)
        messages = [known.get(line.draft.external_id or "") or self._add(line, turn_id, number) for line in lines]
        return Turn(turn_id, self._session, number, tuple(messages))

    def _add(self, line: _Line, turn_id: str, number: int) -> Message:
        external_id = line.draft.external_id
        if external_id is not None and external_id in self._known:
            return self._known[external_id]
        self._messages += 1
        place = _Place(self.partition, self._session, self._agent, turn_id, number, self._messages)
        message = _message(place, line.draft, self._now)
        self.rows.append((line, message, self._engine.terms(message.name, message.text)))
        if external_id is not None:
            self._known[external_id] = message
        return message


def _partition_of(work: UnitOfWork, scope: Scope) -> Partition:
    """The partition of an ephemeral session."""
    if scope.user is None:
        raise InvalidInputError("an ephemeral session requires a user; pass user=…")
    if work.conversations.get(scope.message_partition, scope.session or "") is not None:
        raise InvalidInputError(f"session {scope.session!r} already has lasting messages; start another session")
    return scope.partition(Level.SESSION)


def _expiry(scope: Scope, now: datetime, run_at: datetime) -> Job:
    """The job that erases an ephemeral session. It belongs to the user, so the erasure does not remove it."""
    session = scope.session or ""
    key = f"{session} {run_at <= now}"  # the end of a session does not wait for its expiry
    return replace(new_job(now, scope.message_partition, EXPIRE, key, {"session": session}), run_at=run_at)


def expire(engine: Engine, job: Job) -> Callable[[UnitOfWork], list[Job]]:
    """Erase an ephemeral session that has ended or expired. Returns a function to call when the job ends, which
    returns another job if the session has messages, such as those captured during the erasure. Raises `ConflictError`
    if the session also has lasting messages, because two writers started it at the same moment.
    """
    session, partition = str(job.payload["session"]), job.partition
    scope = Scope(org=partition.org, user=partition.owner, session=session)
    own, ttl = scope.partition(Level.SESSION), timedelta(seconds=engine.settings.session_memory_ttl_s)

    def expire_later(work: UnitOfWork) -> list[Job]:
        last = work.messages.latest(Visibility((own,), None), session, 1)
        return [_expiry(scope, engine.clock.now(), last[0].created_at + ttl)] if last else []

    with engine.store.read() as work:
        last = work.messages.latest(Visibility((own,), None), session, 1)
        is_ended = bool(last) and work.conversations.cursor(own, session, ENDED) >= last[0].position
        is_mixed = work.conversations.get(partition, session) is not None
    if last and (is_ended or last[0].created_at + ttl <= engine.clock.now()):
        if is_mixed:
            raise ConflictError(f"session {session!r} has both lasting and ephemeral messages; erase the session")
        erase(engine, scope, Level.SESSION)
    return expire_later


REASON = "the session ended"


@dataclass(frozen=True, slots=True)
class EndReport:
    """The `expired` memories of an ended session, by id, and the number of messages that wait for a summary."""

    session: str
    at: datetime
    expired: tuple[str, ...]
    pending: int


def end(engine: Engine, scope: Scope, *, actor: str) -> EndReport:
    """End the scope's session in one transaction. Idempotent; the session may go on afterwards. Archives memories of
    session level, except other agents' private ones, which expire in their time. Pinned memories stay, as do summaries
    and reflections of a session without a user. An ephemeral session is erased by a job.
    """
    if scope.session is None:
        raise InvalidInputError("only a session can be ended; pass session=…")
    now = engine.clock.now()
    own = Visibility((scope.partition(Level.SESSION),), scope.agent)
    with engine.store.write() as work:
        partition = talk_partition(work, scope)
        waiting = _flush(engine, work, partition, scope.session)
        if partition.is_ephemeral:
            work.jobs.add([_expiry(scope, now, now)])
            engine.ring()
        memories = work.memories.list(own, MemoryQuery(now=now))
        passing = [memory for memory in memories if memory.expires_at is not None and not is_lasting(memory)]
        expired = [memory.id for memory in passing if archive(engine, work, memory, actor=actor, reason=REASON)]
    return EndReport(scope.session, now, tuple(expired), waiting)


def _flush(engine: Engine, work: UnitOfWork, partition: Partition, session: str) -> int:
    """Request a summary of all messages so far. Returns how many messages wait."""
    talk = work.conversations.get(partition, session)
    if talk is None:
        return 0
    was = work.conversations.cursor(partition, session, ENDED)
    if was < talk.messages:
        work.conversations.move(partition, session, ENDED, was, talk.messages)
    return ask_for_summary(engine, work, partition, session)[0]
