// Memories that need review: quarantined, disputed, and those whose sources changed.

import { get, post, route } from "../api.js";
import { address, el, link, put, said, whole } from "../dom.js";
import { moment } from "../format.js";
import { button, empty, fill, heading, notice, tags } from "../parts.js";

const PER_PAGE = 25;

export function page({ query, signal }) {
  const list = el("section", { "aria-label": "Waiting" });
  fill(
    list,
    async () => draw(await get("review", { limit: PER_PAGE, after: query.get("after") }, { signal }), query, signal),
    signal,
  );
  return [
    heading("Review"),
    el(
      "p",
      { class: "hint" },
      "Quarantined memories are never recalled until you trust them. Many contain instructions from an unknown source. Disputed memories contradict another memory. Flagged memories come from a source that has been corrected or deleted. Invisible characters are shown as their codes.",
    ),
    list,
  ];
}

function draw(waiting, query, signal) {
  if (!waiting.length)
    return empty(
      query.get("after") ? "No more memories to review" : "Nothing needs review",
      "Memories with instructions, hidden characters or contradictions appear here.",
    );
  const last = waiting.at(-1).memory.id;
  return [
    el(
      "ul",
      { class: "list review" },
      waiting.map((each) => draw1(each, signal)),
    ),
    waiting.length === PER_PAGE
      ? el("a", { class: "button", href: address("review", { after: last }) }, "Next page")
      : null,
  ];
}

function draw1({ memory, reason, since }, signal) {
  const row = el("li", {});
  const judged = (verb, told) => async () => {
    await post(route`memories/${memory.id}/${verb}`, {});
    notice(told);
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    (next?.querySelector("button") ?? document.querySelector("#main h1")).focus();
  };
  row.append(
    el("blockquote", { class: "text" }, whole(memory.text, 2000)),
    el(
      "p",
      { class: "about" },
      tags(memory),
      " since ",
      moment(since),
      memory.source ? [", source ", said(memory.source, { most: 100 })] : null,
    ),
    el("p", { class: "sentence" }, reason ? plain(reason, memory.other_id, signal) : "No reason recorded"),
    el(
      "div",
      { class: "actions" },
      button("Trust", judged("trust", "Trusted. It can be recalled now."), {
        right: "write",
        "aria-label": `Trust: ${memory.text.slice(0, 60)}`,
      }),
      button("Reject", judged("reject", "Rejected and archived. You can undo this."), {
        right: "write",
        "aria-label": `Reject: ${memory.text.slice(0, 60)}`,
      }),
      link(`item/${memory.id}`, {}, "Details"),
    ),
  );
  return row;
}

/** A reason for people: without the names of the guard's rules, and with the text of the other memory in place of its id. */
function plain(reason, id, signal) {
  const [before, after] = reason.replace(/^it gives orders to the model: .*/s, "it contains instructions to the model").split(id ?? undefined);
  if (after === undefined) return said(before);
  const other = link(`item/${id}`, {}, "another memory");
  get(route`memories/${id}`, {}, { signal })
    .then(({ text }) => put(other, said(text, { most: 280 })))
    .catch(() => null); // the other memory's own page shows what is wrong
  return [said(before), "“", other, "”", said(after)];
}
