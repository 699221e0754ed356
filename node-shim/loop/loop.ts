// Runs the shim's loop: gathers, sends one report at a time, and waits until the next is due or a condition flips.
import { backOff } from "../../shared/back-off.ts";
import { type TokenBucket, tryAccept } from "../../shared/events/token-bucket.ts";
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { reportIntervalMs, type Settings } from "../../shared/protocol/settings.ts";
import type { PressureCondition } from "../../shared/resources/eviction.ts";
import { type Clock, wakeableWait } from "../base/clock.ts";
import type { Log, LogMessage } from "../base/log.ts";
import type { Seen } from "../machine/machine.ts";
import type { RequestFault } from "../worker-link/exchange.ts";
import type { Pace } from "../worker-link/pace.ts";
import type { ReportOutcome } from "../worker-link/reporter.ts";
import { conditionFlips, type Flips, ofConditions, type ReportDraft } from "./flips.ts";
import { loopWatchdog, type Watchdog } from "./watchdog.ts";

/** A report, its outcome, and the wait that follows. */
export interface Reported {
  facts: Facts;
  vitals: Vitals;
  outcome: ReportOutcome;
  /** Milliseconds until the next report. A flip or another urgent event may end this wait. */
  nextInMs: number;
}

export interface LoopDependencies {
  /** Returns the current facts and vitals. Never rejects. */
  gather: () => Promise<{ facts: Facts; vitals: Vitals }>;
  report: (facts: Facts, vitals: Vitals) => Promise<ReportOutcome>;
  /** The configured interval and thresholds. */
  settings: Settings;
  clock: Clock;
  stop: AbortSignal;
  /** Returns a random number from 0 to 1. Typically Math.random. */
  random: () => number;
  /** Drops the connection to the Worker, including the requests that use it. */
  reconnect: () => void;
  /** Bounds the reports that the Worker's answers and frames cause. `report` counts its requests there. */
  pace: Pace;
  /** Registers `asked`, which is called when the Worker wants a report at once. Absent without a socket. */
  listen?: (asked: () => void) => void;
  log: Log;
  /** Called after each report, before the wait. Never throws. Typically a function of the status board. */
  reported?: (report: Reported) => void;
}

export interface Loop {
  /** Resolves once the loop has stopped. Rejects with a LoopHang if the loop hangs. */
  done: Promise<void>;
  /** Takes the vitals that a probe has read. The loop reports a flip at once, or right after the present request. */
  see: (seen: Seen) => void;
  /** Must be called after a suspend: the loop drops the connection and reports at once. */
  resumed: () => void;
  /** Returns true until the Node's first Ready, at most 120 s, in which a kubelet checks its status every 100 ms. */
  isStarting: () => boolean;
}

/** The least wait after a refused signature: an operator may approve the key in that time. */
const UNAUTHENTICATED_WAIT_MS = 60_000;
/** The upper limit of the first wait after an error; each further error doubles it, up to one report interval. */
const FIRST_BACKOFF_MS = 1000;
/** The least wait after any answer: a kubelet that starts checks its status no more often. */
const LEAST_WAIT_MS = 100;
/** The upper limit of the waits while the Worker is busy, in report intervals: all machines together must ask it less. */
const LONGEST_BUSY = 3;
/** The longest time in which the Node counts as starting: upstream nodeReadyGracePeriod. */
const STARTING_MS = 120_000;
export function startLoop(dependencies: LoopDependencies): Loop {
  const { settings, clock, stop, reconnect, log } = dependencies;
  const startedMs = clock.nowMs();
  let wasReady = false;
  let isGoingDown = false;
  const isStarting = () => !wasReady && clock.nowMs() - startedMs < STARTING_MS;
  const flips = conditionFlips(settings, clock.nowMs);
  const isNews = () => flips.isNews(!isStarting());
  const waits = reportWaits(clock, stop, isNews);
  const noteReady = (isReady: boolean) => void (wasReady ||= isReady);
  dependencies.listen?.(waits.hurry);
  const resumed = () => {
    reconnect();
    waits.hurry();
  };
  const watchdog = loopWatchdog(clock, (step, seconds) => {
    log("warn", `no report for ${seconds} s, since ${step} does not end: reporting on a new connection`);
    resumed();
  });
  const looping = reportUntilStopped(dependencies, flips, waits, noteReady, watchdog);

  return {
    done: Promise.race([looping, watchdog.hung]).finally(watchdog.end),
    see(seen) {
      flips.see(seen);
      // The begin and the end of a shutdown are reported at once, without the limit for flips.
      const { shuttingDown = isGoingDown } = seen;
      const isUrgent = shuttingDown !== isGoingDown;
      isGoingDown = shuttingDown;
      if (isUrgent) waits.hurry();
      else if (isNews()) waits.wake();
    },
    resumed,
    isStarting,
  };
}

