// One memory, message or passage: what it says, where it came from, what happened to it, and what can be done.

import { get, patch, post, remove, route } from "../api.js";
import { el, link, said, whole } from "../dom.js";
import { count, fromField, moment, number, pages, toField, words } from "../format.js";
import { KINDS, button, confirm, dialog, difference, facts, field, fill, form, heading, notice, tags } from "../parts.js";
import { listed } from "./memories.js";

const WAITING = ["quarantined", "disputed"];

export function page({ id, signal, go, again }) {
  const box = el("section", { "aria-label": "Memory" });
  const title = heading("Memory");
  const past = el("section", { "aria-label": "History" });
  fill(
    box,
    async () => {
      const item = await get(route`memories/${id}`, {}, { signal });
      title.querySelector("h1").textContent = kindOf(item);
      if (item.document_id) past.remove(); // what happens, happens to the document
      return draw(item, { go, again, signal });
    },
    signal,
  );
  fill(past, async () => drawHistory(await get(route`memories/${id}/history`, {}, { signal })), signal);
  return [title, box, past];
}

function kindOf(item) {
  if (item.role) return `Message from the ${item.role}`;
  return item.document_id ? "Document passage" : "Memory";
}

const isMemory = (item) => !item.role && !item.document_id;

function draw(item, context) {
  return [
    el("blockquote", { class: "text" }, whole(item.text)),
    el("p", {}, tags(item)),
    isMemory(item) ? actions(item, context) : messageActions(item, context),
    waits(item),
    replaced(item, context.signal),
    item.provenance?.length ? provenance(item, context.signal) : null,
    el("h2", {}, "Details"),
    details(item),
  ];
}

function waits(item) {
  if (!item.flags?.length && !WAITING.includes(item.state)) return null;
  return el(
    "div",
    { class: "banner" },
    WAITING.includes(item.state)
      ? el(
          "p",
          {},
          `This memory is ${item.state}`,
          item.other_id ? [" and conflicts with ", link(`item/${item.other_id}`, {}, "another memory")] : null,
          ". ",
          link("review", {}, "Review"),
        )
      : null,
    item.flags?.map((flag) =>
      el(
        "p",
        {},
        `A source of this memory was ${flag.cause} (${moment(flag.at)}): `,
        link(`item/${flag.source_id}`, {}, "source"),
      ),
    ),
  );
}

/** What took the place of a superseded memory, and how it differs. */
function replaced(item, signal) {
  if (item.state !== "superseded" || !item.other_id) return null;
  const box = el("section", { class: "card", "aria-label": "Replaced by" });
  fill(
    box,
    async () => {
      const other = await get(route`memories/${item.other_id}`, {}, { signal });
      return [
        el("h2", {}, "Replaced by"),
        el("p", {}, difference(item.text, other.text)),
        el("p", { class: "about" }, link(`item/${other.id}`, {}, "Show this memory"), ` · ${moment(other.observed_at)}`),
      ];
    },
    signal,
  );
  return box;
}

function details(item) {
  return facts([
    ["Context", item.context && said(item.context)],
    ["Original words", item.snippet && said(item.snippet)],
    ["Categories", item.categories?.length ? said(item.categories.join(", ")) : null],
    [
      "Importance",
      item.importance === undefined
        ? null
        : `${number(item.importance)}${item.faded === null ? "" : `, faded to ${number(item.faded)}`}`,
    ],
    ["Confidence", item.confidence === undefined ? null : number(item.confidence)],
    ["Said", moment(item.observed_at)],
    ["Stored", moment(item.created_at)],
    ["True", held(item)],
    ["Known until", item.retired_at && moment(item.retired_at)],
    ["Expires", item.expires_at && moment(item.expires_at)],
    [
      "Recalled",
      item.access_count === undefined ? null : item.access_count ? `${count(item.access_count, "time")}, last ${moment(item.last_accessed_at)}` : "never",
    ],
    ["Belongs to", said(`${item.level} ${item.owner.split("\u001f").join(" of ")}`)],
    ["Agent", item.agent && said(item.agent)],
    ["Session", item.session && said(item.session)],
    ["Turn", item.turn],
    ["Source", item.source && said(item.source)],
    [item.last_page > item.page ? "Pages" : "Page", pages(item).split(" ")[1]],
    ["Document", item.document_id && link(`documents/${item.document_id}`, { at: item.index }, said(item.title || item.source))],
    ["ID", el("code", {}, item.id)],
    ["Metadata", mapping(item.metadata)],
    ["Bookkeeping", mapping(item.bookkeeping)],
  ]);
}

