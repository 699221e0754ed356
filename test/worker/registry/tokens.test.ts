// Tests what join tokens give, allow and forbid, and how operators list and revoke them.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { mayBeAsked } from "../../../shared/protocol/join-tokens.ts";
import type { ListedToken, MintedToken } from "../../../shared/protocol/operator-answers.ts";
import {
  enrolled,
  enrolling,
  facts,
  HEALTHY,
  kube,
  mintToken,
  operator,
  requestsAbout,
  send,
  shimOf,
} from "../support/machine.ts";
import { registry } from "../../../worker/env.ts";
import { admit } from "../../../worker/registry/admission.ts";
import { readAudit } from "../../../worker/registry/audit.ts";
import { unpin } from "../../../worker/registry/pins.ts";
import { endTokens, insertToken, listTokens, revokeToken } from "../../../worker/registry/tokens.ts";
import { scheduled } from "../../../worker/scheduled.ts";
import { ALL_ROWS } from "../../../worker/storage/query.ts";
import { shift } from "../support/clock.ts";
import { ADMIN_SECRET } from "../support/constants.ts";
import { addToken, asking, withinRegistry } from "../support/registry-storage.ts";

const GOOD = { names: "token-*", expiresInSeconds: 60, uses: 1 };
const NODE_TAINT = { key: "example.com/shop", value: "7", effect: "NoSchedule" as const };
const REFUSED = { reason: "token-refused", status: 401 };

async function minted(wish: object): Promise<MintedToken> {
  const { status, body } = await operator<MintedToken>("POST", "/v1/tokens", { ...GOOD, ...wish });
  expect(status).toBe(201);
  return body;
}

async function listed(id: string): Promise<ListedToken | undefined> {
  const { body } = await operator<{ tokens: ListedToken[] }>("GET", "/v1/tokens");
  return body.tokens.find((token) => token.id === id);
}

