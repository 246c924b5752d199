"""Runs the backend `colbert` on a checkpoint with the real packages, and compares it with its authors' code.

    python drills/backend_colbert.py                    make the environment, which takes minutes and gigabytes
    python drills/backend_colbert.py --python PATH      use an interpreter that has what is needed

The checkpoint is a tiny BERT with random weights in the layout of `colbert-ir/colbertv2.0`. The drill therefore tests
loading, tokenising, masking and MaxSim, but not quality. The authors' package `colbert-ai` needs transformers below
4.50 and a C++ compiler, so the extra does not install it. The exit code is 1 if something fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

TESTS = """
import json
import string

import numpy as np
import pytest
import torch
import transformers
from colbert.infra import ColBERTConfig
from colbert.modeling.checkpoint import Checkpoint
from colbert.modeling.colbert import colbert_score
from safetensors.torch import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from mnemic.backends.colbert import ColbertBackend
from mnemic.backends.colbert import CheckpointTokenEmbedder
from mnemic.testing.backend_contract import ODD_TEXTS, TOPICS

CHARACTERS = string.ascii_lowercase + string.digits + string.punctuation
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*SPECIAL, "[unused0]", "[unused1]", *CHARACTERS, *(f"##{character}" for character in CHARACTERS)]
TEXTS = [*TOPICS, "ok", "!?", "a, b; c.", "word " * 400]


@pytest.fixture(scope="module", params=["model.safetensors", "pytorch_model.bin"])
def checkpoint(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    torch.manual_seed(1)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = transformers.BertConfig(vocab_size=len(PIECES), architectures=["HF_ColBERT"], **sizes)
    config.save_pretrained(folder)
    weights = {f"bert.{name}": tensor for name, tensor in transformers.BertModel(config).state_dict().items()}
    weights["linear.weight"] = torch.randn(128, 32)
    if request.param.endswith("bin"):
        torch.save(weights, folder / request.param)
    else:
        save_file(weights, folder / request.param, metadata={"format": "pt"})
    tokenizer = Tokenizer(WordPiece({piece: place for place, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    ends = [(name, PIECES.index(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {f"{name[1:-1].lower()}_token": name for name in SPECIAL}
    about = {"tokenizer_class": "BertTokenizerFast", "model_max_length": 512, **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    return str(folder)


def test_the_model_is_loaded_by_the_first_text(checkpoint):
    embedder = CheckpointTokenEmbedder(checkpoint)
    backend = ColbertBackend(embedder)
    assert not embedder.is_loaded
    backend.store("text")
    assert embedder.is_loaded


def test_vectors_and_scores_are_those_of_the_authors_code(checkpoint):
    theirs = Checkpoint(checkpoint, colbert_config=ColBERTConfig(checkpoint=checkpoint), verbose=0)
    ours = CheckpointTokenEmbedder(checkpoint)
    backend = ColbertBackend(ours)
    for text in TEXTS:
        query, (document,) = theirs.queryFromText([text])[0], theirs.docFromText([text], keep_dims=False)
        np.testing.assert_allclose(ours.embed_query(text), query.numpy(), atol=1e-5)
        np.testing.assert_allclose(ours.embed_document(text), document.numpy(), atol=1e-5)
        backend.store(text)
    documents = theirs.docFromText(TEXTS, keep_dims=False)
    for text in TEXTS:
        query = theirs.queryFromText([text])
        wanted = {
            other: float(colbert_score(query, each.unsqueeze(0), torch.ones(1, len(each), 1, dtype=torch.bool)))
            for other, each in zip(TEXTS, documents)
        }
        found = {result.content: result.score for result in backend.retrieve(text, top_k=50, min_score=-100)}
        assert found == pytest.approx(wanted, abs=1e-3)


def test_no_text_raises(checkpoint):
    backend = ColbertBackend(checkpoint)
    for text in ODD_TEXTS:
        backend.store(text)
        backend.retrieve(text)


def test_what_is_saved_is_loaded_without_the_model(checkpoint, tmp_path):
    backend, embedder = ColbertBackend(checkpoint), CheckpointTokenEmbedder(checkpoint)
    for topic in TOPICS:
        backend.store(topic)
    backend.save(tmp_path / "saved")
    again = ColbertBackend(embedder)
    again.load(tmp_path / "saved")
    assert not embedder.is_loaded
    assert again.retrieve(TOPICS[0], min_score=-100) == backend.retrieve(TOPICS[0], min_score=-100)
"""


def make_environment(folder: Path) -> Path:
    """A virtual environment with this checkout, the extra, the authors' package and pytest; returns its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    wanted = [f"{ROOT}[memory-colbert]", "transformers<4.50", "colbert-ai", "pytest", "hypothesis"]
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted], check=True)
    return python


def main() -> int:
    """Run the drill; the exit code of the tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, help="an interpreter with Mnemic, colbert-ai and pytest")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = arguments.python or make_environment(folder / "venv")
        (folder / "test_drill.py").write_text(TESTS, encoding="utf-8")
        command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder / "test_drill.py")]
        return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
