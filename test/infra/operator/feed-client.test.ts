// Tests how a client follows the feed over connections that break, and that the WebSocket sends the credential.
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import {
  AGAIN_MS,
  feedLine,
  type FeedLine,
  followFeed,
  type Following,
  QUIET_MS,
} from "../../../infra/operator/feed-client.ts";
import { FEED_CLOSED, FEED_PROTOCOL } from "../../../shared/protocol/feed-names.ts";
import { type FeedMessage } from "../../../shared/protocol/feed.ts";
import { failure, success } from "../../../shared/result.ts";

class MadeUpLine implements FeedLine {
  readonly sent: string[] = [];
  readonly cursor: string | null;
  isClosed = false;
  #onText: (text: string) => void = () => undefined;
  #onClose: (code: number, reason: string) => void = () => undefined;

  constructor(cursor: string | null) {
    this.cursor = cursor;
  }
  send(text: string): void {
    this.sent.push(text);
  }
  close(): void {
    this.isClosed = true;
  }
  listen(onText: (text: string) => void, onClose: (code: number, reason: string) => void): void {
    [this.#onText, this.#onClose] = [onText, onClose];
  }
  says(message: FeedMessage | string): void {
    this.#onText(typeof message === "string" ? message : JSON.stringify(message));
  }
  breaks(code = 1006, reason = ""): void {
    this.#onClose(code, reason);
  }
}

function following(change: Partial<Following> = {}) {
  const lines: MadeUpLine[] = [];
  const waited: number[] = [];
  const updates: unknown[] = [];
  const opened: number[] = [];
  const timers: (() => void)[] = [];
  const end = new AbortController();
  let opens = Promise.withResolvers<void>();
  /** Resolves with the next connection that the client opens. */
  const nextLine = async () => {
    await opens.promise;
    opens = Promise.withResolvers<void>();
    return lines.at(-1)!;
  };
  const done = followFeed({
    open: (cursor) => {
      const line = new MadeUpLine(cursor);
      lines.push(line);
      if (lines.length > 1) opens.resolve();
      return line;
    },
    mayOpen: async () => success(null),
    onOpen: () => opened.push(lines.length),
    onUpdate: (_, update) => updates.push(update),
    signal: end.signal,
    random: () => 0.5,
    wait: async (ms) => {
      waited.push(ms);
      if (waited.length > 8) end.abort();
    },
    after: (_ms, work) => {
      timers.push(work);
      return () => void timers.splice(timers.indexOf(work), 1);
    },
    ...change,
  });
  return { lines, nextLine, waited, updates, opened, timers, end, done };
}

const HELLO: FeedMessage = { type: "hello", resumed: false, why: "" };
const snapshot = (cursor: string): FeedMessage => ({
  type: "snapshot",
  cursor,
  rows: 0,
  machines: {},
  isLast: true,
});

describe("a client", () => {
  it("acknowledges what it has taken in, but no hello", async () => {
    const { lines, updates, end, done } = following();
    lines[0]!.says(HELLO);
    lines[0]!.says(snapshot("a_1"));
    expect([lines[0]!.sent, updates]).toEqual([
      ['{"ack":"a_1"}'],
      [{ isWhole: true, changed: [], gone: [] }],
    ]);
    end.abort();
    expect(await done).toMatchObject({ ok: true, value: { cursor: "a_1" } });
  });

  it.each([
    ["breaks", 1006],
    ["is closed, since its credential could not be looked at", FEED_CLOSED.inDoubt],
    ["is closed, since the feed is old", FEED_CLOSED.notAllowed],
  ])("whose line %s → comes back by its cursor, and says when it is open", async (_, code) => {
    const { lines, nextLine, opened, end } = following();
    lines[0]!.says(HELLO);
    lines[0]!.says(snapshot("a_1"));
    lines[0]!.breaks(code);
    const second = await nextLine();
    expect([second.cursor, opened]).toEqual(["a_1", [1]]);
    second.says({ type: "hello", resumed: true, why: "" });
    expect(opened).toEqual([1, 2]);
    end.abort();
  });

  it("that said what is no frame, or does not understand → begins anew", async () => {
    const { lines, nextLine, end } = following();
    for (const broken of [
      (line: MadeUpLine) => line.breaks(FEED_CLOSED.badFrame, "expected"),
      (line: MadeUpLine) => line.says('{"type":"changes"'),
    ]) {
      lines.at(-1)!.says(HELLO);
      lines.at(-1)!.says(snapshot("a_1"));
      broken(lines.at(-1)!);
      expect((await nextLine()).cursor).toBeNull();
    }
    end.abort();
  });

  it("that gets no line → tries again at random, later each time, up to a bound", async () => {
    const { lines, waited, done } = following({
      open: (cursor) => {
        const line = new MadeUpLine(cursor);
        line.listen = (_, onClose) => {
          onClose(1006, "");
        };
        return line;
      },
    });
    expect((await done).ok).toBe(true);
    expect(lines).toEqual([]);
    expect(waited.slice(0, 7).map((ms) => (2 * ms) / AGAIN_MS.first)).toEqual([1, 2, 4, 8, 16, 30, 30]);
  });

  it("that is not let in → ends, and says why", async () => {
    const { lines, done } = following({ mayOpen: async () => failure("HTTP 403") });
    lines[0]!.breaks();
    expect(await done).toEqual(failure("HTTP 403"));
  });

  it("asks a quiet line, and leaves one that does not answer", async () => {
    const { lines, nextLine, timers, end } = following();
    timers[0]!();
    expect(lines[0]!.sent).toEqual(["ping"]);
    lines[0]!.says("pong");
    expect(timers).toHaveLength(1);
    timers[0]!();
    timers[0]!();
    await nextLine();
    expect([lines[0]!.isClosed, timers.length, QUIET_MS]).toEqual([true, 1, 30_000]);
    end.abort();
  });
});

it("the WebSocket sends the headers, the sub-protocol and the cursor", async () => {
  const server = createServer();
  const asked = new Promise<IncomingMessage>((resolve) => {
    server.on("upgrade", (request, socket) => {
      const accept = createHash("sha1")
        .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest("base64");
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${FEED_PROTOCOL}\r\n\r\n`,
      );
      // The server sends a text frame and then cuts the connection.
      socket.end(Buffer.from([0x81, 4, ...Buffer.from("pong")]));
      resolve(request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const line = feedLine({ url, headers: { authorization: "Bearer s", "cf-access-client-id": "x" } }, "a_1");
  const texts: string[] = [];
  const code = await new Promise((resolve) => line.listen((text) => texts.push(text), resolve));
  const { url: path, headers } = await asked;
  expect([
    path,
    headers.authorization,
    headers["cf-access-client-id"],
    headers["sec-websocket-protocol"],
  ]).toEqual(["/v1/feed?cursor=a_1", "Bearer s", "x", FEED_PROTOCOL]);
  expect([texts, code]).toEqual([["pong"], 1006]);
  await new Promise((resolve) => server.close(resolve));
});
