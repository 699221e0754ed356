// Tests which machines get the version of a rollout, how they are counted, and when the rollout stops by itself.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { FleetState } from "../../../shared/fleet/state.ts";
import { ROLLOUT_LIMITS } from "../../../shared/protocol/limits.ts";
import { MachineRows } from "../../../worker/fleet/machine-rows.ts";
import { Rollouts } from "../../../worker/fleet/rollouts.ts";
import { FLEET_START_MS, machineName, summaryOf } from "../support/made-up-fleet.ts";

const wish = { version: "0.2.0", percent: 100, selector: "", mostSilentPercent: 10, atOnce: 50 };
const GIVEN = { version: "0.2.0" };

interface Fleet {
  rollouts: Rollouts;
  /** Reports this version and state to the fleet index, as the machine's node object does. */
  tell: (index: number, shim: string, state?: FleetState) => void;
  leave: (index: number) => void;
  ask: (index: number, version?: string) => unknown;
  rows: () => number;
  clock: { nowMs: number };
  audited: unknown[];
  logged: unknown[];
}

/** Calls `work` with ten machines of version 0.1.0. `tell` changes the version of a machine. */
function withFleet(object: string, work: (fleet: Fleet) => Promise<void>): Promise<void> {
  return runInDurableObject(env.INDEX.getByName(`rollouts-${object}`), async (_, { storage }) => {
    const { sql } = storage;
    const rows = new MachineRows(sql);
    const clock = { nowMs: FLEET_START_MS };
    const [audited, logged]: unknown[][] = [[], []];
    const rollouts = new Rollouts({
      sql,
      transaction: (act) => storage.transactionSync(act),
      summary: (name) => rows.summary(name),
      audit: async (record) => void audited!.push(record),
      nowMs: () => clock.nowMs,
      log: (line) => void logged!.push(line),
    });
    let version = 0;
    const tell = (index: number, shim: string, state: FleetState = "ready") => {
      const summary = summaryOf(index, { state, versions: { ...summaryOf(index).versions, shim } });
      const telling = { name: machineName(index), generation: 1, version: ++version, summary, entries: [] };
      const { change } = rows.take(telling);
      if (change) rollouts.note(change);
    };
    for (let index = 0; index < 10; index++) tell(index, "0.1.0");
    await work({
      rollouts,
      tell,
      leave: (index) => {
        const change = rows.remove(machineName(index), 1, clock.nowMs, "left");
        if (change) rollouts.note(change);
      },
      ask: (index, from = "0.1.0") => rollouts.ask(machineName(index), from),
      rows: () => sql.exec<{ count: number }>("SELECT COUNT(*) AS count FROM rollout_machines").one().count,
      clock,
      audited: audited!,
      logged: logged!,
    });
  });
}

it("no rollout → nothing is shown or offered, and there is nothing to stop or end", () =>
  withFleet("none", async ({ rollouts, ask, audited }) => {
    expect([rollouts.show(), ask(1)]).toEqual([null, { version: null, why: "no rollout" }]);
    expect([await rollouts.stop("alice"), await rollouts.end("alice"), audited]).toEqual([null, false, []]);
  }));

it("a rollout → machines get the version, and are counted by result", () =>
  withFleet("counted", async ({ rollouts, ask, tell, leave, clock, audited }) => {
    await rollouts.put(wish, "alice");
    for (const index of [1, 2, 3, 4]) expect(ask(index)).toEqual(GIVEN);
    clock.nowMs += 1000;
    tell(1, "0.2.0");
    tell(2, "0.2.0", "not-ready");
    leave(3);
    expect(rollouts.show()).toEqual({
      ...wish,
      who: "alice",
      sinceMs: FLEET_START_MS,
      stopped: null,
      machines: { underway: 1, upgraded: 2, silent: 0, accepted: 0 },
      silent: [],
    });
    expect(audited).toEqual([
      {
        who: "alice",
        what: "rollout.set",
        target: "0.2.0",
        detail: "100%, at most 10% silent, 50 at once",
      },
    ]);
  }));

