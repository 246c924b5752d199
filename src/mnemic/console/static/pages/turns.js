// Turns: what models were shown, newest first; and each as it was, beside what would be shown now or on another day.

import { get, route } from "../api.js";
import { el, link, put, said } from "../dom.js";
import { count, dayOf, moment, number, words } from "../format.js";
import { button, cited, empty, entry, fill, heading } from "../parts.js";
import { firstDay } from "../slider.js";
import { bubble, remembered } from "./conversations.js";
import { trial } from "./prompt.js";

const A_PAGE = 50;
const BEFORE = 6; // messages of the conversation that are shown
const SOON_MS = 300_000; // the answer to a message comes by then
const ITEMS_AT_FIRST = 30; // of a prompt; each is a request

export function page({ id, query, signal }) {
  const box = el("section", { "aria-label": id ? "Turn" : "Turns" });
  if (!id) {
    fill(box, () => drawTurns(signal), signal);
    return [heading("Turns"), box];
  }
  fill(box, () => drawTurn(id, query, signal), signal);
  return [heading("Turn", link("turns", {}, "All turns")), box];
}

async function drawTurns(signal) {
  const list = el("ol", { class: "list" });
  const more = el("div", {});
  let after;
  async function earlier() {
    const page = await get("contexts", { limit: A_PAGE, ...(after ? { after } : {}) }, { signal });
    after = page.next;
    list.append(...page.contexts.map((each) => el("li", {}, turnEntry(each))));
    put(more, after ? button("Earlier turns", earlier) : null);
  }
  await earlier();
  if (!list.children.length)
    return empty(
      "No turns yet",
      "A turn appears here when a model receives a prompt with memory through the proxy, chat, hooks, MCP, REST or the library. The setting context.keep-days determines how long turns are kept.",
    );
  return [list, more];
}

/** A turn in a list: what was asked, through which door, and how much of memory the model got. */
export function turnEntry({ id, query, door, at, items, took_ms: took }) {
  return el(
    "article",
    { class: "entry" },
    el("p", {}, link(`turns/${id}`, {}, query ? said(query, { most: 140 }) : el("em", {}, "no message"))),
    el(
      "p",
      { class: "about" },
      el("span", { class: "tag" }, words(door)),
      " ",
      el("time", { datetime: at }, moment(at)),
      ` · ${items.length ? count(items.length, "item") : "nothing"} · ${number(took, 0)}\u00a0ms`,
    ),
  );
}

async function drawTurn(id, query, signal) {
  const {
    contexts: [turn],
  } = await get("contexts", { id }, { signal });
  if (!turn)
    return empty("Turn not found", "It has expired, was erased, or belongs to another user.");
  const [first, talk, learned, oldest] = await Promise.all([
    itemsOf(turn.items.slice(0, ITEMS_AT_FIRST), signal),
    talkOf(turn, signal),
    turn.session ? remembered(turn.session, signal) : new Map(),
    firstDay(signal),
  ]);
  const items = [...first, ...turn.items.slice(ITEMS_AT_FIRST).map((each) => ({ ...each, isWaiting: true }))];
  const said = talk.length ? talk : [{ role: "user", text: turn.query, observed_at: turn.at, id: "" }];
  const own = talk.find((each) => each.id === turn.message_id)?.turn_id;
  const kept = talk.filter((each) => each.turn_id === own).flatMap((each) => learned.get(each.id) ?? []);
  return [
    el(
      "p",
      { class: "about" },
      el("span", { class: "tag" }, `through ${words(turn.door)}`),
      ` ${moment(turn.at)} · ready after ${number(turn.took_ms, 0)} ms`,
    ),
    el(
      "div",
      { class: "inspector" },
      el(
        "section",
        { "aria-label": "Conversation" },
        el("h2", {}, "Conversation"),
        el(
          "ol",
          { class: "chat" },
          said.map((each) => bubble(each, { isChosen: each.id === (turn.message_id ?? "") })),
        ),
        turn.session ? el("p", {}, link(`conversations/${turn.session}`, { at: turn.message_id }, "The whole conversation")) : null,
      ),
      el(
        "section",
        { "aria-label": "In the original prompt" },
        el("h2", {}, `In the original prompt: ${count(turn.tokens, "token")}`),
        blocks(turn, items, signal),
      ),
    ),
    el(
      "section",
      { "aria-label": "Learned from this turn" },
      el("h2", {}, "Learned from this turn"),
      kept.length
        ? kept.map((each) => entry(each))
        : el("p", { class: "hint" }, "Nothing so far. Facts are extracted after the answer."),
    ),
    await again(turn, items, oldest, query, signal),
  ];
}

