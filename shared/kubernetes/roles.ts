// The roles of a Node, which kubectl shows in its column ROLES: labels that NodeRestriction keeps from a kubelet.
import { labelKeyErrors } from "./validation.ts";

const ROLE_PREFIX = "node-role.kubernetes.io/";
/** Workloads of a control plane are put, and kept off, by these. */
const CONTROL_PLANE_ROLES = new Set(["control-plane", "master", "etcd"]);
/** Of the control plane's roles, the one that topology hints pass over and fewest workloads select (isControlPlaneNode). */
export const PASSED_OVER_ROLE = "master";

/** The key of the label that gives a Node this role. */
export function roleLabel(role: string): string {
  return ROLE_PREFIX + role;
}

/** Does a label with this key give a Node a role? Older kubectls read the second form. */
export function isRoleLabel(key: string): boolean {
  return key.startsWith(ROLE_PREFIX) || key === "kubernetes.io/role";
}

/** Why a machine without a kubelet cannot have this role; null: it can. */
export function roleFault(role: string): string | null {
  if (CONTROL_PLANE_ROLES.has(role)) return "a role of the control plane";
  return role.includes("/") || labelKeyErrors(roleLabel(role)).length > 0 ? "not a role's name" : null;
}
