"""A worker: runs jobs for as long as it is wanted, in a thread of its own, and sleeps while there is nothing to do."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from datetime import datetime

from mnemic.engine.jobs.jobs import Handler, JobRun, run_jobs
from mnemic.engine.jobs.schedules import timetables
from mnemic.engine.parts import Parts
from mnemic.errors import MnemicError
from mnemic.model.job import JobState

POLL_S = 5.0
SHORTEST_S = 0.1
_LOOKED_AT = 100
_log = logging.getLogger("mnemic.worker")

Told = Callable[[JobRun], object]


class Worker:
    """Runs the jobs of a whole store until it is stopped. Several may run beside each other, in one process or many.

    `name` holds its leases and differs between workers. It looks for work at least every `poll_s` seconds, and earlier
    when a schedule or another try is due. `on_run` is told of every try of a job, on the thread of the worker. A
    failure of the store or of a handler is logged, and the worker goes on after `poll_s`. `failure` is that of the last
    time it looked, None when all went well.
    """

    def __init__(
        self,
        parts: Parts,
        handlers: Mapping[str, Handler],
        *,
        name: str,
        poll_s: float = POLL_S,
        on_run: Told | None = None,
    ) -> None:
        self._parts, self._handlers, self._name = parts, handlers, name
        self._poll_s = poll_s
        self._on_run = on_run
        self.failure: Exception | None = None
        self._stop = threading.Event()
        self._is_lasting = True
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)

    def start(self, *, until_idle: bool = False) -> None:
        """Begin; with `until_idle` it ends when nothing is due. Raises `ConfigError` when a schedule cannot be. Once
        it has ended, a worker cannot begin again.
        """
        timetables(self._parts, self._handlers)
        self._is_lasting = not until_idle
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end after the job that it does now; returns at once, also inside a signal handler of another
        thread than its own.
        """
        self._stop.set()

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until it has ended; False when it has not within `timeout_s`."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _loop(self) -> None:
        while not self._stop.is_set():
            pause_s = self._round()
            if not self._is_lasting:
                return
            self._stop.wait(pause_s)

    def _round(self) -> float:
        """Do what is due; returns how many seconds to sleep.

        Whatever a handler raised is noted at its job already; a worker that died of it would leave all other jobs.
        """
        self.failure = None
        try:
            for run in run_jobs(self._parts, self._handlers, worker=self._name):
                if self._on_run is not None:
                    self._on_run(run)
                if self._stop.is_set():
                    return 0.0
            return self._idle_s()
        except MnemicError as error:
            self.failure = error
            _log.warning("the worker pauses for %g s: %s: %s", self._poll_s, type(error).__name__, error)
        except Exception as error:  # noqa: BLE001 -- the job loop outlives a faulty handler; see tests/architecture/test_sizes.py
            self.failure = error
            _log.error("a job failed with %s; the worker goes on in %g s", type(error).__name__, self._poll_s)
        return self._poll_s

    def _idle_s(self) -> float:
        """Seconds until something is due that can be foreseen, at most `poll_s`."""
        now = self._parts.clock.now()
        wakes = [min(self._tries(), default=None), *(at.next for at in timetables(self._parts, self._handlers))]
        waits = [(wake - now).total_seconds() for wake in wakes if wake is not None]
        return max(SHORTEST_S, min([self._poll_s, *waits]))

    def _tries(self) -> list[datetime]:
        """When the oldest jobs that wait may be tried."""
        with self._parts.store.read() as unit:
            jobs = unit.jobs.list(None, (JobState.PENDING,), _LOOKED_AT)
        return [job.run_at for job in jobs if job.kind in self._handlers]
