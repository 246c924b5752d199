// Work that must still be done, and jobs that failed permanently.

import { get, post } from "../api.js";
import { el, said } from "../dom.js";
import { count, moment, words } from "../format.js";
import { button, choices, empty, fill, form, heading, notice, table } from "../parts.js";
import { caller } from "../session.js";

const STATES = ["pending", "running", "dead", "done"];

const named = (state) => (state === "dead" ? "failed permanently" : state);

export function page({ query, signal, go, again }) {
  const list = el("section", { "aria-label": "List" });
  const states = query.getAll("states");
  fill(list, async () => draw(await get("jobs", { states, limit: 200 }, { signal }), again), signal);
  const box = form(
    "Filter",
    [choices("States (default: all except done)", "states", STATES.map((each) => [each, named(each)]), states)],
    "Filter",
    (given) =>
      go(
        "jobs",
        (given.states ?? []).map((state) => ["states", state]),
      ),
    { class: "inline" },
  );
  return [
    heading("Jobs", caller.is_operator ? button("Run due jobs", () => work(again), { right: "admin" }) : null),
    box,
    list,
  ];
}

function draw(jobs, again) {
  if (!jobs.length)
    return empty(
      "No pending jobs",
      "Jobs embed, summarise, extract and curate in the background. Jobs that failed permanently stay here until you retry them.",
    );
  const dead = jobs.filter((job) => job.state === "dead");
  return [
    dead.length > 1
      ? el(
          "div",
          { class: "actions" },
          button(`Retry all ${dead.length} permanently failed jobs`, () => retry(dead, again), { right: "write" }),
        )
      : null,
    table(
      "Jobs, oldest first",
      ["job", "state", "attempts", "next run", "error", ""],
      jobs.map((job) => [
        el("span", { title: job.id }, words(job.kind)),
        el("span", { class: `tag ${job.state}` }, named(job.state)),
        String(job.attempts),
        moment(job.run_at),
        said(job.error, { most: 400 }),
        job.state === "dead"
          ? button("Retry", () => retry([job], again), { right: "write", "aria-label": `Retry ${words(job.kind)}` })
          : null,
      ]),
    ),
  ];
}

async function retry(jobs, again) {
  const amount = await post("jobs/retry", { ids: jobs.map((job) => job.id) });
  notice(`${count(amount, "job")} will be retried`);
  again();
}

async function work(again) {
  const report = await post("work", {});
  notice(`${report.done} done, ${report.retried} will be retried, ${report.dead} failed permanently`);
  again();
}
