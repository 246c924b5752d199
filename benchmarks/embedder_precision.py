"""Measures the quality, size and speed of all-MiniLM-L6-v2 in different numerical precisions.

    MNEMIC_DATA=path/to/data python -m benchmarks.embedder_precision [--sets locomo,scifact] [--variants shipped]

Only vectors are used: each question is compared with the documents of its group by exact cosine similarity. R@10 is the
mean share of the gold documents among the first ten. The last column is the mean difference to float32 over the
questions of all sets, in points, with its standard error, which shows how large a loss must be to be noticed. Requires
the packages that `scripts/build_minilm.py` needs, and `onnx-ir` for the variant `blocks`. Prints the table of
`results/embedder-precision.md`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnxruntime import quantization
from onnxruntime.quantization import matmul_nbits_quantizer

import mnemic_minilm
from mnemic.adapters.embedders.minilm import MAX_TOKENS, MinilmEmbedder
from scripts import build_minilm

SETS = ("locomo", "longmemeval-pool", "hotpotqa-100", "scifact")
CUTOFF = 10
SHORT_QUERIES = 300
Row = dict[str, Any]
Shares = NDArray[np.float64]


def per_tensor(fp32: Path, target: Path) -> None:
    """Dynamic int8 of onnxruntime, one scale per weight matrix."""
    _dynamic(fp32, target, per_channel=False)


def per_channel(fp32: Path, target: Path) -> None:
    """Dynamic int8 of onnxruntime, one scale per output channel."""
    _dynamic(fp32, target, per_channel=True)


def blocks(fp32: Path, target: Path) -> None:
    """8-bit weights and activations in blocks of 32 (MatMulNBits); the word embeddings stay float32."""
    library: Any = matmul_nbits_quantizer
    settings = library.DefaultWeightOnlyQuantConfig(block_size=32, is_symmetric=True, accuracy_level=4, bits=8)
    quantizer = library.MatMulNBitsQuantizer(str(fp32), algo_config=settings)
    quantizer.process()
    quantizer.model.save_model_to_file(str(target))


def shipped(fp32: Path, target: Path) -> None:
    """The model of `mnemic_minilm`: int8, one scale per output channel and one per token."""
    del fp32
    target.write_bytes(mnemic_minilm.model_path().read_bytes())


VARIANTS: dict[str, Callable[[Path, Path], None]] = {
    "per-tensor": per_tensor,
    "per-channel": per_channel,
    "blocks": blocks,
    "shipped": shipped,
}


def main() -> None:
    """Build the variants, measure each on each set, print one row per variant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--max-tokens", type=int, default=MAX_TOKENS)
    arguments = parser.parse_args()
    folders = [Path(os.environ["MNEMIC_DATA"]) / name for name in arguments.sets.split(",")]
    columns = ["variant", "MB", "ms p50, short query", "texts/s", "alone / in a batch, cosine"]
    columns += [folder.name for folder in folders] + ["points against fp32"]
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    baseline: Shares | None = None
    with tempfile.TemporaryDirectory() as folder:
        fp32 = Path(folder) / "fp32.onnx"
        fp32.write_bytes(build_minilm.serialise(build_minilm.write_graph(build_minilm.fetch()[0], "fp32")))
        for name in ["fp32", *arguments.variants.split(",")]:
            model = Path(folder) / f"{name}.onnx"
            if name != "fp32":
                VARIANTS[name](fp32, model)
            embedder = MinilmEmbedder(model=model, max_tokens=arguments.max_tokens)
            cells = [name, f"{model.stat().st_size / 1e6:.1f}", f"{_short_query_ms(embedder):.2f}"]
            results = [recall(embedder, each) for each in folders]
            cells += [f"{results[0][1]:.0f}", f"{_alone_against_batch(embedder):.6f}"]
            cells += [f"{shares.mean():.4f}" for shares, _ in results]
            pooled = np.concatenate([shares for shares, _ in results])
            baseline = pooled if baseline is None else baseline
            print("| " + " | ".join([*cells, _difference(pooled - baseline)]) + " |", flush=True)


def recall(embedder: MinilmEmbedder, folder: Path) -> tuple[Shares, float]:
    """R@10 of each answerable question of one set, and the documents embedded per second."""
    documents = _rows(folder / "corpus.jsonl.gz")
    questions = [each for each in _rows(folder / "queries.jsonl.gz") if each["gold"] and not each.get("abstain")]
    start = time.perf_counter()
    vectors = embedder.embed_documents([_indexed_text(each) for each in documents])
    texts_per_s = len(documents) / (time.perf_counter() - start)
    members: dict[str, list[int]] = defaultdict(list)
    for index, each in enumerate(documents):
        members[each["group"]].append(index)
    shares: list[float] = []
    for question, vector in zip(questions, embedder.embed_queries([q["text"] for q in questions]), strict=True):
        rows = np.array(members[question["group"]])
        best = rows[np.argsort(-(vectors[rows] @ vector), kind="stable")[:CUTOFF]]
        gold = {item for item, grade in question["gold"].items() if grade > 0}
        shares.append(len(gold & {documents[index]["id"] for index in best}) / len(gold))
    return np.array(shares), texts_per_s


def _difference(shares: Shares) -> str:
    points = shares * 100
    return f"{points.mean():+.2f} ± {points.std() / math.sqrt(len(points)):.2f}"


def _indexed_text(document: Row) -> str:
    """Speaker, title and text, as the sets' own keyword baseline indexes them."""
    return " ".join(part for part in (document.get("speaker"), document.get("title"), document["text"]) if part)


def _dynamic(fp32: Path, target: Path, **options: Any) -> None:
    library: Any = quantization
    # Shape inference does not know the fused operators, so the quantiser is told what flows between them.
    extra = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    library.quantize_dynamic(fp32, target, weight_type=library.QuantType.QInt8, extra_options=extra, **options)


def _short_query_ms(embedder: MinilmEmbedder) -> float:
    times: list[float] = []
    for number in range(SHORT_QUERIES):
        start = time.perf_counter()
        embedder.embed_queries([f"how is my coding project {number}?"])
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1000


def _alone_against_batch(embedder: MinilmEmbedder) -> float:
    """The lowest cosine between the vector of a text alone and the same text beside shorter and longer ones."""
    texts = [" ".join(["the garden behind our house needs water"] * repeats) for repeats in range(1, 30)]
    alone = np.concatenate([embedder.embed_documents([text]) for text in texts])
    return float((alone * embedder.embed_documents(texts)).sum(axis=1).min())


def _rows(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main()
