"""Lists every requirement with the tests that prove it, and refuses claims without proof.

Rows are data in `requirements/rows.jsonl`; the ids claimed closed stand in `requirements/closed.txt`; a test proves
rows by `@pytest.mark.requirement("J-14", …)`. Markers are read from the source, so nothing is imported or run here:
whether the tests pass is the test run's answer.

    python scripts/requirements.py           every row: closed, open or (env), with its tests, then the counts
    python scripts/requirements.py --check   only what is wrong; exit code 1 if anything is
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS = Path("requirements/rows.jsonl")
CLOSED = Path("requirements/closed.txt")
TEST_FOLDERS = (Path("tests"), Path("src/mnemic/testing"))


@dataclass(frozen=True, slots=True)
class Row:
    """One requirement: what (`text`), numbers or ruling (`measure`); `note` answers an (env) row and is else empty."""

    id: str
    group: str
    text: str
    measure: str
    note: str


@dataclass(frozen=True, slots=True)
class Marker:
    """One use of the requirement marker: where (`file::Class::test`) and its ids; None stands for one not literal."""

    place: str
    ids: tuple[str | None, ...]


@dataclass(slots=True)
class Table:
    """All rows, what is claimed closed, and the tests found for each id."""

    rows: Sequence[Row]
    closed: Sequence[str]
    markers: Sequence[Marker]
    tests: Mapping[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        tests: dict[str, list[str]] = {row.id: [] for row in self.rows}
        for marker in self.markers:
            for row_id in marker.ids:
                if row_id in tests:
                    tests[row_id].append(marker.place)
        self.tests = tests

    def state(self, row: Row) -> str:
        """`closed`, `open` or `(env)`."""
        if row.note:
            return "(env)"
        return "closed" if row.id in self.closed else "open"


def read_table(root: Path) -> Table:
    """The table of the project at `root`; OSError if a file is missing, KeyError or ValueError if a row is broken."""
    return Table(_read_rows(root / ROWS), _read_closed(root / CLOSED), list(find_markers(root)))


def find_markers(root: Path) -> Iterator[Marker]:
    """Every requirement marker under the test folders of `root`, in order of file and line."""
    for folder in TEST_FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
            yield from _markers_in(tree, path.relative_to(root).as_posix())


def problems(table: Table) -> list[str]:
    """What contradicts the rules, one sentence each; empty when all is well."""
    return [*_repeated_rows(table), *_unfounded_claims(table), *_wrong_markers(table)]


def listing(table: Table) -> Iterator[str]:
    """The lines of the report: rows by group, each with its tests or its note, then the counts."""
    group = ""
    for row in table.rows:
        if row.group != group:
            group = row.group
            yield f"\n{row.id[0]}: {group}"
        yield f"{row.id} {table.state(row):6} {row.text} [{row.measure}]"
        for line in (row.note,) if row.note else table.tests[row.id]:
            yield f"            {line}"
    yield ""
    yield summary(table)


def summary(table: Table) -> str:
    """One line of counts."""
    states = Counter(table.state(row) for row in table.rows)
    tested = sum(1 for row in table.rows if table.state(row) == "open" and table.tests[row.id])
    return (
        f"{len(table.rows)} rows: {states['closed']} closed, {states['open']} open "
        f"({tested} of them with tests), {states['(env)']} (env)"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the report or the problems; returns the exit code."""
    parser = argparse.ArgumentParser(description="Requirements and the tests that prove them.")
    parser.add_argument("--check", action="store_true", help="print only what is wrong; exit 1 if anything is")
    options = parser.parse_args(arguments)
    table = read_table(ROOT)
    wrong = problems(table)
    print("\n".join([summary(table)] if options.check else listing(table)).lstrip("\n"))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def _repeated_rows(table: Table) -> Iterator[str]:
    for row_id, count in Counter(row.id for row in table.rows).items():
        if count > 1:
            yield f"{row_id}: stands {count} times in {ROWS}"


def _unfounded_claims(table: Table) -> Iterator[str]:
    env = {row.id for row in table.rows if row.note}
    for row_id, count in Counter(table.closed).items():
        if row_id not in table.tests:
            yield f"{row_id}: claimed closed in {CLOSED}, but there is no such row"
        elif row_id in env:
            yield f"{row_id}: claimed closed in {CLOSED}, but an (env) row needs its note only"
        elif not table.tests[row_id]:
            yield f"{row_id}: claimed closed, but no test carries its id"
        if count > 1:
            yield f"{row_id}: stands {count} times in {CLOSED}"


def _wrong_markers(table: Table) -> Iterator[str]:
    for marker in table.markers:
        if not marker.ids:
            yield f"{marker.place}: the requirement marker names no id"
        for row_id in marker.ids:
            if row_id is None:
                yield f"{marker.place}: ids in a requirement marker must be literal strings"
            elif row_id not in table.tests:
                yield f"{marker.place}: the requirement marker names {row_id}, but there is no such row"


def _read_rows(path: Path) -> list[Row]:
    rows: list[Row] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        cells: dict[str, str] = json.loads(line)
        text = cells.get("topic") or cells["behaviour"]
        measure = cells.get("ruling") or cells.get("measure") or cells["numbers"]
        rows.append(Row(cells["id"], cells["group"], text, measure, cells.get("env", "")))
    return rows


def _read_closed(path: Path) -> list[str]:
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def _markers_in(node: ast.AST, place: str) -> Iterator[Marker]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _markers_in(child, f"{place}::{child.name}")
            continue
        if isinstance(child, ast.Call) and _is_requirement_mark(child.func):
            yield Marker(place, tuple(_literal(argument) for argument in child.args))
        yield from _markers_in(child, place)


def _is_requirement_mark(func: ast.expr) -> bool:
    if not (isinstance(func, ast.Attribute) and func.attr == "requirement"):
        return False
    owner = func.value
    return (owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")) == "mark"


def _literal(argument: ast.expr) -> str | None:
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return argument.value
    return None


if __name__ == "__main__":
    sys.exit(main())
