"""Finds facts in users' messages by a model, or the rules of `text/facts`. Facts and the cursor `extracted` move in one
transaction, by compare and set, so that repeated runs write nothing twice. Never delays a chat.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from mnemic.engine.assimilate import Place, Prepared, Verdict, assimilate, fact_vectors, near_text, prepare
from mnemic.engine.edit import Editor
from mnemic.engine.engine import Engine, SessionRun, new_job
from mnemic.engine.fields import ended
from mnemic.engine.importance import estimate_worth
from mnemic.engine.indexing import ItemVectors, Layers, indexed_text
from mnemic.engine.kinds import EXTRACT
from mnemic.engine.lasting_facts import attributes_of, lasting_facts, put_derived, within_limit
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.model.bookkeeping import due_in
from mnemic.model.item import EXTRACTED, Fact, Kind, Message, Role, State, Trust
from mnemic.model.recall import MemoryQuery
from mnemic.model.records import Action, Job
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.ports.models import LayeredEmbedder, Llm
from mnemic.ports.store import UnitOfWork
from mnemic.text.facts.find import (
    Reply,
    Said,
    choose_facts,
    find_candidates,
    find_wishes,
    is_long_enough,
    is_within,
    join_clauses,
    shorten,
    terms_of,
)
from mnemic.text.facts.own_words import Scene
from mnemic.text.facts.prompt import PROMPT_VERSION, Asked, extraction_prompt, read_facts
from mnemic.text.facts.statements import MAX_ATTRIBUTE_CHARS, cut_pieces, split_pieces
from mnemic.text.facts.worth import are_wishes, piece_odds
from mnemic.text.prompts import language_of
from mnemic.text.sentences import sentences
from mnemic.text.slots import ORDER, is_of_project, is_work_order, slot_of
from mnemic.text.wordings import edition

if TYPE_CHECKING:
    from mnemic.text.facts.due import Evidence

MODEL_MESSAGES = 20
"""With a model, one job reads so many messages: at 15 s each they are well within its lease."""

RULE_MESSAGES = 200
"""Without a model, one transaction holds the facts of so many."""

SOURCE = "extraction"
"""The source of profile entries that come of it."""

_PERSONAL = (Kind.PREFERENCE, Kind.PERSONA)
_BELIEVED = (Verdict.ADD, Verdict.MERGE, Verdict.SUPERSEDE)
"""Decisions on facts that may be carried into the profile."""

TALK_MESSAGES = 8
"""Number of earlier messages in a prompt, so that the model knows what "it" is."""

MAX_NOTES = 8  # the newest: more would crowd out the talk in a small context
_LATEST = 2  # messages that may name whom the next one is about
LOOK_BACK = 200
"""Number of messages before the cursor that show what was already said."""

_log = logging.getLogger("mnemic.extract")


@dataclass(frozen=True, slots=True)
class Extracted:
    """A fact: its message, words, kind and result. `verdict` None: a dry run. `memory_id`: the memory that holds it;
    `other_id`: the one merged or in conflict. `fallback`: the failure for which rules read the message.
    """

    message_id: str
    text: str
    kind: Kind
    verdict: Verdict | None = None
    memory_id: str | None = None
    other_id: str | None = None
    reason: str = ""
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class ExtractReport:
    """What was, or would be, found in `messages` messages of the user; `left` messages of anybody are unread still."""

    session: str
    messages: int
    entries: tuple[Extracted, ...]
    left: int
    is_dry_run: bool


def extract(engine: Engine, scope: Scope, *, actor: str, is_dry_run: bool = False) -> ExtractReport:
    """Find new facts in the user's messages of the session. Raises `InvalidInputError` without a user or session, and
    the model's errors; earlier finds stay.
    """
    if scope.user is None or scope.session is None:
        raise InvalidInputError("fact extraction requires a user and a session; pass user=… and session=…")
    run = Extracting(engine, scope.message_partition, scope.session, actor)
    read, entries = run.look() if is_dry_run else run.run(most=None)
    return ExtractReport(scope.session, read, tuple(entries), run.left(), is_dry_run)


def add_if_said(
    engine: Engine, work: UnitOfWork, partition: Partition, session: str, messages: Sequence[Message]
) -> None:
    """Leave the job of extracting when the user said something; not where the user is not known."""
    if not engine.settings.life.extracts or partition.level is not Level.USER:
        return
    if any(is_readable(message) for message in messages):
        work.jobs.add([extract_job(engine, partition, session)])
        engine.ring()


def extract_job(engine: Engine, partition: Partition, session: str) -> Job:
    """The job that reads what is unread in a conversation when it runs."""
    return new_job(engine.clock.now(), partition, EXTRACT, session, {"session": session})


def unread(work: UnitOfWork, partition: Partition, session: str) -> int:
    """How many messages of a conversation, of anybody, are behind the cursor."""
    talk = work.conversations.get(partition, session)
    return 0 if talk is None else max(talk.messages - work.conversations.cursor(partition, session, EXTRACTED), 0)


def is_readable(message: Message) -> bool:
    """True for what a user said at some length, or takes back, and nobody distrusts."""
    is_told = message.role is Role.USER and message.state is State.ACTIVE
    return is_told and (is_long_enough(message.text) or _may_take_back(message))


Shown = Sequence[tuple[Message, Sequence["Evidence"]]]
"""Messages with their sentences that may show that something is done."""


def read_evidence_in(messages: Sequence[Message]) -> Shown:
    """What the user's own messages show to be done, read outside a transaction: it takes milliseconds a message."""
    from mnemic.text.facts.due import read_evidence

    told = [each for each in messages if each.role is Role.USER and each.trust is Trust.USER]
    read = [(each, read_evidence(each.text, each.observed_at)) for each in told]
    return [(message, evidence) for message, evidence in read if evidence]


