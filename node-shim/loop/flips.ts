// Detects flips: changes of a Node condition's inputs since the last delivered report. The loop sends the reports.
import {
  CONDITION_OF_SIGNAL,
  NO_PRESSURE,
  type PressureCondition,
  synchronizeEviction,
} from "../../shared/resources/eviction.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../shared/protocol/settings.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import { problemsText, type Seen } from "../machine/machine.ts";
import { parsedSettings } from "../../shared/from-report/parsed-settings.ts";

/** The part of the vitals that conditions depend on. */
interface ConditionInputs {
  pressures: readonly PressureCondition[];
  /** The errors that keep the Node from being Ready, as JSON; "" if there are none. */
  errors: string;
  hasRuntime: boolean;
  shuttingDown: boolean;
  /** The result of `problemsText`. */
  problems: string;
}

/** The content of a report. Must be passed to `delivered` once the Worker has accepted the report. */
export interface ReportDraft {
  vitals: Vitals;
  inputs: ConditionInputs;
}

export interface Flips {
  /** Takes the signals and errors that a probe has read between two reports. */
  see: (seen: Seen) => void;
  /** Returns the content of a report that the loop sends now, without its facts. */
  draft: (gathered: Vitals, facts: Pick<Facts, "runtime" | "problems" | "dropIns">) => ReportDraft;
  delivered: (draft: ReportDraft) => void;
  /** Returns whether a condition's input changed since the delivered report. Before Ready, new errors do not count. */
  isNews: (wasReady: boolean) => boolean;
}

/**
 * Returns the detector of flips for a machine's settings. A pressure begins at once and ends after
 * evictionPressureTransitionPeriod, as in the Worker. A report carries the value with which a signal crossed its
 * threshold, since the signal may have crossed back before the report.
 */
export function conditionFlips(settings: Settings, nowMs: () => number): Flips {
  const { thresholds } = parsedSettings(settings);
  const periodMs =
    settings.evictionPressureTransitionPeriodMs ?? DEFAULT_SETTINGS.evictionPressureTransitionPeriodMs;
  let eviction = NO_PRESSURE;
  let crossings: Vitals["signals"] = {};
  let inputs: ConditionInputs = {
    pressures: [],
    errors: "",
    hasRuntime: false,
    shuttingDown: false,
    problems: "",
  };
  let lastDelivered: ConditionInputs | null = null;

  function see({ signals, errors, hasRuntime, shuttingDown, problems }: Seen): void {
    if (signals) {
      const before = eviction.conditions;
      eviction = synchronizeEviction(thresholds, signals, eviction, nowMs(), periodMs);
      const { conditions } = eviction;
      crossings = {
        ...ofConditions(crossings, (condition) => conditions.includes(condition)),
        ...ofConditions(
          signals,
          (condition) => conditions.includes(condition) && !before.includes(condition),
        ),
      };
    }
    inputs = {
      pressures: eviction.conditions,
      errors: errors ? errorsText(errors) : inputs.errors,
      hasRuntime: hasRuntime ?? inputs.hasRuntime,
      shuttingDown: shuttingDown ?? inputs.shuttingDown,
      problems: problems ?? inputs.problems,
    };
  }

  return {
    see,
    draft(gathered, { runtime, problems, dropIns }) {
      const { errors = {}, shuttingDown = false } = gathered;
      // The first facts may lack the drop-ins, and with them the conditions of problem detectors.
      const sent = dropIns === undefined ? "" : problemsText(problems);
      const given = { hasRuntime: runtime !== null, problems: sent };
      see({ ...gathered, errors, shuttingDown, ...given });
      return { vitals: { ...gathered, signals: { ...gathered.signals, ...crossings } }, inputs };
    },
    delivered({ vitals, inputs: sent }) {
      lastDelivered = sent;
      // Keeps the signals that crossed a threshold while the report was being sent.
      crossings = Object.fromEntries(
        Object.entries(crossings).filter(
          ([name, seen]) => vitals.signals[name as keyof typeof crossings] !== seen,
        ),
      );
    },
    isNews: (wasReady) => lastDelivered !== null && differ(lastDelivered, inputs, wasReady),
  };
}

function differ(before: ConditionInputs, now: ConditionInputs, wasReady: boolean): boolean {
  if (before.shuttingDown !== now.shuttingDown || before.pressures.join() !== now.pressures.join())
    return true;
  if (before.hasRuntime !== now.hasRuntime || before.problems !== now.problems) return true;
  return before.errors !== now.errors && (wasReady || now.errors === "");
}

export function ofConditions(
  signals: Vitals["signals"],
  isWanted: (condition: PressureCondition) => boolean,
): Vitals["signals"] {
  const entries = Object.entries(signals).filter(([name]) =>
    isWanted(CONDITION_OF_SIGNAL[name as keyof typeof signals]),
  );
  return Object.fromEntries(entries);
}

function errorsText({ runtime = [], network = [], storage = [] }: NonNullable<Vitals["errors"]>): string {
  const isNone = runtime.length + network.length + storage.length === 0;
  return isNone ? "" : JSON.stringify([runtime, network, storage]);
}
