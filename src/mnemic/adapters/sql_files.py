"""Reads the named statements of `.sql` files beside their adapters. All SQL is there."""

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def named_statements(package: str, path: str) -> dict[str, str]:
    """The statements of a file by name, each below a line `-- name: its_name`, without a closing semicolon."""
    parts = _NAME.split(files(package).joinpath(path).read_text("utf-8"))
    return {name: body.strip().rstrip(";") for name, body in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def numbered_scripts(package: str, folder: str) -> list[tuple[int, str]]:
    """(number, text) of every file `NNNN_its_name.sql` in a folder of `package`, in order."""
    entries = [entry for entry in (files(package) / folder).iterdir() if entry.name.endswith(".sql")]
    return sorted((int(entry.name[:4]), entry.read_text("utf-8")) for entry in entries)
