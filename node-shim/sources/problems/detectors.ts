// Runs the problem monitors of --problem-detectors, and reports each as a drop-in with conditions. A monitor that cannot
// read its log, or whose file has a fault, is a drop-in that fails.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Problems } from "../../../shared/protocol/problems.ts";
import { failure, type Result } from "../../../shared/result.ts";
import { codeOf, faultOf } from "../../base/fault.ts";
import type { Warn } from "../../base/reading.ts";
import { withTrustedFile } from "../../base/ownership.ts";
import type { Remembered } from "../drop-ins/drop-ins.ts";
import { type LogMonitorConfig, parseMonitor } from "./config.ts";
import { logSource, type SourceOptions } from "./log-source.ts";
import { type Found, lineMatcher } from "./matcher.ts";
import { ProblemConditions, ProblemEvents } from "./problem-state.ts";

interface DetectorOptions extends Pick<SourceOptions, "wallMs" | "uptimeMs" | "run" | "turn"> {
  /** The absolute paths of the files. */
  paths: readonly string[];
  nowMs: () => number; // monotonic: typically monotonicMs
  /** Waits before a source that failed is read again. */
  retry: (signal: AbortSignal) => Promise<void>;
  warn: Warn;
}

export interface ProblemDetectors {
  /** Starts all monitors. Calls `changed` after each event. */
  start: (changed: () => void) => void;
  /** Returns each monitor's result, by the path of its file. */
  dropIns: () => ReadonlyMap<string, Remembered>;
  events: () => Problems | undefined;
  close: () => void;
}

const MOST_BYTES = 256 * 1024;

/** Reads the files and returns the detectors. Never throws: a fault of a file must not stop the machine's reports. */
export function problemDetectors(options: DetectorOptions): ProblemDetectors {
  const { paths, nowMs } = options;
  const stopping = new AbortController();
  const events = new ProblemEvents(randomBytes(12).toString("base64url"), nowMs);
  const monitors = new Map(paths.map((path) => [path, monitorOf(path, options, events)]));
  let isStarted = false;
  return {
    start(changed) {
      if (isStarted) return;
      isStarted = true;
      for (const monitor of monitors.values()) void monitor.run(stopping.signal, changed);
    },
    dropIns: () => new Map([...monitors].map(([path, { result }]) => [path, result()])),
    events() {
      events.settle();
      return events.facts();
    },
    close: () => stopping.abort(),
  };
}

interface Monitor {
  /** Reads the log until the signal is aborted. Never rejects. */
  run: (signal: AbortSignal, changed: () => void) => Promise<void>;
  result: () => Remembered;
}

function monitorOf(path: string, options: DetectorOptions, events: ProblemEvents): Monitor {
  const config = readMonitor(path);
  if (!config.ok) return failedMonitor(config.error, options.nowMs);
  for (const note of config.value.notes) options.warn("problem detectors", `${path}: ${note}`);
  return logMonitor(path, config.value, options, events);
}

function failedMonitor(error: string, nowMs: () => number): Monitor {
  return { run: () => Promise.resolve(), result: () => ({ readMs: nowMs(), error }) };
}

function readMonitor(path: string): Result<LogMonitorConfig> {
  try {
    const text = withTrustedFile(path, (descriptor, { size }) =>
      size > MOST_BYTES ? null : readFileSync(descriptor, "utf8"),
    );
    if (!text.ok) return text;
    return text.value === null ? failure(`is larger than ${MOST_BYTES} bytes`) : parseMonitor(text.value);
  } catch (error) {
    return failure(`cannot be read (${codeOf(error)})`);
  }
}

function logMonitor(
  path: string,
  config: LogMonitorConfig,
  options: DetectorOptions,
  events: ProblemEvents,
): Monitor {
  const { nowMs, wallMs, uptimeMs, retry, warn } = options;
  const sinceMs = Math.max(wallMs() - uptimeMs() + config.delayMs, wallMs() - config.lookbackMs);
  const source = logSource(config, { ...options, sinceMs });
  if (!source.ok) return failedMonitor(source.error, nowMs);
  const conditions = new ProblemConditions(config.conditions, nowMs, (event) => events.record(path, event));
  const take = matchTaker(config, conditions, (reason, message) =>
    events.record(path, { type: "Warning", reason, message }),
  );
  const healing = config.conditions.flatMap(({ healthyPattern }) => healthyPattern ?? []);
  const { read, lineOf, asWritten } = source.value;
  const expressions = [...config.rules.map(({ expression }) => expression), ...healing];
  const match = lineMatcher({ bufferSize: config.bufferSize, expressions, lineOf, asWritten });
  let fault: { text: string; sinceMs: number } | null = null;

  async function readOnce(signal: AbortSignal, changed: () => void): Promise<void> {
    for await (const lines of read(signal)) {
      fault = null;
      for (const line of lines) for (const found of match(line)) take(found);
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
          if (fault?.text !== text) warn("problem detectors", `${path}: ${text}`);
          fault = { text, sinceMs: fault?.sinceMs ?? nowMs() };
          changed();
          await retry(signal);
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
  };
}

/** Returns a function that takes a match: of a rule, or of the healthy pattern of a condition. */
function matchTaker(
  { rules, conditions: configs }: LogMonitorConfig,
  conditions: ProblemConditions,
  record: (reason: string, message: string) => void,
): (found: Found) => void {
  const healed = configs.filter(({ healthyPattern }) => healthyPattern).map(({ healthy }) => healthy.type);
  return ({ index, message }) => {
    const rule = rules[index];
    if (rule === undefined) {
      conditions.end(healed[index - rules.length]!);
      return;
    }
    const { condition, reason, suffix } = rule;
    const text = suffix === "" ? message : `${message}; ${suffix}`;
    if (condition === null) record(reason, text);
    else conditions.set(condition, "True", reason, text);
  };
}
