"""Makes one reflection of a session's newest summaries, and updates the user's profile, in one transaction; repeated
runs change nothing. The model is asked only when there are enough summaries.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemic.engine.digest import Derived, Source, add_derived, by_model, by_rules, covered, derived_memory
from mnemic.engine.engine import Engine, SessionRun
from mnemic.engine.indexing import document_vectors, indexed_text
from mnemic.engine.kinds import REFLECT
from mnemic.engine.lasting_facts import Facts, lasting_facts, put_derived
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.model.bookkeeping import fallback_in, is_made_up_to, is_of_session, note_fallback, note_reflection
from mnemic.model.filter import Filter
from mnemic.model.item import Kind, Memory, Message, Provenance, Role
from mnemic.model.recall import MemoryQuery
from mnemic.model.scope import Scope
from mnemic.ports.store import UnitOfWork
from mnemic.text import prompts

REASON_CHARS = 300
SOURCE = "reflection"
"""The source of profile entries that come of a reflection."""

_OTHERS = (Role.ASSISTANT.value, Role.TOOL.value)
_reflect_log = logging.getLogger("mnemic.reflect")


@dataclass(frozen=True, slots=True)
class ReflectReport:
    """What came of it, or would: `summaries` that are there, the id of the reflection (None: none was made, and why is
    in `skipped`), the `facts` written into the profile by key, and the failure for which rules did the model's work.
    """

    session: str
    summaries: int
    memory_id: str | None = None
    facts: Mapping[str, str] | None = None
    skipped: str = ""
    fallback: str = ""
    is_dry_run: bool = False


def reflect(engine: Engine, scope: Scope, *, actor: str, is_dry_run: bool = False) -> ReflectReport:
    """Reflect on the scope's session now, if there is enough and something new. Raises the errors of the model."""
    if scope.session is None:
        raise InvalidInputError("a reflection is made of a session; say which, as session=…")
    work = Reflecting(engine, scope.message_partition, scope.session, actor)
    episodes, skipped = work.plan()
    if is_dry_run or skipped:
        return ReflectReport(scope.session, len(episodes), skipped=skipped, is_dry_run=is_dry_run)
    return work.run(episodes)


