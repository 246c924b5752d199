// Chats through Mnemic's proxy with OpenAI's client for Node and with Vercel's AI SDK: each tells a fact, waits until it
// is stored, and asks for it. Prints what each was answered, and which errors it raised, as JSON.
//
//     node node_clients.mjs URL FACT QUESTION
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";
import OpenAI from "openai";

const [url, fact, question] = process.argv.slice(2);
const baseURL = `${url}/v1`;
const POLL_MS = 100;
const MOST_POLLS = 300;

const openai = (user, headers = {}) =>
  new OpenAI({ baseURL, apiKey: "sk-none", maxRetries: 0, defaultHeaders: { "Mnemic-User": user, ...headers } });
const vercel = (user) => createOpenAI({ baseURL, apiKey: "sk-none", headers: { "Mnemic-User": user } });
const chat = (content) => ({ model: "m", messages: [{ role: "user", content }] });

async function joined(stream, textOf) {
  let text = "";
  for await (const piece of stream) text += textOf(piece) ?? "";
  return text;
}

const CLIENTS = {
  "openai chat": async (user, text) => (await openai(user).chat.completions.create(chat(text))).choices[0].message.content,
  "openai chat stream": async (user, text) => {
    const stream = await openai(user).chat.completions.create({ ...chat(text), stream: true });
    return joined(stream, (piece) => piece.choices[0]?.delta.content);
  },
  "openai responses": async (user, text) => (await openai(user).responses.create({ model: "m", input: text })).output_text,
  "openai responses stream": async (user, text) => {
    const stream = await openai(user).responses.create({ model: "m", input: text, stream: true });
    return joined(stream, (event) => (event.type === "response.output_text.delta" ? event.delta : ""));
  },
  "ai-sdk responses": async (user, text) => (await generateText({ model: vercel(user)("m"), prompt: text })).text,
  "ai-sdk responses stream": async (user, text) => joined(streamText({ model: vercel(user)("m"), prompt: text }).textStream, (each) => each),
  "ai-sdk chat": async (user, text) => (await generateText({ model: vercel(user).chat("m"), prompt: text })).text,
  "ai-sdk chat stream": async (user, text) => joined(streamText({ model: vercel(user).chat("m"), prompt: text }).textStream, (each) => each),
};

async function untilStored(user) {
  for (let poll = 0; poll < MOST_POLLS; poll += 1) {
    const answer = await fetch(`${baseURL}/messages?user=${user}`);
    if ((await answer.json()).messages.some(({ text }) => text === fact)) return;
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

async function errorOf(call) {
  try {
    await call();
    return "";
  } catch (error) {
    return `${error.constructor.name} ${error.status} ${error.error?.message ? "with a message" : "without a message"}`;
  }
}

const answers = {};
for (const [name, ask] of Object.entries(CLIENTS)) {
  const user = name.replaceAll(" ", "-");
  const told = await ask(user, fact);
  await untilStored(user);
  answers[name] = [told, await ask(user, question)];
}
const errors = [
  await errorOf(() => openai("ana").files.list()),
  await errorOf(() => openai("ana", { "Mnemic-Capture": "perhaps" }).chat.completions.create(chat("x"))),
];
console.log(JSON.stringify({ answers, errors }));
