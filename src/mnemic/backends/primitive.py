"""The memory primitive: the four verbs of every backend, what each backend needs, and a registry of names. Names come
from Mnemic, from a program's registrations, and from entry points of the group `mnemic.backends` in installed packages:
a class, or a callable that returns a backend. Mnemic's own names cannot be replaced. Optional packages are imported
here, so that errors about missing ones contain the install command.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from mnemic.config import Config, load_config
from mnemic.engine.inputs import check_line, check_metadata, check_text
from mnemic.errors import ConfigError, InvalidInputError, UnsupportedError
from mnemic.model.settings import Settings


@dataclass(frozen=True, slots=True)
class BackendFacts:
    """One row of the comparison.

    `extra`: the name in `pip install 'mnemic[extra]'`, empty if nothing is needed; `packages`: what it installs.
    `can_use_gpu`: a GPU may speed it up, none is needed. `is_durable`: data survives the process. `has_cosine_scores`:
    thresholds for cosines apply. `quality` and `speed` summarise measurements (see
    benchmarks/results/memory-backends.md).
    """

    extra: str = ""
    packages: tuple[str, ...] = ()
    can_use_gpu: bool = False
    is_durable: bool = False
    quality: str = ""
    speed: str = ""
    has_cosine_scores: bool = False

    @property
    def install_line(self) -> str:
        """The install command, empty if nothing is needed."""
        return install_line(*self.extra.split(",")) if self.extra else ""


FACTS: dict[str, BackendFacts] = {
    "sqlite": BackendFacts(is_durable=True, quality="very good", speed="fast"),
    "bm25": BackendFacts(quality="fair", speed="fast"),
    "faiss": BackendFacts(
        extra="memory-faiss",
        packages=("faiss-cpu",),
        can_use_gpu=True,
        quality="good",
        speed="moderate",
        has_cosine_scores=True,
    ),
    "colbert": BackendFacts(
        extra="memory-colbert",
        packages=("torch", "transformers"),
        can_use_gpu=True,
        quality="very good",
        speed="slower",
    ),
}
"""The facts of Mnemic's own backends. For `hybrid` see `join_facts`."""


def join_facts(sparse: BackendFacts, dense: BackendFacts) -> BackendFacts:
    """The facts of a hybrid: the needs of both, durable only if both are."""
    extras = [extra for facts in (sparse, dense) for extra in facts.extra.split(",") if extra]
    return BackendFacts(
        extra=",".join(dict.fromkeys(extras)),
        packages=tuple(dict.fromkeys(sparse.packages + dense.packages)),
        can_use_gpu=sparse.can_use_gpu or dense.can_use_gpu,
        is_durable=sparse.is_durable and dense.is_durable,
        quality="very good",
        speed="moderate",
    )


def install_line(*extras: str) -> str:
    """The command that installs extras of Mnemic."""
    return f"pip install 'mnemic[{','.join(extras)}]'"


TOP_K = 5
"""The default number of results."""

MIN_SCORE = 0.0
"""The default minimum score. On every scale it means "some evidence"."""


@dataclass(slots=True)
class RetrievalResult:
    """A result. `score` is on its backend's scale, higher is better; scores of two backends are not comparable.
    `source` and `metadata` are as stored.
    """

    content: str
    score: float = 0.0
    source: str = ""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


