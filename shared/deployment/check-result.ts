// The result of a check of a deployment, in words for its operator.

export interface CheckResult {
  /** The subject of the check: `ORIGINS`, `token`, `apiserver`. */
  check: string;
  /** `failed`: something does not work now. `warning`: it will fail later, or is unintended. */
  state: "ok" | "warning" | "failed";
  message: string;
  /** What to do about it; absent if the check passed. */
  cure?: string;
}

/** A fault, and what to do about it. */
export interface DeploymentFault {
  state: "warning" | "failed";
  message: string;
  cure: string;
  /** The Worker can serve no machine, so it answers that it is not configured. */
  stopsMachines?: boolean;
}

export const failed = (message: string, cure: string): DeploymentFault => ({
  state: "failed",
  message,
  cure,
});
export const warning = (message: string, cure: string): DeploymentFault => ({
  state: "warning",
  message,
  cure,
});
/** Makes a `failed` result for a fault that affects every machine. */
export const stopping = (message: string, cure: string): DeploymentFault => ({
  ...failed(message, cure),
  stopsMachines: true,
});

/** The values of the Worker's bindings and of wrangler's configuration; undefined if absent. */
export type Configured = Readonly<Record<string, unknown>>;

/** Checks a value; null if it is valid. `configured` has the other values. */
export type Check = (text: string, configured: Configured) => DeploymentFault | null;

/** Returns "" for an absent variable. The text of other JSON, such as a list, passes no check. */
export function textOf(configured: Configured, name: string): string {
  const value = configured[name];
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export const isEmpty = (text: string) => text.trim() === "";
export const entriesOf = (text: string) => text.split(/\s+/).filter((entry) => entry !== "");
