// Tests that the Worker answers as recorded: asks every route as each role, with valid and with wrong requests, and
// compares the status, headers and body. In the recording, times, random IDs and secrets are placeholders. Record
// again with `vitest -u`.
//
// The recording has the answers of commit 41dc790, except for later changes. /readyz and /v1/settings list newer settings.
// A Node (/v1/machines, /v1/nodes/{name}) has other labels, no allocatable CPU, and storage as Kubernetes 1.37 writes it.
// /v1/tokens and /v1/pending answer in pages, /v1/session names the deployment, and stored state has later versions.
// /metrics counts machines in maintenance, the cluster's history names its version, and PATCH /v1/nodes/{name} refuses a
// body with other words.
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import type { Transport } from "../../node-shim/worker-link/exchange.ts";
import { reporter } from "../../node-shim/worker-link/reporter.ts";
import { askForUpgrade, enrol, leave, rotate } from "../../node-shim/worker-link/requests.ts";
import { sha256Base64url, signReport } from "../../node-shim/worker-link/sign.ts";
import { ROUTES } from "../../shared/protocol/routes.ts";
import { fleetIndex, registry } from "../../worker/env.ts";
import { connecting } from "../worker/support/connecting.ts";
import { ADMIN_SECRET, METRICS_SECRET, ORIGIN, VIEW_SECRET } from "../worker/support/constants.ts";
import {
  enrolled,
  enrolling,
  facts,
  HEALTHY,
  indexIsUpdated,
  mintToken,
  operator,
  send,
  setKnownCluster,
  shimOf,
} from "../worker/support/machine.ts";
import { stateEntry, updateOf } from "../worker/support/made-up-fleet.ts";

/** The name of a machine that has reported. */
const NAME = "recorded";
/** The thumbprint of a key that waits for a name. */
let waiting = "t".repeat(43);

/** For each route with parameters a valid query. */
const QUERIES: Readonly<Record<string, string>> = {
  "GET /v1/machines":
    "state=ready&phase=registered&condition=Ready&selector=site&version=0.1.0&address=203.0.113.7&beside=recorded&token=x" +
    "&unused=false&text=x&since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z&sort=-since&fields=name&limit=1&format=json&cursor=x",
  "GET /v1/history":
    "since=2026-01-01T00:00:00Z&until=2200-01-01T00:00:00Z&kind=state&name=recorded&text=ready&limit=2&before=1000&format=json",
  "GET /v1/outages": "since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z&before=open.1&limit=1&format=csv",
  "GET /v1/outages/{id}": "after=a&limit=1",
  "GET /v1/feed": "cursor=0123456789abcdef_1",
  "GET /readyz": "verbose",
  "GET /v1/nodes/{name}/history":
    "since=2026-01-01T00:00:00Z&until=2200-01-01T00:00:00Z&kind=registration&limit=1000&before=1000&format=ndjson",
  "GET /v1/nodes/{name}/timeline": "since=2099-12-31T00:00:00Z&until=2100-01-01T00:00:00Z",
  "GET /v1/tokens": "format=csv",
  "GET /v1/pending": "format=ndjson",
  "GET /v1/origins": "format=csv",
  "GET /v1/audit": `by=machines&target=${NAME}&limit=2&before=1000000&format=csv`,
  "GET /v1/cluster/history": "limit=1&before=1&format=csv",
  "GET /v1/revocations": `after=1.${"t".repeat(43)}&limit=1`,
  "GET /v1/silent-nodes": "days=3650",
  "GET /v1/bulk/{id}": "after=a&limit=1",
  "GET /v1/backup": "after=x",
  "GET /v1/origins/machines": `origin=${encodeURIComponent(ORIGIN)}&after=a&limit=1000&format=csv`,
};

const RECEIVER_URL = "https://hooks.example.com/";
const BULK = { action: "register", names: [NAME] };

