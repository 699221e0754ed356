// Defines the schema of a report: sender, vitals, and facts (facts.ts). Normative, together with docs/protocol.md.
import * as z from "zod/mini";
import { remainingSecondsSchema } from "./drop-ins.ts";
import { LIMITS } from "./limits.ts";
import { printable } from "./printable.ts";
import { count, plainText } from "./schema.ts";

/** The version of the protocol, which every report and enrolment contains. */
export const PROTOCOL = 1;

const id = plainText(LIMITS.idLength).check(z.minLength(1));

/** A signal's [available, capacity], as eviction compares them. For memory, the capacity is available + working set. */
const signal = z.tuple([count, count]);
export const SIGNALS = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
] as const;
/** An error's text. Control and cut characters are replaced, because an error must not stop the heartbeat. */
const errorText = z.string().check(
  z.maxLength(LIMITS.textLength),
  z.overwrite((value) => printable(value.toWellFormed())),
);
const errors = z.optional(z.array(errorText).check(z.maxLength(LIMITS.errorsPerSource)));

/** The measurements that change with each report. A signal that was not observed is absent. */
const vitals = z.strictObject({
  signals: z.partialRecord(z.enum(SIGNALS), signal),
  /** The errors that keep the Node from being Ready, by source. */
  errors: z.optional(z.strictObject({ runtime: errors, network: errors, storage: errors })),
  shuttingDown: z.optional(z.boolean()),
  /** The number of OOM kills since the kernel started; absent if not known. */
  oomKills: z.optional(count),
  /** The error that ended the shim's setup. The Worker records the error, and ignores the rest of the report. */
  setupError: z.optional(errorText.check(z.minLength(1))),
  /** The seconds for which each drop-in's condition remains valid, by type. Absent before the first drop-in has run. */
  remainingSeconds: z.optional(remainingSecondsSchema),
});
export type Vitals = z.infer<typeof vitals>;

const [leastGap, longestGap] = LIMITS.noAnswerSeconds;

export const reportSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** A secret of the shim's process. A new startId counts as a kubelet's restart. The Worker stores only a digest. */
  startId: id,
  /** The time by the machine's clock, in RFC 3339. The Worker computes the clock's skew from it. */
  machineTime: z.iso.datetime({ offset: true }),
  /** Seconds without an answer before this report, by the monotonic clock. Absent if the last report was answered. */
  noAnswerSeconds: z.optional(z.int().check(z.minimum(leastGap), z.maximum(longestGap))),
  vitals,
  /** The digest of the facts: base64url(SHA-256(canonicalJson(facts))). */
  factsDigest: z.string().check(z.length(LIMITS.digestLength)),
  /** The facts, which are validated separately, so that refused facts never stop a heartbeat. */
  facts: z.optional(z.unknown()),
});
export type Report = z.infer<typeof reportSchema>;
