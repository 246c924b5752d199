"""Looking after a store: `mnemic doctor`, `health`, `reembed`, jobs and workers, and the fading of memories."""

from __future__ import annotations

import json
import queue
import signal
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli import forward, output
from mnemic.cli.commands import Arguments, command, verb_command
from mnemic.cli.failures import UNEXPECTED
from mnemic.cli.options import AsJson, ConfigFile, ScopeOptions
from mnemic.cli.signals import ENDING, handle_signals
from mnemic.errors import BackendError, ConfigError
from mnemic.model.chat import Usage
from mnemic.model.health import Condition, Diagnosis, Finding
from mnemic.model.records import Job, JobState
from mnemic.model.scope import check_unicode
from mnemic.wire import to_wire

if TYPE_CHECKING:
    from mnemic.engine.consolidate import ConsolidateReport
    from mnemic.engine.curate import CurateReport
    from mnemic.engine.health import HealthReport
    from mnemic.engine.jobs import JobRun, Worker
    from mnemic.engine.reembed import Estimate, ReembedReport
    from mnemic.engine.upkeep import DecayReport, EvictReport

SCORES_SHOWN = 10  # the newest, on one line
FINDINGS_LISTED = 20
"""Findings of a kind that fit a screen or two; the library lists 100."""

MOST_RETRIED = 1000  # jobs per call; call again for the rest
SECONDS_OF_AN_HOUR, SECONDS_OF_A_MINUTE = 3600, 60  # for durations that people read
POLL_S = 5.0  # a job waits at most this long; lower wakes an idle machine more often
REPORT_S = 0.1
"""How soon a finished job is reported and a signal is noticed."""

OUTCOMES = {
    None: "was taken over by another worker",
    JobState.DONE: "done",
    JobState.PENDING: "failed and will be retried",
    JobState.DEAD: "failed permanently",
}


@command("doctor")
def doctor(options: ScopeOptions, arguments: Arguments) -> None:
    """Check every part of the installation. Shows which parts work, are degraded or are broken, and how to fix
    problems. Exits with code 1 if there are problems. To check the memories themselves, use `mnemic health`.
    """
    try:
        with options.open() as mnemic:
            diagnosis = mnemic.doctor(**arguments)
    except BackendError as error:  # a store that cannot even be opened is a diagnosis too
        remedy = "fix this, or choose another store with --store"
        diagnosis = Diagnosis((Finding("store", Condition.BROKEN, str(error), remedy),))
    if (found := forward.describe_resident()) is not None:
        about = "process {pid} since {since}, {calls} calls, ends {idle_s:g} s after the last one or with `kill {pid}`"
        rows = f"; holds rows of {', '.join(found['stores'])}" if found["stores"] else ""
        told = Finding("resident", Condition.OK, about.format_map(found) + rows)
        diagnosis = Diagnosis((*diagnosis.findings, told))
    if options.as_json:
        output.show_json({"condition": diagnosis.condition, "findings": diagnosis.findings})
    else:
        rows = [
            output.Row((f.condition.value, f.part), f.message, (), f"to do: {f.remedy}" if f.remedy else "")
            for f in diagnosis.findings
        ]
        output.show_rows(("state", "part"), rows)
    if diagnosis.condition is not Condition.OK:
        raise typer.Exit(UNEXPECTED)


@command("health")
def health(options: ScopeOptions, arguments: Arguments) -> None:
    """Find and fix contradictory, duplicate, unsupported, orphaned, worthless and stale memories. Shows a score from 0
    to 100. To check the installation, use `mnemic doctor`.
    """
    arguments.setdefault("limit", FINDINGS_LISTED)
    with options.open() as mnemic, output.progress_bars() as tell:
        report = mnemic.health(options.scope, **arguments, progress=lambda done, total: tell("memories", done, total))
    output.show_answer(report, _show_health, as_json=options.as_json)


