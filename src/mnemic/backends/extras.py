"""What each backend needs, keeps and is good at, as data; and the imports of optional packages.

Answers for the comparison that the documents show, and for the line that installs what is missing.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType

from mnemic.errors import ConfigError


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


def joined(sparse: BackendFacts, dense: BackendFacts) -> BackendFacts:
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
