// Tests which gateway each machine has, through all changes of the machine and of GATEWAY_SIZE, and the number of
// written rows.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { registry } from "../../../worker/env.ts";
import { admit } from "../../../worker/registry/admission.ts";
import {
  gatewaysInUse,
  payingSize,
  noteCapacity,
  reassignGateway,
  UNMEASURED_MACHINES,
} from "../../../worker/registry/gateways.ts";
import { confirmPin, findPin, leavePin, pin, setNextKey, unpin } from "../../../worker/registry/pins.ts";
import { shift } from "../support/clock.ts";
import { enrolled, facts, HEALTHY, shimOf } from "../support/machine.ts";
import { addToken, asking, withinRegistry } from "../support/registry-storage.ts";

const SIZE = 2;

/** Returns short forms of a registry's operations. Each machine's key has the machine's name. */
function steps(sql: SqlStorage) {
  const keyOf = (name: string, thumbprint: string) => ({
    name,
    thumbprint,
    generation: findPin(sql, name)?.generation ?? -1,
  });
  const enrol = (name: string, thumbprint = name) => pin(sql, asking(thumbprint, { name }), 100);
  const report = (name: string, { size = SIZE, by = name } = {}) =>
    confirmPin(sql, keyOf(name, by), size, 200)?.gateway;
  return {
    sql,
    enrol,
    report,
    /** Adds machines, which report in this order. */
    add: (...names: string[]) =>
      names.map((name) => {
        enrol(name);
        return report(name);
      }),
    rotate: (name: string, next: string) => setNextKey(sql, keyOf(name, next), 200),
    forget: (name: string) => unpin(sql, name, "machine.forget", 300),
    leave: (name: string) => leavePin(sql, keyOf(name, name), 300),
    revoke: (name: string) => unpin(sql, name, "machine.revoke", 300),
    moved: (name: string, from: number, { size = SIZE, by = name } = {}) =>
      reassignGateway(sql, { name, thumbprint: by, from }, size),
    /** Returns the number of machines of each gateway. Checks that the stored counts equal the pins. */
    members: () => {
      const counted = "SELECT number, members FROM gateways WHERE members > 0 ORDER BY number";
      const pinned =
        "SELECT gateway AS number, COUNT(*) AS members FROM pins WHERE gateway IS NOT NULL GROUP BY gateway";
      const rows = [...sql.exec<{ number: number; members: number }>(counted)];
      expect([...sql.exec(pinned)]).toEqual(rows);
      expect(gatewaysInUse(sql)).toEqual(rows.map(({ number }) => number));
      return Object.fromEntries(rows.map(({ number, members }) => [number, members]));
    },
  };
}
type Steps = ReturnType<typeof steps>;

const within = <Outcome>(name: string, act: (on: Steps) => Outcome) =>
  withinRegistry(`gateways-${name}`, (sql) => act(steps(sql)));

it("machines fill one gateway after the other, from number 1", async () => {
  const found = await within("fill", (on) => [on.add("a", "b", "c", "d", "e"), on.members()]);
  expect(found).toEqual([[1, 1, 2, 2, 3], { 1: 2, 2: 2, 3: 1 }]);
});

it("a machine without a report has none", async () => {
  const found = await within("unreported", (on) => {
    on.enrol("a");
    return [on.members(), on.add("b", "c"), on.report("a")];
  });
  expect(found).toEqual([{}, [1, 1], 2]);
});

