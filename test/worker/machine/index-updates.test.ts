// Tests the updates from a node object to the fleet index through failures of index, network and object. Each line
// of history arrives once and in order, one update at a time, and the last summary arrives in the end.
import { describe, expect, it, vi } from "vitest";
import type { MachineUpdate, UpdateEntry, UpdatedUntil } from "../../../shared/fleet/summary.ts";
import { IndexUpdates, UPDATE_LIMITS } from "../../../worker/machine/index-updates.ts";
import { RATE_LIMITS } from "../../../worker/storage/token-bucket.ts";
import { randomOf } from "../../lab/hostile/random.ts";

const START_MS = Date.UTC(2026, 0, 1);

/** Returns a fleet index with one row, which takes updates as machine-rows.ts does. */
function oneRow() {
  const index = {
    known: undefined as { version: number; entryId: number; text: string } | undefined,
    lines: [] as string[],
    asked: 0,
    underWay: 0,
    take({ version, summary, entries, isSequel }: MachineUpdate): UpdatedUntil {
      if (!index.known && isSequel) return { entryId: 0 };
      const { entryId = 0, version: before = 0 } = index.known ?? {};
      if (version <= before) return { entryId };
      const fresh = entries.filter(({ id }) => id > entryId);
      index.lines.push(...fresh.map(({ text }) => text));
      index.known = { version, entryId: fresh.at(-1)?.id ?? entryId, text: JSON.stringify(summary) };
      return { entryId: index.known.entryId };
    },
    /** Stores an update like the fleet index, and returns the index's answer. */
    next: (telling: MachineUpdate): Promise<UpdatedUntil> => Promise.resolve(index.take(telling)),
    remove: () => Promise.resolve(),
    lose() {
      index.known = undefined;
      index.lines = [];
    },
  };
  return index;
}

/** Returns a machine's IndexUpdates over a store that outlives `evict`. */
function machineOf(index: ReturnType<typeof oneRow>, random: () => number = () => 1) {
  const records = new Map<string, string>();
  const lines: UpdateEntry[] = [];
  let writes = 0;
  /**
   * The number of the object in memory, which rises with each eviction. A call of an evicted object has no effect.
   */
  let life = 0;
  const store = {
    get: (key: string) => {
      const text = records.get(key);
      return text === undefined ? undefined : (JSON.parse(text) as unknown);
    },
    put(key: string, value: unknown) {
      writes++;
      machine.rows++;
      records.set(key, JSON.stringify(value));
    },
  };
  const machine = {
    nowMs: START_MS,
    rows: 0,
    alarmMs: null as number | null,
    lines,
    store,
    updates: undefined as unknown as IndexUpdates,
    evict() {
      life++;
      writes = 0;
      index.underWay = 0;
      machine.updates = open();
    },
    /** Makes the machine silent, or ends its silence. */
    turn(isSilent: boolean) {
      store.put("silentSinceMs", isSilent ? machine.nowMs : null);
    },
    async ring() {
      machine.nowMs = Math.max(machine.nowMs, machine.alarmMs ?? 0);
      machine.alarmMs = null;
      await machine.updates.finish();
    },
    summary: () => JSON.stringify(machine.updates.sentSummary()),
  };
  const history = {
    add: (kind: UpdateEntry["kind"], texts: readonly string[], atMs: number) => {
      writes++;
      for (const text of texts)
        lines.push({ id: lines.length + 1, atMs, kind, text: `${lines.length + 1}: ${text}` });
    },
    after: (id: number, limit: number) => lines.slice(id, id + limit),
    lastId: () => lines.length,
  };
  const open = () => {
    const own = life;
    const isAlive = () => own === life;
    const records = { ...store, put: (key: string, value: unknown) => isAlive() && store.put(key, value) };
    return new IndexUpdates({
      state: {
        records: records as never,
        history,
        tables: { writes: () => writes },
        alarm: {
          atLatest: (atMs) => {
            if (!isAlive()) return Promise.resolve();
            machine.alarmMs = Math.min(atMs, machine.alarmMs ?? Infinity);
            return Promise.resolve();
          },
        },
      },
      index: () => ({
        tell: async (telling) => {
          if (!isAlive()) return new Promise(() => undefined);
          index.asked++;
          index.underWay++;
          expect(index.underWay).toBe(1);
          const answer = await index.next(telling).finally(() => void (isAlive() && index.underWay--));
          return isAlive() ? answer : new Promise(() => undefined);
        },
        remove: () => index.remove(),
      }),
      timer: undefined,
      nowMs: () => machine.nowMs,
      random,
    });
  };
  const enrolment = { name: "edge-1", generation: 3, thumbprint: "t", token: "token", pinnedAtMs: START_MS };
  records.set("enrolment", JSON.stringify(enrolment));
  records.set("settled", JSON.stringify({ key: "3 t", toldAtMs: {} }));
  records.set("registration", JSON.stringify({ phase: "registered" }));
  records.set("phase", JSON.stringify("registered"));
  machine.updates = open();
  return machine;
}

