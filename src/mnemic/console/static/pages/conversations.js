// Conversations: the sessions of a user, and each as it was said, with what was remembered of it.

import { get, post } from "../api.js";
import { el, link, put, said, whole } from "../dom.js";
import { clock, count, dayInBrief, dayInWords, dayOf } from "../format.js";
import { button, dialog, empty, fill, form, heading } from "../parts.js";
import { drawReceipt } from "./receipts.js";

const A_PAGE = 500;
const AT_ONCE = 50;
const MOST = 1000;
const TITLE = 120;

export function page({ id, query, signal, go }) {
  const box = el("section", { "aria-label": id ? "Messages" : "Sessions" });
  if (!id) {
    fill(box, () => drawSessions(signal), signal);
    return [heading("Conversations"), box];
  }
  const drawn = drawTalk(id, query.get("at"), signal);
  fill(box, () => drawn, signal).then(() => box.querySelector(".chosen")?.scrollIntoView({ block: "center" }));
  return [
    heading(
      "Conversation",
      link("conversations", {}, "All conversations"),
      button("Erase…", () => erase(id, go), { right: "write", class: "danger" }),
    ),
    box,
  ];
}

/** Asks with the plan of an erasure, erases, and shows the receipt. */
async function erase(session, go) {
  const asked = { query: { session } };
  const plan = await post("erase", { level: "session", is_dry_run: true }, asked);
  dialog(
    "Erase this conversation?",
    (close) => [
      el("p", {}, "Its messages, and memories derived only from them, are permanently removed. This cannot be undone."),
      drawReceipt(plan),
      form(
        "Erase",
        [],
        "Erase permanently",
        async () => {
          const receipt = await post("erase", { level: "session" }, asked);
          close();
          const tell = () =>
            dialog("Erased", [el("p", {}, "The receipt proves the erasure and contains no text."), drawReceipt(receipt)]);
          addEventListener("hashchange", tell, { once: true }); // after the page, which closes what is open
          go("conversations");
        },
        { class: "stacked danger" },
      ),
    ],
    { close: "Cancel" },
  );
}

/** The sessions of what is chosen, the last active first. */
function newestSessions(most, signal) {
  return get("sessions", { limit: most }, { signal });
}

async function drawSessions(signal) {
  const list = el("ol", { class: "list" });
  const more = el("div", {});
  let most = 0;
  async function earlier() {
    most = Math.min(most + AT_ONCE, MOST);
    const sessions = await newestSessions(most, signal);
    put(
      list,
      sessions.map((each) => el("li", {}, sessionEntry(each))),
    );
    put(more, sessions.length === most && most < MOST ? button("Earlier conversations", earlier) : null);
    return sessions;
  }
  const sessions = await earlier();
  if (!sessions.length)
    return empty(
      "No conversations yet",
      "Conversations appear here when they are captured through the library, REST, MCP, hooks or the proxy.",
    );
  return [list, more];
}

/** A session in a list: its first words, when and how much was said. */
export function sessionEntry({ session, text, messages, last_at: last }) {
  return el(
    "article",
    { class: "entry" },
    el("p", {}, link(`conversations/${session}`, {}, said(text, { most: TITLE }))),
    el(
      "p",
      { class: "about" },
      el("time", { datetime: last }, `${dayInBrief(dayOf(last))}, ${clock(last)}`),
      ` · ${count(messages, "message")} · `,
      said(session, { most: 60 }),
    ),
  );
}

/** One session, oldest first, with the message `at` marked and what was remembered below its source. */
async function drawTalk(session, at, signal) {
  const asked = { limit: A_PAGE, session, in_session: true };
  const [page, learned, turns] = await Promise.all([
    get("messages", asked, { signal }),
    remembered(session, signal),
    turnsOf(session, signal),
  ]);
  const messages = [...page.messages];
  let next = page.next;
  while (next && (messages.length < A_PAGE || (at && !messages.some((each) => each.id === at)))) {
    const further = await get("messages", { ...asked, after: next }, { signal });
    messages.push(...further.messages);
    next = further.next;
  }
  if (!messages.length) return empty("No messages", "This session has no messages, or it belongs to another user.");
  const box = el("div", { class: "conversation" });
  async function earlier() {
    const further = await get("messages", { ...asked, after: next }, { signal });
    messages.push(...further.messages);
    next = further.next;
    draw();
  }
  function draw() {
    put(box, next ? button("Earlier messages", earlier) : null, days(messages.toReversed(), at, learned, turns));
  }
  draw();
  return [el("p", { class: "hint" }, `Session ${session} · `, count(messages.length, "message")), box];
}

/** What was remembered, by the message that it comes from. */
export async function remembered(session, signal) {
  const page = await get("memories", { session, limit: A_PAGE }, { signal });
  const bySource = new Map();
  for (const memory of page.memories)
    for (const { source_id: source } of memory.provenance) {
      if (!bySource.has(source)) bySource.set(source, []);
      bySource.get(source).push(memory);
    }
  return bySource;
}

/** The recorded prompts of a session, by their message. */
async function turnsOf(session, signal) {
  const { contexts } = await get("contexts", { session, in_session: true, limit: MOST }, { signal });
  return new Map(contexts.map((each) => [each.message_id, each]));
}

const promptOf = (message, turn) =>
  turn ? link(`turns/${turn.id}`, {}, "its prompt") : link("prompt", { q: message.text }, "try as a prompt");

function days(messages, at, learned, turns) {
  const byDay = Map.groupBy(messages, (message) => dayOf(message.observed_at));
  return [...byDay].map(([day, said]) => [
    el("h2", { class: "day-heading" }, el("time", { datetime: day }, dayInWords(day))),
    el(
      "ol",
      { class: "chat" },
      said.map((message) =>
        bubble(message, {
          isChosen: message.id === at,
          learned: learned.get(message.id),
          prompt: message.role === "user" ? promptOf(message, turns.get(message.id)) : null,
        }),
      ),
    ),
  ]);
}

/** A message as it was said, with a link to its prompt, and what was remembered of it. */
export function bubble(message, { isChosen = false, learned = [], prompt = null } = {}) {
  return el(
    "li",
    { class: `bubble ${message.role}${isChosen ? " chosen" : ""}`, "aria-current": isChosen ? "true" : null },
    el(
      "p",
      { class: "about" },
      said(message.name || message.role, { most: 60 }),
      " · ",
      link(`item/${message.id}`, {}, el("time", { datetime: message.observed_at }, clock(message.observed_at))),
      prompt && [" · ", prompt],
    ),
    whole(message.text, 4000),
    learned.length
      ? el(
          "ul",
          { class: "learned", "aria-label": "Remembered" },
          learned.map((memory) => el("li", {}, link(`item/${memory.id}`, {}, said(memory.text, { most: 280 })))),
        )
      : null,
  );
}
