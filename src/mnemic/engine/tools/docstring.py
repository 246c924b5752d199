"""Reads what a tool's docstring says: what it does, and what each parameter is."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"(?:Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?|Warnings?):\s*")
_ARGS = re.compile(r"(?:Args|Arguments|Parameters):\s*")
_ENTRY = re.compile(r"\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)")


def read_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The text before the first section, and the lines of its `Args:` section by parameter, each as one line."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    first = next((place for place, line in enumerate(lines) if _SECTION.fullmatch(line)), len(lines))
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines[:first]).strip())
    about = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    return about, _entries(lines[first:])


def _entries(lines: list[str]) -> dict[str, str]:
    entries: dict[str, str] = {}
    inside, name, margin = False, "", 0
    for line in lines:
        if line and not line[0].isspace():
            inside = _ARGS.fullmatch(line) is not None
            name, margin = "", 0
        elif inside and line.strip():
            depth = len(line) - len(line.lstrip())
            margin = margin or depth
            found = _ENTRY.fullmatch(line.strip()) if depth <= margin else None
            if found:
                name = found[1]
                entries[name] = found[2]
            elif name:
                entries[name] = f"{entries[name]} {line.strip()}"
    return {name: text.strip() for name, text in entries.items()}
