// Defines the faults of requests to the apiserver, and recognizes their kinds.
import type { Result } from "../result.ts";
import type { Status } from "./types.ts";

/**
 * `status`: the apiserver refused. `unanswered`: the apiserver gave no answer; `cure` is the remedy if known. `isUnsent`:
 * true if the Worker has not asked, since the machine has used up its requests.
 */
export type ApiError =
  | { kind: "status"; status: Status }
  | { kind: "unanswered"; message: string; cure?: string; isUnsent?: true };

export type ApiResult<T> = Result<T, ApiError>;

/** Returns the error's text for the Worker's log alone, since it contains the apiserver's answer. */
export function apiErrorText(error: ApiError): string {
  if (error.kind === "unanswered") return error.message;
  const { message, reason, code } = error.status;
  return message ?? reason ?? `status ${code}`;
}

export function isNotFound(error: ApiError): boolean {
  return isOfKind(error, "NotFound", 404);
}

/** Returns true if the token is invalid or has expired. */
export function isUnauthorized(error: ApiError): boolean {
  return isOfKind(error, "Unauthorized", 401);
}

export function isForbidden(error: ApiError): boolean {
  return isOfKind(error, "Forbidden", 403);
}

/** Returns true if the object has changed since it was read. AlreadyExists is a 409 too, so the reason decides. */
export function isConflict(error: ApiError): boolean {
  return isOfKind(error, "Conflict", 409);
}

export function isAlreadyExists(error: ApiError): boolean {
  return error.kind === "status" && error.status.reason === "AlreadyExists";
}

/** Returns true if the Status has this reason. Without a reason the code decides, as in apimachinery/pkg/api/errors. */
function isOfKind(error: ApiError, reason: string, code: number): boolean {
  if (error.kind !== "status") return false;
  return error.status.reason ? error.status.reason === reason : error.status.code === code;
}

/** Returns true if the apiserver failed, and false if it refused this request. */
export function isFailing(error: ApiError): boolean {
  if (error.kind === "unanswered") return true;
  const { code = 0 } = error.status;
  return code === 429 || code >= 500;
}
