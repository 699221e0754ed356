// Tests the limits of deliveries: flapping machines of one join token cause few messages, no alert is lost silently,
// and alerts about other machines do not wait.
import { describe, expect, it } from "vitest";
import type { MachineSummary } from "../../../shared/fleet/summary.ts";
import { DEPLOYMENT_SHARES, RATE_LIMITS } from "../../../worker/storage/token-bucket.ts";
import { HeldBack } from "../../../worker/fleet/shares.ts";
import { FLEET_START_MS, machineName, summaryOf } from "../support/made-up-fleet.ts";
import { alertsOf, type NotifiedFleet, withFleet } from "../support/notified-fleet.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const { atOnce, everyMs } = RATE_LIMITS.deliveries;

const ofToken = (token: string): Partial<MachineSummary> => ({ key: { ...summaryOf(1).key, token } });
const FLOOD = ofToken("flood");

/** Lets machines of one token flap for a while: each changes its state every 12 s, one after the other. */
async function flap({ goes, pass }: NotifiedFleet, machines: number, ms: number, change = FLOOD) {
  const everyone = Array.from({ length: machines }, (_, index) => index + 1);
  const stepMs = (12 * SECOND) / machines;
  for (let atMs = 0, isWell = false; atMs < ms; atMs += machines * stepMs, isWell = !isWell)
    for (const index of everyone) {
      goes(index, isWell ? "ready" : "not-ready", change);
      await pass(stepMs);
    }
}

describe("ten machines of one token that flap", () => {
  it("→ the burst, then one message a minute, which has all of them", () =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 0 });
      await flap(fleet, 10, 10 * MINUTE);
      const minutes = Array.from({ length: 10 }, (_, minute) =>
        fleet.deliveries.filter(({ atMs }) => Math.floor(atMs / MINUTE) === minute),
      );
      expect(minutes[0]!.length).toBeLessThanOrEqual(atOnce + 1);
      for (const minute of minutes.slice(1)) expect(minute.length).toBeLessThanOrEqual(MINUTE / everyMs + 1);
      expect(fleet.deliveries.length).toBeLessThanOrEqual(atOnce + 10);
      expect(Math.max(...fleet.deliveries.map((each) => alertsOf(each).length))).toBeGreaterThanOrEqual(5);
    }));

  it("→ an alert that ended while it waited is counted, and the next message has the count", () =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 0 });
      await flap(fleet, 10, 5 * MINUTE);
      const [{ dropped } = { dropped: 0 }] = fleet.notifications().list();
      expect(dropped).toBeGreaterThan(0);
      expect(JSON.parse(fleet.deliveries.at(-1)!.body)).toMatchObject({
        dropped: expect.any(Number) as number,
      });
    }));

  it("→ in the end the receiver knows the state of each", () =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 0 });
      await flap(fleet, 10, 5 * MINUTE);
      for (let index = 1; index <= 10; index++) fleet.goes(index, index === 3 ? "blocked" : "ready", FLOOD);
      await fleet.pass(3 * MINUTE);
      const open = new Map<string, string>();
      for (const { status, name, state } of fleet.deliveries.flatMap(alertsOf))
        if (status === "firing") open.set(name, state);
        else open.delete(name);
      expect([...open]).toEqual([[machineName(3), "blocked"]]);
    }));

  it.each<[string, (fleet: NotifiedFleet) => void, string]>([
    [
      "a machine with another token",
      ({ goes }) => goes(50, "silent", ofToken("site")),
      `firing ${machineName(50)} silent`,
    ],
    [
      "an outage of machines with the same token",
      ({ goes }) => {
        for (let index = 20; index < 320; index++)
          goes(index, "silent", { ...FLOOD, address: "198.51.100.7" });
      },
      "firing 1 silent",
    ],
    [
      "a cluster that cannot be written",
      (fleet) => {
        fleet.probeFinds("the apiserver refuses");
        fleet.goes(20, "cluster-unreachable", FLOOD);
      },
      "firing made-up cluster-unreachable",
    ],
  ])("→ an alert about %s does not wait", (_, happens, expected) =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 10 });
      await flap(fleet, 10, 3 * MINUTE);
      const before = fleet.delivered().length;
      happens(fleet);
      await fleet.pass(10 * SECOND);
      expect(fleet.delivered().slice(before)).toContain(expected);
    }),
  );

  it("→ the end of an outage of machines with the same token does not wait", () =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 0 });
      for (const index of [20, 60]) fleet.goes(index, "silent", FLOOD);
      await flap(fleet, 10, 3 * MINUTE);
      const before = fleet.delivered().length;
      for (const index of [20, 60]) fleet.goes(index, "ready", FLOOD);
      await fleet.pass(5 * SECOND);
      expect(fleet.delivered().slice(before)).toContain("resolved 1 silent");
    }));

  it("→ operators see the token, and since when", () =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 0 });
      await flap(fleet, 10, 3 * MINUTE);
      const held = new HeldBack(fleet.sql).list(FLEET_START_MS + fleet.now());
      expect(held).toMatchObject([{ what: "deliveries", who: "flood" }]);
      expect(held[0]!.sinceMs).toBeLessThan(FLEET_START_MS + MINUTE);
    }));

  it("with SHARED_LIMITS_FACTOR → as many deliveries more", () =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 0 });
      await flap(fleet, 10, MINUTE);
      expect(fleet.deliveries.length).toBeGreaterThan(2 * atOnce);
    }, 10));
});