describe("a token with labels and taints", () => {
  it("→ the Node is created with them, and they win over the machine's own ones", async () => {
    const name = "token-gives";
    const machine = await enrolled(name, {
      labels: { "example.com/site": "north", tier: "shop" },
      taints: [NODE_TAINT],
    });
    const { settings } = facts(name);
    const own = {
      nodeLabels: { tier: "hq", mine: "yes" },
      registerWithTaints: [{ ...NODE_TAINT, value: "8" }],
    };
    const outcome = await shimOf(machine)(facts(name, { settings: { ...settings, ...own } }), HEALTHY);
    expect(outcome).toMatchObject({ value: { phase: "registered" } });
    const node = await kube("GET", `/api/v1/nodes/${name}`);
    expect(node.metadata?.labels).toMatchObject({ "example.com/site": "north", tier: "shop", mine: "yes" });
    const own7 = node.spec?.taints?.filter(({ key }) => key === NODE_TAINT.key);
    expect(own7).toEqual([NODE_TAINT]);
    expect(node.spec?.taints).toContainEqual({ key: "rollcall.dev/facts-only", effect: "NoSchedule" });
  });

  it("without a limit of addresses → no other Node's name, asked once for each process of the shim", async () => {
    const [other, name] = ["token-other.shop", "token-names"];
    await kube("POST", "/api/v1/nodes", { metadata: { name: other } });
    const report = shimOf(await enrolled(name));
    const named = (hostname: string) => facts(name, { settings: { ...facts(name).settings, hostname } });
    expect(await report(named(other), HEALTHY)).toMatchObject({
      value: { phase: "registered", message: expect.stringContaining(`address ${other}`) },
    });
    const names = async () =>
      ((await kube("GET", `/api/v1/nodes/${name}`)).status?.addresses ?? []).map(({ address }) => address);
    expect(await names()).not.toContain(other);
    await requestsAbout(other);
    await report(named(other), HEALTHY);
    expect(await requestsAbout(other)).toEqual([]);
    await report(named("free.shop"), HEALTHY);
    expect(await names()).toContain("free.shop");
    expect((await requestsAbout("free.shop")).length).toBe(1);
  });

  it.each<[string, object, string]>([
    ["a label only the cluster may set", { labels: { "kubernetes.io/role": "x" } }, "/labels"],
    ["a role", { labels: { "node-role.kubernetes.io/master": "" } }, "/labels"],
    ["a label under node-restriction", { labels: { "node-restriction.kubernetes.io/a": "b" } }, "/labels"],
    ["a label's value that is none", { labels: { a: "b c" } }, "/labels"],
    [
      "65 labels",
      { labels: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`l${at}`, ""])) },
      "/labels",
    ],
    ["a taint twice", { taints: [NODE_TAINT, { ...NODE_TAINT, value: "9" }] }, "/taints"],
    ["a taint without an effect", { taints: [{ key: "a" }] }, "/taints/0/effect"],
    ["a pattern with * in its middle", { mayLabel: ["a*b"] }, "/mayLabel/0"],
    ["65 keys", { mayLabel: Array.from({ length: 65 }, () => "a") }, "/mayLabel"],
    ["a range that is none", { mayAddress: ["10.0.0.0/33"] }, "/mayAddress/0"],
    ["an address without a range", { mayAddress: ["10.0.0.1"] }, "/mayAddress/0"],
    ["a range with more characters than one has", { mayAddress: [`::/${"0".repeat(50)}`] }, "/mayAddress/0"],
    ["an ending of names that is none", { mayAddress: [".shop..example"] }, "/mayAddress/0"],
    ["an ending that resolves to any address", { mayAddress: [".nip.io"] }, "/mayAddress/0"],
    ["an ending that reads as an address", { mayAddress: [".0.0.1"] }, "/mayAddress/0"],
    ["an ending that is too long", { mayAddress: [`.${"a.".repeat(126)}ab`] }, "/mayAddress/0"],
    ["a provider ID with * in its middle", { mayCloud: ["aws:///*/i-0"] }, "/mayCloud/0"],
    ["a provider ID that is too long", { mayCloud: ["a".repeat(1025)] }, "/mayCloud/0"],
    ["a label of rollcall's own", { labels: { "rollcall.dev/machine": "x" } }, "/labels"],
    ["a role of the control plane", { roles: ["edge", "control-plane"] }, "/roles/1"],
    ["a role that is none", { roles: ["a/b"] }, "/roles/0"],
    ["a role of 64 characters", { roles: ["x".repeat(64)] }, "/roles/0"],
    ["nine roles", { roles: Array.from({ length: 9 }, () => "edge") }, "/roles"],
    ["a rejoin token for a pattern", { rejoin: true, names: "a-*" }, "/names"],
    ["a rejoin token with two uses", { rejoin: true, names: "a", uses: 2 }, "/uses"],
    ["a field that is none", { label: {} }, "/label"],
    ["a mayBeAsked that is none", { mayBeAsked: "no" }, "/mayBeAsked"],
    ["a mayAll that is none", { mayAll: "no" }, "/mayAll"],
    ["a range with * in it", { mayAddress: ["10.0.0.0/8", "10.*"] }, "/mayAddress/1"],
  ])("%s → 400 at the fault", async (_, wish, pointer) => {
    expect(await operator("POST", "/v1/tokens", { ...GOOD, ...wish })).toMatchObject({
      status: 400,
      body: { pointer },
    });
  });

  it("with roles → its machines' Nodes have them, and the list has them", async () => {
    const name = "token-roles";
    const machine = await enrolled(name, { roles: ["edge", "x".repeat(63)] });
    await shimOf(machine)(facts(name), HEALTHY);
    const { labels } = (await kube("GET", `/api/v1/nodes/${name}`)).metadata ?? {};
    expect(labels).toMatchObject({
      "node-role.kubernetes.io/edge": "",
      [`node-role.kubernetes.io/${"x".repeat(63)}`]: "",
    });
    const { id } = await minted({ roles: Array.from({ length: 8 }, (_, at) => `r${at}`) });
    expect(await listed(id)).toMatchObject({ roles: ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"] });
  });

  it.each([
    [{ mayBeAsked: false }, false],
    [{ mayBeAsked: true }, true],
    [{}, true],
  ])("with %j → operators may ask its machines: %s", async (wish, isAllowed) => {
    const { id } = await minted(wish);
    const token = (await listed(id))!;
    expect([token, mayBeAsked(token)]).toEqual([expect.objectContaining(wish), isAllowed]);
  });

  it("64 keys, the longest provider ID → 201", async () => {
    await minted({
      mayLabel: Array.from({ length: 64 }, () => "a"),
      mayAddress: ["2001:db8::/32", `.${"a.".repeat(126)}`.slice(0, -1)],
      mayCloud: ["a".repeat(1024)],
    });
  });

  it("64 labels → 201", async () => {
    await minted({ labels: Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`l${at}`, ""])) });
  });
});

