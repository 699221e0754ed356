import { describe, expect, it, test } from "vitest";
import type { BilledCounts, ObjectCounts } from "../../../worker/support/billed-counts.ts";
import {
  billOf,
  type CountedTransport,
  MONTH_HOURS,
  partPrices,
  slowedDown,
  sumOf,
  usageAt,
  usageOf,
} from "./bill.ts";
import { dollarsOf } from "./prices.ts";

const NONE: ObjectCounts = {
  requests: {},
  messages: 0,
  alarmsSet: 0,
  alarmsRung: 0,
  rowsRead: 0,
  rowsWritten: 0,
  awakeMs: 0,
  subrequests: 0,
  objects: 0,
  storedBytes: 0,
};

/**
 * Returns the counts of an hour. Each machine reports 300 times, and its node object calls the cluster object,
 * which is awake, 12 times.
 */
function anHour(machines: number, more: Record<string, Partial<ObjectCounts>> = {}): BilledCounts {
  const objects = {
    NodeObject: {
      ...NONE,
      requests: { report: 300 * machines },
      awakeMs: 15_000 * machines,
      storedBytes: 1000 * machines,
    },
    ClusterObject: {
      ...NONE,
      requests: { standing: 12 * machines, watchNodes: 12 },
      alarmsSet: 13,
      alarmsRung: 13,
      // The object is awake for nearly the whole hour. It sleeps less with more machines: that difference is noise.
      awakeMs: 3_599_000 + 10 * machines,
    },
    ...Object.fromEntries(Object.entries(more).map(([kind, of]) => [kind, { ...NONE, ...of }])),
  };
  return { workerRequests: 300 * machines, crons: 12, logLines: 0, objects };
}

const fleet = (machines: number, more?: Record<string, Partial<ObjectCounts>>) => ({
  machines,
  hours: 1,
  counts: anHour(machines, more),
});
const overHttp: CountedTransport = {
  small: fleet(1),
  large: fleet(11),
  gatewaySize: 500,
  hasInvocationLogs: false,
  cpuMs: 0,
};

describe("a fleet of another size", () => {
  it.each([1, 11, 10_000])(
    "%i machines → a machine's own share times the number, the rest once",
    (machines) => {
      const usage = usageAt(overHttp, machines);
      expect(usage["Worker"]).toMatchObject({ workerRequests: 300 * machines });
      expect(usage["Cron"]).toMatchObject({ workerRequests: 12 });
      expect(usage["NodeObject"]).toMatchObject({
        awakeSeconds: 15 * machines,
        storedBytes: 1000 * machines,
      });
      expect(usage["ClusterObject"]).toMatchObject({ objectRequests: 12 * machines + 12, alarmsSet: 13 });
    },
  );

  it("an object that exists once → awake all the time at most", () => {
    expect(usageAt(overHttp, 10_000)["ClusterObject"]?.awakeSeconds).toBe(3600);
  });

  it("CPU time of requests → the object is awake that much longer", () => {
    const { NodeObject } = usageAt({ ...overHttp, cpuMs: 2 }, 10);
    expect(NodeObject?.awakeSeconds).toBeCloseTo(150 + 3000 * 0.002, 9);
  });
});

describe("gateways", () => {
  const beats = (machines: number) => ({
    GatewayObject: { messages: 300 * machines, alarmsRung: 100 + 10 * machines, awakeMs: 15_000 * machines },
  });
  const bySocket: CountedTransport = {
    ...overHttp,
    small: fleet(1, beats(1)),
    large: fleet(11, beats(11)),
    gateways: {
      1: { awake: 0.004, alarmsAnHour: 110 },
      100: { awake: 0.4, alarmsAnHour: 120 },
      500: { awake: 0.9, alarmsAnHour: 120 },
    },
  };

  it.each([
    [1, { messages: 300, alarmsRung: 110, awakeSeconds: 0.004 * 3600 }],
    [100, { messages: 30_000, alarmsRung: 120, awakeSeconds: 0.4 * 3600 }],
    [10_000, { messages: 3_000_000, alarmsRung: 20 * 120, awakeSeconds: 20 * 0.9 * 3600 }],
  ])(
    "%i machines → enough gateways to hold them, each with the time and the alarms of an equally full one",
    (machines, usage) => {
      expect(usageAt(bySocket, machines)["GatewayObject"]).toMatchObject(usage);
    },
  );

  it("a size that was not measured → refused", () => {
    expect(() => usageAt(bySocket, 250)).toThrow("not measured: what a gateway of 250 machines does");
  });

  it("with machines that report by HTTP → still awake for their upkeep, as many as would hold them", () => {
    const cared = { GatewayObject: { requests: { care: 60 } } };
    const usage = usageAt({ ...overHttp, small: fleet(1, cared), large: fleet(11, cared), cpuMs: 1 }, 10_000);
    expect(usage["GatewayObject"]).toMatchObject({ objectRequests: 1200, awakeSeconds: 1.2 });
  });
});

