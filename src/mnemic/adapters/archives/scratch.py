"""Private folders for work that is done in files, which are gone with it, and with the next one if the process died."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mnemic.adapters.indexes.lease import lease_at_once

_LOCK = "in-use"
_BEGINNING_S = 60.0  # a folder so young may be another's, who has not come to lock it


@contextmanager
def scratch_folder(parent: Path, name: str) -> Generator[Path]:
    """A new folder in `parent` that only its owner may enter, removed at the end with all it holds. Folders of this
    name whose process died are removed first. Raises `OSError`.
    """
    prefix, suffix = f".{name[:50]}.", ".unfinished"
    for old in parent.glob(f"{_literal(prefix)}*{suffix}"):
        _remove_if_left(old)
    folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=parent))
    try:
        with lease_at_once(folder / _LOCK):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_if_left(folder: Path) -> None:
    try:
        if not (folder / _LOCK).exists() and time.time() - folder.stat().st_mtime < _BEGINNING_S:
            return
        with lease_at_once(folder / _LOCK) as is_left:
            if is_left:
                shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # it went away meanwhile, or is another user's
        return


def _literal(text: str) -> str:
    """A text for a pattern of file names, where it stands for itself."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in text)
