// Tests which receiver gets which alert, in which order, through all failures. The tests control time and
// receivers.
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { NOTIFICATION_LIMITS } from "../../../shared/protocol/limits.ts";
import { receiverChangeSchema } from "../../../shared/protocol/receiver-api.ts";
import { CAUGHT_UP_AT_ONCE } from "../../../worker/fleet/catch-ups.ts";
import { notificationRows } from "../../../worker/fleet/notifications.ts";
import { machineName } from "../support/made-up-fleet.ts";
import { alertsOf, type NotifiedFleet, withFleet } from "../support/notified-fleet.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ONE = machineName(1);
const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

describe("what receivers get", () => {
  it.each<[string, Record<string, unknown>, (fleet: NotifiedFleet) => Promise<void> | void, string[]]>([
    ["a machine that is well → nothing", {}, ({ goes }) => goes(1, "ready"), []],
    [
      "one that is silent → that, after two minutes",
      {},
      ({ goes }) => goes(1, "silent"),
      [`firing ${ONE} silent`],
    ],
    [
      "one that is back in time → nothing",
      {},
      async ({ goes, pass }) => {
        goes(1, "silent");
        await pass(2 * MINUTE - 1);
        goes(1, "ready");
      },
      [],
    ],
    [
      "one that is back later → that it is over",
      {},
      async ({ goes, pass }) => {
        goes(1, "silent");
        await pass(2 * MINUTE);
        goes(1, "ready");
      },
      [`firing ${ONE} silent`, `resolved ${ONE} silent`],
    ],
    [
      "one that flaps after its alert → nothing more",
      {},
      async ({ goes, pass }) => {
        goes(1, "silent");
        await pass(2 * MINUTE);
        goes(1, "ready");
        await pass(4000);
        goes(1, "silent");
      },
      [`firing ${ONE} silent`],
    ],
    [
      "one that changes its state after its alert → the new state replaces the former one after the delay",
      {},
      async ({ goes, pass }) => {
        goes(1, "not-ready");
        await pass(2 * MINUTE);
        goes(1, "silent");
        await pass(2 * MINUTE - 1);
      },
      [`firing ${ONE} not-ready`, `resolved ${ONE} not-ready`, `firing ${ONE} silent`],
    ],
    [
      "one that changes its state before its alert → alerted no later",
      {},
      async ({ goes, pass }) => {
        goes(1, "not-ready");
        await pass(MINUTE);
        goes(1, "silent");
        await pass(MINUTE);
        goes(1, "ready");
      },
      [`firing ${ONE} silent`, `resolved ${ONE} silent`],
    ],
    [
      "one that is forgotten → that it is over",
      {},
      async ({ goes, pass }) => {
        goes(1, "silent");
        await pass(2 * MINUTE);
        goes(1, "gone");
      },
      [`firing ${ONE} silent`, `resolved ${ONE} silent`],
    ],
    [
      "another state than the receiver's → nothing",
      { states: ["blocked"] },
      ({ goes }) => goes(1, "silent"),
      [],
    ],
    ["another name → nothing", { names: "gpu-*" }, ({ goes }) => goes(1, "silent"), []],
    [
      "a name that matches",
      { names: "machine-*" },
      ({ goes }) => goes(1, "silent"),
      [`firing ${ONE} silent`],
    ],
    [
      "labels that match, and others",
      { selector: "site in (site-1),tier!=gpu" },
      ({ goes }) => {
        goes(1, "silent");
        goes(2, "silent");
      },
      [`firing ${ONE} silent`],
    ],
    ["no delay → at once", { delaySeconds: 0 }, ({ goes }) => goes(1, "blocked"), [`firing ${ONE} blocked`]],
    [
      "outages only → not a machine alone",
      { outagesOnly: true },
      ({ goes }) => {
        goes(1, "silent");
        goes(2, "silent");
        goes(42, "silent");
      },
      ["firing 2 silent"],
    ],
    ["revoked → nothing, unless it is asked for", {}, ({ goes }) => goes(1, "revoked"), []],
    [
      "an apiserver that cannot be written → one alert about all machines",
      {},
      async ({ goes, pass }) => {
        for (let index = 1; index <= 5; index++) goes(index, "cluster-unreachable");
        await pass(MINUTE);
        goes(6, "cluster-unreachable");
        await pass(3 * MINUTE);
        for (let index = 1; index <= 6; index++) goes(index, "ready");
      },
      ["firing made-up cluster-unreachable", "resolved made-up cluster-unreachable"],
    ],
  ])("%s", (_, wish, situation, expected) =>
    withFleet(async (fleet) => {
      await fleet.add(wish);
      for (let index = 1; index <= 6; index++) fleet.goes(index, "ready");
      await situation(fleet);
      await fleet.pass(2 * MINUTE);
      expect(fleet.delivered()).toEqual(expected);
      // If no alert is expected, no alert may come in the next ten minutes either.
      if (!expected.some((each) => each.startsWith("firing"))) await fleet.pass(10 * MINUTE);
    }),
  );

  it("since when, why, and the present state", () =>
    withFleet(async ({ add, goes, pass, deliveries }) => {
      await add();
      goes(1, "not-ready", { why: "disk pressure" });
      await pass(5 * MINUTE);
      goes(1, "ready");
      await pass(MINUTE);
      expect(deliveries.flatMap(alertsOf)).toMatchObject([
        { status: "firing", since: at(0), until: null, why: "disk pressure", machines: 1, names: [ONE] },
        { status: "resolved", since: at(0), until: at(5 * MINUTE), why: "ready" },
      ]);
      const ids = deliveries.flatMap(alertsOf).map(({ id }) => id);
      expect(ids[0]).toBe(ids[1]);
      expect(deliveries.map(({ atMs }) => atMs)).toEqual([2 * MINUTE, 5 * MINUTE + 5000]);
    }));

  it.each<[string, Record<string, unknown>, (fleet: NotifiedFleet) => Promise<unknown> | void, string[][]]>([
    [
      "two machines",
      {},
      ({ goes }) => [1, 22].forEach((each) => goes(each, "not-ready")),
      [[`${ONE} not-ready`, `${machineName(22)} not-ready`]],
    ],
    ["an outage", {}, ({ goes }) => [2, 42, 82].forEach((each) => goes(each, "silent")), [["1 silent"]]],
    [
      "an outage, for outages only",
      { outagesOnly: true },
      ({ goes }) => [1, 2, 42].forEach((each) => goes(each, "silent")),
      [["2 silent"]],
    ],
    [
      "a cluster that cannot be written",
      {},
      ({ goes }) => [1, 2, 3].forEach((each) => goes(each, "cluster-unreachable")),
      [["made-up cluster-unreachable"]],
    ],
    ["machines that do not concern it", { names: "gpu-*" }, ({ goes }) => goes(1, "silent"), []],
    [
      "a muted machine",
      {},
      async ({ goes, mute }) => {
        goes(1, "silent");
        await mute({ until: at(3 * HOUR), names: ONE });
      },
      [],
    ],
    ["no machine", {}, () => undefined, []],
  ])(
    "%s in an alerted state when the receiver is added → one message, and later its end",
    (_, wish, situation, expected) =>
      withFleet(async (fleet) => {
        await situation(fleet);
        await fleet.pass(HOUR);
        await fleet.add(wish);
        fleet.evict();
        await fleet.pass(5000);
        const alerts = fleet.deliveries.map((each) => alertsOf(each));
        expect(alerts.map((each) => each.map(({ name, state }) => `${name} ${state}`))).toEqual(expected);
        for (const { since, status } of alerts.flat()) expect([since, status]).toEqual([at(0), "firing"]);
        for (const index of [1, 2, 3, 22, 42, 82]) fleet.goes(index, "ready");
        await fleet.pass(MINUTE);
        const ends = fleet.delivered().filter((each) => each.startsWith("resolved"));
        expect(ends).toEqual(expected.flat().map((each) => `resolved ${each}`));
        expect(fleet.sql.exec("SELECT * FROM watched").toArray()).toEqual([]);
      }),
  );

  it("a receiver that a backup restores, also by two requests → one message about the machines that are down", () =>
    withFleet(async ({ add, goes, pass, deliveries, notifications, sql }) => {
      await add();
      const pages = [await notificationRows(sql, "receivers", env.KID_MAC_KEYS)];
      await notifications().remove("ops", "alice");
      goes(1, "silent");
      await pass(HOUR);
      for (let time = 0; time < 2; time++)
        expect(await notifications().takeRows(pages, env.KID_MAC_KEYS)).toHaveProperty("ok", true);
      await pass(HOUR);
      expect(deliveries.map((each) => alertsOf(each).map(({ name }) => name))).toEqual([[ONE]]);
      await notifications().takeRows(pages, env.KID_MAC_KEYS);
      await pass(HOUR);
      expect(deliveries).toHaveLength(1);
    }));

  it("a state that began just before the receiver was added → its alert is sent after the delay", () =>
    withFleet(async ({ add, goes, pass, delivered }) => {
      goes(1, "silent");
      await pass(MINUTE);
      await add();
      await pass(MINUTE - 1);
      expect(delivered()).toEqual([]);
      await pass(1);
      expect(delivered()).toEqual([`firing ${ONE} silent`]);
    }));

  it.each([
    [CAUGHT_UP_AT_ONCE, "exactly one turn's"],
    [CAUGHT_UP_AT_ONCE + 1, "one more than a turn's"],
  ])("%i machines, %s, when the receiver is added → one alert with all", (count) =>
    withFleet(async (fleet) => {
      for (let index = 1; index <= count; index++) fleet.goes(index, "cluster-unreachable");
      await fleet.add();
      await fleet.pass(2 * MINUTE);
      const [alert] = fleet.deliveries.flatMap(alertsOf);
      expect(alert).toMatchObject({ kind: "cluster", machines: count });
      expect(alert!.names).toHaveLength(NOTIFICATION_LIMITS.namesInAlert);
    }),
  );

  it("an outage → one alert with all its machines; it ends once no two of them are silent", () =>
    withFleet(async ({ add, goes, pass, delivered, deliveries }) => {
      await add();
      for (let index = 1; index <= 30; index++) {
        goes(index * 40, "silent");
        await pass(2000);
      }
      await pass(3 * MINUTE);
      expect(deliveries.flatMap(alertsOf)).toMatchObject([
        {
          kind: "outage",
          name: "1",
          machines: 30,
          since: at(0),
          text: expect.stringContaining("30 machines behind 203.0.0.7"),
        },
      ]);
      for (let index = 1; index < 29; index++) goes(index * 40, "ready");
      await pass(HOUR);
      expect(delivered()).toHaveLength(1);
      goes(29 * 40, "ready");
      await pass(MINUTE);
      expect(delivered()).toEqual(["firing 1 silent", "resolved 1 silent"]);
      // The last machine turns silent alone: its alert follows after the receiver's delay.
      await pass(MINUTE + 4999);
      expect(delivered()).toHaveLength(2);
      await pass(1);
      goes(30 * 40, "ready");
      await pass(MINUTE);
      const last = machineName(30 * 40);
      expect(delivered().slice(2)).toEqual([`firing ${last} silent`, `resolved ${last} silent`]);
    }));

  it("an outage that doubles → is sent again, with its present machines", () =>
    withFleet(async ({ add, goes, pass, deliveries }) => {
      await add();
      const silent = (index: number, atMs: number) =>
        goes(index * 40, "silent", { address: "203.0.0.7", silentSinceMs: atMs });
      for (let index = 1; index <= 4; index++) silent(index, 0);
      await pass(3 * MINUTE);
      for (let index = 5; index <= 7; index++) silent(index, 1000);
      await pass(3 * MINUTE);
      expect(deliveries).toHaveLength(1);
      silent(8, 1000);
      await pass(3 * MINUTE);
      expect(
        deliveries.map((each) => alertsOf(each).map((alert) => [alert.id, alert.isRepeated, alert.machines])),
      ).toEqual([[["id-0", false, 4]], [["id-0", true, 8]]]);
      expect(alertsOf(deliveries[1]!)[0]!.names).toEqual(
        [1, 2, 3, 4, 5, 6, 7, 8].map((index) => machineName(index * 40)),
      );
    }));

  it.each<[string, object, object, number[]]>([
    ["not repeated → each hour", { repeatMinutes: 0 }, { repeatMinutes: 60 }, [0, 90, 150]],
    ["of another format, which is repeated", { format: "json" }, { format: "alertmanager" }, [0, 90, 150]],
    ["each hour → not repeated", { repeatMinutes: 60 }, { repeatMinutes: 0 }, [0]],
    ["each week → each hour", { repeatMinutes: 10_080 }, { repeatMinutes: 60 }, [0, 60, 120]],
    [
      "each week → more often than that",
      { repeatMinutes: 10_080 },
      { repeatMinutes: 25 },
      [0, 30, 55, 80, 105, 130],
    ],
    ["each hour → more seldom", { repeatMinutes: 60 }, { repeatMinutes: 90 }, [0, 90]],
    ["each hour as before", { repeatMinutes: 60 }, { repeatMinutes: 60 }, [0, 60, 120]],
  ])("what lasts, to a receiver that is changed after half an hour: %s", (_, before, after, minutes) =>
    withFleet(async ({ add, goes, pass, deliveries, notifications }) => {
      await add({ delaySeconds: 0, ...before });
      goes(1, "silent");
      await pass(HOUR / 2);
      const change = receiverChangeSchema.parse({ delaySeconds: 0, ...after });
      const changed = await notifications().put("ops", change, false, "alice");
      expect(changed).toMatchObject({ ok: true, value: { nextAttemptAt: null } });
      await pass(2 * HOUR);
      expect(deliveries.map(({ atMs }) => atMs / MINUTE)).toEqual(minutes);
    }),
  );

  it("a lasting alert → repeated at intervals with the same ID, and ended once", () =>
    withFleet(async ({ add, goes, pass, deliveries }) => {
      await add({ repeatMinutes: 60 });
      goes(1, "silent");
      await pass(2 * MINUTE + 2 * HOUR);
      goes(1, "ready");
      await pass(2 * HOUR);
      const alerts = deliveries.flatMap(alertsOf);
      expect(alerts.map(({ status, isRepeated }) => [status, isRepeated])).toEqual([
        ["firing", false],
        ["firing", true],
        ["firing", true],
        ["resolved", false],
      ]);
      expect(new Set(alerts.map(({ id }) => id)).size).toBe(1);
      expect(new Set(deliveries.map(({ messageId }) => messageId)).size).toBe(4);
    }));
});

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

  it("a refused machine, and then an outage of the apiserver → the outage is told", () =>
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

describe("a mute", () => {
  const inMinutes = (minutes: number) => at(minutes * MINUTE);

  it.each<[string, Record<string, unknown>, (fleet: NotifiedFleet) => Promise<void> | void, string[]]>([
    ["over all → nothing", {}, ({ goes }) => goes(1, "silent"), []],
    ["for others → alert", { names: "gpu-*" }, ({ goes }) => goes(1, "silent"), [`firing ${ONE} silent`]],
    [
      "for other labels → alert",
      { selector: "site=x" },
      ({ goes }) => goes(1, "silent"),
      [`firing ${ONE} silent`],
    ],
    [
      "for other states → alert",
      { states: ["blocked"] },
      ({ goes }) => goes(1, "silent"),
      [`firing ${ONE} silent`],
    ],
    [
      "that begins later → alert",
      { from: inMinutes(10) },
      ({ goes }) => goes(1, "silent"),
      [`firing ${ONE} silent`],
    ],
    [
      "that ends before the silence → alert then, with its start",
      {},
      async ({ goes, pass }) => {
        goes(1, "silent");
        await pass(30 * MINUTE - 1);
      },
      [`firing ${ONE} silent`],
    ],
    [
      "that ends after it is over → nothing",
      {},
      async ({ goes, pass }) => {
        goes(1, "silent");
        await pass(29 * MINUTE);
        goes(1, "ready");
        await pass(5 * MINUTE);
      },
      [],
    ],
  ])("%s", (_, wish, situation, expected) =>
    withFleet(async (fleet) => {
      await fleet.add();
      fleet.goes(1, "ready");
      await fleet.mute({ until: inMinutes(30), ...wish });
      await situation(fleet);
      await fleet.pass(5 * MINUTE);
      expect(fleet.delivered()).toEqual(expected);
      for (const { since } of fleet.deliveries.flatMap(alertsOf)) expect(since).toBe(at(0));
    }),
  );

  it("that begins after the alert → its end is delivered all the same", () =>
    withFleet(async ({ add, goes, pass, mute, delivered }) => {
      await add();
      goes(1, "silent");
      await pass(2 * MINUTE);
      await mute({ until: inMinutes(30) });
      goes(1, "ready");
      await pass(MINUTE);
      expect(delivered()).toEqual([`firing ${ONE} silent`, `resolved ${ONE} silent`]);
    }));

  it("that is ended early → lasting alerts are delivered then", () =>
    withFleet(async ({ add, goes, pass, mute, delivered, notifications }) => {
      await add();
      const id = await mute({ until: inMinutes(30) });
      goes(1, "silent");
      await pass(5 * MINUTE);
      expect([delivered(), notifications().mutes()]).toMatchObject([[], [{ id, who: "alice" }]]);
      expect([await notifications().unmute(id, "alice"), await notifications().unmute(id, "alice")]).toEqual([
        true,
        false,
      ]);
      await pass(0);
      expect(delivered()).toEqual([`firing ${ONE} silent`]);
    }));

  it("also mutes repetitions", () =>
    withFleet(async ({ add, goes, pass, mute, delivered }) => {
      await add({ repeatMinutes: 5 });
      goes(1, "silent");
      await pass(2 * MINUTE);
      await mute({ until: inMinutes(30) });
      await pass(25 * MINUTE);
      expect(delivered()).toHaveLength(1);
      await pass(10 * MINUTE);
      expect(delivered().length).toBeGreaterThan(1);
    }));

  it("is listed until its end, and deleted when the next one is created", () =>
    withFleet(async ({ mute, notifications, pass, sql }) => {
      await mute({ until: inMinutes(30), states: ["silent"] });
      await pass(30 * MINUTE - 1);
      expect(notifications().mutes()).toMatchObject([
        { states: ["silent"], from: at(0), until: inMinutes(30) },
      ]);
      await pass(1);
      expect(notifications().mutes()).toEqual([]);
      await mute({ until: inMinutes(60) });
      expect(sql.exec("SELECT id FROM mutes").toArray()).toEqual([{ id: 2 }]);
    }));

  it.each([
    ["some machines", { names: "gpu-*", selector: "site=x" }, "names gpu-*, labels site=x"],
    ["all machines", {}, "names any, labels any"],
  ])("of %s → the audit log has its end and its filter", (_, wish, filter) =>
    withFleet(async ({ mute, details }) => {
      await mute({ until: inMinutes(30), ...wish });
      expect(details).toEqual([`until ${inMinutes(30)}, ${filter}`]);
    }),
  );

  it("another one is ended → stays; an unknown one → not ended", () =>
    withFleet(async ({ mute, notifications }) => {
      const ids = [await mute({ until: inMinutes(30) }), await mute({ until: inMinutes(60) })];
      expect(await notifications().unmute(ids[0]!, "alice")).toBe(true);
      expect(await notifications().unmute(99, "alice")).toBe(false);
      expect(notifications().mutes()).toMatchObject([{ id: ids[1] }]);
    }));

  it("beside as many as there may be → refused", () =>
    withFleet(async ({ mute }) => {
      for (let each = 0; each < NOTIFICATION_LIMITS.mutes; each++) await mute({ until: inMinutes(30) });
      await expect(mute({ until: inMinutes(30) })).rejects.toThrow(/end one first/);
    }));

  it("of 30 days → accepted", () =>
    withFleet(async ({ mute }) => {
      expect(await mute({ until: inMinutes(30 * 24 * 60) })).toBe(1);
    }));

  it.each([
    ["that ends before it begins", { from: inMinutes(10), until: inMinutes(5) }, "/until"],
    ["that ends as it begins", { from: inMinutes(10), until: inMinutes(10) }, "/until"],
    ["that is over", { until: inMinutes(-5) }, "/until"],
    ["of more than 30 days", { until: inMinutes(30 * 24 * 60 + 1) }, "/until"],
  ])("%s → refused", (_, wish, path) =>
    withFleet(async ({ notifications }) => {
      const refused = await notifications().mute(
        { selector: "", names: "", states: ["silent"], comment: "", ...wish } as never,
        "alice",
      );
      expect(refused).toMatchObject({ ok: false, error: { path } });
    }),
  );
});
