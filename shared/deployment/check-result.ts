// What a check of a deployment found, in words for its operator.

export interface CheckResult {
  /** What was looked at: `ORIGINS`, `token`, `apiserver`. */
  check: string;
  /** `failed`: something does not work now. `warning`: it will not, or is not as it was meant. */
  state: "ok" | "warning" | "failed";
  message: string;
  /** What to do about it; absent where all is well. */
  cure?: string;
}

/** What is wrong, and what to do about it. */
export interface DeploymentFault {
  state: "warning" | "failed";
  message: string;
  cure: string;
  /** No machine can be served, and each would be blamed for it: the Worker answers that it is not configured. */
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
/** As `failed`, for what machines cannot do without. */
export const stopping = (message: string, cure: string): DeploymentFault => ({
  ...failed(message, cure),
  stopsMachines: true,
});

/** As the Worker's bindings and wrangler's configuration have them: what is absent is undefined. */
export type Configured = Readonly<Record<string, unknown>>;

/** null: it is as it should be. `configured`: the others. */
export type Check = (text: string, configured: Configured) => DeploymentFault | null;

/** A variable that is absent is as an empty one. Of other JSON, such as a list, its text is none that a check takes. */
export function textOf(configured: Configured, name: string): string {
  const value = configured[name];
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export const isEmpty = (text: string) => text.trim() === "";
export const entriesOf = (text: string) => text.split(/\s+/).filter((entry) => entry !== "");
