// Sets the labels that a deployment and its join tokens give a Node. No machine decides about these labels.
import { fieldOwners } from "../kubernetes/managed-fields.ts";
import { isRoleLabel, PASSED_OVER_ROLE, roleFault, roleLabel } from "../kubernetes/roles.ts";
import { isRollcallLabel } from "../protocol/drop-ins.ts";
import { FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION } from "../setters/fact-labels.ts";
import { listedLabels } from "../setters/listed-labels.ts";
import { listedIn, replaceListed } from "../setters/listed.ts";
import type { DraftNode, Setter } from "../setters/setter.ts";
import { DEPLOYMENT_LABEL, MACHINE_LABEL } from "./ownership.ts";

/** The annotation that lists rollcall's roles. A listed role is removed when deployment and token no longer name it. */
export const ROLES_ANNOTATION = "rollcall.dev/roles";

/** The settings of a deployment that change all of its Nodes. */
export interface NodeMarks {
  deployment: string;
  /** The roles of Nodes whose join token names none. */
  roles: readonly string[];
  /** true for NODE_TOPOLOGY_LABELS=keep: bystanders also keep a kubelet's labels. */
  keepsTopologyLabels?: boolean;
  /** true for NODE_HINTS=pass-over: bystanders have the role that topology hints ignore. */
  isPassedOver?: boolean;
  /** true for NODE_UNSCHEDULABLE=on: bystanders are created unschedulable. */
  isUnschedulable?: boolean;
}

/** Returns a setter that restores missing or changed labels. A role that another writer gave the Node stays. */
export function ownLabels(
  deployment: string | null, // null on a machine, which does not know its deployment
  roles: readonly string[], // contains no role of a control plane but PASSED_OVER_ROLE
  fieldManager?: string, // this deployment's; a role that this manager wrote is rollcall's even without the list
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

/** Updates the list of rollcall's roles. Returns the listed roles that are no longer in `roles`. */
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
  // Roles that rollcall cannot give are skipped, because another writer may have changed the annotation.
  return gone.filter(
    (role) => roleFault(role) === null || (role === PASSED_OVER_ROLE && isWrittenHere(roleLabel(role))),
  );
}

export const TOKEN_LABELS_ANNOTATION = "rollcall.dev/token-labels";

/** Returns a setter of the join token's labels, over the facts' labels, that removes labels of an earlier token. */
export function tokenLabels(
  given: Readonly<Record<string, string>>, // the labels in the join token's grant
): Setter {
  return listedLabels({
    annotation: TOKEN_LABELS_ANNOTATION,
    wanted: given,
    // A label in the lists of the machine's facts belongs to the machine, so this setter does not remove it.
    mayBeRemoved: (key, node) =>
      !isRollcallLabel(key) &&
      !isRoleLabel(key) &&
      ![FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION].some((list) => listedIn(node, list).includes(key)),
  });
}
