"""Rerankers by name: `maxsim`, `cross-encoder`, `cross-encoder:FOLDER`, or one that a package brings.

A package makes its reranker known by an entry point of the group `mnemic.rerankers`: a callable `(model, options)`,
model None when the name says none, that returns a `Reranker`. A name of Mnemic's own stays Mnemic's.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from typing import Any, cast

from mnemic.errors import ConfigError
from mnemic.ports.reranker import Reranker

GROUP = "mnemic.rerankers"
Options = Mapping[str, object]
Build = Callable[[str | None, Options], Reranker]


def open_reranker(name: str, options: Options | None = None) -> Reranker:
    """The reranker of a name, `technology` or `technology:model`; `options` are the keyword arguments of its class.

    Raises `ConfigError` for a name or an option nobody knows, and when the package of an extra is missing.
    """
    technology, _, model = name.partition(":")
    build = _OWN.get(technology) or _third_party(technology)
    return build(model or None, dict(options or {}))


def reranker_names() -> list[str]:
    """Every name that `open_reranker` knows, in order; those of other packages too."""
    return sorted({*_OWN, *(point.name for point in importlib.metadata.entry_points(group=GROUP))})


def _third_party(technology: str) -> Build:
    for point in importlib.metadata.entry_points(group=GROUP, name=technology):
        try:
            return cast("Build", point.load())
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"reranker {technology!r} of {point.value} cannot be loaded: {error}") from error
    raise ConfigError(f"reranker {technology!r} is not known; there are {', '.join(reranker_names())} and none")


def _maxsim(model: str | None, options: Options) -> Reranker:
    from mnemic.adapters.rerankers.maxsim import MaxSimReranker

    if model is not None:
        raise ConfigError(f"maxsim runs on the offline model alone; it cannot be {model!r}")
    return _construct("maxsim", MaxSimReranker, options)


def _cross_encoder(model: str | None, options: Options) -> Reranker:
    from mnemic.adapters.rerankers.cross_encoder import CrossEncoderReranker

    return _construct("cross-encoder", CrossEncoderReranker, {**options, **({"model": model} if model else {})})


def _construct(name: str, build: Callable[..., Reranker], options: Mapping[str, Any]) -> Reranker:
    try:
        return build(**options)
    except TypeError as error:
        raise ConfigError(f"reranker {name!r} does not take these options ({', '.join(options)}): {error}") from error


_OWN: dict[str, Build] = {"cross-encoder": _cross_encoder, "maxsim": _maxsim}
