"""Finds tools: those that installed packages bring, and those of modules that are named.

A package makes its tools known by an entry point of the group `mnemic.tools`: a tool, several in a list or tuple, or a
module that holds them.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from mnemic.errors import ConfigError, InvalidInputError
from mnemic.ports.models import Tool

GROUP = "mnemic.tools"


def find_tools(modules: Iterable[str] = ()) -> tuple[Tool, ...]:
    """The tools of all installed packages, then those of `modules` (`package.module`, or the path of a `.py` file).

    Raises `ConfigError` for what cannot be loaded and for a module without any tool.
    """
    found: list[Tool] = []
    points = importlib.metadata.entry_points(group=GROUP)
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        try:
            loaded: object = point.load()
        except (ImportError, AttributeError, InvalidInputError) as error:
            raise ConfigError(f"the tool {point.name!r} of {point.value} cannot be loaded: {error}") from error
        found += _tools_in(loaded, f"{point.name} ({point.value})")
    for name in modules:
        found += _tools_in(_module(name), name)
    return tuple(dict.fromkeys(found))


def _module(name: str) -> ModuleType:
    try:
        return _file(Path(name).expanduser()) if name.endswith(".py") else importlib.import_module(name)
    except (ImportError, OSError, SyntaxError, InvalidInputError, ValueError) as error:
        raise ConfigError(f"the tools of {name} cannot be loaded: {error}") from error


def _file(path: Path) -> ModuleType:
    """A module of a file, known to others under a name that no package has."""
    name = f"mnemic_tools_of_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ImportError(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _tools_in(loaded: object, place: str) -> list[Tool]:
    if isinstance(loaded, ModuleType):
        several = [value for name, value in vars(loaded).items() if not name.startswith("_")]
        tools = [cast("Tool", value) for value in several if _is_tool(value)]
    else:
        listed = cast("list[object]", list(cast("Any", loaded)) if isinstance(loaded, list | tuple) else [loaded])
        if not all(map(_is_tool, listed)):
            raise ConfigError(f"{place} is no tool; make one of a function with @mnemic.tool")
        tools = cast("list[Tool]", listed)
    if not tools:
        raise ConfigError(f"{place} holds no tool; make one of a function with @mnemic.tool")
    return tools


def _is_tool(value: object) -> bool:
    return not isinstance(value, type) and hasattr(value, "spec") and callable(getattr(value, "call", None))
