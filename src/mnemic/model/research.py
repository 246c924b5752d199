"""One huge document and a question: how it is researched, what was read of it, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

STEPS_KEPT = timedelta(days=30)
"""How long the replies about pieces of a document are kept, so that asking the same again pays for nothing twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One reply of a language model, kept so that it is not asked for again. `key` is the digest of all that was asked,
    `at` when it was answered; tokens are as the model told them.
    """

    key: str
    reply: str
    at: datetime
    prompt_tokens: int = 0
    completion_tokens: int = 0
