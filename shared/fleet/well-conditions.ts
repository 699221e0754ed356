// Decides whether the status of a Node's condition is good, for the command line and the page.

/** Returns true for a condition without a problem: Ready is True, any other condition is False. */
export const isWell = ({ type, status }: { type: string; status: string }): boolean =>
  status === wellStatus(type);
const wellStatus = (type: string) => (type === "Ready" ? "True" : "False");

/** Returns true if any condition's status is not good. Allocates nothing, since it runs often for all machines. */
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
