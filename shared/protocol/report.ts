// The schema of a report: who reports, its vitals, and the facts, which facts.ts validates. Normative, with
// docs/protocol.md.
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

/** What changes all the time. A signal that could not be observed is absent. */
const vitals = z.strictObject({
  signals: z.partialRecord(z.enum(SIGNALS), signal),
  /** What keeps the Node from being Ready, by source. */
  errors: z.optional(z.strictObject({ runtime: errors, network: errors, storage: errors })),
  shuttingDown: z.optional(z.boolean()),
  /** How many processes the kernel has ended for want of memory since it started. Absent: not known. */
  oomKills: z.optional(count),
  /**
   * Why the shim ends instead of reporting. It becomes an event and a line of history; the rest of the report is
   * ignored.
   */
  setupError: z.optional(errorText.check(z.minLength(1))),
  /** By type of a drop-in's condition. Absent: no drop-in ran yet. */
  remainingSeconds: z.optional(remainingSecondsSchema),
});
export type Vitals = z.infer<typeof vitals>;

const [leastGap, longestGap] = LIMITS.noAnswerSeconds;

export const reportSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** A secret of the process of the shim; a new one is a kubelet's restart. The Worker keeps its digest. */
  startId: id,
  /** RFC 3339. Only measures the machine's clock skew. */
  machineTime: z.iso.datetime({ offset: true }),
  /** How long no answer had come when this was sent, by the monotonic clock. Absent: the last answer came. */
  noAnswerSeconds: z.optional(z.int().check(z.minimum(leastGap), z.maximum(longestGap))),
  vitals,
  /** base64url(SHA-256(canonicalJson(facts))) */
  factsDigest: z.string().check(z.length(LIMITS.digestLength)),
  /** Validated apart from the rest: refused facts never stop a heartbeat. */
  facts: z.optional(z.unknown()),
});
export type Report = z.infer<typeof reportSchema>;
