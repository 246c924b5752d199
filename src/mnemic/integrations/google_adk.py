# pyright: basic, reportMissingImports=false
# ADK requires an older OpenTelemetry than the pinned packages, so it is not installed where pyright runs
"""Google's Agent Development Kit (ADK): a memory service."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from mnemic.integrations import memory as shared
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


class MnemicMemoryService(BaseMemoryService):
    """A memory service: `Runner(…, memory_service=MnemicMemoryService(mnemic, scope_of))`.

    `scope_of(app_name, user_id)` returns the scope, for example `Scope(user=user_id)`. ADK's session becomes the
    scope's session. `limits` are `budget_tokens` and `timeout_s`. If the memory fails or a search times out, this is
    logged and the run continues without it.
    """

    def __init__(self, mnemic: shared.AnyMnemic, scope_of: Callable[[str, str], Scope], **limits: Any) -> None:
        self._mnemic, self._scope_of, self._limits = mnemic, scope_of, limits

    async def add_session_to_memory(self, session: Session) -> None:
        """Capture the session's new messages. Call this in an `after_agent_callback`: ADK does not call it."""
        owner = {"app_name": session.app_name, "user_id": session.user_id}
        await self.add_events_to_memory(**owner, events=session.events, session_id=session.id)

    async def add_events_to_memory(
        self, *, app_name: str, user_id: str, events: Sequence[Event], session_id: str | None = None, **_: Any
    ) -> None:
        """Capture the user's and agents' texts in these events, without thoughts or tool calls."""
        said = list[dict[str, object]]()
        for event in events:
            parts = (event.content.parts if event.content and not event.partial else None) or []
            words = "\n".join(part.text for part in parts if part.text and not part.thought)
            role = Role.USER if event.author == "user" else Role.ASSISTANT
            known = {"name": event.author, "observed_at": datetime.fromtimestamp(event.timestamp, UTC).isoformat()}
            said += shared.draft_message(role, words, "adk", event.id, **known)
        scope = replace(self._scope_of(app_name, user_id), session=session_id)
        await shared.Conversation(self._mnemic, scope, **self._limits).capture(said)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """The memories for a query as one entry between markers, or no entry."""
        scope = self._scope_of(app_name, user_id)
        told = await shared.Conversation(self._mnemic, scope, **self._limits).recall(query)
        content = types.Content(role="user", parts=[types.Part(text=told)])
        return SearchMemoryResponse(memories=[MemoryEntry(content=content)] if told else [])
