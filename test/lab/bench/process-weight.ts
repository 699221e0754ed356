// Measures memory and CPU time of idle processes. Reads both from /proc every few seconds.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { Progress } from "./benchmark.ts";
import { median } from "./rounds.ts";

/** Milliseconds after which each process has collected the garbage of its start, also the kubelet. */
const SETTLE_MS = 60_000;
const EVERY_MS = 5000;
/** sysconf(_SC_CLK_TCK), which is 100 on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;

export interface Weight {
  /** The medians of resident and anonymous memory, in MiB. */
  resident: number;
  anonymous: number;
  /**
   * The growth of anonymous memory in MiB: the median of the last third of the time minus the median of the first
   * third.
   */
  growth: number;
  /** The CPU time of the process, in % of a core. */
  cpu: number;
}

interface Sample {
  atMs: number;
  residentKiB: number;
  anonymousKiB: number;
  cpuSeconds: number;
}

/**
 * Measures all processes in the same minutes, because a computer's load changes. Returns their weights by the given
 * names.
 */
export async function weigh(
  pids: ReadonlyMap<string, number>,
  minutes: number,
  progress: Progress,
): Promise<Map<string, Weight>> {
  await wait(Math.min(SETTLE_MS, minutes * 60_000));
  const samples = new Map([...pids.keys()].map((name): [string, Sample[]] => [name, []]));
  const endMs = performance.now() + minutes * 60_000;
  for (;;) {
    for (const [name, pid] of pids) samples.get(name)?.push(sample(pid));
    const leftMs = endMs - performance.now();
    if (leftMs <= 0) break;
    progress(`${Math.ceil(leftMs / 60_000)} of ${minutes} min to go`);
    await wait(Math.min(EVERY_MS, leftMs));
  }
  return new Map([...samples].map(([name, taken]) => [name, weightOf(taken)]));
}

function sample(pid: number): Sample {
  const memory = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(memory)?.[1]);
  return {
    atMs: performance.now(),
    residentKiB: kib("Rss"),
    anonymousKiB: kib("Anonymous"),
    cpuSeconds: cpuSecondsOf(pid),
  };
}

/** Returns the CPU time of all threads of a process since its start, in seconds. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The two numbers are utime and stime. The process name before them may contain blanks.
  const [utime, stime] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return ((utime ?? Number.NaN) + (stime ?? Number.NaN)) / TICKS_PER_SECOND;
}

/**
 * Returns the CPU time of a process's present threads, exact to the nanosecond; `cpuSecondsOf` counts in ticks of
 * 10 ms. Linux only.
 */
export function cpuMicrosecondsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = threads.map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]),
  );
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1000;
}

function weightOf(samples: Sample[]): Weight {
  const [first, last] = [samples[0], samples.at(-1)] as [Sample, Sample];
  const third = Math.ceil(samples.length / 3);
  const anonymous = (some: Sample[]) => median(some.map(({ anonymousKiB }) => anonymousKiB)) / 1024;
  return {
    resident: median(samples.map(({ residentKiB }) => residentKiB)) / 1024,
    anonymous: anonymous(samples),
    growth: anonymous(samples.slice(-third)) - anonymous(samples.slice(0, third)),
    cpu: ((last.cpuSeconds - first.cpuSeconds) / ((last.atMs - first.atMs) / 1000)) * 100,
  };
}
