"""Runs the integration tests for AutoGen, Google ADK, Strands and CrewAI with their released packages.

These frameworks require older versions of packages that Mnemic's tests use, so `make setup` does not install them. The
drill creates a virtual environment for each framework, installs pinned versions and Mnemic with pip, as users do
(`pip install 'mnemic[autogen]'`), and runs the framework's file in `tests/integrations`. The models are scripted, and
telemetry is off. The exit code is 1 if a test fails.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from drills.kit.outcome import Outcome, options  # noqa: E402 -- the root of the repository is put on the path first

FRAMEWORKS = {
    "autogen": ("autogen-core==0.7.5", "autogen-agentchat==0.7.5", "autogen-ext==0.7.5"),
    "google-adk": ("google-adk==2.13.0",),
    "strands": ("strands-agents==1.62.0",),
    "crewai": ("crewai==1.15.30",),
}
"""The pinned packages for each of Mnemic's extras. AutoGen's agents and test model are separate packages."""

TESTING = ("pytest==9.2.0", "pytest-timeout==2.4.0", "hypothesis==6.170.15")
LIMIT_S = 900
_COUNTS = re.compile(r"(\d+) (passed|failed|error|skipped)")


def install(folder: Path, extra: str) -> tuple[str, int, int]:
    """Install Mnemic, the framework and pytest. Returns Python's path, and the packages and MiB that are added."""
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    measures = list[tuple[int, int]]()
    for packages in ((str(ROOT), *TESTING), (f"{ROOT}[{extra}]", *FRAMEWORKS[extra])):
        subprocess.run([*pip, *packages], check=True, capture_output=True, text=True, timeout=LIMIT_S)
        listed = subprocess.run([*pip[:3], "list", "--format", "json"], check=True, capture_output=True, text=True)
        size = sum(
            file.stat().st_size for file in folder.rglob("*") if file.is_file() and "__pycache__" not in str(file)
        )
        measures.append((len(json.loads(listed.stdout)), size))
    (packages_before, size_before), (packages_after, size_after) = measures
    return python, packages_after - packages_before, (size_after - size_before) >> 20


def check(folder: Path, extra: str) -> tuple[list[str], list[str]]:
    """Test a framework. Returns its table row and the problems found."""
    try:
        python, packages, size = install(folder, extra)
    except subprocess.CalledProcessError as error:
        return [], [f"{extra} was not installed: {error.stderr[-500:]}"]
    file = f"tests/integrations/test_{extra.replace('-', '_')}.py"
    command, known = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", file], _isolate(folder)
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, cwd=ROOT, env=known)
    counts = {what: number for number, what in _COUNTS.findall(done.stdout)}
    is_held = not done.returncode and set(counts) == {"passed"}
    row = [", ".join(FRAMEWORKS[extra]), str(packages), str(size), counts.get("passed", "0")]
    return row, [] if is_held else [f"{extra}: {done.stdout[-1500:]}{done.stderr[-500:]}"]


def _isolate(home: Path) -> dict[str, str]:
    """Environment variables with a separate home folder, and without this Python's packages or telemetry."""
    mine = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return {**mine, "HOME": str(home), "OTEL_SDK_DISABLED": "true", "CREWAI_DISABLE_TELEMETRY": "true"}


def main() -> int:
    """Run the drill."""
    told = options(__doc__, words={"only": "one framework, such as autogen"})
    rows, problems = list[list[str]](), list[str]()
    for extra in [told.only] if told.only else FRAMEWORKS:
        with TemporaryDirectory() as place:
            row, found = check(Path(place), extra)
        rows += [row] if row else []
        problems += found
    tables = [(["framework", "packages added", "MiB", "tests passed"], rows)]
    facts = {"frameworks": len(rows)}
    return Outcome(name="frameworks", about=__doc__ or "", facts=facts, problems=problems, tables=tables).told()


if __name__ == "__main__":
    sys.exit(main())