describe("gateways 1 and 2 are full, and machine a of gateway 1 changes: the next machine gets", () => {
  it.each<[situation: string, happens: (on: Steps) => unknown, number, members: Record<number, number>]>([
    ["it reports again → another", (on) => on.report("a"), 3, { 1: 2, 2: 2, 3: 1 }],
    ["it is forgotten → its place", (on) => on.forget("a"), 1, { 1: 2, 2: 2 }],
    ["it leaves → its place", (on) => on.leave("a"), 1, { 1: 2, 2: 2 }],
    ["it is revoked → its place", (on) => on.revoke("a"), 1, { 1: 2, 2: 2 }],
    [
      "it is revoked, twice, then forgotten → its place, which counts once",
      (on) => [on.revoke("a"), on.revoke("a"), on.forget("a"), on.forget("a")],
      1,
      { 1: 2, 2: 2 },
    ],
    [
      "it rotates, and reports by its next key → another",
      (on) => [on.rotate("a", "a2"), on.report("a", { by: "a2" })],
      3,
      { 1: 2, 2: 2, 3: 1 },
    ],
    ["another machine takes it over → another", (on) => on.enrol("a", "a2"), 3, { 1: 2, 2: 2, 3: 1 }],
    [
      "another machine takes it over, and reports → another",
      (on) => [on.enrol("a", "a2"), on.report("a", { by: "a2" })],
      3,
      { 1: 2, 2: 2, 3: 1 },
    ],
    [
      "it is revoked, another machine enrols and reports → another",
      (on) => [on.revoke("a"), on.enrol("a", "a2"), on.report("a", { by: "a2" })],
      3,
      { 1: 2, 2: 2, 3: 1 },
    ],
    [
      "a key without the name reports → another",
      (on) => on.report("a", { by: "z" }),
      3,
      { 1: 2, 2: 2, 3: 1 },
    ],
    ["the first gateway refuses it → another", (on) => on.moved("a", 1), 3, { 1: 1, 2: 2, 3: 2 }],
  ])("%s", async (situation, happens, number, members) => {
    const found = await within(situation, (on) => {
      on.add("a", "b", "c", "d");
      happens(on);
      return [on.add("next"), on.members()];
    });
    expect(found).toEqual([[number], members]);
  });
});

it("a rotation or a takeover keeps the name's gateway", async () => {
  const found = await within("same", (on) => {
    on.add("a", "b", "c");
    on.rotate("c", "c2");
    const rotated = on.report("c", { by: "c2" });
    on.enrol("c", "c3");
    return [rotated, findPin(on.sql, "c")?.gateway, on.report("c", { by: "c3" })];
  });
  expect(found).toEqual([2, 2, 2]);
});

it("a rejoin token → the machine that takes the name over keeps the name's gateway", async () => {
  const found = await within("rejoin", (on) => {
    addToken(on.sql, "t0");
    addToken(on.sql, "t1", { rejoin: true });
    const report = (by: string) => on.report("edge-1", { by });
    const first = [admit(on.sql, asking("x", { token: "t0" }), 5).ok, report("x")];
    return [first, [admit(on.sql, asking("y"), 6).ok, report("y")], on.members()];
  });
  expect(found).toEqual([[true, 1], [true, 1], { 1: 1 }]);
});

describe("a machine that a full gateway refused", () => {
  it("→ gets the lowest other one with room; a repeated request gets the same", async () => {
    const found = await within("refused", (on) => {
      on.add("a", "b", "c");
      return [on.moved("a", 1), on.moved("a", 1), on.report("a"), on.members()];
    });
    expect(found).toEqual([2, 2, 2, { 1: 1, 2: 2 }]);
  });

  it("→ no machine gets the full one until a machine leaves it", async () => {
    const found = await within("full", (on) => {
      on.add("a", "b", "c");
      const before = [on.moved("a", 1), on.add("d", "e")];
      on.forget("b");
      return [before, on.add("f", "g")];
    });
    expect(found).toEqual([
      [2, [3, 3]],
      [1, 1],
    ]);
  });

  it("→ and by the next one as well → gets a third", async () => {
    const found = await within("again", (on) => {
      on.add("a");
      return [on.moved("a", 1), on.moved("a", 2), on.members()];
    });
    expect(found).toEqual([2, 3, { 3: 1 }]);
  });

  it.each<[situation: string, asked: (on: Steps) => unknown]>([
    ["a name that nobody has", (on) => on.moved("z", 1)],
    ["by a key that has not the name", (on) => on.moved("a", 1, { by: "b" })],
    ["by a key that has lost the name", (on) => [on.enrol("a", "a2"), on.moved("a", 1)][1]],
    ["by a revoked key", (on) => [on.revoke("a"), on.moved("a", 1)][1]],
    ["that has none", (on) => [on.enrol("z"), on.moved("z", 1)][1]],
    ["where there are no gateways any more", (on) => on.moved("a", 1, { size: 0 })],
  ])("%s → none, and no gateway counts as full", async (situation, asked) => {
    const found = await within(`refused-${situation}`, (on) => {
      on.add("a");
      return [asked(on), [...on.sql.exec("SELECT is_full FROM gateways")]];
    });
    expect(found).toEqual([null, [{ is_full: 0 }]]);
  });

  it("with its next key → gets another", async () => {
    const found = await within("next-key", (on) => {
      on.add("a");
      on.rotate("a", "a2");
      return on.moved("a", 1, { by: "a2" });
    });
    expect(found).toBe(2);
  });
});

