// Compares the results of a run with its limits. Returns text: a line for each limit, and the verdict as the last
// line.
import { memoryOf } from "../verdict.ts";
import { allowed, SHARED, type TokenLoad } from "./shares.ts";
import type { Cost } from "./traffic.ts";

export interface Plan {
  seed: number;
  machines: number;
  minutes: number;
  /** The number of acts after which each machine ends. Absent: the machine ends when the time has passed. */
  acts?: number | undefined;
}

export interface Outcomes {
  plan: Plan;
  /** A description of the run's apiserver: a real one or the embedded one. */
  apiserver: string;
  /** The number of each answer, by kind of act of hostile machines. */
  kinds: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** The changed Nodes, leases and other objects that do not belong to hostile machines. */
  othersChanged: readonly string[];
  /** The Worker's requests that are not about a machine's Node, lease or events. */
  elsewhere: readonly string[];
  beyondGrants: readonly string[];
  /** The answers of hostile machines to an operator's questions; `answersForged` has those that no asker may get. */
  answers: { ended: number; complete: number };
  answersForged: readonly string[];
  /** The number of marks of operators and agents on hostile machines' Nodes; `marksLost` has the lost marks. */
  marks: number;
  marksLost: readonly string[];
  /** The number of operators' changes; `auditLost` has the changes that the audit log lacks. */
  operatorActs: number;
  auditLost: readonly string[];
  /** The costs of the hostile machines. */
  costs: readonly Cost[];
  /** The average number of bytes written to etcd per hostile machine and hour. null if there was no etcd. */
  etcdBytesAnHour: number | null;
  /** The durations of honest machines' reports in milliseconds, before and during the attack. */
  honestBefore: readonly number[];
  honestDuring: readonly number[];
  /** The honest machines that were not Ready, or did not get a healthy machine's answer. */
  honestFaults: readonly string[];
  /** The 5xx answers and the requests without an answer, of any client. */
  failures: readonly string[];
  /** The values that the Worker accepted although they exceed a limit. */
  overLimits: readonly string[];
  /** The alerts about the fleet, which no machine alone may cause. The apiserver served the Worker all the time. */
  fleetAlerts: readonly string[];
  /** The machines whose history says that the Worker could not write to the apiserver. */
  unreachable: readonly string[];
  /** The number of deliveries to the receiver of all alerts. */
  deliveries: number;
  /** The time until an alert about an honest machine arrived, for each alert; `untold` has those that did not. */
  toldMs: readonly number[];
  untold: readonly string[];
  /** The number of lines that the fleet's history got; `historyLost` has the lost lines of honest machines. */
  historyLines: number;
  historyLost: readonly string[];
  /** The Nodes of each join token's machines, and the minutes in which they were made. */
  loads: readonly TokenLoad[];
  minutes: number;
  /** The bytes of each machine's node object in SQLite, by machine. */
  objectBytes: ReadonlyMap<string, number>;
  /** The memory of workerd in bytes, measured repeatedly. */
  residentBytes: readonly number[];
}

const MIB = 2 ** 20;
export const BOUNDS = {
  /** The limits of a machine's first minute: its own requests, and the requests of a removal by an operator. */
  firstMinuteRequests: 31,
  firstMinuteBytes: MIB,
  requestsAMinute: 25,
  bytesAnHour: 3 * MIB,
  /**
   * Bytes that are allowed once in addition: 128 KiB of saved budget, and a Node that became NotReady. Later budget
   * pays for that Node.
   */
  savedBytes: 192 * 1024,
  slowdown: 2,
  /**
   * Reports that take less than this number of milliseconds count as equally fast, because the computer has other
   * work.
   */
  unnoticedMs: 50,
  objectBytes: 4 * MIB,
} as const;

interface Line {
  text: string;
  isKept: boolean;
  /** The values that a reader must check if the limit is broken. */
  faults?: readonly string[];
}

/** Returns the 99th percentile of the durations; of less than 100, that is the longest. */
export function p99(durations: readonly number[]): number {
  const sorted = durations.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? 0;
}

export function isClean(outcomes: Outcomes): boolean {
  return lines(outcomes).every(({ isKept }) => isKept);
}

const SHOWN = 20;
const TEXT_LENGTH = 1000;

