"""Nothing of the machine it was made on is committed: no paths, no package registries, no unfinished business."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

# Each pattern is put together so that this file does not contain what it forbids.
FORBIDDEN = {
    "the address of a package registry": re.compile(
        r"^\s*(--(extra-)?index-url|-i )|^\s*(index|extra-index)-url *=|registry *= *[\"']http|\"resolved\": *\"http",
        re.MULTILINE,
    ),
    "a path of somebody's machine": re.compile(r"(?<![\w.~/])/(" + "work|root|home/" + r"\w+|Users/\w+)/"),
    "work left undone": re.compile(r"\b(" + "TO" + "DO|FIX" + "ME|XX" + "X)" + r"\b"),
}


VENDORED = ("src/mnemic/rest/swagger/", "src/mnemic/console/static/vendor/")
"""What others published is kept as they did."""


def tracked_texts(repository: Path) -> dict[str, str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=repository, capture_output=True, text=True, check=True)
    texts: dict[str, str] = {}
    for name in filter(None, listed.stdout.split("\0")):
        if name.startswith(VENDORED):
            continue
        path = repository / name
        data = path.read_bytes() if path.is_file() else b""
        if b"\0" not in data[:8192]:
            texts[name] = data.decode("utf-8")
    return texts


def test_no_tracked_text_holds_what_belongs_to_one_machine(repository: Path):
    texts = tracked_texts(repository)
    assert "pyproject.toml" in texts
    found = [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {what}: {match.group()}"
        for name, text in texts.items()
        for what, pattern in FORBIDDEN.items()
        for match in pattern.finditer(text)
    ]
    assert found == []
