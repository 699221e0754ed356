// What all lists of operators have in common in the document: their formats, and how many entries they have.
import { json, type RouteAnswer } from "./route.ts";

/** A list, also in lines. */
export const list = (what: string, name: string, schema: Parameters<typeof json>[2]): RouteAnswer => ({
  what,
  content: { ...json(what, name, schema).content, "application/x-ndjson": "text", "text/csv": "text" },
});

export const LINES =
  "As CSV or JSON lines, by `format` or by the header Accept, it is the whole list unless `limit` says less.";

export const FORMAT = { format: "As what: JSON, JSON lines or CSV." };

export const LISTED = { ...FORMAT, limit: "How many entries: 1 to 1,000; 100 where it is absent." };
