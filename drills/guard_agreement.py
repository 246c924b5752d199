"""Compares `mnemic eval guard` with an independent scorer on the same run. All counts must agree.

The set is MNEMIC_DATA/injection. The scorer is `bench/score_guard.py` next to the folder of the sets.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.outcome import Outcome

SET = "injection"
SECTIONS = ("attacks", "needs_context", "benign", "carriers")
COUNTS = ("n", "allowed", "redacted", "quarantined", "rejected", "rate", "kept_out_rate")


def main() -> int:
    """Exit code 1 when a count differs."""
    data = Path(os.environ.get("MNEMIC_DATA", "../shared/data"))
    folder = data / SET
    with TemporaryDirectory() as scratch:
        run = Path(scratch) / "run.jsonl"
        files = [
            word
            for name in ("attacks", "benign", "carriers")
            for word in (f"--{name}", str(folder / f"{name}.jsonl.gz"))
        ]
        ours = _printed(
            [str(Path(sys.executable).with_name("mnemic")), "eval", "guard", *files, "--run", str(run), "--json"]
        )
        scorer = data.parent / "bench" / "score_guard.py"
        theirs = _printed([sys.executable, str(scorer), "--data", str(folder), "--run", str(run), "--json"])
    pairs = list(_pairs(ours, theirs))
    different = [f"{name} is {mine} here and {other} there" for name, mine, other in pairs if mine != other]
    facts: dict[str, Any] = {"set": SET, "counts compared": len(pairs)}
    facts |= {f"{name}, not as it was": f"{theirs[name]['overall']['rate']:.3f}" for name in SECTIONS}
    facts |= {f"{name}, kept out": f"{theirs[name]['overall']['kept_out_rate']:.3f}" for name in SECTIONS}
    return Outcome(name="guard_agreement", about=__doc__ or "", facts=facts, problems=different).told()


def _printed(command: list[str]) -> dict[str, Any]:
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _pairs(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Each count of each section, over all and by label, as it is here and there."""
    for section in SECTIONS:
        mine, other = ours[section], theirs[section]
        for name in COUNTS:
            yield f"{section} {name}", mine["overall"][name], other["overall"][name]
        for field, values in other["by"].items():
            for value, counts in values.items():
                for name in COUNTS:
                    yield f"{section} {field} {value} {name}", mine["by"][field][value][name], counts[name]


if __name__ == "__main__":
    sys.exit(main())
