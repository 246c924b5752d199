"""Creates a temporary environment for each project, and measures its size before our own packages are added."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent.parent
VERSIONS = Path(__file__).with_name("versions.txt")
OWN = "mnemic"
EMBEDDER = "embedder"
COMMIT = "commit"
_LISTED = """
import importlib.metadata as m, json, pathlib, platform
found = {d.metadata["Name"]: d for d in m.distributions() if d.metadata["Name"].lower() not in ("pip", "setuptools")}
files = [pathlib.Path(d.locate_file(f)) for d in found.values() for f in d.files or ()]
size = sum(path.stat().st_size for path in files if path.is_file())
versions = {n: d.version for n, d in found.items()}
print(json.dumps({"versions": versions, "size_bytes": size, "release": platform.python_version()}))
"""


class InstallError(Exception):
    """A peer could not be installed; the message is the last line of pip."""


@dataclass(frozen=True, slots=True)
class Environment:
    """An installed peer: its interpreter and that one's release, and the distributions that it brought along."""

    python: str
    release: str
    versions: dict[str, str]
    size_bytes: int


def requirements() -> dict[str, tuple[str, ...]]:
    """What `versions.txt` asks for, by peer."""
    lines = (line.partition(":") for line in VERSIONS.read_text("utf-8").splitlines() if line[:1] not in ("", "#"))
    return {name: tuple(rest.split()) for name, _, rest in lines}


def built_wheel(folder: Path) -> Path:
    """The wheel of this repository's last commit, built into the folder, with the commit's name in a file beside it."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    with TemporaryDirectory() as source:
        packed = Path(source) / "source.tar"
        subprocess.run(["git", "archive", "--output", str(packed), commit.stdout.strip()], cwd=ROOT, check=True)
        shutil.unpack_archive(packed, source, filter="data")
        packed.unlink()
        _pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", str(folder), source)
    (folder / COMMIT).write_text(commit.stdout.strip(), encoding="utf-8")
    return max(folder.glob("mnemic-*.whl"), key=lambda path: path.stat().st_mtime)


def installed(name: str, folder: Path, wheel: Path, interpreter: str) -> Environment:
    """The environment of a peer, made from the interpreter unless the folder has it already. Raises `InstallError`."""
    wanted, place = requirements(), folder / name
    note, python = place / "environment.json", str(place / "bin" / "python")
    if not note.exists():
        subprocess.run([interpreter, "-m", "venv", "--clear", str(place)], check=True)
        asked = [str(wheel) if each == "." else each for each in wanted[name]]
        if asked:
            _pip(python, "install", *asked)
        listed = subprocess.run([python, "-c", _LISTED], check=True, capture_output=True, text=True)
        kept = Environment(python=python, **json.loads(listed.stdout))
        _pip(python, "install", *wanted[EMBEDDER])
        _pip(python, "install", "--no-deps", "--force-reinstall", str(wheel))
        note.write_text(json.dumps(asdict(kept)), encoding="utf-8")
    return Environment(**json.loads(note.read_text("utf-8")))


def _pip(python: str, *arguments: str) -> None:
    done = subprocess.run([python, "-m", "pip", *arguments, "--quiet"], check=False, capture_output=True, text=True)
    if done.returncode:
        raise InstallError((done.stderr.strip().splitlines() or ["pip failed"])[-1])
