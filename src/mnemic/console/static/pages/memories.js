// A list of memories: filtered, ordered, page by page; edited in place, merged and deleted; a new one.

import { get, patch, post, remove, route } from "../api.js";
import { address, el, link, put, said } from "../dom.js";
import { count, fromField, number, shortDay, words } from "../format.js";
import {
  KINDS,
  LEVELS,
  STATES,
  button,
  choices,
  dialog,
  empty,
  field,
  fill,
  form,
  heading,
  later,
  meter,
  notice,
  tags,
} from "../parts.js";
import { may } from "../session.js";

const PER_PAGE = 50;
const ORDERS = ["newest", "oldest", "importance"];
const SETTING = "mnemic.columns";
const day = (iso) => (iso ? el("time", { datetime: iso }, shortDay(iso)) : null);
const text = (value) => (value ? said(value, { most: 60 }) : null);

/** What a column shows of a memory, beside its text. */
const COLUMNS = {
  kind: (memory) => tags(memory),
  importance: (memory) => rated(memory.importance),
  said: (memory) => day(memory.observed_at),
  stored: (memory) => day(memory.created_at),
  true_from: (memory) => day(memory.valid_from),
  true_until: (memory) => day(memory.valid_to),
  recalled: (memory) => number(memory.access_count, 0),
  confidence: (memory) => number(memory.confidence),
  categories: (memory) => text(memory.categories?.join(", ")),
  source: (memory) => text(memory.source),
  agent: (memory) => text(memory.agent),
  session: (memory) => text(memory.session),
};
const AT_FIRST = ["kind", "importance", "said"];

const rated = (value) =>
  el("span", { role: "img", "aria-label": number(value), title: number(value) }, meter(value));

/** The columns that the address names, else those chosen last in this browser. */
function columnsOf(query) {
  const named = query.get("columns") ?? localStorage.getItem(SETTING);
  const known = Object.keys(COLUMNS).filter((each) => named?.split(",").includes(each));
  return named === null ? AT_FIRST : known;
}

export function page({ query, signal, go }) {
  const list = el("section", { "aria-label": "List" });
  fill(list, () => drawList({ query, signal, go }), signal);
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
        choices("Kinds (default: all)", "kinds", KINDS, query.getAll("kinds")),
        choices("States (default: active)", "states", STATES, query.getAll("states")),
        choices("Levels (default: all visible)", "levels", LEVELS, query.getAll("levels")),
      ),
    ],
    "Filter",
    (given) => go("memories", [...entries(given), ...(query.has("columns") ? [["columns", query.get("columns")]] : [])]),
    { class: "inline filters", beside: el("a", { href: address("memories") }, "Clear") },
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

async function drawList({ query, signal, go }) {
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
  const rows = new Rows(page.memories, query, go);
  const onward = new URLSearchParams(query);
  onward.delete("chosen");
  onward.set("after", page.next ?? "");
  return [
    rows.tools,
    rows.list,
    el(
      "nav",
      { class: "actions", "aria-label": "Pages of the list" },
      query.get("after") ? button("Back", () => history.back()) : null,
      page.next ? el("a", { class: "button", href: address("memories", onward) }, "Next page") : null,
    ),
  ];
}

/** The rows of a list, which of them are chosen (kept in the address), and what can be done with those. */
class Rows {
  constructor(memories, query, go) {
    this.query = query;
    this.memories = new Map(memories.map((each) => [each.id, each]));
    this.chosen = new Set((query.get("chosen") ?? "").split(",").filter((id) => this.memories.has(id)));
    this.amount = el("span", { class: "hint", role: "status" });
    this.all = el("input", { type: "checkbox", "aria-label": "select all on this page", onchange: () => this.chooseAll() });
    this.merging = button("Merge selected", () => merge(this.picked(), go), { right: "write" });
    this.pinning = button("Pin selected", () => this.pin(), { right: "write" });
    this.deleting = button("Delete selected", () => this.delete(), { right: "write", class: "danger" });
    this.tools = el("div", { class: "actions bulk" }, this.all, this.merging, this.pinning, this.deleting, this.amount, this.chooser());
    this.list = el("ul", { class: "list dense" });
    this.draw();
    this.told();
  }

  /** The columns to choose from; each choice shows at once. */
  chooser() {
    this.columns = columnsOf(this.query);
    const boxes = choices("Columns", "columns", Object.keys(COLUMNS), this.columns);
    boxes.addEventListener("change", () => {
      this.columns = [...boxes.querySelectorAll(":checked")].map((box) => box.value);
      localStorage.setItem(SETTING, this.columns.join(","));
      this.query.set("columns", this.columns.join(","));
      this.draw();
      this.told();
    });
    return el("details", { class: "columns" }, el("summary", {}, "Columns"), boxes);
  }

  draw() {
    this.list.style.setProperty("--columns", Math.max(this.columns.length, 1));
    const names = this.columns.map((name) => el("span", {}, words(name)));
    put(
      this.list,
      el("li", { class: "heads", "aria-hidden": "true" }, el("span", {}, "memory"), names),
      [...this.memories.values()].map((each) => this.row(each)),
    );
  }

  picked() {
    return [...this.chosen].map((id) => this.memories.get(id));
  }

  /** What depends on the choice: the tools, and the address. */
  told() {
    const isAllowed = may("write");
    this.merging.disabled = this.chosen.size < 2 || !isAllowed;
    this.pinning.disabled = this.deleting.disabled = !this.chosen.size || !isAllowed;
    this.all.checked = this.chosen.size > 0 && this.chosen.size === this.memories.size;
    this.all.indeterminate = this.chosen.size > 0 && !this.all.checked;
    this.amount.textContent = this.chosen.size ? `${number(this.chosen.size, 0)} selected` : "";
    if (this.chosen.size) this.query.set("chosen", [...this.chosen].join(","));
    else this.query.delete("chosen");
    history.replaceState(history.state, "", address("memories", this.query));
  }

