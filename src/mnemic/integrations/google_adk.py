# pyright: basic, reportMissingImports=false
# ADK requires older OpenTelemetry packages than the pinned ones, so it is not installed where pyright runs.
"""Google's Agent Development Kit (ADK): a memory service."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from mnemic.integrations import memory as shared
from mnemic.integrations.hooks import captured
from mnemic.model.item import Role
from mnemic.model.scope import Scope

try:
    from google.adk.events import Event
    from google.adk.memory import BaseMemoryService
    from google.adk.memory.base_memory_service import SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions import Session
    from google.genai import types
except ModuleNotFoundError as error:
    raise shared.explain_absence(error, "google-adk", "google.adk", "google.genai", "google") from error

ScopeOf = Callable[[str, str], Scope]


class MnemicMemoryService(BaseMemoryService):
    """A memory service: `Runner(…, memory_service=MnemicMemoryService(mnemic, scope_of))`.

    `scope_of(app_name, user_id)` returns the scope, for example `Scope(user=user_id)`. ADK's session becomes the
    scope's session. If the memory fails or a search takes longer than `timeout_s`, that is logged and the run continues
    without it.
    """

    def __init__(
        self,
        mnemic: shared.AnyMnemic,
        scope_of: ScopeOf,
        *,
        budget_tokens: int = shared.BUDGET_TOKENS,
        timeout_s: float = shared.TIMEOUT_S,
    ) -> None:
        self._mnemic, self._scope_of = mnemic, scope_of
        self._budget_tokens, self._timeout_s = budget_tokens, timeout_s

    async def add_session_to_memory(self, session: Session) -> None:
        """Capture the session's new messages. Call it in an `after_agent_callback`, because ADK does not."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Capture the texts of user and agents in these events, without thoughts and tool calls."""
        del custom_metadata
        scope = replace(self._scope_of(app_name, user_id), session=session_id)
        said = [message for event in events if not event.partial for message in _read_event(event)]
        if said:
            await shared.try_in_time(
                lambda: captured(self._mnemic, scope, said), 0, timeout_s=None, what="messages were not captured"
            )

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember the texts of the entries. Raises errors of `mnemic.errors`."""
        drafts = [{"text": _read_text(each.content), "metadata": {**(custom_metadata or {})}} for each in memories]
        await asyncio.to_thread(self._mnemic.remember_many, self._scope_of(app_name, user_id), drafts)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """The memory for a query as one entry between markers, or no entry."""
        scope = self._scope_of(app_name, user_id)
        told = await shared.Conversation(self._mnemic, scope, self._budget_tokens, self._timeout_s).recall(query)
        content = types.Content(role="user", parts=[types.Part(text=told)])
        return SearchMemoryResponse(memories=[MemoryEntry(content=content)] if told else [])


def _read_event(event: Event) -> list[dict[str, object]]:
    role = Role.USER if event.author == "user" else Role.ASSISTANT
    at = datetime.fromtimestamp(event.timestamp, UTC).isoformat()
    known = {"name": event.author or None, "external_id": f"adk-{event.id}", "observed_at": at}
    return [{**message, **known} for message in shared.to_messages([(role, _read_text(event.content))])]


def _read_text(content: types.Content | None) -> str:
    parts = (content.parts if content else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought)
