// Requests to REST: the key, the scope, problems as the server tells them, and another try where it asks for one.

import { key, scope } from "./session.js";

const ROOT = new URL("../", document.baseURI);
const TRIES = 3;
const LONGEST_WAIT_S = 10;
const LOST_S = 0.3;

/** What went wrong, as `application/problem+json` has it; status 0: the server was not reached. */
export class Problem extends Error {
  constructor({ status = 0, title = "", detail = "", hint = "" }) {
    super(detail || title);
    Object.assign(this, { status, title, detail, hint });
  }
}

const UNREACHED = {
  title: "The server is not responding",
  hint: "check that `mnemic serve` is running, then try again",
};
/** The path of a route, as route`memories/${id}`: what stands in it is one piece of the path, whatever characters an id has. */
export function route(texts, ...ids) {
  return String.raw(
    { raw: texts },
    ...ids.map((id) => {
      if (id === "." || id === "..") throw new Problem({ title: "This id is invalid", detail: id });
      return encodeURIComponent(id);
    }),
  );
}

const waiting = new Set();

/** Calls `listener(seconds)` whenever a request waits because the server is busy, and with 0 when it goes on. */
export function onWaiting(listener) {
  waiting.add(listener);
}

export const get = (path, query, options) => ask("GET", path, { query, ...options });
export const post = (path, body, options) => ask("POST", path, { body: body ?? {}, ...options });
export const patch = (path, body, options) => ask("PATCH", path, { body, ...options });
export const remove = (path, query, options) => ask("DELETE", path, { query, ...options });

/** The answer of a route as JSON. Raises `Problem`; `options.signal` ends it with an AbortError. */
async function ask(method, path, { query = {}, body, signal } = {}) {
  const headers = own(method);
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const keepalive = method === "DELETE"; // one that waited for its undo is also sent when the page is left
  const sent = { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal, keepalive, ...PLAIN };
  const answer = await tried(url(path, query), sent);
  return answer.json().catch(() => {
    throw new Problem(UNREACHED);
  });
}

const PLAIN = { cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" };

/** Sends a file; `tell(share, words)` hears how far it has come. Answers the report. Raises `Problem`. */
export function send(path, query, file, tell) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", url(path, query));
    for (const [name, value] of Object.entries({ ...own("GET"), Accept: "application/x-ndjson" }))
      request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => event.lengthComputable && tell(event.loaded / event.total / 2, "uploading");
    request.upload.onload = () => tell(0.5, "reading");
    request.onprogress = () => {
      const last = events(request.responseText)
        .filter((event) => event.event === "progress")
        .pop();
      if (last) tell(0.5 + (last.total ? last.done / last.total / 2 : 0), "reading");
    };
    request.onerror = () => reject(new Problem(UNREACHED));
    request.onload = () => {
      if (request.status >= 400) {
        reject(problemOf(request.status, request.responseText));
        return;
      }
      const last = events(request.responseText).pop();
      if (last?.event === "done") resolve(last.report);
      else reject(new Problem(last?.problem ?? UNREACHED));
    };
    const form = new FormData();
    form.append("file", file);
    request.send(form);
  });
}

/** Who asks, and with which rights. Raises `Problem` 401 where a key is needed. */
export async function askCaller(candidate) {
  const headers = own("GET");
  if (candidate) headers.Authorization = `Bearer ${candidate}`;
  const answer = await tried(new URL("console/caller", ROOT), { headers, ...PLAIN });
  return answer.json();
}

/** The token for the code of a link, which works once. Raises `Problem` 401. */
export async function exchange(code) {
  const answer = await tried(new URL("console/enter", ROOT), {
    method: "POST",
    headers: { Authorization: `Bearer ${code}` },
    ...PLAIN,
  });
  return (await answer.json()).token;
}

/** A duration that the server measures, as `{total, below}`: how often, and the time within which a share of them ended. Null for others than operators. */
export async function metrics(name, { signal } = {}) {
  const answer = await fetched(new URL("metrics", ROOT), { headers: own("GET"), signal, ...PLAIN });
  if (!answer.ok) return null;
  const buckets = new Map();
  for (const [, edge, amount] of (await answer.text()).matchAll(new RegExp(`^${name}_bucket\\{.*?le="([^"]+)".*?\\} (\\S+)$`, "gm"))) {
    const limit = edge === "+Inf" ? Infinity : Number(edge);
    buckets.set(limit, (buckets.get(limit) ?? 0) + Number(amount));
  }
  const total = buckets.get(Infinity) ?? 0;
  const edges = [...buckets.keys()].sort((a, b) => a - b);
  return { total, below: (share) => edges.find((edge) => buckets.get(edge) >= share * total) };
}

function events(text) {
  return text
    .split("\n")
    .slice(0, -1)
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

function url(path, query = {}) {
  const address = new URL(`v1/${path}`, ROOT);
  const given = { ...scope(), ...query };
  for (const [name, value] of Object.entries(given)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && each !== "") address.searchParams.append(name, each);
    }
  }
  return address;
}

/** The headers of every request; a write has a key of its own, so that sending it again does it once. */
function own(method) {
  const headers = {};
  if (key()) headers.Authorization = `Bearer ${key()}`;
  if (method !== "GET") headers["Idempotency-Key"] = random();
  return headers;
}

function random() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The answer of a request that went well. Sent again where the server is busy and says when, and once where the line broke: with its own
 *  `Idempotency-Key` it is done once. */
async function tried(address, sent) {
  for (let tries = 1; ; tries += 1) {
    const answer = await fetched(address, sent).catch((error) => {
      if (tries > 1 || !(error instanceof Problem)) throw error;
    });
    if (answer?.ok) return answer;
    if (!answer) {
      await pause(LOST_S, sent.signal);
      continue;
    }
    const wait = Number(answer.headers.get("Retry-After") ?? NaN);
    const isBusy = answer.status === 503 || answer.status === 429;
    if (!isBusy || Number.isNaN(wait) || tries >= TRIES || wait > LONGEST_WAIT_S)
      throw problemOf(answer.status, await answer.text());
    for (const listener of waiting) listener(wait);
    await pause(wait * (1 + Math.random() / 2), sent.signal); // not all at the same moment
    for (const listener of waiting) listener(0);
  }
}

async function fetched(address, sent) {
  try {
    return await fetch(address, sent);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(UNREACHED);
  }
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(new DOMException("ended", "AbortError"));
      return;
    }
    const timer = setTimeout(resolve, seconds * 1000);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("ended", "AbortError"));
    });
  });
}

function problemOf(status, text) {
  try {
    return new Problem({ ...JSON.parse(text), status });
  } catch {
    return new Problem({ status, title: `The server returned status ${status}`, hint: "see the server's log" });
  }
}