async function reportUntilStopped(
  dependencies: LoopDependencies,
  flips: Flips,
  { wait, begin }: ReportWaits,
  noteReady: (isReady: boolean) => void,
  watchdog: Watchdog,
): Promise<void> {
  const { gather, report, settings, stop, reconnect, pace } = dependencies;
  const logOutcome = logChanges(dependencies.log);
  const logPressing = logPressures(dependencies.log);
  let failures = 0;
  // The longest wait after an error. The deployment's minimum may make it longer than the configured interval.
  let intervalMs = reportIntervalMs(settings);
  while (!stop.aborted) {
    begin();
    watchdog.begin("gathering");
    const { facts, vitals } = await gather();
    if (stop.aborted) return;
    const draft = flips.draft(vitals, facts);
    logPressing(draft);
    watchdog.begin("sending");
    const outcome = await report(facts, draft.vitals);
    if (stop.aborted) return;
    logOutcome(outcome);
    if (outcome.ok) {
      failures = 0;
      flips.delivered(draft);
      noteReady(outcome.value.ready);
      const { reportInMs } = outcome.value;
      intervalMs = Math.max(reportInMs, reportIntervalMs(settings));
      const leastMs = pace.waitMs();
      const nextInMs = Math.max(reportInMs, LEAST_WAIT_MS, leastMs);
      dependencies.reported?.({ facts, vitals: draft.vitals, outcome, nextInMs });
      watchdog.begin("waiting", nextInMs);
      await wait(nextInMs, leastMs, true);
      continue;
    }
    failures++;
    const fault = outcome.error;
    if (fault.reason === "failed") reconnect();
    const leastMs = Math.max(fault.retryAfterMs ?? 0, pace.waitMs());
    const nextInMs = Math.max(leastMs, waitAfterError(fault, failures, intervalMs, dependencies.random));
    dependencies.reported?.({ facts, vitals: draft.vitals, outcome, nextInMs });
    watchdog.begin("waiting", nextInMs);
    await wait(nextInMs, leastMs, false);
  }
}

/** Returns the milliseconds to wait after an error: random, under a doubling limit, but at least Retry-After. */
function waitAfterError(
  fault: RequestFault,
  failures: number,
  intervalMs: number,
  random: () => number,
): number {
  if (fault.reason === "refused" && (fault.problem.status === 401 || fault.problem.status === 403)) {
    return Math.max(fault.retryAfterMs ?? 0, UNAUTHENTICATED_WAIT_MS);
  }
  // Requests that follow soon would keep a busy Worker busy.
  const isBusy = fault.reason === "failed" ? fault.isLate : fault.problem.reason === "busy";
  const [firstMs, longestMs] = isBusy
    ? [intervalMs / 2, LONGEST_BUSY * intervalMs]
    : [FIRST_BACKOFF_MS, intervalMs];
  return Math.max(fault.retryAfterMs ?? 0, random() * backOff(failures, firstMs, longestMs));
}

