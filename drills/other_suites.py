"""Runs other projects' test suites: MCP's conformance tests and Inspector, LangGraph's store tests, and Schemathesis.

Packages from npm and pip are installed into a temporary folder with pinned versions. LangGraph's tests come from its
GitHub repository, or from the clone that `MNEMIC_LANGGRAPH` names. Each exclusion has a reason. OpenAI's and
Anthropic's clients and Vercel's SDK have their own drills (`anthropic_client`, `node_clients`), and so does Claude
Code (`claude_code`). `make ts` runs Redocly. The exit code is 1 if a test fails.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from drills.kit.outcome import Outcome, options  # noqa: E402 -- the root of the repository is put on the path first
from drills.kit.serving import serving  # noqa: E402 -- as above
from drills.store_agreement import server  # noqa: E402 -- as above

OTHERS = ROOT / "drills" / "others"
NPM = ("node@22.23.3", "@modelcontextprotocol/conformance@0.1.16", "@modelcontextprotocol/inspector@0.15.0")
PIP = ("pytest-mock==3.15.1", "pytest-asyncio==1.3.0")
LANGGRAPH, TAG = "https://github.com/langchain-ai/langgraph", "checkpoint==4.2.0"
TESTS = {
    "libs/checkpoint/tests/embed_test_utils.py": "embed_test_utils.py",
    "libs/checkpoint/tests/test_store.py": "test_memory_store.py",
    "libs/checkpoint-sqlite/tests/test_store.py": "test_sqlite_store.py",
}
LIMIT_S = 900

_FIXTURE = "calls a tool, resource or prompt that only the suite's example server has"
_BACK = "needs a server that sends messages or questions during a call; Mnemic's server is stateless"
NOT_MCP: Mapping[str, str] = {
    **dict.fromkeys(("tools-call-image", "tools-call-audio", "tools-call-embedded-resource"), _FIXTURE),
    **dict.fromkeys(("tools-call-mixed-content", "resources-read-text", "resources-read-binary"), _FIXTURE),
    **dict.fromkeys(("resources-templates-read", "prompts-get-simple", "prompts-get-with-args"), _FIXTURE),
    **dict.fromkeys(("prompts-get-embedded-resource", "prompts-get-with-image"), _FIXTURE),
    **dict.fromkeys(("tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults"), _BACK),
    **dict.fromkeys(("elicitation-sep1330-enums", "tools-call-with-progress", "tools-call-with-logging"), _BACK),
    **dict.fromkeys(
        ("logging-set-level", "completion-complete", "resources-subscribe", "resources-unsubscribe"),
        "an optional capability that Mnemic does not declare",
    ),
}
"""Scenarios of the conformance suite that do not apply, with the reason."""

_SCORES = "expects the scores of its own test embedder; Mnemic uses its own embedder and scores"
_PARTS = "tests functions or SQL of LangGraph's SQLite store, which Mnemic does not have"
_VECTORS = "expects one vector per field and the best one's score; Mnemic embeds each item as a whole"
NOT_LANGGRAPH: Mapping[str, str] = {
    "test_scores": _SCORES,
    "test_embed_with_path": _VECTORS,
    "test_vector_store_initialization": _PARTS,
    "test_nonnull_migrations": _PARTS,
    "test_escape_glob_literal": _PARTS,
    "test_namespace_match_pattern": _PARTS,
    "test_list_namespaces_prefix_uses_indexable_condition": _PARTS,
    "test_sql_injection_vulnerability": "expects an error for a filter's name with quotes; here the name is data, "
    "matches nothing, and the search is empty",
}
"""Tests of LangGraph that do not apply, with the reason."""

_RESULT = re.compile(r"^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed", re.MULTILINE)
_FAILED = re.compile(r"^FAILED tests/(\w+)\.py::(?:\w+::)?(\w+)", re.MULTILINE)
_COUNTS = re.compile(r"(\d+) (passed|failed|error)")

Rows = list[list[str]]


def run(command: Sequence[str], **settings: object) -> subprocess.CompletedProcess[str]:
    """The ended process with its output as text, whatever its exit code."""
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, **settings)  # type: ignore[call-overload, no-any-return]


def check_mcp(folder: Path) -> tuple[Rows, list[str]]:
    """Conformance and Inspector against `mnemic serve`."""
    subprocess.run(
        ["npm", "install", "--prefix", str(folder), "--no-fund", "--no-audit", *NPM],
        check=True,
        capture_output=True,
        timeout=LIMIT_S,
    )
    packages = folder / "node_modules"
    node = str(packages / "node" / "bin" / "node")
    config = f'[tools]\nmodules = ["{OTHERS / "conformance_tools.py"}"]\n'
    with serving(folder / "memory.db", ["--no-worker"], config) as served:
        url = f"http://localhost:{served.port}/mcp?tools=all"
        suite = packages / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
        told = run([node, str(suite), "server", "--url", url], cwd=folder).stdout
        inspected = [*inspect(node, packages, url)]
    results = [(name, int(passed), int(failed)) for name, passed, failed in _RESULT.findall(told)]
    problems = [f"conformance: {name} failed" for name, _, failed in results if failed and name not in NOT_MCP]
    problems += [
        f"conformance: {name} is excluded, but holds" for name, _, failed in results if not failed and name in NOT_MCP
    ]
    held = sum(passed > 0 and not failed for _, passed, failed in results)
    if not held:
        problems.append(f"the conformance suite did not run: {told[-500:]}")
    rows = [
        [NPM[1], str(held), str(sum(failed > 0 for _, _, failed in results))],
        [NPM[2], str(sum(not each for each in inspected)), "0"],
    ]
    return rows, [*problems, *filter(None, inspected)]


def inspect(node: str, packages: Path, url: str) -> Iterator[str]:
    """What is wrong with the answer that the Inspector's command shows, for each method; empty if nothing is."""
    program = packages / "@modelcontextprotocol" / "inspector" / "cli" / "build" / "cli.js"
    remember = ["tools/call", "--tool-name", "remember", "--tool-arg", "text=Ana keeps bees"]
    recall = ["tools/call", "--tool-name", "recall", "--tool-arg", "query=Who keeps bees?"]
    wanted = {"tools/list": '"recall"', "resources/list": '"profile"', "resources/templates/list": '"memory"'}
    calls = [*(([method], text) for method, text in wanted.items()), (["prompts/list"], '"with-memory"')]
    path = f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"
    for call, text in [*calls, (remember, "kept as"), (recall, "Ana keeps bees")]:
        command = [node, str(program), "--cli", url, "--transport", "http", "--method", *call]
        done = run(command, env={**os.environ, "PATH": path})
        is_right = not done.returncode and text in done.stdout and isinstance(json.loads(done.stdout), dict)
        yield "" if is_right else f"Inspector: {' '.join(call)}: {(done.stderr or done.stdout)[-300:]}"


