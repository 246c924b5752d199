// The context of a message: what a model would get with it, why each item is there, and what was left out.

import { post } from "../api.js";
import { el, link, said } from "../dom.js";
import { count, fromField, moment, number, words } from "../format.js";
import { empty, field, fill, form, heading, meter } from "../parts.js";
import { TIMES } from "../slider.js";

const BUDGET = 2048;
const LARGE_BUDGET = 16_384;
const MOST_LEFT_OUT = 20;
const PERSONAL = ["profile", "facts", "documents", "agent", "org", "session"];

export function page({ query, signal, go }) {
  const answer = el("section", { "aria-label": "What the model receives" });
  const asked = query.get("q") ?? "";
  const box = form(
    "Prompt",
    [
      field("Message", "q", { value: asked, rows: 2, required: true }),
      el("div", { class: "row" }, limits(query), TIMES.map(([name, , label]) => time(label, name, query))),
    ],
    "Show the prompt",
    (given) =>
      go(
        "prompt",
        Object.entries(given).filter(([, value]) => value),
      ),
  );
  if (asked) fill(answer, () => replay(asked, query, signal), signal);
  else
    answer.append(
      empty(
        "What would a model receive?",
        "Enter a message as the user would. This page shows the exact text that is added to the prompt, where each part comes from, and what is left out.",
      ),
    );
  return [heading("Prompt"), box, answer];
}

const time = (label, name, query) => field(label, name, { type: "datetime-local", value: query.get(name) ?? "" });

/** The fields for what a prompt may hold. */
export function limits(query) {
  return [
    field("Budget (tokens)", "budget", {
      type: "number",
      min: 16,
      max: LARGE_BUDGET,
      value: query.get("budget") ?? String(BUDGET),
    }),
    field("Minimum relevance (%)", "floor", {
      type: "number",
      min: 0,
      max: 100,
      value: query.get("floor") ?? "",
      placeholder: "automatic",
    }),
  ];
}

/** What a model would get with a message, under the conditions of `query`. `then`: what it got, by id; `session`: where it was said; `level`: of the headings. */
export async function replay(asked, query, signal, { then = null, session = null, level = 2 } = {}) {
  const head = (text) => el(`h${level}`, {}, text);
  const question = { query: asked };
  if (query.get("floor")) question.min_relevance = Number(query.get("floor")) / 100;
  for (const [name] of TIMES) if (query.get(name)) question[name] = fromField(query.get(name));
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
          { class: "list" },
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
  return el(
    "li",
    {},
    el(
      "p",
      {},
      `[${citation.number}] `,
      link(`item/${citation.item_id}`, {}, said(hit?.item.text ?? citation.title ?? citation.source, { most: 140 })),
    ),
    el(
      "p",
      { class: "about" },
      isNew ? [el("span", { class: "tag" }, "not in the original prompt"), " "] : null,
      hit?.contributions.length ? relevance(hit) : "shown with another item · ",
      `${words(citation.kind)} · ${moment(citation.observed_at)}`,
    ),
  );
}

/** A bar and a percentage; nothing for an embedder whose relevance is not known. */
export function relevance(hit) {
  if (hit.relevance === null) return null;
  const share = Math.round(100 * hit.relevance);
  return [meter(hit.relevance), ` ${share} % relevant · `];
}

/** Hits of recall that the prompt does not contain: those that a larger budget would add, and those that are not relevant enough. */
function leftOut(context, roomy, found, head) {
  const shown = new Set(context.citations.map((each) => each.item_id));
  const fits = new Set(roomy.citations.map((each) => each.item_id));
  const others = found.hits.filter((hit) => !shown.has(hit.item.id)).slice(0, MOST_LEFT_OUT);
  if (!others.length) return null;
  const lowest = Math.min(...context.recall.hits.map((hit) => hit.relevance ?? 1));
  const reason = (hit) => {
    if (fits.has(hit.item.id)) return "does not fit the budget";
    if (hit.item.provenance?.some((each) => shown.has(each.source_id))) return "comes from a message in the prompt";
    return hit.relevance < lowest ? "not relevant enough" : "not relevant enough, or covered by another item";
  };
  return [
    head("Left out"),
    el(
      "ol",
      { class: "list" },
      others.map((hit) =>
        el(
          "li",
          {},
          el("p", {}, link(`item/${hit.item.id}`, {}, said(hit.item.text, { most: 140 }))),
          el(
            "p",
            { class: "about" },
            relevance(hit),
            reason(hit),
          ),
        ),
      ),
    ),
  ];
}
