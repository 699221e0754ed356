// Tests HTTP to the Worker, against servers on loopback that behave and misbehave.
import { createServer, type RequestListener, type Server } from "node:http";
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server as TcpServer,
  type Socket,
} from "node:net";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { LateAnswer, type TransportRequest } from "../../../node-shim/worker-link/exchange.ts";
import { AnswerUntil, httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { heldTimers } from "../base/timers.ts";

const REQUEST: TransportRequest = { method: "POST", path: "/v1", headers: {}, body: "{}" };
const LONG_MS = 30_000;
let closing: (() => void)[] = [];
beforeEach(() => {
  closing = [];
});
afterEach(() => {
  for (const close of closing.toReversed()) close();
});

async function listen(server: Server | TcpServer): Promise<{ origin: string; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets };
}
const serve = (listener: RequestListener) => listen(createServer(listener));
/** Starts a TCP server, which need not speak HTTP. */
const serveTcp = (onData: (socket: Socket) => void) =>
  listen(createTcpServer((socket) => socket.once("data", () => onData(socket))));

function transport(origin: string) {
  const made = httpTransport(origin, LONG_MS);
  closing.push(made.close);
  return made;
}

test("method, path, headers and body arrive; status and body come back, in UTF-8", async () => {
  const { origin } = await serve((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const { method, url, headers } = request;
      response.statusCode = 412;
      response.end(JSON.stringify([method, url, headers["x-a"], headers["content-length"], body]));
    });
  });
  const answer = await transport(origin).send({
    method: "PUT",
    path: "/v1/x",
    headers: { "x-a": "1" },
    body: "ü€",
  });
  expect(answer).toEqual({ status: 412, body: JSON.stringify(["PUT", "/v1/x", "1", "5", "ü€"]) });
});

test("two requests at once → one connection: the second waits for the first", async () => {
  const ports: (number | undefined)[] = [];
  const { origin, sockets } = await serve((request, response) => {
    ports.push(request.socket.remotePort);
    response.end("{}");
  });
  const { send } = transport(origin);
  await Promise.all([send(REQUEST), send(REQUEST)]);
  expect(ports).toEqual([ports[0], ports[0]]);
  expect(sockets.size).toBe(1);
});

test("requests one after the other → one connection; after close() → another, and the first is closed", async () => {
  const ports: (number | undefined)[] = [];
  const { origin, sockets } = await serve((request, response) => {
    ports.push(request.socket.remotePort);
    response.end("{}");
  });
  const { send, close } = transport(origin);
  await send(REQUEST);
  await send(REQUEST);
  const [first] = sockets;
  const gone = new Promise((resolve) => first?.once("close", resolve));
  close();
  await gone;
  await send(REQUEST);
  expect(ports[1]).toBe(ports[0]);
  expect(ports[2]).not.toBe(ports[0]);
});

test("close() during a request → it fails at once", async () => {
  let arrived = () => {};
  const there = new Promise<void>((resolve) => (arrived = resolve));
  const { origin } = await serve(() => arrived());
  const { send, close } = transport(origin);
  const answer = send(REQUEST);
  await Promise.all([there.then(close), expect(answer).rejects.toThrow("the connection was closed")]);
});

