// Loads the key, enrols if needed, and reports until a signal stops the process: `node-shim run`.
import { randomBytes } from "node:crypto";
import { startDevices } from "../sources/devices/manager.ts";
import { enrolMachine } from "../worker-link/enrol.ts";
import { LIMITS } from "../../shared/protocol/limits.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import { valueOr } from "../../shared/result.ts";
import { monotonicMs, pause, systemClock, timestamp, wallMs } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";
import type { Warn } from "../base/reading.ts";
import { WRITE_HANGS, whenRemoving } from "../base/state-file.ts";
import { type StatusBoard, statusBoard } from "../status/board.ts";
import type { StatusFile } from "../status/status-file.ts";
import { adoptNextKey, loadEnrolment, loadKey, loadOrMakeKey, pinnedNextKey } from "../identity/identity.ts";
import { bootID } from "../sources/kernel/names.ts";
import { type DueWrites, dueWrites } from "../identity/due-writes.ts";
import { lockFolder } from "../identity/lock.ts";
import { type Log, type LogFormat, stderrLog } from "../base/log.ts";
import { reportUntilAsked } from "../loop/until-asked.ts";
import type { LoopDependencies, Reported } from "../loop/loop.ts";
import { sendingUsage } from "../loop/usage.ts";
import { LoopHang } from "../loop/watchdog.ts";
import { proxyFitter, reportFitter } from "../machine/fit.ts";
import { type Machine, thisMachine } from "../machine/machine.ts";
import { type MachineFlags } from "../machine/settings.ts";
import { workerOrigin } from "../worker-link/origin.ts";
import { Link } from "../worker-link/link.ts";
import { type Outbound, outboundTo } from "../worker-link/outbound.ts";
import { gatewayPace } from "../worker-link/pace.ts";
import { reporter } from "../worker-link/reporter.ts";
import type { EnrolledMachine } from "../worker-link/requests.ts";
import { requestFaultText, type Transport } from "../worker-link/exchange.ts";
import { httpTransport } from "../worker-link/http-transport.ts";
import { askerCheck, questionAnswering } from "./answering.ts";

export interface RunFlags extends MachineFlags {
  /** The Worker's URL. Absent: ROLLCALL_URL, else the URL of the Worker that enrolled this machine. */
  url?: string;
  state: string;
  joinTokenFile?: string;
  /** The format of log lines. Absent: text on a terminal, json elsewhere. */
  logFormat?: LogFormat;
}

/** The time limit of a request: longer than the Worker's deadline for a tick (8 s), shorter than a report interval. */
const DEADLINE_MS = 9000;
/**
 * The longest wait for a busy Worker's answer, in report intervals. A lease lasts at least four intervals: the wait
 * begins at the latest one interval after a renewal, and a report by HTTP then has one interval left.
 */
const PATIENCE = 2;

/** The longest wait for files and connections to close, so that a stopped shim ends within a second. */
const CLOSE_MS = 400;
const HELD_MS = 500;
/** The least event-loop turns before the signal ends the process; Node.js itself needs two or three to end. */
const HELD_TURNS = 9;

/** Reports until SIGTERM or SIGINT. Throws, with the remedy, if the shim cannot begin to report. */
export async function run(flags: RunFlags): Promise<void> {
  const log = stderrLog(timestamp, flags.logFormat);
  const warn: Warn = (source, message) => log("warn", `${source}: ${message}`);
  const { stop, stopped } = stopSignal();
  try {
    await reportUntilStopped(flags, { log, warn, stop });
    stopped();
  } catch (error) {
    stopped(error instanceof LoopHang ? "SIGKILL" : undefined);
    throw error;
  }
}

export interface Running {
  log: Log;
  /** Called with each source of facts that is unreadable. */
  warn: Warn;
  stop: AbortSignal;
  /** Called with the status after each report. */
  watch?: (status: StatusFile) => void;
}

