// Tests a backup and its import into an empty deployment: machines keep their keys, and revoked keys stay revoked.
// Each story empties the deployment's objects and fills them again.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { LIMITS } from "../../shared/protocol/limits.ts";
import type { BackupPage } from "../../shared/protocol/backup.ts";
import { RULE_SET_LIMITS, ruleSetBytes } from "../../shared/protocol/rules.ts";
import { fleetIndex, registry } from "../../worker/env.ts";
import { findPin } from "../../worker/registry/pins.ts";
import { exported, imported, lose, loseAll, stateOf, take } from "../worker/support/backup.ts";
import { VIEW_SECRET } from "../worker/support/constants.ts";
import {
  enrolled,
  enrolling,
  type EnrolledMachine,
  facts,
  HEALTHY,
  kube,
  mintToken,
  operator,
  send,
  shimOf,
} from "../worker/support/machine.ts";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";

const statusOf = async (machine: Omit<EnrolledMachine, "ticket">) => {
  const outcome = await shimOf(machine)(facts(machine.name), HEALTHY);
  if (outcome.ok) return outcome.value.phase;
  return outcome.error.reason === "refused" ? outcome.error.problem.reason : outcome.error.reason;
};
const uidOf = async (name: string) => (await kube("GET", `/api/v1/nodes/${name}`)).metadata?.uid;

// The answer lists only a limited number of missing machines, which machines of other tests would fill.
beforeEach(() => loseAll([]));

