// Tests the upgrade route: the requests that open a socket at a gateway, the headers that the Worker sends to the
// gateway, and the answer to the machine if the gateway refuses the socket.
import { createExecutionContext, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { makeMachineKey } from "../../../../node-shim/identity/identity.ts";
import type { Problem } from "../../../../shared/protocol/answers.ts";
import { type Environment, registry } from "../../../../worker/env.ts";
import { GATEWAY_OPENING } from "../../../../worker/gateway/gateway-object.ts";
import worker from "../../../../worker/index.ts";
import { findPin } from "../../../../worker/registry/pins.ts";
import {
  type ConnectingMachine,
  connecting,
  type ConnectingWish,
  kidOf,
  SESSION,
} from "../../support/connecting.ts";
import { ORIGIN } from "../../support/constants.ts";
import { enrolled, facts, HEALTHY, shimOf } from "../../support/machine.ts";

const NAME = "gateways-edge-1";
const key = await makeMachineKey();
const other = await makeMachineKey();
const machine: ConnectingMachine = { name: NAME, key, kid: await kidOf(NAME, key) };

/** Returns an environment whose gateway refuses with this text, or accepts the socket if the text is null. */
function behind(answer: string | null) {
  const asked: { number: string; request: Request }[] = [];
  const failures: string[] = [];
  const answered = () => {
    if (answer !== null) return new Response(answer, { status: 409 });
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    server.accept();
    return new Response(null, { status: 101, webSocket: client });
  };
  const GATEWAYS = {
    getByName: (number: string) => ({
      fetch: (request: Request) => {
        asked.push({ number, request });
        return Promise.resolve(answered());
      },
    }),
  };
  const FAILURES = {
    limit: (counted: { key: string }) => {
      failures.push(counted.key);
      return Promise.resolve({ success: failures.length < 3 });
    },
  };
  const environment = { ...env, GATEWAYS, FAILURES } as unknown as Environment;
  return { asked, failures, environment };
}

const ADDRESS = { "cf-connecting-ip": "192.0.2.77" };

function sendTo(environment: Environment, path: string, init: RequestInit): Promise<Response> | Response {
  return worker.fetch(new Request(ORIGIN + path, init), environment, createExecutionContext());
}

async function opening(
  wish: ConnectingWish & { headers?: Record<string, string>; method?: string; query?: string } = {},
  { answer = null as string | null, of = machine, more = {} } = {},
) {
  const { path, headers, ticket } = await connecting(of, wish);
  const { environment, ...seen } = behind(answer);
  const asked = wish.query === undefined ? path : path.replace(/\?.*/, wish.query);
  const { method = "GET" } = wish;
  const init = { method, headers: { ...headers, ...ADDRESS, ...wish.headers } };
  const response = await sendTo({ ...environment, ...more }, asked, init);
  const text = response.webSocket ? "" : await response.text();
  const problem = (text.startsWith("{") ? JSON.parse(text) : {}) as Partial<Problem>;
  return { ...seen, response, problem, ticket };
}

it("a valid request → its gateway gets all that the Worker has verified, and the socket is passed on", async () => {
  const { response, asked, ticket, failures } = await opening();
  expect(response.status).toBe(101);
  expect(response.webSocket).not.toBeNull();
  response.webSocket?.accept();
  response.webSocket?.close();
  expect(asked.map(({ number }) => number)).toEqual(["7"]);
  const { headers } = asked[0]!.request;
  expect(headers.get("upgrade")).toBe("websocket");
  expect(headers.get("authorization")).toBeNull();
  expect(JSON.parse(headers.get(GATEWAY_OPENING) ?? "")).toEqual({
    gateway: 7,
    name: NAME,
    kid: machine.kid,
    session: SESSION,
    ticket,
    address: "192.0.2.77",
  });
  expect(failures).toEqual([]);
});

it("headers that a client sends for the gateway itself are not passed on", async () => {
  const { response, asked } = await opening({ headers: { [GATEWAY_OPENING]: '{"name":"edge-2"}' } });
  response.webSocket?.accept();
  response.webSocket?.close();
  expect(asked[0]?.request.headers.get(GATEWAY_OPENING)).toContain(NAME);
});

describe("a ticket", () => {
  it.each([
    ["of two minutes ago → good", 120_000, 101],
    ["of more → 401", 120_001, 401],
  ])("%s", async (_, ageMs, status) => {
    try {
      const { response } = await opening({ madeMs: Date.now() - ageMs });
      response.webSocket?.accept();
      response.webSocket?.close();
      expect(response.status).toBe(status);
    } finally {
    }
  });
});

describe("a request without a valid proof → 401, counts as a failure, and reaches no gateway", () => {
  it.each<[situation: string, wish: Parameters<typeof opening>[0] | (() => Promise<ConnectingWish>)]>([
    ["no authorization", { headers: { authorization: "" } }],
    ["not a JWT", { headers: { authorization: "Bearer nonsense" } }],
    ["no kid", { header: { kid: undefined } }],
    [
      "a kid that this Worker did not make",
      async () => {
        const kid = `2.${key.thumbprint}.e.mac`;
        return { header: { kid }, ticket: (await connecting({ ...machine, kid })).ticket };
      },
    ],
    ["another name's kid", async () => ({ header: { kid: await kidOf("gateways-edge-2", key) } })],
    ["another kid of its own", async () => ({ header: { kid: `${machine.kid}x` } })],
    ["no ticket of ours", { ticket: "x" }],
    ["an empty ticket", { ticket: "" }],
    ["another gateway's ticket", async () => ({ gateway: 8, ticket: (await connecting(machine)).ticket })],
    [
      "another machine's ticket",
      async () => {
        const name = "gateways-edge-2";
        return { ticket: (await connecting({ name, key: other, kid: await kidOf(name, other) })).ticket };
      },
    ],
    ["another key's signature", { by: other }],
    ["another key, in its header too", { by: other, header: { jwk: other.publicJwk } }],
    ["no key in its header", { header: { jwk: undefined } }],
    ["another type", { header: { typ: "rollcall-report+jwt" } }],
    ["another subject", { claims: { sub: "gateways-edge-2" } }],
    ["another method", { claims: { method: "POST" } }],
    ["another path", { claims: { path: "/v1/gateways/8/nodes/gateways-edge-1" } }],
    ["several audiences", { claims: { aud: [ORIGIN] } }],
    ["no audience", { claims: { aud: undefined } }],
    ["no session", { claims: { session: undefined } }],
    ["a session of another length", { claims: { session: SESSION.slice(1) } }],
  ])("%s", async (_, wish) => {
    const { response, problem, asked, failures } = await opening(
      typeof wish === "function" ? await wish() : wish,
    );
    expect([response.status, problem.reason]).toEqual([401, "unauthenticated"]);
    expect(asked).toEqual([]);
    expect(failures).toEqual(["192.0.2.77"]);
  });
});

describe("another refused request → no failure, and reaches no gateway", () => {
  it.each<[situation: string, wish: Parameters<typeof opening>[0], expected: Partial<Problem>]>([
    ["a name that is none", { path: "/v1/gateways/7/nodes/Upper" }, { status: 400, reason: "invalid-name" }],
    ["no upgrade", { headers: { upgrade: "" } }, { status: 426, reason: "upgrade-required" }],
    ["another upgrade", { headers: { upgrade: "h2c" } }, { status: 426, reason: "upgrade-required" }],
    ["no ticket", { query: "" }, { status: 400, reason: "invalid-query", parameter: "t" }],
    ["two tickets", { query: "?t=a&t=b" }, { status: 400, reason: "invalid-query", parameter: "t" }],
    ["an unknown parameter", { query: "?t=a&u=b" }, { status: 400, reason: "invalid-query", parameter: "u" }],
    ["another origin", { claims: { aud: "https://before.test" } }, { status: 401, reason: "wrong-origin" }],
    ...["0", "07", "+7", "7.0", "1e1", "-7", "x", "7%20", "1234567890"].map(
      (number): [string, Parameters<typeof opening>[0], Partial<Problem>] => [
        `the number ${number}`,
        { path: `/v1/gateways/${number}/nodes/${NAME}` },
        number.includes("%") ? { status: 400, reason: "invalid-name" } : { status: 404, reason: "not-found" },
      ],
    ),
  ])("%s", async (_, wish, expected) => {
    const { problem, asked, failures } = await opening(wish);
    expect(problem).toMatchObject(expected);
    expect([asked, failures]).toEqual([[], []]);
  });

  it("a HEAD → 426", async () => {
    const { response, asked } = await opening({ method: "HEAD" });
    expect([response.status, asked]).toEqual([426, []]);
  });

  it("a Worker that is not configured → 503", async () => {
    const silent = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const { problem, asked } = await opening({}, { more: { ORIGINS: "" } });
    expect(problem).toMatchObject({ status: 503, reason: "not-configured" });
    expect(asked).toEqual([]);
    silent.mockRestore();
  });

  it("the expected origin is not named, and only the key's owner learns of a wrong one", async () => {
    const claims = { aud: "https://before.test" };
    const { problem } = await opening({ claims });
    expect(JSON.stringify(problem)).not.toContain("rollcall.test");
    expect((await opening({ claims, by: other })).problem.reason).toBe("unauthenticated");
  });
});

it("a gateway number that is not assigned → no object is created", async () => {
  const before = await listDurableObjectIds(env.GATEWAYS);
  for (const gateway of [424_242, 999_999_999]) {
    const { path, headers } = await connecting(machine, {
      gateway,
      ticket: (await connecting(machine)).ticket,
    });
    const response = await sendTo(env, path, { headers });
    expect(response.status).toBe(401);
  }
  expect(await listDurableObjectIds(env.GATEWAYS)).toEqual(before);
});

it("an address that fails too often → 429", async () => {
  const { environment } = behind(null);
  const { path, headers } = await connecting(machine, { ticket: "x" });
  const init = { headers: { ...headers, "cf-connecting-ip": "192.0.2.78" } };
  const statuses = [];
  for (let request = 0; request < 3; request++) statuses.push((await sendTo(environment, path, init)).status);
  expect(statuses).toEqual([401, 401, 429]);
});

describe("a gateway that refuses the socket", () => {
  it("the ticket was used → 401, which counts as a failure", async () => {
    const { problem, failures } = await opening({}, { answer: "used ticket" });
    expect(problem).toMatchObject({ status: 401, reason: "unauthenticated" });
    expect(failures).toHaveLength(1);
  });

  it("it has sent the machine away → 429, for the same time", async () => {
    const { response, problem, failures } = await opening({}, { answer: "sent away 599" });
    expect(problem).toMatchObject({ status: 429, reason: "rate-limited", retryAfterSeconds: 599 });
    expect(response.headers.get("retry-after")).toBe("599");
    expect(failures).toEqual([]);
  });

  it.each(["", "sent away", "sent away soon", "sent away 5 or 6", "not sent away 5", "not built yet"])(
    "with an unknown reason: %j → 500",
    async (answer) => {
      const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
      expect((await opening({}, { answer })).problem).toMatchObject({ status: 500, reason: "internal" });
      expect(String(log.mock.calls)).toContain("gateway 7 answers");
      log.mockRestore();
    },
  );
});

describe("a full gateway", () => {
  const pinOf = (name: string) =>
    runInDurableObject(registry(env), (_, { storage }) => findPin(storage.sql, name));
  const settledOf = (name: string) =>
    runInDurableObject(env.NODES.getByName(name), (_, { storage }) => {
      const [row] = storage.sql.exec<{ value: string }>("SELECT value FROM records WHERE key = 'settled'");
      return row && (JSON.parse(row.value) as { gateway: number });
    });

  it("→ 503, and the registry and the machine's object switch to another gateway", async () => {
    const of = await enrolled("gateways-full");
    await shimOf(of)(facts(of.name), HEALTHY);
    const gateway = (await pinOf(of.name))!.gateway!;
    expect((await settledOf(of.name))?.gateway).toBe(gateway);
    const { response, problem, failures } = await opening({ gateway }, { answer: "full", of });
    expect(problem).toMatchObject({ status: 503, reason: "try-another", retryAfterSeconds: 1 });
    expect(response.headers.get("retry-after")).toBe("1");
    expect(failures).toEqual([]);
    const another = (await pinOf(of.name))!.gateway!;
    expect(another).not.toBe(gateway);
    expect((await settledOf(of.name))?.gateway).toBe(another);
    // A second request for the former, full gateway does not change the assignment again.
    await opening({ gateway }, { answer: "full", of });
    expect((await pinOf(of.name))?.gateway).toBe(another);
  });

  it("→ 503 without a change for a kid whose key does not have the name", async () => {
    const name = "gateways-taken";
    await shimOf(await enrolled(name))(facts(name), HEALTHY);
    const { gateway } = (await pinOf(name))!;
    const thief = { name, key: other, kid: await kidOf(name, other) };
    const { problem } = await opening({ gateway: gateway! }, { answer: "full", of: thief });
    expect(problem.reason).toBe("try-another");
    expect((await pinOf(name))?.gateway).toBe(gateway);
    expect((await settledOf(name))?.gateway).toBe(gateway);
  });

  it("→ 503, and no object is created for an unknown name", async () => {
    const before = (await listDurableObjectIds(env.NODES)).length;
    expect((await opening({}, { answer: "full" })).problem.reason).toBe("try-another");
    expect(await listDurableObjectIds(env.NODES)).toHaveLength(before);
  });
});
