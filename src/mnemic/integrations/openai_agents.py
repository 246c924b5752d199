"""OpenAI Agents SDK: a session stored in Mnemic, and function tools over the memory. Items of a session are messages of
the user's conversation, so one session recalls what was said in another.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from mnemic.integrations.memory import AnyMnemic, MemoryTools, explain_absence, make_tool_functions
from mnemic.integrations.transcript import Path, Said, Transcript
from mnemic.model.item import Message, Role
from mnemic.model.scope import Scope

try:
    from agents import FunctionTool, RunContextWrapper, SessionSettings, TResponseInputItem, function_tool
    from agents.memory import SessionABC
except ModuleNotFoundError as error:
    raise explain_absence(error, "openai-agents", "agents") from error

SOURCE = "openai-agents"
ScopeOf = Callable[[RunContextWrapper[Any]], Scope]
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM}
_OF_TOOLS = ("_output", "_result")


class MnemicSession(SessionABC):
    """A session of the Agents SDK in a Mnemic session: `Runner.run(agent, "…", session=session)`.

    `scope` names the user and `session_id` the session, so two users can use the same id. Items of every kind come back
    unchanged, tool calls and reasoning included, except for redacted secrets. What other doors captured in the session
    is returned as messages. `clear_session` permanently erases the session and what was derived from it alone. Raises
    errors of `mnemic.errors`.
    """

    session_settings: SessionSettings | None

    def __init__(
        self, session_id: str, mnemic: AnyMnemic, scope: Scope, *, session_settings: SessionSettings | None = None
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._transcript = Transcript(mnemic, replace(scope, session=session_id), SOURCE)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The last `limit` items, oldest first. Default: the settings' limit, else all (a server: the last 1,000)."""
        settings = self.session_settings
        wanted = limit if limit is not None or settings is None else settings.limit
        messages = await asyncio.to_thread(self._transcript.messages, wanted)
        return [item for message in messages if (item := self._item(message)) is not None]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store items in one durable transaction."""
        await asyncio.to_thread(self._transcript.add, [_read_item(cast("Mapping[str, Any]", item)) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the last item, None if there is none."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Erase the session."""
        await asyncio.to_thread(self._transcript.clear)

    def _pop(self) -> TResponseInputItem | None:
        while last := self._transcript.messages(1):
            item = self._item(last[0])
            if self._transcript.drop(last[0]) and item is not None:
                return item
        return None

    def _item(self, message: Message) -> TResponseInputItem | None:
        item = self._transcript.item(message)
        if item is None and "transcript" not in message.metadata and message.role in (Role.USER, Role.ASSISTANT):
            item = {"role": message.role.value, "content": message.text}
        return cast("TResponseInputItem | None", item)


def memory_tools(mnemic: AnyMnemic, scope: Scope | ScopeOf, *, may_forget: bool = True) -> list[FunctionTool]:
    """Function tools to remember, recall and forget: `Agent(…, tools=memory_tools(mnemic, scope))`. `scope` is the
    developer's, or a function of the run's context. No argument of the model changes it.
    """

    def bind(context: RunContextWrapper[Any]) -> MemoryTools:
        return MemoryTools(mnemic, scope if isinstance(scope, Scope) else scope(context))

    functions = make_tool_functions(bind, RunContextWrapper[Any], may_forget=may_forget)
    return [function_tool(function) for function in functions]


def _read_item(item: Mapping[str, Any]) -> Said:
    role, kind = item.get("role"), str(item.get("type", ""))
    if isinstance(role, str) and role in _ROLES:
        text, path = _text("content", item.get("content"))
        return Said(item, _ROLES[role], text, path)
    if kind.endswith(_OF_TOOLS):
        text, path = _text("output", item.get("output"))
        return Said(item, Role.TOOL, text, path)
    if isinstance(item.get("name"), str):
        return Said(item, Role.ASSISTANT, f"called the tool {item['name']}")
    return Said(item, Role.ASSISTANT, _text("summary", item.get("summary"))[0])


def _text(name: str, content: object) -> tuple[str, Path | None]:
    """The text of a content (a text or a list of parts), and its path if it is in one place."""
    if isinstance(content, str):
        return content, (name,)
    parts: Sequence[object] = cast("list[object]", content) if isinstance(content, list) else []
    texts = [
        (text, (name, place, "text"))
        for place, part in enumerate(parts)
        if isinstance(part, dict) and isinstance(text := cast("dict[str, object]", part).get("text"), str)
    ]
    return "\n".join(text for text, _ in texts), texts[0][1] if len(texts) == 1 else None
