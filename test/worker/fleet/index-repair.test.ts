// Tests the repair of a fleet index and its daily check: which objects they ask, which machines they remove, and
// how they continue after an eviction.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { BEING_REMOVED } from "../../../shared/fleet/unready.ts";
import { IndexRepair, REPAIR_LIMITS } from "../../../worker/fleet/index-repair.ts";
import { MachineRows } from "../../../worker/fleet/machine-rows.ts";
import { FLEET_START_MS, machineName, summaryOf, updateOf } from "../support/made-up-fleet.ts";
import { pass } from "../support/clock.ts";

let objects = 0;
beforeEach(() => void vi.spyOn(console, "log").mockReturnValue(undefined));

/** The longest duration of one task, because the other tasks of the same alarm wait. */
const DUTY_MS = 15_000;
const never = () => new Promise<never>(() => undefined);

/**
 * Calls `work` with a repair over an empty fleet index with the `indexed` machines, and a registry with the
 * `registered` machines.
 */
function withRepair<T>(
  { indexed, registered }: { indexed: number[]; registered: number[] },
  work: (world: ReturnType<typeof worldOf>) => Promise<T>,
): Promise<T> {
  const stub = env.INDEX.getByName(`repair-${objects++}`);
  return runInDurableObject(stub, (_, { storage }) =>
    work(worldOf(storage, indexed, registered.map(machineName))),
  );
}

function worldOf({ sql }: DurableObjectStorage, indexed: number[], registered: string[]) {
  const rows = new MachineRows(sql);
  for (const index of indexed) rows.take(updateOf(index, 1));
  const world = {
    nowMs: FLEET_START_MS,
    rows,
    registered,
    asked: [] as string[],
    /** The machines whose node objects do not answer, with the number of unanswered requests. */
    deaf: new Map<string, number>(),
    /** The summaries that node objects report as sent, by the machine's name. */
    told: new Map<string, ReturnType<typeof summaryOf>>(),
    /** The milliseconds that each node object takes to send its summary. */
    tellsInMs: 0,
    isRegistrySilent: false,
    areObjectsSilent: false,
    doObjectsFail: false,
    repair: undefined as unknown as IndexRepair,
    evict() {
      world.repair = new IndexRepair({
        sql,
        registry: () =>
          world.isRegistrySilent
            ? { names: never, sampleNames: never, countNames: never, known: never }
            : {
                names: (after, limit) =>
                  Promise.resolve(registered.filter((name) => name > after).slice(0, limit)),
                sampleNames: (limit) => Promise.resolve(registered.slice(0, limit)),
                countNames: () => Promise.resolve(registered.length),
                known: (names) => Promise.resolve(names.filter((name) => registered.includes(name))),
              },
        sendAll: (name) => {
          world.asked.push(name);
          world.nowMs += world.tellsInMs;
          const times = world.deaf.get(name) ?? 0;
          world.deaf.set(name, times - 1);
          if (times > 0) return Promise.resolve(false);
          rows.take({ ...updateOf(0, world.nowMs), name });
          return Promise.resolve(true);
        },
        sentSummary: (name) => {
          if (world.doObjectsFail) return Promise.reject(new Error("the object restarts"));
          return world.areObjectsSilent ? never() : Promise.resolve(world.told.get(name) ?? null);
        },
        summary: (name) => rows.summary(name),
        countMachines: () => rows.count(),
        remove: (...removed) => void rows.remove(removed[0], removed[1], world.nowMs, removed[2]),
        timer: undefined,
        nowMs: () => world.nowMs,
        pause: (ms) => Promise.resolve(void (world.nowMs += ms)),
      });
    },
    /** Runs the due tasks once. Returns the times at which the tasks are due next. */
    async turn() {
      for (const { dueMs, run } of world.repair.tasks) if ((dueMs() ?? Infinity) <= world.nowMs) await run();
      return world.repair.tasks.map(({ dueMs }) => dueMs());
    },
    lines: () => sql.exec("SELECT id FROM index_log").toArray().length,
    names: () =>
      sql
        .exec<{ name: string }>("SELECT name FROM machines ORDER BY name")
        .toArray()
        .map(({ name }) => name),
  };
  world.evict();
  return world;
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);

