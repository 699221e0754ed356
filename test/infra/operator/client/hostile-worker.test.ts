// Tests the command line against a hostile Worker, or a server in its place. Limits apply to the size, time and number
// of answers, and to texts for the operator's terminal. `npm run hostile -- --as worker` runs all commands against such
// a Worker.
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it, test } from "vitest";
import { WebSocketServer } from "ws";
import { ask, MOST_ANSWER_BYTES } from "../../../../infra/operator/client.ts";
import { feedLine } from "../../../../infra/operator/feed-client.ts";
import { FEED_LIMITS } from "../../../../shared/protocol/limits.ts";
import { heldTimers } from "../../../node-shim/base/timers.ts";
import { fakeWorker, type Answered, play } from "../played.ts";

const ESCAPE = "\u001b]0;owned\u0007\u009b2J\u202e\u001b[31m\nforged";
const SHOWN = "\u{FFFD}]0;owned\u{FFFD}\u{FFFD}2J\u{FFFD}\u{FFFD}[31m forged";

let closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.toReversed()) close();
  closing = [];
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((ready) => void server.listen(0, "127.0.0.1", ready));
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const REQUEST = { method: "GET", path: "/v1/machines" } as const;
const asking = (url: string) => ask({ url, headers: {} }, REQUEST);
const TOO_LARGE = {
  ok: false,
  error: { reason: "failed", message: expect.stringContaining("more than 32 MiB") as string },
};
/** Returns JSON of exactly this size. */
const jsonOf = (bytes: number) => `"${"x".repeat(bytes - 2)}"`;

describe("an answer's size", () => {
  test.each<[how: string, send: (bytes: number) => RequestListener]>([
    ["as it is", (bytes) => (_, response) => response.end(jsonOf(bytes))],
    [
      "compressed",
      (bytes) => (_, response) => {
        response.setHeader("content-encoding", "gzip");
        response.end(gzipSync(jsonOf(bytes)));
      },
    ],
  ])("%s: at the limit → read; a byte more → an error", async (_, send) => {
    expect(await asking(await serve(send(MOST_ANSWER_BYTES)))).toMatchObject({ ok: true });
    expect(await asking(await serve(send(MOST_ANSWER_BYTES + 1)))).toMatchObject(TOO_LARGE);
  });

  it("a body without end → cut off at the limit", async () => {
    let written = 0;
    const url = await serve((_, response) => {
      const flood = () => {
        while (!response.destroyed && response.write("x".repeat(65_536))) written += 65_536;
      };
      response.on("drain", flood);
      flood();
    });
    expect(await asking(url)).toMatchObject(TOO_LARGE);
    expect(written).toBeLessThan(2 * MOST_ANSWER_BYTES);
  });

  it("a byte now and then → an error at the deadline", async () => {
    const pass = heldTimers();
    const asked = Promise.withResolvers<void>();
    const url = await serve((_, response) => {
      const drip = () => response.writable && response.write(" ", () => void setImmediate(drip));
      drip();
      asked.resolve();
    });
    const outcome = asking(url);
    await asked.promise;
    pass(30_000);
    expect(await outcome).toMatchObject({ ok: false, error: { reason: "unreachable" } });
  });
});

describe("a list whose pages never end → an error, after at most 1,024 requests", () => {
  const machine = { name: "edge-1", state: "ready" };
  const entry = {
    id: 1,
    at: "2026-01-02T03:04:05.000Z",
    name: "edge-1",
    who: "",
    what: "",
    target: "",
    detail: "",
  };
  const counts = { matching: {}, fleet: {} };
  test.each<[args: string[], page: object]>([
    [["nodes", "--all"], { machines: [machine], cursor: "again", counts }],
    [["audit", "--all"], { entries: [entry] }],
    [["history", "--limit", "9999999"], { entries: [{ ...entry, kind: "k", text: "t" }] }],
  ])("%j", async (args, body) => {
    const worker = await fakeWorker(() => ({ body }));
    const { code, stderr } = await play(args, { url: worker.url });
    worker.close();
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/the list does not end within 256 MiB and 10 minutes/),
    ]);
    expect(
      worker.asked.filter(({ path }) => !["/readyz", "/v1/mutes"].includes(path)).length,
    ).toBeLessThanOrEqual(1024);
  });
});

