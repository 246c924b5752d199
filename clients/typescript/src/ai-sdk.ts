/**
 * Memory for Vercel's AI SDK.
 *
 * ```ts
 * const model = wrapLanguageModel({ model: openai("gpt-5"), middleware: memoryMiddleware(ana) });
 * ```
 */
import type { ContextOptions, ReadyContext, ScopedMnemic } from "./index.js";

/** How memory joins a chat. */
export interface MemoryMiddlewareOptions {
  /** Add what memory knows to the prompt. Default: true. */
  recall?: boolean | undefined;
  /** Store what the user and the model said. Default: true. */
  capture?: boolean | undefined;
  /** Further arguments of `context`, such as `budget_tokens`. */
  context?: ContextOptions | undefined;
  /** Continue without memory after this time. Default: 2,000. */
  timeoutMs?: number | undefined;
  /** Called when memory fails. The chat goes on without it. Default: `console.warn`. */
  onError?: ((error: unknown) => void) | undefined;
  /** Keeps an edge function alive until the turn is stored. Without it, the answer ends when the turn is stored. */
  waitUntil?: ((work: Promise<void>) => void) | undefined;
}

/** What the middleware reads of a prompt. */
interface Message {
  role: string;
  content: string | readonly Part[];
}

interface Part {
  type: string;
  text?: string;
  delta?: string;
  finishReason?: unknown;
  providerMetadata?: object | undefined;
}

interface Call {
  prompt: readonly unknown[];
  providerOptions?: Record<string, Record<string, unknown>> | undefined;
}

/** The middleware, for `wrapLanguageModel` of the AI SDK 6 and 7. */
export interface MemoryMiddleware {
  readonly specificationVersion: "v3";
  transformParams<P extends Call>(options: { params: P }): Promise<P>;
  wrapGenerate<R extends Generated>(options: { doGenerate: () => PromiseLike<R>; params: Call }): Promise<R>;
  wrapStream<P extends { type: string }, R extends { stream: ReadableStream<P> }>(options: {
    doStream: () => PromiseLike<R>;
    params: Call;
  }): Promise<R>;
}

interface Generated {
  content: readonly { type: string }[];
  finishReason: unknown;
  providerMetadata?: object | undefined;
}

const TIMEOUT_MS = 2_000;

/** Messages that the model sees anyway, so that recall does not repeat them. */
const MAX_HISTORY = 20;

/** The longest query that a server takes by default (`recall.max-query-chars`). */
const MAX_QUERY_CHARS = 20_000;

/** Blocks worth showing. Without one of them, nothing was found. */
const SHOWN_BLOCKS = ["profile", "facts", "documents"];

/** The key of this middleware in `providerOptions` and `providerMetadata`. */
const NAME = "mnemic";

/**
 * Middleware that adds a user's memory to the system prompt, fenced and with citations, and stores each turn.
 *
 * Switch it off for one call with `providerOptions: { mnemic: { recall: false, capture: false } }`. A result's
 * `providerMetadata.mnemic.citations` are the sources of the marks `[1]`, `[2]`. If memory fails, the model still
 * answers.
 */
export function memoryMiddleware(memory: ScopedMnemic, options: MemoryMiddlewareOptions = {}): MemoryMiddleware {
  const shown = new WeakMap<object, ReadyContext>();
  const onError = options.onError ?? ((error: unknown): void => console.warn("mnemic:", error));

  async function keep(params: Call, said: string): Promise<void> {
    const { user, earlier } = turnOf(params.prompt);
    const assistant = [...earlier, said].map((text) => text.trim()).filter((text) => text !== "").join("\n");
    if (user === "" || !isOn(params, "capture", options.capture)) return;
    const work = memory.capture({ user, ...(assistant === "" ? {} : { assistant }) }).then(() => undefined, onError);
    if (options.waitUntil === undefined) await work;
    else options.waitUntil(work);
  }

  function citing<T extends { providerMetadata?: object | undefined }>(result: T, params: Call): T {
    const context = shown.get(params);
    if (context === undefined) return result;
    const told = { citations: context.citations, degraded: context.degraded };
    return { ...result, providerMetadata: { ...result.providerMetadata, [NAME]: told } };
  }

  return {
    specificationVersion: "v3",

    async transformParams({ params }) {
      const { user } = turnOf(params.prompt);
      if (user === "" || !isOn(params, "recall", options.recall)) return params;
      try {
        const history = Math.min(params.prompt.length, MAX_HISTORY);
        const limits = { timeoutMs: options.timeoutMs ?? TIMEOUT_MS };
        const query = user.slice(0, MAX_QUERY_CHARS).replace(/[\uD800-\uDBFF]$/, ""); // no half of a pair
        const context = await memory.context(query, { history_messages: history, ...options.context }, limits);
        const added = textOf(context);
        if (added === "") return params;
        const told = { ...params, prompt: insert(params.prompt, added) };
        shown.set(told, context);
        return told;
      } catch (error) {
        onError(error);
        return params;
      }
    },

    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      if (!asksTools(result.finishReason)) await keep(params, joined(result.content));
      return citing(result, params);
    },

    async wrapStream({ doStream, params }) {
      const result = await doStream();
      let said = "";
      let isKept = false;
      const end = async (): Promise<void> => {
        if (isKept) return;
        isKept = true;
        await keep(params, said);
      };
      const reader = result.stream.getReader();
      const stream = new ReadableStream({
        async pull(controller) {
          try {
            const { done, value } = await reader.read();
            if (done) {
              await end();
              controller.close();
              return;
            }
            const part: Part = value;
            if (part.type === "text-delta") said += part.delta ?? "";
            if (part.type === "finish" && asksTools(part.finishReason)) isKept = true;
            controller.enqueue(part.type === "finish" ? citing(part, params) : value);
          } catch (error) {
            await end();
            controller.error(error);
          }
        },
        async cancel(reason) {
          await Promise.all([reader.cancel(reason), end()]); // what was said until then
        },
      });
      return { ...result, stream };
    },
  };
}

/** The user's last message, and what the model said since, between calls of tools. */
function turnOf(prompt: readonly unknown[]): { user: string; earlier: string[] } {
  const messages = prompt as readonly Message[];
  const at = messages.map(({ role }) => role).lastIndexOf("user");
  const user = at < 0 ? "" : joined(messages[at]?.content ?? "").trim();
  const since = messages.slice(at + 1).filter(({ role }) => role === "assistant");
  return { user, earlier: since.map(({ content }) => joined(content)) };
}

function joined(content: string | readonly Part[]): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join("\n");
}

/** What memory adds to the system prompt; empty if it found nothing. */
function textOf(context: ReadyContext): string {
  if (!SHOWN_BLOCKS.some((name) => name in context.blocks)) return "";
  return context.messages.flatMap(({ role, content }) => (role === "system" ? [content] : [])).join("\n\n");
}

/** The prompt with a system message after the caller's own. */
function insert<T>(prompt: readonly T[], text: string): T[] {
  const at = prompt.findIndex((message) => (message as Message).role !== "system");
  const place = at < 0 ? prompt.length : at;
  return [...prompt.slice(0, place), { role: "system", content: text } as T, ...prompt.slice(place)];
}

/** True if the model calls tools, so that the turn goes on. The AI SDK 6 and 7 give an object, older ones a word. */
function asksTools(reason: unknown): boolean {
  const unified = typeof reason === "object" && reason !== null && "unified" in reason ? reason.unified : reason;
  return unified === "tool-calls";
}

function isOn(params: Call, name: string, usual: boolean | undefined): boolean {
  return (params.providerOptions?.[NAME]?.[name] ?? usual ?? true) !== false;
}