describe("GET /v1/tokens", () => {
  it("has each token's rights and number of uses, and never its secret", async () => {
    const { token, ...mintedToken } = await minted({ uses: 2, labels: { a: "b" } });
    expect(await listed(mintedToken.id)).toEqual(mintedToken);
    expect(mintedToken).toMatchObject({
      names: "token-*",
      uses: 2,
      used: 0,
      reserved: 0,
      state: "valid",
      createdBy: "admin secret",
      rejoin: false,
      withoutFactsOnlyTaint: false,
      labels: { a: "b" },
    });
    const key = await makeMachineKey();
    for (let retry = 0; retry < 3; retry++) await enrolling("token-used", { joinToken: token, key });
    expect(await listed(mintedToken.id)).toMatchObject({ used: 1, state: "valid" });
    await enrolling("token-used-2", { joinToken: token, key: await makeMachineKey() });
    expect(await listed(mintedToken.id)).toMatchObject({ used: 2, state: "used up" });
    const { body } = await operator("GET", "/v1/tokens");
    expect(JSON.stringify(body)).not.toContain(token);
    expect(JSON.stringify(body)).not.toContain(token.slice("rcj1_".length));
  });

  it("marks a token of an earlier version with ranges, which allows all DNS names below a Node's name", async () => {
    const { id } = await minted({ mayAddress: ["10.0.0.0/8"] });
    expect(await listed(id)).not.toHaveProperty("namesBelow");
    await runInDurableObject(registry(env), (_, { storage }) => {
      storage.sql.exec("UPDATE tokens SET allowed = json_remove(allowed, '$.exactNames') WHERE id = ?", id);
    });
    expect(await listed(id)).toMatchObject({ mayAddress: ["10.0.0.0/8"], namesBelow: true });
    expect(await listed(id)).not.toHaveProperty("exactNames");
  });

  it("marks an expired token", async () => {
    const { id } = await minted({ expiresInSeconds: 60 });
    shift(59_999);
    expect(await listed(id)).toMatchObject({ state: "valid" });
    shift(1);
    expect(await listed(id)).toMatchObject({ state: "expired" });
  });
});

describe("many tokens", () => {
  const wish = {
    names: "paged-*",
    uses: 1,
    expiresInSeconds: 60,
    rejoin: false,
    withoutFactsOnlyTaint: false,
  };
  const ids = (length: number) =>
    Array.from({ length }, (_, at) => `paged-${String(at).padStart(4, "0")}`.padEnd(43, "x"));
  type Page = { tokens: { id: string }[]; next: string | null };
  const page = async (query: string) => (await operator<Page>("GET", `/v1/tokens${query}`)).body;
  /** Adds tokens before all others: of ten at a time the creation time is the same. */
  const add = (length: number) =>
    runInDurableObject(registry(env), (_, { storage }) => {
      for (const [at, id] of ids(length).entries())
        insertToken(storage.sql, {
          id,
          key: id,
          request: wish,
          createdBy: "a test",
          nowMs: Date.now() + 1000 + Math.floor(at / 10),
        });
    });

  it("→ pages of 100, newest first, until `next` is null; each token once", async () => {
    await add(250);
    const first = await page("");
    expect(first.tokens).toHaveLength(100);
    const second = await page(`?after=${first.next}`);
    const third = await page(`?after=${second.next}&limit=50`);
    const listed = [first, second, third].flatMap(({ tokens }) => tokens.map(({ id }) => id));
    expect(listed).toEqual(ids(250).toReversed());
    const rest = await page(`?after=${third.next}&limit=1000`);
    expect(rest.next).toBeNull();
    expect(rest.tokens.map(({ id }) => id).filter((id) => id.startsWith("paged-"))).toEqual([]);
  });

  it("as lines → all of them", async () => {
    const response = await send("/v1/tokens?format=ndjson", {
      headers: { authorization: `Bearer ${ADMIN_SECRET}` },
    });
    const lines = new TextDecoder()
      .decode(await response.arrayBuffer())
      .trim()
      .split("\n");
    const listed = lines.map((line) => (JSON.parse(line) as { id: string }).id);
    expect(listed.filter((id) => id.startsWith("paged-"))).toEqual(ids(250).toReversed());
  });

  it.each([
    "?after=",
    "?after=1",
    "?after=x.y",
    "?after=1.a%20b",
    `?after=1.${"a".repeat(301)}`,
    "?limit=1001",
  ])("GET /v1/tokens%s → 400", async (query) => {
    expect((await operator("GET", `/v1/tokens${query}`)).status).toBe(400);
  });

  it("an earlier version's call without a page → all tokens", async () => {
    const listed = await registry(env).listTokens();
    expect(listed.length).toBeGreaterThan(250);
  });
});

