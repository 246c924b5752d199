"""The TypeScript client is what its script writes, and has the version of the library."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mnemic import __version__
from mnemic.verbs import ROUTES
from scripts import typescript_client

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "typescript"


@pytest.fixture(scope="module")
def written() -> str:
    return typescript_client.written()


def test_the_kept_verbs_are_those_of_the_description(written: str):
    assert typescript_client.KEPT.read_text(encoding="utf-8") == written, "run scripts/typescript_client.py --write"


@pytest.mark.requirement("P-60")
def test_every_verb_of_the_server_has_a_method(written: str):
    sent = set(re.findall(r'this\.scope, "(\w+)", ["`]/v1([^"`]+)["`]', written))
    assert {(method, re.sub(r"\$\{encodeURIComponent\((\w+)\)\}", r"{\1}", path)) for method, path in sent} == {
        (verb.method, verb.path) for verb in ROUTES.values()
    }


def test_the_package_has_the_version_of_the_library_and_needs_nothing_to_run():
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == __version__
    assert "dependencies" not in package
    assert all(version[0].isdigit() or version.startswith("npm:") for version in package["devDependencies"].values())
