// Watches for a shutdown of this machine. logind announces it (PrepareForShutdown) and waits for the inhibitor, which
// is held until a report with it was delivered. Upstream's node shutdown manager, without pods to end.
import { spawn } from "node:child_process";
import { failure, type Result, success } from "../../shared/result.ts";
import { type Clock, wakeableWait } from "../base/clock.ts";
import type { Log, LogMessage } from "../base/log.ts";
import { type Bus, connectBus, ownerOf, subscribe } from "../wire/dbus/bus.ts";
import type { BusMessage } from "../wire/dbus/wire.ts";

interface Watching {
  /** shutdownGracePeriod: the longest delay of a shutdown. 0: shutdowns are not watched for. */
  gracePeriodMs: number;
  /** Of the system bus; undefined: the usual one. */
  address: string | undefined; // typically DBUS_SYSTEM_BUS_ADDRESS
  inhibit: typeof inhibitShutdown;
  clock: Clock;
  stop: AbortSignal;
  /** Called when a shutdown begins, or is cancelled. */
  turned: (shuttingDown: boolean) => void;
  log: Log;
}

export interface ShutdownWatch {
  isShuttingDown: () => boolean;
  /** Call it when a report with the shutdown was delivered: the shutdown may continue. */
  reportDelivered: () => void;
  /** Resolves at once where no report about a shutdown is due; else when it was delivered, or after `withinMs`. */
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
/** How often a bus that is absent, or was restarted, is tried again. */
const RECONNECT_MS = 5000;

export function watchShutdown(watching: Watching): ShutdownWatch {
  const { gracePeriodMs, clock, stop, turned, log } = watching;
  if (gracePeriodMs === 0) return NOT_WATCHED;
  const say = logChanges(log);
  const lock = heldLock(watching, say);
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

  void followLogind({ ...watching, prepare, hold: lock.hold, say });
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
        // A timer that goes on would hold the process.
        const cancel = clock.timer(withinMs, resolve);
        waiting.add(() => {
          cancel();
          resolve();
        });
      });
    },
  };
}

interface HeldLock {
  hold: () => void;
  release: () => void;
  releaseWithin: (ms: number) => void;
}

function heldLock(
  { inhibit, clock }: Pick<Watching, "inhibit" | "clock">,
  say: (text: LogMessage) => void,
): HeldLock {
  let inhibitor: Inhibitor | null = null;
  let cancelDeadline = () => {};
  function release(): void {
    cancelDeadline();
    inhibitor?.release();
    inhibitor = null;
  }
  return {
    release,
    hold() {
      release();
      inhibitor = inhibit((why) => say(`shutdowns are not held back: ${why}`));
    },
    releaseWithin(ms) {
      cancelDeadline = clock.timer(ms, release);
    },
  };
}

interface Following extends Pick<Watching, "address" | "clock" | "stop"> {
  prepare: (isShuttingDown: boolean) => void;
  hold: () => void;
  say: (text: LogMessage) => void;
}

async function followLogind({ address, clock, stop, prepare, hold, say }: Following): Promise<void> {
  const { wait } = wakeableWait(clock, stop);
  while (!stop.aborted) {
    const bus = await connectBus(address, (signal, from) => void onPrepareForShutdown(signal, from, prepare));
    const lost = bus.ok ? await listen(bus.value, stop, prepare, hold) : bus.error;
    if (stop.aborted) return;
    say(`a shutdown of this machine would not be noticed: ${lost}`);
    await wait(RECONNECT_MS);
  }
}

/**
 * Listens until the connection ends; returns why. Subscribes before it reads the property, so that it misses nothing.
 */
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

/** logind's property, or why it cannot be read. */
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

/** Any process on the bus may send such a signal, so that the bus is asked whether the sender is logind. */
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

/** Logs a text when it differs from the one before. */
function logChanges(log: Log): (text: LogMessage) => void {
  let last = "";
  return (text) => {
    if (text !== last) log("warn", text);
    last = text;
  };
}

// Delays a shutdown for a moment, so that the machine's last report is sent. systemd-inhibit holds logind's file
// descriptor, since Node cannot receive one without native code.

interface Inhibitor {
  /** Lets the shutdown continue. */
  release: () => void;
}

/** `failed` is called when the lock cannot be taken, or is lost. It is also released when this process ends. */
export function inhibitShutdown(failed: (why: string) => void): Inhibitor {
  const { PATH, DBUS_SYSTEM_BUS_ADDRESS } = process.env;
  const command = ["--what=shutdown", "--mode=delay", "--who=node-shim", `--why=${WHY}`, "cat"];
  const child = spawn("systemd-inhibit", command, {
    // The lock lasts as long as cat reads: until this pipe is closed.
    stdio: ["pipe", "ignore", "ignore"],
    // Passes on nothing of the environment that could be a secret.
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

/** What `systemd-inhibit --list` shows. */
const WHY = "rollcall tells the cluster that this machine goes down";
