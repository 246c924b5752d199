"""A curator that follows a script, for tests: it keeps whatever a user says to have decided, and says so as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from mnemic.adapters.llms.registry import Script
from mnemic.api import Mnemic
from mnemic.model.chat import Prompt
from mnemic.model.item import Gem, Kind, Memory, State, gem_of
from mnemic.model.scope import Scope
from tests.unit.engine.kit import ANNA

_TURN = re.compile(r"\[turn (\d+)\] ")
_DECIDED = re.compile(r"^\w+: (I decided to ([^.]+))\.")


def gem(turn: int, what: str, **changes: object) -> dict[str, Any]:
    """A sound gem of one turn in which the user said "I decided to …"."""
    return {
        "gem": f"User decided to {what}",
        "context": f"It settles whether to {what}",
        "snippet": f"I decided to {what}",
        "categories": ["decision"],
        "importance": "high",
        "confidence": 0.9,
        "source_turns": [turn],
        **changes,
    }


def turns_of(prompt: Prompt) -> dict[int, list[str]]:
    """The lines of each turn of the story in a prompt."""
    told: dict[int, list[str]] = {}
    for line in prompt.messages[-1].content.splitlines():
        if match := _TURN.match(line):
            told[int(match.group(1))] = []
        elif told and not line.startswith(("Conversation ", "---")):
            told[max(told)].append(line)
    return told


def decisions(prompt: Prompt) -> list[dict[str, Any]]:
    """A sound gem for each decision in a prompt."""
    return [
        gem(number, match.group(2))
        for number, lines in turns_of(prompt).items()
        for line in lines
        if (match := _DECIDED.match(line))
    ]


def curator(change: Callable[[dict[str, Any]], dict[str, Any]] = lambda item: item) -> Callable[[Prompt], Script]:
    """Answers with the decisions of the day, each as `change` makes it."""
    return lambda prompt: "```json\n" + json.dumps([change(item) for item in decisions(prompt)]) + "\n```"


def decide(mnemic: Mnemic, what: str, scope: Scope = ANNA, **fields: Any) -> None:
    """The user decides something, and the assistant agrees."""
    mnemic.capture(scope, user=f"I decided to {what}.", assistant="That is a good choice.", **fields)


def gems(mnemic: Mnemic, scope: Scope = ANNA, **fields: Any) -> list[Memory]:
    """The memories of kind gem, oldest first."""
    found = mnemic.list(scope, kinds=[Kind.GEM], limit=500, order="oldest", **fields).memories
    return [memory for memory in found if memory.state is State.ACTIVE]


def texts(mnemic: Mnemic, scope: Scope = ANNA) -> list[str]:
    """The gems, in order of their text."""
    return sorted(memory.text for memory in gems(mnemic, scope))


def as_gems(mnemic: Mnemic) -> list[Gem]:
    """The gems with their eleven fields."""
    return [gem_of(memory) for memory in gems(mnemic)]
