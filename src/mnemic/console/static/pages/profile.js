// The hard facts of a user, and what a model is told of him.

import { get, patch } from "../api.js";
import { el, said } from "../dom.js";
import { moment } from "../format.js";
import { button, confirm, dialog, empty, entry, field, fill, form, heading, notice, table } from "../parts.js";
import { scope } from "../session.js";

export function page({ signal, again }) {
  if (!scope().user) return [heading("Profile"), empty("A profile belongs to a user", "Enter a user at the top.")];
  const box = el("section", { "aria-label": "Facts" });
  fill(
    box,
    async () => {
      const [profile, block] = await Promise.all([
        get("profile", {}, { signal }),
        get("profile/block", {}, { signal }),
      ]);
      return draw(profile, block, again);
    },
    signal,
  );
  return [
    heading(
      "Profile",
      button("Add a fact", () => change({ key: "", value: "" }, again), { right: "write" }),
    ),
    box,
  ];
}

function draw(profile, block, again) {
  return [
    profile.static.length
      ? table(
          "Facts included in every prompt",
          ["key", "value", "source", "changed", ""],
          profile.static.map((each) => [
            said(each.key, { most: 100 }),
            said(each.value, { most: 1000 }),
            said(each.source, { most: 80 }),
            moment(each.updated_at),
            el(
              "div",
              { class: "actions" },
              button("Change", () => change(each, again), { right: "write", "aria-label": `Change ${each.key}` }),
              button("Remove…", () => removeFact(each, again), {
                right: "write",
                class: "danger",
                "aria-label": `Remove ${each.key}`,
              }),
            ),
          ]),
        )
      : empty(
          "No facts yet",
          "A fact is a key with a value, such as city → Lisbon. Every prompt includes all facts, so keep them few and accurate.",
        ),
    el("h2", {}, "Most important and newest memories"),
    profile.dynamic.length
      ? profile.dynamic.map((each) => (each.id ? entry(each) : el("p", {}, said(each.text ?? String(each)))))
      : el("p", { class: "hint" }, "none"),
    el("h2", {}, "What a model receives"),
    block ? el("pre", { tabindex: "0" }, said(block.trim(), { most: 20_000 })) : el("p", { class: "hint" }, "nothing"),
  ];
}

function change(entry_, again) {
  const isNew = !entry_.key;
  dialog(
    isNew ? "Add a fact" : "Change a fact",
    (close) =>
      form(
        "Fact",
        [
          field("Key", "key", { value: entry_.key, required: true, readOnly: !isNew }),
          field("Value", "value", { value: entry_.value, required: true, rows: 2 }),
        ],
        "Save",
        async ({ key, value }) => {
          await patch("profile", { facts: { [key]: value } });
          close();
          notice("Saved");
          again();
        },
      ),
    { close: "Cancel" },
  );
}

function removeFact(fact, again) {
  confirm(
    "Remove this fact?",
    el("p", {}, said(fact.key), ": ", said(fact.value, { most: 300 })),
    "Remove",
    async () => {
      await patch("profile", { facts: { [fact.key]: null } });
      notice("Removed");
      again();
    },
  );
}
