// What the Worker answers to operators about the fleet index itself. The command line validates answers by these schemas;
// the Worker imports their types alone.
import * as z from "zod/mini";

const repairing = z.object({
  /** Who asked for it, or why it began by itself. */
  cause: z.string(),
  /** Milliseconds since 1970, as all `…Ms`. */
  startedAtMs: z.number(),
  /** null: it is under way. */
  endedAtMs: z.nullable(z.number()),
  /** Machines whose objects were asked to send everything again. */
  asked: z.number(),
  /** Those that did not answer, as of now. */
  failed: z.number(),
  /** Machines that the registry did not know. */
  removed: z.number(),
});
export type IndexRepairing = z.infer<typeof repairing>;

const check = z.object({
  atMs: z.number(),
  /** Names of the registry; 0: there was no check yet. */
  compared: z.number(),
  /** Those that the index did not know. */
  absent: z.array(z.string()),
  /** Those of which it knew something else than their objects. */
  differing: z.array(z.string()),
  /** Machines that the registry did not know. */
  removed: z.array(z.string()),
});
export type IndexCheck = z.infer<typeof check>;

/** 200 to GET /v1/index, 202 to POST /v1/index/repair. */
export const indexStateSchema = z.object({
  /** In the registry. */
  names: z.number(),
  /** In the index. */
  machines: z.number(),
  /** The last repair; null: there was none. */
  repair: z.nullable(repairing),
  /** The last daily check; null: none is due yet. */
  check: z.nullable(check),
  /** Newest first. */
  log: z.array(z.object({ at: z.string(), text: z.string() })),
});
export type IndexState = z.infer<typeof indexStateSchema>;
