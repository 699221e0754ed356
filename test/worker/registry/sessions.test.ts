// Tests how sessions begin and end, and how many are allowed.
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { OperatorRole } from "../../../shared/protocol/administration-api.ts";
import { SESSION_LIMITS } from "../../../shared/protocol/limits.ts";
import type { Environment } from "../../../worker/env.ts";
import { digestOf } from "../../../worker/identity/jwt.ts";
import { readAudit } from "../../../worker/registry/audit.ts";
import { createOperator, revokeOperator } from "../../../worker/registry/operators.ts";
import { type SessionHolder, Sessions } from "../../../worker/registry/sessions.ts";
import { ADMIN_SECRET, VIEW_SECRET } from "../support/constants.ts";
import { withinRegistry } from "../support/registry-storage.ts";

const [admin, view, named] = await Promise.all([ADMIN_SECRET, VIEW_SECRET, "a named one"].map(digestOf));
const ADMIN: SessionHolder = { who: "admin secret", role: "admin", secret: admin! };
const VIEWER: SessionHolder = { who: "view secret", role: "view", secret: view! };
const ALICE: SessionHolder = { who: "operator alice", role: "admin", secret: named! };
const LIFE_MS = 1000 * SESSION_LIMITS.lifeSeconds;
const FROM = { address: "203.0.113.7", browser: "a browser" };

/** Returns an empty registry with sessions and the operator alice, who expires at 100 s. */
function registryOf(sql: SqlStorage, more: Partial<Environment> = {}, role: OperatorRole = "admin") {
  for (const table of ["operators", "sessions", "session_codes", "refused_changes", "audit"])
    sql.exec(`DELETE FROM ${table}`);
  const request = { name: "alice", role, expiresInSeconds: 100 };
  createOperator(sql, { request, sha256: named!, createdBy: "a test" }, 0);
  return new Sessions(sql, { ...env, ...more });
}
const within = (act: (sql: SqlStorage) => void) => withinRegistry("sessions", act);
let ids = 0;
const start = (sessions: Sessions, by: SessionHolder | { code: string }, nowMs = 0) =>
  sessions.start({ id: `id-${String(++ids).padStart(6, "0")}`, by, ...FROM }, nowMs);

function begun(sessions: Sessions, by: SessionHolder | { code: string }, nowMs = 0): string {
  const started = start(sessions, by, nowMs);
  if (!started.ok) throw new Error(started.error);
  return started.value.id;
}

describe("a session ends", () => {
  const NONE = { ADMIN_SECRET_SHA256: "", VIEW_SECRET_SHA256: "" };
  const cases: [
    situation: string,
    by: SessionHolder,
    nowMs: number,
    env: Partial<Environment>,
    act: (sql: SqlStorage, id: string) => void,
    role: string | null,
  ][] = [
    ["the admin secret's, a moment later", ADMIN, 1, {}, () => undefined, "admin"],
    ["the view secret's", VIEWER, 1, {}, () => undefined, "view"],
    ["an operator's with a name", ALICE, 1, {}, () => undefined, "admin"],
    ["just before its time is over", ADMIN, LIFE_MS - 1, {}, () => undefined, "admin"],
    ["when its time is over", ADMIN, LIFE_MS, {}, () => undefined, null],
    ["its secret is configured no more", ADMIN, 1, NONE, () => undefined, null],
    ["its view secret is configured no more", VIEWER, 1, { VIEW_SECRET_SHA256: "" }, () => undefined, null],
    [
      "its secret is to look with now",
      ADMIN,
      1,
      { ...NONE, VIEW_SECRET_SHA256: admin! },
      () => undefined,
      "view",
    ],
    [
      "its secret was to look with, and may do more now",
      VIEWER,
      1,
      { ADMIN_SECRET_SHA256: view!, VIEW_SECRET_SHA256: "" },
      () => undefined,
      "view",
    ],
    ["just before its operator expires", ALICE, 99_999, {}, () => undefined, "admin"],
    ["when its operator expires", ALICE, 100_000, {}, () => undefined, null],
    ["its operator is revoked", ALICE, 1, {}, (sql) => void revokeOperator(sql, "alice", 1), null],
    [
      "its operator's name is somebody else's now",
      ALICE,
      2,
      {},
      (sql) => {
        revokeOperator(sql, "alice", 1);
        const request = { name: "alice", role: "admin", expiresInSeconds: 100 } as const;
        createOperator(sql, { request, sha256: "another", createdBy: "a test" }, 1);
      },
      null,
    ],
    [
      "its operator may read metrics alone now",
      ALICE,
      1,
      {},
      (sql) => void sql.exec("UPDATE operators SET role = 'metrics'"),
      null,
    ],
    [
      "its operator may only ask now",
      ALICE,
      1,
      {},
      (sql) => void sql.exec("UPDATE operators SET role = 'operator'"),
      "operator",
    ],
    [
      "its operator could only ask, and may do more now",
      { ...ALICE, role: "operator" },
      1,
      {},
      () => undefined,
      "operator",
    ],
    ["it is revoked", ADMIN, 1, {}, (sql, id) => void new Sessions(sql, env).end(id), null],
  ];
  it.each(cases)("%s", (_, by, nowMs, more, act, role) =>
    within((sql) => {
      const id = begun(registryOf(sql), by);
      act(sql, id);
      const later = new Sessions(sql, { ...env, ...more });
      expect(later.find(id, true, nowMs)?.role ?? null).toBe(role);
      expect(later.list(nowMs).map((each) => each.role)).toEqual(role === null ? [] : [role]);
    }),
  );

  it("when its operator expires, or after 12 hours", () =>
    within((sql) => {
      const sessions = registryOf(sql);
      expect(start(sessions, ALICE)).toMatchObject({ value: { expiresAtMs: 100_000 } });
      expect(start(sessions, ADMIN)).toMatchObject({ value: { expiresAtMs: 43_200_000 } });
    }));

  it("an unknown ID → the answer states that", () =>
    within((sql) => {
      expect([registryOf(sql).end("unknown").ok, registryOf(sql).find("unknown", true, 0)]).toEqual([
        false,
        null,
      ]);
    }));
});

