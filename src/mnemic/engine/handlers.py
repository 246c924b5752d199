"""The table of job and event handlers, the only place where parts meet (`tests/architecture/test_capabilities.py`)."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast

from mnemic.engine import kinds
from mnemic.engine.cascade import Remade, Remaking
from mnemic.engine.consolidate import GROUPS_AT_ONCE, Consolidating
from mnemic.engine.conversation import expire
from mnemic.engine.curate import DAYS_AT_ONCE, PARTS_AT_ONCE, Curating
from mnemic.engine.engine import Engine
from mnemic.engine.events import KINDS, E, as_job, read
from mnemic.engine.export import OWN_LEVELS
from mnemic.engine.extract import MODEL_MESSAGES, RULE_MESSAGES, Extracting, unread
from mnemic.engine.graph_extract import graph_partition
from mnemic.engine.health import HealthRequest, health
from mnemic.engine.indexing import fill_vectors, lacks_vectors
from mnemic.engine.jobs import FollowUp, Handler, new_attempt
from mnemic.engine.lasting_facts import find_again
from mnemic.engine.reflect import Reflecting, reflection_due
from mnemic.engine.summaries import SUMMARIES_AT_ONCE, Summarising, SummarisingAgain, pending, renew_summaries
from mnemic.engine.upkeep import compact_partition, decay_partition, evict_partition
from mnemic.errors import BadReplyError, MnemicError
from mnemic.model.records import ConsolidationRequest, Job, ReflectionRequest, SummarisationRequest
from mnemic.model.scope import Level, Partition, Scope
from mnemic.ports.store import UnitOfWork

AFTER = "after"  # payload of an upkeep job: the memory id to continue after
_log = logging.getLogger("mnemic.handlers")

HELD = "held"  # payload of a curation job: conversations that wait for the next night


def _embed(engine: Engine, job: Job) -> FollowUp:
    """Fill the vectors of the job's partition. Items written meanwhile are found when the job finishes."""
    report = fill_vectors(engine, job.partition)
    if report.refused and report.is_complete:
        raise BadReplyError(f"the embedder rejected {len(report.refused)} texts, including item {report.refused[0]}")

    def follow_up(unit: UnitOfWork) -> Sequence[Job]:
        if not lacks_vectors(engine, unit, job.partition, report.passed_over):
            return []
        return [new_attempt(job, engine.clock.now())]

    return follow_up


def _decay(engine: Engine, job: Job) -> FollowUp:
    return _continue_job(engine, job, decay_partition(engine, job.partition, str(job.payload.get(AFTER, ""))))


def _evict(engine: Engine, job: Job) -> FollowUp:
    """Evict memories. When all were examined, remove tombstones too."""
    after = evict_partition(engine, job.partition, str(job.payload.get(AFTER, "")))
    if after is None:
        compact_partition(engine, job.partition)
    return _continue_job(engine, job, after)


def _continue_job(engine: Engine, job: Job, after: str | None) -> FollowUp:
    """Queue the rest of a large partition as the next job."""
    rest = [] if after is None else [replace(new_attempt(job, engine.clock.now()), payload={AFTER: after})]
    return lambda _: rest


def _follow_with_nothing(_: UnitOfWork) -> Sequence[Job]:
    """The follow-up if a feature was switched off while its job waited: none. Its messages stay unread."""
    return ()


def _summarise(engine: Engine, asked: SummarisationRequest, job: Job) -> FollowUp:
    """Make some pending summaries. Queue those left or requested meanwhile."""
    life = engine.settings.life
    if not life.summarises:
        return _follow_with_nothing
    is_last = job.attempts >= life.llm_tries
    if engine.llm is None and life.extracts and asked.partition.level is Level.USER:
        # without a model a summary is made of extracted facts
        Extracting(engine, asked.partition, asked.session, kinds.EXTRACT).run(RULE_MESSAGES)
    run = Summarising(engine, asked.partition, asked.session, kinds.SUMMARISE, may_fall_back=is_last)
    due = run.due(asked.last)
    made = run.run(due, SUMMARIES_AT_ONCE)
    if engine.llm is not None and made and not any(each.fallback for each in made):
        _renew_summaries(engine, asked.partition)

    def follow_up(unit: UnitOfWork) -> Sequence[Job]:
        left = pending(unit, life, asked.partition, asked.session, wanted=due.until)
        now, rest = engine.clock.now(), replace(asked, first=left.after + 1, last=left.until)
        again = [_renewal(job, now)] if any(each.fallback for each in made) else []
        return [*again, *([as_job(rest, now)] if left.count else [])]

    return follow_up


