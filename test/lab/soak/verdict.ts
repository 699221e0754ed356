// Compares the results of a soak with its limits. Pure.
import type { Finding } from "./finding.ts";
import type { LateLease, LeaseSummary } from "./lease-watch.ts";
import { quantile } from "./minutes.ts";

/** A sample of the memory of one process of workerd. */
export interface MemorySample {
  /** Milliseconds since all machines were on sockets, or since the process was started again. */
  ageMs: number;
  residentBytes: number;
}

export interface Return {
  /** The time at which each machine had a socket again, in milliseconds after workerd's return. */
  afterMs: number[];
  machines: number;
}

/** A trial at half time, and the machines' return after it. */
export interface Tried {
  trial: string;
  beganMs: number;
  endMs: number;
  /** The number of machines on sockets `backAfterMs` after the end. */
  onSocket: number;
  backAfterMs: number;
  /** The result of leastGoodput (spans.ts); null if workerd was not slowed. */
  goodput: number | null;
}

export interface SoakObserved {
  machines: number;
  /** true if etcd and the kube-apiserver are real. Only then workerd's CPU time has a limit. */
  isReal: boolean;
  leases: LeaseSummary;
  /** The reasons of lost sockets, without the sockets that ended with workerd. */
  lostSockets: readonly string[];
  /** The samples of memory, by process of workerd. */
  memory: readonly (readonly MemorySample[])[];
  /** The machines' return after workerd was killed. null if workerd was not killed. */
  returned: Return | null;
  /** null without a trial. */
  tried: Tried | null;
  /** The counts while no process was started again. */
  steady: { answers: number; seconds: number; workerCpuSeconds: number };
}

export const SOAK_BOUNDS = {
  /** The duration of a lease in milliseconds. */
  leaseMs: 40_000,
  /** Milliseconds after which memory must be flat. */
  settledMs: 600_000,
  /** The shortest time of flat memory that allows a verdict, in milliseconds. */
  judgedMs: 120_000,
  /** The largest allowed difference of the memory from its median, up or down, as a share of the median. */
  memory: 0.03,
  returnedMs: 60_000,
  /** The least goodput while workerd is slowed. */
  goodput: 0.8,
  /** The limit of workerd's CPU time for each machine, in % of a core: 40 % for three thousand machines. */
  workerCpu: 40 / 3000,
} as const;

const MIB = 2 ** 20;
const MINUTE_MS = 60_000;
const BUCKET_MS = 5000;

export function soakFindings(observed: SoakObserved): Finding[] {
  const { leases, lostSockets, memory, returned, machines, steady, isReal, tried } = observed;
  const share = (100 * steady.workerCpuSeconds) / steady.seconds;
  const each = (1000 * steady.workerCpuSeconds) / steady.answers;
  return [
    ...(isReal && !tried ? [expiryFinding(leases)] : []),
    {
      text: `heartbeats late by more than a beat: ${leases.late.length} (${leases.renewals} of ${leases.leases} machines; the longest time between two ${seconds(leases.longestMs)})`,
      // A real etcd on the same computer is busier than the Worker, so heartbeats may be late then: only the leases
      // must not expire.
      isKept: isReal || tried ? null : leases.late.length === 0 && leases.leases === machines,
      faults: tried ? [] : leases.late.map(lateText),
    },
    { text: `sockets lost: ${lostSockets.length}`, isKept: lostSockets.length === 0, faults: lostSockets },
    ...(tried ? trialFindings(tried, observed) : []),
    ...memory.map(memoryFinding),
    ...(returned ? [returnFinding(returned)] : []),
    {
      text: `workerd, while nothing was started again: ${share.toFixed(1)} % of a core, ${each.toFixed(2)} ms for each of ${steady.answers} answers`,
      isKept: isReal ? share <= SOAK_BOUNDS.workerCpu * machines : null,
    },
  ];
}

const lateText = ({ name, gapMs, sinceMs }: LateLease) =>
  `${name}: ${seconds(gapMs)} from ${new Date(sinceMs).toISOString()} on`;

