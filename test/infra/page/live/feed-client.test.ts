// Tests the page's client of the feed, with a connection and a clock that the test controls.
import { describe, expect, it } from "vitest";
import { failure, type Result, success } from "../../../../shared/result.ts";
import { FEED_CLOSED, FEED_PROTOCOL } from "../../../../shared/protocol/feed-names.ts";
import type { FeedMessage } from "../../../../shared/protocol/feed.ts";
import type { SendRequest, RequestFault } from "../../../../infra/page/base/api.ts";
import {
  DEAD_AFTER_MS,
  FEED_WAITS,
  FeedClient,
  type PageSocketEvent,
  PING_EVERY_MS,
  STEADY_AFTER_MS,
} from "../../../../infra/page/live/feed-client.ts";

interface Line {
  path: string;
  protocols: string[];
  sent: string[];
  isClosed: boolean;
  says: (type: "open" | "message" | "close", event?: PageSocketEvent) => void;
}

const HELLO = JSON.stringify({ type: "hello", resumed: true, why: "" });
const news = (cursor: string) => JSON.stringify({ type: "changes", cursor });
const REFUSED: RequestFault = { reason: "forbidden", message: "nobody", status: 403 };

/** Returns a page that is visible and has started to follow the feed. */
async function startedPage(ticket: Result<object, RequestFault> = success({ ticket: "t" })) {
  const page = { nowMs: 1_000_000, isSeen: true, cursor: null as string | null, ticket };
  const lines: Line[] = [];
  const taken: FeedMessage[] = [];
  const gone: (RequestFault | null)[] = [];
  let timers: { atMs: number; act: () => void }[] = [];
  const client = new FeedClient({
    ask: (() => Promise.resolve(page.ticket)) as SendRequest,
    open(path, protocols) {
      const listeners: [type: string, listen: (event: PageSocketEvent) => void][] = [];
      const line: Line = {
        path,
        protocols,
        sent: [],
        isClosed: false,
        says: (type, event = {}) =>
          listeners.filter(([each]) => each === type).forEach(([, listen]) => listen(event)),
      };
      lines.push(line);
      return {
        get readyState() {
          return line.isClosed ? 3 : 1;
        },
        send: (text) => void line.sent.push(text as string),
        close: () => void (line.isClosed = true),
        addEventListener: (type, listen) => void listeners.push([type, listen]),
      };
    },
    cursor: () => page.cursor,
    take(message) {
      if ("cursor" in message && message.cursor === "wrong") throw new Error("none of this protocol");
      taken.push(message);
    },
    onProof: () => {},
    onGone: (fault) => void gone.push(fault),
    forget: () => void (page.cursor = null),
    isSeen: () => page.isSeen,
    now: () => page.nowMs,
    random: () => 1,
    later(act, ms) {
      const timer = { atMs: page.nowMs + ms, act };
      timers.push(timer);
      return () => void (timers = timers.filter((each) => each !== timer));
    },
  });
  const settle = async () => {
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  const pass = async (ms: number) => {
    const endMs = page.nowMs + ms;
    for (;;) {
      const [next] = timers.filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs);
      if (!next) break;
      timers = timers.filter((each) => each !== next);
      page.nowMs = next.atMs;
      next.act();
      await settle();
    }
    page.nowMs = endMs;
  };
  client.start();
  await settle();
  return { page, client, lines, taken, gone, pass, settle, last: () => lines.at(-1)! };
}

it("the ticket goes as a sub-protocol; what was taken is acknowledged, a hello is not", async () => {
  const { last, taken } = await startedPage();
  const line = last();
  expect(line).toMatchObject({ path: "/v1/feed", protocols: [FEED_PROTOCOL, "ticket.t"] });
  line.says("message", { data: HELLO });
  line.says("message", { data: news("c1") });
  expect(taken).toHaveLength(2);
  expect(line.sent).toEqual(['{"ack":"c1"}']);
});

