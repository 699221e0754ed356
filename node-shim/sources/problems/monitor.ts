// Describes what a monitor of problems gets, and what it offers.
import type { Clearing } from "../../../shared/protocol/problems.ts";
import type { Remembered } from "../drop-ins/drop-ins.ts";
import type { RunForCode } from "../../base/child.ts";
import type { SourceOptions } from "./log-source.ts";
import type { NewEvent, StoredConditions } from "./problem-state.ts";

/** What a monitor keeps for the next process of the shim, until the next boot. */
export interface StoredMonitor {
  conditions: StoredConditions;
  /** The time of the last line that was taken, in milliseconds since 1970. */
  throughMs: number;
}

export interface MonitorOptions extends Pick<
  SourceOptions,
  "wallMs" | "uptimeMs" | "firstProcessMs" | "run"
> {
  nowMs: () => number; // monotonic: typically monotonicMs
  /** Returns the milliseconds for which this process has used a CPU. Typically cpuMs. */
  cpuMs: () => number;
  /** Waits, or until the signal is aborted. */
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
  runForCode: RunForCode;
  /** Records an event of the monitor. Returns a name of the event. */
  record: (event: NewEvent) => string;
  /** Logs a fault of the monitor. */
  warn: (message: string) => void;
}

export interface Monitor {
  /** Works until the signal is aborted. Calls `changed` after each read. Never rejects. */
  run: (signal: AbortSignal, changed: () => void) => Promise<void>;
  result: () => Remembered;
  stored: () => StoredMonitor;
  restore: (stored: StoredMonitor) => void;
  /** Ends a condition for an operator. Returns false if the monitor does not hold this problem. */
  clear: (order: Clearing) => boolean;
}

/** Returns the monitor of a file that has a fault. */
export function failedMonitor(error: string, nowMs: () => number): Monitor {
  return {
    run: () => Promise.resolve(),
    result: () => ({ readMs: nowMs(), error }),
    stored: () => ({ conditions: {}, throughMs: 0 }),
    restore: () => undefined,
    clear: () => false,
  };
}
