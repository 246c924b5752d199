"""Runs in the process in which one project is measured. Reads JSON requests, one per line, and writes responses.

    python -m benchmarks.peers.worker PEER FOLDER VECTORS

PEER is the name of a script in this folder, FOLDER the project's own folder, and VECTORS a folder of
`embedder.precompute` or "-". The first line is the response to opening the store. Times are measured here, so the pipe
does not affect them. If a project fails, the process ends; the reason is the last line of its error output.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.peers.embedder import SharedEmbedder
from benchmarks.peers.protocol import Opener, Peer

Answer = dict[str, Any]


def main() -> None:
    """Open the peer and serve until told to close, or until the input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a peer prints must not mix with the answers
    name, folder, vectors = sys.argv[1:]
    embedder = SharedEmbedder(None if vectors == "-" else Path(vectors))
    start = time.perf_counter()
    script: Any = importlib.import_module(f"benchmarks.peers.{name}")
    opener: Opener = script.open_peer
    peer = opener(Path(folder), embedder)
    _say(out, {"open_ms": (time.perf_counter() - start) * 1e3})
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        if request["do"] == "close":
            peer.close()
            _say(out, {})
            return
        _say(out, _answer(peer, embedder, request))


def _answer(peer: Peer, embedder: SharedEmbedder, request: dict[str, Any]) -> Answer:
    """What was asked for, with `ms` in all, `own_ms` outside the embedder, and the processor's `own_cpu_ms` there."""
    before, start = embedder.seconds, time.perf_counter()
    cpu_before, cpu_start = embedder.processor_s, time.process_time()
    answer: Answer = {}
    if request["do"] == "add":
        peer.add(request["user"], request["text"])
    elif request["do"] == "add_many":
        peer.add_many(request["user"], request["texts"])
    elif request["do"] == "search":
        answer["texts"] = peer.search(request["user"], request["query"], request["k"])
    elif request["do"] == "rss":
        answer["bytes"] = _resident_bytes()
    else:
        raise ValueError(request["do"])
    took, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    own, own_cpu = took - (embedder.seconds - before), cpu - (embedder.processor_s - cpu_before)
    return {"ms": took * 1e3, "own_ms": own * 1e3, "own_cpu_ms": own_cpu * 1e3, **answer}


def _resident_bytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in status if line.startswith("VmRSS")).split()[1]) * 1024


def _say(out: Any, answer: Answer) -> None:
    out.write(json.dumps(answer) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
