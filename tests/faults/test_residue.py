"""What is left of a deleted thing in the files when the verb has returned and the process is killed: nothing.

No job runs and nothing is closed after the verb. Before it, the thing is in every place that Mnemic has: its message,
the facts, the summaries, the reflection and the profile made of it, its vectors, the graph, the history, and a base
file of the index.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHILD = """
import json, os, signal, sqlite3, sys
from pathlib import Path
from mnemic import Config, Mnemic, Scope
from mnemic.adapters.indexes import base_files

store, embedder, verb = sys.argv[1:]
base_files.LEAST_ROWS, base_files.STALE_ROWS, base_files._STALE_SHARE = 10, 1, 0.0  # small stores get a base file too
scope = Scope(user="zenobia", session="s1")
SECRET = "My name is Wilhelmina, I live in Quakenbrueck, and I play the quokkaphone every day."

def opened():
    return Mnemic.open(Config(store=store, embedder=embedder), has_worker=False)

with opened() as mnemic:
    for number in range(48):
        said = SECRET if number in (5, 45) else f"On day {number} I sold bell {number}. I love old church bells."
        mnemic.capture(scope, user=said, assistant="Noted.")
    memory = mnemic.remember(scope, "User plays the quokkaphone")
    mnemic.remember(Scope(agent="tuner"), "The glockenspiel is tuned on Mondays", level="agent")
    mnemic.work()
    mnemic.summarise(scope, is_flush=True)
    mnemic.reflect(scope)
    mnemic.work()
with opened() as mnemic:
    mnemic.recall(scope, "bells")  # reads the rows, and writes a base file when it closes
mnemic = opened()
mnemic.recall(scope, "Where does Wilhelmina play the quokkaphone?")
told = [each for each in mnemic.list(scope, limit=1000).memories if "Wilhelmina" in each.text or "Quaken" in each.text]
messages = [each for each in mnemic.messages(scope, limit=200).messages if "Wilhelmina" in each.text]
table = sqlite3.connect(store)
gone = [memory.id, *(each.id for each in (*told, *messages))]
vectors = [row[0].hex() for key in gone for row in table.execute("SELECT vector FROM vectors WHERE item_id = ?", [key])]
table.close()
held = Path(store + ".index").rglob("*.base")
print(json.dumps({
    "kinds": sorted({each.kind.value for each in told}),
    "profile": {key: value for key, value in mnemic.profile.get(scope).items()},
    "vectors": vectors,
    "base files": sum(b"quokkaphon" in file.read_bytes().lower() for file in held),
}))
if verb == "delete":
    mnemic.delete(scope, memory.id)
    for each in messages:
        mnemic.delete(scope, each.id)
else:
    scopes = {"session": scope, "user": Scope(user="zenobia"), "agent": Scope(agent="tuner"), "org": Scope()}
    mnemic.erase(scopes[verb], level=verb)
print("done", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
WORDS = (b"wilhelmin", b"quakenbru", b"quokkaphon")
"""The beginnings of the words, as an index holds their stems."""


def run_child(home: Path, embedder: str, verb: str) -> dict[str, Any]:
    """What the child says of its store before it deletes, erases and kills itself."""
    places = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "XDG_CACHE_HOME": str(home / "cache")}
    ended = subprocess.run(
        [sys.executable, "-c", CHILD, str(home / "memory.db"), embedder, verb],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        env={**os.environ, **places, "TMPDIR": str(home)},
    )
    before, *done = ended.stdout.splitlines()
    assert (done, ended.returncode) == (["done"], -signal.SIGKILL), ended.stderr
    return json.loads(before)


@pytest.mark.requirement("P-07")
@pytest.mark.parametrize(
    "embedder, verb, words",
    [
        ("none", "delete", WORDS),
        ("minilm", "delete", WORDS),
        ("none", "session", WORDS[:2]),  # the third is also in a memory of the user
        ("none", "user", (*WORDS, b"bell", b"zenobia")),
        ("minilm", "user", (*WORDS, b"bell", b"zenobia")),
        ("none", "agent", (b"glockenspiel", b"tuner")),
        ("none", "org", (*WORDS, b"bell", b"zenobia", b"glockenspiel")),
    ],
)
def test_nothing_of_a_deleted_thing_is_in_any_file_when_the_process_is_killed(
    tmp_path: Path, embedder: str, verb: str, words: tuple[bytes, ...]
):
    before = run_child(tmp_path, embedder, verb)
    assert set(before["kinds"]) >= {"fact", "summary", "reflection"}, before
    assert set(before["profile"].values()) >= {"Wilhelmina", "Quakenbrueck"}, before
    assert before["base files"], before
    assert bool(before["vectors"]) is (embedder != "none")
    files = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
    assert tmp_path / "memory.db" in files
    assert {each.stat().st_mode & 0o077 for each in files} == {0}
    needles = [*words, *(bytes.fromhex(each)[:64] for each in before["vectors"])]
    found = {
        (str(each.relative_to(tmp_path)), needle): count
        for each, content in files.items()
        for needle in needles
        if (count := content.lower().count(needle.lower()) if needle.isalpha() else content.count(needle))
    }
    assert found == {}
