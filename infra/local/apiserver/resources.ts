// The resource table: everything that the apiserver serves. A new kind is a new row. Data only.
import { nodeSchema } from "../../../shared/kubernetes/patch/node-schema.ts";
import {
  eventSchema,
  eventsV1EventSchema,
  leaseSchema,
  namespaceSchema,
} from "../../../shared/kubernetes/patch/object-schemas.ts";
import * as columns from "./columns.ts";
import { selectableEventFields } from "./kinds/event.ts";
import { selectableEventV1Fields, storedEvent } from "./kinds/event-v1.ts";
import * as node from "./kinds/node.ts";
import * as others from "./kinds/others.ts";
import { fieldsOf, textOf } from "./object.ts";
import type { RequestInfo } from "./request-info.ts";
import { reviewTypes } from "./reviews/types.ts";
import type { ResourceType, Subresource, Verb } from "./resource-type.ts";
import * as schemas from "./schemas.ts";
import * as config from "./validation/config.ts";
import * as event from "./validation/event.ts";
import { validateLease, validateLeaseUpdate } from "./validation/lease.ts";
import * as nodeRules from "./validation/node.ts";
import * as rbacRules from "./validation/rbac.ts";

const allVerbs: Verb[] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
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
    verbs: allVerbs.filter((verb) => verb !== "deletecollection"),
    subresources: [{ name: "finalize", verbs: ["update"] }, status],
    schema: namespaceSchema,
    returnsDeletedObject: true,
    normalise: others.normaliseNamespace,
    prepareForCreate: others.prepareNamespaceForCreate,
    prepareForUpdate: others.prepareNamespaceForUpdate,
    validate: config.validateNamespace,
    validateUpdate: config.validateNamespaceUpdate,
    selectableFields: (namespace) => ({ "status.phase": textOf(fieldsOf(namespace["status"])["phase"]) }),
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
    normalise: node.normaliseNode,
    prepareForCreate: node.prepareNodeForCreate,
    prepareForUpdate: node.prepareNodeForUpdate,
    validate: nodeRules.validateNode,
    validateUpdate: nodeRules.validateNodeUpdate,
    warnings: node.warnOfNode,
    selectableFields: node.selectableNodeFields,
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
    validate: event.validateEvent,
    validateUpdate: event.validateEvent,
    selectableFields: selectableEventFields,
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
    prepareForCreate: others.prepareServiceAccount,
    prepareForUpdate: others.prepareServiceAccount,
    validate: config.validateServiceAccount,
    validateUpdate: config.validateServiceAccountUpdate,
    warnings: others.warnOfServiceAccount,
    returnsDeletedObject: true,
    columns: columns.nameAndAge,
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
    validate: config.validateConfigMap,
    validateUpdate: config.validateConfigMapUpdate,
    columns: columns.configMapColumns,
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
    normalise: others.normaliseSecret,
    validate: config.validateSecret,
    validateUpdate: config.validateSecretUpdate,
    selectableFields: (secret) => ({ type: String(secret["type"]) }),
    columns: columns.secretColumns,
  },
  {
    group: "",
    version: "v1",
    resource: "pods",
    singular: "pod",
    kind: "Pod",
    namespaced: true,
    shortNames: ["po"],
    categories: ["all"],
    verbs: ["get", "list", "watch"],
    schema: schemas.podSchema,
    selectableFields: () => ({ "spec.nodeName": "", "status.phase": "" }),
    columns: columns.podColumns,
  },
];

/** The same events as those of the core group. */
const newEvents: ResourceType = {
  group: "events.k8s.io",
  version: "v1",
  resource: "events",
  singular: "event",
  kind: "Event",
  namespaced: true,
  shortNames: ["ev"],
  verbs: allVerbs,
  schema: eventsV1EventSchema,
  stored: storedEvent,
  createsOnUpdate: true,
  validate: (sent) => event.validateNewEvent(storedEvent.toStored(sent)),
  validateUpdate: (next, current) =>
    event.validateNewEventUpdate(storedEvent.toStored(next), storedEvent.toStored(current)),
  selectableFields: selectableEventV1Fields,
  columns: columns.eventColumns.map((column) => ({
    ...column,
    cell: (item, now) => column.cell(storedEvent.toStored({ kind: "", apiVersion: "", ...item }), now),
  })),
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
  prepareForCreate: others.prepareLease,
  prepareForUpdate: others.prepareLease,
  validate: validateLease,
  validateUpdate: validateLeaseUpdate,
  columns: columns.leaseColumns,
};

const rbacDefaults = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  verbs: allVerbs,
  createsOnUpdate: true,
};

const roleRules = { validate: rbacRules.validateRole, validateUpdate: rbacRules.validateRoleUpdate };
const bindingRules = {
  normalise: others.normaliseRoleBinding,
  validate: rbacRules.validateRoleBinding,
  validateUpdate: rbacRules.validateRoleBindingUpdate,
};

const rbac: ResourceType[] = [
  {
    ...rbacDefaults,
    resource: "clusterrolebindings",
    singular: "clusterrolebinding",
    kind: "ClusterRoleBinding",
    namespaced: false,
    schema: schemas.roleBindingSchema,
    ...bindingRules,
    columns: columns.roleBindingColumns,
  },
  {
    ...rbacDefaults,
    resource: "clusterroles",
    singular: "clusterrole",
    kind: "ClusterRole",
    namespaced: false,
    schema: schemas.clusterRoleSchema,
    prepareForCreate: others.prepareRole,
    prepareForUpdate: others.prepareRole,
    ...roleRules,
  },
  {
    ...rbacDefaults,
    resource: "rolebindings",
    singular: "rolebinding",
    kind: "RoleBinding",
    namespaced: true,
    schema: schemas.roleBindingSchema,
    ...bindingRules,
    columns: columns.roleBindingColumns,
  },
  {
    ...rbacDefaults,
    resource: "roles",
    singular: "role",
    kind: "Role",
    namespaced: true,
    schema: schemas.roleSchema,
    prepareForCreate: others.prepareRole,
    prepareForUpdate: others.prepareRole,
    ...roleRules,
  },
];

const admissionDefaults = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  namespaced: false,
  categories: ["api-extensions"],
  verbs: allVerbs,
  hasGeneration: true,
  requiresResourceVersion: true,
};

const admission: ResourceType[] = [
  {
    ...admissionDefaults,
    resource: "validatingadmissionpolicies",
    singular: "validatingadmissionpolicy",
    kind: "ValidatingAdmissionPolicy",
    subresources: [status],
    schema: schemas.validatingAdmissionPolicySchema,
    normalise: others.normalisePolicy,
    prepareForCreate: others.preparePolicyForCreate,
    prepareForUpdate: others.preparePolicyForUpdate,
    columns: columns.policyColumns,
  },
  {
    ...admissionDefaults,
    resource: "validatingadmissionpolicybindings",
    singular: "validatingadmissionpolicybinding",
    kind: "ValidatingAdmissionPolicyBinding",
    schema: schemas.validatingAdmissionPolicyBindingSchema,
    normalise: others.normalisePolicyBinding,
    columns: columns.policyBindingColumns,
  },
];

export const resourceTypes: readonly ResourceType[] = [
  ...core,
  newEvents,
  leases,
  ...rbac,
  ...admission,
  ...reviewTypes,
];

export function findResourceType(
  info: Pick<RequestInfo, "group" | "version" | "resource">,
): ResourceType | undefined {
  const { group, version, resource } = info;
  return resourceTypes.find(
    (type) => type.group === group && type.version === version && type.resource === resource,
  );
}