describe("the number of machines that gateways can serve", () => {
  const machines = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `m-${from + at}`);
  const join = (on: Steps, names: string[], size = 500) =>
    names.map((name) => {
      on.enrol(name);
      return on.report(name, { size });
    });

  it.each<[situation: string, capacities: [number, number][], size: number, joined: number, members: object]>(
    [
      ["nothing is measured → 150 each", [], 500, UNMEASURED_MACHINES + 1, { 1: 150, 2: 1 }],
      ["the first gateway can serve fewer → so does the next", [[1, 10]], 500, 12, { 1: 10, 2: 2 }],
      ["the first gateway can serve more → it takes them", [[1, 160]], 500, 161, { 1: 160, 2: 1 }],
      ["more than GATEWAY_SIZE → no more than that", [[1, 160]], 5, 6, { 1: 5, 2: 1 }],
      [
        "the newest measurement counts for the next gateway",
        [
          [1, 1],
          [2, 3],
        ],
        500,
        6,
        { 1: 1, 2: 3, 3: 2 },
      ],
    ],
  )("%s", async (situation, capacities, size, joined, members) => {
    const found = await within(`capacity-${situation}`, (on) => {
      for (const [at, [number, count]] of capacities.entries()) {
        join(on, machines(1, 1000 + at), at === 0 ? size : 1);
        noteCapacity(on.sql, number, count);
      }
      join(on, machines(joined - capacities.length), size);
      return on.members();
    });
    expect(found).toEqual(members);
  });

  it("fewer than before → the gateway keeps its machines, and takes no other", async () => {
    const found = await within("capacity-lower", (on) => {
      join(on, machines(3));
      noteCapacity(on.sql, 1, 2);
      return [machines(3).map((name) => on.report(name, { size: 500 })), join(on, ["next"]), on.members()];
    });
    expect(found).toEqual([[1, 1, 1], [2], { 1: 3, 2: 1 }]);
  });

  it("the same number again → no row is written", async () => {
    const found = await within("capacity-same", (on) => {
      join(on, machines(1));
      noteCapacity(on.sql, 1, 2);
      const before = on.sql.exec("SELECT total_changes() AS n").one();
      noteCapacity(on.sql, 1, 2);
      return [before, on.sql.exec("SELECT total_changes() AS n").one()];
    });
    expect(found[1]).toEqual(found[0]);
  });
});

describe("GATEWAY_SIZE", () => {
  it.each([
    ["lowered → who has a place keeps it, others get another", 1, [1, 1, 2], { 1: 2, 2: 1, 3: 1 }],
    ["raised → the first has room again", 3, [1, 1, 2], { 1: 3, 2: 1 }],
  ])("%s", async (situation, size, again, members) => {
    const found = await within(`size-${situation}`, (on) => {
      on.add("a", "b", "c");
      on.enrol("next");
      const reported = ["a", "b", "c"].map((name) => on.report(name, { size }));
      on.report("next", { size });
      return [reported, on.members()];
    });
    expect(found).toEqual([again, members]);
  });

  it("0 → no machine gets one, and each loses its own at its next confirmation; then 2 → all get one", async () => {
    const found = await within("size-0", (on) => {
      on.add("a", "b", "c");
      on.enrol("next");
      const names = ["a", "b", "c", "next"];
      const off = names.map((name) => on.report(name, { size: 0 }));
      return [off, on.members(), names.map((name) => on.report(name)), on.members()];
    });
    expect(found).toEqual([[null, null, null, null], {}, [1, 1, 2, 2], { 1: 2, 2: 2 }]);
  });
});