describe("a session does not begin", () => {
  it.each<[string, SessionHolder | { code: string }, Partial<Environment>]>([
    ["by a secret that nobody has", { ...ADMIN, secret: "another" }, {}],
    ["by one that is configured no more", ADMIN, { ADMIN_SECRET_SHA256: "" }],
    ["by a code that nobody made", { code: "made up" }, {}],
  ])("%s", (_, by, more) =>
    within((sql) => {
      const sessions = registryOf(sql, more);
      expect(start(sessions, by)).toEqual({ ok: false, error: "refused" });
      expect(sessions.list(0)).toEqual([]);
    }),
  );

  it("for an operator who may only read metrics", () =>
    within((sql) => {
      expect(start(registryOf(sql, {}, "metrics"), ALICE)).toMatchObject({ error: "refused" });
    }));
});

describe("a code", () => {
  const CODE = "sha256 of a code";
  const codeMs = 1000 * SESSION_LIMITS.codeSeconds;

  it("signs in one browser, with its creator's rights", () =>
    within((sql) => {
      const sessions = registryOf(sql);
      expect(sessions.addCode(CODE, ALICE, 0)).toMatchObject({ value: codeMs });
      expect(start(sessions, { code: CODE }, 1)).toMatchObject({
        value: { who: "operator alice", role: "admin" },
      });
      expect(start(sessions, { code: CODE }, 2)).toMatchObject({ error: "refused" });
      expect(sessions.list(2)).toHaveLength(1);
    }));

  it.each<[string, nowMs: number, act: (sql: SqlStorage) => void, ok: boolean]>([
    ["just before its end", codeMs - 1, () => undefined, true],
    ["at its end", codeMs, () => undefined, false],
  ])("%s", (_, nowMs, act, ok) =>
    within((sql) => {
      const sessions = registryOf(sql);
      sessions.addCode(CODE, ADMIN, 0);
      act(sql);
      expect(start(sessions, { code: CODE }, nowMs).ok).toBe(ok);
    }),
  );

  it("of an operator who is revoked meanwhile → refused", () =>
    within((sql) => {
      const sessions = registryOf(sql);
      sessions.addCode(CODE, ALICE, 0);
      revokeOperator(sql, "alice", 1);
      expect(start(sessions, { code: CODE }, 2)).toMatchObject({ error: "refused" });
    }));

  it("over the limit → refused, until one has ended", () =>
    within((sql) => {
      const sessions = registryOf(sql);
      const add = (each: number, nowMs: number) => sessions.addCode(`code ${each}`, ADMIN, nowMs).ok;
      for (let each = 0; each < SESSION_LIMITS.codes; each++) expect(add(each, each)).toBe(true);
      expect([add(-1, codeMs - 1), add(-2, codeMs), add(-3, codeMs)]).toEqual([false, true, false]);
    }));
});

