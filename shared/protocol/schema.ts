// Defines parts that several schemas share, and the messages of zod/mini, which has none. The messages are zod's
// English ones (zod/v4/locales/en.js) for the checks in use, in a third of the size.
import * as z from "zod/mini";
import { parseLabelSelector } from "../kubernetes/label-selector.ts";
import { labelValueErrors } from "../kubernetes/validation.ts";
import { LIMITS } from "./limits.ts";
import { isPrintable } from "./printable.ts";

function faultText(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return `Invalid input: expected ${issue.expected}, received ${typeOf(issue.input)}`;
    case "invalid_value":
      return issue.values.length === 1
        ? `Invalid input: expected ${quoted(issue.values)}`
        : `Invalid option: expected one of ${quoted(issue.values)}`;
    case "too_big":
      return `Too big: expected ${bound(issue, "<", issue.maximum)}`;
    case "too_small":
      return `Too small: expected ${bound(issue, ">", issue.minimum)}`;
    case "invalid_format":
      return issue.format === "regex"
        ? `Invalid string: must match pattern ${issue.pattern}`
        : `Invalid ${issue.format === "datetime" ? "ISO datetime" : issue.format}`;
    case "unrecognized_keys":
      return `Unrecognized key${issue.keys.length > 1 ? "s" : ""}: ${quoted(issue.keys, ", ")}`;
    case "invalid_key":
      return `Invalid key in ${issue.origin}`;
    default:
      return "Invalid input";
  }
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : typeof value;
}

/** Joins the values, with each text in quotes. */
const quoted = (values: readonly unknown[], between = "|") =>
  values.map((value) => (typeof value === "string" ? `"${value}"` : String(value))).join(between);

const UNITS: Readonly<Record<string, string>> = { string: " characters", array: " items" };

interface Bound {
  origin: string;
  inclusive?: boolean;
  exact?: boolean;
}

function bound({ origin, inclusive, exact }: Bound, sign: "<" | ">", limit: number | bigint): string {
  const unit = UNITS[origin];
  const range = exact ? "exactly " : `${sign}${inclusive ? "=" : ""}`;
  return `${origin} to ${unit ? "have" : "be"} ${range}${limit}${unit ?? ""}`;
}

// zod/mini has no messages, but only a third of zod's size, and the shim loads the library at each start.
z.config({ localeError: faultText });

/** A number of things or bytes. JSON numbers are exact up to 2^53 − 1 (9 PB). */
export const count = z.int().check(z.minimum(0), z.maximum(Number.MAX_SAFE_INTEGER));

/**
 * A text for people. Half a surrogate pair is refused, because an apiserver would return another character and the
 * Node would differ at each report. Control characters are refused, because they would reach terminals.
 */
export const plainText = (maxLength: number) =>
  z.string().check(
    z.maxLength(maxLength),
    z.refine((value) => value.isWellFormed(), "not well-formed Unicode"),
    z.refine(isPrintable, "a control character"),
  );

/** A text that becomes a label's value, checked because the apiserver refuses a Node with an invalid value. */
export const labelValue = z
  .string()
  .check(z.refine((value) => labelValueErrors(value).length === 0, "not a label's value"));

/** A label selector in kubectl's syntax: `site=berlin,tier!=gpu`. */
export const labelSelector = (maxLength: number) =>
  plainText(maxLength).check(
    z.superRefine((text, context) => {
      const parsed = parseLabelSelector(text);
      if (!parsed.ok) context.addIssue({ code: "custom", message: `not a label selector: ${parsed.error}` });
    }),
  );

export const within = ([least, most]: readonly [number, number]) =>
  z.int().check(z.minimum(least), z.maximum(most));

export const atMost = (most: number, message = `more than ${most}`) =>
  z.refine<object>((map) => Object.keys(map).length <= most, message);

/** Returns the first fault of a refused value: a JSON Pointer and a text, both of bounded length. */
export function firstFault(error: z.core.$ZodError): { path: string; message: string } {
  const issue = error.issues[0];
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const path = [...(issue?.path ?? []), ...unknown].map(
    (key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`,
  );
  const message = unknown.length > 0 ? "unknown field" : (issue?.message ?? "invalid");
  return {
    path: path.join("").slice(0, LIMITS.textLength).toWellFormed(),
    message: message.slice(0, LIMITS.textLength).toWellFormed(),
  };
}