describe("a token that has ended", () => {
  const DAY_MS = 24 * 3600 * 1000;
  const within = <Outcome>(name: string, act: (sql: SqlStorage) => Outcome) =>
    withinRegistry(`ended-${name}`, act);
  const idsOf = (sql: SqlStorage) => listTokens(sql, ALL_ROWS, 0).map(({ id }) => id);
  const KEPT_MS = 90 * DAY_MS;

  it.each<[string, (sql: SqlStorage) => void, number, string[]]>([
    ["expired for 90 days less a moment", () => undefined, 1_000_000 + KEPT_MS - 1, ["t1"]],
    ["expired for 90 days", () => undefined, 1_000_000 + KEPT_MS, []],
    ["revoked for 90 days less a moment", (sql) => revokeToken(sql, "t1", 500), 500 + KEPT_MS - 1, ["t1"]],
    ["revoked for 90 days", (sql) => revokeToken(sql, "t1", 500), 500 + KEPT_MS, []],
    [
      "revoked after its expiry, which was 90 days ago",
      (sql) => revokeToken(sql, "t1", 2_000_000),
      1_000_000 + KEPT_MS,
      [],
    ],
    ["with a machine's name", (sql) => void admit(sql, asking("a"), 5), 1_000_000 + KEPT_MS, ["t1"]],
    [
      "whose machine was revoked",
      (sql) => {
        admit(sql, asking("a"), 5);
        unpin(sql, "edge-1", "machine.revoke", 6);
      },
      1_000_000 + KEPT_MS,
      [],
    ],
  ])("%s → %#", async (situation, act, nowMs, kept) => {
    const found = await within(situation, (sql) => {
      addToken(sql, "t1");
      act(sql);
      endTokens(sql, nowMs);
      return idsOf(sql);
    });
    expect(found).toEqual(kept);
  });

  it("→ one line in the audit log, and no row of its enrolments is left", async () => {
    const found = await within("line", (sql) => {
      addToken(sql, "t1", { uses: 3 });
      admit(sql, asking("a"), 5);
      addToken(sql, "t2", { names: "edge-*", uses: 3 });
      admit(sql, asking("a", { token: "t2" }), 6);
      unpin(sql, "edge-1", "machine.forget", 7);
      sql.exec("INSERT INTO enrolments VALUES ('t2', 'edge-2', 'b', 8)");
      endTokens(sql, 1_000_000 + KEPT_MS);
      endTokens(sql, 1_000_001 + KEPT_MS);
      return {
        lines: readAudit(sql, { by: "operators", limit: 10 }).map(({ who, what, target, detail }) =>
          [who, what, target, detail].join(" | "),
        ),
        enrolments: sql.exec("SELECT * FROM enrolments").toArray(),
      };
    });
    expect(found.lines.toSorted((one, other) => one.localeCompare(other))).toEqual([
      "rollcall | token.end | t1 | edge-1, 1 of 3 uses",
      "rollcall | token.end | t2 | edge-*, 1 of 3 uses",
    ]);
    expect(found.enrolments).toEqual([]);
  });

  it("→ at most 500 at once, the rest with the next call; without such tokens no row is written", async () => {
    const found = await within("many", (sql) => {
      for (let at = 0; at < 501; at++) addToken(sql, `t${at}`);
      const counts = [0, 0, 0].map(() => {
        endTokens(sql, 1_000_000 + KEPT_MS);
        return idsOf(sql).length;
      });
      const audited = sql.exec("SELECT COUNT(*) AS lines FROM audit").one()["lines"];
      return { counts, audited };
    });
    expect(found).toEqual({ counts: [1, 0, 0], audited: 501 });
  });

  it("→ the daily cron trigger removes it; its machine keeps the grant if the object is lost", async () => {
    const [name, other] = ["token-ended", "token-ended-unused"];
    const machine = await enrolled(name, { labels: { "example.com/site": "north" } });
    await shimOf(machine)(facts(name), HEALTHY);
    const { id } = await minted({ names: other });
    shift(KEPT_MS + 601_000);
    await scheduled(
      { scheduledTime: Date.parse("2026-01-02T03:00:00Z"), cron: "", noRetry: () => undefined },
      env,
    );
    const { tokens } = await operator<{ tokens: ListedToken[] }>("GET", "/v1/tokens?limit=1000").then(
      ({ body }) => body,
    );
    expect(tokens.map(({ names }) => names)).toContain(name);
    expect(tokens.map((token) => token.id)).not.toContain(id);
    expect(await registry(env).pinnedTo(name, machine.key.thumbprint)).toMatchObject({
      grant: { labels: { "example.com/site": "north" } },
    });
    const { body } = await operator<{ entries: object[] }>("GET", `/v1/audit?target=${id}`);
    expect(body.entries[0]).toMatchObject({ who: "rollcall", what: "token.end", target: id });
  });
});

