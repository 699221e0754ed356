// Tests actions on many machines: only listed machines are affected, each once, through changes and evictions, and
// at a rate that an apiserver can bear.
import { describe, expect, it } from "vitest";
import type { BulkAction } from "../../../shared/protocol/administration-api.ts";
import { BULK_LIMITS } from "../../../shared/protocol/limits.ts";
import type { MachineStatus } from "../../../worker/fleet/machine-search.ts";
import { readAudit } from "../../../worker/registry/audit.ts";
import {
  BULK_KEPT_MS,
  BULK_PACE,
  type BulkToPlan,
  bulkTurn,
  listBulks,
  type MachineOrder,
  type OrderedObject,
  orderMachine,
  planBulk,
  showBulk,
  startPlanned,
  startRemovals,
  stopBulk,
} from "../../../worker/registry/bulk.ts";
import { pin, unpin } from "../../../worker/registry/pins.ts";
import { asking, withinRegistry } from "../support/registry-storage.ts";
import { outlasting } from "../support/clock.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const names = (count: number) => Array.from({ length: count }, (_, at) => `m-${String(at).padStart(5, "0")}`);
const status = (name: string, phase: MachineStatus["phase"] = "registered"): MachineStatus => ({
  name,
  state: "ready",
  phase,
});
const enrol = (sql: SqlStorage, name: string) => pin(sql, asking(`key of ${name}`, { name }), NOW_MS);
const planOf = (action: BulkAction, machines: readonly MachineStatus[]): BulkToPlan => ({
  action,
  request: `${action} of these`,
  who: "alice",
  machines,
});

/** A registry with machines, whose node objects record the orders that they get. */
class Fleet {
  nowMs = NOW_MS;
  readonly sql: SqlStorage;
  readonly ordered: (MachineOrder & { name: string; atMs: number })[] = [];
  answers: (name: string) => string | null | Error = () => null;
  /** Runs before each order is answered. A test replaces it. */
  meanwhile: (name: string) => void | Promise<void> = () => undefined;
  underWay = 0;
  most = 0;

  constructor(sql: SqlStorage, machines: readonly string[]) {
    this.sql = sql;
    for (const name of machines) enrol(sql, name);
  }

  plan(action: BulkAction, machines: readonly MachineStatus[]) {
    return planBulk(this.sql, planOf(action, machines), "a confirmation", this.nowMs);
  }

  start(action: BulkAction, confirmation = "a confirmation", more: object = {}) {
    const confirmed = { request: `${action} of these`, who: "alice", ...more };
    return startPlanned(this.sql, { ...confirmed, confirmation }, this.nowMs);
  }

  turn(): Promise<number | null> {
    return bulkTurn({
      sql: this.sql,
      atomically: (act) => act(),
      order: async (name, order) => {
        const atMs = this.nowMs;
        this.most = Math.max(this.most, ++this.underWay);
        await this.meanwhile(name);
        this.ordered.push({ name, ...order, atMs });
        this.underWay--;
        const answer = this.answers(name);
        if (answer instanceof Error) throw answer;
        return answer;
      },
      nowMs: () => this.nowMs,
      pause: async (ms) => {
        this.nowMs += ms;
        await Promise.resolve();
      },
    });
  }

  /** Runs turns until no work is left. Fails after many turns. */
  async finish(): Promise<void> {
    for (let turns = 0; turns < 1000; turns++) {
      const next = await this.turn();
      if (next === null) return;
      this.nowMs = Math.max(this.nowMs, next);
    }
    throw new Error("it does not end");
  }

  get touched(): string[] {
    return this.ordered.map(({ name }) => name);
  }

  audited(what: string): string[] {
    const entries = readAudit(this.sql, { by: "operators", limit: 1000 });
    return entries
      .filter((entry) => entry.what === what)
      .map(({ target, who, detail }) => `${who} ${target} ${detail}`);
  }
}

let registries = 0;
const inFleet = <T>(machines: readonly string[], act: (fleet: Fleet) => T | Promise<T>): Promise<T> =>
  withinRegistry(`bulk-${registries++}`, (sql) => act(new Fleet(sql, machines))) as Promise<T>;

