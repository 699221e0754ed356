// The shim's loop: gather, post, wait until the Worker wants the next report or a condition flips. Never more than one
// request at a time. Clock and randomness are arguments.
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
  /** How long the loop waits now, unless something urgent ends the wait. */
  nextInMs: number;
}

export interface LoopDependencies {
  /** Facts and vitals as they are now. Never rejects. */
  gather: () => Promise<{ facts: Facts; vitals: Vitals }>;
  report: (facts: Facts, vitals: Vitals) => Promise<ReportOutcome>;
  /** What is configured: the interval, and the thresholds. */
  settings: Settings;
  clock: Clock;
  stop: AbortSignal;
  /** Typically Math.random. */
  random: () => number;
  /** Drops the connection to the Worker, and what is under way on it. */
  reconnect: () => void;
  /** Gets what is to be called when the Worker wants a report now. Absent: it has no way to say so. */
  listen?: (asked: () => void) => void;
  log: Log;
  /** Called after each report, before the wait. Never throws. Typically the status file's; absent: nobody asks. */
  reported?: (report: Reported) => void;
}

export interface Loop {
  /** Resolves once stopped. */
  done: Promise<void>;
  /** What probes saw between two reports. A flip is reported at once, or right after the request that is under way. */
  see: (seen: Seen) => void;
  /** The machine was suspended: the connection is dropped and a report sent at once. */
  resumed: () => void;
  /** Is the Node's first Ready still waited for? The kubelet looks every 100 ms then, for at most 120 s. */
  isStarting: () => boolean;
}

/** Signatures that were not accepted are tried again at most once a minute: the key may be approved meanwhile. */
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
  const rests = resting(clock, stop, isNews);
  const noteReady = (isReady: boolean) => void (wasReady ||= isReady);
  dependencies.listen?.(rests.hurry);

  return {
    done: reportUntilStopped(dependencies, flips, rests, noteReady),
    see(seen) {
      flips.see(seen);
      // That a shutdown begins, or is cancelled, is reported without the limit for flips.
      const { shuttingDown = isGoingDown } = seen;
      const isUrgent = shuttingDown !== isGoingDown;
      isGoingDown = shuttingDown;
      if (isUrgent) rests.hurry();
      else if (isNews()) rests.wake();
    },
    resumed() {
      reconnect();
      rests.hurry();
    },
    isStarting,
  };
}

async function reportUntilStopped(
  dependencies: LoopDependencies,
  flips: Flips,
  { rest, begin }: Rest,
  noteReady: (isReady: boolean) => void,
): Promise<void> {
  const { gather, report, settings, stop, reconnect } = dependencies;
  const say = logChanges(dependencies.log);
  const logPressing = logPressures(dependencies.log);
  let failures = 0;
  // No wait after an error exceeds it. The Worker's may be longer than the configured one: its deployment has a minimum.
  let intervalMs = reportIntervalMs(settings);
  while (!stop.aborted) {
    begin();
    const { facts, vitals } = await gather();
    if (stop.aborted) return;
    const draft = flips.draft(vitals, facts.runtime !== null);
    logPressing(draft);
    const outcome = await report(facts, draft.vitals);
    if (stop.aborted) return;
    say(outcome);
    if (outcome.ok) {
      failures = 0;
      flips.delivered(draft);
      noteReady(outcome.value.ready);
      const { reportInMs } = outcome.value;
      intervalMs = Math.max(reportInMs, reportIntervalMs(settings));
      const nextInMs = Math.max(reportInMs, LEAST_WAIT_MS);
      dependencies.reported?.({ facts, vitals: draft.vitals, outcome, nextInMs });
      await rest(nextInMs, 0, true);
      continue;
    }
    failures++;
    const fault = outcome.error;
    if (fault.reason === "failed") reconnect();
    const nextInMs = waitAfterError(fault, failures, intervalMs, dependencies.random);
    dependencies.reported?.({ facts, vitals: draft.vitals, outcome, nextInMs });
    await rest(nextInMs, fault.retryAfterMs ?? 0, false);
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

// The shim's log lines about its reports and the machine: one line when something has changed.

function logChanges(log: Log): (outcome: ReportOutcome) => void {
  let last = "";
  return (outcome) => {
    const text = describe(outcome);
    if (text === last) return;
    last = text;
    log(outcome.ok && healthy(outcome.value) ? "info" : "warn", text);
  };
}

/** One line when a pressure begins, with what is left, and one when it is over. */
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

// Waits between two reports, and ends the wait early. The caller decides how long it is, and what is urgent.

/** Flips besides the periodic reports: five at once, then five a minute. Faster ones wait for the next report. */
const FLIPS_AT_ONCE = 5;
const FLIPS_PER_SECOND = 5 / 60;

interface Rest {
  /** Waits `ms`; something urgent ends the wait after `leastMs`, a flip (where it may) at once. */
  rest: (ms: number, leastMs: number, mayFlipEnd: boolean) => Promise<void>;
  /** Call it when a report begins: it includes what was urgent until now. */
  begin: () => void;
  /** Call it for something urgent: ends this wait or, during a request, the wait that follows. */
  hurry: () => void;
  /** Call it when there may be a flip. */
  wake: () => void;
}

function resting(clock: Clock, stop: AbortSignal, isFlipped: () => boolean): Rest {
  const waits = wakeableWait(clock, stop);
  let isUrgent = false;
  let bucket: TokenBucket | undefined;

  /** A token is taken for each flip that is reported on its own. */
  function mayReportFlip(): boolean {
    if (!isFlipped()) return false;
    const taken = tryAccept(bucket, clock.nowMs() * 1000, FLIPS_AT_ONCE, FLIPS_PER_SECOND);
    bucket = taken ?? bucket;
    return taken !== null;
  }

  return {
    async rest(ms, leastMs, mayFlipEnd) {
      const beganMs = clock.nowMs();
      for (;;) {
        const restedMs = clock.nowMs() - beganMs;
        if (stop.aborted || restedMs >= ms || (isUrgent && restedMs >= leastMs)) return;
        if (mayFlipEnd && mayReportFlip()) return;
        await waits.wait((isUrgent ? leastMs : ms) - restedMs);
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
