// Runs the problem monitors of --problem-detectors, and reports each as a drop-in with conditions. A monitor that cannot
// read its log, or whose file has a fault, is a drop-in that fails.
import { randomBytes } from "node:crypto";
import type { Clearing, Problems } from "../../../shared/protocol/problems.ts";
import { trustedText } from "../../base/ownership.ts";
import type { Warn } from "../../base/reading.ts";
import type { Remembered } from "../drop-ins/drop-ins.ts";
import { parseMonitor } from "./config.ts";
import { logMonitor } from "./log-monitor.ts";
import { failedMonitor, type Monitor, type MonitorOptions } from "./monitor.ts";
import { pluginMonitor } from "./plugin-monitor.ts";
import { ProblemEvents } from "./problem-state.ts";
import type { ProblemStore } from "./problem-store.ts";

interface DetectorOptions extends Omit<MonitorOptions, "record" | "warn"> {
  /** The absolute paths of the files. */
  paths: readonly string[];
  /** Where conditions outlive the process; null if nowhere. */
  store: ProblemStore | null;
  warn: Warn;
}

export interface ProblemDetectors {
  /** Restores the stored conditions and starts all monitors. Calls `changed` with the events after each read. */
  start: (changed: (events: Omit<Problems, "held">) => void) => void;
  /** Returns each monitor's result, by the path of its file. */
  dropIns: () => ReadonlyMap<string, Remembered>;
  /** Returns the events, and the conditions that an operator can end. */
  facts: () => Problems;
  /** Ends conditions for an operator. Returns their types, without those that another problem has set since. */
  clear: (orders: readonly Clearing[]) => string[];
  close: () => void;
}

const MOST_BYTES = 256 * 1024;

/** Reads the files and returns the detectors. Never throws: a fault of a file must not stop the machine's reports. */
export function problemDetectors(options: DetectorOptions): ProblemDetectors {
  const { paths, nowMs, store } = options;
  const stopping = new AbortController();
  const events = new ProblemEvents(randomBytes(12).toString("base64url"), nowMs);
  const monitors = new Map(paths.map((path) => [path, monitorOf(path, options, events)]));
  let isStarted = false;
  let noticed = () => {};
  let stored = 0;

  function keep(): void {
    if (events.last() === stored) return;
    stored = events.last();
    store?.write(Object.fromEntries([...monitors].map(([path, monitor]) => [path, monitor.stored()])));
  }

  return {
    start(changed) {
      if (isStarted) return;
      isStarted = true;
      for (const [path, each] of store?.read() ?? []) monitors.get(path)?.restore(each);
      noticed = () => {
        events.settle();
        keep();
        changed(events.facts());
      };
      for (const monitor of monitors.values()) void monitor.run(stopping.signal, noticed);
    },
    dropIns: () => new Map([...monitors].map(([path, { result }]) => [path, result()])),
    facts() {
      events.settle();
      return { ...events.facts(), held: Object.fromEntries([...monitors.values()].flatMap(marksOf)) };
    },
    clear(orders) {
      const cleared = orders.filter((order) => [...monitors.values()].some((each) => each.clear(order)));
      if (cleared.length > 0) noticed();
      return cleared.map(({ condition }) => condition);
    },
    close: () => stopping.abort(),
  };
}

const marksOf = (monitor: Monitor) =>
  Object.entries(monitor.stored().conditions).map(([type, { mark }]) => [type, mark]);

function monitorOf(path: string, options: DetectorOptions, events: ProblemEvents): Monitor {
  const text = trustedText(path, MOST_BYTES);
  const config = text.ok ? parseMonitor(text.value) : text;
  if (!config.ok) return failedMonitor(config.error, options.nowMs);
  const warn = (message: string) => options.warn("problem detectors", `${path}: ${message}`);
  config.value.notes.forEach(warn);
  const given: MonitorOptions = { ...options, warn, record: (event) => events.record(path, event) };
  return config.value.plugin === "custom"
    ? pluginMonitor(config.value, given)
    : logMonitor(config.value, given);
}
