// Tests requests through a proxy that behaves and misbehaves. The Worker behind it has TLS, and a name that only
// the proxy can resolve.
import { writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { authorities } from "../../../node-shim/worker-link/outbound.ts";
import type { TransportRequest } from "../../../node-shim/worker-link/exchange.ts";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { proxyTo } from "../../../node-shim/worker-link/proxy.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import {
  type Asked,
  connectProxy,
  listening,
  type Pems,
  selfSigned,
  tlsWorker,
  WORKER_NAME,
} from "./connect-proxy.ts";
import { eventually } from "../base/eventually.ts";
import { heldTimers } from "../base/timers.ts";

const REQUEST: TransportRequest = { method: "POST", path: "/v1", headers: {}, body: "{}" };
const LONG_MS = 30_000;
const BASIC = `Basic ${Buffer.from("edge:p@ss").toString("base64")}`;

let folder: { path: string; remove: () => void };
let pems: Pems;
let elsewhere: Pems;
let caFile: string;
beforeAll(async () => {
  folder = temporaryFolder();
  [pems, elsewhere] = await Promise.all([selfSigned(WORKER_NAME), selfSigned("elsewhere.test")]);
  caFile = join(folder.path, "ca.pem");
  writeFileSync(caFile, `${pems.cert}\n${elsewhere.cert}\n`);
});
afterAll(() => folder.remove());

let closing: (() => void)[] = [];
beforeEach(() => {
  closing = [];
});
afterEach(() => {
  for (const close of closing.toReversed()) close();
});

async function worker(listener: RequestListener = (_request, response) => response.end("{}"), own = pems) {
  const served = await tlsWorker(own, listener);
  closing.push(served.close);
  return served;
}

async function proxy(onConnect: (asked: Asked) => void, own?: Pems) {
  const served = await connectProxy(onConnect, own);
  closing.push(served.close);
  return served;
}

function transport(proxyUrl: string, workerPort: number, { trusting = true } = {}) {
  const origin = `https://${WORKER_NAME}:${workerPort}`;
  const outbound = {
    proxy: proxyTo(origin, { HTTPS_PROXY: proxyUrl }),
    trust: trusting ? authorities(caFile, {}) : undefined,
  };
  const made = httpTransport(origin, LONG_MS, outbound);
  closing.push(made.close);
  return made;
}

const url = ({ port }: { port: number }, credentials = "") => `http://${credentials}127.0.0.1:${port}`;
const answer = (text: string) => (asked: Asked) => void asked.socket.write(text);
const gone = (socket: Socket) =>
  new Promise<void>((resolve) => (socket.closed ? resolve() : void socket.once("close", () => resolve())));

