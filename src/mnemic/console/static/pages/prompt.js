// The context of a message: what a model would get with it, why each item is there, and what was left out.

import { post } from "../api.js";
import { el, link, said } from "../dom.js";
import { fromField, moment, number, words } from "../format.js";
import { empty, field, fill, form, heading, meter } from "../parts.js";

const BUDGET = 2048;
const LARGE_BUDGET = 16_384;
const MOST_LEFT_OUT = 20;
const PERSONAL = ["profile", "facts", "documents", "agent", "org", "session"];

export function page({ query, signal, go }) {
  const answer = el("section", { "aria-label": "What the model gets" });
  const asked = query.get("q") ?? "";
  const box = form(
    "Prompt",
    [
      field("Message", "q", { value: asked, rows: 2, required: true }),
      el(
        "div",
        { class: "row" },
        field("Budget, tokens", "budget", {
          type: "number",
          min: 16,
          max: LARGE_BUDGET,
          value: query.get("budget") ?? String(BUDGET),
        }),
        field("Minimum relevance, %", "floor", {
          type: "number",
          min: 0,
          max: 100,
          value: query.get("floor") ?? "",
          placeholder: "automatic",
        }),
        field("As of", "as_of", { type: "datetime-local", value: query.get("as_of") ?? "" }),
      ),
    ],
    "Show the prompt",
    (given) =>
      go(
        "prompt",
        Object.entries(given).filter(([, value]) => value),
      ),
  );
  if (asked) fill(answer, () => drawAnswer(query, signal), signal);
  else
    answer.append(
      empty(
        "What would a model be told?",
        "Write a message as the user would. You see the exact text that goes into the prompt, where each part comes from, and what stays out.",
      ),
    );
  return [heading("Prompt"), box, answer];
}

async function drawAnswer(query, signal) {
  const body = { query: query.get("q"), budget_tokens: Number(query.get("budget")) || BUDGET };
  if (query.get("floor")) body.min_relevance = Number(query.get("floor")) / 100;
  if (query.get("as_of")) body.as_of = fromField(query.get("as_of"));
  const { budget_tokens: _, min_relevance: __, ...question } = body;
  const [context, roomy, found] = await Promise.all([
    post("context", body, { signal }),
    post("context", { ...body, budget_tokens: LARGE_BUDGET }, { signal }),
    post("recall", { ...question, limit: 50, min_relevance: 0 }, { signal }),
  ]);
  const isSilent = !Object.keys(context.blocks).some((name) => PERSONAL.includes(name));
  return [
    context.degraded.length
      ? el("p", { class: "banner" }, `Not everything was searched: ${context.degraded.join("; ")}`)
      : null,
    el(
      "div",
      { class: "inspector" },
      el(
        "section",
        { "aria-label": "Prompt" },
        el("h2", {}, `Prompt: ${number(context.token_count, 0)} tokens of memory`),
        isSilent ? el("p", { class: "banner" }, "This message needs no memory, so the model gets none.") : null,
        context.messages.map((message) => [
          el("h3", {}, words(message.role)),
          el("pre", { tabindex: "0" }, said(message.content, { most: 50_000 })),
        ]),
      ),
      el("section", { "aria-label": "Sources" }, sources(context), leftOut(context, roomy, found)),
    ),
  ];
}

function sources(context) {
  const hits = new Map(context.recall.hits.map((hit) => [hit.item.id, hit]));
  return [
    el("h2", {}, "In the prompt"),
    context.citations.length
      ? el(
          "ol",
          { class: "list" },
          context.citations.map((each) => source(each, hits.get(each.item_id))),
        )
      : el("p", { class: "hint" }, "No memories, messages or documents."),
  ];
}

function source(citation, hit) {
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
      hit ? relevance(hit) : "beside another item · ",
      `${words(citation.kind)} · ${moment(citation.observed_at)}`,
    ),
  );
}

/** A bar and a percentage; nothing for an embedder whose relevance is not known. */
function relevance(hit) {
  if (hit.relevance === null) return null;
  const share = Math.round(100 * hit.relevance);
  return [meter(hit.relevance), ` ${share} % relevant · `];
}

/** Hits of recall that the prompt does not contain: those that a larger budget would add, and those that are not relevant enough. */
function leftOut(context, roomy, found) {
  const shown = new Set(context.citations.map((each) => each.item_id));
  const fits = new Set(roomy.citations.map((each) => each.item_id));
  const others = found.hits.filter((hit) => !shown.has(hit.item.id)).slice(0, MOST_LEFT_OUT);
  if (!others.length) return null;
  return [
    el("h2", {}, "Left out"),
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
            fits.has(hit.item.id) ? "no room within the budget" : "not relevant enough, or said by another item",
          ),
        ),
      ),
    ),
  ];
}
