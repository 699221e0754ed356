// Tests that the API's description matches the Worker: calls each described route, and expects the described answer.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as z from "zod/mini";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { DESCRIBED, type DescribedRoute, PROBLEM, refusalsOf } from "../../infra/openapi/document.ts";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import type { Transport } from "../../node-shim/worker-link/exchange.ts";
import { reporter } from "../../node-shim/worker-link/reporter.ts";
import { askForUpgrade, enrol, leave, rotate } from "../../node-shim/worker-link/requests.ts";
import { sha256Base64url, signReport } from "../../node-shim/worker-link/sign.ts";
import { JWT_TYPES } from "../../shared/protocol/claims.ts";
import type { Problem } from "../../shared/protocol/answers.ts";
import { ANSWER_TYPE } from "../../shared/protocol/asking.ts";
import type { MachinesAnswer } from "../../shared/protocol/fleet-answers.ts";
import type { OutagesAnswer } from "../../shared/protocol/outages.ts";
import type {
  BackupAnswer,
  CreatedOperator,
  SessionsAnswer,
} from "../../shared/protocol/administration-answers.ts";
import { fleetIndex, registry } from "../../worker/env.ts";
import { GatewayObject } from "../../worker/gateway/gateway-object.ts";
import { NodeObject } from "../../worker/machine/node-object.ts";
import { connecting, kidOf } from "../worker/support/connecting.ts";
import { pageAfter } from "../worker/support/backup.ts";
import { ADMIN_SECRET, ORIGIN, VIEW_SECRET } from "../worker/support/constants.ts";
import {
  enrolled,
  enrolling,
  facts,
  HEALTHY,
  indexIsUpdated,
  mintToken,
  operator,
  send,
  shimOf,
} from "../worker/support/machine.ts";
import { stateEntry, updateOf } from "../worker/support/made-up-fleet.ts";

/** The name of a machine that has reported. */
const NAME = "described";
const NOBODY = "described-nobody";

/** For each route with parameters a valid query that contains all of them. */
const QUERIES: Record<string, string> = {
  listMachines:
    "state=ready&phase=registered&condition=Ready&selector=site&version=0.1.0&address=203.0.113.7&beside=described&token=x" +
    "&unused=false&text=x&since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z&sort=-since&fields=name&limit=1&format=json",
  getFleetHistory:
    "since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z&kind=state&name=x&text=x&limit=1&before=1&format=json",
  listOutages: "since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z&before=open.1&limit=1",
  getOutage: "after=a&limit=1",
  openFeed: "cursor=0123456789abcdef_1",
  getReadiness: "verbose",
  getNodeHistory: "since=2026-01-01T00:00:00Z&kind=registration&limit=1000&before=1000",
  getNodeTimeline: "since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z",
  getAudit: `by=machines&target=${NAME}&limit=1&before=1000000`,
  getClusterHistory: "limit=1&before=1",
  listRevocations: `after=1.${"t".repeat(43)}&limit=1`,
  listSilentNodes: "days=3650",
  getBulk: "after=a&limit=1",
  // Replaced before all tests, since the Worker signs its cursors.
  getBackup: "after=x",
  listOriginMachines: `origin=${encodeURIComponent(ORIGIN)}&after=a&limit=1000`,
};

const RECEIVER_URL = "https://hooks.example.com/";

const RULES = {
  apiVersion: "nfd.k8s-sigs.io/v1alpha1",
  kind: "NodeFeatureRule",
  metadata: { name: "described" },
  spec: { rules: [{ name: "any", labels: { described: "true" } }] },
};

/** For each route with a body a valid body. */
const BODIES: Readonly<Record<string, unknown>> = {
  mintToken: { names: "described-*", uses: 1, expiresInSeconds: 60, labels: { site: "a" } },
  askMachine: { name: "disks", parameters: {} },
  clearCondition: { condition: "KernelDeadlock" },
  approveMachine: { thumbprint: "t".repeat(43) },
  rejectMachine: { thumbprint: "t".repeat(43) },
  changeNode: { runtime: "none" },
  createOperator: { name: "described", role: "view", expiresInSeconds: 60 },
  actOnMany: { action: "register", names: ["described"], dryRun: true },
  addReceiver: { name: "described-added", url: RECEIVER_URL },
  changeReceiver: { delaySeconds: 60 },
  putRollout: { version: "0.2.0", percent: 10, selector: "site=a", mostSilentPercent: 1, atOnce: 5 },
  putRules: { objects: [RULES], base: 1, mayChange: 1 },
  tryRules: { objects: [RULES], after: "" },
  undoRules: { base: 1 },
  continueRules: { mayChange: 1 },
  signIn: { secret: ADMIN_SECRET },
  importPage: {
    rollcallBackup: 1,
    id: "described",
    page: 1,
    isLast: false,
    at: "2026-01-01T00:00:00Z",
    deployment: "rollcall",
    table: "deployment",
    columns: [],
    rows: [],
    mac: "",
  },
  addMute: { until: new Date(Date.now() + 60_000).toISOString() },
};

