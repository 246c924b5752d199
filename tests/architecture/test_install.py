"""The install stays small and whole: what it resolves to is counted, and the wheel is opened and looked at."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

BASE_PACKAGES = 28


def closure(distribution: str) -> set[str]:
    """The canonical names of everything that installing the distribution without extras installs, itself included."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(distribution)]
    while waiting:
        wanted = waiting.pop()
        key = (canonicalize_name(wanted.name), frozenset(wanted.extras))
        if key not in seen:
            seen.add(key)
            needed = map(Requirement, requires(wanted.name) or [])
            waiting += [requirement for requirement in needed if applies(requirement, wanted.extras or {""})]
    return {name for name, _ in seen}


def applies(requirement: Requirement, extras: set[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)


@pytest.mark.requirement("P-34")
def test_the_base_install_resolves_to_few_packages():
    packages = closure("mnemic")
    assert {"mnemic", "numpy", "onnxruntime"} <= packages
    assert len(packages - {"mnemic"}) <= BASE_PACKAGES, sorted(packages)


def test_every_package_of_the_base_install_is_pinned(repository: Path):
    lines = (repository / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines}
    assert closure("mnemic") - {"mnemic"} <= pinned
    assert all("==" in line for line in lines)


@pytest.mark.requirement("P-34")
def test_the_wheel_holds_both_packages_typed_and_with_their_data(repository: Path, tmp_path: Path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    (wheel,) = tmp_path.glob("mnemic-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"mnemic/py.typed", "mnemic_minilm/py.typed", "mnemic_minilm/model.onnx", "mnemic_minilm/LICENSE"} <= names
    code_and_data = {"mnemic", "mnemic_minilm"}
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == code_and_data
    source = repository / "src"
    queries = {path.relative_to(source).as_posix() for path in source.rglob("*.sql")}
    assert queries <= names
    folders = (source / "mnemic/console/static", source / "mnemic/rest/swagger")
    pages = {path.relative_to(source).as_posix() for folder in folders for path in folder.rglob("*.*")}
    assert {"mnemic/console/static/pages/item.js", "mnemic/rest/swagger/swagger-ui-bundle.js"} <= pages
    assert pages <= names


@pytest.mark.requirement("P-34")
def test_a_connection_without_its_extra_says_what_to_install():
    code = "import sys; sys.modules['httpx2'] = None\nimport mnemic\nmnemic.connect('http://localhost:1')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stderr.splitlines()[-1].startswith("mnemic.errors.ConfigError: ")
    assert "pip install 'mnemic[remote]'" in ended.stderr
