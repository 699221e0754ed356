// Tests browser sessions: sign-in and sign-out, the cookie, requests of other sites, how soon an ended session is
// refused, and the audit log.
import {
  createExecutionContext,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  createdOperatorSchema,
  type OperatorsAnswer,
  sessionCodeSchema,
  sessionSchema,
  sessionsSchema,
  startedSessionSchema,
} from "../../../shared/protocol/administration-answers.ts";
import { FEED_CLOSED, FEED_PROTOCOL, TICKET_PROTOCOL } from "../../../shared/protocol/feed-names.ts";
import { type FeedTicket } from "../../../shared/protocol/feed.ts";
import { SESSION_LIMITS } from "../../../shared/protocol/limits.ts";
import { failure } from "../../../shared/result.ts";
import type { AuditAnswer } from "../../../shared/protocol/operator-answers.ts";
import { type Environment, fleetIndex, registry } from "../../../worker/env.ts";
import { SECRET_NEEDED } from "../../../worker/http/administration-routes.ts";
import { OPERATOR_KEPT_MS } from "../../../worker/http/operator-access.ts";
import { sessionId } from "../../../worker/identity/issued.ts";
import worker from "../../../worker/index.ts";
import { ADMIN_SECRET, METRICS_SECRET, ORIGIN, VIEW_SECRET } from "../support/constants.ts";
import { operator, send } from "../support/machine.ts";
import { eventually, setClock, shift } from "../support/clock.ts";

type Headers = Record<string, string>;

const NAME = "__Host-rollcall";
/** The headers that a browser sends with a request of the page itself. */
const OWN: Headers = { "sec-fetch-site": "same-origin" };
const timeOf = (seconds: number) => new Date(1000 * seconds).toISOString();
const PLAIN = "http://127.0.0.1:8787";
/** A text in the form of a sign-in code. */
const CODE = `rcc_${"A".repeat(22)}`;

