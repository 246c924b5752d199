"""Makes one reflection from a user's newest summaries and updates the profile, in one transaction. Idempotent. The
model is asked only if there are enough summaries. Without a model the reflection joins the user's lasting facts and
replaces the last one of its kind; without such facts there is none.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemic.engine import digest
from mnemic.engine.edit import Editor
from mnemic.engine.engine import Engine, SessionRun
from mnemic.engine.fields import filled_of
from mnemic.engine.indexing import document_vectors, indexed_text
from mnemic.engine.kinds import REFLECT
from mnemic.engine.lasting_facts import Facts, lasting_facts, put_derived
from mnemic.errors import InvalidInputError
from mnemic.model import bookkeeping
from mnemic.model.filter import EVERYTHING, Condition, Filter
from mnemic.model.item import Kind, Memory, Message, Provenance
from mnemic.model.recall import MemoryQuery, Order
from mnemic.model.records import Action, ConsolidationRequest, ReflectionRequest
from mnemic.model.scope import Scope, Visibility, to_microseconds
from mnemic.ports.store import UnitOfWork
from mnemic.text import prompts
from mnemic.text.languages import detect

LEAST_FACTS = 3  # a reflection on fewer facts would only repeat them
MOST_FACTS = 100  # facts considered by the rules, the most important first
SOURCE = "reflection"  # source of profile entries from a reflection
_HABITS = (Kind.PREFERENCE, Kind.PERSONA, Kind.CONTEXT)  # facts that describe the user, not a single event
_reflect_log = logging.getLogger("mnemic.reflect")


@dataclass(frozen=True, slots=True)
class ReflectReport:
    """The result, or that of a dry run: `summaries` read, the reflection's id (None: see `skipped`), and the `facts`
    written into the profile by key.
    """

    session: str
    summaries: int
    memory_id: str | None = None
    facts: Mapping[str, str] | None = None
    skipped: str = ""
    is_dry_run: bool = False


def reflect(engine: Engine, scope: Scope, *, actor: str, is_dry_run: bool = False) -> ReflectReport:
    """Reflect on the scope's user now, or without a user on its session, if there are enough summaries and something
    new. Raises the model's errors.
    """
    if scope.user is None and scope.session is None:
        raise InvalidInputError("no user or session given; pass one to reflect on")
    work = Reflecting(engine, scope.message_partition, scope.session or "", actor)
    episodes, skipped = work.plan()
    if is_dry_run or skipped:
        return ReflectReport(scope.session or "", len(episodes), skipped=skipped, is_dry_run=is_dry_run)
    return work.run(episodes)


def reflection_due(engine: Engine, work: UnitOfWork, request: ConsolidationRequest) -> Sequence[ReflectionRequest]:
    """A request to reflect once a user has `reflection_threshold` summaries that no reflection has read, else nothing.
    A failed reflection leaves the count unchanged, so the next summary asks again.
    """
    life = engine.settings.life
    if not life.reflects:
        return ()
    seen = Visibility((request.partition,), None)
    now = engine.clock.now()
    last = work.memories.list(seen, MemoryQuery(now=now, states=(), kinds=(Kind.REFLECTION,), limit=1))
    newest = bookkeeping.newest_summary_in(last[0].bookkeeping) if last else ""
    read = work.memories.get(seen, [newest]) if newest else last
    since = Condition(("created_at",), "gt", to_microseconds((read or last)[0].created_at)) if last else EVERYTHING
    query = MemoryQuery(now=now, kinds=(Kind.SUMMARY,), filter=since, limit=life.reflection_threshold)
    if len(work.memories.list(seen, query)) < life.reflection_threshold:
        return ()
    return [ReflectionRequest(partition=request.partition, session=request.session)]


class Reflecting(SessionRun):
    """One run over one user's sessions. If the model fails, there is no reflection, whatever `may_fall_back` says."""

    def plan(self) -> tuple[list[Memory], str]:
        """The user's last summaries in order, and the reason for making no reflection, or ""."""
        most = self._engine.settings.life.reflection_episodes
        least = -(-most // 2)
        with self._engine.store.read() as work:
            newest = self._list_of_kinds(work, (Kind.SUMMARY,), EVERYTHING, most)
            episodes = sorted(newest, key=place_of)
            is_known = self._is_known(work, episodes)
        if len(episodes) < least:
            _reflect_log.debug("%s: %d of %d summaries for a reflection", self._partition.owner, len(episodes), least)
            return episodes, f"there are {len(episodes)} summaries; a reflection needs at least {least}"
        return episodes, "there is no new summary since the last reflection" if is_known else ""

    def run(self, episodes: Sequence[Memory]) -> ReflectReport:
        """Make the reflection. Writes nothing if a summary changed or another run reflected in the meantime."""
        made, proposed = self.digest(episodes)
        now = self._engine.clock.now()
        memory = None if made is None else digest.derived_memory(made.derived, made.sources, now)
        vectors = None if memory is None else document_vectors(self._engine, [indexed_text(memory)])
        report = ReflectReport(self._session, len(episodes))
        with self._engine.store.write() as work:
            work.dependants.of(self._partition, ())  # takes the lock, so that nothing is erased after the look
            sources = list({each.id: each for each in (*episodes, *(made.sources if made else ()))}.values())
            present = {each.id: each.text for each in work.memories.get(self._visible, [each.id for each in sources])}
            if any(present.get(each.id) != each.text for each in sources):
                return replace(report, skipped="a summary was deleted or made again meanwhile")
            if self._is_known(work, episodes):
                return replace(report, skipped="another run has reflected in the meantime")
            facts = put_derived(
                self._engine, work, self._partition, self._facts(work, episodes, proposed), source=SOURCE
            )
            if memory is None:
                return replace(report, facts=facts, skipped="no lasting facts are known yet")
            reason = f"reflection on {len(episodes)} summaries"
            is_new = digest.add_derived(self._engine, work, memory, vectors, actor=self._actor, reason=reason)
            if is_new and made is not None and made.is_by_rules:
                self._replace_last(work, memory)
        _reflect_log.debug("%s: reflected on %d summaries, %d facts", self._partition.owner, len(episodes), len(facts))
        self._engine.observer.count("mnemic.reflect.reflections", int(is_new))
        known = "" if is_new else "another memory says the same"
        return replace(report, memory_id=memory.id if is_new else None, facts=facts, skipped=known)

    def digest(self, episodes: Sequence[Memory]) -> tuple[Reflected | None, Mapping[str, str]]:
        """The reflection on some summaries, or None without a model and lasting facts; and the model's proposals for
        the profile. Raises the model's errors.
        """
        texts = [episode.text for episode in episodes]
        language = prompts.language_of(texts)
        llm = self._engine.llm
        if llm is None:
            return self._join_facts(episodes, prompts.REFLECTION_LENGTH[language]), {}
        sources = [digest.Source(e.id, e.text[: prompts.MAX_MESSAGE_CHARS]) for e in episodes]
        reply = llm.complete(prompts.reflection_prompt([source.text for source in sources], language))
        text, proposed = prompts.read_reflection(reply)
        made = self._derive(text, episodes, digest.by_model(self._engine, llm, REFLECT, text, sources))
        return Reflected(made, tuple(episodes)), proposed

    def _join_facts(self, episodes: Sequence[Memory], limit: int) -> Reflected | None:
        """The user's known lasting facts: attributes first, then preferences, then habits."""
        with self._engine.store.read() as work:
            found = self._list_of_kinds(work, digest.TOLD_KINDS, EVERYTHING, MOST_FACTS, Order.IMPORTANCE)
        now = self._engine.clock.now()
        lasting = _in_one_language(sorted((each for each in found if _is_lasting(each, now)), key=_rank))
        text, chosen = digest.by_facts(self._engine, lasting, limit)
        if len(chosen) < LEAST_FACTS:
            return None
        spans = tuple(Provenance(each.id, 0, len(each.text), REFLECT, digest.RULES, 1.0) for each in chosen)
        return Reflected(self._derive(text, episodes, spans), chosen, is_by_rules=True)

    def _replace_last(self, work: UnitOfWork, memory: Memory) -> None:
        """A reflection by rules contains what still holds of the last one, so it supersedes that."""
        editor = Editor(self._engine, work, self._visible, self._actor)
        for old in self._list_of_kinds(work, (Kind.REFLECTION,), EVERYTHING, 2):
            if old.id != memory.id and all(entry.version == digest.RULES for entry in old.provenance):
                editor.supersede(old, memory.id, Action.SUPERSEDED, f"{memory.id} reflects on newer summaries")

    def _derive(self, text: str, episodes: Sequence[Memory], provenance: Sequence[Provenance]) -> digest.Derived:
        newest = episodes[-1].id if episodes else ""
        session = bookkeeping.session_in(episodes[-1].bookkeeping) if episodes else None
        return digest.Derived(
            text=text,
            kind=Kind.REFLECTION,
            importance=self._engine.settings.life.reflection_importance,
            provenance=tuple(provenance),
            bookkeeping=bookkeeping.note_reflection(session or self._session, newest),
        )

    def _facts(self, work: UnitOfWork, episodes: Sequence[Memory], proposed: Mapping[str, str]) -> Facts:
        """Lasting facts in the user's own messages that the summaries cover."""
        messages: list[Message] = []
        for episode in episodes:
            first, last = bookkeeping.positions_in(episode.bookkeeping)
            session = bookkeeping.session_in(episode.bookkeeping)
            if session is None:
                continue
            found = work.conversations.messages(self._partition, session, first - 1, last - first + 1)
            messages += [message for message in found if message.position <= last]
        return lasting_facts(messages, proposed)

    def _is_known(self, work: UnitOfWork, episodes: Sequence[Memory]) -> bool:
        """True if a reflection already covers the newest of these summaries."""
        newest = episodes[-1].id if episodes else ""
        condition = bookkeeping.is_made_up_to(newest)
        return bool(newest) and bool(self._list_of_kinds(work, (Kind.REFLECTION,), condition, 1))

    def _list_of_kinds(
        self, work: UnitOfWork, kinds: Sequence[Kind], condition: Filter, limit: int, order: Order = Order.NEWEST
    ) -> list[Memory]:
        """Active memories of some kinds that match a condition."""
        now = self._engine.clock.now()
        query = MemoryQuery(now=now, kinds=tuple(kinds), filter=condition, order=order, limit=limit)
        return work.memories.list(self._visible, query)


@dataclass(frozen=True, slots=True)
class Reflected:
    """A reflection before it is stored, and its sources."""

    derived: digest.Derived
    sources: Sequence[Memory]
    is_by_rules: bool = False


def place_of(summary: Memory) -> tuple[datetime, int, datetime]:
    """Sort key of a summary among the user's summaries."""
    return summary.observed_at, bookkeeping.positions_in(summary.bookkeeping)[1], summary.created_at


def _is_lasting(memory: Memory, now: datetime) -> bool:
    """True for a valid attribute, preference or habit of the user in the third person."""
    if memory.flags or memory.private_agent is not None or (memory.valid_to is not None and memory.valid_to <= now):
        return False
    if memory.valid_from is not None and memory.valid_from > now:
        return False
    is_about_user = memory.text.startswith(detect(memory.text).user)
    return is_about_user and (memory.kind in _HABITS or filled_of(memory) is not None)


def _in_one_language(facts: Sequence[Memory]) -> list[Memory]:
    """The facts in the language of most of them."""
    codes = [detect(fact.text).code for fact in facts]
    most = max(codes, key=codes.count, default="")
    return [fact for fact, code in zip(facts, codes, strict=True) if code == most]


def _rank(memory: Memory) -> tuple[int, datetime]:
    """Sort key of a fact in a reflection: attributes, general preferences, preferences, habits; then time."""
    filled = filled_of(memory)
    if filled is not None and filled.slot in prompts.STABLE_KEYS:
        return 0, memory.observed_at
    if bookkeeping.choice_in(memory.bookkeeping) is not None:
        return 1, memory.observed_at
    return (2 if memory.kind is Kind.PREFERENCE else 3), memory.observed_at
