// Runs a soak: many machines over sockets for a long time, against a made-up apiserver or a real one. Real:
// workerd, the Worker, the shim's reporter and sockets, TCP. Simulated: the machines' facts, and that one process
// runs thousands of machines.
import { setTimeout as wait } from "node:timers/promises";
import { filesLack as lackOfFiles, lackText, openFiles } from "../../../infra/local/open-files.ts";
import { type Counted, countedIn, countedText } from "./counted.ts";
import { type MachinesReport, type SoakFleet, startFleet } from "./fleet.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { inMadeUpPlace, raisedOpenFiles } from "./made-up-place.ts";
import { minuteOf, minuteText, type Usage } from "./minutes.ts";
import type { ApiserverTrouble, SoakPlace, SoakWorker } from "./place.ts";
import { inRealPlace } from "./real-place.ts";
import { inTunnelPlace } from "./tunnel-place.ts";
import { counted, leastGoodput, type Span, SPAN_MS, spanOf, spanText } from "./spans.ts";
import type { MemorySample, Return, SoakObserved, Tried } from "./verdict.ts";

export interface SoakPlan {
  machines: number;
  minutes: number;
  /** true to kill workerd at half time, and to start it again. */
  reconnect: boolean;
  /** true to use a real etcd and kube-apiserver. */
  real: boolean;
  /** true to use a real apiserver behind a Tunnel and Access. The Tunnel restarts each minute. */
  tunnel: boolean;
  /** true to let all machines enrol at once, each as a shim does. */
  atOnce: boolean;
  /** The trial at half time: workerd is slowed to a tenth, or the apiserver is in trouble. null for none. */
  trial: Trial | null;
}

export type Trial = "slowed" | ApiserverTrouble;
/** Milliseconds of a trial. */
const TRIAL_MS = { slowed: 120_000, apiserver: 60_000 } as const;

/** The functions that print a soak's lines of text. */
export interface SoakOutput {
  /** Prints a line that stays. */
  say: (line: string) => void;
  /** Prints a line that the next line overwrites. */
  show: (text: string) => void;
}

/** The maximum number of machines of one process. A process with ten thousand machines would be too busy. */
const MACHINES_OF_PROCESS = 5000;
const TICK_MS = 1000;
/** Milliseconds between two lines about the machines' enrolment. */
const SAY_EVERY_MS = 15_000;
/** Milliseconds between the last machine's socket and the measurement: in this time the first leases are lent. */
const SETTLE_MS = 20_000;
const MINUTE_MS = 60_000;

export async function runSoak(plan: SoakPlan, output: SoakOutput, stop: AbortSignal): Promise<SoakObserved> {
  const leases = new LeaseWatch();
  const inPlace = plan.tunnel ? inTunnelPlace : plan.real ? inRealPlace : inMadeUpPlace;
  const lack = filesLack(plan, plan.real ? openFiles() : raisedOpenFiles());
  if (lack !== null) throw new Error(lack);
  return inPlace(plan.machines, leases, async (place) => {
    const failed = new AbortController();
    const fleet = startFleet(wishesOf(plan, place.worker), (why) => failed.abort(new Error(why)));
    const signal = AbortSignal.any([stop, place.died, failed.signal]);
    const soak = new Soak({ ...place, plan, output, signal, leases, fleet });
    return soak
      .run()
      .catch((error: unknown) => {
        // The signal's reason is thrown because an aborted wait rejects with a general AbortError.
        throw signal.aborted ? signal.reason : error;
      })
      .finally(fleet.stop);
  });
}

/**
 * The number of files that workerd has open with --reconnect. `machine`: for each machine's socket, and for its HTTP
 * connection after the kill. `others`: for the databases of the objects that wake.
 */
const RECONNECTING = { machine: 4, others: 12_000 } as const;

/** Returns why workerd may have too few files open for this number of machines. null if it may have enough. */
export function filesLack({ machines, reconnect }: SoakPlan, open: number): string | null {
  if (!reconnect) return lackOfFiles(machines, open, "--machines");
  const most = Math.max(0, Math.floor((open - RECONNECTING.others) / RECONNECTING.machine));
  return machines <= most ? null : lackText(open, "--machines", most);
}

function wishesOf({ machines, atOnce }: SoakPlan, { url, joinToken }: SoakWorker) {
  const processes = Math.ceil(machines / MACHINES_OF_PROCESS);
  const share = Math.ceil(machines / processes);
  return Array.from({ length: processes }, (_, at) => ({
    url,
    joinToken,
    from: at * share + 1,
    to: Math.min(machines, (at + 1) * share),
    isAtOnce: atOnce,
  }));
}

interface SoakParts extends SoakPlace {
  plan: SoakPlan;
  output: SoakOutput;
  signal: AbortSignal;
  leases: LeaseWatch;
  fleet: SoakFleet;
}

