// A question to memory: every hit with what its score is made of; and why something was not found.

import { post, route } from "../api.js";
import { el, link, marks, said } from "../dom.js";
import { way } from "../drawing.js";
import { count, fromField, number, words } from "../format.js";
import { LEVELS, choices, contributions, empty, entry, facts, field, fill, form, heading, rank } from "../parts.js";

const KINDS = ["message", "document", "fact", "preference", "goal", "event", "summary", "reflection", "gem"];

const AT_FIRST = { limit: "10", hops: "0" };

export function page({ query, signal, go }) {
  const answer = el("section", { "aria-label": "Answer" });
  const asked = query.get("q") ?? "";
  const why = query.get("why") ?? "";
  const box = form(
    "Search",
    [
      el(
        "div",
        { class: "row" },
        field("Question", "q", { value: asked, type: "search", required: true, class: "wide" }),
      ),
      el(
        "details",
        { open: ["kinds", "levels", "as_of", "known_at", "why"].some((name) => query.get(name)) },
        el("summary", {}, "Filters, and why a result is missing"),
        choices("Kinds (default: all)", "kinds", KINDS, query.getAll("kinds")),
        choices("Levels (default: all visible)", "levels", LEVELS, query.getAll("levels")),
        el(
          "div",
          { class: "row" },
          field("Hits", "limit", { type: "number", min: 1, max: 100, value: query.get("limit") ?? "10" }),
          field("Relations to follow", "hops", { type: "number", min: 0, max: 4, value: query.get("hops") ?? "0" }),
          field("True at", "as_of", { type: "datetime-local", value: query.get("as_of") ?? "" }),
          field("Known at", "known_at", { type: "datetime-local", value: query.get("known_at") ?? "" }),
        ),
        field("ID of a missing result", "why", {
          value: why,
          hint: "The id of a memory or message. The answer shows why it was not found.",
        }),
      ),
    ],
    "Search",
    (given) =>
      go(
        "search",
        Object.entries(given).flatMap(([name, value]) =>
          Array.isArray(value) ? value.map((each) => [name, each]) : value && value !== AT_FIRST[name] ? [[name, value]] : [],
        ),
      ),
    { class: "inline filters" },
  );
  if (asked) fill(answer, () => drawAnswer(question(query), why, signal), signal);
  else {
    answer.append(
      empty(
        why ? "Which question should have found it?" : "Ask as you would ask a person",
        "Memory is searched by meaning and by keyword. Each hit shows how its score is calculated. Press / to open this page.",
      ),
    );
  }
  return [heading("Search"), box, answer];
}

function question(query) {
  const body = { query: query.get("q"), limit: Number(query.get("limit") ?? 10) || 10 };
  if (Number(query.get("hops"))) body.hops = Number(query.get("hops"));
  for (const name of ["kinds", "levels"]) if (query.getAll(name).length) body[name] = query.getAll(name);
  for (const name of ["as_of", "known_at"]) if (query.get(name)) body[name] = fromField(query.get(name));
  return body;
}

async function drawAnswer(body, why, signal) {
  const [recall, reason] = await Promise.all([
    post("recall", body, { signal }),
    why ? post(route`memories/${why}/why-not`, body, { signal }) : null,
  ]);
  return [
    reason ? drawWhy(reason) : null,
    recall.degraded.length
      ? el("p", { class: "banner" }, `Some sources were not searched: ${recall.degraded.join("; ")}`)
      : null,
    el(
      "p",
      { class: "about" },
      `${count(recall.hits.length, "hit")} in ${number(recall.timings_ms.total, 0)} ms · `,
      link("prompt", { q: body.query }, "Show the prompt for this question"),
    ),
    recall.is_fallback
      ? el("p", { class: "banner" }, "Nothing matched. These are the most important memories, as general background.")
      : null,
    recall.hits.length
      ? el(
          "ol",
          { class: "list ranked hits" },
          recall.hits.map((hit, at) => drawHit(hit, at, marks(body.query))),
        )
      : empty(
          "Nothing found",
          "There are no hits and no general background. Check the user at the top.",
        ),
    recall.paths.map((path) =>
      el("section", { class: "card" }, el("h2", {}, said(path.nodes.map((node) => node.name).join(" – "))), way(path)),
    ),
  ];
}

function drawHit(hit, at, marked) {
  return el(
    "li",
    {},
    rank(hit.relevance),
    entry(hit.item, { marked }),
    hit.contributions.length
      ? el("details", { open: at === 0 }, el("summary", {}, "Why"), contributions(hit.contributions, hit.score))
      : null,
  );
}

function drawWhy(reason) {
  return el(
    "section",
    { class: "card", "aria-label": "Why not" },
    el("h2", {}, reason.stage === "found" ? `Found at rank ${reason.rank}` : "Why it was not found"),
    facts([
      ["Stage", words(reason.stage)],
      ["Reason", reason.reason],
      ["Rank", reason.rank],
      ["Candidates", number(reason.candidates, 0)],
      ["Score", reason.score === null ? null : number(reason.score, 3)],
    ]),
    reason.contributions.length ? contributions(reason.contributions, reason.score) : null,
  );
}
