// Decides whether the status of a Node's condition is good, for the command line and the page.

/**
 * Returns true for Ready True. Every other condition, as of kubelet and node-problem-detector, reports a problem if
 * it is True.
 */
export const isWell = ({ type, status }: { type: string; status: string }): boolean =>
  status === wellStatus(type);
const wellStatus = (type: string) => (type === "Ready" ? "True" : "False");

/**
 * Returns true if the status of any condition is not good. The function allocates nothing, since it runs for all
 * machines after each change of the fleet.
 */
export function hasWrongCondition(conditions: Readonly<Record<string, string>>): boolean {
  for (const type of Object.keys(conditions)) if (conditions[type] !== wellStatus(type)) return true;
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
