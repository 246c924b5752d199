"""Nothing calls out: importing the library and embedding with the default model open no socket."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Runs in a fresh interpreter. Audit events report every socket made through Python, whichever dependency makes it.
GUARD = """
import sys

def refuse(event, arguments):
    if event.startswith("socket."):
        raise SystemExit(f"opened a socket: {event} {arguments}")

sys.addaudithook(refuse)
"""


def run_guarded(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", GUARD + program], capture_output=True, text=True, check=False)


def test_the_guard_sees_a_socket():
    assert "opened a socket" in run_guarded("import socket; socket.socket()").stderr


@pytest.mark.requirement("P-18")
def test_the_runtime_of_models_keeps_no_account_of_its_use_and_sends_none(tmp_path: Path):
    """It does so in native code, where the guard sees nothing: with files, and a connection a minute later."""
    program = (
        "import os\n"
        "from mnemic.adapters.embedders.minilm import MinilmEmbedder\n"
        "MinilmEmbedder().embed_queries(['what is sent?'])\n"
        "print(os.environ['ORT_DISABLE_TELEMETRY'])"
    )
    folders = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), str(tmp_path))
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment | folders, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (0, "1"), run.stderr
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.requirement("P-18")
def test_importing_the_library_opens_no_socket():
    run = run_guarded("import mnemic; [getattr(mnemic, name) for name in mnemic.__all__]")
    assert run.returncode == 0, run.stderr


def test_embedding_with_the_default_model_opens_no_socket():
    run = run_guarded(
        "from mnemic.adapters.embedders.minilm import MinilmEmbedder\n"
        "print(MinilmEmbedder().embed_queries(['where does the model come from?']).shape)"
    )
    assert (run.returncode, run.stdout.strip()) == (0, "(1, 384)"), run.stderr
