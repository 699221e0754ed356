// Tests the deployment's rules in the registry: revisions, and a rollout that stops before more Nodes change than may.
import { describe, expect, it } from "vitest";
import { RULE_SET_LIMITS } from "../../../shared/protocol/rules.ts";
import { readAudit } from "../../../worker/registry/audit.ts";
import { BULK_PACE } from "../../../worker/registry/bulk.ts";
import { pin } from "../../../worker/registry/pins.ts";
import { followedRevisions, type RulesOrder, ruleSet } from "../../../worker/registry/rules.ts";
import {
  applyRules,
  continueRules,
  listRules,
  rulesTurn,
  undoRules,
} from "../../../worker/registry/rules-rollout.ts";
import { asking, withinRegistry } from "../support/registry-storage.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const objectsOf = (name: string) => JSON.stringify([{ metadata: { name }, spec: { rules: [] } }]);
const conflict = (present: number, base: number) =>
  `the rules have revision ${present} by now, not ${base}: read them before you change them`;
const nameOf = (at: number) => `m-${String(at).padStart(5, "0")}`;

/** A registry with machines whose objects follow rules. A machine changes once with each revision, if `changes` says so. */
class Fleet {
  readonly sql: SqlStorage;
  nowMs = NOW_MS;
  changes: (name: string) => boolean | Error = () => true;
  /** Runs before each order. A test replaces it. */
  meanwhile: (name: string) => void = () => undefined;
  readonly follows = new Map<string, number>();
  readonly changed: string[] = [];
  asked = 0;

  constructor(sql: SqlStorage, machines: number) {
    this.sql = sql;
    for (let at = 0; at < machines; at++) pin(sql, asking(`key of ${at}`, { name: nameOf(at) }), NOW_MS);
  }

  apply(name: string, mayChange?: number) {
    const base = listRules(this.sql).revision;
    const more = mayChange === undefined ? {} : { mayChange };
    return applyRules(this.sql, { objects: objectsOf(name), base, ...more }, "alice", NOW_MS);
  }

  turn(): Promise<number | null> {
    return rulesTurn({
      sql: this.sql,
      order: async (name, order) => {
        this.asked++;
        await Promise.resolve();
        this.meanwhile(name);
        return this.#order(name, order);
      },
      nowMs: () => this.nowMs,
      pause: (ms) => {
        this.nowMs += ms;
        return Promise.resolve();
      },
    });
  }

  #order(name: string, { revision, mayChange }: RulesOrder): boolean {
    const outcome = this.changes(name);
    if (outcome instanceof Error) throw outcome;
    const isChanged = outcome && this.follows.get(name) !== revision;
    if (isChanged && mayChange) this.changed.push(name);
    if (!isChanged || mayChange) this.follows.set(name, revision);
    return isChanged;
  }

  async toItsEnd() {
    while ((await this.turn()) !== null);
    return listRules(this.sql).rollout;
  }
}

const fleet = async (name: string, machines: number, act: (fleet: Fleet) => void | Promise<void>) => {
  await withinRegistry(`rules-${name}`, (sql) => act(new Fleet(sql, machines)));
};

