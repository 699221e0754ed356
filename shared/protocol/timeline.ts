// Defines the answer about a machine's timeline. Times are RFC 3339, those of samples milliseconds since 1970.
import * as z from "zod/mini";

const band = z.object({
  /** `state`, or the type of a condition. */
  track: z.string(),
  from: z.string(),
  to: z.string(),
  /** A state (`ready`), or the status of a condition: True, False, Unknown, or `silent` during a silence. */
  status: z.string(),
  /** The reason and the message: `KubeletNotReady: node is shutting down`; the kind of a silence that has ended. */
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

/** The body of a 200 answer to GET /v1/nodes/{name}/timeline. */
export const timelineSchema = z.object({
  since: z.string(),
  until: z.string(),
  /** The time of the oldest line of history, or of the enrolment. */
  knownSince: z.nullable(z.string()),
  /** true if the answer has only the latest part of the requested range. */
  isCut: z.boolean(),
  /** The bands. Bands of one track do not overlap, and between two bands the status is not known. */
  bands: z.array(band),
  /** The marks, oldest first. */
  marks: z.array(mark),
  /** The least available amount of each signal at each time, in bytes, inodes or PIDs; null if not known. */
  samples: z.object({
    /** The signals that the machine has ever reported. */
    signals: z.array(z.string()),
    at: z.array(z.number()),
    /** The values of each signal, one for each time in `at`. */
    values: z.record(z.string(), z.array(amount)),
  }),
  /** The eviction thresholds as amounts; null if there is none, or if it is a percentage of an unknown capacity. */
  thresholds: z.record(z.string(), z.object({ hard: amount, soft: amount })),
  /** The capacities in the last report. */
  capacity: bySignal,
});
export type TimelineAnswer = z.infer<typeof timelineSchema>;