describe("a dry run", () => {
  it.each<[BulkAction, MachineStatus["phase"], boolean, RegExp, number]>([
    ["register", "registered", false, /^its next report registers/, 1],
    ["register", "registered", true, /^none: its keys are refused/, 0],
    ["revoke", "registered", false, /^its keys are refused for ever; its Node stays/, 1],
    ["revoke", "registered", true, /^none: /, 0],
    ["forget", "registered", false, /^its Node and lease are removed/, 1],
    ["forget", "registered", true, /^its Node and lease are removed/, 1],
    ["believe", "cloned", false, /^one machine alone/, 1],
    ["believe", "two shims", false, /^one machine alone/, 1],
    ["believe", "registered", false, /^none: it is neither/, 0],
    ["believe", null, false, /^none: it is neither/, 0],
  ])("%s of a machine that is %s, revoked: %s → %s", (action, phase, isRevoked, effect, total) =>
    inFleet(["m"], ({ sql, ...fleet }) => {
      if (isRevoked) unpin(sql, "m", "machine.revoke", NOW_MS);
      const plan = planBulk(sql, planOf(action, [status("m", phase)]), "c", fleet.nowMs);
      expect(plan).toMatchObject({ total, unknown: [], confirmation: total === 0 ? null : "c" });
      expect(plan.matches).toEqual([{ name: "m", state: "ready", effect: expect.stringMatching(effect) }]);
    }),
  );

  it("→ changes nothing, and lists the names that no machine has", () =>
    inFleet(["m"], async (fleet) => {
      expect(fleet.plan("forget", [status("m"), status("nobody")])).toMatchObject({
        total: 1,
        unknown: ["nobody"],
        expiresAt: "2026-01-01T00:10:00.000Z",
      });
      expect(await fleet.turn()).toBeNull();
      expect([fleet.ordered, listBulks(fleet.sql, 10)]).toEqual([[], []]);
    }));
});

describe("a confirmation", () => {
  const tenMinutes = BULK_LIMITS.confirmationSeconds * 1000;
  it.each<[string, (fleet: Fleet) => ReturnType<Fleet["start"]>, boolean]>([
    ["of this dry run", (fleet) => fleet.start("revoke"), true],
    ["just in time", (fleet) => ((fleet.nowMs += tenMinutes - 1), fleet.start("revoke")), true],
    ["after ten minutes", (fleet) => ((fleet.nowMs += tenMinutes), fleet.start("revoke")), false],
    ["of another request", (fleet) => fleet.start("forget"), false],
    ["of another operator", (fleet) => fleet.start("revoke", "a confirmation", { who: "bob" }), false],
    ["that is none", (fleet) => fleet.start("revoke", ""), false],
    ["that was used", (fleet) => (fleet.start("revoke"), fleet.start("revoke")), false],
  ])("%s → begins: %s", (_, confirm, begins) =>
    inFleet(["m"], (fleet) => {
      fleet.plan("revoke", [status("m")]);
      expect(confirm(fleet).ok).toBe(begins);
    }),
  );

  it("with the largest number of actions in progress → waits", () =>
    inFleet(["m"], (fleet) => {
      const one = () => {
        fleet.plan("register", [status("m")]);
        return fleet.start("register").ok;
      };
      for (let count = 0; count < BULK_LIMITS.underWay; count++) expect(one()).toBe(true);
      expect(one()).toBe(false);
    }));
});

