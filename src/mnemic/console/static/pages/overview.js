// Overview: how much there is and how it grows, what needs attention, how healthy it is, and how quickly it answers.

import { get, metrics, post } from "../api.js";
import { el, link, put, said, svg } from "../dom.js";
import { count, moment, number, shortDay, words } from "../format.js";
import { empty, entry, facts, field, fill, form, heading, meter, table } from "../parts.js";
import { caller, isNobody, may } from "../session.js";
import { sessionEntry } from "./conversations.js";
import { turnEntry } from "./turns.js";

const NEWEST = 5;
const MOST_USERS = 200;
const MOST_DRAWN = 20; // users with a line of activity, which costs a request each
const MOST_TURNS = 200; // behind the share and the time
const MOST_COUNTED = 1000; // sessions and memories behind a line of growth
const PARTS = 30; // points of a line
const LIVE_MS = 10_000; // between two refreshes
const LINE = { width: 200, height: 36 };

export function page({ signal, choose, go }) {
  if (isNobody() && caller.is_operator) {
    const users = el("section", { "aria-label": "Users" });
    const speed = el("section", { class: "tile", "aria-label": "Speed" });
    const boxes = [
      [users, () => drawUsers(choose, signal)],
      [speed, () => drawSpeed(signal)],
    ];
    for (const [box, draw] of boxes) fill(box, draw, signal);
    keepLive(boxes, signal);
    return [heading("Overview"), users, speed];
  }
  const growth = el("section", { class: "tile wide", "aria-label": "Growth" });
  const attention = el("section", { class: "tile", "aria-label": "What needs attention" });
  const health = el("section", { class: "tile", "aria-label": "Health" });
  const speed = el("section", { class: "tile", "aria-label": "Speed" });
  const turns = el("section", { class: "tile", "aria-label": "Prompts with memory" });
  const counts = el("section", { "aria-label": "Counts" });
  const asked = new Map();
  const ask = (name, given) => {
    const known = JSON.stringify([name, given]);
    if (!asked.has(known)) asked.set(known, get(name, given, { signal }));
    return asked.get(known);
  };
  const drawn = [
    [counts, () => drawCounts(ask)],
    [turns, () => drawTurns(ask)],
    [attention, () => drawAttention(signal)],
    ...(caller.is_operator ? [[speed, () => drawSpeed(signal)]] : []),
  ];
  const quick = Promise.all(drawn.map(([box, draw]) => fill(box, draw, signal)));
  keepLive(drawn, signal, () => asked.clear());
  const grown = fill(growth, () => quick.then(() => drawGrowth(ask)), signal); // the costly ones do not hold up the others
  fill(health, () => grown.then(() => drawHealth(signal)), signal);
  const search = form(
    "Search everything",
    [el("div", { class: "row" }, field("Search memories, messages and documents", "q", { type: "search", required: true }))],
    "Search",
    ({ q }) => go("search", { q }),
    { class: "inline" },
  );
  return [heading("Overview"), search, el("div", { class: "tiles" }, growth, attention, health, caller.is_operator ? speed : null, turns), counts];
}

/** Redraws boxes while the page is visible. A box that has the focus, or whose data cannot be loaded, stays. */
function keepLive(boxes, signal, forget = () => {}) {
  const again = async ([box, draw]) => {
    if (box.hasAttribute("aria-busy") || box.contains(document.activeElement)) return;
    const found = await draw().catch(() => null);
    if (found && !signal.aborted) put(box, found);
  };
  const timer = setInterval(() => {
    if (document.hidden) return;
    forget();
    boxes.forEach(again);
  }, LIVE_MS);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}

/** How many memories and messages came over time. */
async function drawGrowth(ask) {
  const [counts, page, sessions] = await Promise.all([
    ask("counts", {}),
    ask("memories", { limit: MOST_COUNTED }),
    ask("sessions", { limit: MOST_COUNTED }),
  ]);
  const messages = sessions.reduce((sum, each) => sum + each.messages, 0);
  const times = [...page.memories, ...sessions].map(timeOf);
  const span = { first: Math.min(...times), last: Math.max(...times) };
  return [
    el("h2", {}, "Growth", times.length ? el("span", { class: "hint" }, ` ${dayAt(span.first)} to ${dayAt(span.last)}`) : null),
    el(
      "div",
      { class: "growth" },
      figure(counts.states.active ?? 0, "memories", ["active memory", "active memories"], spread(page.memories, span, () => 1)),
      figure(messages, "conversations", ["message", "messages"], spread(sessions, span, (each) => each.messages)),
      figure(sessions.length, "conversations", ["conversation", "conversations"], spread(sessions, span, () => 1)),
    ),
  ];
}