/** For each route with a body its valid bodies. */
const BODIES: Readonly<Record<string, () => readonly unknown[]>> = {
  "POST /v1/tokens": () => [
    { names: "recorded-*", uses: 1, expiresInSeconds: 60, labels: { site: "a" } },
    { names: "*", expiresInSeconds: 0 },
  ],
  "POST /v1/nodes/{name}/questions": () => [
    // A machine over HTTP gets other questions with its next report.
    { name: "bundle" },
    { name: "shell" },
    { name: "disks", parameters: { path: "/" } },
  ],
  "POST /v1/nodes/{name}/approve": () => [{ thumbprint: "t".repeat(43) }],
  "POST /v1/nodes/{name}/reject": () => [{ thumbprint: "t".repeat(43) }, { thumbprint: waiting }],
  "POST /v1/nodes/{name}/clear": () => [{ condition: "Ready" }, {}],
  "PATCH /v1/nodes/{name}": () => [{ runtime: "none" }, { runtime: "some" }],
  "POST /v1/operators": () => [
    { name: "recorded", role: "view", expiresInSeconds: 60 },
    { name: "recorded", role: "view", expiresInSeconds: 60 },
    { name: "recorded", role: "god", expiresInSeconds: 60 },
  ],
  "POST /v1/bulk": () => [
    { ...BULK, dryRun: true },
    { action: "register", filter: { beside: "nowhere" }, dryRun: true },
    { action: "forget", filter: { state: "silent" }, dryRun: true },
    { ...BULK, confirmation: "x" },
  ],
  "POST /v1/receivers": () => [
    { name: "hook", url: RECEIVER_URL },
    { name: "hook", url: RECEIVER_URL },
    { name: "inside", url: "https://10.0.0.1/" },
  ],
  "PUT /v1/receivers/{receiver}": () => [
    { delaySeconds: 60 },
    { newSecret: true, states: ["silent"] },
    { selector: "a b" },
  ],
  "PUT /v1/rollout": () => [
    { version: "0.2.0", percent: 10, selector: "site=a", mostSilentPercent: 1, atOnce: 5 },
    { version: "0.2.0", percent: 101 },
  ],
  "POST /v1/session": () => [
    { secret: VIEW_SECRET },
    { secret: "wrong" },
    { secret: METRICS_SECRET },
    { code: `rcc_${"A".repeat(22)}` },
    { code: "x" },
    { secret: "x", code: "x" },
    { secret: "x".repeat(2000) },
  ],
  "POST /v1/imports": () => [
    {
      rollcallBackup: 1,
      id: "recorded",
      page: 1,
      isLast: false,
      at: "2026-01-01T00:00:00Z",
      deployment: "rollcall",
      table: "deployment",
      columns: [],
      rows: [],
      mac: "",
    },
  ],
  "POST /v1/mutes": () => [{ until: "2100-01-02T00:00:00Z" }, { until: "2000-01-01T00:00:00Z" }, {}],
};

const asBearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const ADMIN = asBearer(ADMIN_SECRET);
type Headers = Readonly<Record<string, string>>;

/** The answers by their digest. `requests` has the requests that got each answer. */
const answers = new Map<string, string>();
const requests = new Map<string, string[]>();

/** The combinations of headers that are too common to record. */
const COMMON = new Set([
  "application/problem+json|no-store|nosniff",
  "application/json|no-store|nosniff",
  "|no-store|nosniff",
]);

