// The shim's loop: gather, send, wait until the next report is due or a condition flips. It sends one request at a time.
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
import type { ReportOutcome } from "../worker-link/reporter.ts";
import { conditionFlips, type Flips, ofConditions, type ReportDraft } from "./flips.ts";

/** One report and its outcome. */
export interface Reported {
  facts: Facts;
  vitals: Vitals;
  outcome: ReportOutcome;
  /** The wait until the next report, unless something urgent ends it. */
  nextInMs: number;
}

export interface LoopDependencies {
  /** Facts and vitals as they are now. Never rejects. */
  gather: () => Promise<{ facts: Facts; vitals: Vitals }>;
  report: (facts: Facts, vitals: Vitals) => Promise<ReportOutcome>;
  /** The configured interval and thresholds. */
  settings: Settings;
  clock: Clock;
  stop: AbortSignal;
  /** Typically Math.random. */
  random: () => number;
  /** Drops the connection to the Worker, with the requests on it. */
  reconnect: () => void;
  /** Registers a function that is called when the Worker wants a report now. Absent without a socket. */
  listen?: (asked: () => void) => void;
  log: Log;
  /** Called after each report, before the wait. Never throws. Typically the status board's. */
  reported?: (report: Reported) => void;
}

export interface Loop {
  /** Resolves once stopped. */
  done: Promise<void>;
  /** Call it with what a probe read. The loop reports a flip at once, or right after the request that is under way. */
  see: (seen: Seen) => void;
  /** Call it after a suspend: the loop drops the connection and reports at once. */
  resumed: () => void;
  /** True until the Node's first Ready, for at most 120 s. A kubelet checks its status every 100 ms in this time. */
  isStarting: () => boolean;
}

/** After a refused signature the loop waits at least a minute: an operator may approve the key meanwhile. */
const UNAUTHENTICATED_WAIT_MS = 60_000;
/** The first wait after an error may be up to this long, then twice that, up to one interval. */
const FIRST_BACKOFF_MS = 1000;
/** No answer makes the shim report more often than a kubelet checks its status while it starts. */
const LEAST_WAIT_MS = 100;
/** Upstream nodeReadyGracePeriod. */
const STARTING_MS = 120_000;
export function startLoop(dependencies: LoopDependencies): Loop {
  const { settings, clock, stop, reconnect } = dependencies;
  const startedMs = clock.nowMs();
  let wasReady = false;
  let isGoingDown = false;
  const isStarting = () => !wasReady && clock.nowMs() - startedMs < STARTING_MS;
  const flips = conditionFlips(settings, clock.nowMs);
  const isNews = () => flips.isNews(!isStarting());
  const waits = reportWaits(clock, stop, isNews);
  const noteReady = (isReady: boolean) => void (wasReady ||= isReady);
  dependencies.listen?.(waits.hurry);

  return {
    done: reportUntilStopped(dependencies, flips, waits, noteReady),
    see(seen) {
      flips.see(seen);
      // The limit for flips does not apply to the begin and the end of a shutdown.
      const { shuttingDown = isGoingDown } = seen;
      const isUrgent = shuttingDown !== isGoingDown;
      isGoingDown = shuttingDown;
      if (isUrgent) waits.hurry();
      else if (isNews()) waits.wake();
    },
    resumed() {
      reconnect();
      waits.hurry();
    },
    isStarting,
  };
}

async function reportUntilStopped(
  dependencies: LoopDependencies,
  flips: Flips,
  { wait, begin }: ReportWaits,
  noteReady: (isReady: boolean) => void,
): Promise<void> {
  const { gather, report, settings, stop, reconnect } = dependencies;
  const logOutcome = logChanges(dependencies.log);
  const logPressing = logPressures(dependencies.log);
  let failures = 0;
  // The longest wait after an error. The deployment's minimum may make it longer than the configured interval.
  let intervalMs = reportIntervalMs(settings);
  while (!stop.aborted) {
    begin();
    const { facts, vitals } = await gather();
    if (stop.aborted) return;
    const draft = flips.draft(vitals, facts.runtime !== null);
    logPressing(draft);
    const outcome = await report(facts, draft.vitals);
    if (stop.aborted) return;
    logOutcome(outcome);
    if (outcome.ok) {
      failures = 0;
      flips.delivered(draft);
      noteReady(outcome.value.ready);
      const { reportInMs } = outcome.value;
      intervalMs = Math.max(reportInMs, reportIntervalMs(settings));
      const nextInMs = Math.max(reportInMs, LEAST_WAIT_MS);
      dependencies.reported?.({ facts, vitals: draft.vitals, outcome, nextInMs });
      await wait(nextInMs, 0, true);
      continue;
    }
    failures++;
    const fault = outcome.error;
    if (fault.reason === "failed") reconnect();
    const nextInMs = waitAfterError(fault, failures, intervalMs, dependencies.random);
    dependencies.reported?.({ facts, vitals: draft.vitals, outcome, nextInMs });
    await wait(nextInMs, fault.retryAfterMs ?? 0, false);
  }
}

/** Full jitter (uniform from 0), doubling, at most one interval; Retry-After is a lower bound. */
function waitAfterError(
  fault: RequestFault,
  failures: number,
  intervalMs: number,
  random: () => number,
): number {
  if (fault.reason === "refused" && (fault.problem.status === 401 || fault.problem.status === 403)) {
    return Math.max(fault.retryAfterMs ?? 0, UNAUTHENTICATED_WAIT_MS);
  }
  return Math.max(fault.retryAfterMs ?? 0, random() * backOff(failures, FIRST_BACKOFF_MS, intervalMs));
}

/** Logs an outcome if its text differs from the last one. */
function logChanges(log: Log): (outcome: ReportOutcome) => void {
  let last = "";
  return (outcome) => {
    const text = describe(outcome);
    if (text === last) return;
    last = text;
    log(outcome.ok && healthy(outcome.value) ? "info" : "warn", text);
  };
}

/** Logs one line when a pressure begins, with the amount that is left, and one when it ends. */
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

/** The limit of flips that end a wait: five at once, then five a minute. Further flips wait for the next report. */
const FLIPS_AT_ONCE = 5;
const FLIPS_PER_SECOND = 5 / 60;

interface ReportWaits {
  /** Waits `ms`. Something urgent ends the wait after `leastMs`, and a flip at once if `mayFlipEnd`. */
  wait: (ms: number, leastMs: number, mayFlipEnd: boolean) => Promise<void>;
  /** Call it when a report begins: the report includes everything that was urgent until now. */
  begin: () => void;
  /** Ends this wait or, during a request, the wait that follows. */
  hurry: () => void;
  /** Call it when there may be a flip. */
  wake: () => void;
}

function reportWaits(clock: Clock, stop: AbortSignal, isFlipped: () => boolean): ReportWaits {
  const waits = wakeableWait(clock, stop);
  let isUrgent = false;
  let bucket: TokenBucket | undefined;

  /** Takes a token for each flip that ends a wait. */
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
        await waits.wait((isUrgent ? leastMs : ms) - waitedMs);
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
