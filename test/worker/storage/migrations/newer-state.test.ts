// Tests objects whose state a later version of the Worker has written. Each refuses every call with a reason, keeps
// its storage and alarm, and works again with the later version.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { judgeState } from "../../../../worker/http/health-routes.ts";
import { isNewerState } from "../../../../worker/storage/migrations.ts";
import { nodeTables } from "../../../../worker/storage/tables.ts";

/** The name that this file gives to its object of each class. */
const NAME = "newer-state";
const OBJECTS = {
  NODES: env.NODES.getByName(NAME),
  REGISTRY: env.REGISTRY.getByName(NAME),
  CLUSTER: env.CLUSTER.getByName(NAME),
  INDEX: env.INDEX.getByName(NAME),
  GATEWAYS: env.GATEWAYS.getByName(NAME),
};
type Kind = keyof typeof OBJECTS;
/** A call or a request for each class of objects. */
const ASKED: Record<Kind, () => Promise<unknown>> = {
  NODES: async () => OBJECTS.NODES.show(),
  REGISTRY: async () => OBJECTS.REGISTRY.listTokens(),
  CLUSTER: async () => OBJECTS.CLUSTER.watchNodes(),
  INDEX: () => OBJECTS.INDEX.fetch("https://object/"),
  GATEWAYS: () => OBJECTS.GATEWAYS.fetch("https://object/"),
};
const KINDS = Object.keys(OBJECTS) as Kind[];

const dump = (sql: SqlStorage): unknown[] => {
  const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
  // The platform's own tables have names that begin with `_cf_`.
  const own = tables.map(({ name }) => name).filter((name) => !name.startsWith("_cf_"));
  return own.map((name) => [name, sql.exec(`SELECT * FROM ${name}`).toArray()]);
};

/** Changes the storage and evicts the object. Returns the whole storage. */
async function store(kind: Kind, statement: string): Promise<unknown[]> {
  const stored = await runInDurableObject(OBJECTS[kind], (_, { storage }) => {
    storage.sql.exec(statement);
    return dump(storage.sql);
  });
  await evictDurableObject(OBJECTS[kind]);
  return stored;
}

const storedIn = (kind: Kind) =>
  runInDurableObject(OBJECTS[kind], async (_, { storage }) => [dump(storage.sql), await storage.getAlarm()]);

const BEGUN = "INSERT INTO migrations VALUES (1000)";

/** Creates the tables of a node object, which exist only from its first row on. */
async function beginMachine(): Promise<void> {
  await runInDurableObject(OBJECTS.NODES, (_, { storage }) => nodeTables(storage).make());
  await evictDurableObject(OBJECTS.NODES);
}

const refusal = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: unknown) => error as Error,
  );

describe.each(KINDS)("%s, with state of a later version", (kind) => {
  it("refuses, loses nothing, and works again with the later version", async () => {
    const object = OBJECTS[kind];
    if (kind === "NODES") await beginMachine();
    const known = await object.stateVersion();
    const before = await store(kind, BEGUN);
    for (const call of [async () => object.stateVersion(), ASKED[kind]]) {
      const refused = await refusal(call());
      expect([refused?.message, isNewerState(refused)]).toEqual([
        `newer-state: the stored state is of version ${Number(known) + 1}, and this Worker knows version ${known}`,
        true,
      ]);
    }
    expect((await storedIn(kind))[0]).toEqual(before);
    await store(kind, "DELETE FROM migrations WHERE id = 1000");
    expect(await object.stateVersion()).toBe(known);
  });

  it("an alarm is retried", async () => {
    const object = OBJECTS[kind];
    await object.stateVersion();
    await runInDurableObject(object, (_, { storage }) => storage.setAlarm(Date.now() + 1_000_000));
    await store(kind, BEGUN);
    const nowMs = Date.now();
    expect(await runDurableObjectAlarm(object)).toBe(true);
    const [, alarmMs] = await storedIn(kind);
    expect(Number(alarmMs) - nowMs).toBeGreaterThanOrEqual(60_000);
    expect(Number(alarmMs) - nowMs).toBeLessThan(120_000);
    await store(kind, "DELETE FROM migrations WHERE id = 1000");
    await runInDurableObject(object, (_, { storage }) => storage.deleteAlarm());
  });
});

describe("GET /readyz says", () => {
  it.each([
    [
      "of which versions the state is",
      [
        { object: "registry", version: 10 },
        { object: "index", version: 0 },
        { object: "cluster", version: null },
      ],
      { state: "ok", message: "its versions: registry v10, index v0, cluster ?" },
    ],
    [
      "which objects refuse, and what to do",
      [
        { object: "registry", version: null, newer: "newer-state: the stored state is …" },
        { object: "index", version: 3 },
        { object: "sim-1", version: null, newer: "newer-state: as well" },
      ],
      {
        state: "failed",
        message: "registry: newer-state: the stored state is …; sim-1: newer-state: as well",
        cure: "deploy the later version again: nothing is lost, and nothing is written until then",
      },
    ],
  ])("%s", (_, seen, found) => {
    expect(judgeState(seen)).toEqual({ check: "state", ...found });
  });
});