const posted = (body: unknown, headers: Headers = {}) =>
  send("/v1/session", {
    method: "POST",
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const cookieIn = (response: Response) => (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";

/** Returns the cookie of a new session, as a browser sends it. */
async function signedIn(by: object = { secret: ADMIN_SECRET }): Promise<string> {
  const response = await posted(by);
  expect(response.status).toBe(201);
  return cookieIn(response);
}
const withCookie = (cookie: string, method: string, path: string, headers: Headers = OWN, body?: unknown) =>
  send(path, {
    method,
    headers: { cookie, ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
const asks = async (cookie: string, path = "/v1/tokens") => (await withCookie(cookie, "GET", path)).status;

async function made(name: string, role: string): Promise<string> {
  const wish = { name, role, expiresInSeconds: 3600 };
  return createdOperatorSchema.parse((await operator("POST", "/v1/operators", wish)).body).secret;
}
async function madeCode(secret = ADMIN_SECRET): Promise<string> {
  const headers = { authorization: `Bearer ${secret}`, "cf-connecting-ip": "203.0.113.8" };
  const response = await send("/v1/session/codes", { method: "POST", headers });
  expect(response.status).toBe(201);
  return sessionCodeSchema.parse(await response.json()).code;
}
const sessions = async () => sessionsSchema.parse((await operator("GET", "/v1/sessions")).body).sessions;
const auditOf = async (target: string) => {
  const path = `/v1/audit?target=${encodeURIComponent(target)}&limit=1000`;
  const { entries } = (await operator<AuditAnswer>("GET", path)).body;
  return entries.reverse().map(({ who, what, detail }) => [who, what, detail]);
};
const idOf = (cookie: string) => sessionId(cookie.split(".")[1]!);
const dump = () =>
  runInDurableObject(registry(env), (_, { storage: { sql } }) =>
    JSON.stringify(
      ["sessions", "session_codes", "audit", "operators", "refused_changes"].map((table) =>
        sql.exec(`SELECT * FROM ${table}`).toArray(),
      ),
    ),
  );

// Each test begins without sessions. Operators and audit entries stay, because other files count their own.
beforeEach(() =>
  runInDurableObject(registry(env), (_, { storage: { sql } }) => {
    sql.exec("DELETE FROM sessions");
    sql.exec("DELETE FROM session_codes");
  }),
);
afterEach(() => {
  vi.restoreAllMocks();
});

describe("a sign-in", () => {
  it.each<[string, () => Promise<object>, { who: string; role: string }]>([
    ["with the admin secret", async () => ({ secret: ADMIN_SECRET }), { who: "admin secret", role: "admin" }],
    ["with the view secret", async () => ({ secret: VIEW_SECRET }), { who: "view secret", role: "view" }],
    [
      "with an operator's own",
      async () => ({ secret: await made("session-ann", "view") }),
      { who: "operator session-ann", role: "view" },
    ],
    ["with a code", async () => ({ code: await madeCode() }), { who: "admin secret", role: "admin" }],
    [
      "with a code of an operator's own",
      async () => ({ code: await madeCode(await made("session-ben", "admin")) }),
      { who: "operator session-ben", role: "admin" },
    ],
  ])("%s → is that operator from then on", async (_, by, expected) => {
    const response = await posted(await by());
    expect(response.status).toBe(201);
    const { expiresAt, ...started } = startedSessionSchema.parse(await response.json());
    expect(started).toEqual(expected);
    const seen = await withCookie(cookieIn(response), "GET", "/v1/session");
    expect(sessionSchema.parse(await seen.json())).toEqual({
      operator: { ...expected, by: "session", expiresAt },
      ways: { secret: true, access: false },
      deployment: env.DEPLOYMENT,
    });
    const changed = await withCookie(cookieIn(response), "DELETE", "/v1/tokens/nobody's");
    expect(changed.status).toBe(expected.role === "admin" ? 404 : 403);
  });

  it.each<[string, () => Promise<unknown>, number]>([
    ["another secret", async () => ({ secret: "wrong" }), 403],
    ["the secret for metrics", async () => ({ secret: METRICS_SECRET }), 403],
    [
      "an operator's own for metrics",
      async () => ({ secret: await made(`session-m${Date.now()}`, "metrics") }),
      403,
    ],
    ["an unknown operator's", async () => ({ secret: `rco_${"A".repeat(43)}` }), 403],
    ["a secret's hash", async () => ({ secret: env.ADMIN_SECRET_SHA256 }), 403],
    ["a code that was never created", async () => ({ code: CODE }), 403],
    ["what is no code", async () => ({ code: "A" }), 403],
    ["a secret as a code", async () => ({ code: ADMIN_SECRET }), 403],
    ["both", async () => ({ secret: ADMIN_SECRET, code: "A".repeat(22) }), 400],
    ["neither", async () => ({}), 400],
    ["an empty secret", async () => ({ secret: "" }), 400],
    ["a secret that is no text", async () => ({ secret: 1 }), 400],
    ["another field", async () => ({ secret: ADMIN_SECRET, role: "admin" }), 400],
    ["no JSON", async () => "{", 400],
    ["nothing", async () => "", 400],
  ])("with %s → %3$s, no cookie and no session", async (_, body, status) => {
    const response = await posted(await body());
    expect([response.status, response.headers.get("set-cookie")]).toEqual([status, null]);
    expect(await sessions()).toEqual([]);
  });

  it.each([`x${CODE}`, `${CODE}x`, "rcc_A", `rcc_${"!".repeat(22)}`])(
    "with %s as a code → 403, and the registry is not asked",
    async (code) => {
      const ask = vi.spyOn(env.REGISTRY, "getByName");
      expect((await posted({ code })).status).toBe(403);
      expect(ask).not.toHaveBeenCalled();
    },
  );

  it.each([
    ["at its limit", 0, 403],
    ["just over it", 1, 413],
  ])("with a body %s → %3$s", async (_, more, status) => {
    const frame = JSON.stringify({ secret: "" }).length;
    const secret = "x".repeat(SESSION_LIMITS.bodyBytes - frame + more);
    expect((await posted({ secret })).status).toBe(status);
  });

  it("with a query → 400", async () => {
    const body = JSON.stringify({ secret: ADMIN_SECRET });
    expect((await send("/v1/session?secret=x", { method: "POST", body })).status).toBe(400);
  });

  it("twice with a code → 403", async () => {
    const code = await madeCode();
    expect([(await posted({ code })).status, (await posted({ code })).status]).toEqual([201, 403]);
    expect(await sessions()).toHaveLength(1);
  });

  it("at once from several browsers with one code → one gets a session", async () => {
    const code = await madeCode();
    const answers = await Promise.all(Array.from({ length: 8 }, () => posted({ code })));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, ...Array(7).fill(403)]);
    expect(await sessions()).toHaveLength(1);
  });

  it("after as many on this day as one operator may have → 429, with another wait and cause", async () => {
    const startSession = () => Promise.resolve(failure("too many sign-ins"));
    const REGISTRY = { getByName: () => ({ startSession }) };
    const request = new Request(`${ORIGIN}/v1/session`, {
      method: "POST",
      body: JSON.stringify({ secret: VIEW_SECRET }),
    });
    const response = await worker.fetch(request, { ...env, REGISTRY }, createExecutionContext());
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "3600"]);
    const detail = `An operator may sign in ${SESSION_LIMITS.signInsADay} times a day (UTC).`;
    expect(await response.json()).toMatchObject({ detail });
  });

  it("while other operators have all sessions → 429", async () => {
    const insert = "INSERT INTO sessions VALUES (?, 'x', 'view', ?, 0, ?, '', '')";
    await runInDurableObject(registry(env), (_, { storage: { sql } }) => {
      for (let each = 0; each < SESSION_LIMITS.sessions; each++)
        sql.exec(insert, `full-${each}`, env.ADMIN_SECRET_SHA256, Date.now() + 3600_000);
    });
    const response = await posted({ secret: VIEW_SECRET });
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "60"]);
  });
});

