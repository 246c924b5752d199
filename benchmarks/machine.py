"""Describes where results were measured: the machine in general terms, and the commit."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
os.environ.setdefault("MNEMIC_RESIDENT_IDLE_S", "0")  # benchmarks and drills leave none, unless they are about it


def provenance(command: str) -> str:
    """One paragraph: the command to repeat it, cores, load, Python and commit."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    load = f", load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    machine = (
        f"{os.cpu_count()} cores ({platform.machine()}{load}), {platform.system()}, Python {platform.python_version()}"
    )
    return f"Made by `{command}` at commit {commit.stdout.strip()} on {machine}."


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; all columns but the first to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows])


def keep(name: str, text: str) -> None:
    """Write `benchmarks/results/<name>` and print it."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / name).write_text(text, encoding="utf-8")
    print(text)


def read_notes(name: str) -> str:
    """The sections that people wrote below the report in `benchmarks/results/<name>`, with their first heading."""
    before, heading, notes = (RESULTS / name).read_text(encoding="utf-8").partition("\n## ")
    return heading + notes if before else ""