interface Asking {
  name?: string;
  receiver?: string;
  id?: string;
  body?: unknown;
}

/** For each route a function that creates what the route needs to succeed; absent: the machine NAME is enough. */
const PREPARED: Readonly<Record<string, () => Promise<Asking>>> = {
  getOutage: async () => {
    for (const index of [970_001, 970_002]) {
      const silent = { state: "silent", silentSinceMs: 1, address: "198.51.100.97" } as const;
      await fleetIndex(env).tell(updateOf(index, 1, silent));
    }
    const { outages } = (await operator<OutagesAnswer>("GET", "/v1/outages?limit=1000")).body;
    return { id: String(outages.find(({ network }) => network === "198.51.100.97")?.id) };
  },
  revokeToken: async () => (await operator<{ id: string }>("POST", "/v1/tokens", BODIES["mintToken"])).body,
  revokeOperator: async () => {
    await operator("POST", "/v1/operators", {
      name: "described-revoked",
      role: "view",
      expiresInSeconds: 60,
    });
    return { id: "described-revoked" };
  },
  revokeSession: async () => {
    await operator("POST", "/v1/session", { secret: VIEW_SECRET });
    const { sessions } = (await operator<SessionsAnswer>("GET", "/v1/sessions")).body;
    return { id: sessions[0]?.id ?? "" };
  },
  importPage: async () => {
    const { body } = await operator<BackupAnswer>("GET", "/v1/backup");
    await noteImport(body.page.id, 1);
    return { body: body.page };
  },
  abandonImport: async () => {
    await noteImport("described", 0);
    return {};
  },
  stopRollout: async () => (await operator("PUT", "/v1/rollout", BODIES["putRollout"])).body,
  endRollout: async () => (await operator("PUT", "/v1/rollout", BODIES["putRollout"])).body,
  getRules: () => rules("done"),
  putRules: () => rules("done"),
  undoRules: () => rules("done"),
  continueRules: () => rules("stopped"),
  getBulk: begun,
  stopBulk: begun,
  askMachine: async () => {
    vi.spyOn(GatewayObject.prototype, "fetch").mockImplementationOnce(async () => {
      return new Response('{"end":{"reason":"complete"}}\n', { headers: { "content-type": ANSWER_TYPE } });
    });
    return withGateway();
  },
  listQuestions: () => {
    vi.spyOn(GatewayObject.prototype, "questionsOf").mockReturnValueOnce(["disks"]);
    return withGateway();
  },
  approveMachine: () => waiting("described-approved"),
  rejectMachine: () => waiting("described-rejected"),
  revokeMachine: () => enrolled("described-revoked"),
  forgetMachine: () => enrolled("described-forgotten"),
  changeReceiver: () => receiver("described-changed"),
  removeReceiver: () => receiver("described-removed"),
  testReceiver: () => receiver("described-tested"),
  resendLetter: () => receiver("described-resent"),
  endMute: async () => {
    const { body } = await operator<{ id: number }>("POST", "/v1/mutes", BODIES["addMute"]);
    return { id: String(body.id) };
  },
  clearCondition: async () => {
    const machine = await enrolled("described-held");
    const problems = { start: "a", events: [], held: { KernelDeadlock: "a.1" } };
    await shimOf(machine)({ ...facts(machine.name), problems }, HEALTHY);
    return { name: machine.name };
  },
  believeMachine: async () => {
    const machine = await enrolled("described-twice");
    const shims = ["one", "other"].map((startId) => shimOf(machine, startId));
    for (const report of [...shims, ...shims]) await report(facts(machine.name), HEALTHY);
    return { name: machine.name };
  },
};

/** Records an import in the registry's table, since a deployment with machines refuses an import. */
async function noteImport(id: string, isDone: 0 | 1): Promise<void> {
  await runInDurableObject(registry(env), (_, { storage }) => {
    storage.sql.exec("INSERT OR REPLACE INTO imports VALUES (1, ?, 'admin', 0, 2, ?)", id, isDone);
  });
}

