// Lists all kinds that the apiserver serves. A new kind is a new row of this table.
import { dnsSubdomainErrors } from "../../../shared/kubernetes/validation.ts";
import * as columns from "./answers/columns.ts";
import { eventsGroup } from "./kinds/event-versions.ts";
import * as strategies from "./kinds/strategies.ts";
import { type ApiObject, textOf } from "./object.ts";
import type { RequestInfo } from "./request-info.ts";
import type { ResourceType, Subresource, Verb } from "./resource-type.ts";
import * as rules from "./validation/object-rules.ts";
import { validateCoreMetadata } from "./validation/metadata-rules.ts";
import { labelErrors } from "./validation/names.ts";

const readVerbs: Verb[] = ["get", "list", "watch"];
const singleVerbs: Verb[] = ["create", "delete", "get", "list", "patch", "update", "watch"];
const allVerbs: Verb[] = [...singleVerbs, "deletecollection"];
const status: Subresource = { name: "status", verbs: ["get", "patch", "update"] };
const token: Subresource = {
  name: "token",
  verbs: ["create"],
  kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
};

type Row = Omit<ResourceType, "group" | "version" | "resource" | "singular" | "verbs"> & { verbs?: Verb[] };

/** Completes the rows of one API group with the names that follow from their kinds. */
function inGroup(group: string, rows: Row[]): ResourceType[] {
  return rows.map((row) => {
    const singular = row.kind.toLowerCase();
    const resource = `${singular.replace(/y$/, "ie")}s`;
    return { group, version: "v1", resource, singular, verbs: allVerbs, ...row };
  });
}

const validateNames = ({ metadata }: ApiObject) => validateCoreMetadata(metadata, true, dnsSubdomainErrors);

const binding = { normalise: strategies.normaliseRoleBinding, columns: columns.nameAndAge };
const policy = { namespaced: false, requiresResourceVersion: true, columns: columns.nameAndAge };

export const resourceTypes: readonly ResourceType[] = [
  ...inGroup("", [
    {
      kind: "Namespace",
      namespaced: false,
      shortNames: ["ns"],
      verbs: singleVerbs,
      subresources: [status],
      normalise: strategies.normaliseNamespace,
      prepareForCreate: strategies.prepareNamespaceForCreate,
      validate: ({ metadata }) => validateCoreMetadata(metadata, false, labelErrors),
      returnsDeletedObject: true,
      columns: columns.namespaceColumns,
    },
    {
      kind: "Node",
      namespaced: false,
      shortNames: ["no"],
      subresources: [status],
      normalise: strategies.normaliseNode,
      prepareForCreate: strategies.prepareNodeForCreate,
      validate: rules.validateNode,
      validateUpdate: rules.validateNodeUpdate,
      selectableFields: strategies.selectableNodeFields,
      columns: columns.nodeColumns,
    },
    {
      kind: "Event",
      namespaced: true,
      shortNames: ["ev"],
      createsOnUpdate: true,
      validate: rules.validateEvent,
      validateUpdate: rules.validateEvent,
      selectableFields: strategies.selectableEventFields,
      columns: columns.eventColumns,
    },
    {
      kind: "ServiceAccount",
      namespaced: true,
      shortNames: ["sa"],
      subresources: [token],
      validate: validateNames,
      returnsDeletedObject: true,
      columns: columns.nameAndAge,
    },
    {
      kind: "Secret",
      namespaced: true,
      normalise: strategies.normaliseSecret,
      validate: validateNames,
      selectableFields: (secret) => ({ type: textOf(secret["type"]) }),
      columns: columns.secretColumns,
    },
    {
      kind: "ConfigMap",
      namespaced: true,
      shortNames: ["cm"],
      validate: validateNames,
      columns: columns.configMapColumns,
    },
    {
      kind: "Service",
      namespaced: true,
      shortNames: ["svc"],
      verbs: readVerbs,
      columns: columns.serviceColumns,
    },
    {
      kind: "Pod",
      namespaced: true,
      shortNames: ["po"],
      verbs: readVerbs,
      selectableFields: () => ({ "spec.nodeName": "", "status.phase": "" }),
    },
  ]),
  // The events of events.k8s.io are also the core group's events (withEventGroups in apiserver.ts).
  ...inGroup(eventsGroup, [
    {
      kind: "Event",
      namespaced: true,
      shortNames: ["ev"],
      homeGroup: "",
      createsOnUpdate: true,
      validate: rules.validateEventsV1,
      validateUpdate: rules.validateEventsV1Update,
      selectableFields: strategies.selectableEventsV1Fields,
      columns: columns.eventsV1Columns,
    },
  ]),
  ...inGroup("coordination.k8s.io", [
    {
      kind: "Lease",
      namespaced: true,
      requiresResourceVersion: true,
      createsOnUpdate: true,
      validate: rules.validateLease,
      validateUpdate: rules.validateLeaseUpdate,
      columns: columns.leaseColumns,
    },
  ]),
  ...inGroup("rbac.authorization.k8s.io", [
    { kind: "ClusterRoleBinding", namespaced: false, ...binding },
    { kind: "ClusterRole", namespaced: false, columns: columns.nameAndAge },
    { kind: "RoleBinding", namespaced: true, ...binding },
    { kind: "Role", namespaced: true, columns: columns.nameAndAge },
  ]),
  // Admission policies are stored but not enforced, because this apiserver has no CEL.
  ...inGroup("admissionregistration.k8s.io", [
    { kind: "ValidatingAdmissionPolicy", ...policy, normalise: strategies.normalisePolicy },
    { kind: "ValidatingAdmissionPolicyBinding", ...policy, normalise: strategies.normalisePolicyBinding },
  ]),
  ...inGroup("authorization.k8s.io", [{ kind: "SubjectAccessReview", namespaced: false, verbs: ["create"] }]),
];

export function findResourceType(
  info: Pick<RequestInfo, "group" | "version" | "resource">,
): ResourceType | undefined {
  const names = ["group", "version", "resource"] as const;
  return resourceTypes.find((type) => names.every((name) => type[name] === info[name]));
}
