// Parts that several schemas of the protocol share, and how a fault is described. Defines no message of its own.
import * as z from "zod/mini";
import { parseLabelSelector } from "../kubernetes/label-selector.ts";
import { labelValueErrors } from "../kubernetes/validation.ts";
import { faultText } from "./fault-texts.ts";
import { LIMITS } from "./limits.ts";
import { isPrintable } from "./printable.ts";

// zod/mini has a third of zod's size, which the shim loads at each start; it comes without messages.
z.config({ localeError: faultText });

/** A number of things or bytes. JSON numbers are exact up to 2^53 − 1 (9 PB). */
export const count = z.int().check(z.minimum(0), z.maximum(Number.MAX_SAFE_INTEGER));

/**
 * A text for people. An apiserver returns half a surrogate pair as another character, so that the Node would differ for
 * ever; control characters would reach terminals.
 */
export const plainText = (maxLength: number) =>
  z.string().check(
    z.maxLength(maxLength),
    z.refine((value) => value.isWellFormed(), "not well-formed Unicode"),
    z.refine(isPrintable, "a control character"),
  );

/** For a text that becomes a label's value: the apiserver refuses a Node with an invalid one. */
export const labelValue = z
  .string()
  .check(z.refine((value) => labelValueErrors(value).length === 0, "not a label's value"));

/** `site=berlin,tier!=gpu`, as kubectl takes it. */
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

/** The first fault of a value that a schema refused: a JSON Pointer and a text, of bounded length. */
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
