# pyright: basic, reportMissingImports=false
# CrewAI requires older versions of pydantic and MCP than the pinned ones, so it is not installed where pyright runs
"""CrewAI: a `Memory` for crews and agents that needs no separate model, embedder or database."""

import re
from collections.abc import Sequence
from typing import Any

from mnemic.errors import UnsupportedError
from mnemic.integrations import memory as shared
from mnemic.model.item import Role
from mnemic.model.scope import Scope

try:
    from crewai.memory import Memory, MemoryMatch, MemoryRecord
    from pydantic import PrivateAttr
except ModuleNotFoundError as error:
    raise shared.explain_absence(error, "crewai", "crewai", "pydantic") from error

_RUN = re.compile(r"(?:Task|Input): (.*?)\nAgent: ([^\n]*)\n(?:Expected result: .*?\n)?Result: (.*)", re.DOTALL)
"""CrewAI's text about a finished task: the task, the agent and its answer. An answer cannot become part of the task."""


class MnemicMemory(Memory):
    """A memory for CrewAI: `Crew(…, memory=MnemicMemory(mnemic, scope))`, or for one `Agent`.

    CrewAI adds memories to each task's prompt. Afterwards, the task is captured as the user's message and the answer as
    the agent's, without calling a model. If the memory fails, CrewAI reports an event and continues without it.
    CrewAI's methods for listing, changing and forgetting records raise `UnsupportedError`.
    """

    _chat: Any = PrivateAttr()

    def __init__(
        self, mnemic: shared.AnyMnemic, scope: Scope, *, budget_tokens: int = shared.BUDGET_TOKENS, **settings: Any
    ) -> None:
        super().__init__(**{"storage": _NoStorage(), **settings})
        self._chat = shared.Conversation(mnemic, scope, budget_tokens)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Memory:
        """Returns itself, because copies of a crew share the open memory."""
        return self

    def recall(self, query: str, *args: Any, **kwargs: Any) -> list[MemoryMatch]:
        """The memories for a query as one match between markers, or no match."""
        del args, kwargs
        told = shared.recall_block(self._chat.mnemic, self._chat.scope, query, self._chat.budget_tokens)
        return [MemoryMatch(record=MemoryRecord(content=told), score=1.0)] if told else []

    def extract_memories(self, content: str) -> list[str]:
        """Capture a finished task. Returns no texts to remember, because Mnemic extracts facts itself."""
        found = _RUN.fullmatch(content)
        task, agent, answer = found.groups() if found else ("", None, content)
        said = shared.draft_message(Role.USER, task)
        said += shared.draft_message(Role.ASSISTANT, answer.rpartition("Final Answer:")[2].strip(), name=agent or None)
        if said and not self.read_only:
            self._chat.mnemic.capture(self._chat.scope, said)
        return []

    def remember(self, content: str, *args: Any, **kwargs: Any) -> MemoryRecord | None:
        """Remember a text from the model, with the trust `assistant`. Ignores CrewAI's own settings."""
        del args, kwargs
        kept = None if self.read_only else self._chat.mnemic.remember(self._chat.scope, content, trust="assistant")
        return kept and MemoryRecord(id=kept.id, content=kept.text, importance=kept.importance)

    def remember_many(self, contents: Sequence[str], *args: Any, **kwargs: Any) -> list[MemoryRecord]:
        """Remember texts from the model."""
        return [record for each in contents if (record := self.remember(each, *args, **kwargs))]


class _NoStorage:
    """Takes the place of CrewAI's storage, which Mnemic does not use."""

    def close(self) -> None:
        """Does nothing. Mnemic stays open."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedError("Mnemic has no CrewAI records; use the methods of your open Mnemic", capability=name)
