// A request's body as an object of one kind, or why it is none. Mirrors the decoding in apiserver's handlers/create.go and
// apimachinery's serializer/json. Looks at no store.
import { isJsonObject, type Json, type JsonObject } from "../../../shared/kubernetes/json.ts";
import { jsonBodyTypes, mediaTypeOf, type ParsedBody, parseText, readBody } from "./body.ts";
import { goKind } from "./kinds/decode-scalar.ts";
import type { ApiObject, Outcome } from "./object.ts";
import type { WriteOptions } from "./options.ts";
import type { ResourceType } from "./resource-type.ts";
import { resourceTypes } from "./resources.ts";
import * as refuse from "./status.ts";
import { apiVersionOf, decode } from "./write.ts";

/** What the body must be. */
export type Kind = Pick<ResourceType, "group" | "version" | "kind">;

const summaryLength = 30;

/** handlers.summarizeData: the start of a body that could not be read. */
function summary(text: string): string {
  if (text === "") return "<empty>";
  const bytes = Buffer.from(text);
  const start = bytes.subarray(0, summaryLength);
  const shown = text.startsWith("{") ? start.toString("utf8") : start.toString("hex");
  return bytes.length > summaryLength ? `${shown} ...` : shown;
}

function unrecognized({ kind }: Kind, text: string, error: string) {
  const what = `the object provided is unrecognized (must be of type ${kind})`;
  return { refused: refuse.badRequest(`${what}: ${error} (${summary(text)})`) };
}

/** What of kind and apiVersion a body says (meta.SimpleMetaFactory.Interpret). */
export function identityOf(body: Json): { kind: string; apiVersion: string } | { error: string } {
  const start = "couldn't get version/kind; json parse error: json: cannot unmarshal";
  if (body === null) return { kind: "", apiVersion: "" };
  if (!isJsonObject(body)) {
    const type = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;
    return { error: `${start} ${goKind(body)} into Go value of type ${type}` };
  }
  const { kind = null, apiVersion = null } = body;
  for (const [field, value] of Object.entries({ apiVersion, kind })) {
    if (value !== null && typeof value !== "string") {
      return { error: `${start} ${goKind(value)} into Go struct field .${field} of type string` };
    }
  }
  const version = typeof apiVersion === "string" ? apiVersion : "";
  if (version.split("/").length > 2) return { error: `unexpected GroupVersion string: ${version}` };
  return { kind: typeof kind === "string" ? kind : "", apiVersion: version };
}

/** gvkWithDefaults */
export function withDefaults(said: { kind: string; apiVersion: string }, expected: Kind): Kind {
  const [group = "", version = ""] = said.apiVersion.includes("/")
    ? said.apiVersion.split("/")
    : ["", said.apiVersion];
  const kind = said.kind || expected.kind;
  if (version === "" && (group === "" || group === expected.group)) return { ...expected, kind };
  return { group, version, kind };
}

/** Versions in which upstream reads a group's kinds besides v1. */
const otherVersions = new Map([
  ["coordination.k8s.io", ["v1beta1"]],
  ["events.k8s.io", ["v1beta1"]],
  ["rbac.authorization.k8s.io", ["v1beta1", "v1alpha1"]],
  ["admissionregistration.k8s.io", ["v1beta1", "v1alpha1"]],
]);

function isKnown(said: Kind): boolean {
  const isVersion = said.version === "v1" || otherVersions.get(said.group)?.includes(said.version);
  return (
    Boolean(isVersion) && resourceTypes.some(({ group, kind }) => group === said.group && kind === said.kind)
  );
}

/** The Go type to which a kind is converted: "core.Node". */
function internalName({ group, kind }: Kind): string {
  const [start = ""] = group.split(".");
  return `${start === "" || start === "events" ? "core" : start}.${kind}`;
}