class Reflecting(SessionRun):
    """One run over one session. `may_fall_back`: when the model fails, sentences of the summaries are chosen."""

    def plan(self) -> tuple[list[Memory], str]:
        """The last summaries of the session in its order; and why no reflection is made of them, or ""."""
        most = self._engine.settings.life.reflection_episodes
        least = -(-most // 2)
        with self._engine.store.read() as work:
            episodes = sorted(self._list_of_kind(work, Kind.SUMMARY, is_of_session(self._session)), key=place_of)[
                -most:
            ]
            is_known = self._is_known(work, episodes)
        if len(episodes) < least:
            _reflect_log.debug(
                "session %s: %d summaries, at least %d make a reflection", self._session, len(episodes), least
            )
            return episodes, f"there are {len(episodes)} summaries; at least {least} make a reflection"
        return episodes, "there is no new summary since the last reflection" if is_known else ""

    def run(self, episodes: Sequence[Memory]) -> ReflectReport:
        """Make the reflection; nothing is written when a summary is gone by then, or somebody else has reflected."""
        made, proposed = self.digest(episodes)
        now = self._engine.clock.now()
        memory = derived_memory(made, episodes, now)
        vectors = document_vectors(self._engine, [indexed_text(memory)])
        report = ReflectReport(self._session, len(episodes))
        with self._engine.store.write() as work:
            work.dependants.of(self._partition, ())  # takes the lock, so that nothing is erased after the look
            present = work.memories.get(self._visible, [episode.id for episode in episodes])
            if [each.text for each in present] != [each.text for each in episodes]:
                return replace(report, skipped="a summary was deleted or made anew meanwhile")
            if self._is_known(work, episodes):
                return replace(report, skipped="somebody else has reflected meanwhile")
            reason = f"reflection on {len(episodes)} summaries of session {self._session}"
            is_new = add_derived(self._engine, work, memory, vectors, actor=self._actor, reason=reason)
            facts = put_derived(
                self._engine, work, self._partition, self._facts(work, episodes, proposed), source=SOURCE
            )
        _reflect_log.info(
            "session %s: a reflection on %d summaries, %d facts", self._session, len(episodes), len(facts)
        )
        self._engine.observer.count("mnemic.reflect.reflections", int(is_new))
        fallback = fallback_in(made.bookkeeping)
        known = "" if is_new else "it says what another memory says"
        return replace(report, memory_id=memory.id if is_new else None, facts=facts, skipped=known, fallback=fallback)

    def digest(self, episodes: Sequence[Memory]) -> tuple[Derived, Mapping[str, str]]:
        """The reflection on some summaries, and what the model proposes for the profile. Raises its errors."""
        texts = [episode.text for episode in episodes]
        language = prompts.language_of(texts)
        sources = [Source(e.id, e.text[: prompts.MAX_MESSAGE_CHARS]) for e in episodes]
        llm, failure = self._engine.llm, ""
        if llm is not None:
            try:
                reply = llm.complete(prompts.reflection_prompt([source.text for source in sources], language))
                text, proposed = prompts.read_reflection(reply)
                return self._derive(text, episodes, by_model(self._engine, llm, REFLECT, text, sources)), proposed
            except MnemicError as error:
                if not self._may_fall_back:
                    raise
                failure = f"{type(error).__name__}: {error}"[:REASON_CHARS]
                _reflect_log.warning("session %s: reflected without the model (%s)", self._session, failure)
                self._engine.observer.count("mnemic.reflect.fallback")
        limit = prompts.REFLECTION_LENGTH[language]
        text, provenance = by_rules(
            self._engine, REFLECT, [line for source in sources for line in _lines(source)], limit
        )
        derived = self._derive(text or texts[-1], episodes, provenance)
        return replace(derived, bookkeeping={**derived.bookkeeping, **note_fallback(failure)}), {}

    def _derive(self, text: str, episodes: Sequence[Memory], provenance: Sequence[Provenance]) -> Derived:
        return Derived(
            text=text,
            kind=Kind.REFLECTION,
            importance=self._engine.settings.life.reflection_importance,
            provenance=tuple(provenance),
            bookkeeping=note_reflection(self._session, episodes[-1].id),
        )

    def _facts(self, work: UnitOfWork, episodes: Sequence[Memory], proposed: Mapping[str, str]) -> Facts:
        """What the user's own messages that the summaries cover say that lasts."""
        messages: list[Message] = []
        for episode in episodes:
            first, last = covered(episode)
            found = work.conversations.messages(self._partition, self._session, first - 1, last - first + 1)
            messages += [message for message in found if message.position <= last]
        return lasting_facts(messages, proposed)

    def _is_known(self, work: UnitOfWork, episodes: Sequence[Memory]) -> bool:
        """True when there is a reflection of the session whose newest summary is the newest of these."""
        newest = episodes[-1].id if episodes else ""
        return bool(newest) and bool(self._list_of_kind(work, Kind.REFLECTION, is_made_up_to(newest)))

    def _list_of_kind(self, work: UnitOfWork, kind: Kind, condition: Filter) -> list[Memory]:
        """The memories of a kind that meet a condition."""
        query = MemoryQuery(now=self._engine.clock.now(), kinds=(kind,), filter=condition)
        return work.memories.list(self._visible, query)


def place_of(summary: Memory) -> tuple[int, datetime]:
    """Where a summary stands in its conversation."""
    return covered(summary)[1], summary.created_at


def _lines(source: Source) -> list[Source]:
    """The lines of a summary by rules, each with its speaker in front; one by a model is mostly a single line."""
    found: list[Source] = []
    start = 0
    for line in source.text.splitlines(keepends=True):
        found.append(Source(source.item_id, line, is_own=not line.startswith(_OTHERS), start=start))
        start += len(line)
    return found
