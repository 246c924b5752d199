"""`mnemic worker`: stays and runs the jobs of a store as they come due."""

from __future__ import annotations

import json
import queue
import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.options import command
from mnemic.cli.output import note, one_line, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.cli.upkeep import cost
from mnemic.model.records import JobState
from mnemic.wire import to_wire

if TYPE_CHECKING:
    from mnemic.engine.jobs import JobRun, Worker

POLL_S = 5.0
TELLING_S = 0.1
"""How soon a job that is done is told, and a signal is seen."""

OUTCOMES = {
    None: "was taken by another worker",
    JobState.DONE: "done",
    JobState.PENDING: "failed and will be tried again",
    JobState.DEAD: "gave up",
}


def labour_on(
    asking: ScopeOptions,
    poll_s: Annotated[float, typer.Option("--poll", help="Look for work every so many seconds.", min=0.1)] = POLL_S,
    is_once: Annotated[bool, typer.Option("--once", help="End when nothing is due.")] = False,
) -> None:
    """Run the jobs of the whole store as they come due, by the schedules too, until a signal ends it (SIGTERM or
    Ctrl-C, after the job it is doing; a second one at once). Several workers may run. Tells every job in a line.
    """
    runs: queue.Queue[JobRun] = queue.Queue()
    with asking.open() as mnemic:
        worker = mnemic.worker(poll_s=poll_s, on_run=runs.put)
        with _ending(worker):
            worker.start(until_idle=is_once)
            if not asking.as_json:
                note("looking for work" if is_once else f"looking for work every {poll_s:g} s; Ctrl-C ends it")
            while not worker.join(TELLING_S):
                _tell_runs(runs, asking)
        _tell_runs(runs, asking)
    if is_once and worker.failure is not None:
        raise worker.failure


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, "worker", examples="mnemic worker\nmnemic worker --poll 60\nmnemic worker --once --json")(labour_on)


@contextmanager
def _ending(worker: Worker) -> Generator[None]:
    """Signals stop the worker when it has done its job; a second one does what it always does."""

    def stop(number: int, _frame: object) -> None:
        signal.signal(number, before[signal.Signals(number)])
        worker.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell_runs(runs: queue.Queue[JobRun], asking: ScopeOptions) -> None:
    """Each job that was done or failed, as a line."""
    while not runs.empty():
        run = runs.get()
        job = run.job
        if asking.as_json:
            write(json.dumps(to_wire(run)))
            continue
        told = ", ".join((f"{job.kind} {job.id} {OUTCOMES[run.outcome]} after {run.seconds:.1f} s", *cost(job.usage)))
        write(f"{told}: {one_line(run.error)}" if run.error else told)