describe("the largest number of sessions", () => {
  const filled = (sql: SqlStorage, count: number, secret: (each: number) => string, expiresAtMs = 10_000) => {
    const insert = "INSERT INTO sessions VALUES (?, ?, 'view', ?, ?, ?, '', '')";
    for (let each = 0; each < count; each++)
      sql.exec(
        insert,
        `old-${String(each).padStart(4, "0")}`,
        `who ${each}`,
        secret(each),
        each,
        expiresAtMs,
      );
  };
  const { sessions: most, sessionsOfSecret: own } = SESSION_LIMITS;

  it.each([
    ["as a secret may have, less one → all stay", own - 1, own, true],
    ["as a secret may have → the oldest makes room", own, own, false],
  ])("%s", (_, count, left, hasOldest) =>
    within((sql) => {
      const sessions = registryOf(sql);
      filled(sql, count, () => view!);
      begun(sessions, VIEWER, 5000);
      const listed = sessions.list(5000);
      expect(listed).toHaveLength(left);
      expect(listed.some(({ id }) => id === "old-0000")).toBe(hasOldest);
    }),
  );

  it.each<[string, count: number, secret: (each: number) => string, expiresAtMs: number, ok: boolean]>([
    ["as there may be, less one, of others", most - 1, () => admin!, 10_000, true],
    ["as there may be, of others", most, () => admin!, 10_000, false],
    ["as there may be, of others, which have expired", most, () => admin!, 5000, true],
    ["as there may be, by secrets that are good no more", most, (each) => `gone ${each % 9}`, 10_000, true],
    ["as there may be, one of them its own", most, (each) => (each === 7 ? view! : admin!), 10_000, true],
  ])("%s", (_, count, secret, expiresAtMs, ok) =>
    within((sql) => {
      const sessions = registryOf(sql);
      filled(sql, count, secret, expiresAtMs);
      const started = start(sessions, VIEWER, 5000);
      expect(started.ok ? "" : started.error).toBe(ok ? "" : "too many sessions");
      const kept = sql.exec<{ count: number }>("SELECT COUNT(*) AS count FROM sessions").one().count;
      expect(kept).toBeLessThanOrEqual(most);
      expect(sessions.find("old-0007", true, 5000) === null).toBe(secret(7) !== admin || expiresAtMs <= 5000);
    }),
  );

  it("were begun in a day → the operator's next sign-in is refused, another operator's is not", () =>
    within((sql) => {
      const sessions = registryOf(sql);
      const [at, day] = [1000, 24 * 3600_000];
      for (let each = 1; each < SESSION_LIMITS.signInsADay; each++) begun(sessions, VIEWER, at);
      const next = (by: SessionHolder, nowMs: number) => {
        const started = start(sessions, by, nowMs);
        return started.ok ? "begun" : started.error;
      };
      expect([next(VIEWER, at), next(VIEWER, at)]).toEqual(["begun", "too many sign-ins"]);
      expect([next(ADMIN, at), next(VIEWER, day)]).toEqual(["begun", "begun"]);
    }));
});

it("a stored session → no secret, the beginning of a long text, and an entry of the audit log", () =>
  within((sql) => {
    const sessions = registryOf(sql);
    const browser = "b".repeat(SESSION_LIMITS.browserLength);
    const ids = [browser, `${browser}b`].map((text, each) => {
      const request = {
        id: `kept-${each}`,
        by: ADMIN,
        address: each === 0 ? "203.0.113.7" : "",
        browser: text,
      };
      return sessions.start(request, 5);
    });
    expect(ids).toMatchObject([
      { value: { browser, address: "203.0.113.7", createdAtMs: 5 } },
      { value: { browser: `${browser.slice(1)}…` } },
    ]);
    const entries = readAudit(sql, { by: "operators", limit: 10 });
    expect(entries.map(({ who, what, target, detail }) => [who, what, target, detail])).toEqual([
      ["admin secret", "session.start", "kept-1", "admin, from an unknown address"],
      ["admin secret", "session.start", "kept-0", "admin, from 203.0.113.7"],
    ]);
    const rows = JSON.stringify(sql.exec("SELECT * FROM sessions").toArray());
    expect(rows).not.toContain(ADMIN_SECRET);
  }));

it("reading a session writes nothing", () =>
  within((sql) => {
    const sessions = registryOf(sql);
    const id = begun(sessions, ALICE);
    let rows = 0;
    const exec = (...args: Parameters<SqlStorage["exec"]>) => {
      const cursor = sql.exec(...args);
      const all = cursor.toArray();
      rows += cursor.rowsWritten;
      return { toArray: () => all, [Symbol.iterator]: () => all[Symbol.iterator](), one: () => all[0] };
    };
    const counted = new Sessions({ exec } as unknown as SqlStorage, env);
    expect(counted.find(id, true, 7200_000)).toBeNull();
    expect(counted.find(id, true, 1)).toMatchObject({ id });
    expect(counted.list(1)).toHaveLength(1);
    expect(rows).toBe(0);
  }));
