"""The description of REST as a page for people, made of the description for machines.

The page is whole as it is sent: no script, nothing from another server. A browser without a network shows it, and a
server that answers one machine tells no other one of its visitors.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

SCOPE = ("org", "user", "agent", "session")
PLACE = "#/components/schemas/"
MAX_DEPTH = 3
EXAMPLES: Mapping[str, Mapping[str, str]] = {"capture": {"user": "I moved to Lisbon", "assistant": "How is it there?"}}
"""Bodies of operations that need none of their fields, but one of several."""

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882; --mark: #2a5db0; }
@media (prefers-color-scheme: dark) { :root { --mark: #8ab4f8; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
a { color: var(--mark); }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); text-transform: capitalize; }
details { border-bottom: 1px solid var(--soft); padding: .3rem 0; }
summary { cursor: pointer; }
summary b { display: inline-block; min-width: 4.5rem; font: 600 .85rem ui-monospace, monospace; color: var(--mark); }
code, pre { font: .88rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { background: var(--soft); padding: .6rem; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-top: 1px solid var(--soft); }
.soft { opacity: .75; }
"""
STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{STYLE_HASH}'",
        "img-src data:",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
"""Nothing runs, nothing is fetched; the one style is the page's own."""

Schema = Mapping[str, Any]


def page(told: Schema, machine: str) -> str:
    """A description in OpenAPI as HTML; `machine` is where it stands in JSON, relative to the page."""
    by_tag: dict[str, list[str]] = {}
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            tag = next(iter(operation.get("tags", ())), "other")
            by_tag.setdefault(tag, []).append(_operation(method.upper(), path, operation, told))
    title = escape(f"{told['info']['title']} {told['info']['version']}")
    index = " · ".join(f'<a href="#{escape(tag)}">{escape(tag)}</a>' for tag in by_tag)
    parts = [f'<h2 id="{escape(tag)}">{escape(tag)}</h2>\n' + "\n".join(found) for tag, found in by_tag.items()]
    named = "\n".join(_named(name, schema) for name, schema in sorted(told["components"]["schemas"].items()))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n'
        f"{_prose(told['info']['description'])}\n"
        "<p>A server whose store holds keys wants one with every request: "
        "<code>Authorization: Bearer mn_…</code> or <code>X-API-Key: mn_…</code>. "
        f'For programs, and to make a client in another language, there is <a href="{escape(machine)}">'
        f"<code>{escape(machine)}</code></a>. In the examples <code>MNEMIC</code> is the server's address, such as "
        f'<code>http://127.0.0.1:7700</code>.</p>\n<p>{index} · <a href="#schemas">schemas</a></p>\n'
        + "\n".join(parts)
        + f'\n<h2 id="schemas">schemas</h2>\n{named}\n</body>\n</html>\n'
    )


def _operation(method: str, path: str, operation: Schema, told: Schema) -> str:
    parts = [f"<summary><b>{method}</b> <code>{escape(path)}</code> {escape(operation['summary'])}</summary>"]
    parts.append(_prose(operation.get("description", "")))
    own = [each for each in operation.get("parameters", ()) if each["name"] not in SCOPE]
    is_scoped = len(own) < len(operation.get("parameters", ()))
    rows = [_row(each["name"], each["schema"], each.get("description", ""), is_needed=each["required"]) for each in own]
    if is_scoped:
        rows.append(f'<tr><td colspan="3" class="soft">{", ".join(SCOPE)}: whose memory it is</td></tr>')
    if rows:
        parts.append(f"<h4>In the address</h4>\n<table>{''.join(rows)}</table>")
    body: Schema = operation.get("requestBody", {}).get("content", {})
    parts += [f"<h4>Body, {escape(kind)}</h4>\n{_fields(each['schema'], told)}" for kind, each in body.items()]
    parts.append(f"<pre>{escape(_curl(method, path, operation, told))}</pre>")
    answers = {code: each for code, each in operation["responses"].items() if code.startswith("2")}
    for code, answer in answers.items():
        kinds = ", ".join(f"{_kind(each['schema'])} ({kind})" for kind, each in answer.get("content", {}).items())
        parts.append(f"<p>Answer {escape(code)}: {kinds or 'nothing'}</p>")
    others = sorted(set(operation["responses"]) - set(answers))
    parts.append(f'<p class="soft">Errors: {", ".join(others)}, as <a href="#Problem">Problem</a></p>')
    return "<details>\n" + "\n".join(parts) + "\n</details>"


