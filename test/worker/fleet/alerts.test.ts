// Tests what happens to alerts when the index is evicted, and when a receiver changes or does not answer.
import { expect, it } from "vitest";
import { receiverChangeSchema } from "../../../shared/protocol/receiver-api.ts";
import { FLEET_START_MS, machineName } from "../support/made-up-fleet.ts";
import { alertsOf, type NotifiedFleet, withFleet } from "../support/notified-fleet.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const FAULT = "the apiserver does not answer";
const OTHER_FAULT = "the apiserver does not accept the token";

/** Runs `situation` with 20 machines, two of which cannot be written because of FAULT. The receiver is notified. */
const withClusterAlert = (situation: (fleet: NotifiedFleet) => Promise<void>) =>
  withFleet(async (fleet) => {
    for (let index = 1; index <= 20; index++) fleet.goes(index, "ready");
    await fleet.add({ delaySeconds: 0 });
    fleet.probeFinds(FAULT);
    for (const index of [1, 2]) fleet.goes(index, "cluster-unreachable");
    await fleet.pass(MINUTE);
    await situation(fleet);
  });
const clusterAlerts = ({ deliveries }: NotifiedFleet) =>
  deliveries
    .flatMap(alertsOf)
    .filter(({ kind }) => kind === "cluster")
    .map(({ status, why }) => [status, why]);

it("the apiserver is back, and the index is evicted before the machines report → the cause has not changed", () =>
  withClusterAlert(async (fleet) => {
    fleet.probeFinds(null);
    fleet.evict();
    await fleet.pass(MINUTE);
    for (const index of [1, 2]) fleet.goes(index, "ready");
    await fleet.pass(MINUTE);
    expect(clusterAlerts(fleet)).toEqual([
      ["firing", FAULT],
      ["resolved", ""],
    ]);
  }));

it("the cause changes while a machine flaps each minute → a check sends the new cause all the same", () =>
  withClusterAlert(async (fleet) => {
    fleet.probeFinds(OTHER_FAULT);
    for (let minute = 1; minute <= 6; minute++) {
      fleet.goes(5, minute % 2 === 0 ? "ready" : "not-ready");
      await fleet.pass(MINUTE);
    }
    expect(clusterAlerts(fleet)).toEqual([
      ["firing", FAULT],
      ["firing", OTHER_FAULT],
    ]);
  }));

it("the alert about the cluster is over → the apiserver is not checked again", () =>
  withClusterAlert(async (fleet) => {
    fleet.probeFinds(null);
    for (const index of [1, 2]) fleet.goes(index, "ready");
    await fleet.pass(MINUTE);
    expect(clusterAlerts(fleet)).toHaveLength(2);
    expect(fleet.notifications().task().dueMs()).toBeNull();
  }));

it("the receiver no longer asks for a silent machine before its delay is over → no alert", () =>
  withFleet(async ({ add, goes, pass, delivered, notifications, sql }) => {
    await add({ delaySeconds: 60 });
    goes(1, "silent");
    const change = receiverChangeSchema.parse({ delaySeconds: 60, names: "gpu-*" });
    expect(await notifications().put("ops", change, false, "alice")).toMatchObject({ ok: true });
    await pass(HOUR);
    expect([delivered(), sql.exec("SELECT * FROM watched").toArray()]).toEqual([[], []]);
  }));

it("the receiver does not answer for many intervals of repetition → one repetition waits", () =>
  withFleet(async ({ add, goes, pass, behaviour, notifications }) => {
    await add({ delaySeconds: 0, repeatMinutes: 60 });
    goes(1, "silent");
    await pass(MINUTE);
    behaviour["ops"] = "unreachable";
    await pass(5 * HOUR);
    expect(notifications().list()).toMatchObject([{ waiting: 1 }]);
  }));

it("the only due machine is muted → no delivery is counted", () =>
  withFleet(async ({ add, goes, pass, mute, delivered, sql }) => {
    await add({ delaySeconds: 0 });
    await mute({ until: new Date(FLEET_START_MS + HOUR).toISOString(), names: machineName(1) });
    goes(1, "silent");
    await pass(MINUTE);
    expect([delivered(), sql.exec("SELECT * FROM delivery_shares").toArray()]).toEqual([[], []]);
  }));
