"""The layers of docs/design.md hold; the contracts are in `.importlinter`."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

PURE = ("engine", "ranking", "text", "ports", "model", "errors.py")
ALLOWED = {"mnemic", "numpy", "cronsim", "snowballstemmer"}
"""What the pure layers import beside the standard library: small, without I/O, and argued for in decision 0002."""


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


def imported_packages(path: Path) -> set[str]:
    """The top-level packages that a file imports, in functions too."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in plain | named}


def test_the_pure_layers_import_what_is_allowed_and_nothing_else(repository: Path):
    package = repository / "src" / "mnemic"
    files = [
        file for name in PURE for file in ([package / name] if name.endswith(".py") else (package / name).rglob("*.py"))
    ]
    assert len(files) > 100
    foreign = {
        str(file.relative_to(package)): imported_packages(file) - ALLOWED - sys.stdlib_module_names for file in files
    }
    assert {name: packages for name, packages in foreign.items() if packages} == {}
    outside = {"sqlite3", "socket", "http", "ssl"}
    reaching = {str(file.relative_to(package)): imported_packages(file) & outside for file in files}
    assert {name: packages for name, packages in reaching.items() if packages} == {}
