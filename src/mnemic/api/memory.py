"""The `Mnemic` object: an open memory with its verbs."""

from __future__ import annotations

import weakref
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from types import TracebackType

from mnemic.api.background import OwnWorker
from mnemic.api.doors import Admission, Repeats
from mnemic.api.verbs import MnemicVerbs
from mnemic.api.views import Scoping
from mnemic.build import build
from mnemic.config import Config, load_config
from mnemic.engine.engine import Engine
from mnemic.model.scope import Partition
from mnemic.model.settings import Settings
from mnemic.ports.observer import Observer

DEFAULT_ACTOR = "library"


class Mnemic(MnemicVerbs, Scoping, AbstractContextManager["Mnemic"]):
    """An open memory: `Mnemic("memory.db")`, or `Mnemic()` for your own store; see `open`.

    Thread-safe. Close it, or use it in a `with` block.

    Raises the errors of `mnemic.errors`: `InvalidInputError` for a wrong argument, `NotFoundError` for an id that is
    not in the scope, `BackendError` and its subclasses if the store fails. A default of `CONFIGURED` is read from the
    configuration.
    """

    def __init__(
        self, store: str | Path | Config | Engine | None = None, *, actor: str = DEFAULT_ACTOR, has_worker: bool = True
    ) -> None:
        self._place = ""
        if not isinstance(store, Engine):
            config = store if isinstance(store, Config) else load_config(store)
            kind, separator, _ = str(config.store).partition("://")
            self._place = kind if separator else str(config.store)  # an address may hold a password
            store = build(config)
        self._engine = store
        self._opened_by = actor
        self._is_adopted = False
        self._own_worker = OwnWorker(store, actor) if has_worker else None
        if self._own_worker is not None:
            weakref.finalize(self, self._own_worker.forget).atexit = False

    @classmethod
    def open(
        cls, store: str | Path | Config | None = None, *, actor: str = DEFAULT_ACTOR, has_worker: bool = True
    ) -> Mnemic:
        """Open a memory.

        Args:
            store: A path, `sqlite:///path`, `postgresql://…` or `memory://`. Default: the user's own store. All other
                settings come from the environment and the user's configuration file. A `Config` is used as it is.
            actor: The name to record in the history of changes.
            has_worker: Run background jobs, such as extracting facts, in a thread that starts with the first job.
                False leaves them to `work`, to `worker` and to other processes. Default: True.
        """
        return cls(store, actor=actor, has_worker=has_worker)

    def __repr__(self) -> str:
        embedder = self._engine.embedder
        return f"Mnemic({self._place!r}, embedder={None if embedder is None else embedder.space.model!r})"

    @property
    def admission(self) -> Admission:
        """Checks API keys for HTTP servers."""
        return Admission(self._engine)

    @property
    def repeats(self) -> Repeats:
        """Detects repeated requests for HTTP servers."""
        return Repeats(self._engine)

    @property
    def model(self) -> str | None:
        """The name of the language model, or None if none is configured."""
        return None if self._engine.llm is None else self._engine.llm.name

    @property
    def settings(self) -> Settings:
        """The settings that this memory was opened with."""
        return self._engine.settings

    @property
    def observer(self) -> Observer:
        """Collects metrics of servers and the engine."""
        return self._engine.observer

    @property
    def now(self) -> datetime:
        """The current time by the injected clock: aware, in UTC."""
        return self._engine.clock.now()

    @property
    def partitions(self) -> list[Partition]:
        """The owners of everything in the store. For operators: no scope limits it."""
        with self._engine.store.read() as work:
            return work.partitions.all()

    def close(self) -> None:
        """Close the store, index and models. Idempotent. Waits at most five seconds for background jobs. Unfinished
        jobs run when a program next opens the store.
        """
        if self._own_worker is not None:
            self._own_worker.close()
        self._engine.accesses.flush(self._engine.store)
        self._engine.readers.close()
        self._engine.pool.shutdown(cancel_futures=True)
        self._engine.index.close()  # first: it may write files that the store must name
        self._engine.store.close()
        for part in (self._engine.window, *self._engine.known_embedders, self._engine.reranker, self._engine.llm):
            if part is not None:
                part.close()
        self._engine.observer.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
