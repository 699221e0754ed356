// What the API's description says of each route in addition to its rules (shared/protocol/routes.ts). The Worker's bundle has
// none of it.
import type * as z from "zod/mini";
import type { RouteName, ROUTES } from "../../shared/protocol/routes.ts";

/** The tags of the description. */
export type RouteGroup =
  | "fleet"
  | "notifications"
  | "machines"
  | "nodes"
  | "tokens"
  | "operators"
  | "bulk"
  | "deployment"
  | "health";

export interface Description {
  /** Unique; generated clients name their methods after it. */
  id: string;
  group: RouteGroup;
  /** The effect of a request, in a few words. */
  what: string;
  /** What else a client has to know. */
  more?: string;
  /** The meaning of each parameter of the query. */
  about?: Readonly<Record<string, string>>;
  answers: Readonly<Record<number, RouteAnswer>>;
}

type Query<Name extends RouteName> = (typeof ROUTES)[Name] extends { query: z.ZodMiniObject<infer Shape> }
  ? { about: Readonly<Record<keyof Shape & string, string>> }
  : { about?: never };

/** Each route has a description, and each parameter of its query a meaning. */
export type Descriptions = { [Name in RouteName]: Description & Query<Name> };

export interface RouteAnswer {
  what: string;
  /** By media type; none: the answer has no body. */
  content?: Readonly<Record<string, NamedSchema | "text">>;
}

/** The name is one of components.schemas. */
export interface NamedSchema {
  name: string;
  schema: z.core.$ZodType;
}

export function json(what: string, name: string, schema: z.core.$ZodType): RouteAnswer {
  return { what, content: { "application/json": { name, schema } } };
}

/** A list, also in lines. */
export const list = (...named: Parameters<typeof json>): RouteAnswer => {
  const { what, content } = json(...named);
  return { what, content: { ...content, "application/x-ndjson": "text", "text/csv": "text" } };
};

export const DONE: Record<number, RouteAnswer> = { 204: { what: "It is done." } };

export const LINES =
  "As CSV or JSON lines, by `format` or by the header Accept, it is the whole list unless `limit` says less.";

export const FORMAT = { format: "As what: JSON, JSON lines or CSV." };

export const LIMIT = "How many entries: 1 to 1,000; 100 where it is absent.";

export const LISTED = { ...FORMAT, limit: LIMIT };
