"""The guard against feedback: what Mnemic itself gave to a chat is not captured when it comes back.

Answers for two things in what is captured: the blocks of a context, and the session history around them, which is
stored already. A chat that sends no context of ours is taken as it is.

Keeps what was said: messages and the jobs they cause, in one transaction.

Ends a session: what was kept for it alone expires, and all that was said in it is to be summarised.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemic.engine.engine import Engine, new_id
from mnemic.engine.extract import add_if_said
from mnemic.engine.fields import archive, is_lasting
from mnemic.engine.indexing import document_vectors, message_text, put_vectors
from mnemic.engine.secrets import Kinds, tell_redacted, without_secrets
from mnemic.engine.summaries import ask_for_summary, ask_if_pending
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.model.candidates import Terms
from mnemic.model.item import ENDED, Message, MessageDraft, Role, Trust, Turn, notes_on
from mnemic.model.recall import MemoryQuery
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.blocks import without_own_blocks
from mnemic.text.sanitise import neutralise_markers

_SPOKEN = (Role.USER, Role.ASSISTANT)
_SPARE = 20
"""So many messages of tools and of the system may stand between those of a session's history."""


@dataclass(frozen=True, slots=True)
class Heard:
    """An exchange without our blocks, and how many messages were cut or held nothing else."""

    drafts: Sequence[MessageDraft]
    cut: int

    @classmethod
    def of(cls, exchange: Sequence[MessageDraft]) -> Heard:
        """What of an exchange was said by somebody, in order; untouched drafts are the very same ones."""
        texts = [without_own_blocks(draft.text, is_system=draft.role is Role.SYSTEM) for draft in exchange]
        pairs = list(zip(exchange, texts, strict=True))
        kept = [draft if text == draft.text else replace(draft, text=text) for draft, text in pairs if text]
        return cls(kept, sum(text != draft.text for draft, text in pairs))

    @property
    def reach(self) -> int:
        """How many of the latest messages of the session `new` must be given."""
        return 2 * len(self.drafts) + _SPARE

    def new(self, latest: Sequence[Message]) -> Sequence[MessageDraft]:
        """Those that are not a repetition of the session, whose `latest` messages are given, oldest first.

        Only where a block shows that the exchange was built from a context. Its history is what stands before the last
        message of the user: left out when all of it ends the session, or comes just before that very message, which is
        then known too. A prompt of the system is left out when it is among the latest.
        """
        spoken = [draft for draft in self.drafts if draft.role in _SPOKEN]
        users = [place for place, draft in enumerate(spoken) if draft.role is Role.USER]
        if not self.cut or not users:
            return self.drafts
        said = [_said(message) for message in latest if message.role in _SPOKEN]
        asked = [_said(draft) for draft in spoken]
        known = next((n for n in (users[-1] + 1, users[-1]) if n and said[-n:] == asked[:n]), 0)
        prompts = {message.text for message in latest if message.role is Role.SYSTEM}
        repeated = {id(draft) for draft in spoken[:known]}
        return [
            draft
            for draft in self.drafts
            if id(draft) not in repeated and not (draft.role is Role.SYSTEM and draft.text in prompts)
        ]


def _said(item: Message | MessageDraft) -> tuple[Role, str]:
    return item.role, neutralise_markers(item.text)


_TRUST_OF_ROLE = {
    Role.USER: Trust.USER,
    Role.ASSISTANT: Trust.ASSISTANT,
    Role.SYSTEM: Trust.ASSISTANT,
    Role.TOOL: Trust.TOOL,
}


def capture(engine: Engine, scope: Scope, exchanges: Sequence[Sequence[MessageDraft]]) -> list[Turn]:
    """Store each exchange as a turn of the scope's conversation, all in one durable transaction.

    A scope without a session starts a new one, with a random id. A message whose external id is already there is not
    stored again: repeating a call changes nothing. What Mnemic itself had put into the prompt is left out, and secrets
    are redacted before anything is stored.
    """
    with engine.observer.span("mnemic.capture", exchanges=len(exchanges)) as span:
        turns = _captured(engine, scope, exchanges)
        span.note(
            messages=sum(len(turn.messages) for turn in turns), redacted=sum(len(turn.redacted) for turn in turns)
        )
        return turns


