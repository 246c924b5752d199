"""Opens a store in a new process and asks once: `python -m mnemic.evaluation.cold STORE USER QUERY EMBEDDER`. Prints
one JSON object: `import_ms`, `open_ms`, `recall_ms` and `rss_bytes` (null if the system does not report it).
"""

import json
import sys
import time
from itertools import pairwise
from pathlib import Path

_START = time.perf_counter()


def resident_bytes() -> int | None:
    """Resident memory of this process from Linux's `/proc`, None elsewhere."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def main() -> None:
    """Measure and print."""
    from mnemic.evaluation.speed import opened
    from mnemic.model.scope import Scope

    store, user, query, embedder = sys.argv[1:]
    laps = [_START, time.perf_counter()]
    with opened(store, embedder).mnemic as mnemic:
        laps.append(time.perf_counter())
        mnemic.recall(Scope(user=user), query)
        laps.append(time.perf_counter())
        names = ("import_ms", "open_ms", "recall_ms")
        spans = [round((end - start) * 1e3, 3) for start, end in pairwise(laps)]
        sys.stdout.write(json.dumps({**dict(zip(names, spans, strict=True)), "rss_bytes": resident_bytes()}))


if __name__ == "__main__":
    main()