describe("revisions", () => {
  it("no rules → revision 0, which machines follow, and nothing to undo", () =>
    fleet("none", 1, ({ sql }) => {
      expect(listRules(sql)).toEqual({ revision: 0, objects: "[]", rollout: null, revisions: [] });
      expect(followedRevisions(sql, "m")).toEqual([0]);
      expect(ruleSet(sql, "m", 0, "")).toMatchObject({ revision: 0, objects: "[]" });
      expect(undoRules(sql, { base: 0 }, "alice", NOW_MS)).toEqual({
        ok: false,
        error: "there are no rules",
      });
    }));

  it("a set applied from another base → a conflict, and nothing changes", () =>
    fleet("conflict", 1, (machines) => {
      machines.apply("a");
      const from = (base: number) =>
        applyRules(machines.sql, { objects: objectsOf("b"), base }, "bob", NOW_MS);
      expect(from(0)).toEqual({ ok: false, error: conflict(1, 0) });
      expect(from(2)).toMatchObject({ ok: false });
      expect(listRules(machines.sql).revisions).toMatchObject([{ revision: 1, objects: ["a"] }]);
    }));

  it("undo → an earlier set as a new revision, unless another one is present, or an undo is taken back unstated", () =>
    fleet("undo", 1, (machines) => {
      const { sql } = machines;
      for (const name of ["a", "b", "c"]) machines.apply(name);
      const refusal = "revision 4 is the result of an undo: state with `to` which revision to return to";
      for (const [undo, present] of [
        [{ base: 2 }, conflict(3, 2)],
        [{ base: 3 }, { revision: 4, objects: ["b"], backTo: 2 }],
        [{ base: 3 }, conflict(4, 3)],
        [{ base: 3, to: 1 }, conflict(4, 3)],
        [{ base: 4 }, `${refusal}, since 3 has the rules that were taken back`],
        [
          { base: 4, to: 3 },
          { revision: 5, objects: ["c"], backTo: 3 },
        ],
        [
          { base: 5, to: 1 },
          { revision: 6, objects: ["a"], backTo: 1 },
        ],
        [{ base: 6, to: 9 }, "the revision 9 is not kept: 5, 4, 3, 2, 1 are"],
      ] as const) {
        const undone = undoRules(sql, undo, "bob", NOW_MS);
        if (typeof present === "string") expect(undone).toEqual({ ok: false, error: present });
        else expect(listRules(sql).revisions[0]).toMatchObject({ ...present, createdBy: "bob" });
      }
      machines.apply("d");
      expect(undoRules(sql, { base: 7 }, "bob", NOW_MS)).toMatchObject({ ok: true });
      expect(listRules(sql).revisions).toMatchObject([
        { backTo: 6 },
        { backTo: null },
        { backTo: 1 },
        {},
        {},
        {},
        {},
        {},
      ]);
    }));

  it("the first set undone → no rules", () =>
    fleet("undo-first", 1, (machines) => {
      machines.apply("a");
      undoRules(machines.sql, { base: 1 }, "alice", NOW_MS);
      expect(listRules(machines.sql)).toMatchObject({ revision: 2, objects: "[]" });
    }));

  it(`the ${RULE_SET_LIMITS.kept} sets before the present one are kept`, () =>
    fleet("kept", 1, (machines) => {
      for (let at = 0; at < RULE_SET_LIMITS.kept + 2; at++) machines.apply("a");
      const revisions = listRules(machines.sql).revisions.map(({ revision }) => revision);
      expect([revisions.length, revisions.at(-1)]).toEqual([RULE_SET_LIMITS.kept + 1, 2]);
    }));

  it("a caller that knows the set → no objects; the same revision of another registry → the objects", () =>
    fleet("stamp", 1, (machines) => {
      machines.apply("a");
      const { stamp, objects } = ruleSet(machines.sql, "m", 1, "");
      expect(objects).toBe(objectsOf("a"));
      expect(ruleSet(machines.sql, "m", 1, stamp).objects).toBeNull();
      expect(ruleSet(machines.sql, "m", 1, "1/5/bob").objects).toBe(objectsOf("a"));
    }));
});

