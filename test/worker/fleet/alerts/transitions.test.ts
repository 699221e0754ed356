// Tests the messages about each change of a machine's state: each of their sentences must be true.
import { expect, it } from "vitest";
import { FLEET_STATES, type FleetState } from "../../../../shared/fleet/state.ts";
import { ALERT_STATES } from "../../../../shared/protocol/receiver-api.ts";
import { FLEET_START_MS, machineName } from "../../support/made-up-fleet.ts";
import { alertsOf, type NotifiedFleet, withFleet } from "../../support/notified-fleet.ts";

const MINUTE = 60_000;
const ONE = machineName(1);
const at = (ms: number) => new Date(FLEET_START_MS + ms).toISOString();
const texts = ({ deliveries }: NotifiedFleet) => deliveries.flatMap(alertsOf).map(({ text }) => text);

const BEFORE = ALERT_STATES;
const AFTER = [...FLEET_STATES.filter((state) => state !== "pending"), "gone"] as const;
const CHANGES = BEFORE.flatMap((before) =>
  AFTER.filter((after) => after !== before).map((after) => [before, after] as const),
);

it.each(CHANGES)("%s → %s: over only if the machine is well or gone", (before, after) =>
  withFleet(async (fleet) => {
    await fleet.add({ delaySeconds: 0, states: ALERT_STATES });
    fleet.goes(1, before);
    await fleet.pass(MINUTE);
    fleet.goes(1, after);
    await fleet.pass(MINUTE);
    const [, end, begin, ...more] = texts(fleet);
    const isOver = after === "ready" || after === "gone";
    const was = `${ONE} was ${before}, for 1 min, until ${at(MINUTE)}; now it is ${after}`;
    expect(end).toBe(`${isOver ? "Over" : "Changed"}: ${was}`);
    expect(begin).toBe(isOver ? undefined : `${ONE} is ${after} since ${at(MINUTE)}`);
    expect(more).toEqual([]);
  }),
);

it("the labels of a silent machine change, and the receiver's selector excludes it → not over", () =>
  withFleet(async (fleet) => {
    await fleet.add({ delaySeconds: 0, selector: "site=b" });
    fleet.goes(1, "silent", { labels: { site: "b" } });
    await fleet.pass(MINUTE);
    fleet.goes(1, "silent", { labels: { site: "c" }, sinceMs: FLEET_START_MS });
    await fleet.pass(MINUTE);
    expect(texts(fleet).at(-1)).toBe(
      `Changed: ${ONE} is still silent since ${at(0)}, and no longer matches this receiver`,
    );
  }));

it("a repetition → the machine's present reason", () =>
  withFleet(async (fleet) => {
    await fleet.add({ delaySeconds: 0, repeatMinutes: 60 });
    fleet.goes(1, "not-ready", { why: "no disk" });
    await fleet.pass(MINUTE);
    fleet.goes(1, "not-ready", { why: "no network", sinceMs: FLEET_START_MS });
    await fleet.pass(60 * MINUTE);
    expect(texts(fleet)[1]).toBe(`${ONE} is not-ready since ${at(0)}: no network`);
  }));

const FAULT = "the apiserver does not answer";
it.each<[string, FleetState | "gone", string | null, string[]]>([
  ["silent, while the apiserver does not answer", "silent", FAULT, ["firing"]],
  ["gone, while the apiserver does not answer", "gone", FAULT, ["firing"]],
  ["silent, and the apiserver answers", "silent", null, ["firing", "resolved"]],
  ["ready, and the probe is not as new", "ready", FAULT, ["firing", "resolved"]],
  ["not ready, and their Nodes are written", "not-ready", FAULT, ["firing", "resolved"]],
])("the machines of an alert about the cluster become %s", (_, after, fault, expected) =>
  withFleet(async (fleet) => {
    const ofCluster = () => fleet.deliveries.flatMap(alertsOf).filter(({ kind }) => kind === "cluster");
    for (let index = 1; index <= 20; index++) fleet.goes(index, "ready");
    await fleet.add({ delaySeconds: 0 });
    fleet.probeFinds(FAULT);
    for (const index of [1, 2]) fleet.goes(index, "cluster-unreachable");
    await fleet.pass(MINUTE);
    fleet.probeFinds(fault);
    for (const index of [1, 2]) fleet.goes(index, after);
    await fleet.pass(MINUTE);
    expect(ofCluster().map(({ status }) => status)).toEqual(expected);
    fleet.probeFinds(null);
    await fleet.pass(10 * MINUTE);
    expect(ofCluster().map(({ status }) => status)).toEqual(["firing", "resolved"]);
  }),
);
