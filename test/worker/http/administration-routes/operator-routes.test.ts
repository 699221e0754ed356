// Tests who may act as an operator: the admin secret and Cloudflare Access, the rights of each role, and the audit
// log.
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { base64url, exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { makeMachineKey } from "../../../../node-shim/identity/identity.ts";
import type {
  AuditEntry,
  ClusterHistoryAnswer,
  MintedToken,
  WholeNode,
} from "../../../../shared/protocol/operator-answers.ts";
import { ROUTES } from "../../../../shared/protocol/routes.ts";
import { failure, success } from "../../../../shared/result.ts";
import { clusterHistory } from "../../../../worker/cluster/cluster-object.ts";
import { clusterObject, fleetIndex } from "../../../../worker/env.ts";
import { type CredentialLookups, operatorOf } from "../../../../worker/identity/operator.ts";
import { type Isolate, newIsolate } from "../../../../worker/isolate.ts";
import { ADMIN_SECRET, ORIGIN, VIEW_SECRET } from "../../support/constants.ts";
import { updateOf } from "../../support/made-up-fleet.ts";
import { enrolled, enrolling, facts, HEALTHY, operator, send, shimOf } from "../../support/machine.ts";
import { eventually } from "../../support/clock.ts";

const AUD = "aud-of-the-application";
const NOW = Math.floor(Date.now() / 1000);
const keyOf = (pair: Promise<{ privateKey: CryptoKey; publicKey: CryptoKey }>, kid: string) =>
  pair.then(async ({ privateKey, publicKey }) => ({
    privateKey,
    jwk: { ...(await exportJWK(publicKey)), kid, alg: "RS256" },
  }));
const [teamKey, otherKey] = await Promise.all([
  keyOf(generateKeyPair("RS256"), "team-1"),
  keyOf(generateKeyPair("RS256"), "team-1"),
]);

const TEAM = "the-team";
const access = () => ({
  ...env,
  ACCESS_TEAM: TEAM,
  ACCESS_AUD: AUD,
  ACCESS_ADMINS: "alice@example.com ci.access mark@example.com \u00E9va@example.com",
});
const fetched: string[] = [];

beforeEach(() => {
  fetched.length = 0;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url) => {
    fetched.push(url instanceof Request ? url.url : url.toString());
    return Response.json({ keys: [teamKey.jwk] });
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

const claims = (more: object = {}) => ({
  iss: `https://${TEAM}.cloudflareaccess.com`,
  aud: [AUD],
  email: "alice@example.com",
  exp: NOW + 3600,
  ...more,
});
const assertion = (payload: object, key = teamKey, alg = "RS256") =>
  new SignJWT({ ...payload }).setProtectedHeader({ alg, kid: key.jwk.kid }).sign(key.privateKey);
const from = (jwt: string, headers: Record<string, string> = {}) =>
  new Request(`${ORIGIN}/v1/tokens`, { headers: { "cf-access-jwt-assertion": jwt, ...headers } });

/** Returns the operator who sent a request. Each isolate has its own cache of the Access team's keys. */
const asked = (request: Request, isolate: Isolate, more: object = {}) =>
  operatorOf(request, null, { ...access(), ...more }, lookups(isolate));
const lookups = ({ accessKeys }: Isolate): CredentialLookups => ({
  accessKeysOf: accessKeys,
  operatorWith: async () => null,
  session: null,
});
const freshIsolate = () => newIsolate((url, init) => fetch(url, init));

describe("Cloudflare Access", () => {
  it.each([
    ["a person who is listed", { email: "Alice@example.com" }, { who: "Alice@example.com", role: "admin" }],
    ["another person", { email: "bob@example.com" }, { who: "bob@example.com", role: "view" }],
    [
      "a service that is listed",
      { email: undefined, common_name: "ci.access" },
      { who: "ci.access", role: "admin" },
    ],
    [
      "a service with an empty mail address",
      { email: "", common_name: "x.access" },
      { who: "x.access", role: "view" },
    ],
    [
      "a person whose address has a KELVIN SIGN for a listed K",
      { email: "mar\u212A@example.com" },
      { who: "mar\u212A@example.com", role: "view" },
    ],
    [
      "a person with that letter in the list",
      { email: "MARK@example.com" },
      { who: "MARK@example.com", role: "admin" },
    ],
    [
      "a person with another case of a letter beyond ASCII",
      { email: "\u00C9va@example.com" },
      { who: "\u00C9va@example.com", role: "view" },
    ],
    [
      "a service in another case than the listed one",
      { email: undefined, common_name: "CI.access" },
      { who: "CI.access", role: "view" },
    ],
  ])("vouches for %s → their role", async (_, more, expected) => {
    expect(await asked(from(await assertion(claims(more))), freshIsolate())).toEqual(success(expected));
    expect(fetched).toEqual([`https://${TEAM}.cloudflareaccess.com/cdn-cgi/access/certs`]);
  });

  const SELECTED = "bob@example.com operator site=berlin; alice@example.com view; * view site=oslo";
  it.each<[string, string, string, object | null]>([
    [
      "an entry → its role and machines",
      SELECTED,
      "Bob@example.com",
      { role: "operator", selectorText: "site=berlin" },
    ],
    ["an entry and ACCESS_ADMINS → the entry", SELECTED, "alice@example.com", { role: "view" }],
    ["ACCESS_ADMINS alone → admin", SELECTED, "mark@example.com", { role: "admin" }],
    ["the entry for all others", SELECTED, "eve@example.com", { role: "view", selectorText: "site=oslo" }],
    ["no entry", "bob@example.com operator", "eve@example.com", { role: "view" }],
    ["an invalid entry → refused", "bob@example.com operatr site=berlin", "bob@example.com", null],
    ["another's invalid entry → refused", "bob@example.com operatr", "eve@example.com", null],
    [
      "an invalid entry, but among ACCESS_ADMINS",
      "bob@example.com operatr",
      "mark@example.com",
      { role: "admin" },
    ],
  ])("%s", async (_, ACCESS_OPERATORS, email, rights) => {
    const found = await asked(from(await assertion(claims({ email }))), freshIsolate(), { ACCESS_OPERATORS });
    if (rights === null)
      return expect(found).toMatchObject({ ok: false, error: { reason: "assertion refused" } });
    expect(found.ok && { ...found.value, selector: undefined }).toEqual({ who: email, ...rights });
    return expect(found.ok && Boolean(found.value.selector)).toBe("selectorText" in rights);
  });

  it.each([
    ["by one isolate → the team's keys are fetched once", [freshIsolate()].flatMap((one) => [one, one]), 1],
    ["by two isolates → by each of them", [freshIsolate(), freshIsolate()], 2],
  ])("asked twice %s", async (_, isolates, times) => {
    for (const isolate of isolates) {
      expect(await asked(from(await assertion(claims())), isolate)).toMatchObject({ ok: true });
    }
    expect(fetched).toHaveLength(times);
  });

  it("another team is configured → its keys are fetched, and the former team's assertions are refused", async () => {
    const isolate = freshIsolate();
    const former = from(await assertion(claims()));
    expect(await asked(former, isolate)).toMatchObject({ ok: true });
    expect(await asked(former, isolate, { ACCESS_TEAM: "another" })).toMatchObject({ ok: false });
    expect(fetched.map((url) => new URL(url).host)).toEqual(
      [TEAM, "another"].map((name) => `${name}.cloudflareaccess.com`),
    );
  });

  it.each<[string, () => Promise<string>]>([
    ["another application's", () => assertion(claims({ aud: ["other"] }))],
    ["another team's", () => assertion(claims({ iss: "https://evil.cloudflareaccess.com" }))],
    ["expired", () => assertion(claims({ exp: NOW - 60 }))],
    ["without an end", () => assertion(claims({ exp: undefined }))],
    ["signed by another key of that name", () => assertion(claims(), otherKey)],
    ["without a person", () => assertion(claims({ email: undefined }))],
    ["for a person without a name", () => assertion(claims({ email: "", common_name: "" }))],
    ["no JWT", () => Promise.resolve("e30.e30.e30")],
    [
      "unsigned",
      () =>
        Promise.resolve(
          `${btoa('{"alg":"none"}').replaceAll("=", "")}.${btoa(JSON.stringify(claims())).replaceAll("=", "")}.`,
        ),
    ],
  ])("an assertion that is %s → nobody", async (_, make) => {
    expect(await asked(from(await make()), freshIsolate())).toMatchObject({
      ok: false,
      error: { reason: "assertion refused" },
    });
  });

  it.each([
    ["another site's page, as browsers say", { "sec-fetch-site": "cross-site" }, false],
    ["a subdomain's page", { "sec-fetch-site": "same-site" }, false],
    ["another origin's page", { origin: "https://evil.test" }, false],
    ["an unknown origin", { origin: "null" }, false],
    ["a page of this origin", { "sec-fetch-site": "same-origin", origin: ORIGIN }, true],
    ["the address bar", { "sec-fetch-site": "none" }, true],
    ["no browser", {}, true],
  ])("a request from %s → let in: %s", async (_, headers, isLetIn) => {
    const operator = await asked(from(await assertion(claims()), headers), freshIsolate());
    expect(operator.ok).toBe(isLetIn);
  });

  it.each([
    ["no team", { ACCESS_TEAM: "" }],
    ["no application", { ACCESS_AUD: "" }],
  ])("that is not configured: %s → nobody, and nothing is fetched", async (_, without) => {
    const jwt = await assertion(
      claims("ACCESS_TEAM" in without ? { iss: "https://.cloudflareaccess.com" } : { aud: "" }),
    );
    expect(await asked(from(jwt), freshIsolate(), without)).toMatchObject({ ok: false });
    expect(fetched).toEqual([]);
  });

  it("the keys cannot be fetched → refused", async () => {
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("down", { status: 503 }));
    expect(await asked(from(await assertion(claims())), freshIsolate())).toMatchObject({ ok: false });
  });
});

const sha256 = async (secret: string) =>
  base64url.encode(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret))));
