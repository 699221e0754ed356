// Creating one object: metadata, admission, validation, storing. Mirrors registry/generic/registry.Store.Create and
// rest.BeforeCreate. One synchronous step, and so atomic; it reads no request.
import type { ObjectMeta, Status } from "../../../shared/kubernetes/types.ts";
import { managedFieldsAfterUpdate } from "./fields/update.ts";
import { dedupOwners, inGoOrder, placeInNamespace } from "./metadata.ts";
import type { ApiObject, Outcome } from "./object.ts";
import { findResourceType } from "./resources.ts";
import * as refuse from "./status.ts";
import { saveObject } from "./storage.ts";
import type { Store } from "./store.ts";
import { validateMetadata } from "./validation/metadata.ts";
import { keyOf, type Surroundings, timeOf, type Write, type Written } from "./write.ts";

const namespaces = findResourceType({ group: "", version: "v1", resource: "namespaces" })!;

/** Admission plugin NamespaceLifecycle: new content needs a namespace that is there to stay. */
function refuseNamespace(store: Store, write: Write, name: string): Status | undefined {
  if (!write.type.namespaced) return undefined;
  const namespace = store.get(keyOf(namespaces, "", write.namespace));
  if (!namespace) return refuse.notFound(namespaces, write.namespace);
  if (!namespace.metadata.deletionTimestamp) return undefined;
  return refuse.namespaceTerminating(write.type, name, write.namespace);
}

const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const maxGeneratedPrefix = 63 - suffixLength;

/** names.SimpleNameGenerator */
function generateName(prefix: string, random: () => number): string {
  const letter = () => suffixAlphabet[Math.floor(random() * suffixAlphabet.length)] ?? "";
  return prefix.slice(0, maxGeneratedPrefix) + Array.from({ length: suffixLength }, letter).join("");
}

/** The name is taken, maybe by one that is about to go (rest.CheckGeneratedNameError and what Store.create adds). */
function refuseTaken(write: Write, metadata: ObjectMeta, existing: ApiObject): Status {
  const { name = "", generateName: prefix } = metadata;
  const taken = prefix
    ? refuse.generateNameConflict(write.type, name)
    : refuse.alreadyExists(write.type, name);
  if (existing.metadata.deletionTimestamp === undefined) return taken;
  return { ...taken, message: `object is being deleted: ${taken.message}` };
}

function validate({ type }: Write, object: ApiObject): Status | undefined {
  const own = type.validate?.(object) ?? [];
  const errors = own.length > 0 ? own : validateMetadata(object.metadata, type.namespaced);
  const { name = "" } = object.metadata;
  return errors.length > 0 ? refuse.invalidObject(type, name, errors) : undefined;
}

/** Store.create: one attempt with one name. */
function attempt(world: Surroundings, write: Write, sent: ApiObject): Outcome<Written> {
  const { type } = write;
  const { generateName: prefix, name = "" } = sent.metadata;
  const metadata = inGoOrder({
    ...sent.metadata,
    name: name === "" && prefix ? generateName(prefix, world.random) : name,
    uid: world.uuid(),
    creationTimestamp: timeOf(world.now()),
    ...(type.hasGeneration && { generation: 1 }),
  });
  const filled = { ...sent, metadata };
  const object = type.prepareForCreate?.(filled) ?? filled;
  const refused = validate(write, object);
  if (refused) return { refused };
  for (const warning of type.warnings?.(object) ?? []) write.warn?.(warning);
  if (Number(metadata.resourceVersion) > 0) return { refused: refuse.resourceVersionOnCreate() };
  const key = keyOf(type, write.namespace, metadata.name ?? "");
  const existing = world.store.get(key);
  if (existing) return { refused: refuseTaken(write, metadata, existing) };
  const stored = write.dryRun ? object : saveObject(world.store, type, key, object);
  return { ok: { object: stored, created: true } };
}

/** maxNameGenerationCreateAttempts */
const maxAttempts = 8;

/** `sent` is in its kind's own form (see `decode`). */
export function createObject(world: Surroundings, write: Write, sent: ApiObject): Outcome<Written> {
  const { type, writer } = write;
  const placed = placeInNamespace(write, sent.metadata);
  if ("refused" in placed) return placed;
  const metadata = dedupOwners(placed.ok, write.warn);
  const placedObject = { ...sent, metadata };
  const time = timeOf(world.now());
  const managedFields =
    writer.operation === "Apply"
      ? metadata.managedFields
      : managedFieldsAfterUpdate({ type, writer, time }, placedObject, undefined);
  const { name = "", generateName: prefix } = metadata;
  const badNamespace = refuseNamespace(world.store, write, name);
  if (badNamespace) return { refused: badNamespace };
  const tracked = { ...placedObject, metadata: inGoOrder({ ...metadata, managedFields }) };
  const attempts = name === "" && prefix ? maxAttempts : 1;
  let outcome = attempt(world, write, tracked);
  for (let made = 1; made < attempts; made++) {
    if (!("refused" in outcome) || outcome.refused.reason !== "AlreadyExists") break;
    outcome = attempt(world, write, tracked);
  }
  return outcome;
}
