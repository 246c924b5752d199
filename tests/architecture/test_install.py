"""The base install stays small: what it resolves to is counted, and nothing imports what is not declared."""

from __future__ import annotations

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
def test_the_packages_are_marked_as_typed(repository: Path):
    assert (repository / "src" / "mnemic" / "py.typed").is_file()
