"""Writes down what people may rely on: the names in `mnemic.__all__` and the signatures of what they can do.

    python scripts/public_surface.py           print it
    python scripts/public_surface.py --write   keep it, after a change that is meant

`tests/architecture/test_public_surface.py` compares the kept text with the code, so that no change goes unseen.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path

KEPT = Path(__file__).resolve().parent.parent / "tests" / "architecture" / "public_surface.txt"
BINDINGS: dict[type[object], str] = {classmethod: "classmethod ", staticmethod: "staticmethod "}


def surface(module_name: str = "mnemic") -> str:
    """One line for each public name of the module and, indented below a class, for each public member of it."""
    module = importlib.import_module(module_name)
    lines: list[str] = []
    for name in sorted(module.__all__):
        lines += _described(name, getattr(module, name))
    return "\n".join(lines) + "\n"


def _described(name: str, thing: object) -> Iterator[str]:
    if inspect.isclass(thing):
        parents = ", ".join(parent.__name__ for parent in thing.__bases__ if parent is not object)
        yield f"class {name}({parents})"
        yield from (f"    {line}" for line in _members(thing))
    elif inspect.isroutine(thing):
        yield f"def {name}{inspect.signature(thing)}"
    else:
        yield f"{name}: {type(thing).__name__}"


def _members(cls: type[object]) -> Iterator[str]:
    if issubclass(cls, Enum):
        yield from (f"{member.name} = {member.value!r}" for member in cls)
        return
    members = {name: member for part in _parts(cls) for name, member in vars(part).items()}
    if "__init__" in members:
        yield f"__init__{inspect.signature(cls.__init__)}"
    for name, member in sorted(members.items()):
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield f"{name}: {_returned(member)}"
        elif inspect.isroutine(member):
            binding = BINDINGS.get(type(member), "")
            yield f"{binding}{name}{inspect.signature(getattr(cls, name))}"


def _parts(cls: type[object]) -> list[type[object]]:
    """The class behind the ones of this package that its verbs are written in."""
    return [part for part in reversed(cls.__mro__) if part is cls or part.__name__.endswith("Verbs")]


def _returned(member: property) -> str:
    return str(inspect.signature(member.fget).return_annotation) if member.fget else "?"


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the surface, or keeps it with `--write`."""
    parser = argparse.ArgumentParser(description="The public surface of Mnemic.")
    parser.add_argument("--write", action="store_true", help=f"keep it in {KEPT.name}")
    if parser.parse_args(arguments).write:
        KEPT.write_text(surface(), encoding="utf-8")
    else:
        print(surface(), end="")


if __name__ == "__main__":
    main()
