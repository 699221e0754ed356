// Tests alerts through evictions, changes of receivers and refused messages, and which machines an alert is about.
import { describe, expect, it } from "vitest";
import { NOTIFICATION_LIMITS } from "../../../shared/protocol/limits.ts";
import { receiverChangeSchema } from "../../../shared/protocol/receiver-api.ts";
import { FLEET_START_MS, IN_MAINTENANCE, machineName } from "../support/made-up-fleet.ts";
import { alertsOf, type NotifiedFleet, withFleet } from "../support/notified-fleet.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
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

describe("maintenance of a machine", () => {
  const conditions = [IN_MAINTENANCE];
  const NAME = machineName(1);

  it("begins, and the machine falls silent → no alert until the maintenance ends, and then at once", () =>
    withFleet(async ({ add, goes, pass, delivered }) => {
      await add({ delaySeconds: 60 });
      goes(1, "silent", { conditions });
      await pass(HOUR);
      expect(delivered()).toEqual([]);
      goes(1, "silent", { sinceMs: FLEET_START_MS });
      await pass(SECOND);
      expect(delivered()).toEqual([`firing ${NAME} silent`]);
    }));

  it("begins while an alert is open → the alert ends, and says why", () =>
    withFleet(async ({ add, goes, pass, deliveries }) => {
      await add({ delaySeconds: 0 });
      goes(1, "silent");
      await pass(MINUTE);
      goes(1, "silent", { conditions, sinceMs: FLEET_START_MS });
      await pass(MINUTE);
      expect(deliveries.flatMap(alertsOf).map(({ status, why }) => `${status} ${why}`)).toEqual([
        "firing ",
        "resolved in maintenance",
      ]);
    }));

  it("of both machines of a site, which fall silent → no outage", () =>
    withFleet(async ({ add, goes, pass, delivered, outages }) => {
      await add({ delaySeconds: 0 });
      for (const index of [1, 2]) goes(index, "silent", { conditions, address: "203.0.113.1" });
      await pass(MINUTE);
      expect([delivered(), outages.silent()]).toEqual([[], []]);
    }));
});

describe("an open alert about the cluster", () => {
  it.each<[string, (fleet: NotifiedFleet, minute: number) => void]>([
    ["nothing else happens", () => undefined],
    ["a machine flaps", ({ goes }, minute) => goes(5, minute % 2 === 0 ? "ready" : "not-ready")],
  ])("the apiserver is back, and %s until the first check → the check sends no other cause", (_, happens) =>
    withClusterAlert(async (fleet) => {
      fleet.probeFinds(null);
      for (let minute = 1; minute <= 5; minute++) {
        happens(fleet, minute);
        await fleet.pass(MINUTE);
      }
      expect(clusterAlerts(fleet)).toEqual([["firing", FAULT]]);
    }),
  );

  it("one of its machines recovers, and the apiserver still fails → it stays, with the most machines that it had", () =>
    withClusterAlert(async (fleet) => {
      fleet.goes(1, "ready");
      fleet.probeFinds(OTHER_FAULT);
      await fleet.pass(6 * MINUTE);
      const seen = fleet.deliveries.flatMap(alertsOf).map(({ machines, why }) => [machines, why]);
      expect(seen).toEqual([
        [2, FAULT],
        [2, OTHER_FAULT],
      ]);
    }));

  it("another machine's alert begins and ends meanwhile → a check still ends the alert about the cluster", () =>
    withClusterAlert(async (fleet) => {
      fleet.goes(5, "not-ready");
      await fleet.pass(MINUTE);
      expect(fleet.delivered()).toContain(`firing ${machineName(5)} not-ready`);
      for (const index of [1, 5]) fleet.goes(index, "ready");
      await fleet.pass(MINUTE);
      fleet.probeFinds(null);
      await fleet.pass(10 * MINUTE);
      expect(clusterAlerts(fleet).map(([status]) => status)).toEqual(["firing", "resolved"]);
    }));

  it.each([
    ["three of 60, half of the share that opens it → it stays", 3, []],
    ["two of 60, less than half of that share → it ends", 2, ["resolved"]],
  ])("its machines are only %s", (_, left, then) =>
    withFleet(async (fleet) => {
      for (let index = 1; index <= 60; index++)
        fleet.goes(index, index <= 6 ? "cluster-unreachable" : "ready");
      await fleet.add({ delaySeconds: 0 });
      await fleet.pass(MINUTE);
      for (let index = left + 1; index <= 6; index++) fleet.goes(index, "ready");
      await fleet.pass(20 * MINUTE);
      expect(clusterAlerts(fleet).map(([status]) => status)).toEqual(["firing", ...then]);
    }),
  );

  it("a machine's since changes before the alert ends → the machine's own alert has the later time", () =>
    withClusterAlert(async (fleet) => {
      fleet.goes(1, "cluster-unreachable");
      fleet.goes(2, "ready");
      fleet.probeFinds(null);
      await fleet.pass(MINUTE);
      expect(fleet.deliveries.flatMap(alertsOf).at(-1)).toMatchObject({
        kind: "machine",
        since: new Date(FLEET_START_MS + MINUTE).toISOString(),
      });
    }));
});

