// Is a condition of a Node as it should be? One rule for the command line and for all of the page. Pure.

/** Ready should be True. Every other one tells of trouble where it is True, as kubelet's and node-problem-detector's do. */
export const isWell = ({ type, status }: { type: string; status: string }): boolean =>
  status === wellStatus(type);
const wellStatus = (type: string) => (type === "Ready" ? "True" : "False");

/** Makes nothing: it is asked of all machines with each change of the fleet. */
export function hasWrongCondition(conditions: Readonly<Record<string, string>>): boolean {
  for (const type of Object.keys(conditions)) if (conditions[type] !== wellStatus(type)) return true;
  return false;
}

/** Types and statuses of those that are not; Ready comes first, then by name. */
export function wrongConditions(
  conditions: Readonly<Record<string, string>>,
): { type: string; status: string }[] {
  return Object.entries(conditions)
    .map(([type, status]) => ({ type, status }))
    .filter((condition) => !isWell(condition))
    .sort((a, b) => Number(b.type === "Ready") - Number(a.type === "Ready") || (a.type < b.type ? -1 : 1));
}
