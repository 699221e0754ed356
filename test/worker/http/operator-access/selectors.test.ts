// Tests operators with a selector: each route shows and changes only the machines that match, or is refused.
import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import type { CreatedOperator } from "../../../../shared/protocol/administration-answers.ts";
import { CONFINEMENT, type Confinement } from "../../../../shared/protocol/confinement.ts";
import type { MachinesAnswer } from "../../../../shared/protocol/fleet-answers.ts";
import type { AuditAnswer } from "../../../../shared/protocol/operator-answers.ts";
import { type Environment, registry } from "../../../../worker/env.ts";
import worker from "../../../../worker/index.ts";
import { createOperator, listOperators, useOperator } from "../../../../worker/registry/operators.ts";
import { ORIGIN } from "../../support/constants.ts";
import { operator } from "../../support/machine.ts";
import { FLEET_START_MS, machineName, stateEntry, summaryOf, updateOf } from "../../support/made-up-fleet.ts";
import { withinRegistry } from "../../support/registry-storage.ts";

/** Machines 1 and 41 have the label site=site-1. Machine 1 is silent. */
const [OWN, OTHER_OWN, OUTSIDE, UNKNOWN] = [machineName(1), machineName(41), machineName(2), "unknown"];
/** A machine without a Node, and therefore without labels. */
const WITHOUT_NODE = machineName(3);

/** The fleet index of this file. The deployment's own has machines of other tests. */
const index = env.INDEX.getByName("selectors");
const usage = [OWN, OUTSIDE].map((name) => ({ name }));
const own = {
  ...env,
  INDEX: { getByName: () => index },
  GATEWAYS: { getByName: () => ({ usage: () => Promise.resolve(usage) }) },
} as unknown as Environment;

const secrets: Record<string, string> = {};
async function create(name: string, role: string, selector: string): Promise<void> {
  const request = { name, role, selector, expiresInSeconds: 3600 };
  const { status, body } = await operator<CreatedOperator>("POST", "/v1/operators", request);
  expect([status, body.selector]).toEqual([201, selector]);
  secrets[name] = body.secret;
}

beforeAll(async () => {
  for (const at of [1, 2, 41]) {
    const change = at === 41 ? {} : ({ state: "silent", silentSinceMs: FLEET_START_MS } as const);
    await index.tell(updateOf(at, 1, change, [stateEntry(1, "ready", "silent", FLEET_START_MS)]));
  }
  await index.tell(updateOf(3, 1, { labels: {} }));
  await create("of-site-1", "admin", "site=site-1");
  await create("of-others", "view", "site!=site-1");
  await runInDurableObject(registry(env), (_, { storage }) => {
    storage.sql.exec("INSERT OR IGNORE INTO gateways VALUES (9, 1, 0)");
    for (const name of [OWN, OUTSIDE])
      storage.sql.exec(
        `INSERT INTO pending VALUES (?, ?, 'p', '{"key":"","machineID":"","systemUUID":"","address":""}', ?)`,
        `of ${name}`,
        name,
        Date.now(),
      );
  });
});

async function send(request: string, by = "of-site-1", body?: unknown): Promise<Response> {
  const [method = "", path = ""] = request.split(" ");
  const headers = { authorization: `Bearer ${secrets[by]}` };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  return worker.fetch(new Request(ORIGIN + path, init), own, createExecutionContext());
}
const get = async <Body>(path: string, by?: string) => (await send(`GET ${path}`, by)).json<Body>();
const names = async (path: string, by?: string) => {
  const [rows = []] = Object.values(await get<Record<string, { name: string }[]>>(path, by));
  return rows.map(({ name }) => name);
};

const routes = (confinement: Confinement) =>
  Object.entries(CONFINEMENT).flatMap(([route, each]) => (each === confinement ? [route] : []));
const withName = (route: string, name: string) => route.replace("{name}", name).replaceAll(/\{\w+\}/g, "1");

describe("a request about all machines", () => {
  it.each(routes("refused"))("%s → 403 with the reason", async (route) => {
    const response = await send(withName(route, ""));
    expect([response.status, await response.json()]).toEqual([
      403,
      expect.objectContaining({
        reason: "forbidden",
        detail: "operator of-site-1 has a selector, and this request concerns all machines.",
      }),
    ]);
  });

  it("HEAD → refused like GET", async () => {
    expect((await send("HEAD /v1/tokens")).status).toBe(403);
  });

  it("a sign-in from a browser, whose page would show all machines → 403", async () => {
    const response = await send("POST /v1/session", undefined, { secret: secrets["of-site-1"] });
    expect([response.status, response.headers.get("set-cookie")]).toEqual([403, null]);
  });
});