@command("reembed")
def reembed(options: ScopeOptions, arguments: Arguments) -> None:
    """Re-embed the whole store after changing the embedder. The store stays available. To resume after an interruption,
    run the command again. Old vectors are kept, so you can switch back. Exits with code 14 if the embedder rejected any
    texts.
    """
    position = output.Position("at {done} of {total} vectors", before="before anything was embedded")
    remark = "run the same command again to continue"
    with output.show_progress(lambda: f" {position}; {remark}") as tell, options.open() as mnemic:
        position.begin("vectors", tell)
        report = mnemic.reembed(**arguments, progress=position.reach)
    output.show_answer(report, _show_reembed, as_json=options.as_json)
    if report.refused:
        refused = output.format_count(len(report.refused), "texts")
        output.end_partly(f"{refused} rejected, found only by keyword; --json lists the ids", as_json=options.as_json)


@command("calibrate")
def calibrate(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Calibrate relevance for configured embedders that Mnemic does not know. Embeds 340 built-in sentences, not your
    memories. Stores two numbers per embedder in a file (embedder.scales). Afterwards, restart running Mnemic programs.
    """
    from mnemic.api import Mnemic
    from mnemic.build import build
    from mnemic.cli.clients import replace_file
    from mnemic.config import MEMORY_URL, load_config
    from mnemic.ranking.relevance import calibrate, shipped_scales

    settings = load_config(file=config)
    parts = build(replace(settings, store=MEMORY_URL))
    with Mnemic(parts, has_worker=False):
        fitted = {each.space: calibrate(each) for each in parts.embedders if each.space.model not in shipped_scales()}
    if fitted:
        kept = settings.scales | {space.id: scale for space, (scale, _) in fitted.items()}
        try:
            replace_file(settings.scales_file, json.dumps({each: asdict(scale) for each, scale in kept.items()}))
        except OSError as error:
            raise ConfigError(f"{settings.scales_file} cannot be written: {error}; change embedder.scales") from error
    lines = [f"{space.model}: {share:.1%} of related pairs are closer together" for space, (_, share) in fitted.items()]
    if as_json:
        output.show_json({space.id: share for space, (_, share) in fitted.items()})
    else:
        output.write("\n".join(lines) or "Nothing to do: relevance is calibrated for every configured embedder.")


@command("work")
def work(options: ScopeOptions, arguments: Arguments) -> None:
    """Run all due jobs in the whole store, such as embedding new memories. Exits with code 14 if any job failed, even
    if it will be retried.
    """
    with options.open() as mnemic:
        report = mnemic.work(**arguments)
    if options.as_json:
        output.show_json(report)
    else:
        output.write(f"{report.done} done, {report.retried} will be retried, {report.dead} failed permanently")
    if failed := report.retried + report.dead:
        output.end_partly(
            f"{output.format_count(failed, 'job runs')} failed; `mnemic jobs list` shows why", as_json=options.as_json
        )


@command("worker")
def worker(
    options: ScopeOptions,
    poll_s: Annotated[float, typer.Option("--poll", help="Seconds between checks for due jobs.", min=0.1)] = POLL_S,
    is_once: Annotated[bool, typer.Option("--once", help="Exit when no jobs are due.")] = False,
) -> None:
    """Run due and scheduled jobs in the whole store until stopped, and print one line per job. SIGTERM or Ctrl-C stops
    the worker after the current job. A second signal stops it immediately. Several workers can run at once.
    """
    runs: queue.Queue[JobRun] = queue.Queue()
    with options.open() as mnemic:
        running = mnemic.worker(poll_s=poll_s, on_run=runs.put)
        with _stop_at_signals(running):
            running.start(until_idle=is_once)
            if not options.as_json:
                output.note("looking for work" if is_once else f"checking every {poll_s:g} s; press Ctrl-C to stop")
            while not running.join(REPORT_S):
                _show_runs(runs, options)
        _show_runs(runs, options)
    if is_once and running.failure is not None:
        raise running.failure


@verb_command("jobs list")
def list_jobs(jobs: Sequence[Job]) -> None:
    """List this scope's jobs, oldest first."""
    rows = [
        output.Row(
            (job.state.value, str(job.attempts)),
            job.error or job.kind,
            (job.id, job.kind, output.format_time(job.run_at), *list_cost(job.usage)),
        )
        for job in jobs
    ]
    output.show_rows(("state", "tries"), rows, "no unfinished jobs in this scope")


@command("jobs retry")
def retry(
    options: ScopeOptions,
    ids: Annotated[
        list[str] | None, typer.Argument(help="Job ids. Default: all permanently failed jobs in this scope.")
    ] = None,
) -> None:
    """Queue permanently failed jobs for another attempt. Run `mnemic work` to process the queue."""
    with options.open() as mnemic:
        scope = options.scope
        dead = [] if ids else mnemic.jobs.list(scope, states=[JobState.DEAD], limit=MOST_RETRIED)
        wanted = [check_unicode(each, "id") for each in ids] if ids else [job.id for job in dead]
        count = mnemic.jobs.retry(scope, wanted)
    if options.as_json:
        output.show_json(count)
        return
    output.write(f"{output.format_count(count, 'jobs')} will be retried")


@verb_command("curate")
def curate(report: CurateReport) -> None:
    """Review uncurated days, and store gems: information that will still matter in six months. The worker does this
    every night.
    """
    for day in report.days:
        rows = [
            output.Row((day.day, each.verdict.value), each.gem.gem, (each.memory_id or "", *each.gem.categories))
            for each in day.gems
        ]
        rows += [output.Row((day.day, "refused"), each.excerpt, (each.reason,)) for each in day.refused]
        output.show_rows(("day", "done"), rows)
    turns, gems = sum(day.turns for day in report.days), sum(len(day.gems) for day in report.days)
    read = f"{output.format_count(turns, 'turns')} from {output.format_count(len(report.days), 'days')}"
    output.note(f"{read} {_would(report.is_dry_run)}read, {output.format_count(gems, 'gems')} found")
    if report.held:
        held = output.format_count(len(report.held), "conversations")
        output.note(f"{held} will be read again in the next run because a gem was rejected")


@verb_command("consolidate")
def consolidate(report: ConsolidateReport) -> None:
    """Merge repeated choices into one general preference. The worker does this every week. The original memories are
    kept in the superseded state. Run `memory undo` on the preference to restore them.
    """
    rows = [output.Row((str(len(each.merged)),), each.text, (each.memory_id or "",)) for each in report.entries]
    output.show_rows(("choices",), rows)
    choices = output.format_count(sum(len(each.merged) for each in report.entries), "choices")
    preferences = output.format_count(len(report.entries), "preferences")
    output.note(f"{choices} {_would(report.is_dry_run)}merged into {preferences}")


@verb_command("decay")
def decay(report: DecayReport) -> None:
    """Fade the importance of memories according to the time since their last access. The worker does this every night.
    The stored importance does not change. Using a memory or marking it as relevant restores its importance.
    """
    rows = [
        output.Row((f"{each.was:.2f}", f"{each.becomes:.2f}"), output.shorten_ids(each.id), ())
        for each in report.entries
    ]
    output.show_rows(("was", "is"), rows)
    examined = output.format_count(report.examined, "memories")
    output.note(f"{len(report.entries):,} of {examined} {_would(report.is_dry_run)}faded further")


@verb_command("evict")
def evict(report: EvictReport) -> None:
    """Archive memories that have expired or are old and faded, and delete memories that were archived long ago. The
    worker does this every night. `memory undo` restores an archived memory.
    """
    gone = (*report.archived, *report.deleted)
    rows = [output.Row((each.action.value,), each.reason, (output.shorten_ids(each.id),)) for each in gone]
    output.show_rows(("done",), rows)
    would = _would(report.is_dry_run)
    counts = f"{len(report.archived):,} {would}archived, {len(report.deleted):,} {would}deleted"
    output.note(f"examined {output.format_count(report.examined, 'memories')}: {counts}")


def list_cost(usage: Usage) -> tuple[str, ...]:
    """The cost of a job's model calls, as text. Empty if no model was called."""
    if not usage.calls:
        return ()
    tokens = f"{usage.prompt_tokens}+{usage.completion_tokens} tokens"
    return (f"{output.format_count(usage.calls, 'model calls')}, {tokens}, {usage.seconds:.1f} s",)


def _would(is_dry_run: bool) -> str:
    return "would be " if is_dry_run else ""


def _show_health(report: HealthReport) -> None:
    rows = [
        output.Row(
            (one.ailment.value,),
            f"{one.text}: {one.reason}" if one.text else one.reason,
            tuple(map(output.shorten_ids, one.ids)),
            f"to do: {output.shorten_ids(one.remedy.command)}",
        )
        for one in report.findings
    ]
    output.show_rows(("finding",), rows)
    if report.fixed:
        would = "would be fixed" if report.is_dry_run else "fixed; `mnemic memory undo` reverts a fix"
        output.note(f"{output.format_count(len(report.fixed), 'findings')} {would}")
    for line in report.notes:
        output.note(line)
    score, counts = report.score, output.list_counts(report.score.counts, nothing="")
    output.write(
        f"{score.score:g} of 100 for {output.format_count(score.memories, 'memories')}{counts and f': {counts}'}"
    )
    earlier = report.scores[-SCORES_SHOWN:]
    if earlier:
        output.note("before: " + ", ".join(f"{each.score:g} ({output.format_time(each.at)})" for each in earlier))


def _show_reembed(report: ReembedReport) -> None:
    for space in report.spaces:
        output.write(f"{space.model}: {space.vectors:,} of {space.items:,} items have a vector ({space.share:.0%})")
    if report.estimate is not None:
        output.write(_describe_estimate(report.estimate))
    else:
        output.write(f"{output.format_count(report.filled, 'vectors')} computed in {report.seconds:.1f} s")
    if report.removed:
        would = "would be removed" if report.is_dry_run else "removed"
        output.write(f"{_count_vectors(report.removed)} from other embedders {would}")
    elif any(report.kept.values()):
        output.note(
            f"kept {_count_vectors(report.kept)} from other embedders as a fallback; use --prune to remove them"
        )


def _describe_estimate(estimate: Estimate) -> str:
    if not estimate.texts:
        return "nothing to do"
    seconds = _format_seconds(estimate.seconds)
    texts = output.format_count(estimate.texts, "texts")
    return f"{texts} to embed, about {output.format_count(estimate.characters, 'characters')} and {seconds}"


def _format_seconds(seconds: float) -> str:
    if seconds >= SECONDS_OF_AN_HOUR:
        return f"{seconds / SECONDS_OF_AN_HOUR:.1f} hours"
    return (
        f"{seconds / SECONDS_OF_A_MINUTE:.1f} minutes" if seconds >= SECONDS_OF_A_MINUTE else f"{seconds:.1f} seconds"
    )


def _count_vectors(counts: Mapping[str, int]) -> str:
    return output.format_count(sum(counts.values()), "vectors")


@contextmanager
def _stop_at_signals(worker: Worker) -> Generator[None]:
    """A signal stops the worker after the current job. A second one has its usual effect."""

    def stop(number: int, _frame: object) -> None:
        signal.signal(number, before[number])
        worker.stop()

    with handle_signals(ENDING, stop) as before:
        yield


def _show_runs(runs: queue.Queue[JobRun], options: ScopeOptions) -> None:
    """Print a line for each finished or failed job."""
    while not runs.empty():
        run = runs.get()
        job = run.job
        if options.as_json:
            output.write(json.dumps(to_wire(run)))
            continue
        line = ", ".join(
            (f"{job.kind} {job.id} {OUTCOMES[run.outcome]} after {run.seconds:.1f} s", *list_cost(job.usage))
        )
        output.write(f"{line}: {output.one_line(run.error)}" if run.error else line)
