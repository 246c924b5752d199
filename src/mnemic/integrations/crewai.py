# pyright: basic, reportMissingImports=false
# CrewAI requires older versions of pydantic and MCP than the pinned ones, so it is not installed where pyright runs.
"""CrewAI: a `Memory` for crews and agents, without a model, embedder or database of its own."""

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

_FINAL = "Final Answer:"


class MnemicMemory(Memory):
    """A memory for CrewAI: `Crew(…, memory=MnemicMemory(mnemic, scope))`, or for one `Agent`.

    CrewAI adds the memory for a task to its prompt. After the task, the task is captured as the user's words and the
    answer as the agent's. No model is called for it. If the memory fails, CrewAI reports that as an event and continues
    without it. CrewAI's methods to list, change and forget records raise `UnsupportedError`.
    """

    _mnemic: Any = PrivateAttr()
    _scope: Any = PrivateAttr()
    _budget_tokens: int = PrivateAttr()

    def __init__(
        self, mnemic: shared.AnyMnemic, scope: Scope, *, budget_tokens: int = shared.BUDGET_TOKENS, **settings: Any
    ) -> None:
        super().__init__(**{"storage": _NoStorage(), **settings})
        self._mnemic, self._scope, self._budget_tokens = mnemic, scope, budget_tokens

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Memory:
        """Itself: copies of a crew share the open memory."""
        return self

    def recall(self, query: str, *args: Any, **kwargs: Any) -> list[MemoryMatch]:
        """The memory for a query as one match between markers, or no match."""
        del args, kwargs
        told = shared.recall_block(self._mnemic, self._scope, query, self._budget_tokens)
        return [MemoryMatch(record=MemoryRecord(content=told), score=1.0)] if told else []

    def extract_memories(self, content: str) -> list[str]:
        """The text itself. Mnemic extracts its facts after it is captured."""
        return [_Run(content)]

    def remember(
        self, content: str, *args: Any, metadata: dict[str, Any] | None = None, **kwargs: Any
    ) -> MemoryRecord | None:
        """Remember a text of the model, with the trust `assistant`."""
        del args, kwargs
        if self.read_only:
            return None
        kept = self._mnemic.remember(self._scope, content, metadata=metadata, trust="assistant")
        return MemoryRecord(id=kept.id, content=kept.text, metadata=metadata or {}, importance=kept.importance)

    def remember_many(self, contents: Sequence[str], *args: Any, **kwargs: Any) -> list[MemoryRecord]:
        """Capture the texts of `extract_memories`, and remember other texts."""
        for content in contents:
            if isinstance(content, _Run) and not self.read_only:
                self._capture(content)
        others = [content for content in contents if not isinstance(content, _Run)]
        return [record for each in others if (record := self.remember(each, *args, **kwargs)) is not None]

    def _capture(self, content: str) -> None:
        found = _RUN.fullmatch(content)
        task, agent, answer = found.groups() if found else ("", "", content)
        texts = ((Role.USER, task, None), (Role.ASSISTANT, answer.rpartition(_FINAL)[2].strip(), agent or None))
        messages = [{**each, "name": name} for role, text, name in texts for each in shared.to_messages([(role, text)])]
        if messages:
            self._mnemic.capture(self._scope, messages)


class _Run(str):
    """A text from `extract_memories`. A model's texts, which its tool passes to `remember_many`, are plain."""

    __slots__ = ()


class _NoStorage:
    """CrewAI's storage, which Mnemic replaces."""

    def close(self) -> None:
        """Nothing: Mnemic stays open."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedError("Mnemic has no records of CrewAI; use the methods of your open Mnemic", capability=name)
