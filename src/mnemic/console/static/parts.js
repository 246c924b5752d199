// Pieces that several pages are made of: notices, problems, tables, dialogs, forms.

import { el, link, put, said } from "./dom.js";
import { dayOf, moment, number, words } from "./format.js";
import { key, may, setKey } from "./session.js";

export const KINDS = [
  "fact",
  "goal",
  "preference",
  "context",
  "event",
  "summary",
  "reflection",
  "gem",
  "learning",
  "state",
  "persona",
  "attempt",
  "scratchpad",
];
export const LEVELS = ["session", "user", "agent", "org"];
export const STATES = ["active", "quarantined", "disputed", "superseded", "archived"];
const NOTICE_MS = 8000;
const UNDO_MS = 10_000;

/** A short word about what was done, told to screen readers too; `undo` is offered as a button, and by the key z. */
export function notice(text, kind = "done", undo = null) {
  const box = el("p", { class: `notice ${kind}` }, text);
  const gone = () => box.remove();
  if (undo)
    box.append(
      " ",
      el(
        "button",
        {
          type: "button",
          class: "undo",
          onclick: () => {
            gone();
            Promise.resolve(undo()).catch((error) => dialog("Undo failed", problemBox(error)));
          },
        },
        "Undo",
      ),
    );
  document.getElementById("notices").append(box);
  setTimeout(gone, undo ? UNDO_MS : NOTICE_MS);
}

const waiting = new Set();

/** Does what cannot be taken back a little later, so that it can: `work` runs after the notice is gone, or when the page is left. */
export function later(text, work, undone) {
  const own = { run };
  const timer = setTimeout(run, UNDO_MS);
  waiting.add(own);
  function run() {
    if (!waiting.delete(own)) return;
    clearTimeout(timer);
    work().catch((error) => dialog("The action failed", problemBox(error)));
  }
  notice(text, "done", () => {
    clearTimeout(timer);
    if (waiting.delete(own)) undone();
    else notice("It is too late to undo this");
  });
}

addEventListener("pagehide", () => {
  for (const each of [...waiting]) each.run();
});

const MOST_COMPARED = 400; // words of a text; longer ones are shown as two

/** Two versions of a text as one: words that are gone, and words that are new. */
export function difference(before, after) {
  const [old, now] = [before, after].map((text) => text.split(/(?<=\s)/));
  if (Math.max(old.length, now.length) > MOST_COMPARED) return [el("del", {}, said(before)), " ", el("ins", {}, said(after))];
  const same = common(old, now);
  const parts = [];
  for (let i = 0, j = 0; i < old.length || j < now.length; ) {
    const isSame = i < old.length && j < now.length && old[i].trim() === now[j].trim();
    if (isSame) {
      parts.push(["span", now[j]]);
      i += 1;
      j += 1;
    } else if (j >= now.length || (i < old.length && same[i + 1][j] >= same[i][j + 1])) parts.push(["del", old[i++]]);
    else parts.push(["ins", now[j++]]);
  }
  const isJoined = (at) => parts[at][0] === "del" && parts[at + 1]?.[0] === "ins" && !/\s$/.test(parts[at][1]);
  return el("span", { class: "difference" }, parts.map(([tag, text], at) => [el(tag, {}, said(text)), isJoined(at) ? " " : null]));
}

