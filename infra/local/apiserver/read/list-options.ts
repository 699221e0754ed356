// The query of a list, a watch or a deletecollection as options, defaulted and validated. Reads no store. `limit` and
// `continue` are ignored, as the API lets a server do: every list is whole.
import { failure, success } from "../../../../shared/result.ts";
import { forbidden, notSupported } from "../validation/field-errors.ts";
import type { Outcome } from "../object.ts";
import { isSet } from "../request-info.ts";
import { badRequest, type FieldError, invalid } from "../status.ts";

export interface ListOptions {
  labelSelector: string;
  fieldSelector: string;
  allowWatchBookmarks: boolean;
  /** 0 stands for the latest, or for any. */
  resourceVersion: number;
  /** 0 for none. */
  timeoutSeconds: number;
  /** Of a watch: what is there comes first. */
  sendInitialEvents: boolean;
}

const matchField = "resourceVersionMatch";

/** internalversion/validation.ValidateListOptions, as far as watches go. */
function watchErrors(query: URLSearchParams): FieldError[] {
  const match = query.get(matchField) ?? "";
  const asksForInitial = query.has("sendInitialEvents");
  const errors: FieldError[] = [];
  if (asksForInitial && match !== "NotOlderThan")
    errors.push(forbidden(matchField, `sendInitialEvents requires setting ${matchField} to NotOlderThan`));
  if (match !== "" && !asksForInitial) {
    const why = `${matchField} is forbidden for watch unless sendInitialEvents is provided`;
    errors.push(forbidden(matchField, why));
  }
  if (match !== "" && match !== "NotOlderThan")
    errors.push(notSupported(matchField, match, ["NotOlderThan"]));
  return errors;
}

export function listOptions(query: URLSearchParams, isWatch: boolean): Outcome<ListOptions> {
  const [resourceVersion, timeoutSeconds] = ["resourceVersion", "timeoutSeconds"].map((name) =>
    Number(query.get(name) || 0),
  );
  if (!Number.isSafeInteger(resourceVersion) || !Number.isSafeInteger(timeoutSeconds))
    return failure(badRequest("resourceVersion and timeoutSeconds have to be numbers"));
  if (query.get(matchField) === "Exact")
    return failure(badRequest("lists of an earlier resourceVersion are not supported"));
  const errors = isWatch ? watchErrors(query) : [];
  if (errors.length > 0) return failure(invalid("meta.k8s.io", "ListOptions", "", errors));
  const asked = query.get("sendInitialEvents");
  return success({
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
    allowWatchBookmarks: isSet(query.get("allowWatchBookmarks")),
    resourceVersion: resourceVersion ?? 0,
    timeoutSeconds: timeoutSeconds ?? 0,
    // SetListOptionsDefaults: a watch that starts nowhere in particular is sent what is there first.
    sendInitialEvents: asked === null ? resourceVersion === 0 : isSet(asked),
  });
}
