"""The curator: reads a whole day's messages as one story, in the schedules' time zone, and keeps what will be worth
knowing in six months.

Gems and the reading position are one transaction per part of a day: turns are released when their gems are committed,
and a repeated run finds nothing. The model is asked outside any transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import reduce
from itertools import groupby

from mnemic.engine.assimilate import Place, Prepared, assimilate, near_text, prepare
from mnemic.engine.edit import Editor
from mnemic.engine.engine import Engine
from mnemic.engine.gem_facts import condense, judge_gems, rest_on_facts, take_in_facts
from mnemic.engine.jobs import zone_of
from mnemic.engine.kinds import CURATE
from mnemic.errors import BadReplyError
from mnemic.model.bookkeeping import GEM_FIELDS, note_gem
from mnemic.model.chat import Finish, Usage
from mnemic.model.item import (
    CURATE_TRIES,
    CURATED,
    IMPORTANCE_WORDS,
    Conversation,
    Decision,
    Fact,
    Gem,
    Kind,
    Memory,
    Message,
    Provenance,
    Role,
    Trust,
    Verdict,
    turn_range,
)
from mnemic.model.records import Action
from mnemic.model.scope import Partition, Scope, Visibility
from mnemic.ports.models import Llm
from mnemic.ports.store import UnitOfWork
from mnemic.text import curator
from mnemic.text.curator import CURATOR_VERSION, RULES_VERSION, curator_prompt, gem_records, message_chars, room_of
from mnemic.text.gems import Found, Rejected, checked_gems, read_gems
from mnemic.text.narrative import ToldTurn, divided, inline, numbered, shown
from mnemic.text.prompts import counted
from mnemic.text.wordings import edition

MESSAGES_BEFORE = 6
"""Number of messages before a part in its prompt: a decision may refer to them."""

LINE_CHARS = 600  # of an earlier message: it only explains, and six of them must fit
MAX_WHOLE_CHARS = 4000  # of a user's messages in a part, to find gems about the same subjects
RULES = "rules"
"""What is named as the model where there is none."""


@dataclass(frozen=True, slots=True)
class Made:
    """What was found in some turns. `version` is that of the provenance; `may_stay`: another run may find more, so the
    turns of what was rejected stay.
    """

    turns: tuple[ToldTurn, ...]
    found: tuple[Found, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    model: str = ""
    version: str = ""
    may_stay: bool = False
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class KeptGem:
    """A valid gem, and what was done with it: see `mnemic.model.item.Decision`."""

    gem: Gem
    verdict: Verdict
    memory_id: str | None
    other_id: str | None
    reason: str

    @classmethod
    def of(cls, gem: Gem, decision: Decision) -> KeptGem:
        """The gem with a decision."""
        return cls(gem, decision.action, decision.memory_id, decision.other_id, decision.reason)


@dataclass(frozen=True, slots=True)
class RefusedGem:
    """A gem that was none: its beginning, why, the turns of a conversation that it named ("" where none), and whether
    they were let go after the last run that may try.
    """

    excerpt: str
    reason: str
    conversation_id: str
    turn_range: str
    is_let_go: bool

    @classmethod
    def of(cls, rejected: Rejected, let_go: Collection[str]) -> RefusedGem:
        """What was rejected; `let_go` are the conversations whose turns were."""
        session = rejected.turns[-1].conversation_id if rejected.turns else ""
        turns = sorted({turn.turn for turn in rejected.turns if turn.conversation_id == session})
        is_let_go = session in let_go if session else bool(let_go)
        return cls(rejected.excerpt, rejected.reason, session, turn_range(turns) if turns else "", is_let_go)


def ask_rules(turns: Sequence[ToldTurn]) -> Made:
    """What the rules find."""
    gems = checked_gems(gem_records(turns), turns, needs_reason=False)
    return Made(tuple(turns), gems.found, gems.rejected, RULES, RULES_VERSION)


def ask_model(llm: Llm, turns: Sequence[ToldTurn], tries: int, around: Mapping[str, Sequence[str]]) -> Made:
    """Ask a model, in halves when its reply is cut. Raises its errors, and `BadReplyError` for a malformed list."""
    completion = llm.complete(curator_prompt(turns, llm.capabilities.context_tokens, tries, around))
    gems = read_gems(completion.text, turns)
    is_cut = gems.is_cut or completion.finish is Finish.LENGTH
    if is_cut and len(turns) > 1:
        middle = len(turns) // 2
        halves = [ask_model(llm, numbered(half), tries, around) for half in (turns[:middle], turns[middle:])]
        return Made(
            tuple(turns),
            tuple(found for half in halves for found in half.found),
            tuple(rejected for half in halves for rejected in half.rejected),
            *(llm.name, halves[0].version, True),
            usage=sum((half.usage for half in halves), completion.usage),
        )
    if not gems.is_answer and not gems.found:
        reason = f": {gems.rejected[0].reason}" if gems.rejected else ""
        raise BadReplyError(f"the curator's reply contains no list of gems{reason}")
    version = f"{llm.name} {CURATOR_VERSION}{edition()}"
    return Made(tuple(turns), gems.found, gems.rejected, llm.name, version, may_stay=True, usage=completion.usage)


def place_of(partition: Partition, found: Found) -> Place:
    """A gem gets the agent that all its messages share, and the project of its turns."""
    agents = {message.agent for turn in found.turns for message in turn.messages}
    return Place(partition, agents.pop() if len(agents) == 1 else None, _project_of(found.turns) or None)


def _project_of(turns: Sequence[ToldTurn]) -> str:
    return turns[0].messages[0].private_agent or "" if turns else ""


def fact_of(found: Found, made: Made) -> Fact:
    """The gem as a fact: of all messages of its turns that say something, of the user's alone where rules found it."""
    gem = found.gem
    shown = [message for turn in found.turns for message in turn.messages if counted(message).strip()]
    own = [message for message in shown if message.role is Role.USER]
    sources = own if made.model in (RULES, "") and own else shown
    told = {name: getattr(gem, name) for name in GEM_FIELDS}
    return Fact(
        text=gem.gem,
        kind=Kind.GEM,
        observed_at=_latest(sources, gem),
        importance=IMPORTANCE_WORDS[gem.importance],
        confidence=gem.confidence,
        categories=gem.categories,
        context=gem.context,
        snippet=gem.snippet,
        provenance=tuple(
            Provenance(source.id, 0, len(counted(source)), CURATE, made.version, 1.0) for source in sources
        ),
        trust=Trust.lowest(*(source.trust for source in sources)),
        bookkeeping=note_gem(told, ""),
    )


