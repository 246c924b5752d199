"""`mnemic ask`: an answer from memory and documents alone, with what it rests on."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemic.cli.context import AroundOptions
from mnemic.cli.options import command
from mnemic.cli.output import moment, note, one_line, printable, show_json, write
from mnemic.cli.recall import show_recall
from mnemic.cli.scope_options import ScopeOptions
from mnemic.model.recall import Citation
from mnemic.model.values import check_unicode
from mnemic.text.pages import pages_told

Question = Annotated[str, typer.Argument(help="The question.")]


def answer(question: Question, asking: ScopeOptions, wanted: AroundOptions) -> None:
    """Answer a question from what is remembered and from documents, and cite it. Nothing is captured. Without a
    configured language model the best passages are shown instead; with --json that is an error.
    """
    scope, question, arguments = asking.scope, check_unicode(question, "question"), wanted.arguments()
    with asking.open() as mnemic:
        if mnemic.model is None and not asking.as_json:
            found = mnemic.recall(scope, question)
            note("no language model is configured (MNEMIC_LLM, or llm.name), so these are the best passages:")
            show_recall(found, is_explained=False)
            return
        told = mnemic.ask(scope, question, **arguments)
    if asking.as_json:
        show_json(told)
        return
    write(printable(told.text.strip()))
    for citation in told.citations:
        note(_source(citation))
    for missing in told.degraded:
        note(f"missing: {missing}")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    examples = """
        mnemic ask --user ana "which milk do I like?"
        mnemic ask --user ana "what is the notice period?" --documents 8 --json
    """
    command(app, "ask", examples=examples)(answer)


def _source(citation: Citation) -> str:
    pages = pages_told(citation.page, citation.last_page)
    name = one_line(citation.title or citation.source or citation.kind)
    return f"[{citation.number}] {name}{pages and f', {pages}'}, {moment(citation.observed_at)} ({citation.item_id})"
