// Conversations: the sessions of a user, and each as it was said, with what was remembered of it.

import { get } from "../api.js";
import { el, link, put, said, whole } from "../dom.js";
import { clock, count, dayInWords, dayOf, moment } from "../format.js";
import { button, empty, fill, heading } from "../parts.js";
import { scope } from "../session.js";

const A_PAGE = 500;
const AT_ONCE = 25;
const TITLE = 120;

export function page({ id, query, signal }) {
  const box = el("section", { "aria-label": id ? "Messages" : "Sessions" });
  if (!id) {
    fill(box, () => drawSessions(signal), signal);
    return [heading("Conversations"), box];
  }
  const drawn = drawTalk(id, query.get("at"), signal);
  fill(box, () => drawn, signal).then(() => box.querySelector(".chosen")?.scrollIntoView({ block: "center" }));
  return [heading("Conversation", link("conversations", {}, "All conversations")), box];
}

/** The newest sessions of what is chosen, newest first: `[{ session, messages, isWhole }]`. */
export async function newestSessions(most, signal) {
  const reader = new Sessions(signal);
  await reader.load(most);
  return reader.shown(most);
}

/** Sessions as far as their messages are loaded, page by page from the newest on. */
class Sessions {
  constructor(signal) {
    this.signal = signal;
    this.bySession = new Map();
    this.next = "";
    this.isAll = false;
  }

  /** Loads until `most` sessions are there in full, or nothing is left. */
  async load(most) {
    while (!this.isAll && this.bySession.size <= most) {
      const asked = { limit: A_PAGE, after: this.next, ...(scope().session ? { in_session: true } : {}) };
      const page = await get("messages", asked, { signal: this.signal });
      for (const message of page.messages) {
        if (!this.bySession.has(message.session)) this.bySession.set(message.session, []);
        this.bySession.get(message.session).push(message);
      }
      this.oldest = page.messages.at(-1)?.session;
      this.next = page.next;
      this.isAll = !page.next;
    }
  }

  /** The newest of them; the oldest one loaded may continue on the next page. */
  shown(most) {
    return [...this.bySession]
      .slice(0, most)
      .map(([session, messages]) => ({ session, messages, isWhole: this.isAll || session !== this.oldest }));
  }
}

async function drawSessions(signal) {
  const reader = new Sessions(signal);
  const list = el("ol", { class: "list" });
  const more = el("div", {});
  let most = 0;
  async function earlier() {
    most += AT_ONCE;
    await reader.load(most);
    put(
      list,
      reader.shown(most).map((each) => el("li", {}, sessionEntry(each))),
    );
    const isMore = !reader.isAll || reader.bySession.size > most;
    put(more, isMore ? button("Earlier conversations", earlier) : null);
  }
  await earlier();
  if (!reader.bySession.size)
    return empty(
      "No conversations yet",
      "Conversations appear here when an assistant captures what is said: through the library, REST, MCP, hooks or the proxy.",
    );
  return [list, more];
}

/** A session in a list: its first words, when and how much was said. */
export function sessionEntry({ session, messages, isWhole }) {
  const first = messages.findLast((message) => message.role === "user") ?? messages.at(-1);
  return el(
    "article",
    { class: "entry" },
    el("p", {}, link(`conversations/${session}`, {}, said(first.text, { most: TITLE }))),
    el(
      "p",
      { class: "about" },
      el("time", { datetime: messages[0].observed_at }, moment(messages[0].observed_at)),
      ` · ${count(messages.length, "message")}${isWhole ? "" : " or more"} · `,
      said(session, { most: 60 }),
    ),
  );
}

/** One session, oldest first, with the message `at` marked and what was remembered below its source. */
async function drawTalk(session, at, signal) {
  const asked = { limit: A_PAGE, session, in_session: true };
  const [page, learned] = await Promise.all([get("messages", asked, { signal }), remembered(session, signal)]);
  const messages = [...page.messages];
  let next = page.next;
  while (next && (messages.length < A_PAGE || (at && !messages.some((each) => each.id === at)))) {
    const further = await get("messages", { ...asked, after: next }, { signal });
    messages.push(...further.messages);
    next = further.next;
  }
  if (!messages.length) return empty("No messages", "This session has none, or it belongs to somebody else.");
  const box = el("div", { class: "conversation" });
  async function earlier() {
    const further = await get("messages", { ...asked, after: next }, { signal });
    messages.push(...further.messages);
    next = further.next;
    draw();
  }
  function draw() {
    put(box, next ? button("Earlier messages", earlier) : null, days(messages.toReversed(), at, learned));
  }
  draw();
  return [el("p", { class: "hint" }, `Session ${session} · `, count(messages.length, "message")), box];
}

/** What was remembered, by the message that it comes from. */
async function remembered(session, signal) {
  const page = await get("memories", { session, limit: A_PAGE }, { signal });
  const bySource = new Map();
  for (const memory of page.memories)
    for (const { source_id: source } of memory.provenance) {
      if (!bySource.has(source)) bySource.set(source, []);
      bySource.get(source).push(memory);
    }
  return bySource;
}

function days(messages, at, learned) {
  const byDay = Map.groupBy(messages, (message) => dayOf(message.observed_at));
  return [...byDay].map(([day, said]) => [
    el("h2", { class: "day-heading" }, el("time", { datetime: day }, dayInWords(day))),
    el(
      "ol",
      { class: "chat" },
      said.map((message) => bubble(message, message.id === at, learned.get(message.id) ?? [])),
    ),
  ]);
}

function bubble(message, isChosen, learned) {
  return el(
    "li",
    { class: `bubble ${message.role}${isChosen ? " chosen" : ""}`, "aria-current": isChosen ? "true" : null },
    el(
      "p",
      { class: "about" },
      said(message.name || message.role, { most: 60 }),
      " · ",
      link(`item/${message.id}`, {}, el("time", { datetime: message.observed_at }, clock(message.observed_at))),
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
