"""The memory primitive: four verbs that every backend has, what each backend needs, and backends by name.

Known by name are Mnemic's own, those that a program registers, and those that an installed package announces by an
entry point of the group `mnemic.backends`: the class, or anything that returns a backend when it is called. A name of
Mnemic's own stays Mnemic's. Optional packages are imported here, so that a missing one is told with the line to run.
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
from types import ModuleType
from typing import Any, ClassVar, TypeVar, cast

from mnemic.config import Config, load_config
from mnemic.engine.inputs import check_line, check_metadata, check_text
from mnemic.errors import ConfigError, InvalidInputError, UnsupportedError
from mnemic.model.settings import Settings


@dataclass(frozen=True, slots=True)
class BackendFacts:
    """One row of the comparison.

    `extra` is the name in `pip install 'mnemic[extra]'`, empty when nothing is needed; `packages` are what it brings.
    `can_use_gpu`: a GPU may make it faster, none is needed. `is_durable`: the data survives the process by itself.
    `has_cosine_scores`: its scores are cosines, which thresholds on meaning are made for.
    `quality` and `speed` are words for what was measured (benchmarks/results/memory-backends.md holds the numbers).
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
        """The line to run, empty when nothing has to be installed."""
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
"""The facts of Mnemic's own backends by name; those of `hybrid` follow from its two parts, see `joined`."""


def join_facts(sparse: BackendFacts, dense: BackendFacts) -> BackendFacts:
    """The facts of a hybrid of two backends: what either needs, durable only when both are."""
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


def import_extra(module: str, extra: str) -> ModuleType:
    """The module of an optional package. Raises `ConfigError` with the line to run when it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ConfigError(f"this memory backend needs the package {error.name}: run `{install_line(extra)}`") from error


TOP_K = 5
"""Results of a retrieval that names no number."""

MIN_SCORE = 0.0
"""The score that a result must reach when the caller names none: on every scale it means "some evidence"."""


@dataclass(slots=True)
class RetrievalResult:
    """One thing found. `score` is on the scale of the backend that found it: higher is better, and the scores of two
    backends cannot be compared. `source` and `metadata` are as they were stored.
    """

    content: str
    score: float = 0.0
    source: str = ""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


class MemoryBackend(ABC):
    """Keeps texts and finds them again; one object is one namespace, and no call sees another object's memory.

    Promises of every backend: texts come back exactly as they were stored; what `store` has returned an id for is
    found by the next `retrieve`, and what `delete` answered True for is not; a call that raises has changed nothing;
    calls may come from several threads. Subclass it, set `backend_id`, implement the four verbs, register it
    (`mnemic.backends.primitive`), and prove it with `mnemic.testing.backend_contract.BackendContract`.
    """

    backend_id: str = ""
    """The name it is registered by; registering sets it where a class says none."""

    facts: BackendFacts = BackendFacts()
    """What it needs and whether it forgets at the end of the process."""

    @abstractmethod
    def store(self, content: str, *, source: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        """Keep a text; returns its id, which no other text of this namespace has, not even an equal or a deleted one.

        Raises `InvalidInputError` for what is no text, is blank or not valid Unicode, and for metadata that is no
        JSON object.
        """

    @abstractmethod
    def retrieve(self, query: str, *, top_k: int = TOP_K, **kwargs: Any) -> list[RetrievalResult]:
        """At most `top_k` results, best first. No query raises; a blank one finds nothing.

        `min_score` among the keywords: results below it are left out; on the backend's own scale, 0.0 by default.
        Raises `InvalidInputError` when `top_k` is below 1, and for a keyword that the backend does not know.
        """

    @abstractmethod
    def delete(self, doc_id: str) -> bool:
        """Remove the text of this id; True only if there was one."""

    @abstractmethod
    def clear(self) -> None:
        """Remove everything. Ids given before are not given again."""

    def save(self, path: str | Path) -> None:
        """Write everything to `path`, in the place of what is there, wholly or not at all.

        Raises `UnsupportedError` for a backend that cannot, or need not because its data is on disk already.
        """
        raise UnsupportedError(f"backend {self.backend_id!r} cannot save to {path}", capability="save")

    def load(self, path: str | Path) -> None:
        """Take what `save` wrote, in the place of what is held now. The ids are the saved ones.

        Raises `NotFoundError` when there is nothing, `BackendError` when it is damaged, `ConfigError` when another
        backend or another model wrote it; then nothing has changed. Raises `UnsupportedError` like `save`.
        """
        raise UnsupportedError(f"backend {self.backend_id!r} cannot load {path}", capability="load")

    def close(self) -> None:  # noqa: B027 -- a backend in memory need not close anything
        """Let go of files and models; closing twice is harmless. What was only in memory is gone."""


_LIMITS = Settings()


def check_document(content: object, source: object, metadata: object) -> tuple[str, str, dict[str, Any]]:
    """Content, source and a copy of the metadata (empty for None). Raises `InvalidInputError`."""
    text = check_text(content, "content", _LIMITS)
    line = check_line(source, "source", limit=_LIMITS.max_text_chars)
    return text, line, dict(check_metadata({} if metadata is None else metadata, _LIMITS))


def check_request(query: object, top_k: object, options: Mapping[str, object]) -> tuple[str, int, float]:
    """Query, number of results and lowest score. Raises `InvalidInputError`, never because of what a text says."""
    if not isinstance(query, str):
        raise InvalidInputError(f"query must be text, not {type(query).__name__}")
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
        raise InvalidInputError(f"top_k must be a whole number from 1, not {top_k!r}")
    unknown = [name for name in options if name != "min_score"]
    if unknown:
        raise InvalidInputError(f"retrieve does not know {unknown[0]!r}; there are top_k and min_score")
    score = options.get("min_score", MIN_SCORE)
    if isinstance(score, bool) or not isinstance(score, int | float) or math.isnan(score):
        raise InvalidInputError(f"min_score must be a number, not {score!r}")
    return query, top_k, float(cast("float", score))


GROUP = "mnemic.backends"
DEFAULT_BACKEND = "sqlite"
OWN = ("bm25", "colbert", "faiss", "hybrid", "sqlite")
"""Names of Mnemic's own backends; each is registered by the module of its name, which is imported when asked for."""

