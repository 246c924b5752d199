"""`mnemic recall`: find what answers a question, and say why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.input import json_mapping
from mnemic.cli.options import command
from mnemic.cli.output import edge_row, item_row, note, one_line, show_json, show_rows
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import InvalidInputError
from mnemic.model.item import Memory
from mnemic.model.recall import Hit, Recall
from mnemic.model.scope import Level
from mnemic.model.values import check_unicode

if TYPE_CHECKING:
    from mnemic.api import RecallFields

Query = Annotated[str, typer.Argument(help="The question; a blank one gives the most important memories.")]


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """The arguments of `Mnemic.recall`, as options."""

    limit: Annotated[int | None, typer.Option("--limit", "-n", help="Most hits; 5 unless said.")] = None
    is_unlimited: Annotated[bool, typer.Option("--all", help="As many hits as there are.")] = False
    limits: Annotated[
        list[str] | None, typer.Option("--level-limit", help="Most hits of a level, as user=3; may be repeated.")
    ] = None
    levels: Annotated[list[Level] | None, typer.Option("--level", help="Only this level; may be repeated.")] = None
    kinds: Annotated[list[str] | None, typer.Option("--kind", help="Only this kind, or message; may be repeated.")] = (
        None
    )
    filter: Annotated[
        str | None, typer.Option(help='Conditions on memories in JSON, as {"categories": {"contains": "work"}}.')
    ] = None
    min_relevance: Annotated[
        float | None, typer.Option(help="Drop what is less sure to have to do with the question, 0 to 1.")
    ] = None
    min_similarity: Annotated[
        float | None, typer.Option(help="Rank by similarity alone and drop what is below, 0 to 1.")
    ] = None
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
    explain: Annotated[bool, typer.Option("--explain", help="Show what each hit's score is made of.")] = False

    def arguments(self) -> RecallFields:
        """The arguments of `Mnemic.recall` that were given. Raises `InvalidInputError` for what cannot be read."""
        given: RecallFields = {
            "limits": dict(level_limit(text) for text in self.limits or ()),
            "levels": self.levels or (),
            "kinds": self.kinds or (),
            "filter": json_mapping(self.filter, "filter"),
            "min_similarity": self.min_similarity,
            "as_of": self.as_of,
            "known_at": self.known_at,
            "deadline_ms": self.deadline_ms,
            "rerank": self.rerank,
            "diversity": self.diversity,
        }
        if self.min_relevance is not None:
            given["min_relevance"] = self.min_relevance
        if self.is_unlimited:
            given["limit"] = None
        elif self.limit is not None:
            given["limit"] = self.limit
        if self.hops is not None:
            given["hops"] = self.hops
        return given


def ask(query: Query, asking: ScopeOptions, wanted: RecallOptions) -> None:
    """Find what answers a question among the messages, memories and documents of this scope, best first."""
    scope, arguments = asking.scope, wanted.arguments()
    check_unicode(query, "query")
    with asking.open() as mnemic:
        found = mnemic.recall(scope, query, **arguments)
    if asking.as_json:
        show_json(found)
        return
    show_recall(found, is_explained=wanted.explain)


def show_recall(found: Recall, *, is_explained: bool) -> None:
    """Hits as a table, and ways in the graph as one for each; remarks about background and missing sources go to the
    standard error.
    """
    for source in found.degraded:
        note(f"degraded: {source}")
    if not found.hits:
        note("nothing found in this scope; --user, --agent and --session say whose memory is asked")
        return
    if found.is_fallback:
        note("nothing matched; this is general background: the most important memories")
    rows = [
        item_row(
            hit.item,
            str(rank),
            f"{hit.score:.2f}",
            why=explanation(hit) if is_explained else "",
            remark="general background" if hit.is_fallback else "",
        )
        for rank, hit in enumerate(found.hits, start=1)
    ]
    show_rows(("#", "score"), rows)
    for path in found.paths:
        note(" – ".join(one_line(node.name) for node in path.nodes))
        names = {node.id: node.name for node in path.nodes}
        show_rows(("from", "relation", "to"), [edge_row(edge, names) for edge in path.edges])


def explanation(hit: Hit) -> str:
    """The parts of a score, which add up to it, similarity and relevance, and what a memory brings along."""
    parts = " + ".join(f"{c.feature} {c.points:.2f}" for c in hit.contributions)
    similarity = "" if hit.similarity is None else f"; similarity {hit.similarity:.2f}"
    relevance = "" if hit.relevance is None else f"; relevance {hit.relevance:.2f}"
    memory = (
        f"; importance {hit.item.importance:.2f}, accesses {hit.item.access_count}"
        if isinstance(hit.item, Memory)
        else ""
    )
    return f"{hit.score:.2f} = {parts}{similarity}{relevance}{memory}"


def level_limit(text: str) -> tuple[str, int]:
    """A level and its cap, from `user=3`. Raises `InvalidInputError`."""
    level, _, count = text.partition("=")
    if not count.isdecimal():
        raise InvalidInputError(f"--level-limit {text!r} must look like user=3")
    return level, int(count)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    examples = """
        mnemic recall --user ana "what should the editor look like?"
        mnemic recall --user ana "coding project" --explain --limit 10
        mnemic recall --user ana "deadlines" --kind goal --kind event --json
        mnemic recall --user ana "notice period" --kind document    # passages, with their page
        mnemic recall --user ana ""     # general background: the most important memories
        mnemic recall --user ana "How does Project X relate to Policy Y?" --hops 2     # after `mnemic graph extract`
    """
    command(app, "recall", examples=examples)(ask)
