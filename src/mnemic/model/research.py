"""One huge document and a question: how it is researched, what was read of it, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mnemic.model.llm import Usage

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchLimits:
    """What one call of `research` may cost; each limit is kept exactly, and what was kept from earlier costs nothing.

    `max_calls`: of the language model, second tries included. `max_tokens`: of prompts and replies together. No call is
    begun after `deadline_s`, and none waits longer. `parallel`: calls under way at a time; None: four of a server, one
    of a model in this process. `piece_tokens`: the most tokens of one piece; None: as the model's context allows, at
    most 16,000.
    """

    max_calls: int = 256
    max_tokens: int = 4_000_000
    deadline_s: float = 1800.0
    parallel: int | None = None
    piece_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ResearchPlan:
    """What reading all of a document takes at most, and what the limits allow of it.

    `pieces` it is cut into, `kept` of them read earlier for the same question. `read`: how many the limits allow to be
    read, those kept included. `calls` and `tokens`: for these, with combining and the answer, without second tries.
    """

    pieces: int
    kept: int
    read: int
    calls: int
    tokens: int


@dataclass(frozen=True, slots=True)
class ResearchQuote:
    """What stands in the document, word for word: characters `start` until before `end` of its text, from `page` to
    `last_page` (from 1) where these are known.
    """

    text: str
    start: int
    end: int
    page: int | None = None
    last_page: int | None = None


@dataclass(frozen=True, slots=True)
class ResearchCitation:
    """What the mark `[number]` in an answer stands for: what was noted, and the quotes of the document it rests on."""

    number: int
    says: str
    document_id: str
    source: str
    title: str
    quotes: tuple[ResearchQuote, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a document that was not read, and why: characters, and pages where they are known."""

    start: int
    end: int
    reason: str
    first_page: int | None = None
    last_page: int | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a document was read, in pieces and characters; `kept` of the pieces were read by an earlier call.
    `failed` were asked about in vain, `unread` were not asked about; `missing` says where these lie, at most the first
    hundred stretches.
    """

    pieces: int = 0
    read: int = 0
    kept: int = 0
    failed: int = 0
    unread: int = 0
    characters: int = 0
    characters_read: int = 0
    missing: tuple[Stretch, ...] = ()

    @property
    def is_whole(self) -> bool:
        """True when all of the document was read."""
        return self.characters_read >= self.characters


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchReport:
    """The answer to a question about one document. `citations` are those that the text names by `[number]`.

    `text` ends with what was not read, in words, where that is anything. `is_extractive`: no model has answered; the
    text is a list of what was found. `degraded` says what was missing and why. Of a dry run only `plan` is made.
    `usage` is what this call cost.
    """

    at: datetime
    question: str
    document_id: str
    source: str
    title: str
    text: str
    citations: tuple[ResearchCitation, ...]
    coverage: Coverage
    plan: ResearchPlan
    usage: Usage = field(default_factory=Usage)
    degraded: tuple[str, ...] = ()
    seconds: float = 0.0
    is_extractive: bool = False
    is_dry_run: bool = False
