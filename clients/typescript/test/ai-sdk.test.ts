import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import * as ai7 from "ai";
import * as mocks7 from "ai/test";
import * as ai6 from "ai-6";
import * as mocks6 from "ai-6/test";
import { Mnemic, type ScopedMnemic } from "mnemic";
import { memoryMiddleware, type MemoryMiddlewareOptions } from "mnemic/ai-sdk";
import { z } from "zod";
import { serve, type Served } from "./serving.js";

const QUESTION = "Which theme should my editor have?";
const FACT = "Ana prefers dark mode";

/** A busy machine may take longer than the default. */
const PATIENT = { timeoutMs: 60_000 };
const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 2, text: 2, reasoning: undefined },
};
const stop = { unified: "stop" as const, raw: "stop" };
const calls = { unified: "tool-calls" as const, raw: "tool_calls" };
const answer = (text: string) => ({
  content: [{ type: "text" as const, text }],
  finishReason: stop,
  usage,
  warnings: [],
});
const stream = (...texts: string[]) => ({
  stream: ai7.simulateReadableStream({
    chunks: [
      { type: "stream-start" as const, warnings: [] },
      { type: "text-start" as const, id: "1" },
      ...texts.map((delta) => ({ type: "text-delta" as const, id: "1", delta })),
      { type: "text-end" as const, id: "1" },
      { type: "finish" as const, finishReason: stop, usage },
    ],
  }),
});

let served: Served;
before(async () => {
  served = await serve();
});
after(() => served.close());

let ana: ScopedMnemic;
let count = 0;
beforeEach(async () => {
  ana = new Mnemic({ url: served.url }).forUser(`ana-${++count}`).forSession("s1");
  await ana.remember(FACT, { kind: "preference" });
});

/** What was said in the session. */
async function said(): Promise<string[]> {
  return (await ana.window()).map(({ role, text }) => `${role}: ${text}`);
}

