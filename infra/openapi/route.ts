// What the API's description says of one route. The Worker does not know these descriptions: its bundle has none of
// them, and a test calls each route and compares.
import type * as z from "zod/mini";
import type { Reason } from "../../shared/protocol/answers.ts";

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

export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `/v1/nodes/{name}` */
  path: string;
  /** Unique; generated clients name their methods after it. */
  id: string;
  group: RouteGroup;
  /** Who may ask: a machine signs; an operator with the role admin may whatever one with view may. */
  who: "anybody" | "machine" | "view" | "admin";
  /** What it does, in a few words. */
  what: string;
  /** What else whoever calls it has to know. */
  more?: string;
  /** Does it wake a machine's object? What only looks should not. */
  wakes?: true;
  query?: RouteQuery;
  body?: z.core.$ZodType;
  answers: Record<number, RouteAnswer>;
  /** Why it refuses, besides the reasons that all routes of its callers have (refusals.ts). */
  refusals?: readonly Reason[];
}

export interface RouteQuery {
  schema: z.ZodMiniObject;
  /** What each parameter does. */
  about: Readonly<Record<string, string>>;
}

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

export function query<Shape extends z.core.$ZodShape>(
  schema: z.ZodMiniObject<Shape, z.core.$strict>,
  about: Record<keyof Shape & string, string>,
): RouteQuery {
  return { schema, about };
}

export function json(what: string, name: string, schema: z.core.$ZodType): RouteAnswer {
  return { what, content: { "application/json": { name, schema } } };
}

export const DONE: Record<number, RouteAnswer> = { 204: { what: "It is done." } };
