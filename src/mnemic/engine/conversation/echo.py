"""The guard against feedback: what Mnemic itself gave to a chat is not captured when it comes back.

Answers for two things in what is captured: the blocks of a context, and the session history around them, which is
stored already. A chat that sends no context of ours is taken as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mnemic.model.draft import MessageDraft
from mnemic.model.item import Message, Role
from mnemic.text.own_blocks import without_own_blocks
from mnemic.text.sanitise import neutralise_markers

_SPOKEN = (Role.USER, Role.ASSISTANT)
_SPARE = 20
"""So many messages of tools and of the system may stand between those of a session's history."""


@dataclass(frozen=True, slots=True)
class Heard:
    """An exchange without our blocks, and how many messages were cut or held nothing else."""

    drafts: Sequence[MessageDraft]
    cut: int

    @classmethod
    def of(cls, exchange: Sequence[MessageDraft]) -> Heard:
        """What of an exchange was said by somebody, in order; untouched drafts are the very same ones."""
        texts = [without_own_blocks(draft.text, is_system=draft.role is Role.SYSTEM) for draft in exchange]
        pairs = list(zip(exchange, texts, strict=True))
        kept = [draft if text == draft.text else replace(draft, text=text) for draft, text in pairs if text]
        return cls(kept, sum(text != draft.text for draft, text in pairs))

    @property
    def reach(self) -> int:
        """How many of the latest messages of the session `new` must be given."""
        return 2 * len(self.drafts) + _SPARE

    def new(self, latest: Sequence[Message]) -> Sequence[MessageDraft]:
        """Those that are not a repetition of the session, whose `latest` messages are given, oldest first.

        Only where a block shows that the exchange was built from a context. Its history is what stands before the last
        message of the user: left out when all of it ends the session, or comes just before that very message, which is
        then known too. A prompt of the system is left out when it is among the latest.
        """
        spoken = [draft for draft in self.drafts if draft.role in _SPOKEN]
        users = [place for place, draft in enumerate(spoken) if draft.role is Role.USER]
        if not self.cut or not users:
            return self.drafts
        said = [_said(message) for message in latest if message.role in _SPOKEN]
        asked = [_said(draft) for draft in spoken]
        known = next((n for n in (users[-1] + 1, users[-1]) if n and said[-n:] == asked[:n]), 0)
        prompts = {message.text for message in latest if message.role is Role.SYSTEM}
        repeated = {id(draft) for draft in spoken[:known]}
        return [
            draft
            for draft in self.drafts
            if id(draft) not in repeated and not (draft.role is Role.SYSTEM and draft.text in prompts)
        ]


def _said(item: Message | MessageDraft) -> tuple[Role, str]:
    return item.role, neutralise_markers(item.text)
