// What the Worker answers about a machine's timeline. The Worker imports types alone. Times are RFC 3339, but for those of
// samples, which are milliseconds since 1970.
import * as z from "zod/mini";

const band = z.object({
  /** `state`, or a condition's type. */
  track: z.string(),
  from: z.string(),
  to: z.string(),
  /** A state (`ready`), or a condition's status: True, False, Unknown, and `silent` while nothing is known of it. */
  status: z.string(),
  /** `KubeletNotReady: node is shutting down`; of a silence that is over: what it was. */
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

/** 200 to GET /v1/nodes/{name}/timeline. What is in none of it is not known. */
export const timelineSchema = z.object({
  since: z.string(),
  until: z.string(),
  /** When what is known begins: the oldest line of history, or the enrolment. */
  knownSince: z.nullable(z.string()),
  /** More happened than an answer takes: this is the latest of it. */
  isCut: z.boolean(),
  /** Those of one track do not overlap; what lies between them is not known. */
  bands: z.array(band),
  /** Oldest first. */
  marks: z.array(mark),
  /** The least that was available of each signal, in bytes, inodes or PIDs; null: not known. */
  samples: z.object({
    /** Those that were ever reported. */
    signals: z.array(z.string()),
    at: z.array(z.number()),
    /** By signal: one for each of `at`. */
    values: z.record(z.string(), z.array(amount)),
  }),
  /** What eviction compares them with; null: there is none, or it is a percentage of what is not known. */
  thresholds: z.record(z.string(), z.object({ hard: amount, soft: amount })),
  /** As it was reported last. */
  capacity: bySignal,
});
export type TimelineAnswer = z.infer<typeof timelineSchema>;
