// node-shim run: key, enrolment, loop. The machine's whole life with the Worker.
import { randomBytes } from "node:crypto";
import { enrolMachine } from "./enrol-machine.ts";
import { LIMITS } from "../shared/protocol.ts";
import { faultOf } from "./fault.ts";
import { loadEnrolment, loadOrMakeKey, type StoredEnrolment } from "./identity.ts";
import { lockFolder } from "./lock.ts";
import { type Log, stderrLog } from "./log.ts";
import { systemClock } from "./loop/clock.ts";
import { watchProbe, watchSuspend } from "./loop/watch.ts";
import { type LoopDependencies, startLoop } from "./loop.ts";
import { type Machine, type MachineFlags, thisMachine } from "./machine.ts";
import { reporter, type Transport } from "./post.ts";
import { httpTransport } from "./transport.ts";

export interface RunFlags extends MachineFlags {
  url: string;
  state: string;
  joinTokenFile?: string;
}

/** Longer than the Worker's own deadline for a tick (8 s), shorter than an interval. */
const DEADLINE_MS = 9000;

/** What is left of the second in which a stopped shim ends. */
const HELD_MS = 500;

/** Reports until SIGTERM or SIGINT. Throws with what to do when it cannot begin. */
export async function run(flags: RunFlags): Promise<void> {
  const now = () => new Date().toISOString();
  const log = stderrLog(now);
  const origin = originOf(flags.url);
  const machine = await thisMachine(flags, (source, message) => log("warn", `${source}: ${message}`));
  const lock = lockFolder(flags.state);
  const stop = stopSignal();
  const { send, close } = httpTransport(origin, DEADLINE_MS);
  // A request that is on its way would hold the end back until its deadline.
  stop.addEventListener("abort", close);
  try {
    // What is still under way when the shim is stopped is not waited for.
    await Promise.race([live({ flags, machine, origin, send, close, stop, log, now }), aborted(stop)]);
  } finally {
    close();
    lock.release();
  }
}

interface Life {
  flags: RunFlags;
  machine: Machine;
  origin: string;
  send: Transport;
  close: () => void;
  stop: AbortSignal;
  log: Log;
  /** RFC 3339 */
  now: () => string;
}

/** From the machine's key to its last report. */
async function live({ flags, machine, origin, send, close, stop, log, now }: Life): Promise<void> {
  const key = await loadOrMakeKey(flags.state);
  const { name } = machine;
  const reporterFor = ({ kid }: StoredEnrolment) => {
    const startId = randomBytes(16).toString("base64url");
    return reporter({ name, origin, key, kid, startId, send, machineTime: now });
  };
  const known = loadEnrolment(flags.state, { name, thumbprint: key.thumbprint });
  try {
    await machine.setUp();
  } catch (error) {
    if (known !== null) await tellSetupFailed(machine, reporterFor(known), faultOf(error), log);
    throw error;
  }
  const enrolment = known ?? (await enrolMachine({ flags, machine, key, origin, send, log, stop }));
  if (enrolment === null) return;
  const report = reporterFor(enrolment);
  await reportUntilStopped(machine, { report, reconnect: close, stop, log });
}

/** Once: whoever starts the shim again has it said again, as a kubelet that is started again does. */
async function tellSetupFailed(
  { gather }: Machine,
  report: LoopDependencies["report"],
  fault: string,
  log: Log,
): Promise<void> {
  const { facts } = await gather();
  const setupError = fault.slice(0, LIMITS.textLength).toWellFormed();
  const outcome = await report(facts, { signals: {}, setupError });
  if (outcome.kind === "ok") return;
  const why = outcome.kind === "failed" ? outcome.message : outcome.problem.title;
  log("warn", `the Worker could not be told that the setup failed: ${why}`);
}

async function reportUntilStopped(
  { gather, settings, probes }: Machine,
  worker: Pick<LoopDependencies, "report" | "reconnect" | "stop" | "log">,
): Promise<void> {
  const { stop, log } = worker;
  const clock = systemClock;
  const loop = startLoop({ gather, settings, clock, random: Math.random, ...worker });
  const resumed = (sleptMs: number) => {
    log("info", `the machine slept for ${Math.round(sleptMs / 1000)} s: reporting on a new connection`);
    loop.resumed();
  };
  const watches = [
    ...probes.map((probe) => watchProbe(probe, { clock, stop, ...loop })),
    watchSuspend(clock, stop, resumed),
  ];
  // Watches end when stopped, and only a bug makes one fail: that must not pass unnoticed.
  await Promise.race([loop.done, Promise.all(watches).then(() => loop.done)]);
}

export function originOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.href !== `${parsed.origin}/`)
    throw new Error(`--url ${url}: must read https://HOST`);
  const loopback = ["127.0.0.1", "[::1]", "localhost"].includes(parsed.hostname);
  if (parsed.protocol === "http:" && !loopback)
    throw new Error(`--url ${url}: only https:// leaves this machine`);
  return parsed.origin;
}

function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      controller.abort();
      // Node waits for its threads, also for one that the system holds in a hung file system or resolver.
      setTimeout(() => process.kill(process.pid, signal), HELD_MS).unref();
    });
  }
  return controller.signal;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