def _latest(sources: Sequence[Message], gem: Gem) -> datetime:
    """When it was said: the time that the gem names, in the zone in which times are stored."""
    return datetime.fromisoformat(gem.timestamp).astimezone(sources[0].observed_at.tzinfo)


MOST_CONVERSATIONS = 100_000  # bounds the list that one job reads
_PAGE = 256  # messages read at once: about a day of one conversation
_EVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Day:
    """The unread turns of one day, by conversation, the one that began first in front."""

    date: date
    conversations: tuple[tuple[ToldTurn, ...], ...]


class Backlog:
    """The unread days of a partition, oldest first, from the last reported one on. Skips `held` conversations."""

    def __init__(self, engine: Engine, partition: Partition, zone: tzinfo, held: Collection[str] = ()) -> None:
        self._engine, self._partition, self._zone = engine, partition, zone
        self.held = set(held)
        self._places: dict[str, int] = {}

    def place(self, session: str) -> int:
        """The position up to which a conversation was read."""
        return self._places[session]

    def read(self, session: str, until: int) -> None:
        """The conversation was read up to and with a position."""
        self._places[session] = until

    def forget(self) -> None:
        """Read the cursors again, because another process has moved one."""
        self._places.clear()

    def next_day(self, last: date) -> Day | None:
        """The oldest day with unread turns up to `last`, or None. A turn belongs to the day it began; days never go
        back within a conversation, whatever the time of later positions.
        """
        with self._engine.store.read() as work:
            found = work.upkeep.idle(CURATED, _EVER, MOST_CONVERSATIONS, self._partition)
            talks = [talk for talk in found if talk.session not in self.held]
            first = {talk.session: self._first(work, talk) for talk in talks}
            days = {session: self._day(message) for session, message in first.items() if message is not None}
            day = min(days.values(), default=None)
            if day is None or day > last:
                return None
            told = [self._turns(work, talk, day) for talk in talks if days.get(talk.session) == day]
        told.sort(key=lambda turns: (turns[0].said_at, turns[0].conversation_id))
        return Day(day, tuple(tuple(turns) for turns in told))

    def _first(self, work: UnitOfWork, talk: Conversation) -> Message | None:
        after = self._places.get(talk.session)
        if after is None:
            after = self._places[talk.session] = work.conversations.cursor(self._partition, talk.session, CURATED)
        return next(iter(work.conversations.messages(self._partition, talk.session, after, 1)), None)

    def _day(self, message: Message) -> date:
        return message.observed_at.astimezone(self._zone).date()

    def _turns(self, work: UnitOfWork, talk: Conversation, day: date) -> list[ToldTurn]:
        """The turns of a conversation up to the first one that began on a later day."""
        groups: list[list[Message]] = []
        after, is_end = self._places[talk.session], False
        while not is_end:
            page = work.conversations.messages(self._partition, talk.session, after, _PAGE)
            for message in page:
                place, last = (message.turn_id, message.private_agent), groups[-1][-1] if groups else None
                is_same = last is not None and (last.turn_id, last.private_agent) == place
                if not is_same and self._day(message) > day:
                    return [self._tell_turn(group, group[-1].position) for group in groups]
                if is_same:
                    groups[-1].append(message)
                else:
                    groups.append([message])
            is_end = len(page) < _PAGE
            after = page[-1].position if page else after
        return [self._tell_turn(group, group[-1].position) for group in groups[:-1]] + [
            self._tell_turn(groups[-1], max(talk.messages, groups[-1][-1].position))
        ]

    def _tell_turn(self, messages: Sequence[Message], until: int) -> ToldTurn:
        first = messages[0]
        return ToldTurn(
            conversation_id=first.session,
            turn=first.turn,
            said_at=first.observed_at.astimezone(self._zone),
            until=until,
            messages=tuple(messages),
        )


