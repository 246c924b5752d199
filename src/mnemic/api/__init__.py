"""What people hold: Mnemic and the arguments of its verbs."""

from mnemic.api.arguments import (
    ContextFields,
    ImportFields,
    ListFields,
    MemoryFields,
    MessageLike,
    RecallFields,
    UpdateFields,
)
from mnemic.api.profile import ProfileVerbs
from mnemic.api.verbs import DEFAULT_ACTOR, Mnemic

__all__ = [
    "DEFAULT_ACTOR",
    "ContextFields",
    "ImportFields",
    "ListFields",
    "MemoryFields",
    "MessageLike",
    "Mnemic",
    "ProfileVerbs",
    "RecallFields",
    "UpdateFields",
]
