// The console's design on one page: colours, type, spacing and components, in both colour schemes.

import { el, link } from "../dom.js";
import { KINDS, button, choices, dialog, empty, facts, field, heading, meter, notice, table, tags } from "../parts.js";

const COLOURS = {
  ground: "the page",
  raised: "cards, fields and dialogs",
  ink: "text",
  soft: "secondary text and borders of fields",
  line: "dividing lines",
  accent: "links, main buttons and bars",
  tint: "quotes, hover and selection",
  mark: "words from the search",
  good: "ready, added",
  warn: "needs attention, disputed",
  bad: "failed, permanent deletion",
};
const NAMES = { person: "people", organisation: "organisations", place: "places", project: "projects", thing: "things" };
const TYPE = [
  ["h1, 150 % bold", "A page title", "size-page"],
  ["h2, 115 % bold", "A section title", "size-part"],
  ["text, 15 px", "Messages and controls", ""],
  ["dense, 92 %", "A memory in a list", "size-dense"],
  ["hint, 90 %", "Times and sources", "hint"],
];
const STEPS = [0.25, 0.5, 0.75, 1, 1.25];

export function page() {
  return [
    heading("Console design"),
    el(
      "p",
      {},
      "All pages use only these elements. Text has a contrast of at least 4.5 to 1 in light and dark mode. A page has one main button and one column of rows. Details open in place.",
    ),
    part("Colours", swatches(COLOURS), el("h3", {}, "Names in the graph"), swatches(NAMES)),
    part("Type", table("Sizes", ["size", "example"], TYPE.map(([name, text, style]) => [name, el("span", { class: style }, text)]))),
    part(
      "Spacing",
      el("p", {}, "Distances are multiples of a quarter of the text size. 25 rows of a list fit on a laptop screen."),
      STEPS.map((step) => {
        const bar = el("span", { class: "step" });
        bar.style.setProperty("width", `${step}rem`);
        return el("p", { class: "about" }, bar, ` ${step}`);
      }),
    ),
    part(
      "Buttons and fields",
      el(
        "div",
        { class: "actions" },
        el("button", { type: "button", class: "main" }, "Main"),
        button("Other", () => notice("A notice confirms an action", "done", () => notice("Undone"))),
        button("Open a dialog", () => dialog("Dialog", el("p", {}, "Escape closes the dialog and returns the focus."))),
        el("button", { type: "button", class: "danger" }, "Delete…"),
        el("button", { type: "button", disabled: true }, "Not allowed"),
      ),
      el("div", { class: "row" }, field("Text", "sample", { value: "tea" }), field("Choice", "choice", { options: KINDS, value: "fact" })),
      choices("Several", "several", ["active", "disputed"], ["active"]),
    ),
    part(
      "Components",
      el(
        "article",
        { class: "entry" },
        el("p", {}, link("memories", {}, "Ana likes smoked tea in the morning")),
        el("p", { class: "about" }, tags({ kind: "preference", level: "user" }), " Mar 2, 2026 · importance 0.7"),
      ),
      el("p", {}, tags({ kind: "fact", level: "user", state: "disputed", is_pinned: true, trust: "document" })),
      el("p", {}, meter(0.7), " 70 % relevant"),
      el("p", {}, "Matching words are ", el("mark", {}, "marked"), ". A change shows the ", el("del", {}, "old"), " and the ", el("ins", {}, "new"), " text."),
      el("blockquote", { class: "text" }, "Messages are shown as quotes."),
      el("p", { class: "banner" }, "A banner states a limit of the page."),
      el("div", { class: "problem" }, el("strong", {}, "A problem"), el("p", {}, "states its cause and the solution.")),
      facts([["Name", "value"]]),
      empty("Nothing here yet", "An empty page shows how to add the first entry."),
    ),
  ];
}

const part = (title, ...content) => el("section", { class: "card", "aria-label": title }, el("h2", {}, title), content);

const swatches = (colours) =>
  el(
    "ul",
    { class: "swatches" },
    Object.entries(colours).map(([name, use]) => {
      const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.setProperty("background", `var(--${name})`);
      return el("li", {}, swatch, el("span", {}, el("code", {}, name), ` ${use}`));
    }),
  );
