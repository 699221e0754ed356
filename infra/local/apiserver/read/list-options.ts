// Reads the query of a list, watch or deletecollection, with defaults and validation. Also encodes the continue
// token: the revision and the first key of the next page. Mirrors storage.EncodeContinue and DecodeContinue.
import { posix } from "node:path";
import { isJsonObject } from "../../../../shared/kubernetes/json.ts";
import { failure, type Result, success } from "../../../../shared/result.ts";
import { type Outcome, textOf } from "../object.ts";
import { isSet } from "../request-info.ts";
import { badRequest, type FieldError, invalid } from "../status.ts";
import { forbidden, notSupported } from "../validation/field-errors.ts";
import { parseJson } from "../write/read-object.ts";

export interface ListOptions {
  labelSelector: string;
  fieldSelector: string;
  allowWatchBookmarks: boolean;
  /** The revision that the client asks for. 0 means the latest or any revision. */
  resourceVersion: number;
  /** true if a list must show exactly this revision, and no later one. */
  isExact: boolean;
  /** The number of objects per page. 0 means all. */
  limit: number;
  /** The position of a list's later page. undefined for the first page. */
  continuation?: Continuation;
  /** Seconds until a watch ends. 0 means no timeout. */
  timeoutSeconds: number;
  /** true if a watch begins with the existing objects. */
  sendInitialEvents: boolean;
}

const matchField = "resourceVersionMatch";

const matches = ["Exact", "NotOlderThan", ""];

/** Returns the errors in the options of a list. Mirrors internalversion/validation.ValidateListOptions. */
function listErrors(query: URLSearchParams): FieldError[] {
  const match = query.get(matchField) ?? "";
  const revision = query.get("resourceVersion") ?? "";
  const errors: FieldError[] = [];
  const refuse = (why: string) => errors.push(forbidden(matchField, `${matchField} ${why}`));
  if (match !== "") {
    if (revision === "") refuse("is forbidden unless resourceVersion is provided");
    if (query.get("continue")) refuse("is forbidden when continue is provided");
    if (!matches.includes(match)) errors.push(notSupported(matchField, match, matches));
    if (match === "Exact" && revision === "0") refuse('"exact" is forbidden for resourceVersion "0"');
  }
  if (query.has("sendInitialEvents"))
    errors.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  return errors;
}

/** Returns the errors in the options of a watch. Mirrors validateWatchOptions. */
function watchErrors(query: URLSearchParams): FieldError[] {
  const match = query.get(matchField) ?? "";
  const asksForInitial = query.has("sendInitialEvents");
  const errors: FieldError[] = [];
  const refuse = (why: string) => errors.push(forbidden(matchField, why));
  if (asksForInitial && match !== "NotOlderThan")
    refuse(`sendInitialEvents requires setting ${matchField} to NotOlderThan`);
  if (match === "") return errors;
  if (!asksForInitial) refuse(`${matchField} is forbidden for watch unless sendInitialEvents is provided`);
  if (match !== "NotOlderThan") errors.push(notSupported(matchField, match, ["NotOlderThan"]));
  if (query.get("continue")) refuse(`${matchField} is forbidden when continue is provided`);
  return errors;
}

/** Returns a parameter of the query as a whole number: 0 if it is absent, undefined if it is no number. */
function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) || "0";
  return /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

/** Returns the position in the continue token, if any, or an error. Mirrors storage.ValidateListOptions. */
function continuationOf(query: URLSearchParams, resourceVersion: number): Outcome<Continuation | undefined> {
  const token = query.get("continue") ?? "";
  if (token === "") return success(undefined);
  const decoded = decodeContinue(token);
  if (!decoded.ok) return failure(badRequest(`invalid continue token: ${decoded.error}`));
  if (resourceVersion === 0) return decoded;
  return failure(badRequest("specifying resource version is not allowed when using continue"));
}

export function listOptions(query: URLSearchParams, isWatch: boolean): Outcome<ListOptions> {
  const errors = isWatch ? watchErrors(query) : listErrors(query);
  if (errors.length > 0) return failure(invalid("meta.k8s.io", "ListOptions", "", errors));
  const names = ["resourceVersion", "timeoutSeconds", "limit"];
  const [resourceVersion = -1, timeoutSeconds, limit] = names.map((name) => numberOf(query, name));
  if (resourceVersion < 0 || timeoutSeconds === undefined || limit === undefined)
    return failure(badRequest(`${names.join(", ")} have to be numbers`));
  const continuation = isWatch ? success(undefined) : continuationOf(query, resourceVersion);
  if (!continuation.ok) return continuation;
  const [match, asked] = [query.get(matchField) ?? "", query.get("sendInitialEvents")];
  return success({
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
    allowWatchBookmarks: isSet(query.get("allowWatchBookmarks")),
    resourceVersion,
    // Clients older than resourceVersionMatch expect exactly this revision in a list with pages.
    isExact: match === "Exact" || (match === "" && limit > 0 && resourceVersion > 0),
    // A list of resourceVersion 0 ignores the limit, like cacher.computeListLimit.
    limit: query.get("resourceVersion") === "0" ? 0 : Math.max(limit, 0),
    ...(continuation.value && { continuation: continuation.value }),
    timeoutSeconds,
    // A watch without a resourceVersion begins with the existing objects, like SetListOptionsDefaults.
    sendInitialEvents: asked === null ? resourceVersion === 0 : isSet(asked),
  });
}

interface Continuation {
  /** The revision that all pages show. `latestRevision` stands for the current revision. */
  revision: number;
  /** The first key that the page may contain. */
  startKey: string;
}

/** The revision in the token for a client whose first page's revision has expired. */
export const latestRevision = -1;

const version = "meta.k8s.io/v1";

export function encodeContinue({ revision, startKey }: Continuation): string {
  return Buffer.from(JSON.stringify({ v: version, rv: revision, start: startKey })).toString("base64url");
}

/** Returns true if the key contains no parts such as `..`. */
function isPlainKey(key: string): boolean {
  const absolute = key.startsWith("/") ? key : `/${key}`;
  return posix.normalize(absolute) === absolute;
}

/** Returns the position in a continue token, or an error with upstream's text. */
function decodeContinue(token: string): Result<Continuation> {
  const invalid = "continue key is not valid";
  const parsed = parseJson(Buffer.from(token, "base64url").toString());
  if (!parsed.ok || !isJsonObject(parsed.value)) return failure(invalid);
  const { v, rv, start } = parsed.value;
  if (v !== version)
    return failure(`${invalid}: server does not recognize this encoded version ${textOf(v)}`);
  if (typeof rv !== "number" || rv === 0)
    return failure(`${invalid}: incorrect encoded start resourceVersion (version ${version})`);
  const startKey = textOf(start);
  if (startKey === "") return failure(`${invalid}: encoded start key empty (version ${version})`);
  return isPlainKey(startKey) ? success({ revision: rv, startKey }) : failure(`${invalid}: ${startKey}`);
}
