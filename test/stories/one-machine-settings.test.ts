// Tests with random states of one machine, and with all settings, that the machine alone raises, holds or hides no
// fleet-wide alert, ends no outage, stops no rollout, and suspends no gateway.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Lease } from "../../shared/kubernetes/types.ts";
import { FLEET_STATES, type FleetState } from "../../shared/fleet/state.ts";
import type { NewRollout } from "../../shared/protocol/administration-api.ts";
import { ROLLOUT_LIMITS as LIMITS } from "../../shared/protocol/limits.ts";
import { ALERT_STATES } from "../../shared/protocol/receiver-api.ts";
import { MachineRows } from "../../worker/fleet/machine-rows.ts";
import { Rollouts } from "../../worker/fleet/rollouts.ts";
import { GatewayCounters } from "../../worker/gateway/counters.ts";
import { holdLoan, type LeasePut, type PutLease } from "../../worker/gateway/lease.ts";
import { PUTS_AT_ONCE, type Renewed, Renewals } from "../../worker/gateway/renewals.ts";
import { FLEET_START_MS, machineName, summaryOf, updateOf } from "../worker/support/made-up-fleet.ts";
import { loanOf } from "../worker/support/made-up-gateway.ts";
import { alertsOf, type NotifiedFleet, withFleet } from "../worker/support/notified-fleet.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** All machines report from one address, since a hostile machine may stand in the others' network. */
const NETWORK = { address: "203.0.113.7" };

/** A receiver for each pair of values of two settings, and one for each single state. */
const RECEIVERS = [
  { outagesOnly: false, delaySeconds: 0, repeatMinutes: 0, states: [...ALERT_STATES] },
  { outagesOnly: false, delaySeconds: 120, repeatMinutes: 5, states: [...ALERT_STATES] },
  { outagesOnly: true, delaySeconds: 0, repeatMinutes: 5, states: [...ALERT_STATES] },
  { outagesOnly: true, delaySeconds: 120, repeatMinutes: 0, states: [...ALERT_STATES] },
  ...ALERT_STATES.map((state, index) => ({
    outagesOnly: index % 2 === 1,
    delaySeconds: 0,
    repeatMinutes: 0,
    states: [state],
  })),
];

interface Step {
  to: FleetState | "gone";
  /** The time until the next step. */
  forMs: number;
}
const steps = fc.array(
  fc.record<Step>({
    to: fc.constantFrom(...FLEET_STATES, "gone" as const),
    forMs: fc.constantFrom(0, 4 * SECOND, 30 * SECOND, 59 * SECOND, 2 * MINUTE, 6 * MINUTE),
  }),
  { maxLength: 6 },
);

async function play({ goes, pass }: NotifiedFleet, happenings: readonly Step[]): Promise<void> {
  for (const { to, forMs } of happenings) {
    goes(0, to, NETWORK);
    await pass(forMs);
  }
}

/** Runs `work` with a fleet of `machines` machines, all of them well, and with all receivers. */
const withReceivers = <T>(machines: number, work: (fleet: NotifiedFleet) => Promise<T>) =>
  withFleet(async (fleet) => {
    for (const [index, settings] of RECEIVERS.entries()) await fleet.add({ name: `r${index}`, ...settings });
    for (let index = 0; index < machines; index++) fleet.goes(index, "ready", NETWORK);
    return work(fleet);
  });

const openKeys = ({ sql }: NotifiedFleet) =>
  [...sql.exec<{ key: string }>("SELECT key FROM alerts")].map(({ key }) => key);

/** Returns each receiver's first firing alert about the fleet: the alert's kind and time. */
function fleetWide({ deliveries }: NotifiedFleet): Map<string, { kind: string; atMs: number }> {
  const found = new Map<string, { kind: string; atMs: number }>();
  for (const delivery of deliveries) {
    const alert = alertsOf(delivery).find(({ kind, status }) => kind !== "machine" && status === "firing");
    const { receiver, atMs } = delivery;
    if (alert && !found.has(receiver)) found.set(receiver, { kind: alert.kind, atMs });
  }
  return found;
}

describe("one machine in any state, while all others are well", () => {
  it.each([
    [1, 4],
    [2, 4],
    [10, 4],
    [30, 2],
  ])("of %i → no alert about the fleet, and no outage, with any settings", (machines, numRuns) =>
    fc.assert(
      fc.asyncProperty(steps, (happenings) =>
        withReceivers(machines, async (fleet) => {
          await play(fleet, happenings);
          await fleet.pass(10 * MINUTE);
          expect([...fleetWide(fleet)]).toEqual([]);
          expect(openKeys(fleet).filter((key) => !key.startsWith("machine "))).toEqual([]);
          expect(fleet.outages.list({ limit: 10 }).outages).toEqual([]);
        }),
      ),
      { numRuns },
    ),
  );
});

/** A failure of all other machines. `spreadMs`: the time from the first machine's failure to the last one's. */
interface Failure {
  machines: number;
  kind: "cluster" | "outage";
  spreadMs: number;
}

