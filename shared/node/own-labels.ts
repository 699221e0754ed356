// Setters of the labels that a deployment and its join tokens give a Node: MACHINE_LABEL, the deployment, roles, and those
// of the token. No machine decides about them.
import { fieldOwners } from "../kubernetes/managed-fields.ts";
import { isRoleLabel, PASSED_OVER_ROLE, roleFault, roleLabel } from "../kubernetes/roles.ts";
import { isRollcallLabel } from "../protocol/drop-ins.ts";
import { FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION } from "../setters/fact-labels.ts";
import { listedLabels } from "../setters/listed-labels.ts";
import { listedIn, replaceListed } from "../setters/listed.ts";
import type { DraftNode, Setter } from "../setters/setter.ts";
import { DEPLOYMENT_LABEL, MACHINE_LABEL } from "./ownership.ts";

/** Lists rollcall's roles, so that they are removed when deployment and token no longer name them. */
export const ROLES_ANNOTATION = "rollcall.dev/roles";

/** Settings of a deployment that change all of its Nodes. */
export interface NodeMarks {
  deployment: string;
  /** For Nodes whose join token names none. */
  roles: readonly string[];
  /** NODE_TOPOLOGY_LABELS=keep: bystanders keep a kubelet's labels as well. */
  keepsTopologyLabels?: boolean;
  /** NODE_HINTS=pass-over: bystanders have the role that topology hints pass over. */
  isPassedOver?: boolean;
  /** NODE_UNSCHEDULABLE=on: bystanders are created unschedulable. */
  isUnschedulable?: boolean;
}

/** Restores labels that are missing or have another value. A role that another writer has given the Node stays. */
export function ownLabels(
  deployment: string | null, // null: not known on a machine
  roles: readonly string[], // of the control plane PASSED_OVER_ROLE alone
  fieldManager?: string, // of this deployment: a role that it wrote is rollcall's even if the list was removed
): Setter {
  return (node) => {
    const before = node.metadata.labels ?? {};
    const gone = listRoles(node, roles, fieldManager);
    const wanted: [key: string, value: string][] = [[MACHINE_LABEL, ""]];
    if (deployment !== null) wanted.push([DEPLOYMENT_LABEL, deployment]);
    for (const role of roles) wanted.push([roleLabel(role), before[roleLabel(role)] ?? ""]);
    if (gone.length === 0 && wanted.every(([key, value]) => before[key] === value)) return null;
    const labels = { ...before, ...Object.fromEntries(wanted) };
    for (const role of gone) delete labels[roleLabel(role)];
    node.metadata.labels = labels;
    return null;
  };
}

/** Updates the list of rollcall's roles, and returns those that are no longer named. */
function listRoles(node: DraftNode, roles: readonly string[], fieldManager: string | undefined): string[] {
  if (roles.length === 0 && node.metadata.annotations?.[ROLES_ANNOTATION] === undefined) return [];
  const { labels = {} } = node.metadata;
  const listed = listedIn(node, ROLES_ANNOTATION);
  const isWrittenHere = (label: string) =>
    fieldOwners(node.metadata, ["f:metadata", "f:labels", `f:${label}`]).some(
      (owner) => owner === fieldManager,
    );
  const own = roles.filter((role) => {
    const label = roleLabel(role);
    return listed.includes(role) || labels[label] === undefined || isWrittenHere(label);
  });
  const gone = replaceListed(node, ROLES_ANNOTATION, own);
  // Another writer may have written the annotation.
  return gone.filter(
    (role) => roleFault(role) === null || (role === PASSED_OVER_ROLE && isWrittenHere(roleLabel(role))),
  );
}

export const TOKEN_LABELS_ANNOTATION = "rollcall.dev/token-labels";

/** Sets the labels of the join token over those of the machine's facts. A machine with another token gets its labels. */
export function tokenLabels(
  given: Readonly<Record<string, string>>, // the grant's
): Setter {
  return listedLabels({
    annotation: TOKEN_LABELS_ANNOTATION,
    wanted: given,
    // A label that the machine reports by now is the machine's.
    mayBeRemoved: (key, node) =>
      !isRollcallLabel(key) &&
      !isRoleLabel(key) &&
      ![FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION].some((list) => listedIn(node, list).includes(key)),
  });
}