const overloaded = () => Promise.reject(new Error("overloaded"));

describe("a machine's object", () => {
  it("sends a change once; without a change it sends and writes nothing, also after an eviction", async () => {
    const index = oneRow();
    const machine = machineOf(index);
    await machine.updates.finish();
    machine.turn(true);
    await machine.updates.finish();
    expect(index.lines).toEqual(["1: not-ready", "2: not-ready → silent"]);
    const [asked, rows] = [index.asked, machine.rows];
    for (let looks = 0; looks < 3; looks++) {
      machine.updates.update("");
      machine.evict();
    }
    await machine.updates.finish();
    expect([index.asked, machine.rows, machine.alarmMs]).toEqual([asked, rows, null]);
  });

  it("of an earlier version that sent less → sends everything once, after any wake-up", async () => {
    const index = oneRow();
    const machine = machineOf(index);
    await machine.updates.finish();
    const told = machine.store.get("told") as { text: string };
    const { createdMs, ...earlier } = JSON.parse(told.text) as Record<string, unknown>;
    expect(createdMs).toBe(0);
    machine.store.put("told", { ...told, text: JSON.stringify(earlier) });
    machine.evict();
    expect(machine.summary()).toBe("null");
    const [asked, rows] = [index.asked, machine.rows];
    for (let wakes = 0; wakes < 3; wakes++) {
      machine.updates.update("");
      await machine.updates.finish();
      machine.evict();
    }
    expect([index.asked, machine.rows]).toEqual([asked + 1, rows + 1]);
    expect(machine.summary()).toContain('"createdMs":0');
  });

  it("the index fails → retried by the alarm after half a minute, doubling to ten minutes, until it works", async () => {
    vi.spyOn(console, "log").mockReturnValue(undefined);
    const index = oneRow();
    const machine = machineOf(index);
    index.next = overloaded;
    await machine.updates.finish();
    const waits: number[] = [];
    for (let failures = 0; failures < 6; failures++) {
      waits.push(((machine.alarmMs ?? 0) - machine.nowMs) / 1000);
      // A report between two attempts sends nothing.
      machine.updates.update("");
      machine.evict();
      machine.updates.update("");
      expect(index.asked).toBe(failures + 1);
      await machine.ring();
    }
    expect(waits).toEqual([30, 60, 120, 240, 480, 600]);
    index.next = (telling) => Promise.resolve(index.take(telling));
    await machine.ring();
    expect(index.lines).toEqual(["1: not-ready"]);
    expect(machine.store.get("told")).not.toHaveProperty("again");
  });

  it("its alarm rings for another task → set again for the update", async () => {
    vi.spyOn(console, "log").mockReturnValue(undefined);
    const index = oneRow();
    const machine = machineOf(index);
    index.next = overloaded;
    await machine.updates.finish();
    const { alarmMs } = machine;
    machine.alarmMs = null;
    await machine.updates.finish();
    expect(machine.alarmMs).toBe(alarmMs);
  });

  it("constant changes → ten updates at once, then one every ten seconds", async () => {
    const index = oneRow();
    const machine = machineOf(index);
    await machine.updates.finish();
    for (let second = 1; second <= 60; second++) {
      machine.nowMs += 1000;
      machine.turn(second % 2 === 0);
      machine.updates.update("");
      await machine.updates.finish();
    }
    expect(index.asked).toBeLessThanOrEqual(1 + RATE_LIMITS.indexUpdates.atOnce + 6);
    machine.nowMs += RATE_LIMITS.indexUpdates.everyMs;
    await machine.ring();
    expect(index.lines).toEqual(machine.lines.map(({ text }) => text));
  });

  it("more lines than one update takes → several updates, in order; for a new row the last hundred lines", async () => {
    const index = oneRow();
    const machine = machineOf(index);
    await machine.updates.finish();
    for (let line = 0; line < 450; line++)
      machine.lines.push({ id: line + 2, atMs: 0, kind: "phase", text: `${line}` });
    machine.turn(true);
    await machine.updates.finish();
    expect(index.lines).toEqual(machine.lines.map(({ text }) => text));
    expect(index.asked).toBe(4);
    index.lose();
    expect(await machine.updates.sendAll()).toBe(true);
    expect(index.lines).toEqual(machine.lines.slice(-UPDATE_LIMITS.linesOfAll).map(({ text }) => text));
  });

  it("the index has lost its data → the next change sends everything", async () => {
    const index = oneRow();
    const machine = machineOf(index);
    for (const isSilent of [false, true]) {
      machine.turn(isSilent);
      await machine.updates.finish();
    }
    index.lose();
    machine.turn(false);
    await machine.updates.finish();
    expect(index.lines).toEqual(machine.lines.map(({ text }) => text));
    expect(index.known?.text).toBe(machine.summary());
  });

  it("a full update is requested during an update that fails → a full update at once", async () => {
    vi.spyOn(console, "log").mockReturnValue(undefined);
    const index = oneRow();
    const machine = machineOf(index);
    await machine.updates.finish();
    const underWay = Promise.withResolvers<UpdatedUntil>();
    index.next = () => underWay.promise;
    machine.turn(true);
    machine.updates.update("");
    index.lose();
    const anew = machine.updates.sendAll();
    index.next = (telling) => Promise.resolve(index.take(telling));
    underWay.reject(new Error("overloaded"));
    expect(await anew).toBe(true);
    expect(index.lines).toEqual(["1: not-ready", "2: not-ready → silent"]);
  });

  it("a machine that leaves → no further update", async () => {
    const index = oneRow();
    const machine = machineOf(index);
    await machine.updates.finish();
    machine.store.put("isLeaving", true);
    machine.turn(true);
    machine.updates.update("");
    await machine.updates.finish();
    expect(index.asked).toBe(1);
  });

  it.each<[situation: string, act: (machine: ReturnType<typeof machineOf>) => void, summary: RegExp]>([
    ["its update was received → its summary", () => undefined, /"state":"not-ready"/],
    ["it leaves → null", ({ store }) => store.put("isLeaving", true), /^null$/],
    [
      "an update must be retried → null",
      ({ store }) => store.put("told", { ...(store.get("told") as object), again: { atMs: 0 } }),
      /^null$/,
    ],
  ])("checked by the index: %s", async (_, act, summary) => {
    const machine = machineOf(oneRow());
    await machine.updates.finish();
    act(machine);
    expect(machine.summary()).toMatch(summary);
  });

  it("another machine gets the name during an update → the next update is about that machine", async () => {
    const index = oneRow();
    const machine = machineOf(index);
    const generations: number[] = [];
    index.next = (telling) => {
      generations.push(telling.generation);
      machine.store.put("enrolment", { ...(machine.store.get("enrolment") as object), generation: 4 });
      return Promise.resolve(index.take(telling));
    };
    await machine.updates.finish();
    expect(generations).toEqual([3, 4]);
    expect(machine.store.get("told")).toMatchObject({ generation: 4 });
  });
});