/** The lengths of the longest common runs of words from each pair of places on. */
function common(old, now) {
  const lengths = Array.from({ length: old.length + 1 }, () => new Array(now.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = now.length - 1; j >= 0; j -= 1)
      lengths[i][j] =
        old[i].trim() === now[j].trim() ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  return lengths;
}

/** A bar for a share between 0 and 1. */
export function meter(share) {
  const bar = el("span", { class: "bar" });
  bar.style.setProperty("width", `${Math.max(Math.round(100 * share), 1)}%`);
  return el("span", { class: "meter", "aria-hidden": "true" }, bar);
}

/** How relevant an item is, as a bar and in words, before the item; `otherwise` where that is not known. */
export function rank(share, otherwise = null) {
  const isKnown = share !== null && share !== undefined;
  return el("p", { class: "rank" }, isKnown ? [meter(share), ` ${Math.round(100 * share)} % relevant`] : otherwise);
}

/** What went wrong, in the server's words, with a way to try again. */
export function problemBox(problem, again) {
  return el(
    "div",
    { class: "problem", role: "alert" },
    el("strong", {}, problem.title || "Something went wrong in the console"),
    problem.detail ? el("p", {}, said(problem.detail)) : problem.title ? null : el("p", {}, said(problem.message)),
    problem.hint ? el("p", { class: "hint" }, said(problem.hint)) : null,
    problem.status === 401 && key() ? el("button", { type: "button", onclick: anotherKey }, "Use another key") : null,
    again ? el("button", { type: "button", onclick: again }, "Try again") : null,
  );
}

function anotherKey() {
  setKey(null);
  location.reload();
}

/** Fills a box with what `make` gives: "loading" meanwhile, the problem when it fails. */
export async function fill(box, make, signal) {
  if (!box.firstChild) put(box, el("p", { class: "loading" }, "Loading…")); // what is there already stays until then
  box.setAttribute("aria-busy", "true");
  try {
    put(box, await make());
  } catch (error) {
    if (error.name !== "AbortError" && !signal?.aborted)
      put(
        box,
        problemBox(error, () => fill(box, make, signal)),
      );
  }
  if (!signal?.aborted) box.removeAttribute("aria-busy"); // the next request may be filling the same box
  return box;
}

/** A button whose work is shown: not pressed twice, its problem put beside it. */
export function button(label, work, given = {}) {
  const { right, ...rest } = given;
  const isAllowed = !right || may(right);
  const box = el(
    "button",
    {
      type: "button",
      disabled: !isAllowed,
      title: isAllowed ? null : `Requires a key with the “${right}” right`,
      ...rest,
      onclick: () => pressed(box, work),
    },
    label,
  );
  return box;
}

let opener = null;

async function pressed(box, work) {
  const place = box.closest(".actions, form, tr, li, section, main") ?? box.parentElement;
  place.querySelector(":scope > .problem")?.remove();
  opener = box;
  box.disabled = true; // a browser may take the focus from it at once
  try {
    await work();
  } catch (error) {
    if (error.name !== "AbortError") {
      const told = problemBox(error);
      if (place.localName === "tr") dialog("The action failed", told);
      else place.append(told);
    }
  } finally {
    box.disabled = false;
  }
}

/** A form whose button does `work(values)`; values are texts by name, lists for `multiple`. Enter works. */
export function form(label, fields, submit, work, given = {}) {
  const send = el(
    "button",
    {
      type: "submit",
      class: "main",
      disabled: given.right ? !may(given.right) : false,
      title: given.right && !may(given.right) ? `Requires a key with the “${given.right}” right` : null,
    },
    submit,
  );
  const box = el(
    "form",
    {
      "aria-label": label,
      class: given.class ?? "stacked",
      onsubmit: (event) => {
        event.preventDefault();
        pressed(send, () => work(values(box)));
      },
    },
    fields,
    el("div", { class: "actions" }, send, given.beside),
  );
  return box;
}

/** What the fields of a form hold. */
export function values(box) {
  const found = {};
  for (const field of box.elements) {
    if (!field.name) continue;
    if (field.type === "checkbox" && field.dataset.list)
      (found[field.name] ??= []).push(...(field.checked ? [field.value] : []));
    else if (field.type === "checkbox") found[field.name] = field.checked;
    else found[field.name] = field.value;
  }
  return found;
}

let made = 0;

/** A field with its label; `given.options` makes a choice, `given.rows` a text of several lines. */
export function field(label, name, given = {}) {
  const { options, hint, ...rest } = given;
  const id = `field-${(made += 1)}`;
  const about = { id, name, ...rest, "aria-describedby": hint ? `${id}-hint` : null };
  let input;
  if (options) {
    const { value, ...other } = about;
    input = el(
      "select",
      other,
      options.map((option) => {
        const [code, text] = Array.isArray(option) ? option : [option, words(option)];
        return el("option", { value: code, selected: code === value }, text);
      }),
    );
  } else
    input = el(
      given.rows ? "textarea" : "input",
      given.rows ? about : { type: "text", autocomplete: "off", spellcheck: "false", ...about },
    );
  return el(
    "div",
    { class: given.type === "checkbox" ? "field check" : "field" },
    el("label", { for: id }, label),
    input,
    hint ? el("span", { class: "hint", id: `${id}-hint` }, hint) : null,
  );
}

/** Boxes to tick, all of one name. */
export function choices(legend, name, options, chosen = []) {
  return el(
    "fieldset",
    { class: "choices" },
    el("legend", {}, legend),
    options.map((option) => {
      const [value, text] = Array.isArray(option) ? option : [option, words(option)];
      const box = el("input", { type: "checkbox", name, value, "data-list": "yes", checked: chosen.includes(value) });
      return el("label", {}, box, text);
    }),
  );
}

/** A dialog over the page; Escape closes it, the focus returns. `close` is handed to `make`, when it is a function. */
export function dialog(title, make, given = {}) {
  const heading = el("h2", { id: `dialog-${(made += 1)}` }, title);
  const before = document.activeElement === document.body ? opener : document.activeElement;
  const box = el("dialog", {
    "aria-labelledby": heading.id,
    onclose: () => {
      box.remove();
      if (!document.querySelector("dialog[open]")) before?.focus?.(); // the next dialog may have opened before this event
      given.closed?.();
    },
  });
  const content = typeof make === "function" ? make(() => box.close()) : make;
  const closer = el("button", { type: "button", onclick: () => box.close() }, given.close ?? "Close");
  box.append(heading, el("div", {}, content), el("div", { class: "actions" }, closer));
  document.body.append(box);
  box.showModal();
  return box;
}

/** Asks before something that cannot be taken back; `work(reason)` does it. */
export function confirm(title, about, label, work) {
  dialog(
    title,
    (close) => [
      about,
      form(
        title,
        [field("Reason (kept in the history)", "reason")],
        label,
        async ({ reason }) => {
          await work(reason);
          close();
        },
        { class: "stacked danger" },
      ),
    ],
    { close: "Cancel" },
  );
}

/** A table with a heading for each column; rows are lists of cells. Wide ones scroll in themselves. */
export function table(caption, heads, rows) {
  return el(
    "div",
    { class: "scrolls", role: "region", "aria-label": caption, tabindex: "0" },
    el(
      "table",
      {},
      el("caption", {}, caption),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          heads.map((head) => (head ? el("th", { scope: "col" }, head) : el("td"))),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) =>
          row instanceof Node
            ? row
            : el(
                "tr",
                {},
                row.map((cell, at) => el("td", { "data-label": heads[at] || null }, cell)), // the label is for narrow screens
              ),
        ),
      ),
    ),
  );
}