describe("a repair", () => {
  it("asks every machine once, in portions that an eviction does not restart", () =>
    withRepair({ indexed: [], registered: range(0, 1000) }, async (world) => {
      world.repair.begin("test");
      let portions = 0;
      while ((await world.turn())[0] !== null) {
        portions++;
        world.evict();
      }
      expect(world.asked).toEqual(world.registered);
      expect(portions).toBeGreaterThan(1);
      expect(world.nowMs - FLEET_START_MS).toBeGreaterThanOrEqual((1000 / REPAIR_LIMITS.aSecond) * 1000);
      expect(world.names()).toEqual(world.registered);
      const { repair, names, machines, log } = await world.repair.state();
      expect([names, machines, log.length]).toEqual([1000, 1000, 2]);
      expect(repair).toMatchObject({
        cause: "test",
        asked: 1000,
        failed: 0,
        removed: 0,
        endedAtMs: world.nowMs,
      });
      expect(repair).not.toHaveProperty("missed");
    }));

  it("of machines that answer slowly → each asked once, and no portion exceeds a task's duration", () =>
    withRepair({ indexed: [], registered: range(0, 120) }, async (world) => {
      world.tellsInMs = 1000;
      for (const index of [3, 40, 119]) world.deaf.set(machineName(index), 1);
      world.repair.begin("test");
      for (let isOver = false; !isOver; world.evict()) {
        const beganMs = world.nowMs;
        isOver = (await world.turn())[0] === null;
        expect(world.nowMs - beganMs).toBeLessThanOrEqual(DUTY_MS);
      }
      expect(world.asked).toEqual([...world.registered, ...[3, 40, 119].map(machineName)]);
      expect((await world.repair.state()).repair).toMatchObject({ asked: 120, failed: 0 });
    }));

  it("while the registry does not answer → fails in time, and continues once it answers", () =>
    withRepair({ indexed: [], registered: [1] }, async (world) => {
      world.repair.begin("test");
      world.isRegistrySilent = true;
      const failed = expect(world.turn()).rejects.toThrow("the registry did not answer in time");
      await pass(REPAIR_LIMITS.registryWithinMs);
      await failed;
      world.isRegistrySilent = false;
      expect((await world.turn())[0]).toBeNull();
    }));

  it("asks machines that do not answer once more, then counts them", () =>
    withRepair({ indexed: [], registered: [1, 2, 3] }, async (world) => {
      world.deaf.set(machineName(1), 1).set(machineName(2), 2);
      world.repair.begin("test");
      await world.turn();
      expect(world.asked).toEqual([1, 2, 3, 1, 2].map(machineName));
      expect((await world.repair.state()).repair).toMatchObject({ asked: 3, failed: 1 });
    }));

  it("of more machines without an answer than a page → asks each of them once more", () =>
    withRepair({ indexed: [], registered: range(0, REPAIR_LIMITS.page + 1) }, async (world) => {
      for (const name of world.registered) world.deaf.set(name, 1);
      world.repair.begin("test");
      while ((await world.turn())[0] !== null);
      expect(world.asked).toEqual([...world.registered, ...world.registered]);
      expect((await world.repair.state()).repair).toMatchObject({ failed: 0 });
    }));

  it("of more machines without an answer than it stores → the others are not asked once more, and count", () =>
    withRepair({ indexed: [], registered: range(0, REPAIR_LIMITS.missed + 1) }, async (world) => {
      for (const name of world.registered) world.deaf.set(name, 1);
      world.repair.begin("test");
      while ((await world.turn())[0] !== null);
      expect(world.asked).toHaveLength(2 * REPAIR_LIMITS.missed + 1);
      expect((await world.repair.state()).repair).toMatchObject({ failed: 1 });
    }));

  it("notes more than the log keeps → the log has the last lines, each of a limited length", () =>
    withRepair({ indexed: range(0, REPAIR_LIMITS.logLines + 5), registered: [] }, async (world) => {
      world.repair.begin("test");
      while ((await world.turn())[0] !== null);
      expect(world.lines()).toBeLessThanOrEqual(REPAIR_LIMITS.logLines);
      world.repair.begin("x".repeat(2000));
      const { log } = await world.repair.state();
      expect([log.length, log[0]?.text.length]).toEqual([REPAIR_LIMITS.shownLines, 1024]);
    }));

  it("removes machines that the registry does not know, in any position", () =>
    withRepair({ indexed: [0, 5, 60, 999], registered: range(1, 60) }, async (world) => {
      world.repair.begin("test");
      await world.turn();
      expect(world.names()).toEqual(world.registered);
      expect((await world.repair.state()).repair).toMatchObject({ removed: 3 });
    }));

  it("in progress → is not restarted; a finished one is", () =>
    withRepair({ indexed: [], registered: [1] }, async (world) => {
      for (const cause of ["first", "second"]) world.repair.begin(cause);
      expect((await world.repair.state()).repair?.cause).toBe("first");
      await world.turn();
      world.repair.begin("third");
      expect((await world.repair.state()).repair).toMatchObject({ cause: "third", endedAtMs: null });
    }));

  it.each([
    ["empty, with a registry that is not → begins by itself", [], [1], "the index was empty"],
    ["empty, as the registry → does not", [], [], undefined],
    ["not empty → does not", [1], [1, 2], undefined],
  ])("of an index that is %s", (_, indexed, registered, cause) =>
    withRepair({ indexed, registered }, async (world) => {
      await world.repair.care();
      await world.repair.care();
      const { repair, check } = await world.repair.state();
      expect(repair?.cause).toBe(cause);
      const none = { compared: 0, absent: [], differing: [], removed: [] };
      expect(check).toEqual({ atMs: FLEET_START_MS, ...none });
    }),
  );
});