describe("the deletion of a machine's row", () => {
  const HALF_A_MINUTE_MS = 30_000;
  it.each<[situation: string, isLeaving: boolean, fails: boolean, isDone: boolean, againMs: number | null]>([
    ["is done once", true, false, true, null],
    ["that fails → by the alarm, after half a minute", true, true, false, START_MS + HALF_A_MINUTE_MS],
    ["that fails, where its machine stays → not again", false, true, false, null],
  ])("%s", async (_, isLeaving, fails, isDone, againMs) => {
    vi.spyOn(console, "log").mockReturnValue(undefined);
    const index = oneRow();
    const machine = machineOf(index);
    machine.store.put("isLeaving", isLeaving);
    if (fails) index.remove = overloaded;
    expect(await machine.updates.remove({ name: "edge-1" } as never, "left")).toBe(isDone);
    expect(machine.alarmMs).toBe(againMs);
  });
});

describe("the address of a machine's reports", () => {
  const [FORMER, NEXT] = ["192.0.2.1", "192.0.2.2"];
  const enrol = ({ store }: ReturnType<typeof machineOf>) =>
    store.put("enrolment", { ...(store.get("enrolment") as object), generation: 4 });
  const report = (machine: ReturnType<typeof machineOf>, address: string) => {
    machine.store.put("settled", { key: "4 t", toldAtMs: {} });
    machine.updates.update(address);
    return machine.updates.finish();
  };
  type Act = (machine: ReturnType<typeof machineOf>) => void | Promise<void>;
  it.each<[situation: string, address: string, acts: Act[]]>([
    ["as sent first", FORMER, []],
    ["that changes at once → sent later", FORMER, [({ updates }) => updates.update(NEXT)]],
    [
      "that has changed in the meantime → sent",
      NEXT,
      [
        (machine) => void (machine.nowMs += UPDATE_LIMITS.addressEveryMs),
        ({ updates }) => updates.update(NEXT),
      ],
    ],
    ["of which nothing is known after an eviction → as told", FORMER, [(machine) => machine.evict()]],
    ["of a new machine that has not reported → none", "", [enrol, ({ updates }) => updates.update()]],
    ["of one, after an eviction → none", "", [enrol, (machine) => machine.evict()]],
    ["of a new machine → its own at once", NEXT, [enrol, (machine) => report(machine, NEXT)]],
    [
      "of one whose enrolment was told → its own at once",
      NEXT,
      [enrol, ({ updates }) => updates.finish(), (machine) => report(machine, NEXT)],
    ],
    [
      "of one, where the platform does not provide it → none",
      "",
      [enrol, (machine) => machine.evict(), (machine) => report(machine, "")],
    ],
  ])("%s", async (_, address, acts) => {
    const index = oneRow();
    const machine = machineOf(index);
    machine.updates.update(FORMER);
    await machine.updates.finish();
    for (const act of acts) await act(machine);
    await machine.updates.finish();
    expect(JSON.parse(index.known?.text ?? "")).toMatchObject({ address });
    const { asked } = index;
    machine.updates.update();
    await machine.updates.finish();
    expect(index.asked).toBe(asked);
  });
});