function held({ valid_from: from, valid_to: to }) {
  if (from && to) return `from ${moment(from)} to ${moment(to)}`;
  return from ? `since ${moment(from)}` : to && `until ${moment(to)}`;
}

const mapping = (values) =>
  values && Object.keys(values).length ? el("code", {}, said(JSON.stringify(values, null, 1), { most: 5000 })) : null;

function actions(item, { go, again }) {
  const act = (path, body, told) => async () => {
    await post(route`memories/${item.id}/${path}`, body);
    notice(told);
    again();
  };
  const right = "write";
  const isWaiting = WAITING.includes(item.state) || (item.flags?.length && item.state === "active");
  return el(
    "div",
    { class: "actions" },
    isWaiting
      ? [
          button("Trust", act("trust", {}, "Trusted"), { right }),
          button("Reject", act("reject", {}, "Rejected. You can undo this."), { right }),
        ]
      : null,
    button("Edit", () => edit(item, again), { right }),
    button(
      item.is_pinned ? "Unpin" : "Pin",
      act("pin", { is_pinned: !item.is_pinned }, item.is_pinned ? "Unpinned" : "Pinned"),
      { right },
    ),
    button("Still true", act("feedback", { verdict: "relevant" }, "Marked as still true"), { right }),
    button("Outdated", act("feedback", { verdict: "outdated" }, "Marked as outdated"), { right }),
    button("Undo the last change", act("undo", {}, "Undone"), { right }),
    link("search", { why: item.id }, "Why is it not found?"),
    deleting(item, go),
  );
}

function messageActions(item, { go }) {
  return el(
    "div",
    { class: "actions" },
    item.session ? link(`conversations/${item.session}`, { at: item.id }, "Show in the conversation") : null,
    link("search", { why: item.id }, "Why is it not found?"),
    item.role ? deleting(item, go) : null,
  );
}

function deleting(item, go) {
  return button(
    "Delete…",
    () =>
      confirm(
        "Delete this permanently?",
        [
          el("blockquote", {}, said(item.text, { most: 300 })),
          el(
            "p",
            {},
            "Its text, vectors and history are removed, and memories derived from it are flagged. This cannot be undone.",
          ),
        ],
        "Delete permanently",
        async (reason) => {
          await remove(route`memories/${item.id}`, { reason });
          notice("Deleted");
          go("memories");
        },
      ),
    { right: "write", class: "danger" },
  );
}

function edit(item, again) {
  dialog(
    "Edit",
    (close) =>
      form(
        "Edit",
        [
          field("Text", "text", { rows: 6, value: item.text, required: true }),
          el(
            "div",
            { class: "row" },
            field("Kind", "kind", {
              options: KINDS.includes(item.kind) ? KINDS : [item.kind, ...KINDS],
              value: item.kind,
            }),
            field("Importance (0 to 1)", "importance", {
              type: "number",
              min: 0,
              max: 1,
              step: "any",
              value: String(item.importance),
              required: true,
            }),
            field("Confidence (0 to 1)", "confidence", {
              type: "number",
              min: 0,
              max: 1,
              step: "any",
              value: String(item.confidence),
              required: true,
            }),
          ),
          field("Categories (comma-separated)", "categories", { value: item.categories.join(", ") }),
          field("Context", "context", { value: item.context }),
          el(
            "div",
            { class: "row" },
            ["valid_from", "valid_to", "expires_at"].map((name) =>
              field({ valid_from: "True from", valid_to: "True until", expires_at: "Expires" }[name], name, {
                type: "datetime-local",
                value: toField(item[name]),
              }),
            ),
          ),
          field("Reason for the change", "reason"),
        ],
        "Save",
        async (given) => {
          const changes = changed(item, given);
          if (!Object.keys(changes).length) {
            close();
            notice("No changes to save");
            return;
          }
          await patch(route`memories/${item.id}`, { ...changes, reason: given.reason });
          close();
          notice("Saved. You can undo this.");
          again();
        },
      ),
    { close: "Cancel" },
  );
}

