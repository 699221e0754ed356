// Tests operators with a selector: each route shows and changes only the machines that match, or is refused.
import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import type {
  BulkPlan,
  BulksAnswer,
  CreatedOperator,
  SessionAnswer,
  SessionCode,
} from "../../../../shared/protocol/administration-answers.ts";
import { FeedView } from "../../../../shared/fleet/feed-view.ts";
import { CONFINEMENT, type Confinement, REFUSALS } from "../../../../shared/protocol/confinement.ts";
import { FEED_CLOSED, TICKET_PROTOCOL } from "../../../../shared/protocol/feed-names.ts";
import type { FeedMessage, FeedTicket } from "../../../../shared/protocol/feed.ts";
import type {
  MachinesAnswer,
  RolloutAnswer,
  VersionsAnswer,
} from "../../../../shared/protocol/fleet-answers.ts";
import type { AuditAnswer } from "../../../../shared/protocol/operator-answers.ts";
import { type Environment, registry } from "../../../../worker/env.ts";
import worker from "../../../../worker/index.ts";
import { createOperator, listOperators, useOperator } from "../../../../worker/registry/operators.ts";
import { Sessions } from "../../../../worker/registry/sessions.ts";
import { eventually } from "../../support/clock.ts";
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
  const refused = REFUSALS.flatMap((why) => routes(why).map((route) => [route, why] as const));
  it.each(refused)("%s → 403: %s", async (route, why) => {
    const response = await send(withName(route, ""));
    expect([response.status, await response.json()]).toEqual([
      403,
      expect.objectContaining({
        reason: "forbidden",
        detail: `operator of-site-1 has a selector, and ${why}.`,
      }),
    ]);
  });

  it("HEAD → refused like GET", async () => {
    expect((await send("HEAD /v1/tokens")).status).toBe(403);
  });
});

