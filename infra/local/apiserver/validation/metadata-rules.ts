// Validates metadata of objects. Mirrors apimachinery/pkg/api/validation/objectmeta.go, and rules of core/validation.
import type { ObjectMeta } from "../../../../shared/kubernetes/types.ts";
import { labelKeyErrors, labelValueErrors } from "../../../../shared/kubernetes/validation.ts";
import { labelErrors, pathSegmentErrors } from "./names.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";

/** Returns the faults of a name as texts. */
type NameRule = (name: string) => string[];

const annotationsLimitBytes = 256 * 1024;

function validateLabels(labels: NonNullable<ObjectMeta["labels"]>): FieldError[] {
  const path = "metadata.labels";
  return Object.entries(labels).flatMap(([key, value]) => [
    ...field.allInvalid(path, key, labelKeyErrors(key)),
    ...field.allInvalid(path, value, labelValueErrors(value)),
  ]);
}

function validateAnnotations(annotations: NonNullable<ObjectMeta["annotations"]>): FieldError[] {
  const path = "metadata.annotations";
  const entries = Object.entries(annotations);
  const errors = entries.flatMap(([key]) => field.allInvalid(path, key, labelKeyErrors(key.toLowerCase())));
  const size = entries.reduce(
    (total, [key, value]) => total + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  return size > annotationsLimitBytes ? [...errors, field.tooLong(path, annotationsLimitBytes)] : errors;
}

type OwnerReference = NonNullable<ObjectMeta["ownerReferences"]>[number];

function validateOwnerReference(reference: OwnerReference): FieldError[] {
  const path = "metadata.ownerReferences";
  const { apiVersion, kind, name, uid } = reference;
  const isEmptyVersion = apiVersion === "" || apiVersion.endsWith("/") || apiVersion.split("/").length > 2;
  const errors = isEmptyVersion
    ? [field.invalid(`${path}.apiVersion`, apiVersion, "version must not be empty")]
    : [];
  for (const [key, value] of Object.entries({ kind, name, uid })) {
    if (value === "") errors.push(field.invalid(`${path}.${key}`, value, "must not be empty"));
  }
  if (apiVersion !== "v1" || kind !== "Event") return errors;
  return [...errors, field.invalid(path, reference, "/v1, Kind=Event is disallowed from being an owner")];
}

function validateOwnerReferences(references: OwnerReference[]): FieldError[] {
  const errors = references.flatMap(validateOwnerReference);
  const controllers = references
    .filter(({ controller }) => controller)
    .map(({ kind, name }) => `${kind}/${name}`);
  if (controllers.length < 2) return errors;
  const detail =
    'Only one reference can have Controller set to true. Found "true" in references for ' +
    controllers.slice(0, 2).join(" and ");
  return [...errors, field.invalid("metadata.ownerReferences", references, detail)];
}

function validateFinalizers(finalizers: string[]): FieldError[] {
  const path = "metadata.finalizers";
  return finalizers.flatMap((name) => field.allInvalid(path, name, labelKeyErrors(name)));
}

const standardFinalizers = new Set(["kubernetes", "orphan", "foregroundDeletion"]);

/** Returns an error for a finalizer neither standard nor fully qualified. Mirrors validateKubeFinalizerName. */
function validateKubeFinalizer(path: string, name: string): FieldError[] {
  if (name.includes("/") || standardFinalizers.has(name)) return [];
  return [field.invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")];
}

function validateKubeFinalizers({ finalizers = [] }: ObjectMeta): FieldError[] {
  return finalizers.flatMap((name, index) => validateKubeFinalizer(`metadata.finalizers[${index}]`, name));
}

/** Validates the name, which is required: metadata.generateName is not supported. */
function validateName({ name = "" }: ObjectMeta, rule: NameRule): FieldError[] {
  return name === ""
    ? [field.required("metadata.name", "name or generateName is required")]
    : field.allInvalid("metadata.name", name, rule(name));
}

function validateNamespace(namespace: string, namespaced: boolean): FieldError[] {
  const path = "metadata.namespace";
  if (!namespaced) return namespace === "" ? [] : [field.forbidden(path, "not allowed on this type")];
  if (namespace === "") return [field.required(path)];
  return field.allInvalid(path, namespace, labelErrors(namespace));
}

function validateMaps({ labels, annotations }: ObjectMeta): FieldError[] {
  return [
    ...(labels ? validateLabels(labels) : []),
    ...(annotations ? validateAnnotations(annotations) : []),
  ];
}

/** Validates the metadata of a new object. Mirrors apimachinery's ValidateObjectMeta. */
export function validateMetadata(
  metadata: ObjectMeta,
  namespaced: boolean,
  rule: NameRule = pathSegmentErrors,
): FieldError[] {
  const { ownerReferences, finalizers } = metadata;
  return [
    ...validateName(metadata, rule),
    ...validateNamespace(metadata.namespace ?? "", namespaced),
    ...validateMaps(metadata),
    ...(ownerReferences ? validateOwnerReferences(ownerReferences) : []),
    ...(finalizers ? validateFinalizers(finalizers) : []),
  ];
}

/** Validates the metadata of a new object of the core group or of RBAC. Mirrors the core group's ValidateObjectMeta. */
export function validateCoreMetadata(
  metadata: ObjectMeta,
  namespaced: boolean,
  rule: NameRule,
): FieldError[] {
  return [...validateMetadata(metadata, namespaced, rule), ...validateKubeFinalizers(metadata)];
}

const immutableFields = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;

/** Returns an error for finalizers added during deletion. Mirrors ValidateNoNewFinalizers. */
function validateNewFinalizers(next: ObjectMeta, current: ObjectMeta): FieldError[] {
  if (current.deletionTimestamp === undefined) return [];
  const added = (next.finalizers ?? []).filter((finalizer) => !current.finalizers?.includes(finalizer));
  if (added.length === 0) return [];
  const names = [...new Set(added)].toSorted().map((name) => JSON.stringify(name));
  const detail =
    "no new finalizers can be added if the object is being deleted, found new finalizers " +
    `[]string{${names.join(", ")}}`;
  return [field.forbidden("metadata.finalizers", detail)];
}

/** Validates a change of metadata. Mirrors apimachinery's ValidateObjectMetaUpdate. */
export function validateMetadataUpdate(next: ObjectMeta, current: ObjectMeta): FieldError[] {
  const changed = immutableFields.filter((name) => (next[name] ?? null) !== (current[name] ?? null));
  return [
    ...validateNewFinalizers(next, current),
    ...changed.map((name) => {
      const absent = name === "name" || name === "namespace" || name === "uid" ? "" : null;
      return field.invalid(`metadata.${name}`, next[name] ?? absent, field.immutableText);
    }),
    ...validateMaps(next),
    ...(next.ownerReferences ? validateOwnerReferences(next.ownerReferences) : []),
  ];
}

/** Validates a change of metadata in the core group. Mirrors the core group's ValidateObjectMetaUpdate. */
export function validateCoreMetadataUpdate(next: ObjectMeta, current: ObjectMeta): FieldError[] {
  return [...validateMetadataUpdate(next, current), ...validateKubeFinalizers(next)];
}
