// What the Worker answers to operators about versions. The command line validates answers by this schema; the Worker imports
// its type alone.
import * as z from "zod/mini";

const shimVersion = z.object({
  /** "": it is not known yet. */
  version: z.string(),
  machines: z.number(),
  /** Older than the Worker. */
  isBehind: z.boolean(),
  /** How many machines are in which state. */
  states: z.record(z.string(), z.number()),
});
export type ShimVersion = z.infer<typeof shimVersion>;

/** 200 to GET /v1/versions. */
export const versionsSchema = z.object({
  /** The Worker's. */
  worker: z.string(),
  /** The commonest, the newest of them first. */
  shims: z.array(shimVersion),
  /** Machines of versions that are not in `shims`. */
  others: z.number(),
});
export type VersionsAnswer = z.infer<typeof versionsSchema>;
