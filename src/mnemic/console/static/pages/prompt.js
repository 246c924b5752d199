// The context of a message: what a model would get with it, why each item is there, and what was left out.

import { post } from "../api.js";
import { address, el, link, said } from "../dom.js";
import { count, number, words } from "../format.js";
import { cited, empty, field, fill, form, heading, rank } from "../parts.js";
import { TIMES, daySlider, endOf, firstDay } from "../slider.js";

const BUDGET = 2048;
const LARGE_BUDGET = 16_384;
const MOST_LEFT_OUT = 20;
const FEW = 6; // items of a reason that are listed at once
const SETTLES_MS = 250;
const PERSONAL = ["profile", "facts", "documents", "agent", "org", "session"];

export function page({ query, signal, go }) {
  const asked = query.get("q") ?? "";
  const box = form(
    "Prompt",
    [field("Message", "q", { value: asked, rows: 1, required: true })],
    "Show the prompt",
    ({ q }) => go("prompt", { ...Object.fromEntries(query), q }),
    { class: "inline" },
  );
  const rest = el("div", {});
  if (asked) {
    fill(rest, () => trial(asked, query, signal, { first: firstDay(signal), place: "prompt" }), signal);
  } else
    rest.append(
      empty(
        "What would a model receive?",
        "Enter a message as the user would. This page shows the exact text that is added to the prompt, where each part comes from, and what is left out.",
      ),
    );
  return [heading("Prompt"), box, rest];
}

/** The prompt of a message, and what changes it: each change goes into `query` and the address of `place`, and asks again. `first`: the sliders' first day, or its promise; the rest as for `replay`. */
export async function trial(asked, query, signal, { first, place, ...about }) {
  const answer = el("section", { "aria-label": about.then ? "Rebuilt prompt" : "What the model receives" });
  let timer = 0;
  let asking = new AbortController();
  signal.addEventListener("abort", () => asking.abort(), { once: true });
  function ask() {
    asking.abort();
    if (signal.aborted) return;
    asking = new AbortController();
    const own = asking.signal;
    fill(answer, () => replay(asked, query, own, about), own);
  }
  function changed(name, value) {
    if (value) query.set(name, value);
    else query.delete(name);
    history.replaceState(null, "", address(place, query));
    clearTimeout(timer);
    timer = setTimeout(ask, SETTLES_MS);
  }
  ask();
  return [conditions(query, await first, changed), answer];
}

function conditions(query, first, changed) {
  const limit = (label, name, least, most, more) =>
    field(label, name, {
      type: "number",
      min: least,
      max: most,
      value: query.get(name) ?? "",
      oninput: ({ target }) => target.checkValidity() && changed(name, target.value),
      ...more,
    });
  return el(
    "div",
    { class: "conditions", role: "group", "aria-label": "Conditions" },
    limit("Budget (tokens)", "budget", 16, LARGE_BUDGET, { placeholder: String(BUDGET) }),
    limit("Minimum relevance (%)", "floor", 0, 100, { placeholder: "automatic" }),
    TIMES.map((each) => daySlider(each, { first, day: query.get(each[0])?.slice(0, 10), moved: (day) => changed(each[0], day) }).box),
  );
}

/** What a model would get with a message, under the conditions of `query`. `then`: what it got, by id; `session`: where it was said; `level`: of the headings. */
async function replay(asked, query, signal, { then = null, session = null, level = 2 } = {}) {
  const head = (text) => el(`h${level}`, {}, text);
  const question = { query: asked };
  if (query.get("floor")) question.min_relevance = Number(query.get("floor")) / 100;
  for (const [name] of TIMES) if (query.get(name)) question[name] = endOf(query.get(name).slice(0, 10));
  const body = { ...question, budget_tokens: Number(query.get("budget")) || BUDGET, is_dry_run: true };
  const options = { signal, query: session ? { session } : {} };
  const [context, roomy, found] = await Promise.all([
    post("context", body, options),
    post("context", { ...body, budget_tokens: LARGE_BUDGET }, options),
    post("recall", { ...question, limit: 50, min_relevance: 0 }, options),
  ]);
  const isSilent = !Object.keys(context.blocks).some((name) => PERSONAL.includes(name));
  return [
    context.degraded.length
      ? el("p", { class: "banner" }, `Some sources were not searched: ${context.degraded.join("; ")}`)
      : null,
    el(
      "div",
      { class: "inspector" },
      el(
        "section",
        { "aria-label": "Prompt" },
        head(`Prompt: ${number(context.token_count, 0)} tokens from memory`),
        isSilent ? el("p", { class: "banner" }, "This message needs no memory, so the model receives none.") : null,
        context.messages.filter(isMemory).map(spoken(level + 1)),
        earlier(context.messages.filter((each) => !isMemory(each)), level + 1),
      ),
      el("section", { "aria-label": "Sources" }, sources(context, then, head), gone(context, then, head), leftOut(context, roomy, found, head)),
    ),
  ];
}

