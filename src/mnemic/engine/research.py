"""Answers a question about a huge document: a model reads it piece by piece, notes are combined, and the answer cites
them (docs/decisions/0022-research.md). Reports what the limits left unread.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mnemic.engine.documents import get_document
from mnemic.engine.engine import Engine, Metered
from mnemic.engine.inputs import Question
from mnemic.engine.recall import answer as recalled
from mnemic.engine.research_notes import LIMITED, Reading, Told, coverage_of, not_read, percent
from mnemic.engine.research_steps import CHANGED, Budget, Cost, Missed, Steps
from mnemic.errors import BackendError, ConflictError, InvalidInputError
from mnemic.model import document as documents
from mnemic.model.candidates import DOCUMENT
from mnemic.model.filter import Condition
from mnemic.model.item import Chunk
from mnemic.model.scope import Level, Partition, Scope
from mnemic.ports.models import Llm
from mnemic.text.blocks import Language
from mnemic.text.prompts import language_of
from mnemic.text.research import LEAST_ROOM, Asking, Note, Piece, cut
from mnemic.text.sanitise import sanitise
from mnemic.text.wordings import wording

PIECE_TOKENS = 16_000
"""Default maximum tokens of a piece: models overlook more if they read more at once."""

REPLY_TOKENS = 1000  # maximum tokens of one reply; at most a sixth of the model's context
SERVER_CALLS = 4  # parallel calls: servers batch a few; a model in this process takes one
MAX_PARALLEL = 64  # parallel calls: bounds the threads of one research
RANKED = 400  # passages that rank the pieces of a document
PASSAGES = 8  # passages shown if no model answers
_GOLDEN = 0.6180339887498949  # of the golden ratio: its multiples, modulo 1, spread evenly over the document
NO_MODEL = "no language model is configured"
TOO_LITTLE = "the limits allow no piece to be read"


def ignore_progress(_done: int, _total: int, _what: str) -> None:
    """Does nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchRequest:
    """A question and its limits. `progress` is called on the caller's thread: `(done, total, step)`."""

    question: str
    limits: documents.ResearchLimits
    language: Language | None = None
    is_dry_run: bool = False
    progress: Told = ignore_progress


def research(engine: Engine, scope: Scope, reference: str, request: ResearchRequest) -> documents.ResearchReport:
    """Answer a question about the document with this id or source. A dry run estimates the cost. A repeated call
    resumes. Raises as `get_document`; `InvalidInputError` for no text or too small a model; `ConflictError` on a change
    meanwhile; `BackendError` if the model fails for good.
    """
    begin = time.perf_counter()
    with engine.observer.span("mnemic.research", is_dry_run=request.is_dry_run) as span:
        report = _Research(engine, scope, reference, request).report()
        span.note(pieces=report.coverage.pieces, read=report.coverage.read, calls=report.usage.calls)
    return replace(report, seconds=time.perf_counter() - begin)


