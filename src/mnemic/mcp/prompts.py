"""What a person can choose in a client: a question with memory around it, and keeping what a conversation taught."""

from __future__ import annotations

from collections.abc import Mapping

import mcp_types as types

from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError
from mnemic.model.item import Role
from mnemic.model.scope import Scope

WITH_MEMORY, KEEP = "with-memory", "keep-what-matters"
PROMPTS = (
    types.Prompt(
        name=WITH_MEMORY,
        title="Ask with memory",
        description="A question with everything remembered that helps to answer it.",
        arguments=[types.PromptArgument(name="question", description="What you want to ask.", required=True)],
    ),
    types.Prompt(
        name=KEEP,
        title="Keep what matters",
        description="Look back at this conversation and remember what will matter later.",
    ),
)
_LOOK_BACK = (
    "Look back at our conversation. Call remember once for each thing about me that will still matter in later "
    "conversations (facts, preferences, goals, decisions), each as one plain sentence, and set_profile for hard facts. "
    "Look first with recall what is known already; correct with update_memory what has changed. "
    "Then tell me in a short list what you kept."
)


def prompt(mnemic: Mnemic, scope: Scope, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """The messages of a prompt. Raises `InvalidInputError` for one that is not there, or lacks its argument."""
    if name == KEEP:
        return _one(_LOOK_BACK)
    if name != WITH_MEMORY:
        raise InvalidInputError(f"there is no prompt {name[:64]!r}; there are {WITH_MEMORY} and {KEEP}")
    question = arguments.get("question", "").strip()
    if not question:
        raise InvalidInputError("the prompt needs the argument question")
    shown = mnemic.context(scope, question, history_messages=0)
    known = [message.content for message in shown.messages if message.role is Role.SYSTEM]
    return _one("\n\n".join([*known, question]))


def _one(text: str) -> types.GetPromptResult:
    content = types.TextContent(type="text", text=text)
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])
