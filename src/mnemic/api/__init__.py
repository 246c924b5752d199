"""The public API: Mnemic and the types of its verbs' arguments."""

from mnemic.api.arguments import CONFIGURED, UNCHANGED, Configured, MessageLike, Unchanged
from mnemic.api.memory import DEFAULT_ACTOR, Mnemic
from mnemic.api.parts import DocumentVerbs, GraphVerbs, JobVerbs, KeyVerbs, ProfileVerbs, ToolVerbs
from mnemic.api.upkeep import Content
from mnemic.api.verbs import MnemicVerbs

__all__ = [
    "CONFIGURED",
    "DEFAULT_ACTOR",
    "UNCHANGED",
    "Configured",
    "Content",
    "DocumentVerbs",
    "GraphVerbs",
    "JobVerbs",
    "KeyVerbs",
    "MessageLike",
    "Mnemic",
    "MnemicVerbs",
    "ProfileVerbs",
    "ToolVerbs",
    "Unchanged",
]
