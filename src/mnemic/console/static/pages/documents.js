// Files that were taken in: upload with progress, status, passages, deletion.

import { get, remove, send, route } from "../api.js";
import { address, el, link, said } from "../dom.js";
import { count, moment, number, pages } from "../format.js";
import {
  LEVELS,
  button,
  confirm,
  empty,
  facts,
  field,
  fill,
  form,
  heading,
  notice,
  problemBox,
  table,
} from "../parts.js";
import { may } from "../session.js";

const PER_PAGE = 50;
const PASSAGES = 20;
const AROUND = 1500; // characters before and after a passage, where a document has no pages

export function page({ id, query, signal, go, again }) {
  return id ? one(id, query, signal, go) : many(query, signal, again);
}

function many(query, signal, again) {
  const list = el("section", { "aria-label": "List" });
  fill(
    list,
    async () =>
      drawList(
        await get("documents", { limit: PER_PAGE, after: query.get("after"), under: query.get("under") }, { signal }),
        query,
      ),
    signal,
  );
  return [
    heading("Documents"),
    may("write") ? upload(again) : el("p", { class: "hint" }, "Uploading requires a key with the “write” right."),
    list,
  ];
}

function upload(again) {
  const results = el("ul", { class: "uploads", "aria-live": "polite" });
  const file = el("input", { type: "file", name: "file", id: "files", multiple: true, required: true });
  const dropped = (event) => {
    event.preventDefault();
    box.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    file.files = event.dataTransfer.files;
    box.querySelector("form").requestSubmit();
  };
  const box = el(
    "section",
    {
      class: "card drop",
      "aria-label": "Upload",
      ondragover: (event) => {
        event.preventDefault();
        box.classList.add("over");
      },
      ondragleave: () => box.classList.remove("over"),
      ondrop: dropped,
    },
    form(
      "Upload",
      [
        el("p", { class: "invitation" }, "Drop files here, or choose them. Text, Markdown, PDF, Word, spreadsheets and more become passages that memory finds."),
        el("div", { class: "field" }, el("label", { for: "files" }, "Files"), file),
        field("Level", "level", { options: [["", "default"], ...LEVELS] }),
      ],
      "Upload",
      async ({ level }) => {
        let hasAdded = false;
        for (const each of [...file.files]) hasAdded = (await uploadOne(each, level, results)) || hasAdded;
        file.value = "";
        if (hasAdded) notice("Uploaded");
        if (hasAdded && !results.querySelector(".problem, .failed")) again();
      },
      { class: "inline" },
    ),
    results,
  );
  return box;
}

async function uploadOne(file, level, results) {
  const bar = el("progress", { max: 1, "aria-label": `${file.name}` });
  const told = el("span", {}, "uploading");
  const row = el("li", {}, said(file.name, { most: 120 }), " ", bar, " ", told);
  results.append(row);
  try {
    const report = await send("documents", { level }, file, (share, words) => {
      bar.value = share;
      told.textContent = words;
    });
    bar.remove();
    const [found] = report.files;
    const isFine = ["added", "replaced", "unchanged"].includes(found?.outcome);
    if (!isFine) row.className = "failed";
    told.replaceChildren(
      found ? `${found.outcome}${isFine ? `, ${count(found.chunks, "passage")}` : ""}` : report.why_nothing,
      found?.reason ? [": ", said(found.reason)].map((part) => part)[1] : "",
    );
    return isFine;
  } catch (error) {
    bar.remove();
    told.replaceChildren(problemBox(error));
    return false;
  }
}

function drawList(page, query) {
  if (!page.documents.length)
    return empty(
      "No documents here",
      "Uploaded files are split into passages, which are found and cited like memories. Supported formats include text, Markdown, PDF, Word and spreadsheets.",
    );
  const onward = new URLSearchParams(query);
  onward.set("after", page.after ?? "");
  return [
    table(
      "Documents",
      ["document", "status", "passages", "characters", "changed"],
      page.documents.map((each) => [
        link(`documents/${each.id}`, {}, said(each.title || each.source, { most: 120 })),
        [el("span", { class: `tag ${each.status}` }, each.status), " ", each.reason ? said(each.reason, { most: 300 }) : null],
        number(each.chunks, 0),
        number(each.characters, 0),
        moment(each.updated_at),
      ]),
    ),
    page.after ? el("a", { class: "button", href: address("documents", onward) }, "Next page") : null,
  ];
}

