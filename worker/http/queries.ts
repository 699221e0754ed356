// Parses the query of a request. A parameter that is unknown, wrong or repeated is refused by its name.
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import * as z from "zod/mini";
import { LIMITS } from "../../shared/protocol/limits.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { type App, refuse } from "./responses.ts";

/** What the query says by this schema; else the refusal. A parameter that is there twice is a list to the schema. */
export function queryOf<Schema extends z.ZodMiniObject>(
  c: Context<App>,
  schema: Schema,
): z.output<Schema> | Response {
  const { searchParams } = new URL(c.req.url);
  const query = [...new Set(searchParams.keys())].map((name) => {
    const values = searchParams.getAll(name);
    return [name, values.length > 1 ? values : values[0]];
  });
  const parsed = schema.safeParse(Object.fromEntries(query));
  return parsed.success ? parsed.data : invalidQuery(parsed.error, Object.keys(schema.shape));
}

function invalidQuery(error: z.core.$ZodError, known: readonly string[]): Response {
  const issue = error.issues[0];
  const unknown = issue?.code === "unrecognized_keys" && issue.keys[0];
  const parameter = String(unknown || issue?.path[0]);
  const detail = unknown
    ? `unknown parameter; ${known.length > 0 ? `expected one of ${known.join(", ")}` : "expected none"}`
    : firstFault(error).message;
  return refuse("invalid-query", { detail, parameter: parameter.slice(0, LIMITS.textLength).toWellFormed() });
}

const noParameters = z.strictObject({});

/** For routes that take no query: a misspelt or misplaced parameter is not passed over. */
export const noQuery = createMiddleware<App>(async (c, next) => {
  const query = queryOf(c, noParameters);
  if (query instanceof Response) return query;
  await next();
  return undefined;
});