class Soak {
  readonly #in: SoakParts;
  readonly #memory: MemorySample[][] = [];
  readonly #lost: string[] = [];
  readonly #steady = { answers: 0, seconds: 0, workerCpuSeconds: 0 };
  #returned: Return | null = null;
  #tried: Tried | null = null;
  #minute = 0;
  #late = 0;
  #counted: Counted = new Map();

  constructor(parts: SoakParts) {
    this.#in = parts;
  }

  async run(): Promise<SoakObserved> {
    const { plan, output, leases, signal } = this.#in;
    const { machines, minutes, reconnect, trial } = plan;
    const beganMs = performance.now();
    await untilAllOnSockets(this.#in, machines);
    output.say(`${machines} machines on sockets after ${elapsed(beganMs)} s`);
    await wait(SETTLE_MS, undefined, { signal });
    this.#in.fleet.take();
    this.#counted = countedIn(await this.#in.worker.metrics());
    leases.begin(Date.now());
    const half = reconnect || trial ? minutes / 2 : minutes;
    await this.#watch(half * MINUTE_MS);
    if (reconnect) await this.#reconnect();
    if (trial) await this.#try(trial);
    if (reconnect || trial) await this.#watch((minutes - half) * MINUTE_MS);
    return {
      machines,
      isReal: plan.real,
      leases: leases.end(Date.now()),
      lostSockets: this.#lost,
      memory: this.#memory,
      returned: this.#returned,
      tried: this.#tried,
      steady: this.#steady,
    };
  }

  /** Measures the machines and the Worker for `forMs`. No process is started or killed in that time. */
  async #watch(forMs: number): Promise<void> {
    const memory: MemorySample[] = [];
    this.#memory.push(memory);
    const beganMs = performance.now();
    while (performance.now() - beganMs < forMs) {
      const leftMs = forMs - (performance.now() - beganMs);
      const reports = await this.#oneMinute(Math.min(MINUTE_MS, leftMs), () => {
        memory.push({ ageMs: performance.now() - beganMs, residentBytes: this.#in.worker.residentBytes() });
      });
      this.#lost.push(...reports.flatMap(({ ends }) => ends));
    }
  }

