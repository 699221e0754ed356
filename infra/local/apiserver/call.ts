// One request for a resource, as its handler sees it, and what it answers. Shared by the handlers of reads and writes.
import type { Access } from "./access.ts";
import type { ApiObject, Outcome } from "./object.ts";
import type { RequestInfo } from "./request-info.ts";
import type { ResourceType } from "./resource-type.ts";
import * as refuse from "./status.ts";
import { loadObject } from "./storage.ts";
import { keyOf, type Surroundings } from "./write.ts";

export interface Call {
  request: Request;
  query: URLSearchParams;
  info: RequestInfo;
  type: ResourceType;
  access: Access;
  /** Tells the client something besides the answer (a Warning header). */
  warn: (text: string) => void;
}

/** An object, a list or a Status, with the HTTP code. */
export interface Answer {
  code: number;
  body: object;
}

/** The object that the path names. */
export function stored(world: Surroundings, { type, info }: Call): Outcome<ApiObject> {
  const object = loadObject(world.store, type, keyOf(type, info.namespace, info.name));
  return object ? { ok: object } : { refused: refuse.notFound(type, info.name) };
}
