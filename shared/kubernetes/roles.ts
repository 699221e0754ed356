// Handles a Node's roles, which kubectl shows in the column ROLES. NodeRestriction refuses role labels to a kubelet.
import { labelKeyErrors } from "./validation.ts";

const ROLE_PREFIX = "node-role.kubernetes.io/";
/** The roles of a control plane. The workloads of a control plane are scheduled on Nodes with these roles. */
const CONTROL_PLANE_ROLES = new Set(["control-plane", "master", "etcd"]);
/** The role that topology hints ignore (isControlPlaneNode). Few workloads select it. */
export const PASSED_OVER_ROLE = "master";

/** Returns the key of the label for this role. */
export function roleLabel(role: string): string {
  return ROLE_PREFIX + role;
}

/** Returns true if the label stands for a role. Only older kubectls read the form `kubernetes.io/role`. */
export function isRoleLabel(key: string): boolean {
  return key.startsWith(ROLE_PREFIX) || key === "kubernetes.io/role";
}

/** Returns the reason why a machine without a kubelet cannot have this role; null if it can. */
export function roleFault(role: string): string | null {
  if (CONTROL_PLANE_ROLES.has(role)) return "a role of the control plane";
  return role.includes("/") || labelKeyErrors(roleLabel(role)).length > 0 ? "not a role's name" : null;
}