MOST_TRIES = 3
"""Runs after which the turns of a refused gem are let go."""

PARTS_AT_ONCE = 3
"""One job asks a model about so many parts of days, which is well within its lease; the next job reads on."""

DAYS_AT_ONCE = 50
"""One job reads so many by rules."""

REASON_CHARS = 300  # of an error, for a line of the log
_log = logging.getLogger("mnemic.curate")


@dataclass(frozen=True, slots=True)
class CuratedDay:
    """One day's result: turns read, gems with their decisions, refusals. `model`: "rules" without one."""

    day: str
    turns: int = 0
    gems: tuple[KeptGem, ...] = ()
    refused: tuple[RefusedGem, ...] = ()
    model: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class CurateReport:
    """The days that were, or would be, curated; `held` names the conversations of which turns wait for the next run."""

    days: tuple[CuratedDay, ...]
    held: tuple[str, ...]
    is_dry_run: bool


def curate(
    engine: Engine, scope: Scope, *, actor: str, day: date | None = None, is_dry_run: bool = False
) -> CurateReport:
    """Curate the conversations of the scope's user (without one: its session) up to a day, default yesterday in the
    schedules' time zone. Raises the model's errors; commits stay. A dry run asks the model too, and compares with what
    is stored.
    """
    run = Curating(engine, scope.message_partition, actor, last=day)
    days = run.plan() if is_dry_run else run.run(None)
    return CurateReport(tuple(days), tuple(sorted(run.held)), is_dry_run)


class _UndoneError(Exception):
    """Ends a unit of work that was only a trial."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Gems of one part that are written in one place, ready to be written."""

    place: Place
    found: tuple[Found, ...]
    ready: tuple[Prepared, ...]


