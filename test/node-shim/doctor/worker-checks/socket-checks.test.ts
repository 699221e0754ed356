// Tests doctor's findings about sockets: whether the network lets sockets through to the Worker, and how the shim
// reports at present.
import { createServer, type RequestListener } from "node:http";
import type { Duplex } from "node:stream";
import { afterEach, describe, expect, it, test } from "vitest";
import { checkSocket, checkWorker, transportFindings } from "../../../../node-shim/doctor/worker-checks.ts";
import { type WorkerProbes, workerProbes } from "../../../../node-shim/doctor/worker-probes.ts";
import { DIRECTLY } from "../../../../node-shim/worker-link/outbound.ts";
import type { StatusFile } from "../../../../node-shim/status/status-file.ts";
import { listening } from "../../worker-link/connect-proxy.ts";
import { at, WELL } from "../../status/status.ts";

let closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing) close();
  closing = [];
});

/** Starts a server that answers an upgrade with this text, and other requests with `listener`. */
async function server(upgraded: string | null, listener: RequestListener): Promise<URL> {
  const http = createServer(listener);
  if (upgraded !== null)
    http.on("upgrade", (_request, socket: Duplex) => void socket.end(upgraded.replaceAll("\n", "\r\n")));
  const { port, close } = await listening(http);
  closing.push(close);
  return new URL(`http://127.0.0.1:${port}`);
}

const problem = (status: number, reason: string) => {
  const body = JSON.stringify({ type: "about:blank", status, title: "Refused", detail: "Do this.", reason });
  return `HTTP/1.1 ${status} X\ncontent-length: ${body.length}\n\n${body}`;
};

describe("an upgrade without credentials gets an answer → the finding", () => {
  test.each<[situation: string, upgraded: string | null, level: string, message: RegExp]>([
    [
      "by the Worker",
      problem(401, "unauthenticated"),
      "ok",
      /^the request that opens a socket reaches the Worker$/,
    ],
    ["by a Worker that is busy", problem(429, "rate-limited"), "ok", /reaches the Worker$/],
    ["by a Worker without sockets", problem(404, "not-found"), "ok", /^this Worker has no sockets/],
    [
      "by the Worker, which got no upgrade",
      problem(426, "upgrade-required"),
      "warn",
      /: a proxy on the way does not pass WebSockets on: it takes the upgrade out of the request$/,
    ],
    [
      "by a proxy",
      "HTTP/1.1 403 X\ncontent-length: 2\n\nno",
      "warn",
      /^reports go by HTTP, since no socket can be opened: a proxy on the way .*: it answers HTTP 403$/,
    ],
    ["by a page", null, "warn", /: it answers HTTP 200$/],
    ["by nothing", "", "warn", /: the upgrade failed: /],
  ])("%s", async (_, upgraded, level, message) => {
    const url = await server(upgraded, (_request, response) => response.end("<html>"));
    const finding = await checkSocket(url, workerProbes(), DIRECTLY);
    expect(finding).toMatchObject({
      check: "WebSocket",
      level,
      message: expect.stringMatching(message) as string,
    });
    expect(finding.todo === undefined).toBe(level === "ok");
  });
});

it("not checked if no socket is wanted, or if an earlier check failed", async () => {
  const upgrade = () => Promise.reject(new Error("looked at"));
  const probes: WorkerProbes = {
    lookup: async () => ["192.0.2.1"],
    tunnel: async () => undefined,
    certificate: async () => ({ endsMs: 90 * 86_400_000, names: "", distrust: null }),
    livez: async () => ({ status: 200, body: "ok", dateMs: null }),
    refusal: async () => "challenge-stale",
    upgrade,
    now: () => 0,
  };
  const checks = async (probes: WorkerProbes, wantsSockets: boolean) =>
    (await checkWorker("https://a.example", probes, DIRECTLY, wantsSockets)).map(({ check }) => check);
  expect(await checks(probes, false)).toEqual(["DNS", "TLS", "Worker", "clock", "origin"]);
  const failing = { ...probes, refusal: async () => "wrong-origin" };
  expect(await checks(failing, true)).toEqual(["DNS", "TLS", "Worker", "clock", "origin"]);
  await expect(checks(probes, true)).rejects.toThrow("looked at");
});

describe("the shim's status → how its reports travel", () => {
  const FAULT = "a proxy on the way does not pass WebSockets on: it answers HTTP 403";
  test.each<[situation: string, transport: StatusFile["transport"], found: string[]]>([
    ["of an earlier shim", undefined, []],
    ["a socket", { via: "socket", since: at(-60), choice: "auto" }, ["ok: reports go over a socket"]],
    [
      "HTTP, as configured",
      { via: "http", since: at(-60), choice: "http" },
      ["ok: reports go by HTTP (--transport http)"],
    ],
    [
      "HTTP, no socket yet",
      { via: "http", since: at(-60), choice: "auto" },
      ["ok: reports go by HTTP; nothing prevents a socket"],
    ],
    [
      "HTTP, no socket available",
      { via: "http", since: at(-60), choice: "auto", fault: FAULT },
      [`warn: reports go by HTTP, since there is no socket: ${FAULT}`],
    ],
  ])("%s", (_, transport, found) => {
    const findings = transportFindings({ ...WELL, ...(transport && { transport }) });
    expect(findings.map(({ level, message }) => `${level}: ${message}`)).toEqual(found);
  });
});
