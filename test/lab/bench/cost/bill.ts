// Computes the bill of fleets of any size from counts of small fleets. Pure.
import type { BilledCounts, ObjectCounts } from "../../../worker/support/billed-counts.ts";
import { type Billable, dollarsOf } from "./prices.ts";

/** The hours of a month of 30.4 days. */
export const MONTH_HOURS = 30.4 * 24;
const HOUR_SECONDS = 3600;

/** The thing that a usage grows with: the number of machines, the number of gateways, or nothing (one deployment). */
export type Share = "machines" | "gateways" | "deployment";

/**
 * The share of each class of objects. Two further entries are no objects: requests of machines to the Worker itself,
 * and calls by the cron trigger.
 */
const SHARE_OF: Readonly<Record<string, Share>> = {
  Worker: "machines",
  Cron: "deployment",
  NodeObject: "machines",
  GatewayObject: "gateways",
  ClusterObject: "deployment",
  RegistryObject: "deployment",
  IndexObject: "deployment",
};

export function shareOf(kind: string): Share {
  const share = SHARE_OF[kind];
  if (!share) throw new Error(`whose is ${kind}?`);
  return share;
}

/** The usage of one hour; stored bytes are those at its end. */
export interface HourlyUsage {
  workerRequests: number;
  objectRequests: number;
  alarmsRung: number;
  messages: number;
  awakeSeconds: number;
  rowsWritten: number;
  alarmsSet: number;
  rowsRead: number;
  logLines: number;
  storedBytes: number;
  /** The number of requests that the Worker sends. The platform does not bill them. */
  subrequests: number;
}
export type Used = keyof HourlyUsage;

export const NOTHING: HourlyUsage = {
  workerRequests: 0,
  objectRequests: 0,
  alarmsRung: 0,
  messages: 0,
  awakeSeconds: 0,
  rowsWritten: 0,
  alarmsSet: 0,
  rowsRead: 0,
  logLines: 0,
  storedBytes: 0,
  subrequests: 0,
};

/** The usage by class; the keys are those of SHARE_OF. */
export type UsageByKind = Readonly<Record<string, HourlyUsage>>;

export interface CountedFleet {
  machines: number;
  hours: number;
  counts: BilledCounts;
}

/** The usage of one gateway, for its number of machines: heartbeats overlap, and one alarm serves all machines. */
export interface GatewayRates {
  /** The share of the time in which the gateway is awake, from 0 to 1. */
  awake: number;
  alarmsAnHour: number;
}

/** The usage that grows with the time of the apiserver's answers. */
export interface SlowerUsage {
  /** The milliseconds that the apiserver takes for an answer. */
  answersAfterMs: number;
  /** The milliseconds in which a machine's object is awake, in an hour. */
  machineAwakeMs: number;
  /** A gateway with the most machines that it can serve. Absent if there are no gateways. */
  gateway?: { machines: number; rates: GatewayRates };
}

/** The counts of one transport of reports. */
export interface CountedTransport {
  /** The counts of two fleet sizes. Their difference separates the usage per machine from the fixed usage. */
  small: CountedFleet;
  large: CountedFleet;
  /** The number of machines per gateway. */
  gatewaySize: number;
  /** The fixed usage of a gateway by its number of machines. Absent if there are no gateways. */
  gateways?: Readonly<Record<number, GatewayRates>>;
  /** The usage with slower answers of the apiserver. Absent in records without such a measurement. */
  slower?: readonly SlowerUsage[];
  /** true if the platform logs a line for each invocation. */
  hasInvocationLogs: boolean;
  /** The most CPU time of a request, in milliseconds: in the Worker, and again the same in a Durable Object. */
  cpuMs: number;
}

export function usageOf({ counts, hours }: CountedFleet, hasInvocationLogs: boolean): UsageByKind {
  const lines = (invocations: number) => (hasInvocationLogs ? invocations : 0);
  const { workerRequests, crons } = counts;
  const inAll: [string, Partial<HourlyUsage>][] = [
    ["Worker", { workerRequests, logLines: counts.logLines + lines(workerRequests) }],
    ["Cron", { workerRequests: crons, logLines: lines(crons) }],
    ...Object.entries(counts.objects).map(([kind, of]): [string, HourlyUsage] => [
      kind,
      usageOfObjects(of, lines),
    ]),
  ];
  return Object.fromEntries(
    inAll.map(([kind, usage]) => [
      kind,
      mapped({ ...NOTHING, ...usage }, (used, count) => (used === "storedBytes" ? count : count / hours)),
    ]),
  );
}

