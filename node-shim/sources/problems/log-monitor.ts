// Runs a monitor of a log: reads its lines, and turns matches into conditions and events.
import { faultOf } from "../../base/fault.ts";
import type { LogMonitorConfig } from "./config.ts";
import { logSource, type SourceOptions } from "./log-source.ts";
import { type Found, lineMatcher } from "./matcher.ts";
import { failedMonitor, type Monitor, type MonitorOptions } from "./monitor.ts";
import { ProblemConditions } from "./problem-state.ts";

/** Milliseconds between two reads. To wake the process costs more than to read and search 200 lines. */
const EVERY_MS = 2000;
/** Milliseconds before a log that cannot be read is tried again. */
const RETRY_MS = 30_000;
/** Milliseconds between two pauses: a user who floods a log must not hold up the shim's reports. */
const WORK_MS = 100;

export function logMonitor(config: LogMonitorConfig, options: MonitorOptions): Monitor {
  const { nowMs, wallMs, uptimeMs, pause, warn, record } = options;
  const sinceMs = Math.max(wallMs() - uptimeMs() + config.delayMs, wallMs() - config.lookbackMs);
  const turn = turnsOf(options);
  const source = logSource(config, { ...options, sinceMs, turn });
  if (!source.ok) return failedMonitor(source.error, nowMs);
  const conditions = new ProblemConditions(config.conditions, nowMs, record);
  const take = matchTaker(config, conditions, (reason, message) =>
    record({ type: "Warning", reason, message }),
  );
  const healing = config.conditions.flatMap(({ healthyPattern }) => healthyPattern ?? []);
  const { read, lineOf, asWritten } = source.value;
  const expressions = [...config.rules.map(({ expression }) => expression), ...healing];
  const match = lineMatcher({ bufferSize: config.bufferSize, expressions, lineOf, asWritten });
  /** The time of the last line that was taken, now and before this read of the log began. */
  let throughMs = 0;
  let storedMs = 0;
  let fault: { text: string; sinceMs: number } | null = null;

  /** Takes a match, unless an earlier read took it. */
  function notice(found: Found): void {
    if (found.atMs <= storedMs) return;
    // A line may have a time of the future, which must not hide the lines after it.
    throughMs = Math.max(throughMs, Math.min(found.atMs, wallMs()));
    take(found);
  }

  async function readOnce(signal: AbortSignal, changed: () => void): Promise<void> {
    for await (const lines of read(signal)) {
      fault = null;
      await inPortions(match(lines), notice, { ...options, changed, signal });
      conditions.expire();
      changed();
    }
    if (!signal.aborted) throw new Error("the log has ended");
  }

  return {
    async run(signal, changed) {
      while (!signal.aborted) {
        try {
          await readOnce(signal, changed);
        } catch (error) {
          const text = faultOf(error);
          if (fault?.text !== text) warn(text);
          fault = { text, sinceMs: fault?.sinceMs ?? nowMs() };
          // The next read may begin with lines that were taken.
          storedMs = Math.min(throughMs, wallMs());
          changed();
          await pause(RETRY_MS, signal);
        }
      }
    },
    result: () => ({
      dropIn: { resources: {}, labels: {}, conditions: conditions.list(), custom: {} },
      agedMs: 0,
      // The conditions of a log that cannot be read expire.
      readMs: fault?.sinceMs ?? nowMs(),
      error: fault?.text,
    }),
    stored: () => ({ conditions: conditions.stored(), throughMs }),
    restore(stored) {
      conditions.restore(stored.conditions);
      // A clock that was ahead has been set back since.
      throughMs = storedMs = Math.min(stored.throughMs, wallMs());
    },
    clear: (order) => conditions.clear(order),
  };
}

/**
 * Returns the wait between two reads. All monitors read at the same times: to wake the process costs as much as a read.
 * A timer may ring a part of a millisecond early, and must not ring twice for one of these times.
 */
const turnsOf =
  ({ nowMs, pause }: MonitorOptions): SourceOptions["turn"] =>
  (signal) =>
    pause(EVERY_MS + 1 - Math.floor(nowMs() % EVERY_MS), signal);

interface Portions extends Pick<MonitorOptions, "nowMs" | "cpuMs" | "pause"> {
  signal: AbortSignal;
  changed: () => void;
}

/** Calls `take` with each match of each line. Pauses after each WORK_MS, so that it uses a tenth of a CPU. */
async function inPortions(
  matched: Iterable<readonly Found[]>,
  take: (found: Found) => void,
  { nowMs, cpuMs, pause, signal, changed }: Portions,
): Promise<void> {
  let [beganMs, usedMs] = [nowMs(), cpuMs()];
  for (const found of matched) {
    found.forEach(take);
    if (nowMs() - beganMs < WORK_MS) continue;
    changed();
    // One line may cost more than WORK_MS. The time of other programs on the CPU is no work of the monitor.
    await pause(9 * (cpuMs() - usedMs), signal);
    if (signal.aborted) return;
    [beganMs, usedMs] = [nowMs(), cpuMs()];
  }
}

/** Returns a function that takes a match: of a rule, or of the healthy pattern of a condition. */
function matchTaker(
  { rules, conditions: configs }: LogMonitorConfig,
  conditions: ProblemConditions,
  record: (reason: string, message: string) => void,
): (found: Found) => void {
  const healed = configs.filter(({ healthyPattern }) => healthyPattern).map(({ healthy }) => healthy.type);
  return ({ index, message, subject }) => {
    const rule = rules[index];
    if (rule === undefined) {
      conditions.end(healed[index - rules.length]!, subject);
      return;
    }
    const { condition, reason, suffix } = rule;
    const text = suffix === "" ? message : `${message}; ${suffix}`;
    if (condition === null) record(reason, text);
    else conditions.set(condition, "True", reason, text, { subject });
  };
}
