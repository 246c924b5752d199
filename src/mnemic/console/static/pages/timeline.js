// What was kept and said, day by day; and what was true, or known, at a chosen day.

import { get } from "../api.js";
import { el, link, put, said } from "../dom.js";
import { count, dayInWords, dayOf, number } from "../format.js";
import { button, empty, entry, field, fill, heading, tags } from "../parts.js";
import { scope } from "../session.js";

const A_PAGE = 500;
const DAYS_AT_ONCE = 14;
const DAY_MS = 86_400_000;
const STATES = ["active", "disputed", "superseded", "archived"];
const PAST_STATES = ["active", "superseded", "archived"]; // as recall has it for questions about the past

export function page({ signal }) {
  const box = el("section", { "aria-label": "Days" });
  fill(
    box,
    async () => {
      const past = new Past(signal);
      await past.load();
      return draw(past, signal);
    },
    signal,
  );
  return [heading("Timeline"), box];
}

/** What was loaded until now, page by page from the newest on, and from which day on it is all that there is. */
class Past {
  constructor(signal) {
    this.signal = signal;
    this.days = new Map();
    this.sources = [
      { name: "memories", query: { states: STATES }, time: "created_at" },
      { name: "messages", query: scope().session ? { in_session: true } : {}, time: "observed_at" },
    ];
  }

  /** One page more of each source that still hides days. */
  async load() {
    const from = this.from;
    await Promise.all(
      this.sources.filter((source) => !source.isAll && (from === null || source.from === from)).map((s) => this.more(s)),
    );
  }

  async more(source) {
    const asked = { ...source.query, limit: A_PAGE, ...(source.next ? { after: source.next } : {}) };
    const page = await get(source.name, asked, { signal: this.signal });
    const items = page[source.name];
    for (const item of items) this.on(dayOf(item.observed_at))[source.name].push(item);
    source.next = page.next;
    source.isAll = !page.next;
    source.from = page.next ? dayOf(items.at(-1)[source.time]) : null;
  }

  on(day) {
    if (!this.days.has(day)) this.days.set(day, { memories: [], messages: [] });
    return this.days.get(day);
  }

  /** The first day of which something may be missing; older ones are not shown yet. Null when all is here. */
  get from() {
    const days = this.sources.map((source) => source.from ?? null).filter(Boolean);
    return days.length ? days.sort().at(-1) : null;
  }

  /** The days to show, the newest first. */
  get shown() {
    const from = this.from;
    return [...this.days.keys()]
      .filter((day) => from === null || day >= from)
      .sort()
      .reverse();
  }
}

async function draw(past, signal) {
  if (!past.days.size)
    return empty(
      "Nothing has happened yet",
      "Days appear here when the chosen user has messages or memories.",
    );
  const list = el("div", { class: "days" });
  let most = 0;
  async function earlier() {
    most += DAYS_AT_ONCE;
    while (past.shown.length <= most && past.from !== null) {
      const before = past.from;
      await past.load();
      if (past.from === before) break; // one day holds more than a page: it grows with each look
    }
    const days = past.shown;
    const isMore = days.length > most || past.from !== null;
    put(
      list,
      days.slice(0, most).map((day) => drawDay(day, past.days.get(day))),
      isMore ? button("Earlier days", earlier, { class: "more" }) : null,
    );
  }
  await earlier();
  const oldest = await get("memories", { states: STATES, order: "oldest", limit: 1 }, { signal });
  const known = [...past.days.keys(), ...oldest.memories.map((each) => dayOf(each.observed_at))];
  return [slider(known.sort()[0], signal), el("h2", {}, "Day by day"), list];
}

function drawDay(day, { memories, messages }) {
  const talk = [...messages].reverse().sort((a, b) => a.observed_at.localeCompare(b.observed_at));
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
