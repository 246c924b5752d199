"""Counts how large and how split the package is, and refuses what is out of bounds.

Sizes pull both ways: a long file is hard to read, and in a thousand short ones nothing is found. So length has a limit
and splitting has one. `mnemic.testing` is a product for others and is left out.

    python scripts/house.py           every figure beside its limit
    python scripts/house.py --check   the same; exit code 1 if a limit is exceeded
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
LEFT_OUT = "mnemic.testing"
SMALL_LINES = 80
"""A module below this with a single importer is a candidate for being part of that importer."""

LINES = 87_680
"""To add more, remove something."""

LIMITS: Mapping[str, float] = {
    "modules": 520,
    "lines of Python": LINES,
    "import lines, % of code": 9.0,
    f"modules with one importer, under {SMALL_LINES} lines": 40,
    "longest file": 600,
    "longest function": 60,
    "modules of ours that `import mnemic; mnemic.Mnemic` loads": 171,
    "files that a warm recall enters": 45,
    "files that the job from message to fact enters": 64,
}

TRACED = """
import sys
from pathlib import Path
import mnemic
from mnemic import Mnemic, Scope
loaded = sum(name.partition(".")[0] == "mnemic" for name in sys.modules)
home = str(Path(mnemic.__file__).parent)

def files_of(act):
    entered = set()
    sys.setprofile(lambda frame, event, _: entered.add(frame.f_code.co_filename) if event == "call" else None)
    try:
        act()
    finally:
        sys.setprofile(None)
    return sum(name.startswith(home) for name in entered)

with Mnemic.open("memory://", has_worker=False) as memory:
    scope = Scope(user="ana", session="s1")
    for text in ("I live in Lisbon.", "I work as a nurse.", "I hate cilantro."):
        memory.capture(scope, user=text, assistant="Noted.")
        memory.work()
    memory.recall(scope, "Where do I live?")
    recall = files_of(lambda: memory.recall(scope, "What do I work as?"))
    memory.capture(scope, user="I moved to Porto last week.", assistant="Noted.")
    job = files_of(memory.work)
print(loaded, recall, job)
"""
"""A program of its own, so that what this script imports does not count."""


@dataclass(frozen=True, slots=True)
class Module:
    """One file of the package: its dotted name, its lines, and its syntax tree."""

    name: str
    path: Path
    lines: int
    tree: ast.Module


def main() -> int:
    """Exit code 1 when a limit is exceeded and `--check` was given."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true")
    is_checking = arguments.parse_args().check
    figures = measure(load_modules())
    width = max(map(len, LIMITS))
    for name, limit in LIMITS.items():
        mark = "" if figures[name] <= limit else "  <- too many"
        print(f"{name:<{width}}  {figures[name]:>8,.6g}  of {limit:>8,.6g}{mark}")
    return int(is_checking and any(figures[name] > limit for name, limit in LIMITS.items()))


def load_modules() -> list[Module]:
    """Every module of the distribution but the public test kit, parsed."""
    modules: list[Module] = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        modules.append(Module(name, path, len(text.splitlines()), ast.parse(text)))
    return [module for module in modules if not f"{module.name}.".startswith(f"{LEFT_OUT}.")]


def measure(modules: list[Module]) -> dict[str, float]:
    """The figure for each name in `LIMITS`."""
    code = sum(count_code(module) for module in modules)
    imports = sum(count_lines(node) for module in modules for node in import_statements(module.tree))
    importers = find_importers(modules)
    lone = [
        module
        for module in modules
        if module.lines < SMALL_LINES and len(importers[module.name]) == 1 and module.path.name != "__init__.py"
    ]
    traced = subprocess.run([sys.executable, "-c", TRACED], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded, recall, job = map(int, traced.stdout.split())
    figures = (
        len(modules),
        sum(module.lines for module in modules),
        round(100 * imports / code, 2),
        len(lone),
        max(module.lines for module in modules),
        max(length for module in modules for length in function_lengths(module.tree)),
        loaded,
        recall,
        job,
    )
    return dict(zip(LIMITS, figures, strict=True))


def count_code(module: Module) -> int:
    """Lines that are neither blank, nor a comment, nor part of a docstring."""
    words: set[int] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            words |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = module.path.read_text(encoding="utf-8").splitlines()
    bare = {number for number, line in enumerate(lines, 1) if not line.strip() or line.lstrip().startswith("#")}
    return module.lines - len(words | bare)


def count_lines(node: ast.stmt) -> int:
    """Lines from the first of a statement to its last."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def import_statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import of a module, inside functions too."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def find_importers(modules: list[Module]) -> Mapping[str, set[str]]:
    """For each module, the modules that import it or a name of it."""
    names = {module.name for module in modules}
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for module in modules:
        for node in import_statements(module.tree):
            for target in imported_names(node):
                found = target if target in names else target.rpartition(".")[0]
                if found in names and found != module.name:
                    importers[found].add(module.name)
    return importers


def imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """What an import may bind, as dotted names: a module, or a name of one."""
    prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
    return [f"{prefix}{alias.name}" for alias in node.names]


def function_lengths(tree: ast.AST) -> Iterator[int]:
    """Lines of each function and method."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield count_lines(node)


if __name__ == "__main__":
    sys.exit(main())