describe("a kept-alive connection that the server ends during the next request", () => {
  /** Starts a server that answers the first request of each connection, and resets the connection at the second. */
  const impatient = async () => {
    const bodies: string[] = [];
    const seen = new Set<Socket>();
    const { origin } = await serve((request, response) => {
      const { socket } = request;
      let body = "";
      request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
      request.on("end", () => {
        bodies.push(body);
        if (seen.has(socket)) socket.resetAndDestroy();
        else response.end("{}");
        seen.add(socket);
      });
    });
    return { ...transport(origin), bodies };
  };

  it("→ sent once more, on a new one", async () => {
    const { send, bodies } = await impatient();
    await send(REQUEST);
    expect(await send({ ...REQUEST, body: '{"n":2}' })).toMatchObject({ status: 200 });
    expect(bodies).toEqual(["{}", '{"n":2}', '{"n":2}']);
  });

  it("a new connection that is reset → a failure: no request is sent twice", async () => {
    let connections = 0;
    const { origin } = await serveTcp((socket) => {
      connections++;
      socket.resetAndDestroy();
    });
    await expect(transport(origin).send(REQUEST)).rejects.toThrow(/ECONNRESET/);
    expect(connections).toBe(1);
  });

  it("answered without HTTP → a failure: no request is sent twice", async () => {
    let requests = 0;
    const { origin } = await serve((_request, response) => {
      if (++requests === 1) response.end("{}");
      else response.socket?.end("SSH-2.0-OpenSSH\r\n");
    });
    const { send } = transport(origin);
    await send(REQUEST);
    await expect(send(REQUEST)).rejects.toThrow(/^the answer is not HTTP/);
    expect(requests).toBe(2);
  });

  it("closed by this side → a failure at once: no request is sent after the end", async () => {
    let requests = 0;
    let arrived = () => {};
    const there = new Promise<void>((resolve) => (arrived = resolve));
    const { origin } = await serve((_request, response) => {
      if (++requests === 1) response.end("{}");
      else arrived();
    });
    const { send, close } = transport(origin);
    await send(REQUEST);
    await Promise.all([
      there.then(close),
      expect(send(REQUEST)).rejects.toThrow("the connection was closed"),
    ]);
    expect(requests).toBe(2);
  });
});

describe("no whole answer within the deadline → an error that says so", () => {
  test.each<[situation: string, listener: RequestListener]>([
    ["a server that never answers", () => undefined],
    ["a server that stops after the headers", (_request, response) => response.flushHeaders()],
    ["a server that stops within the body", (_request, response) => response.write("{")],
    [
      "a server that sends a byte now and then",
      (_request, response) => {
        const drip = () => response.writable && response.write(" ", () => void setImmediate(drip));
        drip();
      },
    ],
  ])("%s", async (_situation, listener) => {
    const pass = heldTimers();
    const asked = Promise.withResolvers<void>();
    const { origin } = await serve((request, response) => {
      listener(request, response);
      asked.resolve();
    });
    const late = transport(origin)
      .send(REQUEST)
      .catch((error: unknown) => error);
    await asked.promise;
    pass(LONG_MS);
    expect(await late).toEqual(new LateAnswer("no answer within 30 s"));
    expect(await late).toBeInstanceOf(LateAnswer);
  });
});

