// Deletes one object, or all objects that a selector matches, with preconditions and finalizers. Dependents are
// always deleted in the background. Mirrors handlers/delete.go, registry.Store.Delete and ValidateDeleteOptions.
import { isJsonObject, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import type { ObjectMeta, Status } from "../../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../../shared/result.ts";
import { type Answer, answerWith, type Call, stored } from "../call.ts";
import { type ApiObject, fieldsOf, listOf, type Outcome } from "../object.ts";
import { listObjects } from "../read/list.ts";
import { readListRequest } from "../read/select.ts";
import type { ResourceType } from "../resource-type.ts";
import { resourceTypes } from "../resources.ts";
import * as refuse from "../status.ts";
import { qualifiedResource } from "../status.ts";
import { notSupported } from "../validation/field-errors.ts";
import { inGoOrder } from "./metadata.ts";
import { mediaTypeOf, parseJson, readBody } from "./read-object.ts";
import { keyOf, type Surroundings, timeOf } from "./write.ts";

export async function remove(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const options = await readDeleteOptions(call.request, call.query);
  if (!options.ok) return options;
  const found = stored(world, call);
  if (!found.ok) return found;
  return answerWith(200, deleteObject(world, call.type, found.value, options.value));
}

/** Deletes the objects that a request selects. Answers with the list of deleted objects. */
export async function removeCollection(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const { type, info, query } = call;
  const asked = readListRequest(type, info, query);
  if (!asked.ok) return asked;
  const options = await readDeleteOptions(call.request, query);
  if (!options.ok) return options;
  const listed = listObjects(world.store, type, info, asked.value);
  if (!listed.ok) return listed;
  for (const { metadata } of listed.value.items) {
    const key = keyOf(type, metadata.namespace ?? "", metadata.name ?? "");
    const object = world.store.get(key);
    const deleted = object && deleteObject(world, type, object, options.value);
    if (deleted && !deleted.ok) return deleted;
  }
  return answerWith(200, listed);
}

/** Returns the 409 for a violated precondition, or undefined if the preconditions hold. */
function violated(type: ResourceType, metadata: ObjectMeta, options: DeleteOptions): Status | undefined {
  const { name = "", uid = "", resourceVersion = "" } = metadata;
  const checks = [
    { what: "UID", wanted: options.uid, actual: uid, hint: "deleted and then recreated" },
    { what: "ResourceVersion", wanted: options.resourceVersion, actual: resourceVersion, hint: "modified" },
  ];
  const failed = checks.find(({ wanted, actual }) => wanted !== undefined && wanted !== actual);
  if (!failed) return undefined;
  const { what, wanted, actual, hint } = failed;
  const why =
    `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${actual}). ` +
    `The object might have been ${hint}`;
  return refuse.deleteConflict(type, name, why);
}

/** Returns metadata with a deletionTimestamp, which stays if it is already set. Mirrors markAsDeleting. */
function marked(metadata: ObjectMeta, now: Date): ObjectMeta {
  if (metadata.deletionTimestamp !== undefined) return metadata;
  return inGoOrder({ ...metadata, deletionTimestamp: timeOf(now), deletionGracePeriodSeconds: 0 });
}

const immortalNamespaces = new Set(["default", "kube-system", "kube-public"]);

/** Returns an error for a namespace that may not be deleted. Mirrors the admission plugin NamespaceLifecycle. */
function refuseImmortal(type: ResourceType, { name = "" }: ObjectMeta): Status | undefined {
  if (type.kind !== "Namespace" || !immortalNamespaces.has(name)) return undefined;
  return refuse.forbidden(type, name, "this namespace may not be deleted");
}

/** Deletes all objects of a namespace at once. Upstream first sets the namespace to Terminating. */
function emptyNamespace(store: Surroundings["store"], namespace: string): void {
  for (const type of resourceTypes.filter(({ namespaced }) => namespaced)) {
    for (const object of store.list(qualifiedResource(type), namespace))
      store.remove(keyOf(type, namespace, object.metadata.name ?? ""), object);
  }
}

/** Deletes the stored `object`, or marks it as deleted if it has finalizers. Returns it, or a Status of success. */
function deleteObject(
  { store, now }: Surroundings,
  type: ResourceType,
  object: ApiObject,
  options: DeleteOptions,
): Outcome<ApiObject | Status> {
  const refused = violated(type, object.metadata, options) ?? refuseImmortal(type, object.metadata);
  if (refused) return failure(refused);
  const { name = "", namespace = "", uid, finalizers = [] } = object.metadata;
  const key = keyOf(type, namespace, name);
  if (finalizers.length > 0) {
    const metadata = marked(object.metadata, now());
    const body = { ...object, metadata };
    return success(options.dryRun || metadata === object.metadata ? body : store.put(key, body));
  }
  if (type.kind === "Namespace" && !options.dryRun) emptyNamespace(store, name);
  const removed = options.dryRun ? object : store.remove(key, object);
  return success(type.returnsDeletedObject ? removed : refuse.deleted(type, name, uid));
}

interface DeleteOptions {
  /** The preconditions: the uid and resourceVersion that the stored object must have, if given. */
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

async function readDeleteOptions(request: Request, query: URLSearchParams): Promise<Outcome<DeleteOptions>> {
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
