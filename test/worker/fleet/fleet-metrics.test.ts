// Tests the metrics of the fleet index: what each change counts, and that no series grows without a limit.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, test } from "vitest";
import type { MachineSummary } from "../../../shared/fleet/summary.ts";
import type { ListedReceiver } from "../../../shared/protocol/receiver-answers.ts";
import type { ShownRollout } from "../../../shared/protocol/fleet-answers.ts";
import { COUNTED_FOR_MS, FleetMetrics, MOST_COUNTED } from "../../../worker/fleet/fleet-metrics.ts";
import { MachineRows } from "../../../worker/fleet/machine-rows.ts";
import type { Held } from "../../../worker/fleet/shares.ts";
import { Outages } from "../../../worker/fleet/outages.ts";
import type { Measured } from "../../../worker/metrics/metrics.ts";
import {
  FLEET_START_MS,
  IN_MAINTENANCE,
  machineName,
  summaryOf,
  updateOf,
} from "../support/made-up-fleet.ts";
import { withKnownLabels } from "../support/metric-labels.ts";

let objects = 0;
interface Index {
  tell: (index: number, version: number, change?: Partial<MachineSummary>, nowMs?: number) => void;
  remove: (index: number) => void;
  measure: (isEach?: boolean) => Measured;
}

/** Calls `work` with an empty fleet index. Its clock stands still unless an update moves it. */
function inIndex<T>(
  work: (index: Index, sql: SqlStorage) => T,
  rollout: ShownRollout | null = null,
  held: Held[] = [],
): Promise<T> {
  return runInDurableObject(env.INDEX.getByName(`metrics-${objects++}`), (_, { storage }) => {
    const { sql } = storage;
    const rows = new MachineRows(sql);
    const outages = new Outages(sql);
    const metrics = new FleetMetrics(sql, {
      rows,
      outages,
      notifications: { list: () => RECEIVERS },
      rollouts: { show: () => rollout },
      heldBack: () => held,
    });
    const note = (change: ReturnType<typeof rows.remove>, nowMs = FLEET_START_MS) => {
      if (!change) return;
      metrics.noteChange(change, nowMs);
      outages.note(change);
    };
    return work(
      {
        tell: (index, version, change, nowMs) =>
          note(rows.take(updateOf(index, version, change)).change, nowMs),
        remove: (index) => note(rows.remove(machineName(index), 1, FLEET_START_MS, "left")),
        measure: (isEach = true) => withKnownLabels(metrics.measure(isEach)),
      },
      sql,
    );
  });
}

/** The receivers of notifications, with the fields that the metrics read. */
const RECEIVERS = [
  { name: "on-call", waiting: 2, dead: 1, failingSince: "2026-01-01T00:00:00.000Z" },
  { name: "chat", waiting: 0, dead: 0, failingSince: null },
] as unknown as ListedReceiver[];

const withReady = (status: string) => ({
  conditions: summaryOf(1).conditions.map((each) => (each.type === "Ready" ? { ...each, status } : each)),
});
const withCondition = (type: string, status: string) => ({
  conditions: [{ type, status, reason: "", message: "", sinceMs: 0 }],
});

/** Returns the counted transitions, for example `{ "Ready False": 1 }`. */
function counted({ rollcall_condition_transitions_total: samples = [] }: Measured): Record<string, number> {
  if (typeof samples === "string") throw new Error(samples);
  const some = samples.filter(({ value }) => value !== 0);
  return Object.fromEntries(
    some.map(({ labels, value }) => [`${labels["condition"]} ${labels["status"]}`, Number(value)]),
  );
}

