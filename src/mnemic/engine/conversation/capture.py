"""Keeps what was said: messages and the jobs they cause, in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from mnemic.engine.conversation.echo import Heard
from mnemic.engine.conversation.pending import ask_if_pending
from mnemic.engine.facts.extract import add_if_said
from mnemic.engine.indexing.embedding import document_vectors, put_vectors
from mnemic.engine.indexing.indexed import message_text
from mnemic.engine.parts import Parts, new_id
from mnemic.engine.secrets import Kinds, tell_redacted, without_secrets
from mnemic.errors import NotFoundError
from mnemic.model.draft import MessageDraft
from mnemic.model.item import Message, Role, Trust, Turn
from mnemic.model.scope import Scope, Visibility
from mnemic.model.terms import Terms
from mnemic.ports.store import UnitOfWork

_TRUST_OF_ROLE = {
    Role.USER: Trust.USER,
    Role.ASSISTANT: Trust.ASSISTANT,
    Role.SYSTEM: Trust.ASSISTANT,
    Role.TOOL: Trust.TOOL,
}


def capture(parts: Parts, scope: Scope, exchanges: Sequence[Sequence[MessageDraft]]) -> list[Turn]:
    """Store each exchange as a turn of the scope's conversation, all in one durable transaction.

    A scope without a session starts a new one, with a random id. A message whose external id is already there is not
    stored again: repeating a call changes nothing. What Mnemic itself had put into the prompt is left out, and secrets
    are redacted before anything is stored.
    """
    with parts.observer.span("mnemic.capture", exchanges=len(exchanges)) as span:
        turns = _captured(parts, scope, exchanges)
        span.note(
            messages=sum(len(turn.messages) for turn in turns), redacted=sum(len(turn.redacted) for turn in turns)
        )
        return turns


def _captured(parts: Parts, scope: Scope, exchanges: Sequence[Sequence[MessageDraft]]) -> list[Turn]:
    scope = scope if scope.session is not None else replace(scope, session=str(uuid.uuid4()))
    now = parts.clock.now()
    redacted: dict[int, Kinds] = {}
    heard = [_cleaned(parts, Heard.of(exchange), redacted) for exchange in exchanges]
    drafts = [draft for exchange in heard for draft in exchange.drafts]
    vectors = document_vectors(parts, [message_text(draft.name, draft.text) for draft in drafts])
    vector_of = None if vectors is None else {id(d): v for d, v in zip(drafts, vectors, strict=bool(vectors))}
    with parts.store.write() as work:
        parts.accesses.drain(work)
        writer = _Writer(parts, work, scope, now, redacted)
        turns = [writer.heard(exchange) for exchange in heard]
        written = [(draft, message) for draft, message, _ in writer.rows]
        work.messages.add([(message, terms) for _, message, terms in writer.rows])
        items = [(message.partition, message.id) for _, message in written]
        ready = None if vector_of is None else [vector_of[id(draft)] for draft, _ in written if vector_of]
        put_vectors(parts, work, items, ready, now)
        if written:
            ask_if_pending(parts, work, scope.message_partition, scope.session or "", writer.said)
            said = [message for _, message in written]
            add_if_said(parts, work, scope.message_partition, scope.session or "", said)
    _push(parts, [message for _, message in written])
    parts.observer.count("mnemic.capture.messages", len(written))
    parts.observer.count("mnemic.capture.own_blocks", sum(turn.left_out for turn in turns))
    tell_redacted(parts, [kind for turn in turns for kind in turn.redacted])
    return turns


def _cleaned(parts: Parts, heard: Heard, redacted: dict[int, Kinds]) -> Heard:
    """What was heard without secrets; `redacted` notes by the id of a draft what it held."""
    drafts: list[MessageDraft] = []
    for draft in heard.drafts:
        clean, kinds = without_secrets(parts, draft)
        drafts.append(clean)
        if kinds:
            redacted[id(clean)] = kinds
    return replace(heard, drafts=drafts)


def complete(parts: Parts, scope: Scope, turn_id: str, draft: MessageDraft) -> Turn:
    """Add the other side of an exchange to a turn that was captured before. Raises `NotFoundError` for an unknown turn.

    Repeating a call with the same author and text changes nothing. What Mnemic itself had put into the prompt is left
    out.
    """
    now, heard = parts.clock.now(), Heard.of([draft])
    if not heard.drafts:
        with parts.store.read() as work:
            return replace(_turn(turn_id, work.messages.of_turn(scope.visibility, turn_id)), left_out=1)
    draft, kinds = without_secrets(parts, heard.drafts[0])
    vectors = document_vectors(parts, [message_text(draft.name, draft.text)])
    with parts.store.write() as work:
        known = work.messages.of_turn(scope.visibility, turn_id)
        turn = replace(_turn(turn_id, known), left_out=heard.cut, redacted=kinds)
        if any((m.role, m.name, m.text) == (draft.role, draft.name, draft.text) for m in known):
            return turn
        conversation = work.messages.conversation(known[0].partition, known[0].session, now)
        message = _message(known[0], draft, conversation.messages + 1, now)
        work.messages.add([(message, parts.terms(message.name, message.text))])
        put_vectors(parts, work, [(message.partition, message.id)], vectors, now)
        ask_if_pending(parts, work, message.partition, message.session, message.position)
        add_if_said(parts, work, message.partition, message.session, [message])
    _push(parts, [message])
    tell_redacted(parts, kinds)
    return replace(turn, messages=(*known, message))


def _push(parts: Parts, messages: Sequence[Message]) -> None:
    if parts.window is not None and messages:
        parts.window.push(messages)


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
    )


class _Writer:
    """Numbers the turns and messages of one conversation within one unit of work."""

    def __init__(
        self, parts: Parts, work: UnitOfWork, scope: Scope, now: datetime, redacted: Mapping[int, Kinds]
    ) -> None:
        self.rows: list[tuple[MessageDraft, Message, Terms]] = []
        self._redacted = redacted
        self._parts, self._work, self._now = parts, work, now
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
        )
        self.rows.append((draft, message, self._parts.terms(draft.name, draft.text)))
        if draft.external_id is not None:
            self._known[draft.external_id] = message
        return message