describe("machines of eight tokens that flap, so that the receiver gets as many deliveries as it may", () => {
  it.each([
    ["not-ready", 40 * SECOND],
    ["silent", 40 * SECOND],
  ] as const)("→ an alert about a machine with another token, %s, arrives within %i ms", (state, withinMs) =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 0 });
      const flapping = async (ms: number) => {
        for (let atMs = 0, isWell = false; atMs < ms; atMs += 8 * SECOND, isWell = !isWell)
          for (let index = 1; index <= 16; index++) {
            fleet.goes(index, isWell ? "ready" : "not-ready", ofToken(`flood-${index % 8}`));
            await fleet.pass(SECOND / 2);
          }
      };
      await flapping(5 * MINUTE);
      // The deployment's limit is that of four tokens, for the five minutes from the burst on.
      expect(fleet.deliveries.length).toBeLessThanOrEqual(DEPLOYMENT_SHARES * (atOnce + 5) + 1);
      const before = fleet.delivered().length;
      fleet.goes(50, state, ofToken("site"));
      await flapping(withinMs);
      expect(fleet.delivered().slice(before)).toContain(`firing ${machineName(50)} ${state}`);
    }),
  );
});

it("one alert → no limit is reached for operators", () =>
  withFleet(async (fleet) => {
    await fleet.add({ delaySeconds: 0 });
    fleet.goes(1, "not-ready", FLOOD);
    await fleet.pass(SECOND);
    expect(new HeldBack(fleet.sql).list(FLEET_START_MS + fleet.now())).toEqual([]);
  }));

it.each([
  ["as many alerts as a token's burst, one after the other → each at once", atOnce, atOnce],
  ["one more → it waits", atOnce + 1, atOnce],
])("%s", (_, machines, deliveries) =>
  withFleet(async (fleet) => {
    await fleet.add({ delaySeconds: 0 });
    for (let index = 1; index <= machines; index++) {
      fleet.goes(index, "not-ready", FLOOD);
      await fleet.pass(SECOND);
    }
    expect(fleet.deliveries).toHaveLength(deliveries);
    await fleet.pass(everyMs);
    expect(fleet.deliveries).toHaveLength(machines);
  }),
);

it("alerts end while their messages wait for the receiver → the message of each end counts", () =>
  withFleet(async (fleet) => {
    await fleet.add({ delaySeconds: 0 });
    fleet.behaviour["ops"] = "unreachable";
    for (let index = 1; index <= atOnce / 2; index++) {
      fleet.goes(index, "not-ready", FLOOD);
      await fleet.pass(SECOND);
    }
    for (let index = 1; index <= atOnce / 2; index++) fleet.goes(index, "ready", FLOOD);
    await fleet.pass(10 * SECOND);
    fleet.goes(atOnce, "not-ready", FLOOD);
    await fleet.pass(SECOND);
    expect(fleet.notifications().list()).toMatchObject([{ waiting: atOnce }]);
    expect(new HeldBack(fleet.sql).list(FLEET_START_MS + fleet.now())).toMatchObject([{ who: "flood" }]);
  }));

it("an alert that waits changes its state, and then ends → it counts as dropped once it has ended", () =>
  withFleet(async (fleet) => {
    const dropped = () => fleet.notifications().list()[0]?.dropped;
    await fleet.add({ delaySeconds: 0 });
    for (let index = 1; index <= atOnce + 1; index++) {
      fleet.goes(index, "not-ready", FLOOD);
      await fleet.pass(SECOND);
    }
    fleet.goes(atOnce + 1, "silent", FLOOD);
    expect(dropped()).toBe(0);
    fleet.goes(atOnce + 1, "ready", FLOOD);
    expect(dropped()).toBe(1);
  }));

it("an outage of one network that begins and ends every ten seconds → the burst, then one message a minute", () =>
  withFleet(async (fleet) => {
    await fleet.add({ delaySeconds: 0 });
    for (let turn = 0; turn < 24; turn++) {
      for (const index of [20, 60])
        fleet.goes(index, turn % 2 === 0 ? "silent" : "ready", ofToken(`of-${index}`));
      await fleet.pass(5 * SECOND);
    }
    expect(fleet.deliveries.length).toBeLessThanOrEqual(atOnce + 2);
    expect(fleet.deliveries.flatMap(alertsOf).map(({ kind }) => kind)).not.toContain("machine");
  }));

it("twenty alerts about one token's machines, each repeated every five minutes → one message a minute", () =>
  withFleet(async (fleet) => {
    await fleet.add({ delaySeconds: 0, repeatMinutes: 5 });
    for (let index = 1; index <= 20; index++) {
      fleet.goes(index, "not-ready", FLOOD);
      await fleet.pass(15 * SECOND);
    }
    await fleet.pass(15 * MINUTE);
    expect(fleet.deliveries.length).toBeLessThanOrEqual(atOnce + 21);
    const repeated = fleet.deliveries.flatMap(alertsOf).filter(({ isRepeated }) => isRepeated);
    expect(new Set(repeated.map(({ name }) => name)).size).toBe(20);
  }));
