/** Runs `mnemic serve` on a free port of this machine while tests run, and ends it by its process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const COMMAND = process.env["MNEMIC_COMMAND"] ?? join(process.cwd(), "../../.venv/bin/mnemic");
const LISTENS = /(?:listens|is listening) on (http:\/\/127\.0\.0\.1:\d+)/;

export interface Served {
  url: string;
  close(): Promise<void>;
}

/** A server with a new store. `config` is the content of its configuration file. */
export async function serve(config = ""): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), "mnemic-"));
  const settings = join(folder, "serve.toml");
  await writeFile(settings, config);
  const store = join(folder, "memory.db");
  const server = spawn(COMMAND, ["serve", "--port", "0", "--store", store, "--config", settings], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(server, "exit");
  let log = "";
  const url = await new Promise<string>((done, failed) => {
    server.stderr.on("data", (piece: Buffer) => {
      log += piece.toString();
      const found = LISTENS.exec(log)?.[1];
      if (found !== undefined) done(found);
    });
    server.on("error", failed);
    server.on("exit", () => failed(new Error(`the server does not listen: ${log.slice(-500)}`)));
  });
  return {
    url,
    async close() {
      server.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
