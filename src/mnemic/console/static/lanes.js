// A year at a glance: one lane for each thing that changes (home, job, people), with a bar for as long as each value held.

import { address, el, said } from "./dom.js";
import { count, dayInWords, dayOf, moment } from "./format.js";

const EDGE = 8; // half of the slider's handle, so that it stands over what it selects
const FONT = "12.75px system-ui, sans-serif"; // as .validity has it
const PADDING = 14; // around a text: 6 before it in its bar, the rest so that rounding cuts no letter
const SPACE = 4; // between two texts of a row
const BESIDE = { in: 10, after: 9, before: 13 }; // what the place of a .value takes, and SPACE where another text may follow
const ROW = 30;
const NAME = 128;
const WANTED = 300; // pixels that a text gets before a row is full, about 44 letters; it grows into what stays free
const WANTED_NARROW = 185;
const MOST_LETTERS = 280;
const LANES_AT_FIRST = 10;
const EVENT_ROWS = 4;
const BUCKET = 14; // pixels of a column of the histogram
const LIVE = ["active", "disputed"];

/** The lanes of these memories: by slot, those of the user first, then what changed most. */
export function lanesOf(memories) {
  const bySlot = new Map();
  for (const memory of memories) {
    const slot = memory.bookkeeping?.slot;
    if (!slot || ["archived", "quarantined"].includes(memory.state)) continue;
    if (!bySlot.has(slot)) bySlot.set(slot, []);
    bySlot.get(slot).push(bar(memory));
  }
  const isOwn = (slot) => !slot.includes(" of ");
  return [...bySlot]
    .map(([slot, bars]) => ({ slot, bars: once(bars.sort((a, b) => a.from - b.from)), conflicts: conflictsOf(bars) }))
    .filter(({ slot, bars }) => isOwn(slot) || bars.length > 1)
    .sort(
      (a, b) =>
        b.conflicts.length - a.conflicts.length ||
        isOwn(b.slot) - isOwn(a.slot) ||
        b.bars.length - a.bars.length ||
        a.slot.localeCompare(b.slot),
    );
}

/** Bars without those that repeat the value of a longer one. */
function once(bars) {
  const isSaid = (each, at) => bars.slice(0, at).some((other) => other.text === each.text && other.to >= each.to && other.memory.state === each.memory.state);
  return bars.filter((each, at) => !isSaid(each, at));
}

function bar(memory) {
  const from = Date.parse(memory.valid_from ?? memory.observed_at);
  const isOver = memory.state === "superseded";
  const ended = memory.valid_to ?? (isOver ? memory.retired_at : null);
  return { memory, from, to: ended ? Math.max(Date.parse(ended), from) : Infinity, text: memory.bookkeeping.value || memory.text };
}

/** Pairs of which one is disputed by the other: `[disputed, known]`. */
function conflictsOf(bars) {
  const byId = new Map(bars.map((each) => [each.memory.id, each]));
  return bars
    .filter((each) => each.memory.state === "disputed" && byId.has(each.memory.other_id))
    .map((each) => [each, byId.get(each.memory.other_id)])
    .filter(([, known]) => LIVE.includes(known.memory.state));
}

let pen;

