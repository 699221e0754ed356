// Defines the schemas of what a machine's problem detectors report besides their conditions, and of an operator's order
// to end a condition.
import * as z from "zod/mini";
import { DROP_IN_LIMITS, PROBLEM_LIMITS } from "./limits.ts";
import { atMost, plainText } from "./schema.ts";

const name = plainText(DROP_IN_LIMITS.conditionLength).check(z.minLength(1));
/** Distinguishes a problem from a later problem of the same condition. */
const mark = plainText(PROBLEM_LIMITS.markLength);

export const problemsSchema = z.strictObject({
  /** Identifies the shim's process, whose events are numbered from 1. */
  start: plainText(PROBLEM_LIMITS.startLength),
  /** The newest events, in their order. An event stays until newer ones replace it, since a report may be lost. */
  events: z
    .array(
      z.strictObject({
        n: z.int().check(z.minimum(1), z.maximum(Number.MAX_SAFE_INTEGER)),
        type: z.enum(["Normal", "Warning"]),
        reason: name,
        message: plainText(PROBLEM_LIMITS.messageLength),
        /** The condition that changed; absent if the event is about a temporary problem. */
        condition: z.optional(name),
      }),
    )
    .check(z.maxLength(PROBLEM_LIMITS.events)),
  /** The conditions that are not False, with their marks: those that an operator can end. Earlier shims send none. */
  held: z.optional(z.record(name, mark).check(atMost(DROP_IN_LIMITS.conditions))),
});
export type Problems = z.infer<typeof problemsSchema>;
export type ProblemEvent = Problems["events"][number];

/** An operator's order: ends a condition, unless another problem has set it since. */
export const clearingSchema = z.object({ condition: name, mark });
export type Clearing = z.infer<typeof clearingSchema>;
