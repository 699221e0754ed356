// Tests which alerts a mute holds back and when they follow, and which mutes operators may create. The tests control
// time and receivers.
import { describe, expect, it } from "vitest";
import { NOTIFICATION_LIMITS } from "../../../shared/protocol/limits.ts";
import { FLEET_START_MS, machineName } from "../support/made-up-fleet.ts";
import { alertsOf, type NotifiedFleet, withFleet } from "../support/notified-fleet.ts";

const MINUTE = 60_000;
const ONE = machineName(1);
const at = (ms: number) => new Date(FLEET_START_MS + ms).toISOString();

describe("a mute", () => {
  const inMinutes = (minutes: number) => at(minutes * MINUTE);

  it.each<[string, Record<string, unknown>, (fleet: NotifiedFleet) => Promise<void> | void, string[]]>([
    ["over all → nothing", {}, ({ goes }) => goes(1, "silent"), []],
    [
      "for several names, with this one → nothing",
      { names: `gpu-1,${ONE}` },
      ({ goes }) => goes(1, "silent"),
      [],
    ],
    ["for several patterns → nothing", { names: "gpu-*,machine-*" }, ({ goes }) => goes(1, "silent"), []],
    [
      "for several others → alert",
      { names: `gpu-1,${ONE}0` },
      ({ goes }) => goes(1, "silent"),
      [`firing ${ONE} silent`],
    ],
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

  it("when there are as many as allowed → refused", () =>
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
