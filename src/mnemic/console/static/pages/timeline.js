// What was kept and said, day by day; and what was true, or known, at a chosen day.

import { get, lines } from "../api.js";
import { el, link, put, said } from "../dom.js";
import { count, dayInWords, dayOf, number } from "../format.js";
import { empty, entry, field, fill, heading, tags } from "../parts.js";
import { scope } from "../session.js";

const MOST_MEMORIES = 1000;
const MOST_MESSAGES = 5000;
const MOST_READ = 50_000;
const DAYS_AT_ONCE = 14;
const DAY_MS = 86_400_000;
const STATES = ["active", "disputed", "superseded", "archived"];
const PAST_STATES = ["active", "superseded", "archived"]; // as recall has it for questions about the past

export function page({ signal }) {
  const box = el("section", { "aria-label": "Days" });
  fill(box, async () => draw(await gather(signal), signal), signal);
  return [heading("Timeline"), box];
}

async function gather(signal) {
  const [memories, messages] = await Promise.all([
    get("memories", { limit: MOST_MEMORIES, states: STATES }, { signal }),
    spoken(signal),
  ]);
  const notes = [
    memories.next ? `Of the memories, the newest ${number(MOST_MEMORIES, 0)} are shown.` : null,
    messages.note,
  ];
  return { memories: memories.memories, messages: messages.found, notes: notes.filter(Boolean) };
}

/** The newest messages: of a session its window, else those of an export, which begins with all of them in their order. */
async function spoken(signal) {
  if (scope().session) {
    const found = await get("window", { limit: 1000 }, { signal });
    return { found, note: found.length === 1000 ? "Of this session, the last 1,000 messages are shown." : null };
  }
  let found = [];
  let read = 0;
  for await (const line of lines("export", { levels: ["session", "user"] }, { signal })) {
    if (line.type === "conversation" || line.type === "memory" || line.type === "document") break;
    if (line.type !== "message") continue;
    found.push({ ...line, kind: "message" });
    read += 1;
    if (read >= MOST_READ)
      return {
        found: [],
        note: `Messages are left out: there are more than ${number(MOST_READ, 0)}. Name a session at the top to see its own.`,
      };
    if (found.length >= 2 * MOST_MESSAGES) found = found.slice(-MOST_MESSAGES);
  }
  return {
    found: found.slice(-MOST_MESSAGES),
    note:
      read > MOST_MESSAGES
        ? `Of the messages, the newest ${number(MOST_MESSAGES, 0)} are shown; a session named at the top narrows them.`
        : null,
  };
}

function draw({ memories, messages, notes }, signal) {
  const days = new Map();
  for (const [items, name] of [
    [memories, "memories"],
    [messages, "messages"],
  ]) {
    for (const item of items) {
      const day = dayOf(item.observed_at);
      if (!days.has(day)) days.set(day, { memories: [], messages: [] });
      days.get(day)[name].push(item);
    }
  }
  if (!days.size)
    return empty(
      "Nothing has happened yet",
      "Days appear here when something is said or kept for who is chosen at the top.",
    );
  const ordered = [...days.keys()].sort().reverse();
  const list = el("div", { class: "days" });
  const more = (from) => {
    list.querySelector(":scope > .more")?.remove();
    list.append(...ordered.slice(from, from + DAYS_AT_ONCE).map((day) => drawDay(day, days.get(day))));
    if (from + DAYS_AT_ONCE < ordered.length)
      list.append(
        el("button", { class: "more", type: "button", onclick: () => more(from + DAYS_AT_ONCE) }, "Earlier days"),
      );
  };
  more(0);
  return [
    slider(ordered.at(-1), signal),
    notes.length ? el("p", { class: "banner" }, notes.join(" ")) : null,
    el("h2", {}, "Day by day"),
    list,
  ];
}

function drawDay(day, { memories, messages }) {
  const talk = [...messages].sort((a, b) => a.observed_at.localeCompare(b.observed_at));
  return el(
    "section",
    { class: "day", "aria-label": day },
    el("h3", {}, el("time", { datetime: day }, dayInWords(day))),
    memories.map((each) => entry(each)),
    talk.length
      ? el(
          "details",
          {},
          el("summary", {}, count(talk.length, "message")),
          el("ol", { class: "talk" }, talk.slice(0, 200).map(message)),
          talk.length > 200 ? el("p", { class: "hint" }, `and ${number(talk.length - 200, 0)} more`) : null,
        )
      : null,
  );
}

function message(item) {
  return el(
    "li",
    { class: item.role },
    tags({ role: item.role }),
    " ",
    item.name ? [said(item.name), ": "] : null,
    link(`item/${item.id}`, {}, said(item.text, { most: 280 })),
  );
}

/** A slider over all days until today: what was true at the end of one, or what was known. */
function slider(first, signal) {
  const start = Date.parse(`${first}T12:00`); // at noon, so that a change of clocks moves no day
  const last = Math.max(Math.round((Date.parse(`${dayOf(new Date().toISOString())}T12:00`) - start) / DAY_MS), 0);
  const shown = el("div", { "aria-live": "polite" });
  const label = el("output", {}, "now");
  let asking = new AbortController();
  let timer = 0;
  const range = el("input", {
    type: "range",
    id: "as-of",
    min: 0,
    max: last,
    step: 1,
    value: String(last),
    "aria-label": "As of the end of this day",
    "aria-valuetext": "now",
    oninput: moved,
  });
  const sort = field("Ask for what was", "sort", {
    options: [
      ["as_of", "true in the world"],
      ["known_at", "known to us"],
    ],
    value: "as_of",
    onchange: moved,
  });

  function moved() {
    const day = dayOf(new Date(start + Number(range.value) * DAY_MS).toISOString());
    const isNow = Number(range.value) === last;
    label.textContent = isNow ? "now" : day;
    range.setAttribute("aria-valuetext", isNow ? "now" : dayInWords(day));
    clearTimeout(timer);
    asking.abort();
    asking = new AbortController();
    signal.addEventListener("abort", () => asking.abort(), { once: true });
    const own = asking.signal;
    if (isNow) {
      put(shown);
      return;
    }
    timer = setTimeout(() => fill(shown, () => at(day, sort.querySelector("select").value, own), own), 150);
  }
  return el(
    "section",
    { class: "card", "aria-label": "As of" },
    el("h2", {}, "As of ", label),
    el("div", { class: "row" }, range, sort),
    shown,
  );
}

async function at(day, sort, signal) {
  const page = await get(
    "memories",
    { [sort]: new Date(`${day}T23:59:59`).toISOString(), limit: 100, states: PAST_STATES },
    { signal },
  );
  return [
    el(
      "p",
      {},
      `${sort === "as_of" ? "True" : "Known"} at the end of ${dayInWords(day)}: ${count(page.memories.length, "memory", "memories")}${page.next ? " and more" : ""}`,
    ),
    page.memories.map((each) => entry(each)),
  ];
}
