"""The graph on the command line: what is named, what stands around it, how two things are related, and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.options import command
from mnemic.cli.output import Row, edge_row, is_terminal, note, one_line, printable, show_json, show_rows, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import InvalidInputError
from mnemic.model.graph import Edge, EntityType, Node
from mnemic.model.scope import Level

if TYPE_CHECKING:
    from mnemic.api import Mnemic
    from mnemic.text.graph.picture import Picture

Name = Annotated[str, typer.Argument(help="Its name, or the id of its node.")]
Depth = Annotated[int, typer.Option("--depth", help="How many relations away, 1 to 4.", min=1, max=4)]
Types = Annotated[list[str] | None, typer.Option("--type", help="Only along relations of this type; may be repeated.")]
AsOf = Annotated[str | None, typer.Option("--as-of", help="As it was at this time, such as 2026-05-01.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="At most so many things.", min=1, max=1000)]
Levels = Annotated[
    list[Level] | None, typer.Option("--level", help="Only this level; may be repeated; all but org unless said.")
]
MOST_DRAWN = 200
FORMS = (".html", ".svg", ".dot", ".mermaid")


def entities(
    asking: ScopeOptions,
    query: Annotated[str, typer.Argument(help="What its name holds; everything unless said.")] = "",
    types: Annotated[
        list[EntityType] | None, typer.Option("--type", help="Only of this type; may be repeated.")
    ] = None,
    limit: Limit = 50,
    after: Annotated[str | None, typer.Option("--after", help="Go on behind this name.")] = None,
) -> None:
    """List people, projects, technologies, places and other things that are named, by name."""
    with asking.open() as mnemic:
        page = mnemic.graph.entities(asking.scope, query, types=types or (), limit=limit, after=after)
    if asking.as_json:
        show_json(page)
        return
    if page.nodes:
        show_rows(("type", "named in"), [_row(node) for node in page.nodes])
    else:
        note("nothing is named; `mnemic graph extract` reads what is unread")
    if page.next is not None:
        note(f"there is more: --after {one_line(page.next)!r}")


def neighbours(
    name: Name,
    asking: ScopeOptions,
    depth: Depth = 1,
    types: Types = None,
    as_of: AsOf = None,
    limit: Limit = 50,
) -> None:
    """Show what stands around a thing as a tree, with the words that say so."""
    with asking.open() as mnemic:
        around = mnemic.graph.neighbours(asking.scope, name, depth=depth, types=types or (), as_of=as_of, limit=limit)
    if asking.as_json:
        show_json(around)
        return
    _show_tree((around.start, *around.nodes), around.edges)
    if around.is_cut:
        note("there is more than is shown")


def path(
    source: Annotated[str, typer.Argument(help="The name of one thing.")],
    target: Annotated[str, typer.Argument(help="The name of the other.")],
    asking: ScopeOptions,
    max_hops: Annotated[int, typer.Option("--max-hops", help="At most so many relations, 1 to 8.", min=1, max=8)] = 4,
    types: Types = None,
    as_of: AsOf = None,
) -> None:
    """Show how two things are related, step by step, with the words that say so."""
    with asking.open() as mnemic:
        found = mnemic.graph.path(asking.scope, source, target, max_hops=max_hops, types=types or (), as_of=as_of)
    if asking.as_json:
        show_json(found)
        return
    if not found.nodes:
        note("no way between them is known" + ("; not everything was looked at" if found.is_cut else ""))
        return
    names = {node.id: node.name for node in found.nodes}
    rows = [edge_row(edge, names) for edge in found.edges]
    if rows:
        show_rows(("from", "relation", "to"), rows)
    else:
        note("both are names of one thing")


def extract(
    asking: ScopeOptions,
    levels: Levels = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help="At most so many items.", min=1)] = None,
    is_dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be read, and change nothing.")] = False,
) -> None:
    """Read what memories, messages and documents name and relate, as far as it was not read yet."""
    from mnemic.engine.export import OWN_LEVELS

    with asking.open() as mnemic:
        report = mnemic.graph.extract(asking.scope, levels=levels or OWN_LEVELS, limit=limit, is_dry_run=is_dry_run)
    if asking.as_json:
        show_json(report)
        return
    rows = [
        Row((entry.kind.value,), one_line(_told(entry.names, entry.relations)), (entry.item_id,))
        for entry in report.entries
    ]
    if rows:
        show_rows(("item",), rows)
    verb = "would be read" if report.is_dry_run else "read"
    note(f"{report.items:,} items {verb}: {report.mentions:,} mentions, {report.relations:,} relations")
    if not report.is_finished:
        note("there is more to read")
    if any(entry.fallback for entry in report.entries):
        note("some were read by rules, because the language model failed")


def show(
    asking: ScopeOptions,
    name: Annotated[str | None, typer.Argument(help="The thing in the middle; all of the graph unless said.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A file .html, .svg, .dot or .mermaid; a tree unless said.")
    ] = None,
    depth: Depth = 2,
    as_of: AsOf = None,
    limit: Limit = MOST_DRAWN,
) -> None:
    """Draw the graph, or what stands around a thing: a tree in the terminal, or a file that needs nothing else."""
    from mnemic.text.graph import picture

    if out is not None and out.suffix.lower() not in FORMS:
        raise InvalidInputError(f"--out must end in {', '.join(FORMS)}, not in {out.suffix!r}")
    with asking.open() as mnemic:
        drawn = _picture(mnemic, asking, name, depth, as_of, limit)
    if asking.as_json:
        show_json({"title": drawn.title, "nodes": drawn.nodes, "edges": drawn.edges})
        return
    if not drawn.nodes:
        note("there is nothing to draw; `mnemic graph extract` reads what is unread")
        return
    if out is None:
        _show_forest(drawn)
        return
    forms = (picture.page, picture.svg, picture.dot, picture.mermaid)
    draw = forms[FORMS.index(out.suffix.lower())]
    out.write_text(draw(drawn), "utf-8")
    note(f"{len(drawn.nodes)} things and {len(drawn.edges)} relations drawn in {out}")


def _picture(
    mnemic: Mnemic, asking: ScopeOptions, name: str | None, depth: int, as_of: str | None, limit: int
) -> Picture:
    """What is around a thing; without one, what is around every thing, those that most items name first."""
    from mnemic.text.graph.picture import Picture

    if name is not None:
        around = mnemic.graph.neighbours(asking.scope, name, depth=depth, as_of=as_of, limit=limit)
        return Picture(around.start.name, (around.start, *around.nodes), around.edges)
    page = mnemic.graph.entities(asking.scope, limit=1000)
    nodes, edges = dict[str, Node](), dict[tuple[str, str, str], Edge]()
    for node in sorted(page.nodes, key=lambda node: -node.mentions):
        if len(nodes) >= limit:
            break
        if node.id not in nodes:
            around = mnemic.graph.neighbours(asking.scope, node.id, depth=depth, as_of=as_of, limit=limit)
            nodes |= {each.id: each for each in (around.start, *around.nodes) if len(nodes) < limit}
            edges |= {(edge.source_id, edge.target_id, edge.type): edge for edge in around.edges}
    kept = [edge for edge in edges.values() if edge.source_id in nodes and edge.target_id in nodes]
    return Picture("Graph", [*nodes.values()][:limit], kept)


def _show_tree(nodes: tuple[Node, ...], edges: tuple[Edge, ...]) -> None:
    from mnemic.text.graph.picture import edge_lines, tree

    lines = tree(nodes, edges) if is_terminal() else edge_lines(nodes, edges)
    for line in lines or [nodes[0].name]:
        write(printable(line))


def _show_forest(drawn: Picture) -> None:
    """One tree for each part that hangs together."""
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
            write(printable(line))
        left = {key: node for key, node in left.items() if key not in group}


def _row(node: Node) -> Row:
    others = (f"also {', '.join(one_line(name) for name in node.other_names)}",) if node.other_names else ()
    return Row(
        (node.type.value, str(node.mentions)), one_line(node.name), (node.id, *others), one_line(node.description)
    )


def _told(names: tuple[str, ...], relations: tuple[tuple[str, str, str], ...]) -> str:
    said = [f"{source} {type_} {target}" for source, type_, target in relations]
    return "; ".join(said) if said else ", ".join(names)


def register(app: typer.Typer) -> None:
    """Adds the commands to the group."""
    command(app, "entities", examples="mnemic graph entities --user ana --type person")(entities)
    examples = 'mnemic graph neighbours --user ana "Project X"\nmnemic graph neighbours --user ana Redis --depth 2'
    command(app, "neighbours", examples=examples)(neighbours)
    command(app, "path", examples='mnemic graph path --user ana "Project X" "Policy Y"')(path)
    examples = "mnemic graph extract --user ana --dry-run\nmnemic graph extract --user ana --level user --level org"
    command(app, "extract", examples=examples)(extract)
    examples = 'mnemic graph show --user ana\nmnemic graph show --user ana "Project X" --out graph.html'
    command(app, "show", examples=examples)(show)
