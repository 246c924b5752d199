"""The curator: reads what was said, a whole day as one story, and keeps what will be worth knowing in six months.

What it keeps, and how far each conversation was read, is one transaction for each part of a day: a turn is released
only when its gems are committed, and a run that is repeated finds nothing left. The model is asked outside any
transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import reduce
from typing import NoReturn

from mnemic.engine.cron import zone_of
from mnemic.engine.facts.assimilate import Place, Prepared, assimilate, prepare
from mnemic.engine.facts.curated import KeptGem, Made, RefusedGem, ask_model, ask_rules, fact_of, place_of
from mnemic.engine.facts.days import Backlog, Day
from mnemic.engine.parts import Parts
from mnemic.errors import MnemicError
from mnemic.model.conversation import CURATE_TRIES, CURATED
from mnemic.model.llm import Usage
from mnemic.model.scope import Partition, Scope, Visibility
from mnemic.model.verdict import Decision
from mnemic.ports.store import UnitOfWork
from mnemic.text import gem_rules
from mnemic.text.curator import message_chars, room_of
from mnemic.text.gems import Found, Rejected
from mnemic.text.narrative import ToldTurn, divided, numbered

MOST_TRIES = 3
"""Runs after which the turns of a refused gem are let go."""

PARTS_AT_ONCE = 3
"""One job asks a model about so many parts of days, which is well within its lease; the next job reads on."""

DAYS_AT_ONCE = 50
"""One job reads so many by rules."""

REASON_CHARS = 300
_log = logging.getLogger("mnemic.curate")


@dataclass(frozen=True, slots=True)
class CuratedDay:
    """What became of one day: how many turns were read, the gems with what was done with each, and what was refused.

    `model` is the name of the language model, "rules" without one; `fallback` the failure for which the rules did it.
    """

    day: str
    turns: int = 0
    gems: tuple[KeptGem, ...] = ()
    refused: tuple[RefusedGem, ...] = ()
    model: str = ""
    fallback: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class CurateReport:
    """The days that were, or would be, curated; `held` names the conversations of which turns wait for the next run."""

    days: tuple[CuratedDay, ...]
    held: tuple[str, ...]
    is_dry_run: bool


def curate(
    parts: Parts, scope: Scope, *, actor: str, day: date | None = None, is_dry_run: bool = False
) -> CurateReport:
    """Curate all conversations of the scope's user (without one: of its session) up to and with a day, by default
    yesterday in the time zone of the schedules.

    Raises the errors of the language model; what was committed before one stays. A dry run asks the model too, and says
    what would be done with its gems beside what is stored now.
    """
    run = Curating(parts, scope.message_partition, actor, last=day)
    days = run.plan() if is_dry_run else run.run(None)
    return CurateReport(tuple(days), tuple(sorted(run.held)), is_dry_run)


class _UndoneError(Exception):
    """Ends a unit of work that was only a trial."""


def _undo() -> NoReturn:
    raise _UndoneError


@dataclass(frozen=True, slots=True)
class _Batch:
    """Gems of one part that are written in one place, ready to be written."""

    place: Place
    found: tuple[Found, ...]
    ready: tuple[Prepared, ...]


class Curating:
    """One run over one partition. `held`: conversations that wait for another run. `may_fall_back`: when the model
    fails, the rules do its work.
    """

    def __init__(
        self,
        parts: Parts,
        partition: Partition,
        actor: str,
        *,
        last: date | None = None,
        held: Sequence[str] = (),
        may_fall_back: bool = False,
    ) -> None:
        self._parts, self._partition, self._actor = parts, partition, actor
        self._may_fall_back = may_fall_back
        zone = zone_of(parts.settings.life.time_zone)
        self._last = last or parts.clock.now().astimezone(zone).date() - timedelta(days=1)
        self._backlog = Backlog(parts, partition, zone, held)
        self._visible = Visibility((partition,), None)
        self._left = -1

    @property
    def held(self) -> set[str]:
        """The conversations of which turns wait for the next run."""
        return self._backlog.held

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
                done = self._curated(part)
                if done is None:
                    self._backlog.forget()
                    break
                told = _with(told, done)
            if told.turns:
                days.append(told)
                self._count(told)
        return days

    def plan(self) -> list[CuratedDay]:
        """What `run` would do now; nothing is written."""
        days: list[tuple[CuratedDay, list[tuple[Made, list[_Batch]]]]] = []
        while (day := self._backlog.next_day(self._last)) is not None:
            parts = [(made, self._batches(made)) for made in map(self._made, self._parts_of(day))]
            days.append((CuratedDay(day.date.isoformat()), parts))
            for conversation in day.conversations:
                self._backlog.read(conversation[-1].conversation_id, conversation[-1].until)
        planned: list[CuratedDay] = []
        with suppress(_UndoneError), self._parts.store.write() as work:
            for told, parts in days:
                done = [_Done(made, self._written(work, batches), _refused(made.rejected)) for made, batches in parts]
                planned.append(reduce(_with, done, told))
            _undo()
        return planned

    def _parts_of(self, day: Day) -> list[list[ToldTurn]]:
        llm = self._parts.llm
        room = gem_rules.ROOM_TOKENS if llm is None else room_of(llm.capabilities.context_tokens)
        return divided(day.conversations, room, message_chars(room))

    def _curated(self, part: Sequence[ToldTurn]) -> _Done | None:
        """One part, read and committed; None when somebody else was faster."""
        turns = [turn for turn in part if turn.conversation_id not in self.held]
        if not turns:
            return _Done(Made(()), (), ())
        made = self._made(turns)
        batches = self._batches(made)
        with self._parts.store.write() as work:
            moves = self._moves(work, made)
            ids = [message.id for found in made.found for turn in found.turns for message in turn.messages]
            if moves is None or len(work.messages.get(self._visible, list(dict.fromkeys(ids)))) < len(set(ids)):
                return None
            gems = self._written(work, batches)
            for move in moves:
                move.apply(work, self._partition)
        if self._parts.window is not None:
            self._parts.window.moved(self._partition, [move.session for move in moves], self._parts.clock.now())
        for move in moves:
            self._backlog.read(move.session, move.to)
        self._backlog.held.update(move.session for move in moves if move.is_held)
        let_go = {move.session for move in moves if move.is_let_go}
        return _Done(made, gems, _refused(made.rejected, let_go))

    def _made(self, turns: Sequence[ToldTurn]) -> Made:
        """What is found in a part: by the model, in halves where its reply was cut; by rules without one."""
        turns = numbered(turns)
        if not any(turn.says_anything for turn in turns):
            return Made(tuple(turns))
        if self._parts.llm is None:
            return ask_rules(turns)
        try:
            return ask_model(self._parts.llm, turns, self._tries(turns))
        except MnemicError as error:
            if not self._may_fall_back:
                raise
            reason = f"{type(error).__name__}: {error}"[:REASON_CHARS]
            _log.warning("%d turns are curated by rules (%s)", len(turns), reason)
            self._parts.observer.count("mnemic.curate.fallback")
            return replace(ask_rules(turns), fallback=reason)

    def _tries(self, turns: Sequence[ToldTurn]) -> int:
        sessions = {turn.conversation_id for turn in turns}
        with self._parts.store.read() as work:
            return max(work.conversations.cursor(self._partition, session, CURATE_TRIES) for session in sessions)

    def _batches(self, made: Made) -> list[_Batch]:
        """The gems as facts by the place where they belong, with what takes time."""
        batches: list[_Batch] = []
        for place in dict.fromkeys(place_of(self._partition, found) for found in made.found):
            found = tuple(each for each in made.found if place_of(self._partition, each) == place)
            facts = [fact_of(each, made) for each in found]
            batches.append(_Batch(place, found, tuple(prepare(self._parts, place, facts))))
        return batches

    def _written(self, work: UnitOfWork, batches: Sequence[_Batch]) -> list[KeptGem]:
        gems: list[KeptGem] = []
        for batch in batches:
            decisions: Sequence[Decision] = assimilate(self._parts, work, batch.place, batch.ready, actor=self._actor)
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
        observer = self._parts.observer
        observer.count("mnemic.curate.turns", told.turns)
        observer.count("mnemic.curate.gems", len(told.gems))
        observer.count("mnemic.curate.refused", len(told.refused))
        _log.info("%s: %d turns, %d gems, %d refused", told.day, told.turns, len(told.gems), len(told.refused))


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
    """A conversation is read to the first turn of a refused gem; after three such runs at one place, to its end.

    A refused gem that names no turn may come from any.
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


def _refused(rejected: Sequence[Rejected], let_go: Sequence[str] | set[str] = ()) -> list[RefusedGem]:
    return [RefusedGem.of(each, let_go) for each in rejected]


def _with(told: CuratedDay, done: _Done) -> CuratedDay:
    """The day with one part more."""
    made = done.made
    return replace(
        told,
        turns=told.turns + len(made.turns),
        gems=(*told.gems, *done.gems),
        refused=(*told.refused, *done.refused),
        model=made.model or told.model,
        fallback=made.fallback or told.fallback,
        usage=told.usage + made.usage,
    )