def _captured(engine: Engine, scope: Scope, exchanges: Sequence[Sequence[MessageDraft]]) -> list[Turn]:
    scope = scope if scope.session is not None else replace(scope, session=str(uuid.uuid4()))
    now = engine.clock.now()
    redacted: dict[int, Kinds] = {}
    heard = [_cleaned(engine, Heard.of(exchange), redacted) for exchange in exchanges]
    drafts = [draft for exchange in heard for draft in exchange.drafts]
    vectors = document_vectors(engine, [message_text(draft.name, draft.text) for draft in drafts])
    vector_of = None if vectors is None else {id(d): v for d, v in zip(drafts, vectors, strict=bool(vectors))}
    with engine.store.write() as work:
        engine.accesses.drain(work)
        writer = _Writer(engine, work, scope, now, redacted)
        turns = [writer.heard(exchange) for exchange in heard]
        written = [(draft, message) for draft, message, _ in writer.rows]
        work.messages.add([(message, terms) for _, message, terms in writer.rows])
        items = [(message.partition, message.id) for _, message in written]
        ready = None if vector_of is None else [vector_of[id(draft)] for draft, _ in written if vector_of]
        put_vectors(engine, work, items, ready, now)
        if written:
            ask_if_pending(engine, work, scope.message_partition, scope.session or "", writer.said)
            said = [message for _, message in written]
            add_if_said(engine, work, scope.message_partition, scope.session or "", said)
    _push(engine, [message for _, message in written])
    engine.observer.count("mnemic.capture.messages", len(written))
    engine.observer.count("mnemic.capture.own_blocks", sum(turn.left_out for turn in turns))
    tell_redacted(engine, [kind for turn in turns for kind in turn.redacted])
    return turns


def _cleaned(engine: Engine, heard: Heard, redacted: dict[int, Kinds]) -> Heard:
    """What was heard without secrets; `redacted` notes by the id of a draft what it held."""
    drafts: list[MessageDraft] = []
    for draft in heard.drafts:
        clean, kinds = without_secrets(engine, draft)
        drafts.append(clean)
        if kinds:
            redacted[id(clean)] = kinds
    return replace(heard, drafts=drafts)