/** Only what is different, so that what others changed meanwhile stays theirs. */
function changed(item, given) {
  const now = {
    text: given.text,
    kind: given.kind,
    importance: Number(given.importance),
    confidence: Number(given.confidence),
    context: given.context,
    categories: listed(given.categories),
  };
  const found = Object.entries(now).filter(
    ([name, value]) =>
      JSON.stringify(value) !== JSON.stringify(item[name]) &&
      !(name === "text" && value === item.text.replaceAll("\r\n", "\n")),
  );
  for (const name of ["valid_from", "valid_to", "expires_at"])
    if (given[name] !== toField(item[name])) found.push([name, fromField(given[name])]);
  return Object.fromEntries(found);
}

function provenance(item, signal) {
  return el(
    "section",
    { "aria-label": "Provenance" },
    el("h2", {}, "Where it comes from"),
    el(
      "ul",
      {},
      item.provenance.map((each) => {
        const source = el("span", {});
        fill(
          source,
          async () => excerpt(await get(route`memories/${each.source_id}`, {}, { signal }), each),
          signal,
        ).catch(() => null);
        return el(
          "li",
          {},
          source,
          " ",
          el("span", { class: "hint" }, `${words(each.extractor)} (${each.version}), support ${number(100 * each.support, 0)} %`),
        );
      }),
    ),
  );
}

function excerpt(source, { start, end }) {
  const characters = [...source.text];
  const words = said(characters.slice(start, end || undefined).join(""), { most: 300 });
  return source.role && source.session
    ? link(`conversations/${source.session}`, { at: source.id }, words)
    : link(`item/${source.id}`, {}, words);
}

function drawHistory(entries) {
  return [
    el("h2", {}, "History"),
    entries.length
      ? el(
          "ol",
          { class: "history" },
          entries.map((each) =>
            el(
              "li",
              {},
              el("strong", {}, words(each.action)),
              " ",
              el("time", { datetime: each.at }, moment(each.at)),
              " by ",
              said(each.actor),
              each.reason ? [": ", reasonOf(each.reason)] : null,
              differences(each),
            ),
          ),
        )
      : el("p", { class: "hint" }, "No changes yet."),
  ];
}

const ID = /([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/;

/** Why something happened; the id of a memory in it becomes a link. */
function reasonOf(reason) {
  return reason.split(ID).map((part, at) => (at % 2 ? link(`item/${part}`, {}, "another memory") : said(part, { most: 500 })));
}

function differences({ before, after }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const shown = names.filter(
    (name) => name !== "other_id" && JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]) && before && name in before,
  );
  if (!shown.length) return null;
  return el(
    "dl",
    { class: "facts" },
    shown.map((name) => [
      el("dt", {}, words(name)),
      el(
        "dd",
        {},
        name === "text" && before.text && after?.text
          ? difference(before.text, after.text)
          : [el("del", {}, value(before?.[name])), " → ", el("ins", {}, value(after?.[name]))],
      ),
    ]),
  );
}

const TIME = /^\d{4}-\d\d-\d\dT\S+(Z|[+-]\d\d:\d\d)$/;
const isTime = (given) => TIME.test(given) && !Number.isNaN(Date.parse(given)); // a text may look like a time and be none

function value(given) {
  if (given === null || isTime(given)) return moment(given);
  if (Array.isArray(given) && given[0]?.source_id) return count(given.length, "source");
  return said(typeof given === "string" ? given : JSON.stringify(given ?? null), { most: 500 });
}