describe("a malformed answer → a failure with a text of one line", () => {
  test.each<[situation: string, onData: (socket: Socket) => void, message: RegExp]>([
    ["the server dies before it", (socket) => socket.destroy(), /^socket hang up$|ECONNRESET/],
    ["the server resets", (socket) => socket.resetAndDestroy(), /ECONNRESET/],
    [
      "the server dies midway",
      (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"),
      /^the connection was closed .* \(ECONNRESET\)$/,
    ],
    ["it is not HTTP", (socket) => socket.end("SSH-2.0-OpenSSH\r\n"), /^the answer is not HTTP: .+$/],
  ])("%s, and the request is not sent again", async (_situation, onData, message) => {
    let connections = 0;
    const { origin } = await serveTcp((socket) => {
      connections++;
      onData(socket);
    });
    await expect(transport(origin).send(REQUEST)).rejects.toThrow(message);
    expect(connections).toBe(1);
  });

  it("no listener, under a name with two addresses → still a text", async () => {
    const { origin } = await serve(() => undefined);
    closing.pop()?.();
    const localhost = origin.replace("127.0.0.1", "localhost");
    await expect(transport(localhost).send(REQUEST)).rejects.toThrow(/ECONNREFUSED/);
  });
});

describe("the answer's size", () => {
  const limit = 64 * 1024;
  test("at the limit → all of it; a byte more → refused, and its connection is dropped", async () => {
    let size = limit;
    const { origin, sockets } = await serve((_request, response) => response.end("x".repeat(size)));
    const { send } = transport(origin);
    expect((await send(REQUEST)).body).toHaveLength(limit);
    size = limit + 1;
    const [socket] = sockets;
    const gone = new Promise((resolve) => socket?.once("close", resolve));
    await expect(send(REQUEST)).rejects.toThrow("the answer is larger than any of the protocol");
    await gone;
  });

  test("a body without end → refused long before the deadline", async () => {
    const { origin } = await serve((_request, response) => {
      const flood = () => {
        while (!response.destroyed && response.write("x".repeat(16_384)));
      };
      response.on("drain", flood);
      flood();
    });
    await expect(transport(origin).send(REQUEST)).rejects.toThrow("larger than any of the protocol");
  });
});

describe("Retry-After", () => {
  test.each([
    ["7", { retryAfterMs: 7000 }],
    ["0", {}],
    ["-5", {}],
    ["0.001", { retryAfterMs: 1000 }],
    ["1", { retryAfterMs: 1000 }],
    ["3600", { retryAfterMs: 3_600_000 }],
    ["3601", { retryAfterMs: 3_600_000 }],
    ["99999999999", { retryAfterMs: 3_600_000 }],
    ["Wed, 21 Oct 2026 07:28:00 GMT", {}],
  ])("%s", async (header, retry) => {
    const { origin } = await serve((_request, response) => {
      response.setHeader("retry-after", header);
      response.statusCode = 503;
      response.end("{}");
    });
    expect(await transport(origin).send(REQUEST)).toStrictEqual({ status: 503, body: "{}", ...retry });
  });
});

describe("the time until which a machine waits", () => {
  const NOW_MS = Date.UTC(2026, 0, 1);
  const UNTIL = { "rollcall-until": String(NOW_MS + 9000) };

  it("before the first answer → no header", () => {
    expect(new AnswerUntil(9000, () => NOW_MS).headers()).toEqual({});
  });

  test.each<[situation: string, sentMs: number, workerTime: string | undefined, headers: object]>([
    ["of the same second", NOW_MS - 100, String(NOW_MS), UNTIL],
    ["between the request and a late answer", NOW_MS - 8000, String(NOW_MS - 5000), UNTIL],
    ["2 s before the request", NOW_MS, String(NOW_MS - 2000), UNTIL],
    ["more than 2 s before the request: one of the clocks is false", NOW_MS, String(NOW_MS - 2001), {}],
    ["2 s after the answer", NOW_MS - 100, String(NOW_MS + 2000), UNTIL],
    ["more than 2 s after the answer", NOW_MS - 100, String(NOW_MS + 2001), {}],
    ["missing", NOW_MS - 100, undefined, {}],
    ["no time", NOW_MS - 100, "soon", {}],
  ])("the Worker's time in the last answer is %s", (_, sentMs, workerTime, headers) => {
    const until = new AnswerUntil(9000, () => NOW_MS);
    until.answered(sentMs, 200, workerTime);
    expect(until.headers()).toEqual(headers);
  });

  test.each<[situation: string, skewMs: number, isSent: boolean]>([
    ["agrees with the machine's", 0, true],
    ["is 6 s ahead of the machine's", 6000, false],
  ])(
    "the Worker's clock %s, and a proxy puts its own Date → the header is sent: %s",
    async (_, skewMs, isSent) => {
      const untils: unknown[] = [];
      const { origin } = await serve((request, response) => {
        untils.push(request.headers["rollcall-until"]);
        response.setHeader("rollcall-time", String(Date.now() + skewMs));
        response.end("{}");
      });
      const { send, until } = transport(origin);
      await send(REQUEST);
      expect("rollcall-until" in until()).toBe(isSent);
      await send(REQUEST);
      expect(untils.map((until) => until !== undefined)).toEqual([false, isSent]);
    },
  );

  it("the machine's clock was set → no header after the next answer, also if that answer is a refusal", () => {
    let nowMs = NOW_MS;
    const until = new AnswerUntil(9000, () => nowMs);
    until.answered(nowMs, 200, String(nowMs));
    nowMs -= 60_000;
    until.answered(nowMs, 503, String(NOW_MS));
    expect(until.headers()).toEqual({});
  });

  it("a network delays each request too long → each third request after refusals has no header", () => {
    const until = new AnswerUntil(9000, () => NOW_MS);
    until.answered(NOW_MS, 200, String(NOW_MS));
    const sent = Array.from({ length: 6 }, () => {
      const isSent = "rollcall-until" in until.headers();
      until.answered(NOW_MS, 503, String(NOW_MS));
      return isSent;
    });
    expect(sent).toEqual([true, true, false, true, true, false]);
    until.answered(NOW_MS, 200, String(NOW_MS));
    expect(until.headers()).toEqual(UNTIL);
  });
});