class Curating:
    """One run over a partition. `held`: conversations to skip. What a failing model did not read stays unread."""

    def __init__(
        self, engine: Engine, partition: Partition, actor: str, *, last: date | None = None, held: Sequence[str] = ()
    ) -> None:
        self._engine, self._partition, self._actor = engine, partition, actor
        zone = zone_of(engine.settings.life.time_zone)
        self._last = last or engine.clock.now().astimezone(zone).date() - timedelta(days=1)
        self._backlog = Backlog(engine, partition, zone, held)
        self.held = self._backlog.held
        self._visible = Visibility((partition,), None)
        self._left = -1

    @property
    def is_unfinished(self) -> bool:
        """True when the run ended because it had done enough."""
        return self._left == 0

    def run(self, most: int | None) -> list[CuratedDay]:
        """Curate day after day, at most `most` parts of days."""
        days: list[CuratedDay] = []
        self._left = -1 if most is None else most
        while self._left and (day := self._backlog.next_day(self._last)) is not None:
            told = CuratedDay(day.date.isoformat())
            for part in self._parts_of(day):
                if not self._left:
                    break
                self._left -= 1
                done = self._curate_part(part)
                if done is None:
                    self._backlog.forget()
                    break
                told = _add_part(told, done)
            if told.turns:
                days.append(told)
                self._count(told)
        return days

    def plan(self) -> list[CuratedDay]:
        """What `run` would do now; nothing is written."""
        days: list[tuple[CuratedDay, list[tuple[Made, list[_Batch]]]]] = []
        while (day := self._backlog.next_day(self._last)) is not None:
            parts = [(made, self._batches(made)) for made in map(self._make_gems, self._parts_of(day))]
            days.append((CuratedDay(day.date.isoformat()), parts))
            for conversation in day.conversations:
                self._backlog.read(conversation[-1].conversation_id, conversation[-1].until)
        planned: list[CuratedDay] = []
        with suppress(_UndoneError), self._engine.store.write() as work:
            for told, parts in days:
                done = [
                    _Done(made, self._write_gems(work, batches), _refuse_gems(made.rejected)) for made, batches in parts
                ]
                planned.append(reduce(_add_part, done, told))
            raise _UndoneError
        return planned

    def _parts_of(self, day: Day) -> list[list[ToldTurn]]:
        llm = self._engine.llm
        room = curator.ROOM_TOKENS if llm is None else room_of(llm.capabilities.context_tokens)
        runs: list[list[ToldTurn]] = []  # of one project each, so no gem mixes two
        for conversation in sorted(day.conversations, key=_project_of):
            runs += (list(run) for _, run in groupby(conversation, key=lambda turn: _project_of([turn])))
        groups = [list(group) for _, group in groupby(runs, key=_project_of)]
        return [part for group in groups for part in divided(group, room, message_chars(room))]

    def _curate_part(self, part: Sequence[ToldTurn]) -> _Done | None:
        """One part, read and committed; None when somebody else was faster."""
        turns = [turn for turn in part if turn.conversation_id not in self.held]
        if not turns:
            return _Done(Made(()), (), ())
        made = self._make_gems(turns)
        batches = self._batches(made)
        with self._engine.store.write() as work:
            moves = self._moves(work, made)
            ids = [message.id for found in made.found for turn in found.turns for message in turn.messages]
            if moves is None or len(work.messages.get(self._visible, list(dict.fromkeys(ids)))) < len(set(ids)):
                return None
            gems = self._write_gems(work, batches)
            for move in moves:
                move.apply(work, self._partition)
        if self._engine.window is not None:
            self._engine.window.moved(self._partition, [move.session for move in moves], self._engine.clock.now())
        for move in moves:
            self._backlog.read(move.session, move.to)
        self._backlog.held.update(move.session for move in moves if move.is_held)
        let_go = {move.session for move in moves if move.is_let_go}
        return _Done(made, gems, _refuse_gems(made.rejected, let_go))

    def _make_gems(self, turns: Sequence[ToldTurn]) -> Made:
        """What is found in a part: by the model, in halves where its reply was cut; by rules without one."""
        turns = numbered(turns)
        if not any(turn.says_anything for turn in turns):
            return Made(tuple(turns))
        if self._engine.llm is None:
            return self._ask_rules(turns)
        made = ask_model(self._engine.llm, turns, self._tries(turns), self._look_around(turns))
        return replace(made, found=tuple(condense(self._engine, made.found)))

    def _look_around(self, turns: Sequence[ToldTurn]) -> dict[str, list[str]]:
        """The messages just before, and the gems about the same subjects with the user's marks, by block name."""
        first = turns[0].messages[0]
        own = [counted(each) for turn in turns for each in turn.messages if each.role is Role.USER]
        found = near_text(self._engine, self._visible, "\n".join(own)[:MAX_WHOLE_CHARS] or " ")
        after = max(0, first.position - 1 - MESSAGES_BEFORE)
        with self._engine.store.read() as work:
            said = work.conversations.messages(self._partition, first.session, after, MESSAGES_BEFORE)
            kept = [f"- {inline(memory.text)}{self._mark(work, memory)}" for memory in found]
        before = [each for each in said if each.position < first.position]
        talk = [shown(each, LINE_CHARS) for each in before if each.private_agent in (None, first.private_agent)]
        return {"BEFORE": talk, "KEPT": kept}

    def _mark(self, work: UnitOfWork, memory: Memory) -> str:
        entries = work.history.of(self._visible, memory.id)
        marks = [entry for entry in entries if entry.action is Action.FEEDBACK]
        return f" (marked {'outdated' if marks[-1].after else 'still relevant'})" if marks else ""

    def _ask_rules(self, turns: Sequence[ToldTurn]) -> Made:
        made = ask_rules(turns)
        with self._engine.store.read() as work:
            found = rest_on_facts(self._engine, work, self._partition, made.found)
        return replace(made, found=tuple(condense(self._engine, found)))

    def _tries(self, turns: Sequence[ToldTurn]) -> int:
        sessions = {turn.conversation_id for turn in turns}
        with self._engine.store.read() as work:
            return max(work.conversations.cursor(self._partition, session, CURATE_TRIES) for session in sessions)

    def _batches(self, made: Made) -> list[_Batch]:
        """The gems as facts by the place where they belong, with what takes time."""
        batches: list[_Batch] = []
        for place in dict.fromkeys(place_of(self._partition, found) for found in made.found):
            found = tuple(each for each in made.found if place_of(self._partition, each) == place)
            facts = [fact_of(each, made) for each in found]
            ready = prepare(self._engine, place, facts)
            with self._engine.store.read() as work:
                ready = judge_gems(self._engine, work, place.partition, ready)
            batches.append(_Batch(place, found, tuple(ready)))
        return batches

    def _write_gems(self, work: UnitOfWork, batches: Sequence[_Batch]) -> list[KeptGem]:
        gems: list[KeptGem] = []
        for batch in batches:
            decisions: Sequence[Decision] = assimilate(self._engine, work, batch.place, batch.ready, actor=self._actor)
            editor = Editor(self._engine, work, batch.place.visibility, self._actor)
            take_in_facts(self._engine, work, editor, batch.found, decisions)
            gems += [KeptGem.of(found.gem, each) for found, each in zip(batch.found, decisions, strict=True)]
        return gems

    def _moves(self, work: UnitOfWork, made: Made) -> list[_Move] | None:
        """How far each conversation is read now; None when one of them is not where it was."""
        moves: list[_Move] = []
        for session, until in {turn.conversation_id: turn.until for turn in made.turns}.items():
            was = work.conversations.cursor(self._partition, session, CURATED)
            if was != self._backlog.place(session):
                return None
            tries = work.conversations.cursor(self._partition, session, CURATE_TRIES)
            moves.append(_move(session, (was, until), tries, made))
        return moves

    def _count(self, told: CuratedDay) -> None:
        observer = self._engine.observer
        observer.count("mnemic.curate.turns", told.turns)
        observer.count("mnemic.curate.gems", len(told.gems))
        observer.count("mnemic.curate.refused", len(told.refused))
        _log.info("curated %s: %d turns, %d gems, %d rejected", told.day, told.turns, len(told.gems), len(told.refused))


