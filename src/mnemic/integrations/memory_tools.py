"""Tools that a model may call over a memory: remember, recall and forget, within a scope that the developer bound.

What they answer is text for a model: what was stored once is given as data between markers, sanitised like the facts
of a context. They never raise for what the model or the memory did wrong: the answer says so, and the chat goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from mnemic.errors import BackendError, InvalidInputError, MnemicError
from mnemic.integrations.holder import AnyMnemic
from mnemic.model.item import Chunk, Item, Kind, Message, State, Trust
from mnemic.model.recall import Hit
from mnemic.model.scope import Level, Scope
from mnemic.text.blocks import facts_block

MOST_HITS = 20
_OWN_LEVELS = (Level.USER, Level.SESSION)
_RECALLED = ("message", *(kind for kind in Kind if kind is not Kind.DOCUMENT))
_log = logging.getLogger("mnemic.integrations")

ToolKind = Literal["fact", "preference", "goal", "event", "context"]

REMEMBER = """Keeps one thing about the user for later conversations. Call it when the user asks to remember something,
or says something lasting about themselves that will be needed again. One plain sentence each; no secrets.

Args:
    text: The thing to keep, as one sentence in the third person, such as: User prefers dark mode.
    kind: What sort of thing it is.
"""
RECALL = """Searches what is remembered of this user and of earlier conversations. Call it when the answer may depend on
what was said before and is not in front of you.

Args:
    query: What to look for, as a question or a few words.
    limit: The most results, 1 to 20.
"""
FORGET = """Deletes one memory for good. Call it only when the user asks to forget something; look for its id with
recall first, and tell the user what was deleted.

Args:
    id: The id of the memory, as recall showed it.
"""


@dataclass(frozen=True, slots=True)
class MemoryTools:
    """The tools over one scope. They see and change what it may see, but delete nothing that other users share."""

    mnemic: AnyMnemic
    scope: Scope

    def remember(self, text: str, kind: ToolKind = "fact") -> str:
        """Keep a text; what a model words is trusted as the assistant's."""
        return _told(lambda: self._remember(text, kind))

    def recall(self, query: str, limit: int = 5) -> str:
        """What is remembered about a question, as a block of facts with their ids."""
        return _told(lambda: self._recall(query, limit))

    def forget(self, id: str) -> str:
        """Delete a memory or message of the user, and say what it said."""
        return _told(lambda: self._forget(id))

    def _remember(self, text: str, kind: str) -> str:
        memory = self.mnemic.remember(self.scope, text, kind=kind, trust=Trust.ASSISTANT)
        if memory.state is State.QUARANTINED:
            return f"kept aside as {memory.id}: it reads like an order to a model; a person must review it first"
        return f"kept as {memory.id}"

    def _recall(self, query: str, limit: int) -> str:
        found = self.mnemic.recall(self.scope, query, limit=min(max(limit, 1), MOST_HITS), kinds=_RECALLED)
        block = facts_block([_line(hit) for hit in found], is_fallback=found.is_fallback)
        return block or "nothing is remembered about that"

    def _forget(self, id: str) -> str:
        item: Item = self.mnemic.get(self.scope, id)
        if isinstance(item, Chunk):
            raise InvalidInputError("this is a passage of a document; documents are not deleted by tools")
        if item.partition.level not in _OWN_LEVELS:
            raise InvalidInputError("others share this memory; a person must delete it")
        self.mnemic.delete(self.scope, item.id, reason="asked of a model")
        return facts_block([f"deleted: {item.text}"])


def _told(verb: Callable[[], str]) -> str:
    try:
        return verb()
    except BackendError as error:
        _log.warning("a memory tool failed (%s)", type(error).__name__)
        return "not done: the memory does not answer now; go on without it"
    except MnemicError as error:
        return f"not done: {error}"


def _line(hit: Hit) -> str:
    item = hit.item
    said = f"{item.author} said: " if isinstance(item, Message) else ""
    return f"{item.observed_at:%Y-%m-%d} {said}{item.text} (id {item.id})"
