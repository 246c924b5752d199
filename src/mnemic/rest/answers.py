"""Answers on the wire: nouns as JSON, and long work as one line of JSON per event."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from mnemic.wire import to_wire

JSON = "application/json"


def answer(noun: object, status: int = 200) -> Response:
    """A noun, or a list or mapping of them, as JSON in UTF-8."""
    return Response(line(noun), status, media_type=JSON)


def line(noun: object) -> bytes:
    """The same as bytes, without line feeds."""
    wire: Any = to_wire(noun)
    return json.dumps(wire, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(errors="replace")
