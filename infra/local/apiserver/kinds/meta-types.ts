// The Go structs that every kind shares. Data only. Source: apimachinery/pkg/apis/meta/v1.
import type { StructTables } from "./go-type.ts";

/** metav1.TypeMeta, inline in every kind. */
export const typeMeta = { "kind?": "string", "apiVersion?": "string" };

export const metaTypes: StructTables = {
  "v1.DeleteOptions": {
    ...typeMeta,
    "gracePeriodSeconds?": "*int64",
    "preconditions?": "*v1.Preconditions",
    "orphanDependents?": "*bool",
    "propagationPolicy?": "*v1.DeletionPropagation",
    "dryRun?": "[]string",
  },
  "v1.Preconditions": {
    "uid?": "*types.UID",
    "resourceVersion?": "*string",
  },
  "v1.OwnerReference": {
    apiVersion: "string",
    kind: "string",
    name: "string",
    uid: "types.UID",
    "controller?": "*bool",
    "blockOwnerDeletion?": "*bool",
  },
  "v1.ManagedFieldsEntry": {
    "manager?": "string",
    "operation?": "v1.ManagedFieldsOperationType",
    "apiVersion?": "string",
    "time?": "*v1.Time",
    "fieldsType?": "string",
    "fieldsV1?": "*v1.FieldsV1",
    "subresource?": "string",
  },
  "v1.ObjectMeta": {
    "name?": "string",
    "generateName?": "string",
    "namespace?": "string",
    "selfLink?": "string",
    "uid?": "types.UID",
    "resourceVersion?": "string",
    "generation?": "int64",
    "creationTimestamp?": "v1.Time",
    "deletionTimestamp?": "*v1.Time",
    "deletionGracePeriodSeconds?": "*int64",
    "labels?": "map[string]string",
    "annotations?": "map[string]string",
    "ownerReferences?": "[]v1.OwnerReference",
    "finalizers?": "[]string",
    "managedFields?": "[]v1.ManagedFieldsEntry",
  },
  "v1.LabelSelector": {
    "matchLabels?": "map[string]string",
    "matchExpressions?": "[]v1.LabelSelectorRequirement",
  },
  "v1.LabelSelectorRequirement": {
    key: "string",
    operator: "v1.LabelSelectorOperator",
    "values?": "[]string",
  },
};