function trialFindings(
  { trial, beganMs, endMs, onSocket, backAfterMs, goodput }: Tried,
  { leases: { late, longestMs }, machines }: SoakObserved,
): Finding[] {
  const { leaseMs, returnedMs } = SOAK_BOUNDS;
  // Gaps that began before the end belong to the trial, which may last longer than a lease.
  const afterwards = late.filter(({ gapMs, sinceMs }) => sinceMs >= endMs && gapMs >= leaseMs);
  return [
    ...(goodput === null ? [] : [goodputFinding(goodput)]),
    {
      text: `after ${trial}: ${onSocket} of ${machines} on sockets again after ${seconds(backAfterMs)}`,
      isKept: onSocket >= machines && backAfterMs <= returnedMs,
    },
    {
      text: `leases that expired after ${trial}: ${afterwards.length}`,
      isKept: afterwards.length === 0,
      faults: afterwards.map(lateText),
    },
    {
      text: `the longest time between two heartbeats is ${seconds(longestMs)}; the trial lasted ${seconds(endMs - beganMs)}`,
      isKept: longestMs <= endMs - beganMs + leaseMs,
    },
  ];
}

function goodputFinding(goodput: number): Finding {
  const least = SOAK_BOUNDS.goodput;
  const percent = (share: number) => `${Math.floor(100 * share)} %`;
  return {
    text: `reports taken and leases renewed in any 40 s: ${percent(goodput)} of what workerd's CPU time was enough for, or more; at least ${percent(least)}`,
    isKept: goodput >= least,
  };
}

function expiryFinding({ longestMs, leases }: LeaseSummary): Finding {
  const isKept = leases > 0 && longestMs < SOAK_BOUNDS.leaseMs;
  const [longest, most] = [longestMs, SOAK_BOUNDS.leaseMs].map(seconds);
  return {
    text: `leases that ran out: the longest time between two renewals is ${longest} of ${most}`,
    isKept,
  };
}

/** Compares the medians of each minute: a single sample may come before or after a garbage collection. */
function memoryFinding(samples: readonly MemorySample[]): Finding {
  const settled = samples.filter(({ ageMs }) => ageMs >= SOAK_BOUNDS.settledMs);
  const byMinute = Map.groupBy(settled, ({ ageMs }) => Math.floor(ageMs / MINUTE_MS));
  const medians = [...byMinute.values()].map((some) => median(some.map((each) => each.residentBytes)));
  const forMs = (settled.at(-1)?.ageMs ?? 0) - (settled[0]?.ageMs ?? 0);
  if (forMs < SOAK_BOUNDS.judgedMs) {
    const [first, last] = [samples[0], samples.at(-1)].map((each) => mib(each?.residentBytes ?? 0));
    return { text: `memory of workerd after 10 minutes: ${first} → ${last} until then`, isKept: null };
  }
  const middle = median(medians);
  const [least, most] = [Math.min(...medians), Math.max(...medians)];
  const percent = (bytes: number) => `${((bytes / middle - 1) * 100).toFixed(1)} %`;
  return {
    text: `memory of workerd after 10 minutes: ${mib(middle)}, ${percent(least)} to +${percent(most)}, in ${medians.length} minutes`,
    isKept: Math.max(middle - least, most - middle) <= SOAK_BOUNDS.memory * middle,
  };
}

function returnFinding({ afterMs, machines }: Return): Finding {
  const last = Math.max(0, ...afterMs);
  const buckets = Array.from({ length: Math.floor(last / BUCKET_MS) + 1 }, (_, bucket) => {
    const count = afterMs.filter((ms) => Math.floor(ms / BUCKET_MS) === bucket).length;
    return `${(bucket * BUCKET_MS) / 1000} s: ${count}`;
  });
  return {
    text: `all on sockets again: ${afterMs.length} of ${machines}, the last one after ${seconds(last)}; from … on: ${buckets.join(", ")}`,
    isKept: afterMs.length >= machines && last <= SOAK_BOUNDS.returnedMs,
  };
}

const median = (some: readonly number[]) =>
  quantile(
    some.toSorted((a, b) => a - b),
    0.5,
  );
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const mib = (bytes: number) => `${Math.round(bytes / MIB)} MiB`;
