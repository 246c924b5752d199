"""Finds tools in installed packages and named modules, and calls them within time and size limits, so that no tool ends
the chat. A package registers its tools by an entry point of the group `mnemic.tools`: a tool, several in a list or
tuple, or a module that holds them.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import logging
import queue
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextvars import copy_context
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from mnemic.engine.access import reach_out
from mnemic.errors import ConfigError, InvalidInputError, MnemicError, attempt
from mnemic.model.chat import AssistantSettings, ToolCall, ToolContext, ToolOutcome, ToolSpec
from mnemic.ports.models import Tool
from mnemic.text.replies import json_values

GROUP = "mnemic.tools"
MAX_STUCK = 4  # abandoned calls of one tool that still run; with this many it is not called again
CUT = "\n[cut: the result had {} characters]"
_log = logging.getLogger("mnemic.tools")


class Toolbox:
    """Tools by name. Thread-safe."""

    def __init__(self, tools: Iterable[Tool] = (), settings: AssistantSettings | None = None) -> None:
        """Raises `ConfigError` if two tools have the same name."""
        self._settings = settings or AssistantSettings()
        self._tools: dict[str, Tool] = {}
        self._stuck: Counter[str] = Counter()
        self._guard = threading.Lock()
        for tool in tools:
            if self._tools.setdefault(tool.spec.name, tool) is not tool:
                raise ConfigError(f"there are two tools named {tool.spec.name}; rename one of them")

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def with_tools(self, tools: Iterable[Tool]) -> Toolbox:
        """These tools and more. Raises `ConfigError` for a duplicate name."""
        return Toolbox([*self, *tools], self._settings)

    def only(self, names: Iterable[str]) -> Toolbox:
        """The tools with these names. Raises `InvalidInputError` for an unknown one."""
        wanted = list(dict.fromkeys(names))
        unknown = [name for name in wanted if name not in self._tools]
        if unknown:
            raise InvalidInputError(f"unknown tool {unknown[0]!r}; use one of {', '.join(self._tools)}")
        return Toolbox([self._tools[name] for name in wanted], self._settings)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The models' descriptions of the tools."""
        return tuple(tool.spec for tool in self)

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutcome:
        """Run a model's call. Raises nothing: an error becomes the text of the outcome."""
        begin = time.perf_counter()
        text, is_error = self._run(call, context)
        limit = self._settings.max_tool_result_chars
        if len(text) > limit:
            text = text[:limit] + CUT.format(len(text))
        seconds = time.perf_counter() - begin
        _log.debug("tool %s: %s after %.2f s", call.name[:64], "failed" if is_error else "done", seconds)
        return ToolOutcome(call, text, is_error, seconds)

    def _run(self, call: ToolCall, context: ToolContext) -> tuple[str, bool]:
        tool = self._tools.get(call.name)
        if tool is None:
            return f"unknown tool {call.name[:64]!r}; use one of {', '.join(self._tools) or 'none'}", True
        try:
            arguments = read_arguments(call.arguments)
        except InvalidInputError as error:
            return str(error), True
        with self._guard:
            if self._stuck[call.name] >= MAX_STUCK:
                return f"{call.name} is still busy with earlier calls; go on without it", True
        return self._call_in_time(tool, context, arguments)

    def _call_in_time(self, tool: Tool, context: ToolContext, arguments: Mapping[str, object]) -> tuple[str, bool]:
        """Run the call on its own thread. One that never ends blocks nothing and dies with the process."""
        name = tool.spec.name
        timeout = self._settings.tool_timeout_s if tool.timeout_s is None else tool.timeout_s
        answers: queue.SimpleQueue[tuple[str, bool]] = queue.SimpleQueue()
        is_left = threading.Event()

        def work() -> None:
            answers.put(_attempt(tool, context, arguments))
            with self._guard:
                if is_left.is_set():
                    self._stuck[name] -= 1

        if not tool.is_read_only:
            reach_out()
        inside = copy_context()  # the tool acts for the caller
        threading.Thread(target=inside.run, args=(work,), name=f"mnemic-tool-{name}", daemon=True).start()
        try:
            return answers.get(timeout=timeout)
        except queue.Empty:
            with self._guard:
                if answers.empty():
                    is_left.set()
                    self._stuck[name] += 1
                    return f"{name} did not respond within {timeout:g} s", True
            return answers.get()


def read_arguments(written: str) -> Mapping[str, object]:
    """A model's arguments, repaired if their meaning is clear. Raises `InvalidInputError`."""
    if not written.strip():
        return {}
    given: object
    try:
        given = json.loads(written)
    except (ValueError, RecursionError):
        given = next((cast("object", value) for value in json_values(written) if isinstance(value, dict)), written)
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise InvalidInputError('the arguments must be a JSON object such as {"name": "value"}')
    return cast("Mapping[str, object]", given)


def _attempt(tool: Tool, context: ToolContext, arguments: Mapping[str, object]) -> tuple[str, bool]:
    name = tool.spec.name
    answer = attempt(lambda: tool.call(context, arguments), _log.error, f"in tool {name}")
    if isinstance(answer, MnemicError):
        context.tell(answer)
        return str(answer), True
    if isinstance(answer, Exception):
        return f"{name} failed ({type(answer).__name__}); go on without it", True
    return answer, False


def find_tools(modules: Iterable[str] = ()) -> tuple[Tool, ...]:
    """The tools of all installed packages, then those of `modules` (`package.module`, or the path of a `.py` file).
    Raises `ConfigError` for a module that cannot be loaded or has no tool.
    """
    found: list[Tool] = []
    points = importlib.metadata.entry_points(group=GROUP)
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        try:
            loaded: object = point.load()
        except (ImportError, AttributeError, InvalidInputError) as error:
            raise ConfigError(f"cannot load the tool {point.name!r} from {point.value}: {error}") from error
        found += _pick_tools(loaded, f"{point.name} ({point.value})")
    for name in modules:
        found += _pick_tools(_import_module(name), name)
    return tuple(dict.fromkeys(found))


def _import_module(name: str) -> ModuleType:
    try:
        return _import_file(Path(name).expanduser()) if name.endswith(".py") else importlib.import_module(name)
    except (ImportError, OSError, SyntaxError, InvalidInputError, ValueError) as error:
        raise ConfigError(f"cannot load the tools in {name}: {error}") from error


def _import_file(path: Path) -> ModuleType:
    """Import a file as a module under a name that no package has."""
    name = f"mnemic_tools_of_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ImportError(f"the file {path} does not exist")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _pick_tools(loaded: object, place: str) -> list[Tool]:
    if isinstance(loaded, ModuleType):
        several = [value for name, value in vars(loaded).items() if not name.startswith("_")]
        tools = [cast("Tool", value) for value in several if _is_tool(value)]
    else:
        listed = cast("list[object]", list(cast("Any", loaded)) if isinstance(loaded, list | tuple) else [loaded])
        if not all(map(_is_tool, listed)):
            raise ConfigError(f"{place} is not a tool; decorate the function with @mnemic.tool")
        tools = cast("list[Tool]", listed)
    if not tools:
        raise ConfigError(f"{place} contains no tools; decorate a function with @mnemic.tool")
    return tools


def _is_tool(value: object) -> bool:
    return not isinstance(value, type) and hasattr(value, "spec") and callable(getattr(value, "call", None))
