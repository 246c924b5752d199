"""The OpenAPI description: FastAPI's own, plus schemas of answers and example bodies. An operation has the name of its
verb, so the verb's return type describes the answer. The documentation page is Swagger UI from `swagger/`. It works
offline and loads nothing from other servers.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
    schemas = Schemas(PLACE)
    for methods in told["paths"].values():
        for operation in methods.values():
            operation["responses"] = _responses(operation, schemas)
    components = told.setdefault("components", {})
    own = {name: schema for name, schema in components.get("schemas", {}).items() if "ValidationError" not in name}
    components["schemas"] = {**own, **schemas.named, "Problem": TEXTS["problem"]}
    for methods in told["paths"].values():
        for operation in methods.values():
            _add_example(operation, components["schemas"])
    components["securitySchemes"] = TEXTS["keys"]
    told["security"] = [{}, *({name: []} for name in TEXTS["keys"])]
    return told


def _responses(operation: dict[str, Any], schemas: Schemas) -> dict[str, Any]:
    verb = operation["operationId"]
    status = next(code for code in operation["responses"] if code.startswith("2"))
    content = {"application/json": {"schema": schemas.of(hints_of(verb)["return"])}}
    if verb in LINES:
        content = {media: {"schema": {"type": "string"}} for media in LINES[verb]}
    if verb in FILES:
        content = {FILES[verb]: {"schema": {"type": "string", "format": "binary"}}}
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
