// Tests how long a gateway may renew a machine's lease without the node object: until a write of the status is due.
import { expect, test } from "vitest";
import { NOTHING_REMEMBERED } from "../../../../shared/from-report/reported-status.ts";
import { NO_SENDERS } from "../../../../shared/node/duplicate-senders.ts";
import { decideLoan } from "../../../../worker/machine/lease-holder.ts";
import { facts, HEALTHY } from "../../support/facts.ts";
import { countingRecords } from "../../support/kube-in-between.ts";

const NOW_MS = Date.parse("2026-02-03T04:05:06Z");
const NAME = "edge-1";
const EVERY_MS = 300_000;

/** Returns a loan's duration 10 s after the last write of the status. `formTurn` and `incumbent` are further waits. */
function quietForMs(
  formTurn: { atMs: number } | undefined,
  incumbent: { startId: string } | undefined,
): number | undefined {
  const records = countingRecords();
  const state = { lastStatusReportTimeMs: NOW_MS - 10_000, delayAfterNodeStatusChangeMs: 0 };
  records.put("node", { node: { metadata: { name: NAME } }, ...state, readAgain: false });
  records.put("registration", { startId: "start-1", phase: "registered" });
  records.put("phase", "registered");
  if (formTurn) records.put("formTurn", formTurn);
  const machine = facts(NAME);
  const timing = machine.settings;
  const situation = {
    records,
    keys: { enrolled: () => ({}) },
    facts: {
      current: () => machine,
      timing: () => timing,
      leaseMs: () => 40_000,
      has: () => true,
      incumbent,
    },
    senders: { seen: NO_SENDERS },
    outbox: { isEmpty: () => true },
    upkeep: {
      isIdle: true,
      leaseToLend: () => ({
        memory: { status: state, setters: structuredClone(NOTHING_REMEMBERED) },
        lease: {},
      }),
    },
    report: { startId: "start-1", vitals: HEALTHY, factsDigest: "d" },
    nowMs: NOW_MS,
  };
  return decideLoan(situation as never)?.quietForMs;
}

test.each<[situation: string, formTurn: { atMs: number } | undefined, quiet: number | undefined]>([
  ["nothing waits → until its status is due", undefined, EVERY_MS - 10_000],
  ["its Node changes its form before → until then", { atMs: NOW_MS + 20_000 }, 20_000],
  [
    "its Node changes its form after → until its status is due",
    { atMs: NOW_MS + EVERY_MS },
    EVERY_MS - 10_000,
  ],
  ["its Node changes its form now → every report comes to its object", { atMs: NOW_MS }, undefined],
  ["its Node's turn has passed → the same", { atMs: NOW_MS - EVERY_MS }, undefined],
  [
    "its Node's turn passed before the last status, and another writer keeps the labels → until its status is due",
    { atMs: NOW_MS - EVERY_MS - 1 },
    EVERY_MS - 10_000,
  ],
])("%s", (_, formTurn, quiet) => {
  expect(quietForMs(formTurn, { startId: "start-1" })).toBe(quiet);
});

test.each<[situation: string, incumbent: { startId: string } | undefined]>([
  ["another process's report was applied last", { startId: "start-2" }],
  ["an eviction has forgotten whose report was applied last", undefined],
])("%s → no loan", (_, incumbent) => {
  expect(quietForMs(undefined, incumbent)).toBeUndefined();
});