describe("sockets are offered where they cost less than reports over HTTP", () => {
  it.each<[situation: string, machines: number, size: number, expected: number]>([
    ["as many machines as pay → the size", 3, 500, 500],
    ["one machine fewer → 0", 2, 500, 0],
    ["gateways that are too small → 0", 5, 2, 0],
    ["no gateways → 0", 5, 0, 0],
  ])("%s", async (situation, machines, size, expected) => {
    const found = await within(`paying-${situation}`, (on) => {
      for (let each = 0; each < machines; each++) on.enrol(`m-${each}`);
      on.enrol("revoked");
      on.revoke("revoked");
      return [payingSize(on.sql, size, 30_000), payingSize(on.sql, size, 10_000)];
    });
    expect(found).toEqual([expected, size]);
  });

  it("a machine whose interval becomes long → loses its gateway at its next confirmation", async () => {
    const name = "long-interval";
    const machine = await enrolled(name);
    const { settings } = facts(name);
    const every = (ms: number) =>
      facts(name, {
        settings: { ...settings, nodeStatusUpdateFrequencyMs: ms, nodeLeaseDurationSeconds: 1200 },
      });
    const gatewayOf = () =>
      runInDurableObject(registry(env), (_, { storage }) => findPin(storage.sql, name)?.gateway);
    await shimOf(machine, "start-1")(every(10_000), HEALTHY);
    expect(await gatewayOf()).toBe(1);
    shift(25 * 3600_000);
    await shimOf(machine, "start-2")(every(300_000), HEALTHY);
    expect(await gatewayOf()).toBeNull();
  });
});

describe("the cost in written rows", () => {
  it.each<[situation: string, prepare: (on: Steps) => unknown, act: (on: Steps) => unknown, rows: number]>([
    ["a first report: the pin and the count", (on) => on.enrol("a"), (on) => on.report("a"), 2],
    ["the same without gateways", (on) => on.enrol("a"), (on) => on.report("a", { size: 0 }), 1],
    ["a later report", (on) => on.add("a"), (on) => on.report("a"), 0],
    [
      "a later report without gateways",
      (on) => [on.enrol("a"), on.report("a", { size: 0 })],
      (on) => on.report("a", { size: 0 }),
      0,
    ],
    ["another gateway: the pin and both counts", (on) => on.add("a"), (on) => on.moved("a", 1), 3],
    ["another gateway, asked again", (on) => [on.add("a"), on.moved("a", 1)], (on) => on.moved("a", 1), 0],
  ])("%s", async (situation, prepare, act, rows) => {
    const written = await within(`rows-${situation}`, (on) => {
      prepare(on);
      const exec = vi.spyOn(on.sql, "exec");
      act(on);
      const cursors = exec.mock.results.map(({ value }) => value as SqlStorageCursor<never>);
      exec.mockRestore();
      return cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
    });
    expect(written).toBe(rows);
  });
});

it("a registry of an earlier version → its machines get gateways at their next confirmation", async () => {
  const found = await within("before", (on) => {
    on.enrol("a");
    on.sql.exec("UPDATE pins SET reported_at_ms = 150, gateway = NULL");
    return [on.report("a"), findPin(on.sql, "a")];
  });
  expect(found).toMatchObject([1, { gateway: 1, reportedAtMs: 150 }]);
});

it("over the whole Worker: a first report brings a gateway, which the object stores and the registry counts", async () => {
  const machine = await enrolled("gateways-whole");
  await shimOf(machine)(facts(machine.name), HEALTHY);
  const held = await runInDurableObject(registry(env), (_, { storage }) =>
    findPin(storage.sql, machine.name),
  );
  expect(held?.gateway).toBeGreaterThan(0);
  expect(await registry(env).gatewaysInUse()).toContain(held?.gateway);
  const settled = await runInDurableObject(env.NODES.getByName(machine.name), (_, { storage }) =>
    storage.sql.exec<{ value: string }>("SELECT value FROM records WHERE key = 'settled'").one(),
  );
  expect(JSON.parse(settled.value)).toMatchObject({ gateway: held?.gateway });
});
