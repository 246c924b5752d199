"""The verb that answers a question from the whole of one huge document."""

from __future__ import annotations

import math
from typing import TypedDict, Unpack

from mnemic.engine.engine import Parts
from mnemic.engine.ingest_plan import MAX_SOURCE_CHARS
from mnemic.engine.inputs import check_line, check_text
from mnemic.engine.research import MAX_PARALLEL, ResearchRequest, Told, ignore_progress, research
from mnemic.errors import InvalidInputError
from mnemic.model.document import ResearchLimits, ResearchReport
from mnemic.model.scope import Scope
from mnemic.text.blocks import Language
from mnemic.text.pieces import LEAST_ROOM

MAX_QUESTION_CHARS = 4000
LANGUAGES = ("en", "zh")


class ResearchFields(TypedDict, total=False):
    """The optional arguments of `research`; where None, a limit is that of `ResearchLimits`.

    `max_calls` of the language model (256), `max_tokens` of prompts and replies together (4,000,000), `deadline_s`
    (1800): what it may cost; each is kept. `parallel`: calls under way at a time; four of a server, one of a model in
    this process, unless told. `piece_tokens`: the most tokens of one piece; as the model allows, at most 16,000, unless
    told. `language` of the prompts ("en", "zh"); that of the question unless told. `is_dry_run`: say what it would
    take, and ask nothing. `progress` is called with how much of a step is done, how much there is, and the step.
    """

    max_calls: int | None
    max_tokens: int | None
    deadline_s: float | None
    parallel: int | None
    piece_tokens: int | None
    language: Language | None
    is_dry_run: bool
    progress: Told | None


class ResearchVerbs:
    """A part of `Mnemic`."""

    _parts: Parts

    def research(self, scope: Scope, document: str, question: str, **fields: Unpack[ResearchFields]) -> ResearchReport:
        """Answer a question from the whole of one ingested document, however long, with the configured language model.

        `document` is its id or source. It is cut into pieces, each is read for what bears on the question, and the
        notes are combined into an answer that cites quotes by page and offsets. Where the limits do not allow all of
        it, what recall finds is read first, and the answer says what was not. What was read is kept: the same question
        goes on where it stopped, after Ctrl-C, a kill or an outage of the model, and with larger limits. Without a
        model the best passages are given, and said to be no more.

        Raises NotFoundError for a document that is not in the scope, ConflictError when it changes meanwhile, and
        BackendError when the model fails for good.
        """
        unknown = [name for name in fields if name not in ResearchFields.__annotations__]
        if unknown:
            names = ", ".join(ResearchFields.__annotations__)
            raise InvalidInputError(f"research takes no {unknown[0]!r}; it takes {names}")
        language = fields.get("language")
        if language is not None and language not in LANGUAGES:
            raise InvalidInputError(f"language must be one of {', '.join(LANGUAGES)}, not {language!r}")
        request = ResearchRequest(
            question=_question(question, self._parts),
            limits=_limits(fields),
            language=language,
            is_dry_run=_flag(fields.get("is_dry_run", False)),
            progress=fields.get("progress") or ignore_progress,
        )
        return research(self._parts, scope, check_line(document, "document", limit=MAX_SOURCE_CHARS), request)


def _question(question: object, parts: Parts) -> str:
    text = check_text(question, "question", parts.settings)
    if len(text) > MAX_QUESTION_CHARS:
        raise InvalidInputError(f"a question has at most {MAX_QUESTION_CHARS:,} characters, not {len(text):,}")
    return text


def _limits(fields: ResearchFields) -> ResearchLimits:
    usual = ResearchLimits()
    deadline, parallel, size = fields.get("deadline_s"), fields.get("parallel"), fields.get("piece_tokens")
    return ResearchLimits(
        max_calls=_whole(fields.get("max_calls"), "max_calls", 1) or usual.max_calls,
        max_tokens=_whole(fields.get("max_tokens"), "max_tokens", 1) or usual.max_tokens,
        deadline_s=usual.deadline_s if deadline is None else _seconds(deadline),
        parallel=None if parallel is None else _parallel(parallel),
        piece_tokens=_whole(size, "piece_tokens", LEAST_ROOM),
    )


def _whole(value: object, name: str, least: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInputError(f"{name} must be a whole number from {least}, not {value!r}")
    return value


def _parallel(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_PARALLEL:
        raise InvalidInputError(f"parallel must be a whole number from 1 to {MAX_PARALLEL}, not {value!r}")
    return value


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0 or not math.isfinite(value):
        raise InvalidInputError(f"deadline_s must be a number of seconds above 0, not {value!r}")
    return float(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInputError(f"is_dry_run must be true or false, not {value!r}")
    return value