export function verdictText(outcomes: Outcomes): string {
  const { plan, apiserver } = outcomes;
  const judged = lines(outcomes);
  const broken = judged.filter(({ isKept }) => !isKept);
  const extent = plan.acts === undefined ? `--minutes ${plan.minutes}` : `--acts ${plan.acts}`;
  const again = `npm run hostile -- --as machine --machines ${plan.machines} ${extent} --seed ${plan.seed}`;
  return [
    ...kindLines(outcomes),
    ...machineLines(outcomes),
    `against ${apiserver}`,
    ...broken.flatMap(({ faults = [] }) => faults.slice(0, SHOWN).map((text) => text.slice(0, TEXT_LENGTH))),
    ...judged.map(({ text, isKept }) => `${isKept ? "kept  " : "BROKEN"}  ${text}`),
    broken.length === 0
      ? `clean: ${judged.length} limits kept`
      : `not clean: ${broken.length} broken; ${again}`,
    "",
  ].join("\n");
}

function lines(outcomes: Outcomes): Line[] {
  const { othersChanged, elsewhere, beyondGrants, answers, marks, marksLost, operatorActs, auditLost } =
    outcomes;
  const { honestFaults, failures, overLimits } = outcomes;
  return [
    none("other Nodes, leases and objects changed", othersChanged),
    none("requests elsewhere", elsewhere),
    none("beyond the machines' tokens", beyondGrants),
    none(
      `of ${answers.ended} answers to questions, ${answers.complete} of them complete, forged or endless ones`,
      outcomes.answersForged,
    ),
    none(`of ${marks} marks of others lost`, marksLost),
    none(`of ${operatorActs} operators' acts not in the audit log`, auditLost),
    none("over a limit and taken", overLimits),
    none("5xx or no answer", failures),
    none("honest machines not Ready or refused", honestFaults),
    none("alerts about the fleet", outcomes.fleetAlerts),
    none("states that blame the apiserver", outcomes.unreachable),
    toldLine(outcomes),
    none(`of ${outcomes.historyLines} lines of history, lost ones of honest machines`, outcomes.historyLost),
    slowdownLine(outcomes),
    ...costLines(outcomes),
    ...shareLines(outcomes),
    sizeLine(outcomes),
    memoryLine(outcomes),
  ];
}

function none(what: string, faults: readonly string[]): Line {
  return { text: `${what}: ${faults.length}`, isKept: faults.length === 0, faults };
}

function toldLine({ toldMs, untold }: Outcomes): Line {
  const longest = (Math.max(0, ...toldMs) / 1000).toFixed(1);
  const text = `alerts about an honest machine that did not arrive: ${untold.length} of ${untold.length + toldMs.length}, the others within ${longest} s`;
  return { text, isKept: untold.length === 0 && toldMs.length > 0, faults: untold };
}

function shareLines({ loads, deliveries, minutes }: Outcomes): Line[] {
  const [many, large] = [most(loads, ({ nodes }) => nodes), most(loads, ({ bytes }) => bytes)];
  const [nodes, bytes] = [many?.nodes ?? 0, large?.bytes ?? 0];
  const may = {
    nodes: Math.floor(allowed(SHARED.nodes, minutes)),
    bytes: allowed(SHARED.nodeBytes, minutes),
    deliveries: Math.floor(allowed(SHARED.deliveries, minutes)),
  };
  return [
    {
      text: `Nodes of a join token: ${nodes} (${many?.names}), at most ${may.nodes}`,
      isKept: nodes <= may.nodes,
    },
    {
      text: `bytes of a join token's Nodes: ${mib(bytes)} (${large?.names}), at most ${mib(may.bytes)}`,
      isKept: bytes <= may.bytes,
    },
    {
      text: `deliveries to a receiver: ${deliveries}, at most ${may.deliveries}`,
      isKept: deliveries <= may.deliveries,
    },
  ];
}

function slowdownLine({ honestBefore, honestDuring }: Outcomes): Line {
  const [before, during] = [p99(honestBefore), p99(honestDuring)];
  const ratio = during / Math.max(before, BOUNDS.unnoticedMs);
  const counts = `${honestBefore.length} and ${honestDuring.length} reports`;
  const text =
    `an honest machine's p99: ${before.toFixed(1)} ms before, ${during.toFixed(1)} ms during (${counts}), ` +
    `${(during / before).toFixed(1)} ×; at most ${BOUNDS.slowdown} ×, or ${BOUNDS.slowdown * BOUNDS.unnoticedMs} ms`;
  const isMeasured = honestBefore.length > 0 && honestDuring.length > 0;
  return { text, isKept: isMeasured && ratio <= BOUNDS.slowdown };
}

const mib = (bytes: number) => `${(bytes / MIB).toFixed(2)} MiB`;

function most<Item>(items: readonly Item[], value: (item: Item) => number): Item | undefined {
  return items.reduce<Item | undefined>(
    (so, item) => (so === undefined || value(item) > value(so) ? item : so),
    undefined,
  );
}

/**
 * Returns the lines about costs: the first minute against the saved budget, and later minutes against a rate, if
 * there was time to measure it.
 */