function figure(amount, page, [one, many], sums) {
  const name = link(page, {}, amount === 1 ? one : many);
  return el("div", {}, el("strong", { class: "big" }, number(amount, 0)), " ", name, sparkline(sums));
}

const timeOf = (each) => Date.parse(each.observed_at ?? each.last_at);
const dayAt = (time) => shortDay(new Date(time).toISOString());

/** Sums over equal parts of a span of time. */
function spread(items, { first, last }, weight) {
  const sums = new Array(PARTS).fill(0);
  for (const each of items) {
    const share = (timeOf(each) - first) / Math.max(last - first, 1);
    sums[Math.min(Math.floor(share * PARTS), PARTS - 1)] += weight(each);
  }
  return sums;
}

/** A column for each part of the time; none where nothing came. */
function sparkline(sums) {
  const most = Math.max(...sums, 1);
  const wide = LINE.width / sums.length;
  const columns = sums.map((sum, at) => {
    const height = sum && Math.max((sum / most) * LINE.height, 2);
    return svg("rect", { x: at * wide, y: LINE.height - height, width: wide * 0.72, height });
  });
  return svg(
    "svg",
    { viewBox: `0 0 ${LINE.width} ${LINE.height}`, class: "spark", role: "img", "aria-label": `over time: ${sums.join(", ")}`, preserveAspectRatio: "none" },
    columns,
  );
}

/** The last prompts: how many got something of memory, how long it took, and the newest ones. */
async function drawTurns(ask) {
  const { contexts } = await ask("contexts", { limit: MOST_TURNS });
  const title = el("h2", {}, "Prompts with memory");
  if (!contexts.length) return [title, el("p", { class: "hint" }, "No model has received memory yet.")];
  const served = contexts.filter((each) => each.items.length).length;
  const times = contexts.map((each) => each.took_ms).sort((a, b) => a - b);
  return [
    title,
    el("p", { class: "score" }, el("strong", {}, `${number((100 * served) / contexts.length, 0)} %`), " received memory"),
    meter(served / contexts.length),
    el(
      "p",
      {},
      `Based on the last ${count(contexts.length, "prompt")}. Half were ready within ${number(times[Math.floor(times.length / 2)], 0)} ms. `,
      link("turns", {}, "All turns"),
    ),
  ];
}

/** How long recall takes, over all users since the server started. */
async function drawSpeed(signal) {
  const { total, below } = (await metrics("mnemic_recall_seconds", { signal })) ?? { total: 0 };
  const title = el("h2", {}, "Recall");
  if (!total) return [title, el("p", { class: "hint" }, "Nothing has been recalled since the server started.")];
  return [
    title,
    el("p", { class: "score" }, el("strong", {}, within(below(0.5))), " for half of the recalls"),
    el("p", {}, `${within(below(0.95))} for 95 %. ${count(total, "recall")} by all users since the server started.`),
  ];
}

const within = (seconds) => (seconds === Infinity ? "> 1 min" : `≤ ${number(seconds * 1000, 0)} ms`);

async function drawUsers(choose, signal) {
  const [users, agents] = (await Promise.all(["users", "agents"].map((each) => get(each, {}, { signal })))).map((found) =>
    found.filter((each) => each.org === caller.org),
  );
  if (!users.length && !agents.length)
    return empty(
      "This store is empty",
      "Users appear here when something is captured, remembered or ingested for them. Try it on the command line: mnemic remember \"I like green tea\"",
    );
  const most = Object.fromEntries(
    ["memories", "messages"].map((name) => [name, Math.max(...users.map((each) => each[name]), 1)]),
  );
  const drawn = users.slice(0, MOST_USERS).map(() => el("span", {}));
  for (const [at, { user }] of users.slice(0, MOST_DRAWN).entries())
    get("sessions", { user, limit: MOST_COUNTED }, { signal })
      .then((sessions) => sessions.length && put(drawn[at], activity(sessions)))
      .catch(() => put(drawn[at], "—"));
  const sum = (name) => users.reduce((total, each) => total + each[name], 0);
  const totals = [
    [users.length, "user", "users"],
    [sum("memories"), "memory", "memories"],
    [sum("messages"), "message", "messages"],
    [sum("documents"), "document", "documents"],
  ];
  const chosen = (part, name) => el("button", { type: "button", class: "name", onclick: () => choose({ [part]: name }) }, said(name));
  return [
    el(
      "p",
      { class: "card totals" },
      totals.map(([amount, one, many]) => el("span", {}, el("strong", { class: "big" }, number(amount, 0)), ` ${amount === 1 ? one : many}`)),
    ),
    table(
      users.length > MOST_USERS ? `The ${MOST_USERS} most recently active users` : "Users, most recently active first",
      ["user", "memories (all states)", "messages", "documents", "activity", "last active"],
      users
        .slice(0, MOST_USERS)
        .map((each, at) => [
          chosen("user", each.user),
          [number(each.memories, 0), " ", meter(each.memories / most.memories)],
          [number(each.messages, 0), " ", meter(each.messages / most.messages)],
          number(each.documents, 0),
          drawn[at],
          moment(each.last_at),
        ]),
    ),
    agents.length
      ? table(
          "Agents with shared memories",
          ["agent", "memories (all states)", "documents", "last active"],
          agents
            .slice(0, MOST_USERS)
            .map((each) => [chosen("agent", each.agent), number(each.memories, 0), number(each.documents, 0), moment(each.last_at)]),
        )
      : null,
  ];
}

