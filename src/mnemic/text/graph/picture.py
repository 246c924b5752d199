"""Draws the graph: text lines, a tree, DOT, Mermaid, SVG, and a self-contained HTML page. Names are untrusted. Each
form escapes its own delimiters, so a name can neither draw nor run anything. No picture loads external resources.
"""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mnemic.model.graph import Edge, EntityType, Node
from mnemic.text.normalise import stored_texts
from mnemic.text.sanitise import one_line

MOST_LABEL_CHARACTERS = 60  # longer labels overlap their neighbours
_SIZE = 900  # units of the view box; the picture scales to any size
_RADIUS = 330  # of the outer ring: leaves room for labels within the view box
_ALONE = 60  # extra radius of a single ring
_FIRST_RING = 12  # nodes of the inner ring before their labels overlap
_COLOURS: Mapping[EntityType, str] = {
    EntityType.PERSON: "#2a6f97",
    EntityType.PROJECT: "#bc6c25",
    EntityType.TECHNOLOGY: "#386641",
    EntityType.PLACE: "#7b2cbf",
    EntityType.ORGANISATION: "#9d0208",
    EntityType.POLICY: "#6c584c",
    EntityType.PRODUCT: "#0077b6",
    EntityType.EVENT: "#b5179e",
    EntityType.THING: "#495057",
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing: nodes, the first one in the centre, and edges between them."""

    title: str
    nodes: Sequence[Node]
    edges: Sequence[Edge]


def edge_lines(nodes: Sequence[Node], edges: Sequence[Edge]) -> list[str]:
    """Each edge on one line, with its latest evidence."""
    names = {node.id: _label(node.name) for node in nodes}
    return [
        f"{names[edge.source_id]} {spoken(edge.type)} {names[edge.target_id]}{_quoted(edge)}"
        for edge in edges
        if edge.source_id in names and edge.target_id in names
    ]


def spoken(type_: str) -> str:
    """A relation type in words."""
    return type_.lower().replace("_", " ")


def tree(nodes: Sequence[Node], edges: Sequence[Edge]) -> list[str]:
    """A tree from the first node, as lines. A node shown further up is not expanded again."""
    if not nodes:
        return []
    names, around = {node.id: node for node in nodes}, _around(edges)
    lines, opened, told = [_describe_node(nodes[0])], {nodes[0].id}, set[tuple[str, str, str]]()
    stack = _branches(nodes[0].id, around, "")
    while stack:
        at, edge, margin, is_last = stack.pop()
        other = edge.target_id if edge.source_id == at else edge.source_id
        key = (edge.source_id, edge.target_id, edge.type)
        if other not in names or key in told:
            continue
        told.add(key)
        arrow = f"{spoken(edge.type)} →" if edge.source_id == at else f"← {spoken(edge.type)}"
        lines.append(f"{margin}{'└─' if is_last else '├─'} {arrow} {_describe_node(names[other])}")
        if other not in opened:
            opened.add(other)
            stack += _branches(other, around, margin + ("   " if is_last else "│  "))
    return lines


def _branches(at: str, around: Mapping[str, Sequence[Edge]], margin: str) -> list[tuple[str, Edge, str, bool]]:
    """The edges at a node in reverse order, for a stack; the last one is marked for drawing."""
    return [(at, edge, margin, place == 0) for place, edge in enumerate(reversed(around.get(at, ())))]


def dot(picture: Picture) -> str:
    """The picture in Graphviz DOT."""
    places = {node.id: f"n{place}" for place, node in enumerate(picture.nodes)}
    lines = [f"  {places[node.id]} [label={_dot_text(_label(node.name))}];" for node in picture.nodes]
    lines += [
        f"  {places[edge.source_id]} -> {places[edge.target_id]} [label={_dot_text(spoken(edge.type))}];"
        for edge in _known(picture)
    ]
    return "\n".join([f"digraph {_dot_text(_label(picture.title))} {{", *lines, "}", ""])


def mermaid(picture: Picture) -> str:
    """The picture in Mermaid."""
    places = {node.id: f"n{place}" for place, node in enumerate(picture.nodes)}
    lines = [f'  {places[node.id]}["{_entities(_label(node.name))}"]' for node in picture.nodes]
    lines += [
        f'  {places[edge.source_id]} -- "{_entities(spoken(edge.type))}" --> {places[edge.target_id]}'
        for edge in _known(picture)
    ]
    return "\n".join(["graph LR", *lines, ""])


def svg(picture: Picture) -> str:
    """The picture as SVG: the first node in the centre, the others in rings around it."""
    at = _positions(picture.nodes)
    parts: list[str] = []
    for edge in _known(picture):
        (x1, y1), (x2, y2) = at[edge.source_id], at[edge.target_id]
        parts.append(
            f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="#adb5bd" '
            'marker-end="url(#arrow)"/>'
            f'<text x="{(x1 + x2) / 2:.0f}" y="{(y1 + y2) / 2:.0f}" font-size="11" fill="#6c757d" '
            f'text-anchor="middle">{html.escape(spoken(edge.type))}</text>'
        )
    for node in picture.nodes:
        x, y = at[node.id]
        parts.append(
            f'<g><title>{html.escape(_describe_node(node))}</title><circle cx="{x:.0f}" cy="{y:.0f}" r="9" '
            f'fill="{_COLOURS[node.type]}"/><text x="{x:.0f}" y="{y - 14:.0f}" font-size="13" text-anchor="middle">'
            f"{html.escape(_label(node.name))}</text></g>"
        )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIZE} {_SIZE}" font-family="sans-serif">'
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="20" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L10 5L0 10z" fill="#adb5bd"/></marker></defs>'
    )
    return head + "".join(parts) + "</svg>\n"


def page(picture: Picture) -> str:
    """An HTML page with the picture and the evidence of each relation; without scripts or external resources."""
    names = {node.id: _label(node.name) for node in picture.nodes}
    rows = [
        f"<tr><td>{html.escape(names[edge.source_id])}</td><td>{html.escape(spoken(edge.type))}</td>"
        f"<td>{html.escape(names[edge.target_id])}</td><td>{_cited(edge)}</td></tr>"
        for edge in _known(picture)
    ]
    return stored_texts(__name__)["page"].format(
        title=html.escape(_label(picture.title)), picture=svg(picture), rows="\n".join(rows)
    )


def _cited(edge: Edge) -> str:
    return "<br>".join(f"<q>{html.escape(_shown(citation.text))}</q>" for citation in edge.citations if citation.text)


def _known(picture: Picture) -> list[Edge]:
    ids = {node.id for node in picture.nodes}
    return [edge for edge in picture.edges if edge.source_id in ids and edge.target_id in ids]


def _around(edges: Sequence[Edge]) -> dict[str, list[Edge]]:
    around: dict[str, list[Edge]] = {}
    for edge in edges:
        for end in (edge.source_id, edge.target_id):
            around.setdefault(end, []).append(edge)
    return around


def _positions(nodes: Sequence[Node]) -> dict[str, tuple[float, float]]:
    """Positions: the first in the centre, then rings of 12, 24, ..."""
    centre = _SIZE / 2
    at = {node.id: (centre, centre) for node in nodes[:1]}
    rest, rings = [*nodes[1:]], list[list[Node]]()
    while rest:
        size = _FIRST_RING * (len(rings) + 1)
        rings.append(rest[:size])
        rest = rest[size:]
    for number, ring in enumerate(rings, start=1):
        radius = _RADIUS * number / len(rings) + _ALONE * (len(rings) == 1)
        for place, node in enumerate(ring):
            angle = 2 * math.pi * place / len(ring) + number
            at[node.id] = (centre + radius * math.cos(angle), centre + radius * math.sin(angle))
    return at


def _describe_node(node: Node) -> str:
    return f"{_label(node.name)} ({node.type.value})"


def _label(name: str) -> str:
    shown = _shown(name)
    return shown if len(shown) <= MOST_LABEL_CHARACTERS else shown[: MOST_LABEL_CHARACTERS - 1] + "…"


def _shown(text: str) -> str:
    """Text on one line, without invisible characters and changes of writing direction."""
    return "".join(character for character in one_line(text) if character.isprintable())


def _quoted(edge: Edge) -> str:
    said = next((citation.text for citation in edge.citations if citation.text), "")
    return f" (“{_shown(said)}”)" if said else ""


def _dot_text(text: str) -> str:
    """A quoted DOT text, in which a backslash starts an escape."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _entities(text: str) -> str:
    """A quoted Mermaid text, which may hold HTML: all but letters, digits and blanks as entities."""
    return "".join(c if c.isalnum() or c == " " else f"#{ord(c)};" for c in text)