const BOTH = { ADMIN_SECRET_SHA256: `${await sha256("the next one")} ${env.ADMIN_SECRET_SHA256}` };
const VIEW = { VIEW_SECRET_SHA256: `${await sha256("to look")} ${await sha256("to look next")}` };
const ADMIN = { who: "admin secret", role: "admin" };
const VIEWER = { who: "view secret", role: "view" };

describe("an operator's secret", () => {
  it.each([
    ["is the admin secret", ADMIN_SECRET, {}, ADMIN],
    ["is another", `${ADMIN_SECRET}x`, {}, null],
    ["is another, and the hash is invalid", "another", { VIEW_SECRET_SHA256: "no hash" }, null],
    ["is the admin secret, and the hash is invalid", ADMIN_SECRET, { VIEW_SECRET_SHA256: "no hash" }, ADMIN],
    ["is the hash", env.ADMIN_SECRET_SHA256, {}, null],
    ["is the one before, while they change", ADMIN_SECRET, BOTH, ADMIN],
    ["is the next one, while they change", "the next one", BOTH, ADMIN],
    ["is both hashes", BOTH.ADMIN_SECRET_SHA256, BOTH, null],
    ["is the view secret", "to look", VIEW, VIEWER],
    ["is the next view secret", "to look next", VIEW, VIEWER],
    ["is the admin secret, where there is a view secret", ADMIN_SECRET, VIEW, ADMIN],
    ["would be the view secret, where there is none", "to look", {}, null],
  ])("that %s", async (_, secret, more, expected) => {
    const request = new Request(`${ORIGIN}/v1/tokens`);
    const found = await operatorOf(request, secret, { ...env, ...more }, lookups(freshIsolate()));
    expect(found).toEqual(expected === null ? failure({ reason: "another secret" }) : success(expected));
  });
});

