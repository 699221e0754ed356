// Checks a deployment's variables and secrets for faults, some of which keep the Worker from serving machines.
import {
  type Check,
  type Configured,
  type DeploymentFault,
  type CheckResult,
  isEmpty,
  textOf,
} from "./check-result.ts";
import { SECRETS } from "./secrets.ts";
import { VARIABLES } from "./variables.ts";

const CHECKS: Readonly<Record<string, Check>> = { ...VARIABLES, ...SECRETS };

export interface CheckedConfiguration {
  findings: CheckResult[];
  /** true if the Worker answers machines that it is not configured. */
  stopsMachines: boolean;
}

/** Checks all variables and secrets of a running Worker. */
export function checkConfiguration(configured: Configured): CheckedConfiguration {
  const checked = checkNames(Object.keys(CHECKS), configured);
  return {
    findings: checked.map(({ finding }) => finding),
    stopsMachines: checked.some(({ fault }) => fault?.stopsMachines === true),
  };
}

/** Checks a configuration before its deployment. No check can read stored secrets, so `secrets` may lack some. */
export function checkDeployment(variables: Configured, secrets: Configured): CheckResult[] {
  const known = Object.keys(SECRETS).filter((name) => name in secrets);
  const checked = checkNames([...Object.keys(VARIABLES), ...known], { ...variables, ...secrets });
  return checked.map(({ finding }) => finding);
}

function checkNames(
  names: readonly string[],
  configured: Configured,
): { finding: CheckResult; fault: DeploymentFault | null }[] {
  return names.map((name) => {
    const text = textOf(configured, name);
    const fault = CHECKS[name]?.(text, configured) ?? null;
    return { finding: findingOf(name, fault, text), fault };
  });
}

function findingOf(check: string, fault: DeploymentFault | null, text: string): CheckResult {
  if (fault === null) return { check, state: "ok", message: shown(check, text) };
  const { state, message, cure } = fault;
  return { check, state, message, cure };
}

/** Returns the value for the operator. A secret's value is never shown: the result is `set` or `not set`. */
function shown(name: string, text: string): string {
  if (isEmpty(text)) return "not set";
  return name in SECRETS ? "set" : text;
}
