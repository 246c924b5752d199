// Copies the examples of the documentation to where the compiler checks them.
import { readFile, writeFile } from "node:fs/promises";

const page = await readFile("../../docs/how-to/use-from-typescript.md", "utf8");
const examples = [...page.matchAll(/```ts\n([^]*?)```/g)].map(([, example]) => example);
await writeFile("test/examples.ts", examples.join("\n"));