def _named(name: str, schema: Schema) -> str:
    said = f' <span class="soft">{escape(schema.get("description", ""))}</span>'
    fields = _table(schema) if "properties" in schema else f"<p>{_kind(schema)}</p>"
    head = f'<details id="{escape(name)}" open>\n<summary><code>{escape(name)}</code>{said}</summary>'
    return f"{head}\n{fields}\n</details>"


def _fields(schema: Schema, told: Schema) -> str:
    """The fields of a body where they stand, so that nobody has to look for them."""
    found = _resolved(schema, told)
    return _table(found) if "properties" in found else f"<p>{_kind(schema)}</p>"


def _table(schema: Schema) -> str:
    needed: Sequence[str] = schema.get("required", ())
    rows = [
        _row(name, each, each.get("description", ""), is_needed=name in needed)
        for name, each in schema["properties"].items()
    ]
    return f"<table>{''.join(rows)}</table>"


def _row(name: str, schema: Schema, said: str, *, is_needed: bool) -> str:
    default = schema.get("default")
    remarks = [_marked(said)] if said else []
    remarks += ["required"] if is_needed else []
    remarks += [f"<code>{escape(json.dumps(default, ensure_ascii=False))}</code> unless said"] if default else []
    return f"<tr><td><code>{escape(name)}</code></td><td>{_kind(schema)}</td><td>{'; '.join(remarks)}</td></tr>"


def _kind(schema: Schema) -> str:
    """What a value may be, in a few words of HTML."""
    if "$ref" in schema:
        name = escape(schema["$ref"].removeprefix(PLACE))
        return f'<a href="#{name}">{name}</a>'
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(kind for each in choices if (kind := _kind(each)) != "null") or "null"
    if "enum" in schema:
        return " | ".join(f"<code>{escape(str(each))}</code>" for each in schema["enum"])
    if "const" in schema:
        return f"<code>{escape(str(schema['const']))}</code>"
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    kind = schema.get("format") or schema.get("type") or "any"
    return escape(kind if isinstance(kind, str) else " or ".join(kind))


def _resolved(schema: Schema, told: Schema) -> Schema:
    name = schema.get("$ref")
    return schema if name is None else told["components"]["schemas"][name.removeprefix(PLACE)]


def _curl(method: str, path: str, operation: Schema, told: Schema) -> str:
    """A line to try; what stands in it for a value is in capitals."""
    place = path
    for name in ("id", "name"):
        place = place.replace(f"{{{name}}}", name.upper())
    is_scoped = any(each["name"] in SCOPE for each in operation.get("parameters", ()))
    query = "?user=ana" if is_scoped else ""
    verb = [] if method == "GET" else ["-X", method]
    return " ".join(["curl", *verb, f'"$MNEMIC{place}{query}"', *_sent(operation, told)])


def _sent(operation: Schema, told: Schema) -> Iterator[str]:
    for kind, each in operation.get("requestBody", {}).get("content", {}).items():
        if kind == "multipart/form-data":
            yield "-F file=@FILE"
        elif kind == "application/json":
            example = EXAMPLES.get(operation["operationId"]) or _example(each["schema"], told, 0)
            yield f"-H 'Content-Type: application/json' -d '{json.dumps(example, ensure_ascii=False)}'"
        else:
            yield f"-H 'Content-Type: {kind}' --data-binary @FILE"
        return


def _example(schema: Schema, told: Schema, depth: int) -> Any:
    """The least that is accepted, as far as a schema tells."""
    found = _resolved(schema, told)
    if examples := found.get("examples", found.get("enum")):
        return examples[0]
    if choices := found.get("anyOf") or found.get("oneOf"):
        return _example(choices[0], told, depth)
    kind = found.get("type")
    if depth >= MAX_DEPTH or kind is None:
        return "…"
    if kind == "object":
        known: Schema = found.get("properties", {})
        return {name: _example(known[name], told, depth + 1) for name in found.get("required", ()) if name in known}
    if kind == "array":
        return [_example(found.get("items", {}), told, depth + 1)]
    return {"string": "…", "integer": 1, "number": 1.0, "boolean": True}.get(kind, "…")


def _prose(text: str) -> str:
    """Paragraphs."""
    return "\n".join(f"<p>{_marked(each)}</p>" for each in text.split("\n\n") if each.strip())


def _marked(text: str) -> str:
    """What stands between backticks is code."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces))
