// DELETE of one object and of a collection: a request for one resource → what to answer. Mirrors apiserver's
// handlers/delete.go.
import { type Answer, type Call, stored } from "./call.ts";
import { readDeleteOptions } from "./delete-options.ts";
import { deleteObject } from "./delete.ts";
import { listObjects } from "./list.ts";
import type { Outcome } from "./object.ts";
import { readListRequest } from "./select.ts";
import { methodNotAllowed } from "./status.ts";
import { loadObject } from "./storage.ts";
import { keyOf, type Surroundings } from "./write.ts";

export async function remove(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const options = await readDeleteOptions(call.request, call.query);
  if ("refused" in options) return options;
  const found = stored(world, call);
  if ("refused" in found) return found;
  const deleted = deleteObject(world, call.type, found.ok, options.ok);
  if ("refused" in deleted) return deleted;
  const { body, isGone } = deleted.ok;
  const isAccepted = !isGone && options.ok.orphanDependents === false;
  return { ok: { code: isAccepted ? 202 : 200, body } };
}

/** Deletes what a list with the same query gives, and answers with that list. */
export async function removeCollection(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const { type, info, query, request } = call;
  if (type.namespaced && info.namespace === "") return { refused: methodNotAllowed() };
  const asked = readListRequest(type, info, query);
  if ("refused" in asked) return asked;
  const options = await readDeleteOptions(request, query);
  if ("refused" in options) return options;
  const listed = listObjects(world.store, type, info, asked.ok);
  if ("refused" in listed) return listed;
  for (const { metadata } of listed.ok.items) {
    const key = keyOf(type, metadata.namespace ?? "", metadata.name ?? "");
    const object = loadObject(world.store, type, key);
    const deleted = object && deleteObject(world, type, object, options.ok);
    if (deleted && "refused" in deleted) return deleted;
  }
  return { ok: { code: 200, body: listed.ok } };
}
