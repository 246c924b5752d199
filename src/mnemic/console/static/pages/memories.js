// A list of memories: filtered, ordered, page by page; several of them become one; a new one.

import { get, post } from "../api.js";
import { address, el, said } from "../dom.js";
import { fromField } from "../format.js";
import {
  KINDS,
  LEVELS,
  STATES,
  button,
  choices,
  dialog,
  empty,
  entry,
  field,
  fill,
  form,
  heading,
  notice,
} from "../parts.js";
import { may } from "../session.js";

const PER_PAGE = 50;
const ORDERS = ["newest", "oldest", "importance"];

export function page({ query, signal, go }) {
  const list = el("section", { "aria-label": "List" });
  const chosen = new Map();
  fill(list, () => drawList({ query, signal, go, chosen }), signal);
  return [
    heading(
      "Memories",
      button("New memory", () => newMemory(go), { right: "write" }),
    ),
    filters(query, go),
    list,
  ];
}

function filters(query, go) {
  const shown = ["states", "kinds", "levels"].some((name) => query.has(name));
  const box = form(
    "Filter",
    [
      el(
        "div",
        { class: "row" },
        field("Contains", "text", { value: query.get("text") ?? "", type: "search" }),
        field("Category", "category", { value: query.get("category") ?? "" }),
        field("Order", "order", { options: ORDERS, value: query.get("order") ?? "newest" }),
      ),
      el(
        "details",
        { open: shown },
        el("summary", {}, "Kinds, states and levels"),
        choices("Kinds (none: all)", "kinds", KINDS, query.getAll("kinds")),
        choices("States (none: active)", "states", STATES, query.getAll("states")),
        choices("Levels (none: all that is visible)", "levels", LEVELS, query.getAll("levels")),
      ),
    ],
    "Filter",
    (given) => go("memories", entries(given)),
    { beside: el("a", { href: address("memories") }, "Clear") },
  );
  return box;
}

function entries(given) {
  return Object.entries(given).flatMap(([name, value]) =>
    Array.isArray(value)
      ? value.map((each) => [name, each])
      : value && !(name === "order" && value === "newest")
        ? [[name, value]]
        : [],
  );
}

async function drawList({ query, signal, go, chosen }) {
  const asked = {
    limit: PER_PAGE,
    order: query.get("order"),
    after: query.get("after"),
    kinds: query.getAll("kinds"),
    states: query.getAll("states"),
    levels: query.getAll("levels"),
  };
  const conditions = {};
  if (query.get("text")) conditions.text = { contains: query.get("text") };
  if (query.get("category")) conditions.categories = { contains: query.get("category") };
  if (Object.keys(conditions).length) asked.filter = JSON.stringify(conditions);
  const page = await get("memories", asked, { signal });
  if (!page.memories.length) return nothing(query);
  const merging = button("Merge the chosen", () => merge([...chosen.values()], go), { right: "write", disabled: true });
  const rows = page.memories.map((memory) =>
    el(
      "li",
      {},
      el("input", {
        type: "checkbox",
        "aria-label": `choose: ${memory.text.slice(0, 60)}`,
        onchange: (event) => {
          if (event.target.checked) chosen.set(memory.id, memory);
          else chosen.delete(memory.id);
          merging.disabled = chosen.size < 2 || !may("write");
        },
      }),
      entry(memory),
    ),
  );
  const onward = new URLSearchParams(query);
  onward.set("after", page.next ?? "");
  return [
    el("div", { class: "actions" }, merging),
    el("ul", { class: "list" }, rows),
    el(
      "nav",
      { class: "actions", "aria-label": "Pages of the list" },
      query.get("after") ? button("Back", () => history.back()) : null,
      page.next ? el("a", { class: "button", href: address("memories", onward) }, "Next page") : null,
    ),
  ];
}

function nothing(query) {
  if ([...query.keys()].length)
    return empty("No memory is like that", "Loosen the filter: without states only active memories are listed.");
  return empty(
    "No memories here",
    "Programs capture conversations, and a worker extracts facts from them. Is the right user chosen at the top?",
  );
}

function merge(memories, go) {
  const ordered = memories.sort((a, b) => a.created_at.localeCompare(b.created_at));
  dialog(
    "Make one of these",
    (close) => [
      el("p", {}, "The first stays, with the text below; the others are superseded by it. Undo takes it back."),
      el(
        "ol",
        {},
        ordered.map((each) => el("li", {}, said(each.text, { most: 200 }))),
      ),
      form(
        "Merge",
        [field("Text", "text", { rows: 4, value: ordered[0].text, required: true }), field("Why", "reason")],
        "Merge",
        async ({ text, reason }) => {
          const merged = await post("memories/merge", { ids: ordered.map((each) => each.id), text, reason });
          close();
          notice("Merged");
          go(`item/${merged.id}`);
        },
      ),
    ],
    { close: "Cancel" },
  );
}

function newMemory(go) {
  dialog(
    "New memory",
    (close) =>
      form(
        "New memory",
        [
          field("Text", "text", { rows: 4, required: true }),
          el(
            "div",
            { class: "row" },
            field("Kind", "kind", { options: KINDS, value: "fact" }),
            field("Level", "level", { options: [["", "as the scope says"], ...LEVELS] }),
            field("Importance, 0 to 1", "importance", {
              type: "number",
              min: 0,
              max: 1,
              step: "any",
              value: "1",
              required: true,
            }),
          ),
          field("Categories, with commas", "categories"),
          field("True from", "valid_from", { type: "datetime-local" }),
        ],
        "Keep",
        async (given) => {
          const body = {
            text: given.text,
            kind: given.kind,
            importance: Number(given.importance),
            source: "console",
            categories: listed(given.categories),
          };
          if (given.level) body.level = given.level;
          if (given.valid_from) body.valid_from = fromField(given.valid_from);
          const memory = await post("memories", body);
          close();
          notice(memory.state === "quarantined" ? "Stored; needs review" : "Stored");
          go(`item/${memory.id}`);
        },
      ),
    { close: "Cancel" },
  );
}

/** The words between commas. */
export function listed(text) {
  return text
    .split(",")
    .map((each) => each.trim())
    .filter(Boolean);
}
