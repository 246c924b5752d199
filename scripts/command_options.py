"""Writes src/mnemic/cli/signatures.json: the parameters of each verb as the command line offers them.

    python scripts/command_options.py           print them
    python scripts/command_options.py --write   keep them, after a change of a verb's signature

A kept file, because `mnemic COMMAND --help` must not import the engine to find out what a verb takes.
`tests/docs/test_reference.py` compares it with the signatures.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from mnemic.api.signatures import documentation_of, hints_of, parameters_of
from mnemic.cli.options import find_row
from mnemic.verbs import VERBS

KEPT = Path(__file__).resolve().parent.parent / "src" / "mnemic" / "cli" / "signatures.json"
KIN = re.compile(r"(?:those|arguments) of `(\w+)`")
"""How a docstring names the verb that explains the other arguments."""


def signatures() -> str:
    """The whole file: each command that is a verb, with the verb's arguments, one a line."""
    parts: list[str] = []
    for verb in VERBS:
        if verb.command:
            arguments = ",\n".join(f"  {json.dumps(each)}" for each in _options(verb.name))
            listed = f"[\n{arguments}\n]" if arguments else "[]"
            parts.append(f'{json.dumps(verb.command)}: {{"verb": {json.dumps(verb.name)}, "arguments": {listed}}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _options(verb: str) -> Iterator[dict[str, object]]:
    described, hints = documentation_of(verb)[1], hints_of(verb)
    for name, parameter in parameters_of(verb).items():
        form = _form(hints[name])
        if name == "scope" or form is None:
            continue
        option: dict[str, object] = {"name": name, **form}
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            option["is_operand"] = True
        if parameter.default is inspect.Parameter.empty:
            option["is_required"] = True
        elif _is_shown(parameter.default) and isinstance(parameter.default, bool) == (form["type"] == "bool"):
            option["default"] = parameter.default
        row = find_row(verb, name)
        if row is not None and not row.help:
            option["about"] = described.get(name, "")
        yield option


def _is_shown(default: object) -> bool:
    return isinstance(default, int | float | str) and default not in ("", False)


def _form(annotation: Any) -> dict[str, object] | None:
    """The type of an option, and whether it may be repeated. None for a type that no option can hold."""
    is_union = get_origin(annotation) in (Union, UnionType)
    members = [each for each in (get_args(annotation) if is_union else (annotation,)) if each is not NoneType]
    for member in members:
        name, inner = getattr(get_origin(member), "__name__", ""), get_args(member)
        if name in ("Iterable", "Collection", "Sequence", "list", "tuple"):
            form = _form(inner[0])
            return None if form is None else {**form, "is_many": True}
        if name in ("Mapping", "dict"):
            return {"type": "limits" if inner[1] is int else "json"}
    if bool in members and NoneType in get_args(annotation):
        return {"type": "bool", "has_opposite": True}
    kind = _plain_type(members)
    return None if kind is None else {"type": kind}


def _plain_type(members: Sequence[Any]) -> str | None:
    for member in members:
        if isinstance(member, type) and issubclass(member, Enum):
            return f"{member.__module__}:{member.__qualname__}"
    if {float, str} <= set(members):
        return "number_or_word"
    found = next((kind.__name__ for kind in (bool, int, float, str) if kind in members), None)
    is_text = any(get_origin(member) is Literal for member in members) or {date, datetime, Path} & set(members)
    return found or ("str" if is_text else None)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the signatures, or keeps them with `--write`."""
    parser = argparse.ArgumentParser(description="The parameters of the verbs, for the command line.")
    parser.add_argument("--write", action="store_true", help=f"keep them in {KEPT.name}")
    if parser.parse_args(arguments).write:
        KEPT.write_text(signatures(), encoding="utf-8")
    else:
        print(signatures(), end="")


if __name__ == "__main__":
    main()