describe("no operator can be verified", () => {
  const NONE = { ADMIN_SECRET_SHA256: "", VIEW_SECRET_SHA256: "" };
  it.each<[string, object]>([
    ["no secret and no Access", NONE],
    ["no such secrets", { ADMIN_SECRET_SHA256: undefined, VIEW_SECRET_SHA256: undefined }],
    ["the secret instead of its hash", { ...NONE, ADMIN_SECRET_SHA256: ADMIN_SECRET }],
    ["a team without an application", { ...NONE, ACCESS_TEAM: TEAM }],
  ])("%s → nobody may, whatever they send", async (_, more) => {
    const request = new Request(`${ORIGIN}/v1/tokens`);
    for (const secret of [ADMIN_SECRET, "", null]) {
      const found = await operatorOf(request, secret, { ...env, ...more }, lookups(freshIsolate()));
      expect(found).toEqual(failure({ reason: "nobody may" }));
    }
  });

  it.each([
    ["of an operator → accepted", { who: "operator alice", role: "view" } as const],
    ["of no operator → a wrong secret: its failures count", null],
  ])("by an operator's own secret %s", async (_, named) => {
    const request = new Request(`${ORIGIN}/v1/tokens`);
    const asking = { ...lookups(freshIsolate()), operatorWith: async () => named };
    const found = await operatorOf(request, `rco_${"A".repeat(43)}`, { ...env, ...NONE }, asking);
    expect(found).toEqual(named ? success(named) : failure({ reason: "another secret" }));
  });

  it("Access alone → it decides", async () => {
    expect(await asked(from(await assertion(claims())), freshIsolate(), NONE)).toMatchObject({ ok: true });
  });
});