  /** Measures one minute, and prints a line about it. Returns the machines' reports. */
  async #oneMinute(forMs: number, tick: () => void): Promise<MachinesReport[]> {
    const { output, fleet, leases, worker, signal } = this.#in;
    const [beganMs, before] = [performance.now(), this.#usage()];
    const reports: MachinesReport[] = [];
    for (let leftMs = forMs; leftMs > 0; leftMs = forMs - (performance.now() - beganMs)) {
      await wait(Math.min(TICK_MS, leftMs), undefined, { signal });
      const report = fleet.take();
      reports.push(report);
      tick();
      const { onSocket, answersMs } = report;
      output.show(`minute ${this.#minute + 1}: ${onSocket} on sockets, ${answersMs.length} answers a second`);
    }
    const seconds = (performance.now() - beganMs) / 1000;
    const now = this.#usage();
    const used = {
      worker: now.worker - before.worker,
      machines: now.machines - before.machines,
      apiserver: now.apiserver - before.apiserver,
    };
    const residentBytes = worker.residentBytes();
    const late = leases.lateCount - this.#late;
    this.#late = leases.lateCount;
    const minute = minuteOf({ reports, late, seconds, used, residentBytes });
    output.say(minuteText(++this.#minute, minute));
    output.say(`  gateways: ${await this.#newlyCounted()}`);
    this.#steady.answers += minute.answers;
    this.#steady.seconds += seconds;
    this.#steady.workerCpuSeconds += used.worker;
    return reports;
  }

  async #newlyCounted(): Promise<string> {
    const [before, now] = [this.#counted, countedIn(await this.#in.worker.metrics())];
    this.#counted = now;
    return countedText(before, now);
  }

  #usage(): Usage {
    const { worker, fleet, apiserverCpuSeconds } = this.#in;
    return {
      worker: worker.cpuSeconds(),
      machines: fleet.cpuSeconds(),
      apiserver: apiserverCpuSeconds(),
    };
  }

  async #try(trial: Trial): Promise<void> {
    const { plan, output, worker, signal, trouble } = this.#in;
    const forMs = trial === "slowed" ? TRIAL_MS.slowed : TRIAL_MS.apiserver;
    const beganMs = Date.now();
    if (trial !== "slowed") trouble?.(trial);
    const slowing = trial === "slowed" ? worker.slow(forMs, signal) : wait(forMs, undefined, { signal });
    const spans: Span[] = [];
    while (Date.now() - beganMs < forMs) spans.push(await this.#span(trial, beganMs));
    await slowing;
    trouble?.(null);
    const endMs = Date.now();
    output.say(`${trial} for ${forMs / 1000} s; gateways: ${await this.#newlyCounted()}`);
    let onSocket = 0;
    while (onSocket < plan.machines && Date.now() - endMs < RETURN_WITHIN_MS)
      ({ onSocket } = await this.#span(`after ${trial}`, beganMs, plan.machines));
    const goodput = trial === "slowed" ? leastGoodput(spans) : null;
    this.#tried = { trial, beganMs, endMs, onSocket, backAfterMs: Date.now() - endMs, goodput };
  }

  /** Measures a span of a trial, and prints a line about it. Ends early once `enough` machines are on sockets. */
  async #span(trial: string, beganMs: number, enough = Infinity): Promise<Span> {
    const { output, worker, fleet, leases, signal } = this.#in;
    const { workerCpuSeconds, answers } = this.#steady;
    const [endMs, cpuBefore, renewedBefore] = [Date.now() + SPAN_MS, worker.cpuSeconds(), leases.renewals];
    const reports: MachinesReport[] = [];
    do {
      await wait(TICK_MS, undefined, { signal });
      const report = fleet.take();
      reports.push(report);
      output.show(`${trial}: ${report.onSocket} on sockets, ${report.answersMs.length} answers a second`);
    } while (Date.now() < endMs && (reports.at(-1)?.onSocket ?? 0) < enough);
    const possible = ((worker.cpuSeconds() - cpuBefore) * answers) / workerCpuSeconds;
    const span = spanOf(reports, leases.renewals - renewedBefore, possible);
    output.say(spanText(Math.round((Date.now() - beganMs) / 1000), span));
    return span;
  }

  async #reconnect(): Promise<void> {
    const { plan, output, worker, fleet, signal } = this.#in;
    const { machines } = plan;
    const killedMs = Date.now();
    await worker.killAndStart();
    const backMs = Date.now();
    output.say(`workerd was killed, and is back after ${((backMs - killedMs) / 1000).toFixed(1)} s`);
    /** The time of each machine's first new socket. A machine with two new sockets counts once. */
    const backAtMs = new Map<string, number>();
    const endMs = backMs + RETURN_WITHIN_MS;
    const failures: string[] = [];
    while (Date.now() < endMs && backAtMs.size < machines) {
      await wait(TICK_MS, undefined, { signal });
      const report = fleet.take();
      for (const { name, atMs } of report.opened)
        if (atMs >= killedMs && !backAtMs.has(name)) backAtMs.set(name, atMs);
      failures.push(...report.failures);
      output.show(`${backAtMs.size} of ${machines} on sockets again`);
    }
    sayFailures(output, failures);
    this.#returned = { machines, afterMs: [...backAtMs.values()].map((atMs) => atMs - backMs) };
  }
}

function sayFailures({ say }: SoakOutput, failures: readonly string[]): void {
  for (const [why, count] of counted(failures))
    say(`meanwhile reports were not taken: ${count} times ${why}`);
}

/** Waits until all machines are on sockets. Prints a line about the machines' enrolment every SAY_EVERY_MS. */
export async function untilAllOnSockets(
  {
    output,
    fleet,
    signal,
    worker,
    apiserverCpuSeconds,
  }: Pick<SoakParts, "output" | "fleet" | "signal" | "worker" | "apiserverCpuSeconds">,
  machines: number,
): Promise<void> {
  const beganMs = performance.now();
  const failures: string[] = [];
  let saidMs = beganMs;
  let lagMs = 0;
  for (let onSocket = 0; onSocket < machines;) {
    await wait(TICK_MS, undefined, { signal });
    const report = fleet.take();
    onSocket = report.onSocket;
    lagMs = Math.max(lagMs, report.lagMs);
    failures.push(...report.failures);
    output.show(`${onSocket} of ${machines} machines on sockets; ${report.failures.at(-1) ?? ""}`);
    if (performance.now() - saidMs < SAY_EVERY_MS) continue;
    saidMs = performance.now();
    const cpu = `CPU: workerd ${Math.round(worker.cpuSeconds())} s, machines ${Math.round(report.cpuSeconds)} s, apiserver ${Math.round(apiserverCpuSeconds())} s`;
    const late = `machines late by ${Math.round(lagMs)} ms`;
    output.say(
      `after ${elapsed(beganMs)} s: ${onSocket} of ${machines} on sockets; ${cpu}; ${late}; ${worker.openFiles()} open files`,
    );
    lagMs = 0;
  }
  sayFailures(output, failures);
}

/**
 * Milliseconds for which the soak waits for machines to return after a kill. A machine that is later does not
 * return soon.
 */
const RETURN_WITHIN_MS = 180_000;

const elapsed = (sinceMs: number) => Math.round((performance.now() - sinceMs) / 1000);