describe("texts", () => {
  const problem = { title: ESCAPE, detail: ESCAPE, pointer: ESCAPE };
  const token = { id: ESCAPE, names: ESCAPE, state: ESCAPE, createdBy: ESCAPE };
  const times = { createdAt: ESCAPE, expiresAt: ESCAPE };
  const tokens = {
    tokens: [
      { ...token, ...times, rejoin: false, uses: 1, used: 0, reserved: 0, withoutFactsOnlyTaint: false },
    ],
  };
  test.each<[what: string, args: string[], answered: Answered]>([
    ["a problem", ["token", "list"], { status: 400, body: problem }],
    ["a list", ["token", "list"], { body: tokens }],
    ["a list in YAML", ["token", "list", "-o", "yaml"], { body: tokens }],
    ["a list in CSV", ["token", "list", "-o", "csv"], { body: tokens }],
    ["names", ["token", "list", "-o", "name"], { body: tokens }],
    ["an answer of another kind", ["token", "list"], { body: { tokens: [{ [ESCAPE]: ESCAPE }] } }],
    ["JSON", ["token", "list", "--json"], { body: { ...tokens, [ESCAPE]: ESCAPE } }],
  ])("%s → only printable characters and line breaks", async (_, args, answered) => {
    const worker = await fakeWorker(() => answered);
    const { stdout, stderr } = await play(args, { url: worker.url, columns: 100, isColored: true });
    worker.close();
    expect((stdout + stderr).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(stdout + stderr).not.toMatch(/^forged/m);
  });

  it("in JSON → escaped, so that a program reads what was sent", async () => {
    const body = { [ESCAPE]: ESCAPE };
    const worker = await fakeWorker(() => ({ body }));
    const { stdout } = await play(["token", "list", "--json"], { url: worker.url });
    worker.close();
    expect(JSON.parse(stdout)).toEqual(body);
  });

  it("of a minted token → printable", async () => {
    const worker = await fakeWorker(() => ({ body: { ...tokens.tokens[0], token: ESCAPE } }));
    const { stdout } = await play(["token", "create", "--names", "edge-1"], { url: worker.url });
    worker.close();
    expect(stdout).toBe(`${SHOWN}\n`);
  });

  it("a problem's text is cut at 1,024 characters", async () => {
    const long = "x".repeat(1024);
    const worker = await fakeWorker(() => ({ status: 400, body: { title: `${long}y`, detail: `${long}y` } }));
    const { stderr } = await play(["token", "list"], { url: worker.url });
    worker.close();
    expect(stderr).toBe(`rollcall: ${long}. ${long}\n`);
  });
});

describe("the feed", () => {
  /** Opens a feed to a server that sends one text of this size. Returns the received sizes, and the close code. */
  async function received(bytes: number) {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: true });
    closing.push(() => server.close());
    await new Promise((ready) => server.once("listening", ready));
    server.on("connection", (socket) => socket.send("x".repeat(bytes), () => socket.close(1000)));
    const { port } = server.address() as AddressInfo;
    const line = feedLine({ url: `http://127.0.0.1:${port}`, headers: {} }, null);
    const sizes: number[] = [];
    const code = await new Promise((ended) => line.listen((text) => sizes.push(text.length), ended));
    return [sizes, code];
  }

  it("a message at the limit → read; a byte more → the end", async () => {
    const { messageBytes } = FEED_LIMITS;
    expect(await received(messageBytes)).toEqual([[messageBytes], 1000]);
    expect(await received(messageBytes + 1)).toEqual([[], 1006]);
  });
});
