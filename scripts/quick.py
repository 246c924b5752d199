"""Checks what changed, within two minutes: style, types, layers, sizes, and the tests that import what changed.

    python scripts/quick.py [REVISION]

Changed is what differs from REVISION. The default is the last commit, or the one before it when nothing is uncommitted.
Collecting all tests takes half a minute, so test files are chosen by their imports and only those are given to pytest.
Run `make check` before you hand in a change.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
BIN = Path(sys.executable).parent
CODE = ("src", "tests", "scripts", "benchmarks", "drills")

MOST_TEST_FILES = 25
"""About a minute of tests on two cores. Half of all tests import a changed noun; `make test` runs those."""

SLOW_FOLDERS = ("conformance", "upgrade", "faults")
"""They start servers or kill processes, so they run only when they changed themselves."""


def main() -> int:
    """Exit code 1 when a check fails."""
    started = time.monotonic()
    changed = find_changed(sys.argv[1] if len(sys.argv) > 1 else None)
    tests, left_out = choose_tests(changed)
    code = [str(path) for path in changed if path.suffix == ".py" and path.parts[0] in CODE]
    print(f"{len(changed)} files changed, {len(tests)} test files chosen")
    for path in left_out:
        print(f"  left to `make test`: {path}")
    failed = [
        name
        for name, command in (
            ("style", [BIN / "ruff", "check", "."]),
            ("format", [BIN / "ruff", "format", "--check", "."]),
            ("prose", [sys.executable, "scripts/prose.py"]),
            ("layers", [BIN / "lint-imports"]),
            ("types", [BIN / "pyright", *code] if code else []),
            ("sizes", [BIN / "pytest", "-q", "tests/architecture/test_sizes.py"]),
            ("tests", [BIN / "pytest", "-q", "-n", "2", *map(str, tests)] if tests else []),
        )
        if command and subprocess.run(command, cwd=ROOT, check=False).returncode
    ]
    print(f"{time.monotonic() - started:.0f} s; {'failed: ' + ', '.join(failed) if failed else 'all well'}")
    return int(bool(failed))


def find_changed(revision: str | None) -> list[Path]:
    """Existing files that differ from the revision, relative to the root; files that git does not know yet too."""
    status = run_git("status", "--porcelain", "--untracked-files=all")
    base = revision or ("HEAD" if status else "HEAD~1")
    names = {*run_git("diff", "--name-only", base), *(line[3:] for line in status if line.startswith("??"))}
    return [Path(name) for name in sorted(names) if (ROOT / name).exists()]


def run_git(*arguments: str) -> list[str]:
    """The lines that git prints."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def choose_tests(changed: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Changed test files and those that import a changed module, the likeliest first; and what was too many."""
    modules = {module_name(path) for path in changed if path.parts[0] == "src" and path.suffix == ".py"}
    stems = {name.rpartition(".")[2] for name in modules}
    ranked: list[tuple[int, Path]] = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        relative = path.relative_to(ROOT)
        if relative in changed:
            ranked.append((0, relative))
        elif relative.parts[1] not in SLOW_FOLDERS and modules & set(imported_modules(path)):
            ranked.append((1 if relative.stem.removeprefix("test_") in stems else 2, relative))
    chosen = [path for _, path in sorted(ranked)]
    return chosen[:MOST_TEST_FILES], chosen[MOST_TEST_FILES:]


def module_name(path: Path) -> str:
    """The dotted name of a source file given relative to the root."""
    return ".".join(path.relative_to("src").with_suffix("").parts).removesuffix(".__init__")


def imported_modules(path: Path) -> Iterator[str]:
    """Modules that a file imports, and what they are joined to names (which may be modules)."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


if __name__ == "__main__":
    sys.exit(main())
