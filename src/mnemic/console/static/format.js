// How numbers and times are written.

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** The time of day of a moment in the reader's own zone. */
export function clock(iso) {
  return CLOCK.format(new Date(iso));
}

/** A moment in the reader's own zone. */
export function moment(iso) {
  return iso ? MOMENT.format(new Date(iso)) : "—";
}

const SHORT_DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** The day of a moment, short, in the reader's own zone. */
export function shortDay(iso) {
  return iso ? SHORT_DAY.format(new Date(iso)) : "—";
}

/** The day of a moment in the reader's own zone, as `2026-05-01`. */
export function dayOf(iso) {
  return toField(iso).slice(0, 10);
}

/** A day in words. */
export function dayInWords(day) {
  return DAY.format(new Date(`${day}T00:00`));
}

const SHORT_WEEKDAY = new Intl.DateTimeFormat(undefined, { weekday: "short", year: "numeric", month: "short", day: "numeric" });

/** A day in few words, as "Tue, Nov 24, 2026". */
export function dayInBrief(day) {
  return SHORT_WEEKDAY.format(new Date(`${day}T00:00`));
}

/** A number with a maximum of digits after the point. */
export function number(value, digits = 2) {
  return value === null || value === undefined
    ? "—"
    : value.toLocaleString(undefined, { maximumFractionDigits: digits });
}

/** "1 memory", "2 memories". */
export function count(amount, one, many = `${one}s`) {
  return `${number(amount, 0)} ${amount === 1 ? one : many}`;
}

/** "page 7", "pages 4-6", "" for what has no pages. */
export function pages({ page, last_page: last }) {
  if (!page) return "";
  return last > page ? `pages ${page}-${last}` : `page ${page}`;
}

/** A name of the wire as words: `is_pinned` is "pinned", `keyword_window` "keyword window". */
export function words(name) {
  return name.replace(/^is_/, "").replaceAll("_", " ");
}

/** What a field of a date and time holds, as ISO 8601 in UTC; null when it is empty. */
export function fromField(value) {
  return value ? new Date(value).toISOString() : null;
}

/** A moment as a field of a date and time wants it, in the reader's own zone. */
export function toField(iso) {
  if (!iso) return "";
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