describe("a failed sign-in", () => {
  const address = { "cf-connecting-ip": "198.51.100.9" };
  const countingFailures = (success: boolean) => {
    const limit = vi.fn(async () => ({ success }));
    return { counting: { ...env, FAILURES: { limit } } as unknown as Environment, limit };
  };
  const at = (counting: Environment, init: RequestInit, path = "/v1/session") =>
    worker.fetch(new Request(`${ORIGIN}${path}`, init), counting, createExecutionContext());
  const attempt = (secret: string) => ({
    method: "POST",
    headers: address,
    body: JSON.stringify({ secret }),
  });

  it("counts for its address; above the limit even the right secret is refused", async () => {
    const { counting, limit } = countingFailures(true);
    expect((await at(counting, attempt("wrong"))).status).toBe(403);
    expect((await at(counting, attempt(ADMIN_SECRET))).status).toBe(201);
    expect(limit).toHaveBeenCalledTimes(1);
    const above = countingFailures(false);
    expect((await at(above.counting, attempt("wrong"))).status).toBe(429);
    expect((await at(above.counting, attempt(ADMIN_SECRET))).status).toBe(429);
    shift(61_000);
    expect((await at(above.counting, attempt(ADMIN_SECRET))).status).toBe(201);
  });

  it.each<[string, () => Promise<Headers>, counted: number, operator: null | string, cleared: boolean]>([
    ["nothing", async () => ({}), 0, null, false],
    ["a cookie that is made up", async () => ({ cookie: `${NAME}=x` }), 1, null, true],
    [
      "a cookie of a session that has ended",
      async () => {
        const cookie = await signedIn();
        await withCookie(cookie, "DELETE", "/v1/session");
        return { cookie };
      },
      0,
      null,
      true,
    ],
    ["another's cookie", async () => ({ cookie: "theirs=1" }), 0, null, false],
    ["a good cookie", async () => ({ cookie: await signedIn() }), 0, "session", false],
    ["a secret", async () => ({ authorization: `Bearer ${VIEW_SECRET}` }), 0, "secret", false],
  ])("is it, to ask who one is with %s?", async (_, headers, counted, by, cleared) => {
    const { counting, limit } = countingFailures(true);
    const from = { "cf-connecting-ip": "198.51.100.12" };
    const response = await at(counting, { headers: { ...(await headers()), ...from } });
    expect(response.status).toBe(200);
    expect(sessionSchema.parse(await response.json()).operator?.by ?? null).toBe(by);
    expect(limit).toHaveBeenCalledTimes(counted);
    expect(response.headers.get("set-cookie")).toBe(
      cleared ? `${NAME}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure` : null,
    );
  });

  it.each<[string, Headers, number]>([
    ["a wrong secret", { authorization: "Bearer wrong" }, 403],
    ["a wrong secret beside a cookie", { authorization: "Bearer wrong", cookie: `${NAME}=x` }, 403],
    ["a forged assertion", { "cf-access-jwt-assertion": "e30.e30.e30" }, 403],
  ])("is it, to ask who one is with %s → %3$s, and it counts", async (_, headers, status) => {
    const { counting, limit } = countingFailures(true);
    const asked = { headers: { ...headers, ...address, "cf-connecting-ip": "198.51.100.10" } };
    expect((await at(counting, asked)).status).toBe(status);
    expect(limit).toHaveBeenCalledTimes(1);
  });

  it("from an address above the limit → an existing session stays valid", async () => {
    const { counting } = countingFailures(false);
    const from = { "cf-connecting-ip": "198.51.100.13" };
    const cookie = await signedIn();
    expect((await at(counting, { headers: { ...from, authorization: "Bearer wrong" } })).status).toBe(429);
    const response = await at(counting, { headers: { ...from, cookie } });
    expect(sessionSchema.parse(await response.json()).operator?.by).toBe("session");
  });

  it("forged cookies above the limit → 429, and the registry is not asked", async () => {
    const { counting } = countingFailures(false);
    const ask = vi.spyOn(env.REGISTRY, "getByName");
    const headers = { cookie: `${NAME}=1.${"A".repeat(22)}.9999999999999.${"A".repeat(43)}` };
    const asked = { headers: { ...headers, "cf-connecting-ip": "198.51.100.11" } };
    expect((await at(counting, asked)).status).toBe(429);
    expect(ask).not.toHaveBeenCalled();
  });

  it.each<[string, Partial<Environment>, object]>([
    ["no secret", { ADMIN_SECRET_SHA256: "", VIEW_SECRET_SHA256: "" }, { secret: false, access: false }],
    ["the view secret alone", { ADMIN_SECRET_SHA256: "" }, { secret: true, access: false }],
    ["Access as well", { ACCESS_TEAM: "team", ACCESS_AUD: "aud" }, { secret: true, access: true }],
    ["half of Access", { ACCESS_TEAM: "team" }, { secret: true, access: false }],
  ])("which ways in there are: %s", async (_, more, ways) => {
    const response = await at({ ...env, ...more }, {});
    expect([response.status, await response.json()]).toEqual([200, { operator: null, ways }]);
  });

  it("no operator can sign in → the answer states that", async () => {
    const none = { ...env, ADMIN_SECRET_SHA256: "", VIEW_SECRET_SHA256: "" };
    const body = JSON.stringify({ secret: ADMIN_SECRET });
    expect((await at(none, { method: "POST", body })).status).toBe(503);
  });
});

