// What is wrong with a deployment's variables and secrets: one list, by which the Worker says that it is not
// configured, and by which a deployment is stopped before it happens.
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
  /** Must machines be told that the Worker is not configured? */
  stopsMachines: boolean;
}

/** All of it, as the Worker is given it. */
export function checkConfiguration(configured: Configured): CheckedConfiguration {
  const checked = checkNames(Object.keys(CHECKS), configured);
  return {
    findings: checked.map(({ finding }) => finding),
    stopsMachines: checked.some(({ fault }) => fault?.stopsMachines === true),
  };
}

/** Before a deployment: its variables, and of its secrets those that are known, since the others cannot be read back. */
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

/** Of a secret only whether there is one. */
function shown(name: string, text: string): string {
  if (isEmpty(text)) return "not set";
  return name in SECRETS ? "set" : text;
}