it("machines cannot be written one after the other → their alert begins with the first", () =>
  withFleet(async ({ add, goes, pass, deliveries, probeFinds }) => {
    await add({ delaySeconds: 60 });
    probeFinds(FAULT);
    for (const index of [1, 2]) {
      goes(index, "cluster-unreachable");
      await pass(SECOND);
    }
    await pass(2 * MINUTE);
    const since = new Date(FLEET_START_MS).toISOString();
    expect(deliveries.flatMap(alertsOf)).toMatchObject([{ machines: 2, since }]);
  }));

it("a machine is silent → the apiserver is not probed", () =>
  withFleet(async ({ add, goes, pass, probes }) => {
    await add({ delaySeconds: 0 });
    goes(1, "silent");
    await pass(HOUR);
    expect(probes()).toBe(0);
  }));

it("a machine is back before its alert is due → no alert counts as dropped", () =>
  withFleet(async ({ add, goes, pass, notifications }) => {
    await add({ delaySeconds: 60 });
    goes(1, "silent");
    await pass(SECOND);
    goes(1, "ready");
    expect(notifications().list()).toMatchObject([{ dropped: 0 }]);
  }));

describe("news of a machine in the same state", () => {
  it.each<[string, number, number]>([
    ["whose alert is open", 0, 0],
    ["whose alert is not due yet, which is silent again", 60, SECOND],
  ])("%s → no row of the receiver's alerts is written", (_, delaySeconds, sinceMs) =>
    withFleet(async ({ add, goes, pass, sql }) => {
      await add({ delaySeconds });
      goes(1, "silent");
      await pass(SECOND);
      sql.exec(`CREATE TABLE written (machine TEXT);
        CREATE TRIGGER note AFTER INSERT ON watched BEGIN INSERT INTO written VALUES (new.machine); END`);
      goes(1, "silent", { why: "no report for 40 s", sinceMs: FLEET_START_MS + sinceMs });
      expect(sql.exec("SELECT * FROM written").toArray()).toEqual([]);
    }),
  );
});

describe("an outage of three machines", () => {
  // The names of the first two begin with machine-0000.
  const MACHINES = [1, 41, 401];
  const NAMES = MACHINES.map(machineName);
  const TWO = NAMES.slice(0, 2);
  const UNTIL = new Date(FLEET_START_MS + 3 * HOUR).toISOString();
  const all = ({ goes }: NotifiedFleet, state: "silent" | "not-ready") => {
    for (const each of MACHINES) goes(each, state);
  };

  it.each<[string, (fleet: NotifiedFleet) => Promise<unknown> | void, string[]]>([
    [
      "all were not ready, and had alerts",
      async (fleet) => {
        all(fleet, "not-ready");
        await fleet.pass(MINUTE);
        all(fleet, "silent");
      },
      NAMES,
    ],
    [
      "one is not ready before its alert",
      async (fleet) => {
        all(fleet, "silent");
        await fleet.pass(30 * SECOND);
        fleet.goes(401, "not-ready");
      },
      TWO,
    ],
    [
      "one is muted",
      async (fleet) => {
        all(fleet, "silent");
        await fleet.mute({ until: UNTIL, names: NAMES[2]! });
      },
      TWO,
    ],
    [
      "one no longer concerns the receiver",
      async (fleet) => {
        all(fleet, "silent");
        const change = receiverChangeSchema.parse({ delaySeconds: 60, names: "machine-0000*" });
        await fleet.notifications().put("ops", change, false, "alice");
      },
      TWO,
    ],
  ])("%s → one alert, about the machines that it concerns", (_, happens, names) =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 60 });
      await happens(fleet);
      await fleet.pass(2 * MINUTE);
      const alerts = fleet.deliveries.flatMap(alertsOf).filter(({ kind }) => kind === "outage");
      expect(alerts).toMatchObject([{ machines: names.length, names }]);
    }),
  );

  it.each<[string, (fleet: NotifiedFleet) => Promise<unknown> | void, number[]]>([
    ["one machine is muted → repeated", ({ mute }) => mute({ until: UNTIL, names: NAMES[0]! }), [3, 3]],
    ["all are muted → not repeated", ({ mute }) => mute({ until: UNTIL }), [3]],
    [
      "all are muted, and one is forgotten → not repeated",
      async ({ goes, mute }) => {
        await mute({ until: UNTIL });
        goes(401, "gone");
      },
      [3],
    ],
    [
      "another machine has joined → repeated, with its number",
      ({ goes }) => goes(81, "silent", { silentSinceMs: FLEET_START_MS }),
      [3, 4],
    ],
  ])("repeated each hour: %s", (_, happens, machines) =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 0, repeatMinutes: 60 });
      all(fleet, "silent");
      await fleet.pass(MINUTE);
      await happens(fleet);
      await fleet.pass(HOUR);
      const seen = fleet.deliveries.flatMap(alertsOf).map((alert) => [alert.isRepeated, alert.machines]);
      expect(seen).toEqual(machines.map((count, at) => [at > 0, count]));
    }),
  );
});

