// The schema of a report: its sender, the vitals, and the facts, which facts.ts validates. Normative, with docs/protocol.md.
import * as z from "zod/mini";
import { remainingSecondsSchema } from "./drop-ins.ts";
import { LIMITS } from "./limits.ts";
import { printable } from "./printable.ts";
import { count, plainText } from "./schema.ts";

/** The protocol's version, in every report and enrolment. */
export const PROTOCOL = 1;

const id = plainText(LIMITS.idLength).check(z.minLength(1));

/** [available, capacity], as eviction compares them. Memory's capacity is available + working set. */
const signal = z.tuple([count, count]);
export const SIGNALS = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
] as const;
/** An error that was cut within a character, or that quotes a program's output, must not stop the heartbeat. */
const errorText = z.string().check(
  z.maxLength(LIMITS.textLength),
  z.overwrite((value) => printable(value.toWellFormed())),
);
const errors = z.optional(z.array(errorText).check(z.maxLength(LIMITS.errorsPerSource)));

/** The measurements that change with each report. A signal that was not observed is absent. */
const vitals = z.strictObject({
  signals: z.partialRecord(z.enum(SIGNALS), signal),
  /** What keeps the Node from being Ready, by source. */
  errors: z.optional(z.strictObject({ runtime: errors, network: errors, storage: errors })),
  shuttingDown: z.optional(z.boolean()),
  /** The number of OOM kills since the kernel started; absent if unknown. */
  oomKills: z.optional(count),
  /**
   * Why the shim could not set up and ends. The error becomes an event and a line of history. The Worker ignores the rest of
   * the report.
   */
  setupError: z.optional(errorText.check(z.minLength(1))),
  /** By type of a drop-in's condition; absent before the first drop-in ran. */
  remainingSeconds: z.optional(remainingSecondsSchema),
});
export type Vitals = z.infer<typeof vitals>;

const [leastGap, longestGap] = LIMITS.noAnswerSeconds;

export const reportSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** A secret of the shim's process. A new one counts as a kubelet's restart. The Worker stores its digest. */
  startId: id,
  /** RFC 3339. Shows the machine's clock skew. */
  machineTime: z.iso.datetime({ offset: true }),
  /** Seconds without an answer when the report was sent, by the monotonic clock; absent if the last report was answered. */
  noAnswerSeconds: z.optional(z.int().check(z.minimum(leastGap), z.maximum(longestGap))),
  vitals,
  /** base64url(SHA-256(canonicalJson(facts))) */
  factsDigest: z.string().check(z.length(LIMITS.digestLength)),
  /** Validated apart from the rest: refused facts never stop a heartbeat. */
  facts: z.optional(z.unknown()),
});
export type Report = z.infer<typeof reportSchema>;