  chooseAll() {
    this.chosen = new Set(this.all.checked ? this.memories.keys() : []);
    for (const box of this.list.querySelectorAll("li > input")) box.checked = this.all.checked;
    this.told();
  }

  row(memory) {
    const box = el("input", {
      type: "checkbox",
      checked: this.chosen.has(memory.id),
      "aria-label": `select: ${memory.text.slice(0, 60)}`,
      onchange: () => {
        if (box.checked) this.chosen.add(memory.id);
        else this.chosen.delete(memory.id);
        this.told();
      },
    });
    const editing = button("Edit", () => this.edit(memory, row), {
      right: "write",
      class: "quiet",
      "data-key": "e",
      "aria-label": `Edit: ${memory.text.slice(0, 60)}`,
    });
    const row = el("li", { "data-id": memory.id }, box, dense(memory, this.columns), editing);
    return row;
  }

  /** Puts a row in place of another, with the focus in it. */
  replace(row, memory) {
    const fresh = this.row(memory);
    this.memories.set(memory.id, memory);
    row.replaceWith(fresh);
    fresh.querySelector("a").focus();
    return fresh;
  }

  edit(memory, row) {
    const input = el("input", { type: "text", value: memory.text, "aria-label": "Text", spellcheck: "false" });
    const saved = async (event) => {
      event.preventDefault();
      if (input.value === memory.text || !input.value.trim()) return this.replace(row, memory);
      const changed = await patch(route`memories/${memory.id}`, { text: input.value });
      const fresh = this.replace(row, changed);
      notice("Saved", "done", async () => this.replace(fresh, await post(route`memories/${memory.id}/undo`, {})));
    };
    const editor = el(
      "form",
      {
        class: "edit",
        "aria-label": "Edit",
        onsubmit: saved,
        onkeydown: (event) => {
          if (event.key === "Escape") this.replace(row, memory);
        },
      },
      input,
      el("button", { type: "submit", class: "main" }, "Save"),
      el("button", { type: "button", onclick: () => this.replace(row, memory) }, "Cancel"),
    );
    row.replaceChildren(editor);
    input.focus();
  }

  async pin() {
    for (const { id } of this.picked()) {
      const pinned = await post(route`memories/${id}/pin`, { is_pinned: true });
      this.replace(this.list.querySelector(`[data-id="${CSS.escape(id)}"]`), pinned);
    }
    notice(`${count(this.chosen.size, "memory", "memories")} pinned`);
  }

  /** Takes the rows away at once, and deletes when the time for undo is over. */
  delete() {
    const gone = this.picked();
    const rows = gone.map(({ id }) => this.list.querySelector(`[data-id="${CSS.escape(id)}"]`));
    for (const row of rows) row.hidden = true;
    this.chosen.clear();
    this.told();
    later(
      `${count(gone.length, "memory", "memories")} will be permanently deleted`,
      async () => {
        // all at once: when the page is left, nothing can wait for the first answer
        await Promise.all(gone.map(({ id }) => remove(route`memories/${id}`, { reason: "deleted from the list" })));
        for (const [at, row] of rows.entries()) {
          this.memories.delete(gone[at].id);
          row.remove();
        }
      },
      () => {
        for (const row of rows) {
          row.hidden = false;
          row.querySelector("input").checked = false;
        }
        rows[0].querySelector("a").focus();
      },
    );
    (this.list.querySelector("li:not([hidden]) a") ?? document.querySelector("#main h1")).focus();
  }
}

/** A memory in one line: its text and the columns, each with its name for screen readers and phones. */
function dense(memory, columns) {
  return el(
    "article",
    { class: "entry" },
    el("p", { class: "line" }, link(`item/${memory.id}`, {}, memory.text ? said(memory.text, { most: 280 }) : el("em", {}, "no text"))),
    columns.map((name) =>
      el("span", { class: `cell ${name}` }, el("span", { class: "cell-name" }, `${words(name)} `), COLUMNS[name](memory)),
    ),
  );
}

function nothing(query) {
  if ([...query.keys()].some((name) => name !== "columns"))
    return empty("No matching memories", "Try a broader filter. Only active memories are listed unless you select states.");
  return empty(
    "No memories here",
    "Memories appear here when a program captures conversations and a worker extracts facts from them. Check the user at the top.",
  );
}

function merge(memories, go) {
  const ordered = memories.sort((a, b) => a.created_at.localeCompare(b.created_at));
  dialog(
    "Merge memories",
    (close) => [
      el("p", {}, "The first memory is kept with the text below and supersedes the others. You can undo this."),
      el(
        "ol",
        {},
        ordered.map((each) => el("li", {}, said(each.text, { most: 200 }))),
      ),
      form(
        "Merge",
        [field("Text", "text", { rows: 4, value: ordered[0].text, required: true }), field("Reason", "reason")],
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
            field("Level", "level", { options: [["", "default"], ...LEVELS] }),
            field("Importance (0 to 1)", "importance", {
              type: "number",
              min: 0,
              max: 1,
              step: "any",
              value: "1",
              required: true,
            }),
          ),
          field("Categories (comma-separated)", "categories"),
          field("True from", "valid_from", { type: "datetime-local" }),
        ],
        "Save",
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
          notice(memory.state === "quarantined" ? "Stored, but needs review" : "Stored");
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