it("two receivers, of which one wants repetitions → the other gets none", () =>
  withFleet(async ({ add, goes, pass, delivered }) => {
    await add({ name: "a", delaySeconds: 0, repeatMinutes: 60 });
    await add({ name: "b", delaySeconds: 0 });
    goes(1, "silent");
    await pass(2 * HOUR);
    expect(["a", "b"].map((name) => delivered(name).length)).toEqual([3, 1]);
  }));

it.each<[string, (fleet: NotifiedFleet) => Promise<void>]>([
  ["is repeated", ({ pass }) => pass(HOUR)],
  [
    "grows",
    async ({ goes, pass }) => {
      for (const index of [81, 121]) goes(index, "silent", { silentSinceMs: FLEET_START_MS });
      await pass(SECOND);
    },
  ],
])(
  "an outage's refused message is no longer kept, and the alert %s → the new message is kept",
  (_, happens) =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 0, repeatMinutes: 60 });
      fleet.behaviour["ops"] = 400;
      for (const index of [1, 41]) fleet.goes(index, "silent");
      await fleet.pass(SECOND);
      fleet.sql.exec(
        `WITH RECURSIVE number(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
       INSERT INTO letters SELECT NULL, 'ops', 'm-' || n, '{"alerts":[]}', 0, 1, NULL, '' FROM number`,
        NOTIFICATION_LIMITS.deadLetters,
      );
      fleet.goes(2, "not-ready");
      await fleet.pass(SECOND);
      const kept = () =>
        fleet
          .notifications()
          .deliveries("ops")!
          .flatMap(alertsOf)
          .filter(({ kind }) => kind === "outage");
      expect(kept()).toEqual([]);
      await happens(fleet);
      expect(kept()).toMatchObject([{ status: "firing", isRepeated: true }]);
    }),
);

it("a repetition is refused → it is not kept as dead", () =>
  withFleet(async ({ add, goes, pass, behaviour, notifications }) => {
    await add({ delaySeconds: 0, repeatMinutes: 60 });
    goes(1, "silent");
    await pass(MINUTE);
    behaviour["ops"] = 400;
    await pass(HOUR);
    expect(notifications().list()).toMatchObject([{ dead: 0, waiting: 0, lastDelivery: { arrived: false } }]);
  }));

it("an alert's message was refused → the next repetition is that message", () =>
  withFleet(async ({ add, goes, pass, behaviour, deliveries }) => {
    await add({ delaySeconds: 0, repeatMinutes: 60 });
    behaviour["ops"] = 400;
    goes(1, "silent");
    await pass(MINUTE);
    behaviour["ops"] = 200;
    await pass(HOUR);
    expect(deliveries.map(({ messageId, arrived }) => [messageId, arrived])).toEqual([
      [deliveries[0]!.messageId, false],
      [deliveries[0]!.messageId, true],
    ]);
  }));
