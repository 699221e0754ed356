// The resource table: everything that the apiserver serves. A new kind is a new row. Data only.
import { nodeSchema } from "../../../shared/kubernetes/patch/node-schema.ts";
import { eventSchema, leaseSchema } from "../../../shared/kubernetes/patch/object-schemas.ts";
import * as columns from "./answers/columns.ts";
import { eventsGroup } from "./kinds/event-versions.ts";
import * as strategies from "./kinds/strategies.ts";
import { textOf } from "./object.ts";
import * as schemas from "./kinds/patch-schemas.ts";
import type { RequestInfo } from "./request-info.ts";
import type { ResourceType, Subresource, Verb } from "./resource-type.ts";
import {
  validateEvent,
  validateEventsV1,
  validateEventsV1Update,
  validateLease,
  validateLeaseUpdate,
  validateNode,
  validateNodeUpdate,
} from "./validation/object-rules.ts";
import { labelName, subdomainName, validateCoreMetadata } from "./validation/metadata-rules.ts";

const singleVerbs: Verb[] = ["create", "delete", "get", "list", "patch", "update", "watch"];
const allVerbs: Verb[] = [...singleVerbs, "deletecollection"];
const status: Subresource = { name: "status", verbs: ["get", "patch", "update"] };

const core: ResourceType[] = [
  {
    group: "",
    version: "v1",
    resource: "namespaces",
    singular: "namespace",
    kind: "Namespace",
    namespaced: false,
    shortNames: ["ns"],
    verbs: singleVerbs,
    subresources: [status],
    schema: schemas.namespaceSchema,
    normalise: strategies.normaliseNamespace,
    prepareForCreate: strategies.prepareNamespaceForCreate,
    validate: ({ metadata }) => validateCoreMetadata(metadata, false, labelName),
    returnsDeletedObject: true,
    columns: columns.namespaceColumns,
  },
  {
    group: "",
    version: "v1",
    resource: "nodes",
    singular: "node",
    kind: "Node",
    namespaced: false,
    shortNames: ["no"],
    verbs: allVerbs,
    subresources: [status],
    schema: nodeSchema,
    normalise: strategies.normaliseNode,
    prepareForCreate: strategies.prepareNodeForCreate,
    validate: validateNode,
    validateUpdate: validateNodeUpdate,
    selectableFields: strategies.selectableNodeFields,
    columns: columns.nodeColumns,
  },
  {
    group: "",
    version: "v1",
    resource: "events",
    singular: "event",
    kind: "Event",
    namespaced: true,
    shortNames: ["ev"],
    verbs: allVerbs,
    schema: eventSchema,
    createsOnUpdate: true,
    validate: validateEvent,
    validateUpdate: validateEvent,
    selectableFields: strategies.selectableEventFields,
    columns: columns.eventColumns,
  },
  {
    group: "",
    version: "v1",
    resource: "serviceaccounts",
    singular: "serviceaccount",
    kind: "ServiceAccount",
    namespaced: true,
    shortNames: ["sa"],
    verbs: allVerbs,
    subresources: [
      {
        name: "token",
        verbs: ["create"],
        kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
      },
    ],
    schema: schemas.serviceAccountSchema,
    validate: ({ metadata }) => validateCoreMetadata(metadata, true, subdomainName),
    returnsDeletedObject: true,
    columns: columns.nameAndAge,
  },
  {
    group: "",
    version: "v1",
    resource: "secrets",
    singular: "secret",
    kind: "Secret",
    namespaced: true,
    verbs: allVerbs,
    schema: schemas.secretSchema,
    normalise: strategies.normaliseSecret,
    validate: ({ metadata }) => validateCoreMetadata(metadata, true, subdomainName),
    selectableFields: (secret) => ({ type: textOf(secret["type"]) }),
    columns: columns.secretColumns,
  },
  {
    group: "",
    version: "v1",
    resource: "configmaps",
    singular: "configmap",
    kind: "ConfigMap",
    namespaced: true,
    shortNames: ["cm"],
    verbs: allVerbs,
    schema: schemas.configMapSchema,
    validate: ({ metadata }) => validateCoreMetadata(metadata, true, subdomainName),
    columns: columns.configMapColumns,
  },
  {
    group: "",
    version: "v1",
    resource: "services",
    singular: "service",
    kind: "Service",
    namespaced: true,
    shortNames: ["svc"],
    verbs: ["get", "list", "watch"],
    schema: schemas.serviceSchema,
    columns: columns.serviceColumns,
  },
  {
    group: "",
    version: "v1",
    resource: "pods",
    singular: "pod",
    kind: "Pod",
    namespaced: true,
    shortNames: ["po"],
    verbs: ["get", "list", "watch"],
    schema: schemas.podSchema,
    selectableFields: () => ({ "spec.nodeName": "", "status.phase": "" }),
  },
];