class MemoryBackend(ABC):
    """Stores and retrieves texts. One object is one namespace and never sees another object's memory.

    Every backend promises:
    - Texts are returned exactly as stored.
    - What `store` returned an id for, the next `retrieve` can find. What `delete` returned True for, it cannot.
    - A call that raises has changed nothing. All calls are thread-safe.

    To write one, subclass this, set `backend_id`, implement the four verbs, register it with `MemoryRegistry`, and test
    it with `mnemic.testing.backend_contract.BackendContract`.
    """

    backend_id: str = ""
    """Its registered name. Registering sets it if empty."""

    facts: BackendFacts = BackendFacts()
    """What it needs, and whether data survives the process."""

    @abstractmethod
    def store(self, content: str, *, source: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        """Store a text and return its id, unique in this namespace, also among equal and deleted texts. Raises
        `InvalidInputError` if the content is not a text, blank or invalid Unicode, or the metadata is not a JSON
        object.
        """

    @abstractmethod
    def retrieve(self, query: str, *, top_k: int = TOP_K, **kwargs: Any) -> list[RetrievalResult]:
        """Up to `top_k` results, best first. Accepts any query; a blank one finds nothing. The keyword `min_score`
        drops lower results, on the backend's own scale. Default: 0.0. Raises `InvalidInputError` if `top_k` is below 1,
        and for an unknown keyword.
        """

    @abstractmethod
    def delete(self, doc_id: str) -> bool:
        """Delete a text. True if it existed."""

    @abstractmethod
    def clear(self) -> None:
        """Delete everything. Ids are never reused."""

    def save(self, path: str | Path) -> None:
        """Replace `path` atomically. Raises `UnsupportedError` if the backend cannot or need not (data is on disk)."""
        raise UnsupportedError(f"backend {self.backend_id!r} cannot save to {path}", capability="save")

    def load(self, path: str | Path) -> None:
        """Replace everything with what `save` wrote, with the saved ids. Raises `NotFoundError` if there is nothing,
        `BackendError` if it is damaged, `ConfigError` if another backend or model wrote it, `UnsupportedError` like
        `save`. After an error nothing has changed.
        """
        raise UnsupportedError(f"backend {self.backend_id!r} cannot load {path}", capability="load")

    def close(self) -> None:  # noqa: B027 -- a backend in memory need not close anything
        """Release files and models. Data that is only in memory is lost. Idempotent."""


_LIMITS = Settings()


def check_document(content: object, source: object, metadata: object) -> tuple[str, str, dict[str, Any]]:
    """Content, source and a copy of the metadata (empty for None). Raises `InvalidInputError`."""
    text = check_text(content, "content", _LIMITS)
    line = check_line(source, "source", limit=_LIMITS.max_text_chars)
    return text, line, dict(check_metadata({} if metadata is None else metadata, _LIMITS))


def check_request(query: object, top_k: object, options: Mapping[str, object]) -> tuple[str, int, float]:
    """Query, number of results and minimum score. Raises `InvalidInputError`, but never for a query's text."""
    if not isinstance(query, str):
        raise InvalidInputError(f"query must be text, not {type(query).__name__}")
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
        raise InvalidInputError(f"top_k must be a whole number of at least 1, not {top_k!r}")
    unknown = [name for name in options if name != "min_score"]
    if unknown:
        raise InvalidInputError(f"retrieve does not accept {unknown[0]!r}; use top_k and min_score")
    score = options.get("min_score", MIN_SCORE)
    if isinstance(score, bool) or not isinstance(score, int | float) or math.isnan(score):
        raise InvalidInputError(f"min_score must be a number, not {score!r}")
    return query, top_k, float(cast("float", score))


GROUP = "mnemic.backends"
DEFAULT_BACKEND = "sqlite"
OWN = ("bm25", "colbert", "faiss", "hybrid", "sqlite")
"""Names of Mnemic's own backends. The module of each name registers it on first use."""

Build = Callable[..., MemoryBackend]
Backend = TypeVar("Backend", bound=MemoryBackend)


class MemoryRegistry:
    """Backends by name, as used in configurations."""

    _registered: ClassVar[dict[str, type[MemoryBackend]]] = {}

    @classmethod
    def register(cls, name: str) -> Callable[[type[Backend]], type[Backend]]:
        """A class decorator that registers a backend as `name`, and sets its `backend_id` if empty. Raises
        `ConfigError` if the name is blank, taken by another class, or differs from the class's `backend_id`.
        """
        if not name.strip():
            raise ConfigError("a memory backend must have a name to be registered")

        def registered(backend: type[Backend]) -> type[Backend]:
            known = cls._registered.get(name)
            own = f"{__package__}.{name}" if name in OWN else backend.__module__
            if backend.__module__ != own or (known is not None and not _is_same(known, backend)):
                raise ConfigError(f"the name {name!r} is already used by another memory backend; choose another name")
            if backend.backend_id not in ("", name):
                raise ConfigError(f"{backend.__qualname__} has backend_id {backend.backend_id!r}; use that name")
            backend.backend_id = name
            cls._registered[name] = backend
            return backend

        return registered

    @classmethod
    def create(cls, name: str = DEFAULT_BACKEND, /, **options: Any) -> MemoryBackend:
        """A new backend; `options` are the arguments of its class. Raises `ConfigError` for an unknown name (with the
        nearest ones), an unknown option, and a missing package (with the install command).
        """
        build = cls._build(name)
        try:
            inspect.signature(build).bind(**options)
        except TypeError as error:
            raise ConfigError(f"memory backend {name!r} does not accept these options: {error}") from error
        return build(**options)

    @classmethod
    def takes(cls, name: str, option: str) -> bool:
        """Whether a backend's class has this argument. Raises `ConfigError` like `create`."""
        return option in inspect.signature(cls._build(name)).parameters

    @classmethod
    def names(cls) -> list[str]:
        """Every known name, in order."""
        announced = (point.name for point in importlib.metadata.entry_points(group=GROUP))
        return sorted({*OWN, *cls._registered, *announced})

    @classmethod
    def unregister(cls, name: str) -> None:
        """Remove a program's registration. Ignores unknown names and Mnemic's own."""
        if name not in OWN:
            cls._registered.pop(name, None)

    @classmethod
    def _build(cls, name: str) -> Build:
        if name in OWN:
            importlib.import_module(f"{__package__}.{name}")
        if name in cls._registered:
            return cls._registered[name]
        for point in importlib.metadata.entry_points(group=GROUP, name=name):
            try:
                return cast("Build", point.load())
            except (ImportError, AttributeError) as error:
                raise ConfigError(f"cannot load memory backend {name!r} from {point.value}: {error}") from error
        # similarity: a typing error or two
        near = difflib.get_close_matches(name.lower(), cls.names(), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"use one of {', '.join(cls.names())}"
        raise ConfigError(f"unknown memory backend {name!r}; {hint}")


def _is_same(known: type[MemoryBackend], backend: type[MemoryBackend]) -> bool:
    """True for the same class from a module that was imported again."""
    return (known.__module__, known.__qualname__) == (backend.__module__, backend.__qualname__)


def open_backend(config: Config | None = None) -> MemoryBackend:
    """The backend `tools.storage.default_backend`, with its data in the file `db_path`. In-memory, hybrid and other
    backends without that argument ignore it. None: the active configuration (`mnemic.config.load_config`). Raises
    `ConfigError` for an unknown name, and with the install command if a package is missing.
    """
    settings = (config or load_config()).backend
    has_file = settings.db_path is not None and MemoryRegistry.takes(settings.name, "db_path")
    return MemoryRegistry.create(settings.name, **({"db_path": settings.db_path} if has_file else {}))