/** Does the work of `run` until `stop` is aborted. Throws, with the remedy, if the shim cannot begin to report. */
export async function reportUntilStopped(
  flags: RunFlags,
  { log, warn, stop, watch }: Running,
): Promise<void> {
  const origin = workerOrigin(flags);
  const outbound = outboundTo(origin, flags, process.env);
  const machine = await thisMachine(flags, warn);
  const due = dueWrites(flags.state, warn);
  const release = await lockNowOrLater(flags.state, due);
  const asked = new Promise<void>((resolve) => {
    if (stop.aborted) resolve();
    stop.addEventListener("abort", () => resolve(), { once: true });
  });
  const { send, close, until } = httpTransport(origin, DEADLINE_MS, outbound);
  const closings: (() => Promise<void>)[] = [];
  const board = statusBoard({
    name: machine.name,
    origin,
    state: flags.state,
    bootID: valueOr(bootID("/"), ""),
    environment: process.env,
    nowMs: wallMs,
    log,
  });
  const reported = (report: Reported) => {
    board.reported(report);
    watch?.(board.file());
  };
  try {
    const beginning = {
      flags,
      machine,
      origin,
      outbound,
      send,
      close,
      until,
      stop,
      log,
      board,
      closings,
      due,
    };
    // A shim that was asked to stop does not wait for the end of `begin`.
    const begun = await Promise.race([begin(beginning), asked]);
    if (begun) {
      const { gather, ...worker } = begun;
      await reportUntilAsked({ ...machine, gather }, { ...worker, log, reported }, asked);
    }
  } catch (error) {
    board.note({ ended: { at: timestamp(), fault: faultOf(error) } });
    throw error;
  } finally {
    close();
    machine.close();
    const closed = Promise.all(closings.map((end) => end())).then(() => board.written());
    // A file system that hangs must not delay the end of the process.
    const late = pause(CLOSE_MS, { ref: false });
    await Promise.race([closed, late]);
    await Promise.race([whenRemoving(flags.state).then(release), late]);
  }
}

interface Beginning {
  flags: RunFlags;
  machine: Machine;
  origin: string;
  outbound: Outbound;
  /** Sends a request by HTTP. */
  send: Transport;
  /** Drops the HTTP connection. */
  close: () => void;
  /** Returns a request header, whose value is the time until which this machine waits for the answer. */
  until: () => Record<string, string>;
  stop: AbortSignal;
  log: Log;
  board: StatusBoard;
  /** The functions to call at the end. `begin` adds them. */
  closings: (() => Promise<void>)[];
  due: DueWrites;
}

type Begun = Pick<LoopDependencies, "report" | "gather" | "reconnect" | "pace" | "listen">;

/** Does all steps before the first report; null if `stop` aborted. Reports failed setup to the Worker, then throws. */
async function begin(beginning: Beginning): Promise<Begun | null> {
  const { flags, machine, origin, send, close, stop, log, board, closings, due } = beginning;
  const { name } = machine;
  const next = await pinnedNextKey(flags.state, name);
  const key =
    next?.key ?? (await loadKey(flags.state)) ?? (await due.required(() => loadOrMakeKey(flags.state)));
  board.note({ thumbprint: key.thumbprint });
  let link: Link | undefined;
  const pace = gatewayPace(systemClock.nowMs, reportIntervalMs(machine.settings));
  const smaller = proxyFitter((source, message) => log("warn", `${source}: ${message}`));
  const reporterFor = (enrolment: { kid: string; ticket?: string }) => {
    const { nowMs } = systemClock;
    const startId = randomBytes(16).toString("base64url");
    const own = { ...enrolment, name, origin, key };
    link = linkOf(beginning, own);
    const report = reporter({ ...own, link, startId, send, machineTime: timestamp, nowMs, pace, smaller });
    if (next) due.afterReport(() => adoptNextKey(flags.state, next));
    const { readUsage } = machine;
    const socket = () => link?.socket() ?? null;
    const reporting = readUsage ? sendingUsage(report, { read: readUsage, socket, nowMs }) : report;
    return onAccepted(reporting, beginning);
  };
  const known = next?.enrolment ?? loadEnrolment(flags.state, { name, thumbprint: key.thumbprint });
  let report = known && reporterFor(known);
  const failed = async (error: unknown): Promise<never> => {
    if (report) await reportSetupFailure(machine, report, faultOf(error), log);
    throw error;
  };
  const logAndNote: Log = (level, message) => {
    log(level, message);
    board.note({ waiting: message });
  };
  await machine.setUp().catch(failed);
  const enrolment =
    known ??
    (await enrolMachine({ flags, machine, key, origin, send, log: logAndNote, stop, store: due.now }));
  if (enrolment === null) return null;
  report ??= reporterFor(enrolment);
  const devices = startDevices(machine.gather, flags.devicePlugins, {
    stateFolder: flags.state,
    nowMs: monotonicMs,
    sleep: (ms) => pause(ms, { ref: false }),
    log,
  });
  closings.push(devices.close);
  const gathering = await devices.gathering.catch(failed);
  // The machine's own facts fit already. The facts on devices may make the report too large.
  const fit = reportFitter((source, message) => log("warn", `${source}: ${message}`));
  return {
    report,
    gather: flags.devicePlugins ? async () => fit(await gathering()) : gathering,
    pace,
    reconnect: () => {
      close();
      link?.drop();
    },
    listen: (asked) => link?.listen(asked),
  };
}