const itemsOf = (items, signal) => Promise.all(items.map((each) => itemOf(each, signal)));

/** An item as it is now, with its place in the turn. Without a text where it was erased since. */
async function itemOf({ id, block, relevance: share }, signal) {
  const found = await get(route`memories/${id}`, {}, { signal }).catch((problem) => {
    if (problem.status !== 404) throw problem;
    return {};
  });
  return { ...found, id, block, relevance: share };
}

/** The messages before a turn, and the turn's own; none where the memory does not hold its message. */
async function talkOf(turn, signal) {
  if (!turn.message_id || !turn.session) return [];
  const before = new Date(Date.parse(turn.at) + SOON_MS).toISOString();
  const asked = { session: turn.session, in_session: true, before, limit: 5 * BEFORE };
  const talk = (await get("messages", asked, { signal })).messages.toReversed();
  const own = talk.find((each) => each.id === turn.message_id);
  const last = talk.findLastIndex((each) => own && each.turn_id === own.turn_id);
  return talk.slice(Math.max(last + 1 - BEFORE, 0), last + 1);
}

/** What was put into the prompt, block by block. */
function blocks(turn, items, signal) {
  const names = Object.keys(turn.blocks);
  if (!names.length) return el("p", { class: "hint" }, "Nothing.");
  return names.map((name) => {
    const own = items.filter((each) => each.block === name);
    const waiting = own.filter((each) => each.isWaiting);
    const list = el("ol", { class: "list ranked" }, own.filter((each) => !each.isWaiting).map(shown));
    const more = button(`Show ${count(waiting.length, "more item")}`, async () => {
      list.append(...(await itemsOf(waiting, signal)).map(shown));
      more.remove();
    });
    return [
      el("h3", {}, `${NAMES[name] ?? name} `, el("span", { class: "hint" }, count(turn.blocks[name], "token"))),
      own.length ? list : null,
      waiting.length ? more : null,
    ];
  });
}

const NAMES = {
  profile: "Profile",
  guidance: "Guidance",
  working: "Date and user",
  facts: "Facts and messages",
  documents: "Documents",
  history: "Earlier messages of the conversation",
  recall: "Search results",
};

function shown(item) {
  if (!item.text) return el("li", {}, el("p", { class: "hint" }, "An item that has since been erased."));
  const isOld = item.state === "superseded" || item.state === "archived";
  return cited({
    id: item.id,
    share: item.relevance,
    text: item.text,
    kind: item.kind ? words(item.kind) : item.role ? "message" : "document",
    at: item.observed_at,
    tag: isOld ? el("span", { class: `tag ${item.state}` }, `now ${item.state}`) : null,
  });
}

/** The prompt of the same message under other conditions, beside what was put into it then. */
async function again(turn, items, oldest, query, signal) {
  if (!query.has("budget")) query.set("budget", turn.settings.budget_tokens);
  const about = {
    first: oldest < dayOf(turn.at) ? oldest : dayOf(turn.at),
    place: `turns/${turn.id}`,
    then: new Map(items.map((each) => [each.id, each])),
    session: turn.session,
    level: 3,
  };
  return el(
    "section",
    { class: "card", "aria-label": "At another time" },
    el("h2", {}, "The same message now, or at another time"),
    turn.query ? await trial(turn.query, query, signal, about) : el("p", { class: "hint" }, "The text of the message is not available."),
  );
}
