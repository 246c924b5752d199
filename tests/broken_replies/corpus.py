"""Answers of language models as they go wrong, each with what is to come of it; `corpus.jsonl` holds them.

`reply` is a text, or a list of texts with how often each stands there. `texts` are those of the items that must be
found, `refused` words of each reason in order, `first` the whole first item, `notes` the number of notes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("corpus.jsonl")
MOST = 5

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "maxLength": 200},
        "kind": {"type": "string", "enum": ["fact", "preference", "event"]},
        "importance": {"type": "number", "minimum": 0, "maximum": 1},
        "categories": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "pinned": {"type": "boolean"},
        "year": {"type": "integer"},
    },
    "required": ["text", "kind"],
}


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    reply: str
    texts: list[str]
    refused: list[str]
    is_answer: bool
    is_cut: bool
    first: dict[str, Any] = field(default_factory=dict[str, Any])
    notes: int = 0


def cases() -> list[Case]:
    lines = FILE.read_text(encoding="utf-8").split("\n")
    return [_case(json.loads(line)) for line in lines if line]


def _case(fields: dict[str, Any]) -> Case:
    reply = fields["reply"]
    fields["reply"] = reply if isinstance(reply, str) else "".join(text * times for text, times in reply)
    return Case(**fields)
