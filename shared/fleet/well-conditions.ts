// Decides whether a Node's condition is as it should be, for the command line and the page.

/** Ready should be True. Every other condition reports a problem if it is True, as kubelet's and node-problem-detector's. */
export const isWell = ({ type, status }: { type: string; status: string }): boolean =>
  status === wellStatus(type);
const wellStatus = (type: string) => (type === "Ready" ? "True" : "False");

/** Allocates nothing, since it runs for all machines with each change of the fleet. */
export function hasWrongCondition(conditions: Readonly<Record<string, string>>): boolean {
  for (const type of Object.keys(conditions)) if (conditions[type] !== wellStatus(type)) return true;
  return false;
}

/** Returns types and statuses of the others: Ready first, then by name. */
export function wrongConditions(
  conditions: Readonly<Record<string, string>>,
): { type: string; status: string }[] {
  return Object.entries(conditions)
    .map(([type, status]) => ({ type, status }))
    .filter((condition) => !isWell(condition))
    .sort((a, b) => Number(b.type === "Ready") - Number(a.type === "Ready") || (a.type < b.type ? -1 : 1));
}