describe("any failures and evictions", () => {
  it.each(Array.from({ length: 50 }, (_, seed) => seed))(
    "→ each line once and in order, seed %i",
    async (seed) => {
      vi.spyOn(console, "log").mockReturnValue(undefined);
      const random = randomOf(seed, 0);
      const index = oneRow();
      const machine = machineOf(index, () => random.int(1000) / 1000);
      /** The updates that arrive at the fleet index after the deadline for its answer. */
      const late: MachineUpdate[] = [];
      index.next = (telling) => {
        switch (random.int(5)) {
          case 0:
            return overloaded();
          case 1:
            index.take(telling);
            return overloaded();
          case 2:
            late.push(telling);
            return overloaded();
          default:
            return Promise.resolve(index.take(telling));
        }
      };
      let isSilent = false;
      for (let step = 0; step < 60; step++) {
        machine.nowMs += 1 + 1000 * random.int(20);
        if (random.int(3) === 0) machine.turn((isSilent = !isSilent));
        machine.updates.update("");
        if (random.int(4) === 0) machine.evict();
        if (machine.alarmMs !== null && machine.alarmMs <= machine.nowMs) await machine.ring();
        const came = late.splice(0, random.int(2));
        for (const telling of came) index.take(telling);
        await Promise.resolve();
      }
      index.next = (telling) => Promise.resolve(index.take(telling));
      for (let alarms = 0; alarms < 3; alarms++) await machine.ring();
      for (const telling of late) index.take(telling);
      expect(index.lines).toEqual(machine.lines.map(({ text }) => text));
      expect(index.known?.text).toBe(machine.summary());
    },
  );
});