/** Draws lanes, events and the histogram over `[start, end]` in milliseconds; `resolve(conflict)` gives what decides one. */
export function drawLanes({ lanes, events, sessions, start, end, width, resolve }) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = FONT;
  const isNarrow = width < 700;
  const inner = isNarrow ? width : width - NAME;
  const at = (time) => EDGE + ((Math.min(Math.max(time, start), end) - start) / Math.max(end - start, 1)) * (inner - 2 * EDGE);
  const drawn = [];
  const box = el("div", { class: isNarrow ? "lanes narrow" : "lanes" });
  const rest = el("div", { class: "lanes", hidden: true });
  const [line, knownLine] = ["handle", "handle known"].map((name) => el("div", { class: name, "aria-hidden": "true" }));
  const one = (lane) => drawLane(lane, { at, inner, start, drawn, resolve });
  rest.append(...lanes.slice(LANES_AT_FIRST).map(one));
  box.append(
    axis({ start, end, at, inner }),
    histogram(sessions, { start, end, inner }),
    ...(events.length ? [drawEvents(events, { at, inner, drawn })] : []),
    ...lanes.slice(0, LANES_AT_FIRST).map(one),
    line,
    knownLine,
  );
  const more =
    lanes.length > LANES_AT_FIRST
      ? el(
          "button",
          {
            type: "button",
            onclick: (event) => {
              line.before(...rest.children);
              event.target.remove();
            },
          },
          `Show ${count(lanes.length - LANES_AT_FIRST, "more lane")}`,
        )
      : null;
  /** Moves the lines, and dims what did not hold at `time` or was not known at `known`. */
  function move(time, known) {
    for (const [each, place] of [[line, time], [knownLine, known]])
      each.style.setProperty("left", `${(isNarrow ? 0 : NAME) + at(place)}px`);
    for (const { element, from, to, since } of drawn)
      element.classList.toggle("off", !(from <= time && time < to && dayOf(since) <= dayOf(new Date(known).toISOString())));
  }
  move(end, end);
  return { box: [box, more], move, indent: isNarrow ? 0 : NAME };
}

function row(name, kind, content, height, ...below) {
  const field = el("div", { class: "lane-field" }, content);
  field.style.setProperty("height", `${height}px`);
  return el("div", { class: `lane ${kind}` }, el(name ? "h3" : "div", { class: "lane-name" }, said(name, { most: 40 })), field, below);
}

function drawLane(lane, { at, inner, start, drawn, resolve }) {
  const rows = pack(
    lane.bars.map((each) => ({ ...each, x: at(each.from), w: Math.max(at(Math.min(each.to, Date.now())) - at(each.from), 6) })),
    inner,
  );
  const bars = rows.map((each) => {
    const { memory, x, w, text, level } = each;
    const holds = `${dayInWords(dayOf(new Date(each.from).toISOString()))} to ${each.to === Infinity ? "now" : dayInWords(dayOf(new Date(each.to).toISOString()))}`;
    const element = el(
      "a",
      {
        href: address(`item/${memory.id}`),
        class: `validity ${memory.state}${each.from < start ? " earlier" : ""}`,
        title: `${memory.text.slice(0, 200)} (${holds})`,
        "aria-label": `${text}: ${holds}${memory.state === "disputed" ? ", disputed" : ""}`,
      },
      value(each),
    );
    set(element, { left: x, top: level * ROW + 3, width: w });
    drawn.push({ element, from: each.from, to: each.to, since: memory.created_at });
    return element;
  });
  const height = ROW * (1 + Math.max(...rows.map((each) => each.level)));
  return row(lane.slot, lane.conflicts.length ? "conflict" : "", bars, height, lane.conflicts.map(resolve));
}

/** Gives each bar a row in which neither it nor its text meets another, the side of it where its text stands, and the text's room. */
function pack(bars, inner) {
  const rows = [];
  const most = inner < 500 ? WANTED_NARROW : WANTED;
  const placed = bars.map((each) => {
    const free = { in: each.w, after: inner - each.x - each.w, before: each.x };
    const whole = pen.measureText(each.text).width + PADDING;
    const wanted = Math.min(whole, most);
    const side = ["in", "after", "before"].find((name) => wanted <= free[name]) ?? widest(free);
    const wide = Math.min(wanted, free[side]);
    const span = spanOf({ ...each, side }, wide);
    const [from, to] = span;
    let level = rows.findIndex((taken) => taken.every(([start, end]) => to + SPACE <= start || end + SPACE <= from));
    if (level < 0) level = rows.push([]) - 1;
    rows[level].push(span);
    return { ...each, whole, span, side, level, isWhole: wanted <= free[side] };
  });
  for (const each of placed) {
    const room = roomOf(each, rows[each.level], inner);
    each.span.splice(0, 2, ...spanOf(each, Math.min(each.whole, room))); // so that the next one leaves it free
    each.room = room - BESIDE[each.side];
  }
  return placed;
}

/** From where to where a bar and its text reach. */
const spanOf = ({ x, w, side }, wide) => [side === "before" ? x - wide : x, x + w + (side === "after" ? wide : 0)];

const widest = (room) => Object.keys(room).reduce((one, other) => (room[other] > room[one] ? other : one));

