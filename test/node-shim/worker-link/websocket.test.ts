// Tests the shim's WebSocket client with WebSocket servers, and with other servers.
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { Agent } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { afterEach, describe, expect, it, test } from "vitest";
import { WebSocketServer, type WebSocket as ServerSocket } from "ws";
import {
  openWebSocket,
  type UpgradeFault,
  type WebSocketConnection,
} from "../../../node-shim/worker-link/websocket.ts";
import { eventually } from "../base/eventually.ts";
import { listening } from "./connect-proxy.ts";
import { heldTimers } from "../base/timers.ts";

const MAX_BYTES = 1000;
let closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.toReversed()) close();
  closing = [];
});

/** Starts a server of the library ws, and collects the messages that it receives. */
async function server() {
  const wss = new WebSocketServer({ noServer: true, perMessageDeflate: true });
  const http = createServer();
  const upgrades: IncomingMessage[] = [];
  const sockets: ServerSocket[] = [];
  const got: string[] = [];
  const ends: [code: number, reason: string][] = [];
  http.on("upgrade", (request, socket, head) =>
    wss.handleUpgrade(request, socket, head, (socket, request) => {
      upgrades.push(request);
      sockets.push(socket);
      socket.on("message", (data: Buffer) => got.push(data.toString()));
      socket.on("pong", (data: Buffer) => got.push(`pong ${data.toString()}`));
      socket.on("close", (code: number, reason: Buffer) => ends.push([code, reason.toString()]));
    }),
  );
  const { port, close } = await listening(http);
  closing.push(close);
  return { port, upgrades, sockets, got, ends };
}

/** Starts a plain TCP server. Returns its port. */
async function plain(onData: (socket: Socket, head: string) => void): Promise<number> {
  const { port, close } = await listening(
    createTcpServer((socket) => socket.on("data", (data) => onData(socket, data.toString()))),
  );
  closing.push(close);
  return port;
}

const answering = (text: string) => (socket: Socket) => void socket.write(text.replaceAll("\n", "\r\n"));

/** Accepts an upgrade on a plain socket, with these headers in addition. */
function accept(socket: Socket, head: string, headers = ""): void {
  const key = /sec-websocket-key: (\S+)/i.exec(head)?.[1] ?? "";
  const proof = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  answering(
    `HTTP/1.1 101 X\nconnection: upgrade\nupgrade: websocket\nsec-websocket-accept: ${proof}\n${headers}\n`,
  )(socket);
}

function open(port: number, { signal = new AbortController().signal } = {}) {
  const agent = new Agent({ keepAlive: true });
  closing.push(() => agent.destroy());
  const url = new URL(`http://127.0.0.1:${port}/v1/x?t=1`);
  const headers = { authorization: "Bearer token" };
  return openWebSocket({ url, headers, agent, deadlineMs: 10_000, signal, maxBytes: MAX_BYTES });
}

async function opened(port: number) {
  const outcome = await open(port);
  if (!outcome.ok) throw new Error(outcome.error.reason);
  const connection: WebSocketConnection = outcome.value;
  closing.push(connection.terminate);
  const received: string[] = [];
  const ended: string[] = [];
  const pongs: true[] = [];
  connection.listen({
    received: (text) => received.push(text),
    ponged: () => pongs.push(true),
    ended: (why) => ended.push(why),
  });
  return { connection, received, ended, pongs };
}

