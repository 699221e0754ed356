// Detects flips: compares what conditions depend on with the last delivered report. Sends nothing: the loop does.
import {
  CONDITION_OF_SIGNAL,
  NO_PRESSURE,
  type PressureCondition,
  synchronizeEviction,
} from "../../shared/resources/eviction.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../shared/protocol/settings.ts";
import type { Seen } from "../machine/machine.ts";
import { parsedSettings } from "../../shared/from-report/parsed-settings.ts";

/** The part of the vitals that conditions depend on. */
interface ConditionInputs {
  pressures: readonly PressureCondition[];
  /** What keeps the Node from being Ready, as JSON; "" when nothing does. */
  errors: string;
  hasRuntime: boolean;
  shuttingDown: boolean;
}

/** The content of a report; `delivered` gets it once it was delivered. */
export interface ReportDraft {
  vitals: Vitals;
  inputs: ConditionInputs;
}

export interface Flips {
  /** What was seen between two reports: signals, errors, or both. */
  see: (seen: Seen) => void;
  /** The content of a report that is sent now, beside its facts. */
  draft: (gathered: Vitals, hasRuntime: boolean) => ReportDraft;
  delivered: (draft: ReportDraft) => void;
  /**
   * Has something changed that a condition depends on, since the last delivered report? Before the first Ready, other
   * errors are no news; that there are none any more is.
   */
  isNews: (wasReady: boolean) => boolean;
}

/**
 * Pressures begin and end by the Worker's own rules: at once, and evictionPressureTransitionPeriod after. A signal that
 * crossed a threshold is sent as it was then, since it may have crossed back before the report.
 */
export function conditionFlips(settings: Settings, nowMs: () => number): Flips {
  const { thresholds } = parsedSettings(settings);
  const periodMs =
    settings.evictionPressureTransitionPeriodMs ?? DEFAULT_SETTINGS.evictionPressureTransitionPeriodMs;
  let eviction = NO_PRESSURE;
  let crossings: Vitals["signals"] = {};
  let inputs: ConditionInputs = { pressures: [], errors: "", hasRuntime: false, shuttingDown: false };
  let lastDelivered: ConditionInputs | null = null;

  function see({ signals, errors, hasRuntime, shuttingDown }: Seen): void {
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
    };
  }

  return {
    see,
    draft(gathered, hasRuntime) {
      const { errors = {}, shuttingDown = false } = gathered;
      see({ ...gathered, errors, hasRuntime, shuttingDown });
      return { vitals: { ...gathered, signals: { ...gathered.signals, ...crossings } }, inputs };
    },
    delivered({ vitals, inputs: said }) {
      lastDelivered = said;
      // Signals that crossed while the report was on its way are still to be sent.
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
  if (before.hasRuntime !== now.hasRuntime) return true;
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