/** The pixels from a bar to its neighbour in the row, on the side of its text. */
function roomOf({ x, w, side }, taken, inner) {
  if (side === "in") return w;
  if (side === "before") return x - Math.max(...taken.map(([, end]) => end).filter((end) => end < x), 0);
  return Math.min(...taken.map(([start]) => start).filter((start) => start > x), inner) - x - w;
}

/** The text of a bar; CSS cuts it where its room ends. */
function value({ text, side, room }) {
  const box = el("span", { class: `value ${side}` }, said(text, { most: MOST_LETTERS }));
  set(box, { "max-width": room });
  return box;
}

function drawEvents(events, { at, inner, drawn }) {
  const points = events
    .map((memory) => ({ memory, from: Date.parse(memory.valid_from ?? memory.observed_at), text: memory.text }))
    .sort((a, b) => b.from - a.from)
    .map((each) => ({ ...each, x: at(each.from) - 4, w: 8 }));
  const all = pack(points, inner);
  const rows = all.filter((each) => each.level < EVENT_ROWS); // the others are told below, day by day
  const cut = rows.filter((each) => !each.isWhole); // in full below their marks
  const marks = rows.map((each) => {
    const element = el(
      "a",
      { href: address(`item/${each.memory.id}`), class: "validity point", "aria-label": `${each.text}: ${moment(new Date(each.from).toISOString())}` },
      each.isWhole ? value(each) : null,
    );
    set(element, { left: each.x, top: each.level * ROW + 3, width: each.w });
    drawn.push({ element, from: each.from, to: Infinity, since: each.memory.created_at });
    return element;
  });
  const left = all.length - rows.length;
  return row(
    "events",
    "events",
    marks,
    ROW * (1 + Math.max(...rows.map((each) => each.level))),
    cut.map((each) => el("p", { class: "hint" }, `${dayInWords(dayOf(new Date(each.from).toISOString()))}: `, said(each.text, { most: 280 }))),
    left ? el("p", { class: "hint" }, `${count(left, "more event")}, listed by day below`) : null,
  );
}

/** Messages over time, from what the sessions tell: each counts where it was last active. */
function histogram(sessions, { start, end, inner }) {
  const columns = Math.max(Math.floor((inner - 2 * EDGE) / BUCKET), 1);
  const sums = new Array(columns).fill(0);
  for (const { last_at: last, messages } of sessions) {
    const share = (Date.parse(last) - start) / Math.max(end - start, 1);
    sums[Math.min(Math.max(Math.floor(share * columns), 0), columns - 1)] += messages;
  }
  const most = Math.max(...sums, 1);
  const bars = sums.map((sum, at) => {
    const column = el("span", { class: "column" });
    set(column, { left: EDGE + (at * (inner - 2 * EDGE)) / columns, width: (inner - 2 * EDGE) / columns - 2 });
    column.style.setProperty("height", `${sum ? Math.max((sum / most) * 100, 4) : 0}%`);
    return column;
  });
  const total = sums.reduce((sum, each) => sum + each, 0);
  const picture = el(
    "div",
    { role: "img", "aria-label": `${count(total, "message")} over time`, class: "histogram" },
    bars,
  );
  return row("messages", "activity", picture, 44);
}

function axis({ start, end, at, inner }) {
  const months = [];
  const day = new Date(start);
  const first = new Date(day.getFullYear(), day.getMonth() + 1, 1);
  const span = (end - start) / 86_400_000;
  const every = Math.max(Math.ceil(span / 30 / Math.max(inner / 90, 1)), 1);
  for (let month = first; month.getTime() < end; month = new Date(month.getFullYear(), month.getMonth() + every, 1)) months.push(month);
  const style = new Intl.DateTimeFormat(undefined, { month: "short", year: "numeric" });
  const ticks = months
    .filter((month) => at(month.getTime()) < inner - 70)
    .map((month) => {
      const tick = el("span", { class: "tick" }, style.format(month));
      set(tick, { left: at(month.getTime()) });
      return tick;
    });
  return row("", "axis", ticks, 22);
}

function set(element, places) {
  for (const [name, value] of Object.entries(places)) element.style.setProperty(name, `${value}px`);
}
