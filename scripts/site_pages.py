"""The pages of the documentation site that are made from the code: Python, REST and settings.

`scripts/build_site.py` writes them beside the pages of `docs/`.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, cast

import mnemic
from mnemic import Mnemic, errors
from mnemic.api.signatures import function_of
from mnemic.config.keys import KEYS
from mnemic.rest.app import application
from mnemic.verbs import VERBS
from mnemic.web.gate import Gate
from mnemic.web.limits import Limits

WIDTH = 100
"""Of a signature on one line."""

_SECTION = re.compile(r"^(Args|Returns|Yields|Raises|Examples?):$", re.MULTILINE)
_ENTRY = re.compile(r"^([\w.\\]+):")
_NAMED = r"**\1**:"
_PYTHON = """# The Python API

Every verb of `Mnemic`, made from its signature and docstring. `mnemic.for_user("ana")` has the same verbs without the
scope, and `AsyncMnemic` has them for asyncio. [Verbs and doors](verbs.md) lists where else each one is offered, and
[errors](errors.md) explains the exceptions. Times are ISO 8601 texts or aware `datetime` objects.

```python
from mnemic import Mnemic

with Mnemic("memory.db") as mnemic:
    ana = mnemic.for_user("ana")
    ana.remember("Ana prefers dark mode")
```
"""
_REST = """# REST

The routes of `mnemic serve`, made from its [OpenAPI description](openapi.json). A running server shows the same at
`/docs`, where you can try them. [Run a server](../how-to/run-a-server.md) explains keys, limits and errors.
The parameters `user`, `agent`, `session` and `org` choose the scope.
"""
_SETTINGS = """# Settings

Every key of the configuration file, its default and its environment variable. [Configure](../how-to/configure.md)
explains the file and which source wins. `mnemic config show` prints the values in force.
"""


def write_python() -> str:
    """The page of the Python API: verbs, then the other public names."""
    parts = [_PYTHON, "## Open a memory\n"]
    parts += [_describe("Mnemic", Mnemic, 3, Mnemic.__init__), _describe("Mnemic.open", Mnemic.open, 3)]
    parts.append(_describe("Mnemic.for_user", Mnemic.for_user, 3))
    parts.append("## Verbs\n")
    parts += [_describe(verb.name, function_of(verb.name), 3) for verb in VERBS]
    parts.append("## Other names\n")
    names = [name for name in mnemic.__all__ if name != "Mnemic"]
    parts += [_describe(name, getattr(mnemic, name), 3, members=True) for name in names]
    parts.append("## Errors\n")
    declared = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)]
    parts += [_describe(f"mnemic.errors.{each.__name__}", each, 3, members=True) for each in declared]
    return "\n".join(parts)


def _describe(name: str, thing: Any, level: int, signed: Any = None, *, members: bool = False) -> str:
    """A heading, the signature and the docstring of one name."""
    parts = [f"{'#' * level} `{name}`\n"]
    if inspect.isroutine(signed or thing):
        parts.append(f"```python\n{_sign(name, signed or thing)}\n```\n")
    parts += _format_docstring(inspect.getdoc(thing) or "")
    if members and inspect.isclass(thing):
        parts += _list_members(thing)
    return "\n".join(parts)


def _sign(name: str, function: Any) -> str:
    """The signature, on one line if it fits."""
    signature = inspect.signature(function)
    shown: list[str] = []
    for each in signature.parameters.values():
        if each.name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        value = each.default.value if isinstance(each.default, Enum) else each.default
        default = "" if value is each.empty else f" = {value!r}"
        shown.append(
            each.name + (f": {_plain(each.annotation)}" if each.annotation is not each.empty else "") + default
        )
    answer = "" if signature.return_annotation in (signature.empty, "None") else signature.return_annotation
    arrow = f" -> {_plain(answer)}" if answer else ""
    body = "".join(f"    {each},\n" for each in shown)
    line = f"{name}({', '.join(shown)}){arrow}"
    return line if len(line) <= WIDTH else f"{name}(\n{body}){arrow}"


def _plain(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return text.replace("builtins.", "").replace("'", "")


def _format_docstring(text: str) -> Iterator[str]:
    """The sections of a Google-style docstring: arguments and errors as lists, examples as code."""
    about, *sections = _SECTION.split(text)
    yield _escape(about.strip()) + "\n"
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        lines = inspect.cleandoc(body)
        if title.startswith("Example"):
            yield f"```python\n{lines}\n```\n"
        else:
            yield f"**{'Arguments' if title == 'Args' else title}**\n"
            entries = re.sub(r"\n[ ]+", " ", lines).splitlines()
            yield "".join(f"- {_ENTRY.sub(_NAMED, _escape(each))}\n" for each in entries if each)


def _list_members(cls: type[Any]) -> Iterator[str]:
    rows: list[str] = []
    for name, member in vars(cls).items():
        if name.startswith("_") or not (isinstance(member, property) or inspect.isfunction(member)):
            continue
        about = (inspect.getdoc(member) or "").split("\n\n")[0].replace("\n", " ")
        rows.append(f"- `{name}`: {_escape(about)}" if about else f"- `{name}`")
    if rows:
        yield "\n".join(rows) + "\n"


def _escape(text: str) -> str:
    """Text that Markdown shows as it is, code spans left alone."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([*_\[\]])", r"\\\1", part).replace("<", "&lt;") for part in parts[::2]]
    return "".join(parts)


