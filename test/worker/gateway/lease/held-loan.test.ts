// Tests a lease loan in a gateway's memory, and the form in which the gateway returns the loan.
import { expect, it, test } from "vitest";
import type { Vitals } from "../../../../shared/protocol/report.ts";
import { type HeldLoan, holdLoan, noteBeat, returnedLoan } from "../../../../worker/gateway/lease.ts";
import { leaseOf, loanOf, START_MS, VITALS } from "../../support/made-up-gateway.ts";

const held = (more: Partial<HeldLoan> = {}): HeldLoan => ({
  ...holdLoan(loanOf("edge-1"), START_MS),
  ...more,
});

test.each<[string, Partial<HeldLoan>, object]>([
  ["nothing came", {}, { renewedAgoMs: null, heardAgoMs: null, skewMs: null, vitals: VITALS, requests: 0 }],
  [
    "times are durations until now",
    { renewedMs: START_MS + 1000, heardMs: START_MS + 3000 },
    { renewedAgoMs: 9000, heardAgoMs: 7000 },
  ],
  ["of a clock that was put back none", { heardMs: START_MS + 11_000 }, { heardAgoMs: 0 }],
  [
    "the lease as it was written last",
    { lease: leaseOf("edge-1", "9") },
    { lease: { metadata: { resourceVersion: "9" } } },
  ],
  ["none, where that is not known", { lease: leaseOf("edge-1", "9"), isLeaseInDoubt: true }, { lease: null }],
])("%s", (_, more, returned) => {
  expect(returnedLoan(held(more), START_MS + 10_000)).toMatchObject(returned);
});

it("samples have the lowest value of each minute, with the capacities", () => {
  const loan = held();
  for (let beat = 0; beat < 30; beat++) {
    const available = 8e9 - (beat % 5);
    const vitals: Vitals = { signals: { "memory.available": [available, 16e9] } };
    noteBeat(loan, { vitals, skewMs: 5 }, START_MS + 10_000 * beat);
  }
  const { samples, capacity } = returnedLoan(loan, START_MS + 300_000).samples;
  expect(samples.map(({ atS }) => atS - START_MS / 1000)).toEqual([50, 110, 170, 230, 290]);
  expect([...new Set(samples.map(({ available }) => available[0]))]).toEqual([Math.fround(8e9 - 4)]);
  expect(capacity?.slice(0, 2)).toEqual([16e9, Number.NaN]);
  expect(loan).toMatchObject({ skewMs: 5, heardMs: START_MS + 290_000 });
});

it("the skew of the fastest heartbeat → the largest, since each delay reduces the skew", () => {
  const loan = held();
  const fastest = [-900, 20, -5000].map((skewMs, beat) => {
    noteBeat(loan, { vitals: VITALS, skewMs }, START_MS + 10_000 * beat);
    return loan.fastestSkewMs;
  });
  expect(fastest).toEqual([-900, 20, 20]);
});
