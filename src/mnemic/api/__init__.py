"""What people hold: Mnemic and the arguments of its verbs."""

from mnemic.api.arguments import CONFIGURED, UNCHANGED, Configured, MessageLike, Unchanged
from mnemic.api.parts import DocumentVerbs, GraphVerbs, JobVerbs, KeyVerbs, ProfileVerbs, ToolVerbs
from mnemic.api.upkeep import Content
from mnemic.api.verbs import DEFAULT_ACTOR, Mnemic, MnemicVerbs

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