describe("a proxy that opens the way", () => {
  it("many requests → one CONNECT, and the Worker gets nothing of the proxy's", async () => {
    const heads: unknown[] = [];
    const served = await worker((request, response) => {
      heads.push([request.method, request.url, request.headers.host, request.headers["proxy-authorization"]]);
      response.end("{}");
    });
    const through = await proxy(({ join }) => join());
    const { send } = transport(url(through, "edge:p%40ss@"), served.port);
    for (let n = 0; n < 5; n++) expect(await send(REQUEST)).toEqual({ status: 200, body: "{}" });
    const host = `${WORKER_NAME}:${served.port}`;
    expect(through.asked.map(({ target }) => target)).toEqual([host]);
    expect(through.asked[0]?.head).toBe(
      `CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\nproxy-connection: keep-alive\r\n` +
        `proxy-authorization: ${BASIC}\r\n\r\n`,
    );
    expect(served.servernames).toEqual([WORKER_NAME]);
    expect(heads).toEqual(Array.from({ length: 5 }, () => ["POST", "/v1", host, undefined]));
  });

  it("after close() → another tunnel; without a proxy user, no credentials are sent", async () => {
    const served = await worker();
    const through = await proxy(({ join }) => join());
    const { send, close } = transport(url(through), served.port);
    await send(REQUEST);
    close();
    await send(REQUEST);
    expect(through.asked).toHaveLength(2);
    expect(through.asked[0]?.head).not.toContain("authorization");
  });

  it("the Worker ends the connection → the next one resumes its TLS session", async () => {
    let ends = true;
    const served = await worker((request, response) => {
      if (ends) response.setHeader("connection", "close");
      ends = false;
      request.resume();
      response.end("{}");
    });
    const through = await proxy(({ join }) => join());
    const { send } = transport(url(through), served.port);
    await send(REQUEST);
    await send(REQUEST);
    expect(through.asked).toHaveLength(2);
    expect(served.resumed).toEqual([false, true]);
  });

  it("the proxy cuts an idle tunnel during the next request → sent once more, through another", async () => {
    const served = await worker();
    const through = await proxy(({ join }) => join());
    const { send } = transport(url(through), served.port);
    await send(REQUEST);
    through.asked[0]?.socket.resetAndDestroy();
    expect(await send(REQUEST)).toEqual({ status: 200, body: "{}" });
    expect(through.asked).toHaveLength(2);
  });

  it("with TLS of its own, trusted by the same file → TLS within TLS", async () => {
    const served = await worker();
    const proxyPems = await selfSigned("localhost");
    const both = join(folder.path, "both.pem");
    writeFileSync(both, `${pems.cert}\n${proxyPems.cert}`);
    const through = await proxy(({ join }) => join(), proxyPems);
    const origin = `https://${WORKER_NAME}:${served.port}`;
    const environment = { HTTPS_PROXY: `https://localhost:${through.port}` };
    const outbound = { proxy: proxyTo(origin, environment), trust: authorities(both, {}) };
    const { send, close } = httpTransport(origin, LONG_MS, outbound);
    closing.push(close);
    await send(REQUEST);
    expect(await send(REQUEST)).toEqual({ status: 200, body: "{}" });
    expect(through.asked).toHaveLength(1);
    await expect(transport(environment.HTTPS_PROXY, served.port).send(REQUEST)).rejects.toThrow(
      /^the proxy https:\/\/localhost:\d+ does not answer as a proxy does: no trusted authority has signed/,
    );
  });

  it("a 200 that arrives byte by byte, with many headers → the same", async () => {
    const served = await worker();
    const through = await proxy(({ socket, join }) => {
      const write = socket.write.bind(socket);
      socket.write = (chunk: string) => {
        socket.write = write;
        for (const byte of chunk.replace("\r\n", `\r\nVia: ${"x".repeat(15_000)}\r\n`)) write(byte);
        return true;
      };
      join();
    });
    expect(await transport(url(through), served.port).send(REQUEST)).toEqual({ status: 200, body: "{}" });
  });
});

