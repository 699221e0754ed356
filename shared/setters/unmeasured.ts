// Replaces the message of a pressure condition whose signals the machine does not report. Without a measurement a kubelet
// sets the same status and reason, and its message states a sufficient amount.
import { SIGNALS } from "../protocol/report.ts";
import { CONDITION_OF_SIGNAL, type Observations } from "../resources/eviction.ts";
import { KUBELET_WORDS } from "./machine-words.ts";
import type { Setter } from "./setter.ts";

/** The beginning of the message of a condition without a measurement. */
export const NOT_MEASURED = "not measured: the machine does not report ";

/** Returns a setter that runs before machineWords, which replaces a message that returns with a measurement. */
export function unmeasuredConditions(observations: Observations): Setter {
  return ({ status }) => {
    for (const [index, condition] of (status.conditions ?? []).entries()) {
      const signals = SIGNALS.filter((signal) => CONDITION_OF_SIGNAL[signal] === condition.type);
      const [first] = signals;
      if (!first || condition.status !== "False") continue;
      const isMeasured = signals.some((signal) => observations[signal] !== undefined);
      const wasMeasured = !condition.message?.startsWith(NOT_MEASURED);
      if (isMeasured === wasMeasured) continue;
      const [sufficient = ""] = KUBELET_WORDS[condition.type] ?? [];
      const message = isMeasured ? sufficient : NOT_MEASURED + first;
      status.conditions = (status.conditions ?? []).with(index, { ...condition, message });
    }
    return null;
  };
}
