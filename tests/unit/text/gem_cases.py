"""Gems as curators write them, each with what is to come of it; `broken_replies/gems.jsonl` holds them.

`changes` are put over a sound gem, and the fields in `gone` taken out. A case ends in `fields`, those of the gem that
comes out of it, or in `reason`, words of why it is refused. `row` is the requirement that it is about.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from mnemic.model.item import Message, Role
from mnemic.model.scope import Level, Partition
from mnemic.text.narrative import ToldTurn, numbered

FILE = Path(__file__).parents[2] / "broken_replies" / "gems.jsonl"
HERS = Partition("acme", Level.USER, "anna")
NINE = datetime(2026, 5, 1, 9, 0, tzinfo=UTC)
TALK = (
    ("Which vector database fits our archive?", "Qdrant is quick, pgvector lives in PostgreSQL."),
    ("We back up PostgreSQL already, so let's take pgvector.", "Then no second server is needed."),
    ("Please keep answers short, I hate long lists.", "I will."),
    ("What is for lunch?", "Soup."),
)
SOUND: dict[str, Any] = {
    "gem": "User chose pgvector for the archive",
    "context": "PostgreSQL is backed up already, so no second server is needed",
    "snippet": "anna: so let's take pgvector\nassistant: Then no second server is needed.",
    "categories": ["decision", "technical"],
    "importance": "high",
    "confidence": 0.9,
    "timestamp": "2026-05-01T09:02:00+00:00",
    "date": "2026-05-01",
    "conversation_id": "c1",
    "turn_range": "1-2",
    "source_turns": [1, 2],
}


@dataclass(frozen=True)
class Case:
    row: str
    name: str
    changes: dict[str, Any]
    gone: tuple[str, ...] = ()
    reason: str = ""
    fields: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def item(self) -> dict[str, Any]:
        return {name: value for name, value in {**SOUND, **self.changes}.items() if name not in self.gone}


def turns(talk: tuple[tuple[str, str], ...] = TALK, conversation: str = "c1", first: int = 1) -> list[ToldTurn]:
    """The turns of a talk, one minute apart, not numbered yet."""
    told: list[ToldTurn] = []
    for place, texts in enumerate(talk):
        at = NINE + timedelta(minutes=place + 1)
        messages = tuple(
            Message(
                id=f"{conversation}-{first + place}-{role.value}",
                partition=HERS,
                session=conversation,
                turn_id=f"{conversation}-{first + place}",
                turn=first + place,
                position=2 * place + offset + 1,
                role=role,
                name="anna" if role is Role.USER else None,
                text=text,
                observed_at=at,
                created_at=at,
            )
            for offset, (role, text) in enumerate(zip((Role.USER, Role.ASSISTANT), texts, strict=True))
            if text
        )
        turn = first + place
        told.append(
            ToldTurn(conversation_id=conversation, turn=turn, said_at=at, until=2 * place + 2, messages=messages)
        )
    return told


DAY = numbered(turns())


def _case(record: dict[str, Any]) -> Case:
    record["fields"] = {
        n: tuple(cast("list[object]", v)) if isinstance(v, list) else v for n, v in record.get("fields", {}).items()
    }
    return Case(**record)


CASES = [_case(json.loads(line)) for line in FILE.read_text(encoding="utf-8").splitlines()]