RENEW_AFTER = timedelta(hours=1)
"""Time between attempts to replace raw summaries from a model outage: one call per user and hour."""

RENEWAL = "fallback"  # key and payload of a job that replaces raw summaries


def _renewal(job: Job, now: datetime) -> Job:
    """The job that replaces raw summaries in the same partition later."""
    again = replace(new_attempt(job, now), kind=kinds.REMAKE, key=RENEWAL, payload={RENEWAL: True})
    return replace(again, run_at=now + RENEW_AFTER)


def _renew_summaries(engine: Engine, partition: Partition) -> int:
    """Replace some raw summaries. Returns their number, or -1 if the model still fails."""
    try:
        return len(renew_summaries(engine, partition, kinds.SUMMARISE))
    except MnemicError as error:
        _log.warning("failed to rewrite summaries (%s)", type(error).__name__)
        return -1


def _renew_later(engine: Engine, job: Job) -> FollowUp:
    """Replace raw summaries. Queues the rest for now, or all of them for later if the model still fails."""
    renewed = 0 if engine.llm is None else _renew_summaries(engine, job.partition)
    again = _renewal(job, engine.clock.now()) if renewed < 0 else new_attempt(job, engine.clock.now())
    return lambda _: [again] if renewed else []


def _consolidate_summary(engine: Engine, asked: ConsolidationRequest, _: Job) -> FollowUp:
    """Request a reflection in the transaction that ends this request, if enough summaries wait for one."""
    return lambda unit: [as_job(event, engine.clock.now()) for event in reflection_due(engine, unit, asked)]


def _reflect(engine: Engine, asked: ReflectionRequest, job: Job) -> FollowUp:
    """Reflect on the user's newest summaries. If the model fails in the last attempt, nothing is stored."""
    if not engine.settings.life.reflects:
        return _follow_with_nothing
    run = Reflecting(engine, asked.partition, asked.session, kinds.REFLECT)
    episodes, skipped = run.plan()
    try:
        if not skipped:
            run.run(episodes)
    except MnemicError as error:
        if engine.llm is None or job.attempts < engine.settings.life.llm_tries:
            raise
        _log.warning("a reflection failed (%s); retrying at the next summary", error)
        engine.observer.count("mnemic.reflect.failures")
    return lambda _: ()


def _extract(engine: Engine, job: Job) -> FollowUp:
    """Extract facts from unread messages. Messages that came while the job ran are for a next job."""
    session, is_last = str(job.payload["session"]), job.attempts >= engine.settings.life.llm_tries
    if not engine.settings.life.extracts:
        return _follow_with_nothing
    run = Extracting(engine, job.partition, session, kinds.EXTRACT, may_fall_back=is_last)
    run.run(RULE_MESSAGES if engine.llm is None else MODEL_MESSAGES)

    def follow_up(unit: UnitOfWork) -> Sequence[Job]:
        return [new_attempt(job, engine.clock.now())] if unread(unit, job.partition, session) else []

    return follow_up


def _curate(engine: Engine, job: Job) -> FollowUp:
    """Curate some unread days. The next job takes the rest, except what is held for the next night."""
    if not engine.settings.life.curates or job.partition.is_ephemeral:
        return _follow_with_nothing
    held = cast("Sequence[str]", job.payload.get(HELD) or ())
    is_last = job.attempts >= engine.settings.life.llm_tries
    run = Curating(engine, job.partition, kinds.CURATE, held=held)
    try:
        run.run(DAYS_AT_ONCE if engine.llm is None else PARTS_AT_ONCE)
    except MnemicError as error:
        if engine.llm is None or not is_last:
            raise
        _log.warning("curation failed (%s); continuing at the next run", error)
        engine.observer.count("mnemic.curate.failures")
        return _follow_with_nothing
    payload = {**job.payload, HELD: sorted(run.held)}
    rest = [replace(new_attempt(job, engine.clock.now()), payload=payload)] if run.is_unfinished else []
    return lambda _: rest


