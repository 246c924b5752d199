import {
  BadReplyError,
  ConfigError,
  InvalidInputError,
  MnemicError,
  problemError,
  TimedOutError,
  UnavailableError,
} from "./errors.js";

/** Whose memory it is. Leaving a part out returns less, never more. */
export interface Scope {
  /** The user whose memory to use. */
  readonly user?: string | undefined;
  /** The agent that asks. */
  readonly agent?: string | undefined;
  /** The conversation. */
  readonly session?: string | undefined;
  /** The tenant. It must be the key's. */
  readonly org?: string | undefined;
}

/** How to reach a server. */
export interface Settings {
  /** The server's address. Default: http://127.0.0.1:7700. */
  url?: string | undefined;
  /** An API key. A server without keys accepts requests from its own machine. */
  key?: string | undefined;
  /** Time limit of a request in milliseconds; of a stream, between two pieces. Default: 60,000. */
  timeoutMs?: number | undefined;
  /** Used instead of the global `fetch`, for example to trace requests. */
  fetch?: typeof fetch | undefined;
}

/** How to send one request. */
export interface RequestOptions {
  /** Aborts the request. The call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Time limit in milliseconds. Default: the client's; at least ten minutes if a language model answers. */
  timeoutMs?: number | undefined;
  /** Makes a write safe to repeat for a day: the server runs it once. Default: a new key for each call. */
  idempotencyKey?: string | undefined;
}

/** What long work has done so far. */
export interface Progress {
  done: number;
  total: number;
  [name: string]: unknown;
}

/** How to send a request that may take long. */
export interface ReportOptions extends RequestOptions {
  /** Called while the server works. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** The content of a file. */
export type Upload = string | Blob | Uint8Array<ArrayBuffer>;

interface Sent {
  query?: object;
  body?: object;
  text?: string;
  file?: Upload;
  isLong?: boolean;
}

const DEFAULT_URL = "http://127.0.0.1:7700";
const TIMEOUT_MS = 60_000;

/** Minimum time limit of work with a language model, which may reply several times. */
const LONG_TIMEOUT_MS = 600_000;

/** Wait between two checks whether the server has finished an earlier request. */
const WAIT_MS = 200;
const NDJSON = "application/x-ndjson";

/** Verbs of a server for one scope. */
export class Caller {
  constructor(
    protected readonly connection: Connection,
    /** Whose memory it is. */
    readonly scope: Scope,
  ) {}
}

/** A list that the server sends one page at a time: await it for a page, or loop over the entries of all pages. */
export class Pages<P, E> implements PromiseLike<P>, AsyncIterable<E> {
  constructor(
    private readonly load: (cursor?: string | number) => Promise<P>,
    private readonly entries: keyof P,
  ) {}

