// Elements of the page. Everything that comes from a store goes in as text: there is no way to give markup here.

import { PARTS, scope } from "./session.js";

const SVG = "http://www.w3.org/2000/svg";
const OWN_LINK = /^(#\/|#main$|\.\.\/docs$)/;

/** An element with attributes, handlers (`onclick`), properties of `PROPERTIES` and children (elements, texts, lists; null is left out). */
export function el(name, given = {}, ...children) {
  return filled(document.createElement(name), given, children);
}

/** The same for a drawing. */
export function svg(name, given = {}, ...children) {
  return filled(document.createElementNS(SVG, name), given, children);
}

/** Puts children into an element in place of what it held. */
export function put(parent, ...children) {
  parent.replaceChildren(...flat(children));
  return parent;
}

const PROPERTIES = new Set([
  "value",
  "checked",
  "disabled",
  "selected",
  "open",
  "hidden",
  "indeterminate",
  "readOnly",
  "multiple",
]);

function filled(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (PROPERTIES.has(name)) element[name] = value;
    else if (name === "href" && !OWN_LINK.test(value)) throw new Error("the console only links to its own pages");
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...flat(children));
  return element;
}

function flat(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

// What would hide or turn the text around it: controls, overrides of direction, what has no width, tags. Not the joiners of
// Persian and of emoji.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u115f\u1160\u3164\uffa0\u{e0000}-\u{e01ef}]/u;
const HIDDEN_ALL = new RegExp(`(${HIDDEN.source})`, "gu");

/** A text of a store: its own direction, kept apart from what is around it, hidden characters shown by number. */
export function said(text, { most = Infinity, tag = "span", marked = null } = {}) {
  const whole = String(text ?? "");
  const short = whole.length > most ? shortened(whole, most) : whole;
  const parts = short
    .split(HIDDEN_ALL)
    .map((part) => (HIDDEN.test(part) && [...part].length === 1 ? mark(part) : highlighted(part, marked)));
  const box = el(tag, { class: "said", dir: "auto" }, parts);
  if (short !== whole) box.append("…");
  return box;
}

/** The words of a question in a text, as `marked(question)` found them. */
function highlighted(text, marked) {
  return marked ? text.split(marked).map((part, at) => (at % 2 ? el("mark", {}, part) : part)) : text;
}

const SHORTEST = 3; // shorter words, such as "is", stand in every text

/** What to mark in texts that answer a question: its longer words and their other endings. Null when there is none. */
export function marks(question) {
  const words = (question.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => [...word].length >= SHORTEST && !ASKING.has(word.toLowerCase()));
  if (!words.length) return null;
  const stems = words.map((word) => (word.length > 5 ? word.slice(0, -2) : word));
  return new RegExp(`(?<![\\p{L}\\p{N}])((?:${stems.join("|")})[\\p{L}\\p{N}]*)`, "giu");
}

const ASKING = new Set("the and who what when where which why how does did has have had are was were for with from that this can could should would".split(" "));

function shortened(text, most) {
  const cut = text.slice(0, most).replace(/[\ud800-\udbff]$/, "");
  const word = cut.search(/\s\S*$/); // between words, unless that would cost half the text
  return word > most / 2 ? cut.slice(0, word) : cut;
}

function mark(character) {
  const number = `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  return el("span", { class: "hidden-character", title: "Invisible character" }, number);
}

/** A text of a store in full; of a huge one the beginning, and a button for the rest. */
export function whole(text, most = 20_000) {
  const box = el("div", { class: "whole" }, said(text, { most, tag: "div" }));
  if (text.length > most) {
    const more = el(
      "button",
      { type: "button", onclick: () => put(box, said(text, { tag: "div" })) },
      `Show all ${text.length.toLocaleString()} characters`,
    );
    box.append(more);
  }
  return box;
}

/** A link to a page of the console. */
export function link(page, given, ...children) {
  const query = new URLSearchParams(
    Object.entries(given ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== ""),
  );
  return el("a", { href: address(page, query) }, ...children);
}

/** The address of a page of the console, with whose memory it shows; what follows the first slash is an id. */
export function address(page, query) {
  const [name, ...id] = page.split("/");
  const asked = new URLSearchParams(query ?? "");
  for (const part of PARTS) asked.delete(part);
  for (const [part, value] of Object.entries(scope())) asked.set(part, value);
  const text = asked.toString();
  return `#/${name}${id.length ? `/${encodeURIComponent(id.join("/"))}` : ""}${text ? `?${text}` : ""}`;
}
