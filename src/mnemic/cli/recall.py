"""`mnemic recall`, `mnemic context` and `mnemic ask`: what answers a question, what a model gets, and an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli import output
from mnemic.cli.commands import Arguments, command, verb_command
from mnemic.cli.options import ScopeOptions
from mnemic.model.item import Memory
from mnemic.model.recall import SHOWN_RELEVANCE, Hit, Recall
from mnemic.text.outline import pages_told

if TYPE_CHECKING:
    from mnemic.model.recall import Citation, Context


@verb_command("recall")
def recall(
    found: Recall,
    arguments: Arguments,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score is calculated.")] = False,
) -> None:
    """Search this scope's messages, memories and documents for answers to a question. The best match comes first."""
    is_whole = arguments.get("limit", 0) is None or not arguments.keys().isdisjoint(("min_relevance", "min_similarity"))
    if is_whole:
        show_recall(found, is_explained=explain)
    else:
        show_strong_hits(found, is_explained=explain)


@verb_command("context")
def context(
    found: Context,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the citations and the time per step to standard error.")
    ] = False,
) -> None:
    """Show what a model would receive: system prompt, profile, facts, documents, session history, and your message."""
    for message in found.messages:
        output.write(f"--- {message.role.value} ---\n{output.escape_controls(message.content)}\n")
    output.note_all(found.degraded, "degraded: ")
    if not explain:
        return
    output.note(f"{found.token_count} tokens from memory, in these blocks: {', '.join(found.blocks)}")
    for citation in found.citations:
        source = f" of {output.one_line(citation.source)}" if citation.source else ""
        pages = pages_told(citation.page, citation.last_page)
        place = f"{citation.kind}{source}{pages and f', {pages}'}"
        output.note(f"[{citation.number}] {citation.item_id} · {place} · {output.format_time(citation.observed_at)}")
    recalled = {f"recall.{name}": ms for name, ms in found.recall.timings_ms.items()}
    output.note_timings("took ", {**found.timings_ms, **recalled})


@command("ask")
def ask(options: ScopeOptions, arguments: Arguments) -> None:
    """Answer a question from memories and documents, with citations. Stores nothing. If no language model is
    configured, the command shows the best passages. With --json, it fails instead.
    """
    scope = options.scope
    with options.open(is_reading=True) as mnemic:
        if mnemic.model is None and not options.as_json:
            output.note("no language model is configured (set MNEMIC_LLM or llm.name), so only passages are shown:")
            show_strong_hits(mnemic.recall(scope, arguments["question"]))
            return
        answer = mnemic.ask(scope, **arguments)
    if options.as_json:
        output.show_json(answer)
        return
    output.write(output.escape_controls(answer.text.strip()))
    output.note_all(map(_describe_source, answer.citations))
    output.note_all(answer.degraded, "missing: ")


def show_strong_hits(found: Recall, *, is_explained: bool = False) -> None:
    """Show hits that are cited by a path, or above the usual minimum relevance and close to the best one. Sorts them by
    relevance, because no score is shown. Leaves out a message if its fact is shown. Notes if all hits are weak.
    """
    from mnemic.engine.context_silence import CROSS_GAP, least_beside
    from mnemic.ranking.silence import asks_nothing

    best = max((hit.relevance or 0.0 for hit in found.hits), default=0.0)
    least = 1.0 if asks_nothing(found.query) else max(SHOWN_RELEVANCE, least_beside(best, CROSS_GAP))
    cited = {citation.item_id for path in found.paths for edge in path.edges for citation in edge.citations}
    strong = [
        hit
        for hit in found.hits
        if hit.is_fallback or hit.id in cited or hit.relevance is None or hit.relevance >= least
    ]
    told = {span.source_id for hit in strong if isinstance(hit.item, Memory) for span in hit.item.provenance}
    strong = sorted((hit for hit in strong if hit.id not in told), key=lambda hit: -(hit.relevance or 0.0))
    if strong or not found.hits:
        show_recall(replace(found, hits=tuple(strong)), is_explained=is_explained)
        return
    weak = "1 weak hit" if len(found.hits) == 1 else f"{len(found.hits)} weak hits"
    output.note_all(found.degraded, "degraded: ")
    output.note(f"Nothing answers this well. `mnemic recall --all` shows {weak}.")


def format_relevance(hit: Hit) -> str:
    """The relevance as a percentage; a dash where it is unknown."""
    return "-" if hit.relevance is None else f"{hit.relevance:.0%}"


def show_recall(found: Recall, *, is_explained: bool = False) -> None:
    """Hits as a table, and each path in the graph as another one. Remarks about background and missing sources go to
    standard error.
    """
    output.note_all(found.degraded, "degraded: ")
    if not found.hits:
        output.note("nothing found; use --user, --agent or --session to choose whose memory to search")
        return
    if found.is_fallback:
        output.note("nothing matched; showing the most important memories as general background")
    rows = [
        output.format_item(
            hit.item,
            str(rank),
            format_relevance(hit),
            why=explain_score(hit) if is_explained else "",
            remark="general background" if hit.is_fallback else "",
        )
        for rank, hit in enumerate(found.hits, start=1)
    ]
    output.show_rows(("#", "relevance"), rows)
    for path in found.paths:
        output.note(" – ".join(output.one_line(node.name) for node in path.nodes))
        names = {node.id: node.name for node in path.nodes}
        output.show_rows(("from", "relation", "to"), [output.format_edge(edge, names) for edge in path.edges])


def explain_score(hit: Hit) -> str:
    """The score and the parts that add up to it, the similarity, and a memory's importance and accesses."""
    parts = " + ".join(f"{c.feature} {c.points:.2f}" for c in hit.contributions)
    similarity = "" if hit.similarity is None else f"; similarity {hit.similarity:.2f}"
    text = f"score {hit.score:.2f} = {parts}{similarity}"
    if isinstance(hit.item, Memory):
        text += f"; importance {hit.item.importance:.2f}, accesses {hit.item.access_count}"
    return text


def _describe_source(citation: Citation) -> str:
    pages = pages_told(citation.page, citation.last_page)
    name = output.one_line(citation.title or citation.source or citation.kind)
    at = output.format_time(citation.observed_at)
    return f"[{citation.number}] {name}{pages and f', {pages}'}, {at} ({citation.item_id})"