/** Plays the failure, with one machine's steps before, during and after it. Returns the alerts about the fleet. */
const failed = (
  { machines, kind, spreadMs }: Failure,
  [before, during, after]: readonly [Step[], Step[], Step[]],
) =>
  withReceivers(machines, async (fleet) => {
    await play(fleet, before);
    const others = Array.from({ length: machines - 1 }, (_, index) => index + 1);
    if (kind === "cluster") fleet.probeFinds("the apiserver does not answer");
    const beganMs = fleet.now();
    for (const [at, index] of others.entries()) {
      await fleet.pass(Math.floor((at * spreadMs) / Math.max(1, others.length - 1)) + beganMs - fleet.now());
      fleet.goes(index, kind === "cluster" ? "cluster-unreachable" : "silent", NETWORK);
    }
    await play(fleet, during);
    await fleet.pass(6 * MINUTE);
    const alerts = fleetWide(fleet);
    fleet.probeFinds(null);
    for (const index of others) fleet.goes(index, "ready", NETWORK);
    await play(fleet, after);
    await fleet.pass(6 * MINUTE);
    return { alerts, open: openKeys(fleet).filter((key) => !key.startsWith("machine ")) };
  });

/** The machine falls silent so early that no other machine's silence is within a minute of its silence. */
const SILENT_BEFORE: Step[] = [{ to: "silent", forMs: 30 * SECOND }];
const BACK: Step[] = [{ to: "ready", forMs: 0 }];
/** The machine fails with the others and stays so, and must not hold their alert open. */
const stays = (kind: Failure["kind"]): Step[] => [
  { to: kind === "cluster" ? "cluster-unreachable" : "silent", forMs: 0 },
];

describe("a failure of all other machines, whatever one machine does before, during and after", () => {
  it.each<[machines: number, kind: Failure["kind"], numRuns: number]>([
    [2, "cluster", 3],
    [3, "cluster", 3],
    [10, "cluster", 3],
    [30, "cluster", 2],
    [3, "outage", 6],
    [10, "outage", 3],
    [30, "outage", 2],
  ])(
    "of %i, %s → each receiver is notified as without that machine, and no alert stays open",
    (machines, kind, numRuns) => {
      const undisturbed = new Map<number, ReturnType<typeof failed>>();
      return fc.assert(
        fc.asyncProperty(
          fc.tuple(steps, steps, steps),
          fc.constantFrom(0, 59 * SECOND),
          async (happenings, spreadMs) => {
            const failure = { machines, kind, spreadMs };
            const expecting = undisturbed.get(spreadMs) ?? failed(failure, [[], [], []]);
            undisturbed.set(spreadMs, expecting);
            const expected = await expecting;
            const { alerts, open } = await failed(failure, happenings);
            expect(open).toEqual([]);
            expect([...expected.alerts.keys()].filter((name) => alerts.get(name)?.kind !== kind)).toEqual([]);
          },
        ),
        {
          numRuns,
          examples: [
            [[SILENT_BEFORE, BACK, []], 59 * SECOND],
            [[[], stays(kind), []], 0],
          ],
        },
      );
    },
  );
});

let objects = 0;

/** Runs `work` with a rollout in which all machines but the last one have been upgraded. */
const withRollout = (
  machines: number,
  wish: Omit<NewRollout, "version">,
  work: (fleet: RolloutFleet) => void,
) =>
  runInDurableObject(env.INDEX.getByName(`one-rollout-${objects++}`), async (_, { storage }) => {
    const rows = new MachineRows(storage.sql);
    const clock = { nowMs: FLEET_START_MS };
    const rollouts = new Rollouts({
      sql: storage.sql,
      transaction: (act) => storage.transactionSync(act),
      summary: (name) => rows.summary(name),
      audit: () => Promise.resolve(),
      nowMs: () => clock.nowMs,
      log: () => undefined,
    });
    let version = 0;
    const goes = (index: number, state: FleetState, shim: string) => {
      const { versions } = summaryOf(index);
      const { change } = rows.take(updateOf(index, ++version, { state, versions: { ...versions, shim } }));
      if (change) rollouts.note(change);
    };
    const ask = (index: number) => rollouts.ask(machineName(index), "0.1.0");
    for (let index = 0; index <= machines; index++) goes(index, "ready", "0.1.0");
    await rollouts.put({ version: "0.2.0", ...wish }, "alice");
    for (let index = 1; index < machines; index++)
      if (ask(index).version !== null) goes(index, "ready", "0.2.0");
    work({ rollouts, goes, ask, clock });
  });
interface RolloutFleet {
  rollouts: Rollouts;
  goes: (index: number, state: FleetState, shim: string) => void;
  ask: (index: number) => unknown;
  clock: { nowMs: number };
}

const acts = fc.array(
  fc.tuple(
    fc.constantFrom(...FLEET_STATES, "asks" as const),
    fc.constantFrom("", "0.1.0", "0.2.0", "9.9.9"),
    fc.constantFrom(0, MINUTE, 29 * MINUTE),
  ),
  { maxLength: 20 },
);

