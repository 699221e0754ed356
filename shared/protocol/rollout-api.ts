// The body of an operator's request for a rollout: which version of the shim which machines are given. The answers are in
// rollout-answers.ts; who is given it is decided by shared/fleet/rollout.ts.
import * as z from "zod/mini";
import { LIMITS, ROLLOUT_LIMITS as LIMIT } from "./limits.ts";
import { labelSelector, within } from "./schema.ts";

/** What a package's version can be: it becomes an argument of a package manager. */
export const RELEASE = /^\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[a-z\d]+(?:\.[a-z\d]+)*)?$/i;

/** The body of PUT /v1/rollout. */
export const newRolloutSchema = z.strictObject({
  /** Of the shim: 0.2.0, 0.3.0-rc.1 */
  version: z
    .string()
    .check(z.maxLength(LIMIT.versionLength), z.regex(RELEASE, "must be a version: 0.2.0, 0.3.0-rc.1")),
  /** Of the machines that match. */
  percent: within(LIMIT.percent),
  /** `site=berlin,tier!=gpu`, as kubectl takes it. "": all. */
  selector: z._default(labelSelector(LIMITS.textLength), ""),
  /** It stops where more of the machines that were given the version are silent. */
  mostSilentPercent: z._default(within(LIMIT.mostSilentPercent), 2),
  /** Machines that are given the version and have not reported with it yet. */
  atOnce: z._default(within(LIMIT.atOnce), 50),
});
export type NewRollout = z.output<typeof newRolloutSchema>;