def describe_rest() -> dict[str, Any]:
    """The OpenAPI description of a server."""
    with Mnemic("memory://") as memory:
        gate = Gate(memory, limits=Limits(rate_per_s=0))
        try:
            return application(memory, gate).openapi()
        finally:
            gate.close()


def write_rest(description: Mapping[str, Any]) -> str:
    """The page of REST: each route with its parameters, body, answer and errors."""
    groups: dict[str, list[str]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            tag = operation.get("tags", ["other"])[0]
            groups.setdefault(tag, []).append(_describe_route(method.upper(), path, operation, description))
    parts = [_REST, "## Errors\n", "| status | meaning |", "|---|---|"]
    refused = {
        status: answer["description"]
        for methods in description["paths"].values()
        for operation in methods.values()
        for status, answer in operation["responses"].items()
        if not status.startswith("2")
    }
    parts += [f"| {status} | {_escape(words)} |" for status, words in sorted(refused.items())] + [""]
    for tag, routes in groups.items():
        parts += [f"## {tag.capitalize()}\n", *routes]
    return "\n".join(parts)


def _describe_route(method: str, path: str, operation: Mapping[str, Any], description: Mapping[str, Any]) -> str:
    parts = [f"### {method} {path}\n", _escape(operation.get("description") or operation.get("summary", "")) + "\n"]
    rows = [
        (each["name"], each["in"], _name_type(each["schema"]), each.get("description", ""))
        for each in operation.get("parameters", ())
        if each["name"] not in {"user", "agent", "session", "org"}
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = _resolve(body.get("schema", {}), description)
    required = schema.get("required", ())
    for name, each in schema.get("properties", {}).items():
        place = "body, required" if name in required else "body"
        rows.append((name, place, _name_type(each), each.get("description", "")))
    if rows:
        parts.append("| name | in | type | meaning |\n|---|---|---|---|")
        parts += [f"| `{n}` | {p} | {t} | {_escape(about).replace('|', '&#124;')} |" for n, p, t, about in rows]
        parts.append("")
    if "example" in body:
        parts.append(f"```json\n{json.dumps(body['example'], indent=2, ensure_ascii=False)}\n```\n")
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            media = " or ".join(f"`{_name_media(kind, each)}`" for kind, each in answer.get("content", {}).items())
            parts.append(f"Returns {status} with {media}.\n")
    refused = [status for status in operation["responses"] if not status.startswith("2")]
    parts.append(f"Errors: {', '.join(refused)}.\n")
    return "\n".join(parts)


def _name_media(kind: str, content: Mapping[str, Any]) -> str:
    schema = content.get("schema", {})
    return _name_type(schema) if kind == "application/json" else kind


def _resolve(schema: Mapping[str, Any], description: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    return description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]


def _name_type(schema: Mapping[str, Any]) -> str:
    """A type in a word or two: `string`, `array of Memory`, `string or null`."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_name_type(each) for each in choices))
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if schema.get("type") == "array":
        return f"array of {_name_type(schema.get('items', {}))}"
    kind = schema.get("type", "any")
    return str(kind)


def write_settings() -> str:
    """The page of settings, by the table of the file that each stands in."""
    groups: dict[str, list[str]] = {}
    for key in KEYS:
        table, _, name = key.path.rpartition(".")
        default = "" if key.default is None else f"`{_show_default(key.default)}`"
        about = _escape(key.about).replace("|", "&#124;")
        variables = " or ".join(f"`{each}`" for each in key.environment)
        groups.setdefault(table, []).append(f"| `{name}` | {default} | {about}<br>{variables} |")
    parts = [_SETTINGS]
    for table, rows in groups.items():
        parts.append(f"## {f'`[{table}]`' if table else 'Outside any table'}\n")
        parts += ["| key | default | meaning, and its environment variable |", "|---|---|---|", *rows, ""]
    return "\n".join(parts)


def _show_default(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {each}" for name, each in cast("Mapping[str, object]", value).items())
    return str(value)
