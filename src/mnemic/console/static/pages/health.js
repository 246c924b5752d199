// How well what is remembered is: a score, what is wrong, and what ends it.

import { post, remove, route } from "../api.js";
import { el, link, said, svg } from "../dom.js";
import { count, moment, number } from "../format.js";
import { button, confirm, dialog, empty, fill, heading, notice, table } from "../parts.js";
import { isNobody, may, ownLevels } from "../session.js";

const LISTED = 50;
const ABOUT = {
  contradictory: ["Contradictions", "Memories that cannot both be true."],
  unsupported: ["Without a source", "Memories whose sources are gone."],
  orphaned: ["Orphans", "Memories that depend on a changed or deleted item, and jobs that failed permanently."],
  duplicate: ["Duplicates", "Memories that say the same thing."],
  junk: ["Junk", "Memories without lasting value."],
  stale: ["Out of date", "Memories that have expired, or have not been true or used for a long time."],
};

export function page({ signal, again }) {
  const box = el("section", { "aria-label": "Findings" });
  if (isNobody()) return [heading("Health"), empty("No user chosen", "Enter a user, agent or session at the top.")];
  const isAllowed = may("write");
  if (isAllowed)
    fill(
      box,
      async () => draw(await post("health", undefined, { query: { is_dry_run: true, limit: LISTED }, signal }), again),
      signal,
    );
  else box.append(empty("Health checks require the “write” right", "This key does not have it."));
  return [
    heading(
      "Health",
      isAllowed
        ? button("Run check", async () => {
            await post("health", undefined, { query: { limit: 1 } });
            notice("Check finished");
            again();
          })
        : null,
    ),
    box,
  ];
}

function draw(report, again) {
  const { score, findings } = report;
  const kinds = Object.keys(ABOUT).filter((kind) => score.counts[kind]);
  return [
    el(
      "p",
      { class: "score" },
      el("strong", {}, number(score.score, 1)),
      ` of 100 for ${count(score.memories, "memory", "memories")}`,
    ),
    report.scores.length > 1 ? past(report.scores) : null,
    report.notes.map((each) => el("p", { class: "hint" }, said(each))),
    kinds.length
      ? kinds.map((kind) =>
          drawKind(
            kind,
            score.counts[kind],
            findings.filter((each) => each.ailment === kind),
            again,
          ),
        )
      : empty(
          "No problems found",
          "Contradictions, duplicates, junk and memories without sources appear here, each with a fix.",
        ),
  ];
}

function drawKind(kind, amount, findings, again) {
  const isSafe = findings.some((each) => each.remedy.is_safe);
  const [title, about] = ABOUT[kind];
  return el(
    "section",
    { class: "card", "aria-label": title },
    el(
      "div",
      { class: "heading" },
      el("h2", {}, `${title} (${number(amount, 0)})`, el("span", { class: "hint" }, ` ${about}`)),
      isSafe
        ? button("Apply safe fixes…", () => preview(kind, again), {
            right: "write",
            "aria-label": `Apply safe fixes: ${title}`,
          })
        : null,
    ),
    el(
      "ul",
      { class: "list" },
      findings.map((each) => finding(each, again)),
    ),
    findings.length < amount ? el("p", { class: "hint" }, `and ${number(amount - findings.length, 0)} more`) : null,
  );
}

function finding(each, again) {
  const isJob = each.remedy.verb === "jobs.retry";
  return el(
    "li",
    {},
    each.text ? el("p", {}, said(each.text, { most: 280 })) : null,
    el(
      "p",
      { class: "about" },
      el("span", { class: "sentence" }, said(each.reason, { most: 500 })),
      each.ids
        .slice(0, 10)
        .map((id, at) => [
          " · ",
          isJob ? el("code", {}, id) : link(`item/${id}`, {}, each.ids.length > 1 ? `memory ${at + 1}` : "memory"),
        ]),
    ),
    el("div", { class: "actions" }, remedy(each, again), el("code", { class: "hint" }, each.remedy.command)),
  );
}

/** A button for what ends a finding, where that is one step here. */
function remedy({ remedy: { verb, arguments: given }, text }, again) {
  const done = (work, told) => async () => {
    await work();
    notice(told);
    again();
  };
  const right = "write";
  if (verb === "merge")
    return button(
      "Merge",
      done(() => post("memories/merge", { ids: given.ids, reason: "health" }), "Merged. You can undo this."),
      { right },
    );
  if (verb === "feedback")
    return button(
      "Outdated",
      done(
        () => post(route`memories/${given.id}/feedback`, { verdict: given.verdict, reason: "health" }),
        "Marked as outdated. You can undo this.",
      ),
      { right },
    );
  if (verb === "undo")
    return button(
      "Undo",
      done(() => post(route`memories/${given.id}/undo`, {}), "Undone"),
      { right },
    );
  if (verb === "trust") return link("review", {}, "Review");
  if (verb === "jobs.retry")
    return button(
      "Retry",
      done(() => post("jobs/retry", { ids: given.ids }), "Will be retried"),
      { right },
    );
  if (verb === "delete")
    return button(
      "Delete…",
      () =>
        confirm(
          "Delete this permanently?",
          el("p", {}, said(text, { most: 300 })),
          "Delete permanently",
          done(() => remove(route`memories/${given.id}`, { reason: "health" }), "Deleted"),
        ),
      { right, class: "danger" },
    );
  return null;
}

async function preview(kind, again) {
  const plan = await post("health", undefined, {
    query: { fix: kind, only: kind, levels: ownLevels(), is_dry_run: true, limit: LISTED },
  });
  dialog(
    `Apply safe fixes: ${ABOUT[kind][0]}`,
    (close) => [
      el("p", {}, `${count(plan.fixed.length, "finding")} would be fixed. You can undo each fix.`),
      el(
        "ul",
        {},
        plan.fixed
          .slice(0, 20)
          .map((each) => el("li", {}, said(each.text ?? each.reason ?? JSON.stringify(each), { most: 200 }))),
      ),
      button(
        "Apply fixes",
        async () => {
          const report = await post("health", undefined, {
            query: { fix: kind, only: kind, levels: ownLevels(), limit: LISTED },
          });
          close();
          notice(`${count(report.fixed.length, "finding")} fixed`);
          again();
        },
        { right: "write" },
      ),
    ],
    { close: "Cancel" },
  );
}

function past(scores) {
  const last = scores.slice(-60);
  const points = last
    .map((each, at) => `${(at / Math.max(last.length - 1, 1)) * 300},${60 - each.score * 0.6}`)
    .join(" ");
  return el(
    "figure",
    {},
    svg(
      "svg",
      {
        viewBox: "-4 -4 308 68",
        class: "past",
        role: "img",
        "aria-label": `Scores from ${moment(last[0].at)} to ${moment(last.at(-1).at)}: from ${number(last[0].score)} to ${number(last.at(-1).score)}`,
      },
      svg("polyline", { points }),
    ),
    el("figcaption", {}, `the last ${last.length} scores`),
    el(
      "details",
      {},
      el("summary", {}, "Show as a table"),
      table(
        "Scores",
        ["when", "score", "memories"],
        last.map((each) => [moment(each.at), number(each.score, 1), number(each.memories, 0)]),
      ),
    ),
  );
}