function sources(context, then, head) {
  const hits = new Map(context.recall.hits.map((hit) => [hit.item.id, hit]));
  return [
    head("In the prompt"),
    context.citations.length
      ? el(
          "ol",
          { class: "list ranked" },
          context.citations.map((each) => source(each, hits.get(each.item_id), then && !then.has(each.item_id))),
        )
      : el("p", { class: "hint" }, "No memories, messages or documents."),
  ];
}

const isMemory = (message) => message.role === "system";

const spoken = (level) => ({ role, content }) => [
  el(`h${level}`, {}, words(role)),
  el("pre", { tabindex: "0" }, said(content, { most: 50_000 })),
];

/** The message, after those of the conversation that the model gets too. */
function earlier(messages, level) {
  if (messages.length < 2) return messages.map(spoken(level));
  const title = `The message, after ${count(messages.length - 1, "earlier message")}`;
  return el("details", {}, el("summary", {}, title), messages.map(spoken(level)));
}

/** What was in the prompt then, and is not now. */
function gone(context, then, head) {
  const shown = new Set(context.citations.map((each) => each.item_id));
  const others = [...(then?.values() ?? [])].filter((each) => !shown.has(each.id));
  const waiting = others.filter((each) => each.isWaiting).length;
  if (!others.length) return null;
  return [
    head("Only in the original prompt"),
    el(
      "ol",
      { class: "list" },
      others.filter((each) => !each.isWaiting).map((each) => el("li", {}, link(`item/${each.id}`, {}, each.text ? said(each.text, { most: 140 }) : "erased"))),
    ),
    waiting ? el("p", { class: "hint" }, `and ${number(waiting, 0)} more`) : null,
  ];
}

function source(citation, hit, isNew) {
  return cited({
    id: citation.item_id,
    share: hit?.contributions.length ? hit.relevance : null,
    before: `[${citation.number}] `,
    text: hit?.item.text ?? citation.title ?? citation.source,
    kind: words(citation.kind),
    at: citation.observed_at,
    tag: isNew ? el("span", { class: "tag" }, "not in the original prompt") : null,
  });
}

/** Hits of recall that the prompt does not contain: those that a larger budget would add, and those that are not relevant enough. */
function leftOut(context, roomy, found, head) {
  const shown = new Set(context.citations.map((each) => each.item_id));
  const fits = new Set(roomy.citations.map((each) => each.item_id));
  const others = found.hits.filter((hit) => !shown.has(hit.item.id)).slice(0, MOST_LEFT_OUT);
  if (!others.length) return null;
  const lowest = Math.min(...context.recall.hits.map((hit) => hit.relevance ?? 1));
  const reason = (hit) => {
    if (fits.has(hit.item.id)) return "Does not fit the budget";
    if (hit.item.provenance?.some((each) => shown.has(each.source_id))) return "Comes from a message in the prompt";
    return hit.relevance < lowest ? "Not relevant enough" : "Not relevant enough, or covered by another item";
  };
  return [
    head("Left out"),
    [...Map.groupBy(others, reason)]
      .sort((a, b) => a[1].length - b[1].length)
      .map(([why, hits]) =>
        el(
          "details",
          { open: hits.length <= FEW },
          el("summary", {}, `${why} (${hits.length})`),
          el(
            "ol",
            { class: "list ranked compact" },
            hits.map((hit) => el("li", {}, rank(hit.relevance), el("p", { class: "entry" }, link(`item/${hit.item.id}`, {}, said(hit.item.text, { most: 140 }))))),
          ),
        ),
      ),
  ];
}
