import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { promisify } from "node:util";
import { serve } from "./serving.js";

test("the example of the README prints what the README shows", async (running) => {
  const readme = await readFile("README.md", "utf8");
  const [, example = "", , shown = ""] = readme.split(/```(?:ts|text)?\n/);
  const served = await serve();
  running.after(() => served.close());
  const program = "build/readme.mjs";
  await writeFile(program, example.replace("http://127.0.0.1:7700", served.url));
  running.after(() => rm(program));
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  assert.equal(stdout.replace(/\d{4}-\d\d-\d\d/, "today"), shown.replace(/\d{4}-\d\d-\d\d/, "today"));
});