class _Research:
    """One call of `research`."""

    def __init__(self, engine: Engine, scope: Scope, reference: str, request: ResearchRequest) -> None:
        self._engine, self._scope, self._request = engine, scope, request
        self._document = get_document(engine, scope, reference)
        with engine.store.read() as work:
            found = work.documents.get(scope.visibility, [self._document.id])
            self._text = work.documents.text(scope.visibility, self._document.id) or ""
        if not found or found[0].updated_at != self._document.updated_at:
            raise ConflictError(CHANGED)
        if not self._text.strip():
            raise InvalidInputError(f"{self._document.source!r} has no text (status: {self._document.status.value})")
        self._language: Language = request.language or language_of([request.question])

    def report(self) -> documents.ResearchReport:
        if self._engine.llm is None:
            return self._passages(
                NO_MODEL, documents.Coverage(characters=len(self._text)), documents.ResearchPlan(0, 0, 0, 0, 0)
            )
        model = Metered(self._engine.llm)
        reading = self._reading(model)
        reading.take_kept()
        waiting = [piece for piece in reading.pieces if piece.index not in reading.notes]
        plan = self._plan(reading, waiting)
        if self._request.is_dry_run:
            return self._make_report("", (), self._coverage(reading, (), is_planned=True), plan)
        if not plan.read:
            return self._passages(TOO_LITTLE, self._coverage(reading, waiting), plan)
        if plan.read < plan.pieces:
            waiting = self._rank_pieces(reading, waiting)
        reading.read(waiting)
        return replace(self._answer_question(reading, plan), usage=model.usage)

    def _reading(self, model: Llm) -> Reading:
        limits, context = self._request.limits, model.capabilities.context_tokens
        title = self._document.title or self._document.source
        asking = Asking(self._request.question, title, self._language, min(REPLY_TOKENS, context // 6))
        room = context - asking.reply_tokens - asking.frame_tokens
        if room < LEAST_ROOM:
            raise InvalidInputError(
                f"the question leaves no room for the document in {model.name}'s context of {context:,} tokens"
            )
        size = min(room, limits.piece_tokens or PIECE_TOKENS)
        parallel = limits.parallel or (SERVER_CALLS if model.capabilities.is_blocking else 1)
        budget = Budget(limits, self._engine.settings.assistant.timeout_s)
        return Reading(
            asking=asking,
            document=self._document,
            text=self._text,
            pieces=cut(self._text, size, self._document.headings, self._document.pages),
            steps=Steps(self._engine, _place(self._scope), self._document, model, budget),
            parallel=parallel,
            room=room,
            progress=self._request.progress,
        )

    def _plan(self, reading: Reading, waiting: Sequence[Piece]) -> documents.ResearchPlan:
        """The work that fits the limits if every piece gives the maximum of notes."""
        cost, read = Cost(), 0
        for piece in waiting:
            more = cost + reading.worst(piece)
            if not (more + reading.ahead(read + 1)).fits(self._request.limits):
                break
            cost, read = more, read + 1
        total = cost + reading.ahead(read)
        kept = len(reading.pieces) - len(waiting)
        return documents.ResearchPlan(len(reading.pieces), kept, kept + read, total.calls, total.tokens)

    def _rank_pieces(self, reading: Reading, waiting: Sequence[Piece]) -> list[Piece]:
        """The pieces in reading order: recall's hits first, then the others, spread over the document."""
        best: dict[int, int] = {}
        pieces = iter(reading.pieces)
        piece = next(pieces)
        for start, rank in sorted(
            (chunk.start, rank) for rank, chunk in enumerate(self._find_passages(reading, RANKED))
        ):
            while start >= piece.end and piece.index + 1 < len(reading.pieces):
                piece = next(pieces)
            best[piece.index] = min(rank, best.get(piece.index, rank))
        return sorted(waiting, key=lambda each: (best.get(each.index, RANKED), each.index * _GOLDEN % 1))

    def _find_passages(self, reading: Reading | None, limit: int) -> list[Chunk]:
        """The document's passages that answer the question best."""
        question = Question(
            text=self._request.question[: self._engine.settings.max_query_chars],
            limit=limit,
            levels=(self._document.level,),
            kinds=frozenset({DOCUMENT}),
            filter=Condition(("source",), "eq", self._document.source),
            passages=True,
        )
        try:
            hits = recalled(self._engine, self._scope, question).hits
        except BackendError as error:
            if reading is None:
                raise
            reading.degraded.append(f"ranking: {type(error).__name__}; the pieces are spread over the document")
            return []
        chunks = [hit.item for hit in hits if isinstance(hit.item, Chunk)]
        return [chunk for chunk in chunks if chunk.document_id == self._document.id]

    def _answer_question(self, reading: Reading, plan: documents.ResearchPlan) -> documents.ResearchReport:
        waiting = [p for p in reading.pieces if p.index not in reading.notes and p.index not in reading.failed]
        coverage = self._coverage(reading, waiting)
        if not coverage.read:
            return self._passages(next(iter(reading.failed.values()), TOO_LITTLE), coverage, plan, reading.degraded)
        notes = reading.combined()
        cited = [_citation(number, note, self._document, reading.quotes) for number, note in enumerate(notes, 1)]
        if not notes:
            return self._make_report(
                wording(self._language, "research.nothing"), (), coverage, plan, self._list_degraded(reading)
            )
        share = "" if coverage.is_whole else f"{percent(coverage)} %"
        told = reading.answer(notes, share)
        if isinstance(told, Missed):
            lines = [wording(self._language, "research.unanswered").format(told.reason)]
            lines += [f"[{each.number}] {each.says}" for each in cited]
            degraded = (*self._list_degraded(reading), f"answer: {told.reason}")
            made = self._make_report("\n".join(lines), cited, coverage, plan, degraded)
            return replace(made, is_extractive=True)
        text, numbers = told
        named = [cited[number - 1] for number in sorted(numbers)]
        degraded = self._list_degraded(reading) + (() if named else ("citations: the answer contains none",))
        return self._make_report(text, named, coverage, plan, degraded)

    def _list_degraded(self, reading: Reading) -> tuple[str, ...]:
        dropped = (f"notes: {reading.dropped} dropped: their quotes are not in the text",) * bool(reading.dropped)
        return (*reading.degraded, *dropped)

    def _passages(
        self, why: str, coverage: documents.Coverage, plan: documents.ResearchPlan, degraded: Sequence[str] = ()
    ) -> documents.ResearchReport:
        """Report the best passages in document order: the answer without a model."""
        if self._request.is_dry_run:
            return self._make_report("", (), coverage, plan, (f"model: {why}",))
        chunks = sorted(self._find_passages(None, PASSAGES), key=lambda chunk: chunk.start)
        texts = [(chunk, text) for chunk in chunks if (text := sanitise(chunk.text))]
        cited = [
            _citation(
                number,
                Note(text, (0,)),
                self._document,
                [documents.ResearchQuote(chunk.text, chunk.start, chunk.end, chunk.page, chunk.last_page)],
            )
            for number, (chunk, text) in enumerate(texts, 1)
        ]
        head = wording(self._language, "research.passages" if cited else "research.no_passages").format(why)
        text = "\n\n".join([head, *(f"[{each.number}] {each.says}" for each in cited)])
        made = self._make_report(text, cited, coverage, plan, (*degraded, f"model: {why}"))
        return replace(made, is_extractive=True)

    def _coverage(self, reading: Reading, waiting: Sequence[Piece], *, is_planned: bool = False) -> documents.Coverage:
        reasons = dict.fromkeys((piece.index for piece in waiting), LIMITED) | reading.failed
        read = reading.kept if is_planned else reading.notes.keys()
        return coverage_of(reading.pieces, read, len(reading.kept), reasons, self._document.pages)

    def _make_report(
        self,
        text: str,
        citations: Sequence[documents.ResearchCitation],
        coverage: documents.Coverage,
        plan: documents.ResearchPlan,
        degraded: Sequence[str] = (),
    ) -> documents.ResearchReport:
        request = self._request
        rest = "" if request.is_dry_run or not coverage.pieces else not_read(coverage, self._language)
        return documents.ResearchReport(
            at=self._engine.clock.now(),
            question=request.question,
            document_id=self._document.id,
            source=self._document.source,
            title=self._document.title,
            text="\n\n".join(part for part in (text, rest) if part),
            citations=tuple(citations),
            coverage=coverage,
            plan=plan,
            degraded=tuple(dict.fromkeys(degraded)),
            is_dry_run=request.is_dry_run,
        )


def _place(scope: Scope) -> Partition:
    """The owner of the replies: the scope's user, else its agent, else its session, else the org."""
    is_named = scope.user is not None or scope.agent is not None or scope.session is not None
    return scope.partition(scope.default_level if is_named else Level.ORG)


def _citation(
    number: int, note: Note, document: documents.Document, quotes: Sequence[documents.ResearchQuote]
) -> documents.ResearchCitation:
    named = tuple(quotes[quote] for quote in note.quotes)
    return documents.ResearchCitation(number, note.says, document.id, document.source, document.title, named)
