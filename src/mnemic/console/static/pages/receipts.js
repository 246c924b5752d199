// Proof of what was erased: counts and keyed hashes, no names and no texts.

import { get } from "../api.js";
import { el, said } from "../dom.js";
import { moment, number, words } from "../format.js";
import { empty, facts, fill, heading } from "../parts.js";

export function page({ signal }) {
  const list = el("section", { "aria-label": "List" });
  fill(list, async () => draw(await get("receipts", {}, { signal })), signal);
  return [
    heading("Receipts"),
    el(
      "p",
      { class: "hint" },
      "A receipt is the proof of an erasure. It contains no names. Restoring an older backup repeats the erasure.",
    ),
    list,
  ];
}

function draw(receipts) {
  if (!receipts.length)
    return empty(
      "Nothing was erased",
      "`mnemic erase` removes everything of a session, user, agent or org and leaves a receipt here.",
    );
  return el(
    "ul",
    { class: "list" },
    [...receipts].reverse().map((each) =>
      el(
        "li",
        {},
        el("h2", {}, moment(each.at)),
        facts([
          ["Receipt", el("code", {}, each.id)],
          ...Object.entries(each.counts)
            .filter(([, amount]) => amount)
            .map(([name, amount]) => [words(name), number(amount, 0)]),
          ["Hash of the scope", el("code", {}, each.scope_hash)],
          ["Notes", each.notes.length ? said(each.notes.join("; ")) : null],
        ]),
      ),
    ),
  );
}
