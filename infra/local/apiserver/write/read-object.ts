// A request's body as an object of one kind, or why it is none. Mirrors the decoding in apiserver's handlers/create.go.
// Looks at no store.
import { isJsonObject, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { failure, success } from "../../../../shared/result.ts";
import { mediaTypeOf, parseJson, readBody } from "./body.ts";
import { type ApiObject, type Outcome, textOf } from "../object.ts";
import type { WriteOptions } from "./options.ts";
import { apiVersionOf, type ResourceType } from "../resource-type.ts";
import * as refuse from "../status.ts";
import { decode } from "./write.ts";

/** What the body must be. */
export type Kind = Pick<ResourceType, "group" | "version" | "kind">;

/** Why a body is of another kind than is wanted; one that does not say is of the right one. */
export function kindFault(body: JsonObject, expected: Kind): string | undefined {
  const [kind, apiVersion] = [textOf(body["kind"]), textOf(body["apiVersion"])];
  const isKind = kind === "" || kind === expected.kind;
  if (isKind && (apiVersion === "" || apiVersion === apiVersionOf(expected))) return undefined;
  return `${kind} in version ${JSON.stringify(apiVersion)} cannot be handled as a ${expected.kind}`;
}

/** The body, which says that it is of the kind or says nothing. */
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

/** The body of a write as an object of the type, in the type's own form. */
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

/** What a strict reader complains of. */
export function strictError(unknown: string[]): string {
  const texts = unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
  return `strict decoding error: ${texts.join(", ")}`;
}