describe("the page", () => {
  /** Requests of the page of an operator who has signed in. */
  async function signedIn(by: string) {
    await create(by, "admin", "site=site-1");
    const response = await send("POST /v1/session", by, { secret: secrets[by] });
    expect(response.status).toBe(201);
    const cookie = (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    return async (method: string, path: string, headers: Record<string, string> = {}) => {
      const all = { cookie, origin: ORIGIN, "sec-fetch-site": "same-origin", ...headers };
      return worker.fetch(
        new Request(ORIGIN + path, { method, headers: all }),
        own,
        createExecutionContext(),
      );
    };
  }
  type Ask = Awaited<ReturnType<typeof signedIn>>;
  const UPGRADE = { upgrade: "websocket" };

  const feeds: [string, (ask: Ask) => Promise<Response>][] = [
    ["a session", (ask) => ask("GET", "/v1/feed", UPGRADE)],
    [
      "a ticket",
      async (ask) => {
        const { ticket } = await (await ask("POST", "/v1/feed/tickets")).json<FeedTicket>();
        return ask("GET", "/v1/feed", {
          ...UPGRADE,
          cookie: "",
          "sec-websocket-protocol": TICKET_PROTOCOL + ticket,
        });
      },
    ],
  ];

  it("of a session → names the selector, and lists the machines that match", async () => {
    const ask = await signedIn("reader");
    const { operator: shown } = await (await ask("GET", "/v1/session")).json<SessionAnswer>();
    expect(shown).toMatchObject({ who: "operator reader", role: "admin", selector: "site=site-1" });
    const { machines } = await (await ask("GET", "/v1/machines")).json<MachinesAnswer>();
    expect(machines.map(({ name }) => name)).toEqual([OWN, OTHER_OWN]);
    expect((await ask("GET", "/v1/audit")).status).toBe(403);
  });

  it("of a sign-in code → has the selector too", async () => {
    const { code } = await (await send("POST /v1/session/codes")).json<SessionCode>();
    const request = new Request(`${ORIGIN}/v1/session`, { method: "POST", body: JSON.stringify({ code }) });
    const response = await worker.fetch(request, own, createExecutionContext());
    const cookie = (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const asked = new Request(`${ORIGIN}/v1/session`, { headers: { cookie } });
    const { operator: shown } = await (
      await worker.fetch(asked, own, createExecutionContext())
    ).json<SessionAnswer>();
    expect(shown).toMatchObject({ who: "operator of-site-1", selector: "site=site-1" });
  });

  it.each(feeds)("a feed by %s → the machines that match; revoked → closed at once", async (how, open) => {
    const by = how.replace(" ", "-");
    const { webSocket } = await open(await signedIn(by));
    const view = new FeedView();
    let closed: number | null = null;
    webSocket!.addEventListener("close", ({ code }) => {
      closed = code;
    });
    webSocket!.addEventListener("message", ({ data }) => {
      const message = JSON.parse(String(data)) as FeedMessage;
      view.take(message);
      if (message.type !== "hello") webSocket!.send(JSON.stringify({ ack: message.cursor }));
    });
    webSocket!.accept();
    await eventually(() => expect([...view.machines.keys()]).toEqual([OWN, OTHER_OWN]));
    await operator("DELETE", `/v1/operators/${by}`);
    await index.recheckFeeds();
    await eventually(() => expect(closed).toBe(FEED_CLOSED.notAllowed));
  });
});

describe("an action on many machines", () => {
  const asked = (body: object) => ({ action: "register", dryRun: true, ...body });
  const planned = async (body: object, by?: string) => {
    const { matches, unknown } = await (await send("POST /v1/bulk", by, asked(body))).json<BulkPlan>();
    return { names: [...matches.map(({ name }) => name), ...unknown], unknown };
  };

  it("by a filter → covers the machines that match both", async () => {
    expect((await planned({ filter: { state: "ready,silent" } })).names).toEqual([OWN, OTHER_OWN]);
    expect((await planned({ filter: { selector: "site=site-2" } })).names).toEqual([]);
  });

  it("by names → a machine that does not match looks like an unknown one", async () => {
    const { unknown } = await planned({ names: [OUTSIDE, UNKNOWN] });
    expect(unknown).toEqual([OUTSIDE, UNKNOWN]);
  });

  it("the neighbours of a machine that does not match → as of an unknown one", async () => {
    const beside = async (name: string) =>
      (await send("POST /v1/bulk", undefined, asked({ filter: { beside: name } }))).json();
    expect(await beside(OUTSIDE)).toEqual(await beside(UNKNOWN));
  });

  it("of another operator → neither listed, nor shown, nor stopped", async () => {
    const id = await runInDurableObject(registry(env), (_, { storage: { sql } }) => {
      const insert = `INSERT INTO bulks (action, who, created_at_ms, total, is_stopped) VALUES ('register', ?, 1, 0, 0)
        RETURNING id`;
      const of = (who: string) => sql.exec<{ id: number }>(insert, who).one().id;
      return { own: of("operator of-site-1"), other: of("admin secret") };
    });
    const { bulks } = await get<BulksAnswer>("/v1/bulk");
    expect(bulks.map((bulk) => Number(bulk.id))).toEqual([id.own]);
    const statuses = async (path: string) =>
      [(await send(`GET ${path}`)).status, (await send(`DELETE ${path}`)).status] as const;
    expect(await statuses(`/v1/bulk/${id.other}`)).toEqual([404, 404]);
    expect(await statuses(`/v1/bulk/${id.own}`)).toEqual([200, 204]);
    expect((await operator("DELETE", `/v1/bulk/${id.other}`)).status).toBe(204);
  });
});

it("versions, rollout, outages → of the machines that match", async () => {
  const { shims, others } = await get<VersionsAnswer>("/v1/versions");
  expect([shims.map(({ machines }) => machines), others]).toEqual([[2], 0]);
  await index.putRollout(
    { version: "9.9.9", percent: 100, selector: "", mostSilentPercent: 5, atOnce: 5 },
    "alice",
  );
  await runInDurableObject(index, (_, { storage: { sql } }) => {
    for (const name of [OWN, OUTSIDE]) sql.exec("INSERT INTO rollout_machines VALUES (?, 1, 'silent')", name);
    sql.exec(
      "UPDATE rollout SET stopped_ms = 1, why = ?",
      `2 of 2 machines that were given 9.9.9 are silent: ${OUTSIDE}`,
    );
  });
  const { rollout } = await get<RolloutAnswer>("/v1/rollout");
  expect(rollout).toMatchObject({
    machines: { silent: 1 },
    silent: [OWN],
    stopped: { why: "too many machines that were given 9.9.9 are silent" },
  });
  expect(JSON.stringify(await get("/v1/outages"))).not.toContain(OUTSIDE);
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
      [
        "machines",
        "history",
        "usage",
        "silent-nodes",
        "pending",
        // These have a test of their own above.
        "versions",
        "rollout",
        "outages",
        "outages/{id}",
        "feed",
      ]
        .map((path) => `GET /v1/${path}`)
        .sort(),
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
    const sessions = new Sessions(sql, env);
    const by = { who: "operator a", role: "admin", secret: "hash" } as const;
    expect(sessions.start({ id: "s", by, address: "", browser: "" }, 1)).toMatchObject({ ok: true });
    expect(sessions.find("s", true, 1)).toMatchObject({ role: "admin", selector: "site=a" });
    expect(sessions.find("s", false, 1)).toBeNull();
    expect(sql.exec("SELECT 1 FROM operators WHERE sha256 = 'hash'").toArray()).toEqual([]);
    expect(listOperators(sql, 1)).toMatchObject([{ name: "a", role: "admin", selector: "site=a" }]);
  }));