describe("a proxy that opens no tunnel → the proxy is named, and its answer is not taken for the Worker's", () => {
  const rollcall = JSON.stringify({ phase: "registered", ready: true, ticket: "t", reportInMs: 1 });
  const withBody = (status: string, headers = "") =>
    answer(`HTTP/1.1 ${status}\r\n${headers}content-length: ${rollcall.length}\r\n\r\n${rollcall}`);
  test.each<[situation: string, onConnect: (asked: Asked) => void, credentials: string, said: RegExp]>([
    ["407, without credentials", withBody("407 X"), "", /asks for a name and password \(407\)$/],
    [
      "407, with credentials",
      withBody("407 X", 'Proxy-Authenticate: Negotiate\r\nProxy-Authenticate: Basic realm="x"\r\n'),
      "edge:Secret@",
      /does not take this name and password \(407\)$/,
    ],
    [
      "407 without Basic",
      withBody("407 X", "Proxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\n"),
      "edge:Secret@",
      /does not take Basic authentication \(407\)$/,
    ],
    [
      "401, with credentials",
      withBody("401 X"),
      "edge:Secret@",
      /does not take this name and password \(401\)$/,
    ],
    ["403", withBody("403 X"), "", /refuses to connect to worker\.test:1 \(403\)$/],
    ["500", withBody("500 X"), "", /cannot connect to worker\.test:1 \(500\)$/],
    ["502", withBody("502 X"), "", /cannot connect to worker\.test:1 \(502\)$/],
    ["503", withBody("503 X"), "", /cannot connect to worker\.test:1 \(503\)$/],
    ["a web server's 405", withBody("405 X"), "", /answers HTTP 405 to CONNECT worker\.test:1$/],
    ["a status below 200", withBody("199 X"), "", /answers HTTP 199 to CONNECT worker\.test:1$/],
    ["a status above 299", withBody("300 X"), "", /answers HTTP 300 to CONNECT/],
    ["a redirect", withBody("302 X", "location: /\r\n"), "", /answers HTTP 302 to CONNECT/],
    ["a 200 and then HTTP", withBody("200 OK"), "edge:Secret@", /answers instead of worker\.test:1$/],
    [
      "no HTTP",
      answer("SSH-2.0-OpenSSH\r\n"),
      "",
      /does not answer as a proxy does: the answer is not HTTP: .+$/,
    ],
    [
      "ends",
      ({ socket }) => void socket.end(),
      "",
      /does not answer as a proxy does: the connection was closed .+$/,
    ],
    [
      "resets",
      ({ socket }) => void socket.resetAndDestroy(),
      "",
      /does not answer as a proxy does: .*\(ECONNRESET\)$/,
    ],
    [
      "headers of more than 16 KiB",
      answer(`HTTP/1.1 200 OK\r\nx: ${"x".repeat(16_384)}\r\n\r\n`),
      "",
      /does not answer as a proxy does: the answer is not HTTP: .*Header overflow\)$/,
    ],
    [
      "headers without end",
      ({ socket }) => {
        const flood = () => {
          while (!socket.destroyed && socket.write(`x: ${"x".repeat(1000)}\r\n`));
        };
        socket.write("HTTP/1.1 200 OK\r\n");
        socket.on("drain", flood);
        flood();
      },
      "",
      /the answer is not HTTP: .*Header overflow\)$/,
    ],
  ])("%s", async (_situation, onConnect, credentials, said) => {
    const through = await proxy(onConnect);
    const failure: unknown = await transport(url(through, credentials), 1)
      .send(REQUEST)
      .catch((error: unknown) => error);
    const message = (failure as Error).message;
    expect(message).toMatch(said);
    expect(message.startsWith(`the proxy ${url(through)} `)).toBe(true);
    expect(message).not.toContain("Secret");
    expect(through.asked).toHaveLength(1);
    await Promise.all(through.asked.map(({ socket }) => gone(socket)));
  });

  it("a Worker at an IPv6 address → requested in brackets", async () => {
    const through = await proxy(answer("HTTP/1.1 403 X\r\n\r\n"));
    const origin = "https://[2001:db8::1]";
    const outbound = { proxy: proxyTo(origin, { HTTPS_PROXY: url(through) }), trust: undefined };
    const { send, close } = httpTransport(origin, LONG_MS, outbound);
    closing.push(close);
    await expect(send(REQUEST)).rejects.toThrow(/refuses to connect to \[2001:db8::1\]:443 \(403\)$/);
    expect(through.asked[0]?.head).toMatch(
      /^CONNECT \[2001:db8::1\]:443 HTTP\/1\.1\r\nhost: \[2001:db8::1\]:443\r\n/,
    );
  });

  it("no listener, or no such name → it cannot be reached", async () => {
    const through = await proxy(() => undefined);
    through.close();
    await expect(transport(url(through), 1).send(REQUEST)).rejects.toThrow(
      /^the proxy http:\/\/127\.0\.0\.1:\d+ cannot be reached: no program listens .* \(ECONNREFUSED 127\.0\.0\.1:\d+\)$/,
    );
    await expect(transport("http://edge:Secret@proxy.test:3128", 1).send(REQUEST)).rejects.toThrow(
      /^the proxy http:\/\/proxy\.test:3128 cannot be reached: DNS does not .* \(E[A-Z_]+ proxy\.test\)$/,
    );
  });

  it("https:// to a proxy without TLS → an error of one line", async () => {
    const plain = await listening(createServer((socket) => void socket.end("HTTP/1.1 400 X\r\n\r\n")));
    closing.push(plain.close);
    await expect(transport(`https://127.0.0.1:${plain.port}`, 1).send(REQUEST)).rejects.toThrow(
      /^the proxy https:\/\/127\.0\.0\.1:\d+ does not answer as a proxy does: .+$/,
    );
  });
});

