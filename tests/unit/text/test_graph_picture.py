"""Pictures of the graph: whole, and harmless whatever a thing is called."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from mnemic.model.graph import Citation, Edge, EntityType, Node
from mnemic.text.graph.picture import Picture, dot, edge_lines, mermaid, page, svg, tree

HOSTILE = (
    "</text><script>alert(1)</script>",
    '"]; n0 -> evil; "',
    "a\\",
    'x" onload="alert(1)',
    "line\nbreak\u2028and\u202eturn",
    "]]> --> <!--",
    'click n0 "javascript:alert(1)"',
    "&lt;b&gt;",
    "#35;quot;",
)


def graph(*names: str) -> Picture:
    nodes = [Node(id=str(place), name=name, type=EntityType.THING) for place, name in enumerate(names)]
    said = [Citation("m1", 0, 5, f"{name} is said") for name in names]
    edges = [
        Edge(source_id="0", target_id=node.id, type="DEPENDS_ON", weight=1.0, citations=(said[place],))
        for place, node in enumerate(nodes)
        if place
    ]
    return Picture(names[0], nodes, edges)


@pytest.mark.requirement("P-26")
@pytest.mark.parametrize("name", HOSTILE)
class TestHostileNames:
    def test_svg_is_well_formed_and_runs_nothing(self, name: str):
        root = ET.fromstring(svg(graph("Middle", name)))  # noqa: S314 -- our own output
        tags = {each.tag.rpartition("}")[2] for each in root.iter()}
        assert tags <= {"svg", "defs", "marker", "path", "line", "text", "g", "title", "circle"}
        assert not [key for each in root.iter() for key in each.attrib if key.startswith("on") or "href" in key]

    def test_a_page_runs_and_loads_nothing(self, name: str):
        drawn = page(graph(name, "Other"))
        assert "default-src 'none'" in drawn
        assert not re.search(r"<script|<img|<iframe|<link|\son\w+=\"|src=|href=", drawn, re.IGNORECASE)

    def test_dot_has_one_statement_a_line(self, name: str):
        lines = dot(graph("Middle", name)).splitlines()
        quoted = r'"(?:[^"\\]|\\.)*"'
        assert len(lines) == 5
        assert all(re.fullmatch(rf"  n\d(?: -> n\d)? \[label={quoted}\];", line) for line in lines[1:-1])
        assert re.fullmatch(rf"digraph {quoted} {{", lines[0])

    def test_mermaid_has_one_statement_a_line(self, name: str):
        lines = mermaid(graph("Middle", name)).splitlines()
        assert len(lines) == 4
        assert re.fullmatch(r'  n1\["[^"\]<>&]*"\]', lines[2])

    def test_a_tree_and_lines_hold_no_controls(self, name: str):
        drawn = graph("Middle", name)
        told = "".join([*tree(drawn.nodes, drawn.edges), *edge_lines(drawn.nodes, drawn.edges)])
        assert not re.search("[\x00-\x1f\x7f\u2028]", told)


class TestTrees:
    def test_every_edge_is_told_once_in_circles_too(self):
        nodes = [Node(id=each, name=each.upper(), type=EntityType.THING) for each in "abc"]
        pairs = ("ab", "bc", "ca")
        edges = [Edge(source_id=one, target_id=other, type="USES", weight=1.0) for one, other in pairs]
        lines = tree(nodes, edges)
        assert lines[0] == "A (thing)"
        assert len(lines) == 1 + len(edges)

    def test_nothing_is_no_lines(self):
        assert tree([], []) == []
        assert edge_lines([], []) == []

    def test_many_nodes_have_places_of_their_own(self):
        drawn = svg(graph(*(f"n{number}" for number in range(60))))
        places = re.findall(r'<circle cx="(\d+)" cy="(\d+)"', drawn)
        assert len(set(places)) == len(places) == 60
