// Defines the form of route descriptions, which add to shared/protocol/routes.ts outside of the Worker's bundle.
import type * as z from "zod/mini";
import type { RouteName, ROUTES } from "../../shared/protocol/routes.ts";

/** The tags of the API's description, with their meaning. */
export const TAGS = {
  fleet: "All machines, without waking one",
  notifications: "Who is notified of what goes wrong",
  nodes: "One machine, for operators",
  tokens: "Join tokens",
  operators: "Operators with names",
  rules: "Feature rules, which set parts of all machines' Nodes",
  bulk: "Many machines at once",
  deployment: "The deployment as a whole",
  health: "Whether the Worker works",
  machines: "Requests of machines themselves",
};
type RouteGroup = keyof typeof TAGS;

export interface Description {
  /** The unique ID of the route. Generated clients name their methods after it. */
  id: string;
  group: RouteGroup;
  /** The effect of a request, in a few words. */
  what: string;
  /** Further facts that a client must know. */
  more?: string;
  /** The meaning of each parameter of the query. */
  about?: Readonly<Record<string, string>>;
  /** The answers by status. By default the route answers 204 without a body. */
  answers?: Readonly<Record<number, RouteAnswer>>;
}

type Query<Name extends RouteName> = (typeof ROUTES)[Name] extends { query: z.ZodMiniObject<infer Shape> }
  ? { about: Readonly<Record<keyof Shape & string, string>> }
  : { about?: never };

/** The descriptions of all routes, with the meaning of each query parameter. */
export type Descriptions = { [Name in RouteName]: Description & Query<Name> };

export interface RouteAnswer {
  what: string;
  /** The schema of the body by media type. Absent for an answer without a body. */
  content?: Readonly<Record<string, NamedSchema | "text">>;
}

/** A schema, and its name among components.schemas. */
export interface NamedSchema {
  name: string;
  schema: z.core.$ZodType;
}

/** Returns the answer with a JSON body of the one schema in `named`: `{ mintedTokenSchema }` is named MintedToken. */
export function json(what: string, named: Readonly<Record<string, z.core.$ZodType>>): RouteAnswer {
  const [[key, schema]] = Object.entries(named) as [[string, z.core.$ZodType]];
  const name = key.charAt(0).toUpperCase() + key.slice(1).replace(/Schema$/, "");
  return { what, content: { "application/json": { name, schema } } };
}

/** Returns the answer of a list, which is available as JSON, NDJSON and CSV. */
export const list = (...named: Parameters<typeof json>): RouteAnswer => {
  const { what, content } = json(...named);
  return { what, content: { ...content, "application/x-ndjson": "text", "text/csv": "text" } };
};

/** Returns the descriptions of the routes of one group. */
export function grouped<Name extends RouteName>(
  group: RouteGroup,
  routes: { [Each in Name]: Omit<Description, "group"> & Query<Each> },
): Pick<Descriptions, Name> {
  const grouped = Object.entries<object>(routes).map(([name, route]) => [name, { group, ...route }]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- fromEntries loses the names
  return Object.fromEntries(grouped) as Pick<Descriptions, Name>;
}

export const LINES =
  "As CSV or JSON lines (by `format` or the header Accept) the answer has the whole list, or `limit` entries.";

export const FORMAT = { format: "The format: JSON, JSON lines or CSV." };

export const LIMIT = "How many entries: 1 to 1,000; 100 by default.";

export const LISTED = { ...FORMAT, limit: LIMIT };

export const BEFORE = "Only entries before the one with this ID: the next page.";

/** The meaning of the parameters of a list by name. */
export const BY_NAME = { after: "Only names after this one: the next page.", limit: LIMIT };

export const AFTER = "The `next` of the page before.";

/** The meaning of the parameters of a list whose pages have a `next`. */
export const PAGES = { after: AFTER, ...LISTED };

/** The meaning of the parameters of a history. */
export const ENTRIES = {
  since: "After this time (RFC 3339).",
  until: "At this time or before.",
  kind: "Only entries of these kinds, separated by commas.",
  before: BEFORE,
  ...LISTED,
};
