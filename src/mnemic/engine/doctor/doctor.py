"""Looks after a whole memory: what works, what lags behind, what failed, and what to do."""

from __future__ import annotations

import time
from collections.abc import Mapping

from mnemic.engine.doctor.around import clock_finding, guard_findings, index_finding
from mnemic.engine.doctor.jobs import job_findings
from mnemic.engine.indexing.freshness import sides
from mnemic.engine.indexing.reembed import space_fill
from mnemic.engine.indexing.vectors import missing_texts
from mnemic.engine.parts import Parts
from mnemic.errors import BackendError, ConfigError, MnemicError
from mnemic.model.health import Condition, Diagnosis, Finding
from mnemic.model.item import Role
from mnemic.model.llm import Prompt, PromptMessage
from mnemic.ports.embedder import Embedder
from mnemic.ports.llm import Llm
from mnemic.ports.store import UnitOfWork

_MISSING_SHOWN = 1000
_LLM_PROBE = Prompt(messages=(PromptMessage(Role.USER, "Say yes."),), max_tokens=4, timeout_s=15.0)


def glance(parts: Parts) -> Diagnosis:
    """The quick look: does the store answer, is there room, may it be written? For probes that ask every few seconds.

    Of what is well it says only that the store answers.
    """
    try:
        with parts.store.read() as work:
            work.partitions.all()
    except BackendError as error:
        return Diagnosis((Finding("store", Condition.BROKEN, str(error), "run `mnemic doctor`"),))
    told = [finding for finding in parts.store.diagnose(is_quick=True) if _is_fault(finding, parts)]
    if all(finding.part != "store" for finding in told):
        told.insert(0, Finding("store", Condition.OK, "the store answers"))
    return Diagnosis(tuple(told))


def _is_fault(finding: Finding, parts: Parts) -> bool:
    """A store that is not durable was asked for; to say so is the doctor's affair."""
    return finding.condition is not Condition.OK and parts.store.capabilities.is_durable


def doctor(parts: Parts) -> Diagnosis:
    """The thorough look at store, disk, models, vectors, jobs and schedules. Reads every partition; takes its time."""
    findings = [*parts.store.diagnose(), *_embedders(parts), _llm(parts.llm)]
    findings += [] if parts.window is None else parts.window.diagnose()
    if all(finding.condition is not Condition.BROKEN for finding in findings if finding.part == "store"):
        findings += [*_vectors(parts), *_index(parts), *job_findings(parts), clock_finding(parts)]
    findings += guard_findings(parts)
    return Diagnosis(tuple(findings))


def _index(parts: Parts) -> list[Finding]:
    found, served = index_finding(parts), parts.served_index
    findings = [] if found is None else [found]
    if served is None:
        return findings
    with parts.store.read() as work:
        known = sides(work.partitions.all())
    return [*findings, *served.diagnose(known)]


def _embedders(parts: Parts) -> list[Finding]:
    if not parts.embedders:
        message = "none: memories are found by keyword alone"
        return [Finding("embedder", Condition.DEGRADED, message, "name an embedder")]
    return [_embedder(embedder) for embedder in parts.embedders]


def _embedder(embedder: Embedder) -> Finding:
    try:
        embedder.embed_queries(["warm up"])
        start = time.perf_counter()
        embedder.embed_queries(["one question"])
    except (BackendError, ConfigError) as error:
        remedy = "writes go on and their vectors follow when it answers again"
        return Finding("embedder", Condition.BROKEN, f"{embedder.space.model}: {error}", remedy)
    ms = (time.perf_counter() - start) * 1e3
    return Finding("embedder", Condition.OK, f"{embedder.space.model} embeds a question in {ms:.1f} ms")


def _llm(llm: Llm | None) -> Finding:
    """One tiny prompt: does it answer at all, and how soon?"""
    if llm is None:
        return Finding("llm", Condition.OK, "none: summaries and their like are made by rules")
    try:
        usage = llm.complete(_LLM_PROBE).usage
    except MnemicError as error:
        remedy = "what needs it waits, is tried again, and is then done by rules"
        return Finding("llm", Condition.BROKEN, f"{llm.name}: {error}", remedy)
    return Finding("llm", Condition.OK, f"{llm.name} answers in {usage.seconds * 1e3:.0f} ms")


def _vectors(parts: Parts) -> list[Finding]:
    """How far each space lags behind the rows, and whether vectors of others lie there."""
    if not parts.embedders:
        return []
    own = {embedder.space.id for embedder in parts.embedders}
    with parts.store.read() as work:
        others = {name: count for name, count in work.vectors.spaces().items() if name not in own}
        findings = [_lag(parts, work, embedder, is_changed=bool(others)) for embedder in parts.embedders]
    return findings + _other_spaces(parts, others)


def _other_spaces(parts: Parts, others: Mapping[str, int]) -> list[Finding]:
    """Vectors that no configured embedder makes: of the one before, which are searched while they are needed, and the
    rest.
    """
    retired, findings, left = parts.retired, list[Finding](), sum(others.values())
    if retired is not None and (count := others.get(retired.embedder.space.id, 0)):
        left -= count
        message = (
            f"{count} vectors are of {retired.embedder.space.model}, the embedder before; they are searched until "
        )
        message += "everything has its new one, and kept to go back to (`mnemic reembed --prune` removes them)"
        findings.append(Finding("spaces", Condition.OK, message))
    if left:
        message = f"{left} vectors are of other embedding models and are not searched"
        remedy = "embedder.previous may name their embedder; `mnemic reembed --prune` removes them"
        findings.append(Finding("spaces", Condition.OK, message, remedy))
    return findings


def _lag(parts: Parts, work: UnitOfWork, embedder: Embedder, *, is_changed: bool) -> Finding:
    places = work.partitions.all()
    missing = sum(len(missing_texts(parts, work, embedder, place, _MISSING_SHOWN)) for place in places)
    of_model = "" if len(parts.embedders) == 1 else f" of {embedder.space.model}"
    if not missing:
        return Finding("vectors", Condition.OK, f"everything has its vector{of_model}")
    fill = space_fill(work, places, embedder)
    message = f"{missing} messages or memories have no vector{of_model} yet; "
    by_other_ways = bool(of_model) or parts.retired is not None
    message += "without it they are found by other ways only" if by_other_ways else "they are found by keyword alone"
    message += f" ({fill.vectors} of {fill.items} have it, {fill.share:.0%})"
    remedy = "run `mnemic reembed`" if is_changed else "run `mnemic work`"
    return Finding("vectors", Condition.DEGRADED, message, remedy)
