"""What is left of a deleted thing in the files when `delete` has returned and the process is killed: nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import os, signal, sys
from mnemic import Config, Mnemic, Scope

scope = Scope(user="ana", session="s1")
mnemic = Mnemic.open(Config(store=sys.argv[1], embedder=sys.argv[2]))
for number in range(24):
    said = "My sister Wilhelmina lives in Quakenbrueck." if number == 5 else f"On day {number} I sold bell {number}."
    mnemic.capture(scope, user=said, assistant="Noted.")
memory = mnemic.remember(scope, "User plays the quokkaphone")
mnemic.work()
mnemic.summarise(scope, is_flush=True)
mnemic.reflect(scope)
mnemic.recall(scope, "Where does Wilhelmina play the quokkaphone?")
told = [each for each in mnemic.list(scope, limit=1000).memories if "Wilhelmina" in each.text]
assert {each.kind.value for each in told} >= {"summary"}, told
(message,) = [each for each in mnemic.messages(scope, limit=100).messages if "Wilhelmina" in each.text]
mnemic.delete(scope, memory.id)
mnemic.delete(scope, message.id)
print("deleted", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
TOLD = (b"wilhelmina", b"quakenbrueck", b"quokkaphone")


@pytest.mark.requirement("P-07")
@pytest.mark.parametrize("embedder", ["none", "minilm"])
def test_nothing_of_a_deleted_thing_is_in_any_file_when_the_process_is_killed(tmp_path: Path, embedder: str):
    path = tmp_path / "memory.db"
    ended = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), embedder], capture_output=True, text=True, timeout=300, check=False
    )
    assert (ended.stdout, ended.returncode) == ("deleted\n", -signal.SIGKILL), ended.stderr
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert path in files
    assert {each.stat().st_mode & 0o077 for each in files} == {0}
    found = {(each.name, word): each.read_bytes().lower().count(word) for each in files for word in TOLD}
    assert {place: count for place, count in found.items() if count} == {}
