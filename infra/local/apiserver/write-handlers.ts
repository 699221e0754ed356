// One function per verb that writes: a request for one resource → what to answer. Reads the body and its options;
// leaves storing to create.ts, update.ts and delete.ts. Mirrors apiserver's handlers.
import { applyConfiguration } from "./apply.ts";
import { readBody } from "./body.ts";
import { type Answer, type Call, stored } from "./call.ts";
import { parseConfiguration } from "./configuration.ts";
import { createObject } from "./create.ts";
import { managerName } from "./fields/managers.ts";
import { dedupOwners, withoutSystemFields } from "./metadata.ts";
import type { ApiObject, Outcome } from "./object.ts";
import { type WriteOptions, writeOptions } from "./options.ts";
import { patchObject, type PatchType, patchTypeOf } from "./patch.ts";
import { readObject, readOtherKind } from "./read-object.ts";
import * as refuse from "./status.ts";
import { loadObject } from "./storage.ts";
import { issueToken } from "./token-request.ts";
import { updateObject } from "./update.ts";
import {
  apiVersionOf,
  keyOf,
  storageKey,
  type Surroundings,
  timeOf,
  type Write,
  type Written,
} from "./write.ts";

function answerWritten(outcome: Outcome<Written>): Outcome<Answer> {
  if ("refused" in outcome) return outcome;
  return { ok: { code: outcome.ok.created ? 201 : 200, body: outcome.ok.object } };
}

function writeOf(
  { request, info, type, warn }: Call,
  { fieldManager, dryRun }: WriteOptions,
  operation: "Update" | "Apply" = "Update",
): Write {
  const { namespace, name, subresource } = info;
  const manager = managerName(fieldManager, request.headers.get("user-agent"));
  const writer = { manager, operation, apiVersion: apiVersionOf(type), subresource };
  return { type, namespace, name, subresource, writer, dryRun, warn };
}

function refuseEscalation({ access, type, info }: Call, next: ApiObject, current?: ApiObject) {
  const { namespace, name } = info;
  return access.refuseEscalation({ type, namespace, name, next, ...(current && { current }) });
}

async function createToken(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const expected = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" };
  const body = await readOtherKind(call.request, expected);
  if ("refused" in body) return body;
  const account = stored(world, call);
  if ("refused" in account) return account;
  const issued = issueToken(world, call.access.signer, account.ok, body.ok);
  return "refused" in issued ? issued : { ok: { code: 201, body: issued.ok } };
}

export async function create(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const { type, info, request, query, warn } = call;
  if (type.namespaced && info.namespace === "") return { refused: refuse.methodNotAllowed() };
  if (info.subresource === "token") return await createToken(world, call);
  const options = writeOptions(query, "CreateOptions");
  if ("refused" in options) return options;
  const read = await readObject(request, type, options.ok, warn);
  if ("refused" in read) return read;
  const sent = { ok: { ...read.ok, metadata: withoutSystemFields(read.ok.metadata) } };
  const reviewed = call.access.review(type, sent.ok, info.namespace);
  if (reviewed) return "refused" in reviewed ? reviewed : { ok: { code: 201, body: reviewed.ok } };
  const refused = refuseEscalation(call, sent.ok);
  return refused ? { refused } : answerWritten(createObject(world, writeOf(call, options.ok), sent.ok));
}

/** The object is the one of the path (EnsureObjectNamespaceMatchesRequestNamespace, handlers.checkName). */
function refuseOther({ info, type }: Call, { metadata }: ApiObject) {
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

/** A create by PUT, of what is not there yet. */
function createNamed(world: Surroundings, write: Write, sent: ApiObject): Outcome<Answer> {
  const { resourceVersion: _, ...metadata } = sent.metadata;
  return answerWritten(createObject(world, write, { ...sent, metadata }));
}

export async function update(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const { info, type, request, query, warn } = call;
  const options = writeOptions(query, "UpdateOptions");
  if ("refused" in options) return options;
  const read = await readObject(request, type, options.ok, warn);
  if ("refused" in read) return read;
  const refused = refuseOther(call, read.ok);
  if (refused) return { refused };
  const sent = { ...read.ok, metadata: dedupOwners(read.ok.metadata, warn) };
  const key = keyOf(type, info.namespace, info.name);
  const current = loadObject(world.store, type, key);
  const { uid } = sent.metadata;
  const creates = type.createsOnUpdate && info.subresource === "";
  if (!current && !creates) return { refused: refuse.notFound(type, info.name) };
  if (uid && uid !== current?.metadata.uid) {
    const storedUid = current?.metadata.uid ?? "";
    return { refused: refuse.uidConflict(type, storageKey(key), info.name, uid, storedUid) };
  }
  const escalates = refuseEscalation(call, sent, current);
  if (escalates) return { refused: escalates };
  const write = writeOf(call, options.ok);
  return current ? answerWritten(updateObject(world, write, sent, current)) : createNamed(world, write, sent);
}

async function apply(
  world: Surroundings,
  call: Call,
  text: string,
  options: WriteOptions,
): Promise<Outcome<Answer>> {
  const { type, info } = call;
  const found = stored(world, call);
  if ("refused" in found && info.subresource !== "") return found;
  const parsed = parseConfiguration(text);
  if ("refused" in parsed) return parsed;
  const { config, strictError } = parsed.ok;
  const write = writeOf(call, options, "Apply");
  const time = timeOf(world.now());
  const current = "ok" in found ? found.ok : undefined;
  const application = { write: { type, writer: write.writer, time }, force: options.force };
  const applied = applyConfiguration(application, config, current);
  if ("refused" in applied) return applied;
  if (strictError !== undefined && options.fieldValidation === "Strict") {
    return { refused: refuse.badRequest(`error strict decoding YAML: ${strictError}`) };
  }
  if (strictError !== undefined && options.fieldValidation === "Warn") call.warn(strictError);
  const { uid } = applied.ok.metadata;
  if (uid && !current) {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    return { refused: refuse.conflict(type, info.name, why) };
  }
  const refused = refuseOther(call, applied.ok) ?? refuseEscalation(call, applied.ok, current);
  if (refused) return { refused };
  if (current) return answerWritten(updateObject(world, write, applied.ok, current));
  return createNamed(world, write, applied.ok);
}

function mergePatch(
  world: Surroundings,
  call: Call,
  kind: PatchType,
  text: string,
  options: WriteOptions,
): Outcome<Answer> {
  const found = stored(world, call);
  if ("refused" in found) return found;
  const patched = patchObject(call.type, kind, found.ok, text, options.fieldValidation);
  if ("refused" in patched) return patched;
  for (const warning of patched.ok.warnings) call.warn(warning);
  const { object } = patched.ok;
  const refused = refuseOther(call, object) ?? refuseEscalation(call, object, found.ok);
  if (refused) return { refused };
  const sent = { ...object, metadata: dedupOwners(object.metadata, call.warn, true) };
  return answerWritten(updateObject(world, writeOf(call, options), sent, found.ok));
}

export async function patch(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const { request, query } = call;
  const kind = patchTypeOf(request.headers.get("content-type") ?? "");
  if (!kind) return { refused: refuse.unsupportedPatch() };
  const text = await readBody(request);
  if ("refused" in text) return text;
  const options = writeOptions(query, "PatchOptions", kind === "apply");
  if ("refused" in options) return options;
  return kind === "apply"
    ? await apply(world, call, text.ok, options.ok)
    : mergePatch(world, call, kind, text.ok, options.ok);
}
