"""What of a partition's conversations the curator has not read yet, day by day in the time zone of the schedules."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo

from mnemic.engine.parts import Parts
from mnemic.model.conversation import CURATED, Conversation
from mnemic.model.item import Message
from mnemic.model.scope import Partition
from mnemic.ports.store import UnitOfWork
from mnemic.text.narrative import ToldTurn

MOST_CONVERSATIONS = 100_000
_PAGE = 256
_EVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Day:
    """The unread turns of one day, by conversation, the one that began first in front."""

    date: date
    conversations: tuple[tuple[ToldTurn, ...], ...]


class Backlog:
    """The unread days of a partition, oldest first. It reads on from where it was told that something was read, whether
    that is stored or not; `held` conversations are left alone.
    """

    def __init__(self, parts: Parts, partition: Partition, zone: tzinfo, held: Collection[str] = ()) -> None:
        self._parts, self._partition, self._zone = parts, partition, zone
        self.held = set(held)
        self._places: dict[str, int] = {}

    def place(self, session: str) -> int:
        """The position up to which a conversation was read."""
        return self._places[session]

    def read(self, session: str, until: int) -> None:
        """The conversation was read up to and with a position."""
        self._places[session] = until

    def forget(self) -> None:
        """Look anew where the cursors stand: somebody else has moved one."""
        self._places.clear()

    def next_day(self, last: date) -> Day | None:
        """The oldest day with unread turns, none later than `last`; None when there is none.

        A turn belongs to the day on which it began, and within a conversation no day goes back: what was said at
        positions behind is read later, whatever its time.
        """
        with self._parts.store.read() as work:
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
                is_same = bool(groups) and groups[-1][-1].turn_id == message.turn_id
                if not is_same and self._day(message) > day:
                    return [self._told(group, group[-1].position) for group in groups]
                if is_same:
                    groups[-1].append(message)
                else:
                    groups.append([message])
            is_end = len(page) < _PAGE
            after = page[-1].position if page else after
        return [self._told(group, group[-1].position) for group in groups[:-1]] + [
            self._told(groups[-1], max(talk.messages, groups[-1][-1].position))
        ]

    def _told(self, messages: Sequence[Message], until: int) -> ToldTurn:
        first = messages[0]
        return ToldTurn(
            conversation_id=first.session,
            turn=first.turn,
            said_at=first.observed_at.astimezone(self._zone),
            until=until,
            messages=tuple(messages),
        )