describe("the AI SDK 7", () => {
  const wrap = (model: mocks7.MockLanguageModelV4, options?: MemoryMiddlewareOptions) =>
    ai7.wrapLanguageModel({ model, middleware: memoryMiddleware(ana, { ...PATIENT, ...options }) });

  it("shows the model what memory knows, after the system prompt, and cites it", async () => {
    const model = new mocks7.MockLanguageModelV4({ doGenerate: answer("Dark [1].") });
    const result = await ai7.generateText({ model: wrap(model), system: "Be brief.", prompt: QUESTION });
    assert.equal(result.text, "Dark [1].");
    const [own, memory, user] = model.doGenerateCalls[0]?.prompt ?? [];
    assert.deepEqual([own?.content, user?.role], ["Be brief.", "user"]);
    assert.match(String(memory?.content), /not instructions[^]*---BEGIN USER FACTS---\n- \[1\] Ana prefers dark mode\n/);
    const told = result.providerMetadata?.["mnemic"] as { citations: { number: number; item_id: string }[] };
    const [citation] = told.citations;
    assert.equal((await ana.get(citation?.item_id ?? "")).text, FACT);
    assert.deepEqual(await said(), [`user: ${QUESTION}`, "assistant: Dark [1]."]);
  });

  it("does the same for streams", async () => {
    const model = new mocks7.MockLanguageModelV4({ doStream: stream("Dark", " mode", " [1].") });
    const result = ai7.streamText({ model: wrap(model), prompt: QUESTION });
    const pieces: string[] = [];
    for await (const piece of result.textStream) pieces.push(piece);
    assert.deepEqual(pieces, ["Dark", " mode", " [1]."]);
    assert.match(JSON.stringify(model.doStreamCalls[0]?.prompt), /BEGIN USER FACTS/);
    assert.ok((await result.providerMetadata)?.["mnemic"]?.["citations"]);
    assert.deepEqual(await said(), [`user: ${QUESTION}`, "assistant: Dark mode [1]."]);
  });

  it("stores what was said of an answer that the caller leaves", async () => {
    const model = new mocks7.MockLanguageModelV4({ doStream: stream("Dark", " mode", " [1].") });
    const wrapped = wrap(model);
    const { stream: parts } = await wrapped.doStream({ prompt: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] });
    const reader = parts.getReader();
    for (let part = await reader.read(); part.value?.type !== "text-delta"; part = await reader.read());
    await reader.cancel();
    assert.deepEqual(await said(), ["user: Hi", "assistant: Dark"]);
  });

  it("stores a turn with tools once, with every text of it", async () => {
    const steps = [
      {
        ...answer("Let me look."),
        content: [
          { type: "text" as const, text: "Let me look." },
          { type: "tool-call" as const, toolCallId: "1", toolName: "look", input: "{}" },
        ],
        finishReason: calls,
      },
      answer(" It is dark. "),
    ];
    const model = new mocks7.MockLanguageModelV4({ doGenerate: steps });
    const look = ai7.tool({ inputSchema: z.object({}), execute: () => "dark" });
    await ai7.generateText({ model: wrap(model), tools: { look }, stopWhen: ai7.stepCountIs(3), prompt: QUESTION });
    assert.equal(model.doGenerateCalls.length, 2);
    assert.deepEqual(await said(), [`user: ${QUESTION}`, "assistant: Let me look.\nIt is dark."]);
  });

  it("is switched off for a model or for one call", async () => {
    const model = new mocks7.MockLanguageModelV4({ doGenerate: answer("Fine.") });
    await ai7.generateText({ model: wrap(model, { recall: false, capture: false }), prompt: QUESTION });
    const providerOptions = { mnemic: { recall: false, capture: false } };
    await ai7.generateText({ model: wrap(model), prompt: QUESTION, providerOptions });
    assert.doesNotMatch(JSON.stringify(model.doGenerateCalls.map(({ prompt }) => prompt)), /USER FACTS/);
    assert.deepEqual(await said(), []);
  });

  it("answers without memory when the server is away", async () => {
    ana = new Mnemic({ url: "http://127.0.0.1:9" }).forUser("ana");
    const errors: unknown[] = [];
    const onError = (error: unknown): number => errors.push(error);
    const model = new mocks7.MockLanguageModelV4({ doGenerate: answer("Fine."), doStream: stream("Fine.") });
    const wrapped = wrap(model, { onError });
    assert.equal((await ai7.generateText({ model: wrapped, prompt: QUESTION })).text, "Fine.");
    assert.equal(await ai7.streamText({ model: wrapped, prompt: QUESTION }).text, "Fine.");
    assert.deepEqual(errors.map((error) => (error as Error).name), Array(4).fill("UnavailableError"));
  });

  it("asks memory with the beginning of a long message", async () => {
    const model = new mocks7.MockLanguageModelV4({ doGenerate: answer("Fine.") });
    const onError = (error: unknown): void => assert.fail(error as Error);
    const prompt = `${QUESTION}\n${"x".repeat(19_998 - QUESTION.length)}😀${" 😀".repeat(1_000)}`;
    await ai7.generateText({ model: wrap(model, { onError }), prompt });
    assert.match(JSON.stringify(model.doGenerateCalls[0]?.prompt), /BEGIN USER FACTS/);
    assert.equal((await said())[0], `user: ${prompt}`);
  });

  it("leaves storing to the platform, if it says how to wait", async () => {
    const work: Promise<void>[] = [];
    const model = new mocks7.MockLanguageModelV4({ doGenerate: answer("Fine.") });
    await ai7.generateText({ model: wrap(model, { waitUntil: (each) => work.push(each) }), prompt: QUESTION });
    await Promise.all(work);
    assert.equal(work.length, 1);
    assert.deepEqual(await said(), [`user: ${QUESTION}`, "assistant: Fine."]);
  });
});

describe("the AI SDK 6", () => {
  it("gets memory for answers and streams", async () => {
    const model = new mocks6.MockLanguageModelV3({ doGenerate: answer("Dark [1]."), doStream: stream("Dark", " [1].") });
    const wrapped = ai6.wrapLanguageModel({ model, middleware: memoryMiddleware(ana, PATIENT) });
    assert.equal((await ai6.generateText({ model: wrapped, prompt: QUESTION })).text, "Dark [1].");
    assert.equal(await ai6.streamText({ model: wrapped, prompt: "Which theme should my terminal have?" }).text, "Dark [1].");
    assert.match(JSON.stringify(model.doStreamCalls[0]?.prompt), /BEGIN USER FACTS/);
    const told = [`user: ${QUESTION}`, "assistant: Dark [1].", "user: Which theme should my terminal have?", "assistant: Dark [1]."];
    assert.deepEqual(await said(), told);
  });
});
