"""The sizes and names of the house style, so that no file grows past what one person holds in their head."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

FILE_LINES = 600
FUNCTION_LINES = 60
PARAMETERS = 6
PORT_METHODS = 8
CODE = ("src", "tests", "scripts", "benchmarks", "drills")
VAGUE_NAMES = {"utils", "helpers", "common", "base", "manager", "misc", "core"}

# Broad excepts that may stay, as "file::function", each with its reason. The job loop and a door's last resort may
# stand here; nothing else.
BROAD_EXCEPTS: dict[str, str] = {
    "src/mnemic/adapters/onnx_models.py::_parsed": "the package tokenizers raises nothing narrower",
    "src/mnemic/cli/hooks.py::harmless": "whatever is wrong with memory, the session of the hook goes on",
    "src/mnemic/cli/resident.py::_run_command": "a child of the resident process reports what the interpreter would",
    "src/mnemic/web/doors.py::Front::__call__": "the last resort of the doors over HTTP: an answer without details",
    "src/mnemic/errors.py::attempt": "a model's tool, a chat's memory or a stream that breaks must not end the caller",
    "src/mnemic/engine/jobs.py::Worker::_round": "a worker that dies of one handler leaves all other jobs",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(scope="module")
def trees(repository: Path) -> dict[str, ast.Module]:
    """Every Python file of the project, parsed, by its path in the repository."""
    files = [path for folder in CODE for path in sorted((repository / folder).rglob("*.py"))]
    return {str(path.relative_to(repository)): ast.parse(path.read_text(encoding="utf-8")) for path in files}


def functions(tree: ast.AST, place: str) -> Iterator[tuple[str, Function]]:
    for node in ast.iter_child_nodes(tree):
        is_named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        inner = f"{place}::{node.name}" if is_named else place
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inner, node
        yield from functions(node, inner)


def parameter_count(function: Function) -> int:
    """What a caller may pass, not counting self or cls; `*args` and `**kwargs` count one each."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    if positional and positional[0].arg in {"self", "cls"}:
        positional = positional[1:]
    return len(positional) + len(arguments.kwonlyargs) + sum(map(bool, (arguments.vararg, arguments.kwarg)))


def is_public_verb(place: str) -> bool:
    """True for a method of an object that people hold: its arguments are written out for `help()`."""
    file, *names = place.split("::")
    return file.startswith("src/mnemic/api/") and len(names) == 2 and not names[1].startswith("_")


def is_broad(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        name is None or (isinstance(name, ast.Name) and name.id in {"Exception", "BaseException"}) for name in caught
    )


def test_no_file_is_longer_than_the_limit(repository: Path, trees: dict[str, ast.Module]):
    lengths = {name: len((repository / name).read_text(encoding="utf-8").splitlines()) for name in trees}
    assert {name: length for name, length in lengths.items() if length > FILE_LINES} == {}


def test_no_function_is_longer_than_the_limit(trees: dict[str, ast.Module]):
    lengths = {
        place: (function.end_lineno or function.lineno) - function.lineno + 1
        for name, tree in trees.items()
        for place, function in functions(tree, name)
    }
    assert {place: length for place, length in lengths.items() if length > FUNCTION_LINES} == {}


def test_no_function_takes_more_parameters_than_the_limit(trees: dict[str, ast.Module]):
    counts = {
        place: parameter_count(function)
        for name, tree in trees.items()
        for place, function in functions(tree, name)
        if not name.startswith("tests") and not is_public_verb(place)
    }
    assert {place: count for place, count in counts.items() if count > PARAMETERS} == {}


BUNDLES = {"src/mnemic/ports/store.py::UnitOfWork"}
"""Not ports themselves: they hand out ports."""


def test_no_port_has_more_methods_than_fit_one_screen(trees: dict[str, ast.Module]):
    counts = {
        f"{name}::{node.name}": sum(isinstance(item, Function) and not item.name.startswith("_") for item in node.body)
        for name, tree in trees.items()
        if name.startswith("src/mnemic/ports/")
        for node in tree.body
        if isinstance(node, ast.ClassDef) and any(ast.unparse(parent).startswith("Protocol") for parent in node.bases)
    }
    assert counts, "no Protocol found under src/mnemic/ports"
    assert {port: n for port, n in counts.items() if n > PORT_METHODS and port not in BUNDLES} == {}


def test_errors_are_caught_by_name_except_where_a_reason_is_written(trees: dict[str, ast.Module]):
    broad = {
        place
        for name, tree in trees.items()
        for place, function in [(name, tree), *functions(tree, name)]
        for node in own_nodes(function)
        if isinstance(node, ast.ExceptHandler) and is_broad(node)
    }
    assert broad == set(BROAD_EXCEPTS)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in this function or module itself, not in a function within it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function):
            yield child
            yield from own_nodes(child)


def test_no_module_or_folder_has_a_name_that_says_nothing(trees: dict[str, ast.Module]):
    assert [name for name in trees if VAGUE_NAMES & set(Path(name).with_suffix("").parts)] == []
