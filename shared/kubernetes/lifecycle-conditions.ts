// Names a Node's lifecycle conditions (KEP-5683). They state what operators do with the machine, and are no problem.

export const MAINTENANCE_PLANNED = "MaintenancePlanned";
export const MAINTENANCE_IN_PROGRESS = "MaintenanceInProgress";
export const SHUTDOWN_IN_PROGRESS = "GracefulNodeShutdownInProgress";

/** The conditions that operators or their controllers set. No report of the machine decides them. */
const OF_OPERATORS: ReadonlySet<string> = new Set([
  "DrainInProgress",
  "Drained",
  MAINTENANCE_PLANNED,
  MAINTENANCE_IN_PROGRESS,
]);

export const isOfOperators = (type: string): boolean => OF_OPERATORS.has(type);

export const isLifecycle = (type: string): boolean => type === SHUTDOWN_IN_PROGRESS || OF_OPERATORS.has(type);

/** Reports whether the machine is in maintenance, so that none of its states causes an alert. */
export function isInMaintenance(conditions: readonly { type: string; status: string }[]): boolean {
  return conditions.some(({ type, status }) => type === MAINTENANCE_IN_PROGRESS && status === "True");
}
