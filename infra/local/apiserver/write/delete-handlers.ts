// DELETE of one object, or of all that a selector selects: a request → what to answer. Mirrors apiserver's
// handlers/delete.go.
import { success } from "../../../../shared/result.ts";
import { type Answer, type Call, stored } from "../call.ts";
import type { Outcome } from "../object.ts";
import { deleteObject } from "./delete.ts";
import { readDeleteOptions } from "./delete-options.ts";
import { listObjects } from "../read/list.ts";
import { readListRequest } from "../read/select.ts";
import { keyOf, type Surroundings } from "./write.ts";

export async function remove(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const options = await readDeleteOptions(call.request, call.query);
  if (!options.ok) return options;
  const found = stored(world, call);
  if (!found.ok) return found;
  const deleted = deleteObject(world, call.type, found.value, options.value);
  return deleted.ok ? success({ code: 200, body: deleted.value }) : deleted;
}

/** The answer is the list of what was deleted. */
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
  return success({ code: 200, body: listed.value });
}