describe("the daily check", () => {
  const aDayLater = async (world: ReturnType<typeof worldOf>) => {
    await world.repair.care();
    expect(await world.turn()).toEqual([null, FLEET_START_MS + REPAIR_LIMITS.checkEveryMs]);
    world.nowMs += REPAIR_LIMITS.checkEveryMs;
    await world.turn();
    return world.repair.state();
  };

  it("of a correct index → asks no object to send again, and logs nothing", () =>
    withRepair({ indexed: [1, 2], registered: [1, 2] }, async (world) => {
      world.told.set(machineName(1), summaryOf(1));
      const { check, log } = await aDayLater(world);
      expect(check).toMatchObject({ compared: 2, absent: [], differing: [], removed: [] });
      expect([world.asked, log]).toEqual([[], []]);
    }));

  it("whose cron trigger comes each minute → neither postponed nor forgotten", () =>
    withRepair({ indexed: [1, 2], registered: [1, 2] }, async (world) => {
      const { check } = await aDayLater(world);
      const due = await world.turn();
      world.nowMs += 60_000;
      await world.repair.care();
      expect([await world.turn(), (await world.repair.state()).check]).toEqual([due, check]);
    }));

  it("of many machines that answer slowly → ends in time", () =>
    withRepair({ indexed: [99], registered: range(0, 50) }, async (world) => {
      await world.repair.care();
      world.tellsInMs = 1000;
      world.nowMs += REPAIR_LIMITS.checkEveryMs;
      const beganMs = world.nowMs;
      await world.turn();
      expect(world.nowMs - beganMs).toBeLessThanOrEqual(DUTY_MS);
      const { check } = await world.repair.state();
      expect(check).toMatchObject({ absent: world.registered, removed: [machineName(99)] });
    }));

  it("of machines that do not report what they sent → asks them all at once", () =>
    withRepair({ indexed: range(0, 10), registered: range(0, 10) }, async (world) => {
      await world.repair.care();
      world.nowMs += REPAIR_LIMITS.checkEveryMs;
      world.areObjectsSilent = true;
      const turn = world.turn();
      await pass(REPAIR_LIMITS.withinMs);
      await turn;
      expect((await world.repair.state()).check).toMatchObject({ atMs: world.nowMs, differing: [] });
    }));

  it("of machines whose objects fail → none of them differs", () =>
    withRepair({ indexed: [1, 2], registered: [1, 2] }, async (world) => {
      world.doObjectsFail = true;
      expect((await aDayLater(world)).check).toMatchObject({ compared: 2, differing: [] });
    }));

  it("asks the first of the sample, for any names", () => {
    const all = range(0, REPAIR_LIMITS.asked + 2).reverse();
    return withRepair({ indexed: all, registered: all }, async (world) => {
      for (const index of all) world.told.set(machineName(index), summaryOf(index, { state: "silent" }));
      const { check } = await aDayLater(world);
      expect(check?.differing).toEqual(all.slice(0, REPAIR_LIMITS.asked).map(machineName));
    });
  });

  it.each<
    [situation: string, told: Partial<ReturnType<typeof summaryOf>> | null, deaf: number, isKept: boolean]
  >([
    ["its removal waits for the apiserver → stays", { why: `${BEING_REMOVED}: no answer` }, 0, true],
    ["its object does not answer → stays until the next check", null, 1, true],
    ["its object has no machine → removed", null, 0, false],
    ["its object has a machine that is not being removed → removed", {}, 0, false],
  ])("of a machine that the registry does not know: %s", (_, told, deaf, isKept) =>
    withRepair({ indexed: [1, 9], registered: [1] }, async (world) => {
      const name = machineName(9);
      if (told) world.told.set(name, summaryOf(9, told));
      world.deaf.set(name, deaf);
      const { check } = await aDayLater(world);
      expect(check?.removed).toEqual(isKept ? [] : [name]);
      expect(world.names().includes(name)).toBe(isKept);
    }),
  );

  it("of a wrong index → machines that differ send again, unknown ones are removed, and the log has both", () =>
    withRepair({ indexed: [1, 2, 9], registered: [1, 2, 3] }, async (world) => {
      for (const index of [2, 3]) world.told.set(machineName(index), summaryOf(index, { state: "silent" }));
      const { check, log } = await aDayLater(world);
      const found = { absent: [machineName(3)], differing: [machineName(2)], removed: [machineName(9)] };
      expect(check).toMatchObject({ compared: 3, ...found });
      expect(world.asked).toEqual([9, 3, 2].map(machineName));
      expect(world.names()).toEqual(world.registered);
      expect(log).toHaveLength(3);
    }));
});