/** Messages from the first conversation until now. */
function activity(sessions) {
  const span = { first: Math.min(...sessions.map(timeOf)), last: Date.now() };
  return sparkline(spread(sessions, span, (each) => each.messages));
}

async function drawCounts(ask) {
  const [counts, newest, sessions, { contexts }] = await Promise.all([
    ask("counts", {}),
    ask("memories", { limit: NEWEST }),
    ask("sessions", { limit: NEWEST }),
    ask("contexts", { limit: MOST_TURNS }),
  ]);
  if (!sessions.length && !Object.keys(counts.states).length && !Object.keys(counts.documents).length) {
    return [
      el("h2", {}, "Memories"),
      empty(
        "Nothing is remembered here yet",
        "Memories come from conversations (capture), from programs (remember), from files (ingest) and from imports. Or write one yourself:",
        link("memories", {}, "Memories → New memory"),
      ),
    ];
  }
  return [
    el(
      "div",
      { class: "halves" },
      el("section", { "aria-label": "Newest conversations" }, el("h2", {}, "Newest conversations"), sessions.map(sessionEntry)),
      contexts.length
        ? el("section", { "aria-label": "Newest turns" }, el("h2", {}, "Newest turns"), contexts.slice(0, NEWEST).map(turnEntry))
        : null,
      el("section", { "aria-label": "Newest memories" }, el("h2", {}, "Newest memories"), newest.memories.map((each) => entry(each))),
    ),
    el("h2", {}, "What is stored"),
    facts([
      ["Memories", amounts(counts.states, (state) => link("memories", { states: state }, words(state)))],
      ["By kind", amounts(counts.kinds, (kind) => link("memories", { kinds: kind }, words(kind)))],
      ["Documents", amounts(counts.documents, (status) => link("documents", {}, words(status)))],
    ]),
  ];
}

/** Names with their amounts in one line, the largest first. */
function amounts(counts, name) {
  const known = Object.entries(counts).sort((a, b) => b[1] - a[1]);
  return known.length ? known.map(([each, amount], at) => [at ? " · " : "", el("span", { class: "whole-line" }, `${number(amount, 0)} `, name(each))]) : null;
}

async function drawAttention(signal) {
  const [waiting, dead, failed] = await Promise.all([
    get("review", { limit: 100 }, { signal }),
    get("jobs", { states: "dead", limit: 100 }, { signal }),
    get("documents", { statuses: "failed", limit: 100 }, { signal }),
  ]);
  const found = [
    waiting.length
      ? link(
          "review",
          {},
          `${several(waiting.length)} ${waiting.length === 1 ? "memory needs" : "memories need"} review`,
        )
      : null,
    dead.length
      ? link(
          "jobs",
          { states: "dead" },
          `${several(dead.length)} ${dead.length === 1 ? "job" : "jobs"} failed permanently`,
        )
      : null,
    failed.documents.length
      ? link("documents", {}, `${count(failed.documents.length, "document")} could not be read`)
      : null,
  ].filter(Boolean);
  return [
    el("h2", {}, "What needs attention"),
    found.length
      ? el(
          "ul",
          {},
          found.map((each) => el("li", {}, each)),
        )
      : el("p", {}, "Nothing."),
  ];
}

function several(amount) {
  return amount >= 100 ? "100 or more" : number(amount, 0);
}

async function drawHealth(signal) {
  const title = el("h2", {}, "Health");
  if (!may("write"))
    return [title, el("p", { class: "hint" }, "Health checks require a key with the “write” right.")];
  if (isNobody()) return [title, el("p", { class: "hint" }, "Choose a user at the top to see their memory's health.")];
  const report = await post("health", undefined, { query: { is_dry_run: true, limit: 1 }, signal });
  const { score, counts, memories } = report.score;
  return [
    title,
    el("p", { class: "score" }, el("strong", {}, number(score, 0)), " of 100"),
    meter(score / 100),
    el(
      "p",
      {},
      `${count(memories, "active or disputed memory", "active or disputed memories")} checked, `,
      link(
        "health",
        {},
        count(
          Object.values(counts).reduce((sum, each) => sum + each, 0),
          "finding",
        ),
      ),
    ),
  ];
}