describe("one machine that asks for a rollout's version and goes through any states and versions", () => {
  it.each([1, 2, 10, 30])(
    "of %i → the rollout does not stop, and another machine gets the version",
    (machines) =>
      fc.assert(
        fc.asyncProperty(
          fc.record({
            percent: fc.integer({ min: LIMITS.percent[0], max: LIMITS.percent[1] }),
            mostSilentPercent: fc.oneof(
              fc.constant(0),
              fc.integer({ min: LIMITS.mostSilentPercent[0], max: LIMITS.mostSilentPercent[1] }),
            ),
            atOnce: fc.oneof(fc.constant(1), fc.integer({ min: LIMITS.atOnce[0], max: LIMITS.atOnce[1] })),
          }),
          acts,
          (wish, happenings) =>
            withRollout(machines, { selector: "", ...wish }, ({ rollouts, goes, ask, clock }) => {
              for (const [what, shim, forMs] of happenings) {
                if (what === "asks") ask(0);
                else goes(0, what, shim);
                clock.nowMs += forMs;
                expect(rollouts.show()?.stopped).toBeNull();
              }
              // A machine that got the version occupies one of the rollout's places for this time at most.
              clock.nowMs += 1000 * LIMITS.underwaySeconds + 1;
              expect(ask(machines)).not.toMatchObject({ why: expect.stringMatching(/stopped|too many/) });
            }),
        ),
        {
          numRuns: 10,
          examples: [
            [
              { percent: LIMITS.percent[1], mostSilentPercent: 0, atOnce: 1 },
              [
                ["asks", "", 0],
                ["silent", "0.1.0", MINUTE],
              ],
            ],
          ],
        },
      ),
  );
});

/** The outcomes that the PUT of a single machine's lease may have while the apiserver serves other machines. */
const OWN_OUTCOMES: readonly LeasePut[] = [
  { kind: "renewed", lease: loanOf("edge-0").lease },
  { kind: "lost" },
  { kind: "failed", isAnswered: true, isRefused: true, retryAfterMs: 0 },
];

/** Renewals whose waits never end by themselves. */
const renewalsBy = (putLease: PutLease, nowMs: () => number) =>
  new Renewals({
    putLease,
    counters: new GatewayCounters(0),
    capacity: { note: () => undefined, noteLate: () => undefined },
    lateness: { calmMs: Infinity },
    timer: () => () => undefined,
    nowMs,
  });

it("one machine's lease is lost, refused or renewed, in any order and at any time → no gateway suspends others", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...OWN_OUTCOMES), fc.boolean(), fc.boolean()), { maxLength: 40 }),
      async (outcomes) => {
        let nowMs = FLEET_START_MS;
        const waiting: (() => void)[] = [];
        const next: { put: LeasePut; isSlow: boolean }[] = [];
        const putLease = async (): Promise<LeasePut> => {
          const { put, isSlow } = next.shift()!;
          if (isSlow) await new Promise<void>((resolve) => waiting.push(resolve));
          return put;
        };
        const renewals = renewalsBy(putLease, () => nowMs);
        const renew = (name: string, put: LeasePut, isSlow = false) => {
          next.push({ put, isSlow });
          return renewals.renew({ renewing: null }, holdLoan(loanOf(name), nowMs));
        };
        const slow: Promise<Renewed>[] = [];
        for (const [put, isSlow, isAnswered] of outcomes) {
          const own = renew("edge-0", put, isSlow);
          if (isSlow) slow.push(own);
          else await own;
          // A slow PUT ends within its time limit, so that the others soon have a free slot.
          if (isAnswered || waiting.length === PUTS_AT_ONCE) waiting.shift()?.();
          nowMs += SECOND;
          expect([renewals.suspension.isOn, renewals.suspension.mayAsk(nowMs)]).toEqual([false, true]);
          await renew("edge-1", OWN_OUTCOMES[0]!);
        }
        for (const answer of waiting) answer();
        await Promise.all(slow);
        expect(renewals.suspension.isOn).toBe(false);
      },
    ),
    { numRuns: 50 },
  ));

it("the apiserver answers nothing to one lease alone → at most the first failure suspends the others", async () => {
  let nowMs = FLEET_START_MS;
  const putLease = (lease: Lease): Promise<LeasePut> =>
    Promise.resolve(
      lease.metadata?.name === "edge-0"
        ? { kind: "failed", isAnswered: false, retryAfterMs: 0 }
        : { kind: "renewed", lease },
    );
  const renewals = renewalsBy(putLease, () => nowMs);
  const loans = ["edge-0", "edge-1"].map((name) => holdLoan(loanOf(name), nowMs));
  const suspended: boolean[] = [];
  for (let turn = 0; turn < 6; turn++) {
    for (const loan of loans) {
      nowMs += 5 * SECOND;
      if (renewals.suspension.mayAsk(nowMs)) await renewals.renew({ renewing: null }, loan);
      suspended.push(renewals.suspension.isOn);
    }
  }
  expect(suspended).toEqual([true, ...Array.from({ length: 11 }, () => false)]);
});
