"""`mnemic doctor`, `work` and `jobs …`: look after a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.failures import UNEXPECTED
from mnemic.cli.options import command
from mnemic.cli.output import Row, end_partly, moment, note, number_of, one_line, show_json, show_rows, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import BackendError
from mnemic.model.chat import Usage
from mnemic.model.health import Condition, Diagnosis, Finding
from mnemic.model.records import JobState
from mnemic.model.values import check_unicode

if TYPE_CHECKING:
    from mnemic.api import Mnemic

States = Annotated[
    list[JobState] | None,
    typer.Option("--state", help="This state; may be repeated; those that are not done unless said."),
]
MOST_RETRIED = 1000


def examine(
    asking: ScopeOptions,
    is_quick: Annotated[bool, typer.Option("--quick", help="Only whether the store answers, for probes.")] = False,
) -> None:
    """Look thoroughly at every part of the whole store: what works, what is degraded or broken, and what to do. Exits
    with 1 when anything is not well. How well what is remembered is, `mnemic health` tells.
    """
    _tell(_looked(asking, lambda mnemic: mnemic.doctor(is_quick=is_quick)), asking)


def labour(
    asking: ScopeOptions, is_one: Annotated[bool, typer.Option("--one", help="Do one job, not all of them.")] = False
) -> None:
    """Run the jobs of the whole store that are due, such as vectors that must still be made. Exits with 14 when some
    failed, whether they will be tried again or gave up.
    """
    with asking.open() as mnemic:
        report = mnemic.work(until_idle=not is_one)
    if asking.as_json:
        show_json(report)
    else:
        write(f"{report.done} done, {report.retried} will be tried again, {report.dead} gave up")
    if failed := report.retried + report.dead:
        end_partly(f"{number_of(failed, 'runs')} of jobs failed; `mnemic jobs list` tells why", as_json=asking.as_json)


def enumerate_jobs(
    asking: ScopeOptions,
    states: States = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most jobs.", min=1, max=MOST_RETRIED)] = 100,
) -> None:
    """List the jobs of this scope, oldest first."""
    wanted = states or (JobState.PENDING, JobState.RUNNING, JobState.DEAD)
    with asking.open() as mnemic:
        jobs = mnemic.jobs.list(asking.scope, states=wanted, limit=limit)
    if asking.as_json:
        show_json(jobs)
        return
    rows = [
        Row(
            (job.state.value, str(job.attempts)),
            one_line(job.error or job.kind),
            (job.id, job.kind, moment(job.run_at), *cost(job.usage)),
        )
        for job in jobs
    ]
    if rows:
        show_rows(("state", "tries"), rows)
    else:
        note("no job in this scope")


def try_again(
    asking: ScopeOptions,
    ids: Annotated[list[str] | None, typer.Argument(help="Jobs; every dead one of this scope unless said.")] = None,
) -> None:
    """Let jobs that gave up be tried again from now; `mnemic work` runs them."""
    with asking.open() as mnemic:
        scope = asking.scope
        dead = [] if ids else mnemic.jobs.list(scope, states=[JobState.DEAD], limit=MOST_RETRIED)
        wanted = [check_unicode(each, "id") for each in ids] if ids else [job.id for job in dead]
        count = mnemic.jobs.retry(scope, wanted)
    if asking.as_json:
        show_json(count)
        return
    write(f"{number_of(count, 'jobs')} will be tried again")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    command(app, "doctor", examples="mnemic doctor\nmnemic doctor --quick\nmnemic doctor --json --store memory.db")(
        examine
    )
    command(app, "work", examples="mnemic work\nmnemic work --one")(labour)


def register_jobs(jobs: typer.Typer) -> None:
    """Adds the commands of the group."""
    command(jobs, "list", examples="mnemic jobs list --user ana --state dead")(enumerate_jobs)
    command(jobs, "retry", examples="mnemic jobs retry --user ana")(try_again)


def cost(usage: Usage) -> tuple[str, ...]:
    """What the tries of a job cost of a language model, in words; none where none was asked."""
    if not usage.calls:
        return ()
    tokens = f"{usage.prompt_tokens}+{usage.completion_tokens} tokens"
    return (f"{usage.calls} model calls, {tokens}, {usage.seconds:.1f} s",)


def _looked(asking: ScopeOptions, look: Callable[[Mnemic], Diagnosis]) -> Diagnosis:
    """The diagnosis; a store that cannot even be opened is one too."""
    try:
        with asking.open() as mnemic:
            return look(mnemic)
    except BackendError as error:
        remedy = "mend what it says, or name another store with --store"
        return Diagnosis((Finding("store", Condition.BROKEN, str(error), remedy),))


def _tell(diagnosis: Diagnosis, asking: ScopeOptions) -> None:
    if asking.as_json:
        show_json({"condition": diagnosis.condition, "findings": diagnosis.findings})
    else:
        rows = [
            Row(
                (f.condition.value, f.part), one_line(f.message), (), f"to do: {one_line(f.remedy)}" if f.remedy else ""
            )
            for f in diagnosis.findings
        ]
        show_rows(("state", "part"), rows)
    if diagnosis.condition is not Condition.OK:
        raise typer.Exit(UNEXPECTED)