/** Returns a function that logs an outcome if its text differs from the last logged text. */
function logChanges(log: Log): (outcome: ReportOutcome) => void {
  let last = "";
  return (outcome) => {
    const text = describe(outcome);
    if (text === last) return;
    last = text;
    log(outcome.ok && healthy(outcome.value) ? "info" : "warn", text);
  };
}

/** Returns a function that logs when a pressure begins, with the amount that is left, and when it ends. */
function logPressures(log: Log): (draft: ReportDraft) => void {
  let before: ReportDraft["inputs"]["pressures"] = [];
  return ({ vitals, inputs: { pressures } }) => {
    const begun = pressures.filter((condition) => !before.includes(condition));
    for (const condition of begun) log("warn", `${condition}: ${leftOf(condition, vitals.signals)}`);
    const over = before.filter((condition) => !pressures.includes(condition));
    for (const condition of over) log("info", `${condition} is over`);
    before = pressures;
  };
}

function leftOf(condition: PressureCondition, signals: Vitals["signals"]): string {
  const entries = Object.entries(ofConditions(signals, (other) => other === condition));
  return entries.map(([name, [available, capacity]]) => `${name} ${available} of ${capacity}`).join(", ");
}

const healthy = (answer: ReportAnswer) => answer.phase === "registered" && !answer.factsRefused;

function describe(outcome: ReportOutcome): LogMessage {
  if (!outcome.ok) {
    const fault = outcome.error;
    if (fault.reason === "failed") return `report failed: ${fault.message}`;
    const { title, detail, reason, pointer } = fault.problem;
    return `report refused: ${title} (${reason}${pointer ? ` at ${pointer}` : ""}). ${detail}`;
  }
  const { phase, ready, message, factsRefused } = outcome.value;
  const refused = factsRefused ? `; facts refused at ${factsRefused.path}: ${factsRefused.message}` : "";
  return `phase: ${phase}, node ${ready ? "Ready" : "not Ready"}${message ? `; ${message}` : ""}${refused}`;
}

/** The flips that the shim may report in a burst; FLIPS_PER_SECOND limits further flips to five a minute. */
const FLIPS_AT_ONCE = 5;
const FLIPS_PER_SECOND = 5 / 60;

interface ReportWaits {
  /** Waits `ms`. An urgent event ends the wait after `leastMs`, and a flip ends it at once if `mayFlipEnd`. */
  wait: (ms: number, leastMs: number, mayFlipEnd: boolean) => Promise<void>;
  /** Must be called when a report begins: the report includes every urgent event until now. */
  begin: () => void;
  /** Ends the present wait or, during a request, the wait after the request. */
  hurry: () => void;
  /** Must be called when there may be a flip. Ends the wait if there is one. */
  wake: () => void;
}

function reportWaits(clock: Clock, stop: AbortSignal, isFlipped: () => boolean): ReportWaits {
  const waits = wakeableWait(clock, stop);
  let isUrgent = false;
  let bucket: TokenBucket | undefined;

  /** Takes one token of the bucket for a flip. Returns false without a flip or a token. */
  function mayReportFlip(): boolean {
    if (!isFlipped()) return false;
    const taken = tryAccept(bucket, clock.nowMs() * 1000, FLIPS_AT_ONCE, FLIPS_PER_SECOND);
    bucket = taken ?? bucket;
    return taken !== null;
  }

  return {
    async wait(ms, leastMs, mayFlipEnd) {
      const beganMs = clock.nowMs();
      for (;;) {
        const waitedMs = clock.nowMs() - beganMs;
        if (stop.aborted || waitedMs >= ms || (isUrgent && waitedMs >= leastMs)) return;
        if (mayFlipEnd && mayReportFlip()) return;
        await waits.wait((isUrgent ? leastMs : ms) - Math.max(0, waitedMs));
      }
    },
    begin: () => void (isUrgent = false),
    hurry() {
      isUrgent = true;
      waits.wake();
    },
    wake: waits.wake,
  };
}
