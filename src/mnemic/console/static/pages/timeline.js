// What was kept and said, day by day; and what was true, or known, at a chosen day.

import { get, post, route } from "../api.js";
import { el, link, put, said } from "../dom.js";
import { count, dayInBrief, dayInWords, dayOf, number } from "../format.js";
import { drawLanes, lanesOf } from "../lanes.js";
import { button, empty, entry, fill, heading, notice, tags } from "../parts.js";
import { scope } from "../session.js";
import { STATES, TIMES, daySlider, endOf, firstDay } from "../slider.js";

const A_PAGE = 500; // memories or messages of the days: more than most users have in `DAYS_AT_ONCE`
const AT_ONCE = 1000; // rows: the most that the server returns
const MOST_LANED = 4 * AT_ONCE; // memories whose lanes are drawn, so that the page waits for four requests at most
const CARD_EDGES = 34; // its padding and border, left and right
const DAYS_AT_ONCE = 14; // two weeks fill a few windows
const MOST_MESSAGES = 200; // of a day
const DAY_MS = 86_400_000;
const SETTLES_MS = 150; // a moving slider tells each day it passes; a request waits until it rests
const PAST_STATES = ["active", "superseded", "archived"]; // as recall has it for questions about the past

export function page({ signal, again }) {
  const box = el("section", { "aria-label": "Days" });
  fill(
    box,
    async () => {
      const past = new Past(signal);
      await past.load();
      return draw(past, signal, again);
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

async function draw(past, signal, again) {
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
  const [oldest] = await Promise.all([firstDay(signal), earlier()]);
  const [first] = [...past.days.keys(), oldest].sort();
  return [await overview(first, signal, again), el("h2", {}, "Day by day"), list];
}

function drawDay(day, { memories, messages }) {
  const talk = [...messages].reverse().sort((a, b) => a.observed_at.localeCompare(b.observed_at));
  return el(
    "section",
    { class: "day", "aria-label": day },
    el("h3", {}, el("time", { datetime: day }, dayInBrief(day))),
    memories.map((each) => entry(each, { when: null })),
    talk.length
      ? el(
          "details",
          {},
          el("summary", {}, count(talk.length, "message")),
          el("ol", { class: "talk" }, talk.slice(0, MOST_MESSAGES).map(message)),
          talk.length > MOST_MESSAGES ? el("p", { class: "hint" }, `and ${number(talk.length - MOST_MESSAGES, 0)} more`) : null,
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

/** Lanes and events over all days until today, and a slider along them: what was true, or known, at the end of one. */
async function overview(first, signal, again) {
  const [memories, sessions] = await Promise.all([newest(signal), get("sessions", { limit: AT_ONCE }, { signal })]);
  const chosen = { as_of: null, known_at: null };
  const [truth, knowledge] = TIMES.map((each) => daySlider(each, { first, moved: (day) => moved(each[0], day) }));
  const { start, last } = truth;
  const { box, move, indent } = drawLanes({
    lanes: lanesOf(memories),
    events: memories.filter((each) => each.kind === "event" && each.state === "active"),
    sessions,
    start,
    end: Math.max(start + last * DAY_MS, start + 1),
    width: Math.max(roomInCard(), 240),
    resolve: (conflict) => resolving(conflict, again),
  });
  const shown = el("div", { "aria-live": "polite" });
  let asking = new AbortController();
  let timer = 0;
  signal.addEventListener("abort", () => asking.abort(), { once: true });
  for (const { box: slider } of [truth, knowledge]) slider.style.setProperty("--indent", `${indent}px`);

  function moved(name, day) {
    chosen[name] = day;
    move(start + Number(truth.range.value) * DAY_MS, start + Number(knowledge.range.value) * DAY_MS);
    clearTimeout(timer);
    asking.abort();
    asking = new AbortController();
    const own = asking.signal;
    if (!chosen.as_of && !chosen.known_at) {
      put(shown);
      shown.removeAttribute("aria-busy"); // of a request that was aborted above
      return;
    }
    timer = setTimeout(() => fill(shown, () => at(chosen, own), own), SETTLES_MS);
  }
  return el(
    "section",
    { class: "card", "aria-label": "On a chosen day" },
    el("h2", {}, "What was true, and what Mnemic knew"),
    box,
    truth.box,
    knowledge.box,
    shown,
  );
}

/** The newest memories in all states of the timeline, up to `MOST_LANED`; the days below show older ones too. */
async function newest(signal) {
  const found = [];
  let after;
  do {
    const page = await get("memories", { states: STATES, limit: AT_ONCE, after }, { signal });
    found.push(...page.memories);
    after = page.next;
  } while (after && found.length < MOST_LANED);
  return found;
}

/** The width of what a card of the page holds. */
function roomInCard() {
  const main = document.getElementById("main");
  const { paddingLeft, paddingRight } = getComputedStyle(main);
  return main.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - CARD_EDGES;
}

/** Two values at the same time: which one holds is decided here. */
function resolving([disputed, known], again) {
  const decide = (verb, told) => async () => {
    await post(route`memories/${disputed.memory.id}/${verb}`, {});
    notice(told);
    again();
  };
  const name = (each) => said(each.text, { most: 40 });
  return el(
    "div",
    { class: "resolve" },
    el("p", {}, "Only one can be true: ", el("strong", {}, name(known)), " or ", el("strong", {}, name(disputed)), "?"),
    el(
      "div",
      { class: "actions" },
      button(["It is ", name(known)], decide("reject", "Rejected. You can undo this."), { right: "write" }),
      button(["It is ", name(disputed)], decide("trust", "Trusted. The other memory is superseded."), { right: "write" }),
    ),
  );
}

/** The memories that were true on one day, as Mnemic knew them on the other. */
async function at({ as_of: truth, known_at: knowledge }, signal) {
  const times = { ...(truth ? { as_of: endOf(truth) } : {}), ...(knowledge ? { known_at: endOf(knowledge) } : {}) };
  const page = await get("memories", { ...times, limit: 100, states: PAST_STATES }, { signal });
  const told = [
    truth ? `what was true on ${dayInWords(truth)}` : "what is true",
    knowledge ? `as Mnemic knew it on ${dayInWords(knowledge)}` : "as Mnemic knows it now",
  ];
  return [
    el("h3", {}, `${count(page.memories.length, "memory", "memories")}${page.next ? " and more" : ""}`),
    el("p", { class: "hint" }, `Shows ${told.join(", ")}.`),
    page.memories.map((each) => entry(each)),
  ];
}
