// Defines the result of a check of a deployment, in words for its operator.

export interface CheckResult {
  /** The subject of the check: `ORIGINS`, `token`, `apiserver`. */
  check: string;
  /** `failed`: a part of the deployment fails now. `warning`: a part will fail later, or is probably unintended. */
  state: "ok" | "warning" | "failed";
  message: string;
  /** The remedy for the operator; absent if the check passed. */
  cure?: string;
}

/** A fault of a deployment, with its remedy. */
export interface DeploymentFault {
  state: "warning" | "failed";
  message: string;
  cure: string;
  /** true if the Worker serves no machine because of the fault, and answers that it is not configured. */
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
/** Makes a `failed` result for a fault that keeps the Worker from serving any machine. */
export const stopping = (message: string, cure: string): DeploymentFault => ({
  ...failed(message, cure),
  stopsMachines: true,
});

/** The Worker's bindings, or wrangler's configuration, by name. A value is undefined if absent. */
export type Configured = Readonly<Record<string, unknown>>;

/** Checks the value `text`; returns null if it is valid. `configured` has the values of all variables and secrets. */
export type Check = (text: string, configured: Configured) => DeploymentFault | null;

/** Returns the text of a variable, "" if it is absent. A value that is no text becomes JSON, which no check accepts. */
export function textOf(configured: Configured, name: string): string {
  const value = configured[name];
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export const isEmpty = (text: string) => text.trim() === "";
export const entriesOf = (text: string) => text.split(/\s+/).filter((entry) => entry !== "");
