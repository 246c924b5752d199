// A drawing of names and what relates them, and the same as a table with the words that say so.

import { address, el, link, said, svg } from "./dom.js";
import { moment, number, words } from "./format.js";
import { placed } from "./layout.js";
import { table } from "./parts.js";

const WIDTH = 860;
const HEIGHT = 520;

// A way from one name to another: drawn, and step by step.
export function way(path) {
  const known = new Map(path.nodes.map((node) => [node.id, node]));
  return [picture(path.nodes, path.edges), relations(path.edges, known)];
}

export function picture(nodes, edges) {
  const places = placed(
    nodes.map((node) => node.id),
    edges.map((edge) => [edge.source_id, edge.target_id]),
    WIDTH,
    HEIGHT,
  );
  const strokes = edges.map((edge) => {
    const [a, b] = [places.get(edge.source_id), places.get(edge.target_id)];
    return svg(
      "g",
      { class: "edge" },
      svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, "marker-end": "url(#arrow)" }),
      svg(
        "text",
        { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 - 4, "text-anchor": "middle" },
        words(edge.type.toLowerCase()),
      ),
    );
  });
  const dots = nodes.map((node, at) => {
    const { x, y } = places.get(node.id);
    return svg(
      "a",
      {
        href: address("graph", { name: node.id }),
        class: at ? "node" : "node start",
        "aria-label": `${node.name}, ${node.type}`,
      },
      svg("circle", { cx: x, cy: y, r: at ? 9 : 13, class: node.type }),
      svg("text", { x, y: y + (at ? 24 : 29), "text-anchor": "middle" }, short(node.name)),
    );
  });
  return el(
    "div",
    { class: "scrolls" },
    svg(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        class: "graph",
        role: "group",
        "aria-label": "Names and relations; the table below says the same",
      },
      svg(
        "defs",
        {},
        svg(
          "marker",
          { id: "arrow", viewBox: "0 0 10 10", refX: 22, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto" },
          svg("path", { d: "M0 0L10 5L0 10z" }),
        ),
      ),
      strokes,
      dots,
    ),
  );
}

function short(name) {
  const characters = [...name.replace(/[\p{Cc}\p{Cf}]/gu, "")];
  return characters.length > 24 ? `${characters.slice(0, 23).join("")}…` : characters.join("");
}

export function relations(edges, known) {
  const name = (id) => (known.has(id) ? link("graph", { name: id }, said(known.get(id).name, { most: 60 })) : "—");
  return table(
    "Relations, with the words that say so",
    ["from", "relation", "to", "weight", "since", "said by"],
    edges.map((edge) => [
      name(edge.source_id),
      words(edge.type.toLowerCase()),
      name(edge.target_id),
      number(edge.weight),
      edge.valid_from ? moment(edge.valid_from) : "—",
      edge.citations.slice(0, 3).map((each) => el("div", {}, cited(each))),
    ]),
  );
}

function cited(citation) {
  const text = citation.text ?? citation.snippet ?? citation.source ?? "source";
  return citation.item_id ? link(`item/${citation.item_id}`, {}, said(text, { most: 160 })) : said(text, { most: 160 });
}