function usageOfObjects(counts: ObjectCounts, lines: (invocations: number) => number): HourlyUsage {
  const { requests, alarmsRung, messages, alarmsSet, awakeMs, rowsRead, rowsWritten } = counts;
  const { subrequests, storedBytes } = counts;
  const objectRequests = Object.values(requests).reduce((sum, each) => sum + each, 0);
  return {
    workerRequests: 0,
    objectRequests,
    alarmsRung,
    messages,
    awakeSeconds: awakeMs / 1000,
    rowsWritten,
    alarmsSet,
    rowsRead,
    logLines: lines(objectRequests + alarmsRung + messages),
    storedBytes,
    subrequests,
  };
}

function mapped(usage: HourlyUsage, of: (used: Used, count: number) => number): HourlyUsage {
  const entries = Object.entries(usage) as [Used, number][];
  return Object.fromEntries(
    entries.map(([used, count]) => [used, of(used, count)]),
  ) as unknown as HourlyUsage;
}

/** The fixed usage of a fleet, and the usage that each machine adds. */
export interface LinearUsage {
  fixed: HourlyUsage;
  each: HourlyUsage;
}

export function linearUsage(counted: CountedTransport): Readonly<Record<string, LinearUsage>> {
  const { small, large, hasInvocationLogs } = counted;
  const [few, many] = [usageOf(small, hasInvocationLogs), usageOf(large, hasInvocationLogs)];
  const more = large.machines - small.machines;
  const kinds = Object.keys(many).map((kind) => {
    const [of, ofMany] = [few[kind] ?? NOTHING, many[kind] ?? NOTHING];
    const ofOne = mapped(ofMany, (_, count) => count / large.machines);
    if (shareOf(kind) === "machines") return [kind, { fixed: NOTHING, each: ofOne }];
    const each = mapped(ofMany, (used, count) => Math.max(0, count - of[used]) / more);
    const fixed = mapped(of, (used, count) => Math.max(0, count - each[used] * small.machines));
    return [kind, { fixed, each }];
  });
  return Object.fromEntries(kinds) as Record<string, LinearUsage>;
}

/** Returns the usage of a fleet of this many machines in an hour. */
export function usageAt(counted: CountedTransport, machines: number): UsageByKind {
  const kinds = Object.entries(linearUsage(counted)).map(([kind, { fixed, each }]) => {
    const share = shareOf(kind);
    // Each gateway adds its own fixed usage, because its alarm rings for any number of machines.
    const times = share === "gateways" ? Math.ceil(machines / counted.gatewaySize) : 1;
    const usage = mapped(fixed, (used, once) => once * times + each[used] * machines);
    // The CPU time of the objects is added: the clock of the measurement stood still while they computed.
    usage.awakeSeconds += (usage.objectRequests + usage.alarmsRung) * (counted.cpuMs / 1000);
    if (share === "gateways" && counted.gateways) Object.assign(usage, ofGateways(counted, machines));
    // Each such class has one object in a deployment: the object is awake for the whole hour at most.
    if (share === "deployment") usage.awakeSeconds = Math.min(usage.awakeSeconds, HOUR_SECONDS);
    return [kind, usage];
  });
  return Object.fromEntries(kinds) as UsageByKind;
}

/**
 * Returns the fixed usage of all gateways. Their CPU time is left out: it is a hundredth of the gateways' waits, and
 * mostly overlaps the waits.
 */
function ofGateways(counted: CountedTransport, machines: number): Partial<HourlyUsage> {
  const gateways = Math.ceil(machines / counted.gatewaySize);
  const each = machines / gateways;
  const rates = counted.gateways?.[each];
  if (!rates) throw new Error(`not measured: what a gateway of ${each} machines does`);
  const alarms = rates.alarmsAnHour * gateways;
  return { awakeSeconds: rates.awake * gateways * HOUR_SECONDS, alarmsSet: alarms, alarmsRung: alarms };
}

