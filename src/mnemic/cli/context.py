"""`mnemic context`: what is put in front of a model that is about to answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

import typer

from mnemic.cli.input import json_mapping
from mnemic.cli.options import command
from mnemic.cli.output import moment, note, one_line, printable, show_json, write
from mnemic.cli.recall import level_limit
from mnemic.cli.scope_options import ScopeOptions
from mnemic.model.recall import Context, Placement
from mnemic.model.values import check_unicode
from mnemic.text.pages import pages_told

if TYPE_CHECKING:
    from mnemic.api import ContextFields

Message = Annotated[str, typer.Argument(help="What the user says now; the memory is searched for it.")]


@dataclass(frozen=True, slots=True)
class AroundOptions:
    """What may stand before a message, as options; what is not given comes from the configuration."""

    system: Annotated[str | None, typer.Option(help="Your own system prompt; it stays in front.")] = None
    budget: Annotated[
        int | None, typer.Option("--budget", "--budget-tokens", help="Tokens that memory may add; 2048 unless said.")
    ] = None
    placement: Annotated[
        Placement | None, typer.Option(help="One leading system message, or a prefix that stays the same.")
    ] = None
    history_messages: Annotated[int | None, typer.Option(help="Messages of the session that are shown.")] = None
    documents: Annotated[
        int | None, typer.Option("--documents", help="Most excerpts of documents, 5 unless said; 0 leaves them out.")
    ] = None
    role: Annotated[str | None, typer.Option(help="What the user is, as the model is told.")] = None
    model: Annotated[str | None, typer.Option(help="The name of the model, as it is told.")] = None
    language: Annotated[str | None, typer.Option(help="en or zh; that of the question unless said.")] = None
    limit: Annotated[int | None, typer.Option("--limit", "-n", help="Most facts in all.")] = None
    limits: Annotated[
        list[str] | None, typer.Option("--level-limit", help="Most facts of a level, as user=3; may be repeated.")
    ] = None
    is_unlimited: Annotated[bool, typer.Option("--all", help="Without the limits per level; the budget stays.")] = False
    filter: Annotated[str | None, typer.Option(help="Conditions on memories in JSON.")] = None
    min_relevance: Annotated[
        float | None, typer.Option(help="Drop what is less sure to have to do with the question, 0 to 1.")
    ] = None
    min_similarity: Annotated[float | None, typer.Option(help="Drop what is less similar, 0 to 1.")] = None
    as_of: Annotated[str | None, typer.Option(help="What was true in the world at this time, ISO 8601.")] = None
    known_at: Annotated[str | None, typer.Option(help="What was known at this time, ISO 8601.")] = None
    deadline_ms: Annotated[float | None, typer.Option(help="Answer within so many milliseconds.")] = None
    rerank: Annotated[
        bool | None, typer.Option("--rerank/--no-rerank", help="Let the configured reranker judge the best hits.")
    ] = None
    diversity: Annotated[float, typer.Option(help="From 0, by score alone, to 1: hits unlike each other.")] = 0.0
    hops: Annotated[
        int | None, typer.Option("--hops", help="Follow the graph so many relations, 1 to 4.", min=0, max=4)
    ] = None

    def arguments(self) -> ContextFields:
        """The arguments of the verb that were given. Raises `InvalidInputError` for what cannot be read."""
        given: ContextFields = {
            "role": self.role,
            "model": self.model,
            "language": self.language,
            "filter": json_mapping(self.filter, "filter"),
            "min_similarity": self.min_similarity,
            "as_of": self.as_of,
            "known_at": self.known_at,
            "deadline_ms": self.deadline_ms,
            "rerank": self.rerank,
            "diversity": self.diversity,
        }
        for name in ("role", "model"):
            check_unicode(given.get(name) or "", name)
        told = {
            "hops": self.hops,
            "min_relevance": self.min_relevance,
            "system": self.system,
            "budget_tokens": self.budget,
            "placement": self.placement,
            "history_messages": self.history_messages,
            "documents": self.documents,
            "limit": self.limit,
        }
        given.update(cast("ContextFields", {name: value for name, value in told.items() if value is not None}))
        if self.limits or self.is_unlimited:
            given["limits"] = None if self.is_unlimited else dict(level_limit(text) for text in self.limits or ())
        return given


@dataclass(frozen=True, slots=True)
class ContextOptions(AroundOptions):
    """The arguments of `Mnemic.context`, and whether to explain."""

    explain: Annotated[
        bool, typer.Option("--explain", help="Tell on the standard error what was cited, and where the time went.")
    ] = False


def assemble(message: Message, asking: ScopeOptions, wanted: ContextOptions) -> None:
    """Show the messages as they would be sent: system prompt, profile, facts, documents, session, and the message."""
    scope, arguments = asking.scope, wanted.arguments()
    check_unicode(message, "query")
    with asking.open() as mnemic:
        context = mnemic.context(scope, message, **arguments)
    if asking.as_json:
        show_json(context)
        return
    for sent in context.messages:
        write(f"--- {sent.role.value} ---\n{printable(sent.content)}\n")
    for source in context.degraded:
        note(f"degraded: {source}")
    if wanted.explain:
        _explain(context)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    examples = """
        mnemic context --user ana --session s1 "what should I cook tonight?"
        mnemic context --user ana "what should I cook?" --budget 500 --placement before_last_user --explain
        mnemic context --user ana "what should I cook?" --system "You are a cook." --json
    """
    command(app, "context", examples=examples)(assemble)


def _explain(context: Context) -> None:
    note(f"{context.token_count} tokens from memory, in the blocks {', '.join(context.blocks)}")
    for citation in context.citations:
        source = f" of {one_line(citation.source)}" if citation.source else ""
        pages = pages_told(citation.page, citation.last_page)
        about = f"{citation.item_id} · {citation.kind}{source}{pages and f', {pages}'} · {moment(citation.observed_at)}"
        note(f"[{citation.number}] {about}")
    parts = {**context.timings_ms, **{f"recall.{name}": ms for name, ms in context.recall.timings_ms.items()}}
    note("took " + ", ".join(f"{name} {ms:.1f} ms" for name, ms in parts.items()))