Build = Callable[..., MemoryBackend]
Backend = TypeVar("Backend", bound=MemoryBackend)


class MemoryRegistry:
    """The one table from names to backends; `create` is how a name in a configuration becomes a backend."""

    _registered: ClassVar[dict[str, type[MemoryBackend]]] = {}

    @classmethod
    def register(cls, name: str) -> Callable[[type[Backend]], type[Backend]]:
        """A class decorator that makes a backend known by `name`, and sets its `backend_id` where it says none.

        Raises `ConfigError` when the name is blank, is another class's, or is not the `backend_id` of the class.
        """
        if not name.strip():
            raise ConfigError("a memory backend needs a name to be registered by")

        def registered(backend: type[Backend]) -> type[Backend]:
            known = cls._registered.get(name)
            own = f"{__package__}.{name}" if name in OWN else backend.__module__
            if backend.__module__ != own or (known is not None and not _is_same(known, backend)):
                raise ConfigError(f"the name {name!r} is taken by another memory backend; register another one")
            if backend.backend_id not in ("", name):
                raise ConfigError(f"{backend.__qualname__} calls itself {backend.backend_id!r}; register it by that")
            backend.backend_id = name
            cls._registered[name] = backend
            return backend

        return registered

    @classmethod
    def create(cls, name: str = DEFAULT_BACKEND, /, **options: Any) -> MemoryBackend:
        """A new backend of that name; `options` are the arguments of its class.

        Raises `ConfigError` for an unknown name (the message holds the nearest ones), for an option the class does
        not take, and when a package is missing (the message holds the line that installs it).
        """
        build = cls._build(name)
        try:
            inspect.signature(build).bind(**options)
        except TypeError as error:
            raise ConfigError(f"memory backend {name!r} does not accept these options: {error}") from error
        return build(**options)

    @classmethod
    def takes(cls, name: str, option: str) -> bool:
        """Whether the backend of a name has an argument of that name. Raises `ConfigError` as `create`."""
        return option in inspect.signature(cls._build(name)).parameters

    @classmethod
    def names(cls) -> list[str]:
        """Every name that `create` knows, in order."""
        announced = (point.name for point in importlib.metadata.entry_points(group=GROUP))
        return sorted({*OWN, *cls._registered, *announced})

    @classmethod
    def unregister(cls, name: str) -> None:
        """Forget what a program registered by this name; Mnemic's own and unknown names are left as they are."""
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
                raise ConfigError(f"memory backend {name!r} of {point.value} cannot be loaded: {error}") from error
        # similarity: a typing error or two
        near = difflib.get_close_matches(name.lower(), cls.names(), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(cls.names())}"
        raise ConfigError(f"memory backend {name!r} is not known; {hint}")


def _is_same(known: type[MemoryBackend], backend: type[MemoryBackend]) -> bool:
    """True for the class of a module that was imported once more."""
    return (known.__module__, known.__qualname__) == (backend.__module__, backend.__qualname__)


def open_backend(config: Config | None = None) -> MemoryBackend:
    """The backend that `tools.storage.default_backend` names, over the file of `db_path` where it keeps its data in
    one; in memory and hybrid backends, and others that take no `db_path`, go without. None means the configuration
    that counts (`mnemic.config.load_config`).

    Raises `ConfigError` for an unknown name, and with the line to run when a package is missing.
    """
    settings = (config or load_config()).backend
    has_file = settings.db_path is not None and MemoryRegistry.takes(settings.name, "db_path")
    return MemoryRegistry.create(settings.name, **({"db_path": settings.db_path} if has_file else {}))
