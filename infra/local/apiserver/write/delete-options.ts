// The options of a delete: the body's if there is one, else the query's; validated. Mirrors metav1.DeleteOptions and
// ValidateDeleteOptions. Dependents go in the background: other policies are refused.
import { isJsonObject, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { failure, success } from "../../../../shared/result.ts";
import { mediaTypeOf, parseJson, readBody } from "./body.ts";
import { notSupported } from "../validation/field-errors.ts";
import { fieldsOf, listOf, type Outcome } from "../object.ts";
import * as refuse from "../status.ts";

export interface DeleteOptions {
  /** Preconditions; absent ones hold always. */
  uid?: string;
  resourceVersion?: string;
  dryRun: boolean;
}

function fromQuery(query: URLSearchParams): JsonObject {
  const policy = query.get("propagationPolicy");
  const dryRun = query.getAll("dryRun");
  return {
    ...(policy !== null && { propagationPolicy: policy }),
    ...(query.has("orphanDependents") && { orphanDependents: query.get("orphanDependents") !== "false" }),
    ...(dryRun.length > 0 && { dryRun }),
  };
}

async function fromBody(request: Request): Promise<Outcome<JsonObject | undefined>> {
  const text = await readBody(request);
  if (!text.ok) return text;
  if (text.value === "") return success(undefined);
  if (mediaTypeOf(request) !== "application/json") return failure(refuse.unsupportedBody());
  const parsed = parseJson(text.value);
  if (!parsed.ok) return failure(refuse.badRequest(parsed.error));
  const { kind = "DeleteOptions" } = fieldsOf(parsed.value);
  if (isJsonObject(parsed.value) && kind === "DeleteOptions") return success(parsed.value);
  return failure(refuse.badRequest("the body is no DeleteOptions"));
}

function validate(options: JsonObject): refuse.FieldError[] {
  const { propagationPolicy: policy = "Background", orphanDependents = false } = options;
  const errors: refuse.FieldError[] = [];
  if (policy !== "Background") errors.push(notSupported("propagationPolicy", policy, ["Background"]));
  if (orphanDependents !== false) errors.push(notSupported("orphanDependents", orphanDependents, ["false"]));
  const dryRun = listOf(options["dryRun"]);
  if (dryRun.some((value) => value !== "All")) errors.push(notSupported("dryRun", dryRun, ["All"]));
  return errors;
}

export async function readDeleteOptions(
  request: Request,
  query: URLSearchParams,
): Promise<Outcome<DeleteOptions>> {
  const body = await fromBody(request);
  if (!body.ok) return body;
  const options = body.value ?? fromQuery(query);
  const errors = validate(options);
  if (errors.length > 0) return failure(refuse.invalid("meta.k8s.io", "DeleteOptions", "", errors));
  const { uid, resourceVersion } = fieldsOf(options["preconditions"]);
  return success({
    ...(typeof uid === "string" && { uid }),
    ...(typeof resourceVersion === "string" && { resourceVersion }),
    dryRun: listOf(options["dryRun"]).length > 0,
  });
}
