"""The port of a tool that a model may call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from mnemic.model.llm import ToolSpec
from mnemic.model.tool import ToolContext


class Tool(Protocol):
    """Something a model may call. May be called from several threads at once.

    Functions with type hints become tools by `mnemic.tool`; what is written by hand keeps this contract.
    """

    @property
    def spec(self) -> ToolSpec:
        """Name (letters, digits, `_` and `-`, at most 64), what it does and when to call it, and the JSON schema of its
        arguments with a description for each.
        """
        ...

    @property
    def is_read_only(self) -> bool:
        """True when calling it changes nothing anywhere."""
        ...

    @property
    def timeout_s(self) -> float | None:
        """After so many seconds nobody waits for it any longer; None: as configured for all."""
        ...

    def call(self, context: ToolContext, arguments: Mapping[str, object]) -> str:
        """The result, as the model is to read it. `arguments` are parsed JSON, as the model gave them.

        Raises `InvalidInputError` for arguments that do not fit, in words a model can correct itself by, and any other
        `MnemicError`, whose message the model is told.
        """
        ...
