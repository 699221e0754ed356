// Decides whether the status of a Node's condition is good, and describes conditions that are not.

import { isLifecycle } from "../kubernetes/lifecycle-conditions.ts";

/** Returns true for a condition without a problem: Ready is True, any other is False. A lifecycle condition has none. */
export const isWell = ({ type, status }: { type: string; status: string }): boolean => isWellAs(type, status);
const isWellAs = (type: string, status: string | undefined) =>
  status === (type === "Ready" ? "True" : "False") || isLifecycle(type);

/** Returns true if any condition's status is not good. Allocates nothing, since it runs often for all machines. */
export function hasWrongCondition(conditions: Readonly<Record<string, string>>): boolean {
  for (const type of Object.keys(conditions)) if (!isWellAs(type, conditions[type])) return true;
  return false;
}

/** Returns types and statuses of the conditions whose status is not good: Ready first, then by name. */
export function wrongConditions(
  conditions: Readonly<Record<string, string>>,
): { type: string; status: string }[] {
  return Object.entries(conditions)
    .map(([type, status]) => ({ type, status }))
    .filter((condition) => !isWell(condition))
    .sort((a, b) => Number(b.type === "Ready") - Number(a.type === "Ready") || (a.type < b.type ? -1 : 1));
}

/** The fields of a condition that a text about it has. */
interface DescribedCondition {
  type: string;
  status: string;
  message?: string | undefined;
}

/** Returns a text like `MemoryPressure is True: kubelet has insufficient memory available`. */
export const conditionText = ({ type, status, message = "" }: DescribedCondition): string =>
  `${type} is ${status}${message && `: ${message}`}`;

/**
 * Returns a text about the conditions whose status is not good, Ready first; "" if there is none. Lists, command line
 * and page quote a machine's last report by this text: `conditions` are those that the report decided. Conditions of
 * the Node do not qualify, because a node controller replaces their messages during a silence.
 */
export function problemsText(conditions: readonly DescribedCondition[]): string {
  const wrong = conditions.filter((condition) => !isWell(condition));
  const isReady = ({ type }: DescribedCondition) => type === "Ready";
  const ordered = [...wrong.filter(isReady), ...wrong.filter((each) => !isReady(each))];
  return ordered.map(conditionText).join("; ");
}
