// Watches for a shutdown of this machine, as upstream's node shutdown manager does. logind announces a shutdown
// (PrepareForShutdown), and waits for the inhibitor lock that the shim holds. The shim releases the lock once it
// has reported the shutdown.
import { spawn } from "node:child_process";
import { failure, type Result, success } from "../../shared/result.ts";
import { type Clock, wakeableWait } from "../base/clock.ts";
import type { Log, LogMessage } from "../base/log.ts";
import { type Bus, connectBus, ownerOf, subscribe } from "../wire/dbus/bus.ts";
import type { BusMessage } from "../wire/dbus/wire.ts";

interface Watching {
  /** The longest delay of a shutdown in milliseconds: shutdownGracePeriod. With 0, the shim does not watch. */
  gracePeriodMs: number;
  /** The address of the system bus. undefined means the usual address. */
  address: string | undefined; // typically DBUS_SYSTEM_BUS_ADDRESS
  inhibit: typeof inhibitShutdown;
  clock: Clock;
  stop: AbortSignal;
  /** Called with true when a shutdown begins, and with false when it is cancelled. */
  turned: (shuttingDown: boolean) => void;
  log: Log;
}

export interface ShutdownWatch {
  isShuttingDown: () => boolean;
  /** Lets the shutdown continue. Must be called once the Worker has accepted a report with the shutdown. */
  reportDelivered: () => void;
  /** Waits until the Worker accepts a shutdown's report, for at most `withinMs`; resolves at once if none is due. */
  awaitLastReport: (withinMs: number) => Promise<void>;
}

const NOT_WATCHED: ShutdownWatch = {
  isShuttingDown: () => false,
  reportDelivered: () => undefined,
  awaitLastReport: () => Promise.resolve(),
};

const LOGIN1 = "org.freedesktop.login1";
const LOGIN1_PATH = "/org/freedesktop/login1";
const MANAGER = `${LOGIN1}.Manager`;
const RULE = `type='signal',sender='${LOGIN1}',path='${LOGIN1_PATH}',interface='${MANAGER}',member='PrepareForShutdown'`;
/** The pause before the watch connects again to a bus that is absent or was restarted. */
const RECONNECT_MS = 5000;

export function watchShutdown(watching: Watching): ShutdownWatch {
  const { gracePeriodMs, clock, stop, turned, log } = watching;
  if (gracePeriodMs === 0) return NOT_WATCHED;
  const logFault = logChanges(log);
  const lock = heldLock(watching, logFault);
  const waiting = new Set<() => void>();
  let shuttingDown = false;
  let isReportDue = false;

  function prepare(isShuttingDown: boolean): void {
    if (isShuttingDown === shuttingDown) return;
    shuttingDown = isShuttingDown;
    isReportDue = isShuttingDown;
    log("info", isShuttingDown ? "the machine is shutting down" : "the shutdown was cancelled");
    turned(isShuttingDown);
    if (isShuttingDown) lock.releaseWithin(gracePeriodMs);
    else lock.hold();
  }

  void followLogind({ ...watching, prepare, hold: lock.hold, logFault });
  stop.addEventListener("abort", lock.release, { once: true });
  return {
    isShuttingDown: () => shuttingDown,
    reportDelivered() {
      if (!shuttingDown) return;
      isReportDue = false;
      lock.release();
      for (const resolve of waiting) resolve();
    },
    async awaitLastReport(withinMs) {
      if (!isReportDue) return;
      await new Promise<void>((resolve) => {
        // Must be cancelled, since a running timer keeps the process alive.
        const cancel = clock.timer(withinMs, resolve);
        waiting.add(() => {
          cancel();
          resolve();
        });
      });
    },
  };
}

function heldLock(
  { inhibit, clock }: Pick<Watching, "inhibit" | "clock">,
  logFault: (text: LogMessage) => void,
) {
  let inhibitor: Inhibitor | null = null;
  let cancelDeadline = () => {};
  function release(): void {
    cancelDeadline();
    inhibitor?.release();
    inhibitor = null;
  }
  return {
    release,
    hold: () => {
      release();
      inhibitor = inhibit((why) => logFault(`shutdowns are not held back: ${why}`));
    },
    releaseWithin: (ms: number) => {
      cancelDeadline = clock.timer(ms, release);
    },
  };
}

interface Following extends Pick<Watching, "address" | "clock" | "stop"> {
  prepare: (isShuttingDown: boolean) => void;
  hold: () => void;
  logFault: (text: LogMessage) => void;
}

