// A slider over days, for time travel: its last place is now.

import { get } from "./api.js";
import { el, put } from "./dom.js";
import { dayInWords, dayOf } from "./format.js";

const DAY_MS = 86_400_000;
/** States of the memories that may have been true on some day. */
export const STATES = ["active", "disputed", "superseded", "archived"];

/** The two sorts of time travel: the name on the wire, the words for now, and those before a day. */
export const TIMES = [
  ["as_of", "What is true now", "What was true on"],
  ["known_at", "What Mnemic knows now", "What Mnemic knew on"],
];

/** The day of the oldest memory, where the sliders begin. */
export async function firstDay(signal) {
  const { memories } = await get("memories", { order: "oldest", limit: 1, states: STATES }, { signal });
  return dayOf(memories[0]?.observed_at ?? new Date().toISOString());
}

/** A slider from the day `first` until now, with words for now and before a day. `moved(day)` hears the chosen day, null for now; `day` is where it begins. */
export function daySlider([name, now, past], { first, day = null, moved }) {
  const start = Date.parse(`${first}T12:00`); // at noon, so that a change of clocks moves no day
  const placeOf = (each) => Math.round((Date.parse(`${each}T12:00`) - start) / DAY_MS);
  const last = Math.max(placeOf(dayOf(new Date().toISOString())), 0);
  const label = el("label", { for: name });
  const range = el("input", { type: "range", id: name, min: 0, max: last, step: 1, oninput: told });
  range.value = String(day === null ? last : Math.min(Math.max(placeOf(day), 0), last));
  function show() {
    const isNow = Number(range.value) === last;
    const own = isNow ? null : dayOf(new Date(start + Number(range.value) * DAY_MS).toISOString());
    range.setAttribute("aria-valuetext", isNow ? "now" : dayInWords(own));
    put(label, isNow ? now : [past, " ", el("strong", {}, dayInWords(own))]);
    return own;
  }
  function told() {
    moved(show());
  }
  show();
  return { box: el("div", { class: "slider" }, label, range), range, start, last };
}

/** The end of a day, as the wire wants it; undefined for now. */
export const endOf = (day) => (day ? new Date(`${day}T23:59:59`).toISOString() : undefined);
