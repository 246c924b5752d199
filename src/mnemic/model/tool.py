"""What a tool is told when it is called, and what came of the call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from mnemic.model.llm import ToolCall
from mnemic.model.scope import Scope


def _unheard(_: object) -> None:
    """Nobody asks for more than the text."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom a tool is called, and when. A tool of Python gets it in a parameter of this type, which no model sees.

    `now` is aware and in UTC. `actor` is written into the history of what the tool changes. `tell` takes the noun that
    the tool's text is about, for doors that hand it on beside the text; of a call that failed, the error.
    """

    scope: Scope
    now: datetime
    actor: str
    tell: Callable[[object], None] = field(default_factory=lambda: _unheard)


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What came of one call. `text` is told to the model as it is: the result, or with `is_error` what went wrong and
    how to call better. `seconds`: how long it took.
    """

    call: ToolCall
    text: str
    is_error: bool
    seconds: float
