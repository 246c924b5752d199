"""The layers of docs/design.md hold; the contracts are in `.importlinter`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_every_import_contract_is_kept(repository: Path):
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    run = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_wrong_import_breaks_a_contract(tmp_path: Path, repository: Path):
    """The contracts are not empty words: a port that imports the engine is found."""
    package = tmp_path / "mnemic"
    layers = ("testing", "cli", "backends", "evaluation", "api", "build", "adapters")
    for layer in (*layers, "engine", "ranking", "text", "ports", "model", "errors"):
        (package / layer).mkdir(parents=True)
        (package / layer / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "ports" / "__init__.py").write_text("import mnemic.engine\n", encoding="utf-8")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from importlinter.cli import lint_imports; "
        "sys.exit(lint_imports(config_filename=sys.argv[2], no_cache=True))"
    )
    command = [sys.executable, "-c", program, str(tmp_path), str(repository / ".importlinter")]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "mnemic.ports is not allowed to import mnemic.engine" in run.stdout
