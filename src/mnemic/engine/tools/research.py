"""The tool that answers a question from the whole of one huge document.

It has less time and fewer calls than the verb: a chat waits for it. What it read is kept, so that calling it again with
the same question goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mnemic.engine.engine import Parts
from mnemic.engine.research import ResearchRequest, research
from mnemic.engine.tools.function import tool
from mnemic.errors import InvalidInputError
from mnemic.model.chat import ToolContext
from mnemic.model.document import ResearchLimits, ResearchReport
from mnemic.ports.models import Tool
from mnemic.text.blocks import Excerpt, documents_block

LEAST_CALLS, MAX_CALLS = 2, 200
MAX_QUESTION_CHARS = 4000
TIMEOUT_S, DEADLINE_S = 300.0, 240.0
QUOTES = 3
"""So many quotes of each citation are shown."""


def research_tools(parts: Parts) -> Sequence[Tool]:
    """The tool over the documents of the scope of the call."""

    @tool(is_read_only=True, timeout_s=TIMEOUT_S)
    def analyze_large_document(context: ToolContext, document: str, question: str, max_calls: int = 24) -> str:
        """Reads one whole document, however long, to answer a question that needs many places of it, such as a summary
        of all decisions, a comparison, or contradictions. It takes minutes and many calls of a language model: call
        search_documents first, and this only when its passages are not enough. Tell the user what was not read.

        Args:
            context: For whom and when; filled by Mnemic.
            document: The id or the source of the document.
            question: The question, complete in itself.
            max_calls: The most calls of the language model, 2 to 200; what is most relevant is read first.
        """
        if not LEAST_CALLS <= max_calls <= MAX_CALLS:
            raise InvalidInputError(f"'max_calls' must be {LEAST_CALLS} to {MAX_CALLS}, not {max_calls}")
        if not question.strip() or len(question) > MAX_QUESTION_CHARS:
            raise InvalidInputError(f"'question' must have 1 to {MAX_QUESTION_CHARS} characters")
        limits = ResearchLimits(max_calls=max_calls, deadline_s=DEADLINE_S)
        report = research(parts, context.scope, document, ResearchRequest(question=question, limits=limits))
        context.tell(report)
        return documents_block(_excerpts(report))

    return (analyze_large_document,)


def _excerpts(report: ResearchReport) -> Iterator[Excerpt]:
    """The answer, and the quotes it cites: both come of what others wrote."""
    name = report.title or report.source
    yield Excerpt(f"{name} (what was found in it)", report.text)
    if not report.is_extractive:
        for citation in report.citations:
            for quote in citation.quotes[:QUOTES]:
                yield Excerpt(name, quote.text, quote.page, quote.last_page, number=citation.number)
