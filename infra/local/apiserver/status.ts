// The apiserver's refusals as `Status` objects, in upstream's words (apimachinery/pkg/api/errors). No decisions.
import { quote as goQuote } from "../../../shared/go/strings.ts";
import type { Status } from "../../../shared/kubernetes/types.ts";
import type { ResourceType } from "./resource-type.ts";

/** One reason why a field is not acceptable (field.Error). */
export interface FieldError {
  reason:
    | "FieldValueInvalid"
    | "FieldValueRequired"
    | "FieldValueForbidden"
    | "FieldValueNotSupported"
    | "FieldValueDuplicate"
    | "FieldValueTooLong"
    | "InternalError";
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

/** What errors say of a resource. */
type Named = Pick<ResourceType, "group" | "resource">;

/** The resource as errors name it: "nodes", "leases.coordination.k8s.io" (schema.GroupResource.String). */
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

/** The path names a version that is served, and no resource of it. */
export function unknownResource(): Status {
  return failure(404, "NotFound", "the server could not find the requested resource", {});
}

export function alreadyExists(type: ResourceType, name: string): Status {
  const message = `${qualifiedResource(type)} ${goQuote(name)} already exists`;
  return failure(409, "AlreadyExists", message, detailsOf(type, name));
}

/** The server picked a name that there is already (apierrors.NewGenerateNameConflict). */
export function generateNameConflict(type: ResourceType, name: string): Status {
  const taken = alreadyExists(type, name);
  const message = `${taken.message}, the server was not able to generate a unique name for the object`;
  return { ...taken, message, details: { ...taken.details, retryAfterSeconds: 1 } };
}

/** EnsureObjectNamespaceMatchesRequestNamespace */
export const otherNamespace =
  "the namespace of the provided object does not match the namespace sent on the request";

/** Nothing new is made where everything is about to go (admission plugin NamespaceLifecycle). */
export function namespaceTerminating(type: Named, name: string, namespace: string): Status {
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const refused = forbidden(type, name, why);
  const causes = [
    {
      reason: "NamespaceTerminating",
      message: `namespace ${namespace} is being terminated`,
      field: "metadata.namespace",
    },
  ];
  return { ...refused, details: { ...refused.details, causes } };
}

export function conflict(type: Named, name: string, why: string): Status {
  const message = `Operation cannot be fulfilled on ${qualifiedResource(type)} ${goQuote(name)}: ${why}`;
  return failure(409, "Conflict", message, detailsOf(type, name));
}

/** A conflict with a delete's preconditions; upstream names the kind there, not the resource. */
export function deleteConflict(type: ResourceType, name: string, why: string): Status {
  const qualifiedKind = type.group === "" ? type.kind : `${type.kind}.${type.group}`;
  const message = `Operation cannot be fulfilled on ${qualifiedKind} ${goQuote(name)}: ${why}`;
  return failure(409, "Conflict", message, { ...detailsOf(type, name), kind: type.kind });
}

/** storage.Preconditions.Check: the object is another one than the writer thinks. */
export function uidConflict(
  type: ResourceType,
  storageKey: string,
  name: string,
  sent: string,
  stored: string,
): Status {
  const detail = `Precondition failed: UID in precondition: ${sent}, UID in object meta: ${stored}`;
  const why = `StorageError: invalid object, Code: 4, Key: ${storageKey}, ResourceVersion: 0, AdditionalErrorMsg: ${detail}`;
  return conflict(type, name, why);
}

/** registry.OptimisticLockErrorMsg */
export const objectModified =
  "the object has been modified; please apply your changes to the latest version and try again";

/** An object of a type is not acceptable. Upstream names the kind in which objects of the type are stored. */
export function invalidObject(type: ResourceType, name: string, errors: FieldError[]): Status {
  return invalid(type.stored ? "" : type.group, type.kind, name, errors);
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

export function badRequest(message: string): Status {
  return failure(400, "BadRequest", message);
}

/** Upstream returns this one as a plain error, which has no reason and becomes a 500. */
export function resourceVersionOnCreate(): Status {
  const { reason: _, ...status } = badRequest("resourceVersion should not be set on objects to be created");
  return { ...status, code: 500 };
}

/** What upstream returns as an error that is none of the API's: no reason, and a 500. */
export function plainError(message: string): Status {
  const { reason: _, ...status } = failure(500, "", message);
  return status;
}

/** Upstream returns this one as a plain error too. */
export function unreadableVersion(resourceVersion: string): Status {
  const quoted = JSON.stringify(resourceVersion);
  const { reason: _, ...status } = badRequest(`strconv.ParseUint: parsing ${quoted}: invalid syntax`);
  return { ...status, code: 500 };
}

/** A strategic merge patch that cannot be merged (interpretStrategicMergePatchError). */
export function strategicPatchError(error: string): Status {
  const { reason: _, ...status } = badRequest(error);
  return { ...status, code: 500 };
}

export function tooManyOperations(maximum: number, actual: number): Status {
  const message = `Request entity too large: The allowed maximum operations in a JSON patch is ${maximum}, got ${actual}`;
  return failure(413, "RequestEntityTooLarge", message);
}

/** The server cannot apply a JSON patch. Upstream says no more about it. */
export function unsuitableJsonPatch(): Status {
  return failure(422, "Invalid", "the server rejected our request due to an error in our request", {});
}

export function unauthorized(): Status {
  return failure(401, "Unauthorized", "Unauthorized");
}

/** The resource need not exist (apierrors.NewForbidden). */
export function forbidden(type: Named, name: string, why: string): Status {
  const target = name === "" ? qualifiedResource(type) : `${qualifiedResource(type)} ${goQuote(name)}`;
  return failure(403, "Forbidden", `${target} is forbidden: ${why}`, detailsOf(type, name));
}

/** The same for a path that is no resource's. */
export function forbiddenPath(why: string): Status {
  return failure(403, "Forbidden", `forbidden: ${why}`, {});
}

export function methodNotAllowed(): Status {
  const message = "the server does not allow this method on the requested resource";
  return failure(405, "MethodNotAllowed", message, {});
}

/** No conversion or parameter that was asked for can be had. */
export function notAcceptable(mediaTypes: string[]): Status {
  return failure(
    406,
    "NotAcceptable",
    `only the following media types are accepted: ${mediaTypes.join(", ")}`,
  );
}

/** No media type that was asked for is produced at all; go-restful's words. */
export function unproduced(mediaTypes: string[]): Status {
  const message = `406: Not Acceptable\n\nAvailable representations: ${mediaTypes.join(", ")}`;
  return failure(406, "NotAcceptable", message, {});
}

/** A representation that only lists have, or only single objects. */
export function unsuitableForm(form: string, what: string): Status {
  return failure(406, "NotAcceptable", `you requested ${form}, but the requested object is ${what}`);
}

/** The client has seen a later revision than this store; it should ask again (storage.NewTooLargeResourceVersionError). */
export function revisionTooLarge(wanted: string, current: number): Status {
  const message = `Timeout: Too large resource version: ${wanted}, current: ${current}`;
  const causes = [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }];
  return failure(504, "Timeout", message, { causes, retryAfterSeconds: 1 });
}

export function expired(message: string): Status {
  return failure(410, "Expired", message);
}

/** A page that can no longer go on as it began; `token` goes on with what there is now. */
export function continueExpired(token: string): Status {
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list " +
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the " +
    "results. Continuing with the provided token results in an inconsistent list - objects that were created, " +
    "modified, or deleted between the time the first chunk was returned and now may show up in the list.";
  const metadata: object = { continue: token };
  return { ...failure(410, "Expired", message), metadata };
}

export function requestTooLarge(limitBytes: number): Status {
  const message = `Request entity too large: limit is ${limitBytes}`;
  return failure(413, "RequestEntityTooLarge", message);
}

const bodyTypes = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

export function unsupportedBody(): Status {
  const message = `the body of the request was in an unknown format - accepted media types include: ${bodyTypes.join(", ")}`;
  return failure(415, "UnsupportedMediaType", message);
}

export function unsupportedPatch(): Status {
  return failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {});
}

export function internalError(message: string): Status {
  return failure(500, "InternalError", `Internal error occurred: ${message}`, {
    causes: [{ message }],
  });
}

export function deleted(type: ResourceType, name: string, uid: string | undefined): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { ...detailsOf(type, name), ...(uid && { uid }) },
  };
}