describe("a lost deployment and its backup", () => {
  it("→ machines keep their keys, and everything that operators made is there", async () => {
    const names = ["kept-a", "kept-b", "kept-revoked", "kept-away"];
    const machines = await Promise.all(names.map((name) => enrolled(name)));
    for (const machine of machines) expect(await statusOf(machine)).toBe("registered");
    await operator("POST", "/v1/nodes/kept-revoked/revoke");
    const unused = await mintToken({ names: "kept-later" });
    const made = { name: "kept-operator", role: "view", expiresInSeconds: 600 };
    const { secret } = (await operator<{ secret: string }>("POST", "/v1/operators", made)).body;
    const receiver = {
      name: "kept-receiver",
      url: "https://hooks.example.com/secret-path",
      authorization: "Bearer x",
    };
    expect((await operator("POST", "/v1/receivers", receiver)).status).toBe(201);
    const until = new Date(Date.now() + 600_000).toISOString();
    await operator("POST", "/v1/mutes", { names: "kept-*", until, comment: "kept" });
    const uids = await Promise.all(names.map(uidOf));
    const targets = () =>
      runInDurableObject(fleetIndex(env), (_, { storage }) =>
        storage.sql.exec("SELECT * FROM receivers WHERE name = 'kept-receiver'").toArray(),
      );
    const before = await targets();
    const { entries } = (await operator<{ entries: object[] }>("GET", "/v1/audit?limit=1000")).body;

    const pages = await exported();
    const text = JSON.stringify(pages);
    expect([text.includes("secret-path"), text.includes("Bearer x"), text.includes(secret)]).toEqual([
      false,
      false,
      false,
    ]);
    await loseAll(names);
    expect(await statusOf(machines[0]!)).toBe("unauthenticated");
    // The import must keep the token that an operator of the new deployment has made before the import.
    await mintToken({ names: "kept-before" });

    const last = pages.at(-1)!;
    await imported(pages.slice(0, -1));
    expect(await stateOf()).toMatchObject({ isDone: false, machines: 0, nextPage: pages.length });
    expect(await statusOf(machines[0]!)).toBe("unauthenticated");
    await imported([last, last, pages[0]!]);
    const isMine = (name: string) => name.startsWith("kept-");
    const done = await stateOf();
    expect(done).toMatchObject({ isDone: true, back: 0 });
    expect(done!.notBack.filter(isMine)).toEqual(["kept-a", "kept-away", "kept-b"]);

    // Each machine's object loses its memory, since it caches the registry's answer for some seconds.
    for (const name of names) await lose(env.NODES.getByName(name));
    expect(await Promise.all(machines.slice(0, 3).map(statusOf))).toEqual([
      "registered",
      "registered",
      "unauthenticated",
    ]);
    expect(await Promise.all(names.map(uidOf))).toEqual(uids);
    const back = await stateOf();
    expect([back!.back, back!.notBack.filter(isMine)]).toEqual([2, ["kept-away"]]);

    expect(await targets()).toMatchObject(
      before.map(({ name, settings, url, authorization, secret: signing }) => ({
        name,
        settings,
        url,
        authorization,
        secret: signing,
      })),
    );
    const { mutes } = (await operator<{ mutes: { comment: string }[] }>("GET", "/v1/mutes")).body;
    expect(mutes.filter(({ comment }) => comment === "kept")).toHaveLength(1);
    const headers = { authorization: `Bearer ${secret}` };
    expect((await send("/v1/tokens", { headers })).status).toBe(200);
    // The token's stamp has a MAC by the deployment's keys, which an import requires.
    expect(await enrolling("kept-later", { joinToken: unused, key: await makeMachineKey() })).toHaveProperty(
      "kid",
    );
    const audited = (await operator<{ entries: { what: string }[] }>("GET", "/v1/audit?limit=1000")).body;
    const own = audited.entries.slice(0, 3).map(({ what }) => what);
    expect(own).toEqual(["backup.import", "token.create", "backup.export"]);
    expect(audited.entries.slice(3)).toEqual(entries);
  });

  it("of many machines → page by page, each within the size of a body, and every row is equal", async () => {
    await loseAll([]);
    const rowsOf = (table: string) =>
      runInDurableObject(registry(env), (_, { storage }) =>
        storage.sql.exec(`SELECT * FROM ${table} ORDER BY 1, 2`).toArray(),
      );
    await runInDurableObject(registry(env), (_, { storage: { sql } }) => {
      const many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)";
      sql.exec(`INSERT INTO pins ${many} SELECT 'many-' || i, 'key-' || i, iif(i % 7, NULL, 'next-' || i), i, 't1',
        json_object('key', 'x' || i, 'machineID', hex(zeroblob(100)), 'systemUUID', '', 'address', ''), i, i, iif(i % 5, NULL, i), NULL, NULL FROM n`);
      sql.exec(`INSERT INTO enrolments ${many} SELECT 't' || (i % 3), 'many-' || i, 'key-' || i, i FROM n`);
      sql.exec(`INSERT INTO tombstones ${many} SELECT 'old-' || i, 'many-' || i, i, 'rotated' FROM n`);
      sql.exec(
        `INSERT INTO machine_log ${many} SELECT i, i, 'machine key-' || i, 'machine.enrol', 'many-' || i, '' FROM n`,
      );
      const filled = (count: number) => [{ metadata: { name: '"'.repeat(count) } }];
      const spare = RULE_SET_LIMITS.bytes - ruleSetBytes(filled(0));
      // A quotation mark has three backslashes in JSON within JSON.
      const largest = JSON.stringify(filled(Math.floor(spare / 4)));
      for (const revision of [1, 2])
        sql.exec("INSERT INTO rule_sets VALUES (?, ?, 1, 'alice')", revision, largest);
    });
    const tables = ["pins", "enrolments", "tombstones", "machine_log", "tokens", "rule_sets"];
    const before = await Promise.all(tables.map(rowsOf));
    const pages = await exported();
    expect(pages.filter(({ table }) => table === "pins").length).toBeGreaterThan(2);
    expect(Math.max(...pages.map((page) => JSON.stringify(page).length))).toBeLessThan(LIMITS.bodyBytes);
    await loseAll([]);
    await imported(pages);
    expect(await Promise.all(tables.map(rowsOf))).toEqual(before);
    expect(await stateOf()).toMatchObject({ machines: 960, back: 0, isDone: true });
    expect((await stateOf())!.notBack).toHaveLength(100);
    await loseAll([]);
  });

  it("made while keys changed → a key that was revoked meanwhile is refused, and its successor is accepted", async () => {
    await loseAll([]);
    await runInDurableObject(registry(env), (_, { storage: { sql } }) => {
      const insert = `INSERT INTO pins VALUES (?, ?, ?, 7, 't1',
        '{"key":"x","machineID":"","systemUUID":"","address":""}', 1, 1, NULL, NULL, ?)`;
      sql.exec(insert, "meanwhile-rotated", "before", "after", "x of after");
      sql.exec(insert, "meanwhile-lost", "taken", null, null);
      for (const key of ["before", "taken"]) sql.exec("INSERT INTO tombstones VALUES (?, 'x', 1, '')", key);
    });
    const pages = await exported();
    await loseAll([]);
    await imported(pages);
    const pins = await runInDurableObject(registry(env), (_, { storage: { sql } }) => ({
      rotated: findPin(sql, "meanwhile-rotated"),
      lost: findPin(sql, "meanwhile-lost"),
      generation: sql.exec("SELECT value FROM generation").one(),
    }));
    expect(pins).toMatchObject({
      rotated: {
        thumbprint: "after",
        nextThumbprint: null,
        machine: { key: "x of after" },
        revokedAtMs: null,
      },
      lost: { revokedAtMs: expect.any(Number) as number },
      generation: { value: 7 },
    });
    await loseAll([]);
  });

  it("no backup → each machine returns with a rejoin token and a new key, and its Node stays", async () => {
    const machine = await enrolled("kept-not");
    expect(await statusOf(machine)).toBe("registered");
    const uid = await uidOf(machine.name);
    await loseAll([machine.name]);
    expect(await statusOf(machine)).toBe("unauthenticated");
    const again = await enrolled(machine.name, { rejoin: true });
    expect(await statusOf(again)).toBe("registered");
    expect(await uidOf(machine.name)).toBe(uid);
  });
});