describe("the cookie", () => {
  it("over https → for this host only, not readable by scripts, for 12 hours", async () => {
    const set = (await posted({ secret: ADMIN_SECRET })).headers.get("set-cookie");
    const token = String.raw`2\.[\w-]{22}\.\d{13}\.[\w-]{43}`;
    expect(set).toMatch(
      new RegExp(`^${NAME}=${token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$`),
    );
  });

  it.each([
    [
      "of a local cluster, whose origin is one",
      `${ORIGIN} ${PLAIN}`,
      /^rollcall=\S+; .*SameSite=Strict$/,
      200,
    ],
    ["of a deployment that has none by http", ORIGIN, /^__Host-rollcall=\S+; .*; Secure$/, 200],
  ])("over http %s", async (_, ORIGINS, expected, status) => {
    const local = { ...env, ORIGINS };
    const at = (path: string, init: RequestInit) =>
      worker.fetch(new Request(PLAIN + path, init), local, createExecutionContext());
    const body = JSON.stringify({ secret: ADMIN_SECRET });
    const response = await at("/v1/session", { method: "POST", body });
    expect(response.headers.get("set-cookie")).toMatch(expected);
    const cookie = cookieIn(response);
    expect((await at("/v1/tokens", { headers: { cookie } })).status).toBe(status);
    const other = cookie.startsWith(NAME) ? cookie.slice("__Host-".length) : `__Host-${cookie}`;
    expect((await at("/v1/tokens", { headers: { cookie: other } })).status).toBe(403);
  });

  it.each([
    ["among others", (cookie: string) => `a=b; ${cookie}; c=d`, 200],
    ["under another name", (cookie: string) => cookie.replace("rollcall", "other"), 403],
    ["without its prefix, over https", (cookie: string) => cookie.replace("__Host-", ""), 403],
    ["with another text", (cookie: string) => cookie.replace(/\.[\w-]{22}\./, `.${"A".repeat(22)}.`), 403],
    ["with a later end", (cookie: string) => cookie.replace(/\.4(\d{12})\./, ".9$1."), 403],
    ["by another of our keys", (cookie: string) => cookie.replace("=2.", "=1."), 403],
  ])("%s → %3$s", async (_, altered, status) => {
    expect(await asks(altered(await signedIn()))).toBe(status);
  });

  it("of a key that only verifies → still valid", async () => {
    const cookie = await signedIn();
    const later = {
      ...env,
      KID_MAC_KEYS: `3:${Buffer.alloc(32, 3).toString("base64url")} ${env.KID_MAC_KEYS}`,
    };
    const at = (KID_MAC_KEYS: string) =>
      worker.fetch(
        new Request(`${ORIGIN}/v1/tokens`, { headers: { cookie } }),
        { ...later, KID_MAC_KEYS },
        createExecutionContext(),
      );
    expect((await at(later.KID_MAC_KEYS)).status).toBe(200);
    expect((await at(later.KID_MAC_KEYS.split(" ")[0]!)).status).toBe(403);
  });
});