/** Names and values below each other; what is empty is left out. */
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el(
    "dl",
    { class: "facts" },
    shown.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
}

/** What to do where there is nothing yet. */
export function empty(title, ...about) {
  return el(
    "div",
    { class: "empty" },
    el("h2", {}, title),
    about.map((part) => el("p", {}, part)),
  );
}

/** Short words about a memory: kind, state, what is special, and until when it was true. Its level, unless it is the user's own. */
export function tags(item) {
  const special = [
    item.state && item.state !== "active" ? item.state : null,
    item.is_pinned ? "pinned" : null,
    item.flags?.length ? "flagged" : null,
  ];
  const until = item.valid_to ? el("span", { class: "tag" }, `until ${dayOf(item.valid_to)}`) : null;
  return el(
    "span",
    { class: "tags" },
    [item.role ? `said by ${item.role}` : item.kind, item.level === "user" ? null : item.level]
      .filter(Boolean)
      .map((name) => el("span", { class: "tag" }, name)),
    special.filter(Boolean).map((name) => el("span", { class: `tag ${name}` }, name)),
    item.trust && item.trust !== "user" ? el("span", { class: "tag trust" }, `from ${item.trust}`) : null,
    until,
  );
}

/** A memory, message or passage in a list, linked to its own page; `when` is left out below the name of its day. */
export function entry(item, { marked, when = moment(item.observed_at) } = {}) {
  return el(
    "article",
    { class: "entry" },
    el("p", {}, link(`item/${item.id}`, {}, item.text ? said(item.text, { most: 280, marked }) : el("em", {}, "no text"))),
    el(
      "p",
      { class: "about" },
      tags(item),
      " ",
      when && el("time", { datetime: item.observed_at }, when),
    ),
  );
}

/** An item of a prompt in a ranked list, with its relevance; "background" if the message did not find it. */
export function cited({ id, share, before = null, text, kind, at, tag }) {
  return el(
    "li",
    {},
    rank(share, "background"),
    el(
      "article",
      { class: "entry" },
      el("p", {}, before, link(`item/${id}`, {}, said(text, { most: 140 }))),
      el("p", { class: "about" }, `${kind} · ${moment(at)} `, tag),
    ),
  );
}

const FEATURES = {
  keyword: "words in common",
  keyword_before: "words in common, message before",
  keyword_after: "words in common, message after",
  session_keyword: "words in common, conversation",
  dense: "similar meaning",
  dense_after: "similar meaning, message after",
  session_dense: "similar meaning, conversation",
  dated: "matching date",
  linked: "named in a found passage",
  related: "related in the graph",
  flagged: "source no longer trusted",
  elsewhere: "another collection fits better",
  rerank: "reranker",
  beside_facts: "next to found facts",
  answer: "answers the message before",
  brief: "short and says little",
  asks: "unanswered question",
  author_named: "author named in the question",
  assistant: "said by the assistant",
  assistant_asked: "assistant asked about",
};

/** The points of a score, one bar for each contribution. */
export function contributions(list, score) {
  const largest = Math.max(...list.map((each) => Math.abs(each.points)), 1e-9);
  const rows = [...list]
    .sort((a, b) => Math.abs(b.points) - Math.abs(a.points))
    .map((each) => {
      const bar = el("span", { class: each.points < 0 ? "bar minus" : "bar", "aria-hidden": "true" });
      bar.style.setProperty("width", `${Math.max((Math.abs(each.points) / largest) * 100, 0.5)}%`);
      return [
        FEATURES[each.feature] ?? words(each.feature),
        el("span", { class: "track" }, bar),
        number(each.points, 3),
        `${number(each.value, 3)} × ${number(each.weight, 3)}`,
      ];
    });
  return table(`How the score of ${number(score, 3)} is calculated`, ["feature", "", "points", "value × weight"], rows);
}

/** The heading of a page. */
export function heading(title, ...beside) {
  return el("div", { class: "heading" }, el("h1", { tabindex: "-1" }, title), el("div", { class: "actions" }, beside));
}
