// What is named and how it is related: a drawing of the best-connected names, and of what stands around a chosen one.

import { get, post } from "../api.js";
import { address, el, link, put, said } from "../dom.js";
import { sentences, way, web } from "../drawing.js";
import { count, number, words } from "../format.js";
import { load } from "../layout.js";
import { button, choices, dialog, empty, field, fill, form, heading, notice, table } from "../parts.js";
import { ownLevels } from "../session.js";

const TYPES = ["person", "project", "technology", "place", "organisation", "policy", "product", "event", "thing"];
const AREA = 9000; // pixels for a name and its label
const FEWEST = 20;
const MOST = 120;
const AROUND = 40;
const MOST_SHOWN = 240;

export function page({ query, signal, go, again }) {
  const name = query.get("name");
  const drawing = el("section", { "aria-label": "Drawing" });
  const list = el("section", { "aria-label": "Names" });
  const isSearch = query.has("q") || query.has("types") || query.has("after");
  fill(list, () => drawList(query, signal, isSearch), signal);
  if (!isSearch) fill(drawing, () => drawWeb(name, Number(query.get("depth") ?? 1), signal), signal);
  const box = form(
    "Find a name",
    [
      el("div", { class: "row" }, field("Name contains", "q", { value: query.get("q") ?? "", type: "search" })),
      el(
        "details",
        { open: query.has("types") },
        el("summary", {}, "Types"),
        choices("Types (none: all)", "types", TYPES, query.getAll("types")),
      ),
    ],
    "Find",
    (given) =>
      go("graph", [...(given.q ? [["q", given.q]] : []), ...(given.types ?? []).map((type) => ["types", type])]),
    { class: "inline", beside: name || isSearch ? link("graph", {}, "Whole graph") : null },
  );
  return [
    heading(
      "Graph",
      button("How are two related?", () => askPath(signal)),
      button("Update graph", () => extract(again), { right: "write" }),
    ),
    box,
    drawing,
    list,
  ];
}

async function drawWeb(name, depth, signal) {
  const width = Math.max(document.getElementById("main").clientWidth - 40, 280);
  const isWide = width > 820;
  const frame = { width: isWide ? width - 340 : width, height: isWide ? 620 : Math.round(Math.min(width * 1.15, 560)) };
  const limit = Math.round(Math.min(Math.max((frame.width * frame.height) / AREA, FEWEST), MOST));
  const [d3, found] = await Promise.all([
    load(),
    name
      ? get("graph/neighbours", { name, depth, limit: Math.min(AROUND * depth, limit) }, { signal })
      : get("graph", { limit }, { signal }),
  ]);
  const start = found.start ?? null;
  const graph = new Graph(start ? [start, ...found.nodes] : found.nodes, found.edges);
  if (graph.nodes.size < FEWEST / 2) frame.height = Math.min(frame.height, 380);
  if (!graph.nodes.size) return null; // the list says what to do
  const about = el("aside", { class: "about-name", "aria-label": "Chosen name", "aria-live": "polite" });
  const picture = el("div", { class: "picture" });

  function draw(chosen) {
    const nodes = [...graph.nodes.values()];
    put(picture, web(d3, nodes, [...graph.edges.values()], { ...frame, chosen, fixed: start?.id, onChoose: choose }));
    put(about, chosen ? drawName(graph.nodes.get(chosen), graph, expand) : drawHints(graph, found.is_cut));
  }
  function choose(node) {
    draw(node.id);
    picture.querySelector(`[data-id="${CSS.escape(node.id)}"]`)?.focus();
  }
  async function expand(node) {
    const before = graph.nodes.size;
    const more = await get("graph/neighbours", { name: node.id, limit: AROUND }, { signal });
    graph.add([more.start, ...more.nodes], more.edges);
    notice(graph.nodes.size > before ? `${count(graph.nodes.size - before, "name")} added` : "There is no more around it");
    draw(node.id);
  }
  draw(start?.id ?? null);
  return [
    start ? steps(start, depth) : null,
    found.is_cut ? el("p", { class: "hint" }, `The ${number(graph.nodes.size, 0)} best-connected names are drawn.`) : null,
    el("div", { class: "graph-box" }, picture, about),
  ];
}

/** Nodes and relations by what identifies them, so that more can be added. */
class Graph {
  constructor(nodes, edges) {
    this.nodes = new Map();
    this.edges = new Map();
    this.add(nodes, edges);
  }

  add(nodes, edges) {
    let isNew = false;
    for (const node of nodes)
      if (!this.nodes.has(node.id) && this.nodes.size < MOST_SHOWN) {
        this.nodes.set(node.id, { ...node });
        isNew = true;
      }
    for (const edge of edges)
      if (this.nodes.has(edge.source_id) && this.nodes.has(edge.target_id))
        this.edges.set([edge.source_id, edge.type, edge.target_id].join("\n"), edge);
    return isNew;
  }