describe("with a WebSocket server", () => {
  it("the upgrade has path, query and headers, and requests no extension", async () => {
    const { port, upgrades } = await server();
    await opened(port);
    const [{ url, headers } = {}] = upgrades;
    expect(url).toBe("/v1/x?t=1");
    expect(headers).toMatchObject({ authorization: "Bearer token", host: `127.0.0.1:${port}` });
    expect(headers?.["sec-websocket-extensions"]).toBeUndefined();
  });

  it("texts go both ways, short and long, and a ping is answered", async () => {
    const { port, sockets, got } = await server();
    const { connection, received } = await opened(port);
    const texts = ["a", "é".repeat(100), "x".repeat(MAX_BYTES)];
    for (const text of [...texts, "x".repeat(100_000)]) connection.send(text);
    for (const text of texts) sockets[0]?.send(text);
    sockets[0]?.ping("1");
    await eventually(() => got).toEqual([...texts, "x".repeat(100_000), "pong 1"]);
    expect(received).toEqual(texts);
  });

  it("ping() → the server's answer is reported; after the end nothing is sent", async () => {
    const { port } = await server();
    const { connection, ended, pongs } = await opened(port);
    connection.ping();
    await eventually(() => pongs).toEqual([true]);
    connection.terminate();
    connection.ping();
    expect(ended).toEqual([]);
  });

  it("a message in fragments → one text", async () => {
    const { port, sockets } = await server();
    const { received } = await opened(port);
    sockets[0]?.send("a", { fin: false });
    sockets[0]?.send("b", { fin: true });
    await eventually(() => received).toEqual(["ab"]);
  });

  it("close() → the server gets 1000, and the end is reported once", async () => {
    const { port, ends } = await server();
    const { connection, ended } = await opened(port);
    connection.send("last");
    connection.close();
    connection.close();
    connection.send("too late");
    await eventually(() => ends).toEqual([[1000, ""]]);
    expect(ended).toEqual([]);
  });

  it("terminate() → closed without a close frame", async () => {
    const { port, ends } = await server();
    const { connection, ended } = await opened(port);
    connection.terminate();
    await eventually(() => ends).toEqual([[1006, ""]]);
    expect(ended).toEqual([]);
  });

  test.each<[string, (socket: ServerSocket) => void, why: string, end: [number, string]]>([
    [
      "closes with a reason",
      (socket) => socket.close(1012, "restart"),
      "it was closed (1012: restart)",
      [1012, "restart"],
    ],
    [
      "closes with a reason that a terminal would obey",
      (socket) => socket.close(1012, "\u001b[2J"),
      "it was closed (1012: \u{FFFD}[2J)",
      [1012, "\u001b[2J"],
    ],
    ["closes without one", (socket) => socket.close(), "it was closed", [1005, ""]],
    ["is gone", (socket) => socket.terminate(), "the connection was closed", [1006, ""]],
    [
      "sends more than the limit",
      (socket) => socket.send("x".repeat(MAX_BYTES + 1)),
      "Max payload size exceeded",
      [1009, ""],
    ],
    [
      "sends bytes, and then a text",
      (socket) => {
        socket.send(Buffer.from("x"));
        socket.send("x");
      },
      "messages are text",
      [1003, "messages are text"],
    ],
  ])("it %s → reported once, and the connection ends", async (_, act, why, end) => {
    const { port, sockets, ends } = await server();
    const { ended, received, connection } = await opened(port);
    act(sockets[0] as ServerSocket);
    await eventually(() => ended).toEqual([why]);
    await eventually(() => ends).toEqual([end]);
    connection.send("nobody reads this");
    expect([ended, received]).toEqual([[why], []]);
  });

  it("messages with the upgrade wait for a listener; so does the end", async () => {
    const { port, sockets } = await server();
    const outcome = open(port);
    await eventually(() => sockets).toHaveLength(1);
    sockets[0]?.send("early");
    sockets[0]?.close(1001);
    const connection = await outcome;
    await new Promise((resolve) => void setImmediate(resolve));
    const heard: string[] = [];
    const note = (what: string) => void heard.push(what);
    if (connection.ok) connection.value.listen({ received: note, ponged: () => note("pong"), ended: note });
    await eventually(() => heard).toEqual(["early", "it was closed (1001)"]);
  });

  it("listened to after its end → the end is reported", async () => {
    const { port } = await server();
    const outcome = await open(port);
    if (!outcome.ok) throw new Error(outcome.error.reason);
    outcome.value.terminate();
    const ended: string[] = [];
    const ignored = { received: () => undefined, ponged: () => undefined };
    outcome.value.listen({ ...ignored, ended: (why) => ended.push(why) });
    expect(ended).toEqual(["closed"]);
  });

  it("after this side has closed it → what still arrives is not reported", async () => {
    const { port, sockets, ends } = await server();
    const { connection, received, pongs } = await opened(port);
    connection.ping();
    connection.close();
    sockets[0]?.send("late");
    sockets[0]?.send(Buffer.from("late"));
    await eventually(() => ends).toEqual([[1000, ""]]);
    expect([received, pongs]).toEqual([[], []]);
  });

  it("the Worker does not end it after a close → ended a second later", async () => {
    const pass = heldTimers();
    let gone = false;
    const port = await plain((socket, head) => {
      socket.once("close", () => (gone = true));
      if (head.startsWith("GET ")) accept(socket, head);
    });
    const { connection } = await opened(port);
    connection.close();
    pass(1000);
    await eventually(() => gone).toBe(true);
  });

  it("the upgrade's deadline passes later → the connection stays", async () => {
    const pass = heldTimers();
    const { port, sockets } = await server();
    const { received, ended } = await opened(port);
    pass(10_000);
    sockets[0]?.send("still");
    await eventually(() => received).toEqual(["still"]);
    expect(ended).toEqual([]);
  });
});