describe("a request about one machine", () => {
  it.each(routes("machine"))("%s that does not match → as if it did not exist", async (route) => {
    const [outside, unknown] = [OUTSIDE, UNKNOWN].map((name) => send(withName(route, name)));
    const [status, body] = [(await outside!).status, await (await outside!).text()];
    expect(status).toBe(404);
    expect([status, body]).toEqual([(await unknown!).status, await (await unknown!).text()]);
  });

  it("that matches → answered", async () => {
    expect(await get(`/v1/nodes/${OWN}/summary`)).toMatchObject({ name: OWN });
  });

  it("whose label changes → no longer answered", async () => {
    await index.tell(updateOf(41, 2, { labels: { ...summaryOf(41).labels, site: "site-2" } }));
    expect((await send(`GET /v1/nodes/${OTHER_OWN}/summary`)).status).toBe(404);
    await index.tell(updateOf(41, 3));
    expect((await send(`GET /v1/nodes/${OTHER_OWN}/summary`)).status).toBe(200);
  });

  it("without a Node → not answered, also by a selector that an absent label satisfies", async () => {
    expect((await send(`GET /v1/nodes/${OUTSIDE}/summary`, "of-others")).status).toBe(200);
    expect((await send(`GET /v1/nodes/${WITHOUT_NODE}/summary`, "of-others")).status).toBe(404);
  });

  it("a refused change or question → in the audit log", async () => {
    await create("audited", "admin", "site=site-1");
    const requests = [`POST /v1/nodes/${OUTSIDE}/revoke`, `POST /v1/nodes/${OUTSIDE}/questions`];
    for (const request of requests) await send(request, "audited");
    await send(`GET /v1/nodes/${OUTSIDE}/summary`, "audited");
    const { body } = await operator<AuditAnswer>("GET", "/v1/audit?limit=1000");
    const refused = body.entries.filter(({ who }) => who === "operator audited");
    expect(refused.reverse().map(({ what, detail }) => [what, detail])).toEqual(
      requests.map((request) => ["change.refuse", `may not: ${request}`]),
    );
  });
});

describe("a list → only the machines that match", () => {
  it.each([
    ["/v1/machines", [OWN, OTHER_OWN]],
    ["/v1/machines?limit=1", [OWN]],
    ["/v1/machines?selector=site%3Dsite-2", []],
    ["/v1/machines?state=silent", [OWN]],
    [`/v1/machines?text=${OUTSIDE}`, []],
    ["/v1/history", [OTHER_OWN, OWN]],
    [`/v1/history?name=${OUTSIDE}`, []],
    ["/v1/history?limit=1&text=silent", [OTHER_OWN]],
    ["/v1/usage", [OWN]],
    ["/v1/silent-nodes?days=1", [OWN]],
    ["/v1/pending", [OWN]],
    ["/v1/pending?limit=1", [OWN]],
  ])("%s", async (path, expected) => {
    expect(await names(path)).toEqual(expected);
  });

  it("as CSV, page by page", async () => {
    const csv = await (await send("GET /v1/machines?format=csv&fields=name")).text();
    expect(csv).toBe(`name\r\n${OWN}\r\n${OTHER_OWN}\r\n`);
  });

  it("counts → of these machines, also of the whole fleet", async () => {
    const { counts } = await get<MachinesAnswer>("/v1/machines?state=silent");
    expect([counts.matching["silent"], counts.fleet["silent"], counts.fleet["ready"]]).toEqual([1, 1, 1]);
  });

  it("the neighbours of a machine that does not match → as of an unknown one", async () => {
    const beside = (name: string) => get(`/v1/machines?beside=${name}`);
    expect(await beside(OUTSIDE)).toEqual(await beside(UNKNOWN));
    expect(await names(`/v1/machines?beside=${OWN}`)).toEqual([OWN, OTHER_OWN]);
  });

  it("the ETag of another operator's list → answered in full", async () => {
    const etag = (await send("GET /v1/machines")).headers.get("etag") ?? "";
    const request = new Request(`${ORIGIN}/v1/machines`, {
      headers: { authorization: `Bearer ${secrets["of-others"]}`, "if-none-match": etag },
    });
    expect((await worker.fetch(request, own, createExecutionContext())).status).toBe(200);
  });

  it("a route of this kind without a row above → this test fails", () => {
    expect(routes("list").sort()).toEqual(
      ["machines", "history", "usage", "silent-nodes", "pending"].map((path) => `GET /v1/${path}`).sort(),
    );
  });
});

it.each([
  ["a text that is no selector", { selector: "a b" }],
  ["one that matches all machines", { selector: " " }],
  ["the role metrics", { role: "metrics" }],
])("%s → no operator is created", async (_, more) => {
  const request = { name: "refused", role: "view", selector: "site=a", expiresInSeconds: 60, ...more };
  const { status, body } = await operator("POST", "/v1/operators", request);
  expect([status, body["pointer"]]).toEqual([400, "/selector"]);
});

it("an isolate or a Worker that ignores selectors → does not know the secret", () =>
  withinRegistry("selectors", (sql) => {
    const request = { name: "a", role: "admin", selector: "site=a", expiresInSeconds: 60 } as const;
    createOperator(sql, { request, sha256: "hash", createdBy: "a test" }, 0);
    const use = (knowsSelectors: boolean) => useOperator(sql, { sha256: "hash", knowsSelectors }, 1);
    expect(use(true)).toEqual({ name: "a", role: "admin", selector: "site=a", expiresAtMs: 60_000 });
    expect(use(false)).toBeNull();
    expect(sql.exec("SELECT 1 FROM operators WHERE sha256 = 'hash'").toArray()).toEqual([]);
    expect(listOperators(sql, 1)).toMatchObject([{ name: "a", role: "admin", selector: "site=a" }]);
  }));
