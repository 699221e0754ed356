// Defines parameters of several operators' queries: texts that are parsed, or refused with the expected form.
import * as z from "zod/mini";
import { parseTime, parseWords } from "../fleet/search-filter.ts";
import type { Result } from "../result.ts";
import { LIMITS, PAGE_LIMITS } from "./limits.ts";

/** Returns the schema of an optional text that `parse` parses. The error of `parse` names the expected form. */
export function parsed<T>(maxLength: number, parse: (text: string) => Result<T>) {
  const read = z.transform((text: string, context: z.core.ParsePayload): T => {
    const result = parse(text);
    if (result.ok) return result.value;
    context.issues.push({ code: "custom", message: result.error, input: text });
    return z.NEVER;
  });
  return z.optional(z.pipe(z.string().check(z.minLength(1), z.maxLength(maxLength)), read));
}

export const words = <Word extends string>(known: readonly Word[]) =>
  parsed(LIMITS.textLength, (text) => parseWords(text, known));

/** A time in RFC 3339, which becomes milliseconds since 1970. */
export const time = parsed(LIMITS.idLength, parseTime);

export const textOf = (maxLength: number) =>
  z.optional(z.string().check(z.minLength(1), z.maxLength(maxLength)));

/** If present, the answer has only entries before the entry with this ID. */
export const entryID = z.optional(z.coerce.number().check(z.int(), z.minimum(1)));

export const LIST_FORMATS = ["json", "ndjson", "csv"] as const;
export type ListFormat = (typeof LIST_FORMATS)[number];

const formatShape = { format: z.optional(z.enum(LIST_FORMATS)) };

/** The parameters of a list: its format, and a page's entries. A csv or ndjson list without a limit is complete. */
export const listShape = {
  ...formatShape,
  limit: z.optional(z.coerce.number().check(z.int(), z.minimum(1), z.maximum(PAGE_LIMITS.entries))),
};

/** The `next` of the previous page, which is the key of its last row: a time, and texts without white space. */
export const afterRow = z.optional(
  z.string().check(z.regex(/^\d{1,16}\.[\w.-]{1,300}$/, "must be a page's `next`")),
);

/** The number of entries on a page. */
export const pageLimit = z._default(
  z.coerce.number().check(z.int(), z.minimum(1), z.maximum(PAGE_LIMITS.entries)),
  PAGE_LIMITS.entriesByDefault,
);

/** The query of a list that has no pages. */
export const wholeListSchema = z.strictObject(formatShape);
