// Reads a write request: its body, limited in bytes, as an object of one kind, and its query as options. Mirrors
// the decoding in handlers/create.go, and metav1.CreateOptions, UpdateOptions and PatchOptions.
import { isJsonObject, type Json, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { failure, type Result, success } from "../../../../shared/result.ts";
import { type ApiObject, type Outcome, textOf } from "../object.ts";
import { isSet } from "../request-info.ts";
import { apiVersionOf, type ResourceType } from "../resource-type.ts";
import * as refuse from "../status.ts";
import { requestTooLarge } from "../status.ts";
import { forbidden, notSupported, required, tooLong } from "../validation/field-errors.ts";
import { decode } from "./write.ts";

type Kind = Pick<ResourceType, "group" | "version" | "kind">;

/** Returns an error text if the body's kind is not `expected`. A body without a kind counts as the expected kind. */
export function kindFault(body: JsonObject, expected: Kind): string | undefined {
  const [kind, apiVersion] = [textOf(body["kind"]), textOf(body["apiVersion"])];
  const isKind = kind === "" || kind === expected.kind;
  if (isKind && (apiVersion === "" || apiVersion === apiVersionOf(expected))) return undefined;
  return `${kind} in version ${JSON.stringify(apiVersion)} cannot be handled as a ${expected.kind}`;
}

/** Reads a body that must have the expected kind or no kind. */
export async function readKind(request: Request, expected: Kind): Promise<Outcome<JsonObject>> {
  if (mediaTypeOf(request) !== "application/json") return failure(refuse.unsupportedBody());
  const text = await readBody(request);
  if (!text.ok) return text;
  const parsed = parseJson(text.value);
  const what = `the object provided is unrecognized (must be of type ${expected.kind})`;
  if (!parsed.ok) return failure(refuse.badRequest(`${what}: ${parsed.error}`));
  if (!isJsonObject(parsed.value)) return failure(refuse.badRequest(what));
  const fault = kindFault(parsed.value, expected);
  return fault === undefined ? success(parsed.value) : failure(refuse.badRequest(fault));
}

/** Reads the body of a write request, and decodes it into the type. */
export async function readObject(
  request: Request,
  type: ResourceType,
  { fieldValidation }: WriteOptions,
): Promise<Outcome<ApiObject>> {
  const body = await readKind(request, type);
  if (!body.ok) return body;
  const decoded = decode(type, body.value);
  const handled = `${type.kind} in version ${JSON.stringify(type.version)} cannot be handled as a ${type.kind}`;
  if (!decoded.ok) return failure(refuse.badRequest(`${handled}: ${decoded.error}`));
  const { object, unknown } = decoded.value;
  if (fieldValidation !== "Strict" || unknown.length === 0) return success(object);
  return failure(refuse.badRequest(`${handled}: ${strictError(unknown)}`));
}

/** Returns the error text for unknown fields. */
export function strictError(unknown: string[]): string {
  const texts = unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
  return `strict decoding error: ${texts.join(", ")}`;
}

export interface WriteOptions {
  dryRun: boolean;
  fieldManager: string;
  /** `Ignore` drops unknown fields, `Strict` refuses them. Upstream's default, `Warn`, is not supported. */
  fieldValidation: "Ignore" | "Strict";
  /** true if a server-side apply takes fields over from other managers; otherwise such fields are a conflict. */
  force: boolean;
}

const directives = ["", "Ignore", "Strict", "Warn"];
const maxManagerBytes = 128;

/** Reads the options of a write. `kind` names the options in errors. `isApply` is true for a server-side apply. */
export function writeOptions(
  query: URLSearchParams,
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions",
  isApply = false,
): Outcome<WriteOptions> {
  const fieldManager = query.get("fieldManager") ?? "";
  const fieldValidation = query.get("fieldValidation") ?? "";
  const dryRun = query.getAll("dryRun");
  const errors: refuse.FieldError[] = [];
  if (isApply && fieldManager === "") {
    errors.push(required("fieldManager", "is required for apply patch"));
  }
  if (kind === "PatchOptions" && !isApply && query.has("force")) {
    errors.push(forbidden("force", "may not be specified for non-apply patch"));
  }
  if (Buffer.byteLength(fieldManager) > maxManagerBytes) {
    errors.push(tooLong("fieldManager", maxManagerBytes));
  }
  if (dryRun.some((value) => value !== "All")) errors.push(notSupported("dryRun", dryRun, ["All"]));
  if (!directives.includes(fieldValidation)) {
    errors.push(notSupported("fieldValidation", fieldValidation, directives));
  }
  if (errors.length > 0) return failure(refuse.invalid("meta.k8s.io", kind, "", errors));
  return success({
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: fieldValidation === "Strict" ? "Strict" : "Ignore",
    force: isSet(query.get("force")),
  });
}

/** The number of bytes that a body may have (server.Config.MaxRequestBodyBytes). */
export const maxBodyBytes = 3 * 1024 * 1024;

/** Reads a body as text. Returns a 413 as soon as the body exceeds the limit. */
export async function readBody(request: Request): Promise<Outcome<string>> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > maxBodyBytes) return failure(requestTooLarge(maxBodyBytes));
  if (!request.body) return success("");
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) return failure(requestTooLarge(maxBodyBytes));
    text += decoder.decode(chunk, { stream: true });
  }
  return success(text + decoder.decode());
}

/** Returns the media type of the body. A request without a Content-Type counts as JSON. */
export function mediaTypeOf(request: Request): string {
  const [mediaType = ""] = (request.headers.get("content-type") ?? "").split(";");
  return mediaType.trim().toLowerCase() || "application/json";
}

export function parseJson(text: string): Result<Json> {
  try {
    return success(JSON.parse(text) as Json);
  } catch (error) {
    return failure(error instanceof Error ? error.message : String(error));
  }
}
