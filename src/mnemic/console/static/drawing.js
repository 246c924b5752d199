// Drawings of names and what relates them: a web of many, and the way from one to another; and the same as a table with its sentences.

import { address, el, link, said, svg } from "./dom.js";
import { count, moment, number, words } from "./format.js";
import { label, place, take } from "./layout.js";
import { table } from "./parts.js";

const STEP = 64;
const FEW = 24; // with fewer relations, all are named; with more, those of the chosen name

/** A way from one name to another: drawn, and step by step. */
export function way(path) {
  const known = new Map(path.nodes.map((node) => [node.id, node]));
  return [chain(path), relations(path.edges, known)];
}

/** The names of a way below each other: readable at any width. */
function chain({ nodes, edges }) {
  const height = STEP * (nodes.length - 1) + 40;
  const steps = edges.map((edge, at) => {
    const y = 20 + STEP * at;
    const isDown = edge.source_id === nodes[at].id;
    const [from, to] = isDown ? [y + 12, y + STEP - 14] : [y + STEP - 12, y + 14];
    return svg(
      "g",
      { class: "edge near" },
      svg("line", { x1: 24, y1: from, x2: 24, y2: to, "marker-end": "url(#arrow)" }),
      svg("text", { x: 44, y: y + STEP / 2 + 4 }, words(edge.type.toLowerCase())),
    );
  });
  const dots = nodes.map((node, at) =>
    nodeLink(node, at === 0 ? "node start" : "node", [
      svg("circle", { cx: 24, cy: 20 + STEP * at, r: 10, class: node.type }),
      svg("text", { x: 44, y: 25 + STEP * at }, short(node.name)),
    ]),
  );
  return svg(
    "svg",
    {
      viewBox: `0 0 340 ${height}`,
      class: "graph way",
      role: "group",
      "aria-label": "The path. The table below shows the same relations",
    },
    svg("defs", {}, arrow()),
    steps,
    dots,
  );
}

/**
 * A drawing of many names. `chosen` is the id of the one whose relations are named; `onChoose(node)` hears a click or Enter,
 * `onEdge(edge)` a click on a relation, which the list beside offers to keyboards; `lit` is the one that was clicked.
 * Changes `x` and `y` of the nodes, so that drawing again with more of them moves little.
 */
export function web(d3, nodes, edges, { width, height, chosen, lit, fixed, onChoose, onEdge }) {
  const isNear = new Set([chosen]);
  for (const edge of edges) {
    if (edge.source_id === chosen) isNear.add(edge.target_id);
    if (edge.target_id === chosen) isNear.add(edge.source_id);
  }
  for (const node of nodes) {
    node.label = short(node.name);
    node.isFirst = chosen ? Number(isNear.has(node.id)) : 0;
  }
  const isPlaced = nodes.every((node) => node.r !== undefined);
  if (!isPlaced) place(d3, nodes, edges.map((edge) => [edge.source_id, edge.target_id]), { width, height, fixed });
  const frame = { width, height };
  const { places, taken } = label(nodes, frame);
  const known = new Map(nodes.map((node) => [node.id, node]));
  const nearFirst = [...edges].sort((a, b) => touches(b, chosen) - touches(a, chosen));
  const strokes = nearFirst.map((edge) => stroke(edge, known, { chosen, lit, taken, frame, isNamed: edges.length <= FEW, onEdge }));
  const dots = nodes.map((node) => {
    const at = places.get(node.id);
    const state = node.id === chosen ? "start" : chosen && !isNear.has(node.id) ? "far" : "";
    return nodeLink(
      node,
      `node ${state}`,
      [
        svg("circle", { cx: node.x, cy: node.y, r: node.r, class: node.type }),
        svg("title", {}, `${short(node.name)}, ${node.type}, ${count(node.mentions, "mention")}`),
        at ? svg("text", { x: at.x, y: at.y, "text-anchor": at.anchor }, node.label) : null,
      ],
      onChoose,
    );
  });
  return svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      class: "graph",
      role: "group",
      "aria-label": "Names and relations. The list next to the drawing shows the same",
    },
    svg("defs", {}, arrow()),
    strokes.reverse(),
    dots,
  );
}

const touches = (edge, id) => Number(edge.source_id === id || edge.target_id === id);

function stroke(edge, known, { chosen, lit, taken, frame, isNamed, onEdge }) {
  const [a, b] = [known.get(edge.source_id), known.get(edge.target_id)];
  const long = Math.max(Math.hypot(b.x - a.x, b.y - a.y), 1);
  const [dx, dy] = [(b.x - a.x) / long, (b.y - a.y) / long];
  const near = edge === lit || touches(edge, chosen) === 1;
  const text = words(edge.type.toLowerCase());
  const [x, y] = [(a.x + b.x) / 2, (a.y + b.y) / 2 + 4];
  const hasRoom = (near || (isNamed && !chosen)) && long > 50 && take(taken, x, y, text, frame);
  const ends = { x1: a.x + dx * a.r, y1: a.y + dy * a.r, x2: b.x - dx * (b.r + 3), y2: b.y - dy * (b.r + 3) };
  return svg(
    "g",
    { class: near ? "edge near" : chosen ? "edge far" : "edge", onclick: onEdge ? () => onEdge(edge) : null },
    svg("line", { ...ends, class: "reach" }),
    svg("line", {
      ...ends,
      "stroke-width": Math.min(1 + Math.log2(Math.max(edge.weight, 1)) / 2, 3),
      "marker-end": near || isNamed ? "url(#arrow)" : null,
    }),
    hasRoom ? svg("text", { x, y, "text-anchor": "middle" }, text) : null,
  );
}

function nodeLink(node, kind, parts, onChoose) {
  return svg(
    "a",
    {
      href: address("graph", { name: node.id }),
      class: kind,
      "data-id": node.id,
      "aria-label": `${node.name}, ${node.type}`,
      onclick: onChoose
        ? (event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            onChoose(node);
          }
        : null,
    },
    parts,
  );
}

function arrow() {
  return svg(
    "marker",
    {
      id: "arrow",
      viewBox: "0 0 10 10",
      refX: 9,
      refY: 5,
      markerWidth: 8,
      markerHeight: 8,
      orient: "auto",
      markerUnits: "userSpaceOnUse",
    },
    svg("path", { d: "M0 0L10 5L0 10z" }),
  );
}

function short(name) {
  const characters = [...name.replace(/[\p{Cc}\p{Cf}]/gu, "")];
  return characters.length > 24 ? `${characters.slice(0, 23).join("")}…` : characters.join("");
}

export function relations(edges, known) {
  const name = (id) => (known.has(id) ? link("graph", { name: id }, said(known.get(id).name, { most: 60 })) : "—");
  return table(
    "Relations and the sentences that state them",
    ["from", "relation", "to", "weight", "since", "stated in"],
    edges.map((edge) => [
      name(edge.source_id),
      words(edge.type.toLowerCase()),
      name(edge.target_id),
      number(edge.weight),
      edge.valid_from ? moment(edge.valid_from) : "—",
      sentences(edge),
    ]),
  );
}

/** The sentences that state a relation, each linked to its item. */
export function sentences(edge) {
  const first = new Map();
  for (const each of edge.citations) if (!first.has(textOf(each))) first.set(textOf(each), each);
  return [...first.values()].slice(0, 3).map((each) => el("div", {}, cited(each)));
}

const textOf = (citation) => citation.text ?? citation.snippet ?? citation.source ?? "source";

function cited(citation) {
  const text = textOf(citation);
  return citation.item_id ? link(`item/${citation.item_id}`, {}, said(text, { most: 160 })) : said(text, { most: 160 });
}