function costLines({ costs, etcdBytesAnHour }: Outcomes): Line[] {
  const burst = most(costs, ({ first }) => first.requests);
  const heavy = most(costs, ({ first }) => first.bytes);
  const busy = most(costs, ({ requestsAMinute }) => requestsAMinute);
  const large = most(costs, ({ bytesAnHour }) => bytesAnHour ?? -1);
  const [bytes, etcd] = [large?.bytesAnHour ?? null, etcdBytesAnHour];
  const of = (cost: Cost | undefined) => (cost ? ` (${cost.name})` : "");
  const limited = (
    what: string,
    value: number,
    limit: number,
    show: (value: number) => string,
    whose = "",
  ) => ({
    text: `${what}: ${show(value)}${whose}, at most ${show(limit)}`,
    isKept: value <= limit,
  });
  const unmeasured = (what: string): Line => ({
    text: `${what}: the run was too short to measure it`,
    isKept: true,
  });
  const { firstMinuteRequests, firstMinuteBytes, requestsAMinute } = BOUNDS;
  const whole = (value: number) => String(value);
  const names = {
    burst: "apiserver requests in a machine's first minute",
    heavy: "bytes kept in a machine's first minute",
    busy: "apiserver requests in a later minute of a machine",
    large: "bytes kept for a machine and hour",
    etcd: "bytes that etcd was given for a machine and hour, on average",
  };
  return [
    limited(names.burst, burst?.first.requests ?? 0, firstMinuteRequests, whole, of(burst)),
    limited(names.heavy, heavy?.first.bytes ?? 0, firstMinuteBytes, mib, of(heavy)),
    bytes === null
      ? unmeasured(names.busy)
      : limited(names.busy, busy?.requestsAMinute ?? 0, requestsAMinute, whole, of(busy)),
    bytes === null || !large ? unmeasured(names.large) : lasting(names.large, bytes, large),
    ...(etcd === null ? [] : [lasting(names.etcd, etcd, { name: "all", hours: meanHours(costs) })]),
  ];
}

/**
 * Returns a line about an hourly rate. The limit includes the saved budget, which is most of the cost of a short
 * run.
 */
function lasting(what: string, bytes: number, { name, hours }: Pick<Cost, "name" | "hours">): Line {
  const { bytesAnHour, savedBytes } = BOUNDS;
  const text = `${what}: ${mib(bytes)} (${name}), at most ${mib(bytesAnHour)} and ${mib(savedBytes)} once`;
  return { text, isKept: bytes <= bytesAnHour + savedBytes / hours };
}

const meanHours = (costs: readonly Cost[]) =>
  costs.reduce((sum, { hours }) => sum + hours, 0) / Math.max(1, costs.length);

function sizeLine({ objectBytes }: Outcomes): Line {
  const largest = most([...objectBytes], ([, bytes]) => bytes);
  const [name, bytes] = largest ?? ["none", 0];
  const text = `storage of a machine: ${mib(bytes)} (${name}), at most ${mib(BOUNDS.objectBytes)}`;
  return { text, isKept: largest !== undefined && bytes <= BOUNDS.objectBytes };
}

function memoryLine({ residentBytes }: Outcomes): Line {
  const { early, late, isFlat } = memoryOf(residentBytes);
  const text = `workerd's memory: ${Math.round(early / MIB)} → ${Math.round(late / MIB)} MiB`;
  return { text: isFlat ? text : `${text}, which is not flat`, isKept: isFlat };
}

/** Returns lines about the machines with the highest costs. */
function machineLines({ costs }: Outcomes): string[] {
  const costly = costs.toSorted(
    (a, b) => b.first.bytes + (b.bytesAnHour ?? 0) - a.first.bytes - (a.bytesAnHour ?? 0),
  );
  return costly.slice(0, SHOWN).map(({ name, first, requestsAMinute, bytesAnHour, ofKinds }) => {
    const parts = Object.entries(ofKinds).map(([kind, bytes]) => `${kind} ${mib(bytes)}`);
    const later =
      bytesAnHour === null
        ? ""
        : `, then at most ${requestsAMinute} a minute and ${mib(bytesAnHour)} an hour (${parts.join(", ")})`;
    return `${name}: ${first.requests} requests and ${mib(first.bytes)} in its first minute${later}`;
  });
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1);

function kindLines({ kinds }: Outcomes): string[] {
  const width = Math.max(0, ...[...kinds.keys()].map((kind) => kind.length));
  return [...kinds].toSorted(byName).map(([kind, answers]) => {
    const sorted = [...answers].toSorted(byName);
    return `${kind.padEnd(width)}  ${sorted.map(([answer, times]) => `${answer} × ${times}`).join(", ")}`;
  });
}
