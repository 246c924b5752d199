"""Anthropic's memory tool over memory as files, here or on a server."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mnemic.errors import MnemicError
from mnemic.integrations.memory import AnyMnemic
from mnemic.model.scope import Scope


@dataclass(frozen=True, slots=True)
class MemoryFiles:
    """The files of a scope, for a model."""

    mnemic: AnyMnemic
    scope: Scope

    def run(self, command: Mapping[str, Any]) -> str:
        """Run a command as the model sends it. Returns the result, or the error, as text for the model."""
        given = dict(command)
        try:
            return self.mnemic.run_file_command(self.scope, given.pop("command", ""), **given)
        except MnemicError as error:
            told = str(error)
            return told if told.startswith("No replacement") else f"Error: {told}"
