// The look of the console on one page: colours, type, spacing and the parts that pages are made of, in both colour schemes.

import { el, link } from "../dom.js";
import { KINDS, button, choices, dialog, empty, facts, field, heading, meter, notice, table, tags } from "../parts.js";

const COLOURS = {
  ground: "the page",
  raised: "cards, fields and dialogs",
  ink: "text",
  soft: "secondary text and borders of fields",
  line: "lines between things",
  accent: "links, main buttons and bars",
  tint: "quotes, hover and selection",
  mark: "words that were searched",
  good: "ready, added",
  warn: "needs attention, disputed",
  bad: "failed, deletes for good",
};
const NAMES = { person: "people", organisation: "organisations", place: "places", project: "projects", thing: "things" };
const TYPE = [
  ["h1, 24 px bold", "The name of a page", "size-page"],
  ["h2, 18 px bold", "The name of a part", "size-part"],
  ["text, 16 px", "What was said, and what you do with it", ""],
  ["dense, 15 px", "A memory in a list", "size-dense"],
  ["hint, 14 px", "When and where it was said", "hint"],
];
const STEPS = [0.25, 0.5, 0.75, 1, 1.25];

export function page() {
  return [
    heading("Look of the console"),
    el(
      "p",
      {},
      "Pages use only what this page shows. Colours have a contrast of at least 4.5 to 1 for text, in light and in dark. A page has one main button and one column of rows. Details open in place.",
    ),
    part("Colours", swatches(COLOURS), el("h3", {}, "Names in the graph"), swatches(NAMES)),
    part("Type", table("Sizes", ["size", "example"], TYPE.map(([name, text, style]) => [name, el("span", { class: style }, text)]))),
    part(
      "Spacing",
      el("p", {}, "Distances are multiples of 4 px. Rows of a list are 26 px high, so that 25 fit on a laptop."),
      STEPS.map((step) => {
        const bar = el("span", { class: "step" });
        bar.style.setProperty("width", `${step}rem`);
        return el("p", { class: "about" }, bar, ` ${step * 16} px`);
      }),
    ),
    part(
      "Buttons and fields",
      el(
        "div",
        { class: "actions" },
        el("button", { type: "button", class: "main" }, "Main"),
        button("Other", () => notice("A notice names what was done", "done", () => notice("Undone"))),
        button("Open a dialog", () => dialog("Dialog", el("p", {}, "Escape closes it, and the focus returns."))),
        el("button", { type: "button", class: "danger" }, "Delete…"),
        el("button", { type: "button", disabled: true }, "Not allowed"),
      ),
      el("div", { class: "row" }, field("Text", "sample", { value: "tea" }), field("Choice", "choice", { options: KINDS, value: "fact" })),
      choices("Several", "several", ["active", "disputed"], ["active"]),
    ),
    part(
      "Parts",
      el(
        "article",
        { class: "entry" },
        el("p", {}, link("memories", {}, "Ana likes smoked tea in the morning")),
        el("p", { class: "about" }, tags({ kind: "preference", level: "user" }), " Mar 2, 2026 · importance 0.7"),
      ),
      el("p", {}, tags({ kind: "fact", level: "user", state: "disputed", is_pinned: true, trust: "document" })),
      el("p", {}, meter(0.7), " 70 % relevant"),
      el("p", {}, "Words that match are ", el("mark", {}, "marked"), ", and a change shows ", el("del", {}, "the old"), " and ", el("ins", {}, "the new"), "."),
      el("blockquote", { class: "text" }, "What somebody said stands in a quote."),
      el("p", { class: "banner" }, "A banner names a limit of the page."),
      el("div", { class: "problem" }, el("strong", {}, "A problem"), el("p", {}, "names the cause and the remedy.")),
      facts([["Name", "value"]]),
      empty("Nothing here yet", "An empty page names what appears here, and how."),
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