/** The same objects as the core group's (event-store.ts). */
const eventsV1: ResourceType = {
  group: eventsGroup,
  version: "v1",
  resource: "events",
  singular: "event",
  kind: "Event",
  namespaced: true,
  shortNames: ["ev"],
  verbs: allVerbs,
  homeGroup: "",
  schema: schemas.eventsV1Schema,
  createsOnUpdate: true,
  validate: validateEventsV1,
  validateUpdate: validateEventsV1Update,
  selectableFields: strategies.selectableEventsV1Fields,
  columns: columns.eventsV1Columns,
};

const leases: ResourceType = {
  group: "coordination.k8s.io",
  version: "v1",
  resource: "leases",
  singular: "lease",
  kind: "Lease",
  namespaced: true,
  verbs: allVerbs,
  schema: leaseSchema,
  requiresResourceVersion: true,
  createsOnUpdate: true,
  validate: validateLease,
  validateUpdate: validateLeaseUpdate,
  columns: columns.leaseColumns,
};

const rbacDefaults = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  verbs: allVerbs,
  columns: columns.nameAndAge,
};

const roleRules = { schema: schemas.roleSchema };
const bindingRules = { schema: schemas.roleBindingSchema, normalise: strategies.normaliseRoleBinding };

const rbac: ResourceType[] = [
  {
    ...rbacDefaults,
    ...bindingRules,
    resource: "clusterrolebindings",
    singular: "clusterrolebinding",
    kind: "ClusterRoleBinding",
    namespaced: false,
  },
  {
    ...rbacDefaults,
    ...roleRules,
    resource: "clusterroles",
    singular: "clusterrole",
    kind: "ClusterRole",
    namespaced: false,
  },
  {
    ...rbacDefaults,
    ...bindingRules,
    resource: "rolebindings",
    singular: "rolebinding",
    kind: "RoleBinding",
    namespaced: true,
  },
  {
    ...rbacDefaults,
    ...roleRules,
    resource: "roles",
    singular: "role",
    kind: "Role",
    namespaced: true,
  },
];

const admissionDefaults = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  namespaced: false,
  verbs: allVerbs,
  requiresResourceVersion: true,
  columns: columns.nameAndAge,
};

/** Kept and never enforced: there is no CEL here. */
const admission: ResourceType[] = [
  {
    ...admissionDefaults,
    resource: "validatingadmissionpolicies",
    singular: "validatingadmissionpolicy",
    kind: "ValidatingAdmissionPolicy",
    schema: schemas.validatingAdmissionPolicySchema,
    normalise: strategies.normalisePolicy,
  },
  {
    ...admissionDefaults,
    resource: "validatingadmissionpolicybindings",
    singular: "validatingadmissionpolicybinding",
    kind: "ValidatingAdmissionPolicyBinding",
    schema: schemas.validatingAdmissionPolicyBindingSchema,
    normalise: strategies.normalisePolicyBinding,
  },
];

const accessReviews: ResourceType = {
  group: "authorization.k8s.io",
  version: "v1",
  resource: "subjectaccessreviews",
  singular: "subjectaccessreview",
  kind: "SubjectAccessReview",
  namespaced: false,
  verbs: ["create"],
  schema: schemas.accessReviewSchema,
};

export const resourceTypes: readonly ResourceType[] = [
  ...core,
  eventsV1,
  leases,
  ...rbac,
  ...admission,
  accessReviews,
];

export function findResourceType(
  info: Pick<RequestInfo, "group" | "version" | "resource">,
): ResourceType | undefined {
  const { group, version, resource } = info;
  return resourceTypes.find(
    (type) => type.group === group && type.version === version && type.resource === resource,
  );
}
