// Handles create, update and patch requests: reads body and options, for create.ts and update.ts to store the object.
import { isJsonObject } from "../../../../shared/kubernetes/json.ts";
import type { Status } from "../../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../../shared/result.ts";
import { issueToken, reviewAccess } from "../access/reviews.ts";
import { applyConfiguration, patchObject, patchTypeOf } from "./patch.ts";
import { parseJson, readBody, readKind, readObject, type WriteOptions, writeOptions } from "./read-object.ts";
import { type Answer, answerWith, type Call, stored } from "../call.ts";
import { createObject } from "./create.ts";
import { managerName } from "../fields/managers.ts";
import { dedupOwners, withoutSystemFields } from "./metadata.ts";
import type { ApiObject, Outcome } from "../object.ts";
import { apiVersionOf } from "../resource-type.ts";
import * as refuse from "../status.ts";
import { updateObject } from "./update.ts";
import { keyOf, storageKey, type Surroundings, timeOf, type Write, type Written } from "./write.ts";

function answerWritten(outcome: Outcome<Written>): Outcome<Answer> {
  if (!outcome.ok) return outcome;
  const { created, object } = outcome.value;
  return success({ code: created ? 201 : 200, body: object });
}

function writeOf(
  { request, info, type }: Call,
  { fieldManager, dryRun }: WriteOptions,
  operation: "Update" | "Apply" = "Update",
): Write {
  const { namespace, name, subresource } = info;
  const manager = managerName(fieldManager, request.headers.get("user-agent"));
  const writer = { manager, operation, apiVersion: apiVersionOf(type), subresource };
  return { type, namespace, name, subresource, writer, dryRun };
}

async function createToken(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const expected = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" };
  const body = await readKind(call.request, expected);
  if (!body.ok) return body;
  const account = stored(world, call);
  if (!account.ok) return account;
  return answerWith(201, issueToken(world, call.control.signer, account.value, body.value));
}

export async function create(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const { type, info, request, query, control } = call;
  if (info.subresource === "token") return await createToken(world, call);
  const options = writeOptions(query, "CreateOptions");
  if (!options.ok) return options;
  const read = await readObject(request, type, options.value);
  if (!read.ok) return read;
  if (type.kind === "SubjectAccessReview") return answerWith(201, reviewAccess(read.value, control.decide));
  const sent = { ...read.value, metadata: withoutSystemFields(read.value.metadata) };
  return answerWritten(createObject(world, writeOf(call, options.value), sent));
}

/** Returns an error unless the body's name and namespace are the path's. Mirrors handlers.checkName. */
function refuseOther({ info, type }: Call, { metadata }: ApiObject): Status | undefined {
  const { name = "", namespace = "" } = metadata;
  if (type.namespaced && namespace !== "" && namespace !== info.namespace) {
    return refuse.badRequest(refuse.otherNamespace);
  }
  if (name === info.name) return undefined;
  const message =
    name === ""
      ? `the name of the object (${info.name} based on URL) was undeterminable: name must be provided`
      : `the name of the object (${name}) does not match the name on the URL (${info.name})`;
  return refuse.badRequest(message);
}

/** Creates an object by a PUT or a server-side apply. */
function createNamed(world: Surroundings, write: Write, sent: ApiObject): Outcome<Answer> {
  const { resourceVersion: _, ...metadata } = sent.metadata;
  return answerWritten(createObject(world, write, { ...sent, metadata }));
}

export async function update(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const { info, type, request, query } = call;
  const options = writeOptions(query, "UpdateOptions");
  if (!options.ok) return options;
  const read = await readObject(request, type, options.value);
  if (!read.ok) return read;
  const refused = refuseOther(call, read.value);
  if (refused) return failure(refused);
  const sent = { ...read.value, metadata: dedupOwners(read.value.metadata) };
  const key = keyOf(type, info.namespace, info.name);
  const current = world.store.get(key);
  const creates = type.createsOnUpdate && info.subresource === "";
  if (!current && !creates) return failure(refuse.notFound(type, info.name));
  const { uid } = sent.metadata;
  const storedUid = current?.metadata.uid ?? "";
  if (uid && uid !== storedUid)
    return failure(refuse.uidConflict(type, storageKey(key), info.name, uid, storedUid));
  const write = writeOf(call, options.value);
  return current ? answerWritten(updateObject(world, write, sent, current)) : createNamed(world, write, sent);
}

function apply(world: Surroundings, call: Call, text: string, options: WriteOptions): Outcome<Answer> {
  const { type, info } = call;
  const found = stored(world, call);
  if (!found.ok && info.subresource !== "") return found;
  const current = found.ok ? found.value : undefined;
  // An applied configuration is YAML, but kubectl and the Worker send JSON, which is valid YAML.
  const parsed = parseJson(text);
  if (!parsed.ok || !isJsonObject(parsed.value))
    return failure(refuse.badRequest("an applied configuration has to be an object in JSON"));
  const write = writeOf(call, options, "Apply");
  const fieldWrite = { type, writer: write.writer, time: timeOf(world.now()) };
  const applied = applyConfiguration(fieldWrite, parsed.value, current, options.force);
  if (!applied.ok) return applied;
  const { uid } = applied.value.metadata;
  if (uid && !current) {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    return failure(refuse.conflict(type, info.name, why));
  }
  const refused = refuseOther(call, applied.value);
  if (refused) return failure(refused);
  if (current) return answerWritten(updateObject(world, write, applied.value, current));
  return createNamed(world, write, applied.value);
}

export async function patch(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const { request, query, type } = call;
  const kind = patchTypeOf(request.headers.get("content-type") ?? "");
  if (!kind) return failure(refuse.unsupportedPatch());
  const text = await readBody(request);
  if (!text.ok) return text;
  const options = writeOptions(query, "PatchOptions", kind === "apply");
  if (!options.ok) return options;
  if (kind === "apply") return apply(world, call, text.value, options.value);
  const current = stored(world, call);
  if (!current.ok) return current;
  const patched = patchObject(type, kind, current.value, text.value, options.value.fieldValidation);
  if (!patched.ok) return patched;
  const refused = refuseOther(call, patched.value);
  if (refused) return failure(refused);
  const sent = { ...patched.value, metadata: dedupOwners(patched.value.metadata) };
  return answerWritten(updateObject(world, writeOf(call, options.value), sent, current.value));
}
