// Makes a machine and a Worker for the loop's tests: a test sets the machine's vitals, and reads the Worker's
// requests.
import { defaultConfiguration } from "../../../node-shim/config/config.ts";
import { type Loop, type LoopDependencies, startLoop } from "../../../node-shim/loop/loop.ts";
import type { Seen } from "../../../node-shim/machine/machine.ts";
import { gatewayPace } from "../../../node-shim/worker-link/pace.ts";
import type { ReportOutcome } from "../../../node-shim/worker-link/reporter.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Problems } from "../../../shared/protocol/problems.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import type { Settings } from "../../../shared/protocol/settings.ts";
import type { ReportAnswer } from "../../../shared/protocol/answers.ts";
import { fakeClock, settle } from "../base/fake-clock.ts";

export const GiB = 2 ** 30;
export const ROOMY: Vitals["signals"] = { "memory.available": [GiB, 2 * GiB] };
/** Vitals with less available memory than the default threshold of 100Mi. */
export const TIGHT: Vitals["signals"] = { "memory.available": [2 ** 20, 2 * GiB] };

export const ok = (answer: Partial<ReportAnswer> = {}): ReportOutcome => ({
  ok: true,
  value: { phase: "registered", ready: true, ticket: "t", reportInMs: 9600, ...answer },
});
export const refused = (status: number, retryAfterMs?: number): ReportOutcome => ({
  ok: false,
  error: {
    reason: "refused",
    problem: { type: "about:blank", status, title: "Refused", detail: "Do this.", reason: "unauthenticated" },
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  },
});
export const failed = (message = "refused", retryAfterMs?: number): ReportOutcome => ({
  ok: false,
  error: { reason: "failed", message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
});

export const late = (): ReportOutcome => ({
  ok: false,
  error: { reason: "failed", message: "no answer within 9 s", isLate: true },
});

/** The situation at the start. `random` is 1 by default. */
/** The facts after a problem detector's first event. */
export const PROBLEMS: Problems = {
  start: "start",
  events: [{ n: 1, type: "Warning", reason: "OOMKilling", message: "Killed process 7" }],
};

export interface Situation {
  settings?: Partial<Settings>;
  random?: number;
  /** The Worker's answers, in this order. The last one stays. */
  answers?: ReportOutcome[];
  /** The vitals at the start. */
  vitals?: Vitals;
}

export function machineWithLoop(situation: Situation = {}) {
  const { settings = {}, random = 1, answers = [ok()] } = situation;
  const clock = fakeClock();
  const startedMs = clock.nowMs();
  const stop = new AbortController();
  const reports: { atMs: number; vitals: Vitals }[] = [];
  const lines: string[] = [];
  let vitals: Vitals = situation.vitals ?? { signals: ROOMY };
  let runtime: Facts["runtime"] = null;
  let problems: Facts["problems"];
  let dropIns: Facts["dropIns"] = null;
  let reconnects = 0;
  let ask = () => {};
  let holding: Promise<void> | null = null;
  let underWay = 0;
  const pace = gatewayPace(clock.nowMs);
  const dependencies: LoopDependencies = {
    gather: async () => ({ facts: { runtime, problems, dropIns } as Facts, vitals }),
    report: async (_facts, reported) => {
      if (++underWay > 1) throw new Error("two requests at a time");
      pace.note();
      reports.push({ atMs: clock.nowMs() - startedMs, vitals: reported });
      const answer = answers[Math.min(reports.length, answers.length) - 1] as ReportOutcome;
      await holding;
      underWay--;
      return answer;
    },
    settings: { hostname: "edge-1", ...defaultConfiguration(), ...settings },
    clock,
    stop: stop.signal,
    random: () => random,
    pace,
    reconnect: () => reconnects++,
    listen: (asked) => void (ask = asked),
    log: (level, message) => lines.push(`${level} ${message}`),
  };
  const loop: Loop = startLoop(dependencies);
  return {
    clock,
    loop,
    stop,
    reports,
    lines,
    reconnects: () => reconnects,
    /** Returns the times of the reports, in milliseconds since the start. */
    times: () => reports.map(({ atMs }) => atMs),
    /** Sets the vitals that reports have from now on. */
    is: (now: Vitals, hasRuntime = false, hasProblems = false, hasDropIns = true) => {
      vitals = now;
      runtime = hasRuntime ? { name: "containerd", version: "2.1.0" } : null;
      problems = hasProblems ? PROBLEMS : undefined;
      dropIns = hasDropIns ? null : undefined;
    },
    /** Makes the Worker request a report. */
    asks: async () => {
      ask();
      await settle();
    },
    /** Passes vitals to the loop, as a probe does. */
    sees: async (seen: Seen) => {
      loop.see(seen);
      await settle();
    },
    /** Holds the answers to reports until the returned function is called. */
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      holding = promise;
      return async () => {
        holding = null;
        resolve();
        await settle();
      };
    },
    end: async () => {
      stop.abort();
      await loop.done;
    },
  };
}