describe("DELETE /v1/tokens/:id", () => {
  it("→ no enrolment with it succeeds, not even a repeated one; enrolled machines continue to report", async () => {
    const { id, token } = await minted({ uses: 5 });
    const [name, key] = ["token-revoked", await makeMachineKey()];
    const first = await enrolling(name, { joinToken: token, key });
    if (!("kid" in first)) throw new Error("not enrolled");
    expect((await operator("DELETE", `/v1/tokens/${id}`)).status).toBe(204);
    expect((await operator("DELETE", `/v1/tokens/${id}`)).status).toBe(204);
    expect(await listed(id)).toMatchObject({ state: "revoked", revokedAt: expect.any(String) });
    expect(await enrolling(name, { joinToken: token, key })).toEqual(REFUSED);
    expect(await enrolling("token-revoked-2", { joinToken: token, key: await makeMachineKey() })).toEqual(
      REFUSED,
    );
    const outcome = await shimOf({ name, key, kid: first.kid })(facts(name), HEALTHY);
    expect(outcome).toMatchObject({ ok: true, value: { phase: "registered" } });
  });

  it("of an unknown ID → 404", async () => {
    expect((await operator("DELETE", "/v1/tokens/none")).status).toBe(404);
  });
});

describe("a rejoin token", () => {
  it("takes a pinned name over once; the key before is revoked", async () => {
    const name = "token-rejoin";
    const [old, next] = [await makeMachineKey(), await makeMachineKey()];
    const joinToken = await mintToken({ names: name, uses: 5 });
    const before = await enrolling(name, { joinToken, key: old });
    if (!("kid" in before)) throw new Error("not enrolled");
    const oldShim = shimOf({ name, key: old, kid: before.kid });
    expect(await oldShim(facts(name), HEALTHY)).toMatchObject({ ok: true });

    const { token: rejoin } = await minted({ names: name, rejoin: true });
    const after = await enrolling(name, { joinToken: rejoin, key: next });
    if (!("kid" in after)) throw new Error("not taken over");
    expect(await oldShim(facts(name), HEALTHY)).toMatchObject({ error: { problem: { status: 401 } } });
    expect(await enrolling(name, { joinToken, key: old })).toEqual(REFUSED);
    const shim = shimOf({ name, key: next, kid: after.kid }, "start-2");
    expect(await shim(facts(name), HEALTHY)).toMatchObject({ ok: true, value: { phase: "registered" } });
    expect(await enrolling(name, { joinToken: rejoin, key: next })).toEqual(after);
    expect(await enrolling(name, { joinToken: rejoin, key: await makeMachineKey() })).toEqual(REFUSED);
  });

  it("→ no report of the other machine counts as the new one's", async () => {
    const name = "token-rejoin-facts";
    await shimOf(await enrolled(name))(facts(name), HEALTHY);
    const machine = await enrolled(name, { names: name, rejoin: true });
    const bad = { ...facts(name), platform: {} } as never;
    expect(await shimOf(machine, "start-2")(bad, HEALTHY)).toMatchObject({
      value: { phase: "facts refused" },
    });
  });
});