describe("another site", () => {
  const cases: [situation: string, headers: Headers, look: number, change: number, feed: number][] = [
    ["a page of this origin", OWN, 200, 404, 101],
    ["a page of this origin, as an old browser says", { origin: ORIGIN }, 200, 404, 101],
    ["a page of another of our origins", { origin: "https://other.test" }, 200, 404, 101],
    ["the address bar", { "sec-fetch-site": "none" }, 200, 403, 403],
    ["a browser that says nothing", {}, 200, 403, 403],
    ["another site's page", { "sec-fetch-site": "cross-site" }, 403, 403, 403],
    ["a subdomain's page", { "sec-fetch-site": "same-site" }, 403, 403, 403],
    ["another origin's page, as an old browser says", { origin: "https://evil.test" }, 403, 403, 403],
    ["an unknown origin", { origin: "null" }, 403, 403, 403],
    ["two that contradict each other", { ...OWN, origin: "https://evil.test" }, 403, 403, 403],
  ];
  it.each(cases)("%s → GET %3$s, DELETE %4$s, WebSocket %5$s", async (_, headers, look, change, feed) => {
    const cookie = await signedIn();
    expect((await withCookie(cookie, "GET", "/v1/tokens", headers)).status).toBe(look);
    expect((await withCookie(cookie, "HEAD", "/v1/tokens", headers)).status).toBe(look);
    expect((await withCookie(cookie, "DELETE", "/v1/tokens/nobody's", headers)).status).toBe(change);
    const opened = await withCookie(cookie, "GET", "/v1/feed", { ...headers, upgrade: "websocket" });
    opened.webSocket?.accept();
    opened.webSocket?.close();
    expect(opened.status).toBe(feed);
  });

  it("a page at the request's own origin that ORIGINS lacks → accepted", async () => {
    const own = "https://page.test";
    const at = (headers: Headers, method = "GET", body?: string) =>
      worker.fetch(
        new Request(`${own}/v1/session`, { method, headers, ...(body !== undefined && { body }) }),
        env,
        createExecutionContext(),
      );
    const cookie = cookieIn(await at({ origin: own }, "POST", JSON.stringify({ secret: ADMIN_SECRET })));
    expect((await at({ origin: own, cookie }, "DELETE")).status).toBe(204);
  });

  it.each<[string, Headers, number]>([
    ["another site's page", { "sec-fetch-site": "cross-site" }, 403],
    ["a subdomain's page", { "sec-fetch-site": "same-site" }, 403],
    ["another origin's page", { origin: "https://evil.test" }, 403],
    ["a page of this origin", { ...OWN, origin: ORIGIN }, 201],
    ["no browser", {}, 201],
  ])("that signs a browser in: %s → %3$s", async (_, headers, status) => {
    expect((await posted({ secret: ADMIN_SECRET }, headers)).status).toBe(status);
  });
});

describe("a cookie with another credential", () => {
  it.each<[string, Headers, string | number]>([
    ["another secret → refused", { authorization: "Bearer wrong" }, 403],
    ["the view secret → who has that", { authorization: `Bearer ${VIEW_SECRET}` }, "view secret"],
    ["a header that holds no secret → refused", { authorization: "Basic eDp5" }, 403],
    [
      "a forged assertion of Access → the session's",
      { "cf-access-jwt-assertion": "e30.e30.e30" },
      "admin secret",
    ],
  ])("%s", async (_, headers, expected) => {
    const response = await withCookie(await signedIn(), "GET", "/v1/session", { ...OWN, ...headers });
    const body = response.status === 200 ? sessionSchema.parse(await response.json()) : null;
    expect(body?.operator?.who ?? response.status).toBe(expected);
  });

  it("the session has ended → an assertion of Access decides", async () => {
    const headers = { ...OWN, "cf-access-jwt-assertion": "e30.e30.e30" };
    expect((await withCookie(`${NAME}=x`, "GET", "/v1/session", headers)).status).toBe(403);
  });
});