describe("machines", () => {
  it("→ each has its state and since when, and the states add up to the total", () =>
    inIndex(({ tell, measure }) => {
      tell(1, 1);
      tell(2, 1, { state: "silent", sinceMs: 1_767_225_600_999 });
      tell(3, 1);
      const { rollcall_machine_state, rollcall_machine_state_since_timestamp_seconds, ...more } = measure();
      expect(rollcall_machine_state).toBe(
        `rollcall_machine_state{machine="machine-000001",state="ready"} 1
rollcall_machine_state{machine="machine-000002",state="silent"} 1
rollcall_machine_state{machine="machine-000003",state="ready"} 1
`,
      );
      expect(rollcall_machine_state_since_timestamp_seconds).toContain(
        'rollcall_machine_state_since_timestamp_seconds{machine="machine-000002"} 1767225600\n',
      );
      expect(more.rollcall_machines).toEqual(
        [
          ["ready", 2],
          ["not-ready", 0],
          ["silent", 1],
          ["cluster-unreachable", 0],
          ["blocked", 0],
          ["revoked", 0],
          ["maintenance", 0],
        ].map(([state, value]) => ({ labels: { state }, value })),
      );
      expect(measure(false)).toEqual(more);
      expect(more.rollcall_index_changes_total).toEqual([{ labels: {}, value: 3 }]);
    }));

  it("in maintenance → this is its only state, without a time, and its conditions' changes do not count", () =>
    inIndex(({ tell, measure }) => {
      tell(1, 1, { state: "ready", conditions: [IN_MAINTENANCE, ...withReady("True").conditions] });
      tell(1, 2, { state: "silent", conditions: [IN_MAINTENANCE, ...withReady("Unknown").conditions] });
      const { rollcall_machine_state, rollcall_machine_state_since_timestamp_seconds, ...more } = measure();
      expect([rollcall_machine_state, rollcall_machine_state_since_timestamp_seconds]).toEqual([
        'rollcall_machine_state{machine="machine-000001",state="maintenance"} 1\n',
        "",
      ]);
      expect(more.rollcall_machines).toContainEqual({ labels: { state: "maintenance" }, value: 1 });
      expect(more.rollcall_machines).toContainEqual({ labels: { state: "silent" }, value: 0 });
      expect(counted(measure())).toEqual({});
    }));

  it("in an outage → those that are still silent; a single silent machine has no line", () =>
    inIndex(({ tell, measure }) => {
      const silent = (address: string, sinceMs = FLEET_START_MS): Partial<MachineSummary> => {
        return { state: "silent", sinceMs, silentSinceMs: sinceMs, address };
      };
      const networks = () => measure().rollcall_outage_machines;
      for (const index of [1, 2, 3]) tell(index, 1, silent("203.0.113.1"));
      tell(4, 1, silent("203.0.113.2"));
      tell(5, 1, silent("203.0.113.1", FLEET_START_MS + 3_600_000));
      expect(networks()).toEqual([{ labels: { network: "203.0.113.1" }, value: 3 }]);
      tell(1, 2, { address: "203.0.113.1" });
      expect(networks()).toEqual([{ labels: { network: "203.0.113.1" }, value: 2 }]);
      for (const index of [2, 3]) tell(index, 2, { address: "203.0.113.1" });
      expect(networks()).toEqual([]);
    }));

  it("that a feature rule matches → their number, by rule", () =>
    inIndex(({ tell, measure }) => {
      for (const index of [1, 2]) tell(index, 1, { rules: ["gpu/any"] });
      expect(measure().rollcall_rule_matches).toEqual([{ labels: { rule: "gpu/any" }, value: 2 }]);
    }));

  it("with a clock that is ahead, right again, or of a removed machine → a line only while the clock is ahead", () =>
    inIndex(({ tell, remove, measure }) => {
      const skews = () => measure().rollcall_clock_skew_seconds;
      tell(1, 1, { skewMs: 90_000 });
      tell(2, 1, { skewMs: -120_000 });
      expect(skews()).toEqual([
        { labels: { machine: machineName(1) }, value: 90 },
        { labels: { machine: machineName(2) }, value: -120 },
      ]);
      tell(1, 2);
      tell(2, 2, { skewMs: 70_000 });
      expect(skews()).toEqual([{ labels: { machine: machineName(2) }, value: 70 }]);
      remove(2);
      expect(skews()).toEqual([]);
    }));
});

it("receivers → waiting and dead deliveries, and whether deliveries arrive", () =>
  inIndex(({ measure }) => {
    const { rollcall_notifications, rollcall_receiver_failing } = measure();
    expect(rollcall_notifications).toEqual([
      { labels: { receiver: "on-call", state: "waiting" }, value: 2 },
      { labels: { receiver: "on-call", state: "dead" }, value: 1 },
      { labels: { receiver: "chat", state: "waiting" }, value: 0 },
      { labels: { receiver: "chat", state: "dead" }, value: 0 },
    ]);
    expect(rollcall_receiver_failing).toEqual([
      { labels: { receiver: "on-call" }, value: 1 },
      { labels: { receiver: "chat" }, value: 0 },
    ]);
  }));

