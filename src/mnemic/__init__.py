"""Mnemic: long-term memory for AI assistants.

from mnemic import Mnemic, Scope

with Mnemic.open("memory.db") as mnemic:
    mnemic.remember(Scope(user="ada"), "User prefers dark mode", kind="preference")
    for hit in mnemic.recall(Scope(user="ada"), "Which colours should the editor have?"):
        print(f"{hit.relevance:.0%}  {hit.text}")
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` would take half of the time of this import
if TYPE_CHECKING:
    from mnemic.aio import AsyncMnemic
    from mnemic.api import Mnemic
    from mnemic.api.doors import check_backup
    from mnemic.config import Config
    from mnemic.engine.tools.function import tool
    from mnemic.model.chat import ToolContext
    from mnemic.model.item import Kind, Memory, MemoryDraft, Message, MessageDraft, Role, State, Trust, Turn
    from mnemic.model.listing import follow_pages
    from mnemic.model.recall import Context, Hit, Recall
    from mnemic.model.scope import Level, Scope
    from mnemic.model.settings import Settings
    from mnemic.remote import connect

__version__ = "0.1.0"
__all__ = [
    "AsyncMnemic",
    "Config",
    "Context",
    "Hit",
    "Kind",
    "Level",
    "Memory",
    "MemoryDraft",
    "Message",
    "MessageDraft",
    "Mnemic",
    "Recall",
    "Role",
    "Scope",
    "Settings",
    "State",
    "ToolContext",
    "Trust",
    "Turn",
    "check_backup",
    "connect",
    "follow_pages",
    "tool",
]

_HOMES = {
    "AsyncMnemic": "aio",
    "check_backup": "api.doors",
    "connect": "remote",
    "Config": "config",
    "Context": "model.recall",
    "Mnemic": "api",
    "MemoryDraft": "model.item",
    "MessageDraft": "model.item",
    **dict.fromkeys(("Kind", "Memory", "Message", "Role", "State", "Trust", "Turn"), "model.item"),
    **dict.fromkeys(("Hit", "Recall"), "model.recall"),
    **dict.fromkeys(("Level", "Scope"), "model.scope"),
    "follow_pages": "model.listing",
    "Settings": "model.settings",
    "ToolContext": "model.chat",
    "tool": "engine.tools.function",
}


def __getattr__(name: str) -> object:
    """Import on first use, so that `import mnemic` costs next to nothing."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"mnemic.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
