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
      "A receipt proves an erasure. It contains no names. When an older backup is restored, the erasure is repeated.",
    ),
    list,
  ];
}

function draw(receipts) {
  if (!receipts.length)
    return empty(
      "Nothing has been erased",
      "Erase a conversation on its page, or a user, agent or org with `mnemic erase`. Each erasure leaves a receipt here.",
    );
  return el(
    "ul",
    { class: "list" },
    [...receipts].reverse().map((each) => el("li", {}, el("h2", {}, moment(each.at)), drawReceipt(each))),
  );
}

/** What a receipt, or the plan of an erasure, says: how many rows of which kind. */
export function drawReceipt({ id, counts, scope_hash: hash, notes }) {
  const erased = Object.entries(counts).filter(([, amount]) => amount);
  return facts([
    ["Receipt", id ? el("code", {}, id) : null],
    ...(erased.length ? erased.map(([name, amount]) => [words(name), number(amount, 0)]) : [["Erased", "nothing was stored"]]),
    ["Scope hash", hash ? el("code", {}, hash) : null],
    ["Notes", notes.length ? said(notes.join("; ")) : null],
  ]);
}
