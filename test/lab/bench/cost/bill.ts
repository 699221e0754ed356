// Computes the bill of fleets of any size from counts of small fleets. Pure.
import type { BilledCounts, ObjectCounts } from "../../../worker/support/billed-counts.ts";
import { type Billable, dollarsOf } from "./prices.ts";

/** 30.4 days. */
export const MONTH_HOURS = 30.4 * 24;
const HOUR_SECONDS = 3600;

/** Who causes the usage: each machine, each gateway, or the deployment once. */
export type Share = "machines" | "gateways" | "deployment";

/** Shares by class; the Worker's own requests by machines and by the clock are listed apart. */
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

/** Usage in an hour; stored bytes at its end. */
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
  /** Not billed. */
  subrequests: number;
}
export type Used = keyof HourlyUsage;

const NOTHING: HourlyUsage = {
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

/** Usage by the keys of SHARE_OF. */
export type UsageByKind = Readonly<Record<string, HourlyUsage>>;

export interface CountedFleet {
  machines: number;
  hours: number;
  counts: BilledCounts;
}

/** Usage of one gateway. Heartbeats overlap, and one alarm serves all machines. */
export interface GatewayRates {
  /** The share of the time in which it is awake. */
  awake: number;
  alarmsAnHour: number;
}

/** Counts of one transport of reports. */
export interface CountedTransport {
  /** Two sizes of a fleet, to separate fixed usage from usage per machine. */
  small: CountedFleet;
  large: CountedFleet;
  /** Machines per gateway. */
  gatewaySize: number;
  /** A gateway's fixed usage by its number of machines; absent: none. */
  gateways?: Readonly<Record<number, GatewayRates>>;
  /** True if the platform logs a line for each invocation. */
  hasInvocationLogs: boolean;
  /** The most CPU time of a request in the Worker, and the most time in its object. */
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

/** The fixed usage, and the usage that each machine adds. */
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

/** Returns the usage of this number of machines in an hour. */
export function usageAt(counted: CountedTransport, machines: number): UsageByKind {
  const kinds = Object.entries(linearUsage(counted)).map(([kind, { fixed, each }]) => {
    const share = shareOf(kind);
    // A gateway's alarm rings for any number of machines, so each gateway adds it.
    const times = share === "gateways" ? Math.ceil(machines / counted.gatewaySize) : 1;
    const usage = mapped(fixed, (used, once) => once * times + each[used] * machines);
    // The clock stood still while they computed.
    usage.awakeSeconds += (usage.objectRequests + usage.alarmsRung) * (counted.cpuMs / 1000);
    if (share === "gateways" && counted.gateways) Object.assign(usage, ofGateways(counted, machines));
    // The class has one object, which is awake all the time at most.
    if (share === "deployment") usage.awakeSeconds = Math.min(usage.awakeSeconds, HOUR_SECONDS);
    return [kind, usage];
  });
  return Object.fromEntries(kinds) as UsageByKind;
}

/** Without a gateway's CPU time: that is a hundredth of its waits, and mostly overlaps them. */
function ofGateways(counted: CountedTransport, machines: number): Partial<HourlyUsage> {
  const gateways = Math.ceil(machines / counted.gatewaySize);
  const each = machines / gateways;
  const rates = counted.gateways?.[each];
  if (!rates) throw new Error(`not measured: what a gateway of ${each} machines does`);
  const alarms = rates.alarmsAnHour * gateways;
  return { awakeSeconds: rates.awake * gateways * HOUR_SECONDS, alarmsSet: alarms, alarmsRung: alarms };
}

/** A line of the bill. */
export interface BillLine {
  what: string;
  /** Per machine and month. */
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

export function billOf(counted: CountedTransport, machines: number): BillLine[] {
  const usage = Object.entries(usageAt(counted, machines));
  return LINES.map(([what, billable, used, share]) => {
    const counts = usage.map(([kind, of]) => (share === undefined || shareOf(kind) === share ? of[used] : 0));
    const count = counts.reduce((sum, each) => sum + each, 0);
    const units = billable === "workerCpuMs" ? count * counted.cpuMs : count;
    const times = billable === "storedByteMonth" ? 1 : MONTH_HOURS;
    return { what, dollars: (dollarsOf(billable, units) * times) / machines };
  });
}

export function sumOf(bill: readonly BillLine[]): number {
  return bill.reduce((sum, { dollars }) => sum + dollars, 0);
}