describe("a refused import changes nothing", () => {
  const saysOf = async (page: unknown) => {
    const { status, body } = await take(page);
    return [status, body.detail];
  };

  it("into a deployment with machines", async () => {
    await enrolled("kept-other");
    const [first] = await exported();
    expect(await saysOf(first)).toEqual([409, expect.stringMatching(/^\d+ machines? .*has none/)]);
    await loseAll(["kept-other"]);
  });

  it.each<[string, (page: BackupPage) => unknown, number, RegExp]>([
    ["a page that was changed", (page) => ({ ...page, rows: [] }), 409, /was changed since it was exported/],
    [
      "a page of other keys",
      (page) => ({ ...page, mac: `other.${page.mac}` }),
      409,
      /the key other of .*KID_MAC_KEYS/,
    ],
    ["a page that is none", () => ({ rollcallBackup: 2 }), 400, /./],
    ["no JSON object", () => "x", 400, /./],
  ])("%s", async (_, change, status, says) => {
    await loseAll([]);
    const [first] = await exported();
    expect(await saysOf(change(first!))).toEqual([status, expect.stringMatching(says)]);
    expect(await stateOf()).toBeNull();
  });

  it("with a page out of order, or of another backup than the one in progress; the latter can be cancelled", async () => {
    await loseAll([]);
    const [one, other] = [await exported(), await exported()];
    expect(await saysOf(one[1])).toEqual([409, "page 1 comes next, not 2"]);
    await imported(one.slice(0, 2));
    expect(await saysOf(other[0])).toEqual([409, expect.stringContaining("--abandon")]);
    expect((await operator("DELETE", "/v1/imports")).status).toBe(204);
    expect((await operator("DELETE", "/v1/imports")).status).toBe(404);
    await imported(other);
    expect(await stateOf()).toMatchObject({ isDone: true, id: other[0]!.id });
  });

  it("by a viewer, who may not read a backup either", async () => {
    const headers = { authorization: `Bearer ${VIEW_SECRET}` };
    expect((await send("/v1/backup", { headers })).status).toBe(403);
    expect((await send("/v1/imports", { headers, method: "POST", body: "{}" })).status).toBe(403);
  });
});
