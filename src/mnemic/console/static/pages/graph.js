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
  const showList = () => fill(list, () => drawList(query, signal, isSearch), signal);
  showList();
  const shown = { name, depth: Number(query.get("depth") ?? 1) };
  if (!isSearch) fill(drawing, () => drawWeb(shown, { signal, go, corrected: showList }), signal);
  const box = form(
    "Find a name",
    [
      el("div", { class: "row" }, field("Name contains", "q", { value: query.get("q") ?? "", type: "search" })),
      el(
        "details",
        { open: query.has("types") },
        el("summary", {}, "Types"),
        choices("Types (default: all)", "types", TYPES, query.getAll("types")),
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
      button("How are two names related?", () => askPath(signal)),
      button("Update graph", () => extract(again), { right: "write" }),
    ),
    box,
    drawing,
    list,
  ];
}

async function drawWeb({ name, depth }, { signal, go, corrected }) {
  const width = Math.max(document.getElementById("main").clientWidth - 40, 280);
  const isWide = width > 820;
  const frame = { width: isWide ? width - 340 : width, height: isWide ? 620 : Math.round(Math.min(width * 1.15, 560)) };
  const limit = Math.round(Math.min(Math.max((frame.width * frame.height) / AREA, FEWEST), MOST));
  const read = () =>
    name
      ? get("graph/neighbours", { name, depth, limit: Math.min(AROUND * depth, limit) }, { signal })
      : get("graph", { limit }, { signal });
  const [d3, found] = await Promise.all([load(), read()]);
  const start = found.start ?? null;
  const graph = new Graph(found);
  if (graph.nodes.size < FEWEST / 2) frame.height = Math.min(frame.height, 380);
  if (!graph.nodes.size) return null; // the list says what to do
  const about = el("aside", { class: "about-name", "aria-label": "Chosen name", "aria-live": "polite", tabindex: "-1" });
  const picture = el("div", { class: "picture" });

  function draw(chosen, lit = null) {
    const nodes = [...graph.nodes.values()];
    const given = { ...frame, chosen, lit, fixed: start?.id, onChoose: choose, onEdge: showEdge };
    put(picture, web(d3, nodes, [...graph.edges.values()], given));
    put(about, chosen ? drawName(graph.nodes.get(chosen), graph, { expand, correct }) : drawHints(graph, found.is_cut));
  }
  function showEdge(edge) {
    const ends = [graph.nodes.get(edge.source_id), graph.nodes.get(edge.target_id)];
    draw(null, edge);
    put(
      about,
      el("h2", {}, ends.map((each, at) => [at ? " and " : "", said(each.name, { most: 60 })])),
      drawEdge(edge, ends[0], graph, correct),
      el("p", { class: "actions" }, ends.map((each) => button(["About ", said(each.name, { most: 30 })], () => choose(each)))),
    );
  }
  /** Sends a correction of `node` and says so. Returns what shows the result, for when the dialog is closed. */
  async function correct(node, change, told) {
    const now = await post("graph/correct", { name: node.id, ...change });
    const isGone = change.is_removed && !change.target;
    notice(told, "done", async () => {
      const back = await post("graph/undo", { name: isGone ? now.name : now.id });
      await redraw(back[0]);
    });
    return () => redraw(isGone ? null : now);
  }
  async function redraw(node) {
    if (name && !node) return go("graph");
    graph.replace(await read());
    corrected();
    if (graph.nodes.has(node?.id)) return choose(node);
    draw(null);
    about.focus();
  }
  function choose(node) {
    draw(node.id);
    picture.querySelector(`[data-id="${CSS.escape(node.id)}"]`)?.focus();
  }
  async function expand(node) {
    const before = graph.nodes.size;
    const more = await get("graph/neighbours", { name: node.id, limit: AROUND }, { signal });
    graph.add([more.start, ...more.nodes], more.edges);
    notice(graph.nodes.size > before ? `${count(graph.nodes.size - before, "name")} added` : "No more neighbours found");
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
  constructor(found) {
    this.nodes = new Map();
    this.replace(found);
  }

  /** Takes what was found in place of what it held. Names that stay begin where they were. */
  replace({ start, nodes, edges }) {
    const before = this.nodes;
    this.nodes = new Map();
    this.edges = new Map();
    this.add(start ? [start, ...nodes] : nodes, edges);
    for (const [id, { x, y }] of before) if (this.nodes.has(id)) Object.assign(this.nodes.get(id), { x, y });
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

function drawName(node, graph, { expand, correct }) {
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
      button("Show more neighbours", () => expand(node)),
      link("graph", { name: node.id }, "Only this"),
      link("search", { q: node.name.slice(0, 200) }, "Search for it"),
    ),
    el(
      "div",
      { class: "actions", role: "group", "aria-label": "Correct" },
      button("Rename or change type…", () => askName(node, correct), { right: "write" }),
      button("Merge…", () => askMerge(node, graph, correct), { right: "write" }),
      button("Remove…", () => askRemoval(node, correct), { right: "write", class: "danger" }),
    ),
    edges.length
      ? el(
          "ul",
          { class: "list relations" },
          edges.map((edge) => drawEdge(edge, node, graph, correct, "li")),
        )
      : el("p", { class: "hint" }, "It has no relations. Relations come from sentences that name two things."),
  ];
}

/** A relation of the chosen name, and the sentences that state it. */
function drawEdge(edge, node, graph, correct, tag = "div") {
  const isFrom = edge.source_id === node.id;
  const other = graph.nodes.get(isFrom ? edge.target_id : edge.source_id);
  const name = link("graph", { name: other.id }, said(other.name, { most: 60 }));
  const type = el("span", { class: "relation" }, words(edge.type.toLowerCase()));
  const removed = { is_removed: true, relation: edge.type, target: edge.target_id };
  return el(
    tag,
    {},
    el(
      "div",
      { class: "stated" },
      el("p", {}, isFrom ? [type, " ", name] : [name, " ", type, " this"]),
      button("Remove", async () => (await correct(graph.nodes.get(edge.source_id), removed, "Relation removed"))(), {
        right: "write",
        class: "quiet",
        "aria-label": `Remove: ${words(edge.type.toLowerCase())} ${other.name}`,
      }),
    ),
    el("div", { class: "quotes" }, sentences(edge)),
  );
}

/** A form in a dialog that corrects a name and closes. */
function ask(title, fields, label, work, given = {}) {
  const reason = field("Reason (kept in the history)", "reason");
  dialog(title, (close) =>
    form(
      title,
      [fields, reason],
      label,
      async (typed) => {
        const show = await work(typed);
        close();
        await show();
      },
      given,
    ),
  );
}

function askName(node, correct) {
  const fields = [
    field("Name", "rename", { value: node.name, required: true, maxlength: 255 }),
    field("Type", "type", { value: node.type, options: TYPES }),
  ];
  ask("Rename or change type", fields, "Save", (given) => correct(node, given, "Corrected"));
}

/** Asks which entity a name also stands for. If two have the same name, the type shows which. */
function askMerge(node, graph, correct) {
  const others = [...graph.nodes.values()].filter((each) => each.id !== node.id);
  const known = new Map();
  for (const each of others) known.set(known.has(each.name) || each.name === node.name ? `${each.name} (${each.type})` : each.name, each.id);
  const fields = [
    field("Same as", "into", {
      required: true,
      maxlength: 300,
      list: "names-of-graph",
      hint: [said(node.name, { most: 80 }), " becomes another name for it, in existing and future texts."],
    }),
    el("datalist", { id: "names-of-graph" }, [...known.keys()].map((each) => el("option", { value: each }))),
    field("Type of both", "type", { value: "", options: [["", "unchanged"], ...TYPES] }),
  ];
  ask("Merge", fields, "Merge", ({ into, type, reason }) =>
    correct(node, { merge_into: known.get(into) ?? into, ...(type ? { type } : {}), reason }, "Merged"),
  );
}

function askRemoval(node, correct) {
  const about = el("p", {}, said(node.name, { most: 80 }), " is removed from the graph, and later texts do not add it again. No text is changed.");
  ask("Remove from the graph", about, "Remove", ({ reason }) => correct(node, { is_removed: true, reason }, "Removed"), {
    class: "stacked danger",
  });
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
      ? empty("No matching names")
      : empty(
          "The graph is empty",
          "It is built from memories, messages and documents every night, if enabled. Press “Update graph” to build it now.",
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
  return isSearch ? shown : el("details", {}, el("summary", {}, "List all names"), shown);
}

function askPath(signal) {
  dialog("How are two names related?", () => {
    const answer = el("div", { "aria-live": "polite" });
    return [
      form(
        "Path",
        [field("From", "source", { required: true }), field("To", "target", { required: true })],
        "Find path",
        async ({ source, target }) => {
          const path = await get("graph/path", { source, target }, { signal });
          answer.replaceChildren(...(path.nodes.length ? way(path) : [el("p", {}, "No path was found between them.")]));
        },
      ),
      answer,
    ];
  });
}

async function extract(again) {
  const report = await post("graph/extract", { levels: ownLevels() });
  notice(
    `${count(report.items, "item")} read: ${count(report.mentions, "mention")}, ${count(report.relations, "relation")}${report.is_finished ? "" : "; more items remain"}`,
  );
  again();
}
