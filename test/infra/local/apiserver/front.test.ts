// Tests the server's port: kept connections, waiting watchers, and malformed requests.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, request, type RequestOptions } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { UnderlyingSource } from "node:stream/web";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createApiserver } from "../../../../infra/local/apiserver/apiserver.ts";
import { loadCredentials } from "../../../../infra/local/apiserver/certificates.ts";
import { createFront, listen } from "../../../../infra/local/apiserver/front.ts";
import { openStore } from "../../../../infra/local/apiserver/store.ts";
import { manualTimers, send, type TestServer } from "./test-server.ts";

const dir = mkdtempSync(join(tmpdir(), "apiserver-front-"));
const store = openStore(":memory:");
const accounts = "/api/v1/namespaces/default/serviceaccounts";
let front: ReturnType<typeof createFront>;
let port: number;
let ca: string;
let token: string;
/** The server behind the port, called without a connection. */
let direct: TestServer;

beforeAll(async () => {
  const credentials = await loadCredentials(dir);
  const { fetch } = createApiserver({
    ...credentials,
    store,
    now: () => new Date(),
    uuid: () => crypto.randomUUID(),
    random: Math.random,
    after: manualTimers().after,
  });
  front = createFront(credentials, fetch);
  port = await listen(front, 0);
  ca = readFileSync(join(dir, "ca.crt"), "utf8");
  token = credentials.adminToken;
  direct = { url: "https://127.0.0.1:1", token, fetch };
});
afterAll(async () => {
  const closed = new Promise((resolve) => front.close(resolve));
  front.closeAllConnections();
  await closed;
  store.close();
  rmSync(dir, { recursive: true });
});

function ask(path: string, options: RequestOptions = {}) {
  const headers = { authorization: `Bearer ${token}` };
  return new Promise<{ code: number; socket: unknown; body: NodeJS.ReadableStream }>((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, ca, path, headers, ...options }, (response) => {
      const { statusCode: code = 0, socket } = response;
      resolve({ code, socket, body: response });
    });
    asked.on("error", reject).end();
  });
}

function createAccount(name: string) {
  return send(direct, { method: "POST", path: accounts, body: { metadata: { name } } });
}

test("requests one after the other take the same connection", async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const sockets = new Set<unknown>();
  for (let index = 0; index < 5; index++) {
    const { socket, body } = await ask("/version", { agent });
    sockets.add(socket);
    expect(JSON.parse(await text(body))).toMatchObject({ minor: "36" });
  }
  expect(sockets.size).toBe(1);
  agent.destroy();
});

test("idle watchers: each is told of a change, and others are answered meanwhile", async () => {
  const { body } = await createAccount("seen");
  const from = body.metadata.resourceVersion;
  const agent = new Agent({ keepAlive: true });
  const path = `${accounts}?watch=true&resourceVersion=${from}`;
  const watchers = await Promise.all(Array.from({ length: 10 }, () => ask(path, { agent })));
  const told = watchers.map(
    ({ body }) => new Promise<string>((resolve) => body.once("data", (chunk) => resolve(String(chunk)))),
  );
  expect((await ask("/livez")).code).toBe(200);
  await createAccount("told");
  for (const line of await Promise.all(told)) expect(line).toContain('"name":"told"');
  agent.destroy();
});

/**
 * Sends a request that starts with this line, which no client library would send. Returns the answer's first line.
 */
async function raw(start: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, ca });
  socket.write(`${start}\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`);
  return (await text(socket)).split("\r\n")[0] ?? "";
}

test.each([
  ["GET /%zz HTTP/1.1", "HTTP/1.1 400 Bad Request"],
  ["GET * HTTP/1.1", "HTTP/1.1 400 Bad Request"],
  ["TRACE /version HTTP/1.1", "HTTP/1.1 400 Bad Request"],
  ["GET //livez HTTP/1.1", "HTTP/1.1 404 Not Found"],
  ["GET /livez?x=%zz HTTP/1.1", "HTTP/1.1 200 OK"],
  ["nonsense", "HTTP/1.1 400 Bad Request"],
])("%s → %s", async (start, answer) => {
  expect(await raw(start)).toBe(answer);
  expect((await ask("/livez")).code).toBe(200);
});

describe("a stream that is the answer", () => {
  /** Starts a port that answers every request with this stream. */
  async function serve(source: UnderlyingSource<Uint8Array>) {
    const streaming = createFront(await loadCredentials(dir), () =>
      Promise.resolve(new Response(new ReadableStream<Uint8Array>(source))),
    );
    return { port: await listen(streaming, 0), close: () => void streaming.close() };
  }

  test("the client goes away → it is cancelled at once", async () => {
    const cancelled = Promise.withResolvers<void>();
    const served = await serve({
      start: (controller) => controller.enqueue(Buffer.from("first\n")),
      cancel: () => cancelled.resolve(),
    });
    const agent = new Agent();
    const { body } = await ask("/", { port: served.port, agent });
    await new Promise((resolve) => body.once("data", resolve));
    agent.destroy();
    await cancelled.promise;
    served.close();
  });

  test("it fails while the client does not read → the connection is cut", async () => {
    const stream = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
    const served = await serve({ start: (controller) => stream.resolve(controller) });
    const socket = connect({ host: "127.0.0.1", port: served.port, ca });
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await new Promise((resolve) => socket.once("data", resolve));
    socket.pause();
    const controller = await stream.promise;
    // The answer is larger than the kernel's buffers, which hold some megabytes for a client that does not read.
    controller.enqueue(Buffer.alloc(16_000_000));
    await nextTurn();
    controller.error(new Error("the watcher does not read"));
    socket.resume();
    await closed;
    served.close();
  });
});

test("HEAD has no body", async () => {
  const { code, body } = await ask("/livez", { method: "HEAD" });
  expect({ code, body: await text(body) }).toEqual({ code: 200, body: "" });
});