const PLACEHOLDERS: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "TIME"],
  [/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, "JWT"],
  [/W\/"\d+-[\w-]+"/g, "ETAG"],
  [/rc[a-z]_[\w.-]{20,}/g, "SECRET"],
  [/(?<=whsec_)[\w+/=-]{20,}/g, "SECRET"],
  [/\b\d{13}\b(?:\.\d+(?![\w-]))?/g, "MS"],
  [/(?<= )[14]\d{9}\b(?:\.\d+)?/g, "SECONDS"],
  [/(?<="reportInMs":)\d+/g, "MS"],
  // The version varies: events are written after the answer, before or after the next write of the Node.
  [/(?<="resourceVersion":")\d+/g, "VERSION"],
  // In /readyz the check `state` reads the stored version of one random machine.
  [/(?<=, index v\d+, )[\w-]+ v\d+/g, "MACHINE"],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID"],
  // The cluster object's own requests may end before or after a read of /metrics.
  [/^rollcall_apiserver_request_duration_seconds_.*\n/gm, ""],
  // In CSV an apostrophe precedes a value that begins with a hyphen.
  [/(?:(?<=[,\n])')?(?<![\w-])(?!t{43})(?!A{43})[\w-]{43}(?![\w-])/g, "DIGEST"],
  [/(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])(?=[\w-]*\d)[\w-]{16,}(?![\w-])/g, "ID"],
  [/(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{22}(?![\w-])/g, "ID"],
  [/(?<=[".])(?:[0-9a-z]{8,9})\.2\.[\w-]+(?=")/g, "TICKET"],
];
const placed = (text: string) =>
  PLACEHOLDERS.reduce((so, [pattern, name]) => so.replaceAll(pattern, name), text);

async function record(route: string, what: string, response: Response): Promise<string> {
  response.webSocket?.accept();
  response.webSocket?.close();
  // The body is read as bytes: workerd warns if a body is read as text but its type is no text.
  const body = new TextDecoder().decode(await response.arrayBuffer());
  const headers = Object.fromEntries(response.headers);
  const { "content-type": type = "", "cache-control": cache = "", ...more } = headers;
  const common = [type, cache, more["x-content-type-options"] ?? ""].join("|");
  const shown = [
    "allow",
    "etag",
    "retry-after",
    "rollcall-woken",
    "sec-websocket-protocol",
    "set-cookie",
    "vary",
  ]
    .concat("www-authenticate")
    .flatMap((name) => (more[name] === undefined ? [] : `${name}: ${more[name]}`));
  const kind = COMMON.has(common) ? "" : common;
  const text = placed([response.status, kind, ...shown, body].filter((each) => each !== "").join("\n  "));
  const digest = sha256Base64url(text).slice(0, 6);
  answers.set(digest, text);
  requests.set(route, [...(requests.get(route) ?? []), `${what} → ${digest}`]);
  return body;
}

interface Asking {
  path?: string;
  query?: string;
  body?: unknown;
  headers?: Headers;
  method?: string;
}

const pathOf = (route: string, parts: Headers = {}) =>
  route
    .slice(route.indexOf(" ") + 1)
    .replaceAll(/\{(\w+)\}/g, (_, part: string) => parts[part] ?? { name: NAME, gateway: "1" }[part] ?? "x");

/** Sends a request a second after the previous one, and records the answer. */
async function ask(route: string, what: string, asking: Asking = {}): Promise<string> {
  vi.setSystemTime(Date.now() + 1000);
  const { path = pathOf(route), query = "", body, headers = {}, method = route.split(" ")[0]! } = asking;
  const response = await send(query === "" ? path : `${path}?${query}`, {
    method,
    headers,
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return record(route, what, response);
}

const ROUTE_NAMES = Object.keys(ROUTES).sort();
const OF_MACHINES = /\/(enrolment|report|rotate|leave|upgrade|answers|gateways)\b/;

/** Sends each role's requests that the route refuses. A refused request changes nothing. */
async function refusals(route: string, roles: Readonly<Record<string, Headers>>): Promise<void> {
  const query = QUERIES[route] ?? "";
  const [body] = BODIES[route]?.() ?? [];
  const isRead = route.startsWith("GET ");
  for (const [role, headers] of Object.entries(roles)) {
    const isRefused =
      !isRead && !["POST /v1/session", "DELETE /v1/session", "POST /v1/feed/tickets"].includes(route);
    if (isRefused || role === "nobody" || role === "machine")
      await ask(route, role, { query, body, headers });
  }
  if (OF_MACHINES.test(route)) return;
  await ask(route, "unknown parameter", { query: `${query}&odd=1`, body, headers: ADMIN });
  for (const [name] of new URLSearchParams(query)) {
    const wrong = new URLSearchParams(query);
    wrong.set(name, "no-such-value");
    await ask(route, `wrong ${name}`, { query: wrong.toString(), headers: ADMIN });
  }
  if (query !== "") await ask(route, "a parameter twice", { query: `${query}&${query}`, headers: ADMIN });
  if (body !== undefined)
    for (const wrong of ["", "{", "[]", '{"odd":1}', { ...(body as object), odd: 1 }])
      await ask(route, `body ${JSON.stringify(wrong)}`, { body: wrong, headers: ADMIN });
  for (const name of route.includes("{name}") ? ["Upper", "%6cive", "nowhere"] : [])
    await ask(route, `name ${name}`, { path: pathOf(route, { name }), body, headers: ADMIN });
  for (const receiver of route.includes("{receiver}") ? ["nowhere"] : [])
    await ask(route, `receiver ${receiver}`, { path: pathOf(route, { receiver }), body, headers: ADMIN });
}

/** Mints a join token a second after the previous one, since lists are sorted by time. */
function minted(wish?: Record<string, unknown>): Promise<string> {
  vi.setSystemTime(Date.now() + 1000);
  return mintToken(wish);
}

it("every route answers each role as recorded", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2100, 0, 1) });
  vi.spyOn(globalThis, "fetch").mockImplementation(() => Promise.resolve(new Response("ok")));
  const machine = await enrolled(NAME);
  // Else the objects may know the cluster's version from another test, and the cluster's history would not name it.
  await setKnownCluster(NAME, {});
  const report = shimOf(machine);
  await report(facts(NAME), HEALTHY);
  await indexIsUpdated(NAME);
  const { secret } = (
    await operator<{ secret: string }>("POST", "/v1/operators", {
      name: "alice",
      role: "admin",
      expiresInSeconds: 86_400,
    })
  ).body;
  const signedIn = await send("/v1/session", {
    method: "POST",
    body: JSON.stringify({ secret: ADMIN_SECRET }),
  });
  const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!;
  const own = { cookie, "sec-fetch-site": "same-origin" };
  const claims = { sub: NAME, aud: ORIGIN, body: sha256Base64url("{}"), ticket: "x", n: 1 };
  const token = await signReport(machine.key, machine.kid, claims);

  const roles = {
    nobody: {},
    machine: asBearer(token),
    metrics: asBearer(METRICS_SECRET),
    viewer: asBearer(VIEW_SECRET),
    "another site's page": { cookie, "sec-fetch-site": "cross-site" },
  };
  for (const route of ROUTE_NAMES) await refusals(route, roles);
  for (const path of new Set(ROUTE_NAMES.map((route) => pathOf(route))))
    await ask(`OPTIONS ${path}`, "admin", { headers: ADMIN });
  await ask("GET /v1/nowhere", "admin", { headers: ADMIN });
  await ask("GET /nowhere", "nobody");

  // The first recorded requests are those of machines.
  const transport =
    (route: string): Transport =>
    async ({ method, path, headers, body }) => {
      vi.setSystemTime(Date.now() + 1000);
      const response = await send(path, { method, headers, body });
      return { status: response.status, body: await record(route, "machine", response) };
    };
  const [key, other] = [await makeMachineKey(), await makeMachineKey()];
  const wish = { name: "recorded-new", machineID: "m-1", systemUUID: "s-1", origin: ORIGIN };
  const enrolment = transport("PUT /v1/nodes/{name}/enrolment");
  await enrol(enrolment, key, { ...wish, joinToken: await minted() });
  await enrol(enrolment, other, { ...wish, joinToken: await minted() });
  await enrol(enrolment, other, { ...wish, joinToken: await minted({ names: "elsewhere" }) });
  const reports = "POST /v1/nodes/{name}/report";
  const identity = {
    ...machine,
    origin: ORIGIN,
    startId: "start-1",
    machineTime: () => "2026-01-02T03:04:05Z",
  };
  const shim = reporter({ ...identity, send: transport(reports) });
  await shim(facts(NAME), HEALTHY);
  await shim(facts(NAME), HEALTHY);
  for (const body of ["{", "{}", `{"protocol":1,"startId":"s","machineTime":"x"}`]) {
    const ofBody = { ...claims, body: sha256Base64url(body) };
    const headers = asBearer(await signReport(machine.key, machine.kid, ofBody));
    await ask(reports, `body ${body}`, { body, headers });
  }
  await ask(reports, "another body", { body: "{}x", headers: asBearer(token) });
  await ask(reports, "too large", { body: "x".repeat(300_000), headers: asBearer(token) });
  const link = { ...machine, origin: ORIGIN };
  await askForUpgrade(transport("POST /v1/nodes/{name}/upgrade"), link, "0.1.0");
  await rotate(transport("POST /v1/nodes/{name}/rotate"), link, await makeMachineKey());
  vi.setSystemTime(Date.now() + 1000);
  await leave(transport("POST /v1/nodes/{name}/leave"), {
    ...(await enrolled("recorded-leaving")),
    origin: ORIGIN,
  });
  const socket = await connecting(machine);
  const gateways = "GET /v1/gateways/{gateway}/nodes/{name}";
  await ask(gateways, "no upgrade", { path: socket.path });
  await ask(gateways, "odd number", { path: socket.path.replace("/7/", "/07/"), headers: socket.headers });
  await ask(gateways, "unknown parameter", { path: `${socket.path}&u=1`, headers: socket.headers });
  await ask(gateways, "another gateway", {
    path: socket.path.replace("/7/", "/8/"),
    headers: socket.headers,
  });

  // The operators' routes need data to show: machines, a waiting key, updates of the index.
  vi.setSystemTime(Date.now() + 1000);
  await shimOf(await enrolled("recorded-pinned"))(facts("recorded-pinned"), HEALTHY);
  const waitingKey = await makeMachineKey();
  waiting = waitingKey.thumbprint;
  await enrolling("recorded-pinned", { joinToken: await minted(), key: waitingKey });
  for (const index of [970_001, 970_002])
    await fleetIndex(env).tell(
      updateOf(index, 1, { state: "silent", silentSinceMs: 1, address: "198.51.100.97" }),
    );
  const told = updateOf(0, 1, {}, [stateEntry(1, "silent", "ready", 0)]);
  await fleetIndex(env).tell({ ...told, name: NAME, generation: 1e6 });
  await indexIsUpdated("recorded-pinned");
  const reads = async (role: string, headers: Headers, isWhole = false) => {
    for (const route of ROUTE_NAMES.filter((each) => each.startsWith("GET ") && !OF_MACHINES.test(each))) {
      const as = { headers: { ...headers, ...(route.endsWith("/feed") && { upgrade: "websocket" }) } };
      const id = route.includes("outages") ? "2" : "1";
      const path = pathOf(route, { id, receiver: "hook" });
      await ask(route, role, { ...as, path });
      if (!isWhole) continue;
      await ask(route, `${role}, HEAD`, { ...as, path, method: "HEAD" });
      if (QUERIES[route] !== undefined)
        await ask(route, `${role}, with a query`, { ...as, path, query: QUERIES[route] });
      for (const accept of ["text/csv", "application/x-ndjson"])
        if (QUERIES[route]?.includes("format="))
          await ask(route, `${role}, ${accept}`, { path, headers: { ...headers, accept } });
    }
  };
  await shim(facts(NAME), HEALTHY);
  await reads("viewer", asBearer(VIEW_SECRET), true);

  // Admins change data with the admin secret, with an operator's own secret, and from a browser.
  for (const route of ROUTE_NAMES.filter((each) => BODIES[each]))
    for (const body of BODIES[route]!()) {
      const path = pathOf(route, { name: "recorded-pinned", receiver: "hook" });
      await ask(route, `admin, ${placed(JSON.stringify(body)).slice(0, 60)}`, { path, body, headers: ADMIN });
    }
  const plan = await ask("POST /v1/bulk", "alice plans", {
    body: { ...BULK, dryRun: true },
    headers: asBearer(secret),
  });
  const { confirmation } = JSON.parse(plan) as { confirmation: string };
  const confirmed = { body: { ...BULK, confirmation } };
  await ask("POST /v1/bulk", "admin confirms alice's", { ...confirmed, headers: ADMIN });
  await ask("POST /v1/bulk", "alice confirms", { ...confirmed, headers: asBearer(secret) });
  await runInDurableObject(fleetIndex(env), (_, { storage }) => {
    storage.sql.exec("INSERT INTO letters VALUES (NULL, 'hook', 'message', '{}', 0, 1, NULL, 'no luck')");
  });
  for (const path of ["/v1/operators", "/v1/session/codes", "/v1/index/repair"]) {
    const body = path.endsWith("operators")
      ? { name: "bob", role: "admin", expiresInSeconds: 60 }
      : undefined;
    await ask(`POST ${path}`, "alice, signed in", { body, headers: own });
    await ask(`POST ${path}`, "alice, signed in, without a body", { headers: own });
    await ask(`POST ${path}`, "another site's page", {
      body,
      headers: { ...own, "sec-fetch-site": "cross-site" },
    });
  }
  const code = await ask("POST /v1/session/codes", "alice", { headers: asBearer(secret) });
  for (const times of ["once", "twice"])
    await ask("POST /v1/session", `a code ${times}`, {
      body: { code: (JSON.parse(code) as { code: string }).code },
    });
  await ask("GET /v1/session", "signed in", { headers: own });
  await ask("GET /v1/session", "a made-up cookie", { headers: { cookie: "__Host-rollcall=x" } });
  await ask("GET /v1/backup", "admin", { headers: ADMIN });
  await ask("GET /v1/sessions", "admin", { headers: own });
  // The test evicts the object, since the object's data in memory would depend on earlier evictions by workerd.
  await evictDurableObject(env.NODES.getByName(NAME));
  await reads("admin", ADMIN);
  const letters = "POST /v1/receivers/{receiver}/letters/{id}/resend";
  await ask(letters, "admin", { path: pathOf(letters, { receiver: "hook", id: "1" }), headers: ADMIN });
  const test = "POST /v1/receivers/{receiver}/test";
  await ask(test, "admin", { path: pathOf(test, { receiver: "hook" }), headers: ADMIN });
  await ask("POST /v1/feed/tickets", "viewer", { headers: asBearer(VIEW_SECRET) });
  await ask("POST /v1/nodes/{name}/believe", "admin", { headers: ADMIN });
  await ask("POST /v1/nodes/{name}/register", "admin", { headers: ADMIN });
  for (const action of ["stop", ""]) {
    const route = action === "" ? "DELETE /v1/rollout" : "POST /v1/rollout/stop";
    await ask(route, "admin", { headers: ADMIN });
    await ask(route, "admin, again", { headers: ADMIN });
  }
  const ended: readonly (readonly [string, string])[] = [
    ["DELETE /v1/bulk/{id}", "1"],
    ["DELETE /v1/mutes/{id}", "1"],
    ["DELETE /v1/operators/{id}", "recorded"],
    ["DELETE /v1/tokens/{id}", "x"],
    ["DELETE /v1/sessions/{id}", "x"],
    ["DELETE /v1/imports", "x"],
    ["DELETE /v1/receivers/{receiver}", "hook"],
    ["POST /v1/nodes/{name}/revoke", "recorded-pinned"],
    ["DELETE /v1/nodes/{name}", "recorded-pinned"],
    ["DELETE /v1/session", "x"],
  ];
  for (const [route, id] of ended)
    for (const times of ["once", "twice"]) {
      const path = pathOf(route, { id, name: id, receiver: id });
      await ask(route, `admin, ${times}`, { path, headers: route.endsWith("session") ? own : ADMIN });
    }
  await evictDurableObject(env.NODES.getByName(NAME));
  await reads("admin at the end", ADMIN);
  expect(await registry(env).knows(NAME)).toBe(true);

  const lines = [
    ...[...requests].flatMap(([route, asked]) => [`== ${route}`, ...asked]),
    ...[...answers].sort(([a], [b]) => (a < b ? -1 : 1)).map(([digest, text]) => `-- ${digest}\n  ${text}`),
  ];
  vi.restoreAllMocks();
  // The file shows a carriage return, which tools that rewrite lines would lose.
  await expect(`${lines.join("\n").replaceAll("\r", "␍")}\n`).toMatchFileSnapshot("recorded-answers.txt");
});