def end_done(engine: Engine, work: UnitOfWork, shown: Shown, actor: str) -> None:
    """End the validity of what messages of one partition show to be done. `undo` reverts it."""
    if not shown:
        return
    from mnemic.engine.due import MOST_OPEN, open_until
    from mnemic.text.facts.due import shows_done

    now = engine.clock.now()
    for agent in dict.fromkeys(message.agent for message, _ in shown):
        visible = Visibility((shown[0][0].partition,), agent)
        editor = Editor(engine, work, visible, actor)
        query = MemoryQuery(now=now, filter=open_until(now, date.max), limit=MOST_OPEN)
        for memory in work.memories.list(visible, query):
            first = date.fromisoformat((due_in(memory.bookkeeping) or ("",))[0])
            done = (
                message
                for message, evidence in shown
                if message.agent == agent
                and any(shows_done(e, memory.text, first, memory.observed_at) for e in evidence)
            )
            if (message := next(done, None)) is not None:
                reason = f"done: message {message.id}"  # without its words, which an erasure would leave here
                editor.put(memory, ended(memory, message.observed_at), Action.FEEDBACK, reason)


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found in a message; `vectors`: of its facts, None where they are not made yet. `is_open`: the facts must
    still be chosen, from these and the `wishes`. `further`: facts over the limit, for the profile.
    """

    message: Message
    facts: Sequence[Fact]
    wishes: Sequence[Fact] = ()
    fallback: str = ""
    is_open: bool = False
    vectors: Sequence[ItemVectors | None] | None = None
    further: Sequence[Fact] = ()


@dataclass(frozen=True, slots=True)
class _Batch:
    messages: Sequence[Message]
    until: int


class Extracting(SessionRun):
    """One run over one conversation. `may_fall_back`: when the model fails, the rules read the message."""

    def __init__(
        self, engine: Engine, partition: Partition, session: str, actor: str, *, may_fall_back: bool = False
    ) -> None:
        super().__init__(engine, partition, session, actor, may_fall_back=may_fall_back)
        self._before: set[str] = set()
        self._scene = Scene()
        self._latest: deque[Message] = deque(maxlen=_LATEST)
        self._names: set[str] = set()
        self._replies: dict[str, Message] = {}
        self._corrected: dict[str, list[tuple[int, int]]] = {}

    def left(self) -> int:
        """How many messages are unread."""
        with self._engine.store.read() as work:
            return unread(work, self._partition, self._session)

    def look(self) -> tuple[int, list[Extracted]]:
        """What would be found: how many messages were read, and the facts."""
        after = self._begin()
        read, entries = 0, list[Extracted]()
        while (batch := self._next(after)).until > after:
            found = self._find_facts(batch.messages)
            read += len(found)
            entries += [_entry(each, fact) for each in found for fact in each.facts]
            after = batch.until
        return read, entries

    def run(self, most: int | None) -> tuple[int, list[Extracted]]:
        """Read what is unread, at most about `most` messages; ends where somebody else moved the cursor."""
        after = self._begin()
        read, entries = 0, list[Extracted]()
        while (most is None or read < most) and (batch := self._next(after)).until > after:
            self._take_back(batch.messages)
            found = self._find_facts(batch.messages)
            written = self._commit(after, batch.until, found)
            if written is None:
                break
            read += len(found)
            entries += written
            after = batch.until
        return read, entries

    def _begin(self) -> int:
        """The place of the cursor; and what the user had said before it."""
        with self._engine.store.read() as work:
            after = work.conversations.cursor(self._partition, self._session, EXTRACTED)
            start = max(0, after - LOOK_BACK)
            known = work.conversations.messages(self._partition, self._session, start, after - start) if after else []
        for message in known:
            if message.position <= after and is_readable(message):
                self._note(self._with_own_words(message))
        return after

    def _note_replies(self, messages: Sequence[Message]) -> None:
        """Keep, for each message of the user, the reply of the assistant that stands right before it."""
        for before, message in pairwise(messages):
            is_next = message.position == before.position + 1
            if is_next and message.role is Role.USER and before.role is Role.ASSISTANT and before.state is State.ACTIVE:
                self._replies[message.id] = before

    def _with_own_words(self, message: Message) -> Message:
        """The next message with blanks for the lines of a role play."""
        return replace(message, text=self._scene.follow(message.text))

    def _note(self, message: Message) -> None:
        self._names.update([message.name] if message.name else [])
        self._before.update(terms_of(message.text))
        self._latest.append(message)

    def _is_one_speaker(self, message: Message) -> bool:
        """False if several people speak as the user: "you" and "my mum" may then be anybody's."""
        return len(self._names.union([message.name] if message.name else [])) <= 1

    def _next(self, after: int) -> _Batch:
        """The next messages to read: as many as go into one transaction. Positions of what is not read, and of what
        was erased, go with those before them.
        """
        limit = RULE_MESSAGES if self._engine.llm is None else 1
        with self._engine.store.read() as work:
            talk = work.conversations.get(self._partition, self._session)
            found = work.conversations.messages(self._partition, self._session, after, RULE_MESSAGES)
            last = work.conversations.messages(self._partition, self._session, after - 1, 1) if after else []
        self._note_replies([*last, *found])
        taken = [message for message in found if is_readable(message)]
        # What is taken back must be stored, so such a message begins a batch.
        limit = next((place for place, message in enumerate(taken[:limit]) if place and _may_take_back(message)), limit)
        if len(taken) > limit:
            return _Batch(taken[:limit], taken[limit].position - 1)
        end = (
            talk.messages if talk is not None and len(found) < RULE_MESSAGES else found[-1].position if found else after
        )
        return _Batch(taken, end)

    def _take_back(self, messages: Sequence[Message]) -> None:
        """Apply what the first message takes back, unless several people speak as the user."""
        first = next(iter(messages), None)
        if first is None or self._scene.is_on or not self._is_one_speaker(first) or not _may_take_back(first):
            return
        from mnemic.engine.corrections import Correcting

        reply = self._replies.get(first.id)
        correcting = Correcting(self._engine, self._partition, self._session, self._actor)
        self._corrected = {first.id: correcting.run(first, reply.text if reply else "")}

    def _find_facts(self, messages: Sequence[Message]) -> list[_Found]:
        """The facts of some messages. The candidates of the rules are embedded together."""
        return _choose_facts(self._engine, [self._find_facts_in(message) for message in messages])

    def _find_facts_in(self, message: Message) -> _Found:
        """The facts of one message, or the rules' candidates. Raises the model's errors, unless rules may stand in."""
        said = Said(
            id=message.id,
            text=message.text,
            at=message.observed_at,
            trust=message.trust,
            before=frozenset(self._before),
            reply=self._reply(message),
            earlier=self._earlier(message),
        )
        own = self._with_own_words(message)
        fallback, llm, wishes = "", self._engine.llm, list[Fact]()
        try:
            facts = [] if llm is None else self._ask_model(llm, message, said)
        except MnemicError as error:
            fallback, facts = type(error).__name__, []
            _log.debug("session %s: %s", self._session, fallback)
            self._engine.observer.count("mnemic.extract.errors", kind=fallback)
            if not self._may_fall_back:
                raise
        if is_open := llm is None or bool(fallback):
            facts = find_candidates(replace(said, text=own.text))
            can_judge = any(isinstance(each, LayeredEmbedder) for each in self._engine.embedders)
            wishes = find_wishes(replace(said, text=own.text), facts) if can_judge else []
        self._note(own)
        spans = self._corrected.get(message.id, ())
        facts = [fact for fact in facts if not any(_is_said_in(fact, message, span) for span in spans)]
        return _Found(own, facts, wishes, fallback, is_open=is_open)

    def _earlier(self, message: Message) -> list[tuple[str, str]]:
        """The ids and texts of the last messages that may name whom this one is about."""
        if not self._is_one_speaker(message):
            return []
        known = [each for each in self._latest if _is_known(each, message) and each.trust is message.trust]
        return [(each.id, each.text[:MAX_ATTRIBUTE_CHARS]) for each in known]

    def _reply(self, message: Message) -> Reply | None:
        """What the message answers; nothing where several people speak as the user."""
        reply = self._replies.pop(message.id, None)
        if reply is None or not self._is_one_speaker(message):
            return None
        return Reply(reply.id, reply.text, reply.trust)

    def _ask_model(self, llm: Llm, message: Message, said: Said) -> list[Fact]:
        """Show the model the talk before the message, and the memories that are nearest to it."""
        life, after = self._engine.settings.life, max(0, message.position - 1 - TALK_MESSAGES)
        with self._engine.store.read() as work:
            found = work.conversations.messages(self._partition, self._session, after, TALK_MESSAGES)
        nears = near_text(self._engine, Place(self._partition, message.agent).visibility, message.text)
        notes = sorted((memory.id, memory.text) for memory in nears if memory.state is State.ACTIVE)
        asked = Asked(
            said,
            talk=[each for each in found if each.position < message.position and _is_known(each, message)],
            notes=[text for _, text in notes[-MAX_NOTES:]],
            most=life.facts_per_message,
            has_learnings=life.promotes_learnings and message.agent is not None,
        )
        prompt = extraction_prompt(asked, language_of([message.text]), llm.capabilities.context_tokens)
        return read_facts(llm.complete(prompt), asked, f"{llm.name} {PROMPT_VERSION}{edition()}")

    def _commit(self, after: int, until: int, found: Sequence[_Found]) -> list[Extracted] | None:
        """Write the facts and move the cursor. None if another process moved it, or erased one of the messages."""
        pairs = [(each, fact) for each in found for fact in each.facts]
        places = [self._place(each.message, fact) for each, fact in pairs]
        vectors = [vector for each in found if each.vectors is not None for vector in each.vectors]
        is_known = len(vectors) == len(pairs)
        ready = self._prepare_facts(places, [fact for _, fact in pairs], vectors if is_known else None)
        entries: list[Extracted] = []
        shown = read_evidence_in([each.message for each in found]) if len(self._names) <= 1 else ()
        with self._engine.store.write() as work:
            ids = {each.message.id for each in found} | {entry.source_id for _, f in pairs for entry in f.provenance}
            if len(work.messages.get(self._visible, [*ids])) < len(ids):
                return None
            if not work.conversations.move(self._partition, self._session, EXTRACTED, after, until):
                return None
            for (each, fact), place, prepared in zip(pairs, places, ready, strict=True):
                decision = assimilate(self._engine, work, place, [prepared], actor=self._actor)[0]
                entries.append(
                    replace(
                        _entry(each, fact),
                        verdict=decision.action,
                        memory_id=decision.memory_id,
                        other_id=decision.other_id,
                        reason=decision.reason,
                    )
                )
            end_done(self._engine, work, shown, self._actor)
            made = zip(pairs, places, entries, strict=True)
            believed = [f for (_, f), place, entry in made if entry.verdict in _BELIEVED and not place.private_agent]
            further = [f for each in found for f in each.further if not self._place(each.message, f).private_agent]
            self._fill_profile(work, [each.message for each in found], [*further, *believed])
        self._engine.observer.count("mnemic.extract.messages", len(found))
        self._engine.observer.count("mnemic.extract.facts", len(entries))
        _log.debug("session %s: %d facts in %d messages", self._session, len(entries), len(found))
        return entries

    def _fill_profile(self, work: UnitOfWork, messages: Sequence[Message], facts: Sequence[Fact]) -> None:
        """Carry what lasts into the user's profile; nothing where several people speak as the user."""
        if len(self._names) <= 1:
            lasting = {**attributes_of(facts), **lasting_facts(messages, {})}
            put_derived(self._engine, work, self._partition, lasting, source=SOURCE)

    def _place(self, message: Message, fact: Fact) -> Place:
        """Learnings for everyone belong to the agent, and all else to the user. Facts from a project are private to it,
        except for facts about the user that are true everywhere.
        """
        if fact.kind is Kind.LEARNING and message.agent is not None:
            agent = Partition(self._partition.org, Level.AGENT, message.agent)
            return Place(agent, message.agent, heard=self._partition)
        is_personal = fact.slot or slot_of(fact.text) or fact.kind in _PERSONAL
        is_shared = is_personal and not (message.private_agent and _is_of_project(message, fact))
        return Place(self._partition, message.agent, None if is_shared else message.private_agent)

    def _prepare_facts(
        self, places: Sequence[Place], facts: Sequence[Fact], vectors: Sequence[ItemVectors | None] | None
    ) -> list[Prepared]:
        """The facts of one place are embedded together, unless their vectors are known."""
        ready: dict[int, Prepared] = {}
        for place in dict.fromkeys(places):
            mine = [index for index, each in enumerate(places) if each == place]
            known = None if vectors is None else [vectors[index] for index in mine]
            ready |= zip(mine, prepare(self._engine, place, [facts[index] for index in mine], known), strict=True)
        return [ready[index] for index in range(len(facts))]