describe("what is executed", () => {
  it("→ exactly the listed machines, with a line in the audit log for each and one for the whole", () =>
    inFleet(["a", "b", "c"], async (fleet) => {
      fleet.plan("revoke", [status("a"), status("b")]);
      expect(fleet.start("revoke")).toMatchObject({
        ok: true,
        value: { id: "1", state: "running", total: 2, done: 0, remaining: 2, createdBy: "alice" },
      });
      await fleet.finish();
      expect(fleet.touched).toEqual(["a", "b"]);
      expect(showBulk(fleet.sql, 1, { after: "", limit: 10 })).toMatchObject({
        state: "done",
        done: 2,
        failed: 0,
        remaining: 0,
        failures: [],
      });
      expect(fleet.audited("machine.revoke").sort()).toEqual(["alice a bulk 1", "alice b bulk 1"]);
      expect(fleet.audited("bulk.start")).toEqual(["alice 1 revoke, machines: 2"]);
    }));

  /** The changes of a machine between the dry run of an action and the machine's turn in it. */
  const CHANGES: Record<string, (sql: SqlStorage, name: string) => void> = {
    nothing: () => undefined,
    "enrols anew": enrol,
    "is forgotten": (sql, name) => void unpin(sql, name, "machine.forget", NOW_MS),
    "is forgotten, and enrols anew": (sql, name) => {
      unpin(sql, name, "machine.forget", NOW_MS);
      enrol(sql, name);
    },
    "is revoked": (sql, name) => void unpin(sql, name, "machine.revoke", NOW_MS),
  };
  const changes = Object.keys(CHANGES);
  const STILL: Record<BulkAction, readonly string[]> = {
    register: ["nothing"],
    revoke: ["nothing"],
    believe: ["nothing"],
    forget: ["nothing", "is revoked"],
  };

  it.each(["register", "revoke", "forget", "believe"] as const)(
    "%s: whatever changes before or while it runs, nobody is touched who was not listed",
    async (action) => {
      for (let seed = 0; seed < 8; seed++) {
        const all = names(40);
        await inFleet(all, async (fleet) => {
          const { sql } = fleet;
          const changeOf = (name: string) => changes[(Number(name.slice(2)) * 7 + seed) % changes.length]!;
          const isListed = (name: string) => Number(name.slice(2)) % 4 !== seed % 4;
          const isLate = (name: string) => Number(name.slice(2)) % 3 === 0;
          const listed = all.filter(isListed);
          fleet.plan(
            action,
            listed.map((name) => status(name, "cloned")),
          );
          for (const name of all) if (!isLate(name)) CHANGES[changeOf(name)]!(sql, name);
          enrol(sql, "a-newcomer");
          expect(fleet.start(action).ok).toBe(true);
          let isFirst = true;
          fleet.meanwhile = () => {
            if (!isFirst) return;
            isFirst = false;
            const begun = new Set(
              sql
                .exec<{ name: string }>("SELECT name FROM bulk_machines WHERE unpinned IS NOT NULL")
                .toArray()
                .map(({ name }) => name),
            );
            for (const name of all) if (isLate(name) && !begun.has(name)) CHANGES[changeOf(name)]!(sql, name);
          };
          await fleet.finish();
          const touched = new Set(fleet.touched);
          for (const name of touched) expect(isListed(name)).toBe(true);
          for (const name of listed) {
            const isExpected = STILL[action].includes(changeOf(name));
            // A machine that changed late is not checked, because its turn may have been before or after the
            // change.
            if (!isLate(name)) expect([name, touched.has(name)]).toEqual([name, isExpected]);
          }
          expect(fleet.touched).toHaveLength(touched.size);
          const { failed, done } = listBulks(sql, 1)[0]!;
          expect([done, failed]).toEqual([touched.size, listed.length - touched.size]);
        });
      }
    },
  );

  it("an eviction between the registry's and the object's part → done once, also if the machine enrolled again", () =>
    inFleet(["m"], async (fleet) => {
      fleet.plan("forget", [status("m")]);
      fleet.start("forget");
      fleet.answers = () => new Error("evicted");
      const againMs = await fleet.turn();
      expect(againMs).toBe(fleet.nowMs + BULK_PACE.againMs);
      enrol(fleet.sql, "m");
      fleet.answers = () => null;
      await fleet.finish();
      const [first, second] = fleet.ordered;
      // The repeated order has the content of the first. The new pin is above the generation below which the node
      // object counts pins as outdated.
      expect(second).toEqual({ ...first, atMs: second?.atMs });
      const query = "SELECT generation FROM pins WHERE name = 'm'";
      expect(fleet.sql.exec<{ generation: number }>(query).one().generation).toBeGreaterThan(
        second!.unpinned,
      );
      expect(fleet.audited("machine.forget")).toHaveLength(1);
    }));

  it("an object that does not answer → asked three times, ten seconds apart, then reported", () =>
    inFleet(["a", "b"], async (fleet) => {
      fleet.plan("register", [status("a"), status("b")]);
      fleet.start("register");
      fleet.answers = (name) => (name === "a" ? new Error("overloaded") : null);
      await fleet.finish();
      expect(fleet.touched).toEqual(["a", "b", "a", "a"]);
      expect(showBulk(fleet.sql, 1, { after: "", limit: 10 })).toMatchObject({
        state: "done",
        done: 1,
        failed: 1,
        failures: [{ name: "a", reason: "its object does not answer: Error: overloaded" }],
      });
      expect(showBulk(fleet.sql, 1, { after: "a", limit: 10 })?.failures).toEqual([]);
    }));

  it("stopped by an operator → machines in progress end, no other begins", () =>
    inFleet(names(100), async (fleet) => {
      fleet.plan(
        "register",
        names(100).map((name) => status(name)),
      );
      fleet.start("register");
      fleet.meanwhile = (name) => void (name === names(100)[9] && stopBulk(fleet.sql, 1, "bob", fleet.nowMs));
      await fleet.finish();
      const { state, done, remaining } = listBulks(fleet.sql, 1)[0]!;
      expect(state).toBe("stopped");
      expect(fleet.ordered.length).toBe(done);
      expect(done).toBeLessThan(20);
      expect(remaining).toBe(100 - done);
      expect(fleet.audited("bulk.stop")).toHaveLength(1);
      expect(stopBulk(fleet.sql, 1, "bob", fleet.nowMs).ok).toBe(true);
      expect(stopBulk(fleet.sql, 2, "bob", fleet.nowMs).ok).toBe(false);
    }));

  it("of 1,000 machines → at most 50 a second, six at once, 400 in a turn", () =>
    inFleet(names(1000), async (fleet) => {
      fleet.plan(
        "register",
        names(1000).map((name) => status(name)),
      );
      fleet.start("register");
      fleet.meanwhile = async () => {
        for (let turns = 0; turns < 20; turns++) await Promise.resolve();
      };
      await fleet.turn();
      expect(fleet.ordered).toHaveLength(BULK_PACE.aTurn);
      await fleet.finish();
      expect(fleet.ordered).toHaveLength(1000);
      expect(fleet.most).toBeLessThanOrEqual(BULK_PACE.atOnce);
      const perSecond = new Map<number, number>();
      for (const { atMs } of fleet.ordered) {
        const second = Math.floor(atMs / 1000);
        perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
      }
      expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(BULK_PACE.aSecond + 1);
    }));

  it("actions run one after the other, and are deleted after a month", () =>
    inFleet(["a", "b"], async (fleet) => {
      for (const name of ["a", "b"]) {
        fleet.plan("register", [status(name)]);
        fleet.start("register");
      }
      await fleet.turn();
      expect(fleet.touched).toEqual(["a"]);
      await fleet.finish();
      expect(listBulks(fleet.sql, 10).map(({ id }) => id)).toEqual(["2", "1"]);
      fleet.nowMs += BULK_KEPT_MS + 1;
      fleet.plan("register", [status("a")]);
      fleet.start("register");
      expect(listBulks(fleet.sql, 10).map(({ id }) => id)).toEqual(["3"]);
    }));
});

