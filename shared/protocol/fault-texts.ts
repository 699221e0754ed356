// The message of a schema for a value that it refuses, if the schema has no message of its own. The texts are zod's English ones
// (zod/v4/locales/en.js), as a test compares: those of what our schemas check, at a third of the size.
import type * as z from "zod/mini";

export function faultText(issue: z.core.$ZodRawIssue): string {
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

/** Texts in quotes. */
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