describe("a rollout", () => {
  it("every machine is asked once, in turns, and the audit log has the change", () =>
    fleet("all", BULK_PACE.aTurn + 1, async (machines) => {
      machines.apply("a", 1000);
      machines.changes = (name) => name < nameOf(10);
      expect(await machines.turn()).not.toBeNull();
      expect(listRules(machines.sql).rollout).toMatchObject({ state: "running", done: BULK_PACE.aTurn });
      expect(await machines.toItsEnd()).toEqual({
        state: "done",
        machines: 401,
        done: 401,
        changed: 10,
        mayChange: 401,
        failed: 0,
      });
      expect(machines.asked).toBe(401);
      const entries = readAudit(machines.sql, { by: "operators", limit: 10 });
      expect(entries).toMatchObject([{ who: "alice", what: "rules.apply", target: "1" }]);
    }));

  it.each([
    ["a tenth by default", 30, undefined, 3],
    ["a tenth of 9 machines: none", 9, undefined, 0],
    ["as many as stated", 30, 7, 7],
    ["none", 30, 0, 0],
    ["all but one", 30, 29, 29],
  ])("%s may change → the rollout stops there", (name, count, mayChange, changed) =>
    fleet(`stop-${name}`, count, async (machines) => {
      machines.apply("a", mayChange);
      expect(await machines.toItsEnd()).toMatchObject({ state: "stopped", changed });
      expect(machines.changed).toHaveLength(changed);
    }),
  );

  it("as many change as may → done", () =>
    fleet("exact", 30, async (machines) => {
      machines.changes = (name) => name >= nameOf(23);
      machines.apply("a", 7);
      expect(await machines.toItsEnd()).toMatchObject({ state: "done", done: 30, changed: 7 });
    }));

  it("stopped → continued to its end with more; a rollout that is not stopped is not continued", () =>
    fleet("continue", 30, async (machines) => {
      machines.apply("a");
      expect(continueRules(machines.sql, 30, "bob", NOW_MS)).toMatchObject({ ok: false });
      await machines.toItsEnd();
      expect(continueRules(machines.sql, 30, "bob", NOW_MS)).toEqual({ ok: true, value: null });
      expect(await machines.toItsEnd()).toMatchObject({ state: "done", done: 30, changed: 30 });
      expect(machines.changed.sort()).toEqual([...new Set(machines.changed)]);
    }));

  it("stopped → new machines follow the set before, those that changed the new one; undone → all change back", () =>
    fleet("stopped", 30, async (machines) => {
      const { sql } = machines;
      machines.apply("a", 30);
      await machines.toItsEnd();
      machines.apply("b");
      await machines.toItsEnd();
      expect(followedRevisions(sql, "m")).toEqual([1, 2]);
      expect([ruleSet(sql, "m", 0, "").revision, ruleSet(sql, "m", 2, "").revision]).toEqual([1, 2]);
      undoRules(sql, { base: 2 }, "alice", NOW_MS);
      expect(await machines.toItsEnd()).toMatchObject({ state: "done", done: 30 });
      expect([...machines.follows.values()]).toEqual(Array(30).fill(3));
    }));

  it("two rollouts stop one after the other → other machines keep the set before both", () =>
    fleet("stopped-twice", 30, async (machines) => {
      const { sql } = machines;
      machines.apply("a", 30);
      await machines.toItsEnd();
      for (const name of ["b", "c"]) {
        machines.apply(name, 1);
        expect(await machines.toItsEnd()).toMatchObject({ state: "stopped", changed: 1 });
      }
      expect(followedRevisions(sql, nameOf(20))).toEqual([1, 2, 3]);
      expect(ruleSet(sql, nameOf(20), 0, "").revision).toBe(1);
      undoRules(sql, { base: 3 }, "alice", NOW_MS);
      expect(listRules(sql)).toMatchObject({ revision: 4, objects: objectsOf("a") });
      for (let at = 0; at < RULE_SET_LIMITS.kept; at++) machines.apply("d", 0);
      expect(ruleSet(sql, nameOf(20), 1, "")).toMatchObject({ revision: 1, objects: objectsOf("a") });
    }));

  it("in the middle → machines that it has not asked follow the set before, new ones behind it the new set", () =>
    fleet("middle", BULK_PACE.aTurn + 1, async (machines) => {
      machines.apply("a", 1000);
      await machines.toItsEnd();
      machines.apply("b", 1000);
      await machines.turn();
      const followed = (name: string) => followedRevisions(machines.sql, name);
      expect([followed(nameOf(BULK_PACE.aTurn)), followed(nameOf(0))]).toEqual([[1, 2], [2]]);
      await machines.toItsEnd();
      expect(followed(nameOf(BULK_PACE.aTurn))).toEqual([2]);
    }));

  it("an object that does not answer → counted, and the others are asked", () =>
    fleet("failing", 5, async (machines) => {
      machines.changes = (name) => (name === nameOf(2) ? new Error("away") : true);
      machines.apply("a", 5);
      expect(await machines.toItsEnd()).toMatchObject({ state: "done", done: 5, changed: 4, failed: 1 });
    }));

  it("replaced in the middle → the next turn begins with the first machine and the new set", () =>
    fleet("replaced", 30, async (machines) => {
      machines.apply("a", 30);
      machines.meanwhile = (name) => {
        if (name !== nameOf(9)) return;
        machines.meanwhile = () => undefined;
        machines.apply("b", 30);
      };
      expect(await machines.toItsEnd()).toMatchObject({ state: "done", done: 30 });
      expect([...machines.follows.values()]).toEqual(Array(30).fill(2));
    }));
});
