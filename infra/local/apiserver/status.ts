// Makes the apiserver's errors as Status objects, with upstream's texts (apimachinery/pkg/api/errors).
import { quote as goQuote } from "../../../shared/go/strings.ts";
import type { Status } from "../../../shared/kubernetes/types.ts";

/** A fault of one field. Mirrors field.Error. */
export interface FieldError {
  reason:
    | "FieldValueInvalid"
    | "FieldValueRequired"
    | "FieldValueForbidden"
    | "FieldValueNotSupported"
    | "FieldValueDuplicate"
    | "FieldValueTooLong";
  field: string;
  message: string;
}

function failure(code: number, reason: string, message: string, details?: Status["details"]): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    ...(details && { details }),
    code,
  };
}

interface Named {
  group: string;
  resource: string;
}

interface NamedWithKind extends Named {
  kind: string;
}

/** Returns a resource's name like "leases.coordination.k8s.io". Mirrors schema.GroupResource.String. */
export function qualifiedResource(type: Named): string {
  return type.group === "" ? type.resource : `${type.resource}.${type.group}`;
}

function detailsOf(type: Named, name: string): Status["details"] {
  return {
    ...(name !== "" && { name }),
    ...(type.group !== "" && { group: type.group }),
    kind: type.resource,
  };
}

export function notFound(type: Named, name: string): Status {
  return failure(
    404,
    "NotFound",
    `${qualifiedResource(type)} ${goQuote(name)} not found`,
    detailsOf(type, name),
  );
}

/** Returns the 404 for a path whose API version exists, but not its resource. */
export function unknownResource(): Status {
  return failure(404, "NotFound", "the server could not find the requested resource", {});
}

export function alreadyExists(type: Named, name: string): Status {
  const message = `${qualifiedResource(type)} ${goQuote(name)} already exists`;
  return failure(409, "AlreadyExists", message, detailsOf(type, name));
}

/** The error text of EnsureObjectNamespaceMatchesRequestNamespace. */
export const otherNamespace =
  "the namespace of the provided object does not match the namespace sent on the request";

export function conflict(type: Named, name: string, why: string): Status {
  const message = `Operation cannot be fulfilled on ${qualifiedResource(type)} ${goQuote(name)}: ${why}`;
  return failure(409, "Conflict", message, detailsOf(type, name));
}

/** Returns the 409 for a violated precondition of a delete. Upstream names the kind here, and not the resource. */
export function deleteConflict(type: NamedWithKind, name: string, why: string): Status {
  const qualifiedKind = type.group === "" ? type.kind : `${type.kind}.${type.group}`;
  const message = `Operation cannot be fulfilled on ${qualifiedKind} ${goQuote(name)}: ${why}`;
  return failure(409, "Conflict", message, { ...detailsOf(type, name), kind: type.kind });
}

/** Returns the 409 for a body whose uid is not the stored object's uid. Mirrors storage.Preconditions.Check. */
export function uidConflict(
  type: Named,
  storageKey: string,
  name: string,
  sent: string,
  stored: string,
): Status {
  const detail = `Precondition failed: UID in precondition: ${sent}, UID in object meta: ${stored}`;
  const why = `StorageError: invalid object, Code: 4, Key: ${storageKey}, ResourceVersion: 0, AdditionalErrorMsg: ${detail}`;
  return conflict(type, name, why);
}

/** The error text of registry.OptimisticLockErrorMsg. */
export const objectModified =
  "the object has been modified; please apply your changes to the latest version and try again";

/** Returns the 422 for an object with faulty fields. The error names `homeGroup` if the type has one. */
export function invalidObject(
  { group, homeGroup = group, kind }: NamedWithKind & { homeGroup?: string },
  name: string,
  errors: FieldError[],
): Status {
  return invalid(homeGroup, kind, name, errors);
}

export function invalid(group: string, kind: string, name: string, errors: FieldError[]): Status {
  const qualifiedKind = group === "" ? kind : `${kind}.${group}`;
  const texts = [...new Set(errors.map((error) => `${error.field}: ${error.message}`))];
  const all = texts.length > 1 ? `[${texts.join(", ")}]` : texts.join("");
  return failure(422, "Invalid", `${qualifiedKind} ${goQuote(name)} is invalid: ${all}`, {
    ...(name !== "" && { name }),
    ...(group !== "" && { group }),
    ...(kind !== "" && { kind }),
    causes: errors.map(({ reason, message, field }) => ({ reason, message, field })),
  });
}

/** Returns the 409 for changes of other managers' fields, like errors.NewApplyConflict, but shorter. */
export function applyConflict(managers: readonly string[]): Status {
  const causes = managers.map((manager) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${JSON.stringify(manager)}`,
  }));
  const message = `Apply failed: ${causes.map((cause) => cause.message).join(", ")}`;
  return failure(409, "Conflict", message, { causes });
}

export function badRequest(message: string): Status {
  return failure(400, "BadRequest", message);
}

/** Returns a 500, for an error that upstream returns without a reason. */
export function plainError(message: string): Status {
  const { reason: _, ...status } = badRequest(message);
  return { ...status, code: 500 };
}

export function unauthorized(): Status {
  return failure(401, "Unauthorized", "Unauthorized");
}

/** Returns a 403 for a resource, which need not exist. Mirrors apierrors.NewForbidden. */
export function forbidden(type: Named, name: string, why: string): Status {
  const target = name === "" ? qualifiedResource(type) : `${qualifiedResource(type)} ${goQuote(name)}`;
  return failure(403, "Forbidden", `${target} is forbidden: ${why}`, detailsOf(type, name));
}

/** Returns a 403 for a path that belongs to no resource. */
export function forbiddenPath(why: string): Status {
  return failure(403, "Forbidden", `forbidden: ${why}`, {});
}

export function methodNotAllowed(): Status {
  const message = "the server does not allow this method on the requested resource";
  return failure(405, "MethodNotAllowed", message, {});
}

export function notAcceptable(mediaTypes: string[]): Status {
  const message = `only the following media types are accepted: ${mediaTypes.join(", ")}`;
  return failure(406, "NotAcceptable", message);
}

/** Returns the error for a revision later than the store's; clients retry. Mirrors NewTooLargeResourceVersionError. */
export function revisionTooLarge(wanted: number, current: number): Status {
  const message = `Timeout: Too large resource version: ${wanted}, current: ${current}`;
  const causes = [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }];
  return failure(504, "Timeout", message, { causes, retryAfterSeconds: 1 });
}

/** Returns the 410 for an expired revision. With `continueToken` the client can continue at the latest revision. */
export function expired(message: string, continueToken?: string): Status {
  // The field's name is `continue` on the wire, but the client's type names it `_continue`.
  const page: object = continueToken === undefined ? {} : { continue: continueToken };
  return { ...failure(410, "Expired", message), metadata: { ...page } };
}

export function requestTooLarge(limitBytes: number): Status {
  const message = `Request entity too large: limit is ${limitBytes}`;
  return failure(413, "RequestEntityTooLarge", message);
}

export function unsupportedBody(): Status {
  const message =
    "the body of the request was in an unknown format - accepted media types include: application/json";
  return failure(415, "UnsupportedMediaType", message);
}

export function unsupportedPatch(): Status {
  return failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {});
}

export function internalError(message: string): Status {
  return failure(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] });
}

export function deleted(type: Named, name: string, uid: string | undefined): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { ...detailsOf(type, name), ...(uid && { uid }) },
  };
}
