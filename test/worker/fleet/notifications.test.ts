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