  then<A = P, B = never>(
    done?: ((page: P) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.load().then(done, failed);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<E, void, undefined> {
    let cursor: string | number | undefined;
    do {
      const page = await this.load(cursor);
      yield* (page as P)[this.entries] as E[];
      const { next, after } = page as { next?: string | number | null; after?: string | null };
      cursor = next ?? after ?? undefined;
    } while (cursor !== undefined);
  }
}

/** Sends the requests of verbs to a server, and turns problems into errors. */
export class Connection {
  readonly url: string;
  private readonly headers: Record<string, string>;
  private readonly timeoutMs: number;
  private readonly fetch: typeof fetch;

  constructor(settings: Settings) {
    const url = settings.url ?? DEFAULT_URL;
    if (!/^https?:\/\//.test(url)) {
      throw new ConfigError(`"${url}" is not a valid server address; use one such as ${DEFAULT_URL}`);
    }
    this.url = url.replace(/\/+$/, "");
    this.headers = settings.key === undefined ? {} : { Authorization: `Bearer ${settings.key}` };
    this.timeoutMs = settings.timeoutMs ?? TIMEOUT_MS;
    this.fetch = settings.fetch ?? ((...given) => globalThis.fetch(...given));
  }

  /** Call a verb, and return its answer. */
  async ask<T>(scope: Scope, method: string, path: string, sent: Sent, options: RequestOptions): Promise<T> {
    const headers: Record<string, string> = { Accept: "application/json" };
    if (method !== "GET") headers["Idempotency-Key"] = options.idempotencyKey ?? makeKey();
    const clock = this.watch(sent, options);
    try {
      const { response, text } = await this.repeat(scope, method, path, sent, headers, clock);
      if (!response.ok) throw problemError(response.status, parse(text), response.headers.get("Retry-After"));
      return read<T>(text);
    } finally {
      clock.stop();
    }
  }

  /** Call a verb that lists one page at a time. */
  list<P, E>(
    scope: Scope,
    method: string,
    path: string,
    sent: Sent,
    options: RequestOptions,
    entries: keyof P,
    cursor: string,
  ): Pages<P, E> {
    const load = (after?: string | number): Promise<P> => {
      const query = after === undefined ? { ...sent.query } : { ...sent.query, [cursor]: after };
      return this.ask<P>(scope, method, path, { ...sent, query }, options);
    };
    return new Pages<P, E>(load, entries);
  }

  /** Call a verb that may report progress, and return its report. */
  async report<T>(scope: Scope, method: string, path: string, sent: Sent, options: ReportOptions): Promise<T> {
    if (options.onProgress === undefined && sent.isLong !== true) {
      let text = "";
      for await (const piece of this.pieces(scope, method, path, sent, "application/json", options)) text += piece;
      return read<T>(text);
    }
    for await (const line of this.lines(scope, method, path, sent, options)) {
      const { event, ...rest } = read<Event>(line);
      if (event === "done") return rest.report as T;
      if (event === "failed") throw problemError(rest.problem?.status ?? 500, rest.problem);
      options.onProgress?.(rest as unknown as Progress);
    }
    throw cutShort();
  }

  /** Call a verb that answers with events, the last of them the whole reply. */
  async *events<T>(
    scope: Scope,
    method: string,
    path: string,
    sent: Sent,
    options: RequestOptions,
  ): AsyncGenerator<T, void, undefined> {
    for await (const line of this.lines(scope, method, path, sent, options)) {
      const told = read<Event>(line);
      if (told.event === "failed") throw problemError(told.problem?.status ?? 500, told.problem);
      yield told as T;
      if (told.event === "replied") return;
    }
    throw cutShort();
  }

  /** Call a verb that answers with lines. Only line feeds end a line, because texts can contain other separators. */
  async *lines(
    scope: Scope,
    method: string,
    path: string,
    sent: Sent,
    options: RequestOptions,
  ): AsyncGenerator<string, void, undefined> {
    let left = "";
    for await (const piece of this.pieces(scope, method, path, sent, NDJSON, options)) {
      const found = (left + piece).split("\n");
      left = found.pop() ?? "";
      yield* found;
    }
    if (left !== "") yield left;
  }

  /** Call a verb that answers with a file. */
  async bytes(
    scope: Scope,
    method: string,
    path: string,
    sent: Sent,
    options: RequestOptions,
  ): Promise<ReadableStream<Uint8Array>> {
    const pieces = this.open(scope, method, path, sent, "*/*", options);
    let first: IteratorResult<Uint8Array, void> | undefined = await pieces.next(); // problems are raised here
    return new ReadableStream<Uint8Array>({
      async pull(controller) {
        const piece = first ?? (await pieces.next());
        first = undefined;
        if (piece.done === true) controller.close();
        else controller.enqueue(piece.value);
      },
      async cancel() {
        await pieces.return();
      },
    });
  }

  /** The text of an answer as it arrives. */
  private async *pieces(
    scope: Scope,
    method: string,
    path: string,
    sent: Sent,
    accept: string,
    options: RequestOptions,
  ): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder();
    for await (const piece of this.open(scope, method, path, sent, accept, options)) {
      yield decoder.decode(piece, { stream: true });
    }
    yield decoder.decode();
  }

  /** The bytes of an answer as they arrive. Leaving early ends the request. */
  private async *open(
    scope: Scope,
    method: string,
    path: string,
    sent: Sent,
    accept: string,
    options: RequestOptions,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const clock = this.watch(sent, options);
    try {
      const response = await this.send(scope, method, path, sent, { Accept: accept }, clock);
      if (!response.ok) {
        const text = await response.text();
        throw problemError(response.status, parse(text), response.headers.get("Retry-After"));
      }
      const reader = response.body?.getReader();
      for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) {
        clock.restart();
        yield piece.value;
      }
    } catch (error) {
      throw this.transportError(error, clock);
    } finally {
      clock.stop();
      clock.abort();
    }
  }

  /** Send a request, once more if the connection breaks. The idempotency key makes that safe. */
  private async repeat(
    scope: Scope,
    method: string,
    path: string,
    sent: Sent,
    headers: Record<string, string>,
    clock: Clock,
  ): Promise<{ response: Response; text: string }> {
    const attempt = async (): Promise<{ response: Response; text: string }> => {
      const response = await this.send(scope, method, path, sent, headers, clock);
      return { response, text: await response.text() };
    };
    try {
      try {
        return await attempt();
      } catch (error) {
        if (clock.signal.aborted) throw error;
      }
      for (;;) {
        const found = await attempt();
        if (found.response.status !== 409 || !found.text.includes("urn:mnemic:problem:under_way")) return found;
        await clock.wait(WAIT_MS); // the server still works on the first request
      }
    } catch (error) {
      throw this.transportError(error, clock);
    }
  }

