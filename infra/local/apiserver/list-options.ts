// The query of a list, a watch or a deletecollection as options: decoded, defaulted and validated. Reads no store.
// Mirrors metav1.ListOptions, its conversion from url.Values, and internalversion/validation.ValidateListOptions.
import type { Outcome } from "./object.ts";
import { isSet } from "./request-info.ts";
import { badRequest, type FieldError, invalid } from "./status.ts";

export interface ListOptions {
  labelSelector: string;
  fieldSelector: string;
  watch: boolean;
  allowWatchBookmarks: boolean;
  /** "" asks for the latest, "0" for any. */
  resourceVersion: string;
  resourceVersionMatch: string;
  /** 0 for none. */
  timeoutSeconds: number;
  /** 0 for none. */
  limit: number;
  continue: string;
  sendInitialEvents?: boolean;
}

/** strconv.ParseInt(text, 10, 64), or its error's text. */
function parseInteger(text: string): { value: number } | { error: string } {
  const fault = (why: string) => ({ error: `strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}` });
  if (!/^[+-]?\d+$/.test(text)) return fault("invalid syntax");
  const value = BigInt(text.replace(/^\+/, ""));
  return BigInt.asIntN(64, value) === value ? { value: Number(value) } : fault("value out of range");
}

/** Whether a resourceVersion is one (strconv.ParseUint), or its error's text. */
export function resourceVersionError(text: string): string | undefined {
  if (/^\d*$/.test(text) && BigInt(text || 0) < 2n ** 64n) return undefined;
  const why = /^\d+$/.test(text) ? "value out of range" : "invalid syntax";
  const quoted = JSON.stringify(text);
  return `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: ${why}`;
}

const matchField = "resourceVersionMatch";

function forbidden(field: string, why: string): FieldError {
  return { reason: "FieldValueForbidden", field, message: `Forbidden: ${why}` };
}

function unsupportedMatch(match: string, supported: string[]): FieldError {
  const values = supported.map((value) => JSON.stringify(value)).join(", ");
  const message = `Unsupported value: ${JSON.stringify(match)}: supported values: ${values}`;
  return { reason: "FieldValueNotSupported", field: matchField, message };
}

function listErrors(options: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  const { resourceVersionMatch: match, resourceVersion } = options;
  if (match !== "") {
    if (resourceVersion === "") {
      errors.push(forbidden(matchField, `${matchField} is forbidden unless resourceVersion is provided`));
    }
    if (options.continue !== "") {
      errors.push(forbidden(matchField, `${matchField} is forbidden when continue is provided`));
    }
    if (match !== "Exact" && match !== "NotOlderThan") {
      errors.push(unsupportedMatch(match, ["Exact", "NotOlderThan", ""]));
    }
    if (match === "Exact" && resourceVersion === "0") {
      errors.push(forbidden(matchField, `${matchField} "exact" is forbidden for resourceVersion "0"`));
    }
  }
  if (options.sendInitialEvents !== undefined) {
    errors.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  return errors;
}

function watchErrors(options: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  const { resourceVersionMatch: match, sendInitialEvents } = options;
  if (sendInitialEvents !== undefined && match !== "NotOlderThan") {
    const why = `sendInitialEvents requires setting ${matchField} to NotOlderThan`;
    errors.push(forbidden(matchField, why));
  }
  if (match === "") return errors;
  if (sendInitialEvents === undefined) {
    const why = `${matchField} is forbidden for watch unless sendInitialEvents is provided`;
    errors.push(forbidden(matchField, why));
  }
  if (match !== "NotOlderThan") errors.push(unsupportedMatch(match, ["NotOlderThan"]));
  if (options.continue !== "") {
    errors.push(forbidden(matchField, `${matchField} is forbidden when continue is provided`));
  }
  return errors;
}

/** SetListOptionsDefaults: a watch that starts nowhere in particular is sent what is there first. */
function withDefaults(options: ListOptions): ListOptions {
  const { watch, resourceVersion, resourceVersionMatch, sendInitialEvents } = options;
  const startsAnywhere = resourceVersion === "" || resourceVersion === "0";
  if (!watch || !startsAnywhere || sendInitialEvents !== undefined || resourceVersionMatch !== "") {
    return options;
  }
  return { ...options, sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" };
}

/** `verb` is "watch" also where only the path says so. */
export function listOptions(query: URLSearchParams, verb: string): Outcome<ListOptions> {
  const timeoutSeconds = parseInteger(query.get("timeoutSeconds") ?? "0");
  if ("error" in timeoutSeconds) return { refused: badRequest(timeoutSeconds.error) };
  const limit = parseInteger(query.get("limit") ?? "0");
  if ("error" in limit) return { refused: badRequest(limit.error) };
  const options = withDefaults({
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
    watch: verb === "watch",
    allowWatchBookmarks: isSet(query.get("allowWatchBookmarks")),
    resourceVersion: query.get("resourceVersion") ?? "",
    resourceVersionMatch: query.get("resourceVersionMatch") ?? "",
    timeoutSeconds: timeoutSeconds.value,
    limit: limit.value,
    continue: query.get("continue") ?? "",
    ...(query.has("sendInitialEvents") && { sendInitialEvents: isSet(query.get("sendInitialEvents")) }),
  });
  const errors = options.watch ? watchErrors(options) : listErrors(options);
  return errors.length > 0 ? { refused: invalid("meta.k8s.io", "ListOptions", "", errors) } : { ok: options };
}
