// The options of a delete: the body's if there is one, else the query's; validated. Mirrors metav1.DeleteOptions and
// ValidateDeleteOptions.
import { isJsonObject, type JsonObject } from "../../../shared/kubernetes/json.ts";
import { jsonBodyTypes, mediaTypeOf, parseText, readBody } from "./body.ts";
import { decodeObject } from "./kinds/decode.ts";
import { compileStruct } from "./kinds/go-type.ts";
import { metaTypes } from "./kinds/meta-types.ts";
import { fieldsOf, listOf, type Outcome, textOf } from "./object.ts";
import { identityOf, unknownKind, withDefaults } from "./read-object.ts";
import * as refuse from "./status.ts";
import { invalid, notSupported } from "./validation/field-errors.ts";

export interface DeleteOptions {
  /** Preconditions; absent ones hold always. */
  uid?: string;
  resourceVersion?: string;
  propagationPolicy?: string;
  orphanDependents?: boolean;
  dryRun: boolean;
}

const optionsType = compileStruct("v1.DeleteOptions", metaTypes);
const policies = ["Foreground", "Background", "Orphan"];

function isTrue(value: string): boolean {
  return value !== "false" && value !== "0" && value !== "";
}

function fromQuery(query: URLSearchParams): JsonObject {
  const policy = query.get("propagationPolicy");
  const orphan = query.get("orphanDependents");
  const dryRun = query.getAll("dryRun");
  return {
    ...(policy !== null && { propagationPolicy: policy }),
    ...(orphan !== null && { orphanDependents: isTrue(orphan) }),
    ...(dryRun.length > 0 && { dryRun }),
  };
}

async function fromBody(request: Request): Promise<Outcome<JsonObject | undefined>> {
  const text = await readBody(request);
  if ("refused" in text) return text;
  if (text.ok === "") return { ok: undefined };
  const mediaType = mediaTypeOf(request);
  if (!jsonBodyTypes.includes(mediaType)) return { refused: refuse.unsupportedBody() };
  const parsed = parseText(text.ok, mediaType, false);
  if ("error" in parsed) return { refused: refuse.badRequest(parsed.error) };
  const identity = identityOf(parsed.value);
  if ("error" in identity) return { refused: refuse.badRequest(identity.error) };
  const said = withDefaults(identity, { group: "meta.k8s.io", version: "v1", kind: "DeleteOptions" });
  if (said.kind !== "DeleteOptions") return { refused: refuse.badRequest(unknownKind(said)) };
  const decoded = decodeObject(isJsonObject(parsed.value) ? parsed.value : {}, optionsType);
  return "error" in decoded ? { refused: refuse.badRequest(decoded.error) } : { ok: decoded.object };
}

function validate(options: JsonObject): refuse.FieldError[] {
  const { propagationPolicy: policy, orphanDependents: orphan } = options;
  const errors: refuse.FieldError[] = [];
  if (policy !== undefined && orphan !== undefined) {
    const detail = "orphanDependents and deletionPropagation cannot be both set";
    errors.push(invalid("propagationPolicy", policy, detail));
  }
  if (policy !== undefined && !policies.includes(textOf(policy))) {
    errors.push(notSupported("propagationPolicy", policy, [...policies, "nil"]));
  }
  const dryRun = listOf(options["dryRun"]);
  if (dryRun.some((value) => value !== "All")) errors.push(notSupported("dryRun", dryRun, ["All"]));
  return errors;
}

export async function readDeleteOptions(
  request: Request,
  query: URLSearchParams,
): Promise<Outcome<DeleteOptions>> {
  const body = await fromBody(request);
  if ("refused" in body) return body;
  const options = body.ok ?? fromQuery(query);
  const errors = validate(options);
  if (errors.length > 0) return { refused: refuse.invalid("meta.k8s.io", "DeleteOptions", "", errors) };
  const { uid, resourceVersion } = fieldsOf(options["preconditions"]);
  const { propagationPolicy: policy, orphanDependents } = options;
  return {
    ok: {
      ...(typeof uid === "string" && { uid }),
      ...(typeof resourceVersion === "string" && { resourceVersion }),
      ...(typeof policy === "string" && { propagationPolicy: policy }),
      ...(typeof orphanDependents === "boolean" && { orphanDependents }),
      dryRun: listOf(options["dryRun"]).length > 0,
    },
  };
}