describe("a transition of a condition", () => {
  test.each<[situation: string, tellings: Partial<MachineSummary>[], expected: Record<string, number>]>([
    ["a machine that is new → none", [{}], {}],
    ["nothing has changed → none", [{}, { why: "x" }], {}],
    ["Ready, not, and Ready again", [{}, withReady("False"), {}], { "Ready False": 1, "Ready True": 1 }],
    ["a condition that is new → none", [withCondition("A", "True"), {}], {}],
    [
      "a condition of its own",
      [withCondition("A", "True"), withCondition("A", "Unknown")],
      { "A Unknown": 1 },
    ],
  ])("%s", (_, tellings, expected) =>
    inIndex(({ tell, measure }) => {
      for (const [index, change] of tellings.entries()) tell(1, index + 1, change);
      expect(counted(measure())).toEqual(expected);
    }),
  );

  it("of a machine that was removed and enrolled again → not counted", () =>
    inIndex(({ tell, remove, measure }) => {
      tell(1, 1);
      remove(1);
      tell(1, 2, withReady("False"));
      expect(counted(measure())).toEqual({});
    }));

  it("of more conditions than the limit → the rest is counted in one series", () =>
    inIndex(({ tell, measure }, sql) => {
      const room = MOST_COUNTED - sql.exec("SELECT * FROM condition_transitions").toArray().length;
      for (let index = 0; index < room + 3; index++) {
        tell(1, 2 * index + 1, withCondition(`C${index}`, "False"));
        tell(1, 2 * index + 2, withCondition(`C${index}`, "True"));
      }
      tell(1, 9_999, withCondition(`C${room + 2}`, "False"));
      tell(1, 10_000, withReady("True"));
      tell(1, 10_001, withReady("False"));
      const all = counted(measure());
      expect(all["other "]).toBe(4);
      expect(all["Ready False"]).toBe(1);
      expect(Object.keys(all)).toHaveLength(room + 2);
    }));

  it("at the limit, a condition unseen for a day → its place is free for a new one; no other place is", () =>
    inIndex(({ tell, measure }, sql) => {
      const rows = () => sql.exec("SELECT * FROM condition_transitions").toArray().length;
      let version = 0;
      /** Sets a new condition of this type to True. */
      const turns = (type: string, afterMs: number) => {
        tell(1, ++version, { conditions: [] });
        for (const status of ["False", "True"])
          tell(1, ++version, withCondition(type, status), FLEET_START_MS + afterMs);
      };
      turns("Early", 0);
      turns("Again", 1);
      turns("Late", 2);
      for (let index = 0; rows() < MOST_COUNTED; index++) turns(`C${index}`, 2);
      turns("Again", COUNTED_FOR_MS);
      turns("New", COUNTED_FOR_MS);
      expect(counted(measure())).toMatchObject({ "Early True": 1, "Again True": 2, "other ": 1 });
      turns("New", COUNTED_FOR_MS + 1);
      turns("Newer", COUNTED_FOR_MS + 1);
      const all = counted(measure());
      expect(all).toMatchObject({ "New True": 1, "Again True": 2, "Late True": 1, "other ": 2 });
      expect(all).not.toHaveProperty(["Early True"]);
      turns("Newer", 2 * COUNTED_FOR_MS + 9);
      turns("Newest", 9 * COUNTED_FOR_MS);
      expect(counted(measure())).toMatchObject({ "Newer True": 1, "Newest True": 1, "other ": 2 });
      expect(rows()).toBe(MOST_COUNTED + 1);
      const builtIn = measure().rollcall_condition_transitions_total;
      expect(builtIn).toContainEqual(
        expect.objectContaining({ labels: { condition: "Ready", status: "Unknown" }, value: 0 }),
      );
    }));

  it("of conditions that every Node has → present from the start, with the start of the count", () =>
    inIndex(({ measure }) => {
      const samples = measure().rollcall_condition_transitions_total;
      expect(samples).toHaveLength(12);
      expect(samples).toContainEqual({
        labels: { condition: "Ready", status: "Unknown" },
        value: 0,
        sinceMs: expect.any(Number),
      });
    }));
});

const ROLLOUT = {
  version: "0.2.0",
  stopped: null,
  machines: { underway: 1, upgraded: 2, silent: 0, accepted: 0 },
} as unknown as ShownRollout;

it("a reached limit → its name and the join token", () =>
  inIndex(
    ({ measure }) =>
      expect(measure()).toMatchObject({
        rollcall_limit_reached: [{ labels: { limit: "new Nodes", subject: "tok-1" }, value: 1 }],
      }),
    null,
    [{ what: "new Nodes", who: "tok-1", sinceMs: FLEET_START_MS }],
  ));

it("a rollout → whether it has stopped, and its machines by result", () =>
  inIndex(({ measure }) => {
    const { rollcall_rollout_stopped: stopped, rollcall_rollout_machines: machines } = measure();
    expect(stopped).toEqual([{ labels: { version: "0.2.0" }, value: 0 }]);
    expect(machines).toContainEqual({ labels: { version: "0.2.0", standing: "upgraded" }, value: 2 });
    expect(machines).toHaveLength(4);
  }, ROLLOUT));
