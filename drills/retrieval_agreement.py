"""Compares `mnemic eval retrieval` with an independent scorer on the same run. All metrics must agree within 0.001.

The set is MNEMIC_DATA/locomo. The scorer is `bench/score.py` next to the folder of the sets.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.outcome import Outcome

TOLERANCE = 0.001
SET = "locomo"


def main() -> int:
    """Exit code 1 when a metric differs."""
    data = Path(os.environ.get("MNEMIC_DATA", "../shared/data"))
    questions = data / SET / "queries.jsonl.gz"
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run.jsonl.gz"
        corpus = data / SET / "corpus.jsonl.gz"
        files = ("--corpus", str(corpus), "--queries", str(questions), "--run", str(run))
        ours = _printed([str(Path(sys.executable).with_name("mnemic")), "eval", "retrieval", *files, "--json"])
        scorer = data.parent / "bench" / "score.py"
        theirs = _printed([sys.executable, str(scorer), "--queries", str(questions), "--run", str(run), "--json"])
    parts = {"overall": (ours["overall"], theirs["overall"])}
    parts |= {name: (ours["by_category"][name], means) for name, means in theirs["by"].items()}
    different = [f"{part}: {line}" for part, pair in parts.items() for line in _differences(*pair)]
    foreign = [f"{ours['foreign_ids']} ids are from outside their group"] if ours["foreign_ids"] else []
    facts = {
        "set": SET,
        "questions": ours["overall"]["n"],
        "lines compared": len(parts),
        "metrics": len(ours["overall"]["metrics"]),
    }
    return Outcome(name="retrieval_agreement", about=__doc__ or "", facts=facts, problems=different + foreign).told()


def _printed(command: list[str]) -> dict[str, Any]:
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    flat = {"n": ours["n"], "s_n": ours["n_sessions"], "p50_ms": ours["p50_ms"], "p95_ms": ours["p95_ms"]}
    flat |= ours["metrics"]
    names = [*theirs, *(name for name in flat if name not in theirs)]
    return [
        f"{name} is {flat.get(name)} here and {theirs.get(name)} there"
        for name in names
        if name not in flat or name not in theirs or abs(flat[name] - theirs[name]) > TOLERANCE
    ]


if __name__ == "__main__":
    sys.exit(main())
