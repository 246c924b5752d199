"""Rerankers by name: `maxsim`, `cross-encoder`, `cross-encoder:FOLDER`, or one that a package brings.

A package makes its reranker known by an entry point of the group `mnemic.rerankers` (see `adapters.named_parts`).
"""

from __future__ import annotations

from mnemic.adapters.named_parts import NamedParts, Options, with_model
from mnemic.errors import ConfigError
from mnemic.ports.reranker import Reranker


def open_reranker(name: str, options: Options | None = None) -> Reranker:
    """The reranker of a name, `technology` or `technology:model`; `options` are the keyword arguments of its class.

    Raises `ConfigError` for a name or an option nobody knows, and when the package of an extra is missing.
    """
    return _RERANKERS.open(name, options)


def reranker_names() -> list[str]:
    """Every name that `open_reranker` knows, in order; those of other packages too."""
    return _RERANKERS.names()


def _maxsim(model: str | None, options: Options) -> Reranker:
    from mnemic.adapters.rerankers.maxsim import MaxSimReranker

    if model is not None:
        raise ConfigError(f"maxsim runs on the offline model alone; it cannot be {model!r}")
    return _RERANKERS.made("maxsim", MaxSimReranker, options)


def _cross_encoder(model: str | None, options: Options) -> Reranker:
    from mnemic.adapters.rerankers.cross_encoder import CrossEncoderReranker

    return _RERANKERS.made("cross-encoder", CrossEncoderReranker, with_model(options, model))


_RERANKERS = NamedParts[Reranker]("reranker", {"cross-encoder": _cross_encoder, "maxsim": _maxsim})
