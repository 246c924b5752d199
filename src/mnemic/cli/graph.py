"""`mnemic graph …`: named things, what stands around them, how they are related, and pictures of that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli import output
from mnemic.cli.commands import Arguments, command, verb_command
from mnemic.cli.options import ScopeOptions
from mnemic.errors import InvalidInputError

if TYPE_CHECKING:
    from mnemic.api import Mnemic
    from mnemic.model.graph import Edge, GraphPath, GraphReport, Neighbourhood, Node, NodePage
    from mnemic.model.scope import Scope
    from mnemic.text.graph.picture import Picture

MOST_DRAWN = 200
"""Things in one picture; with more, no name can be read."""

FORMS = (".html", ".svg", ".dot", ".mermaid")
_EMPTY = "the graph is empty; run `mnemic graph extract` to build it"


@verb_command("graph entities")
def entities(page: NodePage) -> None:
    """List people, projects, technologies, places and other named entities, sorted by name."""
    output.show_rows(("type", "named in"), [_format_node(node) for node in page.nodes], _EMPTY)
    if page.next is not None:
        output.note(f"more results are available; continue with --after {output.one_line(page.next)!r}")


@verb_command("graph neighbours")
def neighbours(around: Neighbourhood) -> None:
    """Show an entity and everything related to it as a tree, with citations."""
    _show_tree((around.start, *around.nodes), around.edges)
    if around.is_cut:
        output.note("more results are available; raise --limit to show them")


@verb_command("graph path")
def path(found: GraphPath) -> None:
    """Show how two entities are related, step by step, with citations."""
    if not found.nodes:
        output.note("no known path connects them" + ("; the search was limited" if found.is_cut else ""))
        return
    names = {node.id: node.name for node in found.nodes}
    rows = [output.format_edge(edge, names) for edge in found.edges]
    output.show_rows(("from", "relation", "to"), rows, "both names refer to the same entity")


@verb_command("graph correct")
def correct(node: Node, arguments: Arguments) -> None:
    """Rename, retype, merge or remove an entity, or remove a relation. `graph undo` reverts the correction."""
    output.show_rows(("type", "named in"), [_format_node(node)])
    removed = "relation removed" if "target" in arguments else "entity removed"
    done = removed if arguments.get("is_removed") else "entity corrected"
    output.note(f"{done}; `mnemic graph undo` reverts the correction")


@verb_command("graph undo")
def undo(nodes: list[Node]) -> None:
    """Revert the last correction of an entity. Run the command again to revert earlier corrections."""
    output.show_rows(("type", "named in"), [_format_node(node) for node in nodes])
    output.note("the correction is reverted" + ("" if nodes else "; no item mentions the entity any more"))


@verb_command("graph extract")
def extract(report: GraphReport) -> None:
    """Update the graph from unprocessed memories, messages and documents."""
    rows = [
        output.Row((e.kind.value,), "; ".join(map(" ".join, e.relations)) or ", ".join(e.names), (e.item_id,))
        for e in report.entries
    ]
    output.show_rows(("item",), rows)
    verb = "would be read" if report.is_dry_run else "read"
    mentions = output.format_count(report.mentions, "mentions")
    relations = output.format_count(report.relations, "relations")
    output.note(f"{output.format_count(report.items, 'items')} {verb}: {mentions}, {relations}")
    if not report.is_finished:
        output.note("more items remain; run the command again to continue")
    if any(entry.fallback for entry in report.entries):
        output.note("the language model failed, so rules processed some items")


@command("graph show")
def show(
    options: ScopeOptions,
    name: Annotated[str | None, typer.Argument(help="The entity to start from. Default: the whole graph.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write an .html, .svg, .dot or .mermaid file. Default: draw in the terminal."),
    ] = None,
    depth: Annotated[int, typer.Option("--depth", help="Maximum relations to follow, 1 to 4.", min=1, max=4)] = 2,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="Show the graph as of this time, for example 2026-05-01.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="Maximum number of entities.", min=1, max=1000)
    ] = MOST_DRAWN,
) -> None:
    """Draw the graph, or one entity and its relations, as a tree in the terminal or in a self-contained file."""
    from mnemic.text.graph import picture

    if out is not None and out.suffix.lower() not in FORMS:
        raise InvalidInputError(f"--out must end in {', '.join(FORMS)}, not {out.suffix!r}")
    with options.open() as mnemic:
        drawn = _build_picture(mnemic, options.scope, name, depth=depth, as_of=as_of, limit=limit)
    if options.as_json:
        output.show_json({"title": drawn.title, "nodes": drawn.nodes, "edges": drawn.edges})
        return
    if not drawn.nodes:
        output.note(_EMPTY)
        return
    if out is None:
        _show_forest(drawn)
        return
    forms = (picture.page, picture.svg, picture.dot, picture.mermaid)
    draw = forms[FORMS.index(out.suffix.lower())]
    out.write_text(draw(drawn), "utf-8")
    things = output.format_count(len(drawn.nodes), "entities")
    relations = output.format_count(len(drawn.edges), "relations")
    output.note(f"drew {things} and {relations} in {out}")


def _build_picture(
    mnemic: Mnemic, scope: Scope, name: str | None, *, depth: int, as_of: str | None, limit: int
) -> Picture:
    """A thing and what is related to it. Without a name, the best-connected things."""
    from mnemic.text.graph.picture import Picture

    if name is not None:
        around = mnemic.graph.neighbours(scope, name, depth=depth, as_of=as_of, limit=limit)
        return Picture(around.start.name, (around.start, *around.nodes), around.edges)
    whole = mnemic.graph.overview(scope, as_of=as_of, limit=limit)
    return Picture("Graph", whole.nodes, whole.edges)


def _show_tree(nodes: tuple[Node, ...], edges: tuple[Edge, ...]) -> None:
    from mnemic.text.graph.picture import edge_lines, tree

    lines = tree(nodes, edges) if output.is_terminal() else edge_lines(nodes, edges)
    for line in lines or [nodes[0].name]:
        output.write(output.escape_controls(line))


def _show_forest(drawn: Picture) -> None:
    """Shows one tree for each connected part."""
    from mnemic.text.graph.picture import tree

    left = {node.id: node for node in drawn.nodes}
    while left:
        first = next(iter(left.values()))
        group, frontier = {first.id}, [first.id]
        while frontier:
            at = frontier.pop()
            ends = [end for e in drawn.edges if at in (e.source_id, e.target_id) for end in (e.source_id, e.target_id)]
            fresh = [end for end in ends if end in left and end not in group]
            group.update(fresh)
            frontier += fresh
        nodes = [node for node in left.values() if node.id in group]
        for line in tree(nodes, drawn.edges):
            output.write(output.escape_controls(line))
        left = {key: node for key, node in left.items() if key not in group}


def _format_node(node: Node) -> output.Row:
    others = (f"also {', '.join(node.other_names)}",) if node.other_names else ()
    return output.Row((node.type.value, str(node.mentions)), node.name, (node.id, *others), node.description)
