// What is named and how it is related: a list of names, and a drawing of what stands around one of them.

import { get, post } from "../api.js";
import { address, el, link, said } from "../dom.js";
import { picture, relations, way } from "../drawing.js";
import { count, number } from "../format.js";
import { button, choices, dialog, empty, facts, field, fill, form, heading, notice, table } from "../parts.js";
import { ownLevels } from "../session.js";

const TYPES = ["person", "project", "technology", "place", "organisation", "policy", "product", "event", "thing"];

export function page({ query, signal, go, again }) {
  const name = query.get("name");
  const list = el("section", { "aria-label": "Names" });
  const drawing = el("section", { "aria-label": "Drawing" });
  if (name)
    fill(
      drawing,
      async () =>
        draw(await get("graph/neighbours", { name, depth: query.get("depth") ?? 1, limit: 40 }, { signal }), query),
      signal,
    );
  fill(
    list,
    async () =>
      names(
        await get(
          "graph/entities",
          { query: query.get("q"), types: query.getAll("types"), limit: 50, after: query.get("after") },
          { signal },
        ),
        query,
      ),
    signal,
  );
  const box = form(
    "Find a name",
    [
      el("div", { class: "row" }, field("Name holds", "q", { value: query.get("q") ?? "", type: "search" })),
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

function names(page, query) {
  if (!page.nodes.length) {
    return query.get("q")
      ? empty("No name is like that")
      : empty(
          "The graph is empty",
          "It is extracted from memories, messages and documents: every night if enabled, or now with “Update graph”.",
        );
  }
  const onward = new URLSearchParams(query);
  onward.set("after", page.next ?? "");
  return [
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
}

function draw({ start, nodes, edges, is_cut: isCut }, query) {
  const all = [start, ...nodes.filter((node) => node.id !== start.id)];
  const known = new Map(all.map((node) => [node.id, node]));
  const depth = Number(query.get("depth") ?? 1);
  return [
    el("h2", {}, "Around ", said(start.name, { most: 80 })),
    start.description ? el("p", {}, said(start.description)) : null,
    facts([
      ["Type", start.type],
      ["Other names", start.other_names.length ? said(start.other_names.join(", ")) : null],
      ["Mentions", number(start.mentions, 0)],
    ]),
    el(
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
    ),
    all.length > 1
      ? picture(
          all,
          edges.filter((edge) => known.has(edge.source_id) && known.has(edge.target_id)),
        )
      : empty("Nothing is related to it", "Relations are read from sentences that name two things."),
    isCut ? el("p", { class: "banner" }, "There is more around it than is drawn.") : null,
    edges.length ? relations(edges, known) : null,
  ];
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
