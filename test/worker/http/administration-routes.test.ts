// Tests named operators: what each role may do, how soon a revoked operator is refused, and the audit log. Also
// tests the routes for settings and for revoked keys.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import {
  createdOperatorSchema,
  type CreatedOperator,
  operatorsSchema,
  revocationsSchema,
  type RevocationsAnswer,
  settingsSchema,
  type SettingsAnswer,
} from "../../../shared/protocol/administration-answers.ts";
import { OPERATOR_LIMITS } from "../../../shared/protocol/limits.ts";
import type { AuditAnswer } from "../../../shared/protocol/operator-answers.ts";
import { registry } from "../../../worker/env.ts";
import { OPERATOR_KEPT_MS } from "../../../worker/http/operator-access.ts";
import { createOperator, listOperators, useOperator } from "../../../worker/registry/operators.ts";
import { REFUSED_CHANGES_A_DAY } from "../../../worker/registry/audit.ts";
import { withinRegistry } from "../support/registry-storage.ts";
import { enrolled, operator, send } from "../support/machine.ts";
import { setClock } from "../support/clock.ts";

const DAY_S = 24 * 3600;

async function create(name: string, role: string, expiresInSeconds = DAY_S): Promise<CreatedOperator> {
  const { status, body } = await operator("POST", "/v1/operators", { name, role, expiresInSeconds });
  expect(status).toBe(201);
  return createdOperatorSchema.parse(body);
}