describe("one deadline for proxy and Worker together", () => {
  test.each<[situation: string, onConnect: (asked: Asked) => void]>([
    ["never answers", () => undefined],
    ["stops within its answer", answer("HTTP/1.1 200 OK\r\nVia:")],
  ])("a proxy that %s → the proxy is late, and its connection is dropped", async (_situation, onConnect) => {
    const pass = heldTimers();
    const through = await proxy(onConnect);
    const late = expect(transport(url(through), 1).send(REQUEST)).rejects.toThrow(
      `the proxy ${url(through)} has opened no connection within 30 s`,
    );
    await eventually(() => through.asked).toHaveLength(1);
    pass(LONG_MS);
    await late;
    await Promise.all(through.asked.map(({ socket }) => gone(socket)));
  });

  test.each<[situation: string, after: (asked: Asked, reached: () => void) => void]>([
    [
      "a tunnel that leads nowhere",
      ({ socket }, reached) => {
        // The bytes after CONNECT are the client's TLS greeting.
        socket.once("data", reached);
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
      },
    ],
    ["a Worker that never answers", ({ join }) => join()],
  ])("%s → no answer, through the proxy", async (_situation, after) => {
    const pass = heldTimers();
    const reached = Promise.withResolvers<void>();
    const served = await worker(() => reached.resolve());
    const through = await proxy((asked) => after(asked, reached.resolve));
    const late = expect(transport(url(through), served.port).send(REQUEST)).rejects.toThrow(
      `no answer within 30 s (through the proxy ${url(through)})`,
    );
    await reached.promise;
    pass(LONG_MS);
    await late;
    await Promise.all(through.asked.map(({ socket }) => gone(socket)));
  });

  it("close() while the proxy waits → the request fails at once, and no connection stays open", async () => {
    let arrived = () => {};
    const there = new Promise<void>((resolve) => (arrived = resolve));
    const through = await proxy(() => arrived());
    const { send, close } = transport(url(through), 1);
    await Promise.all([there.then(close), expect(send(REQUEST)).rejects.toThrow("was given up")]);
    await Promise.all(through.asked.map(({ socket }) => gone(socket)));
  });
});

describe("TLS ends at the Worker, whatever is in between", () => {
  it("a certificate for another name, of a trusted authority → refused", async () => {
    const served = await worker(undefined, elsewhere);
    const through = await proxy(({ join }) => join());
    await expect(transport(url(through), served.port).send(REQUEST)).rejects.toThrow(
      /^the server's certificate is for other host names: .*elsewhere\.test\) \(through the proxy http:.*\)$/,
    );
  });

  it("a proxy that answers in place of the Worker, with an authority that is not trusted → refused", async () => {
    const requests: string[] = [];
    const served = await worker((request, response) => {
      requests.push(request.url ?? "");
      response.end("{}");
    });
    const through = await proxy(({ join }) => join());
    await expect(transport(url(through), served.port, { trusting: false }).send(REQUEST)).rejects.toThrow(
      /^no trusted authority has signed .* \(through the proxy http:.*\)$/,
    );
    expect(requests).toEqual([]);
    await Promise.all(through.asked.map(({ socket }) => gone(socket)));
  });

  it("the proxy's half-open end within the handshake → a failure, not a hang", async () => {
    const through = await proxy(({ socket }) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.once("data", () => socket.end());
    });
    await expect(transport(url(through), 1).send(REQUEST)).rejects.toThrow(/\(through the proxy http:.*\)$/);
  });
});
