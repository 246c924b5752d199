"""What a tool answered, as the protocol tells it: the text for a model, and beside it the noun as it is on the wire.

Clients may show either to a model. So the texts in the noun, too, are sanitised as in a context; ids and times are as
they are in every other door.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

import mcp_types as types

from mnemic.errors import MnemicError, error_kind
from mnemic.model.chat import ToolOutcome
from mnemic.text.sanitise import sanitise
from mnemic.wire import to_wire

RESULT = "result"
"""The key of what is no JSON object in itself, such as a list."""

KIND = "mnemic/error"
"""In the metadata of an answer that tells of a failure: its kind, as in every other door."""

MOST_CHARS = 200_000
"""What is longer as JSON is told as text alone."""

REPEATED = "dedup_key"
"""The text of a memory once more, folded: of no use to a model, and read by it all the same."""

_PLAIN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d(T[\d:.]+Z)?")
"""Ids and times, which hold no text."""


def answered(outcome: ToolOutcome, noun: object) -> types.CallToolResult:
    """The answer of a call; `noun` is what the tool told beside its text, or the error, or None."""
    content = [types.TextContent(type="text", text=outcome.text)]
    if outcome.is_error:
        kind = {KIND: error_kind(type(noun))} if isinstance(noun, MnemicError) else None
        return types.CallToolResult(content=list(content), is_error=True, _meta=kind)
    return types.CallToolResult(content=list(content), structured_content=structured(noun))


def structured(noun: object) -> dict[str, Any] | None:
    """The noun as a JSON object with safe texts; None where there is none, or it is too large."""
    if noun is None:
        return None
    wire = safe(to_wire(noun))
    whole = cast("dict[str, Any]", wire if isinstance(wire, dict) else {RESULT: wire})
    return whole if len(json.dumps(whole, default=str)) <= MOST_CHARS else None


def safe(value: Any) -> Any:
    """The same with every text in it sanitised, the names of what callers name themselves too."""
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else sanitise(value)
    if isinstance(value, Mapping):
        told = cast("Mapping[str, Any]", value)
        return {sanitise(name): safe(each) for name, each in told.items() if name != REPEATED}
    return [safe(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value