it("a machine asks again → gets it again, without a row; a machine that the index does not know → no row", () =>
  withFleet("again", async ({ rollouts, ask, rows }) => {
    await rollouts.put(wish, "alice");
    expect([ask(1), ask(1), rows()]).toEqual([GIVEN, GIVEN, 1]);
    expect([ask(99), rows()]).toEqual([{ version: null, why: "not chosen" }, 1]);
  }));

describe("machines that fall silent", () => {
  it("up to the limit → continues; one more → stops by itself, states why once, and no machine gets the version", () =>
    withFleet("stops", async ({ rollouts, ask, tell, logged, clock }) => {
      await rollouts.put(wish, "alice");
      for (let index = 0; index < 10; index++) ask(index);
      tell(1, "0.2.0", "silent");
      expect([rollouts.show()?.stopped, logged]).toEqual([null, []]);
      clock.nowMs += 1000;
      tell(2, "0.1.0", "silent");
      tell(3, "0.1.0", "silent");
      const why = `2 of 10 machines that were given 0.2.0 are silent: ${machineName(1)}, ${machineName(2)}`;
      expect(rollouts.show()).toMatchObject({
        stopped: { atMs: clock.nowMs, why },
        machines: { silent: 3 },
        silent: [1, 2, 3].map(machineName),
      });
      expect(logged).toEqual([{ message: "the rollout has stopped", reason: why }]);
      expect([ask(5), ask(1)]).toEqual([
        { version: null, why: "stopped" },
        { version: null, why: "stopped" },
      ]);
    }));

  it("up to the limit, and another machine leaves → continues: only a further silence stops it", () =>
    withFleet("leaves", async ({ rollouts, ask, tell, leave }) => {
      await rollouts.put(wish, "alice");
      for (let index = 0; index < 10; index++) ask(index);
      tell(1, "0.1.0", "silent");
      leave(9);
      expect(rollouts.show()).toMatchObject({ stopped: null, machines: { silent: 1, underway: 8 } });
      tell(2, "0.1.0", "silent");
      expect(rollouts.show()).toMatchObject({ stopped: {} });
    }));

  it("without having got the version → not counted", () =>
    withFleet("others", async ({ rollouts, ask, tell }) => {
      await rollouts.put(wish, "alice");
      ask(1);
      for (const index of [2, 3, 4]) tell(index, "0.1.0", "silent");
      expect(rollouts.show()).toMatchObject({ stopped: null, machines: { silent: 0, underway: 1 } });
    }));

  it("report again → they are upgraded; the rollout stays stopped until an operator sets it again", () =>
    withFleet("back", async ({ rollouts, ask, tell }) => {
      await rollouts.put(wish, "alice");
      for (const index of [1, 2]) ask(index);
      for (const index of [1, 2]) tell(index, "0.1.0", "silent");
      for (const index of [1, 2]) tell(index, "0.2.0");
      expect(rollouts.show()).toMatchObject({ stopped: {}, machines: { silent: 0, upgraded: 2 } });
      expect(ask(3)).toEqual({ version: null, why: "stopped" });
      await rollouts.put(wish, "bob");
      expect([rollouts.show()?.stopped, ask(3)]).toEqual([null, GIVEN]);
    }));

  it("when the rollout is set again → they do not stop it; the next two do", () =>
    withFleet("accepted", async ({ rollouts, ask, tell }) => {
      await rollouts.put(wish, "alice");
      for (const index of [1, 2, 3]) ask(index);
      tell(1, "0.1.0", "silent");
      await rollouts.put(wish, "bob");
      expect(rollouts.show()).toMatchObject({ stopped: null, machines: { accepted: 1, silent: 0 } });
      tell(1, "0.1.0", "silent");
      expect(rollouts.show()?.stopped).toBeNull();
      tell(2, "0.1.0", "silent");
      expect(rollouts.show()?.stopped).toBeNull();
      tell(3, "0.1.0", "silent");
      expect(rollouts.show()).toMatchObject({ stopped: {}, machines: { accepted: 1, silent: 2 } });
    }));

  it("more than the listed number → the last ones are listed", () =>
    withFleet("names", async ({ rollouts, ask, tell }) => {
      await rollouts.put({ ...wish, mostSilentPercent: 100 }, "alice");
      const many = ROLLOUT_LIMITS.namesShown + 1;
      for (let index = 0; index < many; index++) {
        tell(index, "0.1.0");
        ask(index);
        tell(index, "0.1.0", "silent");
      }
      expect(rollouts.show()).toMatchObject({ stopped: null, machines: { silent: many } });
      expect(rollouts.show()?.silent).toHaveLength(ROLLOUT_LIMITS.namesShown);
    }));
});