/** Returns the counts with slower answers of the apiserver, for a fleet of this size. */
export function slowedDown(
  counted: CountedTransport,
  { machineAwakeMs, gateway }: SlowerUsage,
  machines: number,
): CountedTransport {
  const slowed = (fleet: CountedFleet): CountedFleet => {
    const { NodeObject, ...others } = fleet.counts.objects;
    if (!NodeObject) return fleet;
    const awakeMs = machineAwakeMs * fleet.machines * fleet.hours;
    return {
      ...fleet,
      counts: { ...fleet.counts, objects: { ...others, NodeObject: { ...NodeObject, awakeMs } } },
    };
  };
  const fleets = { small: slowed(counted.small), large: slowed(counted.large) };
  if (!gateway) return { ...counted, ...fleets };
  const gatewaySize = gateway.machines;
  const each = machines / Math.ceil(machines / gatewaySize);
  return { ...counted, ...fleets, gatewaySize, gateways: { [each]: gateway.rates } };
}

/** A line of the bill. */
export interface BillLine {
  what: string;
  /** The cost per machine and month, in dollars. */
  dollars: number;
}

const LINES: [what: string, billable: Billable, used: Used, share?: Share][] = [
  ["Worker requests", "workerRequest", "workerRequests"],
  ["Worker's CPU, at most", "workerCpuMs", "workerRequests"],
  ["requests to objects", "objectRequest", "objectRequests"],
  ["alarms that ring", "objectRequest", "alarmsRung"],
  ["messages of sockets", "message", "messages"],
  ["machines' objects awake", "awakeSecond", "awakeSeconds", "machines"],
  ["gateways awake", "awakeSecond", "awakeSeconds", "gateways"],
  ["the deployment's objects awake", "awakeSecond", "awakeSeconds", "deployment"],
  ["rows written", "rowWritten", "rowsWritten"],
  ["alarms that are set", "rowWritten", "alarmsSet"],
  ["rows read", "rowRead", "rowsRead"],
  ["lines of the log", "logEvent", "logLines"],
  ["storage", "storedByteMonth", "storedBytes"],
];

/** Returns the bill of a fleet. `only`: leaves out all usage but the usage that grows with this thing. */
export function billOf(counted: CountedTransport, machines: number, only?: Share): BillLine[] {
  const all = Object.entries(usageAt(counted, machines));
  const usage = only === undefined ? all : all.filter(([kind]) => shareOf(kind) === only);
  return LINES.map(([what, billable, used, share]) => {
    const counts = usage.map(([kind, of]) => (share === undefined || shareOf(kind) === share ? of[used] : 0));
    const count = counts.reduce((sum, each) => sum + each, 0);
    const units = billable === "workerCpuMs" ? count * counted.cpuMs : count;
    const times = billable === "storedByteMonth" ? 1 : MONTH_HOURS;
    return { what, dollars: (dollarsOf(billable, units) * times) / machines };
  });
}

/** Returns the cost of a usage, in dollars, without storage. */
export function dollarsOfUsage(usage: HourlyUsage, cpuMs: number): number {
  const lines = LINES.filter(([, , , share]) => share === undefined || share === "machines");
  const counted = lines.filter(
    ([, billable]) => billable !== "workerCpuMs" && billable !== "storedByteMonth",
  );
  const dollars = counted.map(([, billable, used]) => dollarsOf(billable, usage[used]));
  return dollars.reduce((sum, each) => sum + each, dollarsOf("workerCpuMs", cpuMs));
}

/** The prices of a fleet's parts, in dollars a month. Their sum is the bill of a fleet with full gateways. */
export interface PartPrices {
  once: number;
  eachMachine: number;
  /** The price of a gateway with `gatewaySize` machines; null if there are no gateways. */
  eachGateway: number | null;
}

/** Returns the prices of the parts of a fleet with `machines` machines, which is a multiple of the gateways' size. */
export function partPrices(counted: CountedTransport, machines: number): PartPrices {
  const total = (size: number, share: Share) => size * sumOf(billOf(counted, size, share));
  const more = total(machines, "deployment") - total(1, "deployment");
  return {
    once: total(1, "deployment"),
    eachMachine: (total(machines, "machines") + more) / machines,
    eachGateway: counted.gateways
      ? total(machines, "gateways") / Math.ceil(machines / counted.gatewaySize)
      : null,
  };
}

export function sumOf(bill: readonly BillLine[]): number {
  return bill.reduce((sum, { dollars }) => sum + dollars, 0);
}
