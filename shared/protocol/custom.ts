// Facts of a machine's own, for setters of one's own (docs/custom-setters.md): drop-ins say them, the facts carry them.
import * as z from "zod/mini";

export const CUSTOM_LIMITS = {
  /** In all, and so of one drop-in. */
  entries: 64,
  nameLength: 253,
  /** Characters of a text. */
  valueLength: 1024,
} as const;

export const customSchema = z
  .record(
    z.string().check(z.minLength(1), z.maxLength(CUSTOM_LIMITS.nameLength)),
    z.union([z.string().check(z.maxLength(CUSTOM_LIMITS.valueLength)), z.number(), z.boolean()]),
  )
  .check(z.refine((map) => Object.keys(map).length <= CUSTOM_LIMITS.entries, "too many entries"));
export type CustomFacts = z.infer<typeof customSchema>;