test("the platform logs each invocation → a line for the Worker and one for the object", () => {
  const usage = usageOf(fleet(1), true);
  expect([usage["Worker"]?.logLines, usage["NodeObject"]?.logLines]).toEqual([300, 300]);
  expect(usageOf(fleet(1), false)["NodeObject"]?.logLines).toBe(0);
});

test("an unknown class → an error that asks for its share", () => {
  expect(() => usageAt({ ...overHttp, large: fleet(11, { NewObject: {} }) }, 1)).toThrow(
    "whose is NewObject?",
  );
});

describe("a bill", () => {
  it("of requests and of an object that is awake all month", () => {
    const lines = new Map(billOf(overHttp, 1).map(({ what, dollars }) => [what, dollars]));
    expect(lines.get("Worker requests")).toBeCloseTo((312 * MONTH_HOURS * 0.3) / 1e6, 9);
    expect(lines.get("the deployment's objects awake")).toBeCloseTo((3599.01 * MONTH_HOURS * 1.6) / 1e6, 6);
    expect(lines.get("storage")).toBeCloseTo((1000 * 0.2) / 1e9, 12);
  });

  it("per machine: fixed costs are shared", () => {
    const [alone, many] = [1, 10_000].map((machines) => sumOf(billOf(overHttp, machines)));
    expect(alone! - many!).toBeGreaterThan(4);
  });

  it.each([
    ["message", 20, "objectRequest", 1],
    ["awakeSecond", 1 / 0.128 / 12.5, "rowWritten", 1],
  ] as const)("%s: %d are as much as of %s %d", (billable, count, other, otherCount) => {
    expect(dollarsOf(billable, count)).toBeCloseTo(dollarsOf(other, otherCount), 12);
  });
});

describe("the prices of a fleet's parts", () => {
  it("over HTTP → once and each machine add up to the bill", () => {
    const { once, eachMachine, eachGateway } = partPrices(overHttp, 10_000);
    expect(eachGateway).toBeNull();
    for (const machines of [1, 100, 10_000])
      expect(once + eachMachine * machines).toBeCloseTo(machines * sumOf(billOf(overHttp, machines)), 2);
  });

  it("over sockets → each begun gateway is paid as a full one", () => {
    const rates = { awake: 0.9, alarmsAnHour: 360 };
    const gateway = { GatewayObject: { alarmsRung: 100, messages: 3000 } };
    const fleets = { small: fleet(1, gateway), large: fleet(11, gateway) };
    const overSockets = { ...overHttp, ...fleets, gateways: { 500: rates, 1: rates } };
    const { once, eachMachine, eachGateway } = partPrices(overSockets, 10_000);
    const total = once + eachMachine * 10_000 + (eachGateway ?? 0) * 20;
    expect(total).toBeCloseTo(10_000 * sumOf(billOf(overSockets, 10_000)), 2);
  });
});

describe("slower answers of the apiserver", () => {
  const slower = { answersAfterMs: 300, machineAwakeMs: 90_000 };

  it("over HTTP → only the machines' objects are awake for longer", () => {
    const at = slowedDown(overHttp, slower, 10_000);
    const awake = (of: CountedTransport) => usageAt(of, 10_000)["NodeObject"]!.awakeSeconds;
    expect([awake(overHttp), awake(at)]).toEqual([150_000, 900_000]);
    expect(usageAt(at, 10_000)["ClusterObject"]).toEqual(usageAt(overHttp, 10_000)["ClusterObject"]);
  });

  it("over sockets → a gateway has fewer machines", () => {
    const rates = { awake: 1, alarmsAnHour: 360 };
    const gateway = { GatewayObject: {} };
    const overSockets = {
      ...overHttp,
      small: fleet(1, gateway),
      large: fleet(11, gateway),
      gateways: { 500: rates },
    };
    const at = slowedDown(overSockets, { ...slower, gateway: { machines: 116, rates } }, 10_000);
    const awake = (of: CountedTransport) => usageAt(of, 10_000)["GatewayObject"]!.awakeSeconds;
    // 10,000 machines have 20 gateways of 500 machines, or 87 of 116.
    expect([awake(overSockets), awake(at)]).toEqual([20 * 3600, 87 * 3600]);
  });
});
