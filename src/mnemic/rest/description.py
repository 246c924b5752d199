"""The OpenAPI description: FastAPI's own, plus schemas of answers and example bodies. An operation has the name of its
verb, so the verb's return type describes the answer. The documentation page is Swagger UI from `swagger/`. It works
offline and loads nothing from other servers.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from mnemic.api.signatures import hints_of
from mnemic.rest.events import NDJSON, SSE, ZIP
from mnemic.rest.requests import TEXTS
from mnemic.web.problems import MEDIA_TYPE
from mnemic.wire.reading import PROGRESS
from mnemic.wire.schema import Schemas

PLACE = "#/components/schemas/"
LINES = {"export": (NDJSON,), "chat_stream": (NDJSON, SSE)}
FILES = {"backup": ZIP}
LICENSE = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
MAX_DEPTH = 3
"""Levels of objects in an example. Report schemas are recursive, so it needs an end."""

PAGE = Path(__file__).parent / "swagger"
"""The files of the documentation page. `index.html` refers to the others as `docs/…`."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""The page may run only its own two scripts and call only its own server. Its icons are `data:` URLs."""


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of an application whose operations are named after verbs."""
    told = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    told["info"]["license"] = LICENSE
    told["servers"] = [{"url": "/"}]
    schemas = Schemas(PLACE)
    operations = [operation for methods in told["paths"].values() for operation in methods.values()]
    for operation in operations:
        operation["responses"] = _responses(operation, schemas)
    own = {name: _trim(schema) for name, schema in told["components"]["schemas"].items()}
    named = {name: schema for name, schema in own.items() if "ValidationError" not in name}
    components = {"schemas": {**named, **schemas.named, "Problem": TEXTS["problem"]}, "securitySchemes": TEXTS["keys"]}
    for operation in operations:
        _add_example(operation, components["schemas"])
        operation["operationId"] = operation["operationId"].replace(".", "_")
        for media in operation.get("requestBody", {}).get("content", {}).values():
            media["schema"] = _trim(media["schema"])
        for parameter in operation["parameters"]:
            parameter["schema"] = _trim(parameter["schema"], is_text=True)
    return {**told, "components": components, "security": [{}, *({name: []} for name in TEXTS["keys"])]}


def _trim(schema: Mapping[str, Any], *, is_text: bool = False) -> dict[str, Any]:
    """The schema without titles and defaults: generators name types after titles, and require fields with a default.
    With `is_text`, as in a query, also without null, which only JSON can send, and the description beside it.
    """
    left = ("title", "default", *(("description",) if is_text else ()))
    kept = {name: value for name, value in schema.items() if name not in left}
    for name in ("items", "additionalProperties", "propertyNames"):
        if isinstance(kept.get(name), Mapping):
            kept[name] = _trim(kept[name])
    if "properties" in kept:
        kept["properties"] = {name: _trim(value) for name, value in kept["properties"].items()}
    if "anyOf" in kept:
        choices = [_trim(each) for each in kept.pop("anyOf") if not is_text or each != {"type": "null"}]
        kept |= choices[0] if len(choices) == 1 else {"anyOf": choices}
    return kept


def _responses(operation: dict[str, Any], schemas: Schemas) -> dict[str, Any]:
    verb = operation["operationId"]
    status = next(code for code in operation["responses"] if code.startswith("2"))
    if verb in LINES:
        events = get_args(hints_of(verb)["return"])[0]  # each line is one
        lines: dict[str, Any] = (
            {"type": "string"} if events is str else {"type": "string", "contentSchema": schemas.of(events)}
        )
        content = {media: {"schema": lines} for media in LINES[verb]}
    elif verb in FILES:
        content = {FILES[verb]: {"schema": {"type": "string", "format": "binary"}}}
    else:
        content = {"application/json": {"schema": schemas.of(hints_of(verb)["return"])}}
    if verb in PROGRESS:
        content[NDJSON] = {"schema": {"type": "string"}}
    problem = {MEDIA_TYPE: {"schema": {"$ref": f"{PLACE}Problem"}}}
    about = {code: {"description": words, "content": problem} for code, words in TEXTS["problems"].items()}
    return {status: {"description": operation.get("summary", ""), "content": content}, **about}


def _add_example(operation: dict[str, Any], named: Mapping[str, Any]) -> None:
    """Add an example that the operation accepts to a JSON body, to try it on the page."""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None:
        body["example"] = TEXTS["bodies"].get(operation["operationId"]) or _example(body["schema"], named, 0)


def _example(schema: Mapping[str, Any], named: Mapping[str, Any], depth: int) -> Any:
    """The smallest value that the schema accepts, as far as it is known."""
    found: Mapping[str, Any] = named[schema["$ref"].removeprefix(PLACE)] if "$ref" in schema else schema
    if examples := found.get("examples", found.get("enum")):
        return examples[0]
    if choices := found.get("anyOf") or found.get("oneOf"):
        return _example(choices[0], named, depth)
    kind = found.get("type")
    if depth >= MAX_DEPTH or kind is None:
        return "…"
    if kind == "object":
        known: Mapping[str, Any] = found.get("properties", {})
        return {name: _example(known[name], named, depth + 1) for name in found.get("required", ()) if name in known}
    if kind == "array":
        return [_example(found.get("items", {}), named, depth + 1)]
    return {"string": "…", "integer": 1, "number": 1.0, "boolean": True}.get(kind, "…")
