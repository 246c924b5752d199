"""The configuration files of other programs: read as JSON, backed up, and replaced at once or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from mnemic.errors import ConfigError


def parsed(content: str | None, file: Path) -> dict[str, object]:
    """What a file holds; nothing where it is not there. Raises `ConfigError` for what is no JSON object."""
    if content is None or not content.strip():
        return {}
    try:
        whole: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not plain JSON ({error}); it was left alone, change it by hand") from error
    if not isinstance(whole, dict):
        raise ConfigError(f"{file} holds no JSON object; it was left alone")
    return cast("dict[str, object]", whole)


def backed_up(file: Path) -> Path:
    """A copy of the file beside it, of a name that is free."""
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
    names = (file.with_name(f"{file.name}.{stamp}{suffix}.bak") for suffix in ("", *(f"-{n}" for n in range(1, 100))))
    backup = next(name for name in names if not name.exists())
    shutil.copy2(file, backup)
    return backup


def replace_file(file: Path, content: str) -> None:
    """Write the file at once or not at all, with the rights it had."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as part:
            part.write(content)
        if file.exists():
            shutil.copymode(file, name)
        Path(name).replace(file)
    finally:
        Path(name).unlink(missing_ok=True)