describe("through Cloudflare Access", async () => {
  const { privateKey, publicKey } = await generateKeyPair("RS256");
  const keys = [{ ...(await exportJWK(publicKey)), kid: "t", alg: "RS256" }];
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const claims = {
    iss: "https://sessions-team.cloudflareaccess.com",
    aud: ["aud"],
    email: "ann@example.com",
    exp,
  };
  const assertion = await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "t" }).sign(privateKey);
  const access = { ACCESS_TEAM: "sessions-team", ACCESS_AUD: "aud", ACCESS_ADMINS: "ann@example.com" };
  const at = (method: string, path: string, headers: Headers = {}) =>
    worker.fetch(
      new Request(ORIGIN + path, { method, headers: { "cf-access-jwt-assertion": assertion, ...headers } }),
      { ...env, ...access },
      createExecutionContext(),
    );
  beforeEach(() => {
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => Response.json({ keys }));
  });
  const ANN = { who: "ann@example.com", role: "admin", by: "access" };

  it.each<[string, () => Promise<Headers>, object]>([
    ["alone → its person, for as long as it vouches", async () => ({}), { ...ANN, expiresAt: timeOf(exp) }],
    [
      "with a valid session → the session's person",
      async () => ({ ...OWN, cookie: await signedIn() }),
      { by: "session" },
    ],
    ["with a forged one → the assertion's person", async () => ({ ...OWN, cookie: `${NAME}=x` }), ANN],
    [
      "with a secret → the secret's operator",
      async () => ({ authorization: `Bearer ${VIEW_SECRET}` }),
      { by: "secret" },
    ],
  ])("%s", async (_, headers, expected) => {
    const response = await at("GET", "/v1/session", await headers());
    expect(sessionSchema.parse(await response.json())).toMatchObject({
      operator: expected,
      ways: { secret: true, access: true },
    });
  });

  it.each([
    ["invalid → refused, and the log has the cause", "e30.e30.e30", 403, 1],
    ["valid → no line in the log", assertion, 200, 0],
  ])("%s", async (_, text, status, lines) => {
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
    const response = await at("GET", "/v1/tokens", { "cf-access-jwt-assertion": text });
    const refused = log.mock.calls.filter(([line]) => String(line).includes("Access assertion refused"));
    expect([response.status, refused.length]).toEqual([status, lines]);
  });

  it("→ no code is created, since it would stand for no secret", async () => {
    expect((await at("POST", "/v1/session/codes")).status).toBe(403);
  });
});