def check_langgraph(folder: Path) -> tuple[Rows, list[str]]:
    """LangGraph's tests of its stores over Mnemic's store: in memory, in files and in PostgreSQL."""
    packages, tests = folder / "packages", folder / "tests"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(packages), *PIP]
    subprocess.run(install, check=True, capture_output=True, timeout=LIMIT_S)
    clone = os.environ.get("MNEMIC_LANGGRAPH") or str(folder / "langgraph")
    if not Path(clone).exists():
        fetch = ["git", "clone", "-q", "--depth", "1", "--branch", TAG, LANGGRAPH, clone]
        subprocess.run(fetch, check=True, capture_output=True, timeout=LIMIT_S)
    tests.mkdir()
    (tests / "__init__.py").touch()
    for theirs, ours in TESTS.items():
        show = ["git", "-C", clone, "show", f"{TAG}:{theirs}"]
        (tests / ours).write_bytes(subprocess.run(show, check=True, capture_output=True).stdout)
    paths = [ROOT / "src", OTHERS, packages, folder]
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "MNEMIC_RESIDENT_IDLE_S": "0"}
    plugins = ["-p", "langgraph_plugin", "-p", "pytest_asyncio", "--asyncio-mode=auto", "-p", "no:cacheprovider"]
    rows, problems = Rows(), list[str]()
    with server(folder) as url_of:
        stores = {"memory": "memory://", "SQLite": "sqlite", "PostgreSQL": url_of("langgraph")}
        for store, tried in stores.items():
            command = [sys.executable, "-m", "pytest", "-q", *plugins, "tests"]
            told = run(command, cwd=folder, env={**known, "MNEMIC_TRIED": tried}).stdout
            failed = [name for _, name in _FAILED.findall(told)]
            problems += [f"LangGraph over {store}: {name} failed" for name in failed if name not in NOT_LANGGRAPH]
            problems += [
                f"LangGraph over {store}: {name} is excluded, but holds" for name in {*NOT_LANGGRAPH} - {*failed}
            ]
            counts = {what: number for number, what in _COUNTS.findall(told)}
            if "passed" not in counts or "error" in counts:
                problems.append(f"LangGraph's tests did not run over {store}: {told[-500:]}")
            rows.append([f"LangGraph {TAG}, {store}", counts.get("passed", "0"), counts.get("failed", "0")])
    return rows, problems


def check_schemathesis() -> tuple[Rows, list[str]]:
    """Schemathesis over the description of the REST door, as `make check` runs it."""
    from importlib.metadata import version

    done = run([sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/doors/test_description.py"], cwd=ROOT)
    counts = {what: number for number, what in _COUNTS.findall(done.stdout)}
    problems = [f"Schemathesis: {done.stdout[-500:]}"] if done.returncode else []
    return [[f"schemathesis {version('schemathesis')}", counts.get("passed", "0"), counts.get("failed", "0")]], problems


def main() -> int:
    """Run the drill."""
    options(__doc__)
    rows, problems = Rows(), list[str]()
    with TemporaryDirectory() as place:
        folders = [Path(place) / name for name in ("mcp", "langgraph")]
        for folder in folders:
            folder.mkdir()
        for made in (check_mcp(folders[0]), check_langgraph(folders[1]), check_schemathesis()):
            rows += made[0]
            problems += made[1]
    excluded = [[name, reason] for name, reason in sorted({**NOT_MCP, **NOT_LANGGRAPH}.items())]
    tables = [(["suite", "held", "excluded"], rows), (["excluded", "reason"], excluded)]
    facts = {"packages": ", ".join((*NPM, *PIP))}
    return Outcome(name="others", about=__doc__ or "", facts=facts, problems=problems, tables=tables).told()


if __name__ == "__main__":
    sys.exit(main())