  private send(
    scope: Scope,
    method: string,
    path: string,
    sent: Sent,
    headers: Record<string, string>,
    clock: Clock,
  ): Promise<Response> {
    const query = parameters({ ...sent.query, ...scope }).toString();
    const init: RequestInit = { method, headers: { ...this.headers, ...headers }, signal: clock.signal };
    const content = contentOf(sent);
    if (content !== undefined) init.body = content;
    const type = sent.body === undefined ? "text/plain; charset=utf-8" : "application/json";
    if (typeof content === "string") init.headers = { ...init.headers, "Content-Type": type };
    return this.fetch(`${this.url}${path}${query === "" ? "" : `?${query}`}`, init);
  }

  /** The error of an unanswered request. An `AbortSignal`'s reason and errors of this client stay as they are. */
  private transportError(error: unknown, clock: Clock): unknown {
    if (clock.isExpired) return new TimedOutError(`${this.url} did not respond in time`, { cause: error });
    if (error instanceof MnemicError || clock.signal.aborted) return error;
    const hint = "is `mnemic serve` running there?";
    return new UnavailableError(`${this.url} is not responding; ${hint}`, { cause: error });
  }

  private watch(sent: Sent, options: RequestOptions): Clock {
    const usual = sent.isLong === true ? Math.max(this.timeoutMs, LONG_TIMEOUT_MS) : this.timeoutMs;
    return new Clock(options.timeoutMs ?? usual, options.signal);
  }
}

interface Event {
  event: string;
  report?: unknown;
  problem?: { status?: number };
}

/** A time limit and a caller's signal as one signal. `AbortSignal.any` needs Node 20. */
class Clock {
  readonly signal: AbortSignal;
  isExpired = false;
  private readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly follow = (): void => this.controller.abort(this.outer?.reason);

  constructor(
    private readonly timeoutMs: number,
    private readonly outer: AbortSignal | undefined,
  ) {
    this.signal = this.controller.signal;
    if (outer?.aborted === true) this.follow();
    outer?.addEventListener("abort", this.follow);
    this.restart();
  }

  /** Begin the time limit again. */
  restart(): void {
    clearTimeout(this.timer);
    const expire = (): void => {
      this.isExpired = true;
      this.controller.abort();
    };
    this.timer = setTimeout(expire, this.timeoutMs);
  }

  /** Wait, unless the signal ends it. */
  wait(ms: number): Promise<void> {
    return new Promise((done, failed) => {
      const stop = (): void => {
        clearTimeout(timer);
        failed(this.signal.reason);
      };
      const timer = setTimeout(() => {
        this.signal.removeEventListener("abort", stop);
        done();
      }, ms);
      this.signal.addEventListener("abort", stop);
    });
  }

  stop(): void {
    clearTimeout(this.timer);
    this.outer?.removeEventListener("abort", this.follow);
  }

  /** End the request, if it still runs. */
  abort(): void {
    this.controller.abort();
  }
}

/** Arguments as query parameters: lists are repeated, objects are JSON, null and undefined are left out. */
function parameters(query: object): URLSearchParams {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each === null || each === undefined) continue;
      found.append(name, typeof each === "object" ? JSON.stringify(each) : String(each));
    }
  }
  return found;
}

function contentOf({ body, text, file, query = {} }: Sent): string | FormData | undefined {
  if (body !== undefined) return JSON.stringify(body);
  if (file === undefined) return text;
  const named: { name?: unknown; source?: unknown } = { ...query };
  const name = named.name ?? named.source ?? Object(file).name; // the last of a `File`, which Node 18 lacks
  if (typeof name !== "string") {
    throw new InvalidInputError('the content has no name; give it one, such as { name: "notes.md" }');
  }
  const form = new FormData();
  form.set("file", file instanceof Blob ? file : new Blob([file]), name);
  return form;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function read<T>(text: string): T {
  const found = parse(text);
  if (found === undefined) throw new BadReplyError("the server sent something that is not JSON");
  return found as T;
}

function cutShort(): BadReplyError {
  return new BadReplyError("the server stopped before its response was complete; try again");
}

/** A new idempotency key. Node 18 has no global `crypto`; a key need not be secret, only its own. */
function makeKey(): string {
  const random = (): string => Math.random().toString(36).slice(2);
  return globalThis.crypto?.randomUUID?.() ?? `${Date.now().toString(36)}-${random()}-${random()}`;
}