describe("a session that has ended", () => {
  it("signed out → refused at once, and the cookie is deleted", async () => {
    const cookie = await signedIn();
    expect(await asks(cookie)).toBe(200);
    const response = await withCookie(cookie, "DELETE", "/v1/session");
    expect([response.status, response.headers.get("set-cookie")]).toEqual([
      204,
      `${NAME}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure`,
    ]);
    expect(await asks(cookie)).toBe(403);
    expect(await auditOf(await idOf(cookie))).toEqual([
      ["admin secret", "session.start", "admin, from an unknown address"],
      ["admin secret", "session.end", ""],
    ]);
  });

  it("of a viewer → may be signed out as well", async () => {
    const cookie = await signedIn({ secret: VIEW_SECRET });
    expect((await withCookie(cookie, "DELETE", "/v1/session")).status).toBe(204);
    expect(await asks(cookie)).toBe(403);
  });

  it("revoked → refused at once by the same isolate, others stay, and the audit log has it", async () => {
    const [first, second] = [await signedIn({ secret: VIEW_SECRET }), await signedIn()];
    expect(await asks(first)).toBe(200);
    const revoke = async () => withCookie(second, "DELETE", `/v1/sessions/${await idOf(first)}`);
    expect((await revoke()).status).toBe(204);
    expect([await asks(first), await asks(second), (await revoke()).status]).toEqual([403, 200, 404]);
    expect((await auditOf(await idOf(first))).at(-1)).toEqual(["admin secret", "session.revoke", ""]);
  });

  it("revoked by another isolate → refused within ten seconds", async () => {
    const cookie = await signedIn();
    const nowMs = Date.now();
    const at = (ms: number) => {
      setClock(nowMs + ms);
      return asks(cookie);
    };
    expect(await at(0)).toBe(200);
    await registry(env).endSession(await idOf(cookie), "a test", "session.revoke");
    expect([await at(OPERATOR_KEPT_MS - 1), await at(OPERATOR_KEPT_MS)]).toEqual([200, 403]);
  });

  it("expired → refused, although its cookie is sent", async () => {
    const cookie = await signedIn();
    shift(1000 * SESSION_LIMITS.lifeSeconds);
    const ask = vi.spyOn(env.REGISTRY, "getByName");
    expect(await asks(cookie)).toBe(403);
    expect(ask).not.toHaveBeenCalled();
  });

  it("of a revoked operator → refused at once by the same isolate", async () => {
    const cookie = await signedIn({ secret: await made("session-carl", "admin") });
    expect(await asks(cookie)).toBe(200);
    expect((await operator("DELETE", "/v1/operators/session-carl")).status).toBe(204);
    expect(await asks(cookie)).toBe(403);
  });

  const inSession = (cookie: string) => withCookie(cookie, "DELETE", "/v1/session");
  it.each<[string, (cookie: string) => Promise<unknown>]>([
    ["signed out", inSession],
    ["revoked", async (cookie) => operator("DELETE", `/v1/sessions/${await idOf(cookie)}`)],
    ["of a revoked operator", () => operator("DELETE", "/v1/operators/session-dora")],
    [
      "expired",
      async () => {
        shift(SESSION_LIMITS.lifeSeconds * 1000);
        await runDurableObjectAlarm(fleetIndex(env));
      },
    ],
  ])(
    "%s → its feeds close without a change of the fleet, also those that a ticket opened",
    async (_, end) => {
      const cookie = await signedIn({ secret: await made("session-dora", "admin") });
      const opened = [await feedOf(cookie), await feedWithTicket(cookie)];
      await end(cookie);
      await eventually(() =>
        expect(opened.map(({ closed }) => closed)).toEqual([FEED_CLOSED.notAllowed, FEED_CLOSED.notAllowed]),
      );
      await operator("DELETE", "/v1/operators/session-dora");
    },
  );

  it("signed out → another session's feed stays open", async () => {
    const [cookie, other] = [await signedIn(), await signedIn()];
    const [ended, stays] = [await feedOf(cookie), await feedOf(other)];
    await inSession(cookie);
    await eventually(() => expect(ended.closed).toBe(FEED_CLOSED.notAllowed));
    expect(stays.closed).toBeNull();
    stays.socket.close();
  });

  it("signed out while the fleet index fails → 204, and the log has the failure", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const INDEX = { getByName: () => ({ recheckFeeds: () => Promise.reject(new Error("overloaded")) }) };
    const headers = { ...OWN, cookie: await signedIn() };
    const context = createExecutionContext();
    const request = new Request(`${ORIGIN}/v1/session`, { method: "DELETE", headers });
    const environment = { ...env, INDEX } as unknown as Environment;
    expect((await worker.fetch(request, environment, context)).status).toBe(204);
    await waitOnExecutionContext(context);
    expect(String(log.mock.calls)).toContain("the feeds could not be checked");
  });

  it("that an isolate still trusts → a feed opened with it closes at once", async () => {
    const cookie = await signedIn();
    await asks(cookie);
    await registry(env).endSession(await idOf(cookie), "alice", "session.revoke");
    const feed = await feedOf(cookie);
    await eventually(() => expect(feed.closed).toBe(FEED_CLOSED.notAllowed));
  });
});

/** A feed that acknowledges each message. */
interface OpenFeed {
  socket: WebSocket;
  /** The close code; null while the feed is open. */
  closed: number | null;
}

const feedOf = (cookie: string) => openFeed({ cookie, ...OWN });

async function feedWithTicket(cookie: string): Promise<OpenFeed> {
  const minted = await withCookie(cookie, "POST", "/v1/feed/tickets");
  const { ticket } = await minted.json<FeedTicket>();
  return openFeed({ "sec-websocket-protocol": `${FEED_PROTOCOL}, ${TICKET_PROTOCOL}${ticket}` });
}

async function openFeed(headers: Record<string, string>): Promise<OpenFeed> {
  const response = await send("/v1/feed", { headers: { upgrade: "websocket", ...headers } });
  const socket = response.webSocket!;
  const feed: OpenFeed = { socket, closed: null };
  socket.addEventListener("close", ({ code }) => {
    feed.closed = code;
  });
  socket.addEventListener("message", ({ data }) => {
    const { cursor } = JSON.parse(String(data)) as { cursor?: string };
    if (cursor !== undefined) socket.send(JSON.stringify({ ack: cursor }));
  });
  socket.accept();
  return feed;
}

