"""All tools of one open Mnemic: its own, and those that were found."""

from __future__ import annotations

from mnemic.engine.engine import Parts
from mnemic.engine.tools.everyday import everyday_tools
from mnemic.engine.tools.memories import document_tools, memory_tools
from mnemic.engine.tools.research import research_tools
from mnemic.engine.tools.toolbox import Toolbox


def open_toolbox(parts: Parts) -> Toolbox:
    """The toolbox. A name of Mnemic's own stays Mnemic's: raises `ConfigError` for another tool of that name."""
    own = (
        *everyday_tools(parts.settings.life.time_zone),
        *memory_tools(parts),
        *document_tools(parts),
        *research_tools(parts),
    )
    return Toolbox([*own, *parts.tools()], parts.settings.assistant)
