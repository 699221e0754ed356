// Tests when an alert about the cluster begins and ends, and what happens to the alerts of its machines.
import { describe, expect, it } from "vitest";
import { machineName } from "../../support/made-up-fleet.ts";
import { alertsOf, type NotifiedFleet, withFleet } from "../../support/notified-fleet.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ONE = machineName(1);

describe("an alert about the cluster", () => {
  const CLUSTER = "made-up cluster-unreachable";
  const FAULT = "the apiserver does not answer";
  /** Runs `situation` with a receiver without a delay and 20 machines. The Nodes of `numbers` cannot be written. */
  const refused = (numbers: number[], situation: (fleet: NotifiedFleet) => Promise<void>) =>
    withFleet(async (fleet) => {
      for (let index = 1; index <= 20; index++) fleet.goes(index, "ready");
      await fleet.add({ delaySeconds: 0 });
      for (const index of numbers) fleet.goes(index, "cluster-unreachable");
      await fleet.pass(1000);
      await situation(fleet);
    });

  it("one machine's Node is refused, and the probe finds no fault → an alert about that machine alone", () =>
    refused([1], async ({ delivered, deliveries, goes, pass }) => {
      expect(delivered()).toEqual([`firing ${ONE} cluster-unreachable`]);
      expect(alertsOf(deliveries[0]!)[0]).toMatchObject({ kind: "machine", severity: "warning" });
      goes(1, "ready");
      await pass(MINUTE);
      expect(delivered()[1]).toBe(`resolved ${ONE} cluster-unreachable`);
    }));

  it.each<[string, number[], string | null, string[]]>([
    ["one of 20 machines, and a fault of the probe", [1], FAULT, [`firing ${CLUSTER}`]],
    ["two of 20 machines, a tenth of the fleet", [1, 2], null, [`firing ${CLUSTER}`]],
  ])("%s → fires", (_, numbers, fault, expected) =>
    refused([], async ({ delivered, goes, pass, probeFinds }) => {
      probeFinds(fault);
      for (const index of numbers) goes(index, "cluster-unreachable");
      await pass(MINUTE);
      expect(delivered()).toEqual(expected);
    }),
  );

  it("two of 21 machines, less than a tenth of the fleet → an alert about each, none about the cluster", () =>
    refused([], async ({ delivered, goes, pass }) => {
      goes(21, "ready");
      for (const index of [1, 2]) goes(index, "cluster-unreachable");
      await pass(MINUTE);
      expect(delivered()).toEqual([
        `firing ${ONE} cluster-unreachable`,
        `firing ${machineName(2)} cluster-unreachable`,
      ]);
    }));

  it("a refused machine, and then an outage of the apiserver → an alert about the outage", () =>
    refused([1], async ({ delivered, deliveries, goes, pass, probeFinds }) => {
      await pass(HOUR);
      probeFinds(FAULT);
      for (const index of [2, 3, 4]) goes(index, "cluster-unreachable");
      await pass(MINUTE);
      expect(delivered()).toEqual([`firing ${ONE} cluster-unreachable`, `firing ${CLUSTER}`]);
      expect(alertsOf(deliveries[1]!)[0]).toMatchObject({ machines: 3, why: FAULT, severity: "critical" });
    }));

  it("an outage of a site begins meanwhile → its alert has no cause of the cluster's", () =>
    refused([], async ({ deliveries, goes, pass, probeFinds }) => {
      probeFinds(FAULT);
      for (const index of [1, 2]) goes(index, "cluster-unreachable");
      await pass(1000);
      for (const index of [3, 4]) goes(index, "silent", { address: "203.0.0.7", silentSinceMs: 0 });
      await pass(MINUTE);
      for (const index of [5, 6]) goes(index, "silent", { address: "203.0.0.7", silentSinceMs: 0 });
      await pass(MINUTE);
      const outages = deliveries.flatMap(alertsOf).filter(({ kind }) => kind === "outage");
      expect(outages.map(({ machines, why }) => [machines, why])).toEqual([
        [2, ""],
        [4, ""],
      ]);
    }));

  it("one machine stays refused after the outage → the alert ends, and the machine gets its own", () =>
    refused([], async ({ delivered, goes, pass, probeFinds, evict }) => {
      probeFinds(FAULT);
      for (const index of [1, 2, 3]) goes(index, "cluster-unreachable");
      await pass(MINUTE);
      probeFinds(null);
      for (const index of [2, 3]) goes(index, "ready");
      await pass(MINUTE);
      evict();
      await pass(10 * MINUTE);
      expect(delivered()).toEqual([
        `firing ${CLUSTER}`,
        `resolved ${CLUSTER}`,
        `firing ${ONE} cluster-unreachable`,
      ]);
    }));

  it("only one machine noticed the outage, and stays refused → a check ends the alert, also after an eviction", () =>
    refused([], async ({ delivered, goes, pass, probeFinds, evict }) => {
      probeFinds(FAULT);
      goes(1, "cluster-unreachable");
      await pass(MINUTE);
      probeFinds(null);
      evict();
      await pass(6 * MINUTE);
      expect(delivered()).toEqual([
        `firing ${CLUSTER}`,
        `resolved ${CLUSTER}`,
        `firing ${ONE} cluster-unreachable`,
      ]);
    }));

  it("the apiserver is back at a check, and the machines have not reported yet → the cause has not changed", () =>
    refused([], async ({ deliveries, goes, pass, probeFinds, now }) => {
      probeFinds(FAULT);
      for (const index of [1, 2]) goes(index, "cluster-unreachable");
      await pass(5 * MINUTE + 500 - now());
      probeFinds(null);
      // These machines became due during the outage.
      for (const index of [3, 4]) goes(index, "cluster-unreachable");
      await pass(5 * MINUTE - 1000);
      for (const index of [1, 2, 3, 4]) goes(index, "ready");
      await pass(10 * MINUTE);
      const seen = deliveries.flatMap(alertsOf).map(({ status, machines, why }) => [status, machines, why]);
      expect(seen).toEqual([
        ["firing", 2, FAULT],
        ["firing", 4, FAULT],
        ["resolved", 4, ""],
      ]);
    }));

  it("the apiserver is back, and refuses the Nodes → the second check sends the new cause", () =>
    refused([], async ({ deliveries, goes, pass, probeFinds }) => {
      probeFinds(FAULT);
      for (const index of [1, 2]) goes(index, "cluster-unreachable");
      await pass(MINUTE);
      probeFinds(null);
      await pass(11 * MINUTE);
      const seen = deliveries.flatMap(alertsOf).map(({ why }) => why);
      expect(seen).toEqual([FAULT, "the apiserver answers the Worker, and refuses these Nodes"]);
    }));

  it("machines whose Nodes are refused, and then an outage of the apiserver → the grown alert has the new cause", () =>
    refused([1, 2], async ({ deliveries, goes, pass, probeFinds }) => {
      await pass(MINUTE);
      probeFinds(FAULT);
      for (const index of [3, 4, 5]) goes(index, "cluster-unreachable");
      await pass(10 * MINUTE);
      const seen = deliveries.flatMap(alertsOf).map(({ machines, why }) => [machines, why]);
      expect(seen).toEqual([
        [2, "the apiserver answers the Worker, and refuses these Nodes"],
        [5, FAULT],
      ]);
    }));

  it("grows to twice its machines, or changes its cause → is sent again; otherwise not", () =>
    refused([], async ({ deliveries, goes, pass, probeFinds }) => {
      probeFinds(FAULT);
      for (const index of [1, 2]) goes(index, "cluster-unreachable");
      await pass(MINUTE);
      goes(3, "cluster-unreachable");
      await pass(MINUTE);
      goes(4, "cluster-unreachable");
      await pass(10 * MINUTE);
      probeFinds("the apiserver does not accept the token");
      await pass(10 * MINUTE);
      const seen = deliveries
        .flatMap(alertsOf)
        .map(({ id, machines, why, isRepeated }) => [id, machines, why, isRepeated]);
      expect(seen).toEqual([
        ["id-0", 2, FAULT, false],
        ["id-0", 4, FAULT, true],
        ["id-0", 4, "the apiserver does not accept the token", true],
      ]);
    }));
});
