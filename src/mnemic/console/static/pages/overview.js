// Overview: counts, health and pending reviews.

import { get, post } from "../api.js";
import { el, link, said } from "../dom.js";
import { count, moment, number, words } from "../format.js";
import { empty, entry, facts, fill, heading, table } from "../parts.js";
import { caller, isNobody, may } from "../session.js";
import { newestSessions, sessionEntry } from "./conversations.js";

const NEWEST = 5;
const MOST_USERS = 200;

export function page({ signal, choose }) {
  if (isNobody() && caller.is_operator) {
    const users = el("section", { "aria-label": "Users" });
    fill(users, () => drawUsers(choose, signal), signal);
    return [heading("Overview"), users];
  }
  const counts = el("section", { "aria-label": "Counts" });
  const attention = el("section", { "aria-label": "What needs attention" });
  const health = el("section", { "aria-label": "Health" });
  fill(counts, () => drawCounts(signal), signal);
  fill(attention, () => drawAttention(signal), signal);
  fill(health, () => drawHealth(signal), signal);
  return [heading("Overview"), el("div", { class: "cards" }, attention, health), counts];
}

async function drawUsers(choose, signal) {
  const users = (await get("users", {}, { signal })).filter((each) => each.org === caller.org);
  if (!users.length)
    return empty(
      "This store is empty",
      "Users appear here when something is captured, remembered or ingested for them. Try it on the command line: mnemic remember \"I like green tea\"",
    );
  return [
    table(
      users.length > MOST_USERS ? `The ${MOST_USERS} users last active` : "Users, most recently active first",
      ["user", "memories", "messages", "documents", "last active"],
      users
        .slice(0, MOST_USERS)
        .map((each) => [
          el("button", { type: "button", class: "name", onclick: () => choose({ user: each.user }) }, said(each.user)),
          number(each.memories, 0),
          number(each.messages, 0),
          number(each.documents, 0),
          moment(each.last_at),
        ]),
    ),
  ];
}

async function drawCounts(signal) {
  const [counts, newest, sessions] = await Promise.all([
    get("counts", {}, { signal }),
    get("memories", { limit: NEWEST }, { signal }),
    newestSessions(NEWEST, signal),
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
    el("h2", {}, "Memories"),
    el(
      "div",
      { class: "cards" },
      card("By state", counts.states, (state) => link("memories", { states: state }, words(state))),
      card("By kind", counts.kinds, (kind) => link("memories", { kinds: kind }, words(kind))),
      card("Documents", counts.documents, (status) => link("documents", {}, words(status))),
    ),
    sessions.length ? [el("h2", {}, "Newest conversations"), sessions.map(sessionEntry)] : null,
    newest.memories.length ? [el("h2", {}, "Newest memories"), newest.memories.map((each) => entry(each))] : null,
  ];
}

function card(title, counts, name) {
  const known = Object.entries(counts);
  return el(
    "div",
    { class: "card" },
    el("h3", {}, title),
    known.length
      ? facts(known.map(([each, amount]) => [name(each), number(amount, 0)]))
      : el("p", { class: "hint" }, "none"),
  );
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
    caller.has_key || !may("admin")
      ? null
      : el("span", {}, "No key is needed: only programs of this machine can ask. ", link("settings", {}, "Settings")),
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
    return [title, el("p", { class: "hint" }, "Looking at the health needs a key with the right write.")];
  if (isNobody()) return [title, el("p", { class: "hint" }, "Choose a user at the top to see their memory's health.")];
  const report = await post("health", undefined, { query: { is_dry_run: true, limit: 1 }, signal });
  const { score, counts, memories } = report.score;
  return [
    title,
    el("p", { class: "score" }, el("strong", {}, number(score, 0)), " of 100"),
    el(
      "p",
      {},
      `of ${count(memories, "memory", "memories")}; `,
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
