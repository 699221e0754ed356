// One function per verb that reads: a request for one resource → what to answer. Writes are in write-handlers.ts.
import type { Status } from "../../../shared/kubernetes/types.ts";
import { type Answer, type Call, stored } from "./call.ts";
import { listObjects } from "./list.ts";
import { resourceVersionError } from "./list-options.ts";
import type { Outcome } from "./object.ts";
import { readListRequest } from "./select.ts";
import * as refuse from "./status.ts";
import type { Surroundings } from "./write.ts";

/** A resourceVersion is the oldest that the client wants to see; "0" and none are content with what there is. */
function refuseRevision({ store }: Surroundings, wanted: string): Status | undefined {
  const error = resourceVersionError(wanted);
  if (error !== undefined) return refuse.plainError(error);
  return Number(wanted) > store.revision() ? refuse.revisionTooLarge(wanted, store.revision()) : undefined;
}

export function get(world: Surroundings, call: Call): Outcome<Answer> {
  const refused = refuseRevision(world, call.query.get("resourceVersion") ?? "");
  if (refused) return { refused };
  const found = stored(world, call);
  return "refused" in found ? found : { ok: { code: 200, body: found.ok } };
}

export function list(world: Surroundings, { type, info, query }: Call): Outcome<Answer> {
  const asked = readListRequest(type, info, query);
  if ("refused" in asked) return asked;
  const listed = listObjects(world.store, type, info, asked.ok);
  return "refused" in listed ? listed : { ok: { code: 200, body: listed.ok } };
}
