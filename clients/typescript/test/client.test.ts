import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import {
  ForbiddenError,
  InvalidInputError,
  Mnemic,
  MnemicError,
  NotFoundError,
  RateLimitedError,
  TimedOutError,
  UnauthorisedError,
  UnavailableError,
  UnsupportedError,
  BadReplyError,
} from "mnemic";
import type { components, operations } from "../build/openapi.js";
import { serve, type Served } from "./serving.js";

describe("a real server", () => {
  let served: Served;
  let mnemic: Mnemic;

  before(async () => {
    served = await serve();
    mnemic = new Mnemic({ url: served.url });
  });
  after(() => served.close());

  it("remembers, recalls and makes contexts", async () => {
    const ana = mnemic.forUser("ana");
    const kept = await ana.remember("Ana prefers dark mode", { kind: "preference" });
    assert.equal(kept.kind, "preference");
    await ana.remember("Ana lives in Lisbon", { observed_at: "2026-05-01", importance: "high" });

    const hits = await ana.recall("What should the editor look like?");
    assert.equal(hits[0]?.text, "Ana prefers dark mode");
    assert.equal(hits[0]?.id, kept.id);
    assert.equal(hits.searched, 2);
    assert.deepEqual(hits.degraded, []);

    const context = await ana.context("Which theme should my editor have?", { budget_tokens: 500 });
    assert.match(context.text, /---BEGIN USER FACTS---\n- \[1\] Ana prefers dark mode\n---END USER FACTS---/);
    assert.equal(context.citations[0]?.item_id, kept.id);
    assert.equal((await mnemic.forUser("ben").recall("editor")).length, 0);
  });

  it("captures turns, and completes one", async () => {
    const talk = mnemic.forUser("cleo").forSession("s1");
    const turn = await talk.capture({ user: "I sail on Sundays", assistant: "Noted." });
    assert.deepEqual([turn.session, turn.number, turn.messages.length], ["s1", 1, 2]);
    const open = await talk.capture({ messages: [{ role: "user", content: "Where to?" }] });
    await talk.complete(open.id, "To Cascais.");
    const told = (await talk.window()).map(({ role, text }) => `${role}: ${text}`);
    assert.deepEqual(told.slice(-2), ["user: Where to?", "assistant: To Cascais."]);
  });

  it("follows pages, or returns one", async () => {
    const dora = mnemic.forUser("dora");
    const texts = Array.from({ length: 7 }, (_, number) => `Boat ${number} is painted in colour ${number * 13}`);
    const kept = await dora.rememberMany(texts);
    const found: string[] = [];
    for await (const memory of dora.list({ limit: 3 })) found.push(memory.text);
    assert.deepEqual(found.sort(), texts);
    const page = await dora.list({ limit: 3, order: "oldest" });
    assert.equal(page.memories.length, 3);
    assert.ok(page.next);
    const filtered = await dora.list({ filter: { text: { contains: "Boat 5" } }, kinds: ["fact"], levels: ["user"] });
    assert.deepEqual(filtered.memories.map(({ id }) => id), [kept[5]?.id]);
    const said: string[] = [];
    await dora.captureMany([[{ role: "user", content: "One" }], [{ role: "user", content: "Two" }]]);
    for await (const message of dora.messages({ limit: 1 })) said.push(message.text);
    assert.deepEqual(said, ["Two", "One"]);
  });

  it("changes, explains, undoes and deletes", async () => {
    const eva = mnemic.forUser("eva");
    const { id } = await eva.remember("Eva plays chess");
    assert.equal((await eva.update(id, { text: "Eva plays go", reason: "she said so" })).text, "Eva plays go");
    assert.equal((await eva.undo(id)).text, "Eva plays chess");
    assert.equal((await eva.history(id)).at(-1)?.action, "restored");
    await eva.profile.set({ city: "Lisbon" });
    assert.deepEqual(await eva.profile.get(), { city: "Lisbon" });
    assert.equal((await eva.whyNot(id, "chess")).rank, 1);
    await eva.delete(id);
    await assert.rejects(eva.get(id), NotFoundError);
  });

  it("ingests files, reports progress, and streams an export", async () => {
    const finn = mnemic.forUser("finn");
    const seen: number[] = [];
    const onProgress = ({ done }: { done: number }): number => seen.push(done);
    const report = await finn.ingest("# Boats\n\nThe mast is 12 metres high.", { name: "boats.md" }, { onProgress });
    assert.equal(report.files.length, 1);
    assert.ok(seen.length > 0);
    assert.equal((await finn.ingest(new Blob(["Plain text"]), { name: "plain.txt" })).files.length, 1);
    await assert.rejects(finn.ingest("Of no name"), InvalidInputError);
    const sources = [];
    for await (const document of finn.documents.list()) sources.push(document.source);
    assert.deepEqual(sources, ["boats.md", "plain.txt"]);
    const document = (await finn.documents.list()).documents[0];
    assert.match(await finn.documents.text(document?.id ?? ""), /12 metres/);
    const [hit] = await finn.recall("How high is the mast?");
    assert.equal(hit?.item.kind, "document");

    await finn.import('{"role": "user", "content": "I sail on Sundays", "session": "s1"}\n', { format: "jsonl" });
    const lines: unknown[] = [];
    for await (const line of finn.export()) lines.push(JSON.parse(line));
    assert.ok(lines.length > 1);
    const zip = await mnemic.backup();
    const piece = await zip.getReader().read();
    assert.equal(new TextDecoder().decode(piece.value?.slice(0, 2)), "PK");
  });

  it("raises the problem of a response as a typed error", async () => {
    const ana = mnemic.forUser("ana");
    await assert.rejects(ana.get("no-such-id"), (error) => {
      assert.ok(error instanceof NotFoundError && error instanceof MnemicError);
      assert.deepEqual([error.status, error.kind, error.name], [404, "not_found", "NotFoundError"]);
      assert.ok(error.hint);
      return true;
    });
    await assert.rejects(ana.recall("x", { limit: -1 }), (error) => {
      assert.ok(error instanceof InvalidInputError);
      assert.equal(error.errors[0]?.["where"], "body.limit");
      return true;
    });
    const events = ana.chatStream("Hello");
    await assert.rejects(events.next(), MnemicError);
  });

  it("runs a write once for one idempotency key", async () => {
    const gus = mnemic.forUser("gus");
    const request = { idempotencyKey: `key-${Date.now()}` };
    const [one, two] = [await gus.capture({ user: "Once" }, request), await gus.capture({ user: "Once" }, request)];
    assert.equal(one.id, two.id);
    await assert.rejects(gus.capture({ user: "Twice" }, request), InvalidInputError);
  });

  it("needs of other generators' requests only what it needs", async () => {
    const memory: components["schemas"]["RememberRequest"] = { text: "Ana prefers dark mode" };
    const turn: components["schemas"]["CaptureRequest"] = {};
    const scope: NonNullable<operations["documents_list"]["parameters"]["query"]> = { user: "hana" };
    const headers = { "Content-Type": "application/json" };
    const send = (path: string, body: object): Promise<Response> =>
      fetch(`${served.url}${path}?user=${scope.user}`, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal((await send("/v1/memories", memory)).status, 201);
    assert.equal((await send("/v1/messages", turn)).status, 422); // one of several fields is needed
  });

  it("needs a key once there is one", async () => {
    const { token } = await mnemic.keys.create({ rights: ["read", "write"] });
    await assert.rejects(mnemic.forUser("ana").recall("x"), UnauthorisedError);
    const ana = new Mnemic({ url: served.url, key: token }).forUser("ana");
    assert.equal((await ana.remember("Ana has a key")).text, "Ana has a key");
    await assert.rejects(ana.keys.list(), ForbiddenError);
  });
});

describe("a bad connection", () => {
  /** A server that answers with a function while the block runs. */
  async function answering(
    answer: (request: IncomingMessage, response: ServerResponse, number: number) => void,
    block: (mnemic: Mnemic, keys: unknown[]) => Promise<void>,
  ): Promise<void> {
    const keys: unknown[] = [];
    const server = createServer((request, response) => {
      keys.push(request.headers["idempotency-key"]);
      request.resume();
      answer(request, response, keys.length);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    try {
      await block(new Mnemic({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }), keys);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  const problem = (response: ServerResponse, status: number, kind: string, headers = {}): void => {
    response.writeHead(status, { "Content-Type": "application/problem+json", ...headers });
    response.end(JSON.stringify({ type: `urn:mnemic:problem:${kind}`, title: "No", status, detail: "", hint: "wait" }));
  };

  it("is tried once more with the same key, and waits for the first request", async () => {
    await answering(
      (request, response, number) => {
        if (number === 1) request.socket.destroy();
        else if (number === 2) problem(response, 409, "under_way");
        else response.end("[]");
      },
      async (mnemic, keys) => {
        assert.deepEqual(await mnemic.forUser("ana").rememberMany(["x"]), []);
        assert.equal(keys.length, 3);
        assert.equal(new Set(keys).size, 1);
      },
    );
  });

  it("stops waiting for the first request at the time limit", async () => {
    await answering(
      (request, response, number) => (number === 1 ? request.socket.destroy() : problem(response, 409, "under_way")),
      async (mnemic) => {
        await assert.rejects(mnemic.forUser("ana").remember("x", {}, { timeoutMs: 500 }), TimedOutError);
      },
    );
  });

  it("is an error when it stays broken", async () => {
    await answering(
      (request) => request.socket.destroy(),
      async (mnemic, keys) => {
        await assert.rejects(mnemic.forUser("ana").recall("x"), UnavailableError);
        assert.equal(keys.length, 2);
      },
    );
  });

  it("ends at the time limit, and when the caller aborts", async () => {
    await answering(
      () => undefined,
      async (mnemic) => {
        const ana = mnemic.forUser("ana");
        await assert.rejects(ana.recall("x", {}, { timeoutMs: 50 }), TimedOutError);
        const reason = new Error("no longer needed");
        const controller = new AbortController();
        const asked = ana.recall("x", {}, { signal: controller.signal });
        controller.abort(reason);
        await assert.rejects(asked, reason);
        await assert.rejects(ana.recall("x", {}, { signal: AbortSignal.abort(reason) }), reason);
        await assert.rejects(ana.chatStream("x", {}, { timeoutMs: 50 }).next(), TimedOutError);
      },
    );
  });

  it("tells problems apart by their type, else by their status", async () => {
    await answering(
      (request, response) => {
        const path = request.url ?? "";
        if (path.includes("recall")) problem(response, 429, "", { "Retry-After": "7" });
        else if (path.includes("memories")) problem(response, 404, "no_route");
        else if (path.includes("chat")) response.end('{"event": "said", "text": "Hel');
        else response.end("<html>");
      },
      async (mnemic) => {
        const isSeven = (error: unknown): boolean => error instanceof RateLimitedError && error.retryAfterS === 7;
        await assert.rejects(mnemic.forUser("ana").recall("x"), isSeven);
        await assert.rejects(mnemic.forUser("ana").remember("x"), UnsupportedError);
        await assert.rejects(mnemic.forUser("ana").count(), BadReplyError);
        await assert.rejects(mnemic.forUser("ana").chatStream("x").next(), BadReplyError);
      },
    );
  });

  it("streams events as they arrive, and ends the request when the reader leaves", async () => {
    let closed: () => void = () => undefined;
    const isClosed = new Promise<void>((done) => (closed = done));
    await answering(
      (_request, response) => {
        response.on("close", closed);
        response.write('{"event": "said", "text": "Olá \u2028 Ana"}\n{"event": "sa');
      },
      async (mnemic) => {
        for await (const event of mnemic.forUser("ana").chatStream("x")) {
          assert.deepEqual(event, { event: "said", text: "Olá \u2028 Ana" });
          break;
        }
        await isClosed;
      },
    );
  });
});
