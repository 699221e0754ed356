// Tests that an object's memory is never ahead of its rows after a failed write, as on a full disk.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Vitals } from "../../../../shared/protocol/report.ts";
import { nodeRows } from "../../../../worker/cluster/watched-nodes.ts";
import type { Environment } from "../../../../worker/env.ts";
import { FormTurns } from "../../../../worker/fleet/shares.ts";
import { Members } from "../../../../worker/gateway/members.ts";
import { nodeRecordStore } from "../../../../worker/storage/records.ts";
import { enrolled, facts, HEALTHY, operator, shimOf } from "../../support/machine.ts";

type AnyObject = DurableObjectStub<Rpc.DurableObjectBranded & { stateVersion: () => number | null }>;

const OBJECTS: [kind: string, stub: () => AnyObject][] = [
  ["a machine's object", () => env.NODES.getByName("failed-write")],
  ["a gateway", () => env.GATEWAYS.getByName("77")],
  ["a registry", () => env.REGISTRY.getByName("failed-write")],
  ["a fleet index", () => env.INDEX.getByName("failed-write")],
  ["a cluster object", () => env.CLUSTER.getByName("failed-write")],
];

describe("an object whose transaction fails", () => {
  it.each(OBJECTS)("%s → ends, and the next call wakes another one", async (_, stub) => {
    const instances: unknown[] = [];
    const fail = (instance: unknown, { storage }: DurableObjectState) => {
      instances.push(instance);
      storage.transactionSync(() => {
        throw new Error("disk is full");
      });
    };
    await expect(runInDurableObject(stub(), fail)).rejects.toThrow("disk is full");
    await runInDurableObject(stub(), (instance) => void instances.push(instance));
    expect(instances).toHaveLength(2);
    expect(instances[0]).not.toBe(instances[1]);
  });
});

describe("the timer of deadlines", () => {
  it.each(OBJECTS)("%s → has its own, so that no cleared timer is left in memory", async (_, stub) => {
    const timerOf = (instance: unknown) => (instance as { env: Environment }).env.timer;
    expect(await runInDurableObject(stub(), (instance) => typeof timerOf(instance))).toBe("function");
  });

  it("the stateless Worker → has none: each request's timers end with the request", () => {
    expect("timer" in env).toBe(false);
  });
});

describe("a machine's report while its object cannot write", () => {
  const PRESSURE: Vitals = { signals: { ...HEALTHY.signals, "memory.available": [1024, 8 * 2 ** 30] } };
  const objectOf = (name: string) => env.NODES.getByName(name);
  const runSql = (name: string, text: string) =>
    runInDurableObject(objectOf(name), (_, { storage }) => void storage.sql.exec(text));
  const conditionsOf = async (name: string) => {
    const { body } = await operator<{ entries: { text: string }[] }>(
      "GET",
      `/v1/nodes/${name}/history?kind=condition`,
    );
    return body.entries
      .map(({ text }) => text)
      .filter((text) => text.startsWith("MemoryPressure: False → True"));
  };

  it("and again once it can → the condition's change, its event and its line are stored", async () => {
    const name = "failed-report";
    const report = shimOf(await enrolled(name));
    await report(facts(name), HEALTHY);
    await runSql(
      name,
      "CREATE TRIGGER full BEFORE INSERT ON history BEGIN SELECT RAISE(ABORT, 'disk is full'); END",
    );
    const failed = await report(facts(name), PRESSURE);
    expect(failed.ok).toBe(false);
    await runSql(name, "DROP TRIGGER full");
    expect(await conditionsOf(name)).toEqual([]);
    expect((await report(facts(name), PRESSURE)).ok).toBe(true);
    expect(await conditionsOf(name)).toHaveLength(1);
  });
});

describe("a row that cannot be written outside of a transaction", () => {
  /** Returns an SQLite in which writes fail while `isFull`. */
  const failing = (rows: object[] = []) => {
    const state = { isFull: false };
    const exec = (query: string) => {
      if (state.isFull && !query.startsWith("SELECT")) throw new Error("disk is full");
      const found = query.startsWith("SELECT") ? rows : [];
      return { toArray: () => found, [Symbol.iterator]: () => found[Symbol.iterator]() };
    };
    return { state, sql: { exec } as unknown as SqlStorage };
  };

  it.each<[what: string, () => { write: () => unknown; known: () => unknown; full: () => void }]>([
    [
      "a record that is removed",
      () => {
        const { sql, state } = failing([{ key: "podCIDRs", value: '"10.0.0.0/24"' }]);
        const tables = { exist: () => true, writes: () => 0, make: () => undefined };
        const records = nodeRecordStore(sql, tables, { take: () => undefined });
        return {
          write: () => records.remove("podCIDRs"),
          known: () => records.get("podCIDRs"),
          full: () => void (state.isFull = true),
        };
      },
    ],
    [
      "a member that is removed",
      () => {
        const { sql, state } = failing([{ name: "edge-1", gateway: 7 }]);
        const members = new Members(sql);
        return {
          write: () => members.delete("edge-1"),
          known: () => members.gatewayOf("edge-1"),
          full: () => void (state.isFull = true),
        };
      },
    ],
    [
      "a watched Node that has changed",
      () => {
        const { sql, state } = failing([{ name: "edge-1", seen: "a", told: "a" }]);
        const rows = nodeRows(sql);
        return {
          write: () => rows.put("edge-1", { seen: "b", told: "a" }),
          known: () => rows.get("edge-1"),
          full: () => void (state.isFull = true),
        };
      },
    ],
    [
      "a watched Node that is gone",
      () => {
        const { sql, state } = failing([{ name: "edge-1", seen: "a", told: "" }]);
        const rows = nodeRows(sql);
        return {
          write: () => rows.put("edge-1", { seen: "", told: "" }),
          known: () => rows.get("edge-1"),
          full: () => void (state.isFull = true),
        };
      },
    ],
  ])("%s → stays in memory as stored", (_, open) => {
    const { write, known, full } = open();
    const before = known();
    full();
    expect(write).toThrow("disk is full");
    expect(known()).toEqual(before);
  });

  it("a Node's turn to change form → is stored with the next turn, so that no turn is assigned twice", () => {
    const { sql, state } = failing([]);
    const turns = new FormTurns(sql);
    state.isFull = true;
    expect(() => turns.take(1000)).toThrow("disk is full");
    expect(() => turns.take(1000)).toThrow("disk is full");
    state.isFull = false;
    expect(turns.take(1000)).toBe(200);
  });
});