it("no credentials → refused, without asking Access", async () => {
  const request = new Request(`${ORIGIN}/v1/tokens`);
  expect(await asked(request, freshIsolate())).toEqual(failure({ reason: "no credentials" }));
});

it("a wrong secret with a valid Access assertion → refused: a wrong secret is not ignored", async () => {
  const request = from(await assertion(claims()));
  expect(await operatorOf(request, "another", access(), lookups(freshIsolate()))).toEqual(
    failure({ reason: "another secret" }),
  );
  expect(await asked(request, freshIsolate())).toMatchObject({ ok: true });
});

it.each([
  ["GET", 200],
  ["POST", 403],
])("the view secret: %s → %i", async (method, status) => {
  const headers = { authorization: `Bearer ${VIEW_SECRET}` };
  const body = JSON.stringify({ names: "viewed", uses: 1, expiresInSeconds: 60 });
  const response = await send("/v1/tokens", { method, headers, ...(method === "POST" && { body }) });
  expect(response.status).toBe(status);
  if (status === 403)
    expect(await response.json()).toMatchObject({ detail: "view secret may look, and change nothing." });
});

it("an operator's body that is not JSON → 400", async () => {
  const headers = { authorization: `Bearer ${ADMIN_SECRET}` };
  const response = await send("/v1/tokens", { method: "POST", headers, body: "{" });
  expect([response.status, await response.json()]).toEqual([
    400,
    expect.objectContaining({ reason: "invalid-body" }),
  ]);
});

