// The console: which page is shown, whose memory it is, and who is asking.

import { Problem, askCaller, exchange, get, onWaiting } from "./api.js";
import { address, el, put } from "./dom.js";
import { dialog, field, form, heading, notice, problemBox, values } from "./parts.js";
import { listen, palette } from "./palette.js";
import { page as conversations } from "./pages/conversations.js";
import { page as design } from "./pages/design.js";
import { page as documents } from "./pages/documents.js";
import { page as graph } from "./pages/graph.js";
import { page as health } from "./pages/health.js";
import { page as item } from "./pages/item.js";
import { page as jobs } from "./pages/jobs.js";
import { page as memories } from "./pages/memories.js";
import { page as overview } from "./pages/overview.js";
import { page as profile } from "./pages/profile.js";
import { page as prompt } from "./pages/prompt.js";
import { page as receipts } from "./pages/receipts.js";
import { page as review } from "./pages/review.js";
import { page as search } from "./pages/search.js";
import { page as settings } from "./pages/settings.js";
import { page as timeline } from "./pages/timeline.js";
import { page as turns } from "./pages/turns.js";
import { PARTS, caller, isNobody, key, scope, setCaller, setKey, setScope } from "./session.js";

// All are loaded at the start, so that a page can say it when the server is gone. Grouped as the navigation shows them.
const GROUPS = {
  "": { overview },
  Read: { conversations, turns, timeline },
  Memory: { memories, search, graph, profile, documents },
  Check: { prompt, review, health },
  Manage: { jobs, receipts, settings },
};
const DRAWN = Object.assign({ item, design }, ...Object.values(GROUPS));
const PARTS_OF_PAGES = { item: "memories", design: "settings" };
const named = (name) => [name, name[0].toUpperCase() + name.slice(1)];
const PAGES = Object.values(GROUPS).flatMap((group) => Object.keys(group).map(named));
const NEEDS_NOBODY = new Set(["settings", "design", "receipts"]);
const main = document.getElementById("main");
let leaving = new AbortController();
let isFirst = true;
let isListening = false;

function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = (path || "overview").split("/");
  return { page, id: decodeURIComponent(rest.join("/")), query: new URLSearchParams(query ?? "") };
}

function show() {
  leaving.abort();
  for (const open of document.querySelectorAll("dialog")) open.close();
  leaving = new AbortController();
  const { signal } = leaving;
  const { page, id, query } = place();
  takeScope(query);
  drawNavigation(page);
  if (!Object.hasOwn(DRAWN, page)) {
    put(main, heading("Page not found"), el("p", {}, "Choose a page from the list."));
    return;
  }
  document.title = `${titleOf(page)} · Mnemic`;
  const isListingUsers = page === "overview" && caller.is_operator;
  const isOrgAlone = isNobody() && !NEEDS_NOBODY.has(page) && !isListingUsers;
  const drawn = DRAWN[page]({ id, query, signal, go, choose, again: show });
  put(main, isOrgAlone ? nobody() : null, drawn);
  if (!isFirst) (main.querySelector("h1") ?? main).focus();
  isFirst = false;
}

/** Shows the memory that the address names, takes it out of the query, and adds it to an address without it. */
function takeScope(query) {
  const named = Object.fromEntries(PARTS.filter((part) => query.get(part)).map((part) => [part, query.get(part)]));
  for (const part of PARTS) query.delete(part);
  if (Object.keys(named).length) {
    setScope(named);
    drawScope();
  }
  const { page, id } = place();
  if (Object.hasOwn(DRAWN, page)) history.replaceState(history.state, "", address(id ? `${page}/${id}` : page, query));
}

function nobody() {
  return el(
    "p",
    { class: "banner" },
    "Choose a user, agent or session at the top to see their memory. This page shows only what the whole org shares.",
  );
}

/** Show the memory of somebody else, from the overview on. */
function choose(chosen) {
  setScope(chosen);
  drawScope();
  go("overview");
}

/** Go to another page, or reload the current one. */
function go(page, query) {
  const to = address(page, query);
  if (location.hash === to) show();
  else location.hash = to;
}

const titleOf = (page) => PAGES.find(([name]) => name === (PARTS_OF_PAGES[page] ?? page))?.[1] ?? "";