def _is_said_in(fact: Fact, message: Message, span: tuple[int, int]) -> bool:
    first, *_ = fact.provenance
    return first.source_id == message.id and span[0] <= first.start < span[1]


def _may_take_back(message: Message) -> bool:
    """True if the user's own message may correct or take back something said before."""
    from mnemic.text.facts.corrections import takes_back

    return message.trust is Trust.USER and takes_back(message.text)


def _is_known(earlier: Message, message: Message) -> bool:
    return earlier.state is State.ACTIVE and earlier.private_agent in (None, message.private_agent)


def _is_of_project(message: Message, fact: Fact) -> bool:
    """True if the fact, or the sentence that it was found in, is about the current project."""
    if is_work_order(fact.slot):
        return True
    spans = [(entry.start, entry.end) for entry in fact.provenance if entry.source_id == message.id]
    edges = [(left, right) for left, right in sentences(message.text) for a, b in spans if left <= a and b <= right]
    return any(map(is_of_project, (fact.text, *(message.text[left:right] for left, right in edges))))


def _choose_facts(engine: Engine, found: Sequence[_Found]) -> list[_Found]:
    """Each message with those of its candidates that are worth keeping, and their vectors; what a model found stays."""
    opened = [each for each in found if each.is_open]
    candidates, wishes = [f for each in opened for f in each.facts], [f for each in opened for f in each.wishes]
    if not candidates and not wishes:
        return list(found)
    layers: Layers = {}
    vectors = fact_vectors(engine, [*candidates, *wishes], layers)
    likely = iter(estimate_worth(engine, candidates, vectors[: len(candidates)], layers))
    kept, limit = _choose_wishes(wishes, layers), engine.settings.life.facts_per_message
    known = dict(zip([fact.text for fact in (*candidates, *wishes)], vectors, strict=True))
    chosen = list[_Found]()
    for each in found:
        made = each
        if each.is_open:
            asked = [wish for wish in each.wishes if wish.text in kept]
            worth = choose_facts(each.facts, [next(likely) for _ in each.facts])
            facts = [fact for place in worth if (fact := each.facts[place]).slot or not is_within(fact, asked)]
            made = replace(each, facts=join_clauses(each.message.text, facts), wishes=asked)
        chosen.append(made)
    shorter = iter(_cut_pieces(engine, [fact for each in chosen if each.is_open for fact in each.facts]))
    for place, each in enumerate(chosen):
        if each.is_open:
            facts, further = within_limit([*(next(shorter) for _ in each.facts), *each.wishes], limit)
            chosen[place] = replace(each, facts=facts, is_open=False, further=further)
    others = [fact for each in chosen for fact in each.facts if fact.text not in known]
    known |= zip([fact.text for fact in others], fact_vectors(engine, others), strict=True)
    return [replace(each, vectors=[known[fact.text] for fact in each.facts]) for each in chosen]


