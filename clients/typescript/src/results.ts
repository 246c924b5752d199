import type { Context, Hit, Recall } from "./verbs.js";

/** One search result, with its item's id and text at hand. */
export interface Found extends Hit {
  readonly id: string;
  readonly text: string;
}

/** Search results, best first: an array, with what else the server said of the search. */
export type Hits = Found[] & Omit<Recall, "hits">;

/** A context, with what memory adds to the prompt in one text: the blocks other than the system prompt. */
export interface ReadyContext extends Context {
  readonly text: string;
}

/** Search results as an array. */
export function toHits({ hits, ...rest }: Recall): Hits {
  return Object.assign(
    hits.map((hit) => ({ id: hit.item.id, text: hit.item.text, ...hit })),
    rest,
  );
}

/** A context with its text. */
export function toContext(context: Context): ReadyContext {
  const shown = Object.entries(context.blocks).filter(([name]) => name !== "system");
  return { ...context, text: shown.map(([, text]) => text).join("\n\n") };
}
