// What the Worker answers to operators about the rollout. The command line validates answers by this schema; the Worker imports
// its type alone.
import * as z from "zod/mini";

const rollout = z.object({
  version: z.string(),
  percent: z.number(),
  selector: z.string(),
  mostSilentPercent: z.number(),
  atOnce: z.number(),
  /** Who asked for it last, and when; milliseconds since 1970. */
  who: z.string(),
  sinceMs: z.number(),
  /** null: it goes on. */
  stopped: z.nullable(z.object({ atMs: z.number(), why: z.string() })),
  /** Machines that were given the version, by what has become of them. */
  machines: z.object({
    /** Not reported with it yet. */
    underway: z.number(),
    upgraded: z.number(),
    /** Since they were given it. */
    silent: z.number(),
    /** Silent, when an operator went on all the same. */
    accepted: z.number(),
  }),
  /** Names of those that are silent, at most ten. */
  silent: z.array(z.string()),
});
export type ShownRollout = z.infer<typeof rollout>;

/** 200 to GET and PUT /v1/rollout. */
export const rolloutSchema = z.object({
  /** null: there is none. */
  rollout: z.nullable(rollout),
});
export type RolloutAnswer = z.infer<typeof rolloutSchema>;