describe("machines that are upgraded at once", () => {
  it("up to the limit → the next one waits until one reports with the version", () =>
    withFleet("at-once", async ({ rollouts, ask, tell }) => {
      await rollouts.put({ ...wish, atOnce: 2 }, "alice");
      expect([ask(1), ask(2), ask(3)]).toEqual([GIVEN, GIVEN, { version: null, why: "too many at once" }]);
      tell(1, "0.2.0");
      expect(ask(3)).toEqual(GIVEN);
    }));

  it.each([
    ["half an hour", 0, { version: null, why: "too many at once" }],
    ["longer", 1, GIVEN],
    ["a day, and the clock was put back a day", -86_400_000, GIVEN],
  ])("one has not reported with it for %s → …", (_, beyondMs, answer) =>
    withFleet(`underway-${beyondMs}`, async ({ rollouts, ask, clock }) => {
      await rollouts.put({ ...wish, atOnce: 1 }, "alice");
      ask(1);
      clock.nowMs += ROLLOUT_LIMITS.underwaySeconds * 1000 + beyondMs;
      expect(ask(2)).toEqual(answer);
    }),
  );
});

describe("an operator", () => {
  it("stops it → it names the operator, and stays stopped", () =>
    withFleet("stopped", async ({ rollouts, ask, audited, clock, logged }) => {
      await rollouts.put(wish, "alice");
      clock.nowMs += 1000;
      expect(await rollouts.stop("bob")).toMatchObject({
        stopped: { atMs: clock.nowMs, why: "bob stopped it" },
      });
      expect((await rollouts.stop("carol"))?.stopped?.why).toBe("bob stopped it");
      expect(logged).toHaveLength(1);
      expect(ask(1)).toEqual({ version: null, why: "stopped" });
      expect(audited).toContainEqual({ who: "bob", what: "rollout.stop", target: "0.2.0", detail: "" });
    }));

  it("ends it → it is deleted", () =>
    withFleet("ended", async ({ rollouts, ask, rows, audited }) => {
      await rollouts.put({ ...wish, selector: "site" }, "alice");
      const detail = "100% of site, at most 10% silent, 50 at once";
      expect(audited).toEqual([{ who: "alice", what: "rollout.set", target: "0.2.0", detail }]);
      ask(1);
      expect([await rollouts.end("bob"), rollouts.show(), rows()]).toEqual([true, null, 0]);
      expect(ask(1)).toEqual({ version: null, why: "no rollout" });
      expect(audited).toContainEqual({ who: "bob", what: "rollout.end", target: "0.2.0", detail: "" });
    }));

  it("widens it → machines that got the version keep it; with another version all start again", () =>
    withFleet("widened", async ({ rollouts, ask, rows, tell }) => {
      await rollouts.put({ ...wish, percent: 100 }, "alice");
      ask(1);
      tell(1, "0.2.0");
      await rollouts.put({ ...wish, percent: 50 }, "alice");
      expect([rows(), rollouts.show()?.machines.upgraded]).toEqual([1, 1]);
      await rollouts.put({ ...wish, version: "0.3.0" }, "alice");
      expect([rows(), ask(1, "0.2.0")]).toEqual([0, { version: "0.3.0" }]);
    }));
});
