// Tests what an operator sees of a machine while a gateway renews its lease.
import { expect, it } from "vitest";
import type { ReturnedLoan } from "../../../../worker/machine/lease-loan.ts";
import { type LatestOfMachine, withLent } from "../../../../worker/machine/shown-node.ts";

const NOW_MS = Date.UTC(2026, 0, 31);
/** The time at which the machine's Durable Object lent the lease to the gateway. */
const LENT_MS = NOW_MS - 60_000;
const REPORTED = { startId: "start-1", machineTime: "2026-01-30T23:58:00.000Z", vitals: { signals: {} } };
const VITALS = { signals: { "memory.available": [1, 2] } };
const LATEST = { reportMs: 1, contactMs: 2, renewedMs: 3, statusMs: 4 } as LatestOfMachine;

const loan = (more: Partial<ReturnedLoan>) =>
  ({
    vitals: VITALS,
    heardAgoMs: 2000,
    renewedAgoMs: 4000,
    skewMs: null,
    ...more,
    baton: {
      upkeep: {
        latest: REPORTED,
        latestMs: LENT_MS,
        tick: { renewedAtMs: LENT_MS - 1000, status: { lastStatusReportTimeMs: LENT_MS - 9000 } },
      },
    },
  }) as unknown as ReturnedLoan;

const isoAt = (ms: number) => new Date(ms).toISOString();
const HEARD = { reportMs: NOW_MS - 2000, contactMs: NOW_MS - 2000, renewedMs: NOW_MS - 4000 };

it.each<[situation: string, lent: ReturnedLoan | null, shown: object]>([
  ["no loan → the object's own values", null, LATEST],
  ["a heartbeat → its vitals and times", loan({}), { ...HEARD, report: { ...REPORTED, vitals: VITALS } }],
  [
    "a heartbeat of a machine whose clock is ahead → the time on that clock",
    loan({ skewMs: 90_000 }),
    { ...HEARD, report: { ...REPORTED, vitals: VITALS, machineTime: isoAt(NOW_MS - 2000 + 90_000) } },
  ],
  [
    "a heartbeat of a machine whose clock is behind → the time on that clock",
    loan({ skewMs: -90_000 }),
    { ...HEARD, report: { ...REPORTED, vitals: VITALS, machineTime: isoAt(NOW_MS - 2000 - 90_000) } },
  ],
  [
    "no heartbeat yet → the times of the last report and renewal before the loan",
    loan({ heardAgoMs: null, renewedAgoMs: null }),
    { reportMs: LENT_MS, contactMs: LENT_MS, renewedMs: LENT_MS - 1000 },
  ],
])("%s", (_, lent, shown) => {
  const statusMs = lent ? LENT_MS - 9000 : LATEST.statusMs;
  expect(withLent(LATEST, lent, NOW_MS)).toMatchObject({ ...shown, statusMs });
});