/** Makes the link that carries reports over a socket, and adds its end to `closings`. */
function linkOf(
  { flags, machine, outbound, close, until, log, board, closings }: Beginning,
  own: EnrolledMachine,
): Link {
  const link = new Link({
    machine: own,
    outbound,
    deadlineMs: DEADLINE_MS,
    patienceMs: PATIENCE * reportIntervalMs(machine.settings),
    clock: systemClock,
    choice: machine.transport,
    random: Math.random,
    until,
    log,
    dropHttp: close,
    changed: board.transport,
    answering: questionAnswering({
      settings: machine.own,
      flags,
      log,
      mayAsk: askerCheck(machine.own, log),
      key: own.key,
      nowMs: systemClock.nowMs,
    }),
  });
  closings.push(async () => link.close());
  return link;
}

/** Returns `report`, which after each accepted report also does the due writes, and ends conditions for operators. */
function onAccepted(
  report: LoopDependencies["report"],
  { machine, log, due }: Beginning,
): LoopDependencies["report"] {
  return async (facts, vitals) => {
    const outcome = await report(facts, vitals);
    if (!outcome.ok) return outcome;
    due.write();
    for (const condition of machine.clear(outcome.value.clears ?? []))
      log("info", `an operator ends ${condition}`);
    return outcome;
  };
}

/** Locks the state folder, later if its file system cannot be written. Resolves to the function that ends the lock. */
async function lockNowOrLater(state: string, due: DueWrites): Promise<() => void> {
  const takeLock = () => {
    const { release } = lock;
    lock = lockFolder(state);
    release();
  };
  const hangs = (await due.fault()) === WRITE_HANGS;
  let lock = lockFolder(state, (code) => due.later(takeLock, code), hangs);
  return () => lock.release();
}

/** Reports a failed setup to the Worker once per process; a restarted shim reports it again, as a kubelet does. */
async function reportSetupFailure(
  { gather }: Machine,
  report: LoopDependencies["report"],
  fault: string,
  log: Log,
): Promise<void> {
  const { facts } = await gather();
  const setupError = fault.slice(0, LIMITS.textLength).toWellFormed();
  const outcome = await report(facts, { signals: {}, setupError });
  if (outcome.ok) return;
  log("warn", `the Worker could not be told that the setup failed: ${requestFaultText(outcome.error)}`);
}

interface Stopping {
  stop: AbortSignal;
  /** Must be called once the shim has ended all its work, so that only Node.js itself has to end. */
  stopped: (signal?: NodeJS.Signals) => void;
}

/**
 * Returns `stop`, a signal that SIGTERM and SIGINT abort, and `stopped`, which ends the process by that signal, or by
 * the given one, if Node.js does not end by itself. `stopped` waits for several event-loop turns, so that the exit code
 * does not depend on the machine's speed.
 */
function stopSignal(): Stopping {
  const controller = new AbortController();
  let asked: NodeJS.Signals | null = null;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      asked ??= signal;
      controller.abort();
    });
  }
  // Node.js waits for its threads, also one that hangs in a file system or resolver; the signal ends such a process.
  const stopped = async (signal?: NodeJS.Signals) => {
    for (let turn = 0; turn < HELD_TURNS; turn++) await pause(HELD_MS / HELD_TURNS, { ref: false });
    const last = asked ?? signal;
    if (last) process.kill(process.pid, last);
  };
  return { stop: controller.signal, stopped: (signal) => void stopped(signal) };
}