function drawNavigation(page) {
  const current = PARTS_OF_PAGES[page] ?? page;
  const nav = document.getElementById("nav");
  nav.classList.remove("open");
  const unfold = (event) => event.target.setAttribute("aria-expanded", String(nav.classList.toggle("open")));
  put(
    nav,
    el("button", { type: "button", class: "menu", "aria-expanded": "false", onclick: unfold }, `Menu: ${titleOf(page)}`),
    Object.entries(GROUPS).map(([group, pages]) =>
      el(
        "ul",
        { "aria-label": group || null },
        group ? el("li", { class: "group", "aria-hidden": "true" }, group) : null,
        Object.keys(pages).map(named).map(([name, title]) =>
          el("li", {}, el("a", { href: address(name), "aria-current": name === current ? "page" : null }, title)),
        ),
      ),
    ),
  );
}

function drawScope() {
  const chosen = scope();
  const box = document.getElementById("scope");
  put(
    box,
    PARTS.map((part) =>
      field(part[0].toUpperCase() + part.slice(1), part, {
        value: chosen[part] ?? "",
        readOnly: Boolean(caller?.[part]),
        maxlength: 255,
        placeholder: part === "user" ? "nobody" : "any",
        list: part === "user" && caller?.is_operator ? "known-users" : null,
        hint: caller?.[part] ? "set by the key" : undefined,
      }),
    ),
    el("datalist", { id: "known-users" }),
    el("button", { type: "submit" }, "Show"),
  );
  box.onfocusin = () => suggestUsers(box.querySelector("datalist"));
  box.onsubmit = (event) => {
    event.preventDefault();
    setScope(
      Object.fromEntries(
        Object.entries(values(box))
          .map(([part, value]) => [part, value.trim()])
          .filter(([, value]) => value),
      ),
    );
    notice(
      "Showing the memory of " +
        (Object.entries(scope())
          .map(([part, value]) => `${part} ${value}`)
          .join(", ") || "the org only"),
    );
    const { page, id, query } = place();
    go(id ? `${page}/${id}` : page, query);
  };
}

/** Fills the list of users to choose from when it is first needed. */
async function suggestUsers(list) {
  if (!caller.is_operator || list.children.length) return;
  const users = await get("users").catch(() => []);
  put(list, users.filter((each) => each.org === caller.org).map((each) => el("option", { value: each.user })));
}

function drawCaller() {
  const who = caller.has_key
    ? `key ${caller.key.name || caller.key.id.slice(0, 8)}, rights: ${caller.rights.join(", ") || "none"}`
    : `org ${caller.org}`;
  put(
    document.getElementById("caller"),
    el("span", { class: "who" }, who),
    el("button", { type: "button", class: "find", onclick: () => palette(OPEN) }, "Search or go to ", el("kbd", {}, "Ctrl K")),
    caller.has_key ? el("button", { type: "button", onclick: forget }, "Forget key") : null,
  );
}

function forget() {
  setKey(null);
  location.reload();
}

/** Asks who is asking; where a key is needed, for the key. */
async function begin() {
  try {
    const code = /^#enter=([0-9a-f]+)$/.exec(location.hash)?.[1];
    if (code) {
      history.replaceState(null, "", location.pathname);
      setKey(await exchange(code));
    }
    setCaller(await askCaller(key()));
  } catch (error) {
    if (error instanceof Problem && error.status === 401) askForKey(key() ? error : null);
    else put(main, problemBox(error, begin));
    return;
  }
  drawScope();
  drawCaller();
  if (!isListening) {
    addEventListener("hashchange", show);
    listen(OPEN);
  }
  isListening = true;
  show();
}

function askForKey(problem) {
  setKey(null);
  put(
    main,
    el(
      "section",
      { class: "key" },
      el("h1", { tabindex: "-1" }, "This server requires an API key"),
      problem ? problemBox(problem) : null,
      form(
        "Key",
        [
          field("Key", "key", {
            type: "password",
            required: true,
            placeholder: "mn_…",
            hint: "Stored only in this tab until you close it. `mnemic keys create` creates a key.",
          }),
        ],
        "Open",
        async ({ key: typed }) => {
          await askCaller(typed.trim());
          setKey(typed.trim());
          await begin();
        },
      ),
    ),
  );
  main.querySelector("input").focus();
}

function focusSearch() {
  if (place().page === "search") main.querySelector("input")?.focus();
  else location.hash = address("search");
}

const OPEN = { pages: PAGES, go, choose, search: focusSearch };

onWaiting((seconds) => {
  if (seconds) notice(`The server is busy. Retrying in ${seconds} s.`, "waiting");
});
const told = (error) => {
  if (error?.name !== "AbortError") dialog("Something went wrong", problemBox(error ?? new Error("Unknown error")));
};
addEventListener("unhandledrejection", (event) => told(event.reason));
addEventListener("error", (event) => told(event.error));
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
begin();