/** Lets the machine have a gateway, as one with a socket. */
async function withGateway(): Promise<Asking> {
  const where = { gateway: 1, silentSinceMs: null, mayBeAsked: true };
  vi.spyOn(NodeObject.prototype, "whereToAsk").mockReturnValueOnce(where);
  return {};
}

/** Makes a set of rules the only one, of revision 1. */
async function rules(state: "done" | "stopped"): Promise<Asking> {
  await runInDurableObject(registry(env), (_, { storage: { sql } }) => {
    sql.exec("INSERT OR REPLACE INTO rule_sets VALUES (1, ?, 0, 'admin')", JSON.stringify([RULES]));
    sql.exec("DELETE FROM rule_sets WHERE revision > 1");
    sql.exec("INSERT OR REPLACE INTO rules_rollout VALUES (1, ?, '', 1, 1, 0, 0, 0, 0)", state);
  });
  return {};
}

/** Starts an action on many machines, and returns its ID for the path of a route. */
async function begun(): Promise<Asking> {
  const asked = { action: "register", names: [NAME] };
  const { body } = await operator("POST", "/v1/bulk", { ...asked, dryRun: true });
  const { confirmation } = body;
  return (await operator<{ id: string }>("POST", "/v1/bulk", { ...asked, confirmation })).body;
}

/** Adds a receiver with a dead delivery, and returns the name and the ID for the path of a route. */
async function receiver(name: string): Promise<Asking> {
  await operator("POST", "/v1/receivers", { name, url: RECEIVER_URL });
  const id = await runInDurableObject(fleetIndex(env), (_, { storage }) => {
    const insert =
      "INSERT INTO letters VALUES (NULL, ?, 'message', '{}', 0, 1, NULL, 'no luck') RETURNING id";
    return storage.sql.exec<{ id: number }>(insert, name).one().id;
  });
  return { receiver: name, id: String(id) };
}

async function waiting(name: string): Promise<Asking> {
  await enrolled(name);
  const key = await makeMachineKey();
  await enrolling(name, { joinToken: await mintToken({ names: name }), key });
  return { name, body: { thumbprint: key.thumbprint } };
}

/** The requests that machines sign. The shim's own code sends them. */
const SIGNED: Readonly<Record<string, (transport: Transport) => Promise<unknown>>> = {
  enrol: async (transport) => {
    const wish = { name: "described-enrolled", machineID: "m-1", systemUUID: "s-1", origin: ORIGIN };
    return enrol(transport, await makeMachineKey(), { ...wish, joinToken: await mintToken() });
  },
  report: async (transport) => {
    const machine = await enrolled("described-reporting");
    const shim = { ...machine, origin: ORIGIN, startId: "start-1", send: transport };
    return reporter({ ...shim, machineTime: () => new Date().toISOString() })(facts(machine.name), HEALTHY);
  },
  rotate: async (transport) => {
    const machine = await enrolled("described-rotating");
    return rotate(transport, { ...machine, origin: ORIGIN }, await makeMachineKey());
  },
  askForUpgrade: async (transport) => {
    const machine = await enrolled("described-upgrading");
    return askForUpgrade(transport, { ...machine, origin: ORIGIN }, "0.1.0");
  },
  answerQuestion: async (transport) => {
    const { name, key, kid } = await enrolled("described-answering");
    const body = JSON.stringify({ protocol: 1, parts: [] });
    const claims = { sub: name, aud: ORIGIN, body: sha256Base64url(body), ticket: "none", n: 1 };
    const authorization = `Bearer ${await signReport(key, kid, claims, JWT_TYPES.answer)}`;
    return transport({ method: "POST", path: `/v1/nodes/${name}/answers`, headers: { authorization }, body });
  },
  leave: async (transport) => leave(transport, { ...(await enrolled("described-leaving")), origin: ORIGIN }),
};

interface Sent extends Asking {
  query?: string;
  secret?: string | null;
  method?: string;
}

