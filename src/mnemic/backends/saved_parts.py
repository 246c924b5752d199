"""The folder that a hybrid saves: one file per part, and a list that says which files belong together.

The list is replaced last and at once, so a save that is interrupted leaves the older one whole.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import cast
from uuid import uuid4

from mnemic.backends.primitive import MemoryBackend
from mnemic.errors import BackendError, NotFoundError, UnavailableError

LIST = "parts.json"


def write_parts(path: str | Path, parts: Mapping[str, MemoryBackend]) -> None:
    """Save the parts into the folder `path`, in the place of those of an older save. Raises `UnavailableError`."""
    folder = Path(path).expanduser()
    names = {part: f"{part}-{uuid4().hex}" for part in parts}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part, backend in parts.items():
            backend.save(folder / names[part])
        half = folder / f"{LIST}.part"
        half.write_text(json.dumps(names), encoding="utf-8")
        half.replace(folder / LIST)
        for part in parts:
            for older in folder.glob(f"{part}-*"):
                if older.name != names[part]:
                    older.unlink(missing_ok=True)
    except OSError as error:
        raise UnavailableError(f"{folder} cannot be written: {error}") from error


def read_parts(path: str | Path, parts: Mapping[str, MemoryBackend]) -> None:
    """Load the parts from the folder `path`, all or none. Errors are those of `MemoryBackend.load`."""
    folder = Path(path).expanduser()
    names = _names(folder)
    if set(names) != set(parts):
        raise BackendError(f"{folder} holds {', '.join(sorted(names))}; expected {', '.join(sorted(parts))}")
    with tempfile.TemporaryDirectory() as before, ExitStack() as undo:
        for part, backend in parts.items():
            backend.save(Path(before) / part)
            backend.load(folder / names[part])
            undo.callback(backend.load, Path(before) / part)
        undo.pop_all()


def _names(folder: Path) -> dict[str, str]:
    try:
        names = json.loads((folder / LIST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no saved memory in {folder}") from error
    except OSError as error:
        raise UnavailableError(f"{folder} cannot be read: {error}") from error
    except ValueError as error:
        raise BackendError(f"{folder / LIST} is no list of saved parts, or is damaged") from error
    if not isinstance(names, dict):
        raise BackendError(f"{folder / LIST} is no list of saved parts, or is damaged")
    return {str(part): Path(str(name)).name for part, name in cast("dict[object, object]", names).items()}
