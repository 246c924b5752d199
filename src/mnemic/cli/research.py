"""`mnemic research`: a question answered from the whole of one huge document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.failures import INTERRUPTED
from mnemic.cli.options import command
from mnemic.cli.output import note, one_line, printable, show_json, write
from mnemic.cli.progress import progress_bars
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import BackendError
from mnemic.model.values import check_unicode
from mnemic.text.pages import pages_told

if TYPE_CHECKING:
    from mnemic.api.research import ResearchFields
    from mnemic.model.document import ResearchCitation, ResearchReport

QUOTES = 3
QUOTE_CHARS = 200
KEPT = "what was read is kept: the same command goes on from there"
Reference = Annotated[str, typer.Argument(help="The id of a document, or its source.", metavar="DOCUMENT")]
Question = Annotated[str, typer.Argument(help="The question.")]


@dataclass(frozen=True, slots=True)
class ResearchOptions:
    """The arguments of `Mnemic.research`, as options."""

    max_calls: Annotated[int | None, typer.Option(help="The most calls of the model; 256 unless told.", min=1)] = None
    max_tokens: Annotated[
        int | None, typer.Option(help="The most tokens, prompts and replies; 4,000,000 unless told.", min=1)
    ] = None
    deadline_s: Annotated[float | None, typer.Option(help="The most seconds; 1800 unless told.")] = None
    parallel: Annotated[int | None, typer.Option(help="Calls at a time; 4 of a server, else 1.", min=1)] = None
    piece_tokens: Annotated[int | None, typer.Option(help="The most tokens of one piece; else 16,000.", min=1)] = None
    language: Annotated[str | None, typer.Option(help="Of the prompts: en or zh; else that of the question.")] = None
    is_dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take, and ask nothing.")] = False

    def arguments(self) -> ResearchFields:
        """The arguments of `Mnemic.research`."""
        return {
            "max_calls": self.max_calls,
            "max_tokens": self.max_tokens,
            "deadline_s": self.deadline_s,
            "parallel": self.parallel,
            "piece_tokens": self.piece_tokens,
            "language": self.language,  # pyright: ignore[reportReturnType] -- the verb checks it
            "is_dry_run": self.is_dry_run,
        }


def investigate(document: Reference, question: Question, asking: ScopeOptions, given: ResearchOptions) -> None:
    """Answer a question from the whole of one document, however long: read in pieces by the configured language model,
    within limits, and cited. What was read is kept, so that an interrupted command goes on where it stopped. Without a
    model the best passages are shown.
    """
    fields, question = given.arguments(), check_unicode(question, "question")
    try:
        with asking.open() as mnemic, progress_bars() as tell:
            fields["progress"] = lambda done, total, what: tell(what, done, total)
            report = mnemic.research(asking.scope, document, question, **fields)
    except KeyboardInterrupt as error:
        note(f"interrupted; {KEPT}")
        raise typer.Exit(INTERRUPTED) from error
    except BackendError:
        note(KEPT)
        raise
    if asking.as_json:
        show_json(report)
    elif report.is_dry_run:
        _show_plan(report)
    else:
        _show(report)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    examples = """
        mnemic research --user ana minutes.pdf "what was decided about the harbour?" --dry-run
        mnemic research --user ana minutes.pdf "what was decided about the harbour?" --max-calls 50
    """
    command(app, "research", examples=examples)(investigate)


def _show_plan(report: ResearchReport) -> None:
    plan = report.plan
    for missing in report.degraded:
        note(f"missing: {missing}")
    write(f"{plan.pieces:,} pieces, {plan.kept:,} of them read before; {plan.read:,} would be read within the limits")
    write(f"at most {plan.calls:,} calls and {plan.tokens:,} tokens")


def _show(report: ResearchReport) -> None:
    write(printable(report.text.strip()))
    if not report.is_extractive:
        for citation in report.citations:
            for line in _sources(citation):
                note(line)
    for missing in report.degraded:
        note(f"missing: {missing}")
    usage = report.usage
    tokens = usage.prompt_tokens + usage.completion_tokens
    kept = f"{report.coverage.kept:,} pieces read before"
    note(f"{usage.calls:,} calls, {tokens:,} tokens, {report.seconds:.1f} s; {kept}")


def _sources(citation: ResearchCitation) -> list[str]:
    found: list[str] = []
    for quote in citation.quotes[:QUOTES]:
        told = pages_told(quote.page, quote.last_page)
        pages = f"{told}, " if told else ""
        words = one_line(quote.text)
        shown = words if len(words) <= QUOTE_CHARS else words[:QUOTE_CHARS] + "…"
        found.append(f'[{citation.number}] {pages}characters {quote.start} to {quote.end}: "{shown}"')
    return found