function ask({ id: route, path, method }: DescribedRoute, sent: Sent = {}): Promise<Response> {
  const { name = NAME, id = "x", query = QUERIES[route], secret = ADMIN_SECRET, body = BODIES[route] } = sent;
  const { receiver = NAME } = sent;
  const filled = path.replace("{name}", name).replace("{id}", id).replace("{receiver}", receiver);
  return send(query ? `${filled}?${query}` : filled, {
    method: sent.method ?? method,
    headers: {
      ...(secret !== null && { authorization: `Bearer ${secret}` }),
      ...(route === "openFeed" && { upgrade: "websocket" }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
}

/**
 * Expects the described answer. Parsing drops fields that the schema lacks, so the parsed answer must equal the
 * whole answer.
 */
async function expectAnswer({ answers }: DescribedRoute, response: Response): Promise<void> {
  response.webSocket?.accept();
  response.webSocket?.close();
  const text = await response.text();
  const answer = answers[response.status];
  expect(answer, `${response.status}: ${text}`).toBeDefined();
  if (!answer?.content) return expect(text).toBe("");
  const [type = ""] = response.headers.get("content-type")?.split(";") ?? [];
  expect(Object.keys(answer.content)).toContain(type);
  const described = answer.content[type]!;
  if (described === "text") return expect(text).not.toBe("");
  const body: unknown = JSON.parse(text);
  expect(z.parse(described.schema, body)).toEqual(body);
}

async function expectRefusal(
  route: DescribedRoute,
  response: Response,
  expected: Partial<Problem>,
): Promise<void> {
  const body: unknown = await response.json();
  expect(body).toMatchObject(expected);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  const refused = z.parse(PROBLEM.schema, body) as Problem;
  expect(refused.status).toBe(response.status);
  expect(refusalsOf(route)).toContain(refused.reason);
}

const called = (route: DescribedRoute): [string, DescribedRoute] => [`${route.method} ${route.path}`, route];
const OPERATORS = DESCRIBED.filter(({ who }) => who !== "machine" && who !== "anybody");
const some = (filter: (route: DescribedRoute) => unknown) => OPERATORS.filter(filter).map(called);

// The tests' receivers accept every delivery.
beforeAll(() => {
  vi.spyOn(globalThis, "fetch").mockImplementation(() => Promise.resolve(new Response("ok")));
});
// The fleet index is shared: other test files expect it without these machines.
afterAll(async () => {
  const { machines } = (await operator<MachinesAnswer>("GET", "/v1/machines?limit=1000&fields=name")).body;
  for (const { name = "" } of machines)
    if (/^described|97000\d$/.test(name)) await fleetIndex(env).remove(name, 99, "left");
  vi.restoreAllMocks();
  const { receivers } = (await operator<{ receivers: { name: string }[] }>("GET", "/v1/receivers")).body;
  for (const { name } of receivers) await operator("DELETE", `/v1/receivers/${name}`);
  const { mutes } = (await operator<{ mutes: { id: number }[] }>("GET", "/v1/mutes")).body;
  for (const { id } of mutes) await operator("DELETE", `/v1/mutes/${id}`);
  await runInDurableObject(registry(env), (_, { storage: { sql } }) => {
    for (const table of ["rule_sets", "rules_rollout"]) sql.exec(`DELETE FROM ${table}`);
  });
});

/** The secret of an operator who may ask questions. */
let asker = "";
beforeAll(async () => {
  const request = { name: "described-asker", role: "operator", expiresInSeconds: 3600 };
  asker = (await operator<CreatedOperator>("POST", "/v1/operators", request)).body.secret;
  QUERIES["getBackup"] = `after=${(await pageAfter(null)).body.next}`;
  await receiver(NAME);
  await shimOf(await enrolled(NAME))(facts(NAME), HEALTHY);
  await indexIsUpdated(NAME);
  // The index gets the address and a history line of NAME, as from the machine's own object.
  const told = updateOf(0, 1, {}, [stateEntry(1, "silent", "ready", 0)]);
  await fleetIndex(env).tell({ ...told, name: NAME, generation: 1e6 });
});

describe("a valid request", () => {
  it.each(DESCRIBED.filter(({ id, who }) => who === "machine" && id !== "openSocket").map(called))(
    "%s → as described",
    async (_, route) => {
      const responses: Response[] = [];
      await SIGNED[route.id]!(async ({ method, path, headers, body }) => {
        const response = await send(path, { method, headers, body });
        responses.push(response.clone());
        return { status: response.status, body: await response.text() };
      });
      const [last, ...before] = responses.toReversed();
      await expectAnswer(route, last!);
      for (const response of before) await expectRefusal(route, response, {});
    },
  );

  it("for a socket → as described", async () => {
    const name = "described-socket";
    const key = await makeMachineKey();
    const { path, headers } = await connecting({ name, key, kid: await kidOf(name, key) });
    const taken = vi.spyOn(GatewayObject.prototype, "fetch").mockImplementation(async () => {
      const { 0: webSocket, 1: server } = new WebSocketPair();
      server.accept();
      return new Response(null, { status: 101, webSocket });
    });
    const route = DESCRIBED.find(({ id }) => id === "openSocket")!;
    await expectAnswer(route, await send(path, { headers }));
    taken.mockRestore();
    await expectRefusal(route, await send(path, { headers: {} }), { reason: "upgrade-required" });
    await expectRefusal(route, await send(path.replace("/7/", "/07/"), {}), { reason: "not-found" });
    await expectRefusal(route, await send(`${path}&u=1`, { headers }), { reason: "invalid-query" });
  });

  it.each(DESCRIBED.filter(({ who }) => who !== "machine").map(called))(
    "%s → as described",
    async (_, route) => {
      const prepared = await PREPARED[route.id]?.();
      await expectAnswer(route, await ask(route, prepared));
    },
  );

  it.each(some(({ query }) => query))("%s, without any parameter → as described", async (_, route) => {
    const response = await ask(route, { ...(await PREPARED[route.id]?.()), query: "" });
    if (response.ok || response.webSocket) return expectAnswer(route, response);
    await expectRefusal(route, response, { reason: "invalid-query" });
  });

  it.each(some(({ who }) => who === "view"))("%s, by who may only look → the same", async (_, route) => {
    await expectAnswer(route, await ask(route, { ...(await PREPARED[route.id]?.()), secret: VIEW_SECRET }));
  });

  it.each(some(({ method, id }) => method === "GET" && id !== "openFeed"))(
    "%s by HEAD → without a body",
    async (_, route) => {
      const response = await ask(route, { ...(await PREPARED[route.id]?.()), method: "HEAD" });
      expect([Object.keys(route.answers), await response.text()]).toEqual([
        expect.arrayContaining([String(response.status)]),
        "",
      ]);
    },
  );
});

describe("a refused request", () => {
  it.each(some(() => true))("%s, without credentials → 403", async (_, route) => {
    await expectRefusal(route, await ask(route, { secret: null }), { reason: "forbidden" });
  });

  it.each(some(({ who }) => who !== "view"))("%s, by who may only look → 403", async (_, route) => {
    await expectRefusal(route, await ask(route, { secret: VIEW_SECRET }), { reason: "forbidden" });
  });

  it.each(some(({ who }) => who === "admin"))("%s, by who may only look and ask → 403", async (_, route) => {
    const detail =
      "operator described-asker may look, ask questions, try rules and end conditions of problem detectors, and change nothing else.";
    await expectRefusal(route, await ask(route, { secret: asker }), { reason: "forbidden", detail });
  });

  it.each(some(() => true))("%s, with an unknown parameter → the answer names it", async (_, route) => {
    const parameter = "nobody's";
    const query = [QUERIES[route.id], `${parameter}=1`].filter(Boolean).join("&");
    await expectRefusal(route, await ask(route, { query }), { reason: "invalid-query", parameter });
  });

  it.each(OPERATORS.flatMap(wrongQueries))(
    "%s?%s → the answer names it",
    async (_, query, parameter, route) => {
      await expectRefusal(route, await ask(route, { query }), { reason: "invalid-query", parameter });
    },
  );

  it.each(some(({ body }) => body))("%s, with a body of another form → 400", async (_, route) => {
    for (const body of ["", "{", "[]", { "nobody's": 1 }])
      await expectRefusal(route, await ask(route, { body }), { reason: "invalid-body" });
    const more = { ...(BODIES[route.id] as object), "nobody's": 1 };
    await expectRefusal(route, await ask(route, { body: more }), { pointer: "/nobody's" });
  });

  it.each(some(({ path }) => path.includes("{name}")))(
    "%s, of a name that is none → 400",
    async (_, route) => {
      await expectRefusal(route, await ask(route, { name: "Upper" }), { reason: "invalid-name" });
    },
  );

  it.each(some(({ reasons }) => reasons?.includes("not-found")))("%s, of nobody → 404", async (_, route) => {
    await expectRefusal(route, await ask(route, { name: NOBODY, receiver: NOBODY }), {
      reason: "not-found",
    });
  });
});

/**
 * Returns a query for each parameter, with a value that the parameter's schema refuses. Skips parameters that
 * accept any value.
 */
function wrongQueries(
  route: DescribedRoute,
): [called: string, query: string, parameter: string, DescribedRoute][] {
  return Object.entries(route.query?.shape ?? {})
    .filter(([, schema]) => !z.safeParse(schema, "no-such-value").success)
    .map(([parameter]) => {
      const query = new URLSearchParams(QUERIES[route.id]);
      query.set(parameter, "no-such-value");
      return [called(route)[0], query.toString(), parameter, route];
    });
}
