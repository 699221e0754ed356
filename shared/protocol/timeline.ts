// Schema of the answer about a machine's timeline. The Worker imports only its types. Times are RFC 3339, except those of
// samples, which are milliseconds since 1970.
import * as z from "zod/mini";

const band = z.object({
  /** `state`, or a condition's type. */
  track: z.string(),
  from: z.string(),
  to: z.string(),
  /** A state (`ready`), or a condition's status: True, False, Unknown, or `silent` during a silence. */
  status: z.string(),
  /** `KubeletNotReady: node is shutting down`; for a silence that has ended, its kind. */
  text: z.string(),
});

const mark = z.object({
  at: z.string(),
  /** One of HISTORY_KINDS. */
  kind: z.string(),
  text: z.string(),
});

const amount = z.nullable(z.number());
const bySignal = z.record(z.string(), amount);

/** 200 to GET /v1/nodes/{name}/timeline. */
export const timelineSchema = z.object({
  since: z.string(),
  until: z.string(),
  /** The time of the oldest line of history, or of the enrolment. */
  knownSince: z.nullable(z.string()),
  /** True if the answer has only the latest part of the range. */
  isCut: z.boolean(),
  /** Bands of one track do not overlap. Between them the status is unknown. */
  bands: z.array(band),
  /** Oldest first. */
  marks: z.array(mark),
  /** The least available amount of each signal, in bytes, inodes or PIDs; null if unknown. */
  samples: z.object({
    /** The signals that the machine has ever reported. */
    signals: z.array(z.string()),
    at: z.array(z.number()),
    /** By signal, one value for each time in `at`. */
    values: z.record(z.string(), z.array(amount)),
  }),
  /** Eviction thresholds; null if there is none, or if it is a percentage of an unknown capacity. */
  thresholds: z.record(z.string(), z.object({ hard: amount, soft: amount })),
  /** From the last report. */
  capacity: bySignal,
});
export type TimelineAnswer = z.infer<typeof timelineSchema>;