function one(id, query, signal, go) {
  const box = el("section", { "aria-label": "Document" });
  const passages = el("section", { "aria-label": "Passages" });
  const first = Number(query.get("first") ?? 0);
  const at = query.get("at");
  const title = heading("Document", at === null ? null : link(`documents/${id}`, { first: at }, "All passages"));
  fill(
    box,
    async () => {
      const found = await get(route`documents/${id}`, {}, { signal });
      title.querySelector("h1").replaceChildren(said(found.title || found.source, { most: 120 }));
      if (at === null) return drawOne(found, go);
      const page = await drawPage(found, Number(at), signal);
      requestAnimationFrame(() => box.querySelector("mark")?.scrollIntoView({ block: "center" }));
      return page;
    },
    signal,
  );
  if (at !== null) return [title, box];
  fill(
    passages,
    async () => drawPassages(await get(route`passages/${id}`, { first, count: PASSAGES }, { signal }), id, first),
    signal,
  );
  return [title, box, passages];
}

function drawOne(found, go) {
  return [
    facts([
      ["Source", said(found.source)],
      ["Status", el("span", { class: `tag ${found.status}` }, found.status)],
      ["Reason", found.reason && said(found.reason)],
      ["Type", found.media_type],
      ["Pages", found.pages.length || null],
      ["Characters", number(found.characters, 0)],
      ["Passages", number(found.chunks, 0)],
      ["Belongs to", said(`${found.level} ${found.owner}`)],
      ["Ingested", moment(found.created_at)],
      ["Changed", moment(found.updated_at)],
      ["SHA-256", el("code", {}, found.sha256)],
    ]),
    el(
      "div",
      { class: "actions" },
      button(
        "Delete…",
        () =>
          confirm(
            "Delete this document?",
            el("p", {}, "Its text, passages and vectors are permanently removed: ", said(found.source, { most: 200 })),
            "Delete permanently",
            async (reason) => {
              await remove(route`documents/${found.id}`, { reason });
              notice("Deleted");
              go("documents");
            },
          ),
        { right: "write", class: "danger" },
      ),
    ),
  ];
}

/** The text of the pages on which a passage stands, with the passage marked. */
async function drawPage(found, index, signal) {
  const [[passage], whole] = await Promise.all([
    get(route`passages/${found.id}`, { first: index, count: 1 }, { signal }),
    get(route`texts/${found.id}`, {}, { signal }),
  ]);
  if (!passage) return empty("Passage not found", "The document has been read again. Choose a passage from the list.");
  const letters = [...whole]; // offsets count characters, not the units of a string
  const turns = [...found.pages, letters.length];
  const from = passage.page ? turns[passage.page - 1] : Math.max(passage.start - AROUND, 0);
  const to = passage.page ? turns[Math.min(passage.last_page ?? passage.page, found.pages.length)] : Math.min(passage.end + AROUND, letters.length);
  const part = (start, end) => said(letters.slice(start, end).join(""));
  return [
    el("p", { class: "hint" }, passage.page ? `${pages(passage)} of ${found.pages.length}`.replace(/^p/, "P") : `Passage ${index + 1}`),
    el(
      "article",
      { class: "sheet", "aria-label": "The page" },
      part(from, passage.start),
      el("mark", {}, part(passage.start, passage.end)),
      part(passage.end, to),
    ),
  ];
}

function drawPassages(passages, id, first) {
  const turn = (to, label) => el("a", { class: "button", href: address(`documents/${id}`, { first: to }) }, label);
  return [
    el("h2", {}, "Passages"),
    passages.length
      ? el(
          "ol",
          { class: "list", start: first + 1 },
          passages.map((each) =>
            el(
              "li",
              {},
              el("p", { class: "about" }, [
                each.headings?.length ? said(each.headings.join(" › "), { most: 200 }) : null,
                each.page ? ` ${pages(each)}` : null,
              ]),
              el("blockquote", { class: "text" }, said(each.text, { most: 4000 })),
              el("p", { class: "about" }, link(`documents/${id}`, { at: each.index }, each.page ? "Show on page" : "Show in document")),
            ),
          ),
        )
      : el("p", { class: "hint" }, "none"),
    el(
      "div",
      { class: "actions" },
      first > 0 ? turn(Math.max(first - PASSAGES, 0), "Previous passages") : null,
      passages.length === PASSAGES ? turn(first + PASSAGES, "Next passages") : null,
    ),
  ];
}