@dataclass(frozen=True, slots=True)
class _Done:
    """One part, done."""

    made: Made
    gems: Sequence[KeptGem]
    refused: Sequence[RefusedGem]


@dataclass(frozen=True, slots=True)
class _Move:
    """How far a conversation was read, and how often turns of it stayed behind."""

    session: str
    was: int
    to: int
    was_tries: int
    tries: int
    is_held: bool
    is_let_go: bool

    def apply(self, work: UnitOfWork, partition: Partition) -> None:
        """Move what moves; the caller has looked where it stands, within the same unit of work."""
        if self.to != self.was:
            work.conversations.move(partition, self.session, CURATED, self.was, self.to)
        if self.tries != self.was_tries:
            work.conversations.move(partition, self.session, CURATE_TRIES, self.was_tries, self.tries)


def _move(session: str, span: tuple[int, int], tries: int, made: Made) -> _Move:
    """Read a conversation up to its first refused gem; after three such runs at one place, to its end. A refused gem
    without a turn may come from any.
    """
    was, until = span
    stay = [
        turn.first_position
        for rejected in made.rejected
        for turn in rejected.turns or made.turns
        if turn.conversation_id == session
    ]
    if not stay or not made.may_stay:
        return _Move(session, was, until, tries, 0, is_held=False, is_let_go=False)
    to = max(was, min(stay) - 1)
    runs = 1 + (tries if to == was else 0)
    if runs >= MOST_TRIES:
        return _Move(session, was, until, tries, 0, is_held=False, is_let_go=True)
    return _Move(session, was, to, tries, runs, is_held=True, is_let_go=False)


def _refuse_gems(rejected: Sequence[Rejected], let_go: Sequence[str] | set[str] = ()) -> list[RefusedGem]:
    return [RefusedGem.of(each, let_go) for each in rejected]


def _add_part(told: CuratedDay, done: _Done) -> CuratedDay:
    made = done.made
    return replace(
        told,
        turns=told.turns + len(made.turns),
        gems=(*told.gems, *done.gems),
        refused=(*told.refused, *done.refused),
        model=made.model or told.model,
        usage=told.usage + made.usage,
    )
