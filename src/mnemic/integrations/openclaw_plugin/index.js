// Mnemic for OpenClaw: recalls before a prompt is built, and captures when an agent's turn has ended. Each hook hands
// its event to `mnemic hooks run openclaw`, whose answer is JSON or nothing. A memory that fails, or takes too long, is
// told to the log, and the turn goes on without it.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const RECALL_MS = 8000;
const CAPTURE_MS = 25000;
const UNASKED = ["cron", "heartbeat", "memory", "overflow"]; // these turns are not from a person
const SHARED = /:(group|channel|thread|room):/;

const installed = () => {
  try {
    return JSON.parse(readFileSync(new URL("./mnemic.json", import.meta.url), "utf8")).command;
  } catch {
    return undefined;
  }
};

const ask = (command, event, ms, log) =>
  new Promise((resolve) => {
    const [program, ...options] = command;
    let out = "";
    const child = spawn(program, options, { stdio: ["pipe", "pipe", "ignore"] });
    const clock = setTimeout(() => child.kill("SIGKILL"), ms);
    const end = (why) => {
      clearTimeout(clock);
      if (why) log(`mnemic: ${why}`);
      resolve(why ? "" : out);
    };
    child.on("error", (error) => end(error.code ?? "cannot be started"));
    child.on("close", (code) => end(code === 0 ? "" : `ended with ${code ?? "its time"}`));
    child.stdin.on("error", () => {});
    child.stdout.on("data", (part) => (out += part));
    child.stdin.end(JSON.stringify(event));
  });

export default {
  id: "mnemic",
  name: "Mnemic",
  description: "Recalls from Mnemic before a prompt, and captures after an answer.",
  register(api) {
    const config = api.pluginConfig ?? {};
    const command = config.command ?? installed() ?? ["mnemic", "hooks", "run", "openclaw"];
    const log = (line) => api.logger?.warn?.(line);
    const session = (ctx) => ctx?.sessionKey ?? ctx?.sessionId;
    const isLeftOut = (ctx) =>
      !session(ctx) ||
      UNASKED.includes(ctx.trigger) ||
      (!config.groups && SHARED.test(`${ctx.sessionKey ?? ""}:`));

    api.on("before_prompt_build", async (event, ctx) => {
      const prompt = event.currentUserMessage ?? event.prompt;
      if (isLeftOut(ctx) || !prompt) return undefined;
      const told = { event: "before_prompt_build", session: session(ctx), cwd: ctx.workspaceDir, prompt };
      const answer = await ask(command, told, config.timeoutMs ?? RECALL_MS, log);
      try {
        return answer.trim() ? JSON.parse(answer) : undefined;
      } catch {
        return undefined;
      }
    });

    api.on("agent_end", async (event, ctx) => {
      if (isLeftOut(ctx) || !Array.isArray(event.messages)) return;
      const told = { event: "agent_end", session: session(ctx), cwd: ctx.workspaceDir, messages: event.messages };
      await ask(command, told, config.timeoutMs ?? CAPTURE_MS, log);
    });
  },
};