/** runtime.NewNotRegisteredErrForKind */
export function unknownKind({ kind, ...version }: Kind): string {
  const name = JSON.stringify(apiVersionOf(version));
  return `no kind ${JSON.stringify(kind)} is registered for version ${name} in scheme "pkg/runtime/scheme.go:111"`;
}

/** Why what says that it is of one kind cannot be read as another one of the same name, or of another. */
export function conversionError(said: Kind, expected: Kind): string | undefined {
  if (!isKnown(said)) return unknownKind(said);
  if (said.kind === expected.kind) return undefined;
  return `converting (${said.version}.${said.kind}) to (${internalName(expected)}): unknown conversion`;
}

/** The body is of a kind that nobody knows, or of another one than is wanted. */
function refuseKind(said: Kind, expected: Kind) {
  const handled = `${said.kind} in version ${JSON.stringify(said.version)} cannot be handled as a ${expected.kind}`;
  const error = conversionError(said, expected);
  if (error !== undefined) return refuse.badRequest(`${handled}: ${error}`);
  return refuse.badRequest(
    `the API version in the data (${apiVersionOf(said)}) does not match the expected API version ` +
      `(${apiVersionOf(expected)})`,
  );
}

/** The text of a strict decoding error; what is only to be warned of goes to `warn`. */
function strictError(
  repeated: string[],
  strict: string[],
  { fieldValidation }: WriteOptions,
  warn: (text: string) => void,
): string | undefined {
  if (fieldValidation === "Ignore" || repeated.length + strict.length === 0) return undefined;
  if (fieldValidation === "Warn") {
    for (const text of [...repeated, ...strict]) warn(text.trim());
    return undefined;
  }
  const yaml = repeated.length > 0 ? [["yaml: unmarshal errors:", ...repeated].join("\n")] : [];
  return `strict decoding error: ${[...yaml, ...strict].join(", ")}`;
}

/** The body, which says that it is of the kind or says nothing, with what a strict reader would complain of. */
async function readKind(
  request: Request,
  expected: Kind,
  { fieldValidation }: Pick<WriteOptions, "fieldValidation">,
): Promise<Outcome<ParsedBody & { body: JsonObject }>> {
  const mediaType = mediaTypeOf(request);
  if (!jsonBodyTypes.includes(mediaType)) return { refused: refuse.unsupportedBody() };
  const text = await readBody(request);
  if ("refused" in text) return text;
  const parsed = parseText(text.ok, mediaType, fieldValidation !== "Ignore");
  if ("error" in parsed) return unrecognized(expected, text.ok, parsed.error);
  const identity = identityOf(parsed.value);
  if ("error" in identity) return unrecognized(expected, text.ok, identity.error);
  const said = withDefaults(identity, expected);
  const isExpected =
    said.kind === expected.kind && said.group === expected.group && said.version === expected.version;
  if (!isExpected) return { refused: refuseKind(said, expected) };
  return { ok: { ...parsed, body: isJsonObject(parsed.value) ? parsed.value : {} } };
}

/** The body of a write as an object of the type, in the type's own form. */
export async function readObject(
  request: Request,
  type: ResourceType,
  options: WriteOptions,
  warn: (text: string) => void,
): Promise<Outcome<ApiObject>> {
  const read = await readKind(request, type, options);
  if ("refused" in read) return read;
  const { body, duplicates, repeated = [] } = read.ok;
  const decoded = decode(type, body, { duplicates });
  const error = "error" in decoded ? decoded.error : strictError(repeated, decoded.strict, options, warn);
  if ("object" in decoded && error === undefined) return { ok: decoded.object };
  const handled = `${type.kind} in version ${JSON.stringify(type.version)} cannot be handled as a ${type.kind}`;
  return { refused: refuse.badRequest(`${handled}: ${error}`) };
}

/** The body of a subresource that takes a kind of its own. */
export async function readOtherKind(request: Request, expected: Kind): Promise<Outcome<JsonObject>> {
  const read = await readKind(request, expected, { fieldValidation: "Ignore" });
  return "refused" in read ? read : { ok: read.ok.body };
}
