// The faults of requests to the apiserver, and their kinds.
import type { Result } from "../result.ts";
import type { Status } from "./types.ts";

/**
 * `status`: the apiserver refused, in its own words. `unanswered`: the request was not sent, got no answer, or something else
 * than the apiserver answered: `cure` says what to do where that is known.
 */
export type ApiError =
  { kind: "status"; status: Status } | { kind: "unanswered"; message: string; cure?: string };

export type ApiResult<T> = Result<T, ApiError>;

/** For the Worker's log alone, since it has the apiserver's answer. */
export function apiErrorText(error: ApiError): string {
  if (error.kind === "unanswered") return error.message;
  const { message, reason, code } = error.status;
  return message ?? reason ?? `status ${code}`;
}

export function isNotFound(error: ApiError): boolean {
  return isOfKind(error, "NotFound", 404);
}

/** The token is invalid or has expired. */
export function isUnauthorized(error: ApiError): boolean {
  return isOfKind(error, "Unauthorized", 401);
}

export function isForbidden(error: ApiError): boolean {
  return isOfKind(error, "Forbidden", 403);
}

/** The object has changed since it was read. AlreadyExists has the same code, 409. */
export function isConflict(error: ApiError): boolean {
  return isOfKind(error, "Conflict", 409);
}

export function isAlreadyExists(error: ApiError): boolean {
  return error.kind === "status" && error.status.reason === "AlreadyExists";
}

/** As in apimachinery/pkg/api/errors, the code decides only without a reason. */
function isOfKind(error: ApiError, reason: string, code: number): boolean {
  if (error.kind !== "status") return false;
  return error.status.reason ? error.status.reason === reason : error.status.code === code;
}