def _cut_pieces(engine: Engine, facts: Sequence[Fact]) -> list[Fact]:
    """The facts without openings, asides and comments, as far as the shipped embedder can tell them."""
    split = [[] if fact.slot.startswith(ORDER) else split_pieces(fact.text) for fact in facts]
    many = [(fact, spans) for fact, spans in zip(facts, split, strict=True) if len(spans) > 1]
    pieces = [
        replace(fact, text=fact.text[start:end], slot="", value="") for fact, spans in many for start, end in spans
    ]
    layers: Layers = {}
    fact_vectors(engine, pieces, layers)
    rows = [layers.get(indexed_text(piece)) for piece in pieces]
    if not rows or any(row is None or not row.size for row in rows):
        return list(facts)
    odds = iter(piece_odds([fact.text for fact, _ in many], [spans for _, spans in many], np.array(rows)))
    return [
        shorten(fact, cut_pieces(fact.text, spans, next(odds))) if len(spans) > 1 else fact
        for fact, spans in zip(facts, split, strict=True)
    ]


def _choose_wishes(wishes: Sequence[Fact], layers: Layers) -> set[str]:
    """The texts of the wishes that are standing ones."""
    rows = {wish.text: row for wish in wishes if (row := layers.get(indexed_text(wish))) is not None and row.size}
    judged = are_wishes([*rows], np.array([*rows.values()])) if rows else []
    return {text for text, is_wish in zip(rows, judged, strict=True) if is_wish}


def _entry(found: _Found, fact: Fact) -> Extracted:
    return Extracted(found.message.id, fact.text, fact.kind, fallback=found.fallback)
