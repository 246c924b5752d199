"""Compares `mnemic eval extraction` with an independent scorer. All scores must agree within 0.001.

Both score the same memories of the set MNEMIC_DATA/halumem. The scorer is `bench/score_extraction.py` next to the
folder of the sets.
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
SET = "halumem"


def main() -> int:
    """Exit code 1 when a score differs."""
    data = Path(os.environ.get("MNEMIC_DATA", "../shared/data"))
    memories, corpus = data / SET / "memories.jsonl.gz", data / SET / "corpus.jsonl.gz"
    with TemporaryDirectory() as folder:
        produced = Path(folder) / "produced.jsonl"
        files = ("--corpus", str(corpus), "--memories", str(memories), "--produced", str(produced))
        ours = _printed([str(Path(sys.executable).with_name("mnemic")), "eval", "extraction", *files, "--json"])
        scorer = data.parent / "bench" / "score_extraction.py"
        given = ("--memories", str(memories), "--produced", str(produced), "--corpus", str(corpus), "--json")
        theirs = _printed([sys.executable, str(scorer), *given])
    pairs = _pairs(ours, theirs)
    different = [
        f"{name} is {mine} here and {other} there"
        for name, (mine, other) in pairs.items()
        if abs((mine or 0.0) - (other or 0.0)) > TOLERANCE
    ]
    facts = {"set": SET, "memories": theirs["gold"], "produced": theirs["produced"], "scores compared": len(pairs)}
    return Outcome(name="extraction_agreement", about=__doc__ or "", facts=facts, problems=different).told()


def _printed(command: list[str]) -> dict[str, Any]:
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _pairs(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, tuple[float | None, float | None]]:
    """Each score, as it is here and there."""
    pairs = {
        "recall": (_ratio(ours["recall"]), theirs["recall"]),
        "precision": (_ratio(ours["precision"]), theirs["precision"]),
        "F1": (ours["f1"], theirs["f1"]),
        "lenient": (_ratio(ours["lenient"]), theirs["lenient_precision"]),
        "interference": (_ratio(ours["interference"]), theirs["interference"]["rate"]),
        "interference rows": (ours["interference_rows"], theirs["interference"]["rows"]),
        "duplicates": (_ratio(ours["duplicates"]), theirs["duplicates"]["rate"]),
        "session right": (_ratio(ours["session_right"]), theirs["session_right"]),
        "update": (_ratio(ours["updates"]["right"]), theirs["update"]["all"]["accuracy"]),
        "update found": (ours["updates"]["found"], theirs["update"]["all"]["new"]),
        "update marked": (ours["updates"]["marked"], theirs["update"]["all"]["marked"]),
        "update reachable": (_ratio(ours["reachable"]["right"]), theirs["update"]["reachable"]["accuracy"]),
    }
    for reason in ("empty", "thanks", "question", "ungrounded"):
        pairs[f"junk, {reason}"] = (ours["junk"].get(reason, 0), theirs["junk"][reason])
    for name, there in theirs["recall_by_type"].items():
        pairs[f"recall of {name}"] = (_ratio(ours["recall_by_type"].get(name)), there["recall"])
    return pairs


def _ratio(share: Mapping[str, int] | None) -> float | None:
    return share["part"] / share["whole"] if share and share["whole"] else None


if __name__ == "__main__":
    raise SystemExit(main())
