// Tests watches where a clock, a limit or the event loop matters. contract/watch.ts has the behaviour that a real
// server shares.
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createApiserver } from "../../../../../infra/local/apiserver/apiserver.ts";
import { openStore, type Store } from "../../../../../infra/local/apiserver/store.ts";
import { manualTimers, send, startMs, type TestServer, toRequest } from "../test-server.ts";

const accounts = "/api/v1/namespaces/default/serviceaccounts";

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

/** Stores a copy of the account `a`. Skips the API, which would have to read a megabyte five times. */
function putCopy(name: string, filler = ""): void {
  const key = { resource: "serviceaccounts", namespace: "default" };
  const copied = store.get({ ...key, name: "a" })!;
  const metadata = { ...copied.metadata, name };
  store.put({ ...key, name }, { ...copied, metadata, imagePullSecrets: [{ name: filler }] });
}

beforeEach(() => start());
afterEach(() => store.close());

async function watch(query: string) {
  const response = await server.fetch(toRequest(server, { path: `${accounts}?watch=true&${query}` }));
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  return {
    /**
     * Returns the next chunk's event: "TYPE name", or "TYPE revision" for an object without a name. Returns "over"
     * at the end.
     */
    next: async (): Promise<string> => {
      const { value, done } = await reader.read();
      if (done) return "over";
      const { type, object } = JSON.parse(decoder.decode(value));
      return `${type} ${object.metadata?.name ?? object.metadata?.resourceVersion ?? object.code}`;
    },
    cancel: () => reader.cancel(),
  };
}

async function create(name: string): Promise<string> {
  const { body, code, text } = await send(server, {
    method: "POST",
    path: accounts,
    body: { metadata: { name } },
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

describe("bookmarks", () => {
  /** Starts a watch whose revision is not the latest. */
  async function watchWithBookmarks(query: string) {
    const watching = await watch(`allowWatchBookmarks=true&resourceVersion=${await create("a")}&${query}`);
    await create("b");
    expect(await watching.next()).toBe("ADDED b");
    return watching;
  }

  test("one a minute, each with the latest revision", async () => {
    const watching = await watchWithBookmarks("");
    timers.advance(59_999);
    await create("c");
    expect(await watching.next()).toBe("ADDED c");
    timers.advance(1);
    expect(await watching.next()).toBe(`BOOKMARK ${store.revision()}`);
    const d = await create("d");
    expect(await watching.next()).toBe("ADDED d");
    timers.advance(60_000);
    expect(await watching.next()).toBe(`BOOKMARK ${d}`);
    await watching.cancel();
  });

  test.each([
    { timeoutSeconds: 2, lastBookmarkMs: undefined },
    { timeoutSeconds: 3, lastBookmarkMs: 1_000 },
    { timeoutSeconds: 60, lastBookmarkMs: 58_000 },
  ])("a watch of $timeoutSeconds s has its only one after $lastBookmarkMs ms", async (each) => {
    const { timeoutSeconds, lastBookmarkMs = 0 } = each;
    const watching = await watchWithBookmarks(`timeoutSeconds=${timeoutSeconds}`);
    timers.advance(Math.max(0, lastBookmarkMs - 1));
    await create("before");
    expect(await watching.next()).toBe("ADDED before");
    if (lastBookmarkMs > 0) {
      timers.advance(1);
      expect(await watching.next()).toBe(`BOOKMARK ${store.revision()}`);
    }
    timers.advance(timeoutSeconds * 1_000);
    expect(await watching.next()).toBe("over");
  });

  test("the last one comes two seconds before the end, however long after the one before", async () => {
    const watching = await watchWithBookmarks("timeoutSeconds=63");
    timers.advance(60_000);
    expect(await watching.next()).toMatch(/^BOOKMARK/);
    timers.advance(1_000);
    expect(await watching.next()).toMatch(/^BOOKMARK/);
    timers.advance(2_000);
    expect(await watching.next()).toBe("over");
    expect(timers.count()).toBe(0);
  });

  test("who goes away is sent none, and leaves no timer behind", async () => {
    const watching = await watchWithBookmarks("");
    await watching.cancel();
    expect(timers.count()).toBe(0);
  });
});

test("a change is delivered within one turn of the event loop", async () => {
  const from = await create("a");
  const watchers = await Promise.all(Array.from({ length: 50 }, () => watch(`resourceVersion=${from}`)));
  const delivered: string[] = [];
  for (const watching of watchers) void watching.next().then((event) => delivered.push(event));
  putCopy("b");
  await nextTurn();
  expect(delivered).toHaveLength(watchers.length);
});

const megabyte = "x".repeat(1_000_000);

test("a watcher that never reads is dropped, and loses nothing that it cannot list again", async () => {
  const from = await create("a");
  const sleeper = await watch(`resourceVersion=${from}`);
  const reader = await watch(`resourceVersion=${from}`);
  for (let index = 0; index < 10; index++) {
    putCopy(`big-${index}`, megabyte);
    expect(await reader.next()).toBe(`ADDED big-${index}`);
  }
  await expect(sleeper.next()).rejects.toThrow("does not read");
  const { text } = await send(server, { path: accounts });
  expect(JSON.parse(text).items).toHaveLength(11);
  await reader.cancel();
});

test("initial events do not count as unread", async () => {
  await create("a");
  for (let index = 0; index < 10; index++) putCopy(`big-${index}`, megabyte);
  const watching = await watch("");
  await create("later");
  expect(await watching.next()).toBe("ADDED a");
  for (let index = 0; index < 10; index++) expect(await watching.next()).toBe(`ADDED big-${index}`);
  expect(await watching.next()).toBe("ADDED later");
  await watching.cancel();
});

describe("what is no longer known", () => {
  const historyLength = 5_000;

  function forget(): void {
    for (let index = 0; index < 20; index++) putCopy(`filler-${index}`, "x".repeat(1_000));
  }

  test("a watch from too long ago: 410 as its only event", async () => {
    start(historyLength);
    const from = await create("a");
    forget();
    const watching = await watch(`resourceVersion=${from}`);
    expect(await watching.next()).toBe("ERROR 410");
    expect(await watching.next()).toBe("over");
  });

  test("a list of pages goes on as long as the changes since its revision are known, then 410", async () => {
    start(historyLength);
    for (const name of ["a", "b"]) await create(name);
    const first = JSON.parse((await send(server, { path: `${accounts}?limit=1` })).text);
    const rest = { path: `${accounts}?continue=${first.metadata.continue}` };
    await create("c");
    const { body } = await send(server, rest);
    expect(body["items"]).toMatchObject([{ metadata: { name: "b" } }]);
    forget();
    expect(await send(server, rest)).toMatchObject({ code: 410, body: { reason: "Expired" } });
  });
});