describe("with another server → no WebSocket, and the reason", () => {
  const refused = (status: number, body: string): Partial<UpgradeFault> => ({
    reason: "answered",
    status,
    body,
  });
  test.each<[string, (socket: Socket, head: string) => void, Partial<UpgradeFault>]>([
    ["a refusal", answering("HTTP/1.1 403 X\ncontent-length: 2\n\nno"), refused(403, "no")],
    ["a page", answering("HTTP/1.1 200 OK\ncontent-length: 2\n\nhi"), refused(200, "hi")],
    [
      "a body at the limit",
      answering(`HTTP/1.1 200 OK\ncontent-length: ${MAX_BYTES}\n\n${"x".repeat(MAX_BYTES)}`),
      refused(200, "x".repeat(MAX_BYTES)),
    ],
    [
      "a body over the limit",
      answering(`HTTP/1.1 200 OK\ncontent-length: 5000\n\n${"x".repeat(MAX_BYTES + 1)}`),
      refused(200, ""),
    ],
    [
      "a 101 without the right key",
      answering("HTTP/1.1 101 X\nconnection: upgrade\nupgrade: websocket\nsec-websocket-accept: x\n\n"),
      refused(101, ""),
    ],
    ["an end", (socket) => void socket.end(), { reason: "failed" }],
    ["no HTTP", answering("SSH-2.0\n"), { reason: "failed" }],
  ])("%s, and the connection ends", async (_, onData, fault) => {
    const gone = Promise.withResolvers<void>();
    const port = await plain((socket, head) => {
      socket.once("close", () => gone.resolve());
      onData(socket, head);
    });
    expect(await open(port)).toMatchObject({ ok: false, error: fault });
    await gone.promise;
  });

  it("a 101 with an extension that was not requested → no WebSocket", async () => {
    const port = await plain((socket, head) =>
      accept(socket, head, "sec-websocket-extensions: permessage-deflate\n"),
    );
    expect(await open(port)).toMatchObject({ ok: false, error: refused(101, "") });
  });

  test.each<[string, (socket: Socket) => void]>([
    ["nothing", () => undefined],
    ["a head without its body", answering("HTTP/1.1 200 OK\ncontent-length: 5\n\nx")],
  ])("%s within the deadline → late, and the connection ends", async (_, onData) => {
    const pass = heldTimers();
    const asked = Promise.withResolvers<void>();
    let gone = false;
    const port = await plain((socket) => {
      socket.once("close", () => (gone = true));
      onData(socket);
      asked.resolve();
    });
    const opened = open(port);
    await asked.promise;
    pass(10_000);
    expect(await opened).toEqual({ ok: false, error: { reason: "late" } });
    await eventually(() => gone).toBe(true);
  });

  it.each([
    ["a URL with a fragment", "#x", "token", "The URL contains a fragment identifier"],
    ["a header of two lines", "", "token\nhost: x", /Invalid character in header/],
  ])("%s, which ws does not accept → failed, without a request", async (_, fragment, token, message) => {
    const asked: string[] = [];
    const port = await plain((_, head) => asked.push(head));
    const agent = new Agent();
    const url = new URL(`http://127.0.0.1:${port}/${fragment}`);
    const headers = { authorization: token };
    const { signal } = new AbortController();
    const outcome = await openWebSocket({ url, headers, agent, deadlineMs: 10_000, signal, maxBytes: 10 });
    expect(outcome).toEqual({
      ok: false,
      error: {
        reason: "failed",
        error: expect.objectContaining({ message: expect.stringMatching(message) }),
      },
    });
    expect(asked).toEqual([]);
  });

  it("given up meanwhile → failed, at once", async () => {
    const given = new AbortController();
    const port = await plain(() => given.abort());
    expect(await open(port, { signal: given.signal })).toMatchObject({ error: { reason: "failed" } });
  });
});

test("an agent that ends its connections lets a WebSocket live", async () => {
  const { port, sockets } = await server();
  const agent = new Agent({ keepAlive: true });
  const url = new URL(`http://127.0.0.1:${port}/`);
  const { signal } = new AbortController();
  const outcome = await openWebSocket({ url, headers: {}, agent, deadlineMs: 10_000, signal, maxBytes: 10 });
  agent.destroy();
  const received: string[] = [];
  const ignored = { ponged: () => undefined, ended: () => undefined };
  if (outcome.ok) outcome.value.listen({ ...ignored, received: (text) => received.push(text) });
  sockets[0]?.send("still");
  await eventually(() => received).toEqual(["still"]);
});
