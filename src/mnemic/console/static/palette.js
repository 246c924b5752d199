// The keyboard: a palette that goes anywhere (Ctrl-K), a list of the keys (?), and steps through the rows of a page (j, k).

import { get } from "./api.js";
import { el, put, said } from "./dom.js";
import { dayInWords, dayOf } from "./format.js";
import { dialog, table } from "./parts.js";
import { caller } from "./session.js";

const KEYS = [
  ["Ctrl K", "go to a page, user or conversation, or search"],
  ["/", "search"],
  ["j, k", "go to the next or previous row"],
  ["x", "select the row"],
  ["e", "edit the row"],
  ["Delete", "delete the selected rows"],
  ["z", "undo the action in the last notice"],
  ["?", "show this list"],
];
const MOST = 12;
const FEW = 50;

/** Handles keys outside fields; `open` has `pages`, `go` and `choose`. */
export function listen(open) {
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (!document.querySelector("dialog[open]")) palette(open);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), textarea, select, dialog"))
      return;
    const act = ACTS[event.key];
    if (!act) return;
    event.preventDefault();
    act(open);
  });
}

const ACTS = {
  "?": () => dialog("Keyboard shortcuts", () => table("Shortcuts in the console", ["key", "action"], KEYS.map(([key, does]) => [el("kbd", {}, key), does]))),
  "/": ({ search }) => search(),
  j: () => step(1),
  k: () => step(-1),
  x: () => row()?.querySelector("input[type=checkbox]")?.click(),
  e: () => row()?.querySelector("[data-key=e]:not(:disabled)")?.click(),
  Delete: () => document.querySelector(".bulk .danger:not(:disabled)")?.click(),
  z: () => [...document.querySelectorAll("#notices .undo")].at(-1)?.click(),
};

const row = () => document.activeElement?.closest("#main li");

/** Moves the focus to the next row that leads somewhere. */
function step(by) {
  const main = document.getElementById("main");
  const rows = [...main.querySelectorAll(".list > li, .chat > li, .day article, tbody tr")].filter(
    (each) => each.checkVisibility() && each.querySelector("a, button"),
  );
  const at = rows.findIndex((each) => each.contains(document.activeElement));
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)];
  if (!next) return;
  next.querySelector("a, button").focus();
  next.scrollIntoView({ block: "nearest" });
}

/** Opens the palette. */
export function palette(open) {
  const found = el("ul", { id: "palette-list", role: "listbox", "aria-label": "Results" });
  const input = el("input", {
    type: "text",
    role: "combobox",
    "aria-label": "Go to",
    "aria-controls": "palette-list",
    "aria-expanded": "true",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Page, user, conversation, day or question",
  });
  let places = pagesOf(open);
  let shown = [];
  let at = 0;
  const box = dialog("Go to", [input, found, el("p", { class: "hint keys" }, "On a page, ", el("kbd", {}, "?"), " lists all keys.")]);
  box.classList.add("palette");
  const draw = () => {
    shown = matching(places, input.value, open);
    at = Math.min(at, Math.max(shown.length - 1, 0));
    put(
      found,
      shown.map((each, index) =>
        el(
          "li",
          { role: "option", id: `place-${index}`, "aria-selected": String(index === at), onclick: () => choose(each) },
          el("span", { class: "hint" }, each.kind),
          " ",
          said(each.title, { most: 80 }),
        ),
      ),
    );
    if (shown.length) input.setAttribute("aria-activedescendant", `place-${at}`);
    else input.removeAttribute("aria-activedescendant");
    found.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const choose = (place) => {
    box.close();
    place.open();
  };
  input.addEventListener("input", () => {
    at = 0;
    draw();
  });
  input.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) {
      event.preventDefault();
      at = (at + by + shown.length) % Math.max(shown.length, 1);
      draw();
    } else if (event.key === "Enter" && shown[at]) {
      event.preventDefault();
      choose(shown[at]);
    }
  });
  draw();
  input.focus();
  more(open).then((others) => {
    places = [...places, ...others];
    if (box.isConnected) draw();
  });
}

function pagesOf({ pages, go }) {
  return pages.map(([name, title]) => ({ kind: "page", title, open: () => go(name) }));
}

/** Users and conversations, as far as the key may see them. */
async function more({ go, choose }) {
  const quiet = () => [];
  const [users, sessions] = await Promise.all([
    caller.is_operator ? get("users").catch(quiet) : [],
    get("sessions", { limit: FEW }).catch(quiet),
  ]);
  return [
    ...users
      .filter((each) => each.org === caller.org)
      .map(({ user }) => ({ kind: "user", title: user, open: () => choose({ user }) })),
    ...sessions.map(({ session, text, last_at: last }) => ({
      kind: `conversation on ${dayInWords(dayOf(last))}`,
      title: text || session,
      open: () => go(`conversations/${session}`),
    })),
  ];
}

function matching(places, typed, { go }) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const fit = places.filter(({ title, kind }) => words.every((word) => `${kind} ${title}`.toLowerCase().includes(word)));
  const starts = (place) => Number(place.title.toLowerCase().startsWith(typed.toLowerCase().trim()));
  const asked = typed.trim();
  const questions = asked
    ? [
        { kind: "search memory for", title: asked, open: () => go("search", { q: asked }) },
        { kind: "show the prompt for", title: asked, open: () => go("prompt", { q: asked }) },
        { kind: "find in the graph", title: asked, open: () => go("graph", { q: asked }) },
      ]
    : [];
  return [...fit.sort((a, b) => starts(b) - starts(a)).slice(0, MOST), ...questions];
}
