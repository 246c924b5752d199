"""The files of Mnemic's offline embedder: all-MiniLM-L6-v2 as an 8-bit ONNX graph, and its vocabulary.

This package answers for where the files are and what they are; `mnemic.adapters.embedders.minilm` runs them. They are
written by `scripts/build_minilm.py` in Mnemic's repository; `SHA256SUMS` beside them holds their checksums, `LICENSE`
the licence of the weights (Apache-2.0).
"""

from pathlib import Path

MODEL = "all-MiniLM-L6-v2"
"""Name of the published model."""

REVISION = "53aa51172d14"
"""First 12 hexadecimal digits of the SHA-256 of the published float32 weights (`model.safetensors`)."""

PRECISION = "int8-per-token"
"""How the graph computes; a changed recipe is a new name, because its vectors are not exactly comparable."""

_FOLDER = Path(__file__).resolve().parent


def model_path() -> Path:
    """The ONNX graph: `input_ids` `(n, tokens) int32`, 0 = padding, to unit vectors `embedding` `(n, 384) float32`."""
    return _FOLDER / "model.onnx"


def vocab_path() -> Path:
    """The WordPiece vocabulary, UTF-8, one piece a line; the line number, from 0, is the id."""
    return _FOLDER / "vocab.txt"
