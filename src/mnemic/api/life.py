"""The verbs of a memory's life: what upkeep does by itself, to be looked at first and done by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Unpack

from mnemic.api.acting import Acting
from mnemic.api.arguments import MessageFields, message_query_of
from mnemic.engine.browse import list_messages
from mnemic.engine.consolidate import ConsolidateReport, consolidate
from mnemic.engine.conversation import EndReport, end
from mnemic.engine.curate import CurateReport, curate
from mnemic.engine.engine import Parts
from mnemic.engine.erase import erase, receipts
from mnemic.engine.export import OWN_LEVELS
from mnemic.engine.extract import ExtractReport, extract
from mnemic.engine.inputs import check_choice
from mnemic.engine.reflect import ReflectReport, reflect
from mnemic.engine.summaries import SummariseReport, summarise
from mnemic.engine.upkeep import DecayReport, EvictReport, decay, evict
from mnemic.engine.window import window
from mnemic.errors import InvalidInputError
from mnemic.model.item import Message
from mnemic.model.recall import MessagePage
from mnemic.model.records import Receipt
from mnemic.model.scope import Level, Scope


class LifeVerbs(Acting):
    """What becomes of memories and conversations in time; a part of `Mnemic`."""

    _parts: Parts

    def window(self, scope: Scope, *, limit: int | None = None, include_closed: bool = False) -> list[Message]:
        """The last messages of the scope's session, oldest first: at most `limit`, or the 20 that its window holds.

        None when the session is unknown, or when nothing was written in it for two hours (`memory.window.ttl-minutes`);
        with `include_closed` they are given however old they are.
        """
        return window(self._parts, scope, _counting(limit), include_closed=include_closed)

    def messages(self, scope: Scope, **fields: Unpack[MessageFields]) -> MessagePage:
        """A page of what was said, the newest first: the last 50 messages that the scope may see unless told otherwise;
        `next` continues. Imported ones stand where they were said, not where they came in.
        """
        return list_messages(self._parts, scope, message_query_of(scope, fields))

    def summarise(self, scope: Scope, *, is_flush: bool = False, is_dry_run: bool = False) -> SummariseReport:
        """Make summaries of what has fallen out of the window of the scope's session, when it is at least a batch.

        The worker does it by itself. With `is_flush`, of everything that is in no summary yet. Raises BackendError
        when the language model fails; what was summarised before stays.
        """
        return summarise(self._parts, scope, actor=self._actor, is_flush=is_flush, is_dry_run=is_dry_run)

    def end(self, scope: Scope) -> EndReport:
        """End the scope's session: its session-level memories expire, and a job summarises what was said in it.

        Ending it again changes nothing, and talking on in it is allowed.
        """
        return end(self._parts, scope, actor=self._actor)

    def reflect(self, scope: Scope, *, is_dry_run: bool = False) -> ReflectReport:
        """Make a reflection of the newest summaries of the scope's session, and fill the profile with what lasts.

        The worker does it after every ten summaries. With too few summaries, or no new one, nothing is made, and the
        report says why. Raises BackendError when the language model fails.
        """
        return reflect(self._parts, scope, actor=self._actor, is_dry_run=is_dry_run)

    def curate(self, scope: Scope, *, day: date | str | None = None, is_dry_run: bool = False) -> CurateReport:
        """Keep what will be worth knowing in six months of the days that were not read yet, as gems.

        The worker does it every night, up to yesterday. `day` is the last day to read, in the time zone of the
        schedules; today may be named. A dry run asks the language model too. Raises BackendError when the model fails;
        what was curated before stays.
        """
        return curate(self._parts, scope, actor=self._actor, day=_date(day), is_dry_run=is_dry_run)

    def consolidate(self, scope: Scope, *, is_dry_run: bool = False) -> ConsolidateReport:
        """Make one general preference of each thing that was chosen again and again: three times, over two months.

        The worker does it every week, of choices that are at least a month old. The single memories are superseded by
        it, and its context tells them; `undo` of the preference brings them back. A second run changes nothing, and a
        dry run does not ask the language model, which words the preferences.
        """
        return consolidate(self._parts, scope, actor=self._actor, is_dry_run=is_dry_run)

    def extract(self, scope: Scope, *, is_dry_run: bool = False) -> ExtractReport:
        """Find facts in what the user said in the scope's session since the last time, at most three a message.

        The worker does it after every capture. The report says what became of each fact, and why. A dry run writes
        nothing, and asks the language model too. Raises BackendError when the model fails; what was found before stays.
        """
        return extract(self._parts, scope, actor=self._actor, is_dry_run=is_dry_run)

    def decay(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> DecayReport:
        """Note what the importance of memories has faded to since their last access; `importance` stays as stored.

        The worker does it every night. Of the levels that the scope names; of what the whole org shares only when
        "org" is among `levels`. A second run at the same moment changes nothing.
        """
        return decay(self._parts, scope, _checked(levels), is_dry_run=is_dry_run)

    def evict(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> EvictReport:
        """Archive what has faded and is old, or has expired; delete what has been archived for long.

        The worker does it every night; the levels are as in `decay`. Pinned memories and reflections stay. `undo`
        brings back what was archived.
        """
        return evict(self._parts, scope, _checked(levels), actor=self._actor, is_dry_run=is_dry_run)

    def erase(self, scope: Scope, *, level: Level | str | None = None, is_dry_run: bool = False) -> Receipt:
        """Erase for good all that belongs to the scope's session, user, agent or org, and what was derived from it.

        `level` says which; unless told, the narrowest one of user, agent and session that `Scope.default_level` names,
        and the org only when said. Messages, memories, documents, vectors, profile, jobs and history go, indexes too.
        The receipt, which is kept, holds counts and keyed hashes; its `notes` say what the technology cannot make sure
        of. Of a dry run it is the plan.
        """
        chosen = scope.default_level if level is None else check_choice(Level, level, "level")
        return erase(self._parts, scope, chosen, is_dry_run=is_dry_run)

    def receipts(self, scope: Scope) -> Sequence[Receipt]:
        """The receipts of all erasures in the scope's org, oldest first; they hold no names and no text."""
        return receipts(self._parts, scope)


def _checked(levels: Iterable[Level | str]) -> tuple[Level, ...]:
    return tuple(check_choice(Level, level, "levels") for level in levels)


def _date(day: date | str | None) -> date | None:
    if day is None or (isinstance(day, date) and not isinstance(day, datetime)):
        return day
    try:
        return date.fromisoformat(str(day))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"day must be a date such as 2026-05-01, not {day!r}") from error


def _counting(limit: object) -> int | None:
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise InvalidInputError(f"limit must be a whole number from 1, not {limit!r}")
    return limit