it("after the line is gone it goes on from the cursor", async () => {
  const { page, last, lines, gone, pass } = await startedPage();
  page.cursor = "c/1";
  last().says("close", { code: 1006 });
  expect(gone).toEqual([null]);
  await pass(FEED_WAITS.firstMs);
  expect(lines.map(({ path }) => path)).toEqual(["/v1/feed", "/v1/feed?cursor=c%2F1"]);
});

it("a message of no protocol → it begins anew, after a wait; late words of the former line are passed over", async () => {
  const { page, last, lines, taken, gone, pass } = await startedPage();
  page.cursor = "c1";
  const first = last();
  first.says("message", { data: news("wrong") });
  expect(gone).toMatchObject([{ reason: "unexpected" }]);
  expect(first.isClosed).toBe(true);
  first.says("message", { data: news("late") });
  first.says("close", { code: 1000 });
  await pass(FEED_WAITS.firstMs);
  expect(taken).toEqual([]);
  expect(lines.map(({ path }) => path)).toEqual(["/v1/feed", "/v1/feed"]);
});

it("a session that is over is said", async () => {
  const { last, gone } = await startedPage();
  last().says("close", { code: FEED_CLOSED.notAllowed });
  expect(gone).toMatchObject([{ reason: "forbidden" }]);
});

describe("waits", () => {
  it("grow while no ticket is to be had, to half a minute", async () => {
    const { page, gone, pass } = await startedPage(failure(REFUSED));
    const times = [page.nowMs];
    for (let attempts = 1; attempts < 10; attempts += 1) {
      const before = gone.length;
      while (gone.length === before) await pass(100);
      times.push(page.nowMs);
    }
    const waits = times.slice(1).map((ms, index) => ms - times[index]!);
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });

  it("are short again after a line that held, and not after one that was there for a moment", async () => {
    const { last, lines, pass } = await startedPage();
    last().says("close");
    await pass(FEED_WAITS.firstMs);
    last().says("message", { data: HELLO });
    last().says("close");
    await pass(FEED_WAITS.firstMs);
    expect(lines).toHaveLength(2);
    await pass(FEED_WAITS.firstMs);
    expect(lines).toHaveLength(3);
    for (let ms = 0; ms < STEADY_AFTER_MS; ms += PING_EVERY_MS) {
      await pass(PING_EVERY_MS);
      last().says("message", { data: "pong" });
    }
    last().says("close");
    await pass(FEED_WAITS.firstMs);
    expect(lines).toHaveLength(4);
  });
});

describe("a line that says nothing", () => {
  it("is asked, and given up where it does not answer", async () => {
    const { last, lines, gone, pass } = await startedPage();
    await pass(DEAD_AFTER_MS);
    expect(last().sent).toEqual(["ping", "ping", "ping", "ping"]);
    expect(gone).toEqual([]);
    await pass(PING_EVERY_MS);
    expect(gone).toEqual([null]);
    await pass(FEED_WAITS.firstMs);
    expect(lines).toHaveLength(2);
  });

  it("is not asked while nobody looks; whoever comes back does not lose it for that", async () => {
    const { page, client, last, lines, gone, pass } = await startedPage();
    page.isSeen = false;
    await pass(3_600_000);
    expect(last().sent).toEqual([]);
    page.isSeen = true;
    client.wake();
    expect(last().sent).toEqual(["ping"]);
    last().says("message", { data: "pong" });
    await pass(PING_EVERY_MS);
    expect([lines.length, gone.length]).toEqual([1, 0]);
  });
});

it("stopped: nothing is opened any more, also not by a ticket that was under way", async () => {
  const { client, last, lines, pass, settle } = await startedPage();
  last().says("close");
  client.stop();
  await pass(FEED_WAITS.longestMs);
  client.wake();
  await settle();
  client.start();
  client.stop();
  await settle();
  expect(lines).toHaveLength(1);
});
