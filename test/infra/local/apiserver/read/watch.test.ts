// Watches where a clock, a limit or the event loop matters. What they have in common with a real one is in
// contract/watch.ts.
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createApiserver } from "../../../../../infra/local/apiserver/apiserver.ts";
import { openStore, type Store } from "../../../../../infra/local/apiserver/store.ts";
import { send, startMs, type TestServer, toRequest } from "../test-server.ts";

const accounts = "/api/v1/namespaces/default/serviceaccounts";

/** Timers that go off when the test says so. */
function manualTimers() {
  let nowMs = 0;
  const due = new Map<() => void, number>();
  return {
    after: (delayMs: number, run: () => void) => {
      due.set(run, nowMs + delayMs);
      return () => void due.delete(run);
    },
    advance: (ms: number) => {
      nowMs += ms;
      for (const [run, atMs] of [...due].sort(([, left], [, right]) => left - right)) {
        if (atMs <= nowMs && due.delete(run)) run();
      }
    },
    count: () => due.size,
  };
}

let store: Store;
let timers: ReturnType<typeof manualTimers>;
let server: TestServer;

function start(maxHistoryLength?: number): void {
  store = openStore(":memory:", maxHistoryLength);
  timers = manualTimers();
  const { fetch } = createApiserver({
    store,
    adminToken: "t",
    now: () => new Date(startMs),
    uuid: () => crypto.randomUUID(),
    random: () => 0,
    after: timers.after,
  });
  server = { url: "https://127.0.0.1:1", token: "t", fetch };
}

beforeEach(() => start());
afterEach(() => store.close());

async function watch(query: string) {
  const response = await server.fetch(toRequest(server, { path: `${accounts}?watch=true&${query}` }));
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  return {
    /** The events of the next chunk, each "TYPE name", or "TYPE revision" where there is no name; "over" at the end. */
    next: async (): Promise<string> => {
      const { value, done } = await reader.read();
      if (done) return "over";
      const { type, object } = JSON.parse(decoder.decode(value));
      return `${type} ${object.metadata?.name ?? object.metadata?.resourceVersion ?? object.code}`;
    },
    cancel: () => reader.cancel(),
  };
}

async function create(name: string, filler = ""): Promise<string> {
  const { body, code, text } = await send(server, {
    method: "POST",
    path: accounts,
    body: { metadata: { name }, imagePullSecrets: [{ name: filler }] },
  });
  expect(code, text).toBe(201);
  return body.metadata.resourceVersion ?? "";
}

describe("time", () => {
  test("without timeoutSeconds it ends after half an hour at least", async () => {
    const from = await create("a");
    const watching = await watch(`resourceVersion=${from}`);
    timers.advance(1_799_999);
    await create("b");
    expect(await watching.next()).toBe("ADDED b");
    timers.advance(1);
    expect(await watching.next()).toBe("over");
  });

  test("who goes away leaves no timer behind", async () => {
    const watching = await watch("resourceVersion=0");
    await watching.cancel();
    expect(timers.count()).toBe(0);
  });
});

test("a change is delivered within one turn of the event loop", async () => {
  const from = await create("a");
  const watchers = await Promise.all(Array.from({ length: 50 }, () => watch(`resourceVersion=${from}`)));
  const delivered: string[] = [];
  for (const watching of watchers) void watching.next().then((event) => delivered.push(event));
  const change = store.get({ resource: "serviceaccounts", namespace: "default", name: "a" })!;
  store.put(
    { resource: "serviceaccounts", namespace: "default", name: "b" },
    { ...change, metadata: { ...change.metadata, name: "b" } },
  );
  await nextTurn();
  expect(delivered).toHaveLength(watchers.length);
});

const megabyte = "x".repeat(1_000_000);

test("a watcher that never reads is dropped, and loses nothing that it cannot list again", async () => {
  const from = await create("a");
  const sleeper = await watch(`resourceVersion=${from}`);
  const reader = await watch(`resourceVersion=${from}`);
  for (let index = 0; index < 10; index++) {
    await create(`big-${index}`, megabyte);
    expect(await reader.next()).toBe(`ADDED big-${index}`);
  }
  await expect(sleeper.next()).rejects.toThrow("does not read");
  const { text } = await send(server, { path: accounts });
  expect(JSON.parse(text).items).toHaveLength(11);
  await reader.cancel();
});

test("initial events do not count as unread", async () => {
  for (let index = 0; index < 10; index++) await create(`big-${index}`, megabyte);
  const watching = await watch("");
  await create("later");
  for (let index = 0; index < 10; index++) expect(await watching.next()).toBe(`ADDED big-${index}`);
  expect(await watching.next()).toBe("ADDED later");
  await watching.cancel();
});

describe("what is no longer known", () => {
  const historyLength = 5_000;

  async function forget(): Promise<void> {
    for (let index = 0; index < 20; index++) await create(`filler-${index}`, "x".repeat(1_000));
  }

  test("a watch from too long ago: 410 as its only event", async () => {
    start(historyLength);
    const from = await create("a");
    await forget();
    const watching = await watch(`resourceVersion=${from}`);
    expect(await watching.next()).toBe("ERROR 410");
    expect(await watching.next()).toBe("over");
  });
});
