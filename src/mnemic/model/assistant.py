"""The numbers of the assistant: what a chat turn may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AssistantSettings:
    """Defaults of a chat turn; units are in the names, limits are inclusive.

    `max_tool_calls`: in one turn, all rounds together. `tool_timeout_s`: for a tool that declares no time of its own.
    What a tool answers is cut at `max_tool_result_chars`. `max_tokens` and `timeout_s` are of each reply of the model.
    """

    max_tool_calls: int = 8
    tool_timeout_s: float = 20.0
    max_tool_result_chars: int = 8000
    max_tokens: int = 1024
    timeout_s: float = 120.0