describe("the removal of silent Nodes", () => {
  it("→ only machines with a name and a valid key, and one such action at a time", () =>
    inFleet(["a", "b"], async (fleet) => {
      unpin(fleet.sql, "b", "machine.revoke", NOW_MS);
      expect(startRemovals(fleet.sql, ["nobody"], NOW_MS)).toBeNull();
      expect(startRemovals(fleet.sql, ["a", "b", "nobody"], NOW_MS)).toMatchObject({
        total: 1,
        createdBy: "rollcall",
      });
      expect(startRemovals(fleet.sql, ["a"], NOW_MS)).toBeNull();
      await fleet.finish();
      expect(fleet.ordered).toMatchObject([{ name: "a", act: "remove-node" }]);
      expect(fleet.audited("node.remove")).toEqual(["rollcall a bulk 1"]);
      expect(startRemovals(fleet.sql, ["a"], NOW_MS)).not.toBeNull();
    }));
});

describe("a machine's object gets an order to", () => {
  const never = () => new Promise<null>(() => undefined);
  const fails = () => Promise.reject(new Error("the machine is forgotten"));
  const does = async () => null;
  it.each<[string, MachineOrder["act"], OrderedObject["act"], () => Promise<unknown>, string | null]>([
    ["register → does, and is not forgotten", "register", does, fails, null],
    ["register, and cannot → says why", "register", async () => "it is revoked", fails, "it is revoked"],
    ["register, and never answers → is asked again", "register", never, fails, "no answer in time"],
    ["forget → does, and ends with an error", "forget", does, fails, null],
    ["forget, and never ends → has done it all the same", "forget", does, never, null],
  ])("%s", async (_, act, acts, forget, expected) => {
    const order = orderMachine(
      { act: acts, forget },
      "m",
      { act, generation: 1, unpinned: 1 },
      undefined,
      10,
    );
    expect(await outlasting(order.catch(({ message }: Error) => message))).toBe(expected);
  });
});