describe.each(
  Object.entries(ROUTES)
    .filter(([, { who }]) => who !== "machine" && who !== "anybody")
    .map(([name]) => name.replaceAll(/\{\w+\}/g, "1").split(" ") as [method: string, path: string]),
)("%s %s", (method, path) => {
  it.each<[string, Record<string, string>]>([
    ["without credentials", {}],
    ["with another secret", { authorization: "Bearer wrong" }],
    ["with a forged header of Access", { "cf-access-jwt-assertion": "e30.e30.e30" }],
    [
      "with Access's header for mail addresses alone",
      { "cf-access-authenticated-user-email": "alice@example.com" },
    ],
  ])("%s → 403, and no other site may read it", async (_, headers) => {
    const response = await send(path, { method, headers: { ...headers, origin: "https://evil.test" } });
    expect(response.status).toBe(403);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  });

  it("a browser's preflight → allows nothing", async () => {
    const headers = { origin: "https://evil.test", "access-control-request-method": method };
    const response = await send(path, { method: "OPTIONS", headers });
    expect(response.status).toBe(405);
    expect([...response.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });
});

describe("one machine", () => {
  const OURS = `rollcall.${env.DEPLOYMENT}`;
  const shown = (name: string) => operator<WholeNode>("GET", `/v1/nodes/${name}`);

  it("enrols, reports, and its object is evicted → the data that its object has at each step", async () => {
    const name = "shown";
    const machine = await enrolled(name);
    const enrolledOnly = { name, thumbprint: machine.key.thumbprint, phase: null, isReady: false };
    expect((await shown(name)).body).toMatchObject({
      ...enrolledOnly,
      silentSince: null,
      lastReportAt: null,
      runtime: "auto",
      conditions: [],
      node: null,
      facts: null,
      vitals: null,
      deadlines: { lease: null, status: null },
      outbox: { waiting: 0, oldest: null, dropped: 0 },
      key: { thumbprint: machine.key.thumbprint, next: null, isRefused: false },
      managers: { labels: {}, taints: {} },
      events: [],
    });
    await shimOf(machine)(facts(name), HEALTHY);
    const { body } = await shown(name);
    expect(Math.abs(Date.parse(body.lastReportAt ?? "") - Date.now())).toBeLessThan(60_000);
    expect(body).toMatchObject({
      phase: "registered",
      node: { metadata: { name }, status: { conditions: expect.anything() } },
      facts: { settings: { nodeLeaseDurationSeconds: 40 } },
      vitals: { signals: HEALTHY.signals },
      thresholds: { hard: { "memory.available": "100Mi" }, soft: {} },
      skewMs: expect.any(Number),
      deadlines: { lease: expect.any(String), status: expect.any(String) },
      managers: {
        labels: { "rollcall.dev/hostname": OURS },
        taints: { "rollcall.dev/facts-only:NoSchedule": OURS },
      },
      events: expect.arrayContaining([
        expect.objectContaining({ type: "Normal", reason: "NodeReady", count: 1 }),
      ]),
    });
    // Events are sent after the answer to the report.
    await eventually(async () => {
      const { events = [] } = (await shown(name)).body;
      expect(events.find(({ reason }) => reason === "NodeReady")?.state).toBe("sent");
    });
    await evictDurableObject(env.NODES.getByName(name));
    const evicted = { lastReportAt: null, vitals: null, skewMs: null, deadlines: expect.anything() };
    const unsure = { outbox: expect.anything(), events: expect.anything() };
    expect((await shown(name)).body).toEqual({ ...body, ...evicted, ...unsure });
  });

  it("→ the answer states that it woke the machine's object, and has the fleet index's data", async () => {
    const name = "shown-woken";
    await enrolled(name);
    await fleetIndex(env).tell({ ...updateOf(1, 1, { state: "silent" }), name, generation: 1e6 });
    const headers = { authorization: `Bearer ${VIEW_SECRET}` };
    const response = await send(`/v1/nodes/${name}`, { method: "GET", headers });
    expect(response.headers.get("rollcall-woken")).toBe(name);
    expect(await response.json()).toMatchObject({
      name,
      summary: { name, state: "silent", since: "2026-01-01T00:00:00.001Z" },
    });
    // The machine is removed again, since other files test the counts of the fleet index.
    await fleetIndex(env).remove(name, 99, "left");
  });

  it("its history → by time, by several kinds, and as CSV", async () => {
    const name = "shown-history";
    await shimOf(await enrolled(name))(facts(name), HEALTHY);
    type Page = { entries: { kind: string; at: string }[] };
    const read = async (query: string) =>
      (await operator<Page>("GET", `/v1/nodes/${name}/history?${query}`)).body.entries;
    const all = await read("");
    expect(new Set(all.map(({ kind }) => kind)).size).toBeGreaterThan(1);
    const kinds = ["registration", "phase"];
    expect(await read(`kind=${kinds.join()}`)).toEqual(all.filter(({ kind }) => kinds.includes(kind)));
    const { at } = all[0]!;
    expect([await read(`since=${at}`), await read(`until=${at}`)]).toEqual([[], all]);
    const headers = { authorization: `Bearer ${VIEW_SECRET}`, accept: "text/csv" };
    const csv = await (await send(`/v1/nodes/${name}/history`, { method: "GET", headers })).text();
    expect(csv.trim().split("\r\n")).toHaveLength(1 + all.length);
  });

  it.each(["tokens", "pending", "origins", "audit", "audit?by=machines", "cluster/history"])(
    "/v1/%s as CSV → a line of names, and one of each entry",
    async (path) => {
      type Listed = Record<string, unknown[]>;
      const headers = { authorization: `Bearer ${VIEW_SECRET}`, accept: "text/csv" };
      const [rows = []] = Object.values((await operator<Listed>("GET", `/v1/${path}`)).body);
      const csv = await (await send(`/v1/${path}`, { method: "GET", headers })).text();
      expect(csv.split("\r\n").length - 2).toBeGreaterThanOrEqual(rows.length);
      expect(csv).toMatch(/^(?:id|name|origin),/);
    },
  );

  it("that never enrolled → 404", async () => {
    expect((await shown("shown-nobody")).status).toBe(404);
  });
});

describe("the audit log", () => {
  const about = async (target: string) => {
    const by = (who: string) =>
      operator<{ entries: AuditEntry[] }>("GET", `/v1/audit?by=${who}&target=${target}&limit=1000`);
    const [operators, machines] = [await by("operators"), await by("machines")];
    return { operators: operators.body.entries.reverse(), machines: machines.body.entries.reverse() };
  };
  const acts = (entries: AuditEntry[]) => entries.map(({ who, what, detail }) => [who, what, detail]);

  it("has every change with operator, action and time, and no secret", async () => {
    const name = "audited";
    const first = await enrolled(name);
    await shimOf(first)(facts(name), HEALTHY);
    const { body: token } = await operator<MintedToken>("POST", "/v1/tokens", {
      names: name,
      uses: 2,
      expiresInSeconds: 60,
    });
    const [second, third] = [await makeMachineKey(), await makeMachineKey()];
    await enrolling(name, { joinToken: token.token, key: second });
    await operator("POST", `/v1/nodes/${name}/reject`, { thumbprint: second.thumbprint });
    await enrolling(name, { joinToken: token.token, key: third });
    await operator("POST", `/v1/nodes/${name}/approve`, { thumbprint: third.thumbprint });
    await operator("POST", `/v1/nodes/${name}/register`);
    await operator("POST", `/v1/nodes/${name}/revoke`);
    await operator("DELETE", `/v1/nodes/${name}`);
    await operator("DELETE", `/v1/tokens/${token.id}`);
    const { operators, machines } = await about(name);
    const [admin, asking] = ["admin secret", `token ${token.id}`];
    expect(acts(machines)).toEqual([
      [expect.stringMatching(/^token [\w-]{43}$/), "machine.enrol", `key ${first.key.thumbprint}`],
      [asking, "machine.wait", `key ${second.thumbprint}`],
      [asking, "machine.wait", `key ${third.thumbprint}`],
    ]);
    expect(acts(operators)).toEqual([
      [admin, "machine.reject", `key ${second.thumbprint}`],
      [admin, "machine.approve", `key ${third.thumbprint}`],
      [admin, "node.register", ""],
      [admin, "machine.revoke", ""],
      [admin, "machine.forget", ""],
    ]);
    for (const { at } of [...operators, ...machines])
      expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(60_000);
    expect(acts((await about(token.id)).operators)).toEqual([
      [admin, "token.create", name],
      [admin, "token.revoke", ""],
    ]);
    for (const by of ["operators", "machines"]) {
      const { body } = await operator("GET", `/v1/audit?by=${by}&limit=1000`);
      expect(JSON.stringify(body)).not.toContain(token.token.slice("rcj1_".length));
      expect(JSON.stringify(body)).not.toContain(ADMIN_SECRET);
    }
  });

  it("has no entry without a change", async () => {
    await operator("POST", "/v1/nodes/audited-nobody/revoke");
    await operator("POST", "/v1/nodes/audited-nobody/register");
    await operator("PATCH", "/v1/nodes/audited-nobody", { runtime: "none" });
    await operator("POST", "/v1/nodes/audited-nobody/approve", { thumbprint: "A".repeat(43) });
    await operator("DELETE", "/v1/nodes/audited-nobody");
    await operator("DELETE", "/v1/tokens/audited-nobody");
    expect(await about("audited-nobody")).toEqual({ operators: [], machines: [] });
  });

  it("is read in pages, newest first", async () => {
    for (const names of ["audited-pages-1", "audited-pages-2"])
      await operator("POST", "/v1/tokens", { names, uses: 1, expiresInSeconds: 60 });
    const { body: all } = await operator<{ entries: AuditEntry[] }>("GET", "/v1/audit?limit=2");
    expect(all.entries).toHaveLength(2);
    const [newest, next] = all.entries as [AuditEntry, AuditEntry];
    const { body } = await operator<{ entries: AuditEntry[] }>(
      "GET",
      `/v1/audit?limit=1&before=${newest.id}`,
    );
    expect(body.entries).toEqual([next]);
  });

  it.each(["limit=0", "limit=1001", "before=x", "by=nobody", "unknown=1"])("?%s → 400", async (query) => {
    expect((await operator("GET", `/v1/audit?${query}`)).status).toBe(400);
  });
});

describe("the history of the watch of the cluster's Nodes", () => {
  const history = (query = "") =>
    operator<ClusterHistoryAnswer>("GET", `/v1/cluster/history${query && `?${query}`}`);

  it("is read in pages, newest first, also by viewers", async () => {
    await runInDurableObject(clusterObject(env), (_, { storage }) => {
      const kept = clusterHistory(storage.sql);
      for (const text of ["first", "second", "third"]) kept.add(text, Date.UTC(2026, 0, 1));
    });
    const { entries } = (await history("limit=2")).body;
    expect(entries.map(({ text }) => text)).toEqual(["third", "second"]);
    const before = (await history(`limit=1&before=${entries[1]?.id}`)).body.entries;
    expect(before).toMatchObject([{ text: "first", at: "2026-01-01T00:00:00.000Z" }]);
    const headers = { authorization: `Bearer ${VIEW_SECRET}` };
    expect((await send("/v1/cluster/history", { headers })).status).toBe(200);
  });

  it.each(["limit=1", "limit=1000"])("?%s → answered", async (query) => {
    expect((await history(query)).status).toBe(200);
  });

  it.each(["limit=0", "limit=1001", "before=x", "unknown=1"])("?%s → 400", async (query) => {
    expect((await history(query)).status).toBe(400);
  });
});
