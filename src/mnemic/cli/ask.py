"""`mnemic ask`: an answer from memory and documents alone, with what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.options import command
from mnemic.cli.output import moment, note, one_line, printable, show_json, write
from mnemic.cli.recall import show_recall
from mnemic.cli.scope_options import ScopeOptions
from mnemic.model.context import Citation
from mnemic.model.unicode import check_unicode

if TYPE_CHECKING:
    from mnemic.api import ContextFields

Question = Annotated[str, typer.Argument(help="The question.")]
Documents = Annotated[int | None, typer.Option("--documents", help="Most excerpts of documents.", min=0)]
Budget = Annotated[int | None, typer.Option("--budget", "--budget-tokens", help="Tokens that memory may fill.", min=0)]


def answer(question: Question, asking: ScopeOptions, documents: Documents = None, budget: Budget = None) -> None:
    """Answer a question from what is remembered and from documents, and cite it. Nothing is captured. Without a
    configured language model the best passages are shown instead.
    """
    scope, question = asking.scope, check_unicode(question, "question")
    with asking.open() as mnemic:
        if mnemic.model is None:
            found = mnemic.recall(scope, question)
            if asking.as_json:
                show_json(found)
                return
            note("no language model is configured (MNEMIC_LLM, or llm.name), so these are the best passages:")
            show_recall(found, is_explained=False)
            return
        wanted: ContextFields = {}
        if documents is not None:
            wanted["documents"] = documents
        if budget is not None:
            wanted["budget_tokens"] = budget
        told = mnemic.ask(scope, question, **wanted)
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
    page = "" if citation.page is None else f", page {citation.page}"
    name = one_line(citation.title or citation.source or citation.kind)
    return f"[{citation.number}] {name}{page}, {moment(citation.observed_at)} ({citation.item_id})"
