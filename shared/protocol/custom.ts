// Custom facts, for setters that users add (docs/custom-setters.md): drop-ins report them, and the facts carry them.
import * as z from "zod/mini";
import { CUSTOM_LIMITS } from "./limits.ts";
import { atMost, plainText } from "./schema.ts";

export const customSchema = z
  .record(
    plainText(CUSTOM_LIMITS.nameLength).check(z.minLength(1)),
    z.union([plainText(CUSTOM_LIMITS.valueLength), z.number(), z.boolean()]),
  )
  .check(atMost(CUSTOM_LIMITS.entries, "too many entries"));
export type CustomFacts = z.infer<typeof customSchema>;