async function followLogind({ address, clock, stop, prepare, hold, logFault }: Following): Promise<void> {
  const { wait } = wakeableWait(clock, stop);
  while (!stop.aborted) {
    const bus = await connectBus(address, (signal, from) => void onPrepareForShutdown(signal, from, prepare));
    const lost = bus.ok ? await listen(bus.value, stop, prepare, hold) : bus.error;
    if (stop.aborted) return;
    logFault(`a shutdown of this machine would not be noticed: ${lost}`);
    await wait(RECONNECT_MS);
  }
}

/** Listens to logind; returns why the bus ended. Reads PreparingForShutdown after subscribing, to miss no signal. */
async function listen(
  bus: Bus,
  stop: AbortSignal,
  prepare: (isShuttingDown: boolean) => void,
  hold: () => void,
): Promise<string> {
  const close = () => bus.close();
  stop.addEventListener("abort", close, { once: true });
  try {
    const subscribed = await subscribe(bus, RULE);
    if (!subscribed.ok) return subscribed.error;
    const now = await isPreparing(bus);
    if (!now.ok) return now.error;
    if (!now.value) hold();
    prepare(now.value);
    return await bus.ended;
  } finally {
    stop.removeEventListener("abort", close);
    bus.close();
  }
}

/** Reads logind's property PreparingForShutdown. */
async function isPreparing({ call }: Bus): Promise<Result<boolean>> {
  const answer = await call({
    destination: LOGIN1,
    path: LOGIN1_PATH,
    interface: "org.freedesktop.DBus.Properties",
    member: "Get",
    body: [MANAGER, "PreparingForShutdown"],
  });
  if (!answer.ok) return answer;
  const [value] = answer.value;
  return typeof value === "boolean"
    ? success(value)
    : failure("logind's PreparingForShutdown is not a boolean");
}

/** Handles logind's signal, after asking the bus whether logind sent it: any process on the bus can send it. */
async function onPrepareForShutdown(
  { path, interface: of, member, sender, body }: BusMessage,
  bus: Bus,
  prepare: (isShuttingDown: boolean) => void,
): Promise<void> {
  const [isShuttingDown] = body;
  if (path !== LOGIN1_PATH || of !== MANAGER || member !== "PrepareForShutdown") return;
  if (typeof isShuttingDown !== "boolean") return;
  const owner = await ownerOf(bus, LOGIN1);
  if (owner.ok && owner.value[0] === sender) prepare(isShuttingDown);
}

/** Returns a function that logs a text as a warning if it differs from the last text. */
function logChanges(log: Log): (text: LogMessage) => void {
  let last = "";
  return (text) => {
    if (text !== last) log("warn", text);
    last = text;
  };
}

interface Inhibitor {
  /** Releases the lock: the shutdown continues. */
  release: () => void;
}

/**
 * Delays a shutdown until the lock is released or this process ends. Calls `failed` if the lock cannot be taken, or
 * is lost. systemd-inhibit holds logind's file descriptor, since Node.js cannot receive file descriptors without
 * native code.
 */
export function inhibitShutdown(failed: (why: string) => void): Inhibitor {
  const { PATH, DBUS_SYSTEM_BUS_ADDRESS } = process.env;
  const command = ["--what=shutdown", "--mode=delay", "--who=node-shim", `--why=${WHY}`, "cat"];
  const child = spawn("systemd-inhibit", command, {
    // systemd-inhibit runs cat, which ends and so releases the lock when this pipe is closed.
    stdio: ["pipe", "ignore", "ignore"],
    // Passes only PATH and the bus's address, since other variables may be secrets.
    env: { ...(PATH && { PATH }), ...(DBUS_SYSTEM_BUS_ADDRESS && { DBUS_SYSTEM_BUS_ADDRESS }) },
  });
  let isReleased = false;
  const lost = (why: string) => {
    if (!isReleased) failed(why);
    isReleased = true;
  };
  child.once("error", (error: NodeJS.ErrnoException) =>
    lost(`systemd-inhibit cannot be run (${error.code})`),
  );
  child.once("exit", (code, signal) => lost(`systemd-inhibit has ended (${signal ?? code})`));
  child.stdin.on("error", () => undefined);
  child.unref();
  return {
    release() {
      isReleased = true;
      child.stdin.end();
    },
  };
}

/** The reason that `systemd-inhibit --list` shows. */
const WHY = "rollcall reports the shutdown of this machine to the cluster";