  /** The relations of a name, the heaviest first. */
  of(id) {
    return [...this.edges.values()]
      .filter((edge) => edge.source_id === id || edge.target_id === id)
      .sort((a, b) => b.weight - a.weight);
  }
}

function steps(start, depth) {
  return el(
    "p",
    { class: "actions" },
    [1, 2, 3].map((each) =>
      el(
        "a",
        {
          class: "button",
          "aria-current": each === depth ? "true" : null,
          href: address("graph", { name: start.id, depth: each }),
        },
        count(each, "step"),
      ),
    ),
  );
}

function drawName(node, graph, expand) {
  const edges = graph.of(node.id);
  return [
    el("h2", {}, said(node.name, { most: 80 })),
    el(
      "p",
      { class: "about" },
      el("span", { class: `dot ${node.type}`, "aria-hidden": "true" }),
      ` ${node.type} · ${count(node.mentions, "mention")}`,
      node.other_names.length ? [" · also ", said(node.other_names.join(", "), { most: 120 })] : null,
    ),
    node.description ? el("p", {}, said(node.description)) : null,
    el(
      "div",
      { class: "actions" },
      button("Show more around it", () => expand(node)),
      link("graph", { name: node.id }, "Only this"),
      link("search", { q: node.name.slice(0, 200) }, "Search for it"),
    ),
    edges.length
      ? el(
          "ul",
          { class: "list relations" },
          edges.map((edge) => drawEdge(edge, node, graph)),
        )
      : el("p", { class: "hint" }, "Nothing is related to it. Relations come from sentences that name two things."),
  ];
}

/** A relation of the chosen name, and the sentences that state it. */
function drawEdge(edge, node, graph) {
  const isFrom = edge.source_id === node.id;
  const other = graph.nodes.get(isFrom ? edge.target_id : edge.source_id);
  const name = link("graph", { name: other.id }, said(other.name, { most: 60 }));
  const type = el("span", { class: "relation" }, words(edge.type.toLowerCase()));
  return el(
    "li",
    {},
    el("p", {}, isFrom ? [type, " ", name] : [name, " ", type, " this"]),
    el("div", { class: "quotes" }, sentences(edge)),
  );
}

function drawHints(graph) {
  const types = [...new Set([...graph.nodes.values()].map((node) => node.type))].sort();
  return [
    el("h2", {}, `${count(graph.nodes.size, "name")}, ${count(graph.edges.size, "relation")}`),
    el("p", {}, "Choose a name to see its relations and the sentences that state them. Larger names occur more often."),
    el(
      "ul",
      { class: "legend" },
      types.map((type) =>
        el("li", {}, el("span", { class: `dot ${type}`, "aria-hidden": "true" }), ` ${type}`),
      ),
    ),
  ];
}

async function drawList(query, signal, isSearch) {
  const page = await get(
    "graph/entities",
    { query: query.get("q"), types: query.getAll("types"), limit: 50, after: query.get("after") },
    { signal },
  );
  if (!page.nodes.length) {
    return isSearch
      ? empty("No name is like that")
      : empty(
          "The graph is empty",
          "It is extracted from memories, messages and documents: every night if enabled, or now with “Update graph”.",
        );
  }
  const onward = new URLSearchParams(query);
  onward.set("after", page.next ?? "");
  const shown = [
    table(
      "Names",
      ["name", "type", "mentions", "other names"],
      page.nodes.map((node) => [
        link("graph", { name: node.id }, said(node.name, { most: 80 })),
        node.type,
        number(node.mentions, 0),
        said(node.other_names.join(", "), { most: 120 }),
      ]),
    ),
    page.next ? el("a", { class: "button", href: address("graph", onward) }, "Next page") : null,
  ];
  return isSearch ? shown : el("details", {}, el("summary", {}, "All names in a list"), shown);
}

function askPath(signal) {
  dialog("How are two related?", () => {
    const answer = el("div", { "aria-live": "polite" });
    return [
      form(
        "Path",
        [field("From", "source", { required: true }), field("To", "target", { required: true })],
        "Find path",
        async ({ source, target }) => {
          const path = await get("graph/path", { source, target }, { signal });
          answer.replaceChildren(...(path.nodes.length ? way(path) : [el("p", {}, "No way was found between them.")]));
        },
      ),
      answer,
    ];
  });
}

async function extract(again) {
  const report = await post("graph/extract", { levels: ownLevels() });
  notice(
    `${count(report.items, "item")} read: ${count(report.mentions, "mention")}, ${count(report.relations, "relation")}${report.is_finished ? "" : "; there is more to read"}`,
  );
  again();
}