const as = (secret: string, method: string, path: string, body?: unknown) =>
  send(path, {
    method,
    headers: { authorization: `Bearer ${secret}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
const listed = async (name: string) => {
  const { body } = await operator("GET", "/v1/operators");
  return operatorsSchema.parse(body).operators.find((each) => each.name === name);
};
const auditOf = async (target: string) => {
  const { body } = await operator<AuditAnswer>(
    "GET",
    `/v1/audit?target=${encodeURIComponent(target)}&limit=1000`,
  );
  return body.entries.reverse().map(({ who, what, detail }) => [who, what, detail]);
};
const TOKEN = { names: "by-an-operator", uses: 1, expiresInSeconds: 60 };

describe("an operator with a name", () => {
  it.each([
    ["view", 200, 403, "look, and change nothing"],
    [
      "operator",
      200,
      403,
      "look, ask questions, try rules and end conditions of problem detectors, and change nothing else",
    ],
    ["admin", 200, 201, null],
    ["metrics", 403, 403, "read /metrics, and nothing else"],
  ])("of the role %s → GET %i, POST %i", async (role, get, post, mayNot) => {
    const { secret } = await create(`role-${role}`, role);
    expect(secret).toMatch(/^rco_[\w-]{43}$/);
    expect((await as(secret, "GET", "/v1/tokens")).status).toBe(get);
    const response = await as(secret, "POST", "/v1/tokens", TOKEN);
    expect(response.status).toBe(post);
    if (mayNot !== null)
      expect(await response.json()).toMatchObject({ detail: `operator role-${role} may ${mayNot}.` });
  });

  it("→ is listed with who made it and when it was used, never with its secret, and acts by its name", async () => {
    const { secret, ...created } = await create("alice", "admin");
    expect(await listed("alice")).toEqual({ ...created, lastUsedAt: null });
    expect(created).toMatchObject({ state: "valid", role: "admin", createdBy: "admin secret" });
    const { id } = await (await as(secret, "POST", "/v1/tokens", TOKEN)).json<{ id: string }>();
    expect(await auditOf(id)).toEqual([["operator alice", "token.create", TOKEN.names]]);
    const { lastUsedAt } = (await listed("alice"))!;
    expect(Math.abs(Date.parse(lastUsedAt ?? "") - Date.now())).toBeLessThan(60_000);
    expect(await auditOf("alice")).toEqual([["admin secret", "operator.create", `admin, ${DAY_S} s`]]);
    const { body } = await operator("GET", "/v1/operators");
    expect(JSON.stringify(body)).not.toContain(secret.slice("rco_".length));
    const kept = await runInDurableObject(registry(env), (_, { storage }) =>
      JSON.stringify(storage.sql.exec("SELECT * FROM operators").toArray()),
    );
    expect(kept).not.toContain(secret.slice("rco_".length));
  });

  it("that is revoked → refused at once by the same isolate, and its name can be used again", async () => {
    const first = await create("bob", "view");
    expect((await as(first.secret, "GET", "/v1/tokens")).status).toBe(200);
    expect(
      (await operator("POST", "/v1/operators", { name: "bob", role: "view", expiresInSeconds: 60 })).status,
    ).toBe(409);
    expect((await operator("DELETE", "/v1/operators/bob")).status).toBe(204);
    expect((await as(first.secret, "GET", "/v1/tokens")).status).toBe(403);
    expect((await listed("bob"))?.state).toBe("revoked");
    const second = await create("bob", "view");
    expect((await as(second.secret, "GET", "/v1/tokens")).status).toBe(200);
    expect((await as(first.secret, "GET", "/v1/tokens")).status).toBe(403);
    expect((await operator("DELETE", "/v1/operators/nobody")).status).toBe(404);
  });

  it("that another isolate revoked → refused within ten seconds, as only an accepted secret is cached", async () => {
    const { secret } = await create("carol", "view");
    const nowMs = Date.now();
    const at = async (ms: number) => {
      setClock(nowMs + ms);
      return (await as(secret, "GET", "/v1/origins")).status;
    };
    expect(await at(0)).toBe(200);
    await registry(env).revokeOperator("carol", "a test");
    expect(await at(OPERATOR_KEPT_MS - 1)).toBe(200);
    expect(await at(OPERATOR_KEPT_MS)).toBe(403);
    expect(OPERATOR_KEPT_MS).toBe(10_000);
  });

  it.each([
    ["no secret of ours", "rco_short"],
    ["an unknown one", `rco_${"A".repeat(43)}`],
    ["the hash of nothing", "rco_47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"],
  ])("by %s → 403", async (_, secret) => {
    expect((await as(secret, "GET", "/v1/tokens")).status).toBe(403);
  });

  it.each<[string, object, string]>([
    ["a mail address", { name: "alice@example.com" }, "/name"],
    ["a name with a space", { name: "admin secret" }, "/name"],
    ["a name in upper case", { name: "Alice" }, "/name"],
    ["no name", { name: "" }, "/name"],
    ["a name that is too long", { name: "a".repeat(OPERATOR_LIMITS.nameLength + 1) }, "/name"],
    ["another role", { role: "root" }, "/role"],
    ["more than a year", { expiresInSeconds: OPERATOR_LIMITS.expiresInSeconds + 1 }, "/expiresInSeconds"],
    ["no time", { expiresInSeconds: 0 }, "/expiresInSeconds"],
    ["another field", { secret: "mine" }, "/secret"],
  ])("that is asked for with %s → 400", async (_, more, pointer) => {
    const wish = { name: "dave", role: "view", expiresInSeconds: 60, ...more };
    expect(await operator("POST", "/v1/operators", wish)).toMatchObject({ status: 400, body: { pointer } });
  });

  it("with the longest name, for a year → is created", async () => {
    const name = "n".repeat(OPERATOR_LIMITS.nameLength);
    expect((await create(name, "metrics", OPERATOR_LIMITS.expiresInSeconds)).name).toBe(name);
  });
});

describe("the registry's operators", () => {
  const request = (name: string) => ({ name, role: "view", expiresInSeconds: 10 }) as const;

  it("expire, record their use once an hour, and are limited in number", () =>
    withinRegistry("operators", (sql) => {
      const make = (name: string, nowMs: number) =>
        createOperator(
          sql,
          { request: request(name), sha256: `of ${name} ${nowMs}`, createdBy: "a test" },
          nowMs,
        );
      const use = (sha256: string, nowMs: number) =>
        useOperator(sql, { sha256, knowsSelectors: true }, nowMs);
      expect(make("a", 0).ok).toBe(true);
      expect(use("of a 0", 9999)).toEqual({ name: "a", role: "view", expiresAtMs: 10_000 });
      expect(use("of a 0", 10_000)).toBeNull();
      expect(listOperators(sql, 10_000)).toMatchObject([{ state: "expired", lastUsedAt: null }]);
      expect(make("a", 10_000).ok).toBe(true);
      const hours = 3600_000;
      sql.exec("UPDATE operators SET expires_at_ms = ?", 9 * hours);
      const used = [hours, 2 * hours - 1, 2 * hours].map((nowMs) => {
        use("of a 10000", nowMs);
        return Date.parse(listOperators(sql, nowMs)[0]?.lastUsedAt ?? "");
      });
      expect(used).toEqual([hours, hours, 2 * hours]);
      for (let count = 1; count < OPERATOR_LIMITS.operators; count++) make(`b${count}`, 10_000);
      const refused = {
        ok: false,
        error: expect.stringContaining("those that ended within a year count") as string,
      };
      expect(make("one-too-many", 10_000)).toMatchObject(refused);
      expect([make("one-too-many", 20_000), make("b1", 20_000)]).toMatchObject([refused, { ok: true }]);
      // The earlier operators ended more than a year ago and are deleted, so that there is room for another one.
      expect(make("later", 400 * 24 * hours).ok).toBe(true);
      expect(listOperators(sql, 400 * 24 * hours)).toHaveLength(1);
    }));
});

describe("a change by a viewer", () => {
  it("→ 403 and a line in the audit log, up to a limit each day", async () => {
    const { secret } = await create("mallory", "view");
    const refused = () => as(secret, "DELETE", "/v1/tokens/x");
    for (let time = 0; time < REFUSED_CHANGES_A_DAY + 5; time++) expect((await refused()).status).toBe(403);
    const entries = await auditOf("operator mallory");
    expect(entries).toHaveLength(REFUSED_CHANGES_A_DAY);
    expect(entries[0]).toEqual(["operator mallory", "change.refuse", "may not: DELETE /v1/tokens/x"]);
    expect(entries.at(-1)?.[2]).toContain("no more of this operator's are noted today");
    // Each operator has a limit of audited refusals. Other test files use up the limit of the viewer secret.
    const { secret: another } = await create("trudy", "view");
    await as(another, "POST", "/v1/bulk", {});
    expect((await auditOf("operator trudy")).at(-1)?.[2]).toBe("may not: POST /v1/bulk");
  });
});

describe("revoked keys", () => {
  it("→ newest first, with the reason, in pages", async () => {
    const machines = [await enrolled("revocations-1"), await enrolled("revocations-2")];
    await operator("POST", "/v1/nodes/revocations-1/revoke");
    await operator("DELETE", "/v1/nodes/revocations-2");
    const page = async (query: string) => {
      const { body } = await operator<RevocationsAnswer>("GET", `/v1/revocations?${query}`);
      return revocationsSchema.parse(body);
    };
    const all = (await page("limit=1000")).revocations;
    const found = machines.map(({ key }) => all.find(({ thumbprint }) => thumbprint === key.thumbprint));
    expect(found).toMatchObject([
      { name: "revocations-1", why: "revoked" },
      { name: "revocations-2", why: "forgotten" },
    ]);
    const paged = [];
    let next: string | null = null;
    do {
      const one: RevocationsAnswer = await page(`limit=1${next === null ? "" : `&after=${next}`}`);
      paged.push(...one.revocations);
      ({ next } = one);
    } while (next !== null);
    expect(paged).toEqual(all);
  });

  it.each(["after=x", "limit=0", "unknown=1"])("?%s → 400", async (query) => {
    expect((await operator("GET", `/v1/revocations?${query}`)).status).toBe(400);
  });
});

it("the active settings → each with its source; of a secret only whether it is set", async () => {
  const { body } = await operator<SettingsAnswer>("GET", "/v1/settings");
  const { settings } = settingsSchema.parse(body);
  const of = (name: string) => settings.find((each) => each.name === name);
  expect(of("DEPLOYMENT")).toEqual({
    name: "DEPLOYMENT",
    value: "rollcall",
    source: "variable",
    state: "ok",
  });
  expect(of("ADMIN_SECRET_SHA256")).toMatchObject({ value: "present", source: "secret" });
  expect(of("NODE_ROLE")).toMatchObject({ value: "", source: "default" });
  expect(JSON.stringify(body)).not.toContain(env.ADMIN_SECRET_SHA256);
  expect(JSON.stringify(body)).not.toContain(env.KID_MAC_KEYS);
});

it.each(["days=0", "days=3651", "days=x", ""])("silent Nodes of ?%s → 400", async (query) => {
  expect((await operator("GET", `/v1/silent-nodes?${query}`)).status).toBe(400);
});
