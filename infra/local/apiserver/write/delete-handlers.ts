// DELETE of one object: a request for one resource → what to answer. Mirrors apiserver's handlers/delete.go.
import { success } from "../../../../shared/result.ts";
import { type Answer, type Call, stored } from "../call.ts";
import type { Outcome } from "../object.ts";
import { deleteObject } from "./delete.ts";
import { readDeleteOptions } from "./delete-options.ts";
import type { Surroundings } from "./write.ts";

export async function remove(world: Surroundings, call: Call): Promise<Outcome<Answer>> {
  const options = await readDeleteOptions(call.request, call.query);
  if (!options.ok) return options;
  const found = stored(world, call);
  if (!found.ok) return found;
  const deleted = deleteObject(world, call.type, found.value, options.value);
  return deleted.ok ? success({ code: 200, body: deleted.value }) : deleted;
}
