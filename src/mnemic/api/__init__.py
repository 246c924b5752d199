"""What people hold: Mnemic and the arguments of its verbs."""

from mnemic.api.arguments import (
    ContextFields,
    ImportFields,
    ListFields,
    MemoryFields,
    MessageFields,
    MessageLike,
    RecallFields,
    UpdateFields,
)
from mnemic.api.assistant import ChatFields, ToolVerbs
from mnemic.api.documents import Content, DocumentFields, DocumentVerbs, IngestFields
from mnemic.api.profile import ProfileVerbs
from mnemic.api.verbs import DEFAULT_ACTOR, Mnemic

__all__ = [
    "DEFAULT_ACTOR",
    "ChatFields",
    "Content",
    "ContextFields",
    "DocumentFields",
    "DocumentVerbs",
    "ImportFields",
    "IngestFields",
    "ListFields",
    "MemoryFields",
    "MessageFields",
    "MessageLike",
    "Mnemic",
    "ProfileVerbs",
    "RecallFields",
    "ToolVerbs",
    "UpdateFields",
]
