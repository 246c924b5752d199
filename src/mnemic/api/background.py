"""The worker that every open Mnemic has, so that what was captured becomes facts without a call."""

from __future__ import annotations

import atexit
import os
import threading
import uuid
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from weakref import WeakSet

from mnemic.engine.engine import Engine
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.indexing import adopt_spaces
from mnemic.engine.jobs import Worker, list_jobs
from mnemic.errors import BackendError
from mnemic.model.records import JobState

GATHER_S = 0.5  # wait before the first look, so that the turn is committed and its messages are read together
CLOSE_S = 5.0  # time limit of `close`; a job that a model delays is done after the store is opened again

_open: WeakSet[OwnWorker] = WeakSet()
_forking = ExitStack()


def _rest_all() -> None:
    """A process that forks while a thread writes gives its child a store that looks locked."""
    for each in [*_open]:
        _forking.enter_context(each.resting(CLOSE_S))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_rest_all, after_in_parent=_forking.close)


class OwnWorker:
    """The worker of an open Mnemic. Its thread starts with the first job, and at once if jobs wait in the store; a
    process that was forked starts its own.
    """

    def __init__(self, engine: Engine, actor: str) -> None:
        self._engine, self._actor = engine, actor
        self._pid, self._guard = os.getpid(), threading.Lock()
        self._worker: Worker | None = None
        _open.add(self)
        engine.listeners.append(self.wake)
        atexit.register(self.close)
        with suppress(BackendError):
            if list_jobs(engine, None, (JobState.PENDING, JobState.RUNNING), 1):
                self.wake()

    def wake(self) -> None:
        """Look for work soon. Never waits, since it is called inside of transactions."""
        if self._pid != os.getpid():  # threads and what they had locked stay behind in the parent
            self._pid, self._guard, self._worker = os.getpid(), threading.Lock(), None
        with self._guard:
            if self._worker is None or self._worker.join(0):
                self._worker = Worker(self._engine, HANDLERS, name=f"{self._actor}-{uuid.uuid4()}", gather_s=GATHER_S)
                self._worker.run(partial(adopt_spaces, self._engine))
            self._worker.wake()

    @contextmanager
    def resting(self, timeout_s: float | None = None) -> Generator[None]:
        """End it after its job, so that a caller who works in the block finds all that is left."""
        worker = self._worker if self._pid == os.getpid() else None
        if worker is not None:
            worker.stop()
            worker.join(timeout_s)
        yield
        if worker is not None:
            self.wake()

    def forget(self) -> Worker | None:
        """Let its worker end after its next look, without waiting: its Mnemic is gone."""
        atexit.unregister(self.close)
        _open.discard(self)
        with suppress(ValueError):
            self._engine.listeners.remove(self.wake)
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.is_lasting = False
        return worker

    def close(self) -> None:
        """Do what is due for some seconds, and leave the rest to the next who opens the store."""
        worker = self.forget()
        if worker is None or self._pid != os.getpid() or worker.finish(CLOSE_S):
            return
        worker.stop()
        with suppress(BackendError):
            worker.hand_back()
