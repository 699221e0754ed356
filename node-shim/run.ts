// node-shim run: key, enrolment, loop. The machine's whole life with the Worker.
import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { afterEnrolment } from "./enrolment-wait.ts";
import { startDevices } from "./devices/with-devices.ts";
import { loadEnrolment, loadOrMakeKey, storeEnrolment } from "./identity.ts";
import { adoptNextKey, pinnedNextKey } from "./next-key.ts";
import { readJoinToken } from "./join-token.ts";
import { lockFolder } from "./lock.ts";
import { type Log, type LogFormat, stderrLog } from "./log.ts";
import { runLoop } from "./loop.ts";
import { type Machine, type MachineFlags, thisMachine } from "./machine.ts";
import type { EnrolmentAnswer } from "../shared/protocol.ts";
import { reportIntervalMs } from "../shared/settings.ts";
import { enrol, reporter, type Transport } from "./post.ts";
import { workerOrigin } from "./origin.ts";
import type { MachineKey } from "./sign.ts";
import { httpTransport } from "./transport.ts";

export interface RunFlags extends MachineFlags {
  /** --url, else ROLLCALL_URL, else the Worker that enrolled this machine. */
  url?: string;
  state: string;
  /** "-": standard input. */
  joinTokenFile?: string;
  /** text on a terminal, json elsewhere. */
  logFormat?: LogFormat;
}

type Report = ReturnType<typeof reporter>;

/** Longer than the Worker's own deadline for a tick (8 s), shorter than an interval. */
const DEADLINE_MS = 9000;

/** Reports until SIGTERM or SIGINT. Throws with what to do when it cannot begin. */
export async function run(flags: RunFlags): Promise<void> {
  const now = () => new Date().toISOString();
  const log = stderrLog(now, flags.logFormat);
  const origin = workerOrigin(flags);
  const machine = await thisMachine(flags, (source, message) => log("warn", `${source}: ${message}`));
  const lock = lockFolder(flags.state);
  const stop = stopSignal();
  const { send, close } = httpTransport(origin, DEADLINE_MS);
  let closeDevices = () => Promise.resolve();
  // A request that is on its way would hold the end back until its deadline.
  stop.addEventListener("abort", close);
  try {
    const { name } = machine;
    const next = await pinnedNextKey(flags.state, name);
    const key = next?.key ?? (await loadOrMakeKey(flags.state));
    const stored = next?.enrolment ?? loadEnrolment(flags.state, { name, thumbprint: key.thumbprint });
    const enrolment = stored ?? (await enrolMachine({ flags, machine, key, origin, send, log, stop }));
    if (enrolment === null) return;
    const devices = await startDevices(machine.gather, flags.devicePlugins, {
      stateFolder: flags.state,
      nowMs: () => performance.now(),
      sleep: (ms) => wait(ms, undefined, { ref: false }),
      log,
    });
    closeDevices = devices.close;
    const report = reporter({
      ...enrolment,
      name,
      origin,
      key,
      startId: randomBytes(16).toString("base64url"),
      send,
      machineTime: now,
    });
    await runLoop({
      gather: devices.gather,
      report: next ? onceAccepted(report, () => adoptNextKey(flags.state, next)) : report,
      sleep: (ms) => sleepUnlessStopped(ms, stop),
      stopped: () => stop.aborted,
      random: Math.random,
      intervalMs: reportIntervalMs(machine.configuration),
      reconnect: close,
      log,
    });
  } finally {
    close();
    machine.close();
    await closeDevices();
    lock.release();
  }
}

/** Calls `accepted` after the first report that was. */
function onceAccepted(report: Report, accepted: () => void): Report {
  let isAccepted = false;
  return async (facts, vitals) => {
    const outcome = await report(facts, vitals);
    if (outcome.kind === "ok" && !isAccepted) accepted();
    isAccepted ||= outcome.kind === "ok";
    return outcome;
  };
}

interface Enrolling {
  flags: RunFlags;
  machine: Machine;
  key: MachineKey;
  origin: string;
  send: Transport;
  log: Log;
  stop: AbortSignal;
}

/**
 * Enrols, again and again while the Worker cannot be reached or an operator has to approve; a refusal ends the shim
 * with what to do. null: stopped before.
 */
async function enrolMachine({
  flags,
  machine,
  key,
  origin,
  send,
  log,
  stop,
}: Enrolling): Promise<EnrolmentAnswer | null> {
  const joinToken = await readJoinToken(flags.joinTokenFile);
  const { facts } = await machine.gather();
  const { machineID = "", systemUUID = "" } = facts.machine ?? {};
  let said = "";
  while (!stop.aborted) {
    const outcome = await enrol(send, key, { name: machine.name, origin, joinToken, machineID, systemUUID });
    if (outcome.kind === "ok") {
      const { name } = machine;
      const { kid } = outcome.answer;
      storeEnrolment(flags.state, { name, thumbprint: key.thumbprint, kid, origin });
      log("info", `enrolled as ${name} at ${origin}, key ${key.thumbprint}`);
      return outcome.answer;
    }
    const next = afterEnrolment(outcome, Math.random);
    if (stop.aborted) break;
    if (next.say !== said) log("warn", next.say);
    said = next.say;
    await sleepUnlessStopped(next.waitMs, stop);
  }
  return null;
}

function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}

async function sleepUnlessStopped(ms: number, stop: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal: stop }).catch(() => undefined);
}