def complete(engine: Engine, scope: Scope, turn_id: str, draft: MessageDraft) -> Turn:
    """Add the other side of an exchange to a turn that was captured before. Raises `NotFoundError` for an unknown turn.

    Repeating a call with the same author and text changes nothing. What Mnemic itself had put into the prompt is left
    out.
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
        message = _message(known[0], draft, conversation.messages + 1, now)
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


def _message(example: Message, draft: MessageDraft, position: int, now: datetime) -> Message:
    return replace(
        example,
        id=new_id(now),
        position=position,
        role=draft.role,
        name=draft.name,
        text=draft.text,
        observed_at=draft.observed_at or now,
        created_at=now,
        external_id=draft.external_id,
        trust=draft.trust or _TRUST_OF_ROLE[draft.role],
        metadata=draft.metadata,
        bookkeeping=notes_on(draft),
    )


class _Writer:
    """Numbers the turns and messages of one conversation within one unit of work."""

    def __init__(
        self, engine: Engine, work: UnitOfWork, scope: Scope, now: datetime, redacted: Mapping[int, Kinds]
    ) -> None:
        self.rows: list[tuple[MessageDraft, Message, Terms]] = []
        self._redacted = redacted
        self._engine, self._work, self._now = engine, work, now
        self._partition = scope.message_partition
        self._session = scope.session or ""
        self._agent = scope.agent
        conversation = work.messages.conversation(self._partition, self._session, now)
        self._turns, self._messages = conversation.turns, conversation.messages
        self._known: dict[str, Message] = {}

    @property
    def said(self) -> int:
        """How many messages the conversation has by now."""
        return self._messages

    def heard(self, exchange: Heard) -> Turn:
        """The turn of what is new in an exchange."""
        drafts = exchange.new(self._latest(exchange.reach)) if exchange.cut else exchange.drafts
        repeated = len(exchange.drafts) - len(drafts)
        stored = len(self.rows)
        turn = self.turn(drafts)
        kinds = [kind for draft, _, _ in self.rows[stored:] for kind in self._redacted.get(id(draft), ())]
        return replace(turn, left_out=exchange.cut + repeated, redacted=tuple(dict.fromkeys(kinds)))

    def _latest(self, limit: int) -> list[Message]:
        """The last messages of the session, those of this unit of work included."""
        own = Visibility((self._partition,), self._agent)
        stored = self._work.messages.latest(own, self._session, limit)
        return [*stored, *(message for _, message, _ in self.rows)][-limit:]

    def turn(self, drafts: Sequence[MessageDraft]) -> Turn:
        """The turn of these drafts, with what was known already in its place."""
        ids = [draft.external_id for draft in drafts if draft.external_id is not None]
        known = self._work.messages.by_external_id(self._partition, self._session, ids) | {
            i: self._known[i] for i in ids if i in self._known
        }
        first = next(iter(known.values()), None)
        if len(known) < len(drafts) and first is None:
            self._turns += 1
        turn_id, number = (first.turn_id, first.turn) if first else (new_id(self._now), self._turns)
        messages = [known.get(draft.external_id or "") or self._add(draft, turn_id, number) for draft in drafts]
        return Turn(turn_id, self._session, number, tuple(messages))

    def _add(self, draft: MessageDraft, turn_id: str, number: int) -> Message:
        if draft.external_id is not None and draft.external_id in self._known:
            return self._known[draft.external_id]
        self._messages += 1
        message = Message(
            id=new_id(self._now),
            partition=self._partition,
            session=self._session,
            turn_id=turn_id,
            turn=number,
            position=self._messages,
            role=draft.role,
            name=draft.name,
            text=draft.text,
            observed_at=draft.observed_at or self._now,
            created_at=self._now,
            agent=self._agent,
            external_id=draft.external_id,
            trust=draft.trust or _TRUST_OF_ROLE[draft.role],
            metadata=draft.metadata,
            bookkeeping=notes_on(draft),
        )
        self.rows.append((draft, message, self._engine.terms(draft.name, draft.text)))
        if draft.external_id is not None:
            self._known[draft.external_id] = message
        return message


REASON = "the session ended"


@dataclass(frozen=True, slots=True)
class EndReport:
    """What the end of a session brought: the ids of the memories that expired, and how many messages a job will
    summarise, or would if summaries were not switched off.
    """

    session: str
    at: datetime
    expired: tuple[str, ...]
    pending: int


def end(engine: Engine, scope: Scope, *, actor: str) -> EndReport:
    """End the scope's session, in one transaction. Ending it again changes nothing; talking on in it is allowed.

    Memories of session level are archived, private ones of other agents excepted, which expire in their time. So are
    not: what is pinned, and summaries and reflections of a session without a user.
    """
    if scope.session is None:
        raise InvalidInputError("only a session can be ended; say which, as session=…")
    now, partition = engine.clock.now(), scope.message_partition
    own = Visibility((scope.partition(Level.SESSION),), scope.agent)
    with engine.store.write() as work:
        waiting = _flush(engine, work, partition, scope.session)
        memories = work.memories.list(own, MemoryQuery(now=now))
        passing = [memory for memory in memories if memory.expires_at is not None and not is_lasting(memory)]
        expired = [memory.id for memory in passing if archive(engine, work, memory, actor=actor, reason=REASON)]
    return EndReport(scope.session, now, tuple(expired), waiting)


def _flush(engine: Engine, work: UnitOfWork, partition: Partition, session: str) -> int:
    """Mark that everything said until now is to be summarised, and ask for it; returns how many messages wait."""
    talk = work.conversations.get(partition, session)
    if talk is None:
        return 0
    was = work.conversations.cursor(partition, session, ENDED)
    if was < talk.messages:
        work.conversations.move(partition, session, ENDED, was, talk.messages)
    return ask_for_summary(engine, work, partition, session)[0]