describe("the list of sessions", () => {
  it("has the newest first, with their addresses, and without anything that opens one", async () => {
    const from = {
      "cf-connecting-ip": "203.0.113.9",
      "user-agent": "b".repeat(SESSION_LIMITS.browserLength + 1),
    };
    const cookie = cookieIn(await posted({ secret: VIEW_SECRET }, from));
    shift(1);
    const own = await signedIn();
    const response = await withCookie(own, "GET", "/v1/sessions");
    const text = await response.text();
    expect(sessionsSchema.parse(JSON.parse(text)).sessions).toMatchObject([
      { id: await idOf(own), who: "admin secret", role: "admin", address: "", isThis: true },
      {
        id: await idOf(cookie),
        who: "view secret",
        role: "view",
        address: "203.0.113.9",
        browser: `${"b".repeat(SESSION_LIMITS.browserLength - 1)}…`,
        isThis: false,
      },
    ]);
    for (const each of [cookie, own])
      for (const part of [each.split(".")[1], each.split(".")[3]]) {
        expect(text).not.toContain(part);
        expect(await dump()).not.toContain(part);
      }
  });

  it.each([
    ["GET", "/v1/sessions"],
    ["DELETE", "/v1/sessions/x"],
    ["POST", "/v1/session/codes"],
  ])("%s %s, by who may only look → 403", async (method, path) => {
    expect((await withCookie(await signedIn({ secret: VIEW_SECRET }), method, path)).status).toBe(403);
  });
});

describe("an operator with a name", () => {
  const wish = { name: "session-eve", role: "admin", expiresInSeconds: 3600 };

  it("cannot be created with a session: its secret would outlive the session", async () => {
    const made = await withCookie(await signedIn(), "POST", "/v1/operators", OWN, wish);
    expect([made.status, await made.json()]).toMatchObject([403, { detail: SECRET_NEEDED }]);
    const { operators } = (await operator<OperatorsAnswer>("GET", "/v1/operators")).body;
    expect(operators.map(({ name }) => name)).not.toContain(wish.name);
  });
});

describe("a sign-in code", () => {
  it("→ only its SHA-256 is stored, with its creator and address, for 10 minutes", async () => {
    const nowMs = Date.now();
    const headers = { authorization: `Bearer ${ADMIN_SECRET}`, "cf-connecting-ip": "203.0.113.8" };
    const response = await send("/v1/session/codes", { method: "POST", headers });
    const { code, expiresAt } = sessionCodeSchema.parse(await response.json());
    expect(code).toMatch(/^rcc_[\w-]{22}$/);
    expect(Math.abs(Date.parse(expiresAt) - nowMs - 600_000)).toBeLessThan(60_000);
    expect(await dump()).not.toContain(code);
    expect((await auditOf("admin secret")).at(-1)).toEqual([
      "admin secret",
      "session.code",
      "from 203.0.113.8",
    ]);
  });

  it("for a session → none: it could outlive the session's 12 hours", async () => {
    const response = await withCookie(await signedIn(), "POST", "/v1/session/codes");
    const detail = expect.stringContaining("A code is made with a secret");
    expect([response.status, await response.json()]).toMatchObject([403, { reason: "forbidden", detail }]);
  });

  it("beyond the limit → 429", async () => {
    await runInDurableObject(registry(env), (_, { storage: { sql } }) => {
      for (let each = 0; each < SESSION_LIMITS.codes; each++)
        sql.exec(
          "INSERT INTO session_codes VALUES (?, 'x', 'admin', 'x', ?)",
          `c${each}`,
          Date.now() + 60_000,
        );
    });
    expect((await operator("POST", "/v1/session/codes")).status).toBe(429);
  });
});

it("requests with a session → the registry gets no further row", async () => {
  const cookie = await signedIn({ secret: await made("session-dora", "admin") });
  const before = await dump();
  const nowMs = Date.now();
  // The use of an operator's secret is recorded once an hour, but the use of a session is not.
  for (const minutes of [0, 1, 50]) {
    setClock(nowMs + minutes * 60_000);
    for (const path of ["/v1/session", "/v1/tokens"]) expect(await asks(cookie, path)).toBe(200);
  }
  expect(await dump()).toBe(before);
});
