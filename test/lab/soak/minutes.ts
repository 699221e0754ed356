// Formats a soak minute by minute: the events of machines and processes, as a line of text. Pure.
import type { MachinesReport } from "./fleet.ts";

const MIB = 2 ** 20;

/** The CPU time of processes. */
export interface Usage {
  /** The CPU time of workerd, of the machines, and of the apiserver with this program. */
  worker: number;
  machines: number;
  apiserver: number;
}

export interface Minute {
  onSocket: number;
  answers: number;
  p50Ms: number;
  p99Ms: number;
  longestMs: number;
  failures: number;
  lost: number;
  /** The number of late heartbeats. */
  late: number;
  /** The CPU time of the minute, in % of a core. */
  cpu: Usage;
  residentBytes: number;
  /**
   * The delay in milliseconds of the machines' own processes. If it is large, late answers are not the Worker's
   * fault.
   */
  lagMs: number;
}

/** Returns the value that `share` of the values do not exceed: 0.5 is the median. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

export interface MinuteParts {
  /** The machines' reports of the seconds of this minute. */
  reports: readonly MachinesReport[];
  late: number;
  seconds: number;
  /** The CPU time of the minute, in seconds. */
  used: Usage;
  residentBytes: number;
}

export function minuteOf({ reports, late, seconds, used, residentBytes }: MinuteParts): Minute {
  const sorted = Float64Array.from(reports.flatMap(({ answersMs }) => answersMs)).sort();
  const share = (cpuSeconds: number) => (100 * cpuSeconds) / seconds;
  return {
    onSocket: reports.at(-1)?.onSocket ?? 0,
    answers: sorted.length,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    longestMs: sorted.at(-1) ?? 0,
    failures: reports.reduce((sum, { failures }) => sum + failures.length, 0),
    lost: reports.reduce((sum, { ends }) => sum + ends.length, 0),
    late,
    cpu: {
      worker: share(used.worker),
      machines: share(used.machines),
      apiserver: share(used.apiserver),
    },
    residentBytes,
    lagMs: Math.max(0, ...reports.map(({ lagMs }) => lagMs)),
  };
}

export function minuteText(index: number, minute: Minute): string {
  const { cpu } = minute;
  return [
    `minute ${index}: ${minute.onSocket} on sockets`,
    `${minute.answers} answers (median ${minute.p50Ms} ms, p99 ${minute.p99Ms} ms, longest ${minute.longestMs} ms)`,
    ...(minute.failures > 0 ? [`${minute.failures} reports not taken`] : []),
    ...(minute.lost > 0 ? [`${minute.lost} sockets lost`] : []),
    ...(minute.late > 0 ? [`${minute.late} heartbeats late`] : []),
    `workerd ${Math.round(cpu.worker)} % of a core, ${Math.round(minute.residentBytes / MIB)} MiB`,
    `machines ${Math.round(cpu.machines)} %, late by ${Math.round(minute.lagMs)} ms`,
    `apiserver ${Math.round(cpu.apiserver)} %`,
  ].join("; ");
}
