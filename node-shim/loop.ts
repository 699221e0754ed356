// The shim's loop: gather, post, wait until the Worker wants the next report. Clock and randomness are arguments.
import type { Facts } from "../shared/facts.ts";
import type { ReportAnswer, Vitals } from "../shared/protocol.ts";
import type { ReportOutcome } from "./post.ts";

export interface LoopDependencies {
  gather: () => Promise<{ facts: Facts; vitals: Vitals }>;
  report: (facts: Facts, vitals: Vitals) => Promise<ReportOutcome>;
  /** Resolves early, and for good, once the loop is to end. */
  sleep: (ms: number) => Promise<void>;
  /** True once the loop is to end. */
  stopped: () => boolean;
  /** Math.random */
  random: () => number;
  /** nodeStatusUpdateFrequency: no wait after an error is longer. */
  intervalMs: number;
  /** Drops the connection to the Worker. */
  reconnect: () => void;
  log: (level: "info" | "warn", message: string) => void;
}

/** Signatures that were not accepted are tried again at most once a minute: the key may be approved meanwhile. */
const UNAUTHENTICATED_WAIT_MS = 60_000;
/** The first wait after an error may be up to this long, then twice that, up to one interval. */
const FIRST_BACKOFF_MS = 1000;

/** Reports until stopped. Every report's outcome is said when it differs from the one before. */
export async function runLoop(dependencies: LoopDependencies): Promise<void> {
  const { gather, report, sleep, stopped, reconnect } = dependencies;
  const say = sayChanges(dependencies.log);
  let failures = 0;
  while (!stopped()) {
    const { facts, vitals } = await gather();
    const outcome = await report(facts, vitals);
    if (stopped()) return;
    say(outcome);
    if (outcome.kind === "ok") {
      failures = 0;
      await sleep(outcome.answer.reportInMs);
      continue;
    }
    failures++;
    if (outcome.kind === "failed") reconnect();
    await sleep(waitAfterError(outcome, failures, dependencies));
  }
}

/** Full jitter (uniform from 0), doubling, at most one interval; Retry-After is a lower bound. */
function waitAfterError(
  outcome: Exclude<ReportOutcome, { kind: "ok" }>,
  failures: number,
  { random, intervalMs }: LoopDependencies,
): number {
  if (outcome.kind === "refused" && (outcome.problem.status === 401 || outcome.problem.status === 403)) {
    return Math.max(outcome.retryAfterMs ?? 0, UNAUTHENTICATED_WAIT_MS);
  }
  const most = Math.min(intervalMs, FIRST_BACKOFF_MS * 2 ** Math.min(failures - 1, 16));
  return Math.max(outcome.retryAfterMs ?? 0, random() * most);
}

function sayChanges(log: LoopDependencies["log"]): (outcome: ReportOutcome) => void {
  let last = "";
  return (outcome) => {
    const text = describe(outcome);
    if (text === last) return;
    last = text;
    log(outcome.kind === "ok" && healthy(outcome.answer) ? "info" : "warn", text);
  };
}

const healthy = (answer: ReportAnswer) => answer.phase === "registered" && !answer.factsRefused;

function describe(outcome: ReportOutcome): string {
  if (outcome.kind === "failed") return `report failed: ${outcome.message}`;
  if (outcome.kind === "refused") {
    const { title, detail, reason, pointer } = outcome.problem;
    return `report refused: ${title} (${reason}${pointer ? ` at ${pointer}` : ""}). ${detail}`;
  }
  const { phase, ready, message, factsRefused } = outcome.answer;
  const said = `phase: ${phase}, node ${ready ? "Ready" : "not Ready"}`;
  const refused = factsRefused ? `; facts refused at ${factsRefused.path}: ${factsRefused.message}` : "";
  return `${said}${message ? `; ${message}` : ""}${refused}`;
}