def _consolidate(engine: Engine, job: Job) -> FollowUp:
    """Infer some general preferences. The next job continues, or the next weekly run if the model is unavailable."""
    if not engine.settings.life.consolidates:
        return _follow_with_nothing
    run = Consolidating(engine, job.partition, kinds.CONSOLIDATE)
    groups = run.groups()
    try:
        done = run.write(groups[:GROUPS_AT_ONCE])
        if len(groups) <= GROUPS_AT_ONCE:
            run.write_traits()
    except MnemicError as error:
        if engine.llm is None or job.attempts < engine.settings.life.llm_tries:
            raise
        _log.warning("consolidation failed (%s); continuing at the next run", error)
        return _follow_with_nothing
    rest = [new_attempt(job, engine.clock.now())] if done and len(groups) > GROUPS_AT_ONCE else []
    return lambda _: rest


def _remake(engine: Engine, job: Job) -> FollowUp:
    """Remake a memory, a summary or a profile entry without what was erased."""
    is_last = job.attempts >= engine.settings.life.llm_tries
    if RENEWAL in job.payload:
        return _renew_later(engine, job)
    if "profile" in job.payload:
        find_again(engine, job.partition, str(job.payload["profile"]))
        return _follow_with_nothing
    if "positions" in job.payload:
        session, (first, last) = str(job.payload["session"]), cast("list[int]", job.payload["positions"])
        again = SummarisingAgain(engine, job.partition, session, first, last, kinds.REMAKE, may_fall_back=is_last)
        is_done = again.run()
        return _follow_with_nothing if is_done else lambda _: [new_attempt(job, engine.clock.now())]
    return _remake_memory(engine, job, may_fall_back=is_last)


def _remake_memory(engine: Engine, job: Job, *, may_fall_back: bool) -> FollowUp:
    """Remake one memory. If its sources must come first, their last job queues it again."""
    agent, memory_id = job.payload.get("agent"), str(job.payload["memory"])
    agent = None if agent is None else str(agent)
    work = Remaking(engine, job.partition, memory_id, agent, kinds.REMAKE, may_fall_back=may_fall_back)
    ended = work.run()

    def follow_up(unit: UnitOfWork) -> Sequence[Job]:
        is_due = ended is not Remade.DONE and work.is_due(unit)
        return [new_attempt(job, engine.clock.now())] if is_due else []

    return follow_up


def _graph(engine: Engine, job: Job) -> FollowUp:
    """Read some pages of items into the graph. The next job takes the rest."""
    if not engine.settings.life.graphs or job.partition.is_ephemeral:
        return _follow_with_nothing
    return _continue_job(engine, job, graph_partition(engine, job.partition, str(job.payload.get(AFTER) or "")))


def _subscribe(event: type[E], subscriber: Callable[[Engine, E, Job], FollowUp]) -> tuple[str, Handler]:
    """The job handler of an event type."""
    return KINDS[event], lambda parts, job: subscriber(parts, read(event, job), job)


SUBSCRIBERS: Mapping[str, Handler] = dict(
    [
        _subscribe(SummarisationRequest, _summarise),
        _subscribe(ConsolidationRequest, _consolidate_summary),
        _subscribe(ReflectionRequest, _reflect),
    ]
)
"""Event handlers by kind of job."""


def _health(engine: Engine, job: Job) -> FollowUp:
    """Keep the score of a user's or an agent's memories. Sessions are too short-lived for one."""
    if not engine.settings.life.scores_health:
        return _follow_with_nothing
    owner = {Level.USER: "user", Level.AGENT: "agent"}.get(job.partition.level)
    if owner is not None:
        scope = Scope(org=job.partition.org, **{owner: job.partition.owner})
        health(engine, scope, HealthRequest(levels=OWN_LEVELS), actor=kinds.HEALTH)
    return _follow_with_nothing


HANDLERS: Mapping[str, Handler] = {
    **SUBSCRIBERS,
    kinds.EMBED: _embed,
    kinds.DECAY: _decay,
    kinds.EVICT: _evict,
    kinds.EXTRACT: _extract,
    kinds.CURATE: _curate,
    kinds.CONSOLIDATE: _consolidate,
    kinds.GRAPH: _graph,
    kinds.HEALTH: _health,
    kinds.REMAKE: _remake,
    kinds.EXPIRE: expire,
}
"""By kind of job. Schedules also add only these kinds."""
